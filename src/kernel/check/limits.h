/*
 * What no target can do, told before anything is compiled:
 *
 *   LIMITS-1  a division by a constant 0, a shift by a constant that is no bit of the number, a constant index outside
 *       of an array whose size the source says; a branch that a constant leaves out may hold them
 *   LIMITS-2  local arrays, those of the functions that are called counted in, fit the stack of a thread on a CPU with
 *       the widest lanes, and the local memory of a thread of a GPU; shared memory fits what a block of every GPU has.
 *       One kernel fits everywhere or nowhere
 */
#ifndef STI_KERNEL_CHECK_LIMITS_H
#define STI_KERNEL_CHECK_LIMITS_H

#include "kernel/check/tree.h"

/*
 * Bytes. Threads have stacks of 8 MiB: an eighth is left to kernels, since compilers keep copies of what they inline.
 */
enum { STI_LIMIT_STACK = 1 << 20, STI_LIMIT_LOCAL = 512 << 10, STI_LIMIT_SHARED = 48 << 10 };

/* Of a unit that keeps all other rules. */
void sti_check_limits(sti_unit *u);

#endif
