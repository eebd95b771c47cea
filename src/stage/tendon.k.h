/*
 * Paths of spatial tendons, from the world transforms of sites and geoms. Kind: world.
 *
 * A path is made of links: from a site to the next one, straight, around a sphere or an infinite cylinder, or hanging
 * as a catenary. Each link has a fixed number of pieces, capsules; a piece that its present path does not need has a
 * transform of zeros. What wraps and where: geom/wrap.k.h.
 *
 * A piece's transform: z along the piece, in units of half its whole length (width included); x and y across, in
 * metres. So a fixed box holds it, and rays know its length (render/trace.k.h).
 */
#include "stet/lang.h"

#define STET_IN_EVERY_SIM /* its code for a GPU is made with that of the others */

#include "geom/wrap.k.h"
#include "stage/axis.k.h"
#include "stage/tendon_rows.k.h"

/* The piece from a to b in lanes of `here`, nothing in others, to its transform. */
LFN void tn_piece(real *piece, const real *a, const real *b, ureal width, mask here)
{
    real x[3], y[3], z[3], m[12];
    for (int i = 0; i < 3; ++i) z[i] = b[i] - a[i];
    real half = fma(sqrt(wrap_dot(z, z)), splat((ureal)0.5), splat(width));
    mask has_way = wrap_unit(z, 3);
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

/* ---- links ------------------------------------------------------------------------------------------------------- */

/* A link around a geom: its two straight pieces, then those of the arc. */
LFN void tn_wrap(const real *xform, const int *link, const ureal *look, real radius, const real *a, const real *b,
                 real *pieces)
{
    ureal width = look[TENDON_WIDTH];
    int geom = link[TENDON_GEOM], sided = link[TENDON_SIDE] >= 0, most = link[TENDON_PIECES] - 2;
    wrap_way way;
    real side[3], point[3], next[3];
    tn_place(xform, geom, way.centre);
    tn_place(xform, sided ? link[TENDON_SIDE] : geom, side);
    for (int i = 0; i < 9; ++i) way.axis[i] = xform[(i64)geom * 12 + 4 * (i % 3) + i / 3];
    way.radius = radius;
    mask wraps = wrap_geom(link[TENDON_KIND] == TENDON_SPHERE, sided, side, a, b, &way);
    real arc = rabs(way.angle) * radius;
    real count = clamp(rint(rabs(way.angle) * splat(look[TENDON_PER_RADIAN])), splat(1), splat((ureal)most));
    wrap_out(way.centre, way.axis, way.t, way.base, point);
    for (int i = 0; i < 3; ++i) next[i] = select(wraps, point[i], b[i]);
    tn_piece(pieces, a, next, width, m_all());
    for (int k = 1; k <= most; ++k) {
        real part = splat((ureal)k) / count, turn = way.angle * part, c = cos(turn), d = sin(turn);
        real uv[2] = {fma(c, way.t[0], -(d * way.t[1])), fma(d, way.t[0], c * way.t[1])};
        mask here = m_and(wraps, m_and(le(splat((ureal)k), count), lt(splat(0), arc)));
        wrap_out(way.centre, way.axis, uv, fma(way.rise, arc * part, way.base), next);
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
    mask slack = lt(wrap_dot(way, way), splat(whole * whole));
    rise = wrap_dot(way, up);
    for (int i = 0; i < 3; ++i) way[i] = fma(-rise, up[i], way[i]);
    real across = sqrt(wrap_dot(way, way)), len = splat(whole);
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
