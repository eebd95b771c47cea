/*
 * Indices as affine functions of an iteration; see analysis.h.
 *
 * Who asks: ownership.c (elements of an iteration of an each), disjoint.c (of a loop), overlap.c (two arguments of a
 * call), window.c (constant elements), and items of item kernels. They differ only in what may be a term (the rules).
 */
#include "adjoint/analysis/analysis.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"
#include "kernel/compile/text_buffer.h"

#include <assert.h>
#include <string.h>

/* Limit of all numbers in indices, so that nothing overflows here. */
static const int64_t limit = INT64_C(1) << 40;

/* *sum += a * times. False: that is beyond the limit. */
static bool add(int64_t *sum, int64_t a, int64_t times)
{
    int64_t product;
    return !__builtin_mul_overflow(a, times, &product) && !__builtin_add_overflow(*sum, product, sum) &&
           *sum > -limit && *sum < limit;
}

static bool add_range(sti_affine *out, int64_t low, int64_t high, int64_t times)
{
    return low <= high && low > -limit && high < limit && add(&out->low, times < 0 ? high : low, times) &&
           add(&out->high, times < 0 ? low : high, times);
}

/* ---- terms ------------------------------------------------------------------------------------------------------- */

/* A text for an expression. It includes what the names mean, because a name may mean something else elsewhere. */
static void print_key(const sti_node *e, sti_text_buffer *out)
{
    for (; e; e = e->next) {
        if (e->kind == STI_NODE_NAME) sti_text_buffer_format(out, " %p", (const void *)e->symbol);
        print_key(e->a, out);
        print_key(e->b, out);
        print_key(e->c, out);
    }
}

static const char *key_of(sti_unit *u, const sti_node *e)
{
    sti_node alone = *e;
    sti_text_buffer key = {0};
    alone.next = NULL;
    sti_text_buffer_put(&key, sti_text_whole(u, e));
    print_key(&alone, &key);
    const char *own = key.result == STET_OK ? sti_unit_copy(u, key.data) : NULL;
    u->failed |= !own;
    sti_text_buffer_free(&key);
    return own ? own : "";
}

static bool add_term(const sti_affine_rules *r, const sti_node *e, int64_t times, sti_affine *out)
{
    int k = 0;
    const char *text = key_of(r->t->u, e);
    while (k < out->nterm && strcmp(out->term[k].text, text) != 0) ++k;
    if (k == STI_AFFINE_TERMS) return false;
    if (k == out->nterm) {
        out->term[out->nterm].text = text;
        out->term[out->nterm++].times = 0;
    }
    return add(&out->term[k].times, 1, times);
}

static bool is_in_loop(sti_transform *t, const sti_node *n, const void *loop)
{
    (void)t;
    return n->kind == STI_NODE_NAME && n->symbol && sti_declared_in(loop, n->symbol);
}

/*
 * An expression that is a term of its own: it does not change while the loop runs, nor names anything declared there.
 */
static bool add_rest(const sti_affine_rules *r, const sti_node *e, int64_t times, sti_affine *out)
{
    sti_node alone = *e;
    alone.next = NULL;
    if (r->texts) return add_term(r, e, times, out);
    return r->loop && sti_stable(r->t, r->loop, e) && !sti_any(r->t, &alone, is_in_loop, r->loop) &&
           add_term(r, e, times, out);
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static bool add_loop_variable(const sti_affine_rules *r, const sti_node *loop, int64_t times, sti_affine *out)
{
    sti_counted c;
    int64_t low, high;
    return sti_count_loop(r->t, loop, &c) && sti_loop_range(r->t, &c, &low, &high) && add_range(out, low, high, times);
}

/*
 * A name: the counted variable, the block's number, the variable of a loop with constant ends, or one with the value of
 * its declaration.
 */
static bool add_name(const sti_affine_rules *r, const sti_node *e, int64_t times, sti_affine *out)
{
    const sti_symbol *s = e->symbol;
    const sti_note *n = sti_note_of(r->t, s);
    const sti_node *v = s->node;
    bool inside = !r->loop || sti_declared_in(r->loop, s);
    if (s == r->variable) return add(&out->stride, 1, times);
    if (r->texts) return add_term(r, e, times, out);
    if (!r->loop && r->t->items && s->kind == STI_SYMBOL_PARAMETER && strcmp(s->name->text, "block") == 0)
        return !n->assigned && add(&out->block, 1, times);
    if (inside && n->loop) return add_loop_variable(r, n->loop, times, out);
    bool declared = !n->loop && !n->assigned && v && v->kind == STI_NODE_VARIABLE && v->a && sti_saves_index(v->type);
    if (declared && (inside || sti_is_fixed(r->t, v->a))) return sti_affine_add(r, v->a, times, out);
    return !inside && sti_stable(r->t, r->loop, e) && add_term(r, e, times, out);
}

/* True for a number, or without a loop an expression that is one. */
static bool is_number(const sti_affine_rules *r, const sti_node *e, int64_t *out)
{
    sti_affine a = {0};
    if (sti_constant(r->t->u, e, false, out)) return true;
    if (r->loop || r->texts || !sti_affine_add(r, e, 1, &a)) return false;
    *out = a.low;
    return !a.stride && !a.block && !a.lane && a.low == a.high;
}

bool sti_affine_add(const sti_affine_rules *r, const sti_node *e, int64_t times, sti_affine *out)
{
    int64_t by;
    assert(!r->loop || !r->texts);
    if (times <= -limit || times >= limit) return false;
    if (sti_constant(r->t->u, e, false, &by)) return add_range(out, by, by, times);
    if (e->kind == STI_NODE_NAME && e->symbol) return add_name(r, e, times, out);
    if (e->kind == STI_NODE_CAST && !r->texts && sti_saves_index(e->named)) return sti_affine_add(r, e->a, times, out);
    if (e->kind == STI_NODE_BINARY && (e->op == STI_OP_ADD || e->op == STI_OP_SUB))
        return sti_affine_add(r, e->a, times, out) &&
               sti_affine_add(r, e->b, e->op == STI_OP_ADD ? times : -times, out);
    if (e->kind == STI_NODE_BINARY && e->op == STI_OP_MUL) {
        bool right = is_number(r, e->b, &by);
        if ((right || is_number(r, e->a, &by)) && !__builtin_mul_overflow(times, by, &by))
            return sti_affine_add(r, right ? e->a : e->b, by, out);
    }
    if (!r->loop && sti_is_call_of(e, "isplat")) return sti_affine_add(r, e->a, times, out);
    if (!r->loop && sti_is_call_of(e, "lane")) return add(&out->lane, 1, times);
    return add_rest(r, e, times, out);
}

bool sti_affine_add_pointer(const sti_affine_rules *r, const sti_node *e, sti_affine *out)
{
    if (sti_is_offset(e))
        return sti_affine_add_pointer(r, e->a, out) && sti_affine_add(r, e->b, e->op == STI_OP_ADD ? 1 : -1, out);
    if (e->kind != STI_NODE_NAME || !e->symbol) return false;
    const sti_symbol *s = e->symbol;
    bool staged = s->kind == STI_SYMBOL_STAGED, variable = s->kind == STI_SYMBOL_VARIABLE;
    if (!r->loop && staged) return sti_affine_add_pointer(r, s->node->a, out);
    if (r->loop ? s == r->array : !variable || e->type->kind == STI_TYPE_ARRAY) return true;
    if (!variable || sti_note_of(r->t, s)->assigned) return false;
    if (r->loop && !sti_declared_in(r->loop, s)) return add_term(r, e, 1, out);
    return s->node && s->node->a && sti_affine_add_pointer(r, s->node->a, out);
}

bool sti_affine_add_place(const sti_affine_rules *r, const sti_node *place, sti_affine *out)
{
    if (place->kind == STI_NODE_INDEX)
        return sti_affine_add_pointer(r, place->a, out) && sti_affine_add(r, place->b, 1, out);
    if (place->kind == STI_NODE_UNARY) return sti_affine_add_pointer(r, place->a, out);
    return place->type && sti_type_points(place->type) && sti_affine_add_pointer(r, place, out);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static int64_t times_in(const sti_affine *a, const char *text)
{
    for (int k = 0; k < a->nterm; ++k)
        if (strcmp(a->term[k].text, text) == 0) return a->term[k].times;
    return 0;
}

bool sti_affine_same_terms(const sti_affine *a, const sti_affine *b)
{
    for (int i = 0; i < a->nterm; ++i)
        if (times_in(b, a->term[i].text) != a->term[i].times) return false;
    for (int i = 0; i < b->nterm; ++i)
        if (times_in(a, b->term[i].text) != b->term[i].times) return false;
    return true;
}

sti_affine_rules sti_affine_each(sti_transform *t)
{
    return (sti_affine_rules){.t = t, .variable = t->each ? t->each->symbol : NULL};
}

bool sti_constant_range(sti_transform *t, const sti_node *place, int64_t *low, int64_t *high)
{
    const sti_affine_rules rules = {.t = t};
    sti_affine a = {0};
    bool known = sti_affine_add_place(&rules, place, &a);
    *low = a.low;
    *high = a.high;
    return known && !a.block && !a.lane;
}
