/*
 * The order in which MuJoCo lists contacts: by their bodies, those of explicit pairs first, then by their geoms. What
 * depends on it (noslip iterations, contact sensors) reads M_PAIR_ORDER; other models have no such table.
 */
#ifndef STI_PHYSICS_PAIR_ORDER_H
#define STI_PHYSICS_PAIR_ORDER_H

#include "physics/model/builder.h"

/* All pairs of such a model have rows (tree_pairs.h). */
bool sti_physics_needs_pair_order(const mjModel *m);
/* After the blocks. */
void sti_physics_put_pair_order(sti_tables_builder *b);

#endif
