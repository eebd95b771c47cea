/* Single rays against one geom: what sensors and tests cast. Kind item. */
#ifndef RAY_TYPES
#define RAY_TYPES 0x3ff /* with cones */
#endif
#include "geom/ray.k.h"

#define PROBE_BLOCK 64 /* rays of a block */

/*
 * nray rays, origin and direction [nray * 3] in the frame of geom number `geom`; type … elevation: sti_geoms (geom.h).
 * Writes t [nray], the distance in units of the direction (-1: no hit before tmax), and normal [nray * 3] (zeros: no
 * hit), unit, out of the solid, in the geom's frame. Blocks: nray / 64, rounded up.
 */
item_kernel void k_ray_probe(const int *type, const ureal *size, const int *data, const ureal *node, const ureal *tri,
                             const ureal *elevation, const ureal *origin, const ureal *direction, int nray, ureal tmax,
                             ureal *t, ureal *normal, int geom, int block)
{
    ray_range range = {0, 0, 0};
    items (p, PROBE_BLOCK) {
        int first = block * PROBE_BLOCK + p;
        mask live = in_range(first, nray);
        lint ray = imin(isplat(first) + lane(), isplat(nray - 1));
        real o[3], d[3], n[3], hit = splat(-1);
        int part[STET_W] = {0};
        for (int k = 0; k < 3; ++k) {
            o[k] = gather(origin, ray * isplat(3) + isplat(k));
            d[k] = gather(direction, ray * isplat(3) + isplat(k));
            n[k] = splat(0);
        }
        ray_lanes rays = {o, d, live};
        ray_hit nearest = {&hit, n, part};
        ray_shapes shapes = {data + 4 * geom, node, tri, elevation};
        ray_geom(range, type[geom], size + 4 * geom, shapes, rays, splat(tmax), nearest);
        store_if(live, t + first, hit);
        for (int k = 0; k < 3; ++k) scatter_if(live, normal, ray * isplat(3) + isplat(k), n[k]);
    }
}
