/*
 * Plans of what adjoints gather: made from the list, the same bits with and without, kept while indices stand, on every
 * device that runs kernels. Only GPUs have them.
 */
#include "device/devices.h"

#include "kernel/user_rig.h"

#include "adjoint/launch/handle.h"
#include "kernel/record/record.h"
#include "stet/adjoint.h"
#include "stet/dlpack.h"

enum { WORLDS = 5, N = 61 };

#define KERNEL(body)                                                                                                   \
    "#include \"stet/lang.h\"\nworld_kernel void k_f(const real *x, const int *at, real *y, int n)\n" body

static const char gathers[] = KERNEL("{ each (i, n) put(y, i, x[at[i]] * x[at[(i + 1) % n]]); }\n");

typedef struct bench {
    rig_device *rig;
    stet_device *device;
    stet_kernel *kernel;
    stet_adjoint *adjoint;
    stet_array *x, *y, *x_grad, *y_grad, *at;
} bench;

static void fill(stet_array *a, int seed)
{
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < N; ++i) reals_set(a, w, i, (double)((w * 31 + i * 17 + seed) % 23) / 7 - 1);
    stet_array_mark_written(a);
}

static void set_indices(bench *b, int first, int step)
{
    int32_t at[N];
    for (int i = 0; i < N; ++i) at[i] = (first + i * step) % N;
    OK(stet_array_write(b->at, at, sizeof at));
}

static void open_bench(bench *b, rig_device *rig, const char *source)
{
    *b = (bench){.rig = rig, .device = rig->device};
    stet_array **worlds[] = {&b->x, &b->y, &b->x_grad, &b->y_grad};
    stet_kernel_def def = stet_default_kernel_def();
    def.source = source;
    def.name = "k_f";
    def.cache_folder = in_folder("cache");
    OK(stet_kernel_create(b->device, &def, &b->kernel));
    OK(stet_kernel_get_adjoint(b->kernel, &b->adjoint));
    for (int i = 0; i < 4; ++i) {
        OK(STI_ARRAY(b->device, "reals", STET_DTYPE_REAL, true, worlds[i], WORLDS, N));
        fill(*worlds[i], i);
    }
    OK(STI_ARRAY(b->device, "at", STET_DTYPE_INT, false, &b->at, N));
    set_indices(b, 3, 7);
}

static void close_bench(bench *b)
{
    stet_array *all[] = {b->x, b->y, b->x_grad, b->y_grad, b->at};
    for (int i = 0; i < 5; ++i) stet_array_destroy(all[i]);
    stet_kernel_destroy(b->kernel);
}

static stet_result launch(bench *b, int n)
{
    const stet_arg args[] = {stet_arg_array(b->x), stet_arg_array(b->at), stet_arg_array(b->y), stet_arg_int(n)};
    stet_array *const gradients[] = {b->x_grad, NULL, b->y_grad, NULL};
    return stet_adjoint_launch(b->adjoint, WORLDS, args, gradients, 4);
}

/* The gradient of x after a launch from the same start. */
static uint64_t gradient(bench *b, int n)
{
    uint64_t hash;
    fill(b->x_grad, 2);
    fill(b->y_grad, 3);
    OK(launch(b, n));
    OK(stet_array_hash(b->x_grad, &hash));
    return hash;
}

static void switch_plans(bench *b, bool on)
{
    stet_mechanism_options options = stet_device_get_mechanisms(b->device);
    options.disabled &= ~(1u << STET_MECHANISM_GATHER_PLAN);
    if (!on) options.disabled |= 1u << STET_MECHANISM_GATHER_PLAN;
    OK(stet_device_set_mechanisms(b->device, &options));
}

/* The same, listed. */
static uint64_t listed(bench *b, int n)
{
    switch_plans(b, false);
    uint64_t hash = gradient(b, n);
    switch_plans(b, true);
    return hash;
}

static stet_counter row(const bench *b)
{
    stet_counters c = stet_device_get_counters(b->device);
    return c.mechanism[STET_MECHANISM_GATHER_PLAN];
}

static int64_t reason(const bench *b, stet_reason why)
{
    stet_counters c = stet_device_get_counters(b->device);
    return c.reason[why];
}
#define REASON(b, name) reason(b, STET_REASON_GATHER_PLAN_##name)

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void a_plan_is_the_list_turned_around(void **state)
{
    sti_place_listed entry[30] = {{1, 7, 100, 0}, {0, 4, 101, 1}, {1, 7, 102, 2}, {0, 2, 103, 3}};
    for (int i = 4; i < 30; ++i) entry[i] = (sti_place_listed){1, 3, 200 + i, i};
    int32_t *words;
    int64_t n;
    OK(sti_plan_words(entry, 30, 3, &words, &n));
    /* Three arrays: two elements of one entry each; one of 26 and one of 2; none. */
    const int32_t head[] = {3, 11, 19, 0, 2, 2, 21, 1, 4, 22, 1, 1, 2, 3, 23, 26, 7, 49, 2, 0, 0, 103, 101};
    assert_int_equal(n, 3 + 6 + 12 + 30);
    assert_memory_equal(words, head, sizeof head);
    for (int i = 4; i < 30; ++i) assert_int_equal(words[23 + i - 4], 200 + i);
    assert_int_equal(words[49], 100);
    assert_int_equal(words[50], 102);
    sti_free(words);
    OK(sti_plan_words(entry, 0, 1, &words, &n));
    assert_int_equal(n, 3);
    assert_int_equal(words[0], 1);
    assert_int_equal(words[2], 0);
    sti_free(words);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static void plans_change_no_bit(void **state)
{
    static const int steps[] = {1, 7, 0, 61, 5}; /* 0: all iterations for one element */
    FOR_RUNNING_DEVICES(rig)
    {
        bench b;
        open_bench(&b, &rig, gathers);
        for (int i = 0; i < 5; ++i) {
            set_indices(&b, i, steps[i]);
            uint64_t want = listed(&b, N);
            assert_int_equal(gradient(&b, N), want);
            assert_int_equal(gradient(&b, N), want);
            assert_int_equal(listed(&b, N), want);
        }
        close_bench(&b);
    }
}

static void a_plan_stands_while_indices_do(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        bench b;
        open_bench(&b, &rig, gathers);
        bool gpu = b.device->can.compiles;
        stet_device_clear_counters(b.device);
        for (int i = 0; i < 5; ++i) (void)gradient(&b, N);
        assert_int_equal(row(&b).hits, gpu ? 4 : 0);
        assert_int_equal(REASON(&b, FIRST), gpu);
        (void)gradient(&b, N - 1); /* another number */
        (void)gradient(&b, N);     /* both are kept */
        assert_int_equal(row(&b).hits, gpu ? 5 : 0);
        assert_int_equal(row(&b).misses, gpu ? 2 : 0);
        fill(b.x, 9); /* reals are nothing to it */
        (void)gradient(&b, N);
        assert_int_equal(row(&b).hits, gpu ? 6 : 0);
        set_indices(&b, 1, 4);
        uint64_t planned = gradient(&b, N);
        assert_int_equal(row(&b).misses, gpu ? 3 : 0);
        assert_int_equal(planned, listed(&b, N));
        assert_int_equal(REASON(&b, DISABLED), gpu);
        close_bench(&b);
    }
}

static void indices_that_never_rest_get_no_plans(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        bench b;
        open_bench(&b, &rig, gathers);
        bool gpu = b.device->can.compiles;
        for (int i = 0; i < 30; ++i) {
            set_indices(&b, i, 7);
            uint64_t got = gradient(&b, N);
            if (i % 10 == 9) assert_int_equal(got, listed(&b, N));
        }
        assert_true(!gpu || REASON(&b, RESTLESS) >= 20);
        for (int i = 0; i < 3; ++i) (void)gradient(&b, N); /* now they rest */
        assert_int_equal(row(&b).hits, gpu ? 2 : 0);
        close_bench(&b);
    }
}

/* A list writes the indices and then needs them: what it lists cannot be known yet. */
static void indices_of_a_list_are_not_looked_at(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        bench b;
        stet_array *other;
        uint64_t hash;
        open_bench(&b, &rig, gathers);
        bool gpu = b.device->can.compiles;
        OK(STI_ARRAY(b.device, "other", STET_DTYPE_INT, false, &other, N));
        int32_t at[N];
        for (int i = 0; i < N; ++i) at[i] = (i * i) % N;
        OK(stet_array_write(other, at, sizeof at));
        for (int i = 0; i < 4; ++i) {
            fill(b.x_grad, 2);
            fill(b.y_grad, 3);
            OK(stet_record_begin(b.device, "indices"));
            OK(stet_array_copy(b.at, other));
            OK(stet_record_end(b.device, launch(&b, N)));
        }
        OK(stet_array_hash(b.x_grad, &hash));
        assert_true(!gpu || REASON(&b, LISTED) == 4);
        assert_int_equal(hash, listed(&b, N));
        stet_array_destroy(other);
        close_bench(&b);
    }
}

static void indices_that_others_write_have_none(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        bench b;
        stet_export_def def = stet_default_export_def();
        DLManagedTensorVersioned *tensor;
        open_bench(&b, &rig, gathers);
        bool gpu = b.device->can.compiles;
        def.writable = true;
        OK(stet_array_export(b.at, &def, &tensor));
        for (int i = 0; i < 3; ++i) (void)gradient(&b, N);
        assert_int_equal(row(&b).hits, 0);
        assert_int_equal(REASON(&b, EXPORTED), gpu ? 3 : 0);
        tensor->deleter(tensor);
        for (int i = 0; i < 3; ++i) (void)gradient(&b, N);
        assert_int_equal(row(&b).hits, gpu ? 2 : 0);
        close_bench(&b);
    }
}

static void an_audit_finds_what_was_not_announced(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        bench b;
        int32_t one = 1;
        open_bench(&b, &rig, gathers);
        if (b.device->can.compiles) {
            stet_mechanism_options options = stet_device_get_mechanisms(b.device), audited = options;
            audited.audit = true;
            OK(stet_device_set_mechanisms(b.device, &audited));
            for (int i = 0; i < 3; ++i) (void)gradient(&b, N);
            assert_int_equal(row(&b).hits, 2);
            OK(b.device->ops->upload(b.device, (int32_t *)b.at->data + 5, &one, sizeof one));
            assert_int_equal(launch(&b, N), STET_ERROR_AUDIT);
            assert_non_null(strstr(stet_get_last_error(), "gather_plan"));
            OK(stet_device_set_mechanisms(b.device, &options));
        }
        close_bench(&b);
    }
}

/* ---- what has none ----------------------------------------------------------------------------------------------- */

static void what_depends_on_more_than_indices_has_none(void **state)
{
    static const char *const sources[] = {
        KERNEL("{ each (i, n) { if (any(lt(splat(0), x[i]))) put(y, i, x[at[i]]); } }\n"),
        "#include \"stet/lang.h\"\n"
        "world_kernel void k_f(const real *x, const int *at, real *y, int n, int world)\n"
        "{ each (i, n) put(y, i, x[at[(i + world) % n]]); }\n",
        KERNEL("{ for (int k = 0; k < 2; ++k) each (i, n) put(y, i, x[at[(i + k) % n]]); }\n"),
    };
    FOR_RUNNING_DEVICES(rig)
    {
        for (int s = 0; s < 3; ++s) {
            bench b;
            open_bench(&b, &rig, sources[s]);
            uint64_t want = listed(&b, N);
            stet_device_clear_counters(b.device);
            assert_int_equal(gradient(&b, N), want);
            assert_int_equal(gradient(&b, N), want);
            assert_int_equal(row(&b).hits + row(&b).misses, 0);
            close_bench(&b);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_is_the_list_turned_around),
        cmocka_unit_test(plans_change_no_bit),
        cmocka_unit_test(a_plan_stands_while_indices_do),
        cmocka_unit_test(indices_that_never_rest_get_no_plans),
        cmocka_unit_test(indices_of_a_list_are_not_looked_at),
        cmocka_unit_test(indices_that_others_write_have_none),
        cmocka_unit_test(an_audit_finds_what_was_not_announced),
        cmocka_unit_test(what_depends_on_more_than_indices_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
