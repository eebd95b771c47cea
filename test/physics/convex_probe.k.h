/* Pairs of convex geoms as arrays, as in collide_probe.k.h; `type` are the two types, `hull` the hulls' places in `vertices`. */
#include "physics/collide/convex_pair.k.h"
#include "physics/collide_arrays.k.h"

item_kernel void k_probe_convex(const ureal *in, ureal *out, const ureal *vertices, const int *shape, int padded,
                                int block)
{
    int first = block * 256;
    items(p, 256) {
        geom first_geom, second_geom;
        convex a, b;
        contact con[1];
        probe_geom(in + first + p, padded, &first_geom);
        probe_geom(in + first + p + 15 * padded, padded, &second_geom);
        convex_of_geom(&first_geom, shape[0], shape[1], shape[2], &a);
        convex_of_geom(&second_geom, shape[3], shape[4], shape[5], &b);
        real margin = load(in + first + p + 30 * padded);
        collide_convex(&a, &b, vertices, margin, (ureal)1e-6, 35, m_all(), con);
        probe_contacts(con, 1, out + first + p, padded);
    }
}
