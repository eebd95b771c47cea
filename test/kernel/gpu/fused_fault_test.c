/*
 * Fused code where something fails: each allocation, each call of the driver and of its compiler. Nothing is left,
 * nothing is half-made, and the next try works.
 */
#include "fused_rig.h"

#include "base/failing.h"

extern const sti_kernel sti_k_mass_velocity, sti_k_mass_position;

enum { FEW = 5, ITEMS = 3 };

/* v += y; z = v; z += v. */
typedef struct job {
    stet_device *device;
    stet_array *y, *v, *z;
    sequence q;
} job;

static bool hip;

static stet_result open_on_double(const char *cache, stet_device **out)
{
    stet_device_def def = stet_default_device_def();
    def.type = hip ? STET_DEVICE_HIP : STET_DEVICE_CUDA;
    def.gpu.library = def.gpu.compiler_library = hip ? DOUBLE_HIP : DOUBLE_CUDA;
    def.cache_folder = cache;
    def.threads = 2;
    return stet_device_create(&def, out);
}

static const float start[FEW * ITEMS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static stet_result fixed(stet_device *device, const char *name, stet_array **out)
{
    STI_TRY(STI_ARRAY(device, name, STET_DTYPE_REAL, true, out, FEW, ITEMS));
    return sti_device_upload(device, (*out)->data, start, sizeof start);
}

static stet_result fill_job(job *j)
{
    STI_TRY(fixed(j->device, "y", &j->y));
    STI_TRY(fixed(j->device, "v", &j->v));
    STI_TRY(fixed(j->device, "z", &j->z));
    STI_TRY(ADD(&j->q, &sti_k_mass_velocity, sti_arg_array(j->y), sti_arg_array(j->v), sti_arg_real(1),
                sti_arg_int(ITEMS / 3)));
    add_copy(&j->q, j->z, j->v);
    return ADD(&j->q, &sti_k_mass_position, sti_arg_array(j->v), sti_arg_array(j->z), sti_arg_real(1),
               sti_arg_int(ITEMS / 3));
}

static void close_job(job *j)
{
    stet_array_destroy(j->y);
    stet_array_destroy(j->v);
    stet_array_destroy(j->z);
    stet_device_destroy(j->device);
}

static stet_result do_job(job *j)
{
    const sti_code *code;
    STI_TRY(sti_program_fused(j->device, j->q.phase, j->q.n, FEW, &code));
    return launch_fused(j->device, code, &j->q, 1, FEW);
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static stet_result whole_job(void)
{
    job j = {.device = NULL};
    stet_result result = open_on_double(double_cache_folder(), &j.device);
    if (result == STET_OK) result = fill_job(&j);
    if (result == STET_OK) result = do_job(&j);
    close_job(&j);
    return result;
}

static void every_allocation_fails(void **state)
{
    const double_control *control = double_open(hip ? DOUBLE_HIP : DOUBLE_CUDA);
    double_start(control, 31);
    OK(whole_job()); /* the cache is warm, so that a run is short */
    assert_true(fail_each_allocation(whole_job, true) > 30);
    double_expect_clean(control);
    assert_int_equal(control->alive().modules, 0);
}

/* ---- the driver -------------------------------------------------------------------------------------------------- */

/* From the start, without anything that fails: the code is made, if it is not there, and does what it should. */
static void works(job *j)
{
    stet_array *all[] = {j->y, j->v, j->z};
    for (int i = 0; i < 3; ++i) OK(sti_device_upload(j->device, all[i]->data, start, sizeof start));
    OK(do_job(j));
    float *v = bytes_take(j->v), *z = bytes_take(j->z);
    for (int i = 0; i < FEW * ITEMS; ++i) assert_true(v[i] == 2 * start[i] && z[i] == 4 * start[i]);
    bytes_give(j->v, v, false);
    bytes_give(j->z, z, false);
}

static bool is_the_drivers(stet_result result)
{
    return result == STET_ERROR_DEVICE || result == STET_ERROR_IO || result == STET_ERROR_PARSE ||
           result == STET_ERROR_UNSUPPORTED;
}

/*
 * Call n of an entry (NULL: of any of the driver's), from the moment on at which the code is asked for, fails. false:
 * there were not so many.
 */
static bool one_call_fails(const char *entry, int64_t n, const char *cache)
{
    const double_control *control = double_open(hip ? DOUBLE_HIP : DOUBLE_CUDA);
    job j = {.device = NULL};
    double_start(control, 32);
    OK(open_on_double(cache, &j.device));
    OK(fill_job(&j));
    int64_t before = control->calls(entry);
    control->fail_call(entry, n, 1, false);
    stet_result result = do_job(&j);
    bool came = control->calls(entry) - before >= n;
    control->fail_call(entry, 0, 0, false);
    if (result != STET_OK && !is_the_drivers(result)) fail_msg("call %lld: %s", (long long)n, stet_get_last_error());
    works(&j);
    close_job(&j);
    double_expect_clean(control);
    double_alive alive = control->alive();
    assert_int_equal(alive.modules + alive.programs + alive.blocks, 0);
    return came;
}

static void every_call_of_the_driver_fails(void **state)
{
    OK(whole_job()); /* the cache is warm */
    const test_part p = choose_part(3);
    int64_t n = p.first;
    while (one_call_fails(NULL, n, double_cache_folder())) n += p.step;
    assert_true(n > 5);
}

/* From an empty cache: what a compiler did not do is not kept. */
static void every_call_of_the_compiler_fails(void **state)
{
    static const char *const entries[] = {"rtc_version", "rtc_create", "rtc_compile", "rtc_code_size", "rtc_code"};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; ++i) {
        char command[600];
        (void)snprintf(command, sizeof command, "rm -rf '%s'", in_folder("cache"));
        shell(command);
        assert_true(one_call_fails(entries[i], 1, in_folder("cache")));
    }
}

/* ------------------------------------------------------------------------------------------------------------------ */

static int on_cuda(void **state)
{
    hip = false;
    return 0;
}
static int on_hip(void **state)
{
    hip = true;
    return 0;
}
#define BOTH(f) cmocka_unit_test_setup(f, on_cuda), cmocka_unit_test_setup(f, on_hip)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(every_allocation_fails),
        BOTH(every_call_of_the_driver_fails),
        BOTH(every_call_of_the_compiler_fails),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
