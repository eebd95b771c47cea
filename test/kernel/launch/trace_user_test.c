/* What a trace says of people's own kernels: compiled, taken from the cache, launched. */
#include "kernel/user_rig.h"

#include "stet/trace.h"

typedef struct found {
    int n;
    stet_trace_event last;
} found;

static found find(const stet_device *device, stet_trace_kind kind)
{
    found f = {0};
    stet_trace_event e;
    for (int64_t i = 0; stet_trace_get_event(device, i, &e); ++i) {
        if (e.kind != kind) continue;
        f.n++;
        f.last = e;
    }
    return f;
}

static stet_device *open_traced(void)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_trace_def def = stet_default_trace_def();
    OK(stet_trace_begin(device, &def));
    return device;
}

static void compiled_then_cached(void **state)
{
    stet_device *device = open_traced();
    stet_kernel_def def = kernel_def(adder(3));
    def.path = "people/add \"3\".k.h";
    stet_kernel_destroy(make_kernel(device, &def));
    found compiled = find(device, STET_TRACE_COMPILE), missed = find(device, STET_TRACE_MISS);
    assert_int_equal(compiled.n, 1);
    assert_string_equal(compiled.last.name, "k_add");
    assert_string_equal(compiled.last.file, def.path);
    assert_int_equal(compiled.last.line, 2);
    assert_true(compiled.last.amount > 0 && compiled.last.duration > 0 && !compiled.last.failed);
    assert_int_equal(missed.n, 1);
    assert_int_equal(missed.last.reason, STET_REASON_KERNEL_CACHE_ABSENT);
    assert_int_equal(find(device, STET_TRACE_CACHED).n, 0);
    stet_kernel *kernel = make_kernel(device, &def);
    found cached = find(device, STET_TRACE_CACHED);
    assert_int_equal(find(device, STET_TRACE_COMPILE).n, 1);
    assert_int_equal(cached.n, 1);
    assert_string_equal(cached.last.name, "k_add");
    assert_int_equal(cached.last.amount, compiled.last.amount);
    assert_true(add_once(device, kernel) == 3.0f);
    found launched = find(device, STET_TRACE_LAUNCH);
    assert_int_equal(launched.n, 1);
    assert_string_equal(launched.last.name, "k_add");
    assert_string_equal(launched.last.file, def.path);
    stet_kernel_destroy(kernel);
    assert_string_equal(find(device, STET_TRACE_LAUNCH).last.file, def.path);
    stet_device_destroy(device);
}

static void a_compiler_that_fails(void **state)
{
    stet_device *device = open_traced();
    stet_kernel *kernel;
    stet_kernel_def def = kernel_def(adder(4));
    const char *fake = write_file("fake", "#!/bin/sh\ncase \"$*\" in *--version*) echo fake 1.0;; *) exit 3;; esac\n");
    assert_int_equal(chmod(fake, 0700), 0);
    def.compiler = fake;
    assert_int_not_equal(stet_kernel_create(device, &def, &kernel), STET_OK);
    OK(stet_trace_end(device)); /* what was open is closed */
    found compiled = find(device, STET_TRACE_COMPILE);
    assert_int_equal(compiled.n, 1);
    assert_true(compiled.last.failed);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(compiled_then_cached),
        TEST(a_compiler_that_fails),
    };
    return cmocka_run_group_tests_name("kernel/trace_user", tests, make_folder, remove_folder);
}
