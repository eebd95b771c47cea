/*
 * Programs of a GPU: what is compiled when, what the cache has, what is said where something is missing.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "gpu_rig.h"

#include "base/failing.h"
#include "kernel/gpu/source.h"

extern const sti_kernel sti_k_pilot_level, sti_k_pilot_rays, sti_k_newton, sti_k_forward, sti_k_render, sti_k_extract,
    sti_k_mass_weight;

static const sti_code *code_of(stet_device *d, const sti_kernel *k, bool in_block)
{
    const sti_code *code;
    OK(sti_program_code(d, k, in_block, &code));
    return code;
}

static void counted(const stet_device *d, int64_t hits, int64_t misses, stet_reason reason)
{
    stet_counter c = cache_counter(d);
    assert_int_equal(c.hits, hits);
    assert_int_equal(c.misses, misses);
    if (misses) assert_int_equal(reason_count(d, reason), misses);
}

/* ---- when -------------------------------------------------------------------------------------------------------- */

static void the_first_launch_compiles_and_the_second_does_not(void **state)
{
    need_compiler(STET_DEVICE_CUDA);
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    stet_array *force;
    OK(STI_ARRAY(d, "force", STET_DTYPE_REAL, true, &force, 5, 9));
    for (int i = 1; i <= 3; ++i) {
        OK(STI_LAUNCH(sti_k_mass_weight, d, 5, sti_arg_array(force), sti_arg_real(1.0), sti_arg_int(3)));
        assert_int_equal(rig.launches, i);
        assert_int_equal(rig.loads, 1); /* one module: all springs have the same team */
        assert_int_equal(rig.functions, 1);
        counted(d, 0, 1, STET_REASON_KERNEL_CACHE_ABSENT);
    }
    assert_string_equal(rig.last.name, "k_mass_weight");
    assert_non_null(rig.last.value);
    assert_null(rig.last.block);
    assert_true(rig.last.worlds);
    assert_int_equal(rig.last.team, STI_TEAM_WORLD);
    assert_int_equal(rig.last.teams, STI_TEAMS_WORLD);
    assert_true(rig_has(rig.module[0], "sti_k_mass_position__value"));
    assert_false(rig_has(rig.module[0], "sti_k_mass_position__block"));
    assert_int_equal(cache_counter(d).held_bytes, rig.module[0]->size);
    /* The entry for arguments in a block is another module, made when it is needed. */
    const sti_code *code = code_of(d, &sti_k_mass_weight, true);
    assert_non_null(code->block);
    assert_int_equal(rig.loads, 2);
    counted(d, 0, 2, STET_REASON_KERNEL_CACHE_ABSENT);
    stet_array_destroy(force);
    close_gpu(d);
}

/* Pilots come alone; what a simulation needs comes together, several at the same time. */
static void the_first_kernel_of_a_simulation_brings_the_others(void **state)
{
    need_compiler(STET_DEVICE_CUDA);
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL), *e;
    (void)code_of(d, &sti_k_pilot_level, false);
    assert_int_equal(rig.loads, 1);
    (void)code_of(d, &sti_k_forward, false);
    int loads = rig.loads;
    assert_true(loads >= 6);
    counted(d, 0, loads, STET_REASON_KERNEL_CACHE_ABSENT);
    (void)code_of(d, &sti_k_extract, false);
    assert_int_equal(rig.loads, loads);
    close_gpu(d);
    /* Another device, as another process: one read a module, nothing compiled. */
    e = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    (void)code_of(e, &sti_k_extract, false);
    assert_int_equal(rig.loads, loads - 1);
    counted(e, loads - 1, 0, STET_REASON_NONE);
    close_gpu(e);
    /* The other form only when it is asked for, whatever threads are to spare: recordings pass by value, too. */
    e = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    e->threads = 2 * (loads - 1);
    (void)code_of(e, &sti_k_forward, false);
    assert_int_equal(rig.loads, loads - 1);
    (void)code_of(e, &sti_k_extract, true);
    assert_int_equal(rig.loads, 2 * (loads - 1));
    counted(e, loads - 1, loads - 1, STET_REASON_KERNEL_CACHE_ABSENT);
    close_gpu(e);
}

/* ---- the cache --------------------------------------------------------------------------------------------------- */

static const char *only_entry_path(void)
{
    static char path[600];
    DIR *dir = opendir(in_folder("cache"));
    assert_non_null(dir);
    path[0] = 0;
    for (struct dirent *e; (e = readdir(dir));)
        if (strstr(e->d_name, ".kernel")) (void)snprintf(path, sizeof path, "%s/%s", in_folder("cache"), e->d_name);
    closedir(dir);
    assert_true(path[0]);
    return path;
}

static void use(stet_device_type type, const char *arch, int64_t hits, int64_t misses, stet_reason reason,
                const stet_mechanism_options *options)
{
    stet_device *d = open_gpu(type, arch, NULL);
    if (options) OK(stet_device_set_mechanisms(d, options));
    (void)code_of(d, &sti_k_pilot_level, false);
    counted(d, hits, misses, reason);
    close_gpu(d);
}

static void entries_over(stet_device_type type, const char *arch)
{
    stet_mechanism_options options;
    OK(stet_default_mechanism_options(&options));
    use(type, arch, 0, 1, STET_REASON_KERNEL_CACHE_ABSENT, NULL);
    use(type, arch, 1, 0, STET_REASON_NONE, NULL);
    assert_int_equal(truncate(only_entry_path(), 500), 0);
    use(type, arch, 0, 1, STET_REASON_KERNEL_CACHE_DAMAGED, NULL);
    use(type, arch, 1, 0, STET_REASON_NONE, NULL);
    options.audit = true; /* compiled again: the same bytes */
    use(type, arch, 1, 0, STET_REASON_NONE, &options);
    options.audit = false;
    options.disabled = 1u << STET_MECHANISM_KERNEL_CACHE;
    use(type, arch, 0, 1, STET_REASON_KERNEL_CACHE_DISABLED, &options);
    assert_int_equal(count_files(in_folder("cache")), 1);
}

static void entries_of_the_cache_cuda(void **state)
{
    need_compiler(STET_DEVICE_CUDA);
    entries_over(STET_DEVICE_CUDA, "sm_90");
    use(STET_DEVICE_CUDA, "sm_80", 0, 1, STET_REASON_KERNEL_CACHE_ABSENT,
        NULL); /* another architecture, another entry */
    assert_int_equal(count_files(in_folder("cache")), 2);
}

static void entries_of_the_cache_hip(void **state)
{
    need_compiler(STET_DEVICE_HIP);
    entries_over(STET_DEVICE_HIP, "gfx90a");
}

/* What the cache holds is not what the compiler makes of it: found by the audit, named. */
static void the_audit_finds_other_code(void **state)
{
    need_compiler(STET_DEVICE_CUDA);
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    const sti_code *code;
    (void)code_of(d, &sti_k_pilot_level, false);
    close_gpu(d);
    sti_text_buffer bytes = {0};
    sti_entry e;
    int fd = open(only_entry_path(), O_RDONLY);
    OK(sti_text_buffer_read(&bytes, fd, 1 << 24, "entry"));
    close(fd);
    assert_int_equal(sti_entry_read(bytes.data, bytes.size, NULL, &e), STI_FOUND);
    sti_cache_key key = sti_cache_key_of(e.key, e.key_size);
    assert_non_null(memmem(e.key, e.key_size, "\narch sm_90\n", 12));
    assert_non_null(memmem(e.key, e.key_size, "\ncompiler nvrtc ", 16));
    assert_non_null(memmem(e.key, e.key_size, "\nkernels k_pilot_level\n", 23));
    sti_cache c;
    OK(sti_cache_open(in_folder("cache"), 0, true, &c));
    OK(sti_cache_store(&c, &key, "other code", 10));
    sti_cache_close(&c);
    d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    d->mechanisms.options.audit = true;
    FAILS(sti_program_code(d, &sti_k_pilot_level, false, &code), STET_ERROR_AUDIT,
          "kernel_cache: bench/pilot/hierarchy.k.h: compiled again, the kernel is not what entry");
    close_gpu(d);
    sti_text_buffer_free(&bytes);
}

/* ---- what is missing --------------------------------------------------------------------------------------------- */

static void without_a_compiler(void **state)
{
    const sti_code *code;
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", "/no/such/libnvrtc.so");
    for (int i = 0; i < 2; ++i) { /* each time the same */
        FAILS(sti_program_code(d, &sti_k_pilot_level, false, &code), STET_ERROR_NOT_FOUND, "/no/such/libnvrtc.so");
        assert_non_null(strstr(stet_get_last_error(), "a GPU of the test's (sm_90) needs a compiler for its kernels"));
    }
    close_gpu(d);
    d = open_gpu(STET_DEVICE_CUDA, "sm_90", "libm.so.6");
    FAILS(sti_program_code(d, &sti_k_pilot_level, false, &code), STET_ERROR_UNSUPPORTED, "nvrtcVersion");
    assert_non_null(strstr(stet_get_last_error(), "nvrtcGetSupportedArchs"));
    close_gpu(d);
    d = open_gpu(STET_DEVICE_HIP, "gfx90a", "libm.so.6");
    FAILS(sti_program_code(d, &sti_k_pilot_level, false, &code), STET_ERROR_UNSUPPORTED, "hiprtcCompileProgram");
    close_gpu(d);
}

static void architectures(void **state)
{
    const sti_code *code;
    need_compiler(STET_DEVICE_CUDA);
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_20", NULL);
    FAILS(sti_program_code(d, &sti_k_pilot_level, false, &code), STET_ERROR_UNSUPPORTED, "does not compile for sm_20");
    close_gpu(d);
    d = open_gpu(STET_DEVICE_CUDA, "sm_999", NULL); /* of the future: text that its driver compiles */
    (void)code_of(d, &sti_k_pilot_level, false);
    if (rig.installed) assert_non_null(strstr(rig.module[0]->image, ".visible .entry sti_k_pilot_level__value"));
    assert_non_null(rig.module[0]);
    close_gpu(d);
}

/* A driver that refuses: nothing is half-made, and the next launch tries again. */
static void a_module_that_does_not_load(void **state)
{
    const sti_code *code;
    need_compiler(STET_DEVICE_CUDA);
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    rig.fail_load = 1;
    FAILS(sti_program_code(d, &sti_k_pilot_level, false, &code), STET_ERROR_DEVICE, "bench/pilot/hierarchy.k.h");
    assert_int_equal(rig_loaded(), 0);
    assert_int_equal(cache_counter(d).held_bytes, 0);
    code = code_of(d, &sti_k_pilot_level, false);
    assert_non_null(code->value);
    assert_int_equal(cache_counter(d).hits, 1);
    close_gpu(d);
}

static void a_kernel_that_the_library_does_not_carry(void **state)
{
    const sti_code *code;
    sti_kernel foreign = sti_k_pilot_level;
    foreign.file = "test/kernel/lang/lang_probe.k.h";
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    FAILS(sti_program_code(d, &foreign, false, &code), STET_ERROR_UNSUPPORTED, "test/kernel/lang/lang_probe.k.h");
    close_gpu(d);
}

/* ---- teams ------------------------------------------------------------------------------------------------------- */

static void sizes_of_teams(void **state)
{
    need_compiler(STET_DEVICE_CUDA);
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    const sti_code *code = code_of(d, &sti_k_newton, false);
    assert_int_equal(code->team, 32);
    assert_int_equal(code->teams, 1);
    assert_true(code->worlds);
    static const sti_team teams[] = {{1, 0}, {8, 4}, {16, 2}, {64, 1}, {256, 1}};
    for (size_t i = 0; i < sizeof teams / sizeof *teams; ++i) {
        OK(sti_program_set_team(d, &sti_k_newton, teams[i]));
        code = code_of(d, &sti_k_newton, false);
        assert_int_equal(code->team, teams[i].team);
        assert_int_equal(code->teams, teams[i].teams ? teams[i].teams : 1);
        assert_int_equal(rig.loads, 2 + (int)i);
    }
    OK(sti_program_set_team(d, &sti_k_newton, (sti_team){0, 0}));
    assert_int_equal(code_of(d, &sti_k_newton, false)->team, 32);
    assert_int_equal(rig.loads, 6); /* that one is still there */
    FAILS(sti_program_set_team(d, &sti_k_newton, (sti_team){48, 2}), STET_ERROR_INVALID_ARGUMENT, "2 teams a block");
    FAILS(sti_program_set_team(d, &sti_k_newton, (sti_team){64, 2}), STET_ERROR_INVALID_ARGUMENT, "not 64");
    FAILS(sti_program_set_team(d, &sti_k_newton, (sti_team){32, 64}), STET_ERROR_INVALID_ARGUMENT, "at most 1024");
    FAILS(sti_program_set_team(d, &sti_k_newton, (sti_team){-1, 0}), STET_ERROR_INVALID_ARGUMENT, "team of -1");
    FAILS(sti_program_set_team(d, &sti_k_pilot_rays, (sti_team){32, 2}), STET_ERROR_INVALID_ARGUMENT, "one team");
    OK(sti_program_set_team(d, &sti_k_pilot_rays, (sti_team){64, 0}));
    code = code_of(d, &sti_k_pilot_rays, false);
    assert_int_equal(code->team, 64);
    assert_false(code->worlds);
    close_gpu(d);
}

/* ---- kernels of the user's --------------------------------------------------------------------------------------- */

static void users_kernels_over(stet_device_type type, const char *arch)
{
    char id[STI_ID_SIZE];
    stet_device *d = open_gpu(type, arch, NULL);
    stet_kernel_def def = kernel_def(adder(5));
    stet_kernel *k = make_kernel(d, &def), *same;
    assert_int_equal(rig.loads, 1);
    assert_true(rig_has(rig.module[0], "sti_k_add__value"));
    assert_true(rig_has(rig.module[0], "sti_k_add__block"));
    counted(d, 0, 1, STET_REASON_KERNEL_CACHE_ABSENT);
    (void)snprintf(id, sizeof id, "%s", sti_user_kernel_id(k));
    stet_array *y;
    OK(STI_ARRAY(d, "y", STET_DTYPE_REAL, true, &y, 5, 3));
    stet_arg args[] = {stet_arg_array(y), stet_arg_int(3)};
    OK(stet_kernel_launch(k, 5, args, 2));
    assert_int_equal(rig.launches, 1);
    assert_string_equal(rig.last.name, "k_add");
    const char *name = rig.last.name; /* lives as long as the device */
    def.team = 8;
    same = make_kernel(d, &def);
    OK(stet_kernel_launch(same, 5, args, 2));
    assert_int_equal(rig.last.team, 8);
    assert_int_equal(rig.last.teams, 16); /* as many threads a block */
    assert_string_not_equal(sti_user_kernel_id(same), id);
    stet_kernel_destroy(same);
    stet_kernel_destroy(k);
    assert_int_equal(rig_loaded(), 0);
    assert_int_equal(cache_counter(d).held_bytes, 0);
    assert_string_equal(name, "k_add");
    def.team = 0;
    k = make_kernel(d, &def); /* again: out of the cache */
    counted(d, 1, 2, STET_REASON_KERNEL_CACHE_ABSENT);
    assert_string_equal(sti_user_kernel_id(k), id);
    stet_kernel_destroy(k);
    def.team = 48;
    def.teams = 2;
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_INVALID_ARGUMENT, "kernel k_add: 2 teams a block");
    def.team = -1;
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_INVALID_ARGUMENT, "a team of -1 threads");
    stet_array_destroy(y);
    close_gpu(d);
}

static void kernels_of_the_users_cuda(void **state)
{
    need_compiler(STET_DEVICE_CUDA);
    users_kernels_over(STET_DEVICE_CUDA, "sm_90");
}

static void kernels_of_the_users_hip(void **state)
{
    need_compiler(STET_DEVICE_HIP);
    users_kernels_over(STET_DEVICE_HIP, "gfx1030");
}

/* The checker finds most mistakes; what only the compiler finds is one sentence too, with the kernel's name. */
static void mistakes_in_a_users_kernel(void **state)
{
    need_compiler(STET_DEVICE_CUDA);
    stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
    stet_kernel_def def = kernel_def("#include <stet/lang.h>\nworld_kernel void k_a(real *x)\n{\n"
                                     "    put(x, 0, speed);\n}\n");
    stet_kernel *k;
    def.path = "arm.k.h";
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_PARSE, "arm.k.h:4:");
    assert_null(k);
    def.source = "#include <stet/lang.h>\nworld_kernel void k_a(real *x)\n{\n    shared(real, s, 100000);\n"
                 "    s[0] = splat(1);\n    sync();\n    put(x, 0, s[0]);\n}\n";
    FAILS(stet_kernel_create(d, &def, &k), STET_ERROR_PARSE, "arm.k.h:4:18: `s` takes");
    assert_null(strchr(stet_get_last_error(), '\n'));
    assert_int_equal(rig_loaded(), 0);
    assert_true(count_files(in_folder("cache")) <= 0); /* a mistake is never kept */
    close_gpu(d);
}

/* Copies of a kernel with constants have code of their own, one for all with the same; it is kept like any other. */
static void constants_are_a_part_of_the_code(void **state)
{
    static const char *const constants[] = {"#define WIDTH 3\n", "#define WIDTH 4\n", "#define WIDTH 3\n"};
    static const int loads[] = {1, 2, 2};
    need_compiler(STET_DEVICE_CUDA);
    for (int again = 0; again < 2; ++again) {
        stet_device *d = open_gpu(STET_DEVICE_CUDA, "sm_90", NULL);
        sti_kernel copy[3];
        for (int i = 0; i < 3; ++i) {
            copy[i] = sti_k_pilot_level;
            copy[i].constants = constants[i];
            assert_non_null(code_of(d, &copy[i], false)->value);
            assert_int_equal(rig.loads, loads[i]);
        }
        counted(d, again ? 2 : 0, again ? 0 : 2, again ? STET_REASON_NONE : STET_REASON_KERNEL_CACHE_ABSENT);
        (void)code_of(d, &sti_k_pilot_level, false);
        assert_int_equal(rig.loads, 3);
        for (int i = 0; i < 3; ++i) sti_program_drop(d, &copy[i]);
        close_gpu(d);
        if (!again) use(STET_DEVICE_CUDA, "sm_90", 1, 0, STET_REASON_NONE, NULL);
    }
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static char cache_path[512], *kept_text[2];

static stet_result use_two_kernels(void)
{
    stet_device_def def = stet_default_device_def();
    stet_device *d;
    const sti_code *code;
    def.type = STET_DEVICE_NULL;
    def.threads = 1;
    STI_TRY(stet_device_create(&def, &d));
    pass_for_gpu(d, STET_DEVICE_CUDA, "sm_90");
    static char compiler[] = DOUBLE_CUDA;
    d->compiler_library = rig.installed ? NULL : compiler;
    d->cache_folder = cache_path;
    stet_kernel *k = NULL;
    stet_kernel_def kernel = kernel_def(kept_text[0]);
    stet_result result = sti_program_code(d, &sti_k_pilot_level, false, &code);
    if (result == STET_OK) result = stet_kernel_create(d, &kernel, &k);
    stet_kernel_destroy(k);
    d->cache_folder = d->compiler_library = NULL;
    stet_device_destroy(d);
    assert_int_equal(rig_loaded(), 0);
    return result;
}

static void every_allocation_fails(void **state)
{
    need_compiler(STET_DEVICE_CUDA);
    (void)snprintf(cache_path, sizeof cache_path, "%s", in_folder("cache"));
    kept_text[0] = strdup(adder(7));
    OK(use_two_kernels()); /* the cache is warm, so that a run is short */
    int64_t n = fail_each_allocation(use_two_kernels, true);
    assert_true(n > 30);
    free(kept_text[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_first_launch_compiles_and_the_second_does_not),
        TEST(the_first_kernel_of_a_simulation_brings_the_others),
        TEST(constants_are_a_part_of_the_code),
        TEST(entries_of_the_cache_cuda),
        TEST(entries_of_the_cache_hip),
        TEST(the_audit_finds_other_code),
        TEST(without_a_compiler),
        TEST(architectures),
        TEST(a_module_that_does_not_load),
        TEST(a_kernel_that_the_library_does_not_carry),
        TEST(sizes_of_teams),
        TEST(kernels_of_the_users_cuda),
        TEST(kernels_of_the_users_hip),
        TEST(mistakes_in_a_users_kernel),
        TEST(every_allocation_fails),
    };
    int failed = cmocka_run_group_tests_name("with the double's compiler", tests, make_folder, remove_folder);
    rig.installed = true;
    return failed + cmocka_run_group_tests_name("with the vendors' compilers", tests, make_folder, remove_folder);
}
