/*
 * Rays from a body in a pattern (scan.py): height scans and lidar. Arrays of worlds, unless they say plain:
 *
 *   xpos, xquat         of bodies
 *   place, turn         where targets are: 3 and 9 numbers (rows of a matrix) each
 *   rays [nray][6] plain     start and direction (of length 1), in the frame of the scan
 *   target [ntarget][5] plain  type (mjtGeom), where it is in place and turn, and of a height field rows, columns, and
 *                       where its elevations (m) begin in `field`; sc_field says what follows them
 *   size [ntarget][4] plain    geom_size; of a height field half sizes along x and y, lowest and highest elevation
 *   out [nray]          scale times the distance of the first hit, `far` where there is none nearer, plus shift
 *
 * Every lane goes its own way through a height field, so a world's numbers are its own.
 */
#define RAY_LANES 1
#define RAY_TYPES 0x7d /* no meshes; height fields are walked through here */
#include "geom/ray.k.h"

#define SC_BASE 0 /* of align: as the body is, … */
#define SC_YAW 1  /* … as its x axis points, seen from above, … */
#define SC_WORLD 2

#define SC_SHIFT 3
#define SC_BLOCK 8 /* cells of a block, either way */

/* R [9] of the frame of a scan. */
LFN void sc_frame(const real *q, int align, real *R)
{
    real x = q[1] + q[1], y = q[2] + q[2], z = q[3] + q[3], one = splat(1), zero = splat(0);
    real wx = q[0] * x, wy = q[0] * y, wz = q[0] * z, xx = q[1] * x, xy = q[1] * y, xz = q[1] * z;
    real yy = q[2] * y, yz = q[2] * z, zz = q[3] * z;
    R[0] = one - (yy + zz);
    R[1] = xy - wz;
    R[2] = xz + wy;
    R[3] = xy + wz;
    R[4] = one - (xx + zz);
    R[5] = yz - wx;
    R[6] = xz - wy;
    R[7] = yz + wx;
    R[8] = one - (xx + yy);
    if (align != SC_BASE) {
        real length = sqrt(fma(R[0], R[0], R[3] * R[3]));
        mask level = lt(splat((ureal)1e-6), length);
        if (align == SC_WORLD) level = m_none();
        real c = select(level, R[0] / select(level, length, one), one);
        real s = select(level, R[3] / select(level, length, one), zero);
        for (int k = 0; k < 9; ++k) R[k] = splat((ureal)(k == 8));
        R[0] = c;
        R[1] = -s;
        R[3] = s;
        R[4] = c;
    }
}

/* The interval of t in which o + t d is within [low, high], of what [t0, t1] is. */
LFN void sc_clip(real o, real d, real low, real high, real *t0, real *t1)
{
    real inv = ray_inverse(d), a = (low - o) * inv, b = (high - o) * inv;
    *t0 = rmax(*t0, rmin(a, b));
    *t1 = rmin(*t1, rmax(a, b));
}

/* How high the surface is at u, v, in cells, in the triangle that holds the place mu, mv. */
LFN real sc_height(const ureal *z, int nrow, int ncol, real u, real v, real mu, real mv)
{
    lint c = imax(isplat(0), imin(to_int(floor(mu)), isplat(ncol - 2)));
    lint r = imax(isplat(0), imin(to_int(floor(mv)), isplat(nrow - 2))), k = r * isplat(ncol) + c;
    real fu = u - to_real(c), fv = v - to_real(r), z00 = gather(z, k), z11 = gather(z, k + isplat(ncol + 1));
    mask below = lt(mv - to_real(r), mu - to_real(c));
    real corner = gather(z, k + iselect(below, isplat(1), isplat(ncol)));
    real along_u = select(below, corner - z00, z11 - corner), along_v = select(below, z11 - corner, corner - z00);
    return fma(fu, along_u, fma(fv, along_v, z00));
}

/* Where a coordinate in cells is next a whole number, along a ray. */
LFN real sc_next(real at, real slope)
{
    return select(lt(splat(0), slope), floor(at) + splat(1), -floor(-at) - splat(1));
}

/* The same where a ray that moves along z alone meets it, or NaN. */
LFN real sc_below(const ureal *z, int nrow, int ncol, const real *at, const real *o, const real *d)
{
    return (sc_height(z, nrow, ncol, at[0], at[1], at[0], at[1]) - o[2]) / d[2];
}

/*
 * The first place at which a ray changes sides of a height field's surface: nrow by ncol elevations, then, of each
 * block of SC_BLOCK by SC_BLOCK cells, the highest and the lowest of its own. It is on a side until it is seen on the
 * other, so it slips through no edge; blocks that it passes above or below are passed at once. The triangles of a cell
 * are those of MuJoCo.
 */
LFN void sc_field(const ureal *z, int nrow, int ncol, const ureal *size, const real *o, const real *d, real *best)
{
    real at[3], slope[3], next[3], step[3], from = splat(0), end = *best, side = splat(0), zero = splat(0);
    real pad = splat((ureal)1e-3 * (1 + size[3] - size[2]));
    int wide = (ncol - 2) / SC_BLOCK + 1;
    const ureal *bound = z + nrow * ncol;
    mask plumb = m_all();
    for (int a = 0; a < 2; ++a) {
        real half = splat(size[a]), per = splat((ureal)((a == 0 ? ncol : nrow) - 1) / (2 * size[a]));
        at[a] = (o[a] + half) * per;
        slope[a] = d[a] * per;
        plumb = m_and(plumb, eq(slope[a], zero));
    }
    if (any(plumb)) {
        real down = sc_below(z, nrow, ncol, at, o, d);
        mask over = m_and(le(rabs(o[0]), splat(size[0])), le(rabs(o[1]), splat(size[1])));
        *best = select(m_and(m_and(plumb, over), le(zero, down)), rmin(down, *best), *best);
        if (all(plumb)) return;
    }
    for (int a = 0; a < 2; ++a) sc_clip(o[a], d[a], splat(-size[a]), splat(size[a]), &from, &end);
    at[2] = at[0] - at[1]; /* a cell's two triangles part where both coordinates have the same fraction */
    slope[2] = slope[0] - slope[1];
    sc_clip(o[2], d[2], splat(size[2]) - pad, splat(size[3]) + pad, &from, &end);
    mask live = m_andnot(le(from, end), plumb), begun = m_none();
    for (int a = 0; a < 3; ++a) {
        next[a] = sc_next(fma(from, slope[a], at[a]), slope[a]);
        step[a] = select(lt(zero, slope[a]), splat(1), splat(-1));
    }
    for (int k = 0; k < 2 * (nrow + ncol) + 4 && any(live); ++k) {
        real t[3], to = end, u[3], v[3], gap[2];
        for (int a = 0; a < 3; ++a) {
            real cross = rmax(from, (next[a] - at[a]) * ray_inverse(slope[a]));
            t[a] = select(eq(slope[a], zero), splat((ureal)RAY_HUGE), cross);
            to = rmin(to, t[a]);
        }
        u[0] = fma(from, slope[0], at[0]);
        v[0] = fma(from, slope[1], at[1]);
        u[1] = fma(to, slope[0], at[0]);
        v[1] = fma(to, slope[1], at[1]);
        u[2] = splat((ureal)0.5) * (u[0] + u[1]);
        v[2] = splat((ureal)0.5) * (v[0] + v[1]);
        /* The whole block, if its cells are all below the ray, or above. */
        lint c = imax(isplat(0), imin(to_int(floor(u[2])), isplat(ncol - 2)));
        lint r = imax(isplat(0), imin(to_int(floor(v[2])), isplat(nrow - 2)));
        lint bc = ishr(c, SC_SHIFT), br = ishr(r, SC_SHIFT), block = ishl(br * isplat(wide) + bc, 1);
        real ahead[2], out = end;
        ahead[0] = to_real(ishl(bc + iselect(lt(zero, slope[0]), isplat(1), isplat(0)), SC_SHIFT));
        ahead[1] = to_real(ishl(br + iselect(lt(zero, slope[1]), isplat(1), isplat(0)), SC_SHIFT));
        for (int a = 0; a < 2; ++a) {
            real cross = (ahead[a] - at[a]) * ray_inverse(slope[a]);
            out = rmin(out, select(eq(slope[a], zero), splat((ureal)RAY_HUGE), cross));
        }
        out = rmax(out, to);
        real low = fma(from, d[2], o[2]), high = fma(out, d[2], o[2]);
        mask over = lt(gather(bound, block), rmin(low, high));
        mask under = lt(rmax(low, high), gather(bound, block + isplat(1))), past = m_or(over, under);
        gap[0] = low - sc_height(z, nrow, ncol, u[0], v[0], u[2], v[2]);
        gap[1] = fma(to, d[2], o[2]) - sc_height(z, nrow, ncol, u[1], v[1], u[2], v[2]);
        for (int i = 0; i < 2; ++i) gap[i] = select(past, select(over, splat(1), splat(-1)), gap[i]);
        side = select(begun, side, gap[0]);
        mask hit = m_and(live, le(copysign_(splat(1), side) * gap[1], zero));
        mask within = lt(gap[0] * gap[1], zero);
        real part = select(within, gap[0] / select(within, gap[0] - gap[1], splat(1)), zero);
        part = select(m_and(m_not(within), eq(gap[1], zero)), splat(1), part);
        *best = select(hit, rmin(*best, fma(part, to - from, from)), *best);
        begun = m_all();
        to = select(past, out, to);
        live = m_and(m_andnot(live, hit), lt(to, end));
        for (int a = 0; a < 3; ++a) {
            real one = select(le(t[a], to), next[a] + step[a], next[a]);
            real skip = sc_next(fma(to, slope[a], at[a]), slope[a]); /* never back: rounding may find the same */
            next[a] = select(past, select(lt(zero, slope[a]), rmax(one, skip), rmin(one, skip)), one);
        }
        from = to;
    }
}

/* The nearest hit with a target of the ray o + t d in its frame, if it is nearer than *best. */
LFN void sc_target(const int *target, const ureal *size, const ureal *field, const real *o, const real *d, real *best)
{
    int type = target[0];
    ray_range range = {0, 0, 1};
    real n[3], s[3], one = splat(1);
    for (int k = 0; k < 3; ++k) {
        s[k] = splat(size[k]);
        n[k] = splat(0);
    }
    if (type == RAY_PLANE) ray_plane(range, s, o, d, m_all(), best, n);
    if (type == RAY_HFIELD) sc_field(field + target[4], target[2], target[3], size, o, d, best);
    if (type == RAY_SPHERE) ray_sphere(range, s, o, d, one, m_all(), best, n);
    if (type == RAY_CAPSULE) ray_capsule(range, s, o, d, one, m_all(), best, n);
    if (type == RAY_ELLIPSOID) ray_ellipsoid(range, s, o, d, m_all(), best, n);
    if (type == RAY_CYLINDER) ray_cylinder(range, s, o, d, m_all(), best, n);
    if (type == RAY_BOX) ray_box(range, s, splat(0), o, d, m_all(), best, n);
}

/* The frame of the scan in that of a target: M [9] turns, off [3] is its origin. */
LFN void sc_between(const real *R, const real *at, const real *turn, const real *place, real *M, real *off)
{
    real from[3];
    for (int k = 0; k < 3; ++k) from[k] = at[k] - place[k];
    for (int k = 0; k < 3; ++k) {
        off[k] = fma(turn[6 + k], from[2], fma(turn[3 + k], from[1], turn[k] * from[0]));
        for (int c = 0; c < 3; ++c)
            M[3 * k + c] = fma(turn[6 + k], R[6 + c], fma(turn[3 + k], R[3 + c], turn[k] * R[c]));
    }
}

/* A sphere around a target that is not everywhere. */
LFN ureal sc_radius(int type, const ureal *size)
{
    if (type == RAY_SPHERE) return size[0];
    if (type == RAY_CAPSULE) return size[0] + size[1];
    if (type == RAY_CYLINDER) return size[0] + size[1];
    return size[0] + size[1] + size[2];
}

/* Is a target within a sphere that says something? */
LFN int sc_is_round(const int *target) { return target[0] != RAY_PLANE && target[0] != RAY_HFIELD; }

/* Where the line at + t d passes the origin within `most`. NaN: maybe. */
LFN mask sc_passes(const real *at, const real *d, real most)
{
    real along = splat(0), off2 = splat(0);
    for (int k = 0; k < 3; ++k) along = fma(at[k], d[k], along);
    for (int k = 0; k < 3; ++k) {
        real off = fma(-along, d[k], at[k]);
        off2 = fma(off, off, off2);
    }
    return m_not(lt(most * most, off2));
}

/* x + M v, where v is a ray's start, or its direction, in the frame of the scan. */
LFN void sc_turn(const real *M, const ureal *v, real *x)
{
    for (int k = 0; k < 3; ++k)
        for (int c = 0; c < 3; ++c) x[k] = fma(splat(v[c]), M[3 * k + c], x[k]);
}

/*
 * Of a target: the frame of the scan in its own (sc_between); if rays are side by side, their direction, and how far
 * from its middle those pass that may hit it, with rounding's part. May they?
 */
LFN int sc_approach(const int *target, const ureal *size, const ureal *bundle, const real *R, const real *xpos,
                    const real *place, const real *turn, real *M, real *off, real *d, real *most)
{
    int at = target[1];
    real middle[3], far2 = splat(0), spread = splat(bundle[6]);
    sc_between(R, xpos, turn + 9 * at, place + 3 * at, M, off);
    for (int k = 0; k < 3; ++k) {
        middle[k] = off[k];
        d[k] = splat(0);
    }
    sc_turn(M, bundle, middle);
    sc_turn(M, bundle + 3, d);
    if (bundle[6] < 0 || !sc_is_round(target)) return 1;
    for (int k = 0; k < 3; ++k) far2 = fma(middle[k], middle[k], far2);
    *most = fma(splat((ureal)1e-4), sqrt(far2) + spread, splat((ureal)1e-3 + sc_radius(target[0], size)));
    mask passes = sc_passes(middle, d, *most + spread);
    return any(passes);
}

/* bundle [7] plain: the middle of the starts, the direction of all rays, how far they are off; -1: they differ. */
world_kernel void k_scan(const real *xpos, const real *xquat, const real *place, const real *turn, const ureal *rays,
                         const ureal *bundle, const int *target, const ureal *size, const ureal *field, real *out,
                         int body, int align, int nray, int ntarget, ureal far, ureal scale, ureal shift)
{
    real R[9], M[9], off[3], way[3], most = splat(0);
    int last = 0, side_by_side = bundle[6] >= 0;
    sc_frame(xquat + 4 * body, align, R);
    for (int g = 1; g < ntarget; ++g) {
        int reaches = 0;
        reaches =
            sc_approach(target + 5 * g, size + 4 * g, bundle, R, xpos + 3 * body, place, turn, M, off, way, &most);
        if (reaches) last = g;
    }
    for (int g = 0; g <= last; ++g) {
        int reaches = 0;
        reaches =
            sc_approach(target + 5 * g, size + 4 * g, bundle, R, xpos + 3 * body, place, turn, M, off, way, &most);
        if (!reaches && g > 0) continue;
        int choose = side_by_side && sc_is_round(target + 5 * g);
        each (i, nray) {
            real o[3], d[3], best = splat(far);
            if (g > 0) best = out[i];
            for (int k = 0; k < 3; ++k) {
                o[k] = off[k];
                d[k] = side_by_side ? way[k] : splat(0);
            }
            sc_turn(M, rays + 6 * i, o);
            if (!side_by_side) sc_turn(M, rays + 6 * i + 3, d);
            int hits = reaches;
            if (reaches && choose) {
                mask passes = sc_passes(o, d, most);
                hits = any(passes);
            }
            if (hits) sc_target(target + 5 * g, size + 4 * g, field, o, d, &best);
            if (g == last) best = fma(splat(scale), best, splat(shift));
            put(out, i, best);
        }
        sync();
    }
}

/*
 * Heights of the ground below points: out [n], of a height field z [nrow][ncol], plain, m, whose middle is the world's
 * origin; step: m from one elevation to the next. x: point i is its numbers at + stride * i and the next one.
 */
world_kernel void k_ground(const real *x, const ureal *z, real *out, int nrow, int ncol, ureal step, int at, int stride,
                           int n)
{
    each (i, n) {
        const real *point = x + at + stride * i;
        real most_u = splat((ureal)(ncol - 1)), most_v = splat((ureal)(nrow - 1)), half = splat((ureal)0.5);
        real u = clamp(fma(point[0], splat(1 / step), half * most_u), splat(0), most_u);
        real v = clamp(fma(point[1], splat(1 / step), half * most_v), splat(0), most_v);
        put(out, i, sc_height(z, nrow, ncol, u, v, u, v));
    }
}
