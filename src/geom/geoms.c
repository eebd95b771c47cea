/*
 * The shapes of a model: converts MuJoCo's model into the arrays that kernels read.
 *
 * Invariants:
 *   GEOMS-1  each mesh and height field has one tree, however many geoms use it
 *   GEOMS-2  bounds and radius still contain the shape after rounding to the device's real
 */
#include "geom/geom.h"

#include "geom/bvh.h"
#include "kernel/record/launch.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

extern const sti_kernel sti_k_soft;

enum { NODE = STI_BVH_NODE, TRI = STI_BVH_TRIANGLE, HEADER = 4 };
#define NO_END 1e10 /* half size of an infinite plane, metres */

/* The arrays while they are gathered, as doubles, because the device's real may be double. */
typedef struct gather {
    const mjModel *m;
    const sti_soft *soft; /* NULL: none */
    sti_bvh *mesh;        /* [nmesh] */
    sti_bvh *hfield;      /* [nhfield] */
    int *mesh_node, *mesh_tri;
    int *hfield_node, *hfield_elevation;
    int64_t nnode, ntri, nelevation;
    double *node, *tri, *elevation;
    sti_geom_rows rows;
} gather;

static int64_t at_least_one(int64_t n) { return n > 0 ? n : 1; }

static stet_result alloc_list(void *out, int64_t n, size_t item)
{
    size_t size;
    STI_TRY(sti_mul_size((size_t)at_least_one(n), item, &size, "the shapes of the model"));
    return sti_alloc(out, size, "the shapes of the model");
}

static const char *asset_name(const mjModel *m, const int *offset, int i)
{
    const char *name = m->names + offset[i];
    return name[0] ? name : "without a name";
}

/* ---- trees ------------------------------------------------------------------------------------------------------- */

static stet_result make_mesh_trees(gather *g)
{
    const mjModel *m = g->m;
    STI_TRY(alloc_list(&g->mesh, m->nmesh, sizeof *g->mesh));
    STI_TRY(alloc_list(&g->mesh_node, m->nmesh, sizeof *g->mesh_node));
    STI_TRY(alloc_list(&g->mesh_tri, m->nmesh, sizeof *g->mesh_tri));
    for (int i = 0; i < m->nmesh; ++i) {
        char what[128];
        (void)snprintf(what, sizeof what, "mesh %.80s", asset_name(m, m->name_meshadr, i));
        STI_TRY(sti_bvh_triangles(m->mesh_vert + 3 * (int64_t)m->mesh_vertadr[i],
                                  m->mesh_face + 3 * (int64_t)m->mesh_faceadr[i], m->mesh_facenum[i], what,
                                  &g->mesh[i]));
        g->mesh_node[i] = (int)g->nnode;
        g->mesh_tri[i] = (int)g->ntri;
        g->nnode += g->mesh[i].nnode;
        g->ntri += m->mesh_facenum[i];
        if (g->nnode > INT32_MAX / NODE || g->ntri > INT32_MAX / TRI)
            return sti_error(STET_ERROR_LIMIT,
                             "%s: all meshes up to it have %lld triangles, more than can be drawn; simplify some", what,
                             (long long)g->ntri);
    }
    return STET_OK;
}

/* Copies heights in metres to elevation, behind their header. */
static void copy_heights(const gather *g, int i, float *heights)
{
    const mjModel *m = g->m;
    int64_t n = (int64_t)m->hfield_nrow[i] * m->hfield_ncol[i];
    for (int64_t k = 0; k < n; ++k)
        heights[k] = (float)((double)m->hfield_data[m->hfield_adr[i] + k] * m->hfield_size[4 * i + 2]);
}

/* Builds the tree of the surface; a field with one row or one column has none. */
static stet_result make_surface_tree(gather *g, int i, const char *what)
{
    const mjModel *m = g->m;
    if (m->hfield_nrow[i] < 2 || m->hfield_ncol[i] < 2) return STET_OK;
    float *heights = NULL;
    STI_TRY(alloc_list(&heights, (int64_t)m->hfield_nrow[i] * m->hfield_ncol[i], sizeof *heights));
    copy_heights(g, i, heights);
    stet_result result = sti_bvh_grid(m->hfield_size + (ptrdiff_t)4 * i, heights, m->hfield_nrow[i], m->hfield_ncol[i],
                                      what, &g->hfield[i]);
    sti_free(heights);
    return result;
}

static stet_result make_hfield_tree(gather *g, int i)
{
    const mjModel *m = g->m;
    int64_t n = (int64_t)m->hfield_nrow[i] * m->hfield_ncol[i];
    char what[128];
    (void)snprintf(what, sizeof what, "height field %.80s", asset_name(m, m->name_hfieldadr, i));
    STI_TRY(make_surface_tree(g, i, what));
    g->hfield_node[i] = (int)g->nnode;
    g->hfield_elevation[i] = (int)g->nelevation + HEADER;
    g->nnode += g->hfield[i].nnode;
    g->nelevation += HEADER + n;
    if (g->nnode > INT32_MAX / NODE || g->nelevation > INT32_MAX / 2)
        return sti_error(STET_ERROR_LIMIT,
                         "%s: all height fields up to it have %lld points, more than can be drawn; use fewer", what,
                         (long long)g->nelevation);
    return STET_OK;
}

static stet_result make_hfield_trees(gather *g)
{
    STI_TRY(alloc_list(&g->hfield, g->m->nhfield, sizeof *g->hfield));
    STI_TRY(alloc_list(&g->hfield_node, g->m->nhfield, sizeof *g->hfield_node));
    STI_TRY(alloc_list(&g->hfield_elevation, g->m->nhfield, sizeof *g->hfield_elevation));
    for (int i = 0; i < g->m->nhfield; ++i) STI_TRY(make_hfield_tree(g, i));
    return STET_OK;
}

static void copy_elevation(const gather *g, int i)
{
    const mjModel *m = g->m;
    double *to = g->elevation + g->hfield_elevation[i], high = 0;
    int64_t n = (int64_t)m->hfield_nrow[i] * m->hfield_ncol[i];
    for (int64_t k = 0; k < n; ++k) {
        to[k] = (double)(float)((double)m->hfield_data[m->hfield_adr[i] + k] * m->hfield_size[4 * i + 2]);
        high = fmax(high, to[k]);
    }
    to[-4] = m->hfield_size[(ptrdiff_t)4 * i];
    to[-3] = m->hfield_size[4 * i + 1];
    to[-2] = high;
    to[-1] = m->hfield_size[4 * i + 3];
}

static stet_result gather_trees(gather *g)
{
    STI_TRY(make_mesh_trees(g));
    STI_TRY(make_hfield_trees(g));
    STI_TRY(alloc_list(&g->node, g->nnode * NODE, sizeof *g->node));
    STI_TRY(alloc_list(&g->tri, g->ntri * TRI, sizeof *g->tri));
    STI_TRY(alloc_list(&g->elevation, g->nelevation, sizeof *g->elevation));
    for (int i = 0; i < g->m->nmesh; ++i) {
        sti_bvh_put_nodes(&g->mesh[i], g->node + (int64_t)NODE * g->mesh_node[i]);
        sti_bvh_put_triangles(&g->mesh[i], g->m->mesh_vert + 3 * (int64_t)g->m->mesh_vertadr[i],
                              g->m->mesh_face + 3 * (int64_t)g->m->mesh_faceadr[i], g->m->mesh_facenum[i],
                              g->tri + (int64_t)TRI * g->mesh_tri[i]);
    }
    for (int i = 0; i < g->m->nhfield; ++i) {
        sti_bvh_put_nodes(&g->hfield[i], g->node + (int64_t)NODE * g->hfield_node[i]);
        copy_elevation(g, i);
    }
    return STET_OK;
}

/* ---- geoms ------------------------------------------------------------------------------------------------------- */

/* Rounded up to a float, with a margin for a kernel's rounding. */
static double rounded_up(double x) { return (double)nextafterf((float)(x * (1 + 0x1p-21)), INFINITY); }

static void set_bounds(double *bounds, const double lower[3], const double upper[3])
{
    for (int k = 0; k < 3; ++k) {
        assert(!(lower[k] > upper[k]) && "a box has a lower and an upper side");
        double centre = (double)(float)(0.5 * (lower[k] + upper[k]));
        bounds[k] = centre;
        bounds[3 + k] = rounded_up(fmax(upper[k] - centre, centre - lower[k]));
    }
}

/* Sets the box of a shape that is symmetric about its centre. */
static void set_half_sizes(double *bounds, double x, double y, double z)
{
    set_bounds(bounds, (double[]){-x, -y, -z}, (double[]){x, y, z});
}

/* Largest distance of a mesh's vertices from the origin. */
static double mesh_radius(const mjModel *m, int mesh)
{
    double r2 = 0;
    for (int i = 0; i < m->mesh_vertnum[mesh]; ++i) {
        const float *v = m->mesh_vert + 3 * ((int64_t)m->mesh_vertadr[mesh] + i);
        r2 = fmax(r2, (double)v[0] * (double)v[0] + (double)v[1] * (double)v[1] + (double)v[2] * (double)v[2]);
    }
    return sqrt(r2);
}

static void gather_mesh_geom(const gather *g, int mesh, int *data, double *bounds, double *radius)
{
    if (mesh < 0) return;
    assert(mesh < g->m->nmesh);
    const sti_bvh_node *root = g->mesh[mesh].node;
    double lower[3], upper[3];
    for (int k = 0; k < 3; ++k) {
        lower[k] = (double)root->lower[k];
        upper[k] = (double)root->upper[k];
    }
    set_bounds(bounds, lower, upper);
    data[0] = g->mesh_node[mesh];
    data[1] = g->mesh_tri[mesh];
    *radius = mesh_radius(g->m, mesh);
}

static void gather_hfield_geom(const gather *g, int hfield, int *data, double *bounds, double *radius)
{
    if (hfield < 0) return;
    assert(hfield < g->m->nhfield && g->hfield_elevation[hfield] >= HEADER);
    const double *head = g->elevation + g->hfield_elevation[hfield] - HEADER;
    double tall = fmax(head[2], head[3]);
    set_bounds(bounds, (double[]){-head[0], -head[1], -head[3]}, (double[]){head[0], head[1], head[2]});
    data[0] = g->hfield_elevation[hfield];
    data[1] = g->m->hfield_nrow[hfield];
    data[2] = g->m->hfield_ncol[hfield];
    data[3] = g->hfield_node[hfield];
    *radius = sqrt(head[0] * head[0] + head[1] * head[1] + tall * tall);
}

int sti_model_planes(const mjModel *m)
{
    int n = 0;
    for (int i = 0; i < m->ngeom; ++i) n += m->geom_type[i] == mjGEOM_PLANE;
    return n;
}

/* Size and bounds of a row, of a type without an asset. s: size. */
static void fill_size(int type, const double *s, double *size, double *bounds)
{
    double radius = 0;
    switch (type) {
    case mjGEOM_PLANE: set_half_sizes(bounds, s[0] > 0 ? s[0] : NO_END, s[1] > 0 ? s[1] : NO_END, 0); break;
    case mjGEOM_SPHERE: set_half_sizes(bounds, radius = s[0], s[0], s[0]); break;
    case mjGEOM_CAPSULE: set_half_sizes(bounds, s[0], s[0], radius = s[0] + s[1]); break;
    case mjGEOM_CYLINDER:
        set_half_sizes(bounds, s[0], s[0], s[1]);
        radius = sqrt(s[0] * s[0] + s[1] * s[1]);
        break;
    case mjGEOM_ELLIPSOID:
        set_half_sizes(bounds, s[0], s[1], s[2]);
        radius = fmax(s[0], fmax(s[1], s[2]));
        break;
    case mjGEOM_BOX:
        set_half_sizes(bounds, s[0], s[1], s[2]);
        radius = sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2]);
        break;
    case STI_GEOM_CONE:
        set_bounds(bounds, (double[]){-s[0], -s[0], 0}, (double[]){s[0], s[0], s[1]});
        radius = fmax(s[0], s[1]);
        break;
    default: break; /* not visible, or with an asset */
    }
    for (int k = 0; k < 3; ++k) size[k] = s[k];
    size[3] = radius > 0 ? rounded_up(radius) : 0;
}

/* Row i of the shapes, of a type without an asset. */
static void fill_row(const sti_geom_rows *rows, ptrdiff_t i, int type, const double *s)
{
    rows->type[i] = type;
    fill_size(type, s, rows->size + 4 * i, rows->bounds + 6 * i);
}

/* Row i of the shapes. s: size; asset: of a mesh or a height field. */
static void gather_shape(const gather *g, int i, int type, const double *s, int asset)
{
    double *bounds = g->rows.bounds + (ptrdiff_t)6 * i, radius = 0;
    int *data = g->rows.data + (ptrdiff_t)4 * i;
    fill_row(&g->rows, i, type, s);
    if (type == mjGEOM_HFIELD)
        gather_hfield_geom(g, asset, data, bounds, &radius);
    else if (type == mjGEOM_MESH || type == mjGEOM_SDF)
        gather_mesh_geom(g, asset, data, bounds, &radius);
    if (radius > 0) g->rows.size[(ptrdiff_t)4 * i + 3] = rounded_up(radius);
}

/* Row i of the shapes: a piece of a tendon or of a flex, whose frame's z is as long as half the piece. */
static void gather_cord(const gather *g, int i, double width)
{
    g->rows.type[i] = mjGEOM_CAPSULE;
    double *size = g->rows.size + (ptrdiff_t)4 * i;
    size[0] = width;
    size[3] = rounded_up(sqrt(2 * width * width + 1));
    set_half_sizes(g->rows.bounds + (ptrdiff_t)6 * i, width, width, 1);
}

/* Rows of flexes and skins. No box contains a surface that deforms, and no ball. */
static void gather_soft(const gather *g)
{
    const mjModel *m = g->m;
    int first = sti_shape_flex(m);
    for (int i = 0; i < (int)m->nflex; ++i) gather_cord(g, first + i, m->flex_radius[i]);
    for (int i = 0; g->soft && i < g->soft->n; ++i) {
        const sti_soft_surface *s = &g->soft->surface[i];
        ptrdiff_t row = first + s->object;
        assert(row < sti_shape_under(m) && "surfaces that deform are flexes and skins");
        const int data[4] = {(int)g->nnode + s->first_node, (int)g->ntri + s->first_tri, g->soft->nnode, g->soft->ntri};
        g->rows.type[row] = mjGEOM_MESH;
        memcpy(g->rows.data + 4 * row, data, sizeof data);
        set_half_sizes(g->rows.bounds + 6 * row, NO_END, NO_END, NO_END);
        g->rows.size[4 * row + 3] = NO_END;
    }
}

static int site_mesh(const mjModel *m, int site)
{
#if mjVERSION_HEADER >= 4000000
    return m->site_dataid[site];
#else
    (void)m;
    (void)site;
    return -1;
#endif
}

static stet_result alloc_rows(sti_geom_rows *rows, int64_t n)
{
    STI_TRY(alloc_list(&rows->type, n, sizeof *rows->type));
    STI_TRY(alloc_list(&rows->size, n * 4, sizeof *rows->size));
    STI_TRY(alloc_list(&rows->data, n * 4, sizeof *rows->data));
    return alloc_list(&rows->bounds, n * 6, sizeof *rows->bounds);
}

static stet_result gather_geoms(gather *g)
{
    const mjModel *m = g->m;
    int64_t n = sti_shape_count(m) + m->nmesh;
    int plane = sti_shape_under(m);
    STI_TRY(alloc_rows(&g->rows, n));
    for (int i = 0; i < m->ngeom; ++i)
        gather_shape(g, i, m->geom_type[i], m->geom_size + (ptrdiff_t)3 * i, m->geom_dataid[i]);
    for (int i = 0; i < m->nsite; ++i)
        gather_shape(g, (int)m->ngeom + i, m->site_type[i], m->site_size + (ptrdiff_t)3 * i, site_mesh(m, i));
    for (int i = 0; i < m->ngeom; ++i)
        if (m->geom_type[i] == mjGEOM_PLANE)
            gather_shape(g, plane++, mjGEOM_PLANE, m->geom_size + (ptrdiff_t)3 * i, -1);
    for (int i = 0; i < m->ntendon; ++i) gather_cord(g, (int)(m->ngeom + m->nsite) + i, m->tendon_width[i]);
    gather_soft(g);
    for (int i = 0; i < m->nmesh; ++i) gather_shape(g, sti_shape_count(m) + i, mjGEOM_MESH, (double[]){0, 0, 0}, i);
    assert(plane == sti_shape_count(m) && "each plane has an underside");
    return STET_OK;
}

static void free_rows(sti_geom_rows *rows)
{
    sti_free(rows->type);
    sti_free(rows->size);
    sti_free(rows->data);
    sti_free(rows->bounds);
    *rows = (sti_geom_rows){0};
}

static void free_gather(gather *g)
{
    for (int i = 0; g->mesh && i < g->m->nmesh; ++i) sti_bvh_free(&g->mesh[i]);
    for (int i = 0; g->hfield && i < g->m->nhfield; ++i) sti_bvh_free(&g->hfield[i]);
    void *lists[] = {g->mesh, g->hfield, g->mesh_node, g->mesh_tri, g->hfield_node, g->hfield_elevation,
                     g->node, g->tri,    g->elevation};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) sti_free(lists[i]);
    free_rows(&g->rows);
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* An array of n numbers, and of `more` that kernels write. */
static stet_result upload_real(stet_device *device, const char *name, const double *from, int64_t n, int64_t more,
                               stet_array **out)
{
    n = at_least_one(n);
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_REAL, false, out, n + more));
    if (device->real_size == sizeof(double))
        return stet_array_write_worlds(*out, 0, n, from, (size_t)n * sizeof(double));
    float *rounded = NULL;
    STI_TRY(alloc_list(&rounded, n, sizeof *rounded));
    for (int64_t i = 0; i < n; ++i) rounded[i] = (float)from[i];
    stet_result result = stet_array_write_worlds(*out, 0, n, rounded, (size_t)n * sizeof *rounded);
    sti_free(rounded);
    return result;
}

static stet_result upload_int(stet_device *device, const char *name, const int *from, int64_t n, stet_array **out)
{
    n = at_least_one(n);
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_INT, false, out, n));
    return stet_array_write(*out, from, (size_t)n * sizeof *from);
}

/* The arrays of n rows. */
static stet_result upload_rows(stet_device *device, const sti_geom_rows *rows, int64_t n, sti_geoms *out)
{
    STI_TRY(upload_int(device, "geom.type", rows->type, n, &out->type));
    STI_TRY(upload_real(device, "geom.size", rows->size, n * 4, 0, &out->size));
    STI_TRY(upload_int(device, "geom.data", rows->data, n * 4, &out->data));
    return upload_real(device, "geom.bounds", rows->bounds, n * 6, 0, &out->bounds);
}

static void destroy_rows(sti_geoms *geoms)
{
    stet_array *arrays[] = {geoms->type, geoms->size, geoms->data, geoms->bounds};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) stet_array_destroy(arrays[i]);
    free_rows(&geoms->shown);
}

static stet_result upload(stet_device *device, gather *g, sti_geoms *geoms)
{
    int64_t nworld = g->soft ? g->soft->nworld : 0;
    int64_t own_nodes = g->soft ? nworld * g->soft->nnode : 0, own_tris = g->soft ? nworld * g->soft->ntri : 0;
    geoms->ngeom = (int)g->m->ngeom;
    geoms->nsite = (int)g->m->nsite;
    geoms->own_node = (int)g->nnode;
    geoms->own_tri = (int)g->ntri;
    geoms->nmodel = sti_shape_count(g->m);
    STI_TRY(upload_real(device, "geom.node", g->node, g->nnode * NODE, own_nodes * NODE, &geoms->node));
    STI_TRY(upload_real(device, "geom.tri", g->tri, g->ntri * TRI, own_tris * TRI, &geoms->tri));
    STI_TRY(upload_real(device, "geom.elevation", g->elevation, g->nelevation, 0, &geoms->elevation));
    geoms->host = g->rows;
    g->rows = (sti_geom_rows){0};
    return sti_geoms_add(geoms, NULL, 0);
}

stet_result sti_geoms_create(stet_device *device, const stet_model *model, const sti_soft *soft, sti_geoms **out)
{
    *out = NULL;
    gather g = {.m = model->mj, .soft = soft};
    sti_geoms *geoms = NULL;
    stet_result result = sti_alloc(&geoms, sizeof *geoms, "the shapes of the model");
    if (result == STET_OK) result = gather_trees(&g);
    if (result == STET_OK) result = gather_geoms(&g);
    if (result == STET_OK) result = upload(device, &g, geoms);
    free_gather(&g);
    if (result != STET_OK) {
        sti_geoms_destroy(geoms);
        return result;
    }
    *out = geoms;
    return STET_OK;
}

stet_result sti_geoms_deform(sti_geoms *geoms, const sti_soft *soft, stet_array *xform, stet_array *worlds, int n)
{
    assert(n >= 0 && n <= soft->nworld && worlds->nitem >= 1 && xform->worlds && xform->nitem % 12 == 0);
    if (soft->n == 0) return STET_OK;
    sti_validate_geoms(geoms);
    return STI_LAUNCH(sti_k_soft, xform->device, (int64_t)n * soft->n, sti_arg_array(xform), sti_arg_int(xform->nitem),
                      sti_arg_array(worlds), sti_arg_array(soft->table), sti_arg_array(soft->numbers),
                      sti_arg_array(soft->scratch), sti_arg_array(geoms->node), sti_arg_array(geoms->tri),
                      sti_arg_int(soft->n), sti_arg_int(soft->nscratch), sti_arg_int(geoms->own_node),
                      sti_arg_int(soft->nnode), sti_arg_int(geoms->own_tri), sti_arg_int(soft->ntri));
}

/* Row i of the shapes, but for the first sizes, becomes that of a mesh of the model. */
static void put_mesh(const sti_geoms *geoms, int mesh, const sti_geom_rows *rows, ptrdiff_t i)
{
    const sti_geom_rows *host = &geoms->host;
    ptrdiff_t from = (ptrdiff_t)geoms->nmodel + mesh;
    memcpy(rows->data + 4 * i, host->data + 4 * from, 4 * sizeof *rows->data);
    rows->size[4 * i + 3] = host->size[4 * from + 3];
    memcpy(rows->bounds + 6 * i, host->bounds + 6 * from, 6 * sizeof *rows->bounds);
}

/* Row i of the shapes, one that the model does not have. */
static void add_row(const sti_geoms *geoms, const sti_geom_rows *rows, ptrdiff_t i, const sti_geom_more *more)
{
    assert(more->type >= 0 && more->type <= STI_GEOM_CONE && (more->type != mjGEOM_MESH || more->mesh >= 0));
    fill_row(rows, i, more->type, more->size);
    if (more->type != mjGEOM_MESH) return;
    memset(rows->size + 4 * i, 0, 3 * sizeof *rows->size);
    put_mesh(geoms, more->mesh, rows, i);
}

/* The rows of the model, then n more. */
static stet_result gather_more(const sti_geoms *geoms, const sti_geom_more *more, int n, sti_geom_rows *rows)
{
    size_t nmodel = (size_t)geoms->nmodel;
    STI_TRY(alloc_rows(rows, geoms->nmodel + (int64_t)n));
    memcpy(rows->type, geoms->host.type, nmodel * sizeof *rows->type);
    memcpy(rows->size, geoms->host.size, nmodel * 4 * sizeof *rows->size);
    memcpy(rows->data, geoms->host.data, nmodel * 4 * sizeof *rows->data);
    memcpy(rows->bounds, geoms->host.bounds, nmodel * 6 * sizeof *rows->bounds);
    for (int i = 0; i < n; ++i) add_row(geoms, rows, geoms->nmodel + (ptrdiff_t)i, &more[i]);
    return STET_OK;
}

stet_result sti_geoms_add(sti_geoms *geoms, const sti_geom_more *more, int n)
{
    assert(n >= 0 && (n == 0 || more));
    sti_geoms made = {.nshape = geoms->nmodel + n};
    if (n == 0 && geoms->type && geoms->nshape == geoms->nmodel) return STET_OK; /* there are the model's alone */
    stet_result result = gather_more(geoms, more, n, &made.shown);
    if (result == STET_OK) result = upload_rows(geoms->node->device, &made.shown, made.nshape, &made);
    if (result != STET_OK) {
        destroy_rows(&made);
        return result;
    }
    destroy_rows(geoms);
    geoms->type = made.type;
    geoms->size = made.size;
    geoms->data = made.data;
    geoms->bounds = made.bounds;
    geoms->shown = made.shown;
    geoms->nshape = made.nshape;
    sti_validate_geoms(geoms);
    return STET_OK;
}

void sti_geoms_resize(const sti_geoms *geoms, const mjModel *m, const mjtNum *geom_size, const int *geom_dataid,
                      const sti_geom_rows *out)
{
    ptrdiff_t under = sti_shape_under(m);
    assert(geoms->ngeom == m->ngeom && geoms->nmodel == sti_shape_count(m) && "the model that the shapes are of");
    memcpy(out->size, geoms->shown.size, (size_t)geoms->nshape * 4 * sizeof *out->size);
    memcpy(out->data, geoms->shown.data, (size_t)geoms->nshape * 4 * sizeof *out->data);
    memcpy(out->bounds, geoms->shown.bounds, (size_t)geoms->nshape * 6 * sizeof *out->bounds);
    for (ptrdiff_t i = 0; i < m->ngeom; ++i) {
        const int type = m->geom_type[i];
        if (type == mjGEOM_MESH) put_mesh(geoms, geom_dataid[i], out, i);
        if (type == mjGEOM_HFIELD || type == mjGEOM_MESH || type == mjGEOM_SDF) continue;
        fill_size(type, geom_size + 3 * i, out->size + 4 * i, out->bounds + 6 * i);
        if (type != mjGEOM_PLANE) continue;
        fill_size(type, geom_size + 3 * i, out->size + 4 * under, out->bounds + 6 * under);
        ++under;
    }
    assert(under == geoms->nmodel && "each plane has an underside");
}

#ifndef NDEBUG
void sti_validate_geoms(const sti_geoms *g)
{
    const int64_t nnode = g->node->shape[0] / NODE, ntri = g->tri->shape[0] / TRI;
    assert(g->nmodel >= g->ngeom + g->nsite && g->nshape >= g->nmodel);
    assert(g->own_node >= 0 && g->own_node <= nnode && g->own_tri >= 0 && g->own_tri <= ntri);
    assert(g->type->shape[0] >= g->nshape && g->data->shape[0] >= 4 * (int64_t)g->nshape);
    assert(g->size->shape[0] >= 4 * (int64_t)g->nshape && g->bounds->shape[0] >= 6 * (int64_t)g->nshape);
    for (ptrdiff_t i = 0; i < g->nshape; ++i) {
        const int *data = g->shown.data + 4 * i, type = g->shown.type[i];
        assert(type >= 0 && type <= STI_GEOM_CONE && "a type that rays know");
        assert(g->shown.size[4 * i + 3] >= 0 && "a radius");
        for (int k = 3; k < 6; ++k) assert(g->shown.bounds[6 * i + k] >= 0 && "half sizes of a box");
        if (type == mjGEOM_MESH || type == mjGEOM_SDF)
            assert(data[0] >= 0 && data[0] <= nnode && data[1] >= 0 && data[1] <= ntri);
        else if (type == mjGEOM_HFIELD)
            assert(data[0] >= 0 && data[0] <= g->elevation->shape[0] && data[3] >= 0 && data[3] <= nnode);
    }
}
#endif

void sti_geoms_destroy(sti_geoms *geoms)
{
    if (!geoms) return;
    destroy_rows(geoms);
    stet_array_destroy(geoms->node);
    stet_array_destroy(geoms->tri);
    stet_array_destroy(geoms->elevation);
    free_rows(&geoms->host);
    sti_free(geoms);
}
