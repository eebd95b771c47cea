/*
 * The ray caster. A block is a patch of PATCH x PATCH pixels of one camera of one world, on a processor STRIP of them;
 * lanes are pixels of a row. Kind item.
 *
 * scene.k.h has the tables, known.k.h what is known of them when code is made, world.k.h what functions pass on,
 * view.k.h camera rays and pyramids of patches, box.k.h boxes of geoms, cull.k.h culling, trace.k.h hits, span.k.h what
 * rows of a patch may hit, tone.k.h colours as bytes, shade.k.h light, detail.k.h smooth normals and textures
 * (texture.k.h), sky.k.h the sky, pixel.k.h what is written for a pixel, shadow.k.h shadows, blend.k.h transparent
 * geoms, mirror.k.h reflections, sample.k.h several samples a pixel. Any number of geoms is processed, as many at a
 * time as a list takes (CHUNK), and the patch keeps the nearest hits between lists.
 */
#include "stet/lang.h"

/*
 * A GPU's team: 923 us for colours and depths of 1024 hands, 64 x 64, on an H200 (32 threads: 1089; 64: 965; 256:
 * 1036). Code for a scene has its own (parts.c).
 */
#define STET_TEAM_k_render 128, 1

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
#include "render/world.k.h"
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
 * Updates the nearest hits of all pixels of the patch with the candidates found. fresh: they are the first ones; spans:
 * whether mark_spans has filled theirs.
 */
LFN void trace_patch(rd_surfaces surfaces, rd_patch patch, rd_found found, rd_hits hits, int fresh, int spans)
{
    items (p, PIXELS) {
        int x = patch.x + p % PATCH, y = patch.y + p / PATCH, span = span_bits(p);
        int outside = x >= patch.width || y >= patch.height;
        if (fresh && outside) clear_hit(patch, hits, p);
        if (outside) continue;
        if (fresh) istore(hits.part + p, isplat(0));
        sight ray;
        lane_hits here;
        row_sight(patch.view, x, y, &ray);
        ray.start = splat(0);
        here.t = splat(patch.view[VIEW_FAR]);
        here.geom = isplat(-1);
        for (int k = 0; k < 3; ++k) here.n[k] = splat(0);
        if (!fresh) {
            load_hit(hits, p, patch.bare, &here);
            here.geom = iload(hits.geom + p);
        }
        if (patch.mirrored) {
            ray.start = mirror_start(patch.glass, patch.view, patch.flat, &ray);
            here.t = here.t - ray.start;
        }
        for (int c = 0; c < found.n; ++c) {
            if (STET_W > 1 && spans && (found.list[CHUNK + c] & span) != span) continue;
            const ureal *own = found.candidate + c * CANDIDATE_SIZE;
            if (!(STET_W > 1 && spans) && !sight_may_meet(own, patch.flat, &ray)) continue;
            trace_candidate(surfaces, patch, own, found.shown + found.list[c] * SHOWN_SIZE, &ray,
                            in_range(x, patch.width), &here, hits.part + p);
        }
        if (patch.mirrored) here.t = here.t + ray.start;
        store_hit(hits, p, patch.bare, &here);
        istore(hits.geom + p, here.geom);
    }
}

/* Whether a mesh is among the geoms found. */
LFN int any_mesh(rd_found found)
{
    int meshes = 0;
    for (int c = 0; c < found.n && !meshes; ++c) {
        int type = found.shown[found.list[c] * SHOWN_SIZE + SHOWN_TYPE];
        meshes = type == RAY_MESH || type == RAY_SDF;
    }
    return meshes;
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
LFN_APART void trace_squares(rd_surfaces surfaces, rd_patch patch, rd_found found, rd_hits hits)
{
    items (p, PIXELS) {
        int part[STET_W];
        lint i = lane() + isplat(p), column = square_columns(i), row = square_columns(ishr(i, 1));
        lint pixel = row * isplat(PATCH) + column, x = column + isplat(patch.x), y = row + isplat(patch.y);
        mask live = m_and(ilt(x, isplat(patch.width)), ilt(y, isplat(patch.height)));
        if (!any(live)) continue;
        sight ray;
        lane_hits here;
        sight_of(patch.view, x, y, &ray);
        ray.start = splat(0);
        here.t = gather(hits.best, pixel);
        here.geom = igather(hits.geom, pixel);
        real before = here.t;
        for (int k = 0; k < 3; ++k) here.n[k] = patch.bare ? here.t : gather(hits.best + (k + 1) * PIXELS, pixel);
        istore(part, igather(hits.part, pixel));
        for (int c = 0; c < found.n; ++c) {
            const ureal *own = found.candidate + c * CANDIDATE_SIZE;
            if (!sight_may_meet(own, patch.flat, &ray)) continue;
            trace_candidate(surfaces, patch, own, found.shown + found.list[c] * SHOWN_SIZE, &ray, live, &here, part);
        }
        mask hit = lt(here.t, before);
        if (!any(hit)) continue;
        int at[STET_W], geom[STET_W];
        istore(at, pixel);
        istore(geom, here.geom);
        scatter_if(hit, hits.best, pixel, here.t);
        for (int k = 0; k < 3 && !patch.bare; ++k) scatter_if(hit, hits.best + (k + 1) * PIXELS, pixel, here.n[k]);
        for (int l = 0; l < STET_W; ++l) {
            hits.geom[at[l]] = geom[l];
            hits.part[at[l]] = part[l];
        }
    }
}

/* The nearest hits of a patch among the n geoms at `at` in `scene`; unless fresh, and those that it has. */
LFN_APART void trace_geoms(rd_world w, rd_surfaces surfaces, rd_patch patch, rd_lists lists, rd_hits hits, int at,
                           int n, int fresh)
{
    int many = MAY_BE_MANY && lists.boxes, next;
    int straight = STET_W > 1 && patch.view[VIEW_FISHEYE] == 0 && square_view(patch.view);
    rd_beams beams = {patch.view, patch.pyramid, 1};
    for (int from = 0; from < n; from = next) {
        int count = find_candidates(w, lists, beams, at, from, n, &next);
        if (!count) continue;
        rd_found found = {lists.candidate, lists.list, count, w.scene + at + from * SHOWN_SIZE};
        if (STET_W > 1 && !patch.mirrored && any_mesh(found)) {
            if (fresh) clear_best(patch, hits);
            trace_squares(surfaces, patch, found, hits);
        } else {
            /* those that find_candidates looked at, counted as those that it lists are */
            const ureal *tested = many ? lists.boxes + ((at - shown_at(w)) / SHOWN_SIZE + from)
                                       : lists.candidate + CHUNK * CANDIDATE_SIZE;
            if (straight)
                mark_spans(patch, found, tested, many ? BOX_STRIDE(SCENE_NROW(w.scene)) : CHUNK, lists.list + CHUNK);
            trace_patch(surfaces, patch, found, hits, fresh, straight);
        }
        fresh = 0;
    }
    if (fresh) clear_best(patch, hits);
}

/*
 * Puts the details of a patch's hits in place of what they are made of: smooth normals in place of normals, texels in
 * place of triangles.
 */
LFN_APART void detail_patch(rd_world w, rd_surfaces surfaces, rd_patch patch, rd_hits hits)
{
    items (p, PIXELS) {
        int x = patch.x + p % PATCH, y = patch.y + p / PATCH;
        if (x >= patch.width || y >= patch.height) continue;
        details further;
        lane_hits here;
        load_hit(hits, p, 0, &here);
        no_details(&further);
        hit_details(w, surfaces, patch, hits, p, &here, &further);
        store_hit(hits, p, 0, &here);
        istore(hits.part + p, pack_texel(w, further.colour));
        if (has_roles(w)) {
            lint word[2];
            pack_roles(&further, word);
            for (int k = 0; k < 2; ++k) istore(hits.further + k * PIXELS + p, word[k]);
        }
    }
}

/* How many of the n geoms at `at` in `scene` a patch may show. Overwrites the lists of candidates. */
LFN_APART int count_candidates(rd_world w, rd_lists lists, rd_beams beams, int at, int n)
{
    int found = 0, next;
    for (int from = 0; from < n; from = next) {
        int more = find_candidates(w, lists, beams, at, from, n, &next);
        found += more;
    }
    return found;
}

/* Depths, ids, distances and normals of a patch's hits. */
LFN void put_hits(rd_world w, rd_patch patch, rd_hits hits, rd_pictures out)
{
    const int *ids = w.scene + ids_at(w);
    int named = out.geom || out.body || out.type, shaped = out.distance || out.normal;
    int other = has_tendons(w) || nadded(w) || nunder(w);
    items (p, PIXELS) {
        int x = patch.x + p % PATCH, y = patch.y + p / PATCH;
        if (x >= patch.width || y >= patch.height) continue;
        mask live = in_range(x, patch.width);
        lint g = iload(hits.geom + p), none = isplat(-1);
        mask hit = ilt(none, g);
        real n[3], t = select(hit, load(hits.best + p), splat(1) / splat(0));
        put_real(out.depth, out, BUFFER_DEPTH, x, y, live, t);
        if (named) {
            lint known = imax(g, isplat(0)) * isplat(IDS_SIZE);
            if (other) g = iselect(hit, igather(ids + IDS_GEOM, known), none);
            put_int(out.geom, out, BUFFER_GEOM, x, y, live, g);
            if (out.body)
                put_int(out.body, out, BUFFER_BODY, x, y, live, iselect(hit, igather(ids + IDS_BODY, known), none));
            if (out.type)
                put_int(out.type, out, BUFFER_TYPE, x, y, live, iselect(hit, igather(ids + IDS_TYPE, known), none));
        }
        if (!shaped) continue;
        spot at;
        for (int k = 0; k < 3; ++k) n[k] = load(hits.best + (k + 1) * PIXELS + p);
        sight ray;
        row_sight(patch.view, x, y, &ray);
        real far = pixel_geometry(patch, &ray, hit, t, n, 1, &at);
        put_real(out.distance, out, BUFFER_DISTANCE, x, y, live, far);
        put_normal(out, x, y, live, at.normal);
    }
}

/* Colours of a patch's hits without light. */
LFN void put_albedo(rd_world w, rd_patch patch, rd_hits hits, rd_pictures out)
{
    items (p, PIXELS) {
        int x = patch.x + p % PATCH, y = patch.y + p / PATCH;
        if (x >= patch.width || y >= patch.height) continue;
        real surface[APPEARANCE_SIZE], rgb[3];
        details d;
        lint g = iload(hits.geom + p);
        no_details(&d);
        hit_surface(w, hits.geom + p, iload(hits.part + p), surface, &d);
        for (int k = 0; k < 3; ++k) rgb[k] = d.colour[k] * surface[APPEARANCE_RGB + k];
        put_int(out.albedo, out, BUFFER_ALBEDO, x, y, in_range(x, patch.width),
                pack_colour(w, rgb, isplat(255)) & ilt(isplat(-1), g));
    }
}

/*
 * Colours of a patch's opaque hits, the sky, the haze and the fog; where the patch is mirrored there is no sky, no
 * haze. plane: the one with haze above it.
 */
LFN_APART void put_colours(rd_world w, const ureal *look, rd_patch patch, rd_hits hits, const ureal *plane,
                           rd_pictures out)
{
    items (p, PIXELS) {
        int x = patch.x + p % PATCH, y = patch.y + p / PATCH;
        if (x >= patch.width || y >= patch.height) continue;
        real surface[APPEARANCE_SIZE], rgb[3];
        spot at;
        lint g = iload(hits.geom + p);
        mask live = in_range(x, patch.width), hit = ilt(isplat(-1), g);
        for (int k = 0; k < 3; ++k) rgb[k] = splat(0);
        real far = kept_hit(patch, hits, p, hit, &at);
        if (any(hit)) {
            int worded = details_at(w) || (nshadow(w) && !patch.mirrored);
            lint word = worded ? iload(hits.part + p) : isplat(0);
            details d;
            no_details(&d);
            hit_surface(w, hits.geom + p, word, surface, &d);
            for (int k = 0; k < 3 && patch.mirrored; ++k)
                surface[APPEARANCE_RGB + k] =
                    surface[APPEARANCE_RGB + k] * splat(mirrored_share(w, look, patch.mirror));
            if (is_physical(w)) word = nshadow(w) && !patch.mirrored ? iload(hits.share + p) : isplat(-1);
            if (has_roles(w)) {
                lint words[2] = {iload(hits.further + p), iload(hits.further + PIXELS + p)};
                unpack_roles(words, &d);
            }
            shade(w, patch.lamps, surface, &d, &at, 1, word, rgb);
            if (fog_at(w)) fog_over(look + fog_at(w), load(hits.best + p), rgb);
            for (int k = 0; k < 3; ++k) rgb[k] = select(hit, rgb[k], splat(0));
            if (patch.mirror && !patch.mirrored)
                add_mirrored(w, look, patch, g, at.normal, out.colour + pixel_at(out, BUFFER_COLOUR, x, y),
                             patch.width - x, rgb);
        }
        if (!patch.mirrored) sky_behind(w, look, patch.view, hit, at.way, rgb);
        if (haze_prim(w) && !patch.flat && !patch.mirrored)
            haze_before(w, look, plane, patch.view, hit, far, at.way, rgb);
        put_int(out.colour, out, BUFFER_COLOUR, x, y, live, pack_colour(w, rgb, hit & isplat(255)));
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
    int strip = STET_GPU ? 1 : STRIP, nstrip = (scene[SCENE_NPATCH] + strip - 1) / strip,
        listed = (start + block) / nstrip, world = worlds[listed], from = (start + block) % nstrip * strip,
        alone = RENDER_PART != PART_ALL;
    rd_world w = {xform,
                  nitem,
                  world,
                  scene,
                  looks + (i64)world * stride,
                  size + (i64)world * shapes * 4,
                  bounds + (i64)world * shapes * 6};
    rd_surfaces surfaces = {data + (i64)world * shapes * 4,
                            node,
                            tri,
                            elevation,
                            look,
                            scale_stride ? scales + (i64)world * scale_stride : look + look_scale_at(w),
                            choices + (i64)world * nchoice(w)};
    ureal *best = alone ? hits + (i64)block * (PIXELS * HIT_REALS) : own_hits;
    int *word = alone ? words + (i64)block * (PIXELS * HIT_WORDS(SCENE_HAS, RENDER_SIDE)) : own_words;
    rd_hits found = {best,
                     word,
                     word + PIXELS,
                     word + HIT_SHARE * PIXELS,
                     word + HIT_ROLES(SCENE_HAS) * PIXELS,
                     word + HIT_SUM(SCENE_HAS) * PIXELS,
                     kept,
                     blocked};
    rd_lists lists = {MAY_BE_MANY && boxes ? boxes + (i64)listed * BOXES_SIZE(SCENE_NROW(scene)) : boxes, flag, list,
                      candidate, tubes};
    if (STET_W > 1)
        each (k, 2) flag[FLAG_BOXES + k] = 0;
    int end = STET_GPU ? from + 1 : nmin(from + strip, npatch(w));
    for (int number = from; number < end; ++number) {
        if (stands && stands[(i64)listed * npatch(w) + number]) continue;
        const int *here = scene + SCENE_PATCHES + number * PATCH_SIZE;
        const ureal *own_lens = lens + (i64)world * lens_stride + here[PATCH_CAMERA] * LENS_SIZE;
        int flat = here[PATCH_FLAT], px = here[PATCH_X], py = here[PATCH_Y];
        rd_pictures out = {(int *)colour,
                           depth,
                           distance,
                           normal,
                           (int *)albedo,
                           geom,
                           body,
                           type,
                           first,
                           pitch,
                           rows,
                           ntile(w),
                           world * ncamera(w) + here[PATCH_CAMERA]};
        ureal eye[12], middle[VIEW_SIZE], view[VIEW_SIZE], pyramid[PYRAMID_SIZE], glass[4] = {0, 0, 0, 0};
        ureal plane[12]; /* with haze above it */
        prim_xform(w, here[PATCH_PRIM], eye);
        view_from(eye, own_lens, middle);
        pyramid_of(middle, flat, px, py, PATCH, pyramid);
        for (int k = 0; k < 12; ++k) plane[k] = 0;
        if (haze_prim(w)) prim_xform(w, haze_prim(w) - 1, plane);
        int side = RENDER_SIDE ? RENDER_SIDE : grid;
        int seen = depth || distance || normal || geom || body || type, centre = side == 1 || seen || albedo;
        int mirror = 0, rounds = side == 1 || !RENDER_COLOURS || !colour ? 0 : side * side;
        if (RENDER_COLOURS && colour && RENDER_PART != PART_SHADOWS)
            mirror = find_mirror(w, middle, flat, pyramid, glass);
        int under = nunder(w), below = clear_at(w) + nclear(w) * SHOWN_SIZE;
        if (!sees_underside(w, scene + below, under, middle, flat)) under = 0;
        int all_clear = nclear(w) + under;

        if (RENDER_COLOURS && colour && RENDER_PART != PART_HITS) place_lamps(w, here[PATCH_PRIM], lamps);

        int first_round = centre ? -1 : 0, last_round = nmax(rounds - 1, -1);
        if (alone) {
            first_round = RENDER_SIDE == 1 ? -1 : sample;
            last_round = first_round;
        }
        for (int s = first_round; s <= last_round; ++s) {
            int mirrors = mirror && (s >= 0 || side == 1), before = mirrors, least = 0;
            if (alone) {
                least = nmirror(w) ? reflected : 0;
                before = least <= mirrors ? least : least - 1;
            }
            for (int mirrored = before; mirrored >= least; --mirrored) {
                int ids = s < 0 && !mirrored;
                int bare = ids && !(distance || normal || (RENDER_COLOURS && (colour || albedo)));
                if (mirror) { /* anew, so that scenes without one keep less in registers */
                    prim_xform(w, here[PATCH_PRIM], eye);
                    view_from(eye, own_lens, middle);
                    if (mirrored)
                        mirror_view(glass, flat, px, py, middle, pyramid);
                    else
                        pyramid_of(middle, flat, px, py, PATCH, pyramid);
                }
                sample_view(middle, s < 0 ? 1 : side, s < 0 ? 0 : s, view);
                rd_patch patch = {view,
                                  pyramid,
                                  glass,
                                  lamps,
                                  flat,
                                  px,
                                  py,
                                  here[PATCH_WIDTH],
                                  here[PATCH_HEIGHT],
                                  mirror,
                                  mirrored,
                                  nmax(s, 0),
                                  bare,
                                  mirrored ? 0 : view[VIEW_NEAR]};
                rd_beams beams = {view, pyramid, 1};
                if (DOES_PART(PART_HITS)) {
                    trace_geoms(w, surfaces, patch, lists, found, ids ? shown_at(w) : solid_at(w),
                                ids ? nshown(w) : nsolid(w), 1);
                    if (ids && under) trace_geoms(w, surfaces, patch, lists, found, below, under, 0);
                    if (ids && seen) put_hits(w, patch, found, out);
                }
                if (!RENDER_COLOURS || !(colour || albedo)) continue;
                if (DOES_PART(PART_HITS) && details_at(w)) detail_patch(w, surfaces, patch, found);
                if (DOES_PART(PART_HITS) && ids && albedo) put_albedo(w, patch, found, out);
                if (!colour || (s < 0 && side > 1)) continue;
                int layers = 0;
                if (RENDER_PART != PART_SHADOWS) layers = count_candidates(w, lists, beams, clear_at(w), all_clear);
                if (DOES_PART(PART_HITS)) {
                    int sites =
                        count_candidates(w, lists, beams, shown_at(w) + nshown(w) * SHOWN_SIZE, ids ? nsite(w) : 0);
                    if (layers + sites > 0 && ids) {
                        trace_geoms(w, surfaces, patch, lists, found, solid_at(w), nsolid(w), 1);
                        if (details_at(w)) detail_patch(w, surfaces, patch, found);
                    }
                    keep_hits(patch, found);
                }
                if (DOES_PART(PART_SHADOWS) && nshadow(w) && !mirrored)
                    shadow_patch(w, surfaces, patch, lists, found,
                                 range ? range + 2 * ((i64)world * npatch(w) + number) : range, s <= 0);
                if (!DOES_PART(PART_COLOURS)) continue;
                put_colours(w, look, patch, found, plane, out);
                for (int chunk = 0; layers > 0 && chunk < all_clear; chunk += CHUNK) {
                    int next,
                        n = find_candidates(w, lists, beams, clear_at(w), chunk, nmin(all_clear, chunk + CHUNK), &next);
                    rd_found own = {candidate, list, n, scene + clear_at(w) + chunk * SHOWN_SIZE};
                    blend_patch(w, surfaces, patch, own, found, out);
                }
                if (s >= 0 && !mirrored) add_sample(w, patch, found, out, side, s);
            }
        }
    }
}
