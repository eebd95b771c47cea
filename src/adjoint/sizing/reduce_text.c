/*
 * Writes the kernel that computes reductions, as a text of the kernel language; see reduce.h.
 *
 * Each reduction is a function over every step-th value of its outermost range. Numbers have the limits of sti_bound. A
 * value that cannot be computed is TROUBLE, which is greater than all numbers and is the result of every operation with
 * it.
 */
#include "adjoint/sizing/reduce.h"

#include <inttypes.h>
#include <string.h>

static const char head[] =
    "#include <stet/lang.h>\n\n"
    "#define TROUBLE ((i64)1 << 62)\n\n"
    "LFN i64 r_fit(i64 a) { return a >= TROUBLE || a <= -TROUBLE ? TROUBLE : a; }\n"
    "LFN i64 r_max(i64 a, i64 b) { return a > b ? a : b; }\n"
    "LFN i64 r_min(i64 a, i64 b) { return a >= TROUBLE || b >= TROUBLE ? TROUBLE : a < b ? a : b; }\n"
    "LFN i64 r_add(i64 a, i64 b) { return a >= TROUBLE || b >= TROUBLE ? TROUBLE : r_fit(a + b); }\n"
    "LFN i64 r_sub(i64 a, i64 b) { return a >= TROUBLE || b >= TROUBLE ? TROUBLE : r_fit(a - b); }\n"
    "LFN i64 r_mul(i64 a, i64 b)\n{\n"
    "    i64 m = a < 0 ? -a : a, n = b < 0 ? -b : b;\n"
    "    if (m >= TROUBLE || n >= TROUBLE) return TROUBLE;\n"
    "    if (n > 0 && m > (TROUBLE - 1) / n) return TROUBLE;\n"
    "    return a * b;\n}\n"
    "LFN i64 r_div(i64 a, i64 b) { return a >= TROUBLE || b >= TROUBLE || b == 0 ? TROUBLE : a / b; }\n"
    "LFN i64 r_mod(i64 a, i64 b) { return a >= TROUBLE || b >= TROUBLE || b == 0 ? TROUBLE : a % b; }\n\n";

typedef struct writing {
    const sti_reducing *r;
    sti_text_buffer *out;
    int next; /* number of the next value */
    const sti_bound *variable[16];
    int number[16]; /* of its value */
    int nvariable;
} writing;

static int write_value(writing *w, const sti_bound *b);

static int constant(writing *w, int64_t value)
{
    int own = w->next++;
    sti_text_buffer_format(w->out, "    i64 v%d = (i64)(%" PRId64 ");\n", own, value);
    return own;
}

static int write_element(writing *w, const sti_bound *b)
{
    int index = write_value(w, b->a), own = w->next++;
    sti_text_buffer_format(w->out, "    i64 v%d = TROUBLE;\n", own);
    sti_text_buffer_format(w->out, "    if (v%d >= 0 && v%d < in_%s_n) v%d = r_fit((i64)in_%s[v%d]);\n", index, index,
                           b->name, own, b->name, index);
    return own;
}

/* Writes a loop over the range from `at` on, by `step`. */
static int write_over(writing *w, const sti_bound *b, const char *at, const char *step)
{
    int from = write_value(w, b->a), to = write_value(w, b->b), own = w->next++, variable = w->next++;
    if (w->nvariable == 16) {
        sti_text_buffer_format(w->out, "    i64 v%d = TROUBLE;\n", own); /* too deep: the host evaluates it */
        return own;
    }
    sti_text_buffer_format(w->out, "    i64 v%d = v%d >= TROUBLE || v%d >= TROUBLE ? TROUBLE : 0;\n", own, from, to);
    sti_text_buffer_format(w->out, "    if (v%d == 0) for (i64 v%d = v%d%s; v%d < v%d; v%d += %s) {\n", own, variable,
                           from, at, variable, to, variable, step);
    w->variable[w->nvariable] = b->variable;
    w->number[w->nvariable++] = variable;
    int value = write_value(w, b->c);
    w->nvariable--;
    sti_text_buffer_format(w->out, "    v%d = r_max(v%d, v%d);\n    }\n", own, own, value);
    return own;
}

static int write_operation(writing *w, const sti_bound *b)
{
    static const char *const names[] = {
        [STI_BOUND_ADD] = "add", [STI_BOUND_SUB] = "sub", [STI_BOUND_MUL] = "mul", [STI_BOUND_DIV] = "div",
        [STI_BOUND_MOD] = "mod", [STI_BOUND_MAX] = "max", [STI_BOUND_MIN] = "min"};
    int left = write_value(w, b->a), right = write_value(w, b->b), own = w->next++;
    sti_text_buffer_format(w->out, "    i64 v%d = r_%s(v%d, v%d);\n", own, names[b->kind], left, right);
    return own;
}

static int write_variable(writing *w, const sti_bound *b)
{
    for (int i = w->nvariable - 1; i >= 0; --i)
        if (w->variable[i] == b) return w->number[i];
    return constant(w, 0); /* unreachable: a reduction has no variable from outside */
}

static int write_value(writing *w, const sti_bound *b)
{
    int own;
    switch (b->kind) {
    case STI_BOUND_NUMBER: return constant(w, b->number);
    case STI_BOUND_ARGUMENT:
        own = w->next++;
        if (strcmp(b->name, STI_BOUND_COUNT) == 0)
            sti_text_buffer_format(w->out, "    i64 v%d = launch_count;\n", own);
        else
            sti_text_buffer_format(w->out, "    i64 v%d = r_fit(in_%s);\n", own, b->name);
        return own;
    case STI_BOUND_VARIABLE: return write_variable(w, b);
    case STI_BOUND_ELEMENT: return write_element(w, b);
    case STI_BOUND_OVER: return write_over(w, b, "", "1");
    default: return write_operation(w, b);
    }
}

/* ---- functions and the kernel ------------------------------------------------------------------------------------ */

static void write_inputs(const sti_reducing *r, uint64_t inputs, bool declared, sti_text_buffer *out)
{
    const char *comma = "";
    for (int i = 0; i < r->nparam; ++i) {
        const stet_kernel_param *p = &r->param[i];
        if (!(inputs >> i & 1)) continue;
        if (p->kind != STET_ARG_ARRAY)
            sti_text_buffer_format(out, declared ? "%si64 in_%s" : "%sin_%s", comma, p->name);
        else if (declared)
            sti_text_buffer_format(out, "%sconst %s *in_%s, i64 in_%s_n", comma, p->type, p->name, p->name);
        else
            sti_text_buffer_format(out, "%sin_%s, in_%s_n", comma, p->name, p->name);
        comma = ", ";
    }
    if (inputs >> STI_COUNT_INPUT & 1) {
        sti_text_buffer_format(out, declared ? "%si64 launch_count" : "%slaunch_count", comma);
        comma = ", ";
    }
    sti_text_buffer_put(out, comma);
}

static void write_function(const sti_reducing *r, int k, sti_text_buffer *out)
{
    const sti_reduction *own = &r->reduction[k];
    writing w = {.r = r, .out = out};
    sti_text_buffer_format(out, "LFN i64 r_%d(", k);
    write_inputs(r, own->inputs, true, out);
    sti_text_buffer_put(out, "i64 at, i64 step)\n{\n");
    if (own->bound->kind == STI_BOUND_OVER) {
        sti_text_buffer_format(out, "    return v%d;\n}\n\n", write_over(&w, own->bound, " + at", "step"));
        return;
    }
    sti_text_buffer_put(out, "    if (at > 0) return 0 * step;\n");
    sti_text_buffer_format(out, "    return v%d;\n}\n\n", write_value(&w, own->bound));
}

void sti_reduce_text(const sti_reducing *r, uint64_t inputs, sti_text_buffer *out)
{
    sti_text_buffer_put(out, head);
    for (int k = 0; k < r->nreduction; ++k) write_function(r, k, out);
    sti_text_buffer_put(out, "item_kernel void k_stack_sizes(");
    write_inputs(r, inputs, true, out);
    sti_text_buffer_format(out, "i64 which, i64 blocks, i64 *out, int block)\n{\n    shared(i64, part, %d);\n",
                           STI_REDUCE_TEAM);
    for (int k = 0; k < r->nreduction; ++k) {
        sti_text_buffer_format(out, "    if ((which >> %d) %% 2 == 1) {\n", k);
        sti_text_buffer_format(out, "        each (g, %d) part[g] = r_%d(", STI_REDUCE_TEAM, k);
        write_inputs(r, r->reduction[k].inputs, false, out);
        sti_text_buffer_format(out, "(i64)block * %d + g, blocks * %d);\n        sync();\n", STI_REDUCE_TEAM,
                               STI_REDUCE_TEAM);
        sti_text_buffer_format(
            out,
            "        each (one, 1) {\n            i64 best = part[0];\n            for (int k = 1; k < "
            "%d; ++k) best = r_max(best, part[k]);\n            out[(i64)%d * %d + block] = best;\n"
            "        }\n        sync();\n    }\n",
            STI_REDUCE_TEAM, k, STI_REDUCE_BLOCKS);
    }
    sti_text_buffer_put(out, "}\n");
}
