/*
 * Random kernel sources whose gradients exist. A seed gives the same source everywhere.
 *
 * A source has PROGRAMS programs: FUNCTIONS functions of every form of the language that has a derivative, which a world kernel and (every second) an item kernel call, and
 * TEAMS pieces of a world kernel whose team shares arrays out, overwrites them and meets at syncs. Each program has elements of its own in the
 * kernels' inputs, so a gradient that is wrong says by its place whose it is.
 *
 * Values stay near 1: what is assigned goes through something bounded. Loops have at most three trips and four levels; some have none.
 */
#ifndef TEST_ADJOINT_PROGRAMS_H
#define TEST_ADJOINT_PROGRAMS_H

#include "kernel/compile/text_buffer.h"

enum {
    FUNCTIONS = 60, /* at most 64 */
    TEAMS = 4,
    PROGRAMS = FUNCTIONS + TEAMS,
    PROGRAM_COUNTS = 8, /* elements of `count` and of `at` */
    PROGRAM_ITEMS = 4,  /* n of k_items: two a block */
    TEAM_ITEMS = 5,     /* iterations of most eaches, and elements of an array of a team's program */
    ALL_PROGRAMS = -1
};

/*
 * Three kernels, of which `only` >= 0 leaves what that program needs:
 *
 *     k_random(x, y, c, count, n)        n = 2; x [2 * n * FUNCTIONS], y [n]
 *     k_team(p, w, y, g, at, count, c, n) p, w [TEAM_ITEMS * TEAMS], y, g [TEAM_ITEMS]; at below TEAM_ITEMS - 1
 *     k_items(a, t, at, u, c, count, z, n) every second function; a, z [PROGRAM_ITEMS], t [2 * FUNCTIONS], at below 4, u [2] of each world
 */
void programs_write(uint64_t seed, int only, sti_text_buffer *out);
/* What count and at hold. */
extern const int64_t program_counts[PROGRAM_COUNTS];

#endif
