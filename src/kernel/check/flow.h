/*
 * Data flow: where pointers may point, and which variables differ between the iterations of an `each`.
 *
 * The order of statements is ignored. Pointers that are ever assigned to each other point to the same things. A
 * variable differs between iterations if a value that is assigned to it does, or if the decision to assign it does.
 */
#ifndef STI_KERNEL_CHECK_FLOW_H
#define STI_KERNEL_CHECK_FLOW_H

#include "kernel/check/tree.h"

/* Called for each symbol that a pointer or place may belong to: an array, a parameter, a variable. */
typedef void sti_origin_fn(sti_symbol *origin, void *context);
void sti_origins(sti_node *e, sti_origin_fn *call, void *context);
/* Notes all assignments of pointers in a function's body. Must be called before sti_origins. False: no memory. */
bool sti_flow_pointers(sti_unit *u, sti_node *body);

/* Notes which variables declared inside an each differ between its iterations. `number` identifies the each. */
void sti_flow_each(sti_node *loop, unsigned number);
/* True if an expression differs between the iterations of that each. */
bool sti_flow_varies(const sti_node *e, unsigned number);

/* True if a function writes through a pointer parameter. */
bool sti_flow_writes(const sti_symbol *function);
/* The parameter of the called function for the n-th argument; NULL: none. */
const sti_symbol *sti_flow_parameter(const sti_node *call, int n);

#endif
