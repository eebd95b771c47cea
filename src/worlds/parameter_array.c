/*
 * Parameters as arrays on the device, which callers, kernels and other libraries write, and as callers set and read
 * them; see parameter.h (PARAMETER-6).
 */
#include "base/memory.h"
#include "base/plural.h"
#include "device/host_mirror.h"
#include "worlds/parameter.h"
#include "worlds/worlds.h"

#include <assert.h>
#include <string.h>

/* ---- from values to arrays --------------------------------------------------------------------------------------- */

/* The present numbers of a world, of a parameter that is given or is the model's. */
static double number_of(const stet_worlds *worlds, sti_parameter which, int64_t w, int64_t item, int64_t items)
{
    const sti_parameters *p = &worlds->parameters;
    return p->given[which] ? p->value[which][w * items + item]
                           : sti_parameter_own_number(worlds->model->mj, which, item);
}

static stet_result put_array(stet_worlds *worlds, sti_parameter which)
{
    sti_parameter_array *a = &worlds->parameters.array[which];
    int64_t items = a->array->nitem;
    void *mirror;
    STI_TRY(sti_array_mirror_write(a->array, &mirror));
    for (int64_t w = 0; w < worlds->nworld; ++w)
        for (int64_t i = 0; i < items; ++i) {
            sti_mirror_set(a->array, mirror, w, i, number_of(worlds, which, w, i, items));
            a->seen[w * items + i] = sti_mirror_get(a->array, mirror, w, i);
        }
    sti_array_mirror_written(a->array);
    sti_stamp_keep_version(&a->taken, &a->array->version);
    return STET_OK;
}

stet_result sti_parameters_put_arrays(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    for (int k = 0; p->narray > 0 && k < STI_PARAMETER_COUNT; ++k) {
        sti_parameter_array *a = &p->array[k];
        if (!a->due) continue;
        STI_TRY(put_array(worlds, (sti_parameter)k));
        a->due = false;
    }
    return STET_OK;
}

/* ---- from arrays to values --------------------------------------------------------------------------------------- */

/* Worlds in which a number differs from what was seen get a mark, and all worlds' new values go to `values`. */
static int64_t compare_numbers(const stet_worlds *worlds, sti_parameter which, void *mirror, uint8_t *marks,
                               double *values)
{
    const sti_parameter_array *a = &worlds->parameters.array[which];
    int64_t items = a->array->nitem, changed = 0;
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        marks[w] = 0;
        for (int64_t i = 0; i < items; ++i) {
            double x = sti_mirror_get(a->array, mirror, w, i), seen = a->seen[w * items + i];
            bool same = memcmp((const void *)&x, (const void *)&seen, sizeof x) == 0; /* NaN is a number of its own */
            values[w * items + i] = same ? number_of(worlds, which, w, i, items) : x;
            marks[w] |= !same;
        }
        changed += marks[w];
    }
    return changed;
}

static stet_result take_values(stet_worlds *worlds, sti_parameter which, const uint8_t *marks, const double *values)
{
    sti_parameter_array *a = &worlds->parameters.array[which];
    int64_t items = a->array->nitem;
    STI_TRY(sti_parameter_check(worlds, which, values, items * worlds->nworld));
    if (which == STI_PARAMETER_timestep) STI_TRY(sti_worlds_pull_physics(worlds)); /* steps so far had the old one */
    STI_TRY(sti_parameter_give(worlds, which));
    for (int64_t w = 0; w < worlds->nworld; ++w)
        if (marks[w]) sti_parameter_put(worlds, which, w, values + w * items);
    sti_parameter_changed(worlds, which, marks);
    a->due = false; /* it has them; a quaternion stays as the caller wrote it */
    return STET_OK;
}

static stet_result take_array(stet_worlds *worlds, sti_parameter which)
{
    sti_parameter_array *a = &worlds->parameters.array[which];
    int64_t n = a->array->nitem * worlds->nworld;
    uint8_t *marks = NULL;
    double *values = NULL;
    void *mirror;
    STI_TRY(sti_array_mirror(a->array, &mirror));
    stet_result result = sti_alloc(&marks, (size_t)worlds->nworld, "parameters of worlds");
    if (result == STET_OK) result = sti_alloc(&values, (size_t)n * sizeof *values, "parameters of worlds");
    if (result == STET_OK && compare_numbers(worlds, which, mirror, marks, values) > 0)
        result = take_values(worlds, which, marks, values);
    for (int64_t w = 0; result == STET_OK && w < worlds->nworld; ++w)
        for (int64_t i = 0; i < a->array->nitem; ++i)
            a->seen[w * a->array->nitem + i] = sti_mirror_get(a->array, mirror, w, i);
    sti_free(marks);
    sti_free(values);
    if (result == STET_OK) sti_stamp_keep_version(&a->taken, &a->array->version);
    return result;
}

static stet_result take_arrays(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    STI_TRY(sti_parameters_put_arrays(worlds)); /* of a call that failed */
    for (int k = 0; k < STI_PARAMETER_COUNT; ++k) {
        sti_parameter_array *a = &p->array[k];
        if (!a->array || a->array->nitem == 0) continue;
        STI_TRY(sti_before_host_access(a->array->device, STI_ACT_READ, a->array, a->array->name));
        (void)sti_array_poll_external_writes(a->array);
        if (!sti_stamp_is(&a->taken, &a->array->version)) STI_TRY(take_array(worlds, (sti_parameter)k));
    }
    return STET_OK;
}

stet_result sti_parameters_take(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    if (p->narray == 0 || p->taking) return STET_OK;
    p->taking = true; /* what is called on the way may ask for it again */
    stet_result result = take_arrays(worlds);
    p->taking = false;
    return result;
}

/* ---- asking for one ---------------------------------------------------------------------------------------------- */

static stet_result array_of(stet_worlds *worlds, sti_parameter which, stet_array **out)
{
    sti_parameters *p = &worlds->parameters;
    sti_parameter_array *a = &p->array[which];
    int64_t items = sti_parameter_items(worlds->model->mj, which);
    stet_array *array;
    size_t size;
    if (a->array) {
        *out = a->array;
        return STET_OK;
    }
    STI_TRY(sti_mul_size((size_t)items * sizeof *a->seen, (size_t)worlds->nworld, &size, "parameters of worlds"));
    STI_TRY(sti_alloc(&a->seen, size, "parameters of worlds"));
    stet_result result = STI_ARRAY(worlds->device, stet_worlds_get_parameters()[which], STET_DTYPE_REAL, true, &array,
                                   worlds->nworld, items);
    if (result != STET_OK) {
        sti_free(a->seen);
        a->seen = NULL;
        return result;
    }
    a->array = array;
    a->due = items > 0;
    p->narray++;
    STI_TRY(sti_parameters_put_arrays(worlds)); /* else the next call does */
    *out = array;
    return STET_OK;
}

/* ---- setting them ------------------------------------------------------------------------------------------------ */

/* What arrays were given before; of a parameter that all worlds get anew nothing is left of it, be it good or not. */
static stet_result take_before(stet_worlds *worlds, sti_parameter which, const uint8_t *mask)
{
    sti_parameter_array *a = &worlds->parameters.array[which];
    if (!mask && a->array) {
        STI_TRY(sti_array_ensure(a->array));
        a->due = a->array->nitem > 0;
        return STET_OK;
    }
    return sti_parameters_take(worlds);
}

/* All worlds have the model's own values again; the array follows with the next sti_parameters_put_arrays. */
static stet_result take_back(stet_worlds *worlds, sti_parameter which)
{
    STI_TRY(take_before(worlds, which, NULL));
    if (which == STI_PARAMETER_timestep) STI_TRY(sti_worlds_pull_physics(worlds)); /* steps so far had the old one */
    sti_parameter_take_back(worlds, which);
    return STET_OK;
}

stet_result sti_parameters_take_back(stet_worlds *worlds)
{
    const sti_parameters *p = &worlds->parameters;
    for (int k = 0; k < STI_PARAMETER_COUNT; ++k)
        if (p->given[k] || p->array[k].array) STI_TRY(take_back(worlds, (sti_parameter)k));
    return sti_parameters_put_arrays(worlds);
}

stet_result stet_worlds_set_parameter_where(stet_worlds *worlds, const char *name, const uint8_t *mask,
                                            const double *values, int64_t n)
{
    sti_parameter which;
    if (!worlds || !name)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_set_parameter: worlds and name must not be NULL");
    STI_TRY(sti_parameter_named(name, &which));
    if (!values && !mask) {
        STI_TRY(take_back(worlds, which));
        return sti_parameters_put_arrays(worlds);
    }
    if (values) STI_TRY(sti_parameter_check(worlds, which, values, n));
    STI_TRY(take_before(worlds, which, mask));
    if (!values && !worlds->parameters.given[which]) return STET_OK;
    if (which == STI_PARAMETER_timestep) STI_TRY(sti_worlds_pull_physics(worlds)); /* steps so far had the old one */
    STI_TRY(sti_parameter_give(worlds, which));
    int64_t items = sti_parameter_items(worlds->model->mj, which);
    for (int64_t w = 0; w < worlds->nworld; ++w)
        if (!mask || mask[w])
            sti_parameter_put(worlds, which, w, values ? values + (n == items ? 0 : w * items) : NULL);
    sti_parameter_changed(worlds, which, mask);
    return sti_parameters_put_arrays(worlds);
}

stet_result stet_worlds_get_parameter_array(stet_worlds *worlds, const char *name, stet_array **out)
{
    sti_parameter which;
    if (!out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_get_parameter_array: out must not be NULL");
    *out = NULL;
    if (!worlds || !name)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_worlds_get_parameter_array: worlds and name must not be NULL");
    STI_TRY(sti_parameter_named(name, &which));
    return array_of(worlds, which, out);
}

stet_result stet_worlds_set_parameter(stet_worlds *worlds, const char *name, const double *values, int64_t n)
{
    return stet_worlds_set_parameter_where(worlds, name, NULL, values, n);
}

/* ---- reading them ----------------------------------------------------------------------------------------------- */

stet_result stet_worlds_get_parameter(const stet_worlds *worlds, const char *name, double *values, int64_t n)
{
    sti_parameter which;
    if (!worlds || !name || !values)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_worlds_get_parameter: worlds, name and values must not be NULL");
    STI_TRY(sti_parameter_named(name, &which));
    STI_TRY(sti_parameters_take((stet_worlds *)worlds)); /* to the caller no change of the worlds */
    int64_t items = sti_parameter_items(worlds->model->mj, which);
    if (n != items * worlds->nworld)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "parameter %s: room for %lld number%s; there are %lld, for %lld world%s", name, (long long)n,
                         STI_S(n), (long long)(items * worlds->nworld), (long long)worlds->nworld,
                         STI_S(worlds->nworld));
    for (int64_t i = 0; i < n; ++i)
        values[i] = worlds->parameters.given[which] ? worlds->parameters.value[which][i]
                                                    : sti_parameter_own_number(worlds->model->mj, which, i % items);
    return STET_OK;
}

stet_result sti_parameters_update(stet_worlds *worlds)
{
    STI_TRY(sti_parameters_take(worlds));
    return sti_parameters_derive(worlds);
}

void sti_parameter_arrays_free(stet_worlds *worlds)
{
    for (int k = 0; k < STI_PARAMETER_COUNT; ++k) {
        sti_parameter_array *a = &worlds->parameters.array[k];
        stet_array_destroy(a->array);
        sti_free(a->seen);
        sti_stamp_free(&a->taken);
    }
}
