/* Constraint blocks of a model as tables: their descriptions, dofs and parameters, and the room that they need. */
#ifndef STI_PHYSICS_BLOCKS_H
#define STI_PHYSICS_BLOCKS_H

#include "physics/model/builder.h"

/* Equalities, blocks and pairs of geoms. */
void sti_physics_put_blocks(sti_tables_builder *b);
/* Sizes of team memory that follow from how many contacts it has room for; -1: as many as in the beginning. */
void sti_physics_put_room(sti_tables_builder *b, int room);
/* The parameters of blocks alone, where the tables have been made: see sti_physics_tables_values. */
void sti_physics_put_block_values(sti_tables_builder *b);

/* Contacts of a model: those of its largest kind, and how many of these a team may have room for. */
typedef struct sti_contact_sizes {
    int dim, entries, reals; /* rows, numbers of the Jacobian, reals of team memory */
    int most;                /* that there can be */
    int start, limit;        /* that there is room for in the beginning, and at most */
    int usual;               /* that a world has at most, as a rule */
} sti_contact_sizes;

sti_contact_sizes sti_physics_contact_sizes(const int *m);
/*
 * How many reals of a step's team memory one world usually needs: M_NMEMORY without the room for more contacts, and
 * without the low parts of numbers.
 */
int sti_physics_usual_memory(const int *m);

#endif
