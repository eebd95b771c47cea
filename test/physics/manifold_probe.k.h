/* Convex pairs with further contacts as arrays (convex_probe.k.h). */
#include "physics/collide/manifold.k.h"
#include "test/physics/collide_arrays.k.h"

item_kernel void k_probe_manifold(const ureal *in, ureal *out, const int *tables, const ureal *reals, int padded,
                                  int block)
{
    int first = block * 256;
    items (p, 256) {
        geom first_geom, second_geom;
        convex a, b;
        contact con[MANIFOLD_CONTACTS];
        probe_geom(in + first + p, padded, &first_geom);
        probe_geom(in + first + p + 15 * padded, padded, &second_geom);
        convex_of_geom(&first_geom, tables[0], tables[1], &a);
        convex_of_geom(&second_geom, tables[2], tables[3], &b);
        real margin = load(in + first + p + 30 * padded);
        convex_search search = {tables + 4, reals, margin, splat((ureal)1e-6), 35};
        collide_convex(&a, &b, search, m_all(), con);
        collide_manifold(&a, &b, tables + 4, reals, margin, con);
        probe_contacts(con, MANIFOLD_CONTACTS, out + first + p, padded);
    }
}
