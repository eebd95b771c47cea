/*
 * What is known of sizes: a launch in which nothing moved asks for nothing; a change asks for exactly what depends on
 * it. Counters say so.
 */
#include "adjoint/sizing/stack_two.h"

#include "device/tensor.h"

/* One launch works out all that is not known; later ones, nothing. */
static void kf32_a_launch_in_which_nothing_moved_asks_for_nothing(void **state)
{
    FOR_DEVICES(rig)
    {
        two t = open_two(rig.device, two_source);
        did was = counted(rig.device);
        OK(launch_two(&t));
        EXPECT(0, 2, 1, 0, 1);
        for (int i = 0; i < 5; ++i) {
            int64_t copied = rig.device->mechanisms.counters.bytes_copied;
            int64_t launches = rig.device->mechanisms.counters.launches;
            OK(launch_two(&t));
            EXPECT(0, 0, 0, 1, 0);
            assert_int_equal(rig.device->mechanisms.counters.bytes_copied, copied);
            /* the adjoint, and one launch for each of its two gradients, which a flag would make NaN */
            assert_int_equal(rig.device->mechanisms.counters.launches, launches + 3);
        }
        set_all(t.x, 2); /* no size depends on it */
        OK(launch_two(&t));
        EXPECT(0, 0, 0, 1, 0);
        close_two(&t);
    }
}

/* REDUCE-2, REDUCE-4: two loops with the same bounds ask for one maximum, which is worked out and stored once. */
static void loops_with_equal_bounds_share_a_maximum(void **state)
{
    static const char source[] = "#include <stet/lang.h>\n"
                                 "world_kernel void k_two(const real *x, const int *a, const int *b, real *y, int n)\n"
                                 "{\n"
                                 "    each (i, n) {\n"
                                 "        real s = x[i];\n"
                                 "        for (int e = 0; e < a[i] + b[0]; ++e) s = s * s;\n"
                                 "        for (int e = 0; e < a[i] + b[0]; ++e) s = s * x[i];\n"
                                 "        put(y, i, s);\n"
                                 "    }\n"
                                 "}\n";
    FOR_RUNNING_DEVICES(rig)
    {
        two t = open_two(rig.device, source);
        did was = counted(rig.device);
        assert_int_equal(t.adjoint->sizing.reducing.nreduction, 1);
        OK(launch_two(&t));
        EXPECT(0, 1, 1, 0, 1);
        assert_int_equal(t.adjoint->stacks->known.n, 1);
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 4);
        stet_array_mark_written(t.a);
        OK(launch_two(&t));
        EXPECT(0, 1, 1, 0, 1);
        assert_int_equal(t.adjoint->stacks->known.n, 1);
        close_two(&t);
    }
}

/* By the host, by an announcement, by a kernel. */
static void a_change_asks_for_exactly_what_depends_on_it(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        two t = open_two(rig.device, two_source);
        stet_kernel *writer = kernel_from(rig.device, "#include <stet/lang.h>\nitem_kernel void k_set(int *a, int i, "
                                                      "int value) { each (one, 1) a[i] = value; }\n");
        OK(launch_two(&t));
        did was = counted(rig.device);
        int32_t other[N];
        memcpy(other, usual_counts, sizeof usual_counts);
        other[3] = 7;
        OK(stet_array_write(t.b, other, sizeof other));
        OK(launch_two(&t));
        EXPECT(1, 1, 1, 0, 1);
        assert_int_equal(reason_count(rig.device, STET_REASON_ADSTACK_MOVED), 1);
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 7);
        stet_array_mark_written(t.a);
        OK(launch_two(&t));
        EXPECT(1, 1, 1, 0, 1);
        const stet_arg args[] = {stet_arg_array(t.a), stet_arg_int(1), stet_arg_int(9)};
        OK(stet_kernel_launch(writer, 1, args, 3));
        OK(launch_two(&t));
        EXPECT(1, 1, 1, 0, 1);
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 9);
        OK(launch_two(&t));
        EXPECT(0, 0, 0, 1, 0);
        OK(launch_with(&t, t.a, t.b, N - 1)); /* another number */
        EXPECT(0, 2, 1, 0, 1);
        OK(launch_two(&t)); /* both are remembered */
        EXPECT(0, 0, 0, 1, 0);
        stet_kernel_destroy(writer);
        close_two(&t);
    }
}

/* An address that comes again, with as many writes, is another array. */
static void kf22_an_address_that_comes_again_is_another_array(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        static const int32_t fives[N] = {5, 5, 5, 5, 5};
        two t = open_two(rig.device, two_source);
        OK(launch_two(&t));
        did was = counted(rig.device);
        uint64_t generation = t.b->version.generation;
        void *address = t.b->data;
        stet_array_destroy(t.b);
        OK(STI_ARRAY(rig.device, "b", STET_DTYPE_INT, false, &t.b, N));
        OK(stet_array_write(t.b, fives, sizeof fives));
        if (t.b->data == address) print_message("the same address\n");
        t.b->version.generation = generation; /* as often written as its former owner */
        OK(launch_two(&t));
        EXPECT(1, 1, 1, 0, 1);
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 5);
        close_two(&t);
    }
}

/* A size that differs is another input; nothing is a fact, too. */
static void kf23_what_a_maximum_was_taken_over_is_complete(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        static const int32_t more[] = {5, 5, 5, 5, 5, 9};
        two t = open_two(rig.device, two_source);
        OK(stet_array_write(t.b, more, N * sizeof *more));
        OK(launch_two(&t));
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 5);
        did was = counted(rig.device);
        stet_array *larger; /* the same but for its size */
        OK(STI_ARRAY(rig.device, "larger", STET_DTYPE_INT, false, &larger, N + 1));
        OK(stet_array_write(larger, more, sizeof more));
        larger->version = t.b->version;
        OK(launch_with(&t, t.a, larger, N + 1 - 1));
        EXPECT(1, 1, 1, 0, 1);
        for (int i = 0; i < 3; ++i) { /* absent: the failure is known, too */
            assert_int_equal(launch_with(&t, t.a, NULL, N), STET_ERROR_INVALID_ARGUMENT);
            assert_non_null(strstr(stet_get_last_error(), "needs element 0 of b, which it does not have"));
            if (i == 0)
                EXPECT(1, 1, 1, 0, 0);
            else
                EXPECT(2, 0, 0, 0, 0);
        }
        OK(launch_two(&t));
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 5);
        stet_array_destroy(larger);
        close_two(&t);
    }
}

/* That something is wrong with the data is known as long as the data stands, and no longer. */
static void a_failure_goes_with_what_it_came_from(void **state)
{
    static const char deep_source[] =
        "#include <stet/lang.h>\n"
        "world_kernel void k_deep(const real *x, const int *a, const int *b, real *y, int n)\n"
        "{\n    each (i, n) { real s = x[i]; for (int e = 0; e < a[b[i]]; ++e) s = s * s; put(y, i, s); }\n}\n";
    static const int32_t beyond[N] = {0, 1, N, 3, 4}, within[N] = {0, 1, 2, 3, 4};
    FOR_RUNNING_DEVICES(rig)
    {
        two t = open_two(rig.device, deep_source);
        OK(stet_array_write(t.b, beyond, sizeof beyond));
        did was = counted(rig.device);
        for (int i = 0; i < 3; ++i) {
            assert_int_equal(launch_two(&t), STET_ERROR_INVALID_ARGUMENT);
            assert_non_null(strstr(stet_get_last_error(), "needs element 5 of a, which it does not have"));
            EXPECT(i > 0, i == 0, i == 0, 0, 0);
        }
        OK(stet_array_write(t.b, within, sizeof within));
        OK(launch_two(&t));
        EXPECT(0, 1, 1, 0, 1);
        assert_int_equal(t.adjoint->last.size[STI_DEPTH], 3);
        OK(stet_array_write(t.b, beyond, sizeof beyond));
        assert_int_equal(launch_two(&t), STET_ERROR_INVALID_ARGUMENT);
        close_two(&t);
    }
}

/* Two kernels with the same loop over the same array: what one found, the other knows. */
static void kernels_share_what_is_known(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        static const char other_source[] =
            "#include <stet/lang.h>\n"
            "world_kernel void k_other(const real *x, const int *a, const int *b, real *y, int n)\n"
            "{\n    each (i, n) { real s = x[i]; for (int e = 0; e < a[i]; ++e) s = cos(s * x[i] * splat(b[0])); "
            "put(y, "
            "i, s); }\n}\n";
        two t = open_two(rig.device, two_source), other = open_two(rig.device, other_source);
        OK(launch_two(&t));
        did was = counted(rig.device);
        OK(launch_with(&other, t.a, t.b, N));
        EXPECT(1, 0, 0, 0, 1);
        assert_ptr_equal(t.adjoint->stacks, other.adjoint->stacks);
        assert_int_equal(t.adjoint->stacks->known.n, 2);
        close_two(&t);
        close_two(&other);
    }
}

/* Switched off, or one of two; the gradients are the same. */
static void switches_change_no_bit(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        static const uint32_t off[] = {0, 1u << STET_MECHANISM_ADSTACK_HANDLE,
                                       1u << STET_MECHANISM_ADSTACK_HANDLE | 1u << STET_MECHANISM_ADSTACK};
        two t = open_two(rig.device, two_source);
        uint64_t wanted = 0, hash;
        for (int k = 0; k < 3; ++k) {
            stet_mechanism_options options = {.disabled = off[k], .audit = k == 0};
            OK(stet_device_set_mechanisms(rig.device, &options));
            set_all(t.x, 0.9);
            OK(launch_two(&t));
            did was = counted(rig.device);
            set_all(t.x_grad, 0);
            set_all(t.y_grad, 1);
            OK(launch_two(&t));
            if (k == 1) EXPECT(2, 0, 0, 0, 1);
            if (k == 2) EXPECT(0, 2, 1, 0, 1);
            OK(stet_array_hash(t.x_grad, &hash));
            if (k == 0) wanted = hash;
            assert_true(hash == wanted);
        }
        close_two(&t);
    }
}

/* Something wrote the array behind stet's back: the audit finds it, before any stack is too short. */
static void an_audit_finds_what_nobody_announced(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 2);
    two t = open_two(d, two_source);
    stet_mechanism_options options = {.audit = true};
    OK(stet_device_set_mechanisms(d, &options));
    OK(launch_two(&t));
    OK(launch_two(&t));
    ((int32_t *)t.b->data)[2] = 8;
    assert_int_equal(launch_two(&t), STET_ERROR_AUDIT);
    assert_non_null(strstr(stet_get_last_error(), "adstack: kernel k_two: a maximum stood at 3 and is 8"));
    close_two(&t);
    stet_device_destroy(d);
}

/* A tensor through which others may write at any time: each launch asks again. */
static void kf24_an_exported_array_never_stands(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 2);
    struct {
        stet_device *device;
    } rig = {d};
    two t = open_two(d, two_source);
    OK(launch_two(&t));
    tensor *shown = export_as(t.b, true, false, false);
    did was = counted(d);
    ((int32_t *)shown->dl_tensor.data)[0] = 12;
    OK(launch_two(&t));
    EXPECT(1, 1, 1, 0, 1);
    assert_int_equal(t.adjoint->last.size[STI_DEPTH], 12);
    ((int32_t *)shown->dl_tensor.data)[0] = 2;
    OK(launch_two(&t));
    EXPECT(1, 1, 1, 0, 1);
    assert_int_equal(reason_count(d, STET_REASON_ADSTACK_EXPORTED), 2);
    end(shown);
    close_two(&t);
    stet_device_destroy(d);
}

/* More stamps than fit in a stamp's own words: a hit still allocates nothing. */
static void kf32_a_hit_allocates_nothing(void **state)
{
    stet_device *d = open_device(STI_ISA_portable, 1);
    two t = open_two(d, two_source);
    OK(launch_two(&t));
    OK(launch_two(&t));
    int64_t before = stet_get_memory_stats().allocations;
    for (int i = 0; i < 10; ++i) OK(launch_two(&t));
    assert_int_equal(stet_get_memory_stats().allocations, before);
    close_two(&t);
    stet_device_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf32_a_launch_in_which_nothing_moved_asks_for_nothing),
        cmocka_unit_test(loops_with_equal_bounds_share_a_maximum),
        cmocka_unit_test(a_change_asks_for_exactly_what_depends_on_it),
        cmocka_unit_test(kf22_an_address_that_comes_again_is_another_array),
        cmocka_unit_test(kf23_what_a_maximum_was_taken_over_is_complete),
        cmocka_unit_test(a_failure_goes_with_what_it_came_from),
        cmocka_unit_test(kernels_share_what_is_known),
        cmocka_unit_test(switches_change_no_bit),
        TEST(an_audit_finds_what_nobody_announced),
        TEST(kf24_an_exported_array_never_stands),
        TEST(kf32_a_hit_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
