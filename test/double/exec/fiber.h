/*
 * Runs the blocks of a launch: each thread of a block is a fiber with a stack of its own; between two barriers fibers
 * run one after the other, in an order that changes with the seed. Blocks run one after the other, in an order that
 * changes too.
 *
 * Invariants:
 *   FIBER-1  memory of a block is garbage when the block starts
 *   FIBER-2  a barrier of the block lets go when all its threads have come; one that ended before, or waits elsewhere,
 *       is an error
 *   FIBER-3  a barrier of lanes lets go when all lanes that it names have come with the same names, itself among them;
 *       so does an exchange of words between lanes, which in addition has to be of the same kind in all of them. A lane
 *       that is not there gives garbage
 *   FIBER-4  an access to what is closed ends the launch with ILLEGAL_ADDRESS, and the process goes on
 *   FIBER-5  kernels run with the default floating-point environment, whatever the thread had
 */
#ifndef TEST_DOUBLE_FIBER_H
#define TEST_DOUBLE_FIBER_H

#include "double/driver/module.h"

#include <stdbool.h>

int dd_grid_run(const dd_function *function, const unsigned grid[3], const unsigned block[3], unsigned shared,
                const unsigned char *bytes, char *message, size_t size);
/* Did each thread of the grid that ran last wait, once, for the kernels before it? */
bool dd_grid_waited(void);

#endif
