/* Actuators of a model as tables: what kinds there are, and which dofs each moves. */
#ifndef STI_PHYSICS_ACTUATORS_H
#define STI_PHYSICS_ACTUATORS_H

#include "physics/model/builder.h"

/* How many actuators have a gain, a bias or dynamics of muscles; how many are on sites or slider-cranks. */
int sti_physics_count_muscles(const mjModel *model);
int sti_physics_count_site_actuators(const mjModel *model);
/* How many pull a body to what it touches. */
int sti_physics_count_adhesion(const mjModel *model);
/* DC motors and PID controllers; actuators on relative orientations; controls that are 1 after a reset. */
int sti_physics_count_motors(const mjModel *model);
int sti_physics_count_orientations(const mjModel *model);
int sti_physics_count_quat_controls(const mjModel *model);
/* The actuator that output `out` belongs to. */
int sti_physics_actuator_of(const mjModel *model, int out);
/*
 * Damping and armature of a dof or, with `tendon`, of a tendon, with what actuators add; poly [mjNPOLY]: the other
 * coefficients of damping.
 */
double sti_physics_damping(const mjModel *model, bool tendon, int id, double *poly);
double sti_physics_armature(const mjModel *model, bool tendon, int id);
/* Those as parameters. */
void sti_physics_put_damping(sti_tables_builder *b);
/* What each is on, its activation, and the entries of actuator_moment. */
void sti_physics_put_moments(sti_tables_builder *b);

#endif
