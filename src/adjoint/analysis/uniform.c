/*
 * Finds whether the elements that an adjoint's iterations list are the same for all worlds, and depend on plain whole
 * numbers only. Then it can have a plan (gather_plan.h, PLAN-3).
 *
 * A kernel's plain whole numbers are the same for all worlds unless they come from the number of the world, or from
 * reals: by a comparison, a cast, any() or all(). The check is simpler than it could be: it wants one each with nothing
 * around it but declarations, so that the list begins where the tape does.
 */
#include "adjoint/analysis/analysis.h"
#include "kernel/check/type.h"

#include <string.h>

static bool whole(const sti_type *type) { return type && sti_type_integer(type); }

/* Pointers are allowed: a value that is read through one has a type of its own. */
static bool memory(const sti_type *type) { return type && sti_type_points(type); }

static bool from_wholes(const sti_node *list)
{
    for (const sti_node *n = list; n; n = n->next)
        if (!whole(n->type) && !memory(n->type)) return false;
    return true;
}

static bool is_world(const sti_symbol *s)
{
    return s && s->kind == STI_SYMBOL_PARAMETER && s->name && strcmp(s->name->text, "world") == 0;
}

static bool follows(const sti_node *n);

static bool all_follow(const sti_node *list)
{
    for (const sti_node *n = list; n; n = n->next)
        if (!follows(n)) return false;
    return true;
}

/* Checks a value or statement and everything in it. */
static bool follows(const sti_node *n)
{
    if (n->kind == STI_NODE_NAME) return !is_world(n->symbol);
    bool made = n->kind == STI_NODE_CALL || n->kind == STI_NODE_CAST || n->kind == STI_NODE_BINARY ||
                n->kind == STI_NODE_UNARY || n->kind == STI_NODE_CONDITION || n->kind == STI_NODE_ASSIGN;
    bool own = sti_is_own_call(n);
    if (made && !own && whole(n->type) && !(from_wholes(n->a) && from_wholes(n->b) && from_wholes(n->c))) return false;
    if (n->kind == STI_NODE_VARIABLE && whole(n->type) && !from_wholes(n->a)) return false;
    if (own && n->symbol->node && !all_follow(n->symbol->node->b)) return false;
    return all_follow(n->a) && all_follow(n->b) && all_follow(n->c) && all_follow(n->d);
}

/* True if there is one each, and nothing around it that uses a tape. */
static bool one_each(const sti_node *body)
{
    int count = 0;
    for (const sti_node *n = body->a; n; n = n->next) {
        if (n->kind != STI_NODE_EACH && n->kind != STI_NODE_DECLARE && n->kind != STI_NODE_SYNC) return false;
        count += n->kind == STI_NODE_EACH ? 1 : 0;
    }
    return count == 1;
}

/* True if the kernel writes whole numbers. The launch that makes a plan must not write the caller's arrays. */
static bool writes_wholes(const sti_node *f)
{
    for (const sti_node *v = f->a; v; v = v->next) {
        const sti_type *of = v->type && v->type->kind == STI_TYPE_POINTER ? v->type->of : NULL;
        if (of && whole(of) && v->symbol && v->symbol->written) return true;
    }
    return false;
}

bool sti_lists_uniformly(const sti_node *f) { return one_each(f->b) && !writes_wholes(f) && all_follow(f->b); }
