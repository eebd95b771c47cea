/* Counted loops, and expressions that do not change while a loop runs; see analysis.h. */
#include "adjoint/analysis/analysis.h"
#include "kernel/check/type.h"

bool sti_is_fixed(sti_transform *t, const sti_node *e)
{
    for (; e; e = e->next) {
        if (e->kind == STI_NODE_NAME && e->symbol && sti_note_of(t, e->symbol)->assigned) return false;
        bool pointed = e->kind == STI_NODE_UNARY && e->op == STI_OP_MUL;
        if (e->kind == STI_NODE_INDEX || e->kind == STI_NODE_CALL || e->kind == STI_NODE_MEMBER || pointed)
            return false;
        if (!sti_is_fixed(t, e->a) || !sti_is_fixed(t, e->b) || !sti_is_fixed(t, e->c)) return false;
    }
    return true;
}

bool sti_stable(sti_transform *t, const sti_node *loop, const sti_node *e)
{
    if (e->kind == STI_NODE_NUMBER) return true;
    if (e->kind == STI_NODE_NAME) return e->symbol && !sti_changes(t, loop, e->symbol);
    if (e->kind == STI_NODE_INDEX) {
        bool only;
        const sti_symbol *array = sti_origin_of(e, &only);
        if (!array || !only || sti_changes(t, loop, array)) return false;
        bool read_only = array->kind == STI_SYMBOL_TABLE || !array->written || !sti_is_array_symbol(array);
        return read_only && sti_stable(t, loop, e->b);
    }
    if (e->kind == STI_NODE_BINARY) return sti_stable(t, loop, e->a) && sti_stable(t, loop, e->b);
    if (e->kind == STI_NODE_CAST || (e->kind == STI_NODE_UNARY && e->op == STI_OP_SUB))
        return sti_stable(t, loop, e->a);
    if (sti_is_call_of(e, "nmin") || sti_is_call_of(e, "nmax"))
        return sti_stable(t, loop, e->a) && sti_stable(t, loop, e->a->next);
    return false;
}

/* The step of ++i, i++, --i, i--, i += 3, i -= 3; 0: it is none of these. */
static int64_t step_of(sti_transform *t, const sti_node *e, const sti_symbol *variable)
{
    int64_t by;
    if (!e || !e->a || e->a->kind != STI_NODE_NAME || e->a->symbol != variable) return 0;
    if (e->kind == STI_NODE_POSTFIX || e->kind == STI_NODE_UNARY)
        return e->op == STI_OP_INCREMENT ? 1 : e->op == STI_OP_DECREMENT ? -1 : 0;
    if (e->kind != STI_NODE_ASSIGN || !sti_constant(t->u, e->b, false, &by)) return 0;
    return e->op == STI_OP_ADD_ASSIGN ? by : e->op == STI_OP_SUB_ASSIGN ? -by : 0;
}

/* Reads a test: variable < to, or that and another condition, which may end the loop early. */
static bool count_test(sti_transform *t, const sti_node *test, const sti_symbol *v, sti_counted *out)
{
    if (test->kind != STI_NODE_BINARY) return false;
    if (test->op == STI_OP_BOTH) {
        bool flag = test->a->kind == STI_NODE_NAME && sti_note_of(t, test->a->symbol)->flag;
        if (flag) out->flag = test->a;
        out->early = true;
        return (!flag && count_test(t, test->a, v, out)) || count_test(t, test->b, v, out);
    }
    if (test->a->kind != STI_NODE_NAME || test->a->symbol != v) return false;
    bool up = test->op == STI_OP_LT || test->op == STI_OP_LE, down = test->op == STI_OP_GT || test->op == STI_OP_GE;
    out->to = test->b;
    out->included = test->op == STI_OP_LE || test->op == STI_OP_GE;
    return (up && out->step > 0) || (down && out->step < 0);
}

bool sti_count_loop(sti_transform *t, const sti_node *n, sti_counted *out)
{
    *out = (sti_counted){0};
    if (!n->a || n->a->kind != STI_NODE_DECLARE || !n->a->a->a || !n->b) return false;
    const sti_symbol *v = n->a->a->symbol;
    bool is_signed = v && (v->type->kind == STI_TYPE_INT || v->type->kind == STI_TYPE_I64);
    if (!is_signed || sti_note_of(t, v)->assigned) return false;
    out->variable = v;
    out->from = n->a->a->a;
    out->step = step_of(t, n->c, v);
    if (out->step == 0 || !count_test(t, n->b, v, out)) return false;
    return sti_stable(t, n, out->from) && sti_stable(t, n, out->to) && !sti_mentions(out->to, v);
}

int64_t sti_constant_trips(sti_transform *t, const sti_counted *c)
{
    int64_t from, to;
    if (!sti_constant(t->u, c->from, false, &from) || !sti_constant(t->u, c->to, false, &to)) return -1;
    int64_t by = c->step > 0 ? c->step : -c->step, way = c->step > 0 ? to - from : from - to;
    way += c->included;
    return way <= 0 ? 0 : (way + by - 1) / by;
}

bool sti_loop_range(sti_transform *t, const sti_counted *c, int64_t *low, int64_t *high)
{
    int64_t from, trips = sti_constant_trips(t, c);
    if (trips <= 0 || !sti_constant(t->u, c->from, false, &from)) return false;
    int64_t last = from + (trips - 1) * c->step;
    *low = from < last ? from : last;
    *high = from < last ? last : from;
    return true;
}
