/*
 * Pilot: camera rays against spheres and boxes, with a list of candidates for each block of 16 x 16 pixels. Kind item.
 *
 * The cull is conservative and candidates keep their order, so it changes no pixel: ties go to the lower id.
 */
#include "stet/lang.h"

/* A GPU's team: 0.016 ns a ray at 4096 x 4096 on an H200 (64 threads: 0.019 at 1000 x 1000). */
#define STET_TEAM_k_pilot_rays 256, 1

#define PR_TILE 16 /* edge of a block in pixels */
#define PR_MAX 32  /* primitives */
#define PR_STRIDE                                                                                                      \
    20 /* numbers a primitive: type, bounding radius, size 3, position 3, rotation 9 (by rows), 3 unused */

/*
 * Whether the bounding sphere of a primitive may touch the cone of a block's rays (axis unit, half-angle by its cos and
 * sin).
 */
LFN int pr_may_touch(const ureal *prim, const ureal *eye, const ureal *axis, ureal cos_a, ureal sin_a)
{
    ureal d0 = prim[5] - eye[0], d1 = prim[6] - eye[1], d2 = prim[7] - eye[2], r = prim[1] * (ureal)1.001 + (ureal)1e-4;
    ureal along = ufma(d2, axis[2], ufma(d1, axis[1], d0 * axis[0]));
    ureal len2 = ufma(d2, d2, ufma(d1, d1, d0 * d0));
    ureal across = usqrt(umax(ufma(-along, along, len2), 0));
    ureal outside = ufma(across, cos_a, -(along * sin_a));
    return len2 <= r * r || (outside <= r && along > -r);
}

/* Distance along a unit ray from o to a sphere of radius r at the origin; far where it misses. */
LFN real pr_sphere(const real *o, const real *d, ureal r, real far)
{
    real b = fma(o[2], d[2], fma(o[1], d[1], o[0] * d[0]));
    real c = fma(o[2], o[2], fma(o[1], o[1], fma(o[0], o[0], splat(-(r * r)))));
    real det = fma(b, b, -c);
    mask ok = ge(det, splat(0));
    real s = sqrt(select(ok, det, splat(0)));
    real t0 = -b - s, t1 = s - b;
    real t = select(ge(t0, splat(0)), t0, t1);
    return select(m_and(ok, ge(t, splat(0))), t, far);
}

/* The same for a box of half sizes h. */
LFN real pr_box(const real *o, const real *d, const ureal *h, real far)
{
    real t0 = splat((ureal)-1e30), t1 = splat((ureal)1e30);
    mask ok = m_all();
    for (int k = 0; k < 3; ++k) {
        mask par = eq(d[k], splat(0));
        real inv = splat(1) / select(par, splat(1), d[k]);
        real a = (splat(-h[k]) - o[k]) * inv, b = (splat(h[k]) - o[k]) * inv;
        ok = m_and(ok, m_or(m_not(par), le(rabs(o[k]), splat(h[k]))));
        t0 = select(par, t0, rmax(t0, rmin(a, b)));
        t1 = select(par, t1, rmin(t1, rmax(a, b)));
    }
    real t = select(ge(t0, splat(0)), t0, t1);
    return select(m_and(ok, m_and(le(t0, t1), ge(t, splat(0)))), t, far);
}

/*
 * cam [16]: eye 3, rotation 9 (columns: right, up, back), tan of half the angle of view across and up; prims [nprim *
 * PR_STRIDE]. depth, id [height * width]: distance along the ray (1e10 where nothing is hit) and primitive (-1).
 */
item_kernel void k_pilot_rays(const ureal *cam, const ureal *prims, int nprim, ureal *depth, int *id, int width,
                              int height, int block)
{
    shared(int, flag, PR_MAX);
    shared(int, list, PR_MAX);
    int across = (width + PR_TILE - 1) / PR_TILE, bx = block % across * PR_TILE, by = block / across * PR_TILE;
    ureal cx = ((ureal)2 * ((ureal)bx + PR_TILE / 2) / (ureal)width - 1) * cam[12];
    ureal cy = (1 - (ureal)2 * ((ureal)by + PR_TILE / 2) / (ureal)height) * cam[13];
    ureal axis[3];
    ureal inv = 1 / usqrt(ufma(cy, cy, ufma(cx, cx, 1)));
    for (int k = 0; k < 3; ++k)
        axis[k] = ufma(cam[3 + k * 3 + 1], cy, ufma(cam[3 + k * 3], cx, -cam[3 + k * 3 + 2])) * inv;
    /* Half-diagonal of the block on the image plane bounds the tangent of the cone. */
    ureal ex = PR_TILE / (ureal)width * cam[12], ey = PR_TILE / (ureal)height * cam[13];
    ureal tan_a = usqrt(ufma(ex, ex, ey * ey)), cos_a = 1 / usqrt(ufma(tan_a, tan_a, 1)), sin_a = tan_a * cos_a;

    each (i, nprim) flag[i] = pr_may_touch(prims + i * PR_STRIDE, cam, axis, cos_a, sin_a);
    sync();
    each (i, nprim) {
        int before = 0;
        for (int k = 0; k < i; ++k) before += flag[k];
        if (flag[i]) list[before] = i;
    }
    int n = 0;
    for (int k = 0; k < nprim; ++k) n += flag[k];
    sync();

    items (p, PR_TILE * PR_TILE) {
        int y = by + p / PR_TILE, x0 = bx + p % PR_TILE;
        if (y >= height) continue;
        lint px = lane() + isplat(x0);
        mask live = ilt(px, isplat(width));
        real u = ((to_real(px) + splat((ureal)0.5)) * splat(2 / (ureal)width) - splat(1)) * splat(cam[12]);
        ureal v = (1 - (2 * (ureal)y + 1) / (ureal)height) * cam[13];
        real len = sqrt(fma(u, u, splat(ufma(v, v, 1))));
        real dir[3], best = splat((ureal)1e10);
        lint hit = isplat(-1);
        for (int k = 0; k < 3; ++k)
            dir[k] = fma(splat(cam[3 + k * 3]), u, splat(ufma(cam[3 + k * 3 + 1], v, -cam[3 + k * 3 + 2]))) / len;
        for (int c = 0; c < n; ++c) {
            const ureal *g = prims + list[c] * PR_STRIDE;
            real o[3], d[3];
            for (int k = 0; k < 3; ++k) { /* into the primitive's frame: its rotation transposed */
                ureal lo = 0;
                real ld = splat(0);
                for (int j = 0; j < 3; ++j) {
                    lo = ufma(g[8 + j * 3 + k], cam[j] - g[5 + j], lo);
                    ld = fma(splat(g[8 + j * 3 + k]), dir[j], ld);
                }
                o[k] = splat(lo);
                d[k] = ld;
            }
            real far = splat((ureal)1e10);
            real t = g[0] < (ureal)0.5 ? pr_sphere(o, d, g[2], far) : pr_box(o, d, g + 2, far);
            mask closer = lt(t, best);
            best = select(closer, t, best);
            hit = iselect(closer, isplat(list[c]), hit);
        }
        i64 at = (i64)y * width + x0;
        store_if(live, depth + at, best);
        istore_if(live, id + at, hit);
    }
}
