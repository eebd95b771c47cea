/*
 * Pixels: the nearest hits of a patch, where pixels go, the geometry of a hit, its colour. Part of render.k.h.
 */
#define PIXELS (PATCH * PATCH)

/* No hit of the pixels from p on: nothing is visible beyond the far plane. */
LFN void clear_hit(rd_patch patch, rd_hits hits, int p)
{
    store(hits.best + p, splat(patch.view[VIEW_FAR]));
    for (int k = 1; k < HIT_REALS && !patch.bare; ++k) store(hits.best + k * PIXELS + p, splat(0));
    istore(hits.geom + p, isplat(-1));
    istore(hits.part + p, isplat(0));
}

LFN void clear_best(rd_patch patch, rd_hits hits)
{
    items (p, PIXELS) clear_hit(patch, hits, p);
}

/* Depth and, unless bare, normal of the pixels from p on. */
LFN void load_hit(rd_hits hits, int p, int bare, lane_hits *out)
{
    for (int k = 0; k < 3 && !bare; ++k) out->n[k] = load(hits.best + (k + 1) * PIXELS + p);
    out->t = load(hits.best + p);
}

LFN void store_hit(rd_hits hits, int p, int bare, const lane_hits *hit)
{
    store(hits.best + p, hit->t);
    for (int k = 0; k < 3 && !bare; ++k) store(hits.best + (k + 1) * PIXELS + p, hit->n[k]);
}

/* Index of the pixels (x, y) … of the patch's tile of a buffer. */
LFN i64 pixel_at(rd_pictures out, int buffer, int x, int y)
{
    i64 entry = (i64)(out.rows >> buffer * ROW_BITS & ((1 << ROW_BITS) - 1)) * out.ntile + out.tile;
    return out.first[entry] + (i64)y * out.pitch[entry] + x;
}

/* Each writes pixels of a buffer, if it is wanted. */
LFN void put_real(ureal *pixels, rd_pictures out, int buffer, int x, int y, mask live, real value)
{
    if (pixels) store_if(live, pixels + pixel_at(out, buffer, x, y), value);
}

LFN void put_int(int *pixels, rd_pictures out, int buffer, int x, int y, mask live, lint value)
{
    if (pixels) istore_if(live, pixels + pixel_at(out, buffer, x, y), value);
}

LFN void put_normal(rd_pictures out, int x, int y, mask live, const real *normal)
{
    lint at = lane() + lane() + lane();
    if (!out.normal) return;
    for (int k = 0; k < 3; ++k)
        scatter_if(live, out.normal + 3 * pixel_at(out, BUFFER_NORMAL, x, y) + k, at, normal[k]);
}

/*
 * From hits of pixels' rays: the normal (with `turn` toward the viewer; 0 in the sky), the direction from the eye, and
 * the point on the surface. Returns the distance.
 */
LFN real pixel_geometry(rd_patch patch, const sight *ray, mask hit, real t, const real *n, int turn, spot *out)
{
    const ureal *view = patch.view;
    real u = ray->u, v = ray->v, w = ray->w, along = select(hit, t, splat(1)), turned[3], len = splat(1),
         against = -n[2], far = sqrt(fma(t, t, fma(u, u, v * v)));
    if (!patch.flat) {
        len = sqrt(fma(u, u, fma(v, v, w * w)));
        against = fma(n[0], u, fma(n[1], v, -(n[2] * w)));
        far = t * len;
    }
    for (int k = 0; k < 3; ++k) turned[k] = turn ? select(lt(splat(0), against), -n[k], n[k]) : n[k];
    unit3(turned);
    for (int k = 0; k < 3; ++k) {
        real right = splat(view[VIEW_RIGHT + k]), up = splat(view[VIEW_UP + k]), back = splat(view[VIEW_BACK + k]);
        real place = fma(up, v, right * u), step = place - back * w, start = splat(view[VIEW_EYE + k]);
        if (patch.flat) {
            start = start + place;
            step = -back;
        }
        out->point[k] = fma(step, along, start);
        out->way[k] = step / len;
        out->normal[k] = select(hit, fma(back, turned[2], fma(up, turned[1], right * turned[0])), splat(0));
    }
    return far;
}

/*
 * What lamps need of a patch's hits: the distance and a spot, as arrays of a patch's pixels, KEPT_SIZE. Where lanes are
 * pixels it is kept for all lamps; a thread computes it anew, for it has no room.
 */
#define KEPT (STET_W > 1 ? PIXELS * KEPT_SIZE : 1)

/* Computes them for the hits of pixels p …; returns the distance. */
LFN real make_hit(rd_patch patch, rd_hits hits, int p, mask hit, spot *out)
{
    lane_hits here;
    sight ray;
    load_hit(hits, p, 0, &here);
    row_sight(patch.view, patch.x + p % PATCH, patch.y + p / PATCH, &ray);
    real far = pixel_geometry(patch, &ray, hit, here.t, here.n, 0, out);
    return far;
}

LFN void keep_hits(rd_patch patch, rd_hits hits)
{
    if (STET_W == 1) return;
    items (p, PIXELS) {
        int x = patch.x + p % PATCH, y = patch.y + p / PATCH;
        if (x >= patch.width || y >= patch.height) continue;
        spot at;
        mask hit = ilt(isplat(-1), iload(hits.geom + p));
        real far = make_hit(patch, hits, p, hit, &at);
        store(hits.kept + KEPT_FAR * PIXELS + p, far);
        for (int k = 0; k < 3; ++k) {
            store(hits.kept + (KEPT_NORMAL + k) * PIXELS + p, at.normal[k]);
            store(hits.kept + (KEPT_WAY + k) * PIXELS + p, at.way[k]);
            store(hits.kept + (KEPT_POINT + k) * PIXELS + p, at.point[k]);
        }
    }
}

/* The same as make_hit, of what was kept. */
LFN real kept_hit(rd_patch patch, rd_hits hits, int p, mask hit, spot *out)
{
    if (STET_W == 1) {
        real far = make_hit(patch, hits, p, hit, out);
        return far;
    }
    for (int k = 0; k < 3; ++k) {
        out->normal[k] = load(hits.kept + (KEPT_NORMAL + k) * PIXELS + p);
        out->way[k] = load(hits.kept + (KEPT_WAY + k) * PIXELS + p);
        out->point[k] = load(hits.kept + (KEPT_POINT + k) * PIXELS + p);
    }
    return load(hits.kept + KEPT_FAR * PIXELS + p);
}

/* The share of a lamp's light that reaches pixels, in mode physical. word: shadow_patch's; shadow: LAMP_SHADOW. */
LFN real shadow_share(lint word, int shadow)
{
    return to_real(ishr(word, shadow - 1) & isplat(SHADOW_RAYS)) * splat((ureal)(1.0 / SHADOW_RAYS));
}

/*
 * Colour of surfaces lit by all lamps of a world, whose places are `lamps`. surface: numbers of appearance; details:
 * the texture's colour, and what roles make of it; word: shadows (shadow.k.h), which only fall with `apart`. As in
 * MuJoCo's classic renderer, each lamp that casts shadows then adds a colour of its own of at most 1; the sum may be
 * more, which shows where a texture multiplies it. In mode physical light is added, and a texture has the colour of the
 * surface, so highlights have the lamp's.
 */
LFN void shade(rd_world w, const ureal *lamps, real *surface, const details *d, const spot *at, int apart, lint word,
               real *rgb)
{
    const int *row = w.scene + lamps_at(w);
    int physical = is_physical(w);
    real together[3];
    for (int k = 0; k < 3; ++k) {
        if (physical) surface[APPEARANCE_RGB + k] = surface[APPEARANCE_RGB + k] * d->colour[k];
        together[k] = surface[APPEARANCE_RGB + k] * surface[APPEARANCE_EMISSION];
        if (has_roles(w)) together[k] = together[k] + d->light[k];
        rgb[k] = splat(0);
    }
    for (int l = 0; l < nlamp(w); ++l) {
        int shadow = apart ? row[LAMP_SHADOW] : 0;
        real own[3] = {splat(0), splat(0), splat(0)};
        add_lamp(w, l, lamps + l * LAMP_PLACE, surface, d, at,
                 physical ? m_all() : ieq(word & isplat(shadow), isplat(0)), shadow ? own : together);
        real share = physical && shadow ? shadow_share(word, shadow) : splat(1);
        for (int k = 0; k < 3 && shadow; ++k)
            rgb[k] = physical ? fma(own[k], share, rgb[k]) : rgb[k] + rmin(own[k], splat(1));
        row += LAMP_INTS;
    }
    for (int k = 0; k < 3; ++k)
        rgb[k] = physical ? rgb[k] + together[k] : (rgb[k] + rmin(together[k], splat(1))) * d->colour[k];
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
LFN void hit_surface(rd_world w, const int *geoms, lint word, real *surface, details *d)
{
    hit_appearance(w.own, geoms, surface);
    if (details_at(w)) unpack_texel(w, word, d->colour);
}

/*
 * The colour of hits of pixels p … with their details, as a mirror shows it if the patch is mirrored, without what else
 * the patch shows; returns its alpha. Geoms and triangles are those in `hits`.
 */
LFN real hit_colour(rd_world w, rd_surfaces surfaces, rd_patch patch, rd_hits hits, int p, mask hit,
                    const lane_hits *here, real *rgb)
{
    lane_hits smooth = *here;
    real surface[APPEARANCE_SIZE];
    ureal share = mirrored_share(w, surfaces.look, patch.mirrored ? patch.mirror : 0);
    details further;
    sight ray;
    spot at;
    no_details(&further);
    row_sight(patch.view, patch.x + p % PATCH, patch.y + p / PATCH, &ray);
    if (details_at(w)) hit_details(w, surfaces, patch, hits, p, &smooth, &further);
    hit_appearance(w.own, hits.geom + p, surface);
    for (int k = 0; k < 3; ++k) surface[APPEARANCE_RGB + k] = surface[APPEARANCE_RGB + k] * splat(share);
    pixel_geometry(patch, &ray, hit, here->t, smooth.n, 0, &at);
    shade(w, patch.lamps, surface, &further, &at, 0, isplat(0), rgb);
    return surface[APPEARANCE_ALPHA];
}
