/* Random expressions; see programs_writer.h. */
#include "programs_writer.h"

void writer_index_of_v(writer *w)
{
    if (w->loops > 0 && writer_chance(w, 60))
        sti_text_buffer_format(w->out, "(i%u + %u) %% 3", writer_draw(w, (uint32_t)w->loops), writer_draw(w, 3));
    else
        sti_text_buffer_format(w->out, "%u", writer_draw(w, 3));
}

void writer_leaf(writer *w)
{
    if (w->read && writer_chance(w, 40)) {
        w->read(w);
        return;
    }
    switch (writer_draw(w, 8)) {
    case 0: sti_text_buffer_format(w->out, "splat((ureal)0.%u)", 1 + writer_draw(w, 9)); return;
    case 1: writer_put(w, "splat(c)"); return;
    case 2:
    case 3:
        writer_put(w, "v[");
        writer_index_of_v(w);
        writer_put(w, "]");
        return;
    case 4: writer_put(w, writer_chance(w, 50) ? "s.x" : "s.w[1]"); return;
    default: sti_text_buffer_format(w->out, "r%u", writer_draw(w, REALS));
    }
}

/* `form` with each $ an expression, and # the number. */
static void fill(writer *w, const char *form, int depth)
{
    for (; *form; ++form) {
        if (*form == '$')
            writer_expression(w, depth - 1);
        else if (*form == '#')
            writer_put(w, w->n);
        else
            sti_text_buffer_add(w->out, form, 1);
    }
}

void writer_expression(writer *w, int depth)
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
                                        "to_real(isplat(#)) * $",
                                        "select(ge($, $), $, $)",
                                        "(# % 2 == 0 ? $ : $)",
                                        "$ * ($ + $)"};
    if (depth <= 0 || writer_chance(w, 20)) {
        writer_leaf(w);
        return;
    }
    writer_put(w, "(");
    fill(w, forms[writer_draw(w, sizeof forms / sizeof *forms)], depth);
    writer_put(w, ")");
}

void writer_bounded(writer *w)
{
    static const char *const forms[] = {"sin($)", "cos($)", "tanh($)", "splat((ureal)0.7) * atan($)",
                                        "sin($) * splat((ureal)0.8)"};
    fill(w, forms[writer_draw(w, sizeof forms / sizeof *forms)], EXPRESSION_DEPTH);
}

void writer_condition(writer *w)
{
    if (w->loops > 0 && writer_chance(w, 60)) {
        sti_text_buffer_format(w->out, "i%u %s %u", writer_draw(w, (uint32_t)w->loops),
                               writer_chance(w, 50) ? "==" : "<", writer_draw(w, 3));
    } else if (writer_chance(w, 50)) {
        sti_text_buffer_format(w->out, "%s %% %u == %u", w->n, 2 + writer_draw(w, 2), writer_draw(w, 2));
    } else {
        writer_put(w, "any(lt(");
        writer_expression(w, 1);
        writer_put(w, ", ");
        writer_expression(w, 1);
        writer_put(w, "))");
    }
}
