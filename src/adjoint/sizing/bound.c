/*
 * Evaluates and prints bounds; see bound.h.
 */
#include "adjoint/sizing/bound.h"

#include "base/error.h"
#include "base/hash.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_STEPS = 1 << 28 };
#define MOST_VALUE ((int64_t)1 << 62)

typedef struct evaluation {
    const sti_bound_values *values;
    int64_t steps;
} evaluation;

static stet_result evaluate(evaluation *v, sti_bound *b, int64_t *out);

static stet_result find_argument(const evaluation *v, const sti_bound *b, int64_t *out)
{
    if (v->values->number(v->values->context, b->name, out)) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "the size of an adjoint's tape needs the argument %s, which is not given", b->name);
}

static stet_result find_element(evaluation *v, const sti_bound *b, int64_t *out)
{
    int64_t index;
    STI_TRY(evaluate(v, b->a, &index));
    if (v->values->element(v->values->context, b->name, index, out)) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "the size of an adjoint's tape needs element %" PRId64 " of %s, which it does not have", index,
                     b->name);
}

static stet_result find_greatest(evaluation *v, sti_bound *b, int64_t *out)
{
    int64_t from, to, value;
    STI_TRY(evaluate(v, b->a, &from));
    STI_TRY(evaluate(v, b->b, &to));
    *out = 0;
    for (int64_t i = from; i < to; ++i) {
        b->variable->number = i;
        STI_TRY(evaluate(v, b->c, &value));
        if (value > *out) *out = value;
    }
    return STET_OK;
}

static stet_result out_of_range(void)
{
    return sti_error(STET_ERROR_LIMIT,
                     "the size of an adjoint's tape is beyond 2^62: its arguments are no sensible counts");
}

static stet_result calculate(sti_bound_kind kind, int64_t a, int64_t b, int64_t *out)
{
    bool over = false;
    if ((kind == STI_BOUND_DIV || kind == STI_BOUND_MOD) && (b == 0 || (b == -1 && a == INT64_MIN)))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "the size of an adjoint's tape: %" PRId64 " is divided by %" PRId64, a, b);
    switch (kind) {
    case STI_BOUND_ADD: over = __builtin_add_overflow(a, b, out); break;
    case STI_BOUND_SUB: over = __builtin_sub_overflow(a, b, out); break;
    case STI_BOUND_MUL: over = __builtin_mul_overflow(a, b, out); break;
    case STI_BOUND_DIV: *out = a / b; break;
    case STI_BOUND_MOD: *out = a % b; break;
    case STI_BOUND_MAX: *out = a > b ? a : b; break;
    default: *out = a < b ? a : b; break;
    }
    return over || *out > MOST_VALUE || *out < -MOST_VALUE ? out_of_range() : STET_OK;
}

static stet_result evaluate(evaluation *v, sti_bound *b, int64_t *out)
{
    int64_t left, right;
    if (++v->steps > MOST_STEPS)
        return sti_error(STET_ERROR_LIMIT, "the size of an adjoint's tape takes more than %d steps to work out",
                         MOST_STEPS);
    bool data = b->kind == STI_BOUND_OVER || b->kind == STI_BOUND_ELEMENT;
    if (data && v->values->known && v->values->known(v->values->context, b, out)) return STET_OK;
    switch (b->kind) {
    case STI_BOUND_NUMBER:
    case STI_BOUND_VARIABLE: *out = b->number; return STET_OK;
    case STI_BOUND_ARGUMENT: return find_argument(v, b, out);
    case STI_BOUND_ELEMENT: return find_element(v, b, out);
    case STI_BOUND_OVER: return find_greatest(v, b, out);
    default:
        STI_TRY(evaluate(v, b->a, &left));
        STI_TRY(evaluate(v, b->b, &right));
        return calculate(b->kind, left, right, out);
    }
}

stet_result sti_bound_evaluate(sti_bound *bound, const sti_bound_values *values, int64_t *out)
{
    evaluation v = {.values = values};
    return evaluate(&v, bound, out);
}

/* ---- for people -------------------------------------------------------------------------------------------------- */

static const char *text_of(sti_bound_kind kind)
{
    static const char *const texts[] = {
#define TEXT(tag, text) text,
        STI_BOUND_KINDS(TEXT)
#undef TEXT
    };
    return texts[kind];
}

static void print_operand(const sti_bound *b, sti_text_buffer *out)
{
    bool closed = b->kind >= STI_BOUND_OVER && b->kind < STI_BOUND_MAX;
    if (closed) sti_text_buffer_put(out, "(");
    sti_bound_print(b, out);
    if (closed) sti_text_buffer_put(out, ")");
}

void sti_bound_print(const sti_bound *b, sti_text_buffer *out)
{
    switch (b->kind) {
    case STI_BOUND_NUMBER: sti_text_buffer_format(out, "%" PRId64, b->number); break;
    case STI_BOUND_ARGUMENT:
    case STI_BOUND_VARIABLE: sti_text_buffer_put(out, b->name); break;
    case STI_BOUND_ELEMENT:
        sti_text_buffer_format(out, "%s[", b->name);
        sti_bound_print(b->a, out);
        sti_text_buffer_put(out, "]");
        break;
    case STI_BOUND_OVER:
        sti_text_buffer_put(out, "max over ");
        if (b->a->kind != STI_BOUND_NUMBER || b->a->number != 0) {
            print_operand(b->a, out);
            sti_text_buffer_put(out, " <= ");
        }
        sti_text_buffer_format(out, "%s < ", b->variable->name);
        print_operand(b->b, out);
        sti_text_buffer_put(out, " of ");
        sti_bound_print(b->c, out);
        break;
    case STI_BOUND_MAX:
    case STI_BOUND_MIN:
        sti_text_buffer_format(out, "%s(", text_of(b->kind));
        sti_bound_print(b->a, out);
        sti_text_buffer_put(out, ", ");
        sti_bound_print(b->b, out);
        sti_text_buffer_put(out, ")");
        break;
    default:
        print_operand(b->a, out);
        sti_text_buffer_format(out, " %s ", text_of(b->kind));
        print_operand(b->b, out);
    }
}

static void add_to_id(const sti_bound *b, sti_hash *h)
{
    const unsigned char kind = (unsigned char)b->kind;
    sti_hash_add(h, &kind, 1);
    if (b->kind == STI_BOUND_NUMBER) sti_hash_add(h, &b->number, sizeof b->number);
    if (b->name) sti_hash_add(h, b->name, strlen(b->name) + 1);
    if (b->kind == STI_BOUND_OVER) sti_hash_add(h, b->variable->name, strlen(b->variable->name) + 1);
    if (b->a) add_to_id(b->a, h);
    if (b->b) add_to_id(b->b, h);
    if (b->c) add_to_id(b->c, h);
}

uint64_t sti_bound_id(const sti_bound *bound)
{
    sti_hash h;
    sti_hash_begin(&h);
    add_to_id(bound, &h);
    return sti_hash_end(&h);
}
