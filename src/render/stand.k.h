/*
 * Patches that stand: those in which nothing moved since their pixels were drawn, neither what they show nor what may
 * keep a lamp's light from it. Their pixels would be the same again. Kind item; a block is a world.
 *
 * What a target's pixels were drawn from is kept for each world: transforms, the depths of each patch's hits, and at
 * which time. What is no transform changes all patches (`valid`). A geom that moved is tested where it was and where it
 * is, as culling tests it, so a patch stands only if the geom was no candidate of its rays and is none now.
 */
#include "stet/lang.h"

#ifndef RAY_TYPES
#define RAY_TYPES 0 /* no rays are cast */
#endif
#include "geom/ray.k.h"
#include "stage/axis.k.h"
#include "render/scene.k.h"
#include "render/known.k.h"
#include "render/world.k.h"
#include "render/view.k.h"
#include "render/box.k.h"
#include "render/cull.k.h"
#include "render/tube.k.h"
#include "render/glass.k.h"

#define MOVED_MOST 64 /* geoms: with more that moved a world is drawn anew */
#define MOVED_BOXES (2 * MOVED_MOST)

/* Whether two numbers have the same bits, or are both no numbers. */
LFN int same_real(ureal a, ureal b) { return a == b ? a != 0 || 1 / a == 1 / b : a != a && b != b; }

/* Whether a prim's transform is another one than `then`, all transforms of the world. */
LFN int prim_moved(rd_world w, const ureal *then, int prim)
{
    int same = 1;
    for (int k = 0; k < 12; ++k)
        same = same && same_real(then[prim * 12 + k], of_world(w.xform, w.nitem, w.world, prim * 12 + k));
    return !same;
}

/* Whether what is not culled by boxes moved: a lamp, or the plane with haze above it. */
LFN int light_moved(rd_world w, const ureal *then)
{
    int haze = haze_prim(w), moved = haze && prim_moved(w, then, haze - 1);
    for (int l = 0; l < nlamp(w) && !moved; ++l) {
        int prim = w.scene[lamps_at(w) + l * LAMP_INTS + LAMP_PRIM];
        moved = prim >= 0 && prim_moved(w, then, prim);
    }
    return moved;
}

/*
 * Whether a plane moved. The camera sees the undersides of all planes or of none (sees_underside), but in a mirror
 * those of planes that it is above.
 */
LFN int plane_moved(rd_world w, const ureal *then)
{
    const int *under = w.scene + clear_at(w) + nclear(w) * SHOWN_SIZE;
    int moved = 0;
    for (int i = 0; i < nunder(w) && !moved; ++i) moved = prim_moved(w, then, under[i * SHOWN_SIZE + SHOWN_PRIM]);
    return moved;
}

/* The boxes of a geom to draw, as it is and as it was, side by side among MOVED_BOXES. */
LFN void moved_boxes(rd_world w, const ureal *then, const int *row, ureal *boxes)
{
    load_box(w, row, MOVED_BOXES, boxes);
    make_box(then + row[SHOWN_PRIM] * 12, w.bounds + 6 * row[SHOWN_GEOM], MOVED_BOXES, boxes + 1);
    if (row[SHOWN_KIND] & SHOWN_ENDLESS) boxes[BOX_SLACK * MOVED_BOXES + 1] = BOX_ENDLESS;
}

/*
 * The boxes of all geoms that moved; returns how many boxes, or more than MOVED_BOXES. Surfaces that deform count as
 * moved. flag: shared, CHUNK numbers.
 */
LFN int find_moved(rd_world w, const ureal *then, int *flag, ureal *boxes)
{
    int found = 0, nrow = SCENE_NROW(w.scene);
    for (int from = 0; from < nrow && found <= MOVED_MOST; from += CHUNK) {
        const int *shown = w.scene + shown_at(w) + from * SHOWN_SIZE;
        int m = nmin(nrow - from, CHUNK), add = 0;
        each (i, m) {
            const int *row = shown + i * SHOWN_SIZE;
            flag[i] = row[SHOWN_KIND] & SHOWN_SOFT || prim_moved(w, then, row[SHOWN_PRIM]);
        }
        sync();
        each (i, m) {
            int c = found;
            for (int k = 0; k < i && flag[i]; ++k) c += flag[k];
            if (flag[i] && c < MOVED_MOST) moved_boxes(w, then, shown + i * SHOWN_SIZE, boxes + 2 * c);
        }
        for (int i = 0; i < m; ++i) add += flag[i];
        sync();
        found += add;
    }
    return 2 * found;
}

/* Whether one of n boxes may touch a pyramid from `eye` on. */
LFN int any_touches(const ureal *boxes, int n, const ureal *eye, const ureal *pyramid)
{
    int touched = 0;
    for (int i = 0; i < n && !touched; i += STET_W) {
        real box[BOX_SIZE];
        for (int k = 0; k < BOX_RADIUS; ++k) box[k] = load(boxes + k * MOVED_BOXES + i);
        touched = any(m_and(in_range(i, n), boxes_may_touch(box, eye, pyramid)));
    }
    return touched;
}

/* Whether one of n boxes may touch a tube from a patch's hits to a lamp. range: of their depths; less than 0: none. */
LFN int any_in_tubes(rd_world w, const ureal *view, const int *here, const ureal *boxes, int n, const ureal *range)
{
    ureal corner[27];
    int touched = 0;
    if (range[1] < 0) return 0;
    patch_corners(view, here[PATCH_FLAT], here[PATCH_X], here[PATCH_Y], range[0], range[1], corner);
    for (int l = 0; l < nlamp(w) && !touched; ++l) {
        ureal place[LAMP_PLACE], to[3], tube[PYRAMID_SIZE];
        shadow_lamp lamp;
        lamp_of(w, l, &lamp);
        if (!lamp.bit) continue;
        lamp_place(w, here[PATCH_PRIM], w.scene[lamps_at(w) + l * LAMP_INTS + LAMP_PRIM], place);
        lamp_way(corner, place, lamp.positional, to);
        tube_of(view, corner, to, lamp.radius, tube);
        touched = any_touches(boxes, n, corner, tube);
    }
    return touched;
}

/* Whether a patch, `here`, stands, of n boxes of what moved. coloured: light and mirrors are shown. */
LFN int patch_stands(rd_world w, const ureal *then, const ureal *lens, const int *here, const ureal *boxes, int n,
                     const ureal *range, int coloured)
{
    ureal eye[12], view[VIEW_SIZE], pyramid[PYRAMID_SIZE], glass[4];
    int flat = here[PATCH_FLAT], px = here[PATCH_X], py = here[PATCH_Y];
    if (prim_moved(w, then, here[PATCH_PRIM])) return 0;
    prim_xform(w, here[PATCH_PRIM], eye);
    view_from(eye, lens + here[PATCH_CAMERA] * LENS_SIZE, view);
    pyramid_of(view, flat, px, py, PATCH, pyramid);
    if (any_touches(boxes, n, view + VIEW_EYE, pyramid)) return 0;
    if (!coloured) return 1;
    if (nshadow(w) && any_in_tubes(w, view, here, boxes, n, range)) return 0;
    int mirror = find_mirror(w, view, flat, pyramid, glass);
    if (!mirror) return 1;
    if (plane_moved(w, then)) return 0;
    mirror_view(glass, flat, px, py, view, pyramid);
    return !any_touches(boxes, n, view + VIEW_EYE, pyramid);
}

/*
 * stands [listed world][patch]: 1 for those that stand. before [nworld][nitem]: transforms that the target's pixels
 * were drawn from; range [nworld][patch][2]: depths of hits, of k_render; drawn [nworld]: when, 0: not; `before` and
 * `drawn` become those of now. clock: the time since which what is no transform is the same. The others: as k_render.
 */
item_kernel void k_stand(const wreal *xform, int nitem, const int *worlds, const int *scene, const ureal *looks,
                         int stride, const ureal *lens, int lens_stride, const ureal *size, const ureal *bounds,
                         int shapes, const ureal *range, const int *clock, ureal *before, int *drawn, int *stands,
                         int coloured, int block)
{
    shared(int, flag, CHUNK);
    shared(ureal, boxes, MOVED_BOXES * BOX_SIZE);
    int world = worlds[block], n = 0;
    rd_world w = {xform,
                  nitem,
                  world,
                  scene,
                  looks + (i64)world * stride,
                  size + (i64)world * shapes * 4,
                  bounds + (i64)world * shapes * 6};
    ureal *then = before + (i64)world * nitem;
    const ureal *own_lens = lens + (i64)world * lens_stride, *depths = range + (i64)world * npatch(w) * 2;
    int anew = drawn[world] != clock[0] || (coloured && light_moved(w, then));
    if (!anew) {
        n = find_moved(w, then, flag, boxes);
        anew = n > MOVED_BOXES;
    }
    each (p, npatch(w))
        stands[(i64)block * npatch(w) + p] =
            !anew &&
            patch_stands(w, then, own_lens, scene + SCENE_PATCHES + p * PATCH_SIZE, boxes, n, depths + 2 * p, coloured);
    sync();
    each (k, nitem) then[k] = of_world(xform, nitem, world, k);
    each (k, 1) drawn[world] = clock[0];
}

/* Copies what is known of a block's world's pixels, with them, from one target to another. nrange: numbers a world. */
item_kernel void k_stand_carry(const int *worlds, int nitem, int nrange, const ureal *from_before,
                               const ureal *from_range, const int *from_drawn, ureal *before, ureal *range, int *drawn,
                               int block)
{
    int world = worlds[block];
    i64 item = (i64)world * nitem, depth = (i64)world * nrange;
    each (k, nitem) before[item + k] = from_before[item + k];
    each (k, nrange) range[depth + k] = from_range[depth + k];
    each (k, 1) drawn[world] = from_drawn[world];
}

/* Forgets what is known of a block's world's pixels. */
item_kernel void k_stand_drop(int *drawn, int block)
{
    each (k, 1) drawn[block] = 0;
}
