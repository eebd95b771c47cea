/* Tables of surfaces that deform; see soft.h. Trees are built for the pose at qpos0. */
#include "geom/soft.h"

#include "geom/bvh.h"
#include "geom/soft_rows.k.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NODE = 8, TRI = 12 };

/* Numbers of a table, one after the other. */
typedef struct list {
    void *data;
    int64_t n, room;
} list;

/* A surface while it is gathered. */
typedef struct surface {
    char what[128];
    int nbone, nvert, nshare, nface, ntri;
    int *body;
    double *bind;              /* [nbone * 12] */
    double *place;             /* [nvert * 3] */
    int *share, *share_bone;   /* [nvert + 1], [nshare] */
    double *weight;            /* [nshare] */
    int *face;                 /* [nface * 3] */
    bool equal;                /* SOFT_EQUAL */
    int *tri;                  /* [ntri * SOFT_CORNERS] */
    double *lift, *coord;      /* [ntri * 3], [ntri * 6] */
    int *around, *around_face; /* [nvert + 1], [nface * 3] */
    sti_bvh tree;
} surface;

typedef struct gather {
    const mjModel *m;
    sti_soft *soft;
    list ints, reals;
} gather;

static void free_surface(surface *s)
{
    void *lists[] = {s->body, s->bind, s->place, s->share, s->share_bone, s->weight,
                     s->face, s->tri,  s->lift,  s->coord, s->around,     s->around_face};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) sti_free(lists[i]);
    sti_bvh_free(&s->tree);
}

static stet_result alloc_list(void *out, int64_t n, size_t item)
{
    size_t size;
    STI_TRY(sti_mul_size((size_t)n + 1, item, &size, "a surface that deforms"));
    return sti_alloc(out, size, "a surface that deforms");
}

static int most_of(const int *begin, int n)
{
    int most = 0;
    for (int i = 0; i < n; ++i) most = begin[i + 1] - begin[i] > most ? begin[i + 1] - begin[i] : most;
    return most;
}

/* ---- skins ------------------------------------------------------------------------------------------------------- */

/* The matrix from the frame in which a skin is given to that of a bone's body. */
static void skin_bind(const mjModel *m, ptrdiff_t bone, double out[12])
{
    const float *place = m->skin_bonebindpos + 3 * bone;
    double quat[4], turn[9];
    for (int k = 0; k < 4; ++k) quat[k] = (double)m->skin_bonebindquat[4 * bone + k];
    mju_normalize4(quat);
    mju_quat2Mat(turn, quat);
    for (int r = 0; r < 3; ++r) {
        out[4 * r + 3] = 0;
        for (int k = 0; k < 3; ++k) {
            out[4 * r + k] = turn[3 * k + r];
            out[4 * r + 3] -= turn[3 * k + r] * (double)place[k];
        }
    }
}

/* Bones, and shares by vertex, which the model has by bone. */
static stet_result skin_bones(const mjModel *m, ptrdiff_t skin, surface *s)
{
    int first = m->skin_boneadr[skin];
    s->nbone = m->skin_bonenum[skin];
    STI_TRY(alloc_list(&s->body, s->nbone, sizeof *s->body));
    STI_TRY(alloc_list(&s->bind, s->nbone, 12 * sizeof *s->bind));
    STI_TRY(alloc_list(&s->share, s->nvert + 1, sizeof *s->share));
    for (int b = 0; b < s->nbone; ++b) {
        s->body[b] = m->skin_bonebodyid[first + b];
        skin_bind(m, first + b, s->bind + (ptrdiff_t)12 * b);
        for (int i = 0; i < m->skin_bonevertnum[first + b]; ++i)
            s->share[m->skin_bonevertid[m->skin_bonevertadr[first + b] + i] + 2]++;
        s->nshare += m->skin_bonevertnum[first + b];
    }
    STI_TRY(alloc_list(&s->share_bone, s->nshare, sizeof *s->share_bone));
    STI_TRY(alloc_list(&s->weight, s->nshare, sizeof *s->weight));
    for (int v = 1; v <= s->nvert; ++v) s->share[v + 1] += s->share[v];
    for (int b = 0; b < s->nbone; ++b) {
        for (int i = 0; i < m->skin_bonevertnum[first + b]; ++i) {
            int at = m->skin_bonevertadr[first + b] + i, to = s->share[m->skin_bonevertid[at] + 1]++;
            s->share_bone[to] = b;
            s->weight[to] = (double)m->skin_bonevertweight[at];
        }
    }
    return STET_OK;
}

static stet_result gather_skin(const mjModel *m, int skin, surface *s)
{
    const int *faces = m->skin_face + 3 * (ptrdiff_t)m->skin_faceadr[skin];
    const float *vertices = m->skin_vert + 3 * (ptrdiff_t)m->skin_vertadr[skin];
    s->nvert = m->skin_vertnum[skin];
    s->nface = s->ntri = m->skin_facenum[skin];
    STI_TRY(skin_bones(m, skin, s));
    STI_TRY(alloc_list(&s->place, s->nvert, 3 * sizeof *s->place));
    STI_TRY(alloc_list(&s->face, s->nface, 3 * sizeof *s->face));
    STI_TRY(alloc_list(&s->tri, s->ntri, SOFT_CORNERS * sizeof *s->tri));
    STI_TRY(alloc_list(&s->lift, s->ntri, 3 * sizeof *s->lift));
    for (ptrdiff_t i = 0; i < 3 * (ptrdiff_t)s->nvert; ++i) s->place[i] = (double)vertices[i];
    for (ptrdiff_t i = 0; i < 3 * (ptrdiff_t)s->nface; ++i) {
        s->face[i] = s->tri[i / 3 * SOFT_CORNERS + i % 3] = faces[i];
        s->lift[i] = (double)m->skin_inflate[skin];
    }
    if (m->skin_texcoordadr[skin] < 0) return STET_OK;
    const float *coord = m->skin_texcoord + 2 * (ptrdiff_t)m->skin_texcoordadr[skin];
    STI_TRY(alloc_list(&s->coord, s->ntri, 6 * sizeof *s->coord));
    for (ptrdiff_t i = 0; i < 6 * (ptrdiff_t)s->ntri; ++i)
        s->coord[i] = (double)coord[2 * (ptrdiff_t)faces[i / 2] + i % 2];
    return STET_OK;
}

/* ---- flexes ------------------------------------------------------------------------------------------------------ */

/* Each vertex moves with one body. */
static stet_result flex_bones(const mjModel *m, ptrdiff_t flex, surface *s)
{
    const int *bodies = m->flex_vertbodyid + m->flex_vertadr[flex];
    int *bone; /* of each body; 0: none, else from 1 on */
    STI_TRY(alloc_list(&s->body, s->nvert, sizeof *s->body));
    STI_TRY(alloc_list(&s->bind, s->nvert, 12 * sizeof *s->bind));
    STI_TRY(alloc_list(&s->share, s->nvert, sizeof *s->share));
    STI_TRY(alloc_list(&s->share_bone, s->nvert, sizeof *s->share_bone));
    STI_TRY(alloc_list(&s->weight, s->nvert, sizeof *s->weight));
    STI_TRY(alloc_list(&bone, m->nbody, sizeof *bone));
    for (int v = 0; v < s->nvert; ++v) {
        if (!bone[bodies[v]]) {
            double *bind = s->bind + (ptrdiff_t)12 * s->nbone;
            bind[0] = bind[5] = bind[10] = 1;
            s->body[s->nbone] = bodies[v];
            bone[bodies[v]] = ++s->nbone;
        }
        s->share[v + 1] = v + 1;
        s->share_bone[v] = bone[bodies[v]] - 1;
        s->weight[v] = 1;
    }
    s->nshare = s->nvert;
    sti_free(bone);
    return STET_OK;
}

/* Of a flex with nodes these are the bones: points of bodies, between which vertices are interpolated. */
static stet_result node_bones(const mjModel *m, ptrdiff_t flex, surface *s)
{
    int n[3], first = m->flex_nodeadr[flex], order = m->flex_interp[flex];
    (void)sti_soft_nodes(m, flex, n);
    s->nbone = m->flex_nodenum[flex];
    STI_TRY(alloc_list(&s->body, s->nbone, sizeof *s->body));
    STI_TRY(alloc_list(&s->bind, s->nbone, 12 * sizeof *s->bind));
    STI_TRY(alloc_list(&s->share, s->nvert, sizeof *s->share));
    STI_TRY(alloc_list(&s->share_bone, 27 * (int64_t)s->nvert, sizeof *s->share_bone));
    STI_TRY(alloc_list(&s->weight, 27 * (int64_t)s->nvert, sizeof *s->weight));
    for (ptrdiff_t b = 0; b < s->nbone; ++b) {
        double *bind = s->bind + 12 * b;
        bind[0] = bind[5] = bind[10] = 1;
        for (int k = 0; k < 3; ++k) bind[4 * k + 3] = m->flex_node[3 * (first + b) + k];
        s->body[b] = m->flex_nodebodyid[first + b];
    }
    for (ptrdiff_t v = 0; v < s->nvert; ++v) {
        s->nshare += sti_soft_node_shares(m->flex_vert0 + 3 * (m->flex_vertadr[flex] + v), n, order,
                                          s->share_bone + s->nshare, s->weight + s->nshare);
        s->share[v + 1] = s->nshare;
    }
    return STET_OK;
}

/* Texture coordinates of a flex' vertices: those of the first element that has them. */
static stet_result flex_coords(const mjModel *m, ptrdiff_t flex, const surface *s, double **out)
{
    int n = m->flex_elemnum[flex] * (m->flex_dim[flex] + 1), first = m->flex_elemdataadr[flex];
    const float *from = m->flex_texcoord + 2 * (ptrdiff_t)m->flex_texcoordadr[flex];
    STI_TRY(alloc_list(out, s->nvert, 2 * sizeof **out));
    for (int i = n - 1; i >= 0; --i)
        for (int k = 0; k < 2; ++k)
            (*out)[2 * (ptrdiff_t)m->flex_elem[first + i] + k] =
                (double)from[2 * (ptrdiff_t)m->flex_elemtexcoord[first + i] + k];
    return STET_OK;
}

/* Adds a triangle; side: +1 or -1 for each corner, of which `lift` is the distance. */
static void add_triangle(surface *s, const int vertex[3], const int side[3], double lift, int kind, const double *coord)
{
    int *row = s->tri + (ptrdiff_t)SOFT_CORNERS * s->ntri;
    for (ptrdiff_t c = 0; c < 3; ++c) {
        row[c] = vertex[c];
        s->lift[3 * (ptrdiff_t)s->ntri + c] = lift * side[c];
        for (int k = 0; k < 2 && coord; ++k)
            s->coord[6 * (ptrdiff_t)s->ntri + 2 * c + k] = coord[2 * (ptrdiff_t)vertex[c] + k];
    }
    row[3] = kind;
    s->ntri++;
}

/* A cloth has two sides, and walls between them along its edge; a solid has its surface. */
static void flex_triangles(const mjModel *m, ptrdiff_t flex, surface *s, const double *coord)
{
    const int up[3] = {1, 1, 1}, down[3] = {-1, -1, -1}, *shell = m->flex_shell + m->flex_shelldataadr[flex];
    bool flat = m->flex_flatskin[flex], cloth = m->flex_dim[flex] == 2;
    for (ptrdiff_t f = 0; f < s->nface; ++f) {
        const int *v = s->face + 3 * f;
        add_triangle(s, v, up, m->flex_radius[flex], flat ? SOFT_FLAT : 0, coord);
        if (cloth)
            add_triangle(s, (int[]){v[0], v[2], v[1]}, down, m->flex_radius[flex], flat ? SOFT_FLAT : SOFT_TURNED,
                         coord);
    }
    for (ptrdiff_t e = 0; cloth && e < m->flex_shellnum[flex]; ++e) {
        int a = shell[2 * e], b = shell[2 * e + 1];
        add_triangle(s, (int[]){a, b, b}, (int[]){1, -1, 1}, m->flex_radius[flex], SOFT_FLAT, coord);
        add_triangle(s, (int[]){b, a, a}, (int[]){-1, 1, -1}, m->flex_radius[flex], SOFT_FLAT, coord);
    }
}

static stet_result gather_flex(const mjModel *m, int flex, surface *s)
{
    bool cloth = m->flex_dim[flex] == 2;
    const int *faces = cloth ? m->flex_elem + m->flex_elemdataadr[flex] : m->flex_shell + m->flex_shelldataadr[flex];
    double *coord = NULL;
    s->equal = true;
    s->nvert = m->flex_vertnum[flex];
    s->nface = cloth ? m->flex_elemnum[flex] : m->flex_shellnum[flex];
    int64_t ntri = cloth ? 2 * ((int64_t)s->nface + m->flex_shellnum[flex]) : s->nface;
    bool nodes = m->flex_interp[flex] != 0;
    STI_TRY(nodes ? node_bones(m, flex, s) : flex_bones(m, flex, s));
    STI_TRY(alloc_list(&s->place, s->nvert, 3 * sizeof *s->place));
    STI_TRY(alloc_list(&s->face, s->nface, 3 * sizeof *s->face));
    STI_TRY(alloc_list(&s->tri, ntri, SOFT_CORNERS * sizeof *s->tri));
    STI_TRY(alloc_list(&s->lift, ntri, 3 * sizeof *s->lift));
    if (!nodes) /* else vertices are where the nodes' weights say, with none of their own */
        memcpy(s->place, m->flex_vert + 3 * (ptrdiff_t)m->flex_vertadr[flex], 3 * (size_t)s->nvert * sizeof *s->place);
    memcpy(s->face, faces, 3 * (size_t)s->nface * sizeof *s->face);
    if (m->flex_texcoordadr[flex] >= 0) {
        STI_TRY(alloc_list(&s->coord, ntri, 6 * sizeof *s->coord));
        STI_TRY(flex_coords(m, flex, s, &coord));
    }
    flex_triangles(m, flex, s, coord);
    sti_free(coord);
    return STET_OK;
}

/* ---- what follows from them -------------------------------------------------------------------------------------- */

static stet_result list_around(surface *s)
{
    STI_TRY(alloc_list(&s->around, s->nvert + 1, sizeof *s->around));
    STI_TRY(alloc_list(&s->around_face, s->nface, 3 * sizeof *s->around_face));
    for (ptrdiff_t i = 0; i < 3 * (ptrdiff_t)s->nface; ++i) s->around[s->face[i] + 2]++;
    for (int v = 1; v <= s->nvert; ++v) s->around[v + 1] += s->around[v];
    for (ptrdiff_t i = 0; i < 3 * (ptrdiff_t)s->nface; ++i) s->around_face[s->around[s->face[i] + 1]++] = (int)(i / 3);
    return STET_OK;
}

/* Puts a point of a body's frame into the world's, at qpos0. */
static void body_point(const mjModel *m, ptrdiff_t body, double point[3])
{
    for (; body > 0; body = m->body_parentid[body]) {
        const double from[3] = {point[0], point[1], point[2]}, *place = m->body_pos + 3 * body;
        double turn[9];
        mju_quat2Mat(turn, m->body_quat + 4 * body);
        for (ptrdiff_t r = 0; r < 3; ++r)
            point[r] = turn[3 * r] * from[0] + turn[3 * r + 1] * from[1] + turn[3 * r + 2] * from[2] + place[r];
    }
}

/* Vertices at qpos0, without what lies above them. */
static void first_places(const mjModel *m, const surface *s, float *out)
{
    for (int v = 0; v < s->nvert; ++v) {
        double sum[3] = {0};
        for (int i = s->share[v]; i < s->share[v + 1]; ++i) {
            const double *bind = s->bind + (ptrdiff_t)12 * s->share_bone[i], *p = s->place + (ptrdiff_t)3 * v;
            double point[3];
            for (ptrdiff_t r = 0; r < 3; ++r)
                point[r] = bind[4 * r] * p[0] + bind[4 * r + 1] * p[1] + bind[4 * r + 2] * p[2] + bind[4 * r + 3];
            body_point(m, s->body[s->share_bone[i]], point);
            for (int k = 0; k < 3; ++k) sum[k] += s->weight[i] * point[k];
        }
        for (int k = 0; k < 3; ++k) out[3 * (ptrdiff_t)v + k] = (float)sum[k];
    }
}

static stet_result make_tree(const mjModel *m, surface *s)
{
    float *places = NULL;
    int *corners = NULL;
    stet_result result = alloc_list(&places, s->nvert, 3 * sizeof *places);
    if (!result) result = alloc_list(&corners, s->ntri, 3 * sizeof *corners);
    if (!result) {
        first_places(m, s, places);
        for (ptrdiff_t i = 0; i < 3 * (ptrdiff_t)s->ntri; ++i) corners[i] = s->tri[i / 3 * SOFT_CORNERS + i % 3];
        result = sti_bvh_triangles(places, corners, s->ntri, s->what, &s->tree);
    }
    sti_free(places);
    sti_free(corners);
    return result;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* Room for n more, zeroed, in *out; returns where it begins. */
static stet_result extend(list *l, int64_t n, size_t item, void *out, int *at)
{
    if (l->n + n > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT, "skins and flexes have more vertices and triangles than can be drawn");
    if (l->n + n > l->room) {
        size_t size;
        l->room = 2 * (l->n + n);
        STI_TRY(sti_mul_size((size_t)l->room, item, &size, "a surface that deforms"));
        STI_TRY(sti_realloc(&l->data, size, "a surface that deforms"));
    }
    *at = (int)l->n;
    *(void **)out = (char *)l->data + (size_t)l->n * item;
    l->n += n;
    return STET_OK;
}

static stet_result add_ints(gather *g, const int *values, int64_t n, int *at)
{
    int *to;
    STI_TRY(extend(&g->ints, n, sizeof *to, &to, at));
    if (n) memcpy(to, values, (size_t)n * sizeof *to);
    return STET_OK;
}

static stet_result add_reals(gather *g, const double *values, int64_t n, int *at)
{
    double *to;
    STI_TRY(extend(&g->reals, n, sizeof *to, &to, at));
    if (n) memcpy(to, values, (size_t)n * sizeof *to);
    return STET_OK;
}

/* Bones, vertices, faces. */
static stet_result add_vertices(gather *g, const surface *s, int head[SOFT_HEAD])
{
    double *place;
    head[SOFT_NBONE] = s->nbone;
    head[SOFT_NVERT] = s->nvert;
    head[SOFT_NFACE] = s->nface;
    head[SOFT_SHARES] = most_of(s->share, s->nvert);
    head[SOFT_AROUND_MOST] = most_of(s->around, s->nvert);
    head[SOFT_EQUAL] = s->equal;
    STI_TRY(add_ints(g, s->body, s->nbone, &head[SOFT_BONE]));
    STI_TRY(add_reals(g, s->bind, (int64_t)12 * s->nbone, &head[SOFT_BIND_REAL]));
    STI_TRY(extend(&g->reals, (int64_t)3 * s->nvert, sizeof *place, &place, &head[SOFT_PLACE_REAL]));
    for (ptrdiff_t i = 0; i < 3 * (ptrdiff_t)s->nvert; ++i) place[i % 3 * s->nvert + i / 3] = s->place[i];
    STI_TRY(add_ints(g, s->share, s->nvert + 1, &head[SOFT_SHARE]));
    STI_TRY(add_ints(g, s->share_bone, s->nshare, &head[SOFT_SHARE_BONE]));
    STI_TRY(add_reals(g, s->weight, s->nshare, &head[SOFT_WEIGHT_REAL]));
    STI_TRY(add_ints(g, s->face, (int64_t)3 * s->nface, &head[SOFT_FACE]));
    STI_TRY(add_ints(g, s->around, s->nvert + 1, &head[SOFT_AROUND]));
    return add_ints(g, s->around_face, (int64_t)3 * s->nface, &head[SOFT_AROUND_FACE]);
}

/* Triangles in the order of the tree. */
static stet_result add_triangles(gather *g, const surface *s, int head[SOFT_HEAD], sti_soft_surface *out)
{
    int *row;
    double *lift;
    head[SOFT_NTRI] = out->ntri = s->ntri;
    STI_TRY(extend(&g->ints, (int64_t)SOFT_CORNERS * s->ntri, sizeof *row, &row, &head[SOFT_TRI]));
    STI_TRY(extend(&g->reals, (int64_t)3 * s->ntri, sizeof *lift, &lift, &head[SOFT_LIFT_REAL]));
    if (s->coord) STI_TRY(alloc_list(&out->coord, s->ntri, 6 * sizeof *out->coord));
    for (ptrdiff_t i = 0; i < s->ntri; ++i) {
        ptrdiff_t from = s->tree.order[i];
        assert(from >= 0 && from < s->ntri && "the tree's order is one of the triangles");
        memcpy(row + SOFT_CORNERS * i, s->tri + SOFT_CORNERS * from, SOFT_CORNERS * sizeof *row);
        memcpy(lift + 3 * i, s->lift + 3 * from, 3 * sizeof *lift);
        if (s->coord) memcpy(out->coord + 6 * i, s->coord + 6 * from, 6 * sizeof *s->coord);
    }
    return STET_OK;
}

/* Rows of nodes: leaves, then inner nodes, the deepest first. A child's number is above its parent's. */
static void fill_nodes(const sti_bvh *tree, int head[SOFT_HEAD], unsigned char *depth, int *level, int *row)
{
    int count[STI_BVH_DEPTH + 1] = {0}, next[STI_BVH_DEPTH + 1], nleaf = 0, nlevel = 0;
    for (int i = 0; i < tree->nnode; ++i) {
        int first = (int)tree->node[i].first;
        bool leaf = tree->node[i].count >= 0;
        nleaf += leaf;
        if (leaf) continue;
        count[depth[i]]++;
        depth[first] = depth[first + 1] = (unsigned char)(depth[i] + 1);
        nlevel = depth[i] + 1 > nlevel ? depth[i] + 1 : nlevel;
    }
    assert(2 * nleaf - 1 == tree->nnode && nlevel <= STI_BVH_DEPTH);
    head[SOFT_NLEAF] = nleaf;
    head[SOFT_NLEVEL] = nlevel;
    for (int l = 0; l < nlevel; ++l) {
        next[nlevel - 1 - l] = level[l];
        level[l + 1] = level[l] + count[nlevel - 1 - l];
    }
    for (int i = 0, n = 0; i < tree->nnode; ++i) {
        bool leaf = tree->node[i].count >= 0;
        int *to = row + (ptrdiff_t)3 * (leaf ? n++ : nleaf + next[depth[i]]++);
        to[0] = i;
        to[1] = (int)tree->node[i].first;
        to[2] = (int)tree->node[i].count;
    }
}

static stet_result add_nodes(gather *g, const surface *s, int head[SOFT_HEAD])
{
    int level[STI_BVH_DEPTH + 2] = {0}, *row;
    unsigned char *depth;
    STI_TRY(extend(&g->ints, (int64_t)3 * s->tree.nnode, sizeof *row, &row, &head[SOFT_LEAF]));
    STI_TRY(alloc_list(&depth, s->tree.nnode, sizeof *depth));
    fill_nodes(&s->tree, head, depth, level, row);
    sti_free(depth);
    head[SOFT_INNER] = head[SOFT_LEAF] + 3 * head[SOFT_NLEAF];
    return add_ints(g, level, head[SOFT_NLEVEL] + 1, &head[SOFT_LEVEL]);
}

static stet_result add_surface(gather *g, const surface *s, int i)
{
    sti_soft *soft = g->soft;
    sti_soft_surface *out = &soft->surface[i];
    int head[SOFT_HEAD] = {0};
    head[SOFT_FIRST_NODE] = out->first_node = soft->nnode;
    head[SOFT_FIRST_TRI] = out->first_tri = soft->ntri;
    head[SOFT_FIRST_SCRATCH] = soft->nscratch;
    STI_TRY(add_vertices(g, s, head));
    STI_TRY(add_triangles(g, s, head, out));
    STI_TRY(add_nodes(g, s, head));
    memcpy((int *)g->ints.data + (ptrdiff_t)SOFT_HEAD * i, head, sizeof head);
    int64_t nscratch = soft->nscratch + 12 * (int64_t)s->nbone + 6 * (int64_t)s->nvert + 3 * (int64_t)s->nface;
    int64_t nnode = (int64_t)soft->nnode + s->tree.nnode, ntri = soft->ntri + 2 * (int64_t)s->ntri;
    if (nscratch > INT32_MAX || nnode > INT32_MAX / NODE || ntri > INT32_MAX / TRI)
        return sti_error(STET_ERROR_LIMIT, "%s: all skins and flexes up to it have more triangles than can be drawn",
                         s->what);
    soft->nscratch = (int)nscratch;
    soft->nnode = (int)nnode;
    soft->ntri = (int)ntri;
    return STET_OK;
}

static stet_result gather_surface(gather *g, int i)
{
    const mjModel *m = g->m;
    surface s = {0};
    int object = g->soft->surface[i].object, skin = object - (int)m->nflex;
    const char *name = m->names + (skin < 0 ? m->name_flexadr[object] : m->name_skinadr[skin]);
    (void)snprintf(s.what, sizeof s.what, "%s %.80s", skin < 0 ? "flex" : "skin", name[0] ? name : "without a name");
    stet_result result = skin < 0 ? gather_flex(m, object, &s) : gather_skin(m, skin, &s);
    if (!result) result = list_around(&s);
    if (!result) result = make_tree(m, &s);
    if (!result) result = add_surface(g, &s, i);
    free_surface(&s);
    return result;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

bool sti_soft_object(const mjModel *m, int object)
{
    if (object >= (int)m->nflex) return m->skin_facenum[object - m->nflex] > 0;
    int n[3];
    int nface =
        m->flex_dim[object] == 2 ? m->flex_elemnum[object] : m->flex_shellnum[object]; /* a shell may be closed */
    return m->flex_dim[object] > 1 && nface > 0 && (m->flex_interp[object] == 0 || sti_soft_nodes(m, object, n));
}

int sti_soft_material(const mjModel *m, int object)
{
    int skin = object - (int)m->nflex;
#if mjVERSION_HEADER >= 4000000
    return skin >= 0 ? m->skin_matid[skin] : m->flex_matid[m->flex_elemadr[object]];
#else
    return skin >= 0 ? m->skin_matid[skin] : m->flex_matid[object];
#endif
}

static stet_result write_tables(gather *g, stet_device *device)
{
    sti_soft *soft = g->soft;
    const double *from = g->reals.data;
    float *rounded = NULL;
    STI_TRY(STI_ARRAY(device, "surfaces", STET_DTYPE_INT, false, &soft->table, g->ints.n));
    STI_TRY(STI_ARRAY(device, "vertices", STET_DTYPE_REAL, false, &soft->numbers, g->reals.n));
    STI_TRY(
        STI_ARRAY(device, "vertices of worlds", STET_DTYPE_REAL, false, &soft->scratch, soft->nworld * soft->nscratch));
    STI_TRY(stet_array_write(soft->table, g->ints.data, (size_t)g->ints.n * sizeof(int)));
    if (device->real_size == sizeof(double))
        return stet_array_write(soft->numbers, from, (size_t)g->reals.n * sizeof *from);
    STI_TRY(alloc_list(&rounded, g->reals.n, sizeof *rounded));
    for (int64_t i = 0; i < g->reals.n; ++i) rounded[i] = (float)from[i];
    stet_result result = stet_array_write(soft->numbers, rounded, (size_t)g->reals.n * sizeof *rounded);
    sti_free(rounded);
    return result;
}

static stet_result fill_soft(stet_device *device, const mjModel *m, const bool *drawn, sti_soft *soft)
{
    gather g = {.m = m, .soft = soft};
    int nobject = (int)(m->nflex + m->nskin), at;
    int *heads;
    STI_TRY(alloc_list(&soft->surface, nobject, sizeof *soft->surface));
    for (int i = 0; i < nobject; ++i)
        if (drawn[i] && sti_soft_object(m, i)) soft->surface[soft->n++].object = i;
    if (soft->n == 0) return STET_OK;
    stet_result result = extend(&g.ints, (int64_t)SOFT_HEAD * soft->n, sizeof *heads, &heads, &at);
    for (int i = 0; i < soft->n && !result; ++i) result = gather_surface(&g, i);
    if (!result) result = write_tables(&g, device);
    sti_free(g.ints.data);
    sti_free(g.reals.data);
    return result;
}

stet_result sti_soft_create(stet_device *device, const stet_model *model, const bool *drawn, int64_t nworld,
                            sti_soft **out)
{
    sti_soft *soft;
    *out = NULL;
    if (nworld > STI_BVH_LIMIT)
        return sti_error(STET_ERROR_LIMIT, "%lld worlds are more than the %d that can be drawn; use fewer",
                         (long long)nworld, STI_BVH_LIMIT);
    STI_TRY(sti_alloc(&soft, sizeof *soft, "surfaces that deform"));
    soft->nworld = nworld;
    stet_result result = fill_soft(device, model->mj, drawn, soft);
    if (result)
        sti_soft_destroy(soft);
    else
        *out = soft;
    if (!result) sti_validate_soft(soft);
    return result;
}

#ifndef NDEBUG
void sti_validate_soft(const sti_soft *soft)
{
    assert(soft->n >= 0 && soft->nworld >= 0);
    assert(soft->n == 0 || (soft->surface && soft->table && soft->numbers && soft->scratch));
    for (int i = 0; i < soft->n; ++i) {
        const sti_soft_surface *s = &soft->surface[i], *next = i + 1 < soft->n ? s + 1 : NULL;
        const int nodes = (next ? next->first_node : soft->nnode) - s->first_node;
        assert(s->ntri > 0 && nodes >= 1 && nodes < 2 * s->ntri && "a leaf has at least one triangle");
        assert((next ? next->first_tri : soft->ntri) == s->first_tri + 2 * s->ntri && "triangles, then their normals");
        assert(!next || next->object > s->object);
    }
}
#endif

void sti_soft_destroy(sti_soft *soft)
{
    if (!soft) return;
    for (int i = 0; i < soft->n; ++i) sti_free(soft->surface[i].coord);
    stet_array_destroy(soft->table);
    stet_array_destroy(soft->numbers);
    stet_array_destroy(soft->scratch);
    sti_free(soft->surface);
    sti_free(soft);
}
