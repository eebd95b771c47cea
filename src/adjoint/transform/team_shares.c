/*
 * Shares: variables from outside of an each to whose gradients its iterations add. Each iteration writes its share to
 * the tape, and all threads add up the shares in the order of the iterations; see transform.h and team.c.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/flow.h"
#include "kernel/check/type.h"

/* What a pointer from outside of the current each points to. NULL: it is none. */
static const sti_node *pointed_outside(const sti_transform *t, const sti_symbol *s)
{
    bool pointer = s && s->kind == STI_SYMBOL_VARIABLE && s->type && s->type->kind == STI_TYPE_POINTER;
    return pointer && s->node && t->each && !sti_declared_in(t->each, s) ? s->node->a : NULL;
}

static bool find_share(sti_transform *t, const sti_node *n, const void *context)
{
    sti_shares *out = (sti_shares *)(uintptr_t)context;
    sti_symbol *s = n->kind == STI_NODE_NAME ? n->symbol : NULL;
    sti_find_shares(t, pointed_outside(t, s), out);
    bool variable = s && (s->kind == STI_SYMBOL_VARIABLE || s->kind == STI_SYMBOL_PARAMETER) && s->type &&
                    s->type->kind != STI_TYPE_POINTER && sti_type_carries(s->type);
    bool known = false;
    for (int i = 0; i < out->count; ++i) known |= out->symbol[i] == s;
    if (!variable || known || !sti_note_of(t, s)->active || sti_declared_in(t->each, s)) return false;
    if (out->count < STI_ADJOINT_CODES)
        out->symbol[out->count++] = s;
    else
        sti_report_mistake(t->u, n->place,
                           "more than %d variables from outside have gradients in this each: use arrays",
                           STI_ADJOINT_CODES);
    return false;
}

void sti_find_shares(sti_transform *t, const sti_node *n, sti_shares *out) { (void)sti_any(t, n, find_share, out); }

static void find_noted_share(sti_symbol *s, void *context)
{
    sti_transform *t = ((void **)context)[0];
    bool *found = ((void **)context)[1];
    *found |= sti_note_of(t, s)->share != NULL;
}

/* True if a place is the same wherever it is written: its indices are. */
static bool is_fixed_place(sti_transform *t, const sti_node *e)
{
    bool left;
    switch (e->kind) {
    case STI_NODE_NAME: return true;
    case STI_NODE_INDEX: return is_fixed_place(t, e->a) && sti_is_fixed(t, e->b);
    case STI_NODE_MEMBER:
    case STI_NODE_UNARY: return is_fixed_place(t, e->a);
    case STI_NODE_BINARY:
        left = e->a->type && sti_type_points(e->a->type);
        return is_fixed_place(t, left ? e->a : e->b) && sti_is_fixed(t, left ? e->b : e->a);
    case STI_NODE_CONDITION: return sti_is_fixed(t, e->a) && is_fixed_place(t, e->b) && is_fixed_place(t, e->c);
    default: return false;
    }
}

const sti_node *sti_pointed_share(sti_transform *t, const sti_node *name)
{
    bool shares = false;
    const sti_node *to = pointed_outside(t, name->symbol);
    if (!to) return NULL;
    sti_origins((sti_node *)(uintptr_t)to, find_noted_share, (void *[]){t, &shares});
    if (shares && !is_fixed_place(t, to))
        sti_report_mistake(t->u, name->place,
                           "`%s` points into a variable from outside of the each: write the variable here",
                           name->name->text);
    return shares ? to : NULL;
}

int64_t sti_count_shares(const sti_shares *s)
{
    int64_t sum = 0;
    for (int i = 0; i < s->count; ++i) sum += sti_type_numbers(s->symbol[i]->type, true);
    return sum;
}

void sti_open_shares(sti_transform *t, const sti_shares *s)
{
    for (int i = 0; i < s->count; ++i) {
        sti_note_of(t, s->symbol[i])->share = sti_fresh(t, sti_say(t, "%s_share", s->symbol[i]->name->text));
        sti_declare_gradient(t, s->symbol[i]);
    }
}

/* Directions of a share's numbers: to the tape; from the tape to the gradient, for iteration `j` or for all. */
typedef enum moving { TO_SPILL, OF_ITERATION, OF_ALL } moving;

typedef struct movement {
    const char *place, *j;
    moving way;
    int slot;
} movement;

static void move_number(sti_transform *t, const char *suffix, const sti_type *type, void *context)
{
    movement *m = context;
    const char *row = sti_say(t, "(i64)(top + %d) * tape_width", m->slot++);
    const char *place = sti_say(t, "%s%s", m->place, suffix);
    (void)type;
    if (m->way == TO_SPILL) sti_emit(t, "put(tape, %s, %s);", row, place);
    if (m->way == OF_ITERATION) sti_emit(t, "%s = %s + tape[%s + %s];", place, place, row, m->j);
    if (m->way == OF_ALL) sti_emit(t, "%s = sum_listed(tape + %s, %s, %s);", place, row, m->j, place);
}

void sti_close_shares(sti_transform *t, const sti_shares *s)
{
    movement m = {.way = TO_SPILL};
    for (int i = 0; i < s->count; ++i) {
        sti_note *n = sti_note_of(t, s->symbol[i]);
        m.place = n->share;
        sti_each_number(t, "", s->symbol[i]->type, true, move_number, &m);
        n->share = NULL;
    }
    if (m.slot > 0) t->tape->taped |= 1u << STI_SPILL_REAL;
}

static void add_up(sti_transform *t, const sti_shares *s, moving way, const char *j)
{
    movement m = {.way = way, .j = j};
    for (int i = 0; i < s->count; ++i) {
        m.place = sti_gradient_name(t, s->symbol[i]);
        sti_each_number(t, "", s->symbol[i]->type, true, move_number, &m);
    }
}

/*
 * A thread of a GPU adds up the shares of one variable. Lanes of a CPU add those of all variables in one loop, because
 * the additions are independent.
 */
void sti_add_shares(sti_transform *t, const sti_shares *s, const char *count)
{
    const char *j = sti_fresh(t, "j");
    if (s->count == 0) return;
    sti_emit(t, "if (STET_GPU) {");
    add_up(t, s, OF_ALL, count);
    sti_emit(t, "} else {");
    sti_emit(t, "for (int %s = 0; %s < %s; ++%s) {", j, j, count, j);
    add_up(t, s, OF_ITERATION, j);
    sti_emit(t, "}");
    sti_emit(t, "}");
    sti_emit(t, "sync();");
}
