/* Rows of the arrays of contact_gradient_probe.k.h. */
#ifndef TEST_PHYSICS_CONTACT_GRADIENT_PROBE_H
#define TEST_PHYSICS_CONTACT_GRADIENT_PROBE_H

#define PROBE_SLOTS 32
#define PROBE_SLOPES 13 /* dist, pos 3, frame 9 */
#define PROBE_GRADS 19  /* of each geom force 3, torque 3, size 3; whether there is a derivative */
#define PROBE_TOLERANCE 1e-14
#define PROBE_ITERATIONS 300

#endif
