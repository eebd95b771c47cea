/* Hulls of meshes and height fields as tables; see hulls.h. */
#include "physics/collide/hulls.h"

#include "base/memory.h"
#include "physics/collide/hull_record.h"
#include "physics/collide/hull_cells.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/sensors/sensors.h"

#include <string.h>

/* Records as they are written. */
typedef struct shapes {
    const mjModel *m;
    int *ints;
    double *reals;
    size_t nint, nreal, room_ints, room_reals;
    stet_result result;
} shapes;

/* Makes `more` ints or reals longer; what was there stays. */
#define GROW(array, n, room, more)                                                                                     \
    if (s->n + (more) > s->room && s->result == STET_OK) {                                                             \
        s->room = 2 * (s->n + (more));                                                                                 \
        s->result = sti_realloc(&s->array, s->room * sizeof *s->array, "shapes of the physics");                       \
    }

static void add_ints(shapes *s, const int *x, size_t n)
{
    GROW(ints, nint, room_ints, n)
    if (s->result != STET_OK || n == 0) return;
    memcpy(s->ints + s->nint, x, n * sizeof *x);
    s->nint += n;
}
static void add_int(shapes *s, size_t x) { add_ints(s, &(int){(int)x}, 1); }

static void add_real(shapes *s, double x)
{
    GROW(reals, nreal, room_reals, 1)
    if (s->result == STET_OK) s->reals[s->nreal++] = x;
}

bool sti_physics_has_shape(const mjModel *m, int g)
{
    return m->geom_type[g] != mjGEOM_MESH || m->mesh_graphadr[m->geom_dataid[g]] >= 0;
}

/* Lists: n of them, with where each begins among numbers [begin[n]]; places count from the record at `record` on. */
static void add_lists(shapes *s, size_t record, int n, int *begin, const int *numbers)
{
    int size = begin[n], shift = (int)(s->nint - record) + n + 1;
    for (int i = 0; i <= n; ++i) begin[i] += shift;
    add_ints(s, begin, (size_t)n + 1);
    add_ints(s, numbers, (size_t)size);
}

static void add_cells(shapes *s, size_t record, const double *vertices, int nvertex, int grid)
{
    int ncell = 6 * grid * grid, *begin = NULL, *list = NULL;
    if (grid == 0) return;
    s->ints[record + HULL_CELL] = (int)(s->nint - record);
    s->result = sti_alloc(&begin, ((size_t)ncell + 1) * sizeof *begin, "shapes of the physics");
    if (s->result == STET_OK) s->result = sti_hull_cells(vertices, nvertex, grid, begin, &list);
    if (s->result == STET_OK) add_lists(s, record, ncell, begin, list);
    sti_free(list);
    sti_free(begin);
}

/* The list of each vertex: corner [ncorner] has the vertices of all faces, of which `count` [nface] has how many. */
static void add_faces_at(shapes *s, size_t record, int nvertex, const int *corner, const int *count, int nface)
{
    int *begin = NULL, *list = NULL, ncorner = 0;
    for (int f = 0; f < nface; ++f) ncorner += count[f];
    s->ints[record + HULL_AT] = (int)(s->nint - record);
    s->result = sti_alloc(&begin, ((size_t)nvertex + 2) * sizeof *begin, "shapes of the physics");
    if (s->result == STET_OK)
        s->result = sti_alloc(&list, HULL_AT_SIZE * (size_t)ncorner * sizeof *list, "shapes of the physics");
    if (s->result == STET_OK) {
        for (int k = 0; k < ncorner; ++k) begin[corner[k] + 2] += HULL_AT_SIZE;
        for (int i = 0; i < nvertex; ++i) begin[i + 2] += begin[i + 1];
        for (int f = 0; f < nface; corner += count[f++])
            for (int k = 0; k < count[f]; ++k) {
                int *at = &begin[corner[k] + 1];
                memcpy(list + *at, (int[]){f, k, corner[(k > 0 ? k : count[f]) - 1]}, HULL_AT_SIZE * sizeof *list);
                *at += HULL_AT_SIZE;
            }
        add_lists(s, record, nvertex, begin, list);
    }
    sti_free(list);
    sti_free(begin);
}

/* The record of a hull (hull.k.h). MuJoCo's polygons name vertices of the mesh, ours those of the hull. */
static void add_hull(shapes *s, int mesh)
{
    const mjModel *m = s->m;
    const int *graph = m->mesh_graph + m->mesh_graphadr[mesh], nvertex = graph[0], *global = graph + 2 + nvertex;
    int nface = m->mesh_polynum[mesh], first = m->mesh_polyadr[mesh], grid = sti_hull_grid(nvertex), *number = NULL;
    const int *count = m->mesh_polyvertnum + first, *vertex = m->mesh_polyvert;
    size_t record = s->nint, vertices = s->nreal, face = record + HULL_RECORD, corner = face + 2 * (size_t)nface;
    const size_t head[HULL_RECORD] = {(size_t)nvertex, vertices, (size_t)nface, vertices + 3 * (size_t)nvertex, face,
                                      (size_t)grid};
    for (int i = 0; i < HULL_RECORD; ++i) add_int(s, head[i]);
    for (int i = 0; i < nvertex; ++i)
        for (int k = 0; k < 3; ++k)
            add_real(s, (double)m->mesh_vert[3 * ((int64_t)m->mesh_vertadr[mesh] + global[i]) + k]);
    for (int i = 0; i < 3 * nface; ++i) add_real(s, m->mesh_polynormal[3 * (int64_t)first + i]);
    for (int f = 0; f < nface; corner += (size_t)count[f++]) {
        add_int(s, corner);
        add_int(s, (size_t)count[f]);
    }
    if (s->result == STET_OK)
        s->result = sti_alloc(&number, (size_t)m->mesh_vertnum[mesh] * sizeof *number, "shapes of the physics");
    for (int i = 0; i < nvertex && s->result == STET_OK; ++i) number[global[i]] = i;
    for (int f = 0; f < nface && s->result == STET_OK; ++f)
        for (int k = 0; k < count[f]; ++k) add_int(s, (size_t)number[vertex[m->mesh_polyvertadr[first + f] + k]]);
    sti_free(number);
    if (s->result == STET_OK) add_cells(s, record, s->reals + vertices, nvertex, grid);
    if (s->result == STET_OK) add_faces_at(s, record, nvertex, s->ints + face + 2 * (size_t)nface, count, nface);
}

/* Rows, columns, where the sizes are; heights follow them. */
static void add_field(shapes *s, int field)
{
    const mjModel *m = s->m;
    int n = m->hfield_nrow[field] * m->hfield_ncol[field];
    add_int(s, (size_t)m->hfield_nrow[field]);
    add_int(s, (size_t)m->hfield_ncol[field]);
    add_int(s, s->nreal);
    for (int k = 0; k < 4; ++k) add_real(s, m->hfield_size[4 * field + k]);
    for (int i = 0; i < n; ++i) add_real(s, (double)m->hfield_data[m->hfield_adr[field] + i]);
}

bool sti_physics_touches(const mjModel *m, int g)
{
    bool touches = m->geom_contype[g] || m->geom_conaffinity[g];
    for (int i = 0; i < m->npair; ++i) touches = touches || m->pair_geom1[i] == g || m->pair_geom2[i] == g;
    return touches || sti_physics_measures(m, g);
}

/* Does a geom need a record? */
static bool needs_shape(const mjModel *m, int g)
{
    return sti_physics_touches(m, g) && (m->geom_type[g] == mjGEOM_MESH || m->geom_type[g] == mjGEOM_HFIELD) &&
           sti_physics_has_shape(m, g);
}

/* Adds the record of each shape once; place [ngeom] gets where a geom's is. */
static void add_shapes(shapes *s, int *place)
{
    const mjModel *m = s->m;
    for (int g = 0; g < m->ngeom; ++g) {
        int twin = 0;
        if (!needs_shape(m, g)) continue;
        while (!needs_shape(m, twin) || m->geom_type[twin] != m->geom_type[g] ||
               m->geom_dataid[twin] != m->geom_dataid[g])
            ++twin;
        place[g] = twin == g ? (int)s->nint : place[twin];
        if (twin != g) continue;
        if (m->geom_type[g] == mjGEOM_MESH)
            add_hull(s, m->geom_dataid[g]);
        else
            add_field(s, m->geom_dataid[g]);
    }
}

/* The same of each mesh: of those that worlds have in place of others, too; shape [nmesh]. */
static void add_meshes(shapes *s, const int *place, const bool *meshes, int *shape)
{
    const mjModel *m = s->m;
    for (int i = 0; i < m->nmesh; ++i) {
        int g = 0;
        while (g < m->ngeom && !(m->geom_type[g] == mjGEOM_MESH && m->geom_dataid[g] == i && needs_shape(m, g))) ++g;
        shape[i] = g < m->ngeom ? place[g] : (int)s->nint;
        if (g == m->ngeom && meshes[i] && m->mesh_graphadr[i] >= 0) add_hull(s, i);
    }
}

void sti_physics_put_meshes(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int64_t n = b->t->m[M_MESHED] ? m->ngeom : 0;
    double *mesh = sti_physics_new_parameter(b, M_GEOM_MESH, n);
    for (int g = 0; mesh && g < n; ++g) mesh[g] = m->geom_dataid[g];
}

void sti_physics_put_hulls(sti_tables_builder *b)
{
    shapes s = {.m = b->model, .result = b->result};
    int64_t nmesh = b->meshes ? b->model->nmesh : 0;
    int *shape = sti_physics_new_table(b, M_MESH_SHAPE, nmesh);
    ptrdiff_t at = shape ? shape - b->t->m : 0;
    int *place = sti_physics_new_table(b, M_GEOM_SHAPE, b->model->ngeom);
    sti_physics_fill(b, M_MESHED, b->meshes != NULL);
    if (place) add_shapes(&s, place);
    if (place && b->meshes) add_meshes(&s, place, b->meshes, b->t->m + at);
    if (b->result == STET_OK) b->result = s.result;
    double *reals = sti_physics_new_parameter(b, M_SHAPE_PRM, (int64_t)s.nreal);
    if (reals && s.nreal > 0) memcpy(reals, s.reals, s.nreal * sizeof *reals);
    b->t->shapes = s.ints;
    b->t->nshape = (int)s.nint;
    sti_free(s.reals);
}
