/*
 * Gradients of contacts and of geoms: what the functions of this folder take and give.
 *
 * A geom's gradient is a force and a torque about its place: where the geom moves by dx and turns by dr (a small
 * vector, both along the axes of the world), the result grows by force · dx + torque · dr. Everything is added.
 */
#ifndef STI_PHYSICS_GRADIENT_CONTACT_GRAD_K_H
#define STI_PHYSICS_GRADIENT_CONTACT_GRAD_K_H
#include "physics/collide/convex.k.h"

/* mjtGeom's numbers of what has no core; CONVEX_… are the others. */
#define GRAD_PLANE 0
#define GRAD_HFIELD 1

typedef struct contact_grad {
    real dist, pos[3], frame[9];
} contact_grad;

typedef struct geom_grad {
    real force[3], torque[3], size[3];
} geom_grad;

/* Two geoms whose contacts are pulled, the first one's type the lower, and their gradients. */
typedef struct contacts_pair {
    convex a, b; /* a height field: its `hull` is where its record is */
    geom_grad a_grad, b_grad;
} contacts_pair;

LFN void geom_grad_clear(geom_grad *g)
{
    for (int k = 0; k < 3; ++k) {
        g->force[k] = splat(0);
        g->torque[k] = splat(0);
        g->size[k] = splat(0);
    }
}

/* m += a x b */
LFN void v3_add_cross(const real *a, const real *b, real *out)
{
    real cross[3];
    v3_cross(a, b, cross);
    v3_add(out, cross, out);
}

/* Adds a force on a point of a geom, which is at `arm` from the geom's centre, in some lanes. */
LFN void grad_add_force(mask m, const real *arm, const real *force, geom_grad *g)
{
    real cross[3];
    v3_cross(arm, force, cross);
    for (int k = 0; k < 3; ++k) {
        g->force[k] = g->force[k] + select(m, force[k], splat(0));
        g->torque[k] = g->torque[k] + select(m, cross[k], splat(0));
    }
}

/* Adds the gradient of a direction that turns with a geom. */
LFN void grad_add_turn(mask m, const real *direction, const real *gradient, geom_grad *g)
{
    real cross[3];
    v3_cross(direction, gradient, cross);
    for (int k = 0; k < 3; ++k) g->torque[k] = g->torque[k] + select(m, cross[k], splat(0));
}

/*
 * What a force on a point of the core does to the sizes, where the core grows with them: a point at x of the geom's
 * axis k moves by x / size[k]. Corners, edges and faces do; along an edge or a face there is no force.
 */
LFN void grad_add_size(mask m, const convex *c, const real *arm, const real *force, geom_grad *g)
{
    if (c->type != CONVEX_CAPSULE && c->type != CONVEX_CYLINDER && c->type != CONVEX_BOX) return;
    real at[3], local[3];
    m3_mul_transposed(c->g.mat, arm, at);
    m3_mul_transposed(c->g.mat, force, local);
    for (int k = 0; k < 3; ++k) {
        int i = c->type == CONVEX_BOX ? k : k == 2 ? 1 : 0;
        if (c->type == CONVEX_CAPSULE && k < 2) continue;
        mask some = m_and(m, gt(c->g.size[i], splat(0)));
        g->size[i] = g->size[i] + select(some, local[k] * at[k] / select(some, c->g.size[i], splat(1)), splat(0));
    }
}

/* A point of the core: the force, and what it does to the sizes. */
LFN void grad_add_point(mask m, const convex *c, const real *arm, const real *force, geom_grad *g)
{
    grad_add_force(m, arm, force, g);
    grad_add_size(m, c, arm, force, g);
}

/*
 * From the gradient of a frame (contact_frame) to those of the normal and the hint; both are set. The hint's is 0 where
 * there is none. Where contact_frame changes from one axis to another, that of the axis taken.
 */
LFN void contact_frame_pull(const real *normal, const real *hint, const real *frame_grad, real *normal_grad,
                            real *hint_grad)
{
    real frame[9], axis[3], from_tangent[3], cross[3], grown[3];
    contact_frame(normal, hint, frame);
    mask tilted = lt(rabs(normal[1]), splat((ureal)0.5)), hinted = ge(v3_dot(hint, hint), splat((ureal)0.25));
    axis[0] = select(hinted, hint[0], splat(0));
    axis[1] = select(hinted, hint[1], select(tilted, splat(1), splat(0)));
    axis[2] = select(hinted, hint[2], select(tilted, splat(0), splat(1)));

    /* side = normal x tangent */
    const real *tangent = frame + 3, *side_grad = frame_grad + 6;
    v3_cross(tangent, side_grad, cross);
    v3_add(frame_grad, cross, normal_grad);
    v3_cross(side_grad, normal, cross);
    v3_add(frame_grad + 3, cross, from_tangent);

    /* tangent = u / |u|, u = axis - normal (normal · axis) */
    real along = v3_dot(normal, axis);
    v3_add_scaled(axis, normal, -along, grown);
    real length = sqrt(v3_dot(grown, grown));
    v3_add_scaled(from_tangent, tangent, -v3_dot(tangent, from_tangent), from_tangent);
    mask across_all = lt(length, splat(PHYSICS_MINVAL)); /* an axis along the normal: contact_frame takes another */
    v3_scale(from_tangent, select(across_all, splat(0), splat(1) / select(across_all, splat(1), length)), from_tangent);
    real across = v3_dot(normal, from_tangent);
    for (int k = 0; k < 3; ++k) {
        normal_grad[k] = normal_grad[k] - fma(from_tangent[k], along, axis[k] * across);
        hint_grad[k] = select(hinted, fma(normal[k], -across, from_tangent[k]), splat(0));
    }
}

#endif
