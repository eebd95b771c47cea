/* Checking gradients by differences; see gradcheck.h. */
#include "adjoint/gradcheck.h"

#include "adjoint/launch.h"
#include "base/error.h"
#include "base/memory.h"
#include "device/device.h"
#include "kernel/user.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 48 };

/* A parameter of the kernel with all that belongs to it. Values are [world][item] of doubles. */
typedef struct subject {
    stet_kernel_param p;
    stet_array *array, *gradient;
    int64_t items, count; /* of a world; of all */
    double *base, *weight,
        *found;    /* values before; of a written array its weights; the adjoint's gradient, a world's share each */
    double number; /* of a real number */
    int64_t whole;
    bool varied;
} subject;

typedef struct checking {
    const sti_gradcheck_def *def;
    sti_gradcheck_result *out;
    stet_device *device;
    stet_kernel *kernel, *adjoint;
    const sti_adjoint_kernel *k;
    subject s[MOST];
    int n;
    uint64_t random;
    double *loss[2]; /* of each world, on both sides */
    double *room;    /* for an array's content */
    int64_t most;
} checking;

sti_gradcheck_def sti_default_gradcheck_def(void)
{
    return (sti_gradcheck_def){
        .number = 3, .items = 32, .worlds = 2, .low = 0.1, .high = 0.9, .tolerance = 1e-5, .seed = 1};
}

/* ---- inputs ------------------------------------------------------------------------------------------------------- */

/* SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014). */
static double random_between(checking *c, double low, double high)
{
    uint64_t z = (c->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return low + (high - low) * ((double)(z >> 11) * 0x1p-53);
}

static const sti_gradcheck_value *value_of(const checking *c, const char *name)
{
    for (int i = 0; i < c->def->nvalue; ++i)
        if (strcmp(c->def->value[i].name, name) == 0) return &c->def->value[i];
    return NULL;
}

static double random_real(checking *c, const sti_gradcheck_value *v)
{
    bool own = v && v->low < v->high;
    return own ? random_between(c, v->low, v->high) : random_between(c, c->def->low, c->def->high);
}

static bool is_real(const subject *s)
{
    return strcmp(s->p.type, "real") == 0 || strcmp(s->p.type, "ureal") == 0 || strcmp(s->p.type, "wreal") == 0;
}

static stet_dtype dtype_of(const char *type)
{
    if (strcmp(type, "lint") == 0 || strcmp(type, "wint") == 0 || strcmp(type, "int") == 0) return STET_INT;
    if (strcmp(type, "i64") == 0) return STET_I64;
    if (strcmp(type, "u32") == 0) return STET_U32;
    if (strcmp(type, "u16") == 0) return STET_U16;
    return strcmp(type, "u8") == 0 ? STET_U8 : STET_REAL;
}

static stet_result write_whole(checking *c, subject *s, const sti_gradcheck_value *v)
{
    size_t size = stet_array_bytes(s->array), each = s->count > 0 ? size / (size_t)s->count : 1;
    char *bytes;
    STI_TRY(sti_alloc(&bytes, size + 1, "whole numbers for a check"));
    int64_t modulus = c->def->number > 0 ? c->def->number : 1;
    for (int64_t i = 0; i < s->count; ++i) {
        int64_t item = i % s->items, value = v && v->value ? v->value[item] : item % modulus;
        memcpy(bytes + (size_t)i * each, &value, each); /* the low bytes come first */
    }
    stet_result result = stet_array_write(s->array, bytes, size);
    sti_free(bytes);
    return result;
}

static stet_result new_array(checking *c, const char *name, stet_dtype type, bool worlds, int64_t items,
                             stet_array **out)
{
    if (worlds) return STI_ARRAY(c->device, name, type, true, out, c->def->worlds, items);
    return STI_ARRAY(c->device, name, type, false, out, items);
}

static stet_result fill_reals(checking *c, subject *s, const sti_gradcheck_value *v)
{
    int64_t shares = s->items * c->def->worlds;
    STI_TRY(sti_alloc(&s->base, (size_t)s->count * sizeof(double) + 1, "inputs of a check"));
    STI_TRY(sti_alloc(&s->weight, (size_t)shares * sizeof(double) + 1, "weights of a check"));
    STI_TRY(sti_alloc(&s->found, (size_t)shares * sizeof(double) + 1, "gradients of a check"));
    for (int64_t i = 0; i < s->count; ++i) s->base[i] = random_real(c, v);
    for (int64_t i = 0; i < shares; ++i) s->weight[i] = s->p.written ? random_between(c, -1, 1) : 0;
    if (shares > c->most) c->most = shares;
    return new_array(c, "gradient", STET_REAL, true, s->items, &s->gradient);
}

static stet_result open_subject(checking *c, int i)
{
    subject *s = &c->s[i];
    STI_TRY(stet_kernel_get_param(c->kernel, i, &s->p));
    const sti_gradcheck_value *v = value_of(c, s->p.name);
    s->items = s->p.kind == STET_ARG_ARRAY ? (v && v->items > 0 ? v->items : c->def->items) : 1;
    s->count = s->p.worlds ? s->items * c->def->worlds : s->items;
    if (s->p.kind == STET_ARG_INT) {
        s->whole = v ? v->number : c->def->number;
        return STET_OK;
    }
    s->number = random_real(c, v);
    s->varied = is_real(s);
    for (int k = 0; k < c->def->nconstant; ++k) s->varied &= strcmp(c->def->constant[k], s->p.name) != 0;
    if (s->p.kind == STET_ARG_ARRAY)
        STI_TRY(new_array(c, s->p.name, dtype_of(s->p.type), s->p.worlds, s->items, &s->array));
    return is_real(s) ? fill_reals(c, s, v) : write_whole(c, s, v);
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

static stet_arg argument_of(const subject *s)
{
    return s->p.kind == STET_ARG_ARRAY ? stet_arg_array(s->array)
           : s->p.kind == STET_ARG_INT ? stet_arg_int(s->whole)
                                       : stet_arg_real(s->number);
}

static stet_result put_base(checking *c)
{
    for (int i = 0; i < c->n; ++i) {
        subject *s = &c->s[i];
        if (s->array && s->base) STI_TRY(stet_array_write(s->array, s->base, (size_t)s->count * sizeof(double)));
    }
    return STET_OK;
}

static stet_result loss_of(checking *c, double *loss)
{
    stet_arg args[MOST];
    STI_TRY(put_base(c));
    for (int i = 0; i < c->n; ++i) args[i] = argument_of(&c->s[i]);
    STI_TRY(stet_kernel_launch(c->kernel, c->def->worlds, args, c->n));
    for (int w = 0; w < c->def->worlds; ++w) loss[w] = 0;
    for (int i = 0; i < c->n; ++i) {
        const subject *s = &c->s[i];
        if (!s->array || !s->base || !s->p.written || !s->p.worlds) continue;
        STI_TRY(stet_array_read(s->array, c->room, (size_t)s->count * sizeof(double)));
        for (int64_t k = 0; k < s->count; ++k)
            if (s->varied) loss[k / s->items] += s->weight[k] * c->room[k];
    }
    return STET_OK;
}

/* Fills `found` of all subjects. */
static stet_result run_adjoint(checking *c)
{
    sti_adjoint_arg args[MOST];
    STI_TRY(put_base(c));
    for (int i = 0; i < c->n; ++i) {
        subject *s = &c->s[i];
        args[i] = (sti_adjoint_arg){s->p.name, argument_of(s), s->varied ? s->gradient : NULL};
        if (!s->gradient) continue;
        STI_TRY(stet_array_write(s->gradient, s->weight, (size_t)(s->items * c->def->worlds) * sizeof(double)));
    }
    STI_TRY(sti_adjoint_launch(c->adjoint, c->k, c->def->worlds, args, c->n));
    for (int i = 0; i < c->n; ++i) {
        subject *s = &c->s[i];
        if (s->gradient)
            STI_TRY(stet_array_read(s->gradient, s->found, (size_t)(s->items * c->def->worlds) * sizeof(double)));
    }
    return STET_OK;
}

/* ---- comparing ---------------------------------------------------------------------------------------------------- */

static void compare(checking *c, const subject *s, int64_t item, int world, double found, double wanted)
{
    double error = fabs(found - wanted) / (1 + fabs(wanted));
    bool wrong = !(error <= c->def->tolerance);
    c->out->compared++;
    c->out->wrong += wrong;
    c->out->moving += fabs(wanted) > 1e-4;
    if (!(error > c->out->worst) && !(wrong && isfinite(c->out->worst) && !isfinite(error))) return;
    c->out->worst = error;
    (void)snprintf(c->out->where, sizeof c->out->where,
                   "%s: %s[%" PRId64 "] of world %d: %.9g by the adjoint, %.9g by differences", c->k->name, s->p.name,
                   item, world, found, wanted);
}

/* One item of an array, or a number, moved in all worlds at once: worlds do not see each other. */
static void move(subject *s, int64_t item, double by)
{
    if (!s->array) s->number += by;
    for (int64_t k = item; s->array && k < s->count; k += s->items) s->base[k] += by;
}

static stet_result check_item(checking *c, subject *s, int64_t item)
{
    const double h = 1e-6;
    move(s, item, h);
    stet_result result = loss_of(c, c->loss[0]);
    move(s, item, -2 * h);
    if (result == STET_OK) result = loss_of(c, c->loss[1]);
    move(s, item, h);
    for (int w = 0; result == STET_OK && w < c->def->worlds; ++w)
        compare(c, s, item, w, s->found[w * s->items + item], (c->loss[0][w] - c->loss[1][w]) / (2 * h));
    return result;
}

static stet_result check_all(checking *c)
{
    STI_TRY(run_adjoint(c));
    for (int i = 0; i < c->n; ++i)
        for (int64_t k = 0; c->s[i].varied && k < c->s[i].items; ++k) STI_TRY(check_item(c, &c->s[i], k));
    return STET_OK;
}

/* ---- one kernel --------------------------------------------------------------------------------------------------- */

static stet_result open_kernel(checking *c, const char *source, const char *name, stet_kernel **out)
{
    stet_kernel_def def = stet_default_kernel_def();
    def.source = source;
    def.path = c->def->path ? c->def->path : "kernel";
    def.name = name;
    def.cache_folder = c->def->cache_folder;
    return stet_kernel_create(c->device, &def, out);
}

static void close_kernel(checking *c)
{
    for (int i = 0; i < c->n; ++i) {
        subject *s = &c->s[i];
        stet_array_destroy(s->array);
        stet_array_destroy(s->gradient);
        sti_free(s->base);
        sti_free(s->weight);
        sti_free(s->found);
    }
    for (int k = 0; k < 2; ++k) sti_free(c->loss[k]);
    sti_free(c->room);
    stet_kernel_destroy(c->kernel);
    stet_kernel_destroy(c->adjoint);
}

static stet_result prepare(checking *c, const char *source)
{
    char name[2 * STI_MAX_NAME];
    (void)snprintf(name, sizeof name, "%s_adj", c->k->name);
    STI_TRY(open_kernel(c, source, c->k->name, &c->kernel));
    STI_TRY(open_kernel(c, source, name, &c->adjoint));
    c->most = 1;
    c->n = stet_kernel_nparam(c->kernel);
    for (int i = 0; i < c->n; ++i) STI_TRY(open_subject(c, i));
    for (int k = 0; k < 2; ++k)
        STI_TRY(sti_alloc(&c->loss[k], (size_t)c->def->worlds * sizeof(double), "sums of a check"));
    return sti_alloc(&c->room, (size_t)c->most * sizeof(double), "outputs of a check");
}

static stet_result check_kernel(const sti_gradcheck_def *def, stet_device *device, const char *source,
                                const sti_adjoint_kernel *k, sti_gradcheck_result *out)
{
    checking *c;
    STI_TRY(sti_alloc(&c, sizeof *c, "a check of gradients"));
    c->def = def;
    c->out = out;
    c->device = device;
    c->k = k;
    c->random = def->seed;
    stet_result result = prepare(c, source);
    if (result == STET_OK) result = check_all(c);
    close_kernel(c);
    sti_free(c);
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

static stet_result make_adjoint(const sti_gradcheck_def *def, sti_unit **unit, sti_adjoint *out)
{
    sti_check_options check = sti_default_check_options();
    const sti_adjoint_options options = {.constant = def->constant, .nconstant = def->nconstant};
    const char *name = def->path ? def->path : "kernel";
    check.folder = def->folder;
    check.nfolder = def->nfolder;
    check.real_double = true;
    check.lanes = 1;
    if (def->source)
        STI_TRY(sti_check_source(def->source, name, &check, unit));
    else
        STI_TRY(sti_check_file(name, name, &check, unit));
    return sti_adjoint_make(*unit, &options, out);
}

static stet_result check_kernels(const sti_gradcheck_def *def, const sti_adjoint *adjoint, sti_gradcheck_result *out)
{
    stet_device *device;
    bool found = false;
    STI_TRY(open_device(&device));
    stet_result result = STET_OK;
    for (const sti_adjoint_kernel *k = adjoint->kernel; k && result == STET_OK; k = k->next) {
        if (def->kernel && strcmp(def->kernel, k->name) != 0) continue;
        found = true;
        result = check_kernel(def, device, adjoint->text.data, k, out);
    }
    stet_device_destroy(device);
    if (result == STET_OK && !found)
        result = sti_error(STET_NOT_FOUND, "%s: has no kernel %s", def->path ? def->path : "kernel",
                           def->kernel ? def->kernel : "at all");
    return result;
}

stet_result sti_gradcheck(const sti_gradcheck_def *def, sti_gradcheck_result *out)
{
    sti_unit *unit = NULL;
    sti_adjoint adjoint = {0};
    *out = (sti_gradcheck_result){0};
    if (def->worlds < 1 || def->items < 1)
        return sti_error(STET_INVALID_ARGUMENT,
                         "gradcheck: over %d worlds of arrays of %" PRId64 " items; give at least 1", def->worlds,
                         def->items);
    stet_result result = make_adjoint(def, &unit, &adjoint);
    if (result == STET_OK) result = check_kernels(def, &adjoint, out);
    sti_adjoint_free(&adjoint);
    sti_unit_destroy(unit);
    return result;
}
