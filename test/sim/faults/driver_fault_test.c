/*
 * The whole main job (everything.h, with the caller's kernels in the step and an export) on a GPU whose driver fails
 * once, at its n-th call, through both tables: the call says so, made again it works, nothing is left, and another
 * device does not notice.
 *
 * Which n: some that follow from a seed; with the argument "cuda" or "hip" all that there are (of those that take the
 * device away every seventh), through that table alone; with two numbers k and m behind it the k-th of m shares of
 * them, which can run side by side.
 */
#include "sim/faults/everything.h"

#include "base/dice.h"
#include "base/failing.h"
#include "double/entries.h"

#include <stdlib.h>

enum { SOME = 15 };

static bool all;
static int share = 1, shares = 1;
static int64_t beside, until; /* allocations of the device that stands by; of it and the job */
static opened o;              /* the double under test */
static everything reference;

static void on_the_double(stet_device_def *def)
{
    def->type = o.hip ? STET_DEVICE_HIP : STET_DEVICE_CUDA;
    def->gpu.library = def->gpu.compiler_library = o.hip ? DOUBLE_HIP : DOUBLE_CUDA;
    def->cache_folder = double_cache_folder();
}

/* A failed call of the driver, or a lack of the device's memory that it means; never the caller's mistake. */
static bool is_the_drivers(stet_result result)
{
    return result == STET_ERROR_DEVICE || result == STET_ERROR_OUT_OF_MEMORY || result == STET_ERROR_UNSUPPORTED;
}

/* Somebody's device beside it, with content that stays. */
typedef struct bystander {
    stet_device *device;
    stet_array *array;
} bystander;

static bystander stand_by(void)
{
    bystander b;
    stet_device_def def = stet_default_device_def();
    on_the_double(&def);
    def.gpu.index = 1;
    OK(stet_device_create(&def, &b.device));
    OK(STI_ARRAY(b.device, "beside", STET_DTYPE_INT, false, &b.array, 2));
    OK(stet_array_write(b.array, (int[]){41, 42}, 2 * sizeof(int)));
    return b;
}

static void leave(bystander *b)
{
    int back[2];
    if (!o.hip) { /* whichever call failed: this thread has its own context again, which is none */
        void *context;
        assert_int_equal(o.api.context_get(&context), 0);
        assert_null(context);
    }
    OK(stet_array_write_worlds(b->array, 0, 1, &(int){43}, sizeof(int)));
    OK(stet_array_read(b->array, back, sizeof back));
    assert_int_equal(back[0] + back[1], 43 + 42);
    stet_array_destroy(b->array);
    stet_device_destroy(b->device);
}

static void nothing_is_left(int64_t n)
{
    double_alive a = o.control->alive();
    double_expect_clean(o.control);
    if (a.blocks + a.host_blocks + a.streams + a.events + a.modules + a.graphs + a.contexts + a.programs)
        fail_msg(
            "call %lld: left are %lld blocks, %lld of the host, %lld streams, %lld events, %lld modules, %lld graphs, "
            "%lld contexts, %lld programs",
            (long long)n, (long long)a.blocks, (long long)a.host_blocks, (long long)a.streams, (long long)a.events,
            (long long)a.modules, (long long)a.graphs, (long long)a.contexts, (long long)a.programs);
}

/* A run in which call n of the driver returns `code`, 0: none does. *calls: how many there were. */
static stet_result run(const everything_how *how, int64_t n, int code, int64_t *calls)
{
    double_config config = o.control->defaults();
    int64_t blocks = stet_get_memory_stats().blocks;
    int64_t allocations = stet_get_memory_stats().allocations;
    config.seed = 5;
    o.control->start(&config);
    bystander b = stand_by();
    beside = stet_get_memory_stats().allocations - allocations;
    int64_t before = o.control->calls(NULL);
    if (n) o.control->fail_call(NULL, n, code, false);
    stet_result result = everything_run(how, &reference);
    o.control->fail_call(NULL, 0, 0, false);
    *calls = o.control->calls(NULL) - before;
    until = stet_get_memory_stats().allocations - allocations;
    leave(&b);
    /* What failed while it let go stays with the driver. */
    if (reference.failures || !n) nothing_is_left(n);
    assert_int_equal(stet_get_memory_stats().blocks, blocks);
    return result;
}

static const everything_how retried = {.place = on_the_double,
                                       .fair = is_the_drivers,
                                       .retry = true,
                                       .kernels = STET_TEST_BINARY_DIR "/test/kernel_cache"};
static const everything_how ended = {
    .place = on_the_double, .fair = is_the_drivers, .kernels = STET_TEST_BINARY_DIR "/test/kernel_cache"};

/* How many count as done: some calls are tried twice and fail nobody, so a few may be all of that kind. */
static int counted(int done, int64_t failed) { return all || failed > 0 || done > 10 * SOME ? done : 0; }

/* The next call to fail; 0: enough. */
static int64_t next(uint64_t *dice, int64_t n, int64_t total, int done, int step)
{
    if (all) {
        n += (int64_t)step * (done > 0 ? shares : share);
        return n <= total ? n : 0;
    }
    return done < (in_part() ? SOME / 3 : SOME) ? 1 + (int64_t)dice_below(dice, (size_t)total) : 0;
}

static void one_call_fails(void **state)
{
    uint64_t dice = dice_seed("one_call_fails");
    int64_t total, calls, failed = 0;
    int done = 0;
    reference.nnumber = 0;
    OK(run(&retried, 0, 0, &total));
    assert_true(total > 300);
    for (int64_t n = 0; (n = next(&dice, n, total, counted(done, failed), 1)) != 0; ++done) {
        OK(run(&retried, n, 1, &calls));
        failed += reference.failures;
    }
    print_message("%d of %lld calls failed once, %lld calls of stet's for that\n", done, (long long)total,
                  (long long)failed);
    assert_true(failed > 0);
}

/* A code that takes the device away, whenever it comes: all can be given back. */
static void the_device_is_lost(void **state)
{
    uint64_t dice = dice_seed("the_device_is_lost");
    int64_t total, calls;
    int done = 0;
    reference.nnumber = 0;
    OK(run(&ended, 0, 0, &total));
    for (int64_t n = 0; (n = next(&dice, n, total, done, 7)) != 0; ++done) {
        stet_result result = run(&ended, n, 719, &calls);
        if (result != STET_OK && !is_the_drivers(result))
            fail_msg("call %lld: %s", (long long)n, stet_get_last_error());
    }
}

/* ---- the host's memory ------------------------------------------------------------------------------------------- */

static bool is_memory(stet_result result)
{
    return result == STET_ERROR_OUT_OF_MEMORY && strstr(stet_get_last_error(), "memory");
}

/* A run in which allocation n fails, 0: none does; how many there were. */
static int64_t run_without(const everything_how *how, int64_t n)
{
    failing f = {.fail_at = n};
    int64_t calls;
    assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
    OK(run(how, 0, 0, &calls));
    assert_int_equal(f.held, 0);
    assert_int_equal(f.failed, n > 0);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
    return until;
}

/* Those of the device that stands by are not among them. */
static void one_allocation_fails(void **state)
{
    everything_how how = retried;
    uint64_t dice = dice_seed("one_allocation_fails");
    int64_t total;
    int done = 0;
    how.fair = is_memory;
    reference.nnumber = 0;
    total = run_without(&how, 0);
    assert_true(total > 500);
    for (int64_t n = all ? beside : 0; (n = next(&dice, n, total, done, 1)) != 0; ++done)
        if (n > beside) (void)run_without(&how, n);
}

static int through(void **state, bool table)
{
    entries_open(&o, table);
    return 0;
}
static int through_cuda(void **state) { return through(state, false); }
static int through_hip(void **state) { return through(state, true); }

static int clean(void **state)
{
    everything_clean();
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_call_fails),
        cmocka_unit_test(the_device_is_lost),
        cmocka_unit_test(one_allocation_fails),
    };
    all = argc > 1;
    if (argc > 3) {
        share = atoi(argv[2]);
        shares = atoi(argv[3]);
        if (share < 1 || share > shares) return 2;
    }
    int failed = 0;
    if (!all || strcmp(argv[1], "cuda") == 0)
        failed += cmocka_run_group_tests_name("sim/driver_fault through CUDA", tests, through_cuda, clean);
    if (!all || strcmp(argv[1], "hip") == 0)
        failed += cmocka_run_group_tests_name("sim/driver_fault through HIP", tests, through_hip, clean);
    return failed;
}
