/*
 * Programs of a world kernel's team; see programs_writer.h. Phases, each an `each` and a sync, in loops and branches
 * that the whole team takes.
 *
 * A program reads p, w (elements of its own), g, and the kernel's shared arrays a0 and a1; it overwrites w, a0 and a1,
 * and adds to y at its end. A phase writes one of them, each iteration an element of its own, and reads that array at
 * no other; the others it reads anywhere. So no order of iterations matters.
 */
#include "programs_writer.h"

#include <stdio.h>

enum { PHASE_BUDGET = 5, PROGRAM_PHASES = 5 };

static const char *const arrays[] = {"a0", "a1", "w"};
enum { NARRAY = sizeof arrays / sizeof *arrays };

/* Of the program that is being written. */
static int written; /* the array that the phase writes; its element is `place` */
static char place[32];
static int phases;

void writer_somewhere(writer *w)
{
    switch (writer_draw(w, 5)) {
    case 0: writer_put(w, "i"); return;
    case 1: sti_text_buffer_format(w->out, "(i + %u) %% %d", writer_draw(w, TEAM_ITEMS), TEAM_ITEMS); return;
    case 2: sti_text_buffer_format(w->out, "at[i] + %u", writer_draw(w, 2)); return;
    case 3: sti_text_buffer_format(w->out, "at[(i + %u) %% 8]", writer_draw(w, 8)); return;
    default: sti_text_buffer_format(w->out, "%u", writer_draw(w, TEAM_ITEMS));
    }
}

static void read_something(writer *w)
{
    int array = (int)writer_draw(w, NARRAY + 2);
    if (array == NARRAY + 1) {
        sti_text_buffer_format(w->out, "gather(g, isplat(at[(i + %u) %% 8]) + isplat(%u))", writer_draw(w, 8),
                               writer_draw(w, 2));
        return;
    }
    sti_text_buffer_format(w->out, "%s[", array == NARRAY ? "p" : arrays[array]);
    if (array >= NARRAY - 1) sti_text_buffer_format(w->out, "%d + ", w->first);
    if (array == written)
        writer_put(w, place);
    else
        writer_somewhere(w);
    writer_put(w, "]");
}

static void choose_own(writer *w)
{
    static const char *const forms[] = {"i", "4 - i", "(i + 2) % 5"};
    written = (int)writer_draw(w, NARRAY);
    (void)snprintf(place, sizeof place, "%s", forms[writer_draw(w, sizeof forms / sizeof *forms)]);
    if (written == NARRAY - 1) {
        (void)snprintf(w->own[0], sizeof w->own[0], "put(w, %d + %s, ", w->first, place);
        (void)snprintf(w->own[1], sizeof w->own[1], ");");
    } else {
        (void)snprintf(w->own[0], sizeof w->own[0], "%s[%s] = ", arrays[written], place);
        (void)snprintf(w->own[1], sizeof w->own[1], ";");
    }
}

static void phase(writer *w)
{
    char from[3][64];
    choose_own(w);
    phases--;
    for (int k = 0; k < 3; ++k) {
        sti_text_buffer text = {0}, *out = w->out;
        w->out = &text;
        read_something(w);
        w->out = out;
        (void)snprintf(from[k], sizeof from[k], "%s", text.data ? text.data : "");
        sti_text_buffer_free(&text);
    }
    if (writer_chance(w, 20))
        sti_text_buffer_format(w->out, "each (i, count[%u]) {", writer_draw(w, PROGRAM_COUNTS));
    else
        sti_text_buffer_format(w->out, "each (i, %d) {", TEAM_ITEMS);
    w->indent++;
    writer_line(w);
    writer_variables(w, from[0], from[1], from[2]);
    w->budget = 1 + (int)writer_draw(w, PHASE_BUDGET);
    int odd = w->odd; /* in the last phase, which is sure to come */
    if (phases > 0) w->odd = NONE;
    writer_statements(w);
    if (phases > 0) w->odd = odd;
    writer_line(w);
    writer_put(w, w->own[0]);
    writer_expand(w, 'B', EXPRESSION_DEPTH);
    writer_put(w, w->own[1]);
    w->indent--;
    writer_line(w);
    writer_put(w, "}");
    writer_line(w);
    writer_put(w, "sync();");
}

static void some_phases(writer *w, int depth);

static void block(writer *w, int depth)
{
    writer_put(w, "{");
    w->indent++;
    some_phases(w, depth);
    w->indent--;
    writer_line(w);
    writer_put(w, "}");
}

/* What the whole team comes to: a phase, a loop of some, a choice. */
static void piece(writer *w, int depth)
{
    writer_line(w);
    uint32_t kind = depth > 0 ? writer_draw(w, 100) : 59;
    if (kind >= 60) {
        writer_expand(w, 'Q', EXPRESSION_DEPTH);
    } else if (kind < 25) {
        sti_text_buffer_format(w->out, "for (int q%d = 0; q%d < count[%u]; ++q%d) ", depth, depth,
                               writer_draw(w, PROGRAM_COUNTS), depth);
        block(w, depth - 1);
    } else if (kind < 40) {
        sti_text_buffer_format(w->out, "if (count[%u] > %u) ", writer_draw(w, PROGRAM_COUNTS), writer_draw(w, 3));
        block(w, depth - 1);
        if (writer_chance(w, 50)) {
            writer_put(w, " else ");
            block(w, depth - 1);
        }
    } else {
        phase(w);
    }
}

static void some_phases(writer *w, int depth)
{
    int n = 1 + (int)writer_draw(w, 3);
    for (int k = 0; k < n && phases > 0; ++k) piece(w, depth);
}

static void begin(writer *w)
{
    writer_line(w);
    sti_text_buffer_format(w->out, "each (i, %d) {", TEAM_ITEMS);
    w->indent++;
    writer_line(w);
    sti_text_buffer_format(w->out, "a0[i] = p[%d + i] * w[%d + i];", w->first, w->first);
    writer_line(w);
    sti_text_buffer_format(w->out, "a1[i] = sin(p[%d + (i + 1) %% %d]);", w->first, TEAM_ITEMS);
    writer_line(w);
    sti_text_buffer_format(w->out, "put(w, %d + i, cos(p[%d + i]) * w[%d + i]);", w->first, w->first, w->first);
    w->indent--;
    writer_line(w);
    writer_put(w, "}");
    writer_line(w);
    writer_put(w, "sync();");
}

void writer_team(writer *w, int number)
{
    w->first = number * TEAM_ITEMS;
    phases = PROGRAM_PHASES;
    w->n = "i";
    w->indent = 1;
    w->read = read_something;
    begin(w);
    while (phases > 0) some_phases(w, 2);
    writer_line(w);
    sti_text_buffer_format(
        w->out, "each (i, %d) put(y, i, fma(splat((ureal)0.%u), a0[i] + a1[(i + 2) %% 5] * w[%d + i], y[i]));",
        TEAM_ITEMS, 3 + writer_draw(w, 7), w->first);
    writer_line(w);
    writer_put(w, "sync();");
}
