/*
 * The null device: what is counted, what fails, and that arrays on it hold what was written, through its slots alone.
 * The whole of stet on it is test/sim/faults/null_test.c.
 */
#include "device/rig.h"
#include "device/null/null.h"

#include "base/dice.h"
#include "bench/pilot/pilot.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static stet_device *open_null(int lanes)
{
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_NULL;
    def.null = &(sti_null_def){.lanes = lanes};
    stet_device *device;
    OK(stet_device_create(&def, &device));
    return device;
}

static const int widths[] = {1, 4, 8, 16};
#define FOR_LANES(l) for (size_t l = 0; l < sizeof widths / sizeof *widths; ++l)

/* ---- making --------------------------------------------------------------------------------------------------- */

static void what_it_is(void **state)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    OK(stet_device_create(&def, &device));
    assert_int_equal(stet_device_get_type(device), STET_DEVICE_CPU); /* never picked by itself */
    assert_int_equal(sti_null_calls(device, STI_NULL_OP_ALLOC), -1);
    FAILS(sti_null_fail(device, STI_NULL_OP_ALLOC, 1), STET_ERROR_INVALID_ARGUMENT, "null devices only, not of cpu (");
    stet_device_destroy(device);

    device = open_null(0);
    assert_string_equal(stet_device_get_name(device), "null (1 lane)");
    assert_int_equal(stet_device_get_type(device), STET_DEVICE_NULL);
    assert_string_equal(stet_device_get_isa(device), "none");
    assert_int_equal(stet_device_get_lanes(device), 1);
    assert_int_equal(stet_device_get_threads(device), 1);
    assert_int_equal(stet_dtype_size(device, STET_DTYPE_REAL), 4);
    for (int s = 0; s < STI_NULL_OP_COUNT; ++s) assert_int_equal(sti_null_calls(device, (sti_null_op)s), 0);
    assert_int_equal(sti_null_calls(device, STI_NULL_OP_COUNT), -1);
    assert_int_equal(sti_null_calls(NULL, STI_NULL_OP_ALLOC), -1);
    stet_device_destroy(device);
    device = open_null(16);
    assert_string_equal(stet_device_get_name(device), "null (16 lanes)");
    stet_device_destroy(device);
    assert_string_equal(sti_null_op_name(STI_NULL_OP_SYNCHRONIZE), "synchronize");
    assert_string_equal(sti_null_op_name(STI_NULL_OP_COUNT), "?");
}

static void what_is_refused(void **state)
{
    stet_device_def good = stet_default_device_def();
    good.type = STET_DEVICE_NULL;
    stet_device *device;
    int64_t blocks = stet_get_memory_stats().blocks;
#define REFUSED(part, ...)                                                                                             \
    do {                                                                                                               \
        stet_device_def bad = good;                                                                                    \
        __VA_ARGS__;                                                                                                   \
        FAILS(stet_device_create(&bad, &device), STET_ERROR_INVALID_ARGUMENT, part);                                   \
        assert_null(device);                                                                                           \
    } while (0)
    REFUSED("no instruction set, so 'avx2'", bad.isa = "avx2");
    REFUSED("3 lanes; 1, 4, 8 and 16", bad.null = &(sti_null_def){.lanes = 3});
    REFUSED("-1 threads", bad.threads = -1);
    REFUSED("no operation 99", bad.null = &(sti_null_def){.fail_op = (sti_null_op)99});
    REFUSED("free cannot fail", bad.null = &(sti_null_def){.fail_op = STI_NULL_OP_FREE});
    REFUSED("call -2 of any cannot fail", bad.null = &(sti_null_def){.fail_at = -2});
    assert_int_equal(stet_get_memory_stats().blocks, blocks);
    device = open_null(4);
    FAILS(sti_null_fail(device, STI_NULL_OP_FREE, 1), STET_ERROR_INVALID_ARGUMENT, "free cannot fail");
    FAILS(sti_null_fail(NULL, STI_NULL_OP_COPY, 1), STET_ERROR_INVALID_ARGUMENT, "not of NULL");
    stet_device_destroy(device);
}

/* ---- counts and failures -------------------------------------------------------------------------------------- */

/* One call of each slot through what uses it; the array is made and written anew. */
static stet_result use(stet_device *device, sti_null_op slot)
{
    stet_array *a;
    float some[6] = {1, 2, 3, 4, 5, 6};
    sti_pilot p;
    stet_result result = STI_ARRAY(device, "a", STET_DTYPE_REAL, false, &a, 6);
    if (slot == STI_NULL_OP_ALLOC || result != STET_OK) {
        stet_array_destroy(a);
        return result;
    }
    switch (slot) {
    case STI_NULL_OP_UPLOAD: result = stet_array_write(a, some, sizeof some); break;
    case STI_NULL_OP_DOWNLOAD: result = stet_array_read(a, some, sizeof some); break;
    case STI_NULL_OP_COPY: result = device->ops->copy(device, a->data, a->data, 0); break;
    case STI_NULL_OP_SYNCHRONIZE: result = device->ops->synchronize(device); break;
    case STI_NULL_OP_LAUNCH:
        result = sti_pilot_create(device, STI_PILOT_LEVEL, 2, &p);
        if (result == STET_OK) result = sti_pilot_run(device, &p);
        sti_pilot_destroy(&p);
        break;
    default: break;
    }
    stet_array_destroy(a);
    return result;
}

static void calls_are_counted(void **state)
{
    for (int s = STI_NULL_OP_ALLOC; s < STI_NULL_OP_COUNT; ++s) {
        stet_device *device = open_null(1);
        sti_null_op slot = (sti_null_op)s;
        for (int k = 0; k < 3; ++k) OK(use(device, slot));
        if (slot != STI_NULL_OP_ALLOC && slot != STI_NULL_OP_FREE) assert_int_equal(sti_null_calls(device, slot), 3);
        int64_t allocs = sti_null_calls(device, STI_NULL_OP_ALLOC), sum = 0;
        assert_true(allocs >= 3);
        assert_int_equal(sti_null_calls(device, STI_NULL_OP_FREE), allocs);
        for (int k = STI_NULL_OP_ALLOC; k < STI_NULL_OP_COUNT; ++k)
            if (k != STI_NULL_OP_FREE) sum += sti_null_calls(device, (sti_null_op)k);
        assert_int_equal(sti_null_calls(device, STI_NULL_OP_ANY), sum);
        stet_device_destroy(device);
    }
}

static void the_nth_call_fails_once(void **state)
{
    for (int s = STI_NULL_OP_ALLOC; s < STI_NULL_OP_COUNT; ++s)
        for (int at = 1; at <= 4; ++at) {
            sti_null_op slot = (sti_null_op)s;
            if (slot == STI_NULL_OP_FREE) continue;
            stet_device *device = open_null(4);
            int64_t blocks = stet_get_memory_stats().blocks;
            char words[64];
            OK(sti_null_fail(device, slot, at));
            for (int k = 1; k < at; ++k) OK(use(device, slot));
            int64_t calls = sti_null_calls(device, slot);
            (void)snprintf(words, sizeof words, "null device: %s failed at its call %lld", sti_null_op_name(slot),
                           (long long)calls + 1);
            FAILS(use(device, slot), STET_ERROR_DEVICE, words);
            assert_int_equal(stet_get_memory_stats().blocks, blocks);
            for (int k = 0; k < 3; ++k) OK(use(device, slot));
            stet_device_destroy(device);
        }
}

static void a_failure_can_be_taken_back_and_any_slot_can_be_the_one(void **state)
{
    stet_device *device = open_null(1);
    OK(sti_null_fail(device, STI_NULL_OP_UPLOAD, 1));
    OK(sti_null_fail(device, STI_NULL_OP_UPLOAD, 0));
    OK(use(device, STI_NULL_OP_UPLOAD));
    OK(sti_null_fail(device, STI_NULL_OP_ANY, 2)); /* alloc, then upload */
    FAILS(use(device, STI_NULL_OP_UPLOAD), STET_ERROR_DEVICE, "upload failed at its call 2");
    OK(use(device, STI_NULL_OP_UPLOAD));
    stet_device_destroy(device);

    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_NULL;
    def.null = &(sti_null_def){.fail_op = STI_NULL_OP_ALLOC, .fail_at = 1};
    OK(stet_device_create(&def, &device));
    FAILS(use(device, STI_NULL_OP_ALLOC), STET_ERROR_DEVICE, "alloc failed at its call 1");
    stet_device_destroy(device);
}

static void what_fails_changes_nothing(void **state)
{
    FOR_LANES(l)
    {
        stet_device *device = open_null(widths[l]);
        stet_array *a;
        int ones[35], twos[35], back[35];
        for (int k = 0; k < 35; ++k) ones[k] = 1, twos[k] = 2;
        OK(STI_ARRAY(device, "a", STET_DTYPE_INT, true, &a, 5, 7));
        OK(stet_array_write(a, ones, sizeof ones));
        uint64_t generation = stet_array_get_generation(a);
        OK(sti_null_fail(device, STI_NULL_OP_UPLOAD, 1));
        FAILS(stet_array_write(a, twos, sizeof twos), STET_ERROR_DEVICE, "upload");
        if (widths[l] > 1) { /* some lanes of a block: it is fetched first */
            OK(sti_null_fail(device, STI_NULL_OP_DOWNLOAD, 1));
            FAILS(stet_array_write_worlds(a, 1, 2, twos, 14 * sizeof *twos), STET_ERROR_DEVICE, "download");
        }
        assert_int_equal(stet_array_get_generation(a), generation);
        OK(stet_array_read(a, back, sizeof back));
        assert_memory_equal(back, ones, sizeof ones);
        OK(sti_null_fail(device, STI_NULL_OP_DOWNLOAD, 1));
        FAILS(stet_array_read(a, back, sizeof back), STET_ERROR_DEVICE, "download");
        const void *host;
        OK(sti_null_fail(device, STI_NULL_OP_DOWNLOAD, 1));
        FAILS(stet_array_get_host(a, &host), STET_ERROR_DEVICE, "download");
        assert_null(host);
        OK(stet_array_get_host(a, &host));
        assert_memory_equal(host, ones, sizeof ones);
        stet_array_destroy(a);
        stet_device_destroy(device);
    }
}

/* ---- content -------------------------------------------------------------------------------------------------- */

/* Writes and reads of random ranges, against a plain copy; and the hash is that of the CPU. */
static void arrays_hold_what_was_written(void **state)
{
    uint64_t dice = dice_seed("null");
    FOR_LANES(l)
    for (int round = 0; round < 60; ++round) {
        stet_device *device = open_null(widths[l]), *cpu = open_device(STI_ISA_portable, 1);
        int64_t nworld = (int64_t)dice_below(&dice, 40) + 1, nitem = (int64_t)dice_below(&dice, 5) + 1;
        bool worlds = dice_below(&dice, 4) > 0;
        size_t row = (size_t)nitem * sizeof(int);
        int *copy = calloc((size_t)nworld, row), *some = calloc((size_t)nworld, row);
        stet_array *a, *b;
        uint64_t ours, theirs;
        OK(STI_ARRAY(device, "a", STET_DTYPE_INT, worlds, &a, nworld, nitem));
        OK(STI_ARRAY(cpu, "b", STET_DTYPE_INT, worlds, &b, nworld, nitem));
        for (int k = 0; k < 20; ++k) {
            int64_t first = (int64_t)dice_below(&dice, (size_t)nworld + 1);
            int64_t n = (int64_t)dice_below(&dice, (size_t)(nworld - first) + 1);
            size_t size = (size_t)n * row;
            for (int64_t i = 0; i < n * nitem; ++i) some[i] = (int)dice_next(&dice);
            if (dice_below(&dice, 2)) {
                OK(stet_array_write_worlds(a, first, n, some, size));
                if (n > 0) memcpy(copy + first * nitem, some, size);
            }
            OK(stet_array_read_worlds(a, first, n, some, size));
            assert_memory_equal(some, copy + first * nitem, size);
        }
        OK(stet_array_write(b, copy, (size_t)nworld * row));
        OK(stet_array_hash(a, &ours));
        OK(stet_array_hash(b, &theirs));
        assert_true(ours == theirs);
        stet_array_destroy(a);
        stet_array_destroy(b);
        free(copy);
        free(some);
        stet_device_destroy(device);
        stet_device_destroy(cpu);
    }
}

/* Lanes of the last block that are no world's keep what they held, as on the CPU. */
static void padding_stays(void **state)
{
    stet_device *device = open_null(4);
    stet_array *a;
    int rows[6] = {1, 2, 3, 4, 5, 6};
    OK(STI_ARRAY(device, "a", STET_DTYPE_INT, true, &a, 6, 1));
    ((int *)a->data)[7] = 77;
    OK(stet_array_write(a, rows, sizeof rows));
    assert_int_equal(((int *)a->data)[7], 77);
    assert_int_equal(((int *)a->data)[5], 6);
    assert_int_equal(sti_null_calls(device, STI_NULL_OP_DOWNLOAD), 1);
    OK(stet_array_write_worlds(a, 0, 4, rows, 4 * sizeof *rows)); /* a whole block need not be fetched */
    assert_int_equal(sti_null_calls(device, STI_NULL_OP_DOWNLOAD), 1);
    stet_array_destroy(a);
    stet_device_destroy(device);
}

static void launches_run_nothing(void **state)
{
    for (int kind = 0; kind < STI_PILOT_COUNT; ++kind) {
        stet_device *device = open_null(8);
        sti_pilot p;
        OK(sti_pilot_create(device, (sti_pilot_kind)kind, 16, &p));
        uint64_t before, after, generation = stet_array_get_generation(p.output[0]);
        OK(stet_array_hash(p.output[0], &before));
        OK(sti_pilot_run(device, &p));
        OK(stet_array_hash(p.output[0], &after));
        assert_true(before == after);
        assert_true(stet_array_get_generation(p.output[0]) > generation); /* to stet it was written */
        assert_int_equal(sti_null_calls(device, STI_NULL_OP_LAUNCH), 1);
        sti_pilot_destroy(&p);
        stet_device_destroy(device);
    }
}

/* ---- apart ------------------------------------------------------------------------------------------------------ */

static int touch(const volatile char *address)
{
    pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        (void)signal(SIGBUS, SIG_DFL);
        (void)*address;
        _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void addresses_that_are_apart_cannot_be_touched(void **state)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    stet_array *a;
    char mine = 0;
    def.type = STET_DEVICE_NULL;
    def.null = &(sti_null_def){.apart = true};
    OK(stet_device_create(&def, &device));
    OK(STI_ARRAY(device, "a", STET_DTYPE_INT, false, &a, 4));
    assert_int_not_equal(touch(a->data), 0);
    assert_int_equal(touch(&mine), 0);
    int written[4] = {1, 2, 3, 4}, read[4];
    OK(stet_array_write(a, written, sizeof written));
    OK(stet_array_read(a, read, sizeof read));
    assert_memory_equal(read, written, sizeof read);
    stet_array_destroy(a);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_is),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(calls_are_counted),
        cmocka_unit_test(the_nth_call_fails_once),
        cmocka_unit_test(a_failure_can_be_taken_back_and_any_slot_can_be_the_one),
        cmocka_unit_test(what_fails_changes_nothing),
        cmocka_unit_test(arrays_hold_what_was_written),
        cmocka_unit_test(padding_stays),
        cmocka_unit_test(launches_run_nothing),
        cmocka_unit_test(addresses_that_are_apart_cannot_be_touched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
