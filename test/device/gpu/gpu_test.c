/*
 * GPUs as devices, over the driver doubles, each test through the CUDA table and through the HIP table: memory, copies,
 * launches, limits. Faults are gpu_fault_test.c; finding drivers and libraries is gpu_library_test.c.
 */
#include "device/gpu/gpu_rig.h"

#include "base/dice.h"
#include "stet/dlpack.h"

#include <pthread.h>

static void what_it_is(void **state)
{
    stet_device_def def = gpu_def();
    stet_device *device;
    def.gpu.index = 1;
    OK(stet_device_create(&def, &device));
    assert_string_equal(stet_device_get_isa(device), o.hip ? "gfx90a" : "sm_90");
    assert_string_equal(device->arch, stet_device_get_isa(device));
    assert_int_equal(stet_device_get_type(device), def.type);
    assert_int_equal(stet_device_get_lanes(device), 1);
    assert_int_equal(stet_device_get_threads(device), 2);
    assert_int_equal(stet_dtype_size(device, STET_DTYPE_REAL), 4);
    assert_int_equal(device->index, 1);
    assert_false(device->can.host_memory);
    assert_string_equal(device->compiler_library, double_file());
    assert_memory_equal(stet_device_get_name(device), o.hip ? "hip:1 (Double" : "cuda:1 (Double", 13);
    close_gpu(device);
    def.isa = "avx2";
    FAILS(stet_device_create(&def, &device), STET_ERROR_INVALID_ARGUMENT, "isa 'avx2' is of a CPU");
    assert_null(device);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void fill(stet_device *device, void *memory, size_t size, unsigned char byte)
{
    unsigned char *bytes = malloc(size + 1);
    memset(bytes, byte, size + 1);
    OK(device->ops->upload(device, memory, bytes, size));
    free(bytes);
}

static const size_t sizes[] = {
    0, 1, 255, 256, 257, 5000, 512 << 10, (512 << 10) + 1, MIB - 1, MIB + 1, 3 * MIB + 777, 9 * MIB + 3, 20 * MIB + 1};
enum { NSIZE = sizeof sizes / sizeof *sizes };

static void memory_is_zero_whoever_had_it_before(void **state)
{
    stet_device *device = open_gpu();
    for (int round = 0; round < 3; ++round) {
        void *memory[NSIZE];
        for (int i = 0; i < NSIZE; ++i) {
            memory[i] = take(device, sizes[i]);
            expect_bytes(device, memory[i], sizes[i], 0);
            fill(device, memory[i], sizes[i], (unsigned char)(17 * i + 1));
        }
        for (int i = 0; i < NSIZE; ++i) {
            expect_bytes(device, memory[i], sizes[i], (unsigned char)(17 * i + 1));
            device->ops->free(device, memory[i]);
        }
    }
    close_gpu(device);
}

static void freed_blocks_are_given_out_again(void **state)
{
    stet_device *device = open_gpu();
    for (int i = 0; i < NSIZE; ++i) device->ops->free(device, take(device, sizes[i]));
    int64_t asked = o.control->calls("alloc"), freed = o.control->calls("free");
    sti_pool_stats before = sti_pool_get_stats(&gpu_of(device)->pool);
    assert_int_equal(before.used, 0);
    assert_int_equal(before.blocks, 0);
    assert_int_equal(before.asked, asked);
    for (int round = 0; round < 10; ++round)
        for (int i = 0; i < NSIZE; ++i) device->ops->free(device, take(device, sizes[i]));
    sti_pool_stats after = sti_pool_get_stats(&gpu_of(device)->pool);
    assert_int_equal(o.control->calls("alloc"), asked);
    assert_int_equal(o.control->calls("free"), freed);
    assert_int_equal(after.reused, before.reused + 10 * NSIZE);
    assert_int_equal(after.kept, before.kept);
    device->ops->free(device, NULL);
    close_gpu(device);
}

/* A block that is much bigger than what is asked for is not given out for it. */
static void a_big_block_is_not_wasted(void **state)
{
    stet_device *device = open_gpu();
    void *big = take(device, 40 * MIB);
    device->ops->free(device, big);
    void *small = take(device, 2 * MIB);
    assert_ptr_not_equal(small, big);
    void *again = take(device, 38 * MIB);
    assert_ptr_equal(again, big);
    device->ops->free(device, small);
    device->ops->free(device, again);
    close_gpu(device);
}

static void start_with(size_t memory)
{
    double_config config = o.control->defaults();
    config.memory = memory;
    o.control->start(&config);
}

static void what_is_kept_goes_back_when_memory_is_short(void **state)
{
    start_with(64 * MIB);
    stet_device *device = open_gpu(); /* keeps at most an eighth of it */
    void *one = take(device, 6 * MIB), *two = take(device, 30 * MIB);
    device->ops->free(device, one);
    assert_int_equal(sti_pool_get_stats(&gpu_of(device)->pool).kept, 6 * MIB);
    device->ops->free(device, two); /* too much to be kept beside the first */
    assert_true(sti_pool_get_stats(&gpu_of(device)->pool).kept <= 8 * MIB);
    void *most = take(device, 60 * MIB); /* fits only where the first was given back */
    assert_int_equal(sti_pool_get_stats(&gpu_of(device)->pool).kept, 0);
    device->ops->free(device, most);
    close_gpu(device);
}

static void out_of_memory_says_what_and_how_much(void **state)
{
    start_with(64 * MIB);
    stet_device *device = open_gpu();
    void *some = take(device, 16 * MIB), *none = &none;
    FAILS(device->ops->alloc(device, 1000 * MIB, "array frame", &none), STET_ERROR_OUT_OF_MEMORY,
          "array frame needs 1048576000 bytes");
    assert_null(none);
    assert_non_null(strstr(stet_get_last_error(), "of 0.06 GiB are free, stet holds 0.02 GiB in 1 block;"));
    FAILS(device->ops->alloc(device, SIZE_MAX, "a mistake", &none), STET_ERROR_OUT_OF_MEMORY, "a mistake needs");
    FAILS(device->ops->alloc(device, SIZE_MAX - 100, "a mistake", &none), STET_ERROR_OUT_OF_MEMORY, "a mistake needs");
    size_t free_bytes, total;
    OK(device->ops->memory(device, &free_bytes, &total));
    assert_int_equal(total, 64 * MIB);
    assert_true(free_bytes >= 40 * MIB && free_bytes <= 48 * MIB);
    stet_array *array;
    FAILS(STI_ARRAY(device, "pictures", STET_DTYPE_U8, false, &array, 1 << 30), STET_ERROR_OUT_OF_MEMORY,
          "pictures needs 1073741824 bytes");
    device->ops->free(device, some);
    void *again = take(device, 50 * MIB); /* and goes on */
    device->ops->free(device, again);
    close_gpu(device);
}

static void *free_in_a_thread(void *context)
{
    void **pair = context;
    stet_device *device = pair[0];
    device->ops->free(device, pair[1]);
    return NULL;
}

static void any_thread_may_free(void **state)
{
    stet_device *device = open_gpu();
    for (int i = 0; i < 50; ++i) {
        void *pair[2] = {device, take(device, 3 * MIB)};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, free_in_a_thread, pair), 0);
        void *mine = take(device, 100);
        assert_int_equal(pthread_join(thread, NULL), 0);
        device->ops->free(device, mine);
    }
    assert_int_equal(sti_pool_get_stats(&gpu_of(device)->pool).blocks, 0);
    close_gpu(device);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static void random_bytes(unsigned char *out, size_t size, uint64_t *dice)
{
    for (size_t i = 0; i < size; ++i) out[i] = (unsigned char)dice_next(dice);
}

/* The source of an upload is overwritten as soon as the call has returned. */
static void kf16_host_memory_may_change_after_an_upload(void **state)
{
    uint64_t dice = dice_seed("uploads");
    stet_device *device = open_gpu();
    enum { MOST = 9 << 20 };
    unsigned char *want = malloc(MOST), *host = malloc(MOST), *back = malloc(MOST);
    void *there = take(device, MOST), *copy = take(device, MOST);
    for (int round = 0; round < 40; ++round) {
        size_t at = dice_below(&dice, MOST), most = MOST - at;
        size_t size = dice_below(&dice, round % 3 ? (most < 5000 ? most : 5000) + 1 : most + 1);
        random_bytes(host, size, &dice);
        memcpy(want, host, size);
        OK(device->ops->upload(device, (char *)there + at, host, size));
        memset(host, 0xee, size);
        OK(device->ops->copy(device, (char *)copy + at, (char *)there + at, size));
        OK(device->ops->download(device, back, (char *)copy + at, size));
        assert_memory_equal(back, want, size);
    }
    free(want);
    free(host);
    free(back);
    device->ops->free(device, there);
    device->ops->free(device, copy);
    close_gpu(device);
}

/* Many small ones, none waited for: the pieces of the ring are used again, and none too early. */
static void uploads_follow_one_another(void **state)
{
    enum { N = 3000, EACH = 4000 };
    stet_device *device = open_gpu();
    char *there = take(device, (size_t)N * EACH);
    int64_t waits = o.control->calls("stream_synchronize");
    unsigned char some[EACH], *back = malloc((size_t)N * EACH);
    for (int i = 0; i < N; ++i) {
        memset(some, i % 251, EACH);
        OK(device->ops->upload(device, there + (size_t)i * EACH, some, EACH));
    }
    assert_int_equal(o.control->calls("stream_synchronize"), waits);
    OK(device->ops->download(device, back, there, (size_t)N * EACH));
    for (size_t i = 0; i < (size_t)N * EACH; ++i) assert_int_equal(back[i], i / EACH % 251);
    free(back);
    device->ops->free(device, there);
    close_gpu(device);
}

static void page_locked_memory_is_copied_directly(void **state)
{
    uint64_t dice = dice_seed("page_locked");
    stet_device *device = open_gpu();
    enum { SIZE = 5 << 20 };
    unsigned char *host, *small, *want = malloc(SIZE);
    OK(device->ops->host_alloc(device, SIZE, "a mirror", (void **)&host));
    OK(device->ops->host_alloc(device, 100, "a small face", (void **)&small));
    for (int i = 0; i < SIZE; i += 97) assert_int_equal(host[i], 0);
    for (int i = 0; i < 100; ++i) assert_int_equal(small[i], 0);
    void *there = take(device, SIZE);
    random_bytes(host, SIZE, &dice);
    memcpy(want, host, SIZE);
    int64_t copies = o.control->calls("copy_to_device_async");
    OK(device->ops->upload(device, there, host, SIZE));
    memset(host, 1, SIZE);
    OK(device->ops->download(device, host, there, SIZE));
    assert_int_equal(o.control->calls("copy_to_device_async"), copies + 1);
    assert_memory_equal(host, want, SIZE);
    OK(device->ops->upload(device, there, small, 100));
    expect_bytes(device, there, 100, 0);
    device->ops->host_free(device, small);
    device->ops->host_free(device, NULL);
    device->ops->free(device, there);
    stet_device_destroy(device); /* with the host's block, which goes with it */
    nothing_is_left();
    free(want);
}

/* Whoever reads a tensor does so in a stream of his own. */
static void what_is_exported_is_there(void **state)
{
    stet_device *device = open_gpu();
    stet_array *a;
    int some[100] = {1, 2, 3};
    struct DLManagedTensorVersioned *tensor;
    stet_export_def def = stet_default_export_def();
    OK(STI_ARRAY(device, "a", STET_DTYPE_INT, false, &a, 100));
    OK(stet_array_write(a, some, sizeof some));
    OK(stet_array_export(a, &def, &tensor));
    assert_int_equal(o.control->waiting(), 0);
    assert_int_equal(tensor->dl_tensor.device.device_type, o.hip ? kDLROCM : kDLCUDA);
    assert_int_equal(tensor->dl_tensor.device.device_id, 0);
    const int *there = o.control->look((uintptr_t)tensor->dl_tensor.data);
    assert_memory_equal(there, some, sizeof some);
    some[0] = 7;
    OK(stet_array_write(a, some, sizeof some));
    OK(stet_array_update(a));
    assert_int_equal(o.control->waiting(), 0);
    assert_int_equal(there[0], 7);
    stet_array_destroy(a);
    stet_device_destroy(device);
    assert_int_equal(there[0], 7); /* the tensor still holds it */
    tensor->deleter(tensor);
    nothing_is_left();
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static void every_world_runs_once_whatever_the_team(void **state)
{
    static const int teams[][2] = {{1, 1}, {1, 7}, {8, 1}, {8, 4}, {32, 1}, {32, 8}, {256, 1}};
    static const int64_t counts[] = {1, 2, 7, 8, 9, 100};
    stet_device *device = open_gpu();
    kernels k;
    load_kernels(device, &k);
    int *there = take(device, 101 * sizeof(int)), back[101];
    for (size_t t = 0; t < sizeof teams / sizeof *teams; ++t)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c) {
            memset(back, 0, sizeof back);
            OK(device->ops->upload(device, there, back, sizeof back));
            k.count.team = teams[t][0];
            k.count.teams = teams[t][1];
            const sti_slot slots[3] = {{.p = there}, {.i = 3}};
            OK(device->ops->launch(device, &k.count, slots, 3, counts[c], false));
            OK(device->ops->download(device, back, there, sizeof back));
            for (int w = 0; w < 101; ++w) assert_int_equal(back[w], w < counts[c] ? 3000 + teams[t][0] : 0);
        }
    OK(device->ops->launch(device, &k.count, NULL, 0, 0, false)); /* nothing to do */
    device->ops->free(device, there);
    unload_kernels(device, &k);
    close_gpu(device);
}

/* Copies and launches in the order in which they were asked for; slots may go once launch has returned. */
static void work_is_in_order(void **state)
{
    enum { N = 1000 };
    stet_device *device = open_gpu();
    kernels k;
    load_kernels(device, &k);
    int *a = take(device, N * sizeof(int)), *b = take(device, N * sizeof(int)), host[N];
    sti_slot *block = take(device, 3 * sizeof(sti_slot));
    for (int i = 0; i < N; ++i) host[i] = i;
    OK(device->ops->upload(device, a, host, sizeof host));
    for (int round = 0; round < 5; ++round) {
        sti_slot slots[3] = {{.p = b}, {.p = a}, {.i = N}};
        bool in_block = round % 2;
        if (in_block) OK(device->ops->upload(device, block, slots, sizeof slots));
        OK(device->ops->launch(device, &k.twice, in_block ? block : slots, 3, 7, in_block));
        memset(slots, 0xee, sizeof slots);
        OK(device->ops->copy(device, a, b, sizeof host));
    }
    OK(device->ops->download(device, host, a, sizeof host));
    for (int i = 0; i < N; ++i) assert_int_equal(host[i], 32 * i);
    sti_code nothing = {.name = "k_nothing", .team = 1, .teams = 1};
    OK(device->ops->function(device, k.module, "nothing_value", &nothing.value));
    OK(device->ops->launch(device, &nothing, NULL, 0, 5, false));
    OK(device->ops->synchronize(device));
    device->ops->free(device, a);
    device->ops->free(device, b);
    device->ops->free(device, block);
    unload_kernels(device, &k);
    close_gpu(device);
}

static void limits_are_errors_before_the_driver_sees_them(void **state)
{
    stet_device *device = open_gpu();
    kernels k;
    load_kernels(device, &k);
    sti_slot slots[300] = {{.p = NULL}};
    int64_t launches = o.control->calls("launch");
#define REFUSED(part, nslot, nworld, ...)                                                                              \
    do {                                                                                                               \
        sti_code bad = k.count;                                                                                        \
        __VA_ARGS__;                                                                                                   \
        FAILS(device->ops->launch(device, &bad, slots, (nslot), (nworld), false), STET_ERROR_LIMIT, part);             \
    } while (0)
    REFUSED("kernel k_count: blocks of 1025 × 1 threads; 1024 × 1024, together 1024, are possible", 3, 1,
            bad.team = 1025, bad.teams = 1);
    REFUSED("blocks of 64 × 32 threads", 3, 1, bad.team = 64, bad.teams = 32);
    REFUSED("blocks of 0 × 4 threads", 3, 1, bad.team = 0);
    REFUSED("2147483648 blocks", 3, (int64_t)4 << 31, bad.teams = 4);
    REFUSED("of shared memory a block", 3, 1, bad.shared = 1 << 30);
    REFUSED("4104 bytes of arguments by value; 4096 are possible", 256, 1, bad.team = 1);
    if (o.hip)
        REFUSED("134217728 blocks of 32 threads; HIP takes 4294967295 threads", 3, (int64_t)1 << 27, bad.team = 32,
                bad.teams = 1);
    sti_code none = {.name = "k_none", .team = 1, .teams = 1};
    FAILS(device->ops->launch(device, &none, slots, 1, 1, false), STET_ERROR_STATE,
          "k_none has no code that takes its arguments by value");
    FAILS(device->ops->launch(device, &none, slots, 1, 1, true), STET_ERROR_STATE, "in a block");
    assert_int_equal(o.control->calls("launch"), launches);
    unload_kernels(device, &k);
    close_gpu(device);
}

static void code_that_is_none(void **state)
{
    static const char wrong[64] = "this is no code";
    stet_device *device = open_gpu();
    kernels k;
    void *module, *function;
    FAILS(device->ops->load(device, NULL, 0, "nothing", &module), STET_ERROR_INVALID_ARGUMENT,
          "the code of nothing is empty");
    FAILS(device->ops->load(device, wrong, sizeof wrong, "nonsense", &module), STET_ERROR_DEVICE, "nonsense: ");
    assert_null(module);
    device->ops->unload(device, NULL);
    load_kernels(device, &k);
    FAILS(device->ops->function(device, k.module, "k_missing", &function), STET_ERROR_NOT_FOUND, "function k_missing");
    assert_null(function);
    int value = -1;
    OK(device->ops->attribute(device, k.count.value, STI_ATTRIBUTE_MAX_THREADS, &value));
    assert_true(value > 0);
    OK(device->ops->attribute(device, k.count.value, STI_ATTRIBUTE_REGISTERS, &value));
    assert_int_equal(value, 32); /* as the double has it */
    OK(device->ops->attribute(device, k.count.value, STI_ATTRIBUTE_LOCAL_BYTES, &value));
    assert_int_equal(value, 0);
    unload_kernels(device, &k);
    close_gpu(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(what_it_is),
        GPU_TEST(memory_is_zero_whoever_had_it_before),
        GPU_TEST(freed_blocks_are_given_out_again),
        GPU_TEST(a_big_block_is_not_wasted),
        GPU_TEST(what_is_kept_goes_back_when_memory_is_short),
        GPU_TEST(out_of_memory_says_what_and_how_much),
        GPU_TEST(any_thread_may_free),
        GPU_TEST(kf16_host_memory_may_change_after_an_upload),
        GPU_TEST(uploads_follow_one_another),
        GPU_TEST(page_locked_memory_is_copied_directly),
        GPU_TEST(what_is_exported_is_there),
        GPU_TEST(every_world_runs_once_whatever_the_team),
        GPU_TEST(work_is_in_order),
        GPU_TEST(limits_are_errors_before_the_driver_sees_them),
        GPU_TEST(code_that_is_none),
    };
    return RUN_ON_DOUBLES("device/gpu", tests);
}
