/*
 * What kernels may be called: whatever the language allows, though generated code may have used that name for itself.
 * Run on each device (stet_test_on_devices).
 */
#include "device/picked.h"

#include "kernel/user_rig.h"

/* Of generated code; of C's library, which headers of a compiler bring along; macros that compilers begin with. */
static const char *const names[] = {"k",     "s",      "b",      "n",      "begin", "end",  "count",   "p",
                                    "abs",   "malloc", "printf", "memcpy", "free",  "exit", "div",     "rand",
                                    "round", "atoi",   "system", "getenv", "linux", "unix", "environ", "random"};
enum { NAMES = sizeof names / sizeof *names };

/* Kernel number m adds m + 1; each has parameters whose names are others' kernels. */
static const char *source_of_all(void)
{
    static char text[8192];
    size_t used = (size_t)snprintf(text, sizeof text, "#include <stet/lang.h>\n");
    for (int m = 0; m < NAMES; ++m)
        used += (size_t)snprintf(
            text + used, sizeof text - used,
            "world_kernel void %s(real *y, const ureal *%s, int count_of, ureal h, int world)\n"
            "{ each (j, count_of) put(y, j, y[j] + splat(h + %s[0]) + to_real(isplat(world * 0 + %d))); }\n",
            names[m], names[(m + 1) % NAMES], names[(m + 1) % NAMES], m + 1);
    assert_true(used < sizeof text);
    return text;
}

static void a_kernel_has_any_name_that_the_language_allows(void **state)
{
    enum { WORLDS = 5, ITEMS = 3 };
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    stet_array *y, *zero;
    def.threads = 1;
    picked_device(&def);
    OK(stet_device_create(&def, &device));
    OK(STI_ARRAY(device, "y", STET_DTYPE_REAL, true, &y, WORLDS, ITEMS));
    OK(STI_ARRAY(device, "zero", STET_DTYPE_REAL, false, &zero, 1));
    stet_kernel_def about = kernel_def(source_of_all());
    float sum = 0, have[WORLDS * ITEMS];
    for (int m = 0; m < NAMES; ++m) {
        about.name = names[m];
        stet_kernel *kernel = make_kernel(device, &about);
        assert_string_equal(stet_kernel_get_name(kernel), names[m]);
        stet_arg args[] = {stet_arg_array(y), stet_arg_array(zero), stet_arg_int(ITEMS), stet_arg_real(0.5)};
        OK(stet_kernel_launch(kernel, WORLDS, args, 4));
        sum += (float)(m + 1) + 0.5f;
        OK(stet_array_read(y, have, sizeof have));
        for (int i = 0; i < WORLDS * ITEMS; ++i) assert_true(have[i] == sum);
        stet_kernel_destroy(kernel);
    }
    stet_array_destroy(y);
    stet_array_destroy(zero);
    stet_device_destroy(device);
}

/* Functions (one of them is called `function`), types, tables, members and variables, too. */
static void have_any_name(stet_device *device, const char *function)
{
    enum { WORLDS = 3 };
    static const char format[] =
        "#include <stet/lang.h>\n"
        "typedef struct div_t { int linux; real unix; } div_t;\n"
        "static const int random[2] = {3, 5};\n"
        "LFN real rand(real atoi) { return atoi + atoi; }\n"
        "LFN int %s(int x) { return x - 7; }\n"
        "LFN div_t div(int malloc) { div_t d; d.linux = %s(malloc); d.unix = splat(1); return d; }\n"
        "world_kernel void k(real *y, int world)\n{\n"
        "    int linux = world * 0 + 1;\n"
        "    div_t main = div(random[linux]);\n"
        "    put(y, 0, rand(to_real(isplat(main.linux)) + main.unix));\n}\n";
    char source[sizeof format + 32];
    (void)snprintf(source, sizeof source, format, function, function);
    stet_array *y;
    float have[WORLDS];
    OK(STI_ARRAY(device, "y", STET_DTYPE_REAL, true, &y, WORLDS, 1));
    stet_kernel_def about = kernel_def(source);
    stet_kernel *kernel = make_kernel(device, &about);
    stet_arg arg = stet_arg_array(y);
    OK(stet_kernel_launch(kernel, WORLDS, &arg, 1));
    OK(stet_array_read(y, have, sizeof have));
    for (int w = 0; w < WORLDS; ++w) assert_true(have[w] == 2 * (5 - 7 + 1));
    stet_kernel_destroy(kernel);
    stet_array_destroy(y);
    stet_device_destroy(device);
}

static void so_has_all_else_in_a_source(void **state)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    def.threads = 1;
    picked_device(&def);
    OK(stet_device_create(&def, &device));
    have_any_name(device, "system");
}

/* Each has its own headers of the compiler. GPUs keep the names of their functions, among them abs of an int. */
static void on_each_instruction_set(void **state)
{
    if (picked_any()) skip(); /* a CPU's, whatever the run is about */
    FOR_FLOAT_ISAS(isa)
    {
        have_any_name(open_device(isa, 1), "abs");
        have_any_name(open_device(isa, 1), "alloca");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_has_any_name_that_the_language_allows),
        cmocka_unit_test(so_has_all_else_in_a_source),
        cmocka_unit_test(on_each_instruction_set),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
