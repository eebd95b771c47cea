/* Random inputs of a check of gradients; see gradcheck.h. */
#include "adjoint/gradcheck/gradcheck.h"

#include "base/memory.h"
#include "device/device.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const double guard = 0x1.23456789abcdep+9; /* content of guard items in a gradient */

/* SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014). */
static double random_between(sti_checking *c, double low, double high)
{
    uint64_t z = (c->random += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return low + (high - low) * ((double)(z >> 11) * 0x1p-53);
}

static const stet_gradcheck_value *value_of(const sti_checking *c, const char *name)
{
    for (int i = 0; i < c->def->nvalue; ++i)
        if (strcmp(c->def->value[i].name, name) == 0) return &c->def->value[i];
    return NULL;
}

static double random_real(sti_checking *c, const stet_gradcheck_value *v)
{
    bool own = v && v->low < v->high;
    return own ? random_between(c, v->low, v->high) : random_between(c, c->def->low, c->def->high);
}

static bool is_real(const sti_subject *s)
{
    return strcmp(s->p.type, "real") == 0 || strcmp(s->p.type, "ureal") == 0 || strcmp(s->p.type, "wreal") == 0;
}

static stet_dtype dtype_of(const char *type)
{
    if (strcmp(type, "lint") == 0 || strcmp(type, "wint") == 0 || strcmp(type, "int") == 0) return STET_DTYPE_INT;
    if (strcmp(type, "i64") == 0) return STET_DTYPE_I64;
    if (strcmp(type, "u32") == 0) return STET_DTYPE_U32;
    if (strcmp(type, "u16") == 0) return STET_DTYPE_U16;
    return strcmp(type, "u8") == 0 ? STET_DTYPE_U8 : STET_DTYPE_REAL;
}

static stet_result write_whole(sti_checking *c, sti_subject *s, const stet_gradcheck_value *v)
{
    size_t size = stet_array_get_bytes(s->array), each = s->count > 0 ? size / (size_t)s->count : 1;
    STI_TRY(sti_alloc(&s->bytes, size + 1, "whole numbers for a check"));
    int64_t modulus = c->def->number > 0 ? c->def->number : 1;
    for (int64_t i = 0; i < s->count; ++i) {
        int64_t item = i % s->stride, value = 0;
        if (item < s->items) value = v && v->value ? v->value[item] : item % modulus;
        memcpy(s->bytes + (size_t)i * each, &value, each); /* little endian */
    }
    return stet_array_write(s->array, s->bytes, size);
}

static stet_result new_array(sti_checking *c, const char *name, stet_dtype type, bool worlds, int64_t items,
                             stet_array **out)
{
    if (worlds) return STI_ARRAY(c->device, name, type, true, out, c->def->nworld, items);
    return STI_ARRAY(c->device, name, type, false, out, items);
}

static stet_result fill_reals(sti_checking *c, sti_subject *s, const stet_gradcheck_value *v)
{
    bool worlds = c->items ? s->p.worlds : true;
    s->ngradient = worlds ? s->stride * c->def->nworld : s->stride;
    STI_TRY(sti_alloc(&s->base, (size_t)s->count * sizeof(double) + 1, "inputs of a check"));
    STI_TRY(sti_alloc(&s->weight, (size_t)s->ngradient * sizeof(double) + 1, "weights of a check"));
    STI_TRY(sti_alloc(&s->found, (size_t)s->ngradient * sizeof(double) + 1, "gradients of a check"));
    for (int64_t i = 0; i < s->count; ++i) s->base[i] = i % s->stride < s->items ? random_real(c, v) : (double)NAN;
    for (int64_t i = 0; i < s->ngradient; ++i)
        s->weight[i] = i % s->stride >= s->items ? guard : s->p.written ? random_between(c, -1, 1) : 0;
    if (s->ngradient > c->most) c->most = s->ngradient;
    if (s->count > c->most) c->most = s->count;
    return new_array(c, "gradient", STET_DTYPE_REAL, worlds, s->stride, &s->gradient);
}

stet_result sti_subject_open(sti_checking *c, int i)
{
    sti_subject *s = &c->s[i];
    STI_TRY(stet_kernel_get_param(c->kernel, i, &s->p));
    const stet_gradcheck_value *v = value_of(c, s->p.name);
    s->items = s->p.kind == STET_ARG_ARRAY ? (v && v->nitem > 0 ? v->nitem : c->def->nitem) : 1;
    s->stride = s->items;
    /* An item kernel indexes arrays of worlds by its own number of items, so they get no guard items. */
    if (s->p.kind == STET_ARG_ARRAY && !(c->items && s->p.worlds)) s->stride += STI_GRADCHECK_GUARDS;
    s->count = s->p.worlds ? s->stride * c->def->nworld : s->stride;
    if (s->p.kind == STET_ARG_INT) {
        s->whole = v ? v->number : c->def->number;
        return STET_OK;
    }
    s->number = random_real(c, v);
    if (s->p.kind == STET_ARG_ARRAY)
        STI_TRY(new_array(c, s->p.name, dtype_of(s->p.type), s->p.worlds, s->stride, &s->array));
    if (c->adjoint->has_result[i])
        STI_TRY(new_array(c, "after", dtype_of(s->p.type), s->p.worlds, s->stride, &s->after));
    if (!is_real(s)) return write_whole(c, s, v);
    STI_TRY(stet_adjoint_has_gradient(c->adjoint, i, &s->active));
    return fill_reals(c, s, v);
}

void sti_subject_close(sti_subject *s)
{
    stet_array_destroy(s->array);
    stet_array_destroy(s->gradient);
    stet_array_destroy(s->after);
    sti_free(s->bytes);
    sti_free(s->base);
    sti_free(s->weight);
    sti_free(s->found);
}

stet_result sti_subjects_write(sti_checking *c)
{
    for (int i = 0; i < c->n; ++i) {
        sti_subject *s = &c->s[i];
        if (s->array && s->base) STI_TRY(stet_array_write(s->array, s->base, (size_t)s->count * sizeof(double)));
        if (s->bytes && s->p.written) STI_TRY(stet_array_write(s->array, s->bytes, stet_array_get_bytes(s->array)));
        if (s->gradient) STI_TRY(stet_array_write(s->gradient, s->weight, (size_t)s->ngradient * sizeof(double)));
    }
    return STET_OK;
}

/* Checks that guard items still hold `was`: the number, or NaN. */
static stet_result check_guards(sti_checking *c, const sti_subject *s, const stet_array *array, int64_t n, double was)
{
    bool touched = false;
    STI_TRY(stet_array_read(array, c->room, (size_t)n * sizeof(double)));
    for (int64_t i = 0; i < n; ++i)
        if (i % s->stride >= s->items) touched |= isnan(was) ? !isnan(c->room[i]) : c->room[i] != was;
    if (!touched) return STET_OK;
    return sti_error(
        STET_ERROR_INVALID_ARGUMENT,
        "kernel %s reaches beyond the %" PRId64
        " items of %s: give the array more of them (--items %s=N), or the kernel smaller numbers (--int, --values)",
        c->name, s->items, s->p.name, s->p.name);
}

stet_result sti_subjects_check_guards(sti_checking *c)
{
    for (int i = 0; i < c->n; ++i) {
        const sti_subject *s = &c->s[i];
        if (s->array && s->base) STI_TRY(check_guards(c, s, s->array, s->count, (double)NAN));
        if (s->array && s->gradient) STI_TRY(check_guards(c, s, s->gradient, s->ngradient, guard));
    }
    return STET_OK;
}

stet_arg sti_subject_arg(const sti_subject *s)
{
    return s->p.kind == STET_ARG_ARRAY ? stet_arg_array(s->array)
           : s->p.kind == STET_ARG_INT ? stet_arg_int(s->whole)
                                       : stet_arg_real(s->number);
}
