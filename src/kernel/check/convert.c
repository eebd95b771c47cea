/*
 * Conversions: which are allowed, and what to write where they are not; see typing.h.
 */
#include "kernel/check/typing.h"

#include <stdio.h>

enum { TYPE_TEXT = 128 };

/* Whole numbers convert to each other if no value is lost; otherwise a cast is needed. */
static bool fits(const sti_node *e, const sti_type *from, const sti_type *to, const sti_unit *u)
{
    int64_t value, bytes_from = 8, bytes_to = 8;
    if (!sti_type_integer(to)) return true;
    if (!sti_type_integer(from)) return false;
    (void)sti_type_size(u, from, &bytes_from);
    (void)sti_type_size(u, to, &bytes_to);
    if (bytes_from <= bytes_to) return true;
    if (!sti_constant(u, e, false, &value)) return false;
    int64_t top = bytes_to == 4 ? UINT32_MAX : bytes_to == 2 ? UINT16_MAX : UINT8_MAX;
    return value >= -(top / 2) - 1 && value <= top;
}

static bool is_null(const sti_unit *u, const sti_node *e)
{
    int64_t value;
    return e->kind == STI_NODE_NUMBER && sti_constant(u, e, false, &value) && value == 0;
}

/* The text that makes lanes of a plain value. */
static void splat_text(sti_unit *u, const sti_node *e, const sti_type *from, const sti_type *to, char *out, size_t size)
{
    const char *text = sti_text(u, e);
    bool real = to->kind == STI_TYPE_REAL, cast = real ? from->kind == STI_TYPE_DOUBLE : !sti_type_integer(from);
    bool simple = e->kind == STI_NODE_NUMBER || e->kind == STI_NODE_NAME || !cast;
    (void)snprintf(out, size, "%s(%s%s%s%s)", real ? "splat" : "isplat", cast ? (real ? "(ureal)" : "(int)") : "",
                   simple ? "" : "(", text, simple ? "" : ")");
}

static void advise(sti_unit *u, const sti_node *e, const sti_type *from, const sti_type *to, char *out, size_t size)
{
    const char *text = sti_text(u, e);
    bool lanes_from = sti_type_lanes(from), lanes_to = sti_type_lanes(to);
    char name[TYPE_TEXT];
    sti_type_text(sti_type_value(to), name, sizeof name);
    if (to->kind == STI_TYPE_MASK && sti_type_plain(from)) {
        (void)snprintf(out, size, ": decide by if or ?:, or compare lanes");
    } else if (to->kind == STI_TYPE_MASK && from->kind == STI_TYPE_REAL) {
        (void)snprintf(out, size, ": write m_not(eq(%s, splat(0)))", text);
    } else if (to->kind == STI_TYPE_REAL && from->kind == STI_TYPE_MASK) {
        (void)snprintf(out, size, ": write select(%s, splat(1), splat(0))", text);
    } else if (lanes_to && sti_type_plain(from)) {
        char splat[256];
        splat_text(u, e, from, to, splat, sizeof splat);
        (void)snprintf(out, size, ": write %s", splat);
    } else if (lanes_from && lanes_to) {
        (void)snprintf(out, size, ": write %s(%s)", to->kind == STI_TYPE_REAL ? "to_real" : "to_int", text);
    } else if (lanes_from && sti_type_plain(to)) {
        (void)snprintf(out, size, ": lanes become plain only through any, all and stores");
    } else if (sti_type_plain(from) && sti_type_plain(to)) {
        bool simple = e->kind == STI_NODE_NUMBER || e->kind == STI_NODE_NAME || e->kind == STI_NODE_CALL ||
                      e->kind == STI_NODE_INDEX;
        (void)snprintf(out, size, ": write (%s)%s%s%s", name, simple ? "" : "(", text, simple ? "" : ")");
    } else if (from->kind == STI_TYPE_POINTER && to->kind == STI_TYPE_POINTER && sti_type_same(from, to, false)) {
        (void)snprintf(out, size, ": what is const is only read");
    } else {
        out[0] = 0;
    }
}

static bool may_become(const sti_unit *u, const sti_node *e, const sti_type *from, const sti_type *to)
{
    if (sti_type_lanes(from) && sti_type_lanes(to)) return sti_type_whole(from) == sti_type_whole(to);
    if (sti_type_plain(from) && sti_type_plain(to)) return fits(e, from, to, u);
    if (to->kind == STI_TYPE_POINTER && is_null(u, e)) return true;
    if (from->kind == STI_TYPE_POINTER && to->kind == STI_TYPE_POINTER)
        return to->of->kind == STI_TYPE_VOID ||
               (sti_type_same(from->of, to->of, false) && (to->of->is_const || !from->of->is_const));
    return from->kind == STI_TYPE_STRUCT && sti_type_same(from, to, false);
}

bool sti_type_convert(sti_typing *t, const sti_node *e, const sti_type *from, const sti_type *to, const char *what,
                      const char *twin)
{
    if (!from || !to) return false;
    if (from->kind == STI_TYPE_VOID) {
        sti_report_mistake(t->u, e->place, "`%s` has no value", sti_text(t->u, e));
        return false;
    }
    if (may_become(t->u, e, from, to)) return true;
    char is[TYPE_TEXT], wanted[TYPE_TEXT], advice[320];
    sti_type_text(sti_type_value(from), is, sizeof is);
    sti_type_text(sti_type_value(to), wanted, sizeof wanted);
    advise(t->u, e, from, to, advice, sizeof advice);
    bool across = (sti_type_lanes(from) && sti_type_plain(to)) || (sti_type_plain(from) && sti_type_lanes(to));
    if (twin && across)
        (void)snprintf(advice, sizeof advice, ": %s is for %s", twin, sti_type_lanes(from) ? "lanes" : "plain values");
    sti_report_mistake(t->u, e->place, "`%s` is %s and %s is %s%s", sti_text(t->u, e), is, what, wanted, advice);
    return false;
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

static const char *comparison(sti_operator op, bool real)
{
    switch (op) {
    case STI_OP_LT: return real ? "lt(%s, %s)" : "ilt(%s, %s)";
    case STI_OP_GT: return real ? "gt(%s, %s)" : "igt(%s, %s)";
    case STI_OP_LE: return real ? "le(%s, %s)" : "m_not(igt(%s, %s))";
    case STI_OP_GE: return real ? "ge(%s, %s)" : "m_not(ilt(%s, %s))";
    case STI_OP_EQ: return real ? "eq(%s, %s)" : "ieq(%s, %s)";
    case STI_OP_NE: return real ? "m_not(eq(%s, %s))" : "m_not(ieq(%s, %s))";
    default: return NULL;
    }
}

/* Fills the two %s of a format from the table above. */
static void put_operands(char *out, size_t size, const char *format, const char *a, const char *b)
{
    size_t n = 0;
    for (const char *p = format; *p && n + 1 < size; ++p) {
        if (p[0] == '%' && p[1] == 's') {
            int more = snprintf(out + n, size - n, "%s", a);
            n = more < 0 || (size_t)more >= size - n ? size - 1 : n + (size_t)more;
            a = b;
            ++p;
        } else {
            out[n++] = *p;
        }
    }
    out[n] = 0;
}

/* Reports operators that lanes do not have, and what to write instead. */
static bool refused(sti_typing *t, const sti_node *e, sti_operator op, const sti_type *a, const char *left,
                    const char *right)
{
    char write[400];
    const char *text = sti_text(t->u, e);
    bool real = a->kind == STI_TYPE_REAL;
    if (comparison(op, real)) {
        put_operands(write, sizeof write, comparison(op, real), left, right);
        sti_report_mistake(t->u, e->place, "`%s` on lanes: write %s", text, write);
    } else if (op == STI_OP_BOTH || op == STI_OP_EITHER) {
        sti_report_mistake(t->u, e->place, "`%s` on lanes: write %s(%s, %s)", text,
                           op == STI_OP_BOTH ? "m_and" : "m_or", left, right);
    } else if (op == STI_OP_SHL || op == STI_OP_SHR) {
        sti_report_mistake(t->u, e->place, "`%s` on lanes: write %s(x, n), with lint x and a plain n", text,
                           op == STI_OP_SHL ? "ishl" : "ishr");
    } else if (op == STI_OP_MOD) {
        sti_report_mistake(t->u, e->place,
                           "`%s` on lanes: there is no %% of lanes; write x - q * n, or work it out from plain values",
                           text);
    } else {
        return false;
    }
    return true;
}

/* Two lanes with + - * / & | ^. */
static const sti_type *calculate(sti_typing *t, const sti_node *e, sti_operator op, const sti_type *a,
                                 const sti_type *b)
{
    const char *text = sti_text(t->u, e);
    bool bits = op == STI_OP_AND || op == STI_OP_OR || op == STI_OP_XOR;
    if (sti_type_whole(a) != sti_type_whole(b)) {
        sti_report_mistake(t->u, e->place, "`%s` mixes real and lint: write to_real(%s)", text,
                           sti_text(t->u, sti_type_whole(a) ? e->a : e->b));
        return NULL;
    }
    if (bits && !sti_type_whole(a)) {
        sti_report_mistake(t->u, e->place, "`%s` on real: write as_bits and from_bits, or select", text);
        return NULL;
    }
    if (!bits && (a->kind == STI_TYPE_MASK || b->kind == STI_TYPE_MASK)) {
        sti_report_mistake(t->u, e->place, "`%s` calculates with a mask: write m & isplat(1), or iselect", text);
        return NULL;
    }
    if (op == STI_OP_DIV && sti_type_whole(a)) {
        sti_report_mistake(t->u, e->place,
                           "`%s` on lint: a lane that divides by 0 ends the program; write ishr, or divide as real",
                           text);
        return NULL;
    }
    if (bits && a->kind == STI_TYPE_MASK && b->kind == STI_TYPE_MASK) return sti_type_basic(STI_TYPE_MASK, false);
    return sti_type_basic(sti_type_whole(a) ? STI_TYPE_LINT : STI_TYPE_REAL, false);
}

const sti_type *sti_type_lanes_operation(sti_typing *t, const sti_node *e, sti_operator op, const sti_type *a,
                                         const sti_type *b)
{
    char left[256], right[256];
    const sti_type *lanes = sti_type_lanes(a) ? a : b;
    bool mixed = !sti_type_lanes(a) || !sti_type_lanes(b);
    if (!sti_type_lanes(a) && sti_type_plain(a))
        splat_text(t->u, e->a, a, lanes, left, sizeof left);
    else
        (void)snprintf(left, sizeof left, "%s", sti_text(t->u, e->a));
    if (!sti_type_lanes(b) && sti_type_plain(b))
        splat_text(t->u, e->b, b, lanes, right, sizeof right);
    else
        (void)snprintf(right, sizeof right, "%s", sti_text(t->u, e->b));
    if (mixed && (op == STI_OP_BOTH || op == STI_OP_EITHER)) {
        const char *of = sti_text(t->u, sti_type_lanes(a) ? e->a : e->b);
        sti_report_mistake(t->u, e->place, "`%s` on lanes: write any(%s) or all(%s)", sti_text(t->u, e), of, of);
        return NULL;
    }
    if (refused(t, e, op, lanes, left, right)) return NULL;
    if (!mixed) return calculate(t, e, op, a, b);
    const sti_type *plain = sti_type_lanes(a) ? b : a;
    char is[TYPE_TEXT];
    sti_type_text(plain, is, sizeof is);
    if (!sti_type_plain(plain)) {
        sti_report_mistake(t->u, e->place, "`%s`: lanes and %s don't go together", sti_text(t->u, e), is);
        return NULL;
    }
    char name[TYPE_TEXT];
    sti_type_text(lanes, name, sizeof name);
    sti_report_mistake(t->u, e->place, "`%s` mixes lanes (%s) and plain (%s): write %s %s %s", sti_text(t->u, e), name,
                       is, left, sti_op_text((sti_operator)e->op), right);
    return NULL;
}
