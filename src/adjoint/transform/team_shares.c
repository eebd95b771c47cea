/*
 * Shares: variables from outside of an each to whose gradients its iterations add. Each iteration writes its share to
 * the tape, and all threads add up the shares in the order of the iterations; see transform.h and team.c.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/type.h"

void sti_find_shares(sti_transform *t, const sti_node *n, sti_shares *out)
{
    for (; n; n = n->next) {
        sti_symbol *s = n->kind == STI_NODE_NAME ? n->symbol : NULL;
        bool variable = s && (s->kind == STI_SYMBOL_VARIABLE || s->kind == STI_SYMBOL_PARAMETER) && s->type &&
                        s->type->kind != STI_TYPE_POINTER && sti_type_carries(s->type);
        bool known = false;
        for (int i = 0; i < out->count; ++i) known |= out->symbol[i] == s;
        if (variable && !known && sti_note_of(t, s)->active && !sti_declared_in(t->each, s)) {
            if (out->count < STI_ADJOINT_CODES)
                out->symbol[out->count++] = s;
            else
                sti_complain(t->u, n->place,
                             "more than %d variables from outside have gradients in this each: use arrays",
                             STI_ADJOINT_CODES);
        }
        sti_find_shares(t, n->a, out);
        sti_find_shares(t, n->b, out);
        sti_find_shares(t, n->c, out);
        sti_find_shares(t, n->d, out);
    }
}

static int64_t numbers_in(const sti_type *type)
{
    int64_t sum = 0;
    if (type->kind == STI_TYPE_ARRAY) return type->count * numbers_in(type->of);
    if (type->kind != STI_TYPE_STRUCT) return 1;
    for (const sti_symbol *f = type->structure->field; f; f = f->next)
        if (sti_type_carries(f->type)) sum += numbers_in(f->type);
    return sum;
}

int64_t sti_count_shares(const sti_shares *s)
{
    int64_t sum = 0;
    for (int i = 0; i < s->count; ++i) sum += numbers_in(s->symbol[i]->type);
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

static void move_number(sti_transform *t, const char *place, moving way, const char *j, int slot)
{
    const char *row = sti_say(t, "(i64)(top + %d) * tape_width", slot);
    if (way == TO_SPILL) sti_emit(t, "put(tape, %s, %s);", row, place);
    if (way == OF_ITERATION) sti_emit(t, "%s = %s + tape[%s + %s];", place, place, row, j);
    if (way == OF_ALL) sti_emit(t, "%s = sum_listed(tape + %s, %s, %s);", place, row, j, place);
}

static void move_share(sti_transform *t, const char *place, const sti_type *type, moving way, const char *j, int *slot)
{
    if (type->kind == STI_TYPE_ARRAY) {
        for (int64_t k = 0; k < type->count; ++k)
            move_share(t, sti_say(t, "%s[%lld]", place, (long long)k), type->of, way, j, slot);
    } else if (type->kind == STI_TYPE_STRUCT) {
        for (const sti_symbol *f = type->structure->field; f; f = f->next)
            if (sti_type_carries(f->type))
                move_share(t, sti_say(t, "%s.%s", place, f->name->text), f->type, way, j, slot);
    } else {
        move_number(t, place, way, j, (*slot)++);
    }
}

void sti_close_shares(sti_transform *t, const sti_shares *s)
{
    int slot = 0;
    for (int i = 0; i < s->count; ++i) {
        sti_note *n = sti_note_of(t, s->symbol[i]);
        move_share(t, n->share, s->symbol[i]->type, TO_SPILL, NULL, &slot);
        n->share = NULL;
    }
    if (slot > 0) t->taped |= 1u << STI_SPILL_REAL;
}

static void add_up(sti_transform *t, const sti_shares *s, moving way, const char *j)
{
    int slot = 0;
    for (int i = 0; i < s->count; ++i)
        move_share(t, sti_gradient_name(t, s->symbol[i]), s->symbol[i]->type, way, j, &slot);
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
