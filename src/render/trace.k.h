/*
 * Rays of a patch against its candidates. Part of render.k.h.
 *
 * A ray is not normalised: it goes one metre along the view axis per unit of t, so t is the depth. Candidates come in
 * the order of geoms, and a hit must be strictly nearer, so ties go to the lower id.
 */
/*
 * A candidate is what rays need of a geom (CANDIDATE_…, rows.inl). A plane's ball has no end and no place, and so have
 * all in axes that are not at right angles.
 */
/* A chunk's candidates, then its boxes (load_boxes). */
#define CANDIDATES (CHUNK * (CANDIDATE_SIZE + (STET_W > 1 ? BOX_SIZE : 0)))

/* m: 3 x 4 by rows, any invertible transform, so scale works: t does not change. No ray hits a singular one (RAY-2). */
LFN void candidate_of(const ureal *m, const ureal *view, ureal *candidate)
{
    ureal scale = 1 / xform_det(m), from[3];
    for (int k = 0; k < 3; ++k) from[k] = view[VIEW_EYE + k] - m[4 * k + 3];
    for (int k = 0; k < 3; ++k) { /* row k of the inverse: the cross product of the two other columns */
        int a = (k + 1) % 3, b = (k + 2) % 3;
        ureal row[3];
        for (int r = 0; r < 3; ++r) {
            int i = (r + 1) % 3, j = (r + 2) % 3;
            row[r] = ufma(m[4 * i + a], m[4 * j + b], -(m[4 * j + a] * m[4 * i + b])) * scale;
        }
        for (int j = 0; j < 3; ++j) candidate[3 * k + j] = udot(row, view + VIEW_RIGHT + 3 * j);
        candidate[9 + k] = udot(row, from);
        candidate[CANDIDATE_BALL + k] = -udot(from, view + VIEW_RIGHT + 3 * k);
    }
}

/* The rays of lanes in a geom's frame. */
LFN void candidate_ray(const ureal *candidate, int flat, const sight *ray, real *o, real *d)
{
    for (int k = 0; k < 3; ++k) {
        const ureal *axes = candidate + 3 * k;
        if (flat) {
            o[k] = fma(splat(axes[0]), ray->u, fma(splat(axes[1]), ray->v, splat(candidate[9 + k])));
            d[k] = splat(-axes[2]);
        } else {
            o[k] = splat(candidate[9 + k]);
            d[k] = fma(splat(axes[0]), ray->u, fma(splat(axes[1]), ray->v, splat(-axes[2]) * ray->w));
        }
    }
}

/*
 * The most that a transform stretches a length, squared: at most the greatest sum of a row of the products of its
 * columns. cord: of a piece of a tendon, whose z becomes metric.
 */
LFN ureal stretch_of(const ureal *m, int cord)
{
    ureal most = 0, dot[6];
    for (int k = 0; k < 6; ++k) { /* of columns 00 11 22 01 12 20 */
        int a = k % 3, b = k < 3 ? a : (a + 1) % 3;
        dot[k] = ufma(m[8 + a], m[8 + b], ufma(m[4 + a], m[4 + b], m[a] * m[b]));
    }
    if (cord) {
        ureal inv = 1 / usqrt(dot[2]);
        dot[4] = dot[4] * inv;
        dot[5] = dot[5] * inv;
        dot[2] = 1;
    }
    for (int k = 0; k < 3; ++k) most = umax(most, dot[k] + uabs(dot[3 + k]) + uabs(dot[3 + (k + 2) % 3]));
    return most;
}

/* The radius whose square is r2, and rounding errors of places as far from the eye as the ball. */
LFN ureal ball_radius(const ureal *ball, ureal r2)
{
    return ufma(uabs(ball[0]) + uabs(ball[1]) + uabs(ball[2]), (ureal)2e-6, usqrt(r2));
}

/*
 * What rays need of a geom beside its frame. The frame of a piece of a tendon has a z as long as half of the piece
 * (stage/tendon.k.h): it becomes metric, and its size that of the capsule or cylinder. That of a plane's underside is
 * turned over. A surface that deforms is this world's own.
 */
LFN void candidate_shape(const ureal *m, const int *shown, const ureal *size, int world, ureal *candidate)
{
    ureal *own = candidate + CANDIDATE_SHAPE, *ball = candidate + CANDIDATE_BALL;
    for (int k = 0; k < 4; ++k) own[k] = size[4 * shown[SHOWN_GEOM] + k];
    ball[3] = ball_radius(ball, own[3] * own[3] * stretch_of(m, 0));
    if (shown[SHOWN_KIND] & SHOWN_SOFT) own[0] = (ureal)world;
    if (!(shown[SHOWN_KIND] & (SHOWN_CORD | SHOWN_UNDERSIDE))) return;
    ureal scale = shown[SHOWN_KIND] & SHOWN_CORD ? 1 / usqrt(udot(candidate + 6, candidate + 6)) : -1;
    for (int k = 0; k < 3; ++k) candidate[6 + k] = candidate[6 + k] * scale;
    candidate[11] = candidate[11] * scale;
    if (scale < 0) return;
    own[1] = scale - own[0];
    own[3] = scale;
    ball[3] = ball_radius(ball, ufma(own[0] * 2, own[0], scale * scale) * stretch_of(m, 1));
}

/* Lanes whose ray may meet a ball of radius r around the origin, at or after its beginning. */
LFN mask may_meet(const real *o, const real *d, ureal r)
{
    real along = ray_dot(o, d), room = ray_dot(o, o) - splat(r * r * (ureal)1.0001), dd = ray_dot(d, d);
    mask ahead = m_or(lt(room, splat(0)), lt(along, splat(0)));
    return m_andnot(ahead, lt(along * along * splat((ureal)1.0001), room * dd));
}

/* Whether a lane of a picture's rays may meet a candidate's ball. */
LFN int sight_may_meet(const ureal *candidate, int flat, const sight *ray)
{
    const ureal *ball = candidate + CANDIDATE_BALL;
    real o[3] = {splat(-ball[0]), splat(-ball[1]), splat(-ball[2])}, d[3] = {ray->u, ray->v, -ray->w};
    if (flat) {
        o[0] = o[0] + ray->u;
        o[1] = o[1] + ray->v;
        d[0] = splat(0);
        d[1] = splat(0);
        d[2] = splat(-1);
    }
    return any(may_meet(o, d, ball[3]));
}

/*
 * Tests one more candidate, its front faces only. `here` has the nearest hits so far, and part their triangles. Depths
 * of rays in a mirror are counted from where they leave it.
 */
LFN void trace_candidate(rd_surfaces surfaces, rd_patch patch, const ureal *candidate, const int *shown,
                         const sight *ray, mask live, lane_hits *here, int *part)
{
    real o[3], d[3], near = here->t, local[3] = {splat(0), splat(0), splat(0)};
    int g = shown[SHOWN_GEOM];
    ray_range range = {patch.near, 1, patch.bare};
    candidate_ray(candidate, patch.flat, ray, o, d);
    for (int k = 0; k < 3 && patch.mirrored; ++k) o[k] = fma(ray->start, d[k], o[k]);
    ray_lanes rays = {o, d, live};
    ray_hit hit = {&here->t, local, part};
    ray_shapes shapes = {surfaces.data + 4 * g, surfaces.node, surfaces.tri, surfaces.elevation};
    ray_geom(range, shown[SHOWN_TYPE], candidate + CANDIDATE_SHAPE, shapes, rays, near, hit);
    mask nearer = lt(here->t, near);
    if (any(nearer)) {
        here->geom = iselect(nearer, isplat(g), here->geom);
        for (int k = 0; k < 3 && !patch.bare; ++k) {
            real turned = splat(candidate[k]) * local[0];
            turned = fma(splat(candidate[3 + k]), local[1], turned);
            here->n[k] = select(nearer, fma(splat(candidate[6 + k]), local[2], turned), here->n[k]);
        }
    }
}

/* The candidate of a geom to draw. */
LFN void make_candidate(rd_world w, const int *shown, const ureal *view, ureal *candidate)
{
    ureal m[12];
    prim_xform(w, shown[SHOWN_PRIM], m);
    candidate_of(m, view, candidate);
    candidate_shape(m, shown, w.size, w.world, candidate);
    if (candidate[CANDIDATE_SHAPE + 3] > 0 && square_view(view)) return;
    for (int k = 0; k < 4; ++k) candidate[CANDIDATE_BALL + k] = k < 3 ? 0 : BOX_ENDLESS;
}

/* The box of row i of the list at `at`, from k_boxes if there are such, for a thread. */
LFN void take_box(rd_world w, int at, int i, const ureal *boxes, int many, ureal *box)
{
    if (many) {
        const ureal *made = boxes + (at - shown_at(w)) / SHOWN_SIZE + i;
        for (int k = 0; k < BOX_RADIUS; ++k) box[k] = made[(i64)k * BOX_STRIDE(SCENE_NROW(w.scene))];
    } else
        load_box(w, w.scene + at + i * SHOWN_SIZE, 1, box);
}

/*
 * Lists those of the geoms `from` to n at `at` in `scene` that may touch one of the beams, in order, and makes
 * candidates of them; returns their number. They are counted from the geom `from`. *next: the first geom that was left
 * for the next list, or n at least.
 */
LFN_APART int find_candidates(rd_world w, rd_lists lists, rd_beams beams, int at, int from, int n, int *next)
{
    int first = at + from * SHOWN_SIZE, many = MAY_BE_MANY && lists.boxes, found = 0, end = from;
    const int *shown = w.scene + first;
    const ureal *eye = beams.view + VIEW_EYE;
    sync();
    if (STET_W > 1) {
        ureal *loaded = lists.candidate + CHUNK * CANDIDATE_SIZE;
        int row = (first - shown_at(w)) / SHOWN_SIZE, here = many ? n - from : nmin(n - from, CHUNK);
        int tested = here;
        found = CHUNK + 1;
        if (!many) load_boxes(w, first, here, lists.flag, loaded);
        if (many && !from) found = list_groups(w, lists.boxes, row, row + n, eye, beams.pyramid, lists.list);
        if (found > CHUNK)
            found = list_boxes(many ? lists.boxes + row : loaded, many ? BOX_STRIDE(SCENE_NROW(w.scene)) : CHUNK, here,
                               eye, beams.pyramid, lists.list, &tested);
        each (c, found)
            make_candidate(w, shown + lists.list[c] * SHOWN_SIZE, beams.view, lists.candidate + c * CANDIDATE_SIZE);
        *next = from + tested;
        return found;
    }
    for (int more = end < n; more; more = many && end < n) { /* CHUNK geoms, while the list has room */
        int m = nmin(n - end, CHUNK), add = 0;
        each (i, m) {
            ureal box[BOX_SIZE];
            take_box(w, at, end + i, lists.boxes, many, box);
            lists.flag[i] = flag_of(box, eye, beams.pyramid, beams.which);
        }
        sync();
        for (int i = 0; i < m && many; ++i) add += lists.flag[i] != 0;
        if (found + add > CHUNK) break;
        each (i, m) { /* whose place in the list is the number of those before it */
            int c = found;
            for (int k = 0; k < i; ++k) c += lists.flag[k] != 0;
            if (lists.flag[i]) {
                lists.list[c] = end - from + i;
                lists.list[CHUNK + c] = lists.flag[i];
                make_candidate(w, shown + (end - from + i) * SHOWN_SIZE, beams.view,
                               lists.candidate + c * CANDIDATE_SIZE);
            }
            if (i == m - 1) lists.flag[i + 1] = c + (lists.flag[i] != 0);
        }
        sync();
        found = lists.flag[m];
        end += m;
    }
    *next = end;
    return found;
}
