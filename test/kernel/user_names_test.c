/*
 * What kernels may be called: whatever the language allows, though generated code may have used that name for itself. Run on each device
 * (stet_test_on_devices).
 */
#include "device/picked.h"

#include "user_rig.h"

static const char *const names[] = {"k", "s", "b", "n", "begin", "end", "count", "p"};
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
    (void)state;
    enum { WORLDS = 5, ITEMS = 3 };
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    stet_array *y, *zero;
    def.threads = 1;
    picked_device(&def);
    OK(stet_device_create(&def, &device));
    OK(STI_ARRAY(device, "y", STET_REAL, true, &y, WORLDS, ITEMS));
    OK(STI_ARRAY(device, "zero", STET_REAL, false, &zero, 1));
    stet_kernel_def about = kernel_def(source_of_all());
    float sum = 0, have[WORLDS * ITEMS];
    for (int m = 0; m < NAMES; ++m) {
        about.name = names[m];
        stet_kernel *kernel = make_kernel(device, &about);
        assert_string_equal(stet_kernel_name(kernel), names[m]);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_has_any_name_that_the_language_allows),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
