/*
 * From the gradients of a pair's contacts to those of both geoms. The pair's contacts are those that the functions of
 * physics/collide found for the same geoms, all slots of them; what they do not say is worked out again.
 *
 * Features are held. The margin decides only whether there is a contact, so it has no gradient.
 */
#ifndef STI_PHYSICS_GRADIENT_CONTACT_CONTACTS_K_H
#define STI_PHYSICS_GRADIENT_CONTACT_CONTACTS_K_H
#include "physics/gradient/contact/held.k.h"

/* Have the contacts of two types of geoms (mjtGeom's, the lower one first) a derivative here? */
LFN int contacts_have_gradient(int first, int second)
{
    int plane = first == GRAD_PLANE && second >= CONVEX_SPHERE && second <= CONVEX_MESH && second != CONVEX_CYLINDER;
    int round = first == CONVEX_SPHERE && second <= CONVEX_MESH;
    return plane || round || (first == CONVEX_CAPSULE && second == CONVEX_CAPSULE);
}

/*
 * Adds what the contacts of a pair give to its geoms, in some lanes. `n`: the slots of `con`, of which those that hit
 * count, and of `grad`, the gradients of their distances, positions and frames (contact_frame; on a plane a capsule's
 * first tangent follows its axis). `tolerance`, `iterations`: as they were found with. The types are those of
 * contacts_have_gradient. Gives the lanes in which all contacts have a derivative; what has none (features that are
 * parallel or coincide, so that the contact jumps) adds nothing.
 */
LFN mask contacts_pull(const convex *a, const convex *b, const int *tables, const ureal *reals, ureal tolerance,
                       int iterations, const contact *con, int n, const contact_grad *grad, mask lanes,
                       geom_grad *a_grad, geom_grad *b_grad)
{
    (void)tolerance;
    (void)iterations;
    mask all_sure = m_all();
    real hint[3], hint_grad[3], normal_grad[3], zero3[3], frame[9];
    int on_plane = a->type == GRAD_PLANE, hinted = on_plane && b->type == CONVEX_CAPSULE;
    for (int k = 0; k < 3; ++k) {
        zero3[k] = splat(0);
        hint[k] = splat(0);
    }
    if (hinted) m3_column(b->g.mat, 2, hint);
    rolled for (int i = 0; i < n; ++i)
    {
        held p, q;
        mask here = m_and(lanes, con[i].hit);
        if (!any(here)) continue;
        contact_frame_pull(con[i].normal, hint, grad[i].frame, normal_grad, hint_grad);
        if (hinted) grad_add_turn(here, hint, hint_grad, b_grad);
        contact_frame(con[i].normal, zero3, frame);
        held_find(a, tables, reals, con + i, 1, frame, &p);
        held_find(b, tables, reals, con + i, -1, frame, &q);
        if (on_plane && b->type != CONVEX_ELLIPSOID) { /* one of the lowest corners, or a capsule's end */
            q.edge = m_none();
            q.face = m_none();
        }
        mask sure =
            held_pull(a, &p, b, &q, frame, con[i].dist, grad[i].dist, grad[i].pos, normal_grad, here, a_grad, b_grad);
        all_sure = m_andnot(all_sure, m_andnot(here, sure));
    }
    return all_sure;
}

#endif
