/*
 * Culling: which geoms a patch of pixels may show. Part of render.k.h.
 *
 * Culling is conservative: a geom is left out only if its box is outside one plane of the patch's pyramid by more than
 * rounding errors. The list keeps the order of the geoms, so culling changes no pixel. Lanes are geoms. A geom whose
 * pose is not finite may be listed, but no ray hits it (RAY-2).
 *
 * Where a list has more than CHUNK geoms, k_boxes (boxes.k.h) makes the boxes of a world's geoms once, before its
 * patches, and those around groups of geoms that are near each other: `boxes`, of this world. Else it is absent, and a
 * block makes those that it needs.
 */
#define LIST_SIZE (2 * CHUNK) /* listed geoms, as numbers in their chunk; then each one's flag, or span (span.k.h) */
/*
 * For threads, of each geom of a chunk a bit for each pyramid that it may touch; how many geoms are listed; then the
 * chunk whose boxes are loaded: its first row in `scene` (0: none) and how many.
 */
#define FLAG_BOXES (CHUNK + 1)
#define FLAG_SIZE (CHUNK + 3)

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

/*
 * Loads the boxes of the n geoms at `at` in `scene`, a lane a geom, unless they are those that were loaded last: a
 * block culls once for what each of its patches shows and once for each lamp. A thread that is its own lane loads what
 * it tests.
 */
LFN void load_boxes(rd_world w, int at, int n, int *flag, ureal *boxes)
{
    if (STET_W == 1 || (flag[FLAG_BOXES] == at && flag[FLAG_BOXES + 1] >= n)) return;
    for (int i = 0; i < nmin(n + STET_W - 1, CHUNK); ++i)
        load_box(w, w.scene + at + nmin(i, n - 1) * SHOWN_SIZE, CHUNK, boxes + i);
    flag[FLAG_BOXES] = at;
    flag[FLAG_BOXES + 1] = n;
}

/* How long the normals of a pyramid's planes are, and a bit. */
LFN void plane_lengths(const ureal *pyramid, ureal *length)
{
    for (int p = 0; p < PYRAMID_PLANES; ++p) length[p] = usqrt(udot(pyramid + 4 * p, pyramid + 4 * p)) * (ureal)1.0001;
}

/*
 * Lists those of n geoms that the pyramid may touch, a lane a geom; their boxes' numbers are `stride` apart. Returns
 * how many, at most CHUNK; *next: the geom after the last one that was tested.
 */
LFN int list_boxes(const ureal *boxes, int stride, int n, const ureal *eye, const ureal *pyramid, int *list, int *next)
{
    ureal length[PYRAMID_PLANES];
    int found = 0, i = 0, lanes[STET_W];
    plane_lengths(pyramid, length);
    for (; i < n && found <= CHUNK - STET_W; i += STET_W) {
        real box[BOX_SIZE];
        for (int k = 0; k < BOX_SIZE; ++k) box[k] = load(boxes + (i64)k * stride + i);
        mask may = m_and(in_range(i, n), balls_may_touch(box, eye, pyramid, length));
        if (any(may)) may = m_and(may, boxes_may_touch(box, eye, pyramid));
        if (!any(may)) continue;
        istore(lanes, may & isplat(1));
        for (int l = 0; l < STET_W; ++l) {
            list[found] = i + l;
            found += lanes[l];
        }
    }
    *next = i;
    return found;
}

/* Lanes of rows `row` of all boxes, in `in`, that the pyramid may touch. */
LFN mask rows_may_touch(const ureal *boxes, int stride, lint row, mask in, const ureal *eye, const ureal *pyramid,
                        const ureal *length)
{
    real box[BOX_SIZE];
    lint at = iselect(in, row, isplat(0));
    for (int k = 0; k < 3; ++k) box[k] = gather(boxes + (i64)k * stride, at);
    for (int k = BOX_SLACK; k < BOX_SIZE; ++k) box[k] = gather(boxes + (i64)k * stride, at);
    mask may = m_and(in, balls_may_touch(box, eye, pyramid, length));
    if (!any(may)) return may;
    for (int k = BOX_EDGE; k < BOX_SLACK; ++k) box[k] = gather(boxes + (i64)k * stride, at);
    return m_and(may, boxes_may_touch(box, eye, pyramid));
}

/* Puts a list in order. */
LFN void sort_list(int *list, int n)
{
    for (int i = 1; i < n; ++i) {
        int own = list[i], at = i;
        for (; at > 0 && list[at - 1] > own; --at) list[at] = list[at - 1];
        list[at] = own;
    }
}

/*
 * The same for rows `first` to end of all boxes, in order and counted from the first: groups that are near each other
 * are left out, or looked at, together. More than CHUNK: the list does not take them.
 */
LFN int list_groups(rd_world w, const ureal *boxes, int first, int end, const ureal *eye, const ureal *pyramid,
                    int *list)
{
    const int *order = w.scene + SCENE_ORDER(w.scene);
    int n = SCENE_NROW(w.scene), stride = BOX_STRIDE(n), ngroup = GROUPS(n), found = 0, near[STET_W], rows[STET_W],
        lanes[STET_W];
    const ureal *groups = boxes + (i64)BOX_SIZE * stride;
    ureal length[PYRAMID_PLANES];
    plane_lengths(pyramid, length);
    for (int g = 0; g < ngroup; g += STET_W) {
        mask may =
            rows_may_touch(groups, BOX_STRIDE(ngroup), lane() + isplat(g), in_range(g, ngroup), eye, pyramid, length);
        if (!any(may)) continue;
        istore(near, may);
        for (int l = 0; l < STET_W; ++l) {
            int most = near[l] ? nmin((g + l + 1) * GROUP, n) : 0;
            for (int i = (g + l) * GROUP; i < most; i += STET_W) {
                lint row = iload(order + i);
                mask in = m_and(m_andnot(in_range(i, most), ilt(row, isplat(first))), ilt(row, isplat(end)));
                if (any(in)) in = rows_may_touch(boxes, stride, row, in, eye, pyramid, length);
                if (!any(in)) continue;
                if (found > CHUNK - STET_W) return CHUNK + 1;
                istore(lanes, in & isplat(1));
                istore(rows, row - isplat(first));
                for (int k = 0; k < STET_W; ++k) {
                    list[found] = rows[k];
                    found += lanes[k];
                }
            }
        }
    }
    sort_list(list, found);
    return found;
}

/* The flag of a geom: a bit for each of the pyramids in `which` that its box may touch. */
LFN int flag_of(const ureal *box, const ureal *eye, const ureal *pyramid, int which)
{
    int bits = 0;
    for (int p = 0; which >> p; ++p)
        if (which >> p & 1 && any(box_may_touch(box, eye, pyramid + p * PYRAMID_SIZE))) bits |= 1 << p;
    return bits;
}
