/*
 * The sky: the model's skybox, seen from its middle, which MuJoCo turns by 90 degrees around x; black without one. Haze
 * over it, and fog, where it is asked for. Part of render.k.h.
 */

/* MuJoCo's fog over colours of what is at a depth; fog: of SCENE_FOG. */
LFN void fog_over(const ureal *fog, real depth, real *rgb)
{
    real clear = clamp((splat(fog[FOG_END]) - depth) * splat(fog[FOG_SCALE]), splat(0), splat(1));
    for (int k = 0; k < 3; ++k) {
        real own = splat(fog[FOG_RGB + k]);
        rgb[k] = fma(clear, rgb[k] - own, own);
    }
}

/* The depth of what is `far` along rays; way: unit, world frame. */
LFN real depth_along(const ureal *view, real far, const real *way)
{
    real ahead = splat(0);
    for (int k = 0; k < 3; ++k) ahead = fma(way[k], splat(-view[VIEW_BACK + k]), ahead);
    return SCENE_HAS >> SCENE_FISHEYE & 1 && view[VIEW_FISHEYE] != 0 ? far : far * ahead;
}

/* Over the sky, which MuJoCo draws on an upright cylinder around the eye. */
LFN void fog_over_sky(const ureal *fog, const ureal *view, const real *way, real *rgb)
{
    real across = sqrt(fma(way[0], way[0], way[1] * way[1]));
    fog_over(fog, depth_along(view, splat(fog[FOG_SKY]) / rmax(across, rabs(way[2])), way), rgb);
}

/*
 * The mip level for all of a picture: the first whose texels, in the middle of a face, are not much smaller than a
 * pixel in the middle of the picture.
 */
LFN int sky_level(const int *sky, const ureal *view)
{
    ureal texels =
        umax(uabs(view[VIEW_LENS + 1]), uabs(view[VIEW_LENS + 4])) * (ureal)sky[TEXTURE_HEAD + LEVEL_WIDTH] / 2;
    int level = 0;
    for (; level < sky[TEXTURE_LEVELS] - 1 && texels > (ureal)1.5; ++level) texels = texels / 2;
    return level;
}

/* The sky in pixels without a hit. way: unit, world frame. */
LFN void sky_behind(rd_world w, const ureal *look, const ureal *view, mask hit, const real *way, real *rgb)
{
    real above[3] = {splat(0), splat(0), splat(0)};
    if (all(hit)) return;
    if (sky_at(w)) {
        const int *sky = w.scene + sky_at(w);
        const int *level = sky + TEXTURE_HEAD + LEVEL_SIZE * sky_level(sky, view);
        int size = level[LEVEL_WIDTH];
        real r[3] = {way[0], way[2], -way[1]}, on[3], sign;
        mask x, y;
        lint face = cube_face(r, &x, &y, &sign, on);
        real half = splat((ureal)0.5), scale = half / on[2];
        texel_level own = {isplat(level[LEVEL_FIRST]) + face * isplat(sky[TEXTURE_CUBE] * size * size), isplat(size),
                           isplat(size), m_none()};
        add_level(w, &own, fma(on[0], scale, half), fma(on[1], scale, half), splat((ureal)TEXEL_UNIT), above);
        if (fog_at(w)) fog_over_sky(look + fog_at(w), view, way, above);
    }
    for (int k = 0; k < 3; ++k) rgb[k] = select(hit, rgb[k], above[k]);
}

/*
 * Haze over what is further than it: a cone from the plane, at HAZE_WIDTH of its radius from the end, up to the eye's
 * height at its end, thickest in between. m: the plane's transform; far: distances of hits.
 */
LFN void haze_before(rd_world w, const ureal *look, const ureal *m, const ureal *view, mask hit, real far,
                     const real *way, real *rgb)
{
    const ureal *haze = look + look_haze_at(w);
    ureal axis[3] = {m[2], m[6], m[10]}, len = usqrt(udot(axis, axis)), height = 0;
    for (int k = 0; k < 3; ++k) height = ufma(view[VIEW_EYE + k] - m[4 * k + 3], axis[k] / len, height);
    if (!(height > 0)) return;
    /* It begins beyond this: `across` below is at most 1, and √3 where the camera's axes are not at right angles. */
    ureal clear = haze[HAZE_RADIUS] * (1 - haze[HAZE_WIDTH]) * (ureal)0.577;
    if (all(m_and(hit, lt(far, splat(clear))))) return;
    real fall = splat(0), level[3], one = splat(1), width = splat(haze[HAZE_WIDTH]), thick = splat(haze[HAZE_THICK]);
    for (int k = 0; k < 3; ++k) fall = fma(way[k], splat(-(axis[k] / len)), fall);
    for (int k = 0; k < 3; ++k) level[k] = fma(fall, splat(axis[k] / len), way[k]);
    real across = sqrt(dot3(level, level)), slope = fall / across;
    real low = slope / fma(slope, width, splat(height / haze[HAZE_RADIUS])); /* 0 at the horizon, 1 on the plane */
    mask here = m_and(lt(splat(0), slope), lt(low, one));
    if (!any(here)) return;
    real reach = splat(haze[HAZE_RADIUS]) * fma(-low, width, one) / across, high = one - low;
    here = m_andnot(here, m_and(hit, lt(far, reach)));
    real share = select(lt(high, thick), high / thick, low / (one - thick));
    real own[3];
    for (int k = 0; k < 3; ++k) own[k] = splat(haze[HAZE_RGB + k]);
    if (fog_at(w)) fog_over(look + fog_at(w), depth_along(view, reach, way), own);
    for (int k = 0; k < 3; ++k) rgb[k] = select(here, fma(share, own[k] - rgb[k], rgb[k]), rgb[k]);
}
