/*
 * The same tests on this machine's GPU: its driver and compiler instead of a double's. There nothing fails when it is
 * told to, nothing is counted and nothing is shuffled; what is left is whether the results are right.
 */
#ifndef TEST_DEVICE_GPU_REAL_H
#define TEST_DEVICE_GPU_REAL_H

#include "device/gpu/gpu_rig.h"

static double_config real_defaults(void) { return (double_config){0}; }
static void real_start(const double_config *config) { (void)config; }
static double_alive real_alive(void) { return (double_alive){0}; }

static int real_report(char *text, size_t size)
{
    if (size > 0) text[0] = 0;
    return 0;
}

/* A CUDA device; false: this machine has none, and says so. Where there is one and it cannot be used, the run fails. */
static inline bool real_device(void)
{
    static const double_control control = {
        .defaults = real_defaults, .start = real_start, .alive = real_alive, .report = real_report};
    static sti_gpu_driver driver;
    static sti_gpu_facts facts;
    static sti_library compiler;
    static void *kept; /* the context: making one takes longer than the tests */
    stet_result result = sti_gpu_driver_open(&sti_gpu_cuda, NULL, &driver);
    if (result == STET_OK) result = sti_gpu_facts_of(&driver, 0, &facts);
    if (result == STET_OK) result = sti_library_open(&sti_cuda_compiler, NULL, &compiler);
    if (result == STET_ERROR_NOT_FOUND) print_message("cuda is skipped: %s\n", stet_get_last_error());
    if (result != STET_OK) {
        if (result != STET_ERROR_NOT_FOUND) fail_msg("%s", stet_get_last_error());
        return false;
    }
    o = (opened){.control = &control};
#define BOTH(need, name, cuda, hip, result, parameters) entries_find(driver.library.handle, #cuda, &o.api.name);
#define CUDA(need, name, cuda, result, parameters) entries_find(driver.library.handle, #cuda, &o.api.name);
#define HIP(need, name, hip, result, parameters)
#include "device/gpu/entries.inl"
#define BOTH(name, cuda, hip, result, parameters) entries_find(compiler.handle, #cuda, &o.rtc.name);
#define CUDA(name, cuda, result, parameters) entries_find(compiler.handle, #cuda, &o.rtc.name);
#define HIP(name, hip, result, parameters)
#include "kernel/gpu/rtc.inl"
    real_arch = facts.arch;
    assert_int_equal(o.api.context_retain(&kept, 0), 0);
    print_message("on cuda\n");
    return true;
}

/* All tests on both doubles, then those marked REAL_GPU_TEST on this machine's GPU. */
#define RUN_ON_REAL_GPU_TOO(name, tests) run_on_real_gpu_too(name, tests, sizeof(tests) / sizeof *(tests))

static inline int run_on_real_gpu_too(const char *name, const struct CMUnitTest *tests, size_t n)
{
    enum { MOST = 32 };
    struct CMUnitTest real[MOST];
    char title[100];
    size_t nreal = 0;
    int failed = run_on_doubles(name, tests, n);
    assert_true(n <= MOST);
    for (size_t i = 0; i < n; ++i)
        if (tests[i].initial_state) real[nreal++] = tests[i];
    if (!real_device()) return failed;
    (void)snprintf(title, sizeof title, "%s on this machine's GPU", name);
    return failed + _cmocka_run_group_tests(title, real, nreal, NULL, NULL);
}

#endif
