/*
 * Views: a camera's axes, the rays of its pixels, and the pyramid of rays of a patch of pixels. Everything is uniform
 * but the lanes of a row. Part of render.k.h.
 *
 * A view is VIEW_SIZE numbers: eye (3), axes right, up, back (unit, world frame; the camera looks along -back), then
 * the lens: for across and down the middle of the picture and the size of a pixel on the plane one metre in front of
 * the eye (orthographic: in metres), and the number of pixels from the edge to the middle; then the depths of the near
 * and the far plane. Rays go through the centres of pixels; row 0 is the top row. Counting from the middle keeps the
 * relative error of small angles small: the horizon of a level camera is level.
 */
#define VIEW_EYE 0
#define VIEW_RIGHT 3
#define VIEW_UP 6
#define VIEW_BACK 9
#define VIEW_LENS 12
#define LENS_SIZE 8
#define VIEW_NEAR (VIEW_LENS + 6)
#define VIEW_FAR (VIEW_LENS + 7)
#define VIEW_SIZE (VIEW_LENS + LENS_SIZE)

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

/*
 * Coordinates on the plane of the picture: of the edge before column x, of the edge above row y, of the centres of
 * columns (lanes), and of the centre of a row.
 */
LFN ureal edge_u(const ureal *lens, int x) { return ufma((ureal)x - lens[2], lens[1], lens[0]); }
LFN ureal edge_v(const ureal *lens, int y) { return ufma(lens[5] - (ureal)y, lens[4], lens[3]); }
LFN real view_us(const ureal *view, lint x)
{
    const ureal *lens = view + VIEW_LENS;
    return fma(to_real(x) + splat((ureal)0.5 - lens[2]), splat(lens[1]), splat(lens[0]));
}
LFN real view_u(const ureal *view, int x) { return view_us(view, lane() + isplat(x)); }
LFN ureal view_v(const ureal *view, int y)
{
    const ureal *lens = view + VIEW_LENS;
    return ufma(lens[5] - (ureal)y - (ureal)0.5, lens[4], lens[3]);
}
/* The same of rows (lanes). */
LFN real view_vs(const ureal *view, lint y)
{
    const ureal *lens = view + VIEW_LENS;
    return fma(splat(lens[5]) - to_real(y) - splat((ureal)0.5), splat(lens[4]), splat(lens[3]));
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
