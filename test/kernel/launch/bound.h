/*
 * For tests of bindings: launches of the handles of lists.h. Run on each device (stet_test_on_devices).
 */
#ifndef TEST_KERNEL_BOUND_H
#define TEST_KERNEL_BOUND_H

#include "kernel/lists.h"

#include "kernel/launch/binding.h"

#define LAUNCH(b, k, count, ...)                                                                                       \
    stet_kernel_launch((b)->own[k], (count), (const stet_arg[]){__VA_ARGS__},                                          \
                       (int)(sizeof((const stet_arg[]){__VA_ARGS__}) / sizeof(stet_arg)))
#define A stet_arg_array
#define R stet_arg_real
#define I stet_arg_int

enum { MIX, ADD, COUNT, SET };

#endif
