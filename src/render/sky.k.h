/*
 * The colour of the sky: `nsky` colours from straight down (0) to straight up (nsky - 1), evenly spaced in the sine of
 * the elevation; black without colours. Part of render.k.h.
 */

/* z: third component of the unit direction. */
LFN void sky_colour(const ureal *sky, int nsky, real z, real *rgb)
{
    for (int k = 0; k < 3; ++k) rgb[k] = splat(0);
    if (nsky < 2) return;
    real f = clamp(fma(z, splat((ureal)0.5), splat((ureal)0.5)), splat(0), splat(1)) * splat((ureal)(nsky - 1));
    lint i = imin(to_int(f), isplat(nsky - 2));
    real part = f - to_real(i);
    lint at = i + i + i;
    for (int k = 0; k < 3; ++k) {
        real a = gather(sky + k, at), b = gather(sky + 3 + k, at);
        rgb[k] = fma(b - a, part, a);
    }
}

/* The sky in pixels without a hit. */
LFN void sky_behind(const ureal *sky, int nsky, real z, mask hit, real *rgb)
{
    real above[3];
    sky_colour(sky, nsky, z, above);
    for (int k = 0; k < 3; ++k) rgb[k] = select(hit, rgb[k], above[k]);
}
