/* Rows of the arrays of collide_probe.k.h. */
#ifndef TEST_PHYSICS_COLLIDE_PROBE_H
#define TEST_PHYSICS_COLLIDE_PROBE_H

#define PROBE_IN 31 /* pos 3, mat 9, size 3 of each geom, the margin */
#define PROBE_OUT 8 /* hit, dist, pos 3, normal 3 */

#endif
