/*
 * For tests of GPU devices over a double: opening one, code for it, and looking at what it did.
 */
#ifndef TEST_DEVICE_GPU_RIG_H
#define TEST_DEVICE_GPU_RIG_H

#include "device/rig.h"

#include "device/gpu/gpu.h"
#include "double/entries.h"

#include <stdlib.h>

static opened o;              /* the double under test */
static const char *real_arch; /* of this machine's GPU, when that is under test (device/gpu_real.h); else NULL */

static inline int open_double_cuda(void **state)
{
    entries_open(&o, false);
    return 0;
}

static inline int open_double_hip(void **state)
{
    entries_open(&o, true);
    return 0;
}

static inline const char *double_file(void) { return real_arch ? NULL : o.hip ? DOUBLE_HIP : DOUBLE_CUDA; }

static inline stet_device_def gpu_def(void)
{
    stet_device_def def = stet_default_device_def();
    def.type = o.hip ? STET_DEVICE_HIP : STET_DEVICE_CUDA;
    def.gpu.library = def.gpu.compiler_library = double_file();
    def.threads = 2;
    return def;
}

static inline stet_device *open_gpu(void)
{
    stet_device_def def = gpu_def();
    stet_device *device;
    OK(stet_device_create(&def, &device));
    return device;
}

static inline void nothing_is_left(void)
{
    double_alive alive = o.control->alive();
    assert_int_equal(alive.blocks, 0);
    assert_int_equal(alive.host_blocks, 0);
    assert_int_equal(alive.streams, 0);
    assert_int_equal(alive.events, 0);
    assert_int_equal(alive.modules, 0);
    assert_int_equal(alive.contexts, 0);
    double_expect_clean(o.control);
}

static inline void close_gpu(stet_device *device)
{
    stet_device_destroy(device);
    nothing_is_left();
}

static inline sti_gpu *gpu_of(const stet_device *device) { return device->state; }

/* Before each test. */
static inline int begin(void **state)
{
    double_start(o.control, 11);
    return 0;
}

/*
 * Rows of a table of tests. REAL_GPU_TEST: one that this machine's GPU is asked, too (RUN_ON_REAL_GPU_TOO, gpu_real.h).
 */
#define GPU_TEST(f) cmocka_unit_test_setup(f, begin)
#define REAL_GPU_TEST(f) cmocka_unit_test_prestate_setup_teardown(f, begin, NULL, &o)
#define RUN_ON_DOUBLES(name, tests) run_on_doubles(name, tests, sizeof(tests) / sizeof *(tests))

static inline int run_on_doubles(const char *name, const struct CMUnitTest *tests, size_t n)
{
    char title[100];
    (void)snprintf(title, sizeof title, "%s through CUDA", name);
    int failed = _cmocka_run_group_tests(title, tests, n, open_double_cuda, NULL);
    (void)snprintf(title, sizeof title, "%s through HIP", name);
    return failed + _cmocka_run_group_tests(title, tests, n, open_double_hip, NULL);
}

#define MIB ((size_t)1 << 20)

static inline void *take(stet_device *device, size_t size)
{
    void *memory;
    OK(device->ops->alloc(device, size, "a test's block", &memory));
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % STI_ALIGN, 0);
    return memory;
}

static inline void expect_bytes(stet_device *device, const void *memory, size_t size, unsigned char byte)
{
    unsigned char *back = malloc(size + 1);
    memset(back, ~byte, size + 1);
    OK(device->ops->download(device, back, memory, size));
    for (size_t i = 0; i < size; ++i)
        if (back[i] != byte) fail_msg("byte %zu of %zu is %d, not %d", i, size, back[i], byte);
    assert_int_equal(back[size], (unsigned char)~byte);
    free(back);
}

/* Code of a source, from the compiler that belongs to the driver under test; the caller frees it. */
static inline char *compile(const char *source, size_t *size)
{
    char arch[64];
    (void)snprintf(arch, sizeof arch, "--gpu-architecture=%s", real_arch ? real_arch : "sm_90");
    const char *const cuda[] = {arch, "--fmad=false", "--std=c++17"};
    static const char *const hip[] = {"--offload-arch=gfx90a", "-ffp-contract=off", "-std=c++17"};
    void *program;
    assert_int_equal(o.rtc.create(&program, source, "test.cu", 0, NULL, NULL), 0);
    assert_int_equal(o.rtc.compile(program, 3, o.hip ? hip : cuda), 0);
    assert_int_equal(o.rtc.code_size(program, size), 0);
    char *code = malloc(*size);
    assert_non_null(code);
    assert_int_equal(o.rtc.code(program, code), 0);
    assert_int_equal(o.rtc.destroy(&program), 0);
    return code;
}

/*
 * Two kernels in both forms of entry. `k_count` (worlds): out[world] += 1000 · team + threads that came, so that one
 * that is run twice, or with another shape, shows. `k_double` (items): out[i] = 2 · in[i] for the items of a block.
 */
static const char *const two_kernels =
    "typedef long long i64;\n"
    "struct sti_slot { union { void *p; i64 i; double f; }; i64 n; };\n"
    "struct sti_block { sti_slot s[3]; };\n"
    "struct sti_one { sti_slot s[1]; };\n"
    "__device__ static void count(const sti_slot *s, i64 worlds, int team, int teams)\n"
    "{\n"
    "    i64 w = (i64)blockIdx.x * teams + threadIdx.y;\n"
    "    if (w >= worlds || threadIdx.x != 0) return;\n"
    "    ((int *)s[0].p)[w] += (int)(1000 * s[1].i) + (int)blockDim.x;\n"
    "}\n"
    "__device__ static void twice(const sti_slot *s, i64 blocks)\n"
    "{\n"
    "    i64 n = s[2].i, each = (n + blocks - 1) / blocks, first = blockIdx.x * each;\n"
    "    for (i64 i = first + threadIdx.x; i < first + each && i < n; i += blockDim.x)\n"
    "        ((int *)s[0].p)[i] = 2 * ((const int *)s[1].p)[i];\n"
    "}\n"
    "extern \"C\" __global__ void count_value(sti_block b, i64 n) { count(b.s, n, blockDim.x, blockDim.y); }\n"
    "extern \"C\" __global__ void count_block(const sti_slot *s, i64 n) { count(s, n, blockDim.x, blockDim.y); }\n"
    "extern \"C\" __global__ void twice_value(sti_block b, i64 n) { twice(b.s, n); }\n"
    "extern \"C\" __global__ void twice_block(const sti_slot *s, i64 n) { twice(s, n); }\n"
    "extern \"C\" __global__ void nothing_value(sti_one b, i64 n) { (void)b, (void)n; }\n";

typedef struct kernels {
    char *code;
    void *module;
    sti_code count, twice;
} kernels;

static inline void load_kernels(stet_device *device, kernels *k)
{
    size_t size;
    k->code = compile(two_kernels, &size);
    OK(device->ops->load(device, k->code, size, "two kernels", &k->module));
    k->count = (sti_code){.name = "k_count", .team = 8, .teams = 4, .worlds = true};
    k->twice = (sti_code){.name = "k_double", .team = 32, .teams = 1};
    OK(device->ops->function(device, k->module, "count_value", &k->count.value));
    OK(device->ops->function(device, k->module, "count_block", &k->count.block));
    OK(device->ops->function(device, k->module, "twice_value", &k->twice.value));
    OK(device->ops->function(device, k->module, "twice_block", &k->twice.block));
}

static inline void unload_kernels(stet_device *device, kernels *k)
{
    device->ops->unload(device, k->module);
    free(k->code);
}

#endif
