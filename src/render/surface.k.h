/*
 * What is known of the surface points that pixels show, beyond what their ray found: where each was when its world was
 * last rendered, as a motion of pixels, and where it is in the frame of its body. Made from pictures of depths and of
 * geoms, with the poses of now and of then. Kind item; a block is a patch of the renderer's.
 */
#include "stet/lang.h"

#include "render/scene.k.h"
#include "render/known.k.h"
#include "render/world.k.h"
#include "render/view.k.h"

/* Whether two lists of numbers are the same. */
LFN int same_numbers(const ureal *a, const ureal *b, int n)
{
    int same = 1;
    for (int k = 0; k < n; ++k) same = same && a[k] == b[k];
    return same;
}

/* Whether a shape with this transform was hidden: whether its linear part is 0. */
LFN int was_hidden(const ureal *m)
{
    ureal sum = 0;
    for (int k = 0; k < 12; ++k) sum += k % 4 == 3 ? 0 : uabs(m[k]);
    return sum == 0;
}

/* Points (world frame) in the frame of m, 3 x 4 by rows, any invertible transform. */
LFN void in_frame(const ureal *m, const real *point, real *out)
{
    ureal row[9], det = 0;
    for (int k = 0; k < 3; ++k) {
        int a = (k + 1) % 3, b = (k + 2) % 3;
        for (int r = 0; r < 3; ++r) {
            int i = (r + 1) % 3, j = (r + 2) % 3;
            row[3 * k + r] = ufma(m[4 * i + a], m[4 * j + b], -(m[4 * j + a] * m[4 * i + b]));
        }
    }
    for (int r = 0; r < 3; ++r) det = ufma(m[4 * r], row[r], det);
    for (int k = 0; k < 3; ++k) {
        real sum = splat(0);
        for (int r = 0; r < 3; ++r) sum = fma(splat(row[3 * k + r] / det), point[r] - splat(m[4 * r + 3]), sum);
        out[k] = sum;
    }
}

/* Points of the frame of m in the world's. */
LFN void from_frame(const ureal *m, const real *local, real *out)
{
    for (int r = 0; r < 3; ++r)
        out[r] = fma(splat(m[4 * r]), local[0],
                     fma(splat(m[4 * r + 1]), local[1], fma(splat(m[4 * r + 2]), local[2], splat(m[4 * r + 3]))));
}

/* The points (world frame) of pixels at depth t; t is finite. */
LFN void seen_points(const ureal *view, int flat, const sight *ray, real t, real *point)
{
    real reach = flat ? splat(1) : t, ahead = t * ray->w;
    for (int k = 0; k < 3; ++k) {
        real place = fma(splat(view[VIEW_UP + k]), ray->v, splat(view[VIEW_RIGHT + k]) * ray->u);
        point[k] = fma(place, reach, fma(splat(-view[VIEW_BACK + k]), ahead, splat(view[VIEW_EYE + k])));
    }
}

/* Where in a picture points are, in pixels from its upper left corner; infinity where it cannot show them. */
LFN void place_in_picture(const ureal *view, int flat, const real *point, real *at)
{
    const ureal *lens = view + VIEW_LENS;
    real along[3];
    for (int a = 0; a < 3; ++a) {
        const ureal *axis = view + VIEW_RIGHT + 3 * a;
        along[a] = splat(0);
        for (int k = 0; k < 3; ++k) along[a] = fma(splat(axis[k]), point[k] - splat(view[VIEW_EYE + k]), along[a]);
    }
    real ahead = flat ? splat(1) : -along[2];
    if (view[VIEW_FISHEYE] != 0) { /* so that the quotients below are angles */
        real across = sqrt(fma(along[0], along[0], along[1] * along[1]));
        ahead = select(lt(splat(0), across), across / atan2(across, ahead), splat(1));
    }
    mask before = lt(splat(0), ahead);
    at[0] = (along[0] / ahead - splat(lens[0])) / splat(lens[1]) + splat(lens[2]);
    at[1] = splat(lens[5]) - (along[1] / ahead - splat(lens[3])) / splat(lens[4]);
    for (int k = 0; k < 2; ++k) at[k] = select(before, at[k], splat(1) / splat(0));
}

/*
 * xform [nworld][nitem]: world transforms of prims; before [nworld][nitem], plain: what they were when the world was
 * last rendered, all 0 if it was not. owner [ngeom][2]: prims of geoms and of shapes that were added, and of their
 * bodies. worlds, scene, lens, lens_stride, first, pitch, block: as k_render. depth, geom: pictures, made; motion (2
 * numbers a pixel), local (3) are written
 * where they are wanted; a buffer's row of the tile table is *_row.
 *
 * What is no geom (a tendon, a flex, a skin) counts as at rest, and its body is the world. So does a shape that was
 * hidden then.
 */
item_kernel void k_surface(const wreal *xform, int nitem, const ureal *before, const int *owner, const int *worlds,
                           const int *scene, const ureal *lens, int lens_stride, const ureal *depth, const int *geom,
                           ureal *motion, ureal *local, const i64 *first, const int *pitch, int depth_row, int geom_row,
                           int motion_row, int local_row, int block)
{
    int npatch = scene[SCENE_NPATCH], ntile = scene[SCENE_NTILE];
    const int *here = scene + SCENE_PATCHES + block % npatch * PATCH_SIZE;
    int world = worlds[block / npatch], flat = here[PATCH_FLAT], width = here[PATCH_WIDTH];
    i64 tile = (i64)world * scene[SCENE_NCAMERA] + here[PATCH_CAMERA];
    const ureal *then = before + (i64)world * nitem;
    ureal eye[12], old_eye[12], view[VIEW_SIZE], old_view[VIEW_SIZE], zero = 0;
    xform_of(xform, nitem, world, here[PATCH_PRIM], eye);
    for (int k = 0; k < 12; ++k) {
        old_eye[k] = then[here[PATCH_PRIM] * 12 + k];
        zero += uabs(old_eye[k]);
    }
    int known = zero != 0, still = !known || same_numbers(eye, old_eye, 12);
    for (int k = 0; k < 12 && still; ++k) old_eye[k] = eye[k];
    const ureal *own = lens + (i64)world * lens_stride + here[PATCH_CAMERA] * LENS_SIZE;
    view_from(eye, own, view);
    view_from(old_eye, own, old_view);
    items (p, PATCH * PATCH) {
        int x = here[PATCH_X] + p % PATCH, y = here[PATCH_Y] + p / PATCH;
        if (x >= width || y >= here[PATCH_HEIGHT]) continue;
        int ids[STET_W];
        i64 e = depth_row * (i64)ntile + tile, own = geom_row * (i64)ntile + tile;
        lint column = imin(lane() + isplat(x), isplat(width - 1)), triple = lane() + lane() + lane();
        lint seen = igather(geom + first[own] + (i64)y * pitch[own], column);
        real t = gather(depth + first[e] + (i64)y * pitch[e], column), point[3], old[3], in_body[3], step[2];
        mask live = in_range(x, width), hit = ilt(seen, isplat(-1)), left = ilt(isplat(-1), seen);
        real nowhere = splat(1) / splat(0);
        sight ray;
        row_sight(view, x, y, &ray);
        hit = m_or(hit, left);
        seen_points(view, flat, &ray, select(hit, t, splat(0)), point);
        mask moves = still ? m_none() : hit;
        for (int k = 0; k < 3; ++k) {
            in_body[k] = point[k];
            old[k] = point[k];
        }
        istore(ids, seen);
        for (int l = 0; l < STET_W; ++l) {
            mask mine = m_and(left, ieq(seen, isplat(ids[l])));
            if (ids[l] < 0 || !any(mine)) continue;
            left = m_andnot(left, mine);
            const int *prims = owner + 2 * ids[l];
            ureal m[12], body[12];
            real place[3], was[3];
            xform_of(xform, nitem, world, prims[1], body);
            in_frame(body, point, place);
            for (int k = 0; k < 3; ++k) in_body[k] = select(mine, place[k], in_body[k]);
            xform_of(xform, nitem, world, prims[0], m);
            if (!known || same_numbers(m, then + prims[0] * 12, 12)) continue;
            if (scene_number(scene, SCENE_NADDED) && was_hidden(then + prims[0] * 12)) continue;
            in_frame(m, point, place);
            from_frame(then + prims[0] * 12, place, was);
            for (int k = 0; k < 3; ++k) old[k] = select(mine, was[k], old[k]);
            moves = m_or(moves, mine);
        }
        place_in_picture(old_view, flat, old, step);
        step[0] = select(moves, to_real(lane() + isplat(x)) + splat((ureal)0.5) - step[0], splat(0));
        step[1] = select(moves, splat((ureal)y + (ureal)0.5) - step[1], splat(0));
        i64 to = motion_row * (i64)ntile + tile, place = local_row * (i64)ntile + tile;
        for (int k = 0; k < 2 && motion; ++k)
            scatter_if(live, motion + 2 * (first[to] + (i64)y * pitch[to] + x) + k, lane() + lane(), step[k]);
        for (int k = 0; k < 3 && local; ++k)
            scatter_if(live, local + 3 * (first[place] + (i64)y * pitch[place] + x) + k, triple,
                       select(hit, in_body[k], nowhere));
    }
}

/* Keeps the transforms of the listed worlds, a block each. */
item_kernel void k_surface_keep(const wreal *xform, int nitem, const int *worlds, ureal *before, int block)
{
    int world = worlds[block];
    each (i, nitem) before[(i64)world * nitem + i] = of_world(xform, nitem, world, i);
}

/* Forgets the transforms of one prim in a block's world. */
item_kernel void k_surface_drop(ureal *before, int nitem, int prim, int block)
{
    each (k, 12) before[(i64)block * nitem + prim * 12 + k] = 0;
}
