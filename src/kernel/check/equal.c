/*
 * Compares two trees; see check.h.
 */
#include "kernel/check/check.h"

#include "kernel/check/tree.h"

#include <string.h>

static bool equal_names(const sti_name *a, const sti_name *b)
{
    if (!a || !b) return a == b;
    return strcmp(a->text, b->text) == 0;
}

/*
 * Compares types of two units. Structures are compared by name; their fields are compared where they are defined.
 * `declared`: const counts, which that of expressions follows from.
 */
static bool equal_types(const sti_type *a, const sti_type *b, bool declared)
{
    for (; a && b; a = a->of, b = b->of) {
        if (a->kind != b->kind || (declared && a->is_const != b->is_const) || a->count != b->count) return false;
        if (a->structure && !equal_names(a->structure->name, b->structure->name)) return false;
    }
    return a == b; /* both at their end */
}

static bool equal_lists(const sti_node *a, const sti_node *b);

static bool equal_nodes(const sti_node *a, const sti_node *b)
{
    if (a->kind != b->kind || a->op != b->op || !equal_names(a->name, b->name)) return false;
    if (!equal_types(a->named, b->named, true) || !equal_types(a->type, b->type, false)) return false;
    if ((a->symbol != NULL) != (b->symbol != NULL) || (a->symbol && a->symbol->kind != b->symbol->kind)) return false;
    return equal_lists(a->a, b->a) && equal_lists(a->b, b->b) && equal_lists(a->c, b->c) && equal_lists(a->d, b->d);
}

static bool equal_lists(const sti_node *a, const sti_node *b)
{
    for (; a && b; a = a->next, b = b->next)
        if (!equal_nodes(a, b)) return false;
    return a == b;
}

bool sti_unit_equal(const sti_unit *a, const sti_unit *b) { return equal_lists(a->top, b->top); }
