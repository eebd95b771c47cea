/*
 * Compares a kernel's gradients with differences, element by element; see gradcheck.h.
 *
 * A difference equals the gradient only if the function is smooth from x - h to x + h. An element that disagrees is
 * compared again with smaller steps, which may leave out a kink near x. If the slopes on both sides of x still differ,
 * the kink or jump is at x, and the element counts as unfit. The slopes of a smooth function converge as the step
 * shrinks, so a wrong gradient stays wrong. A function that turns within the smallest of these steps, as a long loop
 * may make it, is compared with finer ones; if its slopes do not converge there, either, the element counts as unfit.
 */
#include "adjoint/gradcheck/gradcheck.h"

#include "base/error.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The first step is the most accurate: its square, and the rounding of a double divided by it, are both small. */
static const double steps[] = {1e-6, 1e-7, 1e-8};
/* Steps for functions that turn within the last of those; a slope of 1 would be lost in rounding there. */
static const double finer[] = {1e-9, 1e-10, 1e-11, 1e-12};
enum { NSTEP = sizeof steps / sizeof *steps, NFINER = sizeof finer / sizeof *finer };

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

/* Fills `found` of all subjects. */
static stet_result run_adjoint(sti_checking *c)
{
    stet_arg args[STI_GRADCHECK_MOST];
    stet_array *gradients[STI_GRADCHECK_MOST];
    STI_TRY(sti_subjects_write(c));
    for (int i = 0; i < c->n; ++i) {
        args[i] = sti_subject_arg(&c->s[i]);
        gradients[i] = c->s[i].active ? c->s[i].gradient : NULL;
    }
    STI_TRY(stet_adjoint_launch(c->adjoint, c->def->nworld, args, gradients, c->n));
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

/* True if L has a kink or jump at x. If L is smooth, the bend shrinks with the step, from `wide` to `narrow`. */
static bool is_kink(const sti_sides *wide, const sti_sides *narrow)
{
    double noise = rounding(narrow);
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

/* Sets an element to its original value + `by`. */
static void move(const sti_checking *c, sti_subject *s, int64_t k, double by)
{
    if (!s->array) s->number = c->start[0] + by;
    for (int64_t i = k, w = 0; s->array && i < s->count; i += next_world(c, s), ++w) s->base[i] = c->start[w] + by;
}

/* Computes L on both sides of x. */
static stet_result compute_sides(sti_checking *c, sti_subject *s, int64_t k, double step, sti_sides *sides)
{
    move(c, s, k, step);
    stet_result result = loss_of(c, c->loss);
    for (int w = 0; w < c->nloss; ++w)
        sides[w] = (sti_sides){.there = c->there[w], .after = c->loss[w], .step = step, .size = c->size[w]};
    move(c, s, k, -step);
    if (result == STET_OK) result = loss_of(c, c->loss);
    for (int w = 0; w < c->nloss; ++w) sides[w].before = c->loss[w];
    move(c, s, k, 0);
    return result;
}

/* True if two slopes, of a step and of a tenth of it, tell one derivative. */
static bool converged(double slope, double finer_slope) { return error_of(slope, finer_slope) < 0.01; }

/*
 * Compares element `k` of world `w`, whose slope has not converged yet, with finer steps: with the first slope that the
 * adjoint agrees with, otherwise with the first that converges.
 */
static stet_result compare_finer(sti_checking *c, sti_subject *s, int64_t k, int w, double last)
{
    int64_t at = k + w * s->stride;
    double settled = NAN;
    for (int i = 0; i < NFINER; ++i) {
        STI_TRY(compute_sides(c, s, k, finer[i], c->closer));
        double now = slope(&c->closer[w]);
        bool agrees = error_of(s->found[at], now) <= c->def->tolerance;
        if (isnan(settled) && converged(last, now)) settled = now;
        if (agrees) settled = now;
        if (agrees) break;
        last = now;
    }
    if (isnan(settled))
        leave_out(c, s, at, "the kernel jumps at it, or changes too fast for differences");
    else
        compare(c, s, at, settled);
    return STET_OK;
}

/* Compares element `k` of world `w`, which disagrees, with smaller steps. */
static stet_result compare_closer(sti_checking *c, sti_subject *s, int64_t k, int w)
{
    int64_t at = k + w * s->stride;
    const sti_sides *narrow = &c->closer[w];
    double last = slope(&c->sides[w]);
    bool settled = true;
    for (int i = 1; i < NSTEP; ++i) {
        STI_TRY(compute_sides(c, s, k, steps[i], c->closer));
        settled = converged(last, slope(narrow));
        last = slope(narrow);
        if (!finite_sides(narrow) || error_of(s->found[at], last) > c->def->tolerance) continue;
        compare(c, s, at, last);
        return STET_OK;
    }
    if (fabs(s->found[at] - slope(&c->sides[w])) <= rounding(&c->sides[w])) {
        c->out->rounded++;
        leave_out(c, s, at, "what the kernel writes is so large that the difference cannot be told from rounding");
    } else if (finite_sides(narrow) && isfinite(s->found[at]) && !settled)
        return compare_finer(c, s, k, w, last);
    else if (finite_sides(narrow) && is_kink(&c->sides[w], narrow))
        leave_out(c, s, at, "the kernel has a kink at it");
    else
        compare(c, s, at, slope(&c->sides[w]));
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
