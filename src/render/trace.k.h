/*
 * Rays of a patch against its candidates. Part of render.k.h.
 *
 * A ray is not normalised: it goes one metre along the view axis per unit of t, so t is the depth. Candidates come in
 * the order of geoms, and a hit must be strictly nearer, so ties go to the lower id.
 */
/*
 * A candidate is 20 numbers: the camera's axes in the geom's frame (3 x 3, columns right, up, back), the eye in that
 * frame, the geom's size and radius (geom/geom.h), then a ball around it: its centre from the eye in the camera's axes,
 * its radius. A plane's has no end and no place, and so have all in axes that are not at right angles.
 */
#define CANDIDATE_SHAPE 12
#define CANDIDATE_BALL 16
#define CANDIDATE_SIZE 20
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
 * Tests one more candidate, from the depth `from` on, front faces only. The nearest hit so far: t, geom, its normal n
 * in the camera's frame, of any length, unless bare, and its triangle. later: depths are counted from `start`.
 */
LFN void trace_candidate(const ureal *candidate, const int *shown, const int *data, const ureal *node, const ureal *tri,
                         const ureal *elevation, ureal from, int flat, int bare, const sight *ray, int later,
                         real start, mask live, real *t, lint *geom, real *n, int *part)
{
    real o[3], d[3], near = *t, local[3] = {splat(0), splat(0), splat(0)};
    int g = shown[SHOWN_GEOM];
    ray_range range = {from, 1, bare};
    candidate_ray(candidate, flat, ray, o, d);
    for (int k = 0; k < 3 && later; ++k) o[k] = fma(start, d[k], o[k]);
    ray_geom(range, shown[SHOWN_TYPE], candidate + CANDIDATE_SHAPE, data + 4 * g, node, tri, elevation, o, d, live,
             near, t, local, part);
    mask hit = lt(*t, near);
    if (any(hit)) {
        *geom = iselect(hit, isplat(g), *geom);
        for (int k = 0; k < 3 && !bare; ++k) {
            real turned = splat(candidate[k]) * local[0];
            turned = fma(splat(candidate[3 + k]), local[1], turned);
            n[k] = select(hit, fma(splat(candidate[6 + k]), local[2], turned), n[k]);
        }
    }
}

/* The candidate of a geom to draw. */
LFN void make_candidate(const wreal *xform, int nitem, int world, const int *shown, const ureal *size,
                        const ureal *view, ureal *candidate)
{
    ureal m[12];
    xform_of(xform, nitem, world, shown[SHOWN_PRIM], m);
    candidate_of(m, view, candidate);
    candidate_shape(m, shown, size, world, candidate);
    if (candidate[CANDIDATE_SHAPE + 3] > 0 && square_view(view)) return;
    for (int k = 0; k < 4; ++k) candidate[CANDIDATE_BALL + k] = k < 3 ? 0 : BOX_ENDLESS;
}

/* The box of row i of the list at `at`, from k_boxes if there are such, for a thread. */
LFN void take_box(const wreal *xform, int nitem, int world, const int *scene, int at, int i, const ureal *bounds,
                  const ureal *boxes, int many, ureal *box)
{
    if (many) {
        const ureal *made = boxes + (at - scene[SCENE_SHOWN]) / SHOWN_SIZE + i;
        for (int k = 0; k < BOX_RADIUS; ++k) box[k] = made[(i64)k * BOX_STRIDE(SCENE_NROW(scene))];
    } else
        load_box(xform, nitem, world, scene + at + i * SHOWN_SIZE, bounds, 1, box);
}

/*
 * Lists those of the geoms `from` to n at `at` in `scene` that may touch a pyramid, in order, and makes candidates of
 * them; returns their number. They are counted from the geom `from`. *next: the first geom that was left for the next
 * list, or n at least. which: bits of the pyramids, PYRAMID_SIZE numbers each; 1 where lanes are geoms. boxes: see
 * cull.k.h. flag, list, candidate: FLAG_SIZE, LIST_SIZE and CANDIDATES numbers.
 */
LFN_APART int find_candidates(const wreal *xform, int nitem, int world, const int *scene, int at, int from, int n,
                              const ureal *bounds, const ureal *size, const ureal *boxes, const ureal *view,
                              const ureal *pyramid, int which, int *flag, int *list, ureal *candidate, int *next)
{
    int first = at + from * SHOWN_SIZE, many = MAY_BE_MANY && boxes, found = 0, end = from;
    const int *shown = scene + first;
    sync();
    if (STET_W > 1) {
        ureal *loaded = candidate + CHUNK * CANDIDATE_SIZE;
        int row = (first - scene[SCENE_SHOWN]) / SHOWN_SIZE, here = many ? n - from : nmin(n - from, CHUNK);
        int tested = here;
        found = CHUNK + 1;
        if (!many) load_boxes(xform, nitem, world, scene, first, here, bounds, flag, loaded);
        if (many && !from) found = list_groups(scene, boxes, row, row + n, view + VIEW_EYE, pyramid, list);
        if (found > CHUNK)
            found = list_boxes(many ? boxes + row : loaded, many ? BOX_STRIDE(SCENE_NROW(scene)) : CHUNK, here,
                               view + VIEW_EYE, pyramid, list, &tested);
        each (c, found)
            make_candidate(xform, nitem, world, shown + list[c] * SHOWN_SIZE, size, view,
                           candidate + c * CANDIDATE_SIZE);
        *next = from + tested;
        return found;
    }
    for (int more = end < n; more; more = many && end < n) { /* CHUNK geoms, while the list has room */
        int m = nmin(n - end, CHUNK), add = 0;
        each (i, m) {
            ureal box[BOX_SIZE];
            take_box(xform, nitem, world, scene, at, end + i, bounds, boxes, many, box);
            flag[i] = flag_of(box, view + VIEW_EYE, pyramid, which);
        }
        sync();
        for (int i = 0; i < m && many; ++i) add += flag[i] != 0;
        if (found + add > CHUNK) break;
        each (i, m) { /* whose place in the list is the number of those before it */
            int c = found;
            for (int k = 0; k < i; ++k) c += flag[k] != 0;
            if (flag[i]) {
                list[c] = end - from + i;
                list[CHUNK + c] = flag[i];
                make_candidate(xform, nitem, world, shown + (end - from + i) * SHOWN_SIZE, size, view,
                               candidate + c * CANDIDATE_SIZE);
            }
            if (i == m - 1) flag[i + 1] = c + (flag[i] != 0);
        }
        sync();
        found = flag[m];
        end += m;
    }
    *next = end;
    return found;
}
