/*
 * Shares: variables from outside of an each to whose gradients its iterations add. Each iteration writes its share to
 * the tape, and all threads add up the shares in the order of the iterations; see transform.h and team.c.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/type.h"

static bool find_share(sti_transform *t, const sti_node *n, const void *context)
{
    sti_shares *out = (sti_shares *)(uintptr_t)context;
    sti_symbol *s = n->kind == STI_NODE_NAME ? n->symbol : NULL;
    bool variable = s && (s->kind == STI_SYMBOL_VARIABLE || s->kind == STI_SYMBOL_PARAMETER) && s->type &&
                    s->type->kind != STI_TYPE_POINTER && sti_type_carries(s->type);
    bool known = false;
    for (int i = 0; i < out->count; ++i) known |= out->symbol[i] == s;
    if (!variable || known || !sti_note_of(t, s)->active || sti_declared_in(t->each, s)) return false;
    if (out->count < STI_ADJOINT_CODES)
        out->symbol[out->count++] = s;
    else
        sti_complain(t->u, n->place, "more than %d variables from outside have gradients in this each: use arrays",
                     STI_ADJOINT_CODES);
    return false;
}

void sti_find_shares(sti_transform *t, const sti_node *n, sti_shares *out) { (void)sti_any(t, n, find_share, out); }

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
