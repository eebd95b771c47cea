/*
 * Kernels for the transforms of the stage's prims. Kind: world.
 *
 * In all of them, `xform` holds world transforms and `local` local ones, [prim * 12]: a 3x4 matrix by rows, the
 * translation (metres) in column 3. `stale` is 1 if the world must be visited, else 0; a block of lanes without such a
 * world returns at once. The other lanes of a visited block are computed again from the same inputs, so they keep their
 * bits.
 */
#include "stet/lang.h"

#define STET_IN_EVERY_SIM /* its code for a GPU is made with that of the others */

/* A GPU's team: 50 us for 8192 worlds of 128 prims on an H200 (32 threads, 4 teams: 51; 256: 59). */
#define STET_TEAM_k_forward 64, 1

#include "kernel/xform.k.h"

LFN int st_none(const lint *stale) { return !any(ilt(isplat(0), stale[0])); }

LFN real st_dot(const real *a, const real *b) { return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0])); }

/* The unit vector along a; (1, 0, 0) where a is shorter than 1e-15, as MuJoCo has it. */
LFN void st_normalize(real *a)
{
    real n = sqrt(st_dot(a, a));
    mask tiny = lt(n, splat((ureal)1e-15));
    for (int i = 0; i < 3; ++i) a[i] = select(tiny, splat((ureal)(i == 0)), a[i] / n);
}

/* Rotation by a unit quaternion w x y z, and translation p. */
LFN void st_pose(const real *p, const real *q, real *out)
{
    real two = splat(2);
    real ww = q[0] * q[0], xx = q[1] * q[1], yy = q[2] * q[2], zz = q[3] * q[3];
    out[0] = ((ww + xx) - yy) - zz;
    out[5] = ((ww - xx) + yy) - zz;
    out[10] = ((ww - xx) - yy) + zz;
    out[1] = two * fma(q[1], q[2], -(q[0] * q[3]));
    out[2] = two * fma(q[1], q[3], q[0] * q[2]);
    out[4] = two * fma(q[1], q[2], q[0] * q[3]);
    out[6] = two * fma(q[2], q[3], -(q[0] * q[1]));
    out[8] = two * fma(q[1], q[3], -(q[0] * q[2]));
    out[9] = two * fma(q[2], q[3], q[0] * q[1]);
    for (int i = 0; i < 3; ++i) out[i * 4 + 3] = p[i];
}

/* Poses of the bodies listed (xpos [nbody * 3], xquat [nbody * 4]) → their world transforms; prim b is body b. */
world_kernel void k_body_world(const lint *stale, const real *xpos, const real *xquat, real *xform, const int *body,
                               int nlist)
{
    if (st_none(stale)) return;
    each (i, nlist) {
        int b = body[i];
        real m[12];
        st_pose(xpos + b * 3, xquat + b * 4, m);
        for (int k = 0; k < 12; ++k) put(xform, b * 12 + k, m[k]);
    }
}

/*
 * Forward: world = parent's world * local. prim[level[l]] … prim[level[l + 1] - 1] are the prims of level l. Their
 * parents are in earlier levels, rigid, or up to date.
 */
world_kernel void k_forward(const lint *stale, const real *local, real *xform, const int *parent, const int *prim,
                            const int *level, int nlevel)
{
    if (st_none(stale)) return;
    for (int l = 0; l < nlevel; ++l) {
        xform_level(local, xform, parent, prim + level[l], level[l + 1] - level[l]);
        sync();
    }
}

/* inverse(a) * b for affine a, b: the linear part by cofactors. A singular a gives numbers that are not finite. */
LFN void st_solve(const real *a, const real *b, real *out)
{
    real cof[9]; /* cof[r * 3 + c] is the cofactor of a's linear element (r, c) */
    for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) {
            int r1 = (r + 1) % 3 * 4, r2 = (r + 2) % 3 * 4, c1 = (c + 1) % 3, c2 = (c + 2) % 3;
            cof[r * 3 + c] = fma(a[r1 + c1], a[r2 + c2], -(a[r1 + c2] * a[r2 + c1]));
        }
    real det = fma(a[2], cof[2], fma(a[1], cof[1], a[0] * cof[0]));
    for (int c = 0; c < 4; ++c) {
        real v[3];
        for (int r = 0; r < 3; ++r) v[r] = c == 3 ? b[r * 4 + 3] - a[r * 4 + 3] : b[r * 4 + c];
        for (int r = 0; r < 3; ++r) {
            real s = fma(cof[6 + r], v[2], fma(cof[3 + r], v[1], cof[r] * v[0]));
            put(out, r * 4 + c, s / det);
        }
    }
}

/*
 * Inverse: local = inverse(parent's world) * world for the rigid prims listed; a prim without a parent: its world
 * transform.
 */
world_kernel void k_inverse(const lint *stale, const real *xform, real *local, const int *parent, const int *prim,
                            int nlist)
{
    if (st_none(stale)) return;
    each (i, nlist) {
        int p = prim[i];
        if (parent[p] < 0)
            for (int k = 0; k < 12; ++k) put(local, (i64)p * 12 + k, xform[(i64)p * 12 + k]);
        else
            st_solve(xform + (i64)parent[p] * 12, xform + (i64)p * 12, local + (i64)p * 12);
    }
}

/*
 * The origin of body b or, for n > 0, the centre of mass of a list of bodies. part [4 each]: share of the mass, centre
 * in the body's frame.
 */
LFN void st_anchor(const real *xpos, const real *xquat, int b, const int *body, const ureal *part, int first, int n,
                   real *out)
{
    for (int i = 0; i < 3; ++i) out[i] = n == 0 ? xpos[b * 3 + i] : splat(0);
    for (int k = first; k < first + n; ++k) {
        real m[12];
        st_pose(xpos + body[k] * 3, xquat + body[k] * 4, m);
        for (int i = 0; i < 3; ++i) {
            real s = m[i * 4 + 3];
            for (int j = 0; j < 3; ++j) s = fma(m[i * 4 + j], splat(part[k * 4 + 1 + j]), s);
            out[i] = fma(splat(part[k * 4]), s, out[i]);
        }
    }
}

/*
 * The frame at p whose z axis points from `aim` to p and whose x axis is level; both axes default to (1, 0, 0) as in
 * MuJoCo.
 */
LFN void st_look(const real *p, const real *aim, real *out)
{
    real x[3], y[3], z[3];
    for (int i = 0; i < 3; ++i) z[i] = p[i] - aim[i];
    st_normalize(z);
    x[0] = -z[1];
    x[1] = z[0];
    x[2] = splat(0);
    st_normalize(x);
    for (int i = 0; i < 3; ++i) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        y[i] = fma(z[j], x[k], -(z[k] * x[j]));
    }
    st_normalize(y);
    for (int i = 0; i < 3; ++i) {
        out[i * 4] = x[i];
        out[i * 4 + 1] = y[i];
        out[i * 4 + 2] = z[i];
        out[i * 4 + 3] = p[i];
    }
}

/*
 * Cameras and lights that follow bodies. entry [6 each]: prim, 1 if it aims (0: it keeps its orientation), its own
 * body, the body that it follows or aims at, first and number of bodies of a centre of mass (0: the body's origin).
 * frame [12 each]: if it aims, its transform in its body's frame; else its orientation in the world, and its offset
 * from what it follows.
 */
world_kernel void k_track(const lint *stale, const real *xpos, const real *xquat, real *xform, const int *entry,
                          const ureal *frame, const int *body, const ureal *part, int ntrack)
{
    if (st_none(stale)) return;
    each (t, ntrack) {
        const int *e = entry + t * 6;
        const ureal *f = frame + t * 12;
        real anchor[3], m[12];
        st_anchor(xpos, xquat, e[3], body, part, e[4], e[5], anchor);
        if (e[1]) {
            real own[12], p[3];
            st_pose(xpos + e[2] * 3, xquat + e[2] * 4, own);
            for (int i = 0; i < 3; ++i) {
                p[i] = own[i * 4 + 3];
                for (int j = 0; j < 3; ++j) p[i] = fma(own[i * 4 + j], splat(f[j * 4 + 3]), p[i]);
            }
            st_look(p, anchor, m);
        } else {
            for (int k = 0; k < 12; ++k) m[k] = splat(f[k]);
            for (int i = 0; i < 3; ++i) m[i * 4 + 3] = m[i * 4 + 3] + anchor[i];
        }
        for (int k = 0; k < 12; ++k) put(xform, (i64)e[0] * 12 + k, m[k]);
    }
}

/* Each world's own transform for each prim listed; frame [12 each]. */
world_kernel void k_own_frames(real *local, const int *prim, const real *frame, int nlist)
{
    each (i, nlist) {
        for (int k = 0; k < 12; ++k) put(local, (i64)prim[i] * 12 + k, frame[i * 12 + k]);
    }
}

/* The same transform in all worlds for each prim listed; value [12 each]. */
world_kernel void k_fill(real *local, const int *prim, const ureal *value, int nlist)
{
    each (i, nlist) {
        for (int k = 0; k < 12; ++k) put(local, (i64)prim[i] * 12 + k, splat(value[i * 12 + k]));
    }
}

/* The world transform of one prim from its local one; done once, when a prim becomes rigid. */
world_kernel void k_place(const real *local, real *xform, int parent, int prim)
{
    each (one, 1) xform_mul(xform + (i64)parent * 12, local + (i64)prim * 12, xform + (i64)prim * 12);
}

/* Copies the first n numbers of each world to an array with room for more. */
world_kernel void k_grow(const real *from, real *to, int n)
{
    each (i, n) put(to, i, from[i]);
}
