/*
 * Transforms of one prim, read and written by the host. Where the host cannot access the device's memory, those of a
 * few worlds are copied one by one. Those of many worlds are copied together with all other prims, in one copy.
 */
#include "stage/flush.h"

#include "base/plural.h"
#include "device/host_mirror.h"

#include <math.h>

stet_result sti_stage_check_range(const stet_stage *stage, int prim, int64_t first, int64_t n, const void *values,
                                  const char *call)
{
    if (!stage || !values)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: stage or values is NULL; give both", call);
    STI_TRY(sti_not_listing(stage->device, call));
    STI_TRY(sti_tree_check(&stage->tree, prim, call));
    int64_t nworld = stage->worlds->nworld;
    if (first >= 0 && n >= 0 && n <= nworld && first <= nworld - n) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: %lld world%s from world %lld on; there are %lld, from 0", call,
                     (long long)n, STI_S(n), (long long)first, (long long)nworld);
}

/* Numbers of one prim in one world. */
enum { ROW = 12 };

static size_t row_place(const stet_array *a, int prim, int64_t world)
{
    return (size_t)(sti_array_index(a, world, (int64_t)prim * ROW)) * a->device->real_size;
}

/* NaN has one bit pattern in memory (FLUSH-1). */
static double canonical(float x) { return isnan(x) ? (double)NAN : (double)x; }

/*
 * Uploads row by row, without the host mirror of all prims. If a row fails, the rows before it are written all the
 * same: *moved.
 */
static stet_result write_rows(stet_array *to, int prim, int64_t first, int64_t n, const float *values, bool *moved)
{
    stet_result result = sti_before_host_access(to->device, STI_ACT_WRITE, to, to->name);
    for (int64_t w = 0; w < n && result == STET_OK; w++) {
        float row[ROW];
        for (int k = 0; k < ROW; k++) row[k] = (float)canonical(values[w * ROW + k]);
        result = sti_mirror_put_part(to, row_place(to, prim, first + w), row, sizeof row);
        *moved = *moved || result == STET_OK;
    }
    if (*moved) sti_version_bump(&to->version);
    return result;
}

static stet_result write_mirror(stet_array *to, int prim, int64_t first, int64_t n, const float *values, bool *moved)
{
    void *mirror;
    STI_TRY(sti_array_mirror_write(to, &mirror));
    for (int64_t w = 0; w < n; w++)
        for (int64_t k = 0; k < ROW; k++)
            sti_mirror_set(to, mirror, first + w, (int64_t)prim * ROW + k, canonical(values[w * ROW + k]));
    sti_array_mirror_written(to);
    *moved = true;
    return STET_OK;
}

static stet_result write_prim(stet_stage *stage, stet_array *to, int prim, int64_t first, int64_t n,
                              const float *values)
{
    if (n == 0) return STET_OK;
    sti_stage_before_write(stage);
    bool moved = false;
    stet_result result = (sti_mirror_in_parts(to, n) ? write_rows : write_mirror)(to, prim, first, n, values, &moved);
    sti_stage_after_write(stage);
    if (moved) sti_stage_due(stage, prim, first, n);
    return result;
}

static stet_result read_rows(stet_array *from, int prim, int64_t first, int64_t n, float *values)
{
    for (int64_t w = 0; w < n; w++)
        STI_TRY(sti_mirror_get_part(from, row_place(from, prim, first + w), values + w * ROW, ROW * sizeof *values));
    return STET_OK;
}

static stet_result read_prim(stet_array *from, int prim, int64_t first, int64_t n, float *values)
{
    void *mirror;
    STI_TRY(sti_array_ensure(from));
    if (sti_mirror_in_parts(from, n)) return read_rows(from, prim, first, n, values);
    STI_TRY(sti_array_mirror(from, &mirror));
    for (int64_t w = 0; w < n; w++)
        for (int64_t k = 0; k < ROW; k++)
            values[w * ROW + k] = (float)sti_mirror_get(from, mirror, first + w, (int64_t)prim * ROW + k);
    return STET_OK;
}

stet_result sti_stage_write_local(stet_stage *stage, int prim, int64_t first, int64_t n, const float *values)
{
    return write_prim(stage, stage->local, prim, first, n, values);
}

stet_result stet_stage_write_local(stet_stage *stage, int prim, int64_t first, int64_t n, const float *values)
{
    STI_TRY(sti_stage_check_range(stage, prim, first, n, values, "stet_stage_write_local"));
    if (stage->tree.prim[prim].source == STI_PRIM_TRACK)
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT,
            "stet_stage_write_local: prim %d ('%.64s') follows a body by its mode; add a prim, or use a fixed one",
            prim, sti_tree_name(&stage->tree, prim));
    if (sti_prim_rigid(&stage->tree.prim[prim]))
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT,
            "stet_stage_write_local: prim %d is rigid, its local transform follows from its world transform; set that",
            prim);
    if (stage->tree.prim[prim].kind == STET_PRIM_SHAPE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_stage_write_local: prim %d ('%.64s') is a shape; move the prim that it is below", prim,
                         sti_tree_name(&stage->tree, prim));
    return sti_stage_write_local(stage, prim, first, n, values);
}

stet_result stet_stage_write_world(stet_stage *stage, int prim, int64_t first, int64_t n, const float *values)
{
    STI_TRY(sti_stage_check_range(stage, prim, first, n, values, "stet_stage_write_world"));
    if (stage->tree.prim[prim].source != STI_PRIM_WRITTEN)
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT,
            "stet_stage_write_world: prim %d is not an added rigid prim; its world transform follows from others",
            prim);
    return write_prim(stage, stage->world, prim, first, n, values);
}

stet_result stet_stage_read_local(stet_stage *stage, int prim, int64_t first, int64_t n, float *values)
{
    STI_TRY(sti_stage_check_range(stage, prim, first, n, values, "stet_stage_read_local"));
    return read_prim(stage->local, prim, first, n, values);
}

stet_result stet_stage_read_world(stet_stage *stage, int prim, int64_t first, int64_t n, float *values)
{
    STI_TRY(sti_stage_check_range(stage, prim, first, n, values, "stet_stage_read_world"));
    return read_prim(stage->world, prim, first, n, values);
}
