/*
 * Reverse of loops, from the last iteration to the first; see transform.h.
 *
 * A counted loop whose iterations pass nothing on that reverse needs just counts the other way (disjoint.c). Any other
 * loop runs forward once more and saves, before each iteration, what the loop changes: in local arrays if the trips are
 * constant and few, else on the tape.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/printer.h"
#include "kernel/check/type.h"

#include <string.h>

enum { MOST_LOCAL = 512 /* numbers that a loop saves in local arrays */ };

/* ---- counting ---------------------------------------------------------------------------------------------------- */

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
    if (e->kind == STI_NODE_CALL && e->symbol && e->symbol->kind == STI_SYMBOL_LIBRARY &&
        (strcmp(e->name->text, "nmin") == 0 || strcmp(e->name->text, "nmax") == 0))
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

/* ---- the other way ----------------------------------------------------------------------------------------------- */

static void adjoint_body(sti_transform *t, sti_node *n)
{
    const sti_node *inner = t->inner;
    t->inner = n;
    sti_adjoint_list(t, n->d->a);
    t->inner = inner;
}

static const char *less_or_more(sti_transform *t, const sti_node *e, int more)
{
    const char *text = sti_value(t, e);
    int64_t value;
    if (sti_constant(t->u, e, false, &value)) return sti_say(t, "%lld", (long long)value + more);
    return more ? sti_say(t, "%s %s 1", sti_closed(t, text), more < 0 ? "-" : "+") : text;
}

/* Counts back, for step 1 or -1: for (int i = to - 1; i >= from; --i). */
static void count_back(sti_transform *t, sti_node *n, const sti_counted *c)
{
    const char *type = sti_type_word(t, sti_type_value(c->variable->type)), *i = c->variable->name->text;
    bool up = c->step > 0;
    sti_emit(t, "for (%s %s = %s; %s %s %s; %s%s) {", type, i,
             less_or_more(t, c->to,
                          c->included ? 0
                          : up        ? -1
                                      : 1),
             i, up ? ">=" : "<=", sti_closed(t, sti_value(t, c->from)), up ? "--" : "++", i);
    adjoint_body(t, n);
    sti_emit(t, "}");
}

/* ---- keeping ----------------------------------------------------------------------------------------------------- */

/* A loop that runs again while its changes are saved. */
typedef struct keeping {
    sti_node *n;
    sti_counted c;
    bool counted;
    sti_effects changed;
    int64_t trips;                          /* the number of trips, if local arrays are used; else -1 */
    const char *local[STI_ADJOINT_CHANGED]; /* names of the local arrays */
    const char *count, *k;                  /* variables with the number of iterations and the current one */
    int slots;
    const char *mark; /* where the log of an iteration begins */
} keeping;

static int64_t numbers_of(const sti_type *type)
{
    if (type->kind == STI_TYPE_ARRAY) return type->count * numbers_of(type->of);
    if (type->kind != STI_TYPE_STRUCT) return 1;
    int64_t sum = 0;
    for (const sti_symbol *f = type->structure->field; f; f = f->next) sum += numbers_of(f->type);
    return sum;
}

static void drop_flag(sti_transform *t, sti_effects *e)
{
    int kept = 0;
    for (int i = 0; i < e->count; ++i)
        if (!sti_note_of(t, e->symbol[i])->flag) e->symbol[kept++] = e->symbol[i];
    e->count = kept;
}

static void choose_place(sti_transform *t, keeping *k)
{
    int64_t numbers = 0;
    for (int i = 0; i < k->changed.count; ++i) numbers += numbers_of(k->changed.symbol[i]->type);
    k->trips = k->counted ? sti_constant_trips(t, &k->c) : -1;
    if (k->trips < 0 || k->trips > MOST_LOCAL || numbers * k->trips > MOST_LOCAL) k->trips = -1;
    if (numbers == 0) k->trips = 1; /* nothing to save */
    if (k->changed.narray > 0) k->trips = -1;
}

static void declare_local(sti_transform *t, keeping *k)
{
    for (int i = 0; i < k->changed.count; ++i) {
        const sti_type *type = k->changed.symbol[i]->type;
        const char *sizes = sti_say(t, "[%lld]", (long long)(k->trips ? k->trips : 1));
        for (const sti_type *a = type; a->kind == STI_TYPE_ARRAY; a = a->of)
            sizes = sti_say(t, "%s[%lld]", sizes, (long long)a->count);
        k->local[i] = sti_fresh(t, k->changed.symbol[i]->name->text);
        sti_emit(t, "%s %s%s;", sti_type_word(t, sti_type_value(sti_type_element(type))), k->local[i], sizes);
    }
}

/* Saves the values before an iteration, or (`back`) restores them. */
static void copy_changed(sti_transform *t, keeping *k, bool back)
{
    sti_slots slots = {{0}};
    for (int i = 0; i < k->changed.count; ++i) {
        const sti_symbol *s = k->changed.symbol[i];
        const char *name = s->name->text;
        if (k->trips < 0) {
            sti_spill_copy(t, name, s->type, back, &slots);
            continue;
        }
        const char *kept = sti_say(t, "%s[%s]", k->local[i], back ? k->k : k->count);
        sti_copy(t, back ? name : kept, back ? kept : name, s->type);
    }
}

static int count_slots(const keeping *k)
{
    sti_slots slots = {{0}};
    for (int i = 0; i < k->changed.count; ++i) sti_spill_count(k->changed.symbol[i]->type, 1, &slots);
    return sti_slots_count(&slots);
}

/* The log's entries of an iteration are above what the iteration saves, followed by the mark where they begin. */
static void run_body(sti_transform *t, keeping *k)
{
    bool logging = t->logging;
    const sti_effects *log = t->log;
    if (k->changed.count == 0 && k->changed.narray == 0 && !k->c.early && k->counted) return;
    t->logging = k->changed.narray > 0;
    t->log = &k->changed;
    if (t->logging) {
        k->mark = sti_fresh(t, "mark");
        sti_emit(t, "int %s = top;", k->mark);
    }
    sti_run_block(t, k->n->d);
    if (t->logging) {
        t->taped |= 1u << STI_SPILL_INT;
        sti_emit(t, "if (top + 1 > tape_depth) {");
        sti_emit(t, "tape_over[0] = %u;", sti_mark_of(k->n->place));
        sti_emit(t, "top = %s;", k->mark); /* one more slot was reserved when the iteration began */
        sti_emit(t, "}");
        sti_emit(t, "wtape[(i64)top * tape_width] = %s;", k->mark);
        sti_emit(t, "top += 1;");
    }
    t->logging = logging;
    t->log = log;
}

static void undo_iteration(sti_transform *t, keeping *k)
{
    if (k->changed.narray == 0) return;
    sti_emit(t, "top -= 1;");
    sti_emit(t, "int %s = (int)wtape[(i64)top * tape_width];", k->mark);
    sti_log_undo(t, &k->changed, k->mark);
}

static void keep_pass(sti_transform *t, keeping *k)
{
    bool taped = k->trips < 0;
    sti_emit(t, "int %s = 0;", k->count);
    if (!taped) declare_local(t, k);
    sti_emit(t, "%s", sti_for_text(t, k->n));
    if (taped) {
        k->slots = count_slots(k);
        t->taped |= 1u << STI_SPILL_OVER;
        sti_emit(t, "if (top + %d > tape_depth) {", k->slots + (k->changed.narray > 0));
        sti_emit(t, "tape_over[0] = %u;", sti_mark_of(k->n->place));
        sti_emit(t, "break;");
        sti_emit(t, "}");
    }
    copy_changed(t, k, false);
    if (taped && k->slots > 0) sti_emit(t, "top += %d;", k->slots);
    sti_emit(t, "%s = %s + 1;", k->count, k->count);
    run_body(t, k);
    sti_emit(t, "}");
}

static void reverse_pass(sti_transform *t, keeping *k)
{
    sti_emit(t, "for (int %s = %s - 1; %s >= 0; --%s) {", k->k, k->count, k->k, k->k);
    if (k->counted)
        sti_emit(t, "%s %s = %s %s %s;", sti_type_word(t, sti_type_value(k->c.variable->type)),
                 k->c.variable->name->text, sti_closed(t, sti_value(t, k->c.from)), k->c.step > 0 ? "+" : "-",
                 k->c.step == 1 || k->c.step == -1
                     ? k->k
                     : sti_say(t, "%s * %lld", k->k, (long long)(k->c.step > 0 ? k->c.step : -k->c.step)));
    undo_iteration(t, k);
    if (k->trips < 0 && k->slots > 0) sti_emit(t, "top -= %d;", k->slots);
    copy_changed(t, k, true);
    if (k->c.flag) sti_emit(t, "%s = 1;", k->c.flag->name->text);
    adjoint_body(t, k->n);
    sti_emit(t, "}");
}

/* For a loop that is not counted: its own variable is one of those that change. */
static void take_out_variable(sti_transform *t, keeping *k)
{
    sti_node *d = k->n->a;
    if (!d) return;
    sti_emit(t, "%s %s = %s;", sti_type_word(t, d->a->named), d->a->name->text, d->a->a ? sti_value(t, d->a->a) : "0");
    k->n->a = NULL;
    if (k->changed.count < STI_ADJOINT_CHANGED) k->changed.symbol[k->changed.count++] = d->a->symbol;
}

static void adjoint_kept(sti_transform *t, keeping *k)
{
    sti_node *begin = k->n->a;
    k->count = sti_fresh(t, "n");
    k->k = sti_fresh(t, "k");
    sti_emit(t, "{");
    if (!k->counted) take_out_variable(t, k);
    choose_place(t, k);
    if (k->trips < 0 && sti_team_level(t)) sti_emit(t, "sync();");
    keep_pass(t, k);
    int log = k->changed.narray > 0;
    sti_note_of(t, (const sti_symbol *)(const void *)k->n)->slots = k->trips < 0 ? k->slots + log : 0;
    reverse_pass(t, k);
    sti_emit(t, "}");
    k->n->a = begin;
}

void sti_adjoint_for(sti_transform *t, sti_node *n)
{
    keeping k = {.n = n};
    k.counted = sti_count_loop(t, n, &k.c);
    sti_effects_of(t, n, &k.changed);
    drop_flag(t, &k.changed);
    bool alone = !sti_team_level(t) && !(t->items && t->kernel);
    if (alone && k.counted && sti_disjoint(t, n, &k.c, &k.changed)) k.changed.count = k.changed.narray = 0;
    bool plain =
        k.counted && !k.c.early && k.changed.count == 0 && k.changed.narray == 0 && (k.c.step == 1 || k.c.step == -1);
    if (plain)
        count_back(t, n, &k.c);
    else
        adjoint_kept(t, &k);
}
