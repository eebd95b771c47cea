/*
 * Rules of kernels and teams, on a tree that has types:
 *
 *   RULES-1  within each and items nothing that is declared outside is assigned but elements of arrays, at places that differ
 *       between the iterations (the body of `each (one, 1)` is one iteration; the else of `if (STET_GPU || STET_PERMUTE)` runs only
 *       where iterations do so one after the other: there places may be the same, and in arrays of the thread's own)
 *   RULES-2  each, items, sync, shared and staged stand only where the whole team comes: not within each or items; nor does control leave these
 *       by return or break. Outside of them the team never parts, since by RULES-1 all its threads have the same variables.
 *   RULES-3  what a team shares out lies in shared memory or in a kernel's array, not in a variable of each thread
 *   RULES-4  a kernel's own arrays of real are written with put; a pointer that is not const is written
 *   RULES-5  the signature of a kernel is one that a launch can pass
 *
 * What a function does to its parameters is noted on their symbols, so that its callers are held to the same rules.
 */
#ifndef STI_KERNEL_CHECK_RULES_H
#define STI_KERNEL_CHECK_RULES_H

#include "kernel/check/tree.h"

void sti_check_rules(sti_unit *u);

#endif
