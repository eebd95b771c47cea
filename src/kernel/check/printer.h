/*
 * The tree as C: for compilers, for comparison (what is printed reads as an equal tree), and for messages.
 */
#ifndef STI_KERNEL_CHECK_PRINTER_H
#define STI_KERNEL_CHECK_PRINTER_H

#include "kernel/check/tree.h"

/* An expression on one line, cut to what fits; for messages. Never NULL. */
const char *sti_text(sti_unit *u, const sti_node *e);
/* The whole of an expression on one line, in the unit's memory. Without memory "" (UNIT-2). */
const char *sti_text_whole(sti_unit *u, const sti_node *e);

#endif
