/*
 * Random models: trees of bodies with joints of all types, inertias, springs, dampers, armature, gravity compensation,
 * tendons, actuators, mocap bodies, sites, limits, friction loss, equalities, fluids. Those that touch have contacts,
 * too: of a floor and of geoms of all primitive types, with 1, 3, 4 or 6 dimensions, of which a model leaves some out,
 * both cones, pairs with contacts of their own, margins; gaps; and sensors of bodies and of contacts.
 */
#ifndef TEST_PHYSICS_TREES_H
#define TEST_PHYSICS_TREES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mujoco/mujoco.h>

/* How many models had one of these. */
typedef struct tree_counts {
    int models, refused, bodies, free, ball, slide, hinge, springs, dampers, polynomials, gravcomp, tendons, spatial,
        actuators, mocap, integrators[5], limits, losses, equalities, fluids, ellipsoids, dims[7], elliptic, pairs,
        margins, noslip, contact_sensors, muscles, site_actuators, adhesion, motors, controllers, orientations, pasts;
} tree_counts;

/* Writes the text of one model; counts what was drawn. */
void tree_draw(uint64_t *dice, char *out, size_t size, bool touching, tree_counts *counts);
/* The same of what steps have gradients of, with contacts that need no search. */
void tree_draw_graded(uint64_t *dice, char *out, size_t size, bool touching, tree_counts *counts);
/* Does something move each tendon and body that may be constrained? Rows of rounding alone have forces of rounding. */
bool tree_has_moments(const mjModel *model);
void tree_print(const tree_counts *counts);

#endif
