/*
 * Tapes by hand: what gradients go where, what is refused and in which words, and that a tape is usable after it.
 */
#include "device/devices.h"

#include "adjoint/tape/tape_small.h"

#include "kernel/record/record.h"

#include <math.h>
#include <pthread.h>

extern const sti_kernel sti_k_mass_weight;

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* y = 2 t x, z = y, z = z * z. */
static stet_result chain(const small *s)
{
    STI_TRY(scale(s, s->x, 2, s->y));
    STI_TRY(stet_array_copy(s->z, s->y));
    return square(s, s->z);
}

static void check_chain(const small *s)
{
    stet_array *a, *x = gradient_of(s, s->x), *t = gradient_of(s, s->t);
    OK(stet_tape_get_number_gradient(s->tape, s->kernel[SCALE], "a", &a));
    assert_int_equal(stet_array_get_shape(t)[0], FEW);
    assert_int_equal(stet_array_get_shape(t)[1], ITEMS);
    for (int w = 0; w < FEW; ++w) {
        double sum = 0;
        for (int i = 0; i < ITEMS; ++i) {
            double v = 1 + w + 0.5 * i, y = 2 * (i + 1) * v;
            assert_true(get(x, w, i) == 2 * y * 2 * (i + 1));
            assert_true(get(t, w, i) == 2 * y * 2 * v);
            assert_true(get(s->z, w, i) == y * y);
            assert_true(get(gradient_of(s, s->y), w, i) == 0);
            assert_true(get(gradient_of(s, s->z), w, i) == 0);
            sum += 2 * y * (i + 1) * v;
        }
        assert_true(get(a, w, 0) == sum);
    }
}

static void gradients_go_through_launches_and_copies(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        small s = open_small(rig.device, 0);
        for (int recorded = 0; recorded < 2; ++recorded) {
            OK(stet_tape_begin(s.tape));
            if (recorded) OK(stet_record_begin(s.device, "a chain"));
            stet_result result = chain(&s);
            OK(stet_tape_end(s.tape, recorded ? stet_record_end(s.device, result) : result));
            for (int pass = 0; pass < 3; ++pass) {
                seed_ones(&s, s.z);
                OK(stet_tape_backward(s.tape));
                check_chain(&s);
            }
        }
        close_small(&s);
    }
}

static void an_array_may_be_read_in_two_places(void **state)
{
    FOR_SMALL(s, 0)
    {
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, product(&s, s.x, s.x, s.y)));
        for (int pass = 0; pass < 3; ++pass) {
            seed_ones(&s, s.y);
            OK(stet_tape_backward(s.tape));
            for (int w = 0; w < FEW; ++w)
                for (int i = 0; i < ITEMS; ++i) assert_true(get(gradient_of(&s, s.x), w, i) == 2 * (1 + w + 0.5 * i));
        }
    }
}

/* What a launch leaves as it is passes its gradient on. */
static void what_is_not_written_keeps_its_gradient(void **state)
{
    FOR_SMALL(s, 0)
    {
        OK(stet_tape_begin(s.tape));
        OK(stet_array_copy(s.z, s.x));
        OK(stet_tape_end(s.tape, half(&s, s.x, s.z)));
        seed_ones(&s, s.z);
        OK(stet_tape_backward(s.tape));
        for (int w = 0; w < FEW; ++w)
            for (int i = 0; i < ITEMS; ++i)
                assert_true(get(gradient_of(&s, s.x), w, i) == (i < ITEMS / 2 ? 1 : 0) + (i % 2 == 1 ? 1 : 0));
    }
}

/* Whole numbers that launches write are as they were then, wherever checkpoints lie. */
static void whole_numbers_are_put_back(void **state)
{
    for (int every = 0; every < 5; ++every) {
        FOR_SMALL(s, every)
        {
            stet_result result = STET_OK;
            OK(stet_tape_begin(s.tape));
            for (int k = 0; k < 7 && result == STET_OK; ++k) {
                result = stet_tape_step(s.tape);
                if (result == STET_OK) result = pick(&s);
                if (result == STET_OK) result = next(&s);
            }
            OK(stet_tape_end(s.tape, result));
            OK(stet_tape_zero(s.tape));
            void *mirror;
            stet_array *y = gradient_of(&s, s.y);
            OK(sti_array_mirror_write(y, &mirror));
            for (int w = 0; w < FEW; ++w)
                sti_mirror_set(y, mirror, w, 0, 1); /* y[0] is the sum of 0 and 4, at steps 0 and 4 */
            sti_array_mirror_written(y);
            OK(stet_tape_backward(s.tape));
            for (int w = 0; w < FEW; ++w) {
                assert_true(get(gradient_of(&s, s.x), w, 0) == 4.0 * (1 + w));
                for (int i = 1; i < ITEMS; ++i) assert_true(get(gradient_of(&s, s.x), w, i) == 0);
            }
            int32_t count[2];
            OK(stet_array_read(s.count, count, sizeof count));
            assert_int_equal(count[0], 7);
        }
    }
}

/* y[0] is written, and read, at count 0 … 4: stacks of each step have their own size, and count is from then. */
static void stacks_follow_what_launches_write(void **state)
{
    for (int every = 0; every < 6; every += 5) {
        FOR_SMALL(s, every)
        {
            stet_result result = STET_OK;
            OK(stet_tape_begin(s.tape));
            for (int k = 0; k < 5 && result == STET_OK; ++k) {
                result = stet_tape_step(s.tape);
                if (result == STET_OK) result = power(&s);
                if (result == STET_OK) result = next(&s);
            }
            OK(stet_tape_end(s.tape, result));
            for (int pass = 0; pass < 3; ++pass) {
                seed_ones(&s, s.y);
                OK(stet_tape_backward(s.tape));
                assert_true(get(gradient_of(&s, s.x), 0, 0) == 1 + 2 + 4 + 8 + 16); /* x is 1 */
                double wanted = 0;
                for (int k = 0; k < 5; ++k) wanted += ldexp(1, k) * pow(2, (1 << k) - 1); /* 2 */
                assert_true(get(gradient_of(&s, s.x), 1, 0) == wanted);
            }
        }
    }
}

/* Plain arrays of item kernels have plain gradients, also through copies. */
static void item_kernels_have_plain_gradients(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        small s = open_small(rig.device, 0);
        stet_array *u, *v, *a;
        float ones[ITEMS] = {1, 1, 1, 1};
        OK(STI_ARRAY(s.device, "u", STET_DTYPE_REAL, false, &u, ITEMS));
        OK(STI_ARRAY(s.device, "v", STET_DTYPE_REAL, false, &v, ITEMS));
        OK(stet_tape_begin(s.tape));
        OK(plain(&s, u));
        OK(stet_tape_end(s.tape, stet_array_copy(v, u)));
        for (int pass = 0; pass < 3; ++pass) {
            OK(stet_tape_zero(s.tape));
            OK(stet_array_write(gradient_of(&s, v), ones, sizeof ones));
            OK(stet_tape_backward(s.tape));
            for (int i = 0; i < ITEMS; ++i) {
                assert_true(get(gradient_of(&s, s.t), 0, i) == 6.0 * (i + 1));
                assert_true(get(gradient_of(&s, v), 0, i) == 0);
            }
            OK(stet_tape_get_number_gradient(s.tape, s.kernel[PLAIN], "a", &a));
            assert_true(get(a, 0, 0) == 1 + 4 + 9 + 16);
        }
        OK(stet_tape_begin(s.tape)); /* t has a plain gradient, and another kernel wants shares of it */
        OK(scale(&s, s.x, 1, s.y));
        FAILS(stet_tape_end(s.tape, plain(&s, u)), STET_ERROR_UNSUPPORTED,
              "array t is read by a world kernel and by an item");
        stet_array_destroy(u);
        stet_array_destroy(v);
        close_small(&s);
    }
}

/* A device that runs nothing takes down and goes back all the same. */
static void a_null_device_has_tapes(void **state)
{
    FOR_DEVICES(rig)
    {
        if (rig.runs) continue;
        small s = open_small(rig.device, 1);
        OK(stet_tape_begin(s.tape));
        for (int k = 0; k < 3; ++k) {
            OK(stet_tape_step(s.tape));
            OK(chain(&s));
        }
        OK(stet_tape_end(s.tape, STET_OK));
        seed_ones(&s, s.z);
        OK(stet_tape_backward(s.tape));
        assert_int_equal(stet_tape_get_info(s.tape).checkpoints, 3);
        close_small(&s);
    }
}

static void a_strict_device_has_nothing_to_object(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        small s = open_small(rig.device, 1);
        stet_mechanism_options options = rig.device->mechanisms.options;
        options.strict = true;
        OK(stet_device_set_mechanisms(rig.device, &options));
        OK(stet_tape_begin(s.tape));
        for (int k = 0; k < 3; ++k) {
            OK(stet_tape_step(s.tape));
            OK(stet_record_begin(s.device, "a chain"));
            OK(stet_record_end(s.device, chain(&s)));
        }
        OK(stet_tape_end(s.tape, STET_OK));
        for (int pass = 0; pass < 3; ++pass) {
            seed_ones(&s, s.z);
            OK(stet_tape_backward(s.tape));
            check_chain(&s);
        }
        close_small(&s);
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

/* A tape of `launches` cannot be ended; afterwards the same tape works. */
static void refused(stet_result (*launches)(const small *s), stet_result result, const char *part)
{
    FOR_SMALL(s, 0)
    {
        OK(stet_tape_begin(s.tape));
        OK(launches(&s));
        FAILS(stet_tape_end(s.tape, STET_OK), result, part);
        assert_int_equal(stet_tape_get_info(s.tape).launches, 0);
        FAILS(stet_tape_backward(s.tape), STET_ERROR_STATE, "nothing is on the tape");
        fill_small(&s);
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, chain(&s)));
        seed_ones(&s, s.z);
        OK(stet_tape_backward(s.tape));
        check_chain(&s);
    }
}

static stet_result one_array_twice(const small *s) { return product(s, s->x, s->y, s->y); }
static stet_result a_copy_to_itself(const small *s) { return stet_array_copy(s->x, s->x); }
static stet_result a_write_between(const small *s)
{
    STI_TRY(chain(s));
    fill_small(s);
    return chain(s);
}
static stet_result a_write_between_lists(const small *s)
{
    STI_TRY(stet_record_begin(s->device, "first"));
    STI_TRY(stet_record_end(s->device, chain(s)));
    fill_small(s);
    STI_TRY(stet_record_begin(s->device, "second"));
    return stet_record_end(s->device, chain(s));
}
static stet_result a_write_in_a_list(const small *s)
{
    STI_TRY(stet_record_begin(s->device, "first"));
    STI_TRY(chain(s));
    fill_small(s);
    return stet_record_end(s->device, chain(s));
}
static stet_result a_kernel_without_adjoint(const small *s)
{
    STI_TRY(bits(s, s->x, s->y));
    return square(s, s->y);
}
static stet_result a_loop(const small *s)
{
    STI_TRY(stet_record_begin(s->device, "a loop"));
    STI_TRY(stet_record_while(s->device, s->count, 3));
    STI_TRY(square(s, s->x));
    STI_TRY(stet_record_while_end(s->device));
    return stet_record_end(s->device, STET_OK);
}
static stet_result do_nothing(void *context, void *stream)
{
    (void)context;
    (void)stream;
    return STET_OK;
}
static stet_result work_of_others(const small *s)
{
    const stet_use use = {s->y, true};
    STI_TRY(chain(s));
    STI_TRY(stet_record_foreign(s->device, "others' solver", do_nothing, NULL, &use, 1));
    return square(s, s->y);
}
static stet_result a_launch_of_the_library(const small *s)
{
    STI_TRY(STI_LAUNCH(sti_k_mass_weight, s->device, FEW, sti_arg_array(s->y), sti_arg_real(1), sti_arg_int(1)));
    return square(s, s->y);
}
/* Somebody forgets that a list failed. */
static stet_result a_list_that_is_lost(const small *s)
{
    STI_TRY(stet_record_begin(s->device, "a lost list"));
    STI_TRY(chain(s));
    assert_int_equal(stet_record_end(s->device, STET_ERROR_IO), STET_ERROR_IO);
    return STET_OK;
}
static stet_result one_kernel_over_other_worlds(const small *s)
{
    stet_array *a, *b;
    STI_TRY(STI_ARRAY(s->device, "a", STET_DTYPE_REAL, true, &a, FEW + 1, ITEMS));
    STI_TRY(STI_ARRAY(s->device, "b", STET_DTYPE_REAL, true, &b, FEW + 1, ITEMS));
    const stet_arg args[] = {stet_arg_array(a), stet_arg_array(s->t), stet_arg_real(1), stet_arg_array(b),
                             stet_arg_int(ITEMS)};
    STI_TRY(scale(s, s->x, 1, s->y));
    stet_result result = stet_kernel_launch(s->kernel[SCALE], FEW + 1, args, 5);
    stet_array_destroy(a);
    stet_array_destroy(b);
    return result;
}

static void what_cannot_be_gone_through_is_refused(void **state)
{
    refused(one_array_twice, STET_ERROR_UNSUPPORTED, "has array y both as z and as y");
    refused(a_copy_to_itself, STET_ERROR_UNSUPPORTED, "array x is copied to itself");
    refused(a_write_between, STET_ERROR_STATE, "array x was written between two launches");
    refused(a_write_between_lists, STET_ERROR_STATE, "array x was written between two launches");
    refused(a_write_in_a_list, STET_ERROR_STATE, "array x was written between two launches");
    refused(a_kernel_without_adjoint, STET_ERROR_UNSUPPORTED,
            "k_square reads array y, which a kernel without an adjoint");
    refused(a_loop, STET_ERROR_UNSUPPORTED, "a loop of launches");
    refused(work_of_others, STET_ERROR_UNSUPPORTED, "array y, which was written by others' solver");
    refused(a_launch_of_the_library, STET_ERROR_UNSUPPORTED, "array y, which was written by k_mass_weight");
    refused(a_list_that_is_lost, STET_ERROR_STATE, "a lost list failed or was left out");
    refused(one_kernel_over_other_worlds, STET_ERROR_UNSUPPORTED, "array t is read over 5 worlds and over 6");
}

/* What has no adjoint and is read by nobody does no harm, unless its gradient is asked for. */
static void a_kernel_without_adjoint_may_be_last(void **state)
{
    FOR_SMALL(s, 0)
    {
        OK(stet_tape_begin(s.tape));
        OK(square(&s, s.x));
        OK(stet_tape_end(s.tape, bits(&s, s.x, s.y)));
        seed_ones(&s, s.x);
        OK(stet_tape_backward(s.tape));
        assert_true(get(gradient_of(&s, s.x), 1, 0) == 2 * 2.0);
        (void)gradient_of(&s, s.y);
        FAILS(stet_tape_backward(s.tape), STET_ERROR_UNSUPPORTED, "k_bits");
    }
}

static void a_backward_pass_needs_what_it_reads(void **state)
{
    FOR_SMALL(s, 0)
    {
        stet_array *more;
        OK(STI_ARRAY(s.device, "more", STET_DTYPE_REAL, true, &more, FEW, ITEMS));
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, chain(&s)));
        fill_small(&s);
        FAILS(stet_tape_backward(s.tape), STET_ERROR_STATE, "was written since the tape ended");
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, scale(&s, more, 1, s.y)));
        stet_array_destroy(more);
        FAILS(stet_tape_backward(s.tape), STET_ERROR_STATE, "array more was destroyed");
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, square(&s, s.y)));
        stet_kernel_destroy(s.kernel[SQUARE]);
        s.kernel[SQUARE] = NULL;
        FAILS(stet_tape_backward(s.tape), STET_ERROR_STATE, "kernel k_square was destroyed");
    }
}

/* What the launches wrote may be written again: it comes from the checkpoints, and is as it was afterwards. */
static void what_was_written_may_be_written_again(void **state)
{
    FOR_SMALL(s, 0)
    {
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, chain(&s)));
        seed_ones(&s, s.z);
        write_reals(s.y, value_of_x);
        OK(stet_tape_backward(s.tape));
        check_chain(&s);
        assert_true(get(s.y, 2, 1) == value_of_x(2, 1));
    }
}

static void calls_in_the_wrong_place_are_refused(void **state)
{
    FOR_SMALL(s, 0)
    {
        stet_tape_def def = stet_default_tape_def();
        stet_tape *other;
        stet_array *out;
        FAILS(stet_tape_step(s.tape), STET_ERROR_STATE, "was not begun");
        FAILS(stet_tape_end(s.tape, STET_OK), STET_ERROR_STATE, "was not begun");
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, STET_OK));
        FAILS(stet_tape_backward(s.tape), STET_ERROR_STATE, "nothing is on the tape");
        OK(stet_tape_create(s.device, &def, &other));
        OK(stet_tape_begin(s.tape));
        FAILS(stet_tape_begin(s.tape), STET_ERROR_STATE, "this tape is open");
        FAILS(stet_tape_begin(other), STET_ERROR_STATE, "another tape of this device is open");
        FAILS(stet_tape_backward(other), STET_ERROR_STATE, "a tape of this device is open");
        OK(stet_record_begin(s.device, "a list"));
        FAILS(stet_tape_step(s.tape), STET_ERROR_STATE, "stet_tape_step");
        OK(stet_record_end(s.device, chain(&s)));
        assert_int_equal(stet_tape_end(s.tape, STET_ERROR_IO), STET_ERROR_IO);
        FAILS(stet_tape_get_gradient(s.tape, s.count, &out), STET_ERROR_INVALID_ARGUMENT, "array count holds int");
        FAILS(stet_tape_get_gradient(s.tape, s.t, &out), STET_ERROR_STATE, "after stet_tape_end");
        FAILS(stet_tape_get_number_gradient(s.tape, s.kernel[SCALE], "a", &out), STET_ERROR_STATE,
              "k_scale is not on it");
        OK(stet_tape_begin(other));
        OK(stet_tape_end(other, chain(&s)));
        FAILS(stet_tape_get_number_gradient(other, s.kernel[SCALE], "b", &out), STET_ERROR_NOT_FOUND,
              "no real number b");
        FAILS(stet_tape_get_number_gradient(other, s.kernel[SCALE], "n", &out), STET_ERROR_NOT_FOUND,
              "no real number n");
        stet_tape_destroy(other);
        def.every = -1;
        FAILS(stet_tape_create(s.device, &def, &other), STET_ERROR_INVALID_ARGUMENT, "every -1 steps");
        assert_null(other);
        def.cookie = 0;
        FAILS(stet_tape_create(s.device, &def, &other), STET_ERROR_INVALID_ARGUMENT, "not initialised");
    }
}

/* ---- several ----------------------------------------------------------------------------------------------------- */

/* One tape again and again: its memory stays. */
static void a_tape_is_used_again(void **state)
{
    FOR_SMALL(s, 0)
    {
        int64_t allocations = 0;
        for (int k = 0; k < 5; ++k) {
            if (k == 4) allocations = stet_get_memory_stats().allocations;
            OK(stet_tape_begin(s.tape));
            OK(stet_tape_step(s.tape));
            OK(chain(&s));
            OK(stet_tape_step(s.tape));
            OK(stet_tape_end(s.tape, chain(&s)));
            seed_ones(&s, s.z);
            OK(stet_tape_backward(s.tape));
            check_chain(&s);
        }
        assert_int_equal(stet_get_memory_stats().allocations, allocations);
    }
}

static void tapes_take_turns(void **state)
{
    FOR_SMALL(s, 0)
    {
        small second = s;
        stet_tape_def def = stet_default_tape_def();
        OK(stet_tape_create(s.device, &def, &second.tape));
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, chain(&s)));
        OK(stet_tape_begin(second.tape));
        OK(stet_tape_end(second.tape, product(&s, s.x, s.z, s.y)));
        seed_ones(&s, s.z);
        seed_ones(&second, s.y);
        OK(stet_tape_backward(second.tape));
        for (int w = 0; w < FEW; ++w)
            for (int i = 0; i < ITEMS; ++i)
                assert_true(get(gradient_of(&second, s.x), w, i) == get(s.z, w, i) &&
                            get(gradient_of(&second, s.z), w, i) == 1 + w + 0.5 * i);
        OK(stet_tape_backward(s.tape));
        check_chain(&s);
        stet_tape_destroy(second.tape);
    }
}

static void *in_a_thread(void *context)
{
    (void)context;
    FOR_SMALL(s, 2)
    {
        for (int k = 0; k < 20; ++k) {
            OK(stet_tape_begin(s.tape));
            OK(stet_tape_end(s.tape, chain(&s)));
            seed_ones(&s, s.z);
            OK(stet_tape_backward(s.tape));
        }
        check_chain(&s);
    }
    return NULL;
}

static void each_thread_has_tapes_of_its_own(void **state)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, in_a_thread, NULL), 0);
    (void)in_a_thread(NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* Kernels that the library launches for a caller (in a step, say) are the caller's. */
static void launches_from_inside_are_taken_down(void **state)
{
    FOR_SMALL(s, 0)
    {
        const sti_arg args[] = {sti_arg_array(s.x), sti_arg_int(ITEMS)};
        OK(stet_tape_begin(s.tape));
        OK(stet_record_begin(s.device, "a list"));
        stet_result result = sti_launch_beside(s.device, sti_user_kernel(s.kernel[SQUARE]), FEW, args, 2);
        OK(stet_tape_end(s.tape, stet_record_end(s.device, result)));
        assert_int_equal(stet_tape_get_info(s.tape).launches, 1);
        seed_ones(&s, s.x);
        OK(stet_tape_backward(s.tape));
        assert_true(get(gradient_of(&s, s.x), 1, 0) == 2 * 2.0);
        assert_true(get(s.x, 1, 0) == 4);
    }
}

/* A gradient goes with its array, and a tape with what it made. */
static void gradients_go_with_their_arrays(void **state)
{
    FOR_SMALL(s, 0)
    {
        stet_array *more;
        int64_t before = s.device->narray;
        OK(STI_ARRAY(s.device, "more", STET_DTYPE_REAL, true, &more, FEW, ITEMS));
        (void)gradient_of(&s, more);
        assert_int_equal(s.device->narray, before + 2);
        stet_array_destroy(more);
        assert_int_equal(s.device->narray, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_go_through_launches_and_copies),
        cmocka_unit_test(an_array_may_be_read_in_two_places),
        cmocka_unit_test(what_is_not_written_keeps_its_gradient),
        cmocka_unit_test(whole_numbers_are_put_back),
        cmocka_unit_test(stacks_follow_what_launches_write),
        cmocka_unit_test(item_kernels_have_plain_gradients),
        cmocka_unit_test(a_null_device_has_tapes),
        cmocka_unit_test(a_strict_device_has_nothing_to_object),
        cmocka_unit_test(what_cannot_be_gone_through_is_refused),
        cmocka_unit_test(a_kernel_without_adjoint_may_be_last),
        cmocka_unit_test(a_backward_pass_needs_what_it_reads),
        cmocka_unit_test(what_was_written_may_be_written_again),
        cmocka_unit_test(calls_in_the_wrong_place_are_refused),
        cmocka_unit_test(a_tape_is_used_again),
        cmocka_unit_test(tapes_take_turns),
        cmocka_unit_test(each_thread_has_tapes_of_its_own),
        cmocka_unit_test(launches_from_inside_are_taken_down),
        cmocka_unit_test(gradients_go_with_their_arrays),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
