/*
 * Reflections, as MuJoCo's classic renderer has them: one plane or upper side of a box mirrors, the first geom that the
 * camera is above, and what is seen in it is added, times the material's reflectance. What is mirrored has no shadows
 * and no sky. Part of render.k.h.
 *
 * What a pixel shows in a mirror is what the mirrored camera shows there, from the mirror on. It is drawn first, into
 * the pixels themselves; then the pixels that show the mirror add it to their own colours.
 *
 * A glass is 4 numbers: the mirror's normal (unit), and how far the camera is above it.
 */

LFN int xform_usable(const ureal *m)
{
    ureal zero = 0;
    for (int k = 0; k < 12; ++k) zero += m[k] - m[k];
    return zero == 0 && uabs(xform_det(m)) > 0;
}

/* The number of the mirror that the patch may show, from 1 on, and its glass; 0: none. */
LFN int find_mirror(const wreal *xform, int nitem, int world, const int *scene, const ureal *look, const ureal *bounds,
                    const ureal *view, int flat, const ureal *pyramid, ureal *glass)
{
    for (int i = 0; i < scene_number(scene, SCENE_NMIRROR); ++i) {
        const int *row = scene + scene[SCENE_MIRROR] + i * MIRROR_SIZE;
        ureal m[12], box[BOX_SIZE], height = look[LOOK_MIRROR(scene) + i * MIRROR_REALS + MIRROR_HEIGHT];
        xform_of(xform, nitem, world, row[MIRROR_PRIM], m);
        if (!xform_usable(m)) continue;
        ureal axis[3] = {m[2], m[6], m[10]}, inv = 1 / usqrt(udot(axis, axis)), from[3];
        for (int k = 0; k < 3; ++k) {
            from[k] = view[VIEW_EYE + k] - ufma(axis[k], height, m[4 * k + 3]);
            glass[k] = axis[k] * inv;
        }
        glass[3] = udot(from, glass);
        int above = flat ? udot(view + VIEW_BACK, glass) > 0 : glass[3] > 0;
        if (!above && !row[MIRROR_BOX]) continue;
        make_box(m, bounds + 6 * row[MIRROR_GEOM], 1, box);
        if (above && glass[3] > 0 && any(box_may_touch(box, view + VIEW_EYE, pyramid))) return i + 1;
        return 0;
    }
    return 0;
}

/* Mirrors a view, and makes the pyramid of a patch end at the mirror. */
LFN void mirror_view(const ureal *glass, int flat, int px, int py, ureal *view, ureal *pyramid)
{
    for (int a = 0; a < 4; ++a) {
        ureal *axis = view + 3 * a, along = a == 0 ? glass[3] : udot(axis, glass);
        for (int k = 0; k < 3; ++k) axis[k] = ufma(-2 * along, glass[k], axis[k]);
    }
    pyramid_of(view, flat, px, py, PATCH, pyramid);
    for (int k = 0; k < 3; ++k) pyramid[16 + k] = glass[k];
    pyramid[19] = glass[3];
}

/* Where rays of a mirrored view leave the mirror; far away where they do not meet it. */
LFN real mirror_start(const ureal *glass, const ureal *view, int flat, const sight *ray)
{
    real across = fma(ray->u, splat(udot(view + VIEW_RIGHT, glass)), splat(udot(view + VIEW_UP, glass)) * ray->v);
    real ahead = splat(-udot(view + VIEW_BACK, glass)) * ray->w, height = splat(glass[3]);
    real t = flat ? (height - across) / ahead : height / (across + ahead);
    return select(m_and(lt(splat(0), t), lt(t, splat((ureal)RAY_HUGE))), t, splat((ureal)RAY_HUGE));
}

/* Adds to colours of the mirror's pixels what the mirrored camera has drawn there. up: normals; at: the pixels. */
LFN void add_mirrored(const int *scene, const ureal *look, int mirror, const ureal *glass, lint geom, const real *up,
                      const int *at, int n, real *rgb)
{
    const int *row = scene + scene[SCENE_MIRROR] + (mirror - 1) * MIRROR_SIZE;
    ureal share = look[LOOK_MIRROR(scene) + (mirror - 1) * MIRROR_REALS + MIRROR_SHARE];
    real facing = splat(0), seen[3];
    for (int k = 0; k < 3; ++k) facing = fma(up[k], splat(glass[k]), facing);
    mask here = m_and(ieq(geom, isplat(row[MIRROR_GEOM])), lt(splat((ureal)0.9), facing));
    if (!any(here)) return;
    unpack_colour(scene, load_colours(at, n), seen);
    for (int k = 0; k < 3; ++k) rgb[k] = select(here, fma(seen[k], splat(share), rgb[k]), rgb[k]);
}

/* Does the camera see one of n planes from below? */
LFN int sees_underside(const wreal *xform, int nitem, int world, const int *shown, int n, const ureal *view, int flat)
{
    for (int i = 0; i < n; ++i) {
        ureal m[12], height = 0;
        xform_of(xform, nitem, world, shown[i * SHOWN_SIZE + SHOWN_PRIM], m);
        for (int k = 0; k < 3; ++k)
            height = ufma(flat ? view[VIEW_BACK + k] : view[VIEW_EYE + k] - m[4 * k + 3], m[4 * k + 2], height);
        if (height < 0) return 1;
    }
    return 0;
}
