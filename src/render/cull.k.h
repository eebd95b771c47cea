/*
 * Culling: which geoms a patch of pixels may show. Part of render.k.h.
 *
 * Culling is conservative: a geom is left out only if its box is outside one plane of the patch's pyramid by more than
 * rounding errors. The list keeps the order of the geoms, so culling changes no pixel. Lanes are geoms. A geom whose
 * pose is not finite may be listed, but no ray hits it (RAY-2).
 */
#define CHUNK 128   /* geoms that are culled together: the capacity of the shared list */
#define GROUP 16    /* one thread lists so many geoms of a chunk */
#define BOX_SIZE 18 /* a geom's transform (12) and bounds (6) */
/*
 * Flags of a chunk's geoms and their number; then the chunk whose boxes are loaded: its first row in `scene` (0: none)
 * and how many.
 */
#define FLAG_BOXES (CHUNK + 1)
#define FLAG_SIZE (CHUNK + 3)

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

/* The box of a geom to draw, its numbers `step` apart. */
LFN void load_box(const wreal *xform, int nitem, int world, const int *row, const ureal *bounds, int step, ureal *box)
{
    for (int k = 0; k < 12; ++k) box[k * step] = of_world(xform, nitem, world, row[SHOWN_PRIM] * 12 + k);
    for (int k = 0; k < 6; ++k) box[(12 + k) * step] = bounds[6 * row[SHOWN_GEOM] + k];
}

/*
 * Loads the boxes of the n geoms at `at` in `scene`, a lane a geom, unless they are those that were loaded last: a
 * patch is culled once for what it shows and once for each lamp. A thread that is its own lane loads what it tests.
 */
LFN void load_boxes(const wreal *xform, int nitem, int world, const int *scene, int at, int n, const ureal *bounds,
                    int *flag, ureal *boxes)
{
    if (STET_W == 1 || (flag[FLAG_BOXES] == at && flag[FLAG_BOXES + 1] >= n)) return;
    for (int i = 0; i < nmin(n + STET_W - 1, CHUNK); ++i)
        load_box(xform, nitem, world, scene + at + nmin(i, n - 1) * SHOWN_SIZE, bounds, CHUNK, boxes + i);
    flag[FLAG_BOXES] = at;
    flag[FLAG_BOXES + 1] = n;
}

/* Lanes of the geoms number i … of the n from `shown` that the pyramid may touch. boxes: load_boxes's. */
LFN mask geoms_may_touch(const wreal *xform, int nitem, int world, const int *shown, int i, int n, const ureal *bounds,
                         const ureal *boxes, const ureal *eye, const ureal *pyramid)
{
    ureal own[BOX_SIZE];
    real m[BOX_SIZE];
    if (STET_W == 1) load_box(xform, nitem, world, shown + i * SHOWN_SIZE, bounds, 1, own);
    for (int k = 0; k < BOX_SIZE; ++k) m[k] = STET_W == 1 ? splat(own[k]) : load(boxes + k * CHUNK + i);
    lint row = ishl(imin(lane() + isplat(i), isplat(n - 1)), 2);
    mask endless = ilt(isplat(0), igather(shown + SHOWN_KIND, row) & isplat(SHOWN_ENDLESS));
    return m_and(in_range(i, n), m_or(boxes_may_touch(m, m + 12, eye, pyramid), endless));
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
