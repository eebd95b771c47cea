/*
 * Types that contain reals, places, and the symbols that places belong to; see notes.h.
 */
#include "adjoint/analysis/notes.h"
#include "kernel/check/flow.h"
#include "kernel/check/type.h"

#include <string.h>

/* ---- types ------------------------------------------------------------------------------------------------------- */

const sti_type *sti_type_element(const sti_type *type)
{
    while (type->of) type = type->of;
    return type;
}

bool sti_type_real(const sti_type *type)
{
    return type->kind == STI_TYPE_REAL || type->kind == STI_TYPE_UREAL || type->kind == STI_TYPE_WREAL;
}

bool sti_type_carries(const sti_type *type)
{
    type = sti_type_element(type);
    if (type->kind != STI_TYPE_STRUCT) return sti_type_real(type);
    for (const sti_symbol *f = type->structure->field; f; f = f->next)
        if (sti_type_carries(f->type)) return true;
    return false;
}

bool sti_mentions(const sti_node *n, const sti_symbol *symbol)
{
    for (; n; n = n->next) {
        if (n->kind == STI_NODE_NAME && n->symbol == symbol) return true;
        if (sti_mentions(n->a, symbol) || sti_mentions(n->b, symbol) || sti_mentions(n->c, symbol) ||
            sti_mentions(n->d, symbol))
            return true;
    }
    return false;
}

bool sti_is_array_symbol(const sti_symbol *s)
{
    return s->kind == STI_SYMBOL_SHARED || (s->kind == STI_SYMBOL_PARAMETER && s->type && sti_type_points(s->type));
}

int sti_store_of(const sti_node *call)
{
    static const struct {
        const char *name;
        int array;
    } stores[] = {{"put", 0}, {"store", 0}, {"store_if", 1}, {"scatter_if", 1}, {"load4", 2}, {"put4", 0}};
    if (call->kind != STI_NODE_CALL || !call->symbol || call->symbol->kind != STI_SYMBOL_LIBRARY) return -1;
    for (size_t i = 0; i < sizeof stores / sizeof *stores; ++i)
        if (strcmp(stores[i].name, call->name->text) == 0) return stores[i].array;
    return -1;
}

sti_node *sti_argument(const sti_node *call, int n)
{
    sti_node *a = call->a;
    while (a && n-- > 0) a = a->next;
    return a;
}

/* ---- notes of what a place belongs to ---------------------------------------------------------------------------- */

typedef struct asking {
    sti_transform *t;
    bool active, needed, changed;
    bool set_active, set_needed, set_read, set_absent;
} asking;

static void set_place(asking *a, bool *flag)
{
    a->changed |= !*flag;
    *flag = true;
}

static void ask_place(sti_symbol *s, void *context)
{
    asking *a = context;
    if (s->kind == STI_SYMBOL_STAGED) { /* another name of the array that it is a copy of */
        sti_origins(s->node->a, ask_place, a);
        return;
    }
    sti_note *n = sti_note_of(a->t, s);
    if (a->set_active) set_place(a, &n->active);
    if (a->set_needed) set_place(a, &n->needed);
    if (a->set_read) set_place(a, &n->read);
    if (a->set_absent) set_place(a, &n->absent);
    a->active |= n->active;
    a->needed |= n->needed;
}

bool sti_memory_active(sti_transform *t, const sti_node *e)
{
    asking a = {.t = t};
    sti_origins((sti_node *)(uintptr_t)e, ask_place, &a);
    return a.active;
}

bool sti_place_needed(sti_transform *t, const sti_node *place)
{
    asking a = {.t = t};
    sti_origins((sti_node *)(uintptr_t)place, ask_place, &a);
    return a.needed;
}

static void ask_written(sti_symbol *s, void *context)
{
    bool *written = context;
    if (s->kind == STI_SYMBOL_STAGED)
        sti_origins(s->node->a, ask_written, context);
    else
        *written |= s->written;
}

bool sti_place_written(const sti_node *place)
{
    bool written = false;
    sti_origins((sti_node *)(uintptr_t)place, ask_written, &written);
    return written;
}

bool sti_mark_active(sti_transform *t, const sti_node *place)
{
    asking a = {.t = t, .set_active = true};
    if (place->type && !sti_type_carries(place->type)) return false;
    sti_origins((sti_node *)(uintptr_t)place, ask_place, &a);
    return a.changed;
}

bool sti_mark_needed(sti_transform *t, const sti_node *place, bool read)
{
    asking a = {.t = t, .set_needed = true, .set_read = read};
    sti_origins((sti_node *)(uintptr_t)place, ask_place, &a);
    return a.changed;
}

void sti_mark_read(sti_transform *t, const sti_node *place)
{
    asking a = {.t = t, .set_read = true};
    sti_origins((sti_node *)(uintptr_t)place, ask_place, &a);
}

/* ---- what the adjoint writes ------------------------------------------------------------------------------------- */

static void mark_stored(sti_symbol *s, void *context)
{
    sti_transform *t = context;
    if (s->kind == STI_SYMBOL_STAGED)
        sti_origins(s->node->a, mark_stored, t);
    else
        sti_note_of(t, s)->stored = true;
}
static void mark_graded(sti_symbol *s, void *context)
{
    sti_transform *t = context;
    if (s->kind == STI_SYMBOL_STAGED)
        sti_origins(s->node->a, mark_graded, t);
    else
        sti_note_of(t, s)->graded = true;
}
void sti_note_stored(sti_transform *t, const sti_node *place)
{
    sti_origins((sti_node *)(uintptr_t)place, mark_stored, t);
}
void sti_note_graded(sti_transform *t, const sti_node *place)
{
    sti_origins((sti_node *)(uintptr_t)place, mark_graded, t);
}

typedef struct finding {
    sti_symbol *array;
    int count;
} finding;
static void find_array(sti_symbol *s, void *context)
{
    finding *f = context;
    if (s->kind == STI_SYMBOL_STAGED) {
        sti_origins(s->node->a, find_array, f);
        return;
    }
    f->count++;
    f->array = s;
}
sti_symbol *sti_origin_of(const sti_node *place, bool *only)
{
    finding f = {0};
    sti_origins((sti_node *)(uintptr_t)place, find_array, &f);
    *only = f.count == 1;
    return f.array;
}
