/*
 * Shadows: rays from what is seen to the lamps that cast shadows. Part of render.k.h.
 *
 * Shadows are hard, one ray to a lamp. In mode physical, where a lamp has a bulb, SHADOW_RAYS rays go to points of the
 * disc that the bulb shows. These lie on a spiral that covers it evenly, and that is turned from pixel to pixel and
 * from sample to sample, by fixed numbers: what several samples show together is smoother than one.
 *
 * Except in mode physical, a directional lamp's shadows begin at its position, as in MuJoCo's classic renderer, which
 * draws what the lamp sees in a map. How wide and how fine that map is, is not imitated.
 *
 * All geoms and sites that are drawn cast shadows, from both sides; what does not face a lamp is in its shadow. A
 * convex geom casts none on its side that faces the lamp: rays leave it, and are not tested against it. Geoms are
 * culled for each patch: those outside the tube from what the patch shows to a lamp are left out. As culling is
 * conservative, it changes no pixel. Threads cull for all lamps at once, since most of them wait meanwhile; where lanes
 * are pixels, and in mode physical, one lamp follows the other.
 */
#define SHADOW_LIFT 3e-5f /* rays begin above the surface by this part of the depth: 500 roundings */
#define SHADOW_FAR 1e9f   /* metres, where a lamp has no place */

/*
 * The smallest and largest depth of a patch's hits; *high < 0: there are none. range: shared, 2 * PATCH * STET_W
 * numbers.
 */
LFN void depth_range(const ureal *best, const int *best_geom, ureal *range, ureal *low, ureal *high)
{
    ureal lanes[2 * STET_W];
    real least = splat((ureal)SHADOW_FAR), most = splat(-1);
    sync();
    each (r, PATCH) {
        real l = splat((ureal)SHADOW_FAR), h = splat(-1);
        for (int k = r * PATCH; k < (r + 1) * PATCH; k += STET_W) {
            mask hit = ilt(isplat(-1), iload(best_geom + k));
            real t = load(best + k);
            l = rmin(l, select(hit, t, l));
            h = rmax(h, select(hit, t, h));
        }
        store(range + 2 * r * STET_W, l);
        store(range + (2 * r + 1) * STET_W, h);
    }
    sync();
    for (int r = 0; r < PATCH; ++r) {
        least = rmin(least, load(range + 2 * r * STET_W));
        most = rmax(most, load(range + (2 * r + 1) * STET_W));
    }
    store(lanes, least);
    store(lanes + STET_W, most);
    *low = lanes[0];
    *high = lanes[STET_W];
    for (int l = 1; l < STET_W; ++l) {
        *low = umin(*low, lanes[l]);
        *high = umax(*high, lanes[STET_W + l]);
    }
}

/*
 * Lanes of `open` whose ray (from, way: in the frame that candidates were made for) meets none of the candidates; for
 * threads, of those with the bit `flag`. geom: what they start from; if it is convex it is not in their way.
 */
LFN mask unblocked(rd_surfaces surfaces, rd_found found, int flag, lint geom, const real *from, const real *way,
                   mask open, real far)
{
    ray_range range = {0, 0, 1};
    for (int c = 0; c < found.n && any(open); ++c) {
        if (STET_W == 1 && !(found.list[CHUNK + c] & flag)) continue;
        const ureal *axes = found.candidate + c * CANDIDATE_SIZE;
        real o[3], d[3], normal[3], t = far;
        for (int k = 0; k < 3; ++k) o[k] = from[k] - splat(axes[CANDIDATE_BALL + k]);
        mask may = m_and(open, may_meet(o, way, axes[CANDIDATE_BALL + 3]));
        if (!any(may)) continue; /* most of them */
        const int *row = found.shown + found.list[c] * SHOWN_SIZE;
        int g = row[SHOWN_GEOM], type = row[SHOWN_TYPE], part[STET_W];
        int convex = type != RAY_HFIELD && type < RAY_MESH && !(row[SHOWN_KIND] & SHOWN_CORD);
        may = convex ? m_andnot(may, ieq(geom, isplat(g))) : may;
        if (!any(may)) continue;
        for (int k = 0; k < 3; ++k) {
            const ureal *a = axes + 3 * k;
            real start = splat(axes[CANDIDATE_EYE + k]);
            o[k] = fma(splat(a[2]), from[2], fma(splat(a[1]), from[1], fma(splat(a[0]), from[0], start)));
            d[k] = fma(splat(a[2]), way[2], fma(splat(a[1]), way[1], splat(a[0]) * way[0]));
            normal[k] = splat(0);
        }
        if (type == RAY_PLANE) { /* from below, too */
            real side = copysign_(splat(1), -d[2]);
            o[2] = o[2] * side;
            d[2] = d[2] * side;
        }
        istore(part, isplat(0));
        ray_lanes rays = {o, d, may};
        ray_hit hit = {&t, normal, part};
        ray_shapes shapes = {surfaces.data + 4 * g, surfaces.node, surfaces.tri, surfaces.elevation};
        ray_geom(range, type, axes + CANDIDATE_SHAPE, shapes, rays, far, hit);
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
 * How far points are in front of a directional lamp's position, or behind it: there are no shadows then. near: of the
 * camera, at which MuJoCo's view from the lamp begins, too.
 */
LFN real before_lamp(const ureal *place, const real *point, ureal near)
{
    real along = splat(0);
    for (int k = 0; k < 3; ++k) along = fma(point[k] - splat(place[k]), splat(place[3 + k]), along);
    return along - splat(near);
}

/*
 * Marks pixels of a patch that the light of lamps does not reach, because of the candidates found, with the lamps' bits
 * in its words. which: bits of the lamps from the `first` on; only threads may have several. In mode physical it is
 * one, and bits in `blocked` are those of the rays to its bulb.
 */
LFN void mark_shadows(rd_world w, rd_surfaces surfaces, rd_patch patch, rd_found found, rd_hits hits, int first,
                      int which, const ureal *centre)
{
    int physical = is_physical(w);
    shadow_lamp one;
    lamp_of(w, first, &one);
    int *mark = physical ? hits.blocked : hits.part;
    items (p, PIXELS) {
        int x = patch.x + p % PATCH, y = patch.y + p / PATCH;
        if (x >= patch.width || y >= patch.height) continue;
        lint word = iload(mark + p);
        mask hit = ilt(isplat(-1), iload(hits.geom + p));
        if (!any(hit)) continue;
        real from[3], t = load(hits.best + p);
        spot at;
        kept_hit(patch, hits, p, hit, &at);
        for (int k = 0; k < 3; ++k) {
            at.point[k] = fma(at.normal[k], t * splat((ureal)SHADOW_LIFT), at.point[k]);
            from[k] = at.point[k] - splat(centre[k]);
        }
        for (int l = first; which >> (l - first); ++l) {
            real to[3], far = splat((ureal)SHADOW_FAR);
            if (!(which >> (l - first) & 1)) continue;
            shadow_lamp lamp = one;
            if (STET_W == 1) lamp_of(w, l, &lamp); /* else there is one */
            const ureal *place = patch.lamps + l * LAMP_PLACE;
            for (int k = 0; k < 3; ++k) to[k] = lamp.positional ? splat(place[k]) - at.point[k] : splat(-place[3 + k]);
            if (lamp.positional) {
                far = sqrt(dot3(to, to));
                unit3(to);
            }
            mask lit = hit, drawn = hit;
            if (!physical && !lamp.positional) {
                far = before_lamp(place, at.point, patch.view[VIEW_NEAR]);
                drawn = m_and(hit, lt(splat(0), far));
            }
            if (lamp.cutoff >= -1) { /* outside of the cone there is no light to keep off */
                real along = -fma(to[2], splat(place[5]), fma(to[1], splat(place[4]), to[0] * splat(place[3])));
                lit = m_and(lit, le(splat(lamp.cutoff), along));
            }
            for (int i = 0; i < (lamp.radius > 0 ? SHADOW_RAYS : 1); ++i) {
                int bit = physical ? 1 << i : lamp.bit;
                real ray[3] = {to[0], to[1], to[2]}, end = far;
                if (lamp.radius > 0) to_bulb(lane() + isplat(x), y, patch.sample, lamp.radius, i, ray, &end);
                mask unmarked = m_and(drawn, ieq(word & isplat(bit), isplat(0)));
                mask open = m_and(m_and(lit, unmarked), lt(splat(0), dot3(at.normal, ray)));
                open = unblocked(surfaces, found, 1 << (l - first), iload(hits.geom + p), from, ray, open, end);
                word = word | (isplat(bit) & m_andnot(unmarked, open));
            }
        }
        istore(mark + p, word);
    }
}

/* Puts the share of a lamp's light that is not blocked, of rays in `mark`, at bit `shift` of a patch's words. */
LFN void put_shares(const int *mark, int nray, int shift, int *share)
{
    items (p, PIXELS) {
        lint blocked = iload(mark + p), n = isplat(0);
        for (int i = 0; i < nray; ++i) n = n + (ishr(blocked, i) & isplat(1));
        if (nray == 1) n = n * isplat(SHADOW_RAYS);
        istore(share + p, iload(share + p) | ishl(isplat(SHADOW_RAYS) - n, shift));
    }
}

LFN void clear_words(int *words)
{
    items (p, PIXELS) istore(words + p, isplat(0));
}

/*
 * Marks in a patch's words (LAMP_SHADOW) which lamps' light does not reach a pixel; in mode physical puts which share
 * of it does into `share`, by way of `blocked`. Overwrites the lists of candidates. range: takes the depths of the
 * patch's hits, unless `fresh` with those that it has; may be absent.
 */
LFN_APART void shadow_patch(rd_world w, rd_surfaces surfaces, rd_patch patch, rd_lists lists, rd_hits hits,
                            ureal *range, int fresh)
{
    int shown = shown_at(w), ncast = nshown(w) + nsite(w), physical = is_physical(w), casting = 0;
    int together = STET_W == 1 && !physical;
    ureal corner[27], frame[VIEW_SIZE];
    if (!physical && !details_at(w)) clear_words(hits.part);
    if (physical) clear_words(hits.share);
    ureal low, high;
    depth_range(hits.best, hits.geom, lists.candidate, &low, &high);
    each (k, range ? 2 : 0) {
        ureal end = k ? high : low, was = fresh ? end : range[k];
        range[k] = k ? umax(was, end) : umin(was, end);
    }
    if (high < 0) return;
    patch_corners(patch.view, patch.flat, patch.x, patch.y, low, high, corner);
    for (int k = 0; k < VIEW_SIZE; ++k) frame[k] = k < 3 ? corner[k] : (ureal)(k < 12 && k % 4 == 3);
    shadow_lamp lamp;
    for (int l = 0; l < nlamp(w); ++l) {
        lamp_of(w, l, &lamp);
        if (lamp.bit) casting |= 1 << l;
    }
    each (l, nlamp(w)) {
        ureal to[3], tube[PYRAMID_SIZE];
        shadow_lamp here;
        lamp_of(w, l, &here);
        if (!here.bit) continue;
        lamp_way(corner, patch.lamps + l * LAMP_PLACE, here.positional, to);
        tube_of(patch.view, corner, to, here.radius, tube);
        for (int k = 0; k < PYRAMID_SIZE; ++k) lists.tubes[l * PYRAMID_SIZE + k] = tube[k];
    }
    for (int l = 0; l < nlamp(w); l += together ? nlamp(w) : 1) {
        int which = together ? casting : casting >> l & 1;
        if (!which) continue;
        if (physical) clear_words(hits.blocked);
        for (int from = 0, next; from < ncast; from = next) {
            rd_beams beams = {frame, lists.tubes + l * PYRAMID_SIZE, which};
            int n = find_candidates(w, lists, beams, shown, from, ncast, &next);
            rd_found found = {lists.candidate, lists.list, n, w.scene + shown + from * SHOWN_SIZE};
            mark_shadows(w, surfaces, patch, found, hits, l, which, corner);
        }
        if (!physical) continue;
        lamp_of(w, l, &lamp);
        put_shares(hits.blocked, lamp.radius > 0 ? SHADOW_RAYS : 1, lamp.bit - 1, hits.share);
    }
}
