/*
 * What goes wrong on GPUs, over the driver doubles, through the CUDA table and through the HIP table: kernels that
 * fault, calls and allocations that fail, other libraries in the process.
 */
#include "device/gpu/gpu_rig.h"

#include "base/failing.h"

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static void a_fault_is_told_with_the_last_launches_and_stays(void **state)
{
    stet_device *device = open_gpu();
    kernels k;
    load_kernels(device, &k);
    int *a = take(device, 4000), *b = take(device, 4000), back[1000];
    const sti_slot twice[3] = {{.p = b}, {.p = a}, {.i = 1000}}, count[3] = {{.p = a}, {.i = 0}};
    o.control->fail_kernel(2, 700);
    stet_result result = device->ops->launch(device, &k.twice, twice, 3, 4, false);
    for (int i = 0; i < 3 && result == STET_OK; ++i) result = device->ops->launch(device, &k.count, count, 3, 4, false);
    if (result == STET_OK) result = device->ops->synchronize(device);
    assert_int_equal(result, STET_ERROR_DEVICE);
    char said[1024];
    (void)snprintf(said, sizeof said, "%s", stet_get_last_error());
    assert_non_null(strstr(said, "(700)"));
    assert_non_null(strstr(said, "newest first: k_count"));
    assert_non_null(strstr(said, "k_double"));
    int64_t calls = o.control->calls(NULL);
    void *memory;
    FAILS(device->ops->synchronize(device), STET_ERROR_DEVICE, said);
    FAILS(device->ops->alloc(device, 100, "more", &memory), STET_ERROR_DEVICE, said);
    FAILS(device->ops->download(device, back, a, sizeof back), STET_ERROR_DEVICE, said);
    FAILS(device->ops->upload(device, a, back, sizeof back), STET_ERROR_DEVICE, said);
    FAILS(device->ops->launch(device, &k.count, count, 3, 1, false), STET_ERROR_DEVICE, said);
    assert_int_equal(o.control->calls(NULL), calls);
    device->ops->free(device, a); /* lets go without a call */
    unload_kernels(device, &k);
    stet_device_destroy(device);
    double_start(o.control, 12); /* the fault took the process's context; in another process all is well */
    device = open_gpu();
    a = take(device, 100);
    expect_bytes(device, a, 100, 0);
    device->ops->free(device, a);
    stet_device_destroy(device);
}

/* ---- the thread's own device ------------------------------------------------------------------------------------- */

static void *current(void)
{
    void *context = NULL;
    int ordinal = 0;
    if (!o.hip) {
        assert_int_equal(o.api.context_get(&context), 0);
        return context;
    }
    assert_int_equal(o.api.device_current(&ordinal), 0);
    return (void *)(uintptr_t)ordinal;
}

static void other_libraries_find_their_device_as_they_left_it(void **state)
{
    stet_device_def def = gpu_def();
    stet_device *device;
    void *other = NULL;
    assert_int_equal(o.api.init(0), 0);
    if (o.hip) {
        assert_int_equal(o.api.device_set(1), 0);
    } else {
        assert_int_equal(o.api.context_retain(&other, 1), 0);
        assert_int_equal(o.api.context_set(other), 0);
    }
    void *before = current();
    def.gpu.index = 0;
    OK(stet_device_create(&def, &device));
    assert_ptr_equal(current(), before);
    kernels k;
    load_kernels(device, &k);
    int *a = take(device, 400), back[100];
    const sti_slot slots[3] = {{.p = a}, {.i = 1}};
    OK(device->ops->launch(device, &k.count, slots, 3, 100, false));
    OK(device->ops->download(device, back, a, sizeof back));
    assert_int_equal(back[99], 1008);
    assert_ptr_equal(current(), before);
    device->ops->free(device, a);
    unload_kernels(device, &k);
    stet_device_destroy(device);
    assert_ptr_equal(current(), before);
    if (o.hip) {
        assert_int_equal(o.api.device_set(0), 0);
    } else {
        assert_int_equal(o.api.context_set(NULL), 0);
        assert_int_equal(o.api.context_release(1), 0);
    }
    nothing_is_left();
}

/* The thread's own capture mode; 0 is what a thread begins with. */
static int own_mode(void)
{
    int mode = 0, own;
    assert_int_equal(o.api.capture_mode(&mode), 0); /* the two are exchanged … */
    own = mode;
    assert_int_equal(o.api.capture_mode(&mode), 0); /* … and back */
    return own;
}

/* Giving back what the thread had fails once, with a code that passes and one that takes the device; then for ever. */
static void what_was_current_comes_back_at_the_second_try(void **state)
{
    const char *const back[] = {"capture_mode", o.hip ? "device_set" : "context_set"};
    static const int codes[] = {1, 719};
    for (int i = 0; i < 6; ++i) {
        double_start(o.control, 14);
        stet_device *device = open_gpu();
        sti_gpu *gpu = gpu_of(device);
        if (o.hip) assert_int_equal(o.api.device_set(1), 0);
        void *before = current();
        bool for_ever = i >= 4, fatal = i % 2 == 1 && !for_ever;
        sti_gpu_current was;
        OK(sti_gpu_enter(gpu, &was));
        assert_true(current() != before);
        o.control->fail_call(back[for_ever ? i - 4 : i / 2], 1, codes[fatal], for_ever);
        if (fatal || for_ever)
            FAILS(sti_gpu_leave(gpu, &was, STET_OK), STET_ERROR_DEVICE, "giving the device back");
        else
            OK(sti_gpu_leave(gpu, &was, STET_OK));
        o.control->fail_call(NULL, 0, 0, false);
        assert_int_equal(atomic_load(&gpu->lost), fatal);
        if (for_ever) {
            int mode = 0; /* the test gives back what stet could not */
            assert_int_equal(o.api.capture_mode(&mode), 0);
        } else {
            assert_ptr_equal(current(), before);
        }
        assert_int_equal(own_mode(), 0);
        stet_device_destroy(device);
    }
    double_start(o.control, 14);
}

/*
 * Another library captures a stream, in the mode that is told of all threads' calls, while stet works: neither disturbs
 * the other.
 */
static void kf09_somebody_elses_capture_goes_on(void **state)
{
    void *other = NULL, *graph = NULL, *stream = NULL;
    entries_start_seed(&o, 13); /* this thread has device 0 current */
    assert_int_equal(o.api.stream_create(&stream, 0), 0);
    assert_int_equal(o.api.alloc(&other, 100), 0);
    assert_int_equal(o.api.capture_begin(stream, 0), 0);
    assert_int_equal(o.api.fill_async(other, 1, 100, stream), 0);
    stet_device *device = open_gpu();
    kernels k;
    load_kernels(device, &k);
    int *a = take(device, 3 * MIB), back[100];
    void *mirror;
    OK(device->ops->host_alloc(device, 2 * MIB, "a mirror", &mirror));
    OK(device->ops->upload(device, a, mirror, 2 * MIB));
    const sti_slot slots[3] = {{.p = a}, {.i = 1}};
    OK(device->ops->launch(device, &k.count, slots, 3, 100, false));
    OK(device->ops->download(device, back, a, sizeof back));
    assert_int_equal(back[99], 1008);
    device->ops->host_free(device, mirror);
    device->ops->free(device, a);
    unload_kernels(device, &k);
    stet_device_destroy(device);
    assert_int_equal(o.api.capture_end(stream, &graph), 0);
    int mode = 0; /* the thread's own mode is as it was */
    assert_int_equal(o.api.capture_mode(&mode), 0);
    assert_int_equal(mode, 0);
    assert_int_equal(o.api.graph_destroy(graph), 0);
    assert_int_equal(o.api.stream_destroy(stream), 0);
    assert_int_equal(o.api.free(other), 0);
    double_expect_clean(o.control);
}

static int64_t exchanges(void) { return o.control->calls("capture_mode"); }

/*
 * Drivers may load a function when it is first launched, which a capture forbids: that launch is announced, later ones
 * are allowed anyway.
 */
static void kf09_only_the_first_launch_of_a_function_is_announced(void **state)
{
    void *stream = NULL, *graph = NULL;
    entries_start_seed(&o, 15);
    assert_int_equal(o.api.stream_create(&stream, 0), 0);
    assert_int_equal(o.api.capture_begin(stream, 0), 0);
    stet_device *device = open_gpu();
    int *a = take(device, MIB), back[100];
    const sti_slot slots[3] = {{.p = a}, {.i = 1}};
    sti_slot *block = take(device, sizeof slots);
    OK(device->ops->upload(device, block, slots, sizeof slots));
    for (int loaded = 0; loaded < 2; ++loaded) { /* a function that is loaded again is new, whatever its address */
        kernels k;
        load_kernels(device, &k);
        for (int i = 0; i < 4; ++i) {
            int64_t before = exchanges();
            OK(device->ops->launch(device, &k.count, slots, 3, 100, false));
            assert_int_equal(exchanges() - before, i == 0 ? 2 : 0);
        }
        int64_t before = exchanges();
        OK(device->ops->launch(device, &k.count, block, 3, 50, true)); /* another function of the module */
        assert_int_equal(exchanges() - before, 2);
        o.control->fail_call("context_get", 1, 1, false);
        if (!o.hip)
            FAILS(device->ops->launch(device, &k.count, slots, 3, 100, false), STET_ERROR_DEVICE, "making the device");
        o.control->fail_call(NULL, 0, 0, false);
        OK(device->ops->download(device, back, a, sizeof back));
        assert_int_equal(back[0], 5 * 1008 * (loaded + 1));
        assert_int_equal(back[99], 4 * 1008 * (loaded + 1));
        unload_kernels(device, &k);
    }
    device->ops->free(device, a);
    device->ops->free(device, block);
    stet_device_destroy(device);
    assert_int_equal(o.api.capture_end(stream, &graph), 0); /* it went on */
    assert_int_equal(o.api.graph_destroy(graph), 0);
    assert_int_equal(o.api.stream_destroy(stream), 0);
    double_expect_clean(o.control);
}

/* ---- the n-th call fails ----------------------------------------------------------------------------------------- */

/* A short run of everything; `code` was compiled before. */
static stet_result short_run(const char *code, size_t size, int *out)
{
    enum { N = 100 };
    stet_device_def def = gpu_def();
    stet_device *device;
    stet_array *array = NULL;
    void *module = NULL, *big = NULL, *mirror = NULL;
    sti_code k = {.name = "k_count", .team = 8, .teams = 4, .worlds = true};
    STI_TRY(stet_device_create(&def, &device));
    stet_result result = STI_ARRAY(device, "numbers", STET_DTYPE_INT, true, &array, N);
    if (result == STET_OK) result = device->ops->load(device, code, size, "two kernels", &module);
    if (result == STET_OK) result = device->ops->function(device, module, "count_value", &k.value);
    if (result == STET_OK) result = device->ops->alloc(device, 3 * MIB / 2, "a big block", &big);
    if (result == STET_OK) result = device->ops->host_alloc(device, MIB, "a big mirror", &mirror);
    if (result == STET_OK) result = device->ops->upload(device, big, mirror, MIB);
    if (result == STET_OK) result = device->ops->upload(device, big, code, size < MIB ? size : MIB);
    if (result == STET_OK) {
        const sti_slot slots[3] = {{.p = array->data}, {.i = 2}};
        result = device->ops->launch(device, &k, slots, 3, N, false);
    }
    if (result == STET_OK) result = device->ops->copy(device, (char *)big + MIB, big, MIB / 2);
    if (result == STET_OK) result = device->ops->download(device, mirror, big, MIB);
    if (result == STET_OK) result = stet_array_read(array, out, N * sizeof *out);
    if (result == STET_OK) result = device->ops->synchronize(device);
    device->ops->unload(device, module);
    device->ops->free(device, big);
    device->ops->host_free(device, mirror);
    stet_array_destroy(array);
    stet_device_destroy(device);
    return result;
}

/* A code that takes the device away, and one that does not; each call of the driver in turn. */
static void every_call_may_fail(void **state)
{
    static const int codes[] = {1, 2, 719};
    size_t size;
    char *code = compile(two_kernels, &size);
    for (size_t c = 0; c < sizeof codes / sizeof *codes; ++c) {
        int64_t n = 1, failures = 0;
        for (;; ++n) {
            int out[100] = {0};
            begin(NULL);
            assert_int_equal(o.api.init(0), 0);
            void *found = current();
            o.control->fail_call(NULL, n, codes[c], false);
            int64_t before = o.control->calls(NULL);
            stet_result result = short_run(code, size, out);
            bool reached = o.control->calls(NULL) - before >= n;
            o.control->fail_call(NULL, 0, 0, false);
            assert_ptr_equal(current(), found); /* whichever call it was */
            if (!reached) {
                OK(result);
                for (int i = 0; i < 100; ++i) assert_int_equal(out[i], 2008);
                break;
            }
            /* One that only lets go may fail unnoticed; then the result is right. */
            if (result == STET_OK)
                for (int i = 0; i < 100; ++i) assert_int_equal(out[i], 2008);
            else
                failures += stet_get_last_error()[0] != 0;
        }
        assert_true(n > 40);
        assert_true(failures > 25);
    }
    free(code);
    begin(NULL);
}

static char *run_code;
static size_t run_size;

static stet_result run_once(void)
{
    int out[100] = {0};
    begin(NULL);
    stet_result result = short_run(run_code, run_size, out);
    nothing_is_left();
    return result;
}

static void every_allocation_may_fail(void **state)
{
    run_code = compile(two_kernels, &run_size);
    assert_true(fail_each_allocation(run_once, false) >= 8);
    free(run_code);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_fault_is_told_with_the_last_launches_and_stays),
        GPU_TEST(other_libraries_find_their_device_as_they_left_it),
        GPU_TEST(what_was_current_comes_back_at_the_second_try),
        GPU_TEST(kf09_somebody_elses_capture_goes_on),
        GPU_TEST(kf09_only_the_first_launch_of_a_function_is_announced),
        GPU_TEST(every_call_may_fail),
        GPU_TEST(every_allocation_may_fail),
    };
    return RUN_ON_DOUBLES("device/gpu_fault", tests);
}
