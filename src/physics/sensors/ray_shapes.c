/* Meshes and height fields for rays; see ray_shapes.h. */
#include "physics/sensors/ray_shapes.h"

#include "base/error.h"
#include "base/memory.h"
#include "geom/bvh.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/sensors/sensors.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool sti_physics_has_rays(const mjModel *m)
{
    for (int i = 0; i < m->nsensor && sti_physics_has_sensors(m); ++i)
        if (m->sensor_type[i] == mjSENS_RANGEFINDER) return true;
    return false;
}

bool sti_physics_is_visible(const mjModel *m, int g)
{
    int material = m->geom_matid[g];
    return (material < 0 ? m->geom_rgba[4 * g + 3] : m->mat_rgba[4 * material + 3]) != 0;
}

static bool is_ray_shape(const mjModel *m, int g)
{
    return (m->geom_type[g] == mjGEOM_MESH || m->geom_type[g] == mjGEOM_HFIELD) && m->geom_dataid[g] >= 0 &&
           sti_physics_is_visible(m, g);
}

int sti_physics_count_ray_shapes(const mjModel *m)
{
    int n = 0;
    for (int g = 0; g < m->ngeom && sti_physics_has_rays(m); ++g) n += is_ray_shape(m, g);
    return n;
}

/* The tree of a mesh or height field, and where it stands in M_RAY_PRM: nodes, then triangles or sizes and heights. */
typedef struct ray_tree {
    sti_bvh bvh;
    float *heights;
    int type, asset, at, nreal; /* at: its nodes */
} ray_tree;

static int count_points(const mjModel *m, int field) { return m->hfield_nrow[field] * m->hfield_ncol[field]; }

static stet_result make_field_tree(const mjModel *m, ray_tree *t, const char *what)
{
    int n = count_points(m, t->asset);
    STI_TRY(sti_alloc(&t->heights, (size_t)n * sizeof *t->heights, what));
    for (int k = 0; k < n; ++k)
        t->heights[k] = (float)((double)m->hfield_data[m->hfield_adr[t->asset] + k] * m->hfield_size[4 * t->asset + 2]);
    if (m->hfield_nrow[t->asset] > 1 && m->hfield_ncol[t->asset] > 1)
        STI_TRY(sti_bvh_grid(m->hfield_size + (ptrdiff_t)4 * t->asset, t->heights, m->hfield_nrow[t->asset],
                             m->hfield_ncol[t->asset], what, &t->bvh));
    t->nreal = (int)(STI_BVH_NODE * t->bvh.nnode + 4 + n);
    return STET_OK;
}

static stet_result make_mesh_tree(const mjModel *m, ray_tree *t, const char *what)
{
    STI_TRY(sti_bvh_triangles(m->mesh_vert + 3 * (int64_t)m->mesh_vertadr[t->asset],
                              m->mesh_face + 3 * (int64_t)m->mesh_faceadr[t->asset], m->mesh_facenum[t->asset], what,
                              &t->bvh));
    t->nreal = STI_BVH_NODE * t->bvh.nnode + STI_BVH_TRIANGLE * m->mesh_facenum[t->asset];
    return STET_OK;
}

static void put_tree(const mjModel *m, const ray_tree *t, double *to)
{
    sti_bvh_put_nodes(&t->bvh, to);
    to += STI_BVH_NODE * t->bvh.nnode;
    if (t->type == mjGEOM_MESH) {
        sti_bvh_put_triangles(&t->bvh, m->mesh_vert + 3 * (int64_t)m->mesh_vertadr[t->asset],
                              m->mesh_face + 3 * (int64_t)m->mesh_faceadr[t->asset], m->mesh_facenum[t->asset], to);
        return;
    }
    const double *size = m->hfield_size + (ptrdiff_t)4 * t->asset;
    double high = 0;
    for (int k = 0; k < count_points(m, t->asset); ++k) {
        to[4 + k] = (double)m->hfield_data[m->hfield_adr[t->asset] + k] * size[2];
        high = fmax(high, to[4 + k]);
    }
    memcpy(to, (double[]){size[0], size[1], high, size[3]}, 4 * sizeof *to);
}

/* What ray_mesh and ray_hfield want of a geom (geom/ray.k.h), from M_RAY_PRM on. */
static void fill_shape(const mjModel *m, const ray_tree *t, int *shape)
{
    int behind = t->at + STI_BVH_NODE * t->bvh.nnode;
    shape[0] = t->at;
    shape[1] = behind;
    if (t->type == mjGEOM_MESH) return;
    shape[2] = m->hfield_nrow[t->asset];
    shape[3] = m->hfield_ncol[t->asset];
}

/* The tree of geom g, made by the first geom of its mesh or height field. */
static stet_result find_tree(const mjModel *m, ray_tree *trees, int *ntree, int *nreal, int g, int *which)
{
    for (*which = 0; *which < *ntree; ++*which)
        if (trees[*which].type == m->geom_type[g] && trees[*which].asset == m->geom_dataid[g]) return STET_OK;
    ray_tree *t = &trees[(*ntree)++];
    char what[64];
    t->type = m->geom_type[g];
    t->asset = m->geom_dataid[g];
    t->at = *nreal;
    (void)snprintf(what, sizeof what, "%s %d", t->type == mjGEOM_MESH ? "mesh" : "height field", t->asset);
    STI_TRY(t->type == mjGEOM_MESH ? make_mesh_tree(m, t, what) : make_field_tree(m, t, what));
    if (t->nreal > INT_MAX / 2 - *nreal)
        return sti_error(STET_ERROR_LIMIT, "%s: rangefinders have no room for so many triangles; simplify it", what);
    *nreal += t->nreal;
    return STET_OK;
}

void sti_physics_put_ray_shapes(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int n = sti_physics_count_ray_shapes(m), ntree = 0, nreal = 0, which = 0;
    ray_tree *trees = NULL;
    int *shape = sti_physics_new_table(b, M_RAY_SHAPE, n > 0 ? 4 * m->ngeom : 0);
    if (n > 0 && b->result == STET_OK) b->result = sti_alloc(&trees, (size_t)n * sizeof *trees, "rays of sensors");
    for (int g = 0; n > 0 && g < m->ngeom && b->result == STET_OK; ++g) {
        if (!is_ray_shape(m, g)) continue;
        b->result = find_tree(m, trees, &ntree, &nreal, g, &which);
        if (b->result == STET_OK) fill_shape(m, &trees[which], shape + (ptrdiff_t)4 * g);
    }
    double *reals = sti_physics_new_parameter(b, M_RAY_PRM, nreal);
    for (int i = 0; reals && i < ntree; ++i) put_tree(m, &trees[i], reals + trees[i].at);
    for (int i = 0; i < ntree; ++i) {
        sti_bvh_free(&trees[i].bvh);
        sti_free(trees[i].heights);
    }
    sti_free(trees);
}
