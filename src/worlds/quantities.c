/* Quantities as arrays: making them, and when they are filled; see quantities.h. */
#include "worlds/quantities.h"

#include "base/memory.h"
#include "kernel/record/launch_observer.h"
#include "worlds/worlds.h"

#include <stdio.h>
#include <string.h>

/* ---- filling ----------------------------------------------------------------------------------------------------- */

static void stamp_now(const stet_worlds *worlds, const sti_quantity *q, sti_stamp *now)
{
    sti_stamp_begin(now);
    if (q->of_step) sti_stamp_add(now, &worlds->quantities.stamps.stepped_version);
    if (!q->of_step || worlds->quantities.any_begun) sti_stamp_add(now, &worlds->quantities.stamps.version);
    sti_stamp_add_address(now, q->array->data);
}

/* The quantities that a pass fills: this one, and all others that were read since the last pass and are stale. */
static void choose(sti_quantity *asked)
{
    for (sti_quantity *q = asked->worlds->quantities.list; q; q = q->next) {
        sti_stamp now = {0};
        stamp_now(q->worlds, q, &now);
        bool stale = !sti_stamp_equal(&q->stamp, &now);
        q->in_pass = q == asked || (q->wanted && stale);
        if (stale) q->wanted = false;
    }
}

/* While a pass writes arrays, their producers are not called. */
static void mark_producing(stet_worlds *worlds, bool on)
{
    for (sti_quantity *q = worlds->quantities.list; q; q = q->next)
        if (q->in_pass) q->array->producing = on;
}

/* Fills those of a pass, in worlds that changed later than `from`. */
static stet_result run_pass(stet_worlds *worlds, uint64_t from)
{
    sti_stamp now = {0};
    mark_producing(worlds, true);
    const sti_worlds_physics *physics = &worlds->physics;
    stet_result result =
        physics->fill_quantities ? physics->fill_quantities(physics->context) : sti_quantities_forward(worlds, from);
    mark_producing(worlds, false);
    STI_TRY(result);
    for (sti_quantity *q = worlds->quantities.list; q; q = q->next) {
        if (!q->in_pass) continue;
        stamp_now(worlds, q, &now);
        sti_stamp_keep(&q->stamp, &now);
        q->filled = worlds->quantities.stamps.version.generation;
    }
    return STET_OK;
}

static stet_result fill(void *context)
{
    sti_quantity *asked = context;
    stet_worlds *worlds = asked->worlds;
    /* An audit, or the mechanism is off: what is valid is computed again. */
    bool again = asked->filled == worlds->quantities.stamps.version.generation;
    uint64_t from = UINT64_MAX;
    choose(asked);
    for (sti_quantity *q = worlds->quantities.list; q; q = q->next)
        if (q->in_pass && q->filled < from) from = q->filled;
    stet_result result = run_pass(worlds, again ? 0 : from);
    asked->array->producing = true; /* as it was */
    return result;
}

stet_result sti_quantities_fill_step(stet_worlds *worlds)
{
    for (sti_quantity *q = worlds->quantities.list; q; q = q->next) q->in_pass = q->of_step && q->array->nitem > 0;
    return run_pass(worlds, 0);
}

/* The producer of a quantity's array. */
static stet_result produce(void *context)
{
    sti_quantity *q = context;
    stet_worlds *worlds = q->worlds;
    if (q->array->nitem == 0) return STET_OK;
    STI_TRY(sti_worlds_sync(worlds));
    if (sti_observer_is_new(worlds->device, &q->observer)) sti_stamp_invalidate(&q->stamp);
    sti_stamp now = {0};
    stamp_now(worlds, q, &now);
    sti_span output = sti_array_span(q->array);
    sti_work work = {
        .mechanism = STET_MECHANISM_QUANTITIES,
        .why = q->filled > 0 ? STET_REASON_QUANTITIES_CHANGED : STET_REASON_QUANTITIES_FIRST,
        .what = q->array->name,
        .kept = &q->stamp,
        .now = &now,
        .make = fill,
        .context = q,
        .outputs = &output,
        .noutput = 1,
        .bytes = (int64_t)stet_array_get_bytes(q->array),
    };
    stet_result result = sti_let_stand(&worlds->device->mechanisms, &work);
    q->wanted = true;
    return result;
}

/* ---- asking for them --------------------------------------------------------------------------------------------- */

/* Adds a quantity with its array; `like` says what it is of. */
static stet_result add_quantity(stet_worlds *worlds, const sti_quantity *like, const char *name, stet_array **out)
{
    sti_quantity *q;
    STI_TRY(sti_alloc(&q, sizeof *q, "quantity"));
    *q = *like;
    q->worlds = worlds;
    stet_result result = STI_ARRAY(worlds->device, name, sti_quantity_type(q->kind), true, &q->array, worlds->nworld,
                                   sti_quantity_items(worlds, q->kind));
    if (result != STET_OK) {
        sti_free(q);
        return result;
    }
    sti_array_held_by(q->array, STET_MECHANISM_QUANTITIES);
    sti_array_set_producer(q->array, produce, q);
    q->next = worlds->quantities.list;
    worlds->quantities.list = q;
    *out = q->array;
    if (worlds->physics.expect_quantities) worlds->physics.expect_quantities(worlds->physics.context);
    return STET_OK;
}

/* The array of a quantity, which is made if it does not exist. */
static stet_result get_quantity(stet_worlds *worlds, sti_quantity_kind kind, bool of_step, stet_array **out)
{
    sti_quantity like = {.kind = kind, .of_step = of_step};
    char name[48];
    for (const sti_quantity *q = worlds->quantities.list; q; q = q->next)
        if (q->kind == kind && q->of_step == of_step) *out = q->array;
    if (*out) return STET_OK;
    (void)snprintf(name, sizeof name, "%s%s", sti_quantity_name(kind), of_step ? " of the step" : "");
    return add_quantity(worlds, &like, name, out);
}

static int find_kind(const char *name)
{
    int kind = 0;
    while (kind < STI_QUANTITY_COUNT && strcmp(name, stet_worlds_get_quantities()[kind]) != 0) ++kind;
    return kind;
}

stet_result stet_worlds_get_array(stet_worlds *worlds, const char *field, stet_array **out)
{
    if (!worlds || !field || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_get_array: worlds, field and out must not be NULL");
    *out = NULL;
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (strcmp(field, stet_worlds_get_fields()[f]) == 0) {
            *out = worlds->state.field[f];
            return STET_OK;
        }
    int kind = find_kind(field);
    if (kind < STI_QUANTITY_COUNT) return get_quantity(worlds, (sti_quantity_kind)kind, false, out);
#define FIELD(name, items, member, writer) " " #name
#define QUANTITY(name, dtype, items, stage, member) " " #name
    return sti_error(STET_ERROR_NOT_FOUND,
                     "worlds: there is no field '%.64s'; they have:" STI_FIELDS(FIELD) ";" STI_QUANTITIES(QUANTITY),
                     field);
#undef FIELD
#undef QUANTITY
}

stet_result stet_worlds_get_step_quantity(stet_worlds *worlds, const char *name, stet_array **out)
{
    if (!worlds || !name || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_worlds_get_step_quantity: worlds, name and out must not be NULL");
    int kind = find_kind(name);
    *out = NULL;
    if (kind == STI_QUANTITY_sensordata) {
        *out = worlds->state.field[STI_FIELD_step_sensordata];
        return STET_OK;
    }
    if (strcmp(name, "xpos") == 0) kind = STI_QUANTITY_xpos;
    if (strcmp(name, "xquat") == 0) kind = STI_QUANTITY_xquat;
#define QUANTITY(name, dtype, items, stage, member) " " #name
    if (kind == STI_QUANTITY_COUNT)
        return sti_error(STET_ERROR_NOT_FOUND,
                         "worlds: there is no quantity '%.64s'; there are: xpos xquat" STI_QUANTITIES(QUANTITY), name);
#undef QUANTITY
    if (worlds->physics.keep_steps)
        STI_TRY(worlds->physics.keep_steps(worlds->physics.context));
    else if (!worlds->state.data)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "worlds: external physics has no quantities of a step; read '%.64s' of the present state "
                         "(stet_worlds_get_array)",
                         name);
    return get_quantity(worlds, (sti_quantity_kind)kind, true, out);
}

static const struct {
    const char *name;
    stet_object object;
} jacobians[] = {
    [STET_JACOBIAN_BODY] = {"jac_body", STET_OBJECT_BODY},
    [STET_JACOBIAN_BODY_COM] = {"jac_body_com", STET_OBJECT_BODY},
    [STET_JACOBIAN_GEOM] = {"jac_geom", STET_OBJECT_GEOM},
    [STET_JACOBIAN_SITE] = {"jac_site", STET_OBJECT_SITE},
    [STET_JACOBIAN_POINT] = {"jac_point", STET_OBJECT_BODY},
};
enum { JACOBIANS = sizeof jacobians / sizeof *jacobians };

static int64_t count_objects(const mjModel *m, stet_object type)
{
    return type == STET_OBJECT_BODY ? m->nbody : type == STET_OBJECT_GEOM ? m->ngeom : m->nsite;
}

stet_result stet_worlds_get_jacobian(stet_worlds *worlds, stet_jacobian of, int object, const double point[3],
                                     stet_array **out)
{
    if (!worlds || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_get_jacobian: worlds and out must not be NULL");
    *out = NULL;
    if ((unsigned)of >= JACOBIANS)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "worlds: there is no Jacobian of kind %d", (int)of);
    if ((of == STET_JACOBIAN_POINT) != (point != NULL))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "worlds: a Jacobian of a point needs a point, and no other does");
    int64_t n = count_objects(worlds->model->mj, jacobians[of].object);
    if (object < 0 || object >= n)
        return sti_error(STET_ERROR_NOT_FOUND, "worlds: %s of object %d: the model has %lld of this kind",
                         jacobians[of].name, object, (long long)n);
    sti_quantity like = {.kind = STI_QUANTITY_jacobian, .jacobian = of, .object = object};
    if (point) memcpy(like.point, point, sizeof like.point);
    for (sti_quantity *q = worlds->quantities.list; q; q = q->next)
        if (q->kind == like.kind && q->jacobian == of && q->object == object &&
            memcmp((const void *)q->point, (const void *)like.point, sizeof like.point) == 0) { /* NaN equals itself */
            *out = q->array;
            return STET_OK;
        }
    char name[48];
    (void)snprintf(name, sizeof name, "%s_%d", jacobians[of].name, object);
    return add_quantity(worlds, &like, name, out);
}

stet_result stet_worlds_set_contact_slots(stet_worlds *worlds, int slots)
{
    if (!worlds)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_set_contact_slots: worlds must not be NULL");
    if (slots < 1 || slots > STI_MOST_SLOTS)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "worlds: %d contact slots; give 1 to %d", slots, STI_MOST_SLOTS);
    for (const sti_quantity *q = worlds->quantities.list; q; q = q->next)
        if (q->kind >= STI_QUANTITY_contact_geom && q->kind <= STI_QUANTITY_contact_force)
            return sti_error(STET_ERROR_STATE, "worlds: %s exists; set the number of contact slots before",
                             q->array->name);
    worlds->quantities.contact_slots = slots;
    return STET_OK;
}
