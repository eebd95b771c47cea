/*
 * Rays of a patch against its candidates. Part of render.k.h.
 *
 * A ray is not normalised: it goes one metre along the view axis per unit of t, so t is the depth. Candidates come in
 * the order of geoms, and a hit must be strictly nearer, so ties go to the lower id.
 */
/*
 * A candidate is 16 numbers: the camera's axes in the geom's frame (3 x 3, columns right, up, back), the eye in that
 * frame, then the geom's size and radius (geom/geom.h).
 */
#define CANDIDATE_SHAPE 12
#define CANDIDATE_SIZE 16
/* A chunk's candidates, then its boxes (load_boxes). */
#define CANDIDATES (CHUNK * (CANDIDATE_SIZE + (STET_W > 1 ? BOX_SIZE : 0)))

LFN ureal xform_det(const ureal *m)
{
    ureal a = ufma(m[5], m[10], -(m[6] * m[9])), b = ufma(m[4], m[10], -(m[6] * m[8])),
          c = ufma(m[4], m[9], -(m[5] * m[8]));
    return ufma(m[2], c, ufma(m[0], a, -(m[1] * b)));
}

/* m: 3 x 4 by rows, any invertible transform, so scale works: t does not change. No ray hits a singular one (RAY-2). */
LFN void candidate_of(const ureal *m, const ureal *view, ureal *candidate)
{
    ureal scale = 1 / xform_det(m);
    for (int k = 0; k < 3; ++k) { /* row k of the inverse: the cross product of the two other columns */
        int a = (k + 1) % 3, b = (k + 2) % 3;
        ureal row[3], from[3];
        for (int r = 0; r < 3; ++r) {
            int i = (r + 1) % 3, j = (r + 2) % 3;
            row[r] = ufma(m[4 * i + a], m[4 * j + b], -(m[4 * j + a] * m[4 * i + b])) * scale;
            from[r] = view[VIEW_EYE + r] - m[4 * r + 3];
        }
        for (int j = 0; j < 3; ++j) candidate[3 * k + j] = udot(row, view + VIEW_RIGHT + 3 * j);
        candidate[9 + k] = udot(row, from);
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
 * What rays need of a geom beside its frame. The frame of a piece of a tendon has a z as long as half of the piece
 * (stage/tendon.k.h): it becomes metric, and its size that of the capsule or cylinder. That of a plane's underside is
 * turned over. A surface that deforms is this world's own.
 */
LFN void candidate_shape(const int *shown, const ureal *size, int world, ureal *candidate)
{
    ureal *own = candidate + CANDIDATE_SHAPE;
    for (int k = 0; k < 4; ++k) own[k] = size[4 * shown[SHOWN_GEOM] + k];
    if (shown[SHOWN_KIND] & SHOWN_SOFT) own[0] = (ureal)world;
    if (!(shown[SHOWN_KIND] & (SHOWN_CORD | SHOWN_UNDERSIDE))) return;
    ureal scale = shown[SHOWN_KIND] & SHOWN_CORD ? 1 / usqrt(udot(candidate + 6, candidate + 6)) : -1;
    for (int k = 0; k < 3; ++k) candidate[6 + k] = candidate[6 + k] * scale;
    candidate[11] = candidate[11] * scale;
    if (scale < 0) return;
    own[1] = scale - own[0];
    own[3] = scale;
}

/*
 * Tests one more candidate, from the depth `from` on, front faces only. The nearest hit so far: t, geom, its normal n
 * in the camera's frame, of any length, and its triangle. later: depths are counted from `start`.
 */
LFN void trace_candidate(const ureal *candidate, const int *shown, const int *data, const ureal *node, const ureal *tri,
                         const ureal *elevation, ureal from, int flat, const sight *ray, int later, real start,
                         mask live, real *t, lint *geom, real *n, int *part)
{
    real o[3], d[3], near = *t, local[3] = {splat(0), splat(0), splat(0)};
    int g = shown[SHOWN_GEOM];
    ray_range range = {from, 1};
    candidate_ray(candidate, flat, ray, o, d);
    for (int k = 0; k < 3 && later; ++k) o[k] = fma(start, d[k], o[k]);
    ray_geom(range, shown[SHOWN_TYPE], candidate + CANDIDATE_SHAPE, data + 4 * g, node, tri, elevation, o, d, live,
             near, t, local, part);
    mask hit = lt(*t, near);
    if (any(hit)) {
        *geom = iselect(hit, isplat(g), *geom);
        for (int k = 0; k < 3; ++k) {
            real turned = splat(candidate[k]) * local[0];
            turned = fma(splat(candidate[3 + k]), local[1], turned);
            n[k] = select(hit, fma(splat(candidate[6 + k]), local[2], turned), n[k]);
        }
    }
}

/*
 * Makes candidates of those of the n geoms at `at` in `scene` that the patch may show, in order; returns their number.
 * flag, candidate: FLAG_SIZE and CANDIDATES numbers.
 */
LFN int find_candidates(const wreal *xform, int nitem, int world, const int *scene, int at, int n, const ureal *bounds,
                        const ureal *size, const ureal *view, const ureal *pyramid, int *flag, int *list,
                        ureal *candidate)
{
    const int *shown = scene + at;
    ureal *boxes = candidate + CHUNK * CANDIDATE_SIZE;
    int found = 0;
    sync();
    load_boxes(xform, nitem, world, scene, at, n, bounds, flag, boxes);
    items(i, n)
    {
        mask may = geoms_may_touch(xform, nitem, world, shown, i, n, bounds, boxes, view + VIEW_EYE, pyramid);
        istore(flag + i, may & isplat(1));
    }
    sync();
    each (g, (n + GROUP - 1) / GROUP) list_group(g, n, flag, list);
    sync();
    if (n > 0) found = flag[n];
    each (c, found) {
        ureal m[12];
        xform_of(xform, nitem, world, shown[list[c] * SHOWN_SIZE + SHOWN_PRIM], m);
        candidate_of(m, view, candidate + c * CANDIDATE_SIZE);
        candidate_shape(shown + list[c] * SHOWN_SIZE, size, world, candidate + c * CANDIDATE_SIZE);
    }
    sync();
    return found;
}
