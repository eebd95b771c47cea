/* Which dofs a constraint block or two geoms that touch move. */
#ifndef STI_PHYSICS_MOVED_H
#define STI_PHYSICS_MOVED_H

#include "physics/contact/pairs.h"

/* Two bodies whose geoms touch: of each the last of the dofs that move it, -1: none. These say which dofs they move. */
typedef struct sti_moved_bodies {
    int last[2];
} sti_moved_bodies;

/* The last of the dofs that move a body. */
int sti_physics_last_dof(const mjModel *model, int body);
/*
 * The dofs that two bodies, or a block that is no pair of geoms, move, ascending, as pairs of a dof and bits: 1 it
 * moves the first body, joint or tendon, 2 the second. How many there are. Bodies that touch do not count what moves
 * both. out, scratch: 2 nv ints each.
 */
int sti_physics_list_bodies(const mjModel *model, sti_moved_bodies bodies, int *scratch, int *out);
int sti_physics_list_block(const mjModel *model, const sti_block *block, int *scratch, int *out);

#endif
