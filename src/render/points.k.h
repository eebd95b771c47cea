/*
 * Places in the world of a depth picture's pixels: what the ray caster saw, from the depth and the camera's present
 * pose. Kind item; a block is PATCH rows of one world's picture.
 */
#include "stet/lang.h"

#include "render/scene.k.h"
#include "render/known.k.h"
#include "render/world.k.h"
#include "render/view.k.h"

/*
 * xform [nworld][nitem]; depth [nworld][height][width], points [nworld][height][width][3], plain. prim: the camera's;
 * across … top: the first numbers of its lens (view.k.h). Where depth is infinite, so are all three.
 */
item_kernel void k_points(const wreal *xform, int nitem, int prim, int flat, int fisheye, ureal across, ureal wide,
                          ureal left, ureal down, ureal tall, ureal top, int width, int height, const ureal *depth,
                          ureal *points, int block)
{
    int nband = (height + PATCH - 1) / PATCH, world = block / nband, first = block % nband * PATCH;
    ureal m[12], view[VIEW_SIZE], lens[LENS_SIZE] = {across, wide, left, down, tall, top, 0, 0, (ureal)fisheye};
    xform_of(xform, nitem, world, prim, m);
    view_from(m, lens, view);
    for (int y = first; y < nmin(first + PATCH, height); ++y) {
        const ureal *from = depth + ((i64)world * height + y) * width;
        ureal *to = points + ((i64)world * height + y) * width * 3;
        items (x, width) {
            lint at = imin(lane() + isplat(x), isplat(width - 1));
            sight ray;
            sight_of(view, at, isplat(y), &ray);
            real t = gather(from, at);
            mask hit = lt(rabs(t), splat(1) / splat(0));
            real far = select(hit, t, splat(0)), reach = flat ? splat(1) : far, ahead = far * ray.w;
            for (int k = 0; k < 3; ++k) {
                real place = fma(splat(view[VIEW_UP + k]), ray.v, splat(view[VIEW_RIGHT + k]) * ray.u);
                real point = fma(place, reach, fma(splat(-view[VIEW_BACK + k]), ahead, splat(view[VIEW_EYE + k])));
                scatter_if(in_range(x, width), to + k, at * isplat(3), select(hit, point, splat(1) / splat(0)));
            }
        }
    }
}
