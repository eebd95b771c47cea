/* The analytic collision functions, applied to arrays (collide_arrays.k.h). A block is 256 pairs. */
#include "physics/collide/box.k.h"
#include "physics/collide/box_box.k.h"
#include "physics/collide/plane.k.h"
#include "physics/collide/round.k.h"
#include "test/physics/collide_arrays.k.h"

LFN void probe_capsule_box(const geom *a, const geom *b, real margin, contact *con)
{
    collide_capsule_box(a, b, margin, m_all(), con);
}

#define PROBE(n, call)                                                                                                 \
    int first = block * 256;                                                                                           \
    items (p, 256) {                                                                                                   \
        geom a, b;                                                                                                     \
        contact con[n];                                                                                                \
        probe_geom(in + first + p, padded, &a);                                                                        \
        probe_geom(in + first + p + 15 * padded, padded, &b);                                                          \
        real margin = load(in + first + p + 30 * padded);                                                              \
        call(&a, &b, margin, con);                                                                                     \
        probe_contacts(con, n, out + first + p, padded);                                                               \
    }

item_kernel void k_probe_plane_sphere(const ureal *in, ureal *out, int padded,
                                      int block){PROBE(1, collide_plane_sphere)} item_kernel
    void k_probe_plane_capsule(const ureal *in, ureal *out, int padded,
                               int block){PROBE(2, collide_plane_capsule)} item_kernel
    void k_probe_plane_ellipsoid(const ureal *in, ureal *out, int padded,
                                 int block){PROBE(1, collide_plane_ellipsoid)} item_kernel
    void k_probe_plane_cylinder(const ureal *in, ureal *out, int padded,
                                int block){PROBE(PLANE_CYLINDER_CONTACTS, collide_plane_cylinder)} item_kernel
    void k_probe_plane_box(const ureal *in, ureal *out, int padded,
                           int block){PROBE(PLANE_BOX_CONTACTS, collide_plane_box)} item_kernel
    void k_probe_sphere_sphere(const ureal *in, ureal *out, int padded,
                               int block){PROBE(1, collide_sphere_sphere)} item_kernel
    void k_probe_sphere_capsule(const ureal *in, ureal *out, int padded,
                                int block){PROBE(1, collide_sphere_capsule)} item_kernel
    void k_probe_sphere_cylinder(const ureal *in, ureal *out, int padded,
                                 int block){PROBE(1, collide_sphere_cylinder)} item_kernel
    void k_probe_capsule_capsule(const ureal *in, ureal *out, int padded,
                                 int block){PROBE(CAPSULE_CAPSULE_CONTACTS, collide_capsule_capsule)} item_kernel
    void k_probe_sphere_box(const ureal *in, ureal *out, int padded,
                            int block){PROBE(1, collide_sphere_box)} item_kernel
    void k_probe_capsule_box(const ureal *in, ureal *out, int padded,
                             int block){PROBE(CAPSULE_BOX_CONTACTS, probe_capsule_box)} item_kernel
    void k_probe_box_box(const ureal *in, ureal *out, int padded, int block)
{
    PROBE(BOX_BOX_CONTACTS, collide_box_box)
}
