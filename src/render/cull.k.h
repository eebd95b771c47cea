/*
 * Culling: which geoms a patch of pixels may show. Part of render.k.h.
 *
 * Culling is conservative: a geom is left out only if its box is outside one plane of the patch's pyramid by more than
 * rounding errors. The list keeps the order of the geoms, so culling changes no pixel. Lanes are geoms. A geom whose
 * pose is not finite may be listed, but no ray hits it (RAY-2).
 */
#define CHUNK 128             /* geoms that are culled together: the capacity of the shared list */
#define LIST_SIZE (2 * CHUNK) /* listed geoms, as numbers in their chunk; then, for threads, each one's flag */
/*
 * A geom's box: its centre (3), half of its three edges as vectors (3 x 3), both in the world frame; what the slack of
 * tests grows with; the radius of the ball around it (only where lanes are geoms).
 */
#define BOX_EDGE 3
#define BOX_SLACK 12
#define BOX_RADIUS 13
#define BOX_SIZE 14
#define BOX_ENDLESS (1 / (ureal)0) /* slack: of any distance */
/*
 * For threads, of each geom of a chunk a bit for each pyramid that it may touch; how many geoms are listed; then the
 * chunk whose boxes are loaded: its first row in `scene` (0: none) and how many.
 */
#define FLAG_BOXES (CHUNK + 1)
#define FLAG_SIZE (CHUNK + 3)

LFN void xform_of(const wreal *xform, int nitem, int world, int prim, ureal *m)
{
    for (int k = 0; k < 12; ++k) m[k] = of_world(xform, nitem, world, prim * 12 + k);
}

/* The box of a transform (3 x 4 by rows) and bounds (centre and half sizes in its frame), its numbers `step` apart. */
LFN void make_box(const ureal *m, const ureal *bounds, int step, ureal *box)
{
    ureal slack = 0, most = 0, e[9];
    for (int r = 0; r < 3; ++r) {
        box[r * step] =
            ufma(m[4 * r + 2], bounds[2], ufma(m[4 * r + 1], bounds[1], ufma(m[4 * r], bounds[0], m[4 * r + 3])));
        slack = slack + uabs(m[4 * r + 3]);
        for (int k = 0; k < 3; ++k) {
            e[3 * k + r] = m[4 * r + k] * bounds[3 + k];
            box[(BOX_EDGE + 3 * k + r) * step] = e[3 * k + r];
            slack = slack + uabs(e[3 * k + r]);
        }
    }
    box[BOX_SLACK * step] = slack;
    for (int i = 0; i < 4 && STET_W > 1; ++i) { /* half of the longest diagonal, and more than roundings */
        ureal d[3];
        for (int r = 0; r < 3; ++r) d[r] = e[r] + (i & 1 ? -e[3 + r] : e[3 + r]) + (i & 2 ? -e[6 + r] : e[6 + r]);
        most = umax(most, udot(d, d));
    }
    if (STET_W > 1) box[BOX_RADIUS * step] = usqrt(most) * (ureal)1.0001;
}

/* The centres of lanes' boxes, from the eye; returns the slack of tests of them. */
LFN real box_centre(const real *box, const ureal *eye, const ureal *pyramid, real *c)
{
    real sum = splat(pyramid[21]) + box[BOX_SLACK];
    for (int r = 0; r < 3; ++r) {
        c[r] = box[r] - splat(eye[r]);
        sum = sum + (rabs(c[r]) + splat(uabs(eye[r])));
    }
    return splat(pyramid[20]) * sum;
}

/* Lanes whose box may touch the pyramid. */
LFN mask boxes_may_touch(const real *box, const ureal *eye, const ureal *pyramid)
{
    real c[3], slack = box_centre(box, eye, pyramid, c);
    const real *e = box + BOX_EDGE;
    mask may = m_all();
    for (int p = 0; p < PYRAMID_PLANES; ++p) {
        const ureal *plane = pyramid + 4 * p;
        real n[3] = {splat(plane[0]), splat(plane[1]), splat(plane[2])};
        real reach = rabs(ray_dot(n, e)) + rabs(ray_dot(n, e + 3)) + rabs(ray_dot(n, e + 6));
        may = m_andnot(may, lt(ray_dot(n, c) - splat(plane[3]) + reach + slack, splat(0)));
    }
    return may;
}

/* The same of one box. */
LFN mask box_may_touch(const ureal *box, const ureal *eye, const ureal *pyramid)
{
    real same[BOX_SIZE];
    for (int k = 0; k < BOX_RADIUS; ++k) same[k] = splat(box[k]);
    return boxes_may_touch(same, eye, pyramid);
}

/* Lanes whose box's ball may touch the pyramid: far fewer operations. length: of the planes' normals. */
LFN mask balls_may_touch(const real *box, const ureal *eye, const ureal *pyramid, const ureal *length)
{
    real c[3], slack = box_centre(box, eye, pyramid, c);
    mask may = m_all();
    for (int p = 0; p < PYRAMID_PLANES; ++p) {
        const ureal *plane = pyramid + 4 * p;
        real n[3] = {splat(plane[0]), splat(plane[1]), splat(plane[2])};
        real far = fma(splat(length[p]), box[BOX_RADIUS], ray_dot(n, c) - splat(plane[3]));
        may = m_andnot(may, lt(far + slack, splat(0)));
    }
    return may;
}

/* The box of a geom to draw, its numbers `step` apart. One without end touches every pyramid. */
LFN void load_box(const wreal *xform, int nitem, int world, const int *row, const ureal *bounds, int step, ureal *box)
{
    ureal m[12];
    xform_of(xform, nitem, world, row[SHOWN_PRIM], m);
    make_box(m, bounds + 6 * row[SHOWN_GEOM], step, box);
    if (row[SHOWN_KIND] & SHOWN_ENDLESS) box[BOX_SLACK * step] = BOX_ENDLESS;
}

/*
 * Loads the boxes of the n geoms at `at` in `scene`, a lane a geom, unless they are those that were loaded last: a
 * block culls once for what each of its patches shows and once for each lamp. A thread that is its own lane loads what
 * it tests.
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

/* Lists those of the n geoms of loaded boxes that the pyramid may touch; flag[n] becomes their number. */
LFN void list_boxes(const ureal *boxes, int n, const ureal *eye, const ureal *pyramid, int *flag, int *list)
{
    ureal length[PYRAMID_PLANES];
    int found = 0, lanes[STET_W];
    for (int p = 0; p < PYRAMID_PLANES; ++p) length[p] = usqrt(udot(pyramid + 4 * p, pyramid + 4 * p)) * (ureal)1.0001;
    for (int i = 0; i < n; i += STET_W) {
        real box[BOX_SIZE];
        for (int k = 0; k < BOX_SIZE; ++k) box[k] = load(boxes + k * CHUNK + i);
        mask may = m_and(in_range(i, n), balls_may_touch(box, eye, pyramid, length));
        if (any(may)) may = m_and(may, boxes_may_touch(box, eye, pyramid));
        if (!any(may)) continue;
        istore(lanes, may & isplat(1));
        for (int l = 0; l < STET_W; ++l) {
            list[found] = i + l;
            found += lanes[l];
        }
    }
    flag[n] = found;
}

/* The flag of a geom: a bit for each of the pyramids in `which` that its box may touch. */
LFN int flag_of(const ureal *box, const ureal *eye, const ureal *pyramid, int which)
{
    int bits = 0;
    for (int p = 0; which >> p; ++p)
        if (which >> p & 1 && any(box_may_touch(box, eye, pyramid + p * PYRAMID_SIZE))) bits |= 1 << p;
    return bits;
}
