/*
 * The analytic collision functions, applied to arrays: lanes are pairs of geoms. `in` [PROBE_IN][padded] holds poses,
 * sizes and the margin, `out` [slot][PROBE_OUT][padded] the contacts. A block is 256 pairs; `padded` is a multiple.
 */
#include "physics/collide/box.k.h"
#include "physics/collide/box_box.k.h"
#include "physics/collide/plane.k.h"
#include "physics/collide/round.k.h"
#include "physics/collide_probe.h"

LFN void probe_geom(const ureal *in, int padded, geom *g)
{
    for (int k = 0; k < 3; ++k) g->pos[k] = load(in + k * padded);
    for (int k = 0; k < 9; ++k) g->mat[k] = load(in + (3 + k) * padded);
    for (int k = 0; k < 3; ++k) g->size[k] = load(in + (12 + k) * padded);
}

LFN void probe_contacts(const contact *con, int n, ureal *out, int padded)
{
    for (int i = 0; i < n; ++i) {
        ureal *o = out + i * PROBE_OUT * padded;
        store(o, select(con[i].hit, splat(1), splat(0)));
        store(o + padded, select(con[i].hit, con[i].dist, splat(0)));
        for (int k = 0; k < 3; ++k) {
            store(o + (2 + k) * padded, select(con[i].hit, con[i].pos[k], splat(0)));
            store(o + (5 + k) * padded, select(con[i].hit, con[i].normal[k], splat(0)));
        }
    }
}

#define PROBE(n, call)                                                                                                 \
    int first = block * 256;                                                                                           \
    items(p, 256) {                                                                                                    \
        geom a, b;                                                                                                     \
        contact con[n];                                                                                                \
        probe_geom(in + first + p, padded, &a);                                                                        \
        probe_geom(in + first + p + 15 * padded, padded, &b);                                                          \
        real margin = load(in + first + p + 30 * padded);                                                              \
        call(&a, &b, margin, con);                                                                                     \
        probe_contacts(con, n, out + first + p, padded);                                                               \
    }

item_kernel void k_probe_plane_sphere(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(1, collide_plane_sphere)
}
item_kernel void k_probe_plane_capsule(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(2, collide_plane_capsule)
}
item_kernel void k_probe_plane_ellipsoid(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(1, collide_plane_ellipsoid)
}
item_kernel void k_probe_plane_cylinder(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(PLANE_CYLINDER_CONTACTS, collide_plane_cylinder)
}
item_kernel void k_probe_plane_box(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(PLANE_BOX_CONTACTS, collide_plane_box)
}
item_kernel void k_probe_sphere_sphere(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(1, collide_sphere_sphere)
}
item_kernel void k_probe_sphere_capsule(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(1, collide_sphere_capsule)
}
item_kernel void k_probe_sphere_cylinder(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(1, collide_sphere_cylinder)
}
item_kernel void k_probe_capsule_capsule(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(CAPSULE_CAPSULE_CONTACTS, collide_capsule_capsule)
}
item_kernel void k_probe_sphere_box(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(1, collide_sphere_box)
}
item_kernel void k_probe_capsule_box(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(CAPSULE_BOX_CONTACTS, collide_capsule_box)
}
item_kernel void k_probe_box_box(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(BOX_BOX_CONTACTS, collide_box_box)
}
