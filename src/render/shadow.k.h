/*
 * Shadows: rays from what is seen to the lamps that cast shadows. Part of render.k.h.
 *
 * Shadows are hard, one ray to a lamp. In mode physical, where a lamp has a bulb, SHADOW_RAYS rays go to points of the
 * disc that the bulb shows. These lie on a spiral that covers it evenly, and that is turned from pixel to pixel and
 * from sample to sample, by fixed numbers: what several samples show together is smoother than one.
 *
 * All geoms and sites that are drawn cast shadows, from both sides; what does not face a lamp is in its shadow. A
 * convex geom casts none on its side that faces the lamp: rays leave it, and are not tested against it. Geoms are
 * culled for each patch and lamp: those outside the tube from what the patch shows to the lamp are left out. As culling
 * is conservative, it changes no pixel.
 */
#define SHADOW_LIFT 3e-5f /* rays begin above the surface by this part of the depth: 500 roundings */
#define SHADOW_FAR 1e9f   /* metres, where a lamp has no place */

/* The smallest and largest depth of a patch's hits, to range (shared; 2 * PATCH numbers). */
LFN void depth_range(const ureal *best, const int *best_geom, ureal *range)
{
    sync();
    each (r, PATCH) {
        ureal low = (ureal)SHADOW_FAR, high = -1;
        for (int k = r * PATCH; k < (r + 1) * PATCH; ++k) {
            if (best_geom[k] < 0) continue;
            low = umin(low, best[k]);
            high = umax(high, best[k]);
        }
        range[2 * r] = low;
        range[2 * r + 1] = high;
    }
    sync();
}

/* The same as patch_corners, of a fisheye: of a frustum around the cone, or of a cube where that is wide. */
LFN void fisheye_corners(const ureal *view, int px, int py, ureal low, ureal high, ureal *corner)
{
    ureal axes[9], half = fisheye_cone(view, px, py, PATCH, axes), turn[2];
    int wide = half > (ureal)1.2;
    usincos(half, turn);
    ureal near = wide ? -high : low * turn[1];
    for (int k = 0; k < 3; ++k) corner[k] = ufma(axes[k], (near + high) / 2, view[VIEW_EYE + k]);
    for (int i = 0; i < 8; ++i) {
        ureal ahead = i < 4 ? near : high, reach = wide ? high : ahead * (turn[0] / turn[1]);
        for (int k = 0; k < 3; ++k) {
            ureal across = ufma(axes[3 + k], i & 1 ? reach : -reach, axes[6 + k] * (i & 2 ? reach : -reach));
            corner[3 + 3 * i + k] = view[VIEW_EYE + k] + ufma(axes[k], ahead, across);
        }
    }
}

/* The eight corners of what a patch may show between two depths, and their middle before them: 9 x 3 numbers. */
LFN void patch_corners(const ureal *view, int flat, int px, int py, ureal low, ureal high, ureal *corner)
{
    const ureal *lens = view + VIEW_LENS;
    if (SCENE_HAS >> SCENE_FISHEYE & 1 && view[VIEW_FISHEYE] != 0) {
        fisheye_corners(view, px, py, low, high, corner);
        return;
    }
    ureal edge[4] = {edge_u(lens, px), edge_u(lens, px + PATCH), edge_v(lens, py), edge_v(lens, py + PATCH)};
    for (int k = 0; k < 3; ++k) corner[k] = 0;
    for (int i = 0; i < 8; ++i) {
        ureal start[3], way[3];
        patch_corner(view, flat, i & 3, edge, start, way);
        for (int k = 0; k < 3; ++k) {
            ureal x = ufma(way[k], i < 4 ? low : high, view[VIEW_EYE + k] + start[k]);
            corner[3 + 3 * i + k] = x;
            corner[k] = ufma(x, (ureal)0.125, corner[k]);
        }
    }
}

/*
 * The tube from a patch's corners in direction `to` (unit), as pyramid_of gives pyramids; it has no end. Its sides are
 * along and across the view: what a patch shows is long along it. radius: of the bulb that it leads to.
 */
LFN void tube_of(const ureal *view, const ureal *corner, const ureal *to, ureal radius, ureal *tube)
{
    const ureal *back = view + VIEW_BACK, *right = view + VIEW_RIGHT;
    ureal side[3], up[3], most = radius * radius;
    for (int k = 0; k < 3; ++k) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        side[k] = ufma(to[i], back[j], -(to[j] * back[i]));
    }
    unit_or(side, right[0], right[1], right[2]);
    for (int k = 0; k < 3; ++k) {
        int i = (k + 1) % 3, j = (k + 2) % 3;
        up[k] = ufma(to[i], side[j], -(to[j] * side[i]));
    }
    for (int k = 0; k < 3; ++k) {
        tube[k] = side[k];
        tube[4 + k] = -side[k];
        tube[8 + k] = up[k];
        tube[12 + k] = -up[k];
        tube[16 + k] = to[k];
    }
    for (int p = 0; p < PYRAMID_PLANES; ++p) tube[4 * p + 3] = 0 - radius;
    for (int i = 1; i <= 8; ++i) {
        ureal from[3];
        for (int k = 0; k < 3; ++k) from[k] = corner[3 * i + k] - corner[k];
        for (int p = 0; p < PYRAMID_PLANES; ++p) tube[4 * p + 3] = umin(tube[4 * p + 3], udot(tube + 4 * p, from));
        most = umax(most, udot(from, from));
    }
    tube[20] = (ureal)4e-6;
    tube[21] = usqrt(most) * 4;
}

/* Unit, from a place to a lamp. */
LFN void lamp_way(const ureal *from, const ureal *place, int positional, ureal *to)
{
    for (int k = 0; k < 3; ++k) to[k] = positional ? place[k] - from[k] : -place[3 + k];
    unit_or(to, 0, 0, 1);
}

/*
 * Lanes of `open` whose ray (from, way: in the frame that candidates were made for) meets none of the candidates. geom:
 * what they start from; if it is convex it is not in their way.
 */
LFN mask unblocked(const ureal *candidate, const int *list, int n, const int *shown, const int *data, const ureal *node,
                   const ureal *tri, const ureal *elevation, lint geom, const real *from, const real *way, mask open,
                   real far)
{
    ray_range range = {0, 0};
    for (int c = 0; c < n && any(open); ++c) {
        const ureal *axes = candidate + c * CANDIDATE_SIZE;
        real o[3], d[3], normal[3], t = far;
        for (int k = 0; k < 3; ++k) o[k] = from[k] - splat(axes[CANDIDATE_BALL + k]);
        mask may = m_and(open, may_meet(o, way, axes[CANDIDATE_BALL + 3]));
        if (!any(may)) continue; /* most of them */
        const int *row = shown + list[c] * SHOWN_SIZE;
        int g = row[SHOWN_GEOM], type = row[SHOWN_TYPE], part[STET_W];
        int convex = type != RAY_HFIELD && type < RAY_MESH && !(row[SHOWN_KIND] & SHOWN_CORD);
        may = convex ? m_andnot(may, ieq(geom, isplat(g))) : may;
        if (!any(may)) continue;
        for (int k = 0; k < 3; ++k) {
            const ureal *a = axes + 3 * k;
            o[k] = fma(splat(a[2]), from[2], fma(splat(a[1]), from[1], fma(splat(a[0]), from[0], splat(axes[9 + k]))));
            d[k] = fma(splat(a[2]), way[2], fma(splat(a[1]), way[1], splat(a[0]) * way[0]));
            normal[k] = splat(0);
        }
        if (type == RAY_PLANE) { /* from below, too */
            real side = copysign_(splat(1), -d[2]);
            o[2] = o[2] * side;
            d[2] = d[2] * side;
        }
        istore(part, isplat(0));
        ray_geom(range, type, axes + CANDIDATE_SHAPE, data + 4 * g, node, tri, elevation, o, d, may, far, &t, normal,
                 part);
        open = m_andnot(open, lt(t, far));
    }
    return open;
}

/*
 * Turns rays of pixels (x, y) to a lamp, `to` (unit) and `far`, to the i-th point of the disc that its bulb shows
 * there. sample: which one of a pixel's.
 */
LFN void to_bulb(lint x, int y, int sample, ureal radius, int i, real *to, real *far)
{
    real across[6], reach = splat(radius * usqrt(((ureal)i + (ureal)0.5) / SHADOW_RAYS)), part = to_real(x);
    ureal turned = ufma((ureal)y, (ureal)0.5698403, ufma((ureal)sample, (ureal)0.618034, (ureal)i * (ureal)0.381966));
    part = fma(part, splat((ureal)0.7548777), splat(turned));
    part = (part - floor(part)) * splat((ureal)6.2831853);
    axis_across(to, across, across + 3);
    real right = cos(part) * reach, up = sin(part) * reach;
    for (int k = 0; k < 3; ++k) to[k] = fma(across[3 + k], up, fma(across[k], right, to[k] * *far));
    *far = sqrt(dot3(to, to));
    unit3(to);
}

/*
 * Marks pixels of a patch that a lamp's light does not reach, because of n candidates, with `bit` in `mark`. Of a bulb:
 * that of its i-th point.
 */
LFN void mark_shadow(const ureal *view, int flat, int px, int py, int width, int height, int sample, const ureal *place,
                     int positional, ureal cutoff, ureal radius, int i, const ureal *centre, const ureal *candidate,
                     const int *list, int n, const int *shown, const int *data, const ureal *node, const ureal *tri,
                     const ureal *elevation, const ureal *best, const int *best_geom, int bit, int *mark)
{
    items(p, PIXELS)
    {
        int x = px + p % PATCH, y = py + p / PATCH;
        if (x >= width || y >= height) continue;
        lint word = iload(mark + p);
        mask hit = m_and(ilt(isplat(-1), iload(best_geom + p)), ieq(word & isplat(bit), isplat(0)));
        if (!any(hit)) continue;
        real towards[3], up[3], way[3], point[3], to[3], t = load_best(best, p, towards),
                                                         far = splat((ureal)SHADOW_FAR);
        sight ray;
        row_sight(view, x, y, &ray);
        pixel_geometry(view, flat, &ray, hit, t, towards, 0, up, way, point);
        for (int k = 0; k < 3; ++k) {
            point[k] = fma(up[k], t * splat((ureal)SHADOW_LIFT), point[k]);
            to[k] = positional ? splat(place[k]) - point[k] : splat(-place[3 + k]);
            point[k] = point[k] - splat(centre[k]);
        }
        if (positional) {
            far = sqrt(dot3(to, to));
            unit3(to);
        }
        mask lit = hit;
        if (positional && cutoff >= -1) { /* outside of the cone there is no light to keep off */
            real along = -fma(to[2], splat(place[5]), fma(to[1], splat(place[4]), to[0] * splat(place[3])));
            lit = m_and(lit, le(splat(cutoff), along));
        }
        if (radius > 0) to_bulb(lane() + isplat(x), y, sample, radius, i, to, &far);
        mask open = m_and(lit, lt(splat(0), dot3(up, to)));
        open = unblocked(candidate, list, n, shown, data, node, tri, elevation, iload(best_geom + p), point, to, open,
                         far);
        istore(mark + p, word | (isplat(bit) & m_andnot(hit, open)));
    }
}

/* Puts the share of a lamp's light that is not blocked, of rays in `mark`, at bit `shift` of a patch's words. */
LFN void put_shares(const int *mark, int nray, int shift, int *share)
{
    items(p, PIXELS)
    {
        lint blocked = iload(mark + p), n = isplat(0);
        for (int i = 0; i < nray; ++i) n = n + (ishr(blocked, i) & isplat(1));
        if (nray == 1) n = n * isplat(SHADOW_RAYS);
        istore(share + p, iload(share + p) | ishl(isplat(SHADOW_RAYS) - n, shift));
    }
}

LFN void clear_words(int *words) { items(p, PIXELS) istore(words + p, isplat(0)); }

/*
 * Marks in a patch's words (LAMP_SHADOW) which lamps' light does not reach a pixel; in mode physical puts which share
 * of it does into `share`, by way of `blocked`. Overwrites the lists of candidates.
 */
LFN void shadow_patch(const wreal *xform, int nitem, int world, const ureal *lamps, const ureal *view, int flat, int px,
                      int py, int width, int height, int sample, const int *scene, const ureal *own,
                      const ureal *bounds, const ureal *size, const int *data, const ureal *node, const ureal *tri,
                      const ureal *elevation, int *flag, int *list, ureal *candidate, const ureal *best,
                      const int *best_geom, int *mark, int *blocked, int *share)
{
    const int *lamp = scene + scene[SCENE_LAMPS];
    int shown = scene[SCENE_SHOWN], ncast = scene[SCENE_NSHOWN] + scene_number(scene, SCENE_NSITE);
    int physical = scene_number(scene, SCENE_PHYSICAL);
    ureal corner[27], frame[VIEW_SIZE], to[3], tube[PYRAMID_SIZE];
    if (!physical && !scene_number(scene, SCENE_DETAIL)) clear_words(mark);
    if (physical) clear_words(share);
    depth_range(best, best_geom, candidate);
    ureal low = candidate[0], high = candidate[1];
    for (int r = 1; r < PATCH; ++r) {
        low = umin(low, candidate[2 * r]);
        high = umax(high, candidate[2 * r + 1]);
    }
    if (high < 0) return;
    patch_corners(view, flat, px, py, low, high, corner);
    for (int k = 0; k < VIEW_SIZE; ++k) frame[k] = k < 3 ? corner[k] : (ureal)(k < 12 && k % 4 == 3);
    for (int l = 0; l < scene_number(scene, SCENE_NLAMP); ++l) {
        const int *row = lamp + l * LAMP_INTS;
        const ureal *numbers = own + scene[SCENE_LOOK_LAMPS] + l * LAMP_REALS;
        const ureal *place = lamps + l * LAMP_PLACE;
        if (!row[LAMP_SHADOW]) continue;
        ureal cutoff = numbers[LAMP_CUTOFF], radius = physical ? numbers[LAMP_RADIUS] : 0;
        int nray = radius > 0 ? SHADOW_RAYS : 1;
        lamp_way(corner, place, row[LAMP_POSITIONAL], to);
        tube_of(view, corner, to, radius, tube);
        if (physical) clear_words(blocked);
        for (int chunk = 0; chunk < ncast; chunk += CHUNK) {
            const int *part = scene + shown + chunk * SHOWN_SIZE;
            int n = find_candidates(xform, nitem, world, scene, shown + chunk * SHOWN_SIZE, nmin(ncast - chunk, CHUNK),
                                    bounds, size, frame, tube, flag, list, candidate);
            for (int i = 0; i < nray; ++i)
                mark_shadow(view, flat, px, py, width, height, sample, place, row[LAMP_POSITIONAL], cutoff, radius, i,
                            corner, candidate, list, n, part, data, node, tri, elevation, best, best_geom,
                            physical ? 1 << i : row[LAMP_SHADOW], physical ? blocked : mark);
        }
        if (physical) put_shares(blocked, nray, row[LAMP_SHADOW] - 1, share);
    }
}
