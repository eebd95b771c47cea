/*
 * Elements at constant places that all iterations of an each read, such as a world's parameters. Their gradients are
 * sums over the iterations; see transform.h.
 *
 * If iterations run one after the other, such a sum is built in a local array. Nothing else points to that array, so
 * the compiler can hold it in registers; in memory each addition would wait for the previous store. The array begins
 * with the old gradient and adds the same entries in the same order, so the result is the same. Otherwise entries are
 * listed (team.c), and the array is not used.
 */
#include "adjoint/transform/transform.h"
#include "kernel/check/type.h"

enum { MOST_SUMS = 8 /* elements of one array */ };

/* True for parameters that the kernel does not write and whose gradients are arrays of worlds. */
static bool is_summed(sti_transform *t, const sti_symbol *s)
{
    const sti_access_note *n = sti_access_note_of(t, s);
    bool fixed = n->places == STI_PLACES_FIXED && n->low >= 0 && n->high - n->low < MOST_SUMS;
    return fixed && sti_note_of(t, s)->active && !s->written && sti_type_points(s->type) && sti_type_real(s->type->of);
}

static void name_sum(sti_transform *t, const sti_symbol *s)
{
    sti_access_note *n = sti_access_note_of(t, s);
    n->sum = sti_fresh(t, sti_joined(t, s->name->text, "sum"));
    n->first = n->low;
    n->nsum = (int)(n->high - n->low + 1);
    n->summed = false;
}

/* Copies the gradient to the array, or (`back`) to the gradient. Copies no element where sums are not used. */
static void move_sum(sti_transform *t, const sti_symbol *s, bool back)
{
    const sti_access_note *n = sti_access_note_of(t, s);
    const char *k = sti_fresh(t, "k"), *g = sti_gradient_name(t, s), *count = sti_fresh(t, "n");
    const char *at = n->first ? sti_say(t, "%s + %lld", k, (long long)n->first) : k;
    sti_emit(t, "int %s = %s ? 0 : %d;", count, STI_TEAM_LISTS, n->nsum);
    if (back)
        sti_emit(t, "each (%s, %s) put(%s, %s, %s[%s]);", k, count, g, at, n->sum, k);
    else
        sti_emit(t, "for (int %s = 0; %s < %s; ++%s) %s[%s] = %s[%s];", k, k, count, k, n->sum, k, g, at);
}

bool sti_sum_add(sti_transform *t, const sti_symbol *array, const char *index, const char *more)
{
    sti_access_note *n = sti_access_note_of(t, array);
    if (!n->sum) return false;
    const char *at = n->first ? sti_say(t, "%s - %lld", index, (long long)n->first) : index;
    n->summed = true;
    sti_emit(t, "%s[%s] = %s[%s] + %s;", n->sum, at, n->sum, at, more);
    return true;
}

static void open_sums(sti_transform *t, const sti_node *parameters)
{
    for (const sti_node *v = parameters; v; v = v->next) {
        const sti_access_note *n = v->symbol ? sti_access_note_of(t, v->symbol) : NULL;
        if (!n || !n->sum || !n->summed) continue;
        sti_emit(t, "real %s[%d];", n->sum, n->nsum);
        move_sum(t, v->symbol, false);
    }
}

static void close_sums(sti_transform *t, const sti_node *parameters)
{
    for (const sti_node *v = parameters; v; v = v->next) {
        sti_access_note *n = v->symbol ? sti_access_note_of(t, v->symbol) : NULL;
        if (n && n->sum && n->summed) move_sum(t, v->symbol, true);
        if (n) n->sum = NULL;
    }
}

void sti_adjoint_summed_each(sti_transform *t, sti_node *each)
{
    const sti_node *parameters = t->items ? NULL : t->function->a;
    t->each = each;
    sti_note_accesses(t);
    t->each = NULL;
    for (const sti_node *v = parameters; v; v = v->next)
        if (v->symbol && is_summed(t, v->symbol)) name_sum(t, v->symbol);
    sti_text_buffer outer = sti_capture(t, 0); /* which sums are used is known after the each is made */
    sti_adjoint_each(t, each);
    sti_text_buffer text = sti_captured(t, outer, 0);
    open_sums(t, parameters);
    sti_take_text(&t->output->text, &text);
    close_sums(t, parameters);
}
