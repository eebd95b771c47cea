/*
 * Compares a kernel's gradients with differences, element by element; see gradcheck.h.
 *
 * A difference equals the gradient only if the function is smooth from x - h to x + h. An element that disagrees is
 * compared again with smaller steps, which may leave out a kink near x, or follow a function that turns within a step.
 * If no step agrees, the gradient is wrong only if the slopes converge, as those of a smooth function do, and it
 * differs from them by more than their error. If the slopes on both sides of x still differ, the kink is at x. Where
 * slopes do not converge, as at a jump, or not closely enough, the element is undecided. All of these count as unfit.
 */
#include "adjoint/gradcheck/gradcheck.h"

#include "base/error.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/*
 * The first step is the most accurate for most functions: its square, and the rounding of a double divided by it, are
 * both small. The last ones are for functions with slopes of 1e6 and more.
 */
static const double steps[] = {1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12};
enum { NSTEP = sizeof steps / sizeof *steps };
/* The rounding error of L that a long program may have, in units of the size of L. */
static const double amplified_rounding = 1e-9;

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* A plain array that a world kernel writes belongs to no single world, so it has no part in the loss. */
static bool counts(const sti_checking *c, const sti_subject *s)
{
    return s->array && s->base && s->p.written && s->active && (s->p.worlds || c->items);
}

static stet_result loss_of(sti_checking *c, double *loss)
{
    stet_arg args[STI_GRADCHECK_MOST];
    STI_TRY(sti_subjects_write(c));
    for (int i = 0; i < c->n; ++i) args[i] = sti_subject_arg(&c->s[i]);
    STI_TRY(stet_kernel_launch(c->kernel, c->def->nworld, args, c->n));
    for (int w = 0; w < c->nloss; ++w) loss[w] = c->size[w] = 0;
    for (int i = 0; i < c->n; ++i) {
        const sti_subject *s = &c->s[i];
        if (!counts(c, s)) continue;
        STI_TRY(stet_array_read(s->array, c->room, (size_t)s->count * sizeof(double)));
        for (int64_t k = 0; k < s->count; ++k) {
            if (k % s->stride >= s->items) continue;
            int64_t w = c->items ? 0 : k / s->stride;
            loss[w] += s->weight[k] * c->room[k];
            c->size[w] += fabs(s->weight[k] * c->room[k]);
        }
    }
    return STET_OK;
}

/* What the kernel leaves, for an adjoint that reads it. */
static stet_result keep_results(sti_checking *c, const stet_arg *args)
{
    bool any = false;
    for (int i = 0; i < c->n; ++i) any |= c->s[i].after != NULL;
    if (!any) return STET_OK;
    STI_TRY(stet_kernel_launch(c->kernel, c->def->nworld, args, c->n));
    for (int i = 0; i < c->n; ++i)
        if (c->s[i].after) STI_TRY(stet_array_copy(c->s[i].after, c->s[i].array));
    return sti_subjects_write(c);
}

/* Fills `found` of all subjects. */
static stet_result run_adjoint(sti_checking *c)
{
    stet_arg args[STI_GRADCHECK_MOST];
    stet_array *gradients[STI_GRADCHECK_MOST], *results[STI_GRADCHECK_MOST];
    STI_TRY(sti_subjects_write(c));
    for (int i = 0; i < c->n; ++i) {
        args[i] = sti_subject_arg(&c->s[i]);
        gradients[i] = c->s[i].active ? c->s[i].gradient : NULL;
        results[i] = c->s[i].after;
    }
    STI_TRY(keep_results(c, args));
    STI_TRY(sti_adjoint_launch(c->adjoint, c->def->nworld, args, results, gradients, c->n));
    for (int i = 0; i < c->n; ++i) {
        sti_subject *s = &c->s[i];
        if (s->active) STI_TRY(stet_array_read(s->gradient, s->found, (size_t)s->ngradient * sizeof(double)));
    }
    return STET_OK;
}

/* ---- the result of an element ------------------------------------------------------------------------------------ */

/* The name of element `k` of a parameter's gradient. */
static const char *element(const sti_checking *c, const sti_subject *s, int64_t k, char text[120])
{
    if (s->ngradient == s->stride)
        (void)snprintf(text, 120, "%s: %s[%" PRId64 "]", c->name, s->p.name, k);
    else
        (void)snprintf(text, 120, "%s: %s[%" PRId64 "] of world %" PRId64, c->name, s->p.name, k % s->stride,
                       k / s->stride);
    return text;
}

static double error_of(double found, double wanted) { return fabs(found - wanted) / (1 + fabs(wanted)); }

static void compare(sti_checking *c, const sti_subject *s, int64_t k, double wanted)
{
    char text[120];
    double found = s->found[k], error = error_of(found, wanted);
    bool wrong = !(error <= c->def->tolerance);
    c->out->compared++;
    c->out->wrong += wrong;
    c->out->moving += fabs(wanted) > 1e-4;
    if (!(error > c->out->worst) && !(wrong && isfinite(c->out->worst) && !isfinite(error))) return;
    c->out->worst = error;
    (void)snprintf(c->out->where, sizeof c->out->where, "%s: %.9g by the adjoint, %.9g by differences",
                   element(c, s, k, text), found, wanted);
}

static void leave_out(sti_checking *c, const sti_subject *s, int64_t k, const char *why)
{
    char text[120];
    c->out->unfit++;
    if (c->out->compared == 0)
        (void)snprintf(c->out->where, sizeof c->out->where, "%s: %s", element(c, s, k, text), why);
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

static bool finite_sides(const sti_sides *d) { return isfinite(d->before) && isfinite(d->there) && isfinite(d->after); }

static double slope(const sti_sides *d) { return (d->after - d->before) / (2 * d->step); }

/* The difference of the slopes left and right of x. */
static double bend(const sti_sides *d) { return fabs(d->after - 2 * d->there + d->before) / d->step; }

/* The rounding error of a slope. It is proportional to the terms of L. */
static double rounding(const sti_sides *d) { return 8 * DBL_EPSILON * (1 + d->size) / d->step; }

/*
 * The derivative by steps i - 1 and i: Richardson's extrapolation, as the error of a slope falls with the square of its
 * step. Each step is a tenth of the last.
 */
static double derivative(const sti_sides *d, int i)
{
    return i == 0 ? slope(d) : slope(&d[i]) + (slope(&d[i]) - slope(&d[i - 1])) / 99;
}

/* The error of derivative i: the next one has less of truncation, or more of rounding. */
static double error_at(const sti_sides *d, int i)
{
    return 2 * fabs(derivative(d, i + 1) - derivative(d, i)) + rounding(&d[i]);
}

/* True if derivative i and all finer ones are one but for their rounding. */
static bool converged(const sti_sides *d, int i)
{
    double wanted = derivative(d, i);
    for (int j = i + 1; j < NSTEP; ++j) {
        double noise = amplified_rounding * (1 + d[j].size) / d[j].step;
        if (!(fabs(derivative(d, j) - wanted) <= 0.01 * (1 + fabs(wanted)) + noise)) return false;
    }
    return true;
}

/*
 * The derivative with the smallest error, from the first on that has converged: smaller steps have less truncation and
 * more rounding. -1: none has converged.
 */
static int best_derivative(const sti_sides *d)
{
    int i = 0;
    while (i < NSTEP - 2 && !converged(d, i)) ++i;
    if (i == NSTEP - 2) return -1;
    while (i < NSTEP - 2 && error_at(d, i + 1) < error_at(d, i)) ++i;
    return i;
}

/* True if L has a kink at x. If L is smooth, the bend shrinks with the step. */
static bool is_kink(const sti_sides *wide, const sti_sides *narrow)
{
    double noise = rounding(narrow) + 10 * fabs(slope(narrow) - slope(wide));
    return bend(narrow) > 1e-4 * (1 + fabs(slope(narrow))) + noise && bend(narrow) > 0.3 * bend(wide);
}

/*
 * An item is changed in all worlds at once, because worlds are independent. In an item kernel one element is changed.
 */
static int64_t next_world(const sti_checking *c, const sti_subject *s) { return c->items ? s->count : s->stride; }

static void keep_start(sti_checking *c, const sti_subject *s, int64_t k)
{
    c->start[0] = s->number;
    for (int64_t i = k, w = 0; s->array && i < s->count; i += next_world(c, s), ++w) c->start[w] = s->base[i];
}

/* The original value of the element that is changed in world `w`. */
static double start_of(const sti_checking *c, const sti_subject *s, int w)
{
    return c->start[s->array && s->p.worlds && !c->items ? w : 0];
}

/* Sets an element to its original value + `by`. */
static void move(const sti_checking *c, sti_subject *s, int64_t k, double by)
{
    if (!s->array) s->number = c->start[0] + by;
    for (int64_t i = k, w = 0; s->array && i < s->count; i += next_world(c, s), ++w) s->base[i] = c->start[w] + by;
}

/* Computes L on both sides of x. The steps are those that are left when x - step and x + step are rounded. */
static stet_result compute_sides(sti_checking *c, sti_subject *s, int64_t k, double step, sti_sides *sides)
{
    move(c, s, k, step);
    stet_result result = loss_of(c, c->loss);
    for (int w = 0; w < c->nloss; ++w) {
        double start = start_of(c, s, w), left = ((start + step) - (start - step)) / 2;
        sides[w] = (sti_sides){.there = c->there[w], .after = c->loss[w], .step = left, .size = c->size[w]};
    }
    move(c, s, k, -step);
    if (result == STET_OK) result = loss_of(c, c->loss);
    for (int w = 0; w < c->nloss; ++w) sides[w].before = c->loss[w];
    move(c, s, k, 0);
    return result;
}

/* The first derivative that `found` agrees with, of those with a small error; -1: none. */
static int find_agreeing(const sti_checking *c, double found, const sti_sides *d)
{
    for (int i = 1; i < NSTEP - 1; ++i) {
        double wanted = derivative(d, i), tolerance = c->def->tolerance;
        if (error_of(found, wanted) <= tolerance && error_at(d, i) <= 10 * tolerance * (1 + fabs(wanted))) return i;
    }
    return -1;
}

/* Element `at` disagrees with the first slope of `d`. */
static void decide(sti_checking *c, const sti_subject *s, int64_t at, const sti_sides *d)
{
    double found = s->found[at];
    int agreeing = find_agreeing(c, found, d), best = best_derivative(d);
    if (agreeing >= 0) {
        compare(c, s, at, derivative(d, agreeing));
    } else if (fabs(found - slope(d)) <= rounding(d)) {
        c->out->rounded++;
        leave_out(c, s, at, "what the kernel writes is so large that the difference cannot be told from rounding");
    } else if (best >= 0 && is_kink(&d[best], &d[best + 1])) {
        leave_out(c, s, at, "the kernel has a kink at it");
    } else if (best < 0 || fabs(found - derivative(d, best)) <= error_at(d, best)) {
        c->out->undecided++;
        leave_out(c, s, at, "differences do not converge at it: the kernel jumps, changes too fast or rounds too much");
    } else
        compare(c, s, at, derivative(d, best));
}

/* Compares element `k` of world `w`, which disagrees, with smaller steps. */
static stet_result compare_closer(sti_checking *c, sti_subject *s, int64_t k, int w)
{
    sti_sides d[NSTEP] = {c->sides[w]};
    for (int i = 1; i < NSTEP; ++i) {
        STI_TRY(compute_sides(c, s, k, steps[i], c->closer));
        d[i] = c->closer[w];
    }
    decide(c, s, k + w * s->stride, d);
    return STET_OK;
}

static stet_result check_element(sti_checking *c, sti_subject *s, int64_t k, int w)
{
    int64_t at = k + w * s->stride;
    const sti_sides *d = &c->sides[w];
    if (!finite_sides(d)) {
        leave_out(c, s, at, "the kernel computes a value that is not finite at it or next to it");
        return STET_OK;
    }
    if (isfinite(s->found[at]) && error_of(s->found[at], slope(d)) > c->def->tolerance)
        return compare_closer(c, s, k, w);
    compare(c, s, at, slope(d));
    return STET_OK;
}

static stet_result check_item(sti_checking *c, sti_subject *s, int64_t k)
{
    keep_start(c, s, k);
    STI_TRY(compute_sides(c, s, k, steps[0], c->sides));
    for (int w = 0; w < c->nloss; ++w) STI_TRY(check_element(c, s, k, w));
    return STET_OK;
}

stet_result sti_gradcheck_compare(sti_checking *c)
{
    STI_TRY(loss_of(c, c->there)); /* first, because only the kernel runs in checked mode */
    STI_TRY(sti_subjects_check_guards(c));
    STI_TRY(run_adjoint(c));
    STI_TRY(sti_subjects_check_guards(c));
    for (int i = 0; i < c->n; ++i) {
        int64_t n = c->items ? c->s[i].ngradient : c->s[i].items;
        for (int64_t k = 0; c->s[i].active && k < n; ++k)
            if (k % c->s[i].stride < c->s[i].items) STI_TRY(check_item(c, &c->s[i], k));
    }
    return STET_OK;
}
