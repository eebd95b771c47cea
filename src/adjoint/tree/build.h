/*
 * Nodes that the source does not have. They have the place of the node that they are made from, so error messages find
 * it. If memory runs out, nodes are spare ones, and the transformation ends at the next check (UNIT-2).
 */
#ifndef STI_ADJOINT_TREE_BUILD_H
#define STI_ADJOINT_TREE_BUILD_H

#include "adjoint/tree/state.h"

sti_node *sti_build(sti_transform *t, sti_node_kind kind, sti_source_place place);
/* A copy without what follows it; its parts are those of the node. */
sti_node *sti_build_copy(sti_transform *t, const sti_node *n);
sti_symbol *sti_build_symbol(sti_transform *t, const char *stem, const sti_type *type, sti_source_place place);
sti_node *sti_build_name(sti_transform *t, sti_symbol *symbol, sti_source_place place);
sti_node *sti_build_number(sti_transform *t, int value, sti_source_place place);
/* Where the next statement of a list goes. */
sti_node **sti_end_of(sti_node **list);
/* array[index] */
sti_node *sti_build_element(sti_transform *t, const sti_node *array, sti_node *index, const sti_type *type,
                            sti_source_place place);
/* symbol = value; */
sti_node *sti_build_assign(sti_transform *t, sti_symbol *symbol, sti_node *value);
/* type symbol = value; */
sti_node *sti_build_declare(sti_transform *t, sti_symbol *symbol, sti_node *value);
sti_node *sti_build_if(sti_transform *t, sti_node *test, sti_node *then);

/* ---- elements that stores write, as places ---- */

/* Element `more` of those that load4 reads. */
sti_node *sti_loaded_element(sti_transform *t, const sti_node *call, int more);
/* Element `more` of those that a store writes, as a place. put4 writes, and load4 fills, four. */
sti_node *sti_stored_element(sti_transform *t, const sti_node *call, int more);
/* The k-th element that an expression statement writes, as a place; NULL: there is none. */
sti_node *sti_written_place(sti_transform *t, const sti_node *e, int k);

#endif
