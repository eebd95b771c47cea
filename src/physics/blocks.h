/* Constraint blocks of a model as tables: their descriptions, dofs and parameters, and the room that they need. */
#ifndef STI_PHYSICS_BLOCKS_H
#define STI_PHYSICS_BLOCKS_H

#include "physics/builder.h"

/* Equalities, blocks and pairs of geoms. */
void sti_physics_put_blocks(sti_tables_builder *b);
/* Sizes of team memory that follow from how many contacts it has room for; -1: as many as in the beginning. */
void sti_physics_put_room(sti_tables_builder *b, int room);
/* The parameters of blocks alone, where the tables have been made: see sti_physics_tables_values. */
void sti_physics_put_block_values(sti_tables_builder *b);

#endif
