/*
 * Devices: what can be asked for and what is refused, threads, counters, and the floating-point mode that kernels run
 * in.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "device/rig.h"

#include "bench/pilot/pilot.h"
#include "device/processors.h"

#include <fenv.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#if defined(__SSE__)
#include <xmmintrin.h>
#endif

/* ---- making --------------------------------------------------------------------------------------------------- */

static void defs_that_make_no_sense(void **state)
{
    stet_device_def good = stet_default_device_def(), zero = {0};
    stet_device *device = (stet_device *)&zero;
    FAILS(stet_device_create(NULL, &device), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_device_create(&good, NULL), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_device_create(&zero, &device), STET_ERROR_INVALID_ARGUMENT, "stet_default_device_def");
    assert_null(device);
#define REFUSED(result, part, ...)                                                                                     \
    do {                                                                                                               \
        stet_device_def bad = good;                                                                                    \
        __VA_ARGS__;                                                                                                   \
        FAILS(stet_device_create(&bad, &device), result, part);                                                        \
        assert_null(device);                                                                                           \
    } while (0)
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "no type 77", bad.type = (stet_device_type)77);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "-1 threads; give 1 to 4096", bad.threads = -1);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "4097 threads; give 1 to 4096", bad.threads = 4097);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "-2 worlds; give how many", bad.nworld = -2);
    REFUSED(STET_ERROR_NOT_FOUND, "no instruction set 'sse9'; known: portable, w1,", bad.isa = "sse9");
    REFUSED(STET_ERROR_NOT_FOUND, "no instruction set ''", bad.isa = "");
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "bits beyond", bad.mechanisms.disabled = 1u << STET_MECHANISM_COUNT);
    stet_device_destroy(NULL);
}

static void each_instruction_set(void **state)
{
    int made = 0;
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa) {
        stet_device_def def = stet_default_device_def();
        stet_device *device;
        def.isa = sti_isa_name((sti_isa)isa);
        def.threads = 3;
        if (!sti_isa_available((sti_isa)isa)) {
            FAILS(stet_device_create(&def, &device), STET_ERROR_UNSUPPORTED, def.isa);
            continue;
        }
        OK(stet_device_create(&def, &device));
        char name[96];
        int lanes = stet_device_get_lanes(device);
        (void)snprintf(name, sizeof name, "cpu (%s, %d lane%s, 3 threads)", def.isa, lanes, lanes == 1 ? "" : "s");
        assert_string_equal(stet_device_get_name(device), name);
        assert_string_equal(stet_device_get_isa(device), def.isa);
        assert_int_equal(lanes, sti_isa_width((sti_isa)isa));
        assert_int_equal(stet_device_get_threads(device), 3);
        assert_int_equal(stet_device_get_type(device), STET_DEVICE_CPU);
        stet_device_destroy(device);
        ++made;
    }
    assert_true(made >= 3); /* portable and f64 run everywhere; w1 wherever there is a fused multiply-add */
}

static void the_widest_one_is_the_default(void **state)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    def.type = STET_DEVICE_CPU;
    OK(stet_device_create(&def, &device));
    FOR_FLOAT_ISAS(isa) assert_true(sti_isa_width((sti_isa)isa) <= stet_device_get_lanes(device));
    assert_string_not_equal(stet_device_get_isa(device), "w1");
    assert_string_not_equal(stet_device_get_isa(device), "f64");
    stet_device_destroy(device);
}

/* None but the portable one, which is slow, holds so many worlds in fewer lanes. */
static void few_worlds_have_few_lanes(void **state)
{
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_CPU;
    int widest = sti_isa_width(sti_isa_best());
    for (def.nworld = 1; def.nworld < 40; ++def.nworld) {
        stet_device *device;
        OK(stet_device_create(&def, &device));
        int lanes = stet_device_get_lanes(device);
        assert_true(lanes >= def.nworld || lanes == widest);
        FOR_FLOAT_ISAS(isa)
        {
            int width = sti_isa_width((sti_isa)isa);
            if (isa != STI_ISA_portable) assert_false(width >= def.nworld && width < lanes);
        }
        if (widest > 4) assert_string_not_equal(stet_device_get_isa(device), "portable");
        assert_string_not_equal(stet_device_get_isa(device), "f64");
        stet_device_destroy(device);
    }
}

static void threads_are_those_the_process_may_use(void **state)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t c = 0; c < CPU_SETSIZE && !CPU_COUNT(&one); ++c)
        if (CPU_ISSET(c, &all)) CPU_SET(c, &one);
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    def.type = STET_DEVICE_CPU;
    OK(stet_device_create(&def, &device));
    int quota = sti_processors_of_quota("");
    assert_int_equal(stet_device_get_threads(device), quota && quota < CPU_COUNT(&all) ? quota : CPU_COUNT(&all));
    stet_device_destroy(device);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    stet_result result = stet_device_create(&def, &device);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
    assert_int_equal(result, STET_OK);
    assert_int_equal(stet_device_get_threads(device), 1);
    stet_device_destroy(device);
}

static void mechanisms_from_the_environment(void **state)
{
    const char *was = getenv("STET_DISABLE");
    char *kept = was ? strdup(was) : NULL;
    stet_device *device;
    assert_int_equal(setenv("STET_DISABLE", "readback", 1), 0);
    stet_device_def def = stet_default_device_def();
    OK(stet_device_create(&def, &device));
    assert_int_equal(stet_device_get_mechanisms(device).disabled, 1u << STET_MECHANISM_READBACK);
    stet_mechanism_options options = {.disabled = ~0u};
    FAILS(stet_device_set_mechanisms(device, &options), STET_ERROR_INVALID_ARGUMENT, "bits beyond");
    assert_int_equal(stet_device_get_mechanisms(device).disabled, 1u << STET_MECHANISM_READBACK);
    stet_device_destroy(device);
    assert_int_equal(setenv("STET_DISABLE", "reedback", 1), 0);
    def = stet_default_device_def();
    FAILS(stet_device_create(&def, &device), STET_ERROR_INVALID_ARGUMENT, "STET_DISABLE names 'reedback'");
    assert_int_equal(kept ? setenv("STET_DISABLE", kept, 1) : unsetenv("STET_DISABLE"), 0);
    free(kept);
}

/* ---- parallel work -------------------------------------------------------------------------------------------- */

typedef struct visits {
    int of[1000], threads;
} visits;

static void visit(void *context, int64_t i, int thread)
{
    visits *v = context;
    v->of[i] += thread >= 0 && thread < v->threads ? 1 : 1000;
}

static void parallel_work_is_done_once_each(void **state)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 999, 1000};
    for (int threads = 1; threads <= 5; ++threads) {
        stet_device *device = open_device(STI_ISA_portable, threads);
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
            visits v = {.threads = threads};
            sti_device_parallel(device, sizes[k], 0, visit, &v);
            for (int64_t i = 0; i < 1000; ++i) assert_int_equal(v.of[i], i < sizes[k]);
        }
        stet_device_destroy(device);
    }
}

/* ---- floating-point mode -------------------------------------------------------------------------------------- */

typedef struct sums {
    float denormal[8], rounded[8];
} sums;

/* What flush-to-zero and another rounding direction would change. */
static void calculate(void *context, int64_t i, int thread)
{
    (void)thread;
    sums *s = context;
    volatile float tiny = 0x1p-140f, half = 0.5f, one = 1, ulp_quarter = 0x1p-25f;
    s->denormal[i] = tiny * half;
    s->rounded[i] = one + ulp_quarter;
}

/* The mode that a host program may have left: toward +infinity, and denormals flushed where the machine can. */
static unsigned set_odd_mode(void)
{
    assert_int_equal(fesetround(FE_UPWARD), 0);
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
    return _mm_getcsr();
#else
    return (unsigned)fegetround();
#endif
}

static unsigned get_mode(void)
{
#if defined(__SSE__)
    return _mm_getcsr();
#else
    return (unsigned)fegetround();
#endif
}

static uint64_t pilot_hash(stet_device *device, sti_pilot_kind kind)
{
    sti_pilot p;
    uint64_t hash;
    OK(sti_pilot_create(device, kind, 64, &p));
    OK(sti_pilot_run(device, &p));
    OK(sti_pilot_hash(&p, &hash));
    sti_pilot_destroy(&p);
    return hash;
}

static void the_hosts_mode_does_not_matter(void **state)
{
    fenv_t usual;
    assert_int_equal(fegetenv(&usual), 0);
    FOR_ISAS(isa)
    for (int threads = 1; threads <= 3; threads += 2)
        for (int kind = 0; kind < STI_PILOT_COUNT; ++kind) {
            stet_device *device = open_device(isa, threads);
            uint64_t want = pilot_hash(device, (sti_pilot_kind)kind), got = 0;
            sti_pilot p;
            OK(sti_pilot_create(device, (sti_pilot_kind)kind, 64, &p));
            unsigned before = set_odd_mode();
            stet_result result = sti_pilot_run(device, &p);
            unsigned after = get_mode();
            assert_int_equal(fesetenv(&usual), 0);
            OK(result);
            OK(sti_pilot_hash(&p, &got));
            assert_int_equal(after, before);
            assert_true(got == want);
            sti_pilot_destroy(&p);
            stet_device_destroy(device);
        }
}

static void nor_for_host_work_in_parallel(void **state)
{
    fenv_t usual;
    assert_int_equal(fegetenv(&usual), 0);
    for (int threads = 1; threads <= 3; ++threads) {
        stet_device *device = open_device(STI_ISA_portable, threads);
        sums in_odd_mode = {0}, odd = {0};
        unsigned before = set_odd_mode();
        calculate(&odd, 0, 0);
        sti_device_parallel(device, 8, 0, calculate, &in_odd_mode);
        unsigned after = get_mode();
        assert_int_equal(fesetenv(&usual), 0);
        assert_true(odd.rounded[0] == 0x1.000002p0f);  /* the mode was odd indeed */
        assert_int_equal(after | 0x3f, before | 0x3f); /* but for the flags of exceptions, which the sum above raised */
        for (int i = 0; i < 8; ++i) {
            assert_true(in_odd_mode.denormal[i] == 0x1p-141f);
            assert_true(in_odd_mode.rounded[i] == 1);
        }
        stet_device_destroy(device);
    }
}

/* ---- counters ------------------------------------------------------------------------------------------------- */

static void counters_count_launches_and_bytes(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 2);
    stet_counters c, none = {0};
    sti_pilot p;
    OK(sti_pilot_create(device, STI_PILOT_LEVEL, 5, &p));
    stet_device_clear_counters(device);
    c = stet_device_get_counters(device);
    assert_memory_equal(&c, &none, sizeof c);
    for (int k = 0; k < 3; ++k) OK(sti_pilot_run(device, &p));
    char some[4 * 5 * 85 * 12];
    OK(stet_array_read(p.output[0], some, sizeof some));
    c = stet_device_get_counters(device);
    assert_int_equal(c.launches, 3);
    assert_int_equal(c.bytes_copied, sizeof some);
    sti_pilot_destroy(&p);
    stet_device_destroy(device);
}

/* An array of no items has no address; UBSan tells a copy that hands it on. */
static void copies_of_nothing(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    char byte = 7;
    OK(device->ops->upload(device, NULL, &byte, 0));
    OK(device->ops->download(device, &byte, NULL, 0));
    OK(device->ops->copy(device, NULL, NULL, 0));
    assert_int_equal(byte, 7);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defs_that_make_no_sense),
        cmocka_unit_test(each_instruction_set),
        cmocka_unit_test(few_worlds_have_few_lanes),
        cmocka_unit_test(the_widest_one_is_the_default),
        cmocka_unit_test(threads_are_those_the_process_may_use),
        cmocka_unit_test(mechanisms_from_the_environment),
        cmocka_unit_test(parallel_work_is_done_once_each),
        cmocka_unit_test(the_hosts_mode_does_not_matter),
        cmocka_unit_test(nor_for_host_work_in_parallel),
        cmocka_unit_test(counters_count_launches_and_bytes),
        cmocka_unit_test(copies_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
