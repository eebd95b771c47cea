/* The stage's public functions about shapes: adding, showing, colouring them. See shape.h. */
#include "stage/flush.h"

#include "base/memory.h"

#include <math.h>
#include <string.h>

_Static_assert((int)STET_SHAPE_PLANE == (int)mjGEOM_PLANE && (int)STET_SHAPE_SPHERE == (int)mjGEOM_SPHERE &&
                   (int)STET_SHAPE_CAPSULE == (int)mjGEOM_CAPSULE && (int)STET_SHAPE_BOX == (int)mjGEOM_BOX &&
                   (int)STET_SHAPE_MESH == (int)mjGEOM_MESH,
               "types of shapes have MuJoCo's numbers");

/* ---- adding ------------------------------------------------------------------------------------------------------ */

/* How many sizes of a type must be above 0. */
static int count_sizes(int type)
{
    switch (type) {
    case mjGEOM_SPHERE: return 1;
    case mjGEOM_CAPSULE:
    case mjGEOM_CYLINDER: return 2;
    case mjGEOM_ELLIPSOID:
    case mjGEOM_BOX: return 3;
    default: return 0;
    }
}

static stet_result check_sizes(const stet_shape *shape)
{
    if ((unsigned)shape->type > STET_SHAPE_MESH || (int)shape->type == (int)mjGEOM_HFIELD)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_stage_add_shape: there is no type %d; use one of STET_SHAPE_PLANE to STET_SHAPE_MESH",
                         (int)shape->type);
    for (int k = 0; k < 3; ++k) {
        double size = shape->size[k];
        if (k < count_sizes((int)shape->type) && !(size > 0 && size < 1e9))
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "stet_stage_add_shape: size[%d] is %g; give metres above 0 and below 1e9", k, size);
        if (shape->type == STET_SHAPE_PLANE && !(size >= 0 && size < 1e9))
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "stet_stage_add_shape: size[%d] of a plane is %g; give metres, or 0 for an endless one", k,
                             size);
    }
    return STET_OK;
}

static stet_result check_colour(float value, int channel, const char *call)
{
    if (value >= 0 && value <= 1) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: %c is %g; give 0 to 1", call, "rgba"[channel], (double)value);
}

static stet_result check_rgba(const float *rgba)
{
    for (int k = 0; k < 4; ++k) STI_TRY(check_colour(rgba[k], k, "stet_stage_add_shape"));
    if (rgba[3] > 0) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "stet_stage_add_shape: alpha is 0; hide the shape with stet_stage_show");
}

/* The number of a mesh or material of the model; -1: none is asked for. */
static stet_result find_asset(const mjModel *m, int type, const char *what, const char *name, int *out)
{
    *out = name ? mj_name2id(m, type, name) : -1;
    if (!name || *out >= 0) return STET_OK;
    return sti_error(STET_ERROR_NOT_FOUND, "stet_stage_add_shape: the model has no %s '%.64s'; it has %d, by name",
                     what, name, (int)(type == mjOBJ_MESH ? m->nmesh : m->nmat));
}

static void multiply(const double *a, const double *b, double *out)
{
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 4; ++c) {
            out[4 * r + c] = c == 3 ? a[4 * r + 3] : 0;
            for (int k = 0; k < 3; ++k) out[4 * r + c] += a[4 * r + k] * b[4 * k + c];
        }
}

/* The transform from the shape's own frame, of a mesh MuJoCo's inertia-aligned one, to that of its parent. */
static void place_shape(const mjModel *m, const float *local, sti_shape *s)
{
    double given[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, own[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, out[12];
    for (int k = 0; k < 12 && local; ++k) given[k] = (double)local[k];
    if (s->mesh >= 0) {
        double turn[9];
        mju_quat2Mat(turn, m->mesh_quat + 4 * (ptrdiff_t)s->mesh);
        for (int k = 0; k < 9; ++k) own[k / 3 * 4 + k % 3] = turn[k];
        for (int k = 0; k < 3; ++k) own[4 * k + 3] = m->mesh_pos[3 * (ptrdiff_t)s->mesh + k];
    }
    multiply(given, own, out);
    for (int k = 0; k < 12; ++k) s->local[k] = (float)out[k];
}

/* Takes the caller's words for what the renderer needs. */
static stet_result make_shape(const stet_stage *stage, const stet_shape *shape, const float *local, sti_shape *out)
{
    static const float grey[4] = {.5f, .5f, .5f, 1};
    const mjModel *m = stage->tree.model->mj;
    size_t nworld = (size_t)stage->worlds->nworld;
    bool coloured = false;
    for (int k = 0; k < 4; ++k) coloured = coloured || shape->rgba[k] != 0;
    *out = (sti_shape){.prim = -1, .type = (int)shape->type};
    STI_TRY(check_sizes(shape));
    if (coloured) STI_TRY(check_rgba(shape->rgba));
    if (shape->type == STET_SHAPE_MESH && !shape->mesh)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_add_shape: mesh is NULL; name one of the model");
    STI_TRY(find_asset(m, mjOBJ_MESH, "mesh", shape->type == STET_SHAPE_MESH ? shape->mesh : NULL, &out->mesh));
    STI_TRY(find_asset(m, mjOBJ_MATERIAL, "material", shape->material, &out->material));
    memcpy(out->size, shape->size, sizeof out->size);
    const float *other = out->material < 0 ? grey : m->mat_rgba + 4 * (ptrdiff_t)out->material;
    memcpy(out->rgba, coloured ? shape->rgba : other, sizeof out->rgba);
    place_shape(m, local, out);
    STI_TRY(sti_alloc(&out->visible, nworld, "where a shape is shown"));
    memset(out->visible, 1, nworld);
    return STET_OK;
}

stet_result stet_stage_add_shape(stet_stage *stage, int parent, const stet_shape *shape, const float *local, int *prim,
                                 int *id)
{
    sti_shape made;
    int number;
    if (!stage || !shape || !prim)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_add_shape: stage, shape or prim is NULL; give all");
    STI_TRY(sti_not_listing(stage->device, "stet_stage_add_shape"));
    stet_result result = make_shape(stage, shape, local, &made);
    if (!result) result = sti_shapes_vacant(&stage->shapes, &number);
    if (!result)
        result = sti_stage_add_prim(stage, parent, STET_PRIM_SHAPE, shape->name, made.local, false,
                                    "stet_stage_add_shape", prim);
    if (result) {
        sti_shape_free(&made);
        sti_shapes_sweep(&stage->shapes, &stage->tree);
        return result;
    }
    made.prim = *prim;
    sti_version_bump(&stage->shapes.set);
    made.since = stage->shapes.set.generation;
    stage->shapes.shape[number] = made;
    if (id) *id = (int)stage->tree.model->mj->ngeom + number;
    return STET_OK;
}

/* ---- world by world ---------------------------------------------------------------------------------------------- */

static stet_result find_shape(stet_stage *stage, int prim, int64_t first, int64_t n, const void *values,
                              const char *call, sti_shape **out)
{
    STI_TRY(sti_stage_check_range(stage, prim, first, n, values, call));
    int number = sti_shapes_find(&stage->shapes, prim);
    if (number < 0 || stage->shapes.shape[number].decor)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "%s: prim %d ('%.64s') is no shape; give what stet_stage_add_shape gave", call, prim,
                         sti_tree_name(&stage->tree, prim));
    *out = &stage->shapes.shape[number];
    return STET_OK;
}

/* From the first to the last world whose bytes change; the others keep theirs. */
static void trim_worlds(const void *now, const void *then, size_t size, int64_t *first, int64_t *n)
{
    const char *a = now, *b = (const char *)then + (size_t)*first * size;
    int64_t from = 0;
    while (*n > 0 && memcmp(a + (size_t)(*n - 1) * size, b + (size_t)(*n - 1) * size, size) == 0) --*n;
    while (from < *n && memcmp(a + (size_t)from * size, b + (size_t)from * size, size) == 0) ++from;
    *first += from;
    *n -= from;
}

stet_result stet_stage_show(stet_stage *stage, int prim, int64_t first, int64_t n, const uint8_t *visible)
{
    sti_shape *s = NULL;
    float *rows;
    int64_t from = first;
    STI_TRY(find_shape(stage, prim, first, n, visible, "stet_stage_show", &s));
    for (int64_t w = 0; w < n; ++w)
        if (visible[w] > 1)
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_stage_show: visible[%lld] is %d; give 0 or 1",
                             (long long)w, visible[w]);
    trim_worlds(visible, s->visible, 1, &first, &n);
    if (n == 0) return STET_OK;
    visible += first - from;
    STI_TRY(sti_alloc(&rows, (size_t)n * 12 * sizeof *rows, "transforms of a shape"));
    for (int64_t w = 0; w < n; ++w)
        if (visible[w]) memcpy(rows + 12 * w, s->local, sizeof s->local);
    stet_result result = sti_stage_write_local(stage, prim, first, n, rows);
    sti_free(rows);
    if (result == STET_OK) memcpy(s->visible + first, visible, (size_t)n);
    return result;
}

/* Gives a shape a colour for each world: the one that it has. */
static stet_result own_colours(const stet_stage *stage, sti_shape *s)
{
    size_t nworld = (size_t)stage->worlds->nworld;
    STI_TRY(sti_alloc(&s->colour, nworld * 3 * sizeof *s->colour, "colours of a shape"));
    for (size_t w = 0; w < nworld; ++w) memcpy(s->colour + 3 * w, s->rgba, 3 * sizeof *s->colour);
    return STET_OK;
}

stet_result stet_stage_colour(stet_stage *stage, int prim, int64_t first, int64_t n, const float *rgb)
{
    sti_shape *s = NULL;
    int64_t from = first;
    STI_TRY(find_shape(stage, prim, first, n, rgb, "stet_stage_colour", &s));
    for (int64_t i = 0; i < 3 * n; ++i) STI_TRY(check_colour(rgb[i], (int)(i % 3), "stet_stage_colour"));
    if (!s->colour) STI_TRY(own_colours(stage, s));
    trim_worlds(rgb, s->colour, 3 * sizeof *rgb, &first, &n);
    if (n == 0) return STET_OK;
    memcpy(s->colour + 3 * first, rgb + 3 * (first - from), (size_t)n * 3 * sizeof *rgb);
    sti_version_bump(&stage->shapes.colours);
    sti_stage_due(stage, prim, first, n);
    return STET_OK;
}
