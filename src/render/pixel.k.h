/*
 * Pixels: the nearest hits of a patch, where pixels go, the geometry of a hit, its colour. Part of render.k.h.
 */
#define PIXELS (PATCH * PATCH)

/* No hit of the pixels from p on: nothing is visible beyond the far plane. bare, here and below: without normals. */
LFN void clear_hit(ureal far, int bare, int p, ureal *best, int *best_geom, int *best_part)
{
    store(best + p, splat(far));
    for (int k = 1; k < HIT_REALS && !bare; ++k) store(best + k * PIXELS + p, splat(0));
    istore(best_geom + p, isplat(-1));
    istore(best_part + p, isplat(0));
}

LFN void clear_best(ureal far, int bare, ureal *best, int *best_geom, int *best_part)
{
    items (p, PIXELS) clear_hit(far, bare, p, best, best_geom, best_part);
}

LFN real load_best(const ureal *best, int p, int bare, real *n)
{
    for (int k = 0; k < 3 && !bare; ++k) n[k] = load(best + (k + 1) * PIXELS + p);
    return load(best + p);
}

LFN void store_best(ureal *best, int p, int bare, real t, const real *n)
{
    store(best + p, t);
    for (int k = 0; k < 3 && !bare; ++k) store(best + (k + 1) * PIXELS + p, n[k]);
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
 * From hits (t; n: normal in the camera's frame) of pixels' rays: the normal (world frame, unit, with `turn` toward
 * the viewer; 0 in the sky), the direction from the eye (world frame, unit), and the point on the surface. Returns the
 * distance.
 */
LFN real pixel_geometry(const ureal *view, int flat, const sight *ray, mask hit, real t, const real *n, int turn,
                        real *normal, real *way, real *point)
{
    real u = ray->u, v = ray->v, w = ray->w, along = select(hit, t, splat(1)), turned[3], len = splat(1),
         against = -n[2], far = sqrt(fma(t, t, fma(u, u, v * v)));
    if (!flat) {
        len = sqrt(fma(u, u, fma(v, v, w * w)));
        against = fma(n[0], u, fma(n[1], v, -(n[2] * w)));
        far = t * len;
    }
    for (int k = 0; k < 3; ++k) turned[k] = turn ? select(lt(splat(0), against), -n[k], n[k]) : n[k];
    unit3(turned);
    for (int k = 0; k < 3; ++k) {
        real right = splat(view[VIEW_RIGHT + k]), up = splat(view[VIEW_UP + k]), back = splat(view[VIEW_BACK + k]);
        real place = fma(up, v, right * u), step = place - back * w, start = splat(view[VIEW_EYE + k]);
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

/*
 * What lamps need of a patch's hits: distance, normal, direction from the eye and point (pixel_geometry's), as arrays
 * of a patch's pixels. Where lanes are pixels it is kept for all lamps; a thread computes it anew, for it has no room.
 */
#define KEPT_NORMAL 1
#define KEPT_WAY 4
#define KEPT_POINT 7
#define KEPT_SIZE 10
#define KEPT (STET_W > 1 ? PIXELS * KEPT_SIZE : 1)

/* Computes them for the hits of pixels p …, which are at (x, y) …; returns the distance. */
LFN real make_hit(const ureal *view, int flat, int x, int y, int p, const ureal *best, mask hit, real *up, real *way,
                  real *point)
{
    real n[3], t = load_best(best, p, 0, n);
    sight ray;
    row_sight(view, x, y, &ray);
    real far = pixel_geometry(view, flat, &ray, hit, t, n, 0, up, way, point);
    return far;
}

LFN void keep_hits(const ureal *view, int flat, int px, int py, int width, int height, const ureal *best,
                   const int *best_geom, ureal *kept)
{
    if (STET_W == 1) return;
    items (p, PIXELS) {
        int x = px + p % PATCH, y = py + p / PATCH;
        if (x >= width || y >= height) continue;
        real up[3], way[3], point[3];
        mask hit = ilt(isplat(-1), iload(best_geom + p));
        real far = make_hit(view, flat, x, y, p, best, hit, up, way, point);
        store(kept + p, far);
        for (int k = 0; k < 3; ++k) {
            store(kept + (KEPT_NORMAL + k) * PIXELS + p, up[k]);
            store(kept + (KEPT_WAY + k) * PIXELS + p, way[k]);
            store(kept + (KEPT_POINT + k) * PIXELS + p, point[k]);
        }
    }
}

/* The same as make_hit, of what was kept. */
LFN real kept_hit(const ureal *view, int flat, int x, int y, int p, const ureal *best, mask hit, const ureal *kept,
                  real *up, real *way, real *point)
{
    if (STET_W == 1) {
        real far = make_hit(view, flat, x, y, p, best, hit, up, way, point);
        return far;
    }
    for (int k = 0; k < 3; ++k) {
        up[k] = load(kept + (KEPT_NORMAL + k) * PIXELS + p);
        way[k] = load(kept + (KEPT_WAY + k) * PIXELS + p);
        point[k] = load(kept + (KEPT_POINT + k) * PIXELS + p);
    }
    return load(kept + p);
}

/* The share of a lamp's light that reaches pixels, in mode physical. word: shadow_patch's; shadow: LAMP_SHADOW. */
LFN real shadow_share(lint word, int shadow)
{
    return to_real(ishr(word, shadow - 1) & isplat(SHADOW_RAYS)) * splat((ureal)(1.0 / SHADOW_RAYS));
}

/*
 * Colour of surfaces lit by all lamps of a world. lamps: their places; own: the world's rows of appearance and of
 * lamps; surface: numbers; texel: the texture's colour; word: shadows (shadow.k.h), which only fall with `apart`. As in
 * MuJoCo's classic renderer, each lamp that casts shadows then adds a colour of its own of at most 1; the sum may be
 * more, which shows where a texture multiplies it. In mode physical light is added, and a texture has the colour of the
 * surface, so highlights have the lamp's; r: what roles make of it.
 */
LFN void shade(const ureal *lamps, const int *scene, const ureal *own, real *surface, const real *texel, const roles *r,
               const real *normal, const real *way, const real *point, int apart, lint word, real *rgb)
{
    const int *row = scene + scene[SCENE_LAMPS];
    const ureal *lamp = own + scene[SCENE_LOOK_LAMPS];
    int physical = scene_number(scene, SCENE_PHYSICAL), has_roles = scene_number(scene, SCENE_ROLES);
    real back[3], together[3];
    for (int k = 0; k < 3; ++k) {
        if (physical) surface[APPEARANCE_RGB + k] = surface[APPEARANCE_RGB + k] * texel[k];
        together[k] = surface[APPEARANCE_RGB + k] * surface[APPEARANCE_EMISSION];
        if (has_roles) together[k] = together[k] + r->light[k];
        back[k] = -way[k];
        rgb[k] = splat(0);
    }
    for (int l = 0; l < scene_number(scene, SCENE_NLAMP); ++l) {
        int shadow = apart ? row[LAMP_SHADOW] : 0;
        real own[3] = {splat(0), splat(0), splat(0)};
        add_lamp(lamp + l * LAMP_REALS, row[LAMP_POSITIONAL], lamps + l * LAMP_PLACE, surface, r, has_roles, normal,
                 back, point, physical ? m_all() : ieq(word & isplat(shadow), isplat(0)), shadow ? own : together);
        real share = physical && shadow ? shadow_share(word, shadow) : splat(1);
        for (int k = 0; k < 3 && shadow; ++k)
            rgb[k] = physical ? fma(own[k], share, rgb[k]) : rgb[k] + rmin(own[k], splat(1));
        row += LAMP_INTS;
    }
    for (int k = 0; k < 3; ++k)
        rgb[k] = physical ? rgb[k] + together[k] : (rgb[k] + rmin(together[k], splat(1))) * texel[k];
}

/* The appearance of hits; geoms: memory of the lanes. Mostly they are all of one geom. */
LFN void hit_appearance(const ureal *own, const int *geoms, real *surface)
{
    const ureal *same = own + nmax(geoms[0], 0) * APPEARANCE_SIZE;
    int one = STET_W == 1 || all(ieq(iload(geoms), isplat(geoms[0])));
    lint at = ishl(imax(iload(geoms), isplat(0)), 3);
    for (int k = 0; k < APPEARANCE_SIZE; ++k) surface[k] = one ? splat(same[k]) : gather(own + k, at);
}

/* The appearance of hits, and their texels, which detail_patch left. */
LFN void hit_surface(const int *scene, const ureal *own, const int *geoms, lint word, real *surface, real *texel)
{
    hit_appearance(own, geoms, surface);
    for (int k = 0; k < 3; ++k) texel[k] = splat(1);
    if (scene_number(scene, SCENE_DETAIL)) unpack_texel(scene, word, texel);
}

/*
 * The colour of hits (t; n: normal in the camera's frame) with their details, without what else the patch shows. share:
 * mirrored_share.
 */
LFN void hit_colour(const wreal *xform, int nitem, int world, const ureal *lamps, const ureal *view, int flat,
                    const int *scene, const ureal *look, const ureal *own, const ureal *scales, const int *choice,
                    const int *data, const ureal *tri, const int *geoms, const int *part, const sight *ray, mask hit,
                    real t, const real *n, ureal share, real *surface, real *rgb)
{
    real smooth[3] = {n[0], n[1], n[2]}, texel[3] = {splat(1), splat(1), splat(1)}, up[3], way[3], point[3];
    roles further;
    no_roles(&further);
    if (scene_number(scene, SCENE_DETAIL))
        hit_details(xform, nitem, world, view, flat, scene, look, scales, choice, data, tri, geoms, iload(part), ray, t,
                    smooth, texel, &further);
    hit_appearance(own, geoms, surface);
    for (int k = 0; k < 3; ++k) surface[APPEARANCE_RGB + k] = surface[APPEARANCE_RGB + k] * splat(share);
    pixel_geometry(view, flat, ray, hit, t, smooth, 0, up, way, point);
    shade(lamps, scene, own, surface, texel, &further, up, way, point, 0, isplat(0), rgb);
}
