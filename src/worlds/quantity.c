/* The table of quantities, and what needs no more than it; see quantities.h. */
#include "worlds/quantities.h"

#include "base/memory.h"
#include "worlds/worlds.h"

#include <assert.h>

enum { DEFAULT_SLOTS = 64 };

static const char *const names[STI_QUANTITY_COUNT + 1] = {
#define NAME(name, dtype, items, stage, member) #name,
    STI_QUANTITIES(NAME)
#undef NAME
        NULL};

const char *const *stet_worlds_get_quantities(void) { return names; }

const char *sti_quantity_name(sti_quantity_kind kind)
{
    assert(kind != STI_QUANTITY_jacobian && kind < STI_QUANTITY_ALL);
    return kind < STI_QUANTITY_COUNT ? names[kind] : kind == STI_QUANTITY_xpos ? "xpos" : "xquat";
}

sti_stage sti_quantity_stage(const sti_quantity *q)
{
    static const sti_stage stages[STI_QUANTITY_COUNT] = {
#define STAGE(name, dtype, items, stage, member) STI_STAGE_##stage,
        STI_QUANTITIES(STAGE)
#undef STAGE
    };
    if (q->kind >= STI_QUANTITY_COUNT) return STI_STAGE_POSITION;
    return stages[q->kind];
}

const mjtNum *sti_quantity_exact(const mjData *d, sti_quantity_kind kind)
{
    const mjtNum *const members[STI_QUANTITY_ALL] = {
#define MEMBER(name, dtype, items, stage, member) member,
        STI_QUANTITIES(MEMBER)
#undef MEMBER
            [STI_QUANTITY_xpos] = d->xpos,
        [STI_QUANTITY_xquat] = d->xquat,
    };
    return members[kind];
}

int64_t sti_quantity_items(const stet_worlds *worlds, sti_quantity_kind kind)
{
    const mjModel *m = worlds->model->mj;
    int64_t slots = worlds->quantities.contact_slots > 0 ? worlds->quantities.contact_slots : DEFAULT_SLOTS;
    const int64_t counts[STI_QUANTITY_ALL] = {
#define ITEMS(name, dtype, items, stage, member) (items),
        STI_QUANTITIES(ITEMS)
#undef ITEMS
            [STI_QUANTITY_jacobian] = (int64_t)6 * m->nv,
        [STI_QUANTITY_xpos] = (int64_t)3 * m->nbody,
        [STI_QUANTITY_xquat] = (int64_t)4 * m->nbody,
    };
    return counts[kind];
}

stet_dtype sti_quantity_type(sti_quantity_kind kind)
{
    static const stet_dtype types[STI_QUANTITY_COUNT] = {
#define TYPE(name, dtype, items, stage, member) STET_DTYPE_##dtype,
        STI_QUANTITIES(TYPE)
#undef TYPE
    };
    return kind < STI_QUANTITY_COUNT ? types[kind] : STET_DTYPE_REAL;
}

void sti_quantities_changed(stet_worlds *worlds, const uint8_t *mask)
{
    (void)sti_generations_bump(&worlds->quantities.stamps.changed, &worlds->quantities.stamps.version, mask);
}

void sti_quantities_stepped(stet_worlds *worlds, const uint8_t *mask)
{
    (void)sti_generations_put_some(&worlds->quantities.stamps.stepped, mask,
                                   worlds->quantities.stamps.version.generation);
    sti_version_bump(&worlds->quantities.stamps.stepped_version);
    if (!mask) worlds->quantities.any_begun = false;
}

void sti_quantities_begun_there(stet_worlds *worlds)
{
    sti_version_bump(&worlds->quantities.stamps.stepped_version);
    worlds->quantities.any_begun = true;
}

stet_result sti_quantities_begun(stet_worlds *worlds, const uint8_t *mask)
{
    if (worlds->physics.begun) STI_TRY(worlds->physics.begun(worlds->physics.context, mask));
    (void)sti_generations_put_some(&worlds->quantities.stamps.stepped, mask, 0);
    sti_quantities_begun_there(worlds);
    return STET_OK;
}

bool sti_is_quantity(const stet_worlds *worlds, const stet_array *array)
{
    const sti_quantity *q = worlds->quantities.list;
    while (q && q->array != array) q = q->next;
    return q != NULL;
}

void sti_quantities_free(stet_worlds *worlds)
{
    for (sti_quantity *q = worlds->quantities.list, *next; q; q = next) {
        next = q->next;
        stet_array_destroy(q->array);
        sti_stamp_free(&q->stamp);
        sti_free(q);
    }
    worlds->quantities.list = NULL;
}
