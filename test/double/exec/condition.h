/*
 * What a loop in a graph looks at: a number behind a handle, which kernels set.
 *
 * Invariants:
 *   CONDITION-1  a handle belongs to the graph that it was made for, and to one loop there
 *   CONDITION-2  a loop that looks at a number which was not set since the loop was come to is an error: on a device it
 *       would be what was left there
 */
#ifndef TEST_DOUBLE_CONDITION_H
#define TEST_DOUBLE_CONDITION_H

#include "double/driver/state.h"

typedef struct dd_condition {
    struct dd_condition *next;
    uint64_t handle;
    const void *graph;
    bool taken; /* by a loop */
    bool set;
    unsigned value;
} dd_condition;

int dd_condition_make(const void *graph, uint64_t *handle);
/* NULL: not of this graph, or taken. */
dd_condition *dd_condition_take(const void *graph, uint64_t handle);
void dd_condition_set(unsigned long long handle, unsigned value); /* by a kernel */
/* Is there another trip? The next look needs a new number. */
bool dd_condition_look(dd_condition *condition);
void dd_condition_forget(void);

#endif
