/*
 * Where the gradient of a time step keeps what it works with: behind a step's memory, from nmemory(w) on. C and
 * kernels include this header.
 *
 * A field is what a vector over dofs makes of bodies, as their velocities are made of qvel: a spatial motion about the
 * centre of mass of the body's tree. A bar is a gradient.
 */
#ifndef STI_PHYSICS_GRADIENT_MEMORY_K_H
#define STI_PHYSICS_GRADIENT_MEMORY_K_H

/* vectors over dofs */
#define GD_Z 0     /* z = H^-1 times the gradient of qacc */
#define GD_ACT 1   /* z, but 0 where the limit of a joint holds the force of its actuators */
#define GD_W 2     /* w: what the implicit integrator's matrix makes of the gradient of velocities */
#define GD_MORE 3  /* what the integrator adds to qacc */
#define GD_TURN 4  /* the gradient by positions, as if they moved with velocities */
#define GD_SPEED 5 /* by qvel */
#define GD_STEP 6  /* by the velocities after the step, times the time step */
#define GD_AFTER 7 /* bars of what moves joints after a step */
#define GD_VECTORS 8

/* fields, then bars of bodies: six reals each */
#define GB_Z 0
#define GB_ACC 1 /* of qacc */
#define GB_W 2
#define GB_MORE 3
#define GB_FORCE 4       /* the bar of GB_Z: a force */
#define GB_MOMENTUM 5    /* of cacc, with qacc */
#define GB_PUSH 6        /* of GB_ACC by itself */
#define GB_SPEED 7       /* of cvel */
#define GB_POSE 8        /* of the body's pose, while all fields of the body move with it */
#define GB_W_FORCE 9     /* of GB_W */
#define GB_W_MOMENTUM 10 /* of GB_MORE */
#define GB_FIELDS 11

/* numbers of tendons */
#define GT_Z 0      /* ten_J z */
#define GT_LENGTH 1 /* bars: of ten_length, */
#define GT_BY_Z 2   /* of ten_J z, */
#define GT_BY_ACC 3 /* of ten_J qacc, */
#define GT_SPEED 4  /* of ten_velocity */
#define GT_NUMBERS 5

/* bars of activations */
#define GA_ACT 0
#define GA_DOT 1
#define GA_VECTORS 2

/* of each stage of Runge-Kutta's integrator: positions, velocities, their rates, accelerations, activations, act_dot */
#define PH_STAGE_REALS(m) ((m)[M_NQ] + 3 * (m)[M_NV] + 2 * (m)[M_NA])
/* and bars of sums over stages, of one stage's rates and accelerations, of the state before it; then of activations */
#define GR_RATES 0
#define GR_ACCS 1
#define GR_RATE 2
#define GR_ACC 3
#define GR_TURN 4
#define GR_SPEED 5
#define GR_VECTORS 6
#define PH_RK_REALS(m)                                                                                                 \
    ((m)[M_INTEGRATOR] == PH_RK4 ? 4 * PH_STAGE_REALS(m) + GR_VECTORS * (m)[M_NV] + 2 * (m)[M_NA] : 0)

/* gradients of parameters: none; those that are asked for; so, and if there were damping, it would be implicit */
#define PH_WANTED_NONE 0
#define PH_WANTED 1
#define PH_WANTED_DAMPED 2

#define PH_DOFS(k) (w.memory + nmemory(w) + (k)*nv(w))
#define PH_BODIES(k) (w.memory + nmemory(w) + GD_VECTORS * nv(w) + 6 * (k)*nbody(w))
#define PH_TENDONS(k) (w.memory + nmemory(w) + GD_VECTORS * nv(w) + 6 * GB_FIELDS * nbody(w) + (k)*ntendon(w))
#define PH_ACTS(k) (PH_TENDONS(GT_NUMBERS) + (k)*na(w))
#define PH_RK_STAGE(k) (PH_ACTS(GA_VECTORS) + (k)*PH_STAGE_REALS(PH_TABLES(w)))
#define PH_RK_BARS(k) (PH_RK_STAGE(4) + (k)*nv(w))
#define PH_RK_ACTS(k) (PH_RK_BARS(GR_VECTORS) + (k)*na(w))
/* Contacts of near pairs (contact.k.h), as much as the solver would have for them */
#define PH_KEPT_REALS(m) ((m)[W_EFC_J] - (m)[W_EFC_FORCE])
#define PH_KEPT(w) ((w).memory + PH_GRADIENT_MEMORY(PH_TABLES(w)) - PH_KEPT_REALS(PH_TABLES(w)))
/* Reals of a team's memory, with those of a step. */
#define PH_GRADIENT_MEMORY(m)                                                                                          \
    ((m)[M_NMEMORY] + GD_VECTORS * (m)[M_NV] + 6 * GB_FIELDS * (m)[M_NBODY] + GT_NUMBERS * (m)[M_NTENDON] +            \
     GA_VECTORS * (m)[M_NA] + PH_RK_REALS(m) + PH_KEPT_REALS(m))

#endif
