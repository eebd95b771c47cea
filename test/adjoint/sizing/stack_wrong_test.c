/*
 * What is wrong with a launch of an adjoint is named; stacks beyond all memory are an error; wherever memory runs out,
 * nothing is left half-made.
 */
#include "adjoint/sizing/stack_rig.h"

#include "base/failing.h"

static void what_is_wrong_is_named(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    chain c = open_chain(d);
    stet_arg args[] = {stet_arg_array(c.x), stet_arg_array(NULL), stet_arg_array(c.y), stet_arg_int(N)};
    stet_array *gradients[] = {c.x_grad, NULL, c.y_grad, NULL};
    assert_int_equal(stet_adjoint_launch(c.adjoint, WORLDS, args, gradients, 4), STET_ERROR_INVALID_ARGUMENT);
    assert_non_null(
        strstr(stet_get_last_error(), "kernel k_chain_adj: the size of an adjoint's tape needs element 1 of first"));
    args[1] = stet_arg_array(c.first);
    args[3] = stet_arg_int(N + 1);
    assert_int_equal(stet_adjoint_launch(c.adjoint, WORLDS, args, gradients, 4), STET_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(stet_get_last_error(), "needs element 6 of first, which it does not have"));
    args[3] = stet_arg_int(N);
    assert_int_equal(stet_adjoint_launch(c.adjoint, WORLDS, args, gradients, 3), STET_ERROR_INVALID_ARGUMENT);
    gradients[0] = NULL;
    assert_int_equal(stet_adjoint_launch(c.adjoint, WORLDS, args, gradients, 4), STET_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(stet_get_last_error(), "the gradient of parameter x is missing"));
    gradients[0] = c.y_grad;
    assert_int_equal(stet_adjoint_launch(c.adjoint, WORLDS, args, gradients, 4), STET_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(stet_get_last_error(), "that of another parameter, too"));
    gradients[0] = c.x_grad;
    gradients[1] = c.x;
    assert_int_equal(stet_adjoint_launch(c.adjoint, WORLDS, args, gradients, 4), STET_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(stet_get_last_error(), "given, but it has none"));
    gradients[1] = NULL;
    stet_array *shorter;
    OK(STI_ARRAY(d, "shorter", STET_DTYPE_REAL, true, &shorter, WORLDS, N - 1));
    gradients[0] = shorter;
    assert_int_equal(stet_adjoint_launch(c.adjoint, WORLDS, args, gradients, 4), STET_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(stet_get_last_error(), "an array of worlds of 5 reals a world; shorter is not"));
    gradients[0] = c.x_grad;
    args[1] = stet_arg_int(1);
    assert_int_equal(stet_adjoint_launch(c.adjoint, WORLDS, args, gradients, 4), STET_ERROR_INVALID_ARGUMENT);
    args[1] = stet_arg_array(c.first);
    OK(stet_adjoint_launch(c.adjoint, WORLDS, args, gradients, 4));
    stet_array_destroy(shorter);
    close_chain(&c);
    stet_device_destroy(d);
}

/* Counts that no memory holds: refused before anybody is asked for that much. */
static void stacks_beyond_all_memory_are_an_error(void **state)
{
    static const int32_t huge[] = {INT32_MIN, INT32_MAX, 0, 0, 0, 0}, large[] = {0, INT32_MAX, 0, 0, 0, 0};
    FOR_RUNNING_DEVICES(rig)
    {
        size_t available, total = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
        chain c = open_chain(rig.device);
        OK(stet_array_write(c.first, huge, sizeof huge));
        assert_int_equal(launch_chain(&c), STET_ERROR_LIMIT);
        assert_non_null(
            strstr(stet_get_last_error(), "k_chain_adj: its stacks would have 5 columns of 4294967295 slots"));
        OK(stet_array_write(c.first, large, sizeof large));
        if (rig.device->ops->memory) OK(rig.device->ops->memory(rig.device, &available, &total));
        if (total < (size_t)WORLDS * 5 * INT32_MAX * 4) {
            assert_int_equal(launch_chain(&c), STET_ERROR_LIMIT);
            assert_non_null(
                strstr(stet_get_last_error(), "5 columns of 2147483647 slots, launched over 9: its stacks take"));
        }
        OK(stet_array_write(c.first, usual_first, sizeof usual_first));
        set_gradients(&c);
        OK(launch_chain(&c));
        check_chain(&c, usual_first);
        close_chain(&c);
    }
}

static stet_result use_stacks(void)
{
    stet_device_def device_def = stet_default_device_def();
    stet_device *d = NULL;
    chain c = {0};
    device_def.threads = 1;
    device_def.isa = "portable";
    stet_result result = stet_device_create(&device_def, &d);
    stet_kernel_def def = kernel_def(chain_source);
    if (result == STET_OK) result = stet_kernel_create(d, &def, &c.kernel);
    stet_array **reals[] = {&c.x, &c.y, &c.x_grad, &c.y_grad};
    for (int i = 0; i < 4 && result == STET_OK; ++i)
        result = STI_ARRAY(d, "reals", STET_DTYPE_REAL, true, reals[i], WORLDS, N);
    if (result == STET_OK) result = STI_ARRAY(d, "first", STET_DTYPE_INT, false, &c.first, N + 1);
    if (result == STET_OK) result = stet_array_write(c.first, usual_first, sizeof usual_first);
    if (result == STET_OK) result = stet_kernel_get_adjoint(c.kernel, &c.adjoint);
    if (result == STET_OK) set_all(c.x, 1);
    if (result == STET_OK) set_gradients(&c);
    if (result == STET_OK) result = launch_chain(&c);
    if (result == STET_OK) check_chain(&c, usual_first);
    stet_array *const all[] = {c.x, c.first, c.y, c.x_grad, c.y_grad};
    for (int i = 0; i < 5; ++i) stet_array_destroy(all[i]);
    stet_kernel_destroy(c.kernel);
    stet_device_destroy(d);
    return result;
}

static void any_allocation_may_fail(void **state)
{
    OK(use_stacks()); /* the compiler's work is on disk now */
    int64_t n = fail_each_allocation(use_stacks, true);
    assert_true(n > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_wrong_is_named),
        cmocka_unit_test(stacks_beyond_all_memory_are_an_error),
        TEST(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
