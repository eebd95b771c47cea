/* Sources of random programs; see programs.h. */
#include "programs_writer.h"

enum { FEW_STATEMENTS = 6, MOST_STATEMENTS = 14 };

const int64_t program_counts[PROGRAM_COUNTS] = {0, 2, 1, 3, 0, 1, 2, 3};

uint32_t writer_draw(writer *w, uint32_t n)
{
    uint64_t z = (w->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((z ^ (z >> 31)) >> 16) % n;
}

bool writer_chance(writer *w, uint32_t percent) { return writer_draw(w, 100) < percent; }

void writer_put(writer *w, const char *text) { sti_text_buffer_put(w->out, text); }

void writer_line(writer *w)
{
    writer_put(w, "\n");
    for (int i = 0; i < w->indent; ++i) writer_put(w, "    ");
}

/* ---- pieces: all are written, so that a seed gives the same ones whichever of them is wanted ------------------------ */

typedef struct piece {
    sti_text_buffer text;
    uint64_t called;
} piece;

static void begin_piece(writer *w, piece *p, int indent)
{
    w->out = &p->text;
    w->called = 0;
    w->indent = indent;
    w->loops = 0;
}

static void end_piece(const writer *w, piece *p) { p->called = w->called; }

static void function(writer *w, int number)
{
    w->functions = number;
    w->budget =
        writer_chance(w, 25) ? 4 + (int)writer_draw(w, MOST_STATEMENTS) : 2 + (int)writer_draw(w, FEW_STATEMENTS);
    w->returns = true;
    sti_text_buffer_format(w->out, "\n\nLFN real f%d(real a, real b, ureal c, const int *count, int n)\n{", number);
    w->indent = 1;
    writer_line(w);
    writer_variables(w, "a", "b", "splat(c)");
    writer_statements(w);
    writer_line(w);
    writer_put(w, "return sin(r0 + r1 * r2 - r3) + splat((ureal)0.5) * cos(v[0] * v[1] + v[2] * s.x + s.w[1]);\n}");
    w->returns = false;
}

static void world_call(writer *w, int number)
{
    sti_text_buffer_format(
        w->out,
        "\n        s = fma(splat((ureal)0.%u), f%d(x[(i * %d + %d) * 2], x[(i * %d + %d) * 2 + 1], c, "
        "count, i + %u), s);",
        3 + writer_draw(w, 7), number, FUNCTIONS, number, FUNCTIONS, number, writer_draw(w, 6));
    w->called = (uint64_t)1 << number;
}

/* Elements of the item's own, of its choosing, of all, of worlds; what it overwrites is its own. */
static void item_call(writer *w, int number)
{
    static const char *const factors[] = {"load(a + q)", "splat(of_world(u, 2, 0, 1))", "splat(t[3])",
                                          "splat(of_world(u, 2, 1, 0)) * gather(a, i)"};
    int weight = 3 + (int)writer_draw(w, 7);
    sti_text_buffer_format(w->out, "\n        real r%d = gather(t + %d, i);\n        ", number, number * 2);
    if (writer_chance(w, 30)) sti_text_buffer_format(w->out, "for (int k = 0; k < count[%u]; ++k) ", writer_draw(w, 8));
    sti_text_buffer_format(w->out, "r%d = sin(f%d(r%d, load(a + q), c, count, q + %u)) * ", number, number, number,
                           writer_draw(w, 6));
    writer_put(w, factors[writer_draw(w, sizeof factors / sizeof *factors)]);
    sti_text_buffer_format(w->out, ";\n        out = fma(splat((ureal)0.%d), r%d, out);", weight, number);
    if (writer_chance(w, 15))
        sti_text_buffer_format(w->out, "\n        store_if(in_range(q, n), z + q, sin(load(z + q) + r%d));", number);
    w->called = (uint64_t)1 << number;
}

/* ---- sources ------------------------------------------------------------------------------------------------------ */

typedef struct source {
    piece function[FUNCTIONS], world[FUNCTIONS], item[FUNCTIONS], team[TEAMS];
} source;

static void write_pieces(writer *w, source *s)
{
    for (int i = 0; i < FUNCTIONS; ++i) {
        begin_piece(w, &s->function[i], 0);
        function(w, i);
        end_piece(w, &s->function[i]);
        begin_piece(w, &s->world[i], 2);
        world_call(w, i);
        end_piece(w, &s->world[i]);
        begin_piece(w, &s->item[i], 2);
        if (i % 2 == 0) item_call(w, i);
        end_piece(w, &s->item[i]);
    }
    w->functions = FUNCTIONS;
    for (int i = 0; i < TEAMS; ++i) {
        begin_piece(w, &s->team[i], 1);
        writer_team(w, i);
        end_piece(w, &s->team[i]);
    }
}

static void free_pieces(source *s)
{
    for (int i = 0; i < FUNCTIONS; ++i) {
        sti_text_buffer_free(&s->function[i].text);
        sti_text_buffer_free(&s->world[i].text);
        sti_text_buffer_free(&s->item[i].text);
    }
    for (int i = 0; i < TEAMS; ++i) sti_text_buffer_free(&s->team[i].text);
}

static void put_pieces(sti_text_buffer *out, const piece *p, int n, int only)
{
    for (int i = 0; i < n; ++i)
        if ((only == ALL_PROGRAMS || only == i) && p[i].text.data) sti_text_buffer_put(out, p[i].text.data);
}

static uint64_t needed_functions(const source *s, int only)
{
    if (only == ALL_PROGRAMS) return UINT64_MAX;
    uint64_t needed = only < FUNCTIONS ? (uint64_t)1 << only : s->team[only - FUNCTIONS].called;
    for (int i = FUNCTIONS - 1; i >= 0; --i) /* a function calls earlier ones */
        if (needed >> i & 1) needed |= s->function[i].called;
    return needed;
}

static void put_source(const source *s, int only, sti_text_buffer *out)
{
    bool all = only == ALL_PROGRAMS;
    uint64_t needed = needed_functions(s, only);
    sti_text_buffer_put(out, "#include \"stet/lang.h\"\n\n"
                             "typedef struct pair {\n    real x;\n    real w[2];\n} pair;\n\n"
                             "LFN real square(real x) { return x * x; }\n\n"
                             "LFN void turn(real *v, real by, int n)\n{\n"
                             "    real first = v[0];\n"
                             "    v[0] = v[1] * cos(by);\n"
                             "    if (n % 2 == 1) v[1] = tanh(v[2] * by);\n"
                             "    v[2] = first;\n}");
    for (int i = 0; i < FUNCTIONS; ++i)
        if (needed >> i & 1) put_pieces(out, &s->function[i], 1, ALL_PROGRAMS);
    if (all || only < FUNCTIONS) {
        sti_text_buffer_put(out,
                            "\n\nworld_kernel void k_random(const real *x, real *y, ureal c, const int *count, int "
                            "n)\n{\n    each (i, n) {\n        real s = splat(0);");
        put_pieces(out, s->world, FUNCTIONS, only);
        sti_text_buffer_put(out, "\n        put(y, i, s);\n    }\n}\n");
        sti_text_buffer_put(out,
                            "\n\nitem_kernel void k_items(const ureal *a, const ureal *t, const int *at, const wreal "
                            "*u, ureal c, const int *count, ureal *z, int n, int block)\n{\n"
                            "    items (p, nmin(2, n - block * 2)) {\n        int q = block * 2 + p;\n"
                            "        lint i = igather(at, isplat(q) + lane());\n        real out = splat(0);");
        put_pieces(out, s->item, FUNCTIONS, only);
        sti_text_buffer_put(out, "\n        store_if(in_range(q, n), z + q, out * load(z + q));\n    }\n}\n");
    }
    if (all || only >= FUNCTIONS) {
        sti_text_buffer_format(
            out,
            "\n\nworld_kernel void k_team(const real *p, real *w, real *y, const ureal *g, const int "
            "*at, const int *count, ureal c, int n)\n{\n    shared(real, a0, %d);\n    shared(real, a1, "
            "%d);",
            TEAM_ITEMS, TEAM_ITEMS);
        put_pieces(out, s->team, TEAMS, all ? only : only - FUNCTIONS);
        sti_text_buffer_put(out, "\n}\n");
    }
}

void programs_write(uint64_t seed, int only, sti_text_buffer *out)
{
    source s = {0};
    writer w = {.state = seed, .n = "n"};
    write_pieces(&w, &s);
    put_source(&s, only, out);
    free_pieces(&s);
}
