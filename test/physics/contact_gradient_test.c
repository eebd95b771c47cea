/*
 * The gradients of contacts against central differences in double: random pairs of geoms of each pair of types, apart
 * within their margin, touching, deep in one another, with flat faces on one another. The result that is differenced is
 * a random sum of one contact's distance, position and frame; the directions are the 12 of both poses, and the sizes.
 *
 * Where a contact jumps or has a kink beside the pose (another number of contacts, slopes that differ with the step or
 * between both sides), differences say nothing; such cases are counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "geom/rays.h"
#include "physics/collide_rig.h"
#include "physics/contact_gradient_probe.h"
#include "physics/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CASES = 512, DIRECTIONS = 18, STEPS = 4, HEAD = 4, INTS = 1 << 14, REALS = 1 << 12 };

extern const sti_kernel sti_k_probe_found, sti_k_probe_pull;

static int tables[HEAD + INTS];
static double reals[REALS];
static float float_reals[REALS];

static void make_tables(const mjModel *m)
{
    sti_physics_tables t;
    assert_int_equal(sti_physics_tables_make(m, &t), STET_OK);
    int nreal = t.nf - t.m[M_SHAPE_PRM];
    assert_true(t.nshape <= INTS && nreal <= REALS);
    if (t.nshape > 0) memcpy(tables + HEAD, t.shapes, (size_t)t.nshape * sizeof *tables);
    for (int i = 0; i < nreal; ++i) float_reals[i] = (float)(reals[i] = t.f[t.m[M_SHAPE_PRM] + i]);
    for (int g = 0; g < 2; ++g) {
        tables[2 * g] = m->geom_type[g];
        tables[2 * g + 1] = t.m[t.m[M_GEOM_SHAPE] + g];
    }
    sti_physics_tables_free(&t);
}

typedef struct gradient_pair {
    const char *first, *second;
    double tilt;      /* radians: the geoms' axes are aligned but for this; 0: any pose */
    double tolerance; /* of a gradient, relative to 1 and to itself */
    double kinks;     /* the share of cases that may have a kink */
} gradient_pair;

/*
 * Where edges lie on faces they are placed by the normal of a search, which ends within its tolerance: differences of
 * that are rough.
 */
static const gradient_pair pairs[] = {
    {"plane", "sphere", 0, 1e-5, 0.01},        {"plane", "capsule", 0, 1e-5, 0.01},
    {"plane", "ellipsoid", 0, 1e-5, 0.01},     {"plane", "cylinder", 0, 1e-5, 0.01},
    {"plane", "box", 0, 1e-5, 0.01},           {"plane", "mesh", 0, 1e-5, 0.01},
    {"sphere", "sphere", 0, 1e-5, 0.01},       {"sphere", "capsule", 0, 1e-5, 0.01},
    {"sphere", "ellipsoid", 0, 1e-5, 0.01},    {"sphere", "cylinder", 0, 1e-5, 0.01},
    {"sphere", "box", 0, 1e-5, 0.01},          {"sphere", "mesh", 0, 1e-5, 0.01},
    {"capsule", "capsule", 0, 1e-5, 0.01},     {"capsule", "ellipsoid", 0, 1e-5, 0.03},
    {"capsule", "cylinder", 0, 1e-3, 0.1},     {"capsule", "cylinder", 0.03, 1e-3, 0.15},
    {"capsule", "box", 0, 1e-5, 0.01},         {"capsule", "box", 0.03, 1e-5, 0.03},
    {"capsule", "mesh", 0, 2e-5, 0.06},        {"ellipsoid", "ellipsoid", 0, 1e-5, 0.03},
    {"ellipsoid", "cylinder", 0, 1e-5, 0.06},  {"ellipsoid", "box", 0, 1e-5, 0.03},
    {"ellipsoid", "mesh", 0, 2e-5, 0.03},      {"cylinder", "cylinder", 0, 1e-3, 0.1},
    {"cylinder", "cylinder", 0.03, 1e-3, 0.3}, {"cylinder", "box", 0, 1e-3, 0.1},
    {"cylinder", "box", 0.03, 1e-3, 0.2},      {"cylinder", "mesh", 0, 1e-3, 0.1},
    {"cylinder", "mesh", 0.03, 1e-3, 0.2},     {"box", "box", 0, 1e-5, 0.01},
    {"box", "box", 0.03, 1e-5, 0.01},          {"box", "mesh", 0, 2e-5, 0.1},
    {"box", "mesh", 0.03, 2e-5, 0.15},         {"mesh", "mesh", 0, 2e-5, 0.1},
    {"hfield", "sphere", 0, 1e-5, 0.03},       {"hfield", "capsule", 0, 1e-5, 0.03},
    {"hfield", "ellipsoid", 0, 1e-5, 0.05},    {"hfield", "cylinder", 0, 1e-3, 0.05},
    {"hfield", "box", 0, 1e-5, 0.05},          {"hfield", "mesh", 0, 2e-5, 0.05},
};
enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static void *zeros(size_t n, size_t size)
{
    void *p = calloc(n, size);
    assert_non_null(p);
    return p;
}

/* ---- cases */

/* A geom's pose and sizes in case i: row k of `in` [PROBE_IN][padded]. */
static double *row(const collide_set *s, double *in, int k, int i) { return in + (ptrdiff_t)k * s->padded + i; }

/* m = r m for a turn by v about the world's axes. */
static void turn_geom(const collide_set *s, double *in, int g, int i, const double v[3])
{
    double axis[3], quat[4], r[9], mat[9], out[9];
    mju_copy3(axis, v);
    mju_axisAngle2Quat(quat, axis, mju_normalize3(axis));
    mju_quat2Mat(r, quat);
    for (int k = 0; k < 9; ++k) mat[k] = *row(s, in, 15 * g + 3 + k, i);
    mju_mulMatMat(out, r, mat, 3, 3, 3);
    for (int k = 0; k < 9; ++k) *row(s, in, 15 * g + 3 + k, i) = out[k];
}

/* Aligns the second geom's axes with the first's, but for a spin about z and a tilt. */
static void align(const collide_set *s, random_state *r, double tilt)
{
    for (int i = 0; i < s->n; ++i) {
        double v[3];
        for (int k = 0; k < 9; ++k) *row(s, s->in, 18 + k, i) = *row(s, s->in, 3 + k, i);
        for (int k = 0; k < 3; ++k) v[k] = *row(s, s->in, 3 + 3 * k + 2, i) * random_between(r, 0, 6);
        turn_geom(s, s->in, 1, i, v);
        random_direction(r, v);
        mju_scl3(v, v, tilt);
        turn_geom(s, s->in, 1, i, v);
    }
}

/* ---- contacts and what is made of them */

static void run_found(const collide_set *s, const double *in, double *out)
{
    sti_slot slots[] = {{.p = (void *)in}, {.p = out}, {.p = tables}, {.p = reals}, {.i = s->padded}};
    sti_k_probe_found.call[STI_ISA_f64](slots, 0, s->padded / COLLIDE_BLOCK);
}

/* What is made of a case: the slot whose contact counts (-1: none), and the slopes. */
typedef struct weights {
    int slot;
    double slope[PROBE_SLOPES];
} weights;

static const double *of_slot(const collide_set *s, const double *out, int slot, int i)
{
    return out + (ptrdiff_t)slot * PROBE_OUT * s->padded + i;
}

static weights draw_weights(const collide_set *s, const double *out, random_state *r, int i)
{
    weights w = {.slot = -1};
    int n = 0;
    for (int k = 0; k < PROBE_SLOTS; ++k)
        if (of_slot(s, out, k, i)[0] != 0 && random_bits(r) % (uint64_t)++n == 0) w.slot = k;
    for (int k = 0; k < PROBE_SLOPES; ++k) w.slope[k] = random_between(r, -1, 1);
    uint64_t part = random_bits(r) % 4; /* all; the distance; the position; the frame */
    for (int k = 0; part > 0 && k < PROBE_SLOPES; ++k)
        if ((part == 1 && k > 0) || (part == 2 && (k < 1 || k > 3)) || (part == 3 && k < 4)) w.slope[k] = 0;
    return w;
}

/* MuJoCo's frame of a normal, and of an axis that the first tangent follows. */
static void make_frame(const double normal[3], const double *hint, double frame[9])
{
    double *t = frame + 3;
    mju_copy3(frame, normal);
    mju_zero3(t);
    if (hint)
        mju_copy3(t, hint);
    else
        t[fabs(normal[1]) < 0.5 ? 1 : 2] = 1;
    mju_addToScl3(t, normal, -mju_dot3(t, normal));
    mju_normalize3(t);
    mju_cross(frame + 6, normal, t);
}

static double weigh(const collide_set *s, const double *in, const double *out, const weights *w, int i)
{
    const double *o = of_slot(s, out, w->slot, i);
    double normal[3], axis[3], frame[9], sum = w->slope[0] * o[s->padded];
    for (int k = 0; k < 3; ++k) {
        normal[k] = o[(5 + k) * s->padded];
        axis[k] = in[(ptrdiff_t)(18 + 3 * k + 2) * s->padded + i];
        sum += w->slope[1 + k] * o[(2 + k) * s->padded];
    }
    make_frame(normal, tables[0] == mjGEOM_PLANE && tables[2] == mjGEOM_CAPSULE ? axis : NULL, frame);
    for (int k = 0; k < 9; ++k) sum += w->slope[4 + k] * frame[k];
    return sum;
}

static bool same_slots(const collide_set *s, const double *a, const double *b, int i)
{
    for (int k = 0; k < PROBE_SLOTS; ++k)
        if (of_slot(s, a, k, i)[0] != of_slot(s, b, k, i)[0]) return false;
    return true;
}

static void run_pull(const collide_set *s, const double *in, const weights *w, int isa, void *out)
{
    size_t nin = (size_t)PROBE_IN * (size_t)s->padded, ns = (size_t)PROBE_SLOTS * PROBE_SLOPES * (size_t)s->padded;
    double *slopes = zeros(ns, sizeof *slopes);
    float *float_in = zeros(nin, sizeof *float_in), *float_slopes = zeros(ns, sizeof *float_slopes);
    for (int i = 0; i < s->n; ++i)
        for (int k = 0; w[i].slot >= 0 && k < PROBE_SLOPES; ++k)
            slopes[(ptrdiff_t)(w[i].slot * PROBE_SLOPES + k) * s->padded + i] = w[i].slope[k];
    for (size_t i = 0; i < nin; ++i) float_in[i] = (float)in[i];
    for (size_t i = 0; i < ns; ++i) float_slopes[i] = (float)slopes[i];
    bool exact = isa == STI_ISA_f64;
    sti_slot slots[] = {{.p = exact ? (void *)in : (void *)float_in},         {.p = out},
                        {.p = exact ? (void *)slopes : (void *)float_slopes}, {.p = tables},
                        {.p = exact ? (void *)reals : (void *)float_reals},   {.i = s->padded}};
    sti_k_probe_pull.call[isa](slots, 0, s->padded / COLLIDE_BLOCK);
    free(slopes);
    free(float_in);
    free(float_slopes);
}

/* ---- checks */

/* Moves geom d / 9 by h in its direction d % 9: a place, a turn, a size. */
static void nudge(const collide_set *s, double *in, int d, double h)
{
    int g = d / 9, k = d % 9;
    for (int i = 0; i < s->n; ++i) {
        double v[3] = {0};
        v[k % 3] = h;
        if (k < 3) *row(s, in, 15 * g + k, i) += h;
        if (k >= 3 && k < 6) turn_geom(s, in, g, i, v);
        if (k >= 6) *row(s, in, 15 * g + 12 + k - 6, i) += h;
    }
}

typedef struct tally {
    int touch, kinks, unsure, compared, wrong, infinite;
    double worst;
} tally;

/* The slope of each case in a direction, and which have a kink there. */
static void difference(const collide_set *s, const double *found, const weights *w, int d, double *slope, bool *kink)
{
    static const double step[STEPS] = {1e-6, -1e-6, 2.5e-7, -2.5e-7};
    size_t nin = (size_t)PROBE_IN * (size_t)s->padded, nout = (size_t)PROBE_SLOTS * PROBE_OUT * (size_t)s->padded;
    double *in = zeros(nin, sizeof *in), *out = zeros(nout, sizeof *out);
    double *value[STEPS];
    for (int k = 0; k < STEPS; ++k) {
        value[k] = zeros((size_t)s->n, sizeof **value);
        memcpy(in, s->in, nin * sizeof *in);
        nudge(s, in, d, step[k]);
        run_found(s, in, out);
        for (int i = 0; i < s->n; ++i) {
            if (w[i].slot < 0) continue;
            kink[i] |= !same_slots(s, found, out, i);
            value[k][i] = weigh(s, in, out, &w[i], i);
        }
    }
    for (int i = 0; i < s->n; ++i) {
        if (w[i].slot < 0) continue;
        double here = weigh(s, s->in, found, &w[i], i);
        double wide = (value[0][i] - value[1][i]) / 2e-6, narrow = (value[2][i] - value[3][i]) / 5e-7;
        double bend = fabs(value[2][i] + value[3][i] - 2 * here) / 2.5e-7;
        slope[i] = wide;
        kink[i] |= !(fabs(wide - narrow) < 1e-3 * (1 + fabs(wide))) || !(bend < 1e-3 * (1 + fabs(wide)));
    }
    for (int k = 0; k < STEPS; ++k) free(value[k]);
    free(in);
    free(out);
}

static void check_slopes(const gradient_pair *pair, const collide_set *s, const double *found, const weights *w,
                         const double *pulled, bool *kink, tally *t)
{
    double *slope[DIRECTIONS];
    for (int d = 0; d < DIRECTIONS; ++d) {
        slope[d] = zeros((size_t)s->n, sizeof **slope);
        difference(s, found, w, d, slope[d], kink);
    }
    for (int i = 0; i < s->n; ++i) {
        if (w[i].slot < 0) continue;
        ++t->touch;
        bool sure = pulled[(ptrdiff_t)18 * s->padded + i] != 0;
        t->kinks += kink[i];
        t->unsure += !kink[i] && !sure;
        for (int d = 0; d < DIRECTIONS; ++d) t->infinite += !isfinite(pulled[(ptrdiff_t)d * s->padded + i]);
        if (kink[i] || !sure) continue;
        double off = 0;
        for (int d = 0; d < DIRECTIONS; ++d) {
            double got = pulled[(ptrdiff_t)d * s->padded + i];
            off = fmax(off, fabs(got - slope[d][i]) / (1 + fabs(slope[d][i])));
            if (isnan(got)) off = INFINITY;
        }
        ++t->compared;
        t->worst = fmax(t->worst, off);
        if (off < pair->tolerance) continue;
        if (t->wrong++ < 3) print_message("  case %d, slot %d: off by %g\n", i, w[i].slot, off);
    }
    for (int d = 0; d < DIRECTIONS; ++d) free(slope[d]);
}

/* The share of cases whose gradient in float is near that in double; and all widths have the same bits. */
static double check_float(const collide_set *s, const weights *w, const double *pulled, const bool *kink)
{
    size_t n = (size_t)PROBE_GRADS * (size_t)s->padded;
    float *first = zeros(n, sizeof *first), *out = zeros(n, sizeof *out);
    run_pull(s, s->in, w, STI_ISA_w1, first);
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa) {
        if (isa == STI_ISA_f64 || !sti_isa_available((sti_isa)isa)) continue;
        run_pull(s, s->in, w, isa, out);
        if (memcmp(first, out, n * sizeof *out) != 0) fail_msg("%s has other bits", sti_isa_name((sti_isa)isa));
    }
    int cases = 0, near = 0;
    for (int i = 0; i < s->n; ++i) {
        if (w[i].slot < 0 || kink[i] || pulled[(ptrdiff_t)18 * s->padded + i] == 0) continue;
        double off = 0;
        for (int d = 0; d < DIRECTIONS; ++d) {
            double want = pulled[(ptrdiff_t)d * s->padded + i], got = (double)first[(ptrdiff_t)d * s->padded + i];
            off = fmax(off, isnan(got) ? INFINITY : fabs(got - want) / (1 + fabs(want)));
        }
        ++cases;
        near += off < 1e-2;
    }
    free(first);
    free(out);
    return (double)near / fmax(1, cases);
}

static void check_pair(const gradient_pair *pair, random_state *r)
{
    collide_pair rig = {.name = pair->first, .first = pair->first, .second = pair->second, .most_margin = 0.1};
    collide_set s = collide_set_create(&rig, r, CASES);
    make_tables(s.model);
    if (pair->tilt > 0) align(&s, r, pair->tilt);
    double *found = zeros((size_t)PROBE_SLOTS * PROBE_OUT * (size_t)s.padded, sizeof *found);
    double *pulled = zeros((size_t)PROBE_GRADS * (size_t)s.padded, sizeof *pulled);
    weights *w = zeros((size_t)s.n, sizeof *w);
    bool *kink = zeros((size_t)s.n, sizeof *kink);
    run_found(&s, s.in, found);
    for (int i = 0; i < s.n; ++i) {
        w[i] = draw_weights(&s, found, r, i);
        if (s.kind[i] != COLLIDE_GENERIC) w[i].slot = -1;
    }
    run_pull(&s, s.in, w, STI_ISA_f64, pulled);
    tally t = {0};
    check_slopes(pair, &s, found, w, pulled, kink, &t);
    double near = check_float(&s, w, pulled, kink);
    print_message(
        "%s, %s, %g: %d touch, %d kinks, %d without a derivative, %d compared, %d wrong, most off by %.2g; in "
        "float %.1f %% within 1 %%\n",
        pair->first, pair->second, pair->tilt, t.touch, t.kinks, t.unsure, t.compared, t.wrong, t.worst, 100 * near);
    assert_true(t.compared > CASES / 16);
    assert_int_equal(t.wrong, 0);
    assert_int_equal(t.infinite, 0);
    assert_true(t.kinks <= 3 + pair->kinks * t.touch);
    assert_true(t.unsure <= 3 + 0.02 * t.touch);
    assert_true(near >= 0.9);
    free(found);
    free(pulled);
    free(w);
    free(kink);
    collide_set_destroy(&s);
}

/* A test a pair, so that a run's seed draws some of them (base/drawn.c). */
static void gradients_are_slopes(void **state)
{
    random_state r = start(__func__);
    check_pair(*state, &r);
}

int main(int argc, char **argv)
{
    static char names[PAIRS][64];
    struct CMUnitTest tests[PAIRS];
    for (int i = 0; i < PAIRS; ++i) {
        (void)snprintf(names[i], sizeof names[i], "gradients_are_slopes_%s_%s%s", pairs[i].first, pairs[i].second,
                       pairs[i].tilt > 0 ? "_aligned" : "");
        tests[i] = (struct CMUnitTest){
            .name = names[i], .test_func = gradients_are_slopes, .initial_state = (void *)&pairs[i]};
    }
    rays_seed(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
