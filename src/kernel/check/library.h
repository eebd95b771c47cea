/*
 * The functions of the language as symbols of a unit.
 */
#ifndef STI_KERNEL_CHECK_LIBRARY_H
#define STI_KERNEL_CHECK_LIBRARY_H

#include "kernel/check/tree.h"

/* Gives the unit the language's words, functions and settings. False: no memory. */
bool sti_library_fill(sti_unit *u);
/* What to use instead of a function that is no part of the language; NULL: no advice. */
const char *sti_library_hint(const char *name);

#endif
