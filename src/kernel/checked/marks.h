/*
 * Finds the integers of a function that become indices: those in an index, and, through + - *, what they are computed
 * from. In checked mode their sums must not overflow; others (hashes) may wrap round (doc/kernels.md).
 */
#ifndef STI_KERNEL_CHECKED_MARKS_H
#define STI_KERNEL_CHECKED_MARKS_H

#include "kernel/check/tree.h"

/* Call it for functions in the order of the source: an argument for a marked parameter is an index. */
void sti_mark_indices(sti_node *function);
bool sti_is_marked(const sti_symbol *s);

#endif
