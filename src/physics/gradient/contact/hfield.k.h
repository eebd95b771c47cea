/*
 * Contacts of a height field: each is one of a prism (physics/collide/prism.k.h) and the other geom. The prism is that
 * under the contact, or one beside it: the one whose surface the contact's point is on.
 */
#ifndef STI_PHYSICS_GRADIENT_CONTACT_HFIELD_K_H
#define STI_PHYSICS_GRADIENT_CONTACT_HFIELD_K_H
#include "physics/collide/hfield.k.h"
#include "physics/gradient/contact/held.k.h"

/* The prism of a contact: its corners are in the field's frame, and it is where the field is. */
LFN void hfield_prism_of(const convex *field, const int *tables, const ureal *reals, const contact *con, convex *out)
{
    const int *record = tables + field->hull;
    const ureal *size = reals + record[2];
    hfield f;
    convex prism;
    real from[3], at[3], way[3], least = splat(CONVEX_FAR), zero = splat(0);
    hfield_of_size(size, record[0], record[1], &f);
    v3_sub(con->pos, field->g.pos, from);
    v3_add_scaled(from, con->normal, splat((ureal)-0.5) * con->dist, from);
    m3_mul_transposed(field->g.mat, from, at);
    m3_mul_transposed(field->g.mat, con->normal, way);
    convex_of_geom(&field->g, CONVEX_PRISM, 0, out);
    prism = *out;
    lint cell[2];
    for (int k = 0; k < 2; ++k) {
        ureal last = (ureal)((k == 0 ? f.ncol : f.nrow) - 2);
        cell[k] = to_int(clamp(floor((at[k] + splat(f.size[k])) / splat(f.cell[k])), zero, splat(last)));
    }
    rolled
    for (int i = 0; i < 18; ++i) {
        lint column = cell[0] + isplat(i / 2 % 3 - 1), row = cell[1] + isplat(i / 6 - 1);
        mask inside = m_and(igt(column, isplat(-1)), igt(row, isplat(-1)));
        inside = m_and(inside, m_and(ilt(column, isplat(f.ncol - 1)), ilt(row, isplat(f.nrow - 1))));
        real height[4], place[3], farthest[3], gap[3];
        hfield_heights(&f, size + 4, iselect(inside, row, isplat(0)), iselect(inside, column, isplat(0)), height);
        hfield_prism(&f, height, i % 2, &prism);
        place[0] = fma(to_real(column), splat(f.cell[0]), splat(-f.size[0]));
        place[1] = fma(to_real(row), splat(f.cell[1]), splat(-f.size[1]));
        place[2] = zero;
        for (int c = 0; c < 6; ++c) v3_add(prism.corner[c], place, prism.corner[c]);
        prism_support(&prism, way, farthest);
        v3_sub(farthest, at, gap);
        real off = rabs(v3_dot(gap, way)), level = splat(HELD_LEVEL * f.cell[0]);
        for (int c = 0; c < 6; ++c) { /* of two prisms that share an edge, the one whose face it is */
            v3_sub(farthest, prism.corner[c], gap);
            off = off - select(lt(v3_dot(gap, way), level), level, zero);
        }
        /* on the surface, and not only in its plane */
        for (int k = 0; k < 2; ++k) {
            real middle = place[k] + splat((ureal)0.5 * f.cell[k]);
            off = off + rmax(zero, rabs(at[k] - middle) - splat((ureal)0.5 * f.cell[k]));
        }
        mask nearer = m_and(inside, lt(off, least));
        least = select(nearer, off, least);
        for (int c = 0; c < 6; ++c) v3_select(nearer, prism.corner[c], out->corner[c], out->corner[c]);
    }
}

#endif
