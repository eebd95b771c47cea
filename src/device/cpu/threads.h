/*
 * Loops shared by threads: the caller's own, and helpers that all devices of the process have in common (`doc/design/threads.md`).
 *
 * Invariants:
 *   THREADS-1  the caller works from the first moment on; a loop is shown to helpers only if what is left of it pays for waking them, and only
 *       while helpers have lately brought more than waiting for them took
 *   THREADS-2  nobody waits busily for longer than some microseconds, and no helper is started before a loop is shown
 *   THREADS-3  there are as many helpers as the largest loop has asked for, less one, however many threads call
 *   THREADS-4  a loop lives on its caller's stack: a helper touches it for the last time where it leaves
 *   THREADS-5  a forked child has no helpers, and starts its own; with the end of the process or of the library they end
 *   THREADS-6  each thread that runs a loop does so with the floating-point environment that the language asks for (round to nearest, denormals
 *       kept, no traps), whatever the host program has set, and gives it back as it was
 */
#ifndef STI_DEVICE_CPU_THREADS_H
#define STI_DEVICE_CPU_THREADS_H

#include <stdbool.h>
#include <stdint.h>

/* Items begin … end - 1; thread is 0 … threads - 1, and no two at a time have the same. */
typedef void sti_loop_fn(void *context, int64_t begin, int64_t end, int thread);

typedef struct sti_loop_def {
    sti_loop_fn *f;
    void *context;
    int64_t from, n, chunk; /* items from … n - 1; chunk: that are claimed at once */
    int threads;            /* at most */
    const void
        *key; /* what loops of equal cost have in common, by which their times are remembered; NULL: `seconds` tells */
    double seconds; /* of one thread for all items; 0: not known; INFINITY: it waits for others, and is always shared */
} sti_loop_def;

/* Runs a loop. From within one: in the thread that asks, as its thread 0. */
void sti_loop_run(const sti_loop_def *def);

/* For tests: each loop is shown to helpers, and waits until one has come. Returns what was. */
bool sti_loops_always_shared(bool always);
/* Helpers that live now. */
int sti_loop_helpers(void);

#endif
