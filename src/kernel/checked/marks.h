/*
 * Which whole numbers of a function become indices: those that stand in an index, and, by way of + - *, what they are
 * assigned. Their sums are held to the range of their type in checked mode; hashes may wrap round (doc/kernels.md).
 */
#ifndef STI_KERNEL_CHECKED_MARKS_H
#define STI_KERNEL_CHECKED_MARKS_H

#include "kernel/check/tree.h"

/* Functions in the order of the source: a marked parameter makes an index of what is passed. */
void sti_mark_indices(sti_node *function);
bool sti_is_marked(const sti_symbol *s);

#endif
