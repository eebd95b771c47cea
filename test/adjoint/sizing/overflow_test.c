/*
 * Stacks that are too short, because an array was written behind stet's back: found, named, done again where that is
 * possible; a wrong gradient is never read.
 */
#include "adjoint/sizing/stack_rig.h"

#include "device/tensor.h"

#include <math.h>

static const int32_t deeper[] = {0, 9, 9, 10, 14, 16};

/* As others write: past stet. */
static void write_behind(stet_array *a, const int32_t *values)
{
    void *bytes = bytes_take(a);
    memcpy(bytes, values, (N + 1) * sizeof *values);
    bytes_give(a, bytes, true);
}

/* Others hold a tensor of `first`, and said that they would announce what they write. */
static void a_launch_is_done_again_where_others_can_write(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        chain c = open_chain(rig.device);
        OK(launch_chain(&c));
        tensor *shown = export_as(c.first, true, true, false);
        set_gradients(&c);
        set_all(c.x_grad, 0.5); /* adds to what is there, once */
        write_behind(c.first, deeper);
        OK(launch_chain(&c));
        for (int w = 0; w < WORLDS; ++w)
            for (int i = 0; i < N; ++i) {
                double wanted = 0.5 + (double)(1 << (deeper[i + 1] - deeper[i]));
                assert_true(reals_get(c.x_grad, w, i) == wanted);
                assert_true(reals_get(c.y_grad, w, i) == 0);
            }
        assert_int_equal(reason_count(rig.device, STET_REASON_ADSTACK_OVERFLOW), 1);
        assert_int_equal(c.adjoint->last.size[STI_DEPTH], 9);
        set_gradients(&c);
        OK(launch_chain(&c)); /* and stands */
        check_chain(&c, deeper);
        assert_int_equal(reason_count(rig.device, STET_REASON_ADSTACK_OVERFLOW), 1);
        end(shown);
        close_chain(&c);
    }
}

static void a_stack_that_is_too_short_twice_is_an_error(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        chain c = open_chain(rig.device);
        tensor *shown = export_as(c.first, true, true, false);
        sti_bound two = {.kind = STI_BOUND_NUMBER, .number = 2}, *right = c.adjoint->sizing.bound[STI_DEPTH];
        c.adjoint->sizing.bound[STI_DEPTH] = &two; /* planted: less than the data says */
        set_all(c.x_grad, 0.5);
        assert_int_equal(launch_chain(&c), STET_ERROR_LIMIT);
        assert_non_null(strstr(stet_get_last_error(),
                               "kernel k_chain_adj: the stack of the loop at kernel:6 was too short: it had 2 slots"));
        for (int w = 0; w < WORLDS; ++w)
            for (int i = 0; i < N; ++i) assert_true(reals_get(c.x_grad, w, i) == 0.5 && reals_get(c.y_grad, w, i) == 1);
        c.adjoint->sizing.bound[STI_DEPTH] = right;
        stet_array_mark_written(c.first);
        set_gradients(&c);
        OK(launch_chain(&c));
        check_chain(&c, usual_first);
        end(shown);
        close_chain(&c);
    }
}

static float read_one(const chain *c, stet_result *result)
{
    float all[WORLDS * N];
    *result = stet_array_read(c->x_grad, all, sizeof all);
    return all[0];
}

/*
 * Nobody could write, and yet somebody did: no array of the device can be read before that was told, and the next
 * launch is right.
 */
static void kf31_a_wrong_gradient_is_never_read(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        stet_result result;
        chain c = open_chain(rig.device), other = open_chain(rig.device);
        OK(launch_chain(&c));
        OK(launch_chain(&other));
        (void)read_one(&c, &result);
        OK(result);
        set_gradients(&c);
        write_behind(c.first, deeper);
        OK(launch_chain(&c));
        OK(launch_chain(&other));
        (void)read_one(&c, &result);
        assert_int_equal(result, STET_ERROR_LIMIT);
        assert_non_null(strstr(
            stet_get_last_error(),
            "kernel k_chain_adj: the stack of the loop at kernel:6 was too short: it had 4 slots and needs 9 now"));
        set_gradients(&c);
        OK(launch_chain(&c));
        (void)read_one(&c, &result);
        OK(result);
        check_chain(&c, deeper);
        close_chain(&c);
        close_chain(&other);
    }
}

/* The kernel goes before anybody reads. */
static void what_a_kernel_had_to_tell_is_told_without_it(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        stet_result result;
        chain c = open_chain(rig.device);
        OK(launch_chain(&c));
        write_behind(c.first, deeper);
        OK(launch_chain(&c));
        stet_kernel_destroy(c.kernel);
        c.kernel = NULL;
        (void)read_one(&c, &result);
        assert_int_equal(result, STET_ERROR_LIMIT);
        assert_non_null(strstr(stet_get_last_error(), "kernel k_chain_adj: the stack of the loop at kernel:6"));
        (void)read_one(&c, &result);
        OK(result);
        close_chain(&c);
    }
}

static stet_result launch_listed(const chain *c)
{
    STI_TRY(stet_record_begin(c->first->device, "an adjoint, twice"));
    stet_result result = launch_chain(c);
    if (result == STET_OK) result = launch_chain(c);
    return stet_record_end(c->first->device, result);
}

/* A recording is replayed: its flags are as good as those of launches. */
static void replays_are_looked_at_too(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        stet_result result;
        chain c = open_chain(rig.device);
        for (int i = 0; i < 3; ++i) OK(launch_listed(&c));
        (void)read_one(&c, &result);
        OK(result);
        int64_t hits = row(rig.device, STET_MECHANISM_GRAPH_REPLAY).hits;
        write_behind(c.first, deeper);
        OK(launch_listed(&c));
        assert_int_equal(row(rig.device, STET_MECHANISM_GRAPH_REPLAY).hits, hits + 1);
        (void)read_one(&c, &result);
        assert_int_equal(result, STET_ERROR_LIMIT);
        OK(launch_listed(&c)); /* sized anew */
        (void)read_one(&c, &result);
        OK(result);
        close_chain(&c);
    }
}

/* ---- nobody asks the host ---- */

/* x -= rate * g in every item, and whether an x is not a number: an optimiser that lives on the device. */
static const char descent_source[] = "#include <stet/lang.h>\n"
                                     "world_kernel void k_descend(real *x, const real *g, ureal rate, int n) {\n"
                                     "    each (i, n) put(x, i, x[i] - splat(rate) * g[i]); }\n";
static const char items_source[] =
    "#include <stet/lang.h>\n"
    "item_kernel void k_items(const ureal *x, const int *first, ureal *y, int block) {\n"
    "    items (p, 5) { real s = load(x + p); for (int e = first[block]; e < first[block + 1]; ++e) s = s * s;\n"
    "        store(y + block * 5 + p, s); } }\n";

/* What the device has, past the host's checks. */
static bool all_are_nan(const stet_array *a)
{
    void *bytes = bytes_take(a);
    bool all = true;
    for (size_t k = 0; k < a->size / sizeof(float); ++k) all = all && isnan(((const float *)bytes)[k]);
    bytes_give(a, bytes, false);
    return all;
}

static stet_result descend(const chain *c, stet_kernel *descent, bool listed)
{
    const stet_arg args[] = {stet_arg_array(c->x), stet_arg_array(c->x_grad), stet_arg_real(1e-6), stet_arg_int(N)};
    if (listed) STI_TRY(stet_record_begin(c->x->device, "a step of descent"));
    stet_result result = launch_chain(c);
    if (result == STET_OK) result = stet_kernel_launch(descent, WORLDS, args, 4);
    return listed ? stet_record_end(c->x->device, result) : result;
}

/* Launch, or list, adjoint and descent, with no read in between: what was descended by is NaN, and stays. */
static void a_descent_on_the_device_cannot_take_a_wrong_gradient(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        if (stet_dtype_size(rig.device, STET_DTYPE_REAL) != sizeof(float)) continue;
        for (int listed = 0; listed < 2; ++listed) {
            stet_result result;
            chain c = open_chain(rig.device);
            stet_kernel *descent = kernel_from(rig.device, descent_source);
            for (int k = 0; k < 2; ++k) {
                set_gradients(&c);
                OK(descend(&c, descent, listed));
            }
            for (int w = 0; w < WORLDS; ++w)
                for (int i = 0; i < N; ++i) assert_true(reals_get(c.x, w, i) < 1 && reals_get(c.x, w, i) > 0.9);
            set_gradients(&c);
            write_behind(c.first, deeper);
            for (int k = 0; k < 2; ++k) OK(descend(&c, descent, listed));
            assert_true(all_are_nan(c.x_grad) && all_are_nan(c.y_grad) && all_are_nan(c.x));
            (void)read_one(&c, &result);
            assert_int_equal(result, STET_ERROR_LIMIT);
            set_all(c.x, 1);
            set_gradients(&c);
            OK(launch_chain(&c));
            check_chain(&c, deeper);
            stet_kernel_destroy(descent);
            close_chain(&c);
        }
    }
}

static void gradients_of_item_kernels_are_poisoned_as_a_whole(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        if (stet_dtype_size(rig.device, STET_DTYPE_REAL) != sizeof(float)) continue;
        enum { BLOCKS = 3, COLUMNS = 5 };
        const float ones[BLOCKS * COLUMNS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
        float gradient[COLUMNS];
        const int32_t begin[] = {0, 1, 3, 4}, longer[] = {0, 1, 3, 40, 0, 0};
        stet_array *x, *first, *y, *x_grad, *y_grad;
        stet_adjoint *adjoint;
        stet_kernel *kernel = kernel_from(rig.device, items_source);
        OK(STI_ARRAY(rig.device, "x", STET_DTYPE_REAL, false, &x, COLUMNS));
        OK(STI_ARRAY(rig.device, "x_grad", STET_DTYPE_REAL, false, &x_grad, COLUMNS));
        OK(STI_ARRAY(rig.device, "y", STET_DTYPE_REAL, false, &y, BLOCKS * COLUMNS));
        OK(STI_ARRAY(rig.device, "y_grad", STET_DTYPE_REAL, false, &y_grad, BLOCKS * COLUMNS));
        OK(STI_ARRAY(rig.device, "first", STET_DTYPE_INT, false, &first, N + 1));
        OK(stet_kernel_get_adjoint(kernel, &adjoint));
        const stet_arg args[] = {stet_arg_array(x), stet_arg_array(first), stet_arg_array(y)};
        stet_array *const gradients[] = {x_grad, NULL, y_grad};
        OK(stet_array_write(x, ones, COLUMNS * sizeof *ones));
        OK(stet_array_write(y_grad, ones, sizeof ones));
        OK(stet_array_write(first, (const int32_t[]){begin[0], begin[1], begin[2], begin[3], 0, 0}, 6 * sizeof *begin));
        OK(stet_adjoint_launch(adjoint, BLOCKS, args, gradients, 3));
        OK(stet_array_read(x_grad, gradient, sizeof gradient));
        for (int k = 0; k < COLUMNS; ++k) assert_true(gradient[k] == 2 + 4 + 2);
        write_behind(first, longer);
        OK(stet_adjoint_launch(adjoint, BLOCKS, args, gradients, 3));
        assert_true(all_are_nan(x_grad) && all_are_nan(y_grad));
        assert_int_equal(stet_array_read(x_grad, gradient, sizeof gradient), STET_ERROR_LIMIT);
        stet_array *const all[] = {x, first, y, x_grad, y_grad};
        for (int k = 0; k < 5; ++k) stet_array_destroy(all[k]);
        stet_kernel_destroy(kernel);
    }
}

/* What listed launches write and sizes need: the list runs first, and the size is right. */
static void a_list_that_writes_what_sizes_come_from_is_split(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        chain c = open_chain(rig.device);
        stet_kernel *writer = kernel_from(rig.device, "#include <stet/lang.h>\nitem_kernel void k_set(int *a, int i, "
                                                      "int value) { each (one, 1) a[i] = value; }\n");
        const int32_t longer[] = {0, 3, 3, 4, 8, 20};
        OK(launch_chain(&c));
        set_gradients(&c);
        const stet_arg args[] = {stet_arg_array(c.first), stet_arg_int(N), stet_arg_int(20)};
        OK(stet_record_begin(rig.device, "counts, then their adjoint"));
        OK(stet_kernel_launch(writer, 1, args, 3));
        stet_result result = launch_chain(&c);
        OK(stet_record_end(rig.device, result));
        check_chain(&c, longer);
        assert_int_equal(c.adjoint->last.size[STI_DEPTH], 12);
        stet_kernel_destroy(writer);
        close_chain(&c);
    }
}

/* The loop stands in a file that the kernel's file includes. */
static void the_file_is_the_one_that_has_the_loop(void **state)
{
    stet_result result;
    stet_device *d = open_device(STI_ISA_portable, 1);
    write_file("power.k.h",
               "LFN real power(real s, int n)\n{\n    for (int k = 0; k < n; ++k)\n        s = s * s;\n    return "
               "s;\n}\n");
    stet_kernel_def def = kernel_def(NULL);
    def.path =
        write_file("power_chain.k.h", "#include <stet/lang.h>\n#include \"power.k.h\"\n"
                                      "world_kernel void k_chain(const real *x, const int *first, real *y, int n)\n"
                                      "{\n    each (i, n) put(y, i, power(x[i], first[i + 1] - first[i]));\n}\n");
    chain c = open_chain_from(d, &def);
    OK(launch_chain(&c));
    check_chain(&c, usual_first);
    write_behind(c.first, deeper);
    OK(launch_chain(&c));
    (void)read_one(&c, &result);
    assert_int_equal(result, STET_ERROR_LIMIT);
    assert_non_null(strstr(stet_get_last_error(), "/power.k.h:3 was too short"));
    close_chain(&c);
    stet_device_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_is_done_again_where_others_can_write),
        cmocka_unit_test(a_stack_that_is_too_short_twice_is_an_error),
        cmocka_unit_test(kf31_a_wrong_gradient_is_never_read),
        cmocka_unit_test(what_a_kernel_had_to_tell_is_told_without_it),
        TEST(the_file_is_the_one_that_has_the_loop),
        cmocka_unit_test(a_descent_on_the_device_cannot_take_a_wrong_gradient),
        cmocka_unit_test(gradients_of_item_kernels_are_poisoned_as_a_whole),
        cmocka_unit_test(replays_are_looked_at_too),
        cmocka_unit_test(a_list_that_writes_what_sizes_come_from_is_split),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
