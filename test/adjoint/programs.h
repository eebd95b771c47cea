/*
 * Random kernel sources, drawn from the grammar that the checker accepts (programs_grammar.inl). A seed gives the same
 * source everywhere.
 *
 * A source has PROGRAMS programs of four kinds: functions, which a world kernel calls and (every second) an item
 * kernel; pieces of a world kernel that overwrite what they read at places that may or may not meet; pieces of a world
 * kernel whose team shares arrays out, overwrites them and meets at syncs; pieces of an item kernel. Each has elements
 * of its own in the kernels' inputs.
 *
 * Programs are well-defined: indices are in bounds, all that is read has a value, loops have at most five trips. Values
 * stay near 1: what is assigned goes through something bounded.
 *
 * Most programs aim: each choice takes the production that the source has had least often (choose() of
 * programs_writer.c), so all come about equally often.
 */
#ifndef TEST_ADJOINT_PROGRAMS_H
#define TEST_ADJOINT_PROGRAMS_H

#include "kernel/compile/text_buffer.h"

enum {
    FUNCTIONS = 32,
    PLACES = 13,
    TEAMS = 8,
    BLOCKS = 11,
    PROGRAMS = FUNCTIONS + PLACES + TEAMS + BLOCKS, /* 64: a set of them is a word */
    PROGRAM_COUNTS = 8,                             /* elements of `count` and of `at` */
    PROGRAM_ITEMS = 4,                              /* n of k_items: two a block */
    TEAM_ITEMS = 5, /* iterations of most eaches, and elements of an array of a team's program */
    ROOM = 16       /* elements of an iteration of a program of places */
};

typedef struct programs programs;

/* Productions of the grammar. */
int programs_productions(void);
const char *programs_production(int k);
/* It may be refused: each program has at most one such. */
bool programs_is_odd(int k);

/* NULL: no memory. */
programs *programs_create(uint64_t seed);
void programs_destroy(programs *p);
/* How often `program` draws `production`. */
int programs_draws(const programs *p, int i, int k);
/* The functions that it calls, by itself or through others, and itself. */
uint64_t programs_needs(const programs *p, int i);
/*
 * The source of a set of programs:
 *
 *     k_random(x, y, t, c, count, n)                n = 2; x [2 * n * FUNCTIONS], y [n], t [2 * FUNCTIONS]
 *     k_places(x, y, lints, fours, count, c, n)     x [4], y [n * PLACES * ROOM], lints [n], fours [4 * n]
 *     k_team(p, w, y, g, at, count, c, n)           p, w [TEAM_ITEMS * TEAMS], y, g [TEAM_ITEMS]; at below TEAM_ITEMS -
 *     1 k_items(a, t, at, u, c, count, z, made, …, n)      a, z, made, other [PROGRAM_ITEMS], wides [4 *
 *     PROGRAM_ITEMS], at below 4, u [2] of each world
 */
void programs_put(const programs *p, uint64_t which, sti_text_buffer *out);
/* What count and at hold. */
extern const int64_t program_counts[PROGRAM_COUNTS];

#endif
