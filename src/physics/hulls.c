/* Hulls of meshes and height fields as tables; see hulls.h. */
#include "physics/hulls.h"

#include "physics/collide/hull_record.h"
#include "physics/layout.k.h"

/* Records as they are written; without memory they are only counted. */
typedef struct shapes {
    const mjModel *m;
    int *ints;
    double *reals;
    int64_t nint, nreal;
} shapes;

static void add_int(shapes *s, int64_t x)
{
    if (s->ints) s->ints[s->nint] = (int)x;
    s->nint++;
}

static void add_real(shapes *s, double x)
{
    if (s->reals) s->reals[s->nreal] = x;
    s->nreal++;
}

bool sti_physics_has_shape(const mjModel *m, int g)
{
    return m->geom_type[g] != mjGEOM_MESH || m->mesh_graphadr[m->geom_dataid[g]] >= 0;
}

/* The number in the hull of vertex i of the mesh. */
static int hull_vertex(const int *global, int nvertex, int i)
{
    int k = 0;
    while (k < nvertex - 1 && global[k] != i) ++k;
    return k;
}

/* The record of a hull (hull.k.h). MuJoCo's polygons name vertices of the mesh, ours those of the hull. */
static void add_hull(shapes *s, int mesh)
{
    const mjModel *m = s->m;
    const int *graph = m->mesh_graph + m->mesh_graphadr[mesh], nvertex = graph[0], *global = graph + 2 + nvertex;
    int nface = m->mesh_polynum[mesh], first = m->mesh_polyadr[mesh];
    int64_t face = s->nint + HULL_RECORD, corner = face + 2 * (int64_t)nface;
    add_int(s, nvertex);
    add_int(s, s->nreal);
    add_int(s, nface);
    add_int(s, s->nreal + 3 * (int64_t)nvertex);
    add_int(s, face);
    for (int i = 0; i < nvertex; ++i)
        for (int k = 0; k < 3; ++k)
            add_real(s, (double)m->mesh_vert[3 * ((int64_t)m->mesh_vertadr[mesh] + global[i]) + k]);
    for (int i = 0; i < 3 * nface; ++i) add_real(s, m->mesh_polynormal[3 * (int64_t)first + i]);
    for (int f = first; f < first + nface; ++f) {
        add_int(s, corner);
        add_int(s, m->mesh_polyvertnum[f]);
        corner += m->mesh_polyvertnum[f];
    }
    for (int f = first; f < first + nface; ++f)
        for (int k = 0; k < m->mesh_polyvertnum[f]; ++k) {
            int vertex = m->mesh_polyvert[m->mesh_polyvertadr[f] + k];
            add_int(s, s->ints ? hull_vertex(global, nvertex, vertex) : 0);
        }
}

/* Rows, columns, where the sizes are; heights follow them. */
static void add_field(shapes *s, int field)
{
    const mjModel *m = s->m;
    int n = m->hfield_nrow[field] * m->hfield_ncol[field];
    add_int(s, m->hfield_nrow[field]);
    add_int(s, m->hfield_ncol[field]);
    add_int(s, s->nreal);
    for (int k = 0; k < 4; ++k) add_real(s, m->hfield_size[4 * field + k]);
    for (int i = 0; i < n; ++i) add_real(s, (double)m->hfield_data[m->hfield_adr[field] + i]);
}

/* May a geom touch others, and does it need a record for it? */
static bool needs_shape(const mjModel *m, int g)
{
    bool touches = m->geom_contype[g] || m->geom_conaffinity[g];
    for (int i = 0; i < m->npair; ++i) touches = touches || m->pair_geom1[i] == g || m->pair_geom2[i] == g;
    return touches && (m->geom_type[g] == mjGEOM_MESH || m->geom_type[g] == mjGEOM_HFIELD) &&
           sti_physics_has_shape(m, g);
}

/* Adds the record of each shape once; place [ngeom] gets where a geom's is, if it is not NULL. */
static void add_shapes(shapes *s, int *place)
{
    const mjModel *m = s->m;
    for (int g = 0; g < m->ngeom; ++g) {
        int twin = 0;
        if (!needs_shape(m, g)) continue;
        while (!needs_shape(m, twin) || m->geom_type[twin] != m->geom_type[g] ||
               m->geom_dataid[twin] != m->geom_dataid[g])
            ++twin;
        if (place) place[g] = twin == g ? (int)s->nint : place[twin];
        if (twin != g) continue;
        if (m->geom_type[g] == mjGEOM_MESH)
            add_hull(s, m->geom_dataid[g]);
        else
            add_field(s, m->geom_dataid[g]);
    }
}

void sti_physics_put_hulls(sti_tables_builder *b)
{
    shapes count = {.m = b->model}, s = {.m = b->model};
    add_shapes(&count, NULL);
    sti_physics_new_table(b, M_GEOM_SHAPE, b->model->ngeom);
    s.ints = sti_physics_new_table(b, M_SHAPES, count.nint);
    s.reals = sti_physics_new_parameter(b, M_SHAPE_PRM, count.nreal);
    if (b->result == STET_OK) add_shapes(&s, b->t->m + b->t->m[M_GEOM_SHAPE]);
}
