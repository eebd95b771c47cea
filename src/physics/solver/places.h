/*
 * The solver's matrix H has a row and a column for each dof, in descending order, and some for none: a large tree
 * begins with a tile of 4 by 4 of its own, unless it has fewer tiles where the last one ends. Trees that share no
 * tile, and that contacts do not couple, have nothing to do with each other (pattern.k.h). Small ones share tiles:
 * with a quarter of the rows free, what lanes have together, which is most of H, would take longer than it gains. No
 * bit depends on it. Of more than 64 trees each has nodes of 8 rows to itself (islands.k.h).
 */
#ifndef STI_PHYSICS_PLACES_H
#define STI_PHYSICS_PLACES_H

#include "physics/model/builder.h"

/* place [nv] (or NULL): the row of each dof; returns how many rows there are. */
int sti_physics_place_dofs(const mjModel *m, int *place);
/* Of many trees: rows of tiles of 8 by 8, how many tiles there is room for, and ints of islands.k.h; else 0 nodes. */
int sti_physics_count_nodes(const mjModel *m);
int64_t sti_physics_count_node_tiles(const mjModel *m);
int64_t sti_physics_count_island_ints(const mjModel *m);
/* M_PLACE; of few trees M_M_PLACE, M_M_TILES. */
void sti_physics_put_places(sti_tables_builder *b);
/* Sets the bit of the row of tiles that has the row `place`; bits: M_NWORD ints. */
void sti_physics_mark_tile(int *bits, int place);

#endif
