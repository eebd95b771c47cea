/*
 * Reverse of loops, from the last iteration to the first; see transform.h.
 *
 * A counted loop whose iterations pass nothing on that reverse needs just counts the other way (disjoint.c). Any other
 * loop runs forward once more and saves, before each iteration, what the loop changes: in local arrays if the trips are
 * constant and few, else on the tape.
 */
#include "adjoint/transform/save_restore.h"
#include "kernel/check/type.h"

enum { MOST_LOCAL = 512 /* numbers that a loop saves in local arrays */ };

/* ---- the other way ----------------------------------------------------------------------------------------------- */

static void adjoint_body(sti_transform *t, sti_node *n)
{
    const sti_node *inner = t->tape->inner;
    t->tape->inner = n;
    sti_adjoint_list(t, n->d->a);
    t->tape->inner = inner;
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
typedef struct saving {
    sti_node *n;
    sti_counted c;
    bool counted;
    sti_effects changed;
    int64_t trips;                          /* the number of trips, if local arrays are used; else -1 */
    const char *local[STI_ADJOINT_CHANGED]; /* names of the local arrays */
    const char *count, *k;                  /* variables with the number of iterations and the current one */
    int slots;
    const char *mark; /* where the log of an iteration begins */
} saving;

static void drop_flag(sti_transform *t, sti_effects *e)
{
    int kept = 0;
    for (int i = 0; i < e->count; ++i)
        if (!sti_note_of(t, e->symbol[i])->flag) e->symbol[kept++] = e->symbol[i];
    e->count = kept;
}

static void choose_place(sti_transform *t, saving *k)
{
    int64_t numbers = 0;
    for (int i = 0; i < k->changed.count; ++i) numbers += sti_type_numbers(k->changed.symbol[i]->type, false);
    k->trips = k->counted ? sti_constant_trips(t, &k->c) : -1;
    if (k->trips < 0 || k->trips > MOST_LOCAL || numbers * k->trips > MOST_LOCAL) k->trips = -1;
    if (numbers == 0) k->trips = 1; /* nothing to save */
    if (k->changed.narray > 0) k->trips = -1;
}

static void declare_local(sti_transform *t, saving *k)
{
    for (int i = 0; i < k->changed.count; ++i) {
        const sti_type *type = k->changed.symbol[i]->type;
        const char *sizes = sti_type_sizes(t, type);
        k->local[i] = sti_fresh(t, k->changed.symbol[i]->name->text);
        sti_emit(t, "%s %s[%lld]%s;", sti_type_word(t, sti_type_value(sti_type_element(type))), k->local[i],
                 (long long)(k->trips ? k->trips : 1), sizes);
    }
}

/* Saves the values before an iteration, or (`back`) restores them. */
static void copy_changed(sti_transform *t, saving *k, bool back)
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

static int count_slots(const saving *k)
{
    sti_slots slots = {{0}};
    for (int i = 0; i < k->changed.count; ++i) sti_spill_count(k->changed.symbol[i]->type, 1, &slots);
    return sti_slots_count(&slots);
}

/* The log's entries of an iteration are above what the iteration saves, followed by the mark where they begin. */
static void run_body(sti_transform *t, saving *k)
{
    const sti_effects *log = t->log;
    if (k->changed.count == 0 && k->changed.narray == 0 && !k->c.early && k->counted) return;
    t->log = k->changed.narray > 0 ? &k->changed : NULL;
    if (t->log) {
        k->mark = sti_fresh(t, "mark");
        sti_emit(t, "int %s = top;", k->mark);
    }
    sti_run_block(t, k->n->d);
    if (t->log) {
        t->tape->taped |= 1u << STI_SPILL_INT;
        sti_emit(t, "if (top + 1 > tape_depth) {");
        sti_emit(t, "tape_over[0] = %u;", sti_mark_of(k->n->place));
        sti_emit(t, "top = %s;", k->mark); /* one more slot was reserved when the iteration began */
        sti_emit(t, "}");
        sti_emit(t, "wtape[(i64)top * tape_width] = %s;", k->mark);
        sti_emit(t, "top += 1;");
    }
    t->log = log;
}

static void undo_iteration(sti_transform *t, saving *k)
{
    if (k->changed.narray == 0) return;
    sti_emit(t, "top -= 1;");
    sti_emit(t, "int %s = (int)wtape[(i64)top * tape_width];", k->mark);
    sti_log_undo(t, &k->changed, k->mark);
}

static void save_pass(sti_transform *t, saving *k)
{
    bool taped = k->trips < 0;
    sti_emit(t, "int %s = 0;", k->count);
    if (!taped) declare_local(t, k);
    sti_emit(t, "%s", sti_for_text(t, k->n));
    if (taped) {
        k->slots = count_slots(k);
        t->tape->taped |= 1u << STI_SPILL_OVER;
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

static void reverse_pass(sti_transform *t, saving *k)
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
static void take_out_variable(sti_transform *t, saving *k)
{
    sti_node *d = k->n->a;
    if (!d) return;
    sti_emit(t, "%s %s = %s;", sti_type_word(t, d->a->named), d->a->name->text, d->a->a ? sti_value(t, d->a->a) : "0");
    k->n->a = NULL;
    if (k->changed.count < STI_ADJOINT_CHANGED) k->changed.symbol[k->changed.count++] = d->a->symbol;
}

static void adjoint_saved(sti_transform *t, saving *k)
{
    sti_node *begin = k->n->a;
    k->count = sti_fresh(t, "n");
    k->k = sti_fresh(t, "k");
    sti_emit(t, "{");
    if (!k->counted) take_out_variable(t, k);
    choose_place(t, k);
    if (k->trips < 0 && sti_team_level(t)) sti_emit(t, "sync();");
    save_pass(t, k);
    int log = k->changed.narray > 0;
    sti_region_note_of(t, k->n)->slots = k->trips < 0 ? k->slots + log : 0;
    reverse_pass(t, k);
    sti_emit(t, "}");
    k->n->a = begin;
}

void sti_adjoint_for(sti_transform *t, sti_node *n)
{
    saving k = {.n = n};
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
        adjoint_saved(t, &k);
}
