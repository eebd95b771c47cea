/*
 * The search along a line, of random convex costs as constraints make them: stiff or soft, with kinks before, at and
 * behind the step that Newton's method takes first, and with residuals that nearly vanish. It must end where the slope,
 * computed in double, changes its sign, and soon.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/dice.h"
#include "device/rig.h"
#include "kernel/kernel.h"
#include "physics/line_probe.h"

#include <math.h>
#include <string.h>

enum { SEARCHES = 1 << 14, SOON = 64 };

extern const sti_kernel sti_k_probe_line;

static double in[LINE_IN][SEARCHES];
static float floats[LINE_IN][SEARCHES];

static double between(uint64_t *dice, double low, double high)
{
    return low + (high - low) * (double)(dice_next(dice) >> 11) * 0x1p-53;
}

static double decades(uint64_t *dice, double low, double high) { return pow(10, between(dice, low, high)); }

/* The slope at a step, what it adds up to without signs, and the curve. */
static double slope_at(int i, double step, double *size, double *curve)
{
    double slope = in[0][i] + step * in[1][i];
    *size = fabs(in[0][i]) + fabs(step * in[1][i]);
    *curve = in[1][i];
    for (int k = 0; k < LINE_TERMS; ++k) {
        double D = in[3 + 3 * k][i], jv = in[5 + 3 * k][i], jar = in[4 + 3 * k][i], x = jar + step * jv;
        if (x >= 0) continue;
        slope += D * jv * x;
        *size += fabs(D * jv) * (fabs(jar) + fabs(step * jv));
        *curve += D * jv * jv;
    }
    return slope;
}

/* What is drawn is what a float has: both kinds of numbers search along the same line. */
static void draw(uint64_t *dice, int i)
{
    double size, curve;
    in[1][i] = decades(dice, -3, 3);
    for (int k = 0; k < LINE_TERMS; ++k) {
        double kink = dice_below(dice, 4) ? between(dice, 0, 2) : 1 + between(dice, -1, 1) * decades(dice, -7, -2);
        double jv = decades(dice, -4, 2) * (dice_below(dice, 2) ? 1 : -1);
        double stiff = decades(dice, -3, 5); /* beside what moves */
        in[3 + 3 * k][i] = dice_below(dice, 3) ? (float)(stiff * in[1][i] / (jv * jv)) : 0;
        in[5 + 3 * k][i] = (float)jv;
        in[4 + 3 * k][i] = (float)(-kink * jv);
    }
    in[1][i] = (float)in[1][i];
    double other = slope_at(i, 0, &size, &curve);
    in[0][i] =
        (float)-(other + curve * (dice_below(dice, 2) ? 1 : decades(dice, -1, 1))); /* the first step is Newton's */
    double slope = slope_at(i, 0, &size, &curve);
    in[2][i] = (float)(fabs(slope) * (dice_below(dice, 2) ? 1e-2 : 1e-9));
}

typedef struct summary {
    int most, begun, less; /* evaluations; searches that begin downhill; those that may end before the root */
    double all;
} summary;

/* The slope is below 0 just before the step and above 0 just behind it, or as small as asked for or as rounding is. */
static void check(int i, double best, double n, bool wide, summary *out)
{
    double size, curve, slope = slope_at(i, 0, &size, &curve), rounding = wide ? 1e-15 : 5e-7;
    if (!(slope < -4 * rounding * size)) return; /* rounding may have it the other way round */
    out->begun++;
    out->less += in[2][i] > 1e-6 * fabs(slope);
    out->all += n;
    if ((int)n > out->most) out->most = (int)n;
    if (n > SOON) fail_msg("search %d took %g steps", i, n);
    double before = slope_at(i, best * (1 - 4 * rounding), &size, &curve);
    double enough = 1.01 * in[2][i] + 16 * rounding * (size + best * curve);
    double behind = slope_at(i, best * (1 + 4 * rounding), &size, &curve);
    if (!(before <= enough && behind >= -enough))
        fail_msg("search %d ends at %.9g: slopes %g and %g, enough is %g", i, best, before, behind, enough);
}

static void searches_end_soon_at_the_root(void **state)
{
    static double out[LINE_OUT][SEARCHES];
    static float found[LINE_OUT][SEARCHES], first[LINE_OUT][SEARCHES];
    uint64_t dice = dice_seed("searches_end_soon_at_the_root");
    bool other = false;
    for (int i = 0; i < SEARCHES; ++i) {
        draw(&dice, i);
        for (int k = 0; k < LINE_IN; ++k) floats[k][i] = (float)in[k][i];
    }
    FOR_ISAS(isa)
    {
        summary s = {0};
        bool wide = isa == STI_ISA_f64;
        sti_slot slots[] = {{.p = wide ? (void *)in : floats}, {.p = wide ? (void *)out : found}, {.i = SEARCHES}};
        sti_k_probe_line.call[isa](slots, 0, SEARCHES / 256);
        for (int i = 0; i < SEARCHES; ++i)
            check(i, wide ? out[0][i] : found[0][i], wide ? out[1][i] : found[1][i], wide, &s);
        print_message("%s: %d of %d searches begin downhill, %d may end early; %.2f steps, at most %d\n",
                      sti_isa_name((sti_isa)isa), s.begun, SEARCHES, s.less, s.all / s.begun, s.most);
        assert_true(s.begun > SEARCHES / 2 && s.less > SEARCHES / 8 && s.all < 4.0 * s.begun);
        if (wide) continue;
        if (other) assert_memory_equal(found, first, sizeof found);
        memcpy(first, found, sizeof first);
        other = true;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(searches_end_soon_at_the_root)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
