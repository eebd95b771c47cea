/*
 * The boxes of all geoms to draw of a world, made once where they are many: its patches are culled by these (cull.k.h).
 * Kind item; a block is CHUNK geoms of one world.
 */
#include "stet/lang.h"

#include "render/scene.k.h"
#include "render/known.k.h"
#include "render/world.k.h"
#include "render/view.k.h"
#include "render/box.k.h"

/*
 * The box around the boxes of n rows in a group's order, its numbers `step` apart: along the axes of the world. A box
 * that is not finite widens it, or has no part in it.
 */
LFN void make_group_box(const ureal *boxes, int stride, const int *order, int n, int step, ureal *box)
{
    ureal low[3], high[3], slack = 0, sum = 0;
    for (int k = 0; k < 3; ++k) {
        low[k] = BOX_ENDLESS;
        high[k] = -BOX_ENDLESS;
    }
    for (int i = 0; i < n; ++i) {
        const ureal *own = boxes + order[i];
        for (int k = 0; k < 3; ++k) {
            ureal reach = 0, x = own[(i64)k * stride];
            for (int e = 0; e < 3; ++e) reach = reach + uabs(own[(i64)(BOX_EDGE + 3 * e + k) * stride]);
            low[k] = umin(x - reach, low[k]);
            high[k] = umax(x + reach, high[k]);
        }
        slack = umax(own[(i64)BOX_SLACK * stride], slack);
    }
    for (int k = 0; k < 9; ++k) box[(BOX_EDGE + k) * step] = 0;
    for (int k = 0; k < 3; ++k) {
        ureal half = (high[k] - low[k]) / 2 + (uabs(low[k]) + uabs(high[k])) * (ureal)1e-6;
        box[k * step] = (high[k] + low[k]) / 2;
        box[(BOX_EDGE + 4 * k) * step] = half;
        sum = ufma(half, half, sum);
        slack = slack + half;
    }
    box[BOX_SLACK * step] = slack;
    box[BOX_RADIUS * step] = usqrt(sum) * (ureal)1.0001;
}

/* boxes [listed world][BOXES_SIZE]: in the order of `worlds`. The others: as k_render. */
item_kernel void k_boxes(const wreal *xform, int nitem, const int *worlds, const int *scene, const ureal *bounds,
                         int shapes, ureal *boxes, int block)
{
    int n = SCENE_NROW(scene), nrun = (n + CHUNK - 1) / CHUNK, nth = block / nrun, from = block % nrun * CHUNK;
    int stride = BOX_STRIDE(n), m = nmin(n - from, CHUNK);
    const int *order = scene + SCENE_ORDER(scene) + from;
    const ureal *around = bounds + (i64)worlds[nth] * shapes * 6;
    rd_world w = {xform, nitem, worlds[nth], scene, around, around, around}; /* boxes need neither looks nor sizes */
    ureal *own = boxes + (i64)nth * BOXES_SIZE(n), *groups = own + (i64)BOX_SIZE * stride + from / GROUP;
    each (i, m) load_box(w, scene + shown_at(w) + order[i] * SHOWN_SIZE, stride, own + order[i]);
    if (STET_W == 1) return; /* threads look at all */
    each (g, GROUPS(m))
        make_group_box(own, stride, order + g * GROUP, nmin(m - g * GROUP, GROUP), BOX_STRIDE(GROUPS(n)), groups + g);
}
