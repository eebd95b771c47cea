/*
 * Mirrors and views in them. A glass is 4 numbers: the mirror's normal (unit), and how far the camera is above it. Part
 * of render.k.h and stand.k.h.
 */
LFN int xform_usable(const ureal *m)
{
    ureal zero = 0;
    for (int k = 0; k < 12; ++k) zero += m[k] - m[k];
    return zero == 0 && uabs(xform_det(m)) > 0;
}

/*
 * The number of the mirror that the patch may show, from 1 on, and its glass; 0: none. A box reflects with its upper
 * side.
 */
LFN int find_mirror(rd_world w, const ureal *view, int flat, const ureal *pyramid, ureal *glass)
{
    for (int i = 0; i < nmirror(w); ++i) {
        const int *row = w.scene + mirrors_at(w) + i * MIRROR_SIZE;
        ureal m[12], box[BOX_SIZE], height = row[MIRROR_BOX] ? w.size[4 * row[MIRROR_GEOM] + 2] : 0;
        prim_xform(w, row[MIRROR_PRIM], m);
        if (!xform_usable(m)) continue;
        ureal axis[3] = {m[2], m[6], m[10]}, inv = 1 / usqrt(udot(axis, axis)), from[3];
        for (int k = 0; k < 3; ++k) {
            from[k] = view[VIEW_EYE + k] - ufma(axis[k], height, m[4 * k + 3]);
            glass[k] = axis[k] * inv;
        }
        glass[3] = udot(from, glass);
        int above = flat ? udot(view + VIEW_BACK, glass) > 0 : glass[3] > 0;
        if (!above && !row[MIRROR_BOX]) continue;
        make_box(m, w.bounds + 6 * row[MIRROR_GEOM], 1, box);
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

/* What colours of surfaces are multiplied by: they are seen in mirror number `mirror`, or, 0, in none. */
LFN ureal mirrored_share(rd_world w, const ureal *look, int mirror)
{
    return mirror && !is_physical(w) ? look[LOOK_MIRROR(w.scene) + mirror - 1] : 1;
}
