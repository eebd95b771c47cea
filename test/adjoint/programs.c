/* See programs.h. */
#include "programs.h"

enum { REALS = 4, EXPRESSION_DEPTH = 3, LOOP_DEPTH = 4, MOST_STATEMENTS = 14 };

const int64_t program_counts[PROGRAM_COUNTS] = {0, 2, 1, 3, 0, 1, 2, 3};

typedef struct writer {
    uint64_t state;
    sti_buffer *out;
    int program, indent, loops, budget, names;
    bool jumps; /* a break or continue may stand here */
} writer;

static uint32_t draw(writer *w, uint32_t n)
{
    uint64_t z = (w->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 16) % n;
}

static bool chance(writer *w, uint32_t percent) { return draw(w, 100) < percent; }

static void put(writer *w, const char *text) { sti_buffer_put(w->out, text); }

static void line(writer *w)
{
    put(w, "\n");
    for (int i = 0; i < w->indent; ++i) put(w, "    ");
}

/* ---- expressions -------------------------------------------------------------------------------------------------- */

/* 0, 1 or 2 as a place in v. */
static void index_of_v(writer *w)
{
    if (w->loops > 0 && chance(w, 60))
        sti_buffer_format(w->out, "(i%u + %u) %% 3", draw(w, (uint32_t)w->loops), draw(w, 3));
    else
        sti_buffer_format(w->out, "%u", draw(w, 3));
}

static void leaf(writer *w)
{
    switch (draw(w, 8)) {
    case 0: sti_buffer_format(w->out, "splat((ureal)0.%u)", 1 + draw(w, 9)); return;
    case 1: put(w, "splat(c)"); return;
    case 2:
    case 3:
        put(w, "v[");
        index_of_v(w);
        put(w, "]");
        return;
    case 4: put(w, chance(w, 50) ? "s.x" : "s.w[1]"); return;
    default: sti_buffer_format(w->out, "r%u", draw(w, REALS));
    }
}

static void expression(writer *w, int depth);

/* `form` with each $ an expression. */
static void fill(writer *w, const char *form, int depth)
{
    for (; *form; ++form) {
        if (*form == '$')
            expression(w, depth - 1);
        else
            sti_buffer_add(w->out, form, 1);
    }
}

static void expression(writer *w, int depth)
{
    static const char *const forms[] = {"$ + $",
                                        "$ - $",
                                        "$ * $",
                                        "-$",
                                        "$ / (splat((ureal)1.5) + sin($))",
                                        "fma($, $, $)",
                                        "sin($)",
                                        "cos($)",
                                        "tanh($)",
                                        "atan($)",
                                        "sqrt(splat((ureal)1.3) + sin($))",
                                        "log(splat((ureal)2.5) + cos($))",
                                        "exp(sin($))",
                                        "exp2(cos($))",
                                        "log2(splat((ureal)1.7) + sin($))",
                                        "rmin($, $)",
                                        "rmax($, $)",
                                        "rabs($)",
                                        "clamp($, splat((ureal)0.1), $)",
                                        "select(lt($, $), $, $)",
                                        "atan2($, splat((ureal)2.5) + cos($))",
                                        "pow(splat((ureal)1.6) + sin($), sin($) + splat(1))",
                                        "asin(sin($) * splat((ureal)0.6))",
                                        "acos(cos($) * splat((ureal)0.7))",
                                        "tan(sin($) * splat((ureal)0.7))",
                                        "copysign_($, $)",
                                        "canon($)",
                                        "floor($) * $",
                                        "rint($) + $",
                                        "splat(usqrt(c) * ufma(c, c, umax(c, (ureal)0.4)))",
                                        "splat(c / ((ureal)1.2 + uabs(c)) - umin(c, (ureal)0.2))",
                                        "to_real(isplat(n)) * $",
                                        "select(ge($, $), $, $)",
                                        "(n % 2 == 0 ? $ : $)",
                                        "$ * ($ + $)"};
    if (depth <= 0 || chance(w, 20)) {
        leaf(w);
        return;
    }
    put(w, "(");
    fill(w, forms[draw(w, sizeof forms / sizeof *forms)], depth);
    put(w, ")");
}

/* Something of a size near 1. */
static void bounded(writer *w)
{
    static const char *const forms[] = {"sin($)",
                                        "cos($)",
                                        "tanh($)",
                                        "splat((ureal)0.7) * atan($)",
                                        "sin($) * splat((ureal)0.8)",
                                        "$ / sqrt(fma($, $, splat((ureal)4))) * splat((ureal)0.1)"};
    fill(w, forms[draw(w, 5)], EXPRESSION_DEPTH);
}

/* A condition on plain values, or of lanes. */
static void condition(writer *w)
{
    if (w->loops > 0 && chance(w, 60)) {
        sti_buffer_format(w->out, "i%u %s %u", draw(w, (uint32_t)w->loops), chance(w, 50) ? "==" : "<", draw(w, 3));
    } else if (chance(w, 50)) {
        sti_buffer_format(w->out, "n %% %u == %u", 2 + draw(w, 2), draw(w, 2));
    } else {
        put(w, "any(lt(");
        expression(w, 1);
        put(w, ", ");
        expression(w, 1);
        put(w, "))");
    }
}

/* ---- statements --------------------------------------------------------------------------------------------------- */

static void statements(writer *w, int most);

static void block(writer *w, int most)
{
    put(w, "{");
    w->indent++;
    statements(w, most);
    w->indent--;
    line(w);
    put(w, "}");
}

static void loop(writer *w)
{
    int i = w->loops;
    bool jumps = w->jumps;
    switch (draw(w, 6)) {
    case 0: sti_buffer_format(w->out, "for (int i%d = 0; i%d < %u; ++i%d) ", i, i, draw(w, 4), i); break;
    case 1: sti_buffer_format(w->out, "for (int i%d = %u; i%d >= 0; i%d--) ", i, draw(w, 3), i, i); break;
    case 2: sti_buffer_format(w->out, "for (int i%d = 0; i%d < 5; i%d += 2) ", i, i, i); break;
    case 3:
        if (i > 0) {
            sti_buffer_format(w->out, "for (int i%d = 0; i%d <= i%d && i%d < 3; ++i%d) ", i, i, i - 1, i, i);
            sti_buffer_format(w->out, "if (i%d < 3) ", i);
            break;
        }
        /* fall through */
    default: sti_buffer_format(w->out, "for (int i%d = 0; i%d < count[(n + %u) %% 8]; ++i%d) ", i, i, draw(w, 8), i);
    }
    w->loops++;
    w->jumps = true;
    block(w, 4);
    w->jumps = jumps;
    w->loops--;
}

static void jump(writer *w)
{
    put(w, "if (");
    condition(w);
    put(w, ") ");
    if (w->jumps && chance(w, 80)) {
        put(w, chance(w, 50) ? "break;" : "continue;");
    } else {
        put(w, "return ");
        bounded(w);
        put(w, ";");
    }
}

static void call(writer *w)
{
    sti_buffer_format(w->out, "r%u = ", draw(w, REALS));
    if (w->program > 0 && chance(w, 40) && w->loops < 2) {
        sti_buffer_format(w->out, "f%u(", draw(w, (uint32_t)w->program));
        expression(w, 1);
        put(w, ", ");
        expression(w, 1);
        sti_buffer_format(w->out, ", c, count, n + %u);", draw(w, 3));
    } else {
        put(w, "square(");
        bounded(w);
        put(w, chance(w, 50) ? ") * splat((ureal)0.2);" : ");");
        line(w);
        put(w, "turn(v, ");
        leaf(w);
        put(w, ", n);");
    }
}

static void choice(writer *w)
{
    put(w, "if (");
    condition(w);
    put(w, ") ");
    block(w, 3);
    if (chance(w, 50)) {
        put(w, " else ");
        block(w, 3);
    }
}

static void assignment(writer *w)
{
    switch (draw(w, 6)) {
    case 0:
        put(w, "v[");
        index_of_v(w);
        put(w, "] = ");
        break;
    case 1: put(w, chance(w, 50) ? "s.x = " : "s.w[1] = "); break;
    case 2:
        sti_buffer_format(w->out, "r%u += ", draw(w, REALS));
        put(w, "splat((ureal)0.1) * ");
        break;
    case 3: sti_buffer_format(w->out, "real t%d = ", w->names); break;
    default: sti_buffer_format(w->out, "r%u = ", draw(w, REALS));
    }
    bounded(w);
    put(w, ";");
}

static void statement(writer *w)
{
    line(w);
    w->names++;
    uint32_t kind = draw(w, 100);
    if (kind < 16 && w->loops < LOOP_DEPTH)
        loop(w);
    else if (kind < 28)
        choice(w);
    else if (kind < 36)
        jump(w);
    else if (kind < 48)
        call(w);
    else
        assignment(w);
}

static void statements(writer *w, int most)
{
    int n = 1 + (int)draw(w, (uint32_t)most);
    for (int i = 0; i < n && w->budget > 0; ++i) {
        w->budget--;
        statement(w);
    }
}

/* ---- sources ------------------------------------------------------------------------------------------------------ */

static void function(writer *w, int number)
{
    w->program = number;
    w->budget = 4 + (int)draw(w, MOST_STATEMENTS);
    w->names = 0;
    sti_buffer_format(w->out, "\n\nLFN real f%d(real a, real b, ureal c, const int *count, int n)\n{", number);
    w->indent = 1;
    line(w);
    put(w, "real r0 = a, r1 = b, r2 = a * b, r3 = splat(c), v[3] = {a, b, sin(a)};");
    line(w);
    put(w, "pair s;");
    line(w);
    put(w, "s.x = a;");
    line(w);
    put(w, "s.w[0] = b;");
    line(w);
    put(w, "s.w[1] = a - b;");
    while (w->budget > 0) statements(w, w->budget);
    line(w);
    put(w, "return sin(r0 + r1 * r2 - r3) + splat((ureal)0.5) * cos(v[0] * v[1] + v[2] * s.x + s.w[1]);\n}");
}

/* An item kernel: elements of its own, of its own choosing, of all, of worlds. */
static void item_kernel(writer *w)
{
    static const char *const factors[] = {"load(a + q)", "gather(t, i)", "splat(of_world(u, 2, %u, 1))", "splat(t[%u])",
                                          "gather(t + %u, i)"};
    put(w, "\n\nitem_kernel void k_items(const ureal *a, const ureal *t, const int *at, const wreal *u, ureal c, const "
           "int *count, ureal *z, int n, int block)\n{\n    items (p, nmin(2, n - block * 2)) {\n"
           "        int q = block * 2 + p;\n        lint i = igather(at, isplat(q) + lane());\n"
           "        real r0 = load(a + q), r1 = gather(t, i);\n");
    for (int i = 0; i < PROGRAMS; ++i) {
        if (chance(w, 30)) sti_buffer_format(w->out, "        for (int k = 0; k < count[%u]; ++k)", draw(w, 8));
        sti_buffer_format(w->out, "        r%u = sin(f%d(r0, r1, c, count, q)) * ", draw(w, 2), i);
        sti_buffer_format(w->out, factors[draw(w, sizeof factors / sizeof *factors)], draw(w, 2));
        put(w, ";\n");
    }
    put(w, "        store_if(in_range(q, n), z + q, r0 * r1);\n    }\n}\n");
}

void programs_write(uint64_t seed, sti_buffer *out)
{
    writer w = {.state = seed, .out = out};
    put(&w, "#include \"stet/lang.h\"\n\n"
            "typedef struct pair {\n    real x;\n    real w[2];\n} pair;\n\n"
            "LFN real square(real x) { return x * x; }\n\n"
            "LFN void turn(real *v, real by, int n)\n{\n"
            "    real first = v[0];\n"
            "    v[0] = v[1] * cos(by);\n"
            "    if (n % 2 == 1) v[1] = tanh(v[2] * by);\n"
            "    v[2] = first;\n}");
    for (int i = 0; i < PROGRAMS; ++i) function(&w, i);
    put(&w, "\n\nworld_kernel void k_random(const real *x, real *y, ureal c, const int *count, int n)\n{\n    each (i, "
            "n) {\n");
    for (int i = 0; i < PROGRAMS; ++i)
        sti_buffer_format(out, "        put(y, i * %d + %d, f%d(x[i * 2], x[i * 2 + 1], c, count, i));\n", PROGRAMS, i,
                          i);
    put(&w, "    }\n}\n");
    item_kernel(&w);
}
