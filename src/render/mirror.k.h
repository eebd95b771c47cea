/*
 * Reflections, as MuJoCo's classic renderer has them: one plane or upper side of a box mirrors, the first geom that the
 * camera is above, and what is seen in it is added, with colours of surfaces times the material's reflectance; in mode
 * physical all light is. What is mirrored has no shadows and no sky. Part of render.k.h.
 *
 * What a pixel shows in a mirror is what the mirrored camera shows there, from the mirror on. It is drawn first, into
 * the pixels themselves; then the pixels that show the mirror add it to their own colours.
 */
/* Where rays of a mirrored view leave the mirror; far away where they do not meet it. */
LFN real mirror_start(const ureal *glass, const ureal *view, int flat, const sight *ray)
{
    real across = fma(ray->u, splat(udot(view + VIEW_RIGHT, glass)), splat(udot(view + VIEW_UP, glass)) * ray->v);
    real ahead = splat(-udot(view + VIEW_BACK, glass)) * ray->w, height = splat(glass[3]);
    real t = flat ? (height - across) / ahead : height / (across + ahead);
    return select(m_and(lt(splat(0), t), lt(t, splat((ureal)RAY_HUGE))), t, splat((ureal)RAY_HUGE));
}

/* Adds to colours of the mirror's pixels what the mirrored camera has drawn there. up: normals; at: the pixels. */
LFN void add_mirrored(rd_world w, const ureal *look, rd_patch patch, lint geom, const real *up, const int *at, int n,
                      real *rgb)
{
    int mirror = patch.mirror;
    const int *row = w.scene + mirrors_at(w) + (mirror - 1) * MIRROR_SIZE;
    ureal share = is_physical(w) ? look[LOOK_MIRROR(w.scene) + mirror - 1] : 1;
    real facing = splat(0), seen[3];
    for (int k = 0; k < 3; ++k) facing = fma(up[k], splat(patch.glass[k]), facing);
    mask here = m_and(ieq(geom, isplat(row[MIRROR_GEOM])), lt(splat((ureal)0.9), facing));
    if (!any(here)) return;
    unpack_colour(w, load_colours(at, n), seen);
    for (int k = 0; k < 3; ++k) rgb[k] = select(here, fma(seen[k], splat(share), rgb[k]), rgb[k]);
}

/* Does the camera see one of n planes from below? */
LFN int sees_underside(rd_world w, const int *shown, int n, const ureal *view, int flat)
{
    for (int i = 0; i < n; ++i) {
        ureal m[12], height = 0;
        prim_xform(w, shown[i * SHOWN_SIZE + SHOWN_PRIM], m);
        for (int k = 0; k < 3; ++k)
            height = ufma(flat ? view[VIEW_BACK + k] : view[VIEW_EYE + k] - m[4 * k + 3], m[4 * k + 2], height);
        if (height < 0) return 1;
    }
    return 0;
}
