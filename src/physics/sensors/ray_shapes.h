/* Meshes and height fields as rays of sensors see them: trees of triangles and of cells (geom/bvh.h). */
#ifndef STI_PHYSICS_RAY_SHAPES_H
#define STI_PHYSICS_RAY_SHAPES_H

#include "physics/model/builder.h"

/* Are there rangefinders? */
bool sti_physics_has_rays(const mjModel *model);
/* Is a geom visible to rays? As mj_ray has it, one with a material is as transparent as that. */
bool sti_physics_is_visible(const mjModel *model, int geom);
/* How many visible geoms are meshes or height fields, if the model has rangefinders. */
int sti_physics_count_ray_shapes(const mjModel *model);
/* Fills M_RAY_SHAPE and M_RAY_PRM. */
void sti_physics_put_ray_shapes(sti_tables_builder *b);

#endif
