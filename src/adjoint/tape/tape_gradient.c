/*
 * The gradients of a tape's arrays and numbers; see tape.h.
 */
#include "adjoint/tape/tape.h"

#include "kernel/record/record.h"
#include "kernel/user/user.h"

#include <stdio.h>
#include <string.h>

extern const sti_kernel sti_k_tape_add, sti_k_tape_add_plain, sti_k_tape_clear, sti_k_tape_clear_plain;

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static int64_t blocks_of(const stet_array *a) { return (a->nitem + STI_TAPE_BLOCK - 1) / STI_TAPE_BLOCK; }

stet_result sti_tape_add(stet_array *sum, stet_array *part)
{
    if (sum->worlds)
        return STI_LAUNCH(sti_k_tape_add, sum->device, sum->shape[0], sti_arg_array(sum), sti_arg_array(part),
                          sti_arg_int(sum->nitem));
    return STI_LAUNCH(sti_k_tape_add_plain, sum->device, blocks_of(sum), sti_arg_array(sum), sti_arg_array(part),
                      sti_arg_int(sum->nitem));
}

stet_result sti_tape_clear(stet_array *a)
{
    if (a->worlds) return STI_LAUNCH(sti_k_tape_clear, a->device, a->shape[0], sti_arg_array(a), sti_arg_int(a->nitem));
    return STI_LAUNCH(sti_k_tape_clear_plain, a->device, blocks_of(a), sti_arg_array(a), sti_arg_int(a->nitem));
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

stet_result sti_tape_make_gradient(stet_tape *t, sti_tape_array *a)
{
    const stet_array *of = a->array;
    char name[64];
    if (a->gradient) return STET_OK;
    (void)snprintf(name, sizeof name, "gradient of %s", a->name);
    if (of->worlds || a->shares == STI_SHARES_NONE)
        return sti_array_new(t->device, name, STET_DTYPE_REAL, of->worlds, of->ndim, of->shape, &a->gradient);
    return STI_ARRAY(t->device, name, STET_DTYPE_REAL, true, &a->gradient, a->shares > 0 ? a->shares : 1, of->nitem);
}

stet_result sti_tape_make_number(stet_tape *t, sti_tape_kernel *k, sti_tape_param *p)
{
    if (p->number) return STET_OK;
    if (k->items) return STI_ARRAY(t->device, p->name, STET_DTYPE_REAL, false, &p->number, 1);
    return STI_ARRAY(t->device, p->name, STET_DTYPE_REAL, true, &p->number, k->count, 1);
}

static stet_result check_reals(const stet_tape *t, const stet_array *array)
{
    if (array->device != t->device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tape: array %s lives on another device", array->name);
    if (array->dtype != STET_DTYPE_REAL)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tape: array %s holds %s, which have no gradient", array->name,
                         stet_dtype_name(array->dtype));
    return STET_OK;
}

/* Computes an array behind an ended tape, once; what was written since then is refused, as between launches. */
static stet_result take_behind(stet_tape *t, sti_tape_array *a)
{
    stet_array *array = a->array;
    int64_t before = t->nop;
    if (!t->complete || !array->producer || a->behind || t->device->launch_observer || t->device->listing)
        return STET_OK;
    sti_tape_open(t);
    stet_result result = sti_array_produce(array);
    sti_tape_close(t);
    if (result == STET_OK && t->broken != STET_OK) result = sti_error(t->broken, "%s", t->why);
    t->broken = STET_OK;
    return result == STET_OK && t->nop > before ? sti_tape_finish(t) : result;
}

stet_result sti_tape_take_derived(stet_tape *t)
{
    for (int64_t i = 0; i < t->narray; ++i) {
        stet_array *array = t->array[i].array;
        if (!array || !t->array[i].asked || !array->producer) continue;
        STI_TRY(sti_array_produce(array));
        t->array[i].behind = true;
    }
    return STET_OK;
}

stet_result stet_tape_get_gradient(stet_tape *t, stet_array *array, stet_array **out)
{
    int i;
    if (!t || !array || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_tape_get_gradient: tape, array and out must not be NULL");
    *out = NULL;
    STI_TRY(check_reals(t, array));
    STI_TRY(sti_tape_find_array(t, array, &i));
    STI_TRY(take_behind(t, &t->array[i]));
    sti_tape_array *a = &t->array[i]; /* there may be more arrays now */
    a->behind = t->complete;
    if (!array->worlds && !a->gradient && !(t->complete && a->touched))
        return sti_error(STET_ERROR_STATE,
                         "tape: how many shares the gradient of array %s has is known once a tape that touches it has "
                         "ended; ask after stet_tape_end",
                         a->name);
    STI_TRY(sti_tape_make_gradient(t, a));
    a->asked = true;
    *out = a->gradient;
    return STET_OK;
}

static sti_tape_kernel *find_kernel(const stet_tape *t, const stet_kernel *kernel)
{
    for (int64_t i = 0; i < t->nkernel; ++i)
        if (t->kernel[i]->kernel == kernel) return t->kernel[i];
    return NULL;
}

stet_result stet_tape_get_number_gradient(stet_tape *t, stet_kernel *kernel, const char *parameter, stet_array **out)
{
    if (!t || !kernel || !parameter || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_tape_get_number_gradient: tape, kernel, parameter and out must not be NULL");
    *out = NULL;
    sti_tape_kernel *k = find_kernel(t, kernel);
    if (!t->complete || !k || !k->used)
        return sti_error(STET_ERROR_STATE, "tape: kernel %s is not on it; ask after stet_tape_end",
                         stet_kernel_get_name(kernel));
    for (int i = 0; i < k->nparam; ++i) {
        sti_tape_param *p = &k->param[i];
        if (p->array || !p->graded || strcmp(p->name, parameter) != 0) continue;
        STI_TRY(sti_tape_make_number(t, k, p));
        *out = p->number;
        return STET_OK;
    }
    return sti_error(STET_ERROR_NOT_FOUND, "tape: kernel %s has no real number %s with a gradient", k->name, parameter);
}

/* ---- becoming 0 -------------------------------------------------------------------------------------------------- */

static stet_result clear(stet_tape *t)
{
    for (int64_t i = 0; i < t->narray; ++i) {
        sti_tape_array *a = &t->array[i];
        if (a->gradient) STI_TRY(sti_tape_clear(a->gradient));
        for (int64_t k = 0; k < a->scratch.n; ++k) STI_TRY(sti_tape_clear(a->scratch.array[k]));
    }
    for (int64_t i = 0; i < t->nkernel; ++i)
        for (int p = 0; p < t->kernel[i]->nparam; ++p)
            if (t->kernel[i]->param[p].number) STI_TRY(sti_tape_clear(t->kernel[i]->param[p].number));
    t->unclean = false;
    return STET_OK;
}

stet_result stet_tape_zero(stet_tape *t)
{
    if (!t) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_tape_zero: tape must not be NULL");
    if (t->device->listing) return clear(t);
    STI_TRY(sti_record_begin(t->device, "gradients become 0"));
    return sti_record_end(t->device, clear(t));
}
