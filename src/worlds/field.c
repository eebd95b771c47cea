/*
 * The table of fields (STI_FIELDS, worlds.h): names, sizes, writers, and where they are in MuJoCo's data.
 */
#include "worlds/worlds.h"

#include <assert.h>

const int sti_field_writer[STI_FIELD_COUNT] = {
#define WRITER(name, items, member, writer) STI_WRITER_##writer,
    STI_FIELDS(WRITER)
#undef WRITER
};

static const char *const field_names[STI_FIELD_COUNT + 1] = {
#define NAME(name, items, member, writer) #name,
    STI_FIELDS(NAME)
#undef NAME
        NULL};

mjtNum *sti_field_exact(mjData *d, sti_field field)
{
    switch (field) {
#define MEMBER(name, items, member, writer)                                                                            \
    case STI_FIELD_##name: return member;
        STI_FIELDS(MEMBER)
#undef MEMBER
    default: return NULL;
    }
}

int64_t sti_field_items(const mjModel *m, sti_field field)
{
    switch (field) {
#define ITEMS(name, items, member, writer)                                                                             \
    case STI_FIELD_##name: return (int64_t)(items);
        STI_FIELDS(ITEMS)
#undef ITEMS
    default: return 0;
    }
}

const char *const *stet_worlds_get_fields(void) { return field_names; }

int64_t sti_worlds_items(const mjModel *m, bool exact, sti_field field)
{
    assert((unsigned)field < STI_FIELD_COUNT);
    return exact && field == STI_FIELD_qacc_warmstart ? 0 : sti_field_items(m, field);
}
