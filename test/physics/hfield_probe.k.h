/* A height field and a convex geom as arrays (collide_arrays.k.h). `tables`: rows, columns, the type of the geom. */
#include "physics/collide/hfield.k.h"
#include "test/physics/collide_arrays.k.h"

item_kernel void k_probe_hfield(const ureal *in, ureal *out, const int *tables, const ureal *heights, const ureal *size,
                                int padded, int block)
{
    int first = block * 256;
    items (p, 256) {
        geom a, b;
        convex c;
        hfield field;
        contact con[HFIELD_CONTACTS];
        probe_geom(in + first + p, padded, &a);
        probe_geom(in + first + p + 15 * padded, padded, &b);
        convex_of_geom(&b, tables[2], 0, &c);
        real margin = load(in + first + p + 30 * padded);
        contact_clear(con, HFIELD_CONTACTS);
        hfield_of_size(size, tables[0], tables[1], &field);
        convex_search search = {tables, heights, margin, splat((ureal)1e-6), 35};
        collide_hfield(&a, &field, heights, &c, search, m_all(), con);
        probe_contacts(con, HFIELD_CONTACTS, out + first + p, padded);
    }
}
