/*
 * Rules of kernels and teams, checked on a typed tree:
 *
 *   RULES-1  inside of each and items the only things from outside that are assigned are elements of arrays, at places
 *       that differ between the iterations. Exceptions: the body of `each (one, 1)` is one iteration; the else of `if
 *       (STET_GPU || STET_PERMUTE)` runs only where iterations run one after the other, so there the places may be
 *       equal and the arrays may be the thread's own
 *   RULES-2  each, items, sync, shared and staged are used only where the whole team arrives: not inside of each or
 *       items, which control does not leave by return or break. Outside of them the team stays together, because by
 *       RULES-1 all its threads have the same values in variables
 *   RULES-3  memory that a team fills together is shared memory or a kernel's array, not a variable of each thread
 *   RULES-4  a kernel's own arrays of real are written with put; a pointer that is not const is written
 *   RULES-5  the signature of a kernel is one that a launch can pass
 *   RULES-EFFECT-1  ++, -- and assignments occur only as statements, and as the first and last part of a `for` (checked
 *       by typing)
 *   RULES-EFFECT-2  a call that writes through a pointer is a statement of its own, x = f(…); with a variable x, or a
 *       variable's first value. So expressions have no effects, and an expression that is computed again gives the same
 *       value
 *
 * What a function does to its parameters is noted on their symbols, so that the same rules apply to its callers.
 */
#ifndef STI_KERNEL_CHECK_RULES_H
#define STI_KERNEL_CHECK_RULES_H

#include "kernel/check/tree.h"

void sti_check_rules(sti_unit *u);
/* Is it `if (STET_GPU || STET_PERMUTE)`? Its else runs only where an each is a loop that counts up. */
bool sti_tests_order(const sti_node *n);

#endif
