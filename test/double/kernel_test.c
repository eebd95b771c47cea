/*
 * The double's compiler, and how it runs blocks of threads: order, barriers, errors.
 */
#include "double/entries.h"

static opened o;

static int set_up(void **state)
{
    entries_open(&o, *state != NULL);
    entries_start_seed(&o, 11);
    return 0;
}

static int tear_down(void **state)
{
    double_expect_clean(o.control);
    return 0;
}

enum { N = 64 };

static void *allocate_ints(int n)
{
    void *memory;
    assert_int_equal(o.api.alloc(&memory, (size_t)n * sizeof(int)), 0);
    return memory;
}

static int launch(void *function, unsigned blocks, unsigned x, unsigned y, void **arguments)
{
    int result = o.api.launch(function, blocks, 1, 1, x, y, 1, 0, NULL, arguments, NULL);
    return result ? result : o.api.stream_synchronize(NULL);
}

static const int *look(void *memory) { return o.control->look((uintptr_t)memory); }

/* What the double has to say beyond what the driver does. */
static void expect_report(const char *part)
{
    char text[512];
    assert_true(o.control->report(text, sizeof text) > 0);
    if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part);
}

/* ---- compiling --------------------------------------------------------------------------------------------------- */

static void *compile(const char *source, int noption, const char *const *options, int *result, char *log, size_t room)
{
    void *program;
    size_t size;
    assert_int_equal(o.rtc.create(&program, source, "folder/test.cu", 0, NULL, NULL), 0);
    *result = o.rtc.compile(program, noption, options);
    assert_int_equal(o.rtc.log_size(program, &size), 0);
    assert_true(size <= room);
    assert_int_equal(o.rtc.log(program, log), 0);
    return program;
}

static void an_error_names_the_programs_file_and_line(void **state)
{
    int result;
    char log[4096];
    void *program = compile("\nextern \"C\" __global__ void f(int *a)\n{\n    a[0] = nowhere;\n}\n", 0, NULL, &result,
                            log, sizeof log);
    assert_int_equal(result, 6);
    if (!strstr(log, o.hip ? "folder/test.cu:4:" : "folder/test.cu(4): error: ")) fail_msg("%s", log);
    assert_non_null(strstr(log, "nowhere"));
    size_t size;
    assert_int_not_equal(o.rtc.code_size(program, &size), 0);
    assert_int_equal(o.rtc.destroy(&program), 0);
    assert_int_equal(o.control->alive().programs, 0);
}

static void an_unknown_option_or_architecture_is_refused(void **state)
{
    int result;
    char log[4096];
    const char *const bad = "no-option", *const arch = o.hip ? "--offload-arch=sm_90" : "--gpu-architecture=sm_17";
    void *program = compile("", 1, &bad, &result, log, sizeof log);
    assert_int_equal(result, 5);
    assert_non_null(strstr(log, "no-option"));
    assert_int_equal(o.rtc.destroy(&program), 0);
    program = compile("", 1, &arch, &result, log, sizeof log);
    assert_int_equal(result, 5);
    assert_int_equal(o.rtc.destroy(&program), 0);
}

static void headers_are_found_by_their_names(void **state)
{
    void *program;
    const char *const header = "#define SEVEN 7\n", *const name = "deep/seven.h";
    const char *const source =
        "#include \"deep/seven.h\"\nstatic_assert(SEVEN == 7, \"\");\nextern \"C\" __global__ void f(void) {}\n";
    assert_int_equal(o.rtc.create(&program, source, "a.cu", 1, &header, &name), 0);
    assert_int_equal(o.rtc.compile(program, 0, NULL), 0);
    assert_int_equal(o.rtc.destroy(&program), 0);
}

static void code_for_another_device_is_not_loaded(void **state)
{
    int result;
    char log[4096];
    static char code[1 << 16];
    size_t size;
    void *module;
    const char *const arch = o.hip ? "--offload-arch=gfx1030" : "--gpu-architecture=sm_80";
    void *program = compile("extern \"C\" __global__ void f(void) {}\n", 1, &arch, &result, log, sizeof log);
    assert_int_equal(result, 0);
    assert_int_equal(o.rtc.code_size(program, &size), 0);
    assert_true(size <= sizeof code);
    assert_int_equal(o.rtc.code(program, code), 0);
    assert_int_equal(o.api.module_load(&module, code), 209);
    memset(code, 'x', sizeof code);
    assert_int_equal(o.api.module_load(&module, code), 200);
    assert_int_equal(o.rtc.destroy(&program), 0);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static const char *const numbers =
    "struct pack { int *out; double d; char c; };\n"
    "#define BOUNDS 64, 2 /* threads, blocks a processor */\n"
    "extern \"C\" __global__ void __launch_bounds__(BOUNDS) f(pack p, float x, long long n)\n"
    "{\n"
    "    int i = ((int)blockIdx.x * (int)blockDim.y + (int)threadIdx.y) * (int)blockDim.x + (int)threadIdx.x;\n"
    "    if (i < n) p.out[i] = i + (int)p.d + p.c + (int)x;\n"
    "}\n";

typedef struct pack {
    void *out;
    double d;
    char c;
} pack;

/* Padding is zero: what looks like an address of the host in it would be taken for one. */
static pack make_pack(double d, char c)
{
    pack p;
    memset(&p, 0, sizeof p);
    p.out = allocate_ints(N);
    p.d = d;
    p.c = c;
    return p;
}

static void every_thread_of_every_block_runs_once(void **state)
{
    pack p = make_pack(1000, 2);
    float x = 0.5f;
    long long n = N - 1;
    void *arguments[] = {&p, &x, &n}, *f = entries_function(&o, entries_module(&o, numbers), "f");
    assert_int_equal(launch(f, 4, 8, 2, arguments), 0);
    for (int i = 0; i < n; ++i) assert_int_equal(look(p.out)[i], i + 1002);
    assert_int_equal((unsigned)look(p.out)[n], 0xA5A5A5A5u);
    assert_int_equal(launch(f, 1, 65, 1, arguments), 1);
    assert_int_equal(launch(f, 0, 1, 1, arguments), 1);
    assert_int_equal(o.api.module_function(&f, f, "f"), 400);
}

static void arguments_are_read_at_the_launch(void **state)
{
    double_config config = o.control->defaults();
    config.progress = 0;
    entries_start(&o, &config);
    pack p = make_pack(0, 0);
    float x = 0;
    long long n = N;
    void *arguments[] = {&p, &x, &n}, *f = entries_function(&o, entries_module(&o, numbers), "f");
    assert_int_equal(o.api.launch(f, N, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL), 0);
    p.d = 9;
    n = 0;
    assert_int_equal(o.api.stream_synchronize(NULL), 0);
    for (int i = 0; i < N; ++i) assert_int_equal(look(p.out)[i], i);
}

/* Two modules give one name to entries and types of parameters that are not alike. */
static void modules_do_not_know_each_others_names(void **state)
{
    static const char *const narrow = "struct pack { int *out; };\n"
                                      "extern \"C\" __global__ void f(pack p) { p.out[threadIdx.x] = 7; }\n";
    static const char *const wide = "struct pack { int *out; long long part[9]; };\n"
                                    "extern \"C\" __global__ void f(pack p) { p.out[threadIdx.x] = (int)p.part[8]; }\n";
    struct {
        void *out;
        long long part[9];
    } p = {.out = allocate_ints(N), .part = {[8] = 12}};
    void *arguments[] = {&p}, *first = entries_function(&o, entries_module(&o, narrow), "f");
    void *second = entries_function(&o, entries_module(&o, wide), "f");
    assert_int_equal(launch(first, 1, N, 1, arguments), 0);
    assert_int_equal(look(p.out)[N - 1], 7);
    assert_int_equal(launch(second, 1, N, 1, arguments), 0);
    assert_int_equal(look(p.out)[N - 1], 12);
}

/* A sum over a block through its shared memory; without the barrier it depends on who comes first. */
static const char *const sums = "template <bool synced> static void sum(int *out)\n"
                                "{\n"
                                "    __shared__ int part[64];\n"
                                "    int me = (int)threadIdx.x;\n"
                                "    part[me] = me;\n"
                                "    if (synced) __syncthreads();\n"
                                "    int all = 0;\n"
                                "    for (int i = 0; i < 64; ++i) all += part[i];\n"
                                "    out[me] = all;\n"
                                "}\n"
                                "extern \"C\" __global__ void good(int *out) { sum<true>(out); }\n"
                                "extern \"C\" __global__ void bad(int *out) { sum<false>(out); }\n";

static void a_barrier_orders_and_its_absence_shows(void **state)
{
    void *module = entries_module(&o, sums), *out = allocate_ints(64), *arguments[] = {&out};
    assert_int_equal(launch(entries_function(&o, module, "good"), 3, 64, 1, arguments), 0);
    for (int i = 0; i < 64; ++i) assert_int_equal(look(out)[i], 2016);
    assert_int_equal(launch(entries_function(&o, module, "bad"), 1, 64, 1, arguments), 0);
    int right = 0;
    for (int i = 0; i < 64; ++i) right += look(out)[i] == 2016;
    assert_int_equal(right, 1); /* the last thread alone finds all parts */
}

static void order_changes_with_the_seed_only(void **state)
{
    static const char *const source = "extern \"C\" __global__ void f(int *out)\n"
                                      "{\n"
                                      "    out[0] = (int)(blockIdx.x * blockDim.x + threadIdx.x);\n"
                                      "}\n";
    int last[3];
    for (int k = 0; k < 3; ++k) {
        entries_start_seed(&o, k < 2 ? 5 : 6);
        void *out = allocate_ints(1), *arguments[] = {&out};
        assert_int_equal(launch(entries_function(&o, entries_module(&o, source), "f"), 100, 32, 1, arguments), 0);
        last[k] = look(out)[0];
    }
    assert_int_equal(last[0], last[1]);
    assert_int_not_equal(last[0], last[2]);
}

static void lanes_wait_for_those_they_name(void **state)
{
    static const char *const source =
        "#ifndef sti_sync_lanes\n#define sti_sync_lanes(lanes) __syncwarp(lanes)\n#endif\n"
        "extern \"C\" __global__ void f(int *out)\n"
        "{\n"
        "    __shared__ int part[64];\n"
        "    int me = (int)threadIdx.x, first = me & ~7;\n"
        "    if (first == 16) return;\n" /* a whole team is not there */
        "    part[me] = me;\n"
        "    sti_sync_lanes(0xffu << (first & 31));\n"
        "    int all = 0;\n"
        "    for (int i = first; i < first + 8; ++i) all += part[i];\n"
        "    out[me] = all;\n"
        "}\n";
    void *out = allocate_ints(64), *arguments[] = {&out};
    assert_int_equal(launch(entries_function(&o, entries_module(&o, source), "f"), 1, 64, 1, arguments), 0);
    for (int i = 0; i < 64; ++i)
        if (i / 8 != 2) assert_int_equal(look(out)[i], 8 * (i & ~7) + 28);
    assert_int_equal((unsigned)look(out)[16], 0xA5A5A5A5u);
}

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

static void run_wrong(const char *source, void **arguments, int code, const char *part)
{
    void *memory;
    assert_int_equal(launch(entries_function(&o, entries_module(&o, source), "f"), 1, 32, 1, arguments), code);
    expect_report(part);
    assert_int_equal(o.api.alloc(&memory, 8), code); /* the device is lost */
}

static void a_thread_that_misses_a_barrier_is_an_error(void **state)
{
    run_wrong("extern \"C\" __global__ void f(void)\n{\n    if (threadIdx.x == 3) return;\n    __syncthreads();\n}\n",
              NULL, 719, "31 wait for the block, 0 for lanes, 1 have ended");
}

static void lanes_that_name_others_are_an_error(void **state)
{
    run_wrong("extern \"C\" __global__ void f(void) { __syncwarp(threadIdx.x < 16 ? 0xffffu : 0xffff0001u); }\n", NULL,
              719, "16 for lanes, 16 have ended");
}

/* A sanitizer does not let the double catch what faults. */
static void need_faults(void)
{
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    skip();
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#endif
}

static void a_wild_address_loses_the_device_not_the_process(void **state)
{
    need_faults();
    void *out = allocate_ints(1), *arguments[] = {&out};
    run_wrong("extern \"C\" __global__ void f(int *out) { out[(long long)threadIdx.x << 34] = 1; }\n", arguments, 700,
              "closed or nowhere");
}

static void freed_memory_is_closed_to_kernels(void **state)
{
    need_faults();
    void *out = allocate_ints(1 << 14), *arguments[] = {&out};
    assert_int_equal(o.api.free(out), 0);
    run_wrong("extern \"C\" __global__ void f(int *out) { out[5000] = 1; }\n", arguments, 700, "closed or nowhere");
}

static void an_address_of_the_host_is_refused(void **state)
{
    static int host;
    void *out = &host, *arguments[] = {&out};
    run_wrong("extern \"C\" __global__ void f(int *out) { out[0] = 1; }\n", arguments, 700, "address of the host");
    assert_int_equal(host, 0);
}

static void a_kernel_that_fails_is_told_of_later(void **state)
{
    double_config config = o.control->defaults();
    config.progress = 0;
    entries_start(&o, &config);
    void *f = entries_function(&o, entries_module(&o, "extern \"C\" __global__ void f(void) {}\n"), "f");
    o.control->fail_kernel(2, 700);
    assert_int_equal(launch(f, 1, 1, 1, NULL), 0);
    assert_int_equal(o.api.launch(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 0);
    assert_int_equal(o.api.stream_synchronize(NULL), 700);
    assert_int_equal(o.api.launch(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 700);
}

int main(void)
{
    int failed = 0;
    for (int hip = 0; hip < 2; ++hip) {
        void *state = hip ? &o : NULL;
        const struct CMUnitTest tests[] = {
            DOUBLE_TEST(an_error_names_the_programs_file_and_line),
            DOUBLE_TEST(an_unknown_option_or_architecture_is_refused),
            DOUBLE_TEST(headers_are_found_by_their_names),
            DOUBLE_TEST(code_for_another_device_is_not_loaded),
            DOUBLE_TEST(every_thread_of_every_block_runs_once),
            DOUBLE_TEST(arguments_are_read_at_the_launch),
            DOUBLE_TEST(modules_do_not_know_each_others_names),
            DOUBLE_TEST(a_barrier_orders_and_its_absence_shows),
            DOUBLE_TEST(order_changes_with_the_seed_only),
            DOUBLE_TEST(lanes_wait_for_those_they_name),
            DOUBLE_TEST(a_thread_that_misses_a_barrier_is_an_error),
            DOUBLE_TEST(lanes_that_name_others_are_an_error),
            DOUBLE_TEST(a_wild_address_loses_the_device_not_the_process),
            DOUBLE_TEST(freed_memory_is_closed_to_kernels),
            DOUBLE_TEST(an_address_of_the_host_is_refused),
            DOUBLE_TEST(a_kernel_that_fails_is_told_of_later),
        };
        failed += cmocka_run_group_tests_name(hip ? "hip" : "cuda", tests, NULL, NULL);
    }
    return failed;
}
