/* Sources of random programs; see programs.h. */
#include "programs_writer.h"

#include "base/memory.h"

#include <string.h>

enum { FEW_STATEMENTS = 12, MOST_STATEMENTS = 28, ODD_EVERY = 4, AIMED_PERCENT = 80, TEAM_NAMES = 1000 };

const int64_t program_counts[PROGRAM_COUNTS] = {0, 2, 1, 3, 0, 1, 2, 3};

typedef struct program {
    sti_text_buffer text;         /* of a function, or the piece of a kernel */
    sti_text_buffer head;         /* what stands before its kernel's items */
    sti_text_buffer called_by[2]; /* of a function: its calls in the world kernel and the item kernel */
    uint64_t needs;
    uint16_t used[PRODUCTIONS];
} program;

struct programs {
    program p[PROGRAMS];
};

enum { FIRST_PLACE = FUNCTIONS, FIRST_TEAM = FIRST_PLACE + PLACES, FIRST_BLOCK = FIRST_TEAM + TEAMS };

int programs_productions(void) { return PRODUCTIONS; }
const char *programs_production(int k) { return productions[k].name; }
bool programs_is_odd(int k) { return (productions[k].needs & ODD) != 0; }

/* ---- one program ------------------------------------------------------------------------------------------------- */

static void write_function(writer *w, int number)
{
    sti_text_buffer_format(
        w->out, "\n\nLFN real f%d(real a, real b, ureal c, const int *count, const ureal *t, int n)\n{", number);
    w->indent = 1;
    w->n = "n";
    writer_line(w);
    writer_variables(w, "a", "b", "splat(c)");
    writer_statements(w);
    writer_line(w);
    writer_put(w, "(void)t;");
    writer_line(w);
    writer_put(w, "return sin(r0 + r1 * r2) + splat((ureal)0.5) * cos(v[0] * v[1] + v[2] * s.x + s.w[1]) + "
                  "m[0][1] * m[1][0] * sin(o.x);\n}");
}

static void write_calls(writer *w, program *p, int number)
{
    sti_text_buffer_format(
        &p->called_by[0],
        "\n        s = fma(splat((ureal)0.%u), f%d(x[(i * %d + %d) * 2], x[(i * %d + %d) * 2 + 1], c, "
        "count, t, i + %u), s);",
        3 + writer_draw(w, 7), number, FUNCTIONS, number, FUNCTIONS, number, writer_draw(w, 6));
    if (number % 2 == 0)
        sti_text_buffer_format(
            &p->called_by[1],
            "\n        out = fma(splat((ureal)0.%u), f%d(gather(t + %d, i), load(a + q), c, count, t, q + "
            "%u), out);",
            3 + writer_draw(w, 7), number, number, writer_draw(w, 6));
}

/* Elements first … first + ROOM - 1 of y are the iteration's own. */
static void write_place(writer *w, int number)
{
    w->n = "i";
    w->indent = 2;
    sti_text_buffer_format(w->out,
                           "\n        {\n        int first = (i * %d + %d) * %d;\n        real *own = y + first;",
                           PLACES, number, ROOM);
    writer_line(w);
    writer_variables(w, "x[i]", "y[first] * x[1]", "own[1]");
    writer_statements(w);
    for (int n = 1 + (int)writer_draw(w, 2); n > 0; --n) {
        writer_line(w);
        writer_expand(w, 'A', EXPRESSION_DEPTH);
    }
    writer_line(w);
    writer_put(w, "put(own, 0, sin(own[0] + r0 * r1 + r2 * v[1] + s.x * m[0][0]));\n        }");
}

static void write_head(writer *w, program *p, int number)
{
    w->first = number;
    w->out = &p->head;
    w->indent = 1;
    for (const char *of = "HG"; *of; ++of) {
        writer_line(w);
        writer_expand(w, *of, EXPRESSION_DEPTH);
    }
    w->out = &p->text;
}

static void write_block(writer *w, int number)
{
    w->n = "q";
    w->indent = 2;
    writer_put(w, "\n        {\n        ");
    writer_variables(w, "load(a + q)", "gather(t, i)", "load(z + q)");
    writer_statements(w);
    writer_line(w);
    for (int n = (int)writer_draw(w, 4); n > 0; --n) {
        writer_expand(w, 'O', EXPRESSION_DEPTH);
        writer_line(w);
    }
    sti_text_buffer_format(w->out,
                           "\n        out = fma(splat((ureal)0.%d), sin(r0 + r1 * r2 + v[1] + s.x * m[0][0]), out);",
                           3 + number % 5);
    writer_put(w, "\n        }");
}

/* The turn of a program among those of its kind that have something odd, over all seeds. */
static uint64_t turn_of(uint64_t seed, int number)
{
    int first = number < FIRST_PLACE   ? 0
                : number < FIRST_TEAM  ? FIRST_PLACE
                : number < FIRST_BLOCK ? FIRST_TEAM
                                       : FIRST_BLOCK;
    int n = first == 0 ? FUNCTIONS : first == FIRST_PLACE ? PLACES : first == FIRST_TEAM ? TEAMS : BLOCKS;
    return seed * (uint64_t)(n / ODD_EVERY) + (uint64_t)((number - first) / ODD_EVERY);
}

static char kind_of(int number)
{
    return number < FIRST_PLACE ? 'F' : number < FIRST_TEAM ? 'P' : number < FIRST_BLOCK ? 'T' : 'I';
}

static void write_program(writer *w, programs *all, uint64_t seed, int number)
{
    program *p = &all->p[number];
    w->out = &p->text;
    w->used = p->used;
    w->kind = kind_of(number);
    w->called = 0;
    w->names = w->kind == 'T' ? number * TEAM_NAMES : 0; /* programs of a team share the kernel's scope */
    w->loops = 0;
    w->jumps = false;
    w->odd = number % ODD_EVERY == ODD_EVERY - 1 ? writer_choose_odd(w, turn_of(seed, number)) : NONE;
    bool odd = w->odd != NONE;
    w->aims = writer_chance(w, AIMED_PERCENT);
    w->budget = 6 + (int)writer_draw(w, writer_chance(w, 25) ? MOST_STATEMENTS : FEW_STATEMENTS);
    switch (w->kind) {
    case 'F':
        write_function(w, number);
        write_calls(w, p, number);
        break;
    case 'P': write_place(w, number - FIRST_PLACE); break;
    case 'T': writer_team(w, number - FIRST_TEAM); break;
    default: write_head(w, p, number - FIRST_BLOCK); write_block(w, number - FIRST_BLOCK);
    }
    p->needs = (uint64_t)1 << number;
    for (int i = 0; i < FUNCTIONS; ++i)
        if (w->called >> i & 1) p->needs |= all->p[i].needs;
    if (w->kind == 'F' && !odd) w->callable |= (uint64_t)1 << number;
}

programs *programs_create(uint64_t seed)
{
    programs *all;
    writer w;
    writer_begin(&w, seed);
    if (sti_alloc(&all, sizeof *all, "random programs") != STET_OK) return NULL;
    /* Kinds in turn: what stands in one kind only comes as often as the rest then. Functions call those before them. */
    int n[] = {FIRST_PLACE, FIRST_TEAM, FIRST_BLOCK};
    for (int i = 0; i < FUNCTIONS; ++i) {
        write_program(&w, all, seed, i);
        for (; (n[0] - FIRST_PLACE) * FUNCTIONS < (i + 1) * PLACES; ++n[0]) write_program(&w, all, seed, n[0]);
        for (; (n[1] - FIRST_TEAM) * FUNCTIONS < (i + 1) * TEAMS; ++n[1]) write_program(&w, all, seed, n[1]);
        for (; (n[2] - FIRST_BLOCK) * FUNCTIONS < (i + 1) * BLOCKS; ++n[2]) write_program(&w, all, seed, n[2]);
    }
    return all;
}

void programs_destroy(programs *p)
{
    for (int i = 0; i < PROGRAMS; ++i) {
        sti_text_buffer_free(&p->p[i].text);
        sti_text_buffer_free(&p->p[i].head);
        for (int k = 0; k < 2; ++k) sti_text_buffer_free(&p->p[i].called_by[k]);
    }
    sti_free(p);
}

int programs_draws(const programs *p, int i, int k) { return p->p[i].used[k]; }

uint64_t programs_needs(const programs *p, int i) { return p->p[i].needs; }

/* ---- sources ----------------------------------------------------------------------------------------------------- */

static uint64_t kinds(int first, int n) { return (n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1) << first; }

static void put_text(sti_text_buffer *out, const sti_text_buffer *text)
{
    if (text->data) sti_text_buffer_put(out, text->data);
}

static void put_pieces(const programs *p, uint64_t which, int first, int n, sti_text_buffer *out)
{
    for (int i = first; i < first + n; ++i)
        if (which >> i & 1) put_text(out, &p->p[i].text);
}

static void put_called(const programs *p, uint64_t which, int kernel, sti_text_buffer *out)
{
    for (int i = 0; i < FUNCTIONS; ++i)
        if (which >> i & 1) put_text(out, &p->p[i].called_by[kernel]);
}

static void put_random(const programs *p, uint64_t which, sti_text_buffer *out)
{
    sti_text_buffer_put(out,
                        "\n\nworld_kernel void k_random(const real *x, real *y, const ureal *t, ureal c, const int "
                        "*count, int n)\n{\n    each (i, n) {\n        real s = splat(t[i]);");
    put_called(p, which, 0, out);
    sti_text_buffer_put(out, "\n        put(y, i, s);\n    }\n}\n");
}

static void put_places(const programs *p, uint64_t which, sti_text_buffer *out)
{
    sti_text_buffer_put(out,
                        "\n\nworld_kernel void k_places(const real *x, real *y, lint *lints, real *fours, const int "
                        "*count, ureal c, int n)\n{\n    each (i, n) {\n        lints[i] = isplat(i);\n        "
                        "put(fours, i * 4, x[i]);");
    put_pieces(p, which, FIRST_PLACE, PLACES, out);
    sti_text_buffer_put(out, "\n    }\n}\n");
}

static void put_team(const programs *p, uint64_t which, sti_text_buffer *out)
{
    sti_text_buffer_format(out,
                           "\n\nworld_kernel void k_team(const real *p, real *w, real *y, const ureal *g, const int "
                           "*at, const int *count, const ureal *t, ureal c, int n)\n{\n    shared(real, a0, %d);\n    "
                           "shared(real, a1, %d);\n    staged(real, sp, p, %d);\n    staged(ureal, sg, g, %d);\n    "
                           "staged(int, sat, at, %d);\n    (void)t; (void)n;",
                           TEAM_ITEMS, TEAM_ITEMS, TEAM_ITEMS * TEAMS, TEAM_ITEMS, PROGRAM_COUNTS);
    put_pieces(p, which, FIRST_TEAM, TEAMS, out);
    sti_text_buffer_put(out, "\n}\n");
}

static bool uses(const programs *p, uint64_t which, const char *word)
{
    for (int i = FIRST_BLOCK; i < PROGRAMS; ++i)
        if ((which >> i & 1) && p->p[i].text.data && strstr(p->p[i].text.data, word)) return true;
    return false;
}

static void put_items(const programs *p, uint64_t which, sti_text_buffer *out)
{
    const char *whole = uses(p, which, "whole + ") ? "int *whole, " : "";
    const char *bytes = uses(p, which, "bytes, ") ? "u8 *bytes, " : "";
    const char *other = uses(p, which, "other + ") ? "ureal *other, " : "";
    const char *wides = uses(p, which, "wides + ") ? "int *wides, " : "";
    sti_text_buffer_format(
        out,
        "\n\nitem_kernel void k_items(const ureal *a, const ureal *t, const int *at, const wreal *u, "
        "ureal c, const int *count, ureal *z, ureal *made, %s%s%s%sint n, int block)\n{\n",
        whole, bytes, other, wides);
    for (int i = FIRST_BLOCK; i < PROGRAMS; ++i)
        if (which >> i & 1) put_text(out, &p->p[i].head);
    sti_text_buffer_put(out,
                        "\n    items (p, nmin(2, n - block * 2)) {\n        int q = block * 2 + p;\n"
                        "        lint i = igather(at, isplat(q) + lane());\n        real out = splat(of_world(u, 2, 0, "
                        "0));\n        store_if(in_range(q, n), made + q, out);");
    put_called(p, which, 1, out);
    put_pieces(p, which, FIRST_BLOCK, BLOCKS, out);
    sti_text_buffer_put(out, "\n        store_if(in_range(q, n), z + q, out * load(z + q));\n    }\n}\n");
}

void programs_put(const programs *p, uint64_t which, sti_text_buffer *out)
{
    uint64_t needed = 0;
    for (int i = 0; i < PROGRAMS; ++i)
        if (which >> i & 1) needed |= p->p[i].needs;
    sti_text_buffer_put(out, programs_prelude);
    put_pieces(p, needed, 0, FUNCTIONS, out);
    if (which & kinds(0, FUNCTIONS)) put_random(p, which, out);
    if (which & kinds(FIRST_PLACE, PLACES)) put_places(p, which, out);
    if (which & kinds(FIRST_TEAM, TEAMS)) put_team(p, which, out);
    if (which & (kinds(0, FUNCTIONS) | kinds(FIRST_BLOCK, BLOCKS))) put_items(p, which, out);
}
