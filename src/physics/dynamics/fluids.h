/* Tables of fluid forces (fluid.k.h), and of derivatives that go through bodies (slopes.k.h). */
#ifndef STI_PHYSICS_FLUIDS_H
#define STI_PHYSICS_FLUIDS_H

#include "physics/model/builder.h"

/* Is there a medium that acts on bodies? */
bool sti_physics_has_medium(const mjModel *m);
/* The body of a geom on which the medium acts as on an ellipsoid; -1: it does not. */
int sti_physics_ellipsoid_body(const mjModel *m, int g);
int sti_physics_count_ellipsoids(const mjModel *m);
void sti_physics_put_ellipsoids(sti_tables_builder *b);
/* M_SLOPE: reals a dof of W_SLOPE_DOF. */
int sti_physics_slope_size(const mjModel *m);

#endif
