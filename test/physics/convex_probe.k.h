/*
 * Pairs with convex geoms and meshes as arrays (collide_arrays.k.h). `tables` begins with the type of each geom and the
 * place of its hull's record in the table of hulls, which follows.
 */
#include "physics/collide/broad.k.h"
#include "physics/collide/convex_pair.k.h"
#include "physics/collide/plane_mesh.k.h"
#include "test/physics/collide_arrays.k.h"

item_kernel void k_probe_plane_mesh(const ureal *in, ureal *out, const int *tables, const ureal *reals, int padded,
                                    int block)
{
    int first = block * 256;
    items (p, 256) {
        geom a, b;
        contact con[PLANE_MESH_CONTACTS];
        probe_geom(in + first + p, padded, &a);
        probe_geom(in + first + p + 15 * padded, padded, &b);
        collide_plane_mesh(&a, &b, tables + 4 + tables[3], tables + 4, reals, load(in + first + p + 30 * padded), con);
        probe_contacts(con, PLANE_MESH_CONTACTS, out + first + p, padded);
    }
}

item_kernel void k_probe_convex(const ureal *in, ureal *out, const int *tables, const ureal *reals, int padded,
                                int block)
{
    int first = block * 256;
    items (p, 256) {
        geom first_geom, second_geom;
        convex a, b;
        contact con[1];
        probe_geom(in + first + p, padded, &first_geom);
        probe_geom(in + first + p + 15 * padded, padded, &second_geom);
        convex_of_geom(&first_geom, tables[0], tables[1], &a);
        convex_of_geom(&second_geom, tables[2], tables[3], &b);
        real margin = load(in + first + p + 30 * padded);
        convex_search search = {tables + 4, reals, margin, splat((ureal)1e-6), 35};
        collide_convex(&a, &b, search, m_all(), con);
        probe_contacts(con, 1, out + first + p, padded);
    }
}

/*
 * Rows of out: 1 where the bounding spheres, the plane and the sphere, the boxes, the plane and the box are near.
 * `reals`: the radius of each, then the box of each; radius 0: the geom is a box, of its size.
 */
LFN real probe_box(const geom *g, ureal radius, const ureal *from, real *box)
{
    for (int k = 0; k < 6; ++k) box[k] = splat(from[k]);
    if (radius > 0) return splat(radius);
    for (int k = 0; k < 3; ++k) {
        box[k] = splat(0);
        box[3 + k] = g->size[k];
    }
    return sqrt(v3_dot(g->size, g->size));
}

item_kernel void k_probe_broad(const ureal *in, ureal *out, const ureal *reals, int padded, int block)
{
    int first = block * 256;
    items (p, 256) {
        geom a, b;
        probe_geom(in + first + p, padded, &a);
        probe_geom(in + first + p + 15 * padded, padded, &b);
        real margin = load(in + first + p + 30 * padded), box1[6], box2[6];
        real radius1 = probe_box(&a, reals[0], reals + 2, box1), radius2 = probe_box(&b, reals[1], reals + 8, box2);
        real both = (radius1 + radius2 + margin) * splat((ureal)(1 + 1e-5));
        real one = (radius2 + margin) * splat((ureal)(1 + 1e-5));
        mask spheres = spheres_near(a.pos, b.pos, both);
        mask plane = plane_near(a.pos, a.mat, b.pos, one);
        mask boxes = boxes_near(a.pos, a.mat, box1, b.pos, b.mat, box2, near_margin(both, margin));
        mask plane_box = plane_box_near(a.pos, a.mat, b.pos, b.mat, box2, near_margin(one, margin));
        store(out + first + p, select(spheres, splat(1), splat(0)));
        store(out + first + p + padded, select(plane, splat(1), splat(0)));
        store(out + first + p + 2 * padded, select(boxes, splat(1), splat(0)));
        store(out + first + p + 3 * padded, select(plane_box, splat(1), splat(0)));
    }
}
