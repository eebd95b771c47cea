/*
 * Prints the tree as C: for compilers, for comparison (the printed text parses to an equal tree), and for messages.
 */
#ifndef STI_KERNEL_CHECK_PRINTER_H
#define STI_KERNEL_CHECK_PRINTER_H

#include "kernel/check/tree.h"

/* An expression on one line, cut if it is too long; for messages. Never NULL. */
const char *sti_text(sti_unit *u, const sti_node *e);
/* A whole expression on one line, in the unit's memory. Returns "" if there is no memory (UNIT-2). */
const char *sti_text_whole(sti_unit *u, const sti_node *e);

#endif
