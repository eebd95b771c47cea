/*
 * The functions of the language as symbols of a unit.
 */
#ifndef STI_KERNEL_CHECK_LIBRARY_H
#define STI_KERNEL_CHECK_LIBRARY_H

#include "kernel/check/tree.h"

/* Adds the language's words, functions and settings to the unit. False: no memory. */
bool sti_library_fill(sti_unit *u);
/* What to use instead of a function that the language does not have; NULL: no advice. */
const char *sti_library_hint(const char *name);

#endif
