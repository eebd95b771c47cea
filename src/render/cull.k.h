/*
 * Culling: which geoms a patch of pixels may show. Part of render.k.h.
 *
 * Culling is conservative: a geom is left out only if its box is outside one plane of the patch's pyramid by more than
 * rounding errors. The list keeps the order of the geoms, so culling changes no pixel. Lanes are geoms. A geom whose
 * pose is not finite may be listed, but no ray hits it (RAY-2).
 */
#define CHUNK 128 /* geoms that are culled together: the capacity of the shared list */
#define GROUP 16  /* geoms of a chunk that one thread lists */

LFN void xform_of(const wreal *xform, int nitem, int world, int prim, ureal *m)
{
    for (int k = 0; k < 12; ++k) m[k] = of_world(xform, nitem, world, prim * 12 + k);
}

/* Lanes whose box may touch the pyramid. m: 3 x 4 by rows; bounds: centre and half sizes in the geom's frame. */
LFN mask boxes_may_touch(const real *m, const real *bounds, const ureal *eye, const ureal *pyramid)
{
    real c[3], e[9], sum = splat(pyramid[21]);
    for (int r = 0; r < 3; ++r) {
        c[r] = fma(m[4 * r + 2], bounds[2],
                   fma(m[4 * r + 1], bounds[1], fma(m[4 * r], bounds[0], m[4 * r + 3] - splat(eye[r]))));
        sum = sum + (rabs(c[r]) + rabs(m[4 * r + 3]) + splat(uabs(eye[r])));
        for (int k = 0; k < 3; ++k) {
            e[3 * k + r] = m[4 * r + k] * bounds[3 + k];
            sum = sum + rabs(e[3 * k + r]);
        }
    }
    real slack = splat(pyramid[20]) * sum;
    mask may = m_all();
    for (int p = 0; p < PYRAMID_PLANES; ++p) {
        const ureal *plane = pyramid + 4 * p;
        real n[3] = {splat(plane[0]), splat(plane[1]), splat(plane[2])};
        real reach = rabs(ray_dot(n, e)) + rabs(ray_dot(n, e + 3)) + rabs(ray_dot(n, e + 6));
        may = m_andnot(may, lt(ray_dot(n, c) - splat(plane[3]) + reach + slack, splat(0)));
    }
    return may;
}

/* Lanes of the geoms number i … of the n from `shown` that the pyramid may touch. */
LFN mask geoms_may_touch(const wreal *xform, int nitem, int world, const int *shown, int i, int n, const ureal *bounds,
                         const ureal *eye, const ureal *pyramid)
{
    ureal word[18 * STET_W];
    int endless[STET_W];
    real m[18];
    for (int l = 0; l < STET_W; ++l) {
        const int *row = shown + nmin(i + l, n - 1) * SHOWN_SIZE;
        for (int k = 0; k < 12; ++k) word[k * STET_W + l] = of_world(xform, nitem, world, row[SHOWN_PRIM] * 12 + k);
        for (int k = 0; k < 6; ++k) word[(12 + k) * STET_W + l] = bounds[6 * row[SHOWN_GEOM] + k];
        endless[l] = row[SHOWN_KIND] & SHOWN_ENDLESS;
    }
    for (int k = 0; k < 18; ++k) m[k] = load(word + k * STET_W);
    mask may = boxes_may_touch(m, m + 12, eye, pyramid);
    return m_and(in_range(i, n), m_or(may, ilt(isplat(0), iload(endless))));
}

/* Group g's part of the list of n geoms, after the entries of the groups before it; flag[n] becomes their number. */
LFN void list_group(int g, int n, int *flag, int *list)
{
    int at = 0;
    for (int k = 0; k < g * GROUP; ++k) at += flag[k];
    for (int k = g * GROUP; k < nmin(n, (g + 1) * GROUP); ++k) {
        if (flag[k]) list[at] = k;
        at += flag[k];
    }
    if (n <= (g + 1) * GROUP) flag[n] = at;
}
