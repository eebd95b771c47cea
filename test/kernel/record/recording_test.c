/*
 * Recordings as callers make them: lists, loops and copies of their own kernels; what is counted, and what is refused.
 * Run on each device (stet_test_on_devices).
 */
#include "device/picked.h"

#include "kernel/user_rig.h"

#include "kernel/record/record.h"

enum { WORLDS = 13 };

static const char source[] =
    "#include \"stet/lang.h\"\n"
    "world_kernel void k_add(real *x, ureal h, int n) { each (i, n) put(x, i, x[i] + splat(h)); }\n"
    /* One of Newton's steps towards the root of a. */
    "world_kernel void k_root(const real *a, real *x)\n"
    "{ each (i, 1) put(x, i, splat(0.5f) * (x[i] + a[i] / x[i])); }\n"
    /* again [2]: is there a world whose x is not its root yet? And how often that was asked. */
    "item_kernel void k_far(const wreal *a, const wreal *x, int *again, int nworld, int block)\n"
    "{\n"
    "    int far = 0;\n"
    "    for (int w = 0; w < nworld; ++w) {\n"
    "        ureal r = of_world(x, 1, w, 0), error = r * r - of_world(a, 1, w, 0);\n"
    "        if (uabs(error) > 0.00001f * r * r) far = 1;\n"
    "    }\n"
    "    each (i, 1) {\n"
    "        again[i] = far;\n"
    "        again[i + 1] = again[i + 1] + 1;\n"
    "    }\n"
    "}\n"
    "item_kernel void k_less(int *n, int block) { each (i, 1) n[i] = n[i] - 1; }\n";

typedef struct bench {
    stet_device *device;
    stet_kernel *add, *root, *far, *less;
    stet_array *a, *x, *y, *again;
} bench;

static stet_kernel *kernel_called(stet_device *device, const char *name)
{
    stet_kernel_def def = kernel_def(source);
    def.name = name;
    if (picked_any()) def.cache_folder = NULL; /* the device's, which is kept */
    return make_kernel(device, &def);
}

static stet_array *ints(stet_device *device, const char *name, int64_t n)
{
    stet_array *a;
    OK(STI_ARRAY(device, name, STET_DTYPE_INT, false, &a, n));
    return a;
}

/* On the CPU with this instruction set, if the run is about the CPU. */
static stet_device *open_one(int isa)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    if (!picked_any()) return open_device(isa, 1);
    def.threads = 1;
    picked_device(&def);
    OK(stet_device_create(&def, &device));
    return device;
}

static bench open_bench(int isa)
{
    bench b = {.device = open_one(isa)};
    b.add = kernel_called(b.device, "k_add");
    b.root = kernel_called(b.device, "k_root");
    b.far = kernel_called(b.device, "k_far");
    b.less = kernel_called(b.device, "k_less");
    OK(STI_ARRAY(b.device, "a", STET_DTYPE_REAL, true, &b.a, WORLDS, 1));
    OK(STI_ARRAY(b.device, "x", STET_DTYPE_REAL, true, &b.x, WORLDS, 1));
    OK(STI_ARRAY(b.device, "y", STET_DTYPE_REAL, true, &b.y, WORLDS, 1));
    b.again = ints(b.device, "again", 2);
    return b;
}

static void close_bench(bench *b)
{
    stet_kernel *const kernels[] = {b->add, b->root, b->far, b->less};
    stet_array *const arrays[] = {b->a, b->x, b->y, b->again};
    for (int i = 0; i < 4; ++i) stet_array_destroy(arrays[i]);
    for (int i = 0; i < 4; ++i) stet_kernel_destroy(kernels[i]);
    stet_device_destroy(b->device);
}

static stet_counters counters_of(const bench *b)
{
    stet_counters c = stet_device_get_counters(b->device);
    return c;
}
#define ROW(b) (counters_of(b).mechanism[STET_MECHANISM_GRAPH_REPLAY])

static stet_result add(const bench *b, stet_array *x, double h)
{
    const stet_arg args[] = {stet_arg_array(x), stet_arg_real(h), stet_arg_int(1)};
    return stet_kernel_launch(b->add, WORLDS, args, 3);
}

static stet_result less(const bench *b, stet_array *n)
{
    const stet_arg args[] = {stet_arg_array(n)};
    return stet_kernel_launch(b->less, 1, args, 1);
}

static float at(const stet_array *a, int world)
{
    float x[WORLDS];
    OK(stet_array_read(a, x, sizeof x));
    return x[world];
}

static int number(const stet_array *a, int i)
{
    int32_t n[2];
    OK(stet_array_read(a, n, stet_array_get_bytes(a)));
    return n[i];
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static stet_result list(const bench *b, double h)
{
    STI_TRY(stet_record_begin(b->device, "two and a copy"));
    stet_result result = add(b, b->x, h);
    if (result == STET_OK) result = stet_array_copy(b->y, b->x);
    if (result == STET_OK) result = add(b, b->x, 1);
    return stet_record_end(b->device, result);
}

static void a_list_that_comes_back_is_replayed(void **state)
{
    bench b = open_bench(STI_ISA_portable);
    float want = 0;
    for (int i = 1; i <= 10; ++i) {
        uint64_t x = stet_array_get_generation(b.x), y = stet_array_get_generation(b.y);
        OK(list(&b, i));
        assert_int_equal(stet_array_get_generation(b.x), x + 2);
        assert_int_equal(stet_array_get_generation(b.y), y + 1);
        assert_true(at(b.y, WORLDS - 1) == want + (float)i);
        want += (float)i + 1;
        assert_true(at(b.x, WORLDS - 1) == want);
    }
    assert_int_equal(ROW(&b).misses, 2); /* first, compared */
    assert_int_equal(ROW(&b).hits, 8);
    assert_int_equal(ROW(&b).fallbacks, 0);
    assert_int_equal(counters_of(&b).launches, 20);
    close_bench(&b);
}

static void nothing_runs_before_the_end(void **state)
{
    bench b = open_bench(STI_ISA_portable);
    OK(stet_record_begin(b.device, NULL));
    OK(add(&b, b.x, 1));
    assert_int_equal(stet_array_get_generation(b.x), 1);
    assert_int_equal(counters_of(&b).launches, 0);
    assert_int_equal(stet_record_end(b.device, STET_ERROR_LIMIT), STET_ERROR_LIMIT); /* forgotten */
    assert_true(at(b.x, 0) == 0);
    OK(stet_record_begin(b.device, NULL));
    OK(add(&b, b.x, 1));
    assert_true(at(b.x, 0) == 1); /* the host looks: a split */
    OK(add(&b, b.x, 1));
    OK(stet_record_end(b.device, STET_OK));
    assert_true(at(b.x, 0) == 2);
    assert_int_equal(counters_of(&b).reason[STET_REASON_GRAPH_REPLAY_SPLIT], 1);
    close_bench(&b);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/* The root of each world's a, as many of Newton's steps as the slowest world needs, at most `most`. */
static stet_result roots(const bench *b, int64_t most)
{
    const stet_arg root[] = {stet_arg_array(b->a), stet_arg_array(b->x)};
    const stet_arg far[] = {stet_arg_array(b->a), stet_arg_array(b->x), stet_arg_array(b->again), stet_arg_int(WORLDS)};
    STI_TRY(stet_record_begin(b->device, "roots"));
    stet_result result = stet_array_copy(b->x, b->a);
    if (result == STET_OK) result = stet_kernel_launch(b->far, 1, far, 4);
    if (result == STET_OK) result = stet_record_while(b->device, b->again, most);
    if (result == STET_OK) result = stet_kernel_launch(b->root, WORLDS, root, 2);
    if (result == STET_OK) result = stet_kernel_launch(b->far, 1, far, 4);
    if (result == STET_OK) result = stet_record_while_end(b->device);
    return stet_record_end(b->device, result);
}

static void a_loop_ends_where_the_device_says(void **state)
{
    static const int64_t most[] = {100, 100, 100, 3, 0, 100};
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa) {
        if (isa == STI_ISA_f64 || !sti_isa_available((sti_isa)isa)) continue;
        if (picked_any() && isa != STI_ISA_portable) continue; /* a device has no more than one */
        bench b = open_bench(isa);
        int asked = 0;
        for (int k = 0; k < 6; ++k) {
            float a[WORLDS];
            for (int w = 0; w < WORLDS; ++w) a[w] = (float)(w + 1) * (k % 2 ? 3.0f : 1000.0f);
            OK(stet_array_write(b.a, a, sizeof a));
            uint64_t before = stet_array_get_generation(b.x);
            OK(roots(&b, most[k]));
            int trips = number(b.again, 1) - asked - 1;
            asked = number(b.again, 1);
            /* Where the device ends a replay's loop by itself, what is in it counts once. */
            bool unknown = b.device->type == STET_DEVICE_CUDA && k > 1;
            assert_int_equal(stet_array_get_generation(b.x), before + 1 + (unknown ? 1 : (uint64_t)trips));
            if (most[k] < 100) {
                assert_int_equal(trips, most[k]);
                continue;
            }
            assert_true(k % 2 ? trips < 10 : trips > 8);
            assert_int_equal(number(b.again, 0), 0);
            for (int w = 0; w < WORLDS; ++w) assert_true(at(b.x, w) * at(b.x, w) / a[w] - 1 < 0.00002f);
        }
        assert_int_equal(ROW(&b).misses, 2); /* whatever the trips, it is one recording */
        assert_int_equal(ROW(&b).hits, 4);
        close_bench(&b);
    }
}

static void loops_in_loops(void **state)
{
    for (int off = 0; off < 2; ++off) {
        bench b = open_bench(STI_ISA_portable);
        stet_mechanism_options options = {.disabled = off ? 1u << STET_MECHANISM_GRAPH_REPLAY : 0};
        OK(stet_device_set_mechanisms(b.device, &options));
        stet_array *outer = ints(b.device, "outer", 1), *inner = ints(b.device, "inner", 1);
        stet_array *five = ints(b.device, "five", 1);
        const int32_t three = 3, n = 5;
        OK(stet_array_write(five, &n, sizeof n));
        for (int i = 1; i <= 4; ++i) {
            OK(stet_array_write(outer, &three, sizeof three));
            OK(stet_record_begin(b.device, "a grid"));
            OK(stet_record_while(b.device, outer, 50));
            OK(stet_array_copy(inner, five));
            OK(stet_record_while(b.device, inner, 50));
            OK(add(&b, b.x, 1));
            OK(less(&b, inner));
            OK(stet_record_while_end(b.device));
            OK(less(&b, outer));
            OK(stet_record_while_end(b.device));
            OK(stet_record_end(b.device, STET_OK));
            assert_true(at(b.x, 0) == 15 * (float)i);
        }
        stet_array_destroy(outer);
        stet_array_destroy(inner);
        stet_array_destroy(five);
        close_bench(&b);
    }
}

/* ---- replays by others ------------------------------------------------------------------------------------------- */

static void kf11_a_replay_by_somebody_else_is_announced(void **state)
{
    bench b = open_bench(STI_ISA_portable);
    assert_int_equal(stet_recording_get_last(b.device), 0);
    for (int i = 0; i < 3; ++i) OK(list(&b, 1));
    uint64_t id = stet_recording_get_last(b.device), x = stet_array_get_generation(b.x),
             y = stet_array_get_generation(b.y);
    assert_int_not_equal(id, 0);
    OK(stet_recording_mark_replayed(b.device, id));
    assert_int_equal(stet_array_get_generation(b.x), x + 2);
    assert_int_equal(stet_array_get_generation(b.y), y + 1);
    stet_kernel_destroy(b.add); /* the recording goes with it */
    b.add = NULL;
    FAILS(stet_recording_mark_replayed(b.device, id), STET_ERROR_NOT_FOUND, "there is no recording");
    assert_int_equal(stet_recording_get_last(b.device), 0);
    close_bench(&b);
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

static void refused_in_a_sentence(void **state)
{
    bench b = open_bench(STI_ISA_portable);
    stet_array *wide;
    OK(STI_ARRAY(b.device, "wide", STET_DTYPE_REAL, true, &wide, WORLDS, 2));
    FAILS(stet_record_begin(NULL, "x"), STET_ERROR_INVALID_ARGUMENT, "device must not be NULL");
    FAILS(stet_record_end(NULL, STET_OK), STET_ERROR_INVALID_ARGUMENT, "device must not be NULL");
    FAILS(stet_record_end(b.device, STET_OK), STET_ERROR_STATE, "no list of launches was begun");
    FAILS(stet_record_while(b.device, b.again, 1), STET_ERROR_STATE, "between begin and end");
    FAILS(stet_record_while_end(b.device), STET_ERROR_STATE, "no loop");
    FAILS(stet_array_copy(b.x, NULL), STET_ERROR_INVALID_ARGUMENT, "from must not be NULL");
    FAILS(stet_array_copy(NULL, b.x), STET_ERROR_INVALID_ARGUMENT, "to must not be NULL");
    FAILS(stet_array_copy(b.x, wide), STET_ERROR_INVALID_ARGUMENT, "the same type and shape");
    FAILS(stet_recording_mark_replayed(NULL, 1), STET_ERROR_INVALID_ARGUMENT, "device must not be NULL");
    FAILS(stet_recording_mark_replayed(b.device, 1), STET_ERROR_NOT_FOUND, "no recording 1");
    assert_int_equal(stet_recording_get_last(NULL), 0);

    OK(stet_record_begin(b.device, "a mistake"));
    FAILS(stet_record_while(b.device, b.x, 1), STET_ERROR_INVALID_ARGUMENT, "plain array of int");
    FAILS(stet_record_while(b.device, NULL, 1), STET_ERROR_INVALID_ARGUMENT, "condition must not be NULL");
    FAILS(stet_record_while(b.device, b.again, -1), STET_ERROR_INVALID_ARGUMENT, "-1 trips");
    OK(stet_record_while(b.device, b.again, 9));
    OK(less(&b, b.again));
    int32_t n[2];
    FAILS(stet_array_read(b.again, n, sizeof n), STET_ERROR_UNSUPPORTED, "inside a loop");
    FAILS(stet_record_end(b.device, STET_OK), STET_ERROR_STATE, "a loop is still open");
    for (int i = 0; i < STI_RECORD_DEPTH; ++i) OK(stet_record_begin(b.device, "deeper"));
    FAILS(stet_record_begin(b.device, "too deep"), STET_ERROR_LIMIT, "too deep");
    for (int i = 0; i < STI_RECORD_DEPTH; ++i) OK(stet_record_end(b.device, STET_OK));
    OK(list(&b, 2)); /* and all is well */
    assert_true(at(b.x, 3) == 3);
    stet_array_destroy(wide);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list_that_comes_back_is_replayed),          cmocka_unit_test(nothing_runs_before_the_end),
        cmocka_unit_test(a_loop_ends_where_the_device_says),           cmocka_unit_test(loops_in_loops),
        cmocka_unit_test(kf11_a_replay_by_somebody_else_is_announced), cmocka_unit_test(refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
