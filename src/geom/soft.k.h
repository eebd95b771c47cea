/*
 * Surfaces that deform: their triangles in the world's frame, and the boxes of their trees, from the poses of bodies.
 * Kind: item. A block is one surface of one world, so the block's threads share its steps.
 *
 * A vertex is a mean of where bones, which move with bodies, take it, with weights (linear blend skinning; a vertex of
 * a flex has one bone). Its normal is that of the faces around it. A corner of a triangle is above a vertex, along the
 * normal: the two sides of a cloth have the same vertices. A tree keeps its nodes, and only their boxes are computed.
 */
#include "stet/lang.h"

#include "geom/soft_rows.k.h"

#define SOFT_NODE 8 /* as in ray.k.h: numbers of a node, of a triangle; of these, that of its face */
#define SOFT_ROW 12
#define SOFT_ROW_FACE 9

LFN real soft_dot(const real *a, const real *b) { return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0])); }

/* Unit; zeros where it is shorter than 1e-15. */
LFN void soft_unit(real *a)
{
    real len2 = soft_dot(a, a);
    mask some = lt(splat((ureal)1e-30), len2);
    real len = sqrt(select(some, len2, splat(1)));
    for (int k = 0; k < 3; ++k) a[k] = select(some, a[k] / len, splat(0));
}

/* Puts `size` numbers of each of the lanes that exist among n from item i on to rows of that size. */
LFN void soft_put_rows(const real *v, int size, int i, int n, int stride, ureal *to)
{
    ureal own[9 * STET_W];
    for (int k = 0; k < size; ++k) store(own + k * STET_W, v[k]);
    for (int l = 0; l < nmin(STET_W, n - i); ++l)
        for (int k = 0; k < size; ++k) to[(i64)(i + l) * stride + k] = own[k * STET_W + l];
}

/* Of a triangle, by its winding; its length is twice the area. v: three corners. */
LFN void soft_face_normal(const real *v, real *n)
{
    real p[3], q[3];
    for (int k = 0; k < 3; ++k) {
        p[k] = v[3 + k] - v[k];
        q[k] = v[6 + k] - v[k];
    }
    for (int k = 0; k < 3; ++k) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        n[k] = p[i] * q[j] - p[j] * q[i];
    }
}

/* Matrices from the frame of vertices to the world's, for all bones. xform: bodies come first. */
LFN void soft_bones(const wreal *xform, int nitem, int world, const int *table, const ureal *numbers, const int *head,
                    ureal *bone)
{
    each (b, head[SOFT_NBONE]) {
        int body = table[head[SOFT_BONE] + b] * 12;
        const ureal *bind = numbers + head[SOFT_BIND_REAL] + b * 12;
        for (int r = 0; r < 3; ++r) {
            ureal row[4];
            for (int k = 0; k < 4; ++k) row[k] = of_world(xform, nitem, world, body + 4 * r + k);
            for (int k = 0; k < 4; ++k) {
                ureal sum = ufma(row[2], bind[8 + k], ufma(row[1], bind[4 + k], row[0] * bind[k]));
                bone[12 * b + 4 * r + k] = k == 3 ? sum + row[3] : sum;
            }
        }
    }
}

/* Where vertices are. */
LFN void soft_places(const int *table, const ureal *numbers, const int *head, const ureal *bone, ureal *place)
{
    int n = head[SOFT_NVERT];
    const int *begin = table + head[SOFT_SHARE], *bones = table + head[SOFT_SHARE_BONE];
    const ureal *from = numbers + head[SOFT_PLACE_REAL], *weights = numbers + head[SOFT_WEIGHT_REAL];
    items (v, n) {
        lint at = imin(lane() + isplat(v), isplat(n - 1)), share = igather(begin, at), end = igather(begin + 1, at);
        real p[3], sum[3];
        for (int k = 0; k < 3; ++k) {
            p[k] = gather(from + k * n, at);
            sum[k] = splat(0);
        }
        for (int i = 0; i < head[SOFT_SHARES]; ++i) {
            mask here = ilt(share, end);
            if (!any(here)) break;
            lint own = iselect(here, share, isplat(0)), b = igather(bones, own) * isplat(12);
            real weight = gather(weights, own);
            for (int k = 0; k < 3; ++k) {
                const ureal *m = bone + 4 * k;
                real x =
                    fma(gather(m + 2, b), p[2], fma(gather(m + 1, b), p[1], fma(gather(m, b), p[0], gather(m + 3, b))));
                sum[k] = select(here, fma(weight, x, sum[k]), sum[k]);
            }
            share = share + isplat(1);
        }
        for (int k = 0; k < 3; ++k) store_if(in_range(v, n), place + k * n + v, sum[k]);
    }
}

/* Normals of faces, unit where each counts as much. */
LFN void soft_facings(const int *table, const int *head, const ureal *place, ureal *facing)
{
    int n = head[SOFT_NFACE], nvert = head[SOFT_NVERT];
    items (f, n) {
        lint at = imin(lane() + isplat(f), isplat(n - 1)) * isplat(3);
        real v[9], normal[3];
        for (int c = 0; c < 3; ++c) {
            lint vertex = igather(table + head[SOFT_FACE] + c, at);
            for (int k = 0; k < 3; ++k) v[3 * c + k] = gather(place + k * nvert, vertex);
        }
        soft_face_normal(v, normal);
        if (head[SOFT_EQUAL]) soft_unit(normal);
        for (int k = 0; k < 3; ++k) store_if(in_range(f, n), facing + k * n + f, normal[k]);
    }
}

LFN void soft_normals(const int *table, const int *head, const ureal *facing, ureal *normals)
{
    int n = head[SOFT_NVERT], nface = head[SOFT_NFACE];
    const int *begin = table + head[SOFT_AROUND], *faces = table + head[SOFT_AROUND_FACE];
    items (v, n) {
        lint at = imin(lane() + isplat(v), isplat(n - 1)), i = igather(begin, at), end = igather(begin + 1, at);
        real sum[3] = {splat(0), splat(0), splat(0)};
        for (int c = 0; c < head[SOFT_AROUND_MOST]; ++c) {
            mask here = ilt(i, end);
            if (!any(here)) break;
            lint face = igather(faces, iselect(here, i, isplat(0)));
            for (int k = 0; k < 3; ++k) sum[k] = select(here, sum[k] + gather(facing + k * nface, face), sum[k]);
            i = i + isplat(1);
        }
        soft_unit(sum);
        for (int k = 0; k < 3; ++k) store_if(in_range(v, n), normals + k * n + v, sum[k]);
    }
}

/* Rows of triangles as rays take them (geom.h), then as many rows of the normals at their corners. */
LFN void soft_triangles(const int *table, const ureal *numbers, const int *head, const ureal *place,
                        const ureal *normals, ureal *tri)
{
    int n = head[SOFT_NTRI], nvert = head[SOFT_NVERT];
    ureal *up = tri + (i64)n * SOFT_ROW;
    items (i, n) {
        lint at = imin(lane() + isplat(i), isplat(n - 1));
        lint kind = igather(table + head[SOFT_TRI] + 3, at * isplat(SOFT_CORNERS));
        mask turned = ieq(kind, isplat(SOFT_TURNED)), level = ieq(kind, isplat(SOFT_FLAT));
        real v[9], n3[9], flat[3];
        for (int c = 0; c < 3; ++c) {
            lint vertex = igather(table + head[SOFT_TRI] + c, at * isplat(SOFT_CORNERS));
            real lift = gather(numbers + head[SOFT_LIFT_REAL] + c, at * isplat(3));
            for (int k = 0; k < 3; ++k) {
                real normal = gather(normals + k * nvert, vertex);
                v[3 * c + k] = fma(lift, normal, gather(place + k * nvert, vertex));
                n3[3 * c + k] = select(turned, -normal, normal);
            }
        }
        soft_face_normal(v, flat);
        soft_unit(flat);
        real face = to_real(at);
        for (int k = 0; k < 9; ++k) n3[k] = select(level, flat[k % 3], n3[k]);
        soft_put_rows(v, 9, i, n, SOFT_ROW, tri);
        soft_put_rows(n3, 9, i, n, SOFT_ROW, up);
        soft_put_rows(&face, 1, i, n, SOFT_ROW, tri + SOFT_ROW_FACE);
    }
}

/* The boxes of rows i … of n rows of nodes. */
LFN void soft_put_nodes(const int *rows, int i, int n, const real *box, ureal *nodes)
{
    ureal own[6 * STET_W];
    for (int k = 0; k < 6; ++k) store(own + k * STET_W, box[k]);
    for (int l = 0; l < nmin(STET_W, n - i); ++l) {
        const int *row = rows + 3 * (i + l);
        ureal *to = nodes + (i64)row[0] * SOFT_NODE;
        for (int k = 0; k < 6; ++k) to[k] = own[k * STET_W + l];
        to[6] = (ureal)row[1];
        to[7] = (ureal)row[2];
    }
}

/* Leaves contain their triangles. */
LFN void soft_leaves(const int *table, const int *head, const ureal *tri, ureal *nodes)
{
    int n = head[SOFT_NLEAF];
    items (l, n) {
        lint row = imin(lane() + isplat(l), isplat(n - 1)) * isplat(3),
             first = igather(table + head[SOFT_LEAF] + 1, row), count = igather(table + head[SOFT_LEAF] + 2, row);
        real box[6], most = splat((ureal)1e30);
        for (int k = 0; k < 6; ++k) box[k] = k < 3 ? most : -most;
        for (int i = 0; i < 4; ++i) { /* STI_BVH_LEAF; the last one again where there are fewer */
            lint at = (first + imin(isplat(i), count - isplat(1))) * isplat(SOFT_ROW);
            for (int k = 0; k < 9; ++k) {
                real x = gather(tri + k, at);
                box[k % 3] = rmin(box[k % 3], x);
                box[3 + k % 3] = rmax(box[3 + k % 3], x);
            }
        }
        soft_put_nodes(table + head[SOFT_LEAF], l, n, box, nodes);
    }
}

/* Inner nodes number begin … end - 1 contain their two children. */
LFN void soft_inner(const int *table, const int *head, int begin, int end, ureal *nodes)
{
    int n = end - begin;
    items (i, n) {
        lint row = imin(lane() + isplat(i), isplat(n - 1)) * isplat(3);
        const int *inner = table + head[SOFT_INNER] + 3 * begin;
        lint at = igather(inner + 1, row) * isplat(SOFT_NODE);
        real box[6];
        for (int k = 0; k < 3; ++k) {
            box[k] = rmin(gather(nodes + k, at), gather(nodes + SOFT_NODE + k, at));
            box[3 + k] = rmax(gather(nodes + 3 + k, at), gather(nodes + SOFT_NODE + 3 + k, at));
        }
        soft_put_nodes(inner, i, n, box, nodes);
    }
}

/*
 * Block = index in `worlds` * nsoft + surface. table, numbers: soft_rows.k.h. Of scratch, node and tri each world has
 * nscratch numbers, nnode nodes and ntri rows; node and tri are this world's from first_node and first_tri on.
 */
item_kernel void k_soft(const wreal *xform, int nitem, const int *worlds, const int *table, const ureal *numbers,
                        ureal *scratch, ureal *node, ureal *tri, int nsoft, int nscratch, int first_node, int nnode,
                        int first_tri, int ntri, int block)
{
    const int *head = table + block % nsoft * SOFT_HEAD;
    int world = worlds[block / nsoft];
    ureal *bone = scratch + (i64)world * nscratch + head[SOFT_FIRST_SCRATCH], *place = bone + 12 * head[SOFT_NBONE];
    ureal *normals = place + 3 * head[SOFT_NVERT], *facing = normals + 3 * head[SOFT_NVERT];
    ureal *nodes = node + ((i64)world * nnode + first_node + head[SOFT_FIRST_NODE]) * SOFT_NODE;
    ureal *rows = tri + ((i64)world * ntri + first_tri + head[SOFT_FIRST_TRI]) * SOFT_ROW;
    soft_bones(xform, nitem, world, table, numbers, head, bone);
    sync();
    soft_places(table, numbers, head, bone, place);
    sync();
    soft_facings(table, head, place, facing);
    sync();
    soft_normals(table, head, facing, normals);
    sync();
    soft_triangles(table, numbers, head, place, normals, rows);
    sync();
    soft_leaves(table, head, rows, nodes);
    for (int l = 0; l < head[SOFT_NLEVEL]; ++l) {
        sync();
        soft_inner(table, head, table[head[SOFT_LEVEL] + l], table[head[SOFT_LEVEL] + l + 1], nodes);
    }
}
