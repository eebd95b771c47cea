/*
 * The order in which MuJoCo lists contacts: by their bodies, those of explicit pairs first, then by their geoms. What
 * depends on it (noslip iterations, contact sensors) reads M_PAIR_ORDER; other models have no such table.
 */
#ifndef STI_PHYSICS_PAIR_ORDER_H
#define STI_PHYSICS_PAIR_ORDER_H

#include "physics/builder.h"

/* After the blocks. */
void sti_physics_put_pair_order(sti_tables_builder *b, bool needed);

#endif
