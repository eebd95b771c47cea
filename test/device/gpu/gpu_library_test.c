/*
 * Finding drivers and their entry points: what is missing is named, what is too old is refused, AUTO takes what can be
 * used.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "device/gpu/gpu_rig.h"

#include <stdio.h>
#include <unistd.h>

static void start_with(const double_config *config) { o.control->start(config); }

/* ---- drivers that cannot be used --------------------------------------------------------------------------------- */

static void a_library_that_is_not_there(void **state)
{
    stet_device_def def = gpu_def();
    stet_device *device = (stet_device *)&def;
    def.gpu.library = "/nowhere/libdriver.so";
    FAILS(stet_device_create(&def, &device), STET_ERROR_NOT_FOUND, "/nowhere/libdriver.so cannot be used: ");
    assert_null(device);
    assert_non_null(strstr(stet_get_last_error(), o.hip ? "AMD's driver (HIP)" : "NVIDIA's driver"));
    def.gpu.library = STET_TEST_SOURCE_DIR "/README.md";
    FAILS(stet_device_create(&def, &device), STET_ERROR_NOT_FOUND, "README.md cannot be used: ");
}

static void kf01_every_soname_is_looked_for(void **state)
{
    static const char *const hip[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
    const sti_library_names *driver = o.hip ? sti_gpu_hip.driver : sti_gpu_cuda.driver;
    sti_library library;
    if (sti_library_open(driver, NULL, &library) == STET_OK) { /* this machine has one: then it says where */
        assert_int_equal(library.file[0], '/');
        sti_library_close(&library);
        return;
    }
    assert_non_null(strstr(stet_get_last_error(), "not found; install it, or use the CPU; looked for lib"));
    for (int i = 0; i < 3; ++i)
        assert_non_null(strstr(stet_get_last_error(), o.hip ? hip[i] : "libcuda.so.1, libcuda.so"));
}

/* A folder with a file of an old name, one of a new name, and one that is no library. */
static void kf01_the_best_name_wins_wherever_it_is(void **state)
{
    char folder[] = "/tmp/stet-library-XXXXXX", pattern[64], path[128], broken[128];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(pattern, sizeof pattern, "%.40s*", folder);
    (void)snprintf(path, sizeof path, "%s/libstet_some.so.2", folder);
    (void)snprintf(broken, sizeof broken, "%s/libstet_some.so.3", folder);
    assert_int_equal(symlink(double_file(), path), 0);
    FILE *f = fopen(broken, "w");
    assert_non_null(f);
    assert_true(fputs("no library", f) >= 0);
    assert_int_equal(fclose(f), 0);
    const char *names[] = {"libstet_some.so.3", "libstet_some.so.2", "libstet_some.so", NULL};
    const char *folders[] = {"/nowhere", pattern, NULL};
    const sti_library_names some = {"the test's library", names, folders, NULL};
    sti_library library;
    OK(sti_library_open(&some, NULL, &library));
    assert_non_null(sti_library_symbol(&library, "double_get_control"));
    assert_null(sti_library_symbol(&library, "no_such_symbol"));
    sti_library_close(&library);
    assert_null(sti_library_symbol(&library, "double_get_control"));
    sti_library_close(&library);
    assert_int_equal(unlink(path), 0);
    FAILS(sti_library_open(&some, NULL, &library), STET_ERROR_NOT_FOUND,
          "the test's library: not found; install it, or use the CPU; looked for libstet_some.so.3, libstet_some.so.2, "
          "libstet_some.so, also in "
          "/nowhere, ");
    assert_non_null(strstr(stet_get_last_error(), "not usable: "));
    assert_non_null(strstr(stet_get_last_error(), "libstet_some.so.3"));
    assert_null(library.handle);
    assert_int_equal(unlink(broken), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Below a Python's site-packages, as VIRTUAL_ENV names it. */
static void a_wheel_is_found(void **state)
{
    char top[] = "/tmp/stet-venv-XXXXXX", command[400];
    assert_non_null(mkdtemp(top));
    (void)snprintf(command, sizeof command,
                   "mkdir -p %s/lib/python3.11/site-packages/vendor/lib && ln -s %s "
                   "%s/lib/python3.11/site-packages/vendor/lib/libstet_wheel.so.1",
                   top, double_file(), top);
    assert_int_equal(system(command), 0);
    static const char *const names[] = {"libstet_wheel.so.1", NULL}, *const wheels[] = {"vendor/lib", NULL};
    const sti_library_names some = {"the test's wheel", names, NULL, wheels};
    sti_library library;
    const char *was = getenv("VIRTUAL_ENV");
    char *kept = was ? strdup(was) : NULL;
    assert_int_equal(setenv("VIRTUAL_ENV", top, 1), 0);
    OK(sti_library_open(&some, NULL, &library));
    assert_non_null(sti_library_symbol(&library, "double_get_control"));
    sti_library_close(&library);
    assert_int_equal(kept ? setenv("VIRTUAL_ENV", kept, 1) : unsetenv("VIRTUAL_ENV"), 0);
    free(kept);
    FAILS(sti_library_open(&some, NULL, &library), STET_ERROR_NOT_FOUND, "and in Python packages' vendor/lib");
    (void)snprintf(command, sizeof command, "rm -r %s", top);
    assert_int_equal(system(command), 0);
}

static void kf03_old_versions_are_refused(void **state)
{
    double_config config = o.control->defaults();
    stet_device_def def = gpu_def();
    stet_device *device;
    config.cuda_version = 11010;
    config.hip_version = 50100000;
    start_with(&config);
    FAILS(stet_device_create(&def, &device), STET_ERROR_UNSUPPORTED,
          o.hip ? "is of version 5.1.0, and 5.2.0 is needed" : "is of version 11.1, and 11.2 is needed");
    config.cuda_version = 11020;
    config.hip_version = 50200000;
    start_with(&config);
    OK(stet_device_create(&def, &device));
    assert_int_equal(device->driver_version, o.hip ? 50200000 : 11020);
    close_gpu(device);
}

/* The architecture's name lies elsewhere in each version's struct; one that is not understood is an error. */
static void kf03_architectures_of_each_version(void **state)
{
    static const int versions[] = {50200000, 50700000, 60000000, 60443483, 70000000};
    static const char *const good[] = {"gfx90a", "gfx1030", "gfx942", "gfx1201"}, *const bad[] = {"", "gfx", "sm_90",
                                                                                                  "gfx9-"};
    stet_device_def def = gpu_def();
    stet_device *device;
    for (size_t v = 0; o.hip && v < sizeof versions / sizeof *versions; ++v)
        for (size_t g = 0; g < 4; ++g) {
            double_config config = o.control->defaults();
            config.hip_version = versions[v];
            (void)snprintf(config.gfx, sizeof config.gfx, "%s", good[g]);
            start_with(&config);
            OK(stet_device_create(&def, &device));
            assert_string_equal(device->arch, good[g]);
            close_gpu(device);
            (void)snprintf(config.gfx, sizeof config.gfx, "%s", bad[g]);
            start_with(&config);
            FAILS(stet_device_create(&def, &device), STET_ERROR_UNSUPPORTED, "not as gfx");
        }
    if (o.hip) return;
    double_config config = o.control->defaults();
    config.major = 10;
    config.minor = 3;
    start_with(&config);
    OK(stet_device_create(&def, &device));
    assert_string_equal(device->arch, "sm_103");
    close_gpu(device);
}

static void devices_that_do_not_exist(void **state)
{
    double_config config = o.control->defaults();
    stet_device_def def = gpu_def();
    stet_device *device;
    def.gpu.index = config.devices;
    FAILS(stet_device_create(&def, &device), STET_ERROR_NOT_FOUND, "the driver sees 2, counted from 0");
    def.gpu.index = -1;
    FAILS(stet_device_create(&def, &device), STET_ERROR_NOT_FOUND, "there is no device -1");
    config.devices = 0;
    start_with(&config);
    def.gpu.index = 0;
    FAILS(stet_device_create(&def, &device), STET_ERROR_NOT_FOUND, "but it sees no device");
    static const int none[] = {100, 101}; /* two ways of saying that there is none */
    for (int i = 0; i < 2; ++i) {
        begin(NULL);
        o.control->fail_call("init", 1, none[i], false);
        FAILS(stet_device_create(&def, &device), STET_ERROR_NOT_FOUND, "but it sees no device");
    }
    begin(NULL);
    o.control->fail_call("init", 1, 999, false);
    FAILS(stet_device_create(&def, &device), STET_ERROR_DEVICE, "init failed: ");
    nothing_is_left();
}

/* ---- missing entry points ---------------------------------------------------------------------------------------- */

static char *image; /* the double's file */
static size_t image_size;

static void read_image(void)
{
    FILE *f = fopen(double_file(), "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    image_size = (size_t)ftell(f);
    rewind(f);
    image = malloc(image_size);
    assert_non_null(image);
    assert_int_equal(fread(image, 1, image_size, f), image_size);
    assert_int_equal(fclose(f), 0);
}

/* A copy of the double in which a symbol has another name. */
static void write_without(const char *symbol, const char *path)
{
    size_t n = strlen(symbol) + 1;
    int found = 0;
    char *copy = malloc(image_size);
    assert_non_null(copy);
    memcpy(copy, image, image_size);
    for (char *at = copy; (at = memmem(at, image_size - (size_t)(at - copy), symbol, n)) != NULL; at += n) {
        if (at[-1] != 0) continue;
        at[n - 2] ^= 1;
        ++found;
    }
    assert_true(found >= 1);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(copy, 1, image_size, f), image_size);
    assert_int_equal(fclose(f), 0);
    free(copy);
}

typedef struct wanted {
    const char *name, *symbol;
    bool required;
} wanted;

/* A driver without an optional entry point is used, and what needs the entry point says so. */
static void expect_driver_without(const char *file, const wanted *w)
{
    sti_gpu_driver driver;
    char part[200];
    const char *const names[] = {w->name, NULL};
    OK(sti_gpu_driver_open(o.hip ? &sti_gpu_hip : &sti_gpu_cuda, file, &driver));
    (void)snprintf(part, sizeof part, ": these need %s, which %s (", w->symbol, file);
    FAILS(sti_gpu_driver_needs(&driver, names, "these"), STET_ERROR_UNSUPPORTED, part);
}

static void kf02_each_missing_entry_point_is_named(void **state)
{
#define REQUIRED true
#define OPTIONAL false
#define BOTH(need, name, cuda, hip, result, parameters) {{#name, #cuda, need}, {#name, #hip, need}},
#define CUDA(need, name, cuda, result, parameters) {{#name, #cuda, need}, {#name, NULL, false}},
#define HIP(need, name, hip, result, parameters) {{#name, NULL, false}, {#name, #hip, need}},
    static const wanted all[][2] = {
#include "device/gpu/entries.inl"
    };
    char path[] = "/tmp/stet-driver-XXXXXX";
    int tried = 0;
    read_image();
    assert_true(mkdtemp(path) != NULL);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        const wanted *w = &all[i][o.hip];
        sti_gpu_driver driver;
        char file[100], part[100];
        if (!w->symbol) continue;
        (void)snprintf(file, sizeof file, "%s/%zu.so", path, i);
        (void)snprintf(part, sizeof part, " lacks %s; install a newer driver", w->symbol);
        write_without(w->symbol, file);
        if (w->required)
            FAILS(sti_gpu_driver_open(o.hip ? &sti_gpu_hip : &sti_gpu_cuda, file, &driver), STET_ERROR_UNSUPPORTED,
                  part);
        else
            expect_driver_without(file, w);
        assert_non_null(strstr(stet_get_last_error(), file));
        assert_int_equal(unlink(file), 0);
        ++tried;
    }
    assert_true(tried >= 55);
    assert_int_equal(rmdir(path), 0);
    free(image);
}

/* ---- AUTO -------------------------------------------------------------------------------------------------------- */

static int warnings;
static char warned[1024];

static void note(stet_log_level level, const char *message, void *context)
{
    (void)context;
    if (level == STET_LOG_INFO) return;
    ++warnings;
    (void)snprintf(warned, sizeof warned, "%s", message);
}

static stet_device_type best(const stet_device_def *def)
{
    stet_device *device;
    warnings = 0;
    stet_set_log(note, NULL);
    OK(stet_device_create(def, &device));
    stet_set_log(NULL, NULL);
    stet_device_type type = stet_device_get_type(device);
    stet_device_destroy(device);
    return type;
}

static void auto_takes_what_can_be_used(void **state)
{
    stet_device_def def = gpu_def();
    stet_device_type gpu = def.type;
    double_config config = o.control->defaults();
    def.type = STET_DEVICE_AUTO;
    assert_int_equal(best(&def), gpu);
    def.isa = "portable"; /* that is of a CPU */
    assert_int_equal(best(&def), STET_DEVICE_CPU);
    assert_int_equal(warnings, 0);
    def.isa = NULL;
    o.control->fail_call("stream_create", 1, 46, true);
    assert_int_equal(best(&def), STET_DEVICE_CPU);
    assert_true(warnings >= 1);
    begin(NULL);
    config.cuda_version = 11000;
    config.hip_version = 50000000;
    start_with(&config);
    assert_int_equal(best(&def), STET_DEVICE_CPU);
    assert_true(warnings >= 1); /* it is there, and too old */
    begin(NULL);
    def.gpu.compiler_library = "/nowhere/libcompiler.so"; /* no kernel would run */
    assert_int_equal(best(&def), STET_DEVICE_CPU);
    assert_true(warnings >= 1);
    nothing_is_left();
    def.gpu.library = "/nowhere/libdriver.so";
    assert_int_equal(best(&def), STET_DEVICE_CPU);
    assert_int_equal(warnings, 0); /* most machines have none */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GPU_TEST(a_library_that_is_not_there),
        GPU_TEST(kf01_every_soname_is_looked_for),
        GPU_TEST(kf01_the_best_name_wins_wherever_it_is),
        GPU_TEST(a_wheel_is_found),
        GPU_TEST(kf03_old_versions_are_refused),
        GPU_TEST(kf03_architectures_of_each_version),
        GPU_TEST(devices_that_do_not_exist),
        GPU_TEST(kf02_each_missing_entry_point_is_named),
        GPU_TEST(auto_takes_what_can_be_used),
    };
    return RUN_ON_DOUBLES("device/gpu_library", tests);
}
