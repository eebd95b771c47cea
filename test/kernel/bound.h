/*
 * For tests of bindings: launches of the handles of lists.h, and what the last one counted. Run on each device (stet_test_on_devices).
 */
#ifndef TEST_KERNEL_BOUND_H
#define TEST_KERNEL_BOUND_H

#include "kernel/lists.h"

#include "kernel/launch/binding.h"

#define BOUND(b) (counters_of((b)->device).mechanism[STET_MECH_bindings])
#define WHY(b, name) (counters_of((b)->device).reason[STET_REASON_bindings_##name])
#define LAUNCH(b, k, count, ...)                                                                                       \
    stet_kernel_launch((b)->own[k], (count), (const stet_arg[]){__VA_ARGS__},                                          \
                       (int)(sizeof((const stet_arg[]){__VA_ARGS__}) / sizeof(stet_arg)))
#define A stet_arg_array
#define R stet_arg_real
#define I stet_arg_int

enum { MIX, ADD, COUNT, SET };

/* What the last launch counted: a hit, or a miss with this reason. */
static inline void expect(bench *b, stet_reason why)
{
    stet_counters c = counters_of(b->device);
    int64_t misses = 0;
    for (int r = STET_REASON_bindings_disabled; r <= STET_REASON_bindings_reentrant; ++r)
        if (c.reason[r]) {
            if (r != (int)why) fail_msg("%s, not %s", stet_reason_name((stet_reason)r), stet_reason_name(why));
            misses += c.reason[r];
        }
    assert_int_equal(misses, why != STET_REASON_none);
    assert_int_equal(c.mechanism[STET_MECH_bindings].misses, misses);
    assert_int_equal(c.mechanism[STET_MECH_bindings].hits, why == STET_REASON_none);
    stet_device_clear_counters(b->device);
}
#define HIT(b) expect((b), STET_REASON_none)
#define MISS(b, name) expect((b), STET_REASON_bindings_##name)

#endif
