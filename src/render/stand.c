/* See stand.h. */
#include "render/stand.h"

#include "base/memory.h"
#include "kernel/record/launch.h"

#include <assert.h>
#include <string.h>

extern const sti_kernel sti_k_stand;
extern const sti_kernel sti_k_stand_carry;
extern const sti_kernel sti_k_stand_drop;

/* An array of this mechanism. */
static stet_result make(stet_device *device, const char *name, stet_dtype dtype, int64_t n, stet_array **out)
{
    STI_TRY(STI_ARRAY(device, name, dtype, false, out, n));
    sti_array_held_by(*out, STET_MECHANISM_PATCHES);
    return STET_OK;
}

stet_result sti_stand_create(stet_device *device, int64_t nworld, int64_t npatch, sti_stand *out)
{
    assert(nworld > 0 && npatch > 0);
    *out = (sti_stand){.device = device, .nworld = nworld, .npatch = npatch};
    STI_TRY(make(device, "the clock of looks", STET_DTYPE_INT, 1, &out->clock));
    STI_TRY(make(device, "patches that stand", STET_DTYPE_INT, nworld * npatch, &out->stands));
    STI_TRY(make(device, "worlds to carry", STET_DTYPE_INT, nworld, &out->worlds));
    STI_TRY(sti_array_prepare_put(out->worlds));
    STI_TRY(sti_alloc(&out->carried, (size_t)nworld * sizeof *out->carried, "worlds to carry"));
    return sti_stand_change(out);
}

void sti_stand_free(sti_stand *stand)
{
    stet_array_destroy(stand->clock);
    stet_array_destroy(stand->stands);
    stet_array_destroy(stand->worlds);
    sti_free(stand->carried);
}

stet_result sti_stand_change(sti_stand *stand)
{
    assert(stand->time >= 0 && stand->time < INT32_MAX && "STAND-2: the clock goes on");
    const int next = stand->time + 1;
    STI_TRY(stet_array_write(stand->clock, &next, sizeof next));
    stand->time = next;
    return STET_OK;
}

stet_result sti_standing_make(const sti_stand *stand, int64_t nitem, sti_standing *standing)
{
    assert(nitem > 0 && nitem % 12 == 0 && "a transform has 12 numbers");
    if (standing->drawn && stet_array_get_nelement(standing->before) == stand->nworld * nitem) return STET_OK;
    sti_standing_free(standing);
    STI_TRY(make(stand->device, "transforms of a target", STET_DTYPE_REAL, stand->nworld * nitem, &standing->before));
    STI_TRY(make(stand->device, "depths of a target's patches", STET_DTYPE_REAL, stand->nworld * stand->npatch * 2,
                 &standing->range));
    standing->stale = true;
    return make(stand->device, "times of a target", STET_DTYPE_INT, stand->nworld, &standing->drawn);
}

void sti_standing_free(sti_standing *standing)
{
    stet_array_destroy(standing->before);
    stet_array_destroy(standing->range);
    stet_array_destroy(standing->drawn);
    *standing = (sti_standing){0};
}

static stet_result refresh(sti_stand *stand, sti_standing *standing)
{
    if (!standing->stale) return STET_OK;
    STI_TRY(STI_LAUNCH(sti_k_stand_drop, stand->device, stand->nworld, sti_arg_array(standing->drawn)));
    standing->stale = false;
    return STET_OK;
}

stet_result sti_standing_run(sti_stand *stand, sti_standing *standing, const sti_stand_rows *rows)
{
    STI_TRY(sti_standing_make(stand, rows->xform->nitem, standing));
    STI_TRY(refresh(stand, standing));
    assert(rows->n > 0 && rows->n <= stand->nworld && !standing->stale && "STAND-1");
    stand->ran = rows->n;
    return STI_LAUNCH(sti_k_stand, stand->device, rows->n, sti_arg_array(rows->xform), sti_arg_int(rows->xform->nitem),
                      sti_arg_array(rows->worlds), sti_arg_array(rows->scene), sti_arg_array(rows->own),
                      sti_arg_int(rows->stride), sti_arg_array(rows->lens), sti_arg_int(rows->lens_stride),
                      sti_arg_array(rows->size), sti_arg_array(rows->bounds), sti_arg_int(rows->shapes),
                      sti_arg_array(standing->range), sti_arg_array(stand->clock), sti_arg_array(standing->before),
                      sti_arg_array(standing->drawn), sti_arg_array(stand->stands), sti_arg_int(rows->coloured));
}

stet_result sti_standing_carry(sti_stand *stand, sti_standing *from, sti_standing *to, const int *worlds, int n)
{
    assert(n >= 0 && n <= stand->nworld && from != to);
    if (n == 0) return STET_OK;
    if (!from->before || !to->before || from->stale ||
        stet_array_get_nelement(from->before) != stet_array_get_nelement(to->before)) {
        to->stale = true;
        return STET_OK;
    }
    STI_TRY(refresh(stand, to));
    memcpy(stand->carried, worlds, (size_t)n * sizeof *worlds);
    STI_TRY(sti_array_put(stand->worlds, stand->carried, stet_array_get_bytes(stand->worlds)));
    return STI_LAUNCH(sti_k_stand_carry, stand->device, n, sti_arg_array(stand->worlds),
                      sti_arg_int((int)(stet_array_get_nelement(to->before) / stand->nworld)),
                      sti_arg_int((int)(2 * stand->npatch)), sti_arg_array(from->before), sti_arg_array(from->range),
                      sti_arg_array(from->drawn), sti_arg_array(to->before), sti_arg_array(to->range),
                      sti_arg_array(to->drawn));
}

stet_result sti_stand_count(sti_stand *stand, int64_t *stood, int64_t *of)
{
    int *stands;
    *stood = 0;
    *of = stand->ran * stand->npatch;
    STI_TRY(sti_alloc(&stands, stet_array_get_bytes(stand->stands), "patches that stand"));
    stet_result result = stet_array_read(stand->stands, stands, stet_array_get_bytes(stand->stands));
    for (int64_t i = 0; result == STET_OK && i < *of; ++i) {
        assert((stands[i] == 0 || stands[i] == 1) && "a patch stands or it does not");
        *stood += stands[i];
    }
    sti_free(stands);
    return result;
}
