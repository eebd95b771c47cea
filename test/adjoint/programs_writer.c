/* Draws programs from the grammar; see programs_writer.h. */
#include "programs_writer.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { LEAF_PERCENT = 35, ODD_PERCENT = 20, SCALE = 16 /* of means */, DEPTH_OF_CHOICES = -2 };

#define ROW(name, of, in, needs, text) {name, of, in, needs, text},
const production productions[PRODUCTIONS] = {GRAMMAR(ROW)};
#undef ROW

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

void writer_begin(writer *w, uint64_t seed)
{
    *w = (writer){.state = seed};
    for (int i = 0; i < PRODUCTIONS; ++i)
        if (!(productions[i].needs & ODD)) w->rows[(unsigned char)productions[i].of]++;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool stands_in(const writer *w, const production *p) { return !*p->in || strchr(p->in, w->kind) != NULL; }

static bool is_leaf(const production *p)
{
    for (const char *s = p->text; (s = strchr(s, '$')) != NULL; ++s)
        if (strchr("RBUMLCW", s[1])) return false;
    return true;
}

static bool fits(const writer *w, const production *p)
{
    if ((p->needs & NEEDS_LOOP) && w->loops == 0) return false;
    if ((p->needs & NEEDS_JUMP) && !w->jumps) return false;
    if ((p->needs & LOOP) && w->loops >= LOOP_DEPTH) return false;
    if ((p->needs & CALLS) && (w->callable == 0 || w->loops > 1)) return false;
    if ((p->needs & READ_ONLY) && !w->reads) return false;
    if ((p->needs & NOT_CHOSEN) && w->chosen) return false;
    if ((p->needs & NOT_INDEX) && w->indexes) return false;
    return !(p->needs & ODD) && stands_in(w, p);
}

static unsigned mean_of(const writer *w, char of)
{
    unsigned n = w->rows[(unsigned char)of];
    return n > 0 ? w->drawn_of[(unsigned char)of] * SCALE / n : UINT_MAX;
}

/*
 * How often the source has had a production; or what it leads to, on average, if that is less, and less than statements
 * were had: so nonterminals that few productions lead to are drawn as often as others.
 */
static unsigned rarity(const writer *w, int k)
{
    unsigned least = w->drawn[k] * SCALE, statements = mean_of(w, 'S');
    for (const char *s = productions[k].text; (s = strchr(s, '$')) != NULL; ++s) {
        unsigned mean = mean_of(w, s[1]);
        if (mean < statements && mean < least) least = mean;
    }
    return least;
}

/* One that may stand here: of a program that aims, one that the source had least often. */
static int choose(writer *w, char of, bool leaf)
{
    int found[PRODUCTIONS], n = 0;
    unsigned least = UINT_MAX;
    for (int i = 0; i < PRODUCTIONS; ++i) {
        if (productions[i].of != of || !fits(w, &productions[i]) || (leaf && !is_leaf(&productions[i]))) continue;
        unsigned worth = w->aims ? rarity(w, i) : 0;
        if (worth < least) n = 0;
        if (worth <= least) found[n++] = i;
        least = worth < least ? worth : least;
    }
    if (n == 0) return leaf ? choose(w, of, false) : NONE;
    return found[writer_draw(w, (uint32_t)n)];
}

int writer_choose_odd(const writer *w, uint64_t turn)
{
    int found[PRODUCTIONS], n = 0;
    bool own = w->kind == 'P' || w->kind == 'I'; /* these draw what stands in no other kind */
    for (int i = 0; i < PRODUCTIONS; ++i)
        if ((productions[i].needs & ODD) && stands_in(w, &productions[i]) && (!own || *productions[i].in))
            found[n++] = i;
    return n > 0 ? found[turn % (uint64_t)n] : NONE;
}

/* ---- writing a production ---------------------------------------------------------------------------------------- */

static void block(writer *w, int most)
{
    writer_put(w, "{");
    w->indent++;
    int n = 1 + (int)writer_draw(w, (uint32_t)most);
    for (int i = 0; i < n && (i == 0 || w->budget > 0); ++i) {
        writer_line(w);
        w->budget--;
        writer_expand(w, w->budget > 0 ? 'S' : 'A', EXPRESSION_DEPTH);
    }
    w->indent--;
    writer_line(w);
    writer_put(w, "}");
}

/* The body of the loop whose production this is: with braces, or one statement. */
static void body(writer *w, const production *p, int name, bool braces)
{
    bool jumps = w->jumps, cast = strstr(p->text, "i64 $k") || strstr(p->text, "u32 $k");
    bool own = strstr(p->text, "$k") == NULL;
    (void)snprintf(w->loop[w->loops], sizeof w->loop[0], "%s%c%d", cast ? "(int)" : "", own ? 'h' : 'k',
                   own ? name : w->loops);
    w->loops++;
    w->jumps = true;
    if (braces)
        block(w, 3);
    else
        writer_expand(w, 'A', EXPRESSION_DEPTH);
    w->jumps = jumps;
    w->loops--;
}

static void call_earlier(writer *w)
{
    uint32_t f;
    do f = writer_draw(w, FUNCTIONS);
    while (!(w->callable >> f & 1));
    w->called |= (uint64_t)1 << f;
    sti_text_buffer_format(w->out, "f%u(", f);
    writer_expand(w, 'R', 1);
    writer_put(w, ", ");
    writer_expand(w, 'R', 1);
    sti_text_buffer_format(w->out, ", c, count, t, %s + %u)", w->n, writer_draw(w, 3));
}

/* A sum of loops' variables, each times a number, and a number: below ROOM whatever the variables are. */
static void affine(writer *w)
{
    enum { LOOP_MOST = 4 };
    int left = ROOM - 1;
    for (int k = w->loops - 1; k >= 0; --k) {
        int times = left / LOOP_MOST > 0 ? (int)writer_draw(w, (uint32_t)(left / LOOP_MOST) + 1) : 0;
        if (times > 0)
            sti_text_buffer_format(w->out, writer_chance(w, 50) ? "%s * %d + " : "%s * %d + ", w->loop[k], times);
        left -= times * LOOP_MOST;
    }
    sti_text_buffer_format(w->out, "%u", writer_draw(w, (uint32_t)left + 1));
}

static void placeholder(writer *w, const production *p, char c, int name, int depth)
{
    bool indexes;
    switch (c) {
    case 'd': sti_text_buffer_format(w->out, "%u", 1 + writer_draw(w, 9)); break;
    case 'e': sti_text_buffer_format(w->out, "%u", writer_draw(w, 3)); break;
    case 'n': writer_put(w, w->n); break;
    case 'k': sti_text_buffer_format(w->out, "k%d", w->loops); break;
    case 'x': writer_put(w, w->loop[writer_draw(w, (uint32_t)w->loops)]); break;
    case 'j': affine(w); break;
    case 'f': call_earlier(w); break;
    case 't': w->read(w); break;
    case 'b':
    case 'p': sti_text_buffer_format(w->out, "%d", w->first); break;
    case 'i': writer_somewhere(w); break;
    case 'q': writer_put(w, w->shared); break;
    case 'o':
        writer_put(w, w->own[0]);
        writer_expand(w, 'B', depth - 1);
        writer_put(w, w->own[1]);
        break;
    case 'Z': body(w, p, name, true); break;
    case 'z': body(w, p, name, false); break;
    case 'Y': block(w, 3); break;
    case 'I':
    case 'J':
        indexes = w->indexes;
        w->indexes = true;
        writer_expand(w, c, depth - 1);
        w->indexes = indexes;
        break;
    case 'V':
        w->reads = p->of == 'R';
        writer_expand(w, c, depth - 1);
        w->reads = false;
        break;
    default: writer_expand(w, c, depth - 1);
    }
}

static void write_production(writer *w, int number, int depth)
{
    const production *p = &productions[number];
    bool chosen = w->chosen;
    w->chosen |= (p->needs & CHOOSES) != 0;
    int name = w->names++;
    w->shared = writer_chance(w, 50) ? "a0" : "a1";
    w->drawn[number]++;
    w->drawn_of[(unsigned char)p->of]++;
    w->used[number]++;
    for (const char *s = p->text; *s; ++s) {
        if (*s == '@')
            sti_text_buffer_format(w->out, "%d", name);
        else if (*s == '$')
            placeholder(w, p, *++s, name, depth);
        else
            sti_text_buffer_add(w->out, s, 1);
    }
    w->chosen = chosen;
}

void writer_expand(writer *w, char of, int depth)
{
    if (of == 'S' && w->odd != NONE && writer_chance(w, ODD_PERCENT)) {
        int odd = w->odd;
        w->odd = NONE;
        write_production(w, odd, depth);
        return;
    }
    bool leaf =
        depth <= (strchr("MLU", of) ? DEPTH_OF_CHOICES : 0) || (strchr("RUMLCW", of) && writer_chance(w, LEAF_PERCENT));
    int number = choose(w, of, leaf);
    if (number != NONE) write_production(w, number, depth);
}

void writer_statements(writer *w)
{
    while (w->budget-- > 0 || w->odd != NONE) {
        writer_line(w);
        writer_expand(w, 'S', EXPRESSION_DEPTH);
    }
}

void writer_variables(writer *w, const char *a, const char *b, const char *c)
{
    sti_text_buffer_format(w->out, "real r0 = %s, r1 = %s, r2 = %s, v[3] = {r0, r1 * r2, sin(r2)};", a, b, c);
    writer_line(w);
    writer_put(w, "real m[2][3] = {{r2, r1, r0 * r2}, {r1}};");
    writer_line(w);
    writer_put(w, "pair s = {r0, {r1, r0 - r2}, 1}, o = {r2, {r0}};");
    writer_line(w);
    sti_text_buffer_format(w->out, "int j0 = %s, j1 = 1, j2 = count[2];", w->n);
    writer_line(w);
    writer_put(w, "ureal u0 = c * c, u1 = c, u2 = (ureal)0.7;");
    writer_line(w);
    writer_put(w, "mask m0 = lt(r0, r1);");
    writer_line(w);
    sti_text_buffer_format(w->out, "lint l0 = isplat(%s + 1);", w->n);
}
