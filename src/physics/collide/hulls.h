/* The shapes of geoms that are more than their sizes, as tables: hulls of meshes, height fields. */
#ifndef STI_PHYSICS_HULLS_H
#define STI_PHYSICS_HULLS_H

#include "physics/model/builder.h"

/* Can a geom's contacts be found? Not those of a mesh without a hull. */
bool sti_physics_has_shape(const mjModel *model, int geom);
/* May a geom touch others, or are distances to it measured? */
bool sti_physics_touches(const mjModel *m, int g);
/* Fills M_GEOM_SHAPE, M_MESH_SHAPE, M_MESHED, M_SHAPE_PRM and the table of M_SHAPES. */
void sti_physics_put_hulls(sti_tables_builder *b);
/* Fills M_GEOM_MESH, behind it. */
void sti_physics_put_meshes(sti_tables_builder *b);

#endif
