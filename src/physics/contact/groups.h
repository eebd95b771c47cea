/*
 * Groups of pairs of geoms that are of the same two bodies: their spheres are looked at once for all of them. Only
 * where there are more than PH_MANY_PAIRS: to find the group of a pair takes half as long as to look at its spheres.
 */
#ifndef STI_PHYSICS_GROUPS_H
#define STI_PHYSICS_GROUPS_H

#include "physics/model/builder.h"

/* The geom of a body around which a sphere that holds all that may touch others is the smallest. */
int sti_physics_central_geom(const mjModel *model, int body);
/* Fills M_NGROUP, M_GROUP, M_PAIR_GROUP and M_GROUP_REACH; after the blocks. */
void sti_physics_put_groups(sti_tables_builder *b);
/* Fills M_GROUP_REACH; after the parameters of blocks. */
void sti_physics_put_group_values(sti_tables_builder *b);

#endif
