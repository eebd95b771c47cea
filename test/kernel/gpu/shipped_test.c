/*
 * Code that was compiled before it was needed: made without a GPU, found without a compiler, refused where it is no
 * good, and never changed where it lies.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "gpu_rig.h"

#include "base/failing.h"
#include "bench/pilot/pilot.h"
#include "kernel/gpu/shipped.h"

extern const sti_kernel sti_k_pilot_level, sti_k_mass_weight;

static const char nowhere[] = "/no/such/libnvrtc.so";

/* Two small files of kernels, and the condition of loops, which only CUDA's graphs have. */
enum { UNITS = 2, CODES = UNITS + 1 };

static const sti_embedded *two_units(void)
{
    static sti_embedded table[UNITS + 1];
    int n = 0;
    for (const sti_embedded *e = sti_pilot_sources; e->name; ++e)
        if (strstr(e->name, "hierarchy.k.h") || strstr(e->name, "springs.k.h")) table[n++] = *e;
    assert_int_equal(n, UNITS);
    return table;
}

static sti_fill_def fill_def(const char *arch, bool hip)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/shipped", folder);
    return (sti_fill_def){.arch = arch,
                          .sources = two_units(),
                          .folder = path,
                          .shipped = true,
                          .compiler = hip ? DOUBLE_HIP : DOUBLE_CUDA};
}

/* Fills; so many are compiled, and so many were there. */
static void fill(const sti_fill_def *def, int compiled, int present)
{
    stet_device *host = open_device(STI_ISA_portable, 2);
    OK(sti_fill(host, def));
    assert_int_equal(cache_counter(host).misses, compiled);
    assert_int_equal(cache_counter(host).hits, present);
    stet_device_destroy(host);
}

static int count_there(const sti_fill_def *def)
{
    int there, asked;
    OK(sti_fill_count(def, &there, &asked));
    assert_int_equal(asked, strncmp(def->arch, "sm_", 3) == 0 ? CODES : UNITS);
    return there;
}

/* The test's folders are empty then, and the environment names the one of shipped code. */
static int begin_shipped(void **state)
{
    if (make_folder(state) != 0) return -1;
    return setenv("STET_GPU_CODE_FOLDER", in_folder("shipped"), 1);
}

static stet_result ask_code(stet_device *d, const sti_kernel *k)
{
    const sti_code *code;
    return sti_program_code(d, k, false, &code);
}

static void counted(const stet_device *d, int64_t shipped, int64_t unfit, int64_t compiled)
{
    const stet_counter c = cache_counter(d);
    assert_int_equal(reason_count(d, STET_REASON_KERNEL_CACHE_SHIPPED), shipped);
    assert_int_equal(reason_count(d, STET_REASON_KERNEL_CACHE_UNFIT), unfit);
    assert_int_equal(reason_count(d, STET_REASON_KERNEL_CACHE_ABSENT), compiled);
    assert_int_equal(c.misses, shipped + compiled);
    assert_int_equal(c.fallbacks, unfit);
    assert_int_equal(c.hits, 0);
}

/* What `ls` says of the folder, with inodes, sizes, times and checksums. */
static void describe_shipped(char *out, size_t size)
{
    char command[1200];
    (void)snprintf(command, sizeof command, "cd '%s' && ls -lai --full-time && cat * | cksum", in_folder("shipped"));
    FILE *f = popen(command, "r");
    assert_non_null(f);
    size_t n = fread(out, 1, size - 1, f);
    out[n] = 0;
    assert_int_equal(pclose(f), 0);
}

/* A file of shipped code that has this text. */
static const char *entry_with(const char *text)
{
    static char command[1200], path[600];
    (void)snprintf(command, sizeof command, "grep -l '%s' '%s'/*.kernel", text, in_folder("shipped"));
    FILE *f = popen(command, "r");
    assert_non_null(f);
    assert_non_null(fgets(path, sizeof path, f));
    path[strcspn(path, "\n")] = 0;
    assert_int_equal(pclose(f), 0);
    return path;
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

static void it_is_made_without_a_gpu(void **state)
{
    const sti_fill_def def = fill_def("sm_90", false), other = fill_def("sm_80", false);
    assert_int_equal(count_there(&def), 0);
    fill(&def, CODES, 0);
    assert_int_equal(count_files(in_folder("shipped")), CODES);
    assert_int_equal(count_there(&def), CODES);
    assert_int_equal(count_there(&other), 0);
    fill(&def, 0, CODES);
    fill(&other, CODES, 0);
    assert_int_equal(count_there(&other), CODES);
    assert_int_equal(count_files(in_folder("shipped")), 2 * CODES);
}

static void it_is_made_for_amd(void **state)
{
    const sti_fill_def def = fill_def("gfx90a", true);
    fill(&def, UNITS, 0);
    assert_int_equal(count_there(&def), UNITS);
    stet_device *d = open_gpu(STET_DEVICE_HIP, "gfx90a", nowhere);
    OK(ask_code(d, &sti_k_pilot_level));
    counted(d, 1, 0, 0);
    close_gpu(d);
}

/* In a cache it lies as a device keeps it, with the compiler in its key. */
static void a_cache_is_filled(void **state)
{
    sti_fill_def def = fill_def("sm_90", false);
    def.folder = in_folder("cache");
    def.shipped = false;
    fill(&def, CODES, 0);
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    OK(ask_code(d, &sti_k_pilot_level));
    assert_int_equal(cache_counter(d).hits, 1);
    assert_int_equal(cache_counter(d).misses, 0);
    close_gpu(d);
}

static void what_cannot_be_made_is_refused(void **state)
{
    stet_device *host = open_device(STI_ISA_portable, 1);
    sti_fill_def def = fill_def("sm_9999", false);
    FAILS(sti_fill(host, &def), STET_ERROR_UNSUPPORTED, "does not know sm_9999; the newest that it knows is sm_");
    def.arch = "sm_1";
    FAILS(sti_fill(host, &def), STET_ERROR_UNSUPPORTED, "does not compile for sm_1");
    def.arch = "9.0";
    FAILS(sti_fill(host, &def), STET_ERROR_INVALID_ARGUMENT, "9.0: is no architecture of a GPU");
    def = fill_def("sm_90", false);
    def.compiler = nowhere;
    FAILS(sti_fill(host, &def), STET_ERROR_NOT_FOUND, nowhere);
    def.folder = write_file("no folder", "a file\n");
    FAILS(sti_fill(host, &def), STET_ERROR_UNSUPPORTED, "cannot be opened");
    stet_device_destroy(host);
    assert_int_equal(count_there(&(sti_fill_def){.arch = "sm_90", .sources = two_units(), .folder = "/no/such"}), 0);
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static void no_compiler_is_needed(void **state)
{
    static char before[4096], after[4096];
    const sti_fill_def def = fill_def("sm_90", false);
    const sti_code *code;
    fill(&def, CODES, 0);
    assert_int_equal(chmod(in_folder("shipped"), 0555), 0);
    describe_shipped(before, sizeof before);
    for (int round = 0; round < 2; ++round) { /* the first leaves nothing to the second */
        stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", nowhere);
        OK(sti_program_code(d, &sti_k_pilot_level, false, &code));
        assert_true(code->waits);
        OK(ask_code(d, &sti_k_mass_weight));
        OK(sti_program_condition(d, &code));
        OK(ask_code(d, &sti_k_pilot_level));
        counted(d, CODES, 0, 0);
        assert_int_equal(rig.loads, CODES);
        /* The other form was not shipped. Asking again gives the same answer. */
        for (int k = 0; k < 2; ++k)
            FAILS(sti_program_code(d, &sti_k_pilot_level, true, &code), STET_ERROR_NOT_FOUND,
                  "a GPU of the test's (sm_90) needs a compiler for its kernels: ");
        counted(d, CODES, 0, 0);
        close_gpu(d);
    }
    describe_shipped(after, sizeof after);
    assert_string_equal(before, after);
    assert_int_equal(count_files(in_folder("cache")), -1);
    assert_int_equal(chmod(in_folder("shipped"), 0755), 0);
}

/* The code is for one architecture; of another it is compiled, and kept in the user's cache. */
static void other_architectures_are_compiled(void **state)
{
    const sti_fill_def def = fill_def("sm_90", false);
    fill(&def, CODES, 0);
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_80", NULL);
    OK(ask_code(d, &sti_k_pilot_level));
    counted(d, 0, 0, 1);
    close_gpu(d);
    assert_int_equal(count_files(in_folder("cache")), 1);
    assert_int_equal(count_files(in_folder("shipped")), CODES);
}

/* Who switches the mechanism off, or compiles again to compare bytes, gets none of it. */
static void it_can_be_left_out(void **state)
{
    const sti_fill_def def = fill_def("sm_90", false);
    fill(&def, CODES, 0);
    for (int audit = 0; audit < 2; ++audit) {
        stet_mechanism_options options;
        OK(stet_default_mechanism_options(&options));
        options.audit = audit;
        if (!audit) options.disabled = 1u << STET_MECHANISM_KERNEL_CACHE;
        stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
        OK(stet_device_set_mechanisms(d, &options));
        OK(ask_code(d, &sti_k_pilot_level));
        assert_int_equal(cache_counter(d).misses, 1);
        assert_int_equal(reason_count(d, STET_REASON_KERNEL_CACHE_SHIPPED), 0);
        close_gpu(d);
    }
}

/* ---- what is no good --------------------------------------------------------------------------------------------- */

static void expect_compiled(int fail_load)
{
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    rig.fail_load = fail_load;
    OK(ask_code(d, &sti_k_pilot_level));
    counted(d, 0, 1, 1);
    OK(ask_code(d, &sti_k_mass_weight)); /* the other is good */
    counted(d, 1, 1, 1);
    close_gpu(d);
    char command[600];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", in_folder("cache"));
    shell(command);
}

static void code_that_is_no_good_is_compiled(void **state)
{
    const sti_fill_def def = fill_def("sm_90", false);
    fill(&def, CODES, 0);
    expect_compiled(1); /* the driver refuses it */
    const char *path = entry_with("k_pilot_level");
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, -9, SEEK_END), 0);
    int last = fgetc(f);
    assert_int_equal(fseek(f, -9, SEEK_END), 0);
    assert_int_equal(fputc(last ^ 1, f), last ^ 1);
    assert_int_equal(fclose(f), 0);
    expect_compiled(0);
    assert_int_equal(truncate(path, 100), 0);
    expect_compiled(0);
    assert_int_equal(truncate(path, 0), 0);
    expect_compiled(0);
    stet_mechanism_options options;
    OK(stet_default_mechanism_options(&options));
    options.strict = true;
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    OK(stet_device_set_mechanisms(d, &options));
    FAILS(ask_code(d, &sti_k_pilot_level), STET_ERROR_STRICT, ".kernel is damaged; install stet again");
    close_gpu(d);
    assert_int_equal(count_files(in_folder("shipped")), CODES);
}

static stet_result use_shipped(void)
{
    stet_device_def def = stet_default_device_def();
    stet_device *d;
    const sti_code *code;
    static char compiler[] = DOUBLE_CUDA;
    def.type = STET_DEVICE_NULL;
    def.threads = 1;
    STI_TRY(stet_device_create(&def, &d));
    pass_for_gpu(d, STET_DEVICE_CUDA, "sm_90");
    d->compiler_library = compiler;
    stet_result result = ask_code(d, &sti_k_pilot_level);
    if (result == STET_OK) result = sti_program_condition(d, &code);
    if (result == STET_OK) counted(d, 2, 0, 0);
    d->compiler_library = NULL;
    stet_device_destroy(d);
    assert_int_equal(rig_loaded(), 0);
    return result;
}

static void every_allocation_fails(void **state)
{
    const sti_fill_def def = fill_def("sm_90", false);
    fill(&def, CODES, 0);
    OK(use_shipped());
    int64_t n = fail_each_allocation(use_shipped, true);
    assert_true(n > 20);
}

#define SHIPPED_TEST(f) cmocka_unit_test_setup_teardown(f, begin_shipped, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHIPPED_TEST(it_is_made_without_a_gpu), SHIPPED_TEST(it_is_made_for_amd),
        SHIPPED_TEST(a_cache_is_filled),        SHIPPED_TEST(what_cannot_be_made_is_refused),
        SHIPPED_TEST(no_compiler_is_needed),    SHIPPED_TEST(other_architectures_are_compiled),
        SHIPPED_TEST(it_can_be_left_out),       SHIPPED_TEST(code_that_is_no_good_is_compiled),
        SHIPPED_TEST(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
