/*
 * Light on surfaces: the lighting model of OpenGL's fixed function (The OpenGL Graphics System, version 2.1, section
 * 2.14), which MuJoCo's materials and lights are made for, computed at each pixel with the viewer at the camera. Mode
 * physical has metal_light for materials that are metallic or rough. Part of render.k.h.
 */
LFN real dot3(const real *a, const real *b) { return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0])); }

LFN void unit3(real *a)
{
    real inv = splat(1) / sqrt(dot3(a, a));
    for (int k = 0; k < 3; ++k) a[k] = a[k] * inv;
}

/* Where rays meet surfaces (world frame): normal, direction from the eye (both unit), point. */
typedef struct spot {
    real normal[3], way[3], point[3];
} spot;

/* Places of all lamps, LAMP_PLACE numbers each. */
LFN void place_lamps(rd_world w, int camera, ureal *lamps)
{
    each (l, nlamp(w)) lamp_place(w, camera, w.scene[lamps_at(w) + l * LAMP_INTS + LAMP_PRIM], lamps + l * LAMP_PLACE);
    sync();
}

/*
 * Attenuation of a positional lamp in lanes of `lit`, by distance and cone; 0 in others. to: unit, from the surface to
 * the lamp; `far`: distance, metres.
 */
LFN real lamp_reach(const ureal *lamp, const ureal *shine, const real *to, real far, mask lit)
{
    const ureal *a = lamp + LAMP_ATTENUATION;
    real reach = splat(1) / fma(fma(splat(a[2]), far, splat(a[1])), far, splat(a[0])), zero = splat(0);
    if (lamp[LAMP_CUTOFF] >= -1) {
        real along = -fma(to[2], splat(shine[2]), fma(to[1], splat(shine[1]), to[0] * splat(shine[0])));
        mask inside = m_and(lit, le(splat(lamp[LAMP_CUTOFF]), along));
        real cone = splat(1);
        if (!any(inside)) return zero;
        if (lamp[LAMP_EXPONENT] > 0) cone = pow(rmax(along, splat(0)), splat(lamp[LAMP_EXPONENT]));
        reach = select(inside, reach * cone, zero);
    }
    return select(lit, reach, zero);
}

#define LEAST_ROUGH 0.045 /* so that the highlight of a lamp, which is a point, has a width */

/*
 * What a surface sends back of a lamp's light, of which `facing` (> 0) is the cosine: glTF 2.0, appendix B.3 (Lambert;
 * GGX, Smith's joint masking, Schlick's Fresnel), times pi, for a lamp's number is what a white surface shows. Without
 * metal 0.16 specular^2 is reflected at a right angle (Physically Based Rendering in Filament, section 4.8.3): 4 % at
 * MuJoCo's default.
 */
LFN void metal_light(const real *surface, const details *d, const spot *at, const real *to, real facing, real *rgb)
{
    const real *n = at->normal;
    real back[3] = {-at->way[0], -at->way[1], -at->way[2]};
    real half[3], off[3], one = splat(1), rough = rmax(d->rough, splat((ureal)LEAST_ROUGH)), a = rough * rough;
    real a2 = a * a, seen = rmax(dot3(n, back), splat((ureal)1e-4));
    for (int k = 0; k < 3; ++k) half[k] = to[k] + back[k];
    unit3(half);
    for (int k = 0; k < 3; ++k) off[k] = n[(k + 1) % 3] * half[(k + 2) % 3] - n[(k + 2) % 3] * half[(k + 1) % 3];
    real along = rmax(dot3(n, half), splat(0)),
         width = fma(a2, along * along, dot3(off, off)); /* 1 + cos^2 (a^2 - 1) */
    real peak = a2 / (width * width);
    real in = fma(seen, sqrt(fma(facing * facing, one - a2, a2)), facing * sqrt(fma(seen * seen, one - a2, a2)));
    real lobe = select(lt(splat(0), along), splat((ureal)0.5) * peak / in, splat(0));
    real rest = one - clamp(dot3(back, half), splat(0), one), rest2 = rest * rest, grazing = rest2 * rest2 * rest;
    real glossy = surface[APPEARANCE_SPECULAR] * surface[APPEARANCE_SPECULAR] * splat((ureal)0.16);
    for (int k = 0; k < 3; ++k) {
        real base = surface[APPEARANCE_RGB + k], least = fma(base - glossy, d->metal, glossy);
        real part = fma(one - least, grazing, least);
        real sum = fma(part, lobe, (one - part) * (one - d->metal) * base) * facing;
        rgb[k] = select(lt(splat(0), facing), sum, splat(0));
    }
}

/*
 * Adds the light of lamp l, which is at `place`, to lanes of `lit`. surface: APPEARANCE_SIZE numbers; details: those of
 * roles are read only if the scene has any.
 */
LFN void add_lamp(rd_world w, int l, const ureal *place, const real *surface, const details *d, const spot *at,
                  mask lit, real *rgb)
{
    const ureal *lamp = w.own + look_lamps_at(w) + l * LAMP_REALS;
    int positional = w.scene[lamps_at(w) + l * LAMP_INTS + LAMP_POSITIONAL];
    const real *n = at->normal;
    real to[3], half[3], reach = select(lit, splat(1), splat(0));
    for (int k = 0; k < 3; ++k) to[k] = positional ? splat(place[k]) - at->point[k] : splat(-place[3 + k]);
    if (positional) {
        real far = sqrt(dot3(to, to));
        unit3(to);
        reach = lamp_reach(lamp, place + 3, to, far, lit);
    }
    mask reached = m_not(eq(reach, splat(0)));
    if (!any(reached)) return;
    real facing = rmax(dot3(n, to), splat(0)), shine = splat(0);
    int shines = lamp[LAMP_SPECULAR] + lamp[LAMP_SPECULAR + 1] + lamp[LAMP_SPECULAR + 2] > 0;
    if (shines && any(m_and(reached, lt(splat(0), facing)))) {
        for (int k = 0; k < 3; ++k) half[k] = to[k] - at->way[k];
        unit3(half);
        shine = pow(rmax(dot3(n, half), splat(0)), surface[APPEARANCE_SHININESS]) * surface[APPEARANCE_SPECULAR];
        shine = select(lt(splat(0), facing), shine, splat(0));
    }
    real metal[3];
    mask glossy = m_none();
    if (has_roles(w)) {
        glossy = ilt(isplat(0), d->lit);
        metal_light(surface, d, at, to, facing, metal);
    }
    for (int k = 0; k < 3; ++k) {
        real ambient = splat(lamp[LAMP_AMBIENT + k]);
        if (has_roles(w)) ambient = ambient * d->open;
        real matt = fma(facing, splat(lamp[LAMP_DIFFUSE + k]), ambient);
        real sum = fma(shine, splat(lamp[LAMP_SPECULAR + k]), matt * surface[APPEARANCE_RGB + k]);
        if (has_roles(w))
            sum = select(glossy, fma(metal[k], splat(lamp[LAMP_DIFFUSE + k]), ambient * surface[APPEARANCE_RGB + k]),
                         sum);
        rgb[k] = fma(reach, sum, rgb[k]);
    }
}
