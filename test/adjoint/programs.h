/*
 * Random kernel sources whose gradients exist: functions of every form of the language that has a derivative, and a kernel that calls
 * them. A seed gives the same source everywhere.
 *
 * Values stay near 1: what is assigned goes through something bounded. Loops have at most three trips and four levels.
 */
#ifndef TEST_ADJOINT_PROGRAMS_H
#define TEST_ADJOINT_PROGRAMS_H

#include "kernel/buffer.h"

enum { PROGRAMS = 12 /* of a source */, PROGRAM_COUNTS = 8 /* elements of `count` */ };

/*
 * Two kernels: k_random(x, y, c, count, n): x [n * 2], y [n * PROGRAMS], count [PROGRAM_COUNTS]; and of items, two a block, k_items(a, t, at, u, c, count,
 * z, n): a, z [n], t [5 and more], at [n] below 4, u [2] of each world.
 */
void programs_write(uint64_t seed, sti_buffer *out);
/* What count holds. */
extern const int64_t program_counts[PROGRAM_COUNTS];

#endif
