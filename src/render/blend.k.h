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
 * The nearest of the candidates behind `last` and before `end`: sets last in lanes that have one, and geoms and
 * triangles of pixels p … in `hits` (-1: none). Returns these lanes.
 */
LFN mask next_layer(rd_surfaces surfaces, rd_patch patch, rd_found found, const sight *ray, real end, lane_hits *last,
                    rd_hits hits, int p)
{
    real best = end;
    lint nearest = isplat(-1);
    mask live = in_range(patch.x + p % PATCH, patch.width);
    for (int c = 0; c < found.n; ++c) {
        const int *row = found.shown + found.list[c] * SHOWN_SIZE;
        if (!sight_may_meet(found.candidate + c * CANDIDATE_SIZE, patch.flat, ray)) continue;
        lane_hits own;
        lint g = isplat(row[SHOWN_GEOM]);
        int triangle[STET_W];
        own.t = end;
        own.geom = isplat(-1);
        for (int k = 0; k < 3; ++k) own.n[k] = splat(0);
        istore(triangle, isplat(0));
        trace_candidate(surfaces, patch, found.candidate + c * CANDIDATE_SIZE, row, ray, live, &own, triangle);
        mask behind = m_or(lt(last->t, own.t), m_and(eq(last->t, own.t), ilt(last->geom, g)));
        mask here = m_and(behind, lt(own.t, best));
        best = select(here, own.t, best);
        nearest = iselect(here, g, nearest);
        ureal side = row[SHOWN_KIND] & SHOWN_UNDERSIDE ? -1 : 1; /* light comes from above */
        for (int k = 0; k < 3; ++k) last->n[k] = select(here, own.n[k] * splat(side), last->n[k]);
        istore(hits.part + p, iselect(here, iload(triangle), iload(hits.part + p)));
    }
    mask hit = ilt(isplat(-1), nearest);
    last->t = select(hit, best, last->t);
    last->geom = iselect(hit, nearest, last->geom);
    istore(hits.geom + p, nearest);
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
 * Lays the candidates found, transparent geoms, on the colours of a patch, whose hits are what is opaque. Their arrays
 * of geoms and triangles are overwritten.
 */
LFN_APART void blend_patch(rd_world w, rd_surfaces surfaces, rd_patch patch, rd_found found, rd_hits hits,
                           rd_pictures out)
{
    items (p, PIXELS) {
        int x = patch.x + p % PATCH, y = patch.y + p / PATCH;
        if (x >= patch.width || y >= patch.height) continue;
        mask live = in_range(x, patch.width), any_layer = m_none();
        sight ray;
        real end = load(hits.best + p) * splat(1 + (ureal)LAYER_REACH);
        lane_hits last;
        layer_sum sum;
        row_sight(patch.view, x, y, &ray);
        ray.start = splat(0);
        if (patch.mirrored) {
            ray.start = mirror_start(patch.glass, patch.view, patch.flat, &ray);
            end = end - ray.start;
        }
        last.t = splat(-1);
        last.geom = isplat(-1);
        for (int k = 0; k < 3; ++k) {
            last.n[k] = splat(0);
            sum.front[k] = splat(0);
            sum.back[k] = splat(0);
        }
        sum.through = splat(1);
        istore(hits.part + p, isplat(0));
        for (int layer = 0; layer < found.n; ++layer) {
            mask hit = next_layer(surfaces, patch, found, &ray, end, &last, hits, p);
            if (!any(hit)) break;
            any_layer = m_or(any_layer, hit);
            real rgb[3];
            lane_hits here = last;
            if (patch.mirrored) here.t = last.t + ray.start;
            real alpha = hit_colour(w, surfaces, patch, hits, p, hit, &here, rgb);
            if (fog_at(w)) fog_over(surfaces.look + fog_at(w), here.t, rgb);
            add_layer(hit, rgb, alpha, &sum);
        }
        if (!any(any_layer)) continue;
        int *at = out.colour + pixel_at(out, BUFFER_COLOUR, x, y);
        real below[3];
        unpack_colour(w, load_colours(at, patch.width - x), below);
        for (int k = 0; k < 3; ++k) below[k] = layered(&sum, k, below[k], is_physical(w));
        istore_if(m_and(live, any_layer), at, pack_colour(w, below, isplat(255)));
    }
}
