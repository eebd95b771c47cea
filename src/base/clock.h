/* The monotonic clock. */
#ifndef STI_BASE_CLOCK_H
#define STI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t sti_clock_ns(clockid_t clock)
{
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
static inline int64_t sti_now_ns(void) { return sti_clock_ns(CLOCK_MONOTONIC); }
static inline double sti_now(void) { return (double)sti_now_ns() * 1e-9; } /* seconds */

#endif
