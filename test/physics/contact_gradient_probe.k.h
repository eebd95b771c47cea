/*
 * Gradients of contacts as arrays (collide_arrays.k.h). `slopes` [slot][13][padded] are the gradients of distance,
 * position and frame; out [19][padded]: force, torque and sizes of each geom, and 1 where there is a derivative.
 */
#define STET_CALLS 1
#include "physics/collide/box.k.h"
#include "physics/collide/box_box.k.h"
#include "physics/collide/hfield.k.h"
#include "physics/collide/manifold.k.h"
#include "physics/collide/plane_mesh.k.h"
#include "physics/collide/round.k.h"
#include "physics/gradient/contact/contacts.k.h"
#include "test/physics/collide_arrays.k.h"
#include "test/physics/contact_gradient_probe.h"

/* As ph_collide (physics/contact/contact.k.h) does: how many slots are filled in. */
LFN int probe_collide(const convex *a, const convex *b, const int *tables, const ureal *reals, real margin,
                      ureal tolerance, int iterations, contact *con)
{
    int first = a->type, second = b->type;
    convex_search search = {tables, reals, margin, splat(tolerance), iterations};
    contact_clear(con, PROBE_SLOTS);
    if (first == GRAD_PLANE) {
        if (second == CONVEX_SPHERE) collide_plane_sphere(&a->g, &b->g, margin, con);
        if (second == CONVEX_CAPSULE) collide_plane_capsule(&a->g, &b->g, margin, con);
        if (second == CONVEX_ELLIPSOID) collide_plane_ellipsoid(&a->g, &b->g, margin, con);
        if (second == CONVEX_CYLINDER) collide_plane_cylinder(&a->g, &b->g, margin, con);
        if (second == CONVEX_BOX) collide_plane_box(&a->g, &b->g, margin, con);
        if (second == CONVEX_MESH) collide_plane_mesh(&a->g, &b->g, tables + b->hull, tables, reals, margin, con);
        return 4;
    }
    if (first == GRAD_HFIELD) {
        const int *record = tables + a->hull;
        const ureal *size = reals + record[2];
        hfield f;
        convex c = *b;
        hfield_of_size(size, record[0], record[1], &f);
        int n = collide_hfield(&a->g, &f, size + 4, &c, search, m_all(), con);
        return n;
    }
    if (first == CONVEX_SPHERE && second == CONVEX_SPHERE) {
        collide_sphere_sphere(&a->g, &b->g, margin, con);
    } else if (first == CONVEX_SPHERE && second == CONVEX_CAPSULE) {
        collide_sphere_capsule(&a->g, &b->g, margin, con);
    } else if (first == CONVEX_SPHERE && second == CONVEX_CYLINDER) {
        collide_sphere_cylinder(&a->g, &b->g, margin, con);
    } else if (first == CONVEX_SPHERE && second == CONVEX_BOX) {
        collide_sphere_box(&a->g, &b->g, margin, con);
    } else if (first == CONVEX_CAPSULE && second == CONVEX_CAPSULE) {
        collide_capsule_capsule(&a->g, &b->g, margin, con);
    } else if (first == CONVEX_CAPSULE && second == CONVEX_BOX) {
        collide_capsule_box(&a->g, &b->g, margin, m_all(), con);
    } else if (first == CONVEX_BOX && second == CONVEX_BOX) {
        collide_box_box(&a->g, &b->g, margin, con);
        return BOX_BOX_CONTACTS;
    } else {
        collide_convex(a, b, search, m_all(), con);
        con[MANIFOLD_FIRST] = con[0];
        int flat = first >= CONVEX_CAPSULE && first != CONVEX_ELLIPSOID && second != CONVEX_ELLIPSOID;
        if (flat && any(con->hit)) collide_manifold(a, b, tables, reals, margin, con);
        return 4;
    }
    return 2;
}

LFN void probe_pair(const ureal *in, const int *tables, int padded, contacts_pair *pair)
{
    geom a, b;
    probe_geom(in, padded, &a);
    probe_geom(in + 15 * padded, padded, &b);
    convex_of_geom(&a, tables[0], tables[1], &pair->a);
    convex_of_geom(&b, tables[2], tables[3], &pair->b);
    geom_grad_clear(&pair->a_grad);
    geom_grad_clear(&pair->b_grad);
}

/*
 * The contacts: their distances, positions and normals, as other probes give them. The one contact of smooth surfaces
 * is where its conditions hold, not where the search ended.
 */
item_kernel void k_probe_found(const ureal *in, ureal *out, const int *tables, const ureal *reals, int padded,
                               int block)
{
    int first = block * 256;
    items (p, 256) {
        contacts_pair pair;
        contact con[PROBE_SLOTS], one;
        probe_pair(in + first + p, tables, padded, &pair);
        real margin = load(in + first + p + 30 * padded);
        int n =
            probe_collide(&pair.a, &pair.b, tables + 4, reals, margin, (ureal)PROBE_TOLERANCE, PROBE_ITERATIONS, con);
        contact_clear(con + n, PROBE_SLOTS - n);
        if (pair.a.type == GRAD_HFIELD) {
            for (int i = 0; contacts_are_rough(&pair) && i < PROBE_SLOTS; ++i) {
                convex prism;
                hfield_prism_of(&pair.a, tables + 4, reals, con + i, &prism);
                held_refine(&prism, &pair.b, tables + 4, reals, con[i].hit, con + i);
            }
        } else if (contacts_are_rough(&pair)) {
            convex_search search = {tables + 4, reals, margin, splat((ureal)PROBE_TOLERANCE), PROBE_ITERATIONS};
            collide_convex(&pair.a, &pair.b, search, m_all(), &one);
            mask same = m_and(eq(one.dist, con->dist), eq(one.pos[0], con->pos[0]));
            held_refine(&pair.a, &pair.b, tables + 4, reals, same, con);
        }
        probe_contacts(con, PROBE_SLOTS, out + first + p, padded);
    }
}

item_kernel void k_probe_pull(const ureal *in, ureal *out, const ureal *slopes, const int *tables, const ureal *reals,
                              int padded, int block)
{
    int first = block * 256;
    items (p, 256) {
        contacts_pair pair;
        contact con[PROBE_SLOTS];
        contact_grad grad[PROBE_SLOTS];
        geom_grad to[2];
        probe_pair(in + first + p, tables, padded, &pair);
        int n = probe_collide(&pair.a, &pair.b, tables + 4, reals, load(in + first + p + 30 * padded),
                              (ureal)PROBE_TOLERANCE, PROBE_ITERATIONS, con);
        for (int i = 0; i < PROBE_SLOTS; ++i) {
            const ureal *s = slopes + first + p + i * 13 * padded;
            grad[i].dist = load(s);
            for (int k = 0; k < 3; ++k) grad[i].pos[k] = load(s + (1 + k) * padded);
            for (int k = 0; k < 9; ++k) grad[i].frame[k] = load(s + (4 + k) * padded);
        }
        mask sure = contacts_pull(&pair, tables + 4, reals, con, n, grad, m_all());
        to[0] = pair.a_grad;
        to[1] = pair.b_grad;
        for (int g = 0; g < 2; ++g)
            for (int k = 0; k < 3; ++k) {
                ureal *o = out + first + p + (9 * g + k) * padded;
                store(o, to[g].force[k]);
                store(o + 3 * padded, to[g].torque[k]);
                store(o + 6 * padded, to[g].size[k]);
            }
        store(out + first + p + 18 * padded, select(sure, splat(1), splat(0)));
    }
}
