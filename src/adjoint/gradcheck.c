/* Checking gradients by differences; see gradcheck.h. */
#include "adjoint/gradcheck.h"

#include "adjoint/adjoint.h"
#include "base/error.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define GRADCHECK_COOKIE 0x67726164u

stet_gradcheck_def stet_default_gradcheck_def(void)
{
    return (stet_gradcheck_def){.cookie = GRADCHECK_COOKIE,
                                .number = 3,
                                .items = 32,
                                .worlds = 2,
                                .low = 0.1,
                                .high = 0.9,
                                .tolerance = 1e-5,
                                .seed = 1};
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

/* Of a kernel of worlds that writes plain arrays nobody knows which world's these are: they have no weight. */
static bool counts(const sti_checking *c, const sti_subject *s)
{
    return s->array && s->base && s->p.written && s->varied && (s->p.worlds || c->items);
}

static stet_result loss_of(sti_checking *c, double *loss)
{
    stet_arg args[STI_GRADCHECK_MOST];
    STI_TRY(sti_subjects_write(c));
    for (int i = 0; i < c->n; ++i) args[i] = sti_subject_arg(&c->s[i]);
    STI_TRY(stet_kernel_launch(c->kernel, c->def->worlds, args, c->n));
    for (int w = 0; w < c->nloss; ++w) loss[w] = 0;
    for (int i = 0; i < c->n; ++i) {
        const sti_subject *s = &c->s[i];
        if (!counts(c, s)) continue;
        STI_TRY(stet_array_read(s->array, c->room, (size_t)s->count * sizeof(double)));
        for (int64_t k = 0; k < s->count; ++k)
            if (k % s->stride < s->items) loss[c->items ? 0 : k / s->stride] += s->weight[k] * c->room[k];
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
        gradients[i] = c->s[i].varied ? c->s[i].gradient : NULL;
    }
    STI_TRY(stet_adjoint_launch(c->adjoint, c->def->worlds, args, gradients, c->n));
    for (int i = 0; i < c->n; ++i) {
        sti_subject *s = &c->s[i];
        if (s->varied) STI_TRY(stet_array_read(s->gradient, s->found, (size_t)s->ngradient * sizeof(double)));
    }
    return STET_OK;
}

/* ---- comparing ---------------------------------------------------------------------------------------------------- */

/* Which element `k` of a parameter's gradient is. */
static const char *element(const sti_checking *c, const sti_subject *s, int64_t k, char text[120])
{
    if (s->ngradient == s->stride)
        (void)snprintf(text, 120, "%s: %s[%" PRId64 "]", c->name, s->p.name, k);
    else
        (void)snprintf(text, 120, "%s: %s[%" PRId64 "] of world %" PRId64, c->name, s->p.name, k % s->stride,
                       k / s->stride);
    return text;
}

static void compare(sti_checking *c, const sti_subject *s, int64_t k, double wanted)
{
    char text[120];
    double found = s->found[k], error = fabs(found - wanted) / (1 + fabs(wanted));
    bool wrong = !(error <= c->def->tolerance);
    c->out->compared++;
    c->out->wrong += wrong;
    c->out->moving += fabs(wanted) > 1e-4;
    if (!(error > c->out->worst) && !(wrong && isfinite(c->out->worst) && !isfinite(error))) return;
    c->out->worst = error;
    (void)snprintf(c->out->where, sizeof c->out->where, "%s: %.9g by the adjoint, %.9g by differences",
                   element(c, s, k, text), found, wanted);
}

static void check_element(sti_checking *c, const sti_subject *s, int64_t k, int w, double h)
{
    double there = c->loss[0][w], after = c->loss[1][w], before = c->loss[2][w];
    char text[120];
    if (isfinite(there) && isfinite(after) && isfinite(before)) {
        compare(c, s, k, (after - before) / (2 * h));
        return;
    }
    c->out->unfit++;
    if (c->out->compared == 0)
        (void)snprintf(c->out->where, sizeof c->out->where,
                       "%s: what the kernel computes at it or beside it is not finite", element(c, s, k, text));
}

/* One item in all worlds at once, since worlds do not see each other; of an item kernel one element. */
static void move(sti_checking *c, sti_subject *s, int64_t k, double by)
{
    if (!s->array) s->number += by;
    for (int64_t i = k; s->array && i < s->count; i += c->items ? s->count : s->stride) s->base[i] += by;
}

static stet_result check_item(sti_checking *c, sti_subject *s, int64_t k)
{
    const double h = 1e-6;
    move(c, s, k, h);
    stet_result result = loss_of(c, c->loss[1]);
    move(c, s, k, -2 * h);
    if (result == STET_OK) result = loss_of(c, c->loss[2]);
    move(c, s, k, h);
    for (int w = 0; result == STET_OK && w < c->nloss; ++w) check_element(c, s, k + w * s->stride, w, h);
    return result;
}

static stet_result check_all(sti_checking *c)
{
    STI_TRY(run_adjoint(c));
    STI_TRY(sti_subjects_look_behind(c));
    STI_TRY(loss_of(c, c->loss[0]));
    STI_TRY(sti_subjects_look_behind(c));
    for (int i = 0; i < c->n; ++i) {
        int64_t n = c->items ? c->s[i].ngradient : c->s[i].items;
        for (int64_t k = 0; c->s[i].varied && k < n; ++k)
            if (k % c->s[i].stride < c->s[i].items) STI_TRY(check_item(c, &c->s[i], k));
    }
    return STET_OK;
}

/* ---- one kernel --------------------------------------------------------------------------------------------------- */

static stet_result open_kernel(sti_checking *c, const sti_adjoint_kernel *k)
{
    const char *own[STI_GRADCHECK_MOST];
    stet_kernel_def def = stet_default_kernel_def();
    def.source = c->def->source;
    def.path = c->def->path;
    def.name = k->name;
    def.includes = c->def->includes;
    def.ninclude = c->def->ninclude;
    def.cache_folder = c->def->cache_folder;
    def.constant = own;
    for (int i = 0; i < c->def->nconstant && def.nconstant < STI_GRADCHECK_MOST; ++i)
        if (sti_adjoint_takes(k, c->def->constant[i])) own[def.nconstant++] = c->def->constant[i];
    STI_TRY(stet_kernel_create(c->device, &def, &c->kernel));
    return stet_kernel_adjoint(c->kernel, &c->adjoint);
}

static stet_result prepare(sti_checking *c, const sti_adjoint_kernel *k)
{
    c->name = k->name;
    c->items = k->items;
    c->nloss = k->items ? 1 : c->def->worlds;
    STI_TRY(open_kernel(c, k));
    c->most = 1;
    if (stet_kernel_nparam(c->kernel) > STI_GRADCHECK_MOST)
        return sti_error(STET_LIMIT, "kernel %s has more than %d parameters: its gradients are not checked", k->name,
                         STI_GRADCHECK_MOST);
    c->n = stet_kernel_nparam(c->kernel);
    for (int i = 0; i < c->n; ++i) STI_TRY(sti_subject_open(c, i));
    for (int i = 0; i < 3; ++i) STI_TRY(sti_alloc(&c->loss[i], (size_t)c->nloss * sizeof(double), "sums of a check"));
    return sti_alloc(&c->room, (size_t)c->most * sizeof(double), "outputs of a check");
}

static void close_kernel(sti_checking *c)
{
    for (int i = 0; i < c->n; ++i) sti_subject_close(&c->s[i]);
    for (int i = 0; i < 3; ++i) sti_free(c->loss[i]);
    sti_free(c->room);
    stet_kernel_destroy(c->kernel);
    sti_free(c);
}

static stet_result check_kernel(const stet_gradcheck_def *def, stet_device *device, const sti_adjoint_kernel *k,
                                stet_gradcheck_result *out)
{
    sti_checking *c;
    STI_TRY(sti_alloc(&c, sizeof *c, "a check of gradients"));
    c->def = def;
    c->out = out;
    c->device = device;
    c->random = def->seed;
    stet_result result = prepare(c, k);
    if (result == STET_OK) result = check_all(c);
    close_kernel(c);
    return result;
}

/* ---- a source ----------------------------------------------------------------------------------------------------- */

static stet_result open_device(stet_device **out)
{
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_CPU;
    def.isa = "f64";
    def.threads = 1;
    return stet_device_create(&def, out);
}

/* The kernels of the source, all of them with their adjoints, so that each mistake is told of. */
static stet_result list_kernels(const stet_gradcheck_def *def, sti_unit **unit, sti_adjoint *out)
{
    sti_check_options check = sti_default_check_options();
    const sti_adjoint_options options = {.constant = def->constant, .nconstant = def->nconstant, .kernel = def->kernel};
    const char *name = def->path ? def->path : "kernel";
    check.folder = def->includes;
    check.nfolder = def->ninclude;
    check.real_double = true;
    check.lanes = 1;
    if (def->source)
        STI_TRY(sti_check_source(def->source, name, &check, unit));
    else
        STI_TRY(sti_check_file(name, name, &check, unit));
    return sti_adjoint_make(*unit, &options, out);
}

static stet_result check_kernels(const stet_gradcheck_def *def, const sti_adjoint *adjoint, stet_gradcheck_result *out)
{
    stet_device *device;
    if (!adjoint->kernel)
        return sti_error(STET_NOT_FOUND, "%s: has no kernel %s", def->path ? def->path : "kernel",
                         def->kernel ? def->kernel : "at all");
    STI_TRY(open_device(&device));
    stet_result result = STET_OK;
    for (const sti_adjoint_kernel *k = adjoint->kernel; k && result == STET_OK; k = k->next)
        result = check_kernel(def, device, k, out);
    stet_device_destroy(device);
    return result;
}

static stet_result check_def(const stet_gradcheck_def *def, const stet_gradcheck_result *out)
{
    if (!def || !out) return sti_error(STET_INVALID_ARGUMENT, "stet_gradcheck: def and out must not be NULL");
    if (def->cookie != GRADCHECK_COOKIE)
        return sti_error(STET_INVALID_ARGUMENT, "stet_gradcheck: start from stet_default_gradcheck_def()");
    if (!def->source && !def->path)
        return sti_error(STET_INVALID_ARGUMENT, "stet_gradcheck: neither a source nor a path is given");
    if (def->worlds < 1 || def->items < 1)
        return sti_error(STET_INVALID_ARGUMENT,
                         "stet_gradcheck: over %d worlds of arrays of %" PRId64 " items; give at least 1", def->worlds,
                         def->items);
    return STET_OK;
}

stet_result stet_gradcheck(const stet_gradcheck_def *def, stet_gradcheck_result *out)
{
    sti_unit *unit = NULL;
    sti_adjoint adjoint = {0};
    STI_TRY(check_def(def, out));
    *out = (stet_gradcheck_result){0};
    stet_result result = list_kernels(def, &unit, &adjoint);
    if (result == STET_OK) result = check_kernels(def, &adjoint, out);
    sti_adjoint_free(&adjoint);
    sti_unit_destroy(unit);
    return result;
}
