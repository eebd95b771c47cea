/*
 * Light on surfaces: the lighting model of OpenGL's fixed function (The OpenGL Graphics System, version 2.1, section
 * 2.14), which MuJoCo's materials and lights are made for, computed at each pixel with the viewer at the camera. Part
 * of render.k.h.
 */
LFN real dot3(const real *a, const real *b) { return fma(a[2], b[2], fma(a[1], b[1], a[0] * b[0])); }

LFN void unit3(real *a)
{
    real inv = splat(1) / sqrt(dot3(a, a));
    for (int k = 0; k < 3; ++k) a[k] = a[k] * inv;
}

#define LAMP_PLACE 6 /* position of a lamp (3) and its direction (3, unit), world frame */

/* camera: the prim that the headlight is at. */
LFN void lamp_place(const wreal *xform, int nitem, int world, int camera, int prim, ureal *place)
{
    ureal m[12];
    xform_of(xform, nitem, world, prim < 0 ? camera : prim, m);
    ureal axis[3] = {m[2], m[6], m[10]}, inv = 1 / usqrt(udot(axis, axis));
    for (int k = 0; k < 3; ++k) {
        place[k] = m[4 * k + 3];
        place[3 + k] = -(axis[k] * inv);
    }
}

/* Places of all lamps, LAMP_PLACE numbers each. */
LFN void place_lamps(const wreal *xform, int nitem, int world, int camera, const int *scene, ureal *lamps)
{
    each (l, scene_number(scene, SCENE_NLAMP))
        lamp_place(xform, nitem, world, camera, scene[scene[SCENE_LAMPS] + l * LAMP_INTS + LAMP_PRIM],
                   lamps + l * LAMP_PLACE);
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

/*
 * Adds the light of one lamp to lanes of `lit`. surface: APPEARANCE_SIZE numbers; n, back: unit, toward the viewer;
 * point: on the surface; all in the world frame.
 */
LFN void add_lamp(const ureal *lamp, int positional, const ureal *place, const real *surface, const real *n,
                  const real *back, const real *point, mask lit, real *rgb)
{
    real to[3], half[3], reach = select(lit, splat(1), splat(0));
    for (int k = 0; k < 3; ++k) to[k] = positional ? splat(place[k]) - point[k] : splat(-place[3 + k]);
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
        for (int k = 0; k < 3; ++k) half[k] = to[k] + back[k];
        unit3(half);
        shine = pow(rmax(dot3(n, half), splat(0)), surface[APPEARANCE_SHININESS]) * surface[APPEARANCE_SPECULAR];
        shine = select(lt(splat(0), facing), shine, splat(0));
    }
    for (int k = 0; k < 3; ++k) {
        real matt = fma(facing, splat(lamp[LAMP_DIFFUSE + k]), splat(lamp[LAMP_AMBIENT + k]));
        real sum = fma(shine, splat(lamp[LAMP_SPECULAR + k]), matt * surface[APPEARANCE_RGB + k]);
        rgb[k] = fma(reach, sum, rgb[k]);
    }
}
