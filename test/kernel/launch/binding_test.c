/*
 * Bindings: launches that come again, and each way in which their arguments change. Run on each device
 * (stet_test_on_devices).
 */
#include "kernel/launch/bound.h"

/* ---- what stands ------------------------------------------------------------------------------------------------- */

static void the_same_arguments_launch_again_without_allocations(void **state)
{
    bench b;
    open_bench(&b);
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    int64_t before = stet_get_memory_stats().allocations;
    for (int i = 2; i <= 10; ++i) {
        OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
        assert_true(real_at(b.a[0], N - 1) == (float)i);
        assert_int_equal(stet_array_get_generation(b.a[0]), 1 + i);
    }
    assert_int_equal(stet_get_memory_stats().allocations, before);
    assert_int_equal(counters_of(b.device).launches, 10);
    close_bench(&b);
}

static void each_handle_has_its_own(void **state)
{
    bench b;
    open_bench(&b);
    for (int i = 0; i < 5; ++i) {
        OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
        OK(LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[1]), R(1)));
        assert_true(real_at(b.a[1], 0) == (float)(i + 1) / 2 + 1);
        assert_int_equal(stet_array_get_generation(b.a[0]), 2 + i);
        assert_int_equal(stet_array_get_generation(b.a[1]), 2 + i);
    }
    close_bench(&b);
}

/* What an argument's kind does not use, and padding, are nobody's business (also KF 14). */
static void kf14_bytes_that_mean_nothing_make_no_difference(void **state)
{
    bench b;
    stet_arg args[2];
    open_bench(&b);
    for (int i = 0; i < 4; ++i) {
        memset(args, 0x11 * i, sizeof args);
        args[0].kind = STET_ARG_ARRAY;
        args[0].array = b.a[0];
        args[1].kind = STET_ARG_REAL;
        args[1].f = 2;
        OK(stet_kernel_launch(b.own[ADD], N, args, 2));
    }
    assert_true(real_at(b.a[0], 0) == 8);
    close_bench(&b);
}

/* ---- what differs ------------------------------------------------------------------------------------------------ */

static void a_number_that_differs_is_bound_anew(void **state)
{
    bench b;
    uint64_t bits = 0x7ff8000000000123;
    double nan, other;
    memcpy(&nan, &bits, sizeof nan);
    ++bits;
    memcpy(&other, &bits, sizeof other);
    open_bench(&b);
    OK(LAUNCH(&b, SET, 1, A(b.c[0]), I(5)));
    OK(LAUNCH(&b, SET, 1, A(b.c[0]), I(6)));
    assert_int_equal(int_at(b.c[0], 0), 6);
    OK(LAUNCH(&b, SET, 1, A(b.c[0]), I(6)));
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(0.0)));
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(-0.0)));
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(nan)));
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(nan)));
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(other)));
    close_bench(&b);
}

static void an_array_that_differs_is_bound_anew_and_moves_instead(void **state)
{
    bench b;
    open_bench(&b);
    OK(LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[1]), R(1)));
    OK(LAUNCH(&b, MIX, N, A(b.a[0]), A(b.a[2]), R(1)));
    assert_true(real_at(b.a[2], 0) == 1);
    assert_int_equal(stet_array_get_generation(b.a[1]), 2); /* the one before does not move */
    assert_int_equal(stet_array_get_generation(b.a[2]), 2);
    OK(LAUNCH(&b, MIX, N, A(b.a[2]), A(b.a[2]), R(1)));
    assert_int_equal(stet_array_get_generation(b.a[2]), 3);
    OK(LAUNCH(&b, MIX, N, A(b.a[2]), A(b.a[2]), R(1)));
    assert_true(real_at(b.a[2], 0) == 1.75);
    close_bench(&b);
}

/* One block less: what lies behind it stays. */
static void another_count_binds_all_of_it(void **state)
{
    bench b;
    open_bench(&b);
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    OK(LAUNCH(&b, ADD, N - 1, A(b.a[0]), R(1)));
    assert_true(real_at(b.a[0], N - 2) == 2 && real_at(b.a[0], N - 1) == 1);
    OK(LAUNCH(&b, ADD, 0, A(b.a[0]), R(1))); /* no launch: nothing changes */
    OK(LAUNCH(&b, ADD, N - 1, A(b.a[0]), R(1)));
    FAILS(LAUNCH(&b, ADD, -1, A(b.a[0]), R(1)), STET_ERROR_INVALID_ARGUMENT, "launched over -1");
    close_bench(&b);
}

/* Counts of worlds are checked against the arrays: with another one each array is looked at again. */
static void worlds_are_checked_again_with_another_count(void **state)
{
    enum { MANY = 9, FEW = 5 };
    bench b;
    stet_array *x;
    open_bench(&b);
    OK(STI_ARRAY(b.device, "x", STET_DTYPE_REAL, true, &x, MANY, 2));
    stet_kernel_def def = stet_default_kernel_def();
    def.source =
        "#include <stet/lang.h>\nworld_kernel void k_up(real *x, int n) { each (i, n) put(x, i, x[i] + splat(1)); }\n";
    def.cache_folder = double_cache_folder();
    stet_kernel *up;
    OK(stet_kernel_create(b.device, &def, &up));
    const stet_arg args[] = {A(x), I(2)};
    OK(stet_kernel_launch(up, MANY, args, 2));
    FAILS(stet_kernel_launch(up, FEW, args, 2), STET_ERROR_INVALID_ARGUMENT, "array x has 9 worlds, the launch 5");
    OK(stet_kernel_launch(up, MANY, args, 2));
    OK(stet_kernel_launch(up, MANY, args, 2));
    stet_array_destroy(x);
    stet_kernel_destroy(up);
    close_bench(&b);
}

/* Absent is bound like anything else, and does not stand for an array that is there now, nor the other way round. */
static void an_absent_array_is_a_fact_like_any_other(void **state)
{
    bench b;
    open_bench(&b);
    stet_kernel_def def = stet_default_kernel_def();
    def.source = "#include <stet/lang.h>\n"
                 "item_kernel void k_maybe(ureal *y, ureal *more, int there, int block)\n"
                 "{\n"
                 "    each (i, 1) y[block + i] = y[block + i] + 1;\n"
                 "    if (there) each (i, 1) more[block + i] = 7;\n"
                 "}\n";
    def.cache_folder = double_cache_folder();
    stet_kernel *maybe;
    OK(stet_kernel_create(b.device, &def, &maybe));
    for (int i = 1; i <= 6; ++i) {
        bool there = i % 4 == 3;
        const stet_arg args[] = {A(b.a[0]), A(there ? b.a[1] : NULL), I(there)};
        OK(stet_kernel_launch(maybe, N, args, 3));
        assert_int_equal(stet_array_get_generation(b.a[1]), 1 + (i >= 3));
        assert_true(real_at(b.a[1], 0) == (i >= 3 ? 7 : 0));
    }
    stet_kernel_destroy(maybe);
    close_bench(&b);
}

static void what_is_refused_is_refused_with_anything_bound(void **state)
{
    bench b;
    open_bench(&b);
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    const struct {
        stet_arg args[3];
        int n;
        const char *sentence;
    } wrong[] = {{{A(b.a[0]), I(1)}, 2, "parameter h takes a real number, not an integer"},
                 {{R(1), R(1)}, 2, "parameter a takes an array, not a real number"},
                 {{A(b.c[0]), R(1)}, 2, "parameter a is ureal *, array c holds int"},
                 {{A(b.a[0])}, 1, "argument for parameter h is missing"},
                 {{A(b.a[0]), R(1), R(1)}, 3, "kernel k_add takes 2 arguments, not 3"},
                 {{A(b.a[0]), {.kind = (stet_arg_kind)9}}, 2, "argument 1 is of no kind"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        uint64_t generation = stet_array_get_generation(b.a[0]);
        FAILS(stet_kernel_launch(b.own[ADD], N, wrong[i].args, wrong[i].n), STET_ERROR_INVALID_ARGUMENT,
              wrong[i].sentence);
        assert_int_equal(counters_of(b.device).launches, 1 + 2 * (int)i);
        assert_int_equal(stet_array_get_generation(b.a[0]), generation);
        OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
        OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    }
    FAILS(stet_kernel_launch(b.own[ADD], N, NULL, 2), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_kernel_launch(b.own[ADD], N, NULL, -1), STET_ERROR_INVALID_ARGUMENT, "takes 2 arguments, not -1");
    close_bench(&b);
}

/* ---- arrays that go and come ------------------------------------------------------------------------------------- */

/* An array at the very address of one that is gone, with as many writes: another one, of which nothing is known. */
static void kf22_a_recycled_address_is_another_array(void **state)
{
    bench b;
    int found = 0;
    open_bench(&b);
    for (int i = 0; i < 50; ++i) {
        const void *was = b.a[0];
        OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
        stet_array_destroy(b.a[0]);
        b.a[0] = new_reals(b.device);
        OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
        assert_true(real_at(b.a[0], 0) == 1);
        assert_int_equal(stet_array_get_generation(b.a[0]), 2);
        found += b.a[0] == was;
    }
    print_message("%d of 50 arrays lay where another had been\n", found);
    b.a[0]->version = sti_version_new(); /* whatever the allocator does */
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    close_bench(&b);
}

/*
 * The other array is of another shape and type: what was found right about the one before is not believed of it (KF
 * 23).
 */
static void kf23_the_type_of_a_recycled_array_is_checked(void **state)
{
    bench b;
    open_bench(&b);
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    b.a[0]->version = sti_version_new();
    b.a[0]->dtype = STET_DTYPE_INT;
    FAILS(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)), STET_ERROR_INVALID_ARGUMENT, "array a holds int");
    b.a[0]->dtype = STET_DTYPE_REAL;
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    assert_true(real_at(b.a[0], 0) == 2);
    close_bench(&b);
}

static void memory_that_moved_is_followed(void **state)
{
    bench b;
    open_bench(&b);
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    void *data = b.a[0]->data;
    b.a[0]->data = b.a[1]->data;
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    assert_true(real_at(b.a[1], 0) == 1);
    b.a[0]->data = data;
    OK(LAUNCH(&b, ADD, N, A(b.a[0]), R(1)));
    assert_true(real_at(b.a[0], 0) == 2);
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_arguments_launch_again_without_allocations),
        cmocka_unit_test(each_handle_has_its_own),
        cmocka_unit_test(kf14_bytes_that_mean_nothing_make_no_difference),
        cmocka_unit_test(a_number_that_differs_is_bound_anew),
        cmocka_unit_test(an_array_that_differs_is_bound_anew_and_moves_instead),
        cmocka_unit_test(another_count_binds_all_of_it),
        cmocka_unit_test(worlds_are_checked_again_with_another_count),
        cmocka_unit_test(an_absent_array_is_a_fact_like_any_other),
        cmocka_unit_test(what_is_refused_is_refused_with_anything_bound),
        cmocka_unit_test(kf22_a_recycled_address_is_another_array),
        cmocka_unit_test(kf23_the_type_of_a_recycled_array_is_checked),
        cmocka_unit_test(memory_that_moved_is_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
