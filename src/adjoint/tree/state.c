/* Notes by symbol or node; see state.h. */
#include "adjoint/tree/state.h"

#include <assert.h>

enum { BUCKETS = 256 };

typedef enum note_kind { SYMBOL, FUNCTION, REGION, ACCESS } note_kind;

typedef struct entry {
    const void *of; /* the symbol or node */
    note_kind kind;
    struct entry *next;
    union {
        sti_note symbol;
        sti_function_note function;
        sti_region_note region;
        sti_access_note access;
    } note;
} entry;

struct sti_notes {
    entry *bucket[BUCKETS];
    entry nothing; /* used when memory runs out */
};

sti_notes *sti_notes_make(sti_unit *u) { return sti_unit_alloc(u, sizeof(sti_notes)); }

static entry *find(sti_transform *t, const void *of, note_kind kind)
{
    assert(of);
    entry **at = &t->notes->bucket[((uintptr_t)of >> 4) % BUCKETS];
    for (entry *e = *at; e; e = e->next)
        if (e->of == of && e->kind == kind) return e;
    entry *e = sti_unit_alloc(t->u, sizeof *e);
    if (!e) {
        t->notes->nothing = (entry){.kind = kind};
        return &t->notes->nothing;
    }
    *e = (entry){.of = of, .kind = kind, .next = *at};
    *at = e;
    return e;
}

sti_note *sti_note_of(sti_transform *t, const sti_symbol *symbol) { return &find(t, symbol, SYMBOL)->note.symbol; }

sti_function_note *sti_function_note_of(sti_transform *t, const sti_symbol *function)
{
    return &find(t, function, FUNCTION)->note.function;
}

sti_region_note *sti_region_note_of(sti_transform *t, const sti_node *region)
{
    return &find(t, region, REGION)->note.region;
}

sti_access_note *sti_access_note_of(sti_transform *t, const sti_symbol *array)
{
    return &find(t, array, ACCESS)->note.access;
}

void sti_forget_accesses(sti_transform *t)
{
    for (int i = 0; i < BUCKETS; ++i)
        for (entry *e = t->notes->bucket[i]; e; e = e->next)
            if (e->kind == ACCESS) e->note.access.places = STI_PLACES_NONE;
}
