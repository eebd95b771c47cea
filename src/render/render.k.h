/*
 * The ray caster. A block is a patch of PATCH x PATCH pixels of one camera of one world, on a processor STRIP of them;
 * lanes are pixels of a row. Kind item.
 *
 * scene.k.h has the tables, known.k.h what is known of them when code is made, view.k.h camera rays and pyramids of
 * patches, box.k.h boxes of geoms, cull.k.h culling, trace.k.h hits, span.k.h what rows of a patch may hit, tone.k.h
 * colours as bytes, shade.k.h light, detail.k.h smooth normals and textures (texture.k.h), sky.k.h the sky, pixel.k.h
 * what is written for a pixel, shadow.k.h shadows, blend.k.h transparent geoms, mirror.k.h reflections, sample.k.h
 * several samples a pixel. Any number of geoms is processed, as many at a time as a list takes (CHUNK), and the patch
 * keeps the nearest hits between lists.
 */
#include "stet/lang.h"

#ifndef RAY_TYPES
#define RAY_TYPES 0x3ff /* with cones */
#endif
#ifndef LFN_APART /* a GPU's compiler inlines all */
#define LFN_APART LFN
#endif

#include "geom/ray.k.h"
#include "stage/axis.k.h"
#include "render/scene.k.h"
#include "render/known.k.h"
#include "render/view.k.h"
#include "render/box.k.h"
#include "render/cull.k.h"
#include "render/tube.k.h"
#include "render/glass.k.h"
#include "render/trace.k.h"
#include "render/span.k.h"
#include "render/tone.k.h"
#include "render/shade.k.h"
#include "render/texture.k.h"
#include "render/detail.k.h"
#include "render/sky.k.h"
#include "render/pixel.k.h"
#include "render/shadow.k.h"
#include "render/sample.k.h"
#include "render/mirror.k.h"
#include "render/blend.k.h"

/*
 * Updates the nearest hits of all pixels of the patch at (px, py) with n candidates. fresh: they are the first ones;
 * spans: whether mark_spans has filled theirs; bare: without normals.
 */
LFN void trace_patch(const ureal *view, const ureal *glass, int mirrored, int flat, int bare, int fresh, int spans,
                     int px, int py, int width, int height, const ureal *candidate, const int *list, int n,
                     const int *shown, const int *data, const ureal *node, const ureal *tri, const ureal *elevation,
                     ureal *best, int *best_geom, int *best_part)
{
    items (p, PIXELS) {
        int x = px + p % PATCH, y = py + p / PATCH, span = span_bits(p);
        int outside = x >= width || y >= height;
        if (fresh && outside) clear_hit(view[VIEW_FAR], bare, p, best, best_geom, best_part);
        if (outside) continue;
        if (fresh) istore(best_part + p, isplat(0));
        sight ray;
        row_sight(view, x, y, &ray);
        real towards[3] = {splat(0), splat(0), splat(0)}, t = splat(view[VIEW_FAR]), start = splat(0);
        lint g = isplat(-1);
        if (!fresh) {
            t = load_best(best, p, bare, towards);
            g = iload(best_geom + p);
        }
        if (mirrored) {
            start = mirror_start(glass, view, flat, &ray);
            t = t - start;
        }
        for (int c = 0; c < n; ++c) {
            const ureal *own = candidate + c * CANDIDATE_SIZE;
            if (STET_W > 1 && spans ? (list[CHUNK + c] & span) != span : !sight_may_meet(own, flat, &ray)) continue;
            trace_candidate(own, shown + list[c] * SHOWN_SIZE, data, node, tri, elevation,
                            mirrored ? 0 : view[VIEW_NEAR], flat, bare, &ray, mirrored, start, in_range(x, width), &t,
                            &g, towards, best_part + p);
        }
        if (mirrored) t = t + start;
        store_best(best, p, bare, t, towards);
        istore(best_geom + p, g);
    }
}

/* Whether a mesh is among n listed geoms. */
LFN int any_mesh(const int *list, int n, const int *shown)
{
    int found = 0;
    for (int c = 0; c < n && !found; ++c) {
        int type = shown[list[c] * SHOWN_SIZE + SHOWN_TYPE];
        found = type == RAY_MESH || type == RAY_SDF;
    }
    return found;
}

/* Columns in a patch of pixels that go along a curve whose aligned parts are squares; of i / 2: their rows. */
LFN lint square_columns(lint i)
{
    return (i & isplat(1)) | (ishr(i, 1) & isplat(2)) | (ishr(i, 2) & isplat(4)) | (ishr(i, 3) & isplat(8));
}

/*
 * The same as trace_patch, with lanes that are pixels of a square: more often than those of a row they meet the same
 * part of a mesh. Not for threads: a pixel's hit stays with its thread from here on.
 */
LFN_APART void trace_squares(const ureal *view, int flat, int bare, int px, int py, int width, int height,
                             const ureal *candidate, const int *list, int n, const int *shown, const int *data,
                             const ureal *node, const ureal *tri, const ureal *elevation, ureal *best, int *best_geom,
                             int *best_part)
{
    items (p, PIXELS) {
        int part[STET_W];
        real towards[3];
        lint i = lane() + isplat(p), column = square_columns(i), row = square_columns(ishr(i, 1));
        lint pixel = row * isplat(PATCH) + column, x = column + isplat(px), y = row + isplat(py);
        mask live = m_and(ilt(x, isplat(width)), ilt(y, isplat(height)));
        if (!any(live)) continue;
        sight ray;
        sight_of(view, x, y, &ray);
        real t = gather(best, pixel), before = t;
        lint g = igather(best_geom, pixel);
        for (int k = 0; k < 3; ++k) towards[k] = bare ? t : gather(best + (k + 1) * PIXELS, pixel);
        istore(part, igather(best_part, pixel));
        for (int c = 0; c < n; ++c) {
            const ureal *own = candidate + c * CANDIDATE_SIZE;
            if (!sight_may_meet(own, flat, &ray)) continue;
            trace_candidate(own, shown + list[c] * SHOWN_SIZE, data, node, tri, elevation, view[VIEW_NEAR], flat, bare,
                            &ray, 0, splat(0), live, &t, &g, towards, part);
        }
        mask hit = lt(t, before);
        if (!any(hit)) continue;
        int at[STET_W], geom[STET_W];
        istore(at, pixel);
        istore(geom, g);
        scatter_if(hit, best, pixel, t);
        for (int k = 0; k < 3 && !bare; ++k) scatter_if(hit, best + (k + 1) * PIXELS, pixel, towards[k]);
        for (int l = 0; l < STET_W; ++l) {
            best_geom[at[l]] = geom[l];
            best_part[at[l]] = part[l];
        }
    }
}

/*
 * The nearest hits of a patch among the nshown geoms at `at` in `scene`; unless fresh, and those that it has. bare:
 * their normals are not wanted.
 */
LFN_APART void trace_geoms(const wreal *xform, int nitem, int world, const ureal *view, const ureal *glass,
                           int mirrored, int flat, int bare, int px, int py, int width, int height,
                           const ureal *pyramid, const int *scene, int at, int nshown, const ureal *bounds,
                           const ureal *size, const ureal *boxes, const int *data, const ureal *node, const ureal *tri,
                           const ureal *elevation, int *flag, int *list, ureal *candidate, int fresh, ureal *best,
                           int *best_geom, int *best_part)
{
    int many = MAY_BE_MANY && boxes, next, straight = STET_W > 1 && view[VIEW_FISHEYE] == 0 && square_view(view);
    for (int from = 0; from < nshown; from = next) {
        const int *part = scene + at + from * SHOWN_SIZE;
        int n = find_candidates(xform, nitem, world, scene, at, from, nshown, bounds, size, boxes, view, pyramid, 1,
                                flag, list, candidate, &next);
        if (!n) continue;
        if (STET_W > 1 && !mirrored && any_mesh(list, n, part)) {
            if (fresh) clear_best(view[VIEW_FAR], bare, best, best_geom, best_part);
            trace_squares(view, flat, bare, px, py, width, height, candidate, list, n, part, data, node, tri, elevation,
                          best, best_geom, best_part);
        } else {
            /* those that find_candidates looked at, counted as those that it lists are */
            const ureal *tested =
                many ? boxes + ((at - scene[SCENE_SHOWN]) / SHOWN_SIZE + from) : candidate + CHUNK * CANDIDATE_SIZE;
            if (straight)
                mark_spans(view, flat, px, py, pyramid, tested, many ? BOX_STRIDE(SCENE_NROW(scene)) : CHUNK, candidate,
                           list, n, part, list + CHUNK);
            trace_patch(view, glass, mirrored, flat, bare, fresh, straight, px, py, width, height, candidate, list, n,
                        part, data, node, tri, elevation, best, best_geom, best_part);
        }
        fresh = 0;
    }
    if (fresh) clear_best(view[VIEW_FAR], bare, best, best_geom, best_part);
}

/*
 * Puts the details of a patch's hits in place of what they are made of: smooth normals in place of normals, texels in
 * place of triangles. further: 2 * PIXELS words, of roles, if the scene has any.
 */
LFN_APART void detail_patch(const wreal *xform, int nitem, int world, const ureal *view, int flat, int px, int py,
                            int width, int height, const int *scene, const ureal *look, const ureal *scales,
                            const int *choice, const int *data, const ureal *tri, ureal *best, int *best_geom,
                            int *best_part, int *further)
{
    items (p, PIXELS) {
        int x = px + p % PATCH, y = py + p / PATCH;
        if (x >= width || y >= height) continue;
        roles r;
        real n[3], texel[3] = {splat(1), splat(1), splat(1)}, t = load_best(best, p, 0, n);
        sight ray;
        row_sight(view, x, y, &ray);
        no_roles(&r);
        hit_details(xform, nitem, world, view, flat, scene, look, scales, choice, data, tri, best_geom + p,
                    iload(best_part + p), &ray, t, n, texel, &r);
        store_best(best, p, 0, t, n);
        istore(best_part + p, pack_texel(scene, texel));
        if (scene_number(scene, SCENE_ROLES)) {
            lint word[2];
            pack_roles(&r, word);
            for (int k = 0; k < 2; ++k) istore(further + k * PIXELS + p, word[k]);
        }
    }
}

/* How many of the nshown geoms at `at` in `scene` a patch may show. Overwrites the lists of candidates. */
LFN_APART int count_candidates(const wreal *xform, int nitem, int world, const int *scene, int at, int nshown,
                               const ureal *bounds, const ureal *size, const ureal *boxes, const ureal *view,
                               const ureal *pyramid, int *flag, int *list, ureal *candidate)
{
    int found = 0, next;
    for (int from = 0; from < nshown; from = next) {
        int n = find_candidates(xform, nitem, world, scene, at, from, nshown, bounds, size, boxes, view, pyramid, 1,
                                flag, list, candidate, &next);
        found += n;
    }
    return found;
}

/* Depths, ids, distances and normals of a patch's hits. ntile, tile, rows: as k_render. */
LFN void put_hits(const ureal *view, int flat, int px, int py, int width, int height, const int *scene,
                  const ureal *best, const int *best_geom, ureal *depth, ureal *distance, ureal *normal, int *geom,
                  int *body, int *type, const i64 *first, const int *pitch, int rows, int ntile, int tile)
{
    const int *ids = scene + scene[SCENE_IDS];
    int named = geom || body || type, shaped = distance || normal, other = scene_number(scene, SCENE_TENDON);
    other = other || scene_number(scene, SCENE_NADDED) || scene_number(scene, SCENE_NUNDER);
    items (p, PIXELS) {
        int x = px + p % PATCH, y = py + p / PATCH;
        if (x >= width || y >= height) continue;
        mask live = in_range(x, width);
        lint g = iload(best_geom + p), none = isplat(-1);
        mask hit = ilt(none, g);
        real n[3], t = select(hit, load(best + p), splat(1) / splat(0));
        put_real(depth, first, pitch, tile_entry(rows, BUFFER_DEPTH, ntile, tile), x, y, live, t);
        if (named) {
            lint known = imax(g, isplat(0)) * isplat(IDS_SIZE);
            if (other) g = iselect(hit, igather(ids + IDS_GEOM, known), none);
            put_int(geom, first, pitch, tile_entry(rows, BUFFER_GEOM, ntile, tile), x, y, live, g);
            if (body)
                put_int(body, first, pitch, tile_entry(rows, BUFFER_BODY, ntile, tile), x, y, live,
                        iselect(hit, igather(ids + IDS_BODY, known), none));
            if (type)
                put_int(type, first, pitch, tile_entry(rows, BUFFER_TYPE, ntile, tile), x, y, live,
                        iselect(hit, igather(ids + IDS_TYPE, known), none));
        }
        if (!shaped) continue;
        real up[3], way[3], point[3];
        for (int k = 0; k < 3; ++k) n[k] = load(best + (k + 1) * PIXELS + p);
        sight ray;
        row_sight(view, x, y, &ray);
        real far = pixel_geometry(view, flat, &ray, hit, t, n, 1, up, way, point);
        put_real(distance, first, pitch, tile_entry(rows, BUFFER_DISTANCE, ntile, tile), x, y, live, far);
        put_normal(normal, first, pitch, tile_entry(rows, BUFFER_NORMAL, ntile, tile), x, y, live, up);
    }
}

/* Colours of a patch's hits without light. entry: of the tile table. */
LFN void put_albedo(int px, int py, int width, int height, const int *scene, const ureal *own, const int *best_geom,
                    const int *best_part, int *albedo, const i64 *first, const int *pitch, i64 entry)
{
    items (p, PIXELS) {
        int x = px + p % PATCH, y = py + p / PATCH;
        if (x >= width || y >= height) continue;
        real surface[APPEARANCE_SIZE], texel[3];
        lint g = iload(best_geom + p);
        hit_surface(scene, own, best_geom + p, iload(best_part + p), surface, texel);
        for (int k = 0; k < 3; ++k) texel[k] = texel[k] * surface[APPEARANCE_RGB + k];
        put_int(albedo, first, pitch, entry, x, y, in_range(x, width),
                pack_colour(scene, texel, isplat(255)) & ilt(isplat(-1), g));
    }
}

/*
 * Colours of a patch's opaque hits, the sky, the haze and the fog. plane: the one with haze above it. mirror, glass: as
 * of find_mirror; mirrored: the view is, and there is no sky, no haze. share: of shadow_patch; further: of
 * detail_patch.
 */
LFN_APART void put_colours(const ureal *lamps, const ureal *view, int mirror, const ureal *glass, int mirrored,
                           int flat, int px, int py, int width, int height, const int *scene, const ureal *look,
                           const ureal *own, const ureal *plane, const ureal *best, const int *best_geom,
                           const int *best_part, const ureal *kept, const int *share, const int *further, int *colour,
                           const i64 *first, const int *pitch, i64 entry)
{
    items (p, PIXELS) {
        int x = px + p % PATCH, y = py + p / PATCH;
        if (x >= width || y >= height) continue;
        real up[3], way[3], point[3], surface[APPEARANCE_SIZE], texel[3], rgb[3];
        lint g = iload(best_geom + p);
        mask live = in_range(x, width), hit = ilt(isplat(-1), g);
        for (int k = 0; k < 3; ++k) rgb[k] = splat(0);
        real far = kept_hit(view, flat, x, y, p, best, hit, kept, up, way, point);
        if (any(hit)) {
            int worded = scene_number(scene, SCENE_DETAIL) || (scene_number(scene, SCENE_NSHADOW) && !mirrored);
            lint word = worded ? iload(best_part + p) : isplat(0);
            hit_surface(scene, own, best_geom + p, word, surface, texel);
            for (int k = 0; k < 3 && mirrored; ++k)
                surface[APPEARANCE_RGB + k] = surface[APPEARANCE_RGB + k] * splat(mirrored_share(scene, look, mirror));
            if (scene_number(scene, SCENE_PHYSICAL))
                word = scene_number(scene, SCENE_NSHADOW) && !mirrored ? iload(share + p) : isplat(-1);
            roles r;
            no_roles(&r);
            if (scene_number(scene, SCENE_ROLES)) {
                lint words[2] = {iload(further + p), iload(further + PIXELS + p)};
                unpack_roles(words, &r);
            }
            shade(lamps, scene, own, surface, texel, &r, up, way, point, 1, word, rgb);
            if (scene_number(scene, SCENE_FOG)) fog_over(look + scene[SCENE_FOG], load(best + p), rgb);
            for (int k = 0; k < 3; ++k) rgb[k] = select(hit, rgb[k], splat(0));
            if (mirror && !mirrored)
                add_mirrored(scene, look, mirror, glass, g, up, colour + pixel_at(first, pitch, entry, x, y), width - x,
                             rgb);
        }
        if (!mirrored) sky_behind(scene, look, view, hit, way, rgb);
        if (scene_number(scene, SCENE_HAZE) && !flat && !mirrored)
            haze_before(scene, look, plane, view, hit, far, way, rgb);
        put_int(colour, first, pitch, entry, x, y, live, pack_colour(scene, rgb, hit & isplat(255)));
    }
}

/*
 * xform [nworld][nitem]: world transforms of prims. Block = index in `worlds` * nstrip + strip. scene, look: see
 * scene.k.h. looks: for each world, `stride` apart, what looks.h says, and rows of details; lens [ncamera * LENS_SIZE]:
 * see view.k.h, those of a world `lens_stride` after the last one's. boxes: of k_boxes, absent where geoms are few.
 * size … elevation: see geom/geom.h; shapes: how many rows of sizes and bounds each world has; 0: all have the same
 * ones. scales: those of a world, scale_stride numbers, if there are such. Then the
 * buffers, absent where they are not wanted, and the tile table: first pixel and pitch of tile world * ncamera + camera
 * in each row; a buffer's row is in `rows`. stands, range: of k_stand, or absent. grid: side of that of a pixel's
 * samples, 1, 2 or 4.
 *
 * The first round is that of the pixels' centres, which all buffers but colours show; then there is one for each of
 * several samples. Where a mirror is, each has another round before it, of what is mirrored.
 *
 * A kernel for a part of that (RENDER_PART; one patch a block) does it for one round, `sample` and `reflected`, and
 * keeps the patch's hits in hits and words, [patches of the launch][…][PIXELS]; the first is patch `start` of all.
 */
item_kernel void k_render(const wreal *xform, int nitem, const int *worlds, const int *scene, const ureal *look,
                          const ureal *looks, int stride, const int *choices, const ureal *lens, int lens_stride,
                          const ureal *size, const int *data, const ureal *bounds, int shapes, const ureal *scales,
                          int scale_stride, const ureal *boxes, const ureal *node, const ureal *tri,
                          const ureal *elevation, u32 *colour, ureal *depth, ureal *distance, ureal *normal,
                          u32 *albedo, int *geom, int *body, int *type, const i64 *first, const int *pitch,
                          const int *stands, ureal *range, ureal *hits, int *words, int start, int sample,
                          int reflected, int rows, int grid, int block)
{
    shared(int, flag, FLAG_SIZE);
    shared(int, list, LIST_SIZE);
    shared(ureal, candidate, CANDIDATES);
    shared(ureal, lamps, LAMP_MOST * LAMP_PLACE);
    shared(ureal, tubes, LAMP_MOST * PYRAMID_SIZE);
    shared(ureal, own_hits, OWN(PIXELS * HIT_REALS));
    shared(int, own_words, OWN(PIXELS * HIT_WORDS(SCENE_HAS, 2)));
    shared(ureal, kept, KEPT);
    shared(int, blocked, MAY_BE_PHYSICAL ? PIXELS : 1);
    int npatch = scene[SCENE_NPATCH], ntile = scene[SCENE_NTILE], strip = STET_GPU ? 1 : STRIP;
    int nstrip = (npatch + strip - 1) / strip, listed = (start + block) / nstrip, world = worlds[listed],
        from = (start + block) % nstrip * strip, alone = RENDER_PART != PART_ALL;
    ureal *best = alone ? hits + (i64)block * (PIXELS * HIT_REALS) : own_hits;
    int *best_geom = alone ? words + (i64)block * (PIXELS * HIT_WORDS(SCENE_HAS, RENDER_SIDE)) : own_words;
    int *best_part = best_geom + PIXELS, *share = best_geom + HIT_SHARE * PIXELS;
    int *further = best_geom + HIT_ROLES(SCENE_HAS) * PIXELS, *sum = best_geom + HIT_SUM(SCENE_HAS) * PIXELS;
    const ureal *made = MAY_BE_MANY && boxes ? boxes + (i64)listed * BOXES_SIZE(SCENE_NROW(scene)) : boxes;
    const ureal *sizes = size + (i64)world * shapes * 4, *around = bounds + (i64)world * shapes * 6;
    const ureal *scale = scale_stride ? scales + (i64)world * scale_stride : look + scene[SCENE_LOOK_SCALE];
    int clear = scene[SCENE_CLEAR], site = scene[SCENE_SHOWN] + scene[SCENE_NSHOWN] * SHOWN_SIZE;
    if (STET_W > 1)
        each (k, 2) flag[FLAG_BOXES + k] = 0;
    int end = STET_GPU ? from + 1 : nmin(from + strip, npatch);
    for (int patch = from; patch < end; ++patch) {
        if (stands && stands[(i64)listed * npatch + patch]) continue;
        const int *here = scene + SCENE_PATCHES + patch * PATCH_SIZE;
        int flat = here[PATCH_FLAT];
        int tile = world * scene[SCENE_NCAMERA] + here[PATCH_CAMERA];
        int px = here[PATCH_X], py = here[PATCH_Y], width = here[PATCH_WIDTH], height = here[PATCH_HEIGHT];
        i64 entry = tile_entry(rows, BUFFER_COLOUR, ntile, tile);
        ureal eye[12], middle[VIEW_SIZE], view[VIEW_SIZE], pyramid[PYRAMID_SIZE], glass[4] = {0, 0, 0, 0};
        ureal plane[12]; /* with haze above it */
        xform_of(xform, nitem, world, here[PATCH_PRIM], eye);
        const ureal *own = looks + (i64)world * stride, *sight_lens = lens + (i64)world * lens_stride;
        const int *choice = choices + (i64)world * scene_number(scene, SCENE_CHOICE);
        sight_lens = sight_lens + here[PATCH_CAMERA] * LENS_SIZE;
        view_from(eye, sight_lens, middle);
        pyramid_of(middle, flat, px, py, PATCH, pyramid);
        for (int k = 0; k < 12; ++k) plane[k] = 0;
        if (scene_number(scene, SCENE_HAZE)) xform_of(xform, nitem, world, scene_number(scene, SCENE_HAZE) - 1, plane);
        int side = RENDER_SIDE ? RENDER_SIDE : grid;
        int seen = depth || distance || normal || geom || body || type, centre = side == 1 || seen || albedo,
            nclear = scene_number(scene, SCENE_NCLEAR), under = scene_number(scene, SCENE_NUNDER);
        int mirror = 0, rounds = side == 1 || !RENDER_COLOURS || !colour ? 0 : side * side;
        if (RENDER_COLOURS && colour && RENDER_PART != PART_SHADOWS)
            mirror = find_mirror(xform, nitem, world, scene, sizes, around, middle, flat, pyramid, glass);
        int below = clear + nclear * SHOWN_SIZE;
        if (!sees_underside(xform, nitem, world, scene + below, under, middle, flat)) under = 0;
        nclear += under;

        if (RENDER_COLOURS && colour && RENDER_PART != PART_HITS)
            place_lamps(xform, nitem, world, here[PATCH_PRIM], scene, lamps);

        int first_round = centre ? -1 : 0, last_round = nmax(rounds - 1, -1);
        if (alone) {
            first_round = RENDER_SIDE == 1 ? -1 : sample;
            last_round = first_round;
        }
        for (int s = first_round; s <= last_round; ++s) {
            int mirrors = mirror && (s >= 0 || side == 1), before = mirrors, least = 0;
            if (alone) {
                least = scene_number(scene, SCENE_NMIRROR) ? reflected : 0;
                before = least <= mirrors ? least : least - 1;
            }
            for (int mirrored = before; mirrored >= least; --mirrored) {
                int ids = s < 0 && !mirrored;
                if (mirror) { /* anew, so that scenes without one keep less in registers */
                    xform_of(xform, nitem, world, here[PATCH_PRIM], eye);
                    view_from(eye, sight_lens, middle);
                    if (mirrored)
                        mirror_view(glass, flat, px, py, middle, pyramid);
                    else
                        pyramid_of(middle, flat, px, py, PATCH, pyramid);
                }
                sample_view(middle, s < 0 ? 1 : side, s < 0 ? 0 : s, view);
                if (DOES_PART(PART_HITS)) {
                    int bare = ids && !(distance || normal || (RENDER_COLOURS && (colour || albedo)));
                    trace_geoms(xform, nitem, world, view, glass, mirrored, flat, bare, px, py, width, height, pyramid,
                                scene, scene[ids ? SCENE_SHOWN : SCENE_SOLID], scene[ids ? SCENE_NSHOWN : SCENE_NSOLID],
                                around, sizes, made, data, node, tri, elevation, flag, list, candidate, 1, best,
                                best_geom, best_part);
                    if (ids && under)
                        trace_geoms(xform, nitem, world, view, glass, 0, flat, bare, px, py, width, height, pyramid,
                                    scene, below, under, around, sizes, made, data, node, tri, elevation, flag, list,
                                    candidate, 0, best, best_geom, best_part);
                    if (ids && seen)
                        put_hits(view, flat, px, py, width, height, scene, best, best_geom, depth, distance, normal,
                                 geom, body, type, first, pitch, rows, ntile, tile);
                }
                if (!RENDER_COLOURS || !(colour || albedo)) continue;
                if (DOES_PART(PART_HITS) && scene_number(scene, SCENE_DETAIL))
                    detail_patch(xform, nitem, world, view, flat, px, py, width, height, scene, look, scale, choice,
                                 data, tri, best, best_geom, best_part, further);
                if (DOES_PART(PART_HITS) && ids && albedo)
                    put_albedo(px, py, width, height, scene, own, best_geom, best_part, (int *)albedo, first, pitch,
                               tile_entry(rows, BUFFER_ALBEDO, ntile, tile));
                if (!colour || (s < 0 && side > 1)) continue;
                int layers = 0;
                if (RENDER_PART != PART_SHADOWS)
                    layers = count_candidates(xform, nitem, world, scene, clear, nclear, around, sizes, made, view,
                                              pyramid, flag, list, candidate);
                if (DOES_PART(PART_HITS)) {
                    int sites =
                        count_candidates(xform, nitem, world, scene, site, ids ? scene_number(scene, SCENE_NSITE) : 0,
                                         around, sizes, made, view, pyramid, flag, list, candidate);
                    if (layers + sites > 0 && ids) {
                        trace_geoms(xform, nitem, world, view, glass, 0, flat, 0, px, py, width, height, pyramid, scene,
                                    scene[SCENE_SOLID], scene[SCENE_NSOLID], around, sizes, made, data, node, tri,
                                    elevation, flag, list, candidate, 1, best, best_geom, best_part);
                        if (scene_number(scene, SCENE_DETAIL))
                            detail_patch(xform, nitem, world, view, flat, px, py, width, height, scene, look, scale,
                                         choice, data, tri, best, best_geom, best_part, further);
                    }
                    keep_hits(view, flat, px, py, width, height, best, best_geom, kept);
                }
                if (DOES_PART(PART_SHADOWS) && scene_number(scene, SCENE_NSHADOW) && !mirrored)
                    shadow_patch(xform, nitem, world, lamps, view, flat, px, py, width, height, nmax(s, 0), scene, own,
                                 around, sizes, made, data, node, tri, elevation, flag, list, candidate, best,
                                 best_geom, kept, tubes, best_part, blocked, share,
                                 range ? range + 2 * ((i64)world * npatch + patch) : range, s <= 0);
                if (!DOES_PART(PART_COLOURS)) continue;
                put_colours(lamps, view, mirror, glass, mirrored, flat, px, py, width, height, scene, look, own, plane,
                            best, best_geom, best_part, kept, share, further, (int *)colour, first, pitch, entry);
                for (int chunk = 0; layers > 0 && chunk < nclear; chunk += CHUNK) {
                    int next, n = find_candidates(xform, nitem, world, scene, clear, chunk, nmin(nclear, chunk + CHUNK),
                                                  around, sizes, made, view, pyramid, 1, flag, list, candidate, &next);
                    blend_patch(xform, nitem, world, lamps, view, glass, mirrored ? mirror : 0, flat, px, py, width,
                                height, scene, look, own, scale, choice, candidate, list, n,
                                scene + clear + chunk * SHOWN_SIZE, data, node, tri, elevation, best, best_geom,
                                best_part, (int *)colour, first, pitch, entry);
                }
                if (s >= 0 && !mirrored)
                    add_sample(scene, px, py, width, height, side, s, sum, (int *)colour, first, pitch, entry);
            }
        }
    }
}
