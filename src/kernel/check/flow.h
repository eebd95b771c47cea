/*
 * Where pointers point, and what differs between the iterations of an `each`.
 *
 * Both are told from the text alone, without an order of statements: pointers that are ever assigned to each other point to
 * the same things, and a variable differs between iterations if anything that it is assigned does, or if whether it is
 * assigned does.
 */
#ifndef STI_KERNEL_CHECK_FLOW_H
#define STI_KERNEL_CHECK_FLOW_H

#include "kernel/check/tree.h"

/* Called for each thing that a pointer or place may belong to: an array, a parameter, a variable. */
typedef void sti_origin_fn(sti_symbol *origin, void *context);
void sti_origins(sti_node *e, sti_origin_fn *call, void *context);
/* Notes all assignments of pointers in a function's body; before sti_origins is asked. False: no memory. */
bool sti_flow_pointers(sti_unit *u, sti_node *body);

/* Notes which variables that are declared within an each differ between its iterations; `number` names the each. */
void sti_flow_each(sti_node *each, unsigned number);
/* Whether an expression differs between the iterations of that each. */
bool sti_flow_varies(const sti_node *e, unsigned number);

/* Whether a call of a function writes where an argument points. */
bool sti_flow_writes(const sti_symbol *function);
/* The parameter of a called function that belongs to its n-th argument, NULL: none. */
const sti_symbol *sti_flow_parameter(const sti_node *call, int n);

#endif
