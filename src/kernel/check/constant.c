/*
 * Constants: the spelling of numbers, and evaluation of expressions of whole numbers. Overflow wraps around, so no
 * source can cause a trap here.
 */
#include "kernel/check/tree.h"

#include "kernel/check/type.h"

#include <string.h>

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

/* u, l and ll in any order and case. */
static bool integer_suffix(const char *p, bool *is_unsigned, bool *is_long)
{
    *is_unsigned = *is_long = false;
    for (; *p; ++p) {
        if ((*p == 'u' || *p == 'U') && !*is_unsigned) {
            *is_unsigned = true;
        } else if ((*p == 'l' || *p == 'L') && !*is_long) {
            *is_long = true;
            if (p[1] == p[0]) ++p;
        } else {
            return false;
        }
    }
    return true;
}

bool sti_integer(const char *text, uint64_t *out, sti_type_kind *kind)
{
    const char *p = text;
    unsigned base = p[0] != '0' ? 10 : p[1] == 'x' || p[1] == 'X' ? 16 : 8;
    if (base == 16) p += 2;
    if (base == 16 && digit_value(*p) >= 16) return false;
    uint64_t value = 0;
    for (; digit_value(*p) < (int)base; ++p) {
        unsigned digit = (unsigned)digit_value(*p);
        if (value > (UINT64_MAX - digit) / base) return false;
        value = value * base + digit;
    }
    bool is_unsigned, is_long;
    if (p == text || !integer_suffix(p, &is_unsigned, &is_long)) return false;
    bool any_sign = base != 10; /* a decimal number without u is never unsigned */
    if (!is_unsigned && !is_long && value <= INT32_MAX)
        *kind = STI_TYPE_INT;
    else if (!is_long && (is_unsigned || any_sign) && value <= UINT32_MAX)
        *kind = STI_TYPE_U32;
    else if (!is_unsigned && value <= INT64_MAX)
        *kind = STI_TYPE_I64;
    else if (is_unsigned || any_sign)
        *kind = STI_TYPE_U64;
    else
        return false;
    *out = value;
    return true;
}

static const char *digits(const char *p)
{
    while (digit_value(*p) < 10) ++p;
    return p;
}

bool sti_floating(const char *text, sti_type_kind *kind)
{
    const char *p = digits(text);
    bool some = p > text, point = *p == '.';
    if (point) {
        const char *start = ++p;
        p = digits(p);
        some |= p > start;
    }
    bool exponent = *p == 'e' || *p == 'E';
    if (exponent) {
        p += p[1] == '+' || p[1] == '-' ? 2 : 1;
        const char *start = p;
        p = digits(p);
        if (p == start) return false;
    }
    *kind = *p == 'f' || *p == 'F' ? STI_TYPE_UREAL : STI_TYPE_DOUBLE;
    if (*kind == STI_TYPE_UREAL) ++p;
    return some && (point || exponent) && !*p;
}

static bool divide(sti_operator op, int64_t a, int64_t b, int64_t *out)
{
    if (b == 0) return false;
    if (b == -1)
        *out = op == STI_OP_DIV ? (int64_t)(0 - (uint64_t)a) : 0;
    else
        *out = op == STI_OP_DIV ? a / b : a % b;
    return true;
}

static bool binary(sti_operator op, int64_t a, int64_t b, int64_t *out)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    switch (op) {
    case STI_OP_MUL: *out = (int64_t)(ua * ub); return true;
    case STI_OP_DIV:
    case STI_OP_MOD: return divide(op, a, b, out);
    case STI_OP_ADD: *out = (int64_t)(ua + ub); return true;
    case STI_OP_SUB: *out = (int64_t)(ua - ub); return true;
    case STI_OP_SHL: *out = b < 0 || b > 63 ? 0 : (int64_t)(ua << b); return b >= 0 && b < 64;
    case STI_OP_SHR: *out = b < 0 || b > 63 ? 0 : a >> b; return b >= 0 && b < 64;
    case STI_OP_LT: *out = a < b; return true;
    case STI_OP_GT: *out = a > b; return true;
    case STI_OP_LE: *out = a <= b; return true;
    case STI_OP_GE: *out = a >= b; return true;
    case STI_OP_EQ: *out = a == b; return true;
    case STI_OP_NE: *out = a != b; return true;
    case STI_OP_AND: *out = a & b; return true;
    case STI_OP_XOR: *out = a ^ b; return true;
    case STI_OP_OR: *out = a | b; return true;
    case STI_OP_BOTH: *out = a && b; return true;
    case STI_OP_EITHER: *out = a || b; return true;
    default: return false;
    }
}

static bool unary(int op, int64_t a, int64_t *out)
{
    switch (op) {
    case STI_OP_ADD: *out = a; return true;
    case STI_OP_SUB: *out = (int64_t)(0 - (uint64_t)a); return true;
    case STI_OP_NOT: *out = !a; return true;
    case STI_OP_INVERT: *out = ~a; return true;
    default: return false;
    }
}

/* Converts a value to a type. */
static bool cast(sti_type_kind kind, int64_t a, int64_t *out)
{
    switch (kind) {
    case STI_TYPE_INT: *out = (int32_t)(uint32_t)(uint64_t)a; return true;
    case STI_TYPE_U32: *out = (uint32_t)(uint64_t)a; return true;
    case STI_TYPE_U16: *out = (uint16_t)(uint64_t)a; return true;
    case STI_TYPE_U8: *out = (uint8_t)(uint64_t)a; return true;
    case STI_TYPE_I64:
    case STI_TYPE_U64: *out = a; return true;
    default: return false;
    }
}

bool sti_constant(const sti_unit *u, const sti_node *e, bool in_if, int64_t *out)
{
    int64_t a, b;
    uint64_t value;
    sti_type_kind kind;
    if (!e) return false;
    switch (e->kind) {
    case STI_NODE_NUMBER:
        if (!sti_integer(e->name->text, &value, &kind)) return false;
        *out = (int64_t)value;
        return true;
    case STI_NODE_NAME: {
        const sti_symbol *s = e->symbol ? e->symbol : in_if ? e->name->symbol : NULL;
        bool setting = s && s->kind == STI_SYMBOL_SETTING;
        *out = setting ? s->value : 0;
        return setting || in_if;
    }
    case STI_NODE_UNARY: return sti_constant(u, e->a, in_if, &a) && unary(e->op, a, out);
    case STI_NODE_BINARY:
        return sti_constant(u, e->a, in_if, &a) && sti_constant(u, e->b, in_if, &b) &&
               binary((sti_operator)e->op, a, b, out);
    case STI_NODE_CONDITION: return sti_constant(u, e->a, in_if, &a) && sti_constant(u, a ? e->b : e->c, in_if, out);
    case STI_NODE_CAST: return e->op == STI_OP_NONE && sti_constant(u, e->a, in_if, &a) && cast(e->named->kind, a, out);
    case STI_NODE_SIZEOF: return sti_type_size(u, e->named, out);
    default: return false;
    }
}

bool sti_is_constant(const sti_node *e)
{
    switch (e->kind) {
    case STI_NODE_NUMBER:
    case STI_NODE_SIZEOF: return true;
    case STI_NODE_NAME: return e->symbol && e->symbol->kind == STI_SYMBOL_SETTING;
    case STI_NODE_UNARY:
        return (e->op == STI_OP_SUB || e->op == STI_OP_ADD || e->op == STI_OP_NOT || e->op == STI_OP_INVERT) &&
               sti_is_constant(e->a);
    case STI_NODE_CAST: return sti_is_constant(e->a);
    case STI_NODE_BINARY: return sti_is_constant(e->a) && sti_is_constant(e->b);
    case STI_NODE_CONDITION: return sti_is_constant(e->a) && sti_is_constant(e->b) && sti_is_constant(e->c);
    default: return false;
    }
}
