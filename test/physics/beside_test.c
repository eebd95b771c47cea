/*
 * A step's code that is compiled beside the run (NATIVE-6, PROGRAMS-4): until it is there, the code for all models
 * runs, with the bits of a CPU, in lists that are replayed, with room that grew, and in a caller's graph. Driver
 * doubles hold their compiler as long as a test says; a real GPU has its code when it has it, and no bit shows which.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "physics/model_runs.h"
#include "worlds/rig.h"

#include "kernel/beside.h"
#include "kernel/caller.h"
#include "kernel/compile/compiled.h"
#include "kernel/gpu/table.h"
#include "stet/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

enum { CALLS = 7, COMPILATION = 6 };

/* There may be more contacts than there is room for in the beginning. */
static const char balls[] = "<mujoco><option timestep='.004'/><worldbody><geom type='plane' size='9 9 1'/>"
#define BALL(x) "<body pos='" #x " 0 .06'><freejoint/><geom size='.05' condim='6'/></body>"
    BALL(0) BALL(.09) BALL(.2) BALL(.3) BALL(.4) BALL(.5) BALL(.6) BALL(.7) BALL(.8) BALL(.9) "</worldbody></mujoco>";

extern const sti_kernel sti_k_native_step;

/* ---- runs -------------------------------------------------------------------------------------------------------- */

typedef struct run {
    rig r;
    sti_native *native;
} run;

/* compiler NULL: the double's */
static stet_device *open_device_with(const char *compiler, const char *isa)
{
    stet_device *device;
    stet_device_def def = stet_default_device_def();
    def.isa = isa;
    def.threads = 2;
    picked_device(&def);
    def.cache_folder = folder;
    if (compiler) def.gpu.compiler_library = compiler;
    OK(stet_device_create(&def, &device));
    return device;
}

static run begin_on(stet_device *device, const char *text, int64_t nworld)
{
    run x = {.r = {.device = device, .model = rig_model(text)}};
    stet_worlds_def def = stet_default_worlds_def();
    def.nworld = nworld;
    def.exact = false;
    def.seed = 7;
    OK(stet_worlds_create(device, x.r.model, &def, &x.r.worlds));
    OK(sti_native_create(x.r.worlds, &x.native));
    return x;
}

static run begin(const char *text, int64_t nworld, const char *isa)
{
    return begin_on(open_device_with(NULL, isa), text, nworld);
}

static void end_but_device(run *x)
{
    sti_native_destroy(x->native);
    stet_worlds_destroy(x->r.worlds);
    stet_model_destroy(x->r.model);
}

static void end(run *x)
{
    end_but_device(x);
    stet_device_destroy(x->r.device);
}

static uint64_t hash_of(const run *x) { return rig_array_hash(&x->r, "qpos") * 31 + rig_array_hash(&x->r, "qvel"); }

/* A CPU's hashes after each of the calls of so many time steps. */
static void run_on_cpu(const char *text, int64_t nworld, int each, uint64_t *hash)
{
    run x = begin(text, nworld, "portable");
    for (int i = 0; i < CALLS; ++i) {
        OK(sti_native_steps(x.native, NULL, each));
        hash[i] = hash_of(&x);
    }
    end(&x);
}

/* ---- the compiler of a double ------------------------------------------------------------------------------------ */

static void hold_own(void)
{
    if (picked_double) picked_double->hold("#define PH_MODEL ", NULL);
}
static void hold_general(void)
{
    if (picked_double) picked_double->hold("k_native_step", "#define PH_MODEL ");
}
static void hold_nothing(void)
{
    if (picked_double) picked_double->hold(NULL, NULL);
}

static const sti_code *code_of(const run *x, const sti_kernel *kernel)
{
    struct sti_programs *p = x->r.device->programs;
    const sti_program *it = p ? *sti_table_find(p, kernel) : NULL;
    return it && it->code.value ? &it->code : NULL;
}

/* Which code runs, where that is sure. */
static void expect_code(const run *x, bool own)
{
    if (!picked_double) return;
    assert_int_equal(code_of(x, &x->native->step) != NULL, own);
    if (!own) assert_non_null(code_of(x, &sti_k_native_step));
}

static int64_t reason(const run *x, stet_reason why) { return rig_counters(&x->r).reason[why]; }

/*
 * The code for all models is in the cache then: few worlds run it. A compiler that makes one code after the other could
 * not make it while a test holds another.
 */
static void make_general(void)
{
    run x = begin(no_geoms, 4, NULL);
    OK(sti_native_steps(x.native, NULL, 1));
    OK(stet_device_wait_for_code(x.r.device)); /* of resets and poses, too: an end waits for no compiler */
    end(&x);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Also where a thread alone has a world, which has no memory of teams in its own code. */
static void the_code_changes_over_with_the_same_bits(void **state)
{
    for (int k = 0; k < MODEL_RUNS; ++k) {
        uint64_t on_cpu[CALLS];
        run_on_cpu(model_runs[k].text, model_runs[k].nworld, 2, on_cpu);
        make_general();
        hold_own();
        run x = begin(model_runs[k].text, model_runs[k].nworld, NULL);
        for (int i = 0; i < CALLS; ++i) {
            if (i == CALLS / 2) {
                hold_nothing();
                OK(stet_device_wait_for_code(x.r.device));
            }
            OK(sti_native_steps(x.native, NULL, 2));
            assert_true(hash_of(&x) == on_cpu[i]);
            expect_code(&x, i >= CALLS / 2);
        }
        if (picked_double) {
            assert_int_equal(sti_native_is_lone(x.native), model_runs[k].lone);
            assert_true(reason(&x, STET_REASON_KERNEL_CACHE_BESIDE) >= 1);
            assert_int_equal(reason(&x, STET_REASON_KERNEL_CACHE_GENERAL), 0);
        }
        end(&x);
    }
}

/* Where neither is in the cache, both are compiled at the same time, and the first runs. */
static void the_first_that_is_ready_runs(void **state)
{
    uint64_t on_cpu[CALLS];
    run_on_cpu(no_geoms, FEW, 1, on_cpu);
    hold_general();
    run x = begin(no_geoms, FEW, NULL);
    OK(sti_native_steps(x.native, NULL, 1));
    assert_true(hash_of(&x) == on_cpu[0]);
    if (picked_double) {
        assert_non_null(code_of(&x, &x.native->step));
        assert_null(code_of(&x, &sti_k_native_step));
    }
    hold_nothing();
    OK(stet_device_wait_for_code(x.r.device));
    OK(sti_native_steps(x.native, NULL, 1));
    assert_true(hash_of(&x) == on_cpu[1]);
    end(&x);
}

/* A list that has begun with one code ends with it; its recording is not replayed for the other. */
static void lists_change_between_them(void **state)
{
    uint64_t on_cpu[CALLS];
    run_on_cpu(scene, FEW, 3, on_cpu);
    make_general();
    hold_own();
    run x = begin(scene, FEW, NULL);
    for (int i = 0; i < CALLS; ++i) {
        OK(stet_record_begin(x.r.device, "steps"));
        stet_result result = sti_native_steps(x.native, NULL, 2);
        if (i == CALLS / 2) {
            hold_nothing();
            OK(stet_device_wait_for_code(x.r.device));
        }
        if (result == STET_OK) result = sti_native_steps(x.native, NULL, 1);
        expect_code(&x, i > CALLS / 2);
        OK(stet_record_end(x.r.device, result));
        assert_true(hash_of(&x) == on_cpu[i]);
    }
    assert_int_equal(reason(&x, STET_REASON_GRAPH_REPLAY_DIFFERED), 0);
    assert_int_equal(reason(&x, STET_REASON_GRAPH_REPLAY_FAILED), 0);
    end(&x);
}

/* Tables with another room, and those with a parameter of a world's own, want other code; nothing waits for it. */
static void other_tables_do_not_wait(void **state)
{
    uint8_t mask[FEW] = {[3] = 1};
    uint64_t hash[2][CALLS];
    make_general();
    for (int here = 0; here < 2; ++here) {
        run x = begin(balls, FEW, here ? NULL : "portable");
        int64_t nbody = x.r.model->mj->nbody;
        double mass[16];
        assert_true(nbody <= 16);
        for (int64_t b = 0; b < nbody; ++b) mass[b] = x.r.model->mj->body_mass[b] * 1.25;
        OK(sti_native_steps(x.native, NULL, 1));
        OK(stet_device_wait_for_code(x.r.device));
        for (int i = 0; i < CALLS; ++i) {
            if (here && (i == 1 || i == 4)) hold_own();
            if (i == 1) OK(sti_native_set_room(x.native, sti_physics_room(&x.native->tables) - 3));
            if (i == 4) OK(stet_worlds_set_parameter_where(x.r.worlds, "body_mass", mask, mass, nbody));
            if (here && (i == 3 || i == 6)) {
                hold_nothing();
                OK(stet_device_wait_for_code(x.r.device));
            }
            OK(sti_native_steps(x.native, NULL, 2));
            if (here) expect_code(&x, i < 1 || i == 3 || i > 5);
            hash[here][i] = hash_of(&x);
        }
        end(&x);
    }
    for (int i = 0; i < CALLS; ++i) assert_true(hash[0][i] == hash[1][i]);
}

/* What a caller's graph has begun with it keeps; nothing changes over while it is captured. */
static void a_capture_keeps_its_code(void **state)
{
    uint64_t on_cpu[CALLS];
    run_on_cpu(scene, FEW, 1, on_cpu);
    make_general();
    hold_own();
    run x = begin(scene, FEW, NULL);
    if (!caller_can(x.r.device)) {
        end(&x);
        skip();
    }
    OK(sti_native_steps(x.native, NULL, 1));
    assert_true(hash_of(&x) == on_cpu[0]);
    hold_nothing();
    void *stream = caller_stream(x.r.device);
    caller_capture(x.r.device, stream);
    if (picked_double) OK(sti_modules_wait(&x.r.device->programs->modules)); /* it is there, and nobody took it */
    OK(sti_native_steps(x.native, NULL, 1));
    expect_code(&x, false);
    uint64_t id = stet_recording_get_last(x.r.device);
    void *graph = caller_captured(x.r.device, stream);
    for (int i = 1; i < 4; ++i) {
        caller_launch(x.r.device, graph, stream);
        OK(stet_recording_mark_replayed(x.r.device, id));
        assert_true(hash_of(&x) == on_cpu[i]);
    }
    OK(stet_device_wait_for_code(x.r.device));
    OK(sti_native_steps(x.native, NULL, 1));
    expect_code(&x, true);
    assert_true(hash_of(&x) == on_cpu[4]);
    caller_launch(x.r.device, graph, stream);
    OK(stet_recording_mark_replayed(x.r.device, id));
    assert_true(hash_of(&x) == on_cpu[5]);
    caller_graph_end(x.r.device, graph, stream);
    caller_stream_end(x.r.device, stream);
    end(&x);
}

/* Others on the device get what was compiled for a run that is gone. */
static void a_run_may_end_before_its_code(void **state)
{
    uint64_t on_cpu[CALLS];
    run_on_cpu(scene, FEW, 1, on_cpu);
    make_general();
    hold_own();
    run x = begin(scene, FEW, NULL);
    OK(sti_native_steps(x.native, NULL, 1));
    expect_code(&x, false);
    stet_device *device = x.r.device;
    end_but_device(&x);
    hold_nothing();
    x = begin_on(device, scene, FEW);
    OK(sti_native_steps(x.native, NULL, 1));
    OK(stet_device_wait_for_code(device));
    OK(sti_native_steps(x.native, NULL, 1));
    expect_code(&x, true);
    assert_true(hash_of(&x) == on_cpu[1]);
    if (picked_double) assert_int_equal(reason(&x, STET_REASON_KERNEL_CACHE_ABSENT), 0);
    end(&x);
}

/* A device waits for no compiler; what is being compiled comes into the cache all the same. */
static void a_device_ends_before_its_compilations(void **state)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    make_general();
    hold_own();
    run x = begin(scene, FEW, NULL);
    OK(sti_native_steps(x.native, NULL, 1));
    end(&x); /* returns, though the compiler is held */
    if (picked_double) assert_int_equal(picked_double->alive().programs, 1);
    if (picked_double) assert_true(sti_beside_is_running());
    hold_nothing();
    while (sti_beside_is_running()) (void)nanosleep(&nap, NULL);
    if (picked_double) assert_int_equal(picked_double->alive().programs, 0);
    hold_own(); /* nothing has to be compiled */
    x = begin(scene, FEW, NULL);
    OK(sti_native_steps(x.native, NULL, 1));
    if (picked_double) assert_non_null(code_of(&x, &x.native->step));
    if (picked_double) assert_int_equal(reason(&x, STET_REASON_KERNEL_CACHE_BESIDE), 0);
    hold_nothing();
    end(&x);
}

static void count_said(stet_log_level level, const char *line, void *context)
{
    if (strstr(line, "could not be compiled")) ++*(int *)context;
}

/* The code for all models stays; that is said once. */
static void a_compilation_may_fail(void **state)
{
    if (!picked_double) skip();
    int said = 0;
    uint64_t on_cpu[CALLS];
    run_on_cpu(balls, FEW, 1, on_cpu);
    make_general();
    run x = begin(balls, FEW, NULL);
    OK(sti_native_steps(x.native, NULL, 1));
    OK(stet_device_wait_for_code(x.r.device));
    stet_set_log(count_said, &said);
    picked_double->fail_call("rtc_compile", 1, COMPILATION, true);
    OK(sti_native_set_room(x.native, sti_physics_room(&x.native->tables) - 3));
    for (int i = 1; i < CALLS - 1; ++i) {
        OK(sti_native_steps(x.native, NULL, 1));
        OK(stet_device_wait_for_code(x.r.device));
        assert_true(hash_of(&x) == on_cpu[i]);
    }
    expect_code(&x, false);
    assert_int_equal(said, 1);
    assert_int_equal(reason(&x, STET_REASON_KERNEL_CACHE_GENERAL), 1);
    picked_double->fail_call(NULL, 0, 0, false);
    OK(sti_native_set_room(x.native, sti_physics_room(&x.native->tables) - 3)); /* other code may do */
    OK(sti_native_update(x.native));
    OK(stet_device_wait_for_code(x.r.device));
    OK(sti_native_steps(x.native, NULL, 1));
    expect_code(&x, true);
    assert_true(hash_of(&x) == on_cpu[CALLS - 1]);
    stet_set_log(NULL, NULL);
    end(&x);
}

/* So many balls above as many that do not move that the tables of their pairs are too large for code of a model. */
#define BALLS(height, joint)                                                                                           \
    "<body pos='0 0 " height "'>" joint "<replicate count='200' offset='.02 0 0'><geom "                               \
    "size='.02'/></replicate></body>"
static const char large_scene[] =
    "<mujoco><option timestep='.004'/><worldbody><geom type='plane' size='9 9 1'/>" BALLS("1", "")
        BALLS("3", "<freejoint/>") "</worldbody></mujoco>";

/* Its own code is that for all models with another team, which nothing waits for either. */
static void large_tables_do_not_wait(void **state)
{
    if (!picked_double) skip();
    uint64_t on_cpu[CALLS];
    run_on_cpu(large_scene, FEW, 1, on_cpu);
    make_general();
    picked_double->fail_call("rtc_compile", 1, COMPILATION, true);
    run x = begin(large_scene, FEW, NULL);
    assert_true(x.native->tables.nm > STI_NATIVE_MODEL_INTS);
    OK(sti_native_steps(x.native, NULL, 1));
    assert_true(hash_of(&x) == on_cpu[0]);
    expect_code(&x, false);
    OK(stet_device_wait_for_code(x.r.device));
    OK(sti_native_steps(x.native, NULL, 1));
    assert_true(hash_of(&x) == on_cpu[1]);
    assert_int_equal(reason(&x, STET_REASON_KERNEL_CACHE_GENERAL), 1);
    picked_double->fail_call(NULL, 0, 0, false);
    end(&x);
}

/* ---- code that was shipped --------------------------------------------------------------------------------------- */

typedef struct shipping {
    const char *folder;
    int n;
} shipping;

/* The entry under its key without the compiler's lines, which are the last. */
static void ship_item(void *context, const sti_cache_item *item)
{
    shipping *to = context;
    sti_text_buffer bytes = {0};
    sti_entry entry;
    sti_verdict verdict;
    sti_cache cache;
    const char *compiler = memmem(item->key, item->key_size, "\ncompiler ", 10);
    assert_int_equal(item->verdict, STI_FOUND);
    assert_non_null(compiler);
    OK(sti_cache_open(folder, 0, true, &cache));
    OK(sti_cache_read(&cache, item->id, NULL, &bytes, &entry, &verdict));
    const sti_cache_key key = sti_cache_key_of(entry.key, (size_t)(compiler - item->key) + 1);
    const sti_text_buffer object = {.data = (char *)(uintptr_t)entry.object, .size = entry.object_size};
    OK(sti_compiled_ship(to->folder, &key, &object));
    sti_text_buffer_free(&bytes);
    sti_cache_close(&cache);
    to->n++;
}

/* The code for all models lies in a folder to be shipped, and the cache is empty. */
static int ship_general(const char *to)
{
    shipping s = {.folder = to};
    sti_cache cache;
    int64_t removed;
    make_general();
    assert_int_equal(mkdir(to, 0755), 0);
    OK(sti_cache_open(folder, 0, true, &cache));
    OK(sti_cache_list(&cache, ship_item, &s));
    OK(sti_cache_clear(&cache, &removed));
    sti_cache_close(&cache);
    return s.n;
}

/* A first step waits for no compiler; where there is none, the code for all models stays, and that is said once. */
static void a_first_step_runs_code_that_was_shipped(void **state)
{
    if (!picked_double) skip();
    char path[64];
    uint64_t on_cpu[CALLS];
    run_on_cpu(scene, FEW, 1, on_cpu);
    (void)snprintf(path, sizeof path, "%s/shipped", folder);
    int n = ship_general(path), said = 0;
    assert_true(n >= 3); /* step, poses, reset */
    if (setenv("STET_GPU_CODE_FOLDER", path, 1) != 0) fail();
    hold_own();
    run x = begin(scene, FEW, NULL);
    OK(sti_native_steps(x.native, NULL, 1));
    assert_true(hash_of(&x) == on_cpu[0]);
    expect_code(&x, false);
    assert_true(reason(&x, STET_REASON_KERNEL_CACHE_SHIPPED) >= 3);
    assert_int_equal(reason(&x, STET_REASON_KERNEL_CACHE_ABSENT), 0);
    assert_int_equal(reason(&x, STET_REASON_KERNEL_CACHE_BESIDE), 0);
    hold_nothing();
    OK(stet_device_wait_for_code(x.r.device));
    OK(sti_native_steps(x.native, NULL, 1));
    assert_true(hash_of(&x) == on_cpu[1]);
    expect_code(&x, true);
    assert_int_equal(reason(&x, STET_REASON_KERNEL_CACHE_BESIDE), 1);
    end(&x);

    stet_set_log(count_said, &said);
    x = begin_on(open_device_with("/no/such/compiler.so", NULL), scene, FEW);
    for (int i = 0; i < CALLS; ++i) {
        OK(sti_native_steps(x.native, NULL, 1));
        assert_true(hash_of(&x) == on_cpu[i]);
    }
    expect_code(&x, false);
    assert_int_equal(reason(&x, STET_REASON_KERNEL_CACHE_GENERAL), said);
    assert_true(said >= 1);
    stet_set_log(NULL, NULL);
    end(&x);
    (void)unsetenv("STET_GPU_CODE_FOLDER");
}

/* Who counts what happens waits instead. */
static void a_device_may_wait(void **state)
{
    if (setenv("STET_WAIT_FOR_CODE", "1", 1) != 0) fail();
    run x = begin(scene, FEW, NULL);
    OK(sti_native_steps(x.native, NULL, 1));
    if (x.r.device->can.compiles) {
        assert_non_null(code_of(&x, &x.native->step));
        assert_null(code_of(&x, &sti_k_native_step));
        assert_int_equal(reason(&x, STET_REASON_KERNEL_CACHE_BESIDE), 0);
    }
    end(&x);
    (void)unsetenv("STET_WAIT_FOR_CODE");
}

#define BESIDE_TEST(f) cmocka_unit_test_setup_teardown(f, begin_beside, end_beside)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BESIDE_TEST(the_code_changes_over_with_the_same_bits),
        BESIDE_TEST(the_first_that_is_ready_runs),
        BESIDE_TEST(lists_change_between_them),
        BESIDE_TEST(other_tables_do_not_wait),
        BESIDE_TEST(a_capture_keeps_its_code),
        BESIDE_TEST(a_run_may_end_before_its_code),
        BESIDE_TEST(a_device_ends_before_its_compilations),
        BESIDE_TEST(a_compilation_may_fail),
        BESIDE_TEST(large_tables_do_not_wait),
        BESIDE_TEST(a_first_step_runs_code_that_was_shipped),
        BESIDE_TEST(a_device_may_wait),
    };
    (void)unsetenv("STET_WAIT_FOR_CODE");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
