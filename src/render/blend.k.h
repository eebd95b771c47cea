/*
 * Transparent geoms, over the colours of what is opaque. Part of render.k.h.
 *
 * A pixel's layers are found one after the other, from the nearest on; each geom is one layer, its front. Of equally
 * far layers the one with the lower id is nearer. As MuJoCo's classic renderer does, each layer is laid on twice, all
 * from the front to the back and then all from the back to the front: one layer alone covers 1 - (1 - alpha)^2. In mode
 * physical layers are laid on once, and one covers alpha.
 */

#define LAYER_REACH 2.4e-7f /* transparent surfaces that lie in opaque ones are before them: 2 roundings */

/*
 * The nearest of the candidates behind (*t, *geom) and before `end`: sets these, the normal n (camera's frame) and
 * `part` in lanes that have one, and geoms (memory of the lanes; -1: none). Returns these lanes.
 */
LFN mask next_layer(const ureal *candidate, const int *list, int count, const int *shown, const int *data,
                    const ureal *node, const ureal *tri, const ureal *elevation, ureal from, int flat, const sight *ray,
                    int later, real start, mask live, real end, real *t, lint *geom, real *n, int *geoms, int *part)
{
    real best = end;
    lint found = isplat(-1);
    for (int c = 0; c < count; ++c) {
        const int *row = shown + list[c] * SHOWN_SIZE;
        if (!sight_may_meet(candidate + c * CANDIDATE_SIZE, flat, ray)) continue;
        real own = end, normal[3];
        lint g = isplat(row[SHOWN_GEOM]), none = isplat(-1);
        int triangle[STET_W];
        for (int k = 0; k < 3; ++k) normal[k] = splat(0);
        istore(triangle, isplat(0));
        trace_candidate(candidate + c * CANDIDATE_SIZE, row, data, node, tri, elevation, from, flat, 0, ray, later,
                        start, live, &own, &none, normal, triangle);
        mask behind = m_or(lt(*t, own), m_and(eq(*t, own), ilt(*geom, g))), here = m_and(behind, lt(own, best));
        best = select(here, own, best);
        found = iselect(here, g, found);
        ureal side = row[SHOWN_KIND] & SHOWN_UNDERSIDE ? -1 : 1; /* light comes from above */
        for (int k = 0; k < 3; ++k) n[k] = select(here, normal[k] * splat(side), n[k]);
        istore(part, iselect(here, iload(triangle), iload(part)));
    }
    mask hit = ilt(isplat(-1), found);
    *t = select(hit, best, *t);
    *geom = iselect(hit, found, *geom);
    istore(geoms, found);
    return hit;
}

/* Layers laid on a colour c: front + through * (back + through * c), or, once, front + through * c. */
typedef struct layer_sum {
    real front[3], back[3], through;
} layer_sum;

LFN void add_layer(mask hit, const real *rgb, real alpha, layer_sum *sum)
{
    real a = select(hit, alpha, splat(0)), rest = splat(1) - a;
    for (int k = 0; k < 3; ++k) {
        real share = rgb[k] * a;
        sum->front[k] = fma(sum->through, share, sum->front[k]);
        sum->back[k] = fma(rest, sum->back[k], share);
    }
    sum->through = sum->through * rest;
}

LFN real layered(const layer_sum *sum, int k, real below, int once)
{
    return fma(sum->through, once ? below : fma(sum->through, below, sum->back[k]), sum->front[k]);
}

/*
 * Lays n candidates, transparent geoms, on the colours of a patch. best: what is opaque. mirrored: the number of the
 * view's mirror, if it is mirrored, and glass (mirror.k.h). The arrays of geoms and triangles are overwritten.
 */
LFN_APART void blend_patch(const wreal *xform, int nitem, int world, const ureal *lamps, const ureal *view,
                           const ureal *glass, int mirrored, int flat, int px, int py, int width, int height,
                           const int *scene, const ureal *look, const ureal *own, const ureal *scales,
                           const int *choice, const ureal *candidate, const int *list, int n, const int *shown,
                           const int *data, const ureal *node, const ureal *tri, const ureal *elevation,
                           const ureal *best, int *best_geom, int *best_part, int *colour, const i64 *first,
                           const int *pitch, i64 entry)
{
    items (p, PIXELS) {
        int x = px + p % PATCH, y = py + p / PATCH;
        if (x >= width || y >= height) continue;
        mask live = in_range(x, width), any_layer = m_none();
        sight ray;
        real start = splat(0), end = load(best + p) * splat(1 + (ureal)LAYER_REACH), t = splat(-1),
             normal[3] = {splat(0), splat(0), splat(0)};
        lint geom = isplat(-1);
        layer_sum sum;
        row_sight(view, x, y, &ray);
        if (mirrored) {
            start = mirror_start(glass, view, flat, &ray);
            end = end - start;
        }
        for (int k = 0; k < 3; ++k) {
            sum.front[k] = splat(0);
            sum.back[k] = splat(0);
        }
        sum.through = splat(1);
        istore(best_part + p, isplat(0));
        for (int layer = 0; layer < n; ++layer) {
            mask hit =
                next_layer(candidate, list, n, shown, data, node, tri, elevation, mirrored ? 0 : view[VIEW_NEAR], flat,
                           &ray, mirrored, start, live, end, &t, &geom, normal, best_geom + p, best_part + p);
            if (!any(hit)) break;
            any_layer = m_or(any_layer, hit);
            real surface[APPEARANCE_SIZE], rgb[3];
            real depth = mirrored ? t + start : t;
            hit_colour(xform, nitem, world, lamps, view, flat, scene, look, own, scales, choice, data, tri,
                       best_geom + p, best_part + p, &ray, hit, depth, normal, mirrored_share(scene, look, mirrored),
                       surface, rgb);
            if (scene_number(scene, SCENE_FOG)) fog_over(look + scene[SCENE_FOG], depth, rgb);
            add_layer(hit, rgb, surface[APPEARANCE_ALPHA], &sum);
        }
        if (!any(any_layer)) continue;
        int *at = colour + pixel_at(first, pitch, entry, x, y);
        real below[3];
        unpack_colour(scene, load_colours(at, width - x), below);
        for (int k = 0; k < 3; ++k) below[k] = layered(&sum, k, below[k], scene_number(scene, SCENE_PHYSICAL));
        istore_if(m_and(live, any_layer), at, pack_colour(scene, below, isplat(255)));
    }
}
