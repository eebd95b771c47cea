/*
 * The sky: the model's skybox, seen from its middle, which MuJoCo turns by 90 degrees around x; black without one. Part
 * of render.k.h.
 */

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
LFN void sky_behind(const int *scene, const ureal *view, mask hit, const real *way, real *rgb)
{
    real above[3] = {splat(0), splat(0), splat(0)};
    if (all(hit)) return;
    if (scene_number(scene, SCENE_SKY)) {
        const int *sky = scene + scene_number(scene, SCENE_SKY);
        const int *level = sky + TEXTURE_HEAD + LEVEL_SIZE * sky_level(sky, view);
        int size = level[LEVEL_WIDTH];
        real r[3] = {way[0], way[2], -way[1]}, on[3], sign;
        mask x, y;
        lint face = cube_face(r, &x, &y, &sign, on);
        real half = splat((ureal)0.5), scale = half / on[2];
        add_level(scene, isplat(level[LEVEL_FIRST]) + face * isplat(sky[TEXTURE_CUBE] * size * size), isplat(size),
                  isplat(size), m_none(), fma(on[0], scale, half), fma(on[1], scale, half), splat((ureal)TEXEL_UNIT),
                  above);
    }
    for (int k = 0; k < 3; ++k) rgb[k] = select(hit, rgb[k], above[k]);
}

/*
 * Haze over what is further than it: a cone from the plane, at HAZE_WIDTH of its radius from the end, up to the eye's
 * height at its end, thickest in between. m: the plane's transform; far: distances of hits.
 */
LFN void haze_before(const ureal *haze, const ureal *m, const ureal *view, mask hit, real far, const real *way,
                     real *rgb)
{
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
    for (int k = 0; k < 3; ++k) rgb[k] = select(here, fma(share, splat(haze[HAZE_RGB + k]) - rgb[k], rgb[k]), rgb[k]);
}
