/*
 * Views: a camera's axes, the rays of its pixels, and the pyramid of rays of a patch of pixels. Everything is uniform
 * but the lanes of a row. Part of render.k.h.
 *
 * A view is VIEW_SIZE numbers: eye (3), axes right, up, back (unit, world frame; the camera looks along -back), then
 * the lens: for across and down the middle of the picture and the size of a pixel on the plane one metre in front of
 * the eye (orthographic: in metres; fisheye: in radians), and the number of pixels from the edge to the middle; then
 * the depths of the near and the far plane, and 1 for a fisheye. Rays go through the centres of pixels; row 0 is the
 * top row. Counting from the middle keeps the relative error of small angles small: the horizon of a level camera is
 * level.
 *
 * A fisheye is equidistant: a pixel's distance from the middle of the picture is the angle between its ray and the
 * viewing axis, times the pixels of a radian. Its rays are unit vectors, so its depths are distances.
 */
#define PYRAMID_PLANES 5
#define PYRAMID_SIZE (PYRAMID_PLANES * 4 + 2)

LFN ureal udot(const ureal *a, const ureal *b) { return ufma(a[2], b[2], ufma(a[1], b[1], a[0] * b[0])); }

/* Normalises the axes, so that depth is in metres whatever the scale of the camera's prim. m: 3 x 4 by rows. */
LFN void view_from(const ureal *m, const ureal *lens, ureal *view)
{
    for (int k = 0; k < 3; ++k) {
        ureal axis[3] = {m[k], m[4 + k], m[8 + k]};
        ureal inv = 1 / usqrt(udot(axis, axis));
        view[VIEW_EYE + k] = m[4 * k + 3];
        for (int j = 0; j < 3; ++j) view[VIEW_RIGHT + 3 * k + j] = axis[j] * inv;
    }
    for (int k = 0; k < LENS_SIZE; ++k) view[VIEW_LENS + k] = lens[k];
}

/* Whether a view's axes are at right angles, but for roundings: a camera's prim may have any. */
LFN int square_view(const ureal *view)
{
    ureal skew = 0;
    for (int k = 0; k < 3; ++k)
        skew = umax(skew, uabs(udot(view + VIEW_RIGHT + 3 * k, view + VIEW_RIGHT + 3 * ((k + 1) % 3))));
    return skew < (ureal)4e-6;
}

/*
 * Coordinates on the plane of the picture: of the edge before column x, of the edge above row y, of the centres of
 * columns (lanes).
 */
LFN ureal edge_u(const ureal *lens, int x) { return ufma((ureal)x - lens[2], lens[1], lens[0]); }
LFN ureal edge_v(const ureal *lens, int y) { return ufma(lens[5] - (ureal)y, lens[4], lens[3]); }
LFN real view_us(const ureal *view, lint x)
{
    const ureal *lens = view + VIEW_LENS;
    return fma(to_real(x) + splat((ureal)0.5 - lens[2]), splat(lens[1]), splat(lens[0]));
}
/* Of the centres of rows (lanes). */
LFN real view_vs(const ureal *view, lint y)
{
    const ureal *lens = view + VIEW_LENS;
    return fma(splat(lens[5]) - to_real(y) - splat((ureal)0.5), splat(lens[4]), splat(lens[3]));
}

/*
 * Rays of pixels in the camera's axes: right, up, ahead (1 but for a fisheye); orthographic: where they begin. start:
 * of rays in a mirror, where they leave it.
 */
typedef struct sight {
    real u, v, w, start;
} sight;

/* Hits of lanes: depth; geom, -1: none; normal in the camera's frame, of any length. */
typedef struct lane_hits {
    real t, n[3];
    lint geom;
} lane_hits;

/* Of pixels (x, y). */
LFN void sight_of(const ureal *view, lint x, lint y, sight *out)
{
    out->u = view_us(view, x);
    out->v = view_vs(view, y);
    out->w = splat(1);
    if (!(SCENE_HAS >> SCENE_FISHEYE & 1) || view[VIEW_FISHEYE] == 0) return;
    real angle = sqrt(fma(out->u, out->u, out->v * out->v));
    real stretch = select(lt(splat(0), angle), sin(angle) / angle, splat(1));
    out->u = out->u * stretch;
    out->v = out->v * stretch;
    out->w = cos(angle);
}

/* Of a row's pixels from (x, y) on. */
LFN void row_sight(const ureal *view, int x, int y, sight *out) { sight_of(view, lane() + isplat(x), isplat(y), out); }

LFN void unit_or(ureal *a, ureal x, ureal y, ureal z)
{
    ureal len2 = udot(a, a), other[3] = {x, y, z};
    for (int k = 0; k < 3; ++k) a[k] = len2 > 0 ? a[k] / usqrt(len2) : other[k];
}

LFN void ucross(const ureal *a, const ureal *b, ureal *out)
{
    for (int k = 0; k < 3; ++k) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        out[k] = ufma(a[i], b[j], -(a[j] * b[i]));
    }
}

/* Sine and cosine of a number. */
LFN void usincos(ureal x, ureal *out)
{
    ureal lanes[STET_W];
    store(lanes, sin(splat(x)));
    out[0] = lanes[0];
    store(lanes, cos(splat(x)));
    out[1] = lanes[0];
}

/*
 * A cone around the rays of a fisheye's patch: axes: its own (unit, world frame) and two across it; returns half its
 * angle. Angles between rays are at most those between their pixels.
 */
LFN ureal fisheye_cone(const ureal *view, int x, int y, int n, ureal *axes)
{
    const ureal *lens = view + VIEW_LENS;
    ureal left = edge_u(lens, x), right = edge_u(lens, x + n), top = edge_v(lens, y), bottom = edge_v(lens, y + n);
    ureal wide = right - left, tall = top - bottom, a = (left + right) / 2, b = (top + bottom) / 2, turn[2];
    ureal angle = usqrt(ufma(a, a, b * b));
    usincos(angle, turn);
    ureal stretch = angle > 0 ? turn[0] / angle : 1, along = stretch * b;
    for (int k = 0; k < 3; ++k)
        axes[k] =
            ufma(view[VIEW_RIGHT + k], stretch * a, ufma(view[VIEW_UP + k], along, -(view[VIEW_BACK + k] * turn[1])));
    unit_or(axes, 0, 0, 1);
    ucross(axes, view + (uabs(along) < (ureal)0.7 ? VIEW_UP : VIEW_RIGHT), axes + 3);
    unit_or(axes + 3, 1, 0, 0);
    ucross(axes, axes + 3, axes + 6);
    return ufma(usqrt(ufma(wide, wide, tall * tall)), (ureal)0.5001, (ureal)1e-5);
}

/* The pyramid around such a cone; one that is nearly flat or more keeps nothing out. */
LFN void fisheye_pyramid(const ureal *view, int x, int y, int n, ureal *pyramid)
{
    ureal axes[9], half = fisheye_cone(view, x, y, n, axes), turn[2];
    int wide = half > (ureal)1.5;
    usincos(half, turn);
    for (int p = 0; p < PYRAMID_PLANES; ++p) {
        const ureal *side = axes + (p < 2 ? 3 : 6);
        ureal across = p == 4 ? 0 : p % 2 ? -turn[1] : turn[1], ahead = p == 4 ? 1 : turn[0];
        for (int k = 0; k < 3; ++k) pyramid[4 * p + k] = wide ? 0 : ufma(side[k], across, axes[k] * ahead);
        pyramid[4 * p + 3] = wide ? -1 : 0;
    }
    pyramid[20] = (ureal)4e-6;
    pyramid[21] = 0;
}

/* A corner of a patch: origin (from the eye) and direction of its ray; c = 0 … 3 around the patch. */
LFN void patch_corner(const ureal *view, int flat, int c, const ureal *edge, ureal *start, ureal *way)
{
    ureal u = edge[c == 0 || c == 3 ? 0 : 1], v = edge[c < 2 ? 2 : 3];
    for (int k = 0; k < 3; ++k) {
        ureal place = ufma(view[VIEW_UP + k], v, view[VIEW_RIGHT + k] * u);
        start[k] = flat ? place : 0;
        way[k] = (flat ? 0 : place) - view[VIEW_BACK + k];
    }
}

/*
 * The pyramid (orthographic: the beam) of the patch with corner pixel (x, y) and n x n pixels: the planes of four sides
 * and the one through the eye, each as inward normal and offset, relative to the eye; then two numbers for the
 * tolerance of tests against it. The normals are not normalised; their absolute error is a few units in the last place
 * of the product of two rays.
 */
LFN void pyramid_of(const ureal *view, int flat, int x, int y, int n, ureal *pyramid)
{
    const ureal *lens = view + VIEW_LENS;
    if (SCENE_HAS >> SCENE_FISHEYE & 1 && view[VIEW_FISHEYE] != 0) {
        fisheye_pyramid(view, x, y, n, pyramid);
        return;
    }
    ureal edge[4] = {edge_u(lens, x), edge_u(lens, x + n), edge_v(lens, y), edge_v(lens, y + n)};
    ureal eu = umax(uabs(edge[0]), uabs(edge[1])), ev = umax(uabs(edge[2]), uabs(edge[3]));
    ureal far2 = ufma(eu, eu, ufma(ev, ev, 1));
    for (int c = 0; c < 4; ++c) {
        ureal s0[3], w0[3], s1[3], w1[3], s2[3], w2[3], *plane = pyramid + 4 * c;
        patch_corner(view, flat, c, edge, s0, w0);
        patch_corner(view, flat, (c + 1) & 3, edge, s1, w1);
        patch_corner(view, flat, (c + 2) & 3, edge, s2, w2);
        for (int k = 0; k < 3; ++k) {
            s1[k] = s1[k] - s0[k] + w1[k];
            s2[k] = s2[k] + w2[k];
        }
        for (int k = 0; k < 3; ++k) {
            int i = (k + 1) % 3, j = (k + 2) % 3;
            plane[k] = ufma(w0[i], s1[j], -(w0[j] * s1[i]));
        }
        plane[3] = udot(plane, s0);
        if (udot(plane, s2) < plane[3])
            for (int k = 0; k < 4; ++k) plane[k] = -plane[k];
    }
    for (int k = 0; k < 3; ++k) pyramid[16 + k] = -view[VIEW_BACK + k];
    pyramid[19] = 0;
    pyramid[20] = (ureal)2e-6 * far2;
    pyramid[21] = flat ? far2 : 0;
}
