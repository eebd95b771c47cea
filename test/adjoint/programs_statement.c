/* Random statements; see programs_writer.h. */
#include "programs_writer.h"

static void statements(writer *w, int most);

static void block(writer *w, int most)
{
    writer_put(w, "{");
    w->indent++;
    statements(w, most);
    w->indent--;
    writer_line(w);
    writer_put(w, "}");
}

static void loop(writer *w)
{
    int i = w->loops;
    bool jumps = w->jumps;
    switch (writer_draw(w, 6)) {
    case 0: sti_text_buffer_format(w->out, "for (int i%d = 0; i%d < %u; ++i%d) ", i, i, writer_draw(w, 4), i); break;
    case 1: sti_text_buffer_format(w->out, "for (int i%d = %u; i%d >= 0; i%d--) ", i, writer_draw(w, 3), i, i); break;
    case 2: sti_text_buffer_format(w->out, "for (int i%d = 0; i%d < 5; i%d += 2) ", i, i, i); break;
    case 3:
        if (i > 0) {
            sti_text_buffer_format(w->out, "for (int i%d = 0; i%d <= i%d && i%d < 3; ++i%d) ", i, i, i - 1, i, i);
            sti_text_buffer_format(w->out, "if (i%d < 3) ", i);
            break;
        }
        /* fall through */
    default:
        sti_text_buffer_format(w->out, "for (int i%d = 0; i%d < count[(%s + %u) %% 8]; ++i%d) ", i, i, w->n,
                               writer_draw(w, 8), i);
    }
    w->loops++;
    w->jumps = true;
    block(w, 4);
    w->jumps = jumps;
    w->loops--;
}

static void assignment(writer *w)
{
    if (w->own[0][0] && writer_chance(w, 30)) {
        writer_put(w, w->own[0]);
        writer_bounded(w);
        writer_put(w, w->own[1]);
        return;
    }
    switch (writer_draw(w, 6)) {
    case 0:
        writer_put(w, "v[");
        writer_index_of_v(w);
        writer_put(w, "] = ");
        break;
    case 1: writer_put(w, writer_chance(w, 50) ? "s.x = " : "s.w[1] = "); break;
    case 2:
        sti_text_buffer_format(w->out, "r%u += ", writer_draw(w, REALS));
        writer_put(w, "splat((ureal)0.1) * ");
        break;
    case 3: sti_text_buffer_format(w->out, "real t%d = ", w->names); break;
    default: sti_text_buffer_format(w->out, "r%u = ", writer_draw(w, REALS));
    }
    writer_bounded(w);
    writer_put(w, ";");
}

static void jump(writer *w)
{
    bool leaves = w->jumps && (!w->returns || writer_chance(w, 80));
    if (!leaves && !w->returns) {
        assignment(w);
        return;
    }
    writer_put(w, "if (");
    writer_condition(w);
    writer_put(w, ") ");
    if (leaves) {
        writer_put(w, writer_chance(w, 50) ? "break;" : "continue;");
    } else {
        writer_put(w, "return ");
        writer_bounded(w);
        writer_put(w, ";");
    }
}

static void call(writer *w)
{
    sti_text_buffer_format(w->out, "r%u = ", writer_draw(w, REALS));
    if (w->functions > 0 && writer_chance(w, 40) && w->loops < 2) {
        uint32_t f = writer_draw(w, (uint32_t)w->functions);
        w->called |= (uint64_t)1 << f;
        sti_text_buffer_format(w->out, "f%u(", f);
        writer_expression(w, 1);
        writer_put(w, ", ");
        writer_expression(w, 1);
        sti_text_buffer_format(w->out, ", c, count, %s + %u);", w->n, writer_draw(w, 3));
    } else {
        writer_put(w, "square(");
        writer_bounded(w);
        writer_put(w, writer_chance(w, 50) ? ") * splat((ureal)0.2);" : ");");
        writer_line(w);
        writer_put(w, "turn(v, ");
        writer_leaf(w);
        sti_text_buffer_format(w->out, ", %s);", w->n);
    }
}

static void choice(writer *w)
{
    writer_put(w, "if (");
    writer_condition(w);
    writer_put(w, ") ");
    block(w, 3);
    if (writer_chance(w, 50)) {
        writer_put(w, " else ");
        block(w, 3);
    }
}

static void statement(writer *w)
{
    writer_line(w);
    w->names++;
    uint32_t kind = writer_draw(w, 100);
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
    int n = 1 + (int)writer_draw(w, (uint32_t)most);
    for (int i = 0; i < n && w->budget > 0; ++i) {
        w->budget--;
        statement(w);
    }
}

void writer_statements(writer *w)
{
    w->names = 0;
    while (w->budget > 0) statements(w, w->budget);
}

void writer_variables(writer *w, const char *a, const char *b, const char *c)
{
    sti_text_buffer_format(w->out, "real r0 = %s, r1 = %s, r2 = r0 * r1, r3 = %s, v[3] = {r0, r1, sin(r3)};", a, b, c);
    writer_line(w);
    writer_put(w, "pair s;");
    writer_line(w);
    writer_put(w, "s.x = r0;");
    writer_line(w);
    writer_put(w, "s.w[0] = r1;");
    writer_line(w);
    writer_put(w, "s.w[1] = r0 - r3;");
}
