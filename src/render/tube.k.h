/*
 * Lamps, and the tubes to them from what a patch shows: what keeps a lamp's light from the patch is in its tube. Part
 * of render.k.h and stand.k.h.
 */
/* camera: the prim that the headlight is at. */
LFN void lamp_place(rd_world w, int camera, int prim, ureal *place)
{
    ureal m[12];
    prim_xform(w, prim < 0 ? camera : prim, m);
    ureal axis[3] = {m[2], m[6], m[10]}, inv = 1 / usqrt(udot(axis, axis));
    for (int k = 0; k < 3; ++k) {
        place[k] = m[4 * k + 3];
        place[3 + k] = -(axis[k] * inv);
    }
}

/* A lamp that casts shadows. cutoff: less than -1 without a cone; radius: of its bulb, in mode physical; else 0. */
typedef struct shadow_lamp {
    int positional, bit;
    ureal cutoff, radius;
} shadow_lamp;

LFN void lamp_of(rd_world w, int l, shadow_lamp *out)
{
    const int *row = w.scene + lamps_at(w) + l * LAMP_INTS;
    const ureal *numbers = w.own + look_lamps_at(w) + l * LAMP_REALS;
    out->positional = row[LAMP_POSITIONAL];
    out->bit = row[LAMP_SHADOW];
    out->cutoff = row[LAMP_POSITIONAL] ? numbers[LAMP_CUTOFF] : -2;
    out->radius = is_physical(w) ? numbers[LAMP_RADIUS] : 0;
}

/* The same as patch_corners, of a fisheye: of a frustum around the cone, or of a cube where that is wide. */
LFN void fisheye_corners(const ureal *view, int px, int py, ureal low, ureal high, ureal *corner)
{
    ureal axes[9], half = fisheye_cone(view, px, py, PATCH, axes), turn[2];
    int wide = half > (ureal)1.2;
    usincos(half, turn);
    ureal near = wide ? -high : low * turn[1];
    for (int k = 0; k < 3; ++k) corner[k] = ufma(axes[k], (near + high) / 2, view[VIEW_EYE + k]);
    for (int i = 0; i < 8; ++i) {
        ureal ahead = i < 4 ? near : high, reach = wide ? high : ahead * (turn[0] / turn[1]);
        for (int k = 0; k < 3; ++k) {
            ureal across = ufma(axes[3 + k], i & 1 ? reach : -reach, axes[6 + k] * (i & 2 ? reach : -reach));
            corner[3 + 3 * i + k] = view[VIEW_EYE + k] + ufma(axes[k], ahead, across);
        }
    }
}

/* The eight corners of what a patch may show between two depths, and their middle before them: 9 x 3 numbers. */
LFN void patch_corners(const ureal *view, int flat, int px, int py, ureal low, ureal high, ureal *corner)
{
    const ureal *lens = view + VIEW_LENS;
    if (SCENE_HAS >> SCENE_FISHEYE & 1 && view[VIEW_FISHEYE] != 0) {
        fisheye_corners(view, px, py, low, high, corner);
        return;
    }
    ureal edge[4] = {edge_u(lens, px), edge_u(lens, px + PATCH), edge_v(lens, py), edge_v(lens, py + PATCH)};
    for (int k = 0; k < 3; ++k) corner[k] = 0;
    for (int i = 0; i < 8; ++i) {
        ureal start[3], way[3];
        patch_corner(view, flat, i & 3, edge, start, way);
        for (int k = 0; k < 3; ++k) {
            ureal x = ufma(way[k], i < 4 ? low : high, view[VIEW_EYE + k] + start[k]);
            corner[3 + 3 * i + k] = x;
            corner[k] = ufma(x, (ureal)0.125, corner[k]);
        }
    }
}

/*
 * The tube from a patch's corners in direction `to` (unit), as pyramid_of gives pyramids; it has no end. Its sides are
 * along and across the view: what a patch shows is long along it. radius: of the bulb that it leads to.
 */
LFN void tube_of(const ureal *view, const ureal *corner, const ureal *to, ureal radius, ureal *tube)
{
    const ureal *back = view + VIEW_BACK, *right = view + VIEW_RIGHT;
    ureal side[3], up[3], most = radius * radius;
    ucross(to, uabs(udot(to, back)) < (ureal)0.98 ? back : right, side); /* of what is nearly parallel: roundings */
    unit_or(side, right[0], right[1], right[2]);
    ucross(to, side, up);
    for (int k = 0; k < 3; ++k) {
        tube[k] = side[k];
        tube[4 + k] = -side[k];
        tube[8 + k] = up[k];
        tube[12 + k] = -up[k];
        tube[16 + k] = to[k];
    }
    for (int p = 0; p < PYRAMID_PLANES; ++p) tube[4 * p + 3] = 0 - radius;
    for (int i = 1; i <= 8; ++i) {
        ureal from[3];
        for (int k = 0; k < 3; ++k) from[k] = corner[3 * i + k] - corner[k];
        for (int p = 0; p < PYRAMID_PLANES; ++p) tube[4 * p + 3] = umin(tube[4 * p + 3], udot(tube + 4 * p, from));
        most = umax(most, udot(from, from));
    }
    tube[20] = (ureal)4e-6;
    tube[21] = usqrt(most) * 4;
}

/* Unit, from a place to a lamp. */
LFN void lamp_way(const ureal *from, const ureal *place, int positional, ureal *to)
{
    for (int k = 0; k < 3; ++k) to[k] = positional ? place[k] - from[k] : -place[3 + k];
    unit_or(to, 0, 0, 1);
}
