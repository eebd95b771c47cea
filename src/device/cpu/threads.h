/*
 * Parallel loops over threads: the calling thread, and helper threads that all devices of the process share
 * (`doc/design/threads.md`).
 *
 * Invariants:
 *   THREADS-1  the caller starts work at once; a loop is offered to helpers only if the rest of it pays for waking
 *       them, and only while helpers have lately saved more time than waiting for them took
 *   THREADS-2  no thread spins for longer than some microseconds, and no helper is started before a loop is offered
 *   THREADS-3  there are as many helpers as the largest loop has asked for, less one, however many threads call
 *   THREADS-4  a loop lives on its caller's stack: the last access of a helper is the one by which it leaves the loop
 *   THREADS-5  a forked child has no helpers and starts its own, whatever other threads did at the fork; a child forked
 *       by an item of a loop that goes on with that loop ends it without its helpers' items, and logs a warning;
 *       helpers end with the process or with the library
 *   THREADS-6  each thread runs a loop in the floating-point environment that the kernel language requires (round to
 *       nearest, denormals kept, no traps), whatever the host program has set, and restores it afterwards
 *   THREADS-7  each thread begins with a range of its own, the same in each loop over as many items, so that what
 *       an item uses stays in one core's cache; then it takes chunks of the others' ranges
 */
#ifndef STI_DEVICE_CPU_THREADS_H
#define STI_DEVICE_CPU_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* Runs items begin … end - 1. thread is 0 … threads - 1; no two running calls have the same number. */
typedef void sti_loop_fn(void *context, int64_t begin, int64_t end, int thread);

typedef struct sti_loop_def {
    sti_loop_fn *f;
    void *context;
    int64_t from, n, chunk; /* items from … n - 1; chunk: how many a thread claims at once */
    int threads;            /* at most */
    /* identifies loops of equal cost, whose measured times are shared; NULL: use `seconds` */
    const void *key;
    /* what all items take one thread; 0: not known; INFINITY: the loop waits for other things and is always shared */
    double seconds;
} sti_loop_def;

/* Runs a loop. A loop inside a loop runs in the calling thread, as thread 0. */
void sti_loop_run(const sti_loop_def *def);

/* For tests: each loop is offered to helpers and waits until one has joined. Returns the previous setting. */
bool sti_loops_always_shared(bool always);
/* Number of helpers alive. */
int sti_loop_helpers(void);

#endif
