/*
 * For tests of the double and over it: opens one of the two, steers it, and calls its entry points by their neutral
 * names.
 */
#ifndef TEST_DOUBLE_RIG_H
#define TEST_DOUBLE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "double/double.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

#define DOUBLE_CUDA STET_TEST_BINARY_DIR "/test/double/libdouble_cuda.so"
#define DOUBLE_HIP STET_TEST_BINARY_DIR "/test/double/libdouble_hip.so"
#define DOUBLE_NCCL STET_TEST_BINARY_DIR "/test/double/libdouble_nccl_cuda.so"
#define DOUBLE_RCCL STET_TEST_BINARY_DIR "/test/double/libdouble_nccl_hip.so"

/*
 * A folder for what the double's compiler makes; it stays between runs of the tests, so that each kernel is compiled
 * once. An audit compiles again and finds the same: a compiler that does not optimise (quick_compiler) has one of its
 * own.
 */
static inline const char *double_cache_folder(void)
{
    const char *folder = getenv("STET_TEST_QUICK") ? STET_TEST_BINARY_DIR "/test/kernel_cache/quick"
                                                   : STET_TEST_BINARY_DIR "/test/kernel_cache";
    (void)mkdir(STET_TEST_BINARY_DIR "/test/kernel_cache", 0700);
    (void)mkdir(folder, 0700);
    return folder;
}

/* The table that steers the double in this file; it is the same for all who open the file in this process. */
static inline const double_control *double_open(const char *file)
{
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!object) fail_msg("%s", dlerror());
    double_get_control_function *get;
    void *symbol = dlsym(object, "double_get_control");
    assert_non_null(symbol);
    memcpy(&get, &symbol, sizeof get);
    return get();
}

/* Starts it with the defaults and a seed, which is printed. */
static inline void double_start(const double_control *control, uint64_t seed)
{
    double_config config = control->defaults();
    config.seed = seed;
    printf("seed %llu\n", (unsigned long long)seed);
    control->start(&config);
}

/* Nothing went wrong that a driver would not have told. */
static inline void double_expect_clean(const double_control *control)
{
    char text[512];
    int n = control->report(text, sizeof text);
    if (n > 0) fail_msg("the double reports %d errors; the first: %s", n, text);
}

#endif
