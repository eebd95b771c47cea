/*
 * Paths of spatial tendons, from the world transforms of sites and geoms. Kind: world.
 *
 * A path is made of links: from a site to the next one, straight, around a sphere or an infinite cylinder, or hanging
 * as a catenary. Each link has a fixed number of pieces, capsules; a piece that its present path does not need has a
 * transform of zeros. What wraps and where follows MuJoCo's documentation (Computation, "Tendon": shortest paths, side
 * sites, inside wrapping).
 *
 * A piece's transform: z along the piece, in units of half its whole length (width included); x and y across, in
 * metres. So a fixed box holds it, and rays know its length (render/trace.k.h).
 */
#include "stet/lang.h"

#include "stage/axis.k.h"
#include "stage/tendon_rows.k.h"

LFN real tn_dot(const real *a, const real *b) { return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0])); }
LFN real tn_dot2(const real *a, const real *b) { return fma(a[1], b[1], a[0] * b[0]); }

LFN void tn_cross(const real *a, const real *b, real *out)
{
    for (int i = 0; i < 3; ++i) {
        int j = (i + 1) % 3, k = (i + 2) % 3;
        out[i] = fma(a[j], b[k], -(a[k] * b[j]));
    }
}

/* Makes a of n numbers a unit vector, and zeros where it is shorter than 1e-15. Returns lanes where it is not. */
LFN mask tn_unit(real *a, int n)
{
    real sum = splat(0);
    for (int i = 0; i < n; ++i) sum = fma(a[i], a[i], sum);
    mask long_enough = lt(splat((ureal)1e-30), sum);
    real len = sqrt(select(long_enough, sum, splat(1)));
    for (int i = 0; i < n; ++i) a[i] = select(long_enough, a[i] / len, splat(0));
    return long_enough;
}

/* The piece from a to b in lanes of `here`, nothing in others, to its transform. */
LFN void tn_piece(real *piece, const real *a, const real *b, ureal width, mask here)
{
    real x[3], y[3], z[3], m[12];
    for (int i = 0; i < 3; ++i) z[i] = b[i] - a[i];
    real half = fma(sqrt(tn_dot(z, z)), splat((ureal)0.5), splat(width));
    mask has_way = tn_unit(z, 3);
    z[2] = select(has_way, z[2], splat(1));
    axis_across(z, x, y);
    for (int i = 0; i < 3; ++i) {
        m[4 * i] = x[i];
        m[4 * i + 1] = y[i];
        m[4 * i + 2] = z[i] * half;
        m[4 * i + 3] = (a[i] + b[i]) * splat((ureal)0.5);
    }
    for (int k = 0; k < 12; ++k) put(piece, k, select(here, m[k], splat(0)));
}

LFN void tn_place(const real *xform, int prim, real *out)
{
    for (int i = 0; i < 3; ++i) out[i] = xform[(i64)prim * 12 + 4 * i + 3];
}

/* The point `at` of a prim's frame. */
LFN void tn_point(const real *xform, int prim, const ureal *at, real *out)
{
    for (int i = 0; i < 3; ++i) {
        const real *row = xform + (i64)prim * 12 + 4 * i;
        out[i] = fma(row[2], splat(at[2]), fma(row[1], splat(at[1]), fma(row[0], splat(at[0]), row[3])));
    }
}

/* ---- around a circle --------------------------------------------------------------------------------------------- */

/* The point of the segment from p to p + 2 that is nearest to the circle's centre; *at: how far along, 0 … 1. */
LFN void tn_nearest(const real *p, real *at, real *out)
{
    real way[2] = {p[2] - p[0], p[3] - p[1]}, len2 = tn_dot2(way, way);
    *at = clamp(-tn_dot2(way, p) / rmax(len2, splat((ureal)1e-20)), splat(0), splat(1));
    for (int i = 0; i < 2; ++i) out[i] = fma(*at, way[i], p[i]);
}

/* Does the segment from p to p + 2 pass the centre on the side that is opposite to s? */
LFN mask tn_opposite(const real *p, const real *s)
{
    real from = fma(s[0], p[1], -(s[1] * p[0])), to = fma(s[0], p[3], -(s[1] * p[2])), apart = from - to;
    mask across = lt(from * to, splat(0));
    real at = from / select(across, apart, splat(1)), start = tn_dot2(p, s);
    return m_and(across, lt(fma(at, tn_dot2(p + 2, s) - start, start), splat(0)));
}

/*
 * The way from p to p + 2 around a circle, on the side where the straight line passes its centre, or, if that is
 * opposite to s, on the other one: sets where it touches (t, t + 2) and the angle between, positive from x to y.
 * Returns lanes whose straight line meets the circle, or passes opposite to s. sided: there is s.
 */
LFN mask tn_around(const real *p, int sided, const real *s, real radius, real *t, real *angle)
{
    real rr = radius * radius;
    real near[2], at, turn, zero = splat(0), ccw = copysign_(splat(1), fma(p[0], p[3], -(p[1] * p[2])));
    real len2[2] = {tn_dot2(p, p), tn_dot2(p + 2, p + 2)}, way[2] = {p[2] - p[0], p[3] - p[1]};
    tn_nearest(p, &at, near);
    mask blocked = le(tn_dot2(near, near), rr);
    if (sided) {
        mask opposite = tn_opposite(p, s);
        blocked = m_or(blocked, opposite);
        ccw = select(opposite, -ccw, ccw);
    }
    for (int e = 0; e < 2; ++e) {
        const real *from = p + 2 * e;
        real side = sqrt(rmax(len2[e] - rr, zero)) * ccw * (e == 0 ? -radius : radius);
        real inv = splat(1) / rmax(len2[e], splat((ureal)1e-20));
        t[2 * e] = fma(from[0], rr, side * from[1]) * inv;
        t[2 * e + 1] = fma(from[1], rr, -(side * from[0])) * inv;
    }
    turn = atan2(fma(t[0], t[3], -(t[1] * t[2])), tn_dot2(t, t + 2));
    *angle = select(lt(turn * ccw, zero), fma(ccw, splat((ureal)TENDON_TURN), turn), turn);
    blocked = m_and(blocked, m_and(le(rr, len2[0]), le(rr, len2[1])));
    return m_and(blocked, lt(splat((ureal)1e-15), tn_dot2(way, way)));
}

/*
 * The way from p to p + 2 that touches a circle from its inside, in one point, where both parts make the same angle
 * with the circle: by bisection of the arc. Returns lanes whose straight line misses the circle.
 */
LFN mask tn_inside(const real *p, real radius, real *t)
{
    real rr = radius * radius;
    real low[2] = {p[0], p[1]}, high[2] = {p[2], p[3]}, near[2], at;
    tn_nearest(p, &at, near);
    mask inner = m_and(m_and(lt(splat(0), at), lt(at, splat(1))), le(tn_dot2(near, near), rr));
    mask out = m_and(lt(rr, tn_dot2(p, p)), lt(rr, tn_dot2(p + 2, p + 2)));
    mask has_low = tn_unit(low, 2), has_high = tn_unit(high, 2);
    out = m_and(out, m_and(m_and(has_low, has_high), lt(splat((ureal)-1 + (ureal)1e-6), tn_dot2(low, high))));
    real order = copysign_(splat(1), fma(low[0], high[1], -(low[1] * high[0])));
    for (int step = 0; step < TENDON_HALVINGS; ++step) {
        real middle[2] = {low[0] + high[0], low[1] + high[1]}, lean = splat(0);
        mask has_middle = tn_unit(middle, 2);
        for (int e = 0; e < 2; ++e) {
            real leg[2];
            for (int i = 0; i < 2; ++i) leg[i] = fma(middle[i], -radius, p[2 * e + i]);
            mask has_leg = tn_unit(leg, 2);
            lean = select(has_leg, lean + fma(middle[0], leg[1], -(middle[1] * leg[0])), lean);
        }
        mask up = m_and(has_middle, le(splat(0), lean * order));
        for (int i = 0; i < 2; ++i) {
            low[i] = select(up, middle[i], low[i]);
            high[i] = select(up, high[i], middle[i]);
        }
    }
    for (int i = 0; i < 4; ++i) t[i] = low[i % 2] * radius;
    return m_andnot(out, inner);
}

/* ---- links ------------------------------------------------------------------------------------------------------- */

/* The plane of a circle and its normal, columns x, y, z: a cylinder's, or through a sphere's centre and both ends. */
LFN void tn_frame(const real *xform, int geom, int sphere, const real *from, const real *to, real *axis)
{
    for (int i = 0; i < 9; ++i) axis[i] = xform[(i64)geom * 12 + 4 * (i % 3) + i / 3];
    if (!sphere) return;
    real other[3], *x = axis, *y = axis + 3, *z = axis + 6;
    for (int i = 0; i < 3; ++i) x[i] = from[i];
    mask has_x = tn_unit(x, 3);
    x[0] = select(has_x, x[0], splat(1));
    tn_cross(from, to, z);
    mask has_z = tn_unit(z, 3);
    real big = rmax(rabs(x[0]), rmax(rabs(x[1]), rabs(x[2])));
    for (int i = 0; i < 3; ++i) other[i] = select(eq(rabs(x[i]), big), splat(0), splat(1));
    tn_cross(x, other, y);
    mask has_y = tn_unit(y, 3);
    for (int i = 0; i < 3; ++i) z[i] = select(has_z, z[i], select(has_y, y[i], splat(0)));
    tn_cross(z, x, y);
}

/* Coordinates in the circle's frame to a place in the world. */
LFN void tn_out(const real *centre, const real *axis, const real *uv, real height, real *out)
{
    for (int i = 0; i < 3; ++i)
        out[i] = fma(axis[6 + i], height, fma(axis[3 + i], uv[1], fma(axis[i], uv[0], centre[i])));
}

/* A link around a geom: its two straight pieces, then those of the arc. */
LFN void tn_wrap(const real *xform, const int *link, const ureal *look, real radius, const real *a, const real *b,
                 real *pieces)
{
    ureal width = look[TENDON_WIDTH];
    int sphere = link[TENDON_KIND] == TENDON_SPHERE, most = link[TENDON_PIECES] - 2;
    real centre[3], axis[9], from[3], to[3], p[4], height[2], side[3], s[2] = {splat(0), splat(0)}, t[4], angle;
    tn_place(xform, link[TENDON_GEOM], centre);
    for (int i = 0; i < 3; ++i) {
        from[i] = a[i] - centre[i];
        to[i] = b[i] - centre[i];
    }
    tn_frame(xform, link[TENDON_GEOM], sphere, from, to, axis);
    for (int e = 0; e < 2; ++e) {
        const real *end = e ? to : from;
        for (int i = 0; i < 2; ++i) p[2 * e + i] = tn_dot(end, axis + 3 * i);
        height[e] = sphere ? splat(0) : tn_dot(end, axis + 6);
    }
    int sided = link[TENDON_SIDE] >= 0;
    mask within = m_none();
    if (sided) {
        tn_place(xform, link[TENDON_SIDE], side);
        for (int i = 0; i < 3; ++i) side[i] = side[i] - centre[i];
        within = lt(tn_dot(side, side), radius * radius);
        for (int i = 0; i < 2; ++i) s[i] = tn_dot(side, axis + 3 * i);
        tn_unit(s, 2);
    }
    mask wraps = tn_around(p, sided, s, radius, t, &angle);
    if (any(within)) {
        real touch[4];
        mask touches = tn_inside(p, radius, touch);
        for (int i = 0; i < 4; ++i) t[i] = select(within, touch[i], t[i]);
        angle = select(within, splat(0), angle);
        wraps = m_or(m_and(within, touches), m_andnot(wraps, within));
    }
    real leg[2], arc = rabs(angle) * radius, point[3], next[3];
    for (int e = 0; e < 2; ++e) {
        real d[2] = {p[2 * e] - t[2 * e], p[2 * e + 1] - t[2 * e + 1]};
        leg[e] = sqrt(tn_dot2(d, d));
    }
    real rise = (height[1] - height[0]) / rmax(leg[0] + arc + leg[1], splat((ureal)1e-20));
    real base = fma(rise, leg[0], height[0]);
    real count = clamp(rint(rabs(angle) * splat(look[TENDON_PER_RADIAN])), splat(1), splat((ureal)most));
    tn_out(centre, axis, t, base, point);
    for (int i = 0; i < 3; ++i) next[i] = select(wraps, point[i], b[i]);
    tn_piece(pieces, a, next, width, m_all());
    for (int k = 1; k <= most; ++k) {
        real part = splat((ureal)k) / count, turn = angle * part, c = cos(turn), d = sin(turn);
        real uv[2] = {fma(c, t[0], -(d * t[1])), fma(d, t[0], c * t[1])};
        mask here = m_and(wraps, m_and(le(splat((ureal)k), count), lt(splat(0), arc)));
        tn_out(centre, axis, uv, fma(rise, arc * part, base), next);
        tn_piece(pieces + 12 * (k + 1), point, next, width, here);
        for (int i = 0; i < 3; ++i) point[i] = select(here, next[i], point[i]);
    }
    tn_piece(pieces + 12, point, b, width, wraps);
}

/*
 * sinh(x) / x = ratio, for a ratio of 1 … 100: Newton's method on the logarithm, which is convex and near the square of
 * its start where the ratio is near 1.
 */
LFN real tn_sinh_scale(real ratio)
{
    real goal = log(ratio), x = sqrt(goal * splat(6)), one = splat(1);
    x = select(lt(goal, one), x, goal + log(goal + goal + one) + one);
    for (int step = 0; step < TENDON_STEPS; ++step) {
        real grow = exp(x), fall = one / grow, s = (grow - fall) * splat((ureal)0.5),
             c = (grow + fall) * splat((ureal)0.5);
        mask small = lt(x, splat((ureal)0.02));
        real value = select(small, x * x / splat(6), log(s / select(small, one, x)));
        real slope = select(small, x / splat(3), c / s - one / select(small, one, x));
        x = rmax(x - (value - goal) / rmax(slope, splat((ureal)1e-12)), splat((ureal)1e-6));
    }
    return x;
}

/* A limp tendon between two sites hangs as a catenary; one that hangs almost straight down, as two pieces. */
LFN void tn_hang(int count, const ureal *look, const real *a, const real *b, real *pieces)
{
    ureal whole = look[TENDON_LENGTH], width = look[TENDON_WIDTH];
    real way[3], up[3], rise, point[3], next[3];
    for (int i = 0; i < 3; ++i) {
        up[i] = splat(look[TENDON_UP + i]);
        way[i] = b[i] - a[i];
    }
    mask slack = lt(tn_dot(way, way), splat(whole * whole));
    rise = tn_dot(way, up);
    for (int i = 0; i < 3; ++i) way[i] = fma(-rise, up[i], way[i]);
    real across = sqrt(tn_dot(way, way)), len = splat(whole);
    mask steep = m_and(slack, lt(across, splat(whole * (ureal)0.01)));
    mask curve = m_andnot(slack, steep);
    real ratio = sqrt(rmax(len * len - rise * rise, splat(0))) / select(curve, across, len);
    real s = tn_sinh_scale(select(curve, rmax(ratio, splat(1)), splat(2)));
    real scale = across / (s + s), share = rise / len;
    real low =
        (across - scale * log((splat(1) + share) / select(curve, splat(1) - share, splat(1)))) * splat((ureal)0.5);
    low = select(curve, low, splat(0)) / select(curve, scale, splat(1));
    real lift = exp(low) + exp(-low);
    /* steep: the lowest point, as far along the way as the first part is of the whole */
    real part = (splat(1) - share) * splat((ureal)0.5), down = part * len, aside = part * across;
    down = sqrt(rmax(down * down - aside * aside, splat(0)));
    for (int i = 0; i < 3; ++i) point[i] = a[i];
    for (int k = 0; k < count; ++k) {
        real at = splat((ureal)(k + 1) / (ureal)(count + 1)), x = across * at / select(curve, scale, splat(1)) - low;
        real height = scale * splat((ureal)0.5) * (exp(x) + exp(-x) - lift);
        mask here = curve, last = m_not(slack);
        if (k == count - 1) {
            last = curve;
        } else if (k == 0) {
            at = select(steep, part, at);
            height = select(steep, -down, height);
            here = m_all();
        } else if (k == 1) {
            last = m_not(curve);
            here = slack;
        }
        for (int i = 0; i < 3; ++i) {
            next[i] = fma(up[i], height, fma(way[i], at, a[i]));
            next[i] = select(last, b[i], next[i]);
        }
        tn_piece(pieces + 12 * k, point, next, width, here);
        for (int i = 0; i < 3; ++i) point[i] = next[i];
    }
}

/*
 * The pieces of all links, lines of flexes included. link, look [TENDON_LINK, TENDON_LOOK each]: tendon_rows.k.h.
 * radius [nlink]: of the geoms that links go around, in place of those in `look`, where worlds have their own.
 */
world_kernel void k_tendons(const lint *stale, real *xform, const int *link, const ureal *look, const real *radius,
                            int nlink)
{
    if (!any(ilt(isplat(0), stale[0]))) return;
    each (l, nlink) {
        const int *row = link + l * TENDON_LINK;
        const ureal *numbers = look + l * TENDON_LOOK;
        real a[3], b[3], *pieces = xform + (i64)row[TENDON_FIRST] * 12;
        tn_place(xform, row[TENDON_FROM], a);
        tn_place(xform, row[TENDON_TO], b);
        if (row[TENDON_KIND] == TENDON_LINE) {
            tn_point(xform, row[TENDON_FROM], numbers + TENDON_LINE_FROM, a);
            tn_point(xform, row[TENDON_TO], numbers + TENDON_LINE_TO, b);
        }
        if (row[TENDON_KIND] == TENDON_STRAIGHT || row[TENDON_KIND] == TENDON_LINE)
            tn_piece(pieces, a, b, numbers[TENDON_WIDTH], m_all());
        else if (row[TENDON_KIND] == TENDON_CATENARY)
            tn_hang(row[TENDON_PIECES], numbers, a, b, pieces);
        else
            tn_wrap(xform, row, numbers, radius ? radius[l] : splat(numbers[TENDON_RADIUS]), a, b, pieces);
    }
}
