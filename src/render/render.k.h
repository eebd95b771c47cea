/*
 * The ray caster. A block is a patch of PATCH x PATCH pixels of one camera of one world; lanes are pixels of a row.
 * Kind item.
 *
 * scene.k.h has the tables, view.k.h camera rays and pyramids of patches, cull.k.h culling, trace.k.h hits, shade.k.h
 * light, sky.k.h the sky. The number of geoms is not limited: they are processed CHUNK at a time, and the patch keeps
 * the nearest hits between chunks.
 */
#include "stet/lang.h"

#include "geom/ray.k.h"
#include "render/scene.k.h"
#include "render/view.k.h"
#include "render/cull.k.h"
#include "render/trace.k.h"
#include "render/shade.k.h"
#include "render/sky.k.h"

#define PIXELS (PATCH * PATCH)

/* The nearest hits of a patch: depth and normal (3) per pixel, and the geom in an array of its own. */
#define BEST_SIZE 4

/* Nothing is visible beyond the far plane. */
LFN void clear_best(ureal far, ureal *best, int *best_geom)
{
    items(p, PIXELS)
    {
        store(best + p, splat(far));
        for (int k = 1; k < BEST_SIZE; ++k) store(best + k * PIXELS + p, splat(0));
        istore(best_geom + p, isplat(-1));
    }
}

LFN real load_best(const ureal *best, int p, real *n)
{
    for (int k = 0; k < 3; ++k) n[k] = load(best + (k + 1) * PIXELS + p);
    return load(best + p);
}

LFN void store_best(ureal *best, int p, real t, const real *n)
{
    store(best + p, t);
    for (int k = 0; k < 3; ++k) store(best + (k + 1) * PIXELS + p, n[k]);
}

/* Makes candidates of those of the n geoms from `shown` on that the patch may show, in order; returns their number. */
LFN int find_candidates(const wreal *xform, int nitem, int world, const int *shown, int n, const ureal *bounds,
                        const ureal *view, const ureal *pyramid, int *flag, int *list, ureal *candidate)
{
    int found = 0;
    sync();
    each (i, CHUNK) {
        flag[i] =
            i < n && geom_may_touch(xform, nitem, world, shown + i * SHOWN_SIZE, bounds, view + VIEW_EYE, pyramid);
    }
    sync();
    each (g, CHUNK / GROUP) list_group(g, flag, list);
    for (int i = 0; i < n; ++i) found += flag[i];
    sync();
    each (c, found) {
        ureal m[12];
        xform_of(xform, nitem, world, shown[list[c] * SHOWN_SIZE + SHOWN_PRIM], m);
        candidate_of(m, view, candidate + c * CANDIDATE_SIZE);
    }
    sync();
    return found;
}

/* Updates the nearest hits of all pixels of the patch at (px, py) with n candidates. */
LFN void trace_patch(const ureal *view, int flat, int px, int py, int width, int height, const ureal *candidate,
                     const int *list, int n, const int *shown, const ureal *size, const int *data, const ureal *node,
                     const ureal *tri, const ureal *elevation, ureal *best, int *best_geom)
{
    items(p, PIXELS)
    {
        int x = px + p % PATCH, y = py + p / PATCH;
        if (x >= width || y >= height) continue;
        real towards[3], t = load_best(best, p, towards), u = view_u(view, x);
        lint g = iload(best_geom + p);
        for (int c = 0; c < n; ++c)
            trace_candidate(candidate + c * CANDIDATE_SIZE, shown + list[c] * SHOWN_SIZE, size, data, node, tri,
                            elevation, view[VIEW_NEAR], flat, u, view_v(view, y), in_range(x, width), &t, &g, towards);
        store_best(best, p, t, towards);
        istore(best_geom + p, g);
    }
}

/* The entry of the tile table for a tile of a buffer. rows: the buffers' rows in the table, ROW_BITS bits each. */
LFN i64 tile_entry(int rows, int buffer, int ntile, int tile)
{
    return (i64)(rows >> buffer * ROW_BITS & ((1 << ROW_BITS) - 1)) * ntile + tile;
}

/* Index of the pixels (x, y) … of a tile, from its entry of the tile table: first pixel and pitch. */
LFN i64 pixel_at(const i64 *first, const int *pitch, i64 entry, int x, int y)
{
    return first[entry] + (i64)y * pitch[entry] + x;
}

/* Each writes pixels of a buffer, if it is wanted. */
LFN void put_real(ureal *pixels, const i64 *first, const int *pitch, i64 entry, int x, int y, mask live, real value)
{
    if (pixels) store_if(live, pixels + pixel_at(first, pitch, entry, x, y), value);
}

LFN void put_int(int *pixels, const i64 *first, const int *pitch, i64 entry, int x, int y, mask live, lint value)
{
    if (pixels) istore_if(live, pixels + pixel_at(first, pitch, entry, x, y), value);
}

LFN void put_normal(ureal *pixels, const i64 *first, const int *pitch, i64 entry, int x, int y, mask live,
                    const real *normal)
{
    lint at = lane() + lane() + lane();
    if (!pixels) return;
    for (int k = 0; k < 3; ++k) scatter_if(live, pixels + 3 * pixel_at(first, pitch, entry, x, y) + k, at, normal[k]);
}

/*
 * From hits (t; n: normal in the camera's frame) of pixels at u, v: the normal (world frame, unit, toward the viewer; 0
 * in the sky), the direction from the eye (world frame, unit), and the point on the surface. Returns the distance.
 */
LFN real pixel_geometry(const ureal *view, int flat, real u, ureal v, mask hit, real t, const real *n, real *normal,
                        real *way, real *point)
{
    real along = select(hit, t, splat(1)), turned[3], len = splat(1), against = -n[2],
         far = sqrt(fma(t, t, fma(u, u, splat(v * v))));
    if (!flat) {
        len = sqrt(fma(u, u, splat(ufma(v, v, 1))));
        against = fma(n[0], u, fma(n[1], splat(v), -n[2]));
        far = t * len;
    }
    for (int k = 0; k < 3; ++k) turned[k] = select(lt(splat(0), against), -n[k], n[k]);
    unit3(turned);
    for (int k = 0; k < 3; ++k) {
        real right = splat(view[VIEW_RIGHT + k]), up = splat(view[VIEW_UP + k]), back = splat(view[VIEW_BACK + k]);
        real place = fma(up, splat(v), right * u), step = place - back, start = splat(view[VIEW_EYE + k]);
        if (flat) {
            start = start + place;
            step = -back;
        }
        point[k] = fma(step, along, start);
        way[k] = step / len;
        normal[k] = select(hit, fma(back, turned[2], fma(up, turned[1], right * turned[0])), splat(0));
    }
    return far;
}

/* Colour of surfaces lit by all lamps of a world. surface: APPEARANCE_SIZE numbers. */
LFN void shade(const wreal *xform, int nitem, int world, const ureal *view, const int *scene, const ureal *look,
               const real *surface, const real *normal, const real *way, const real *point, real *rgb)
{
    const int *prim = scene + scene[SCENE_LAMPS];
    const ureal *lamp = look + scene[SCENE_LOOK_LAMPS];
    real back[3];
    for (int k = 0; k < 3; ++k) {
        rgb[k] = surface[APPEARANCE_RGB + k] * surface[APPEARANCE_EMISSION];
        back[k] = -way[k];
    }
    for (int l = 0; l < scene[SCENE_NLAMP]; ++l) {
        ureal place[6];
        lamp_place(xform, nitem, world, view, prim[l * LAMP_INTS + LAMP_PRIM], place);
        add_lamp(lamp + l * LAMP_REALS, prim[l * LAMP_INTS + LAMP_POSITIONAL], place, surface, normal, back, point,
                 rgb);
    }
}

/*
 * xform [nworld][nitem]: world transforms of prims. Block = index in `worlds` * npatch + patch. scene, look: see
 * scene.k.h. lens [ncamera * LENS_SIZE]: see view.k.h. size … elevation: see geom/geom.h. Then the buffers, absent
 * where they are not wanted, and the tile table: first pixel and pitch of tile world * ncamera + camera in each row; a
 * buffer's row is in `rows`.
 */
item_kernel void k_render(const wreal *xform, int nitem, const int *worlds, const int *scene, const ureal *look,
                          const ureal *lens, const ureal *size, const int *data, const ureal *bounds, const ureal *node,
                          const ureal *tri, const ureal *elevation, u32 *colour, ureal *depth, ureal *distance,
                          ureal *normal, u32 *albedo, int *geom, int *body, int *type, const i64 *first,
                          const int *pitch, int rows, int block)
{
    shared(int, flag, CHUNK);
    shared(int, list, CHUNK);
    shared(ureal, candidate, CHUNK * CANDIDATE_SIZE);
    shared(ureal, best, PIXELS * BEST_SIZE);
    shared(int, best_geom, PIXELS);
    int npatch = scene[SCENE_NPATCH], nshown = scene[SCENE_NSHOWN];
    int ntile = scene[SCENE_NTILE];
    const int *here = scene + SCENE_PATCHES + block % npatch * PATCH_SIZE;
    const int *shown = scene + scene[SCENE_SHOWN], *ids = scene + scene[SCENE_IDS];
    int world = worlds[block / npatch], flat = here[PATCH_FLAT];
    int tile = world * scene[SCENE_NCAMERA] + here[PATCH_CAMERA];
    int px = here[PATCH_X], py = here[PATCH_Y], width = here[PATCH_WIDTH], height = here[PATCH_HEIGHT];
    ureal eye[12], view[VIEW_SIZE], pyramid[PYRAMID_SIZE];
    xform_of(xform, nitem, world, here[PATCH_PRIM], eye);
    view_from(eye, lens + here[PATCH_CAMERA] * LENS_SIZE, view);
    pyramid_of(view, flat, px, py, PATCH, pyramid);
    clear_best(view[VIEW_FAR], best, best_geom);

    for (int chunk = 0; chunk < nshown; chunk += CHUNK) {
        const int *part = shown + chunk * SHOWN_SIZE;
        int n = find_candidates(xform, nitem, world, part, nmin(nshown - chunk, CHUNK), bounds, view, pyramid, flag,
                                list, candidate);
        trace_patch(view, flat, px, py, width, height, candidate, list, n, part, size, data, node, tri, elevation, best,
                    best_geom);
    }
    items(p, PIXELS)
    {
        int x = px + p % PATCH, y = py + p / PATCH;
        if (x >= width || y >= height) continue;
        mask live = in_range(x, width);
        real towards[3], up[3], way[3], point[3], t = load_best(best, p, towards);
        lint g = iload(best_geom + p), known = imax(g, isplat(0)), none = isplat(-1);
        mask hit = ilt(none, g);
        t = select(hit, t, splat(1) / splat(0));
        real far = pixel_geometry(view, flat, view_u(view, x), view_v(view, y), hit, t, towards, up, way, point);
        put_real(depth, first, pitch, tile_entry(rows, BUFFER_DEPTH, ntile, tile), x, y, live, t);
        put_real(distance, first, pitch, tile_entry(rows, BUFFER_DISTANCE, ntile, tile), x, y, live, far);
        put_normal(normal, first, pitch, tile_entry(rows, BUFFER_NORMAL, ntile, tile), x, y, live, up);
        put_int(geom, first, pitch, tile_entry(rows, BUFFER_GEOM, ntile, tile), x, y, live, g);
        if (body)
            put_int(body, first, pitch, tile_entry(rows, BUFFER_BODY, ntile, tile), x, y, live,
                    iselect(hit, igather(ids + IDS_BODY, known + known), none));
        if (type)
            put_int(type, first, pitch, tile_entry(rows, BUFFER_TYPE, ntile, tile), x, y, live,
                    iselect(hit, igather(ids + IDS_TYPE, known + known), none));
        if (!colour && !albedo) continue;
        real surface[APPEARANCE_SIZE], rgb[3];
        for (int k = 0; k < APPEARANCE_SIZE; ++k) surface[k] = gather(look + k, ishl(known, 3));
        put_int((int *)albedo, first, pitch, tile_entry(rows, BUFFER_ALBEDO, ntile, tile), x, y, live,
                pack_colour(surface, isplat(255)) & hit);
        if (!colour) continue;
        shade(xform, nitem, world, view, scene, look, surface, up, way, point, rgb);
        sky_behind(look + scene[SCENE_LOOK_SKY], scene[SCENE_NSKY], way[2], hit, rgb);
        put_int((int *)colour, first, pitch, tile_entry(rows, BUFFER_COLOUR, ntile, tile), x, y, live,
                pack_colour(rgb, hit & isplat(255)));
    }
}
