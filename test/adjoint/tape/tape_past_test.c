/* Gradients need what launches read, whatever came of it later, and whatever its value is. */
#include "adjoint/tape/tape_small.h"

#include <math.h>

/* x ^ 8: each launch overwrites what it has read, and the last ones what the first ones read. */
static void kf58_what_was_read_is_overwritten_later(void **state)
{
    for (int every = 0; every < 3; ++every) FOR_SMALL(s, every)
        {
            OK(stet_tape_begin(s.tape));
            for (int k = 0; k < 3; ++k) {
                OK(stet_tape_step(s.tape));
                OK(square(&s, s.x));
            }
            OK(stet_tape_end(s.tape, STET_OK));
            seed_ones(&s, s.x);
            OK(stet_tape_backward(s.tape));
            for (int w = 0; w < FEW; ++w)
                for (int i = 0; i < ITEMS; ++i)
                    assert_true(fabs(get(gradient_of(&s, s.x), w, i) / (8 * pow(value_of_x(w, i), 7)) - 1) < 1e-6);
        }
}

/* y = a t x with a = 0: the gradient of a is no 0, those of x and t are. */
static void kf57_a_number_that_is_zero_has_its_gradient(void **state)
{
    FOR_SMALL(s, 0)
    {
        stet_array *a;
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, scale(&s, s.x, 0, s.y)));
        seed_ones(&s, s.y);
        OK(stet_tape_backward(s.tape));
        OK(stet_tape_get_number_gradient(s.tape, s.kernel[SCALE], "a", &a));
        for (int w = 0; w < FEW; ++w) {
            double sum = 0;
            for (int i = 0; i < ITEMS; ++i) {
                sum += value_of_x(w, i) * (i + 1);
                assert_true(get(gradient_of(&s, s.x), w, i) == 0 && get(gradient_of(&s, s.t), w, i) == 0);
            }
            assert_true(get(a, w, 0) == sum);
        }
    }
}

/* A launch that fails on a tape says why, and not that the tape cannot be used any more. */
static void a_launch_says_why_it_failed(void **state)
{
    stet_device *device;
    stet_device_def def = stet_default_device_def();
    def.checked = true;
    OK(stet_device_create(&def, &device));
    small s = open_small(device, 0);
    const stet_arg args[] = {stet_arg_array(s.x), stet_arg_int(ITEMS + 1)};
    OK(stet_tape_begin(s.tape));
    const stet_result result = stet_kernel_launch(s.kernel[SQUARE], FEW, args, 2);
    assert_int_equal(result, STET_ERROR_FAULT);
    assert_non_null(strstr(stet_get_last_error(), "element 4 of `x`, which has 4"));
    assert_int_equal(stet_tape_end(s.tape, STET_OK), STET_ERROR_STATE);
    assert_non_null(strstr(stet_get_last_error(), "k_square failed or was left out"));
    close_small(&s);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf58_what_was_read_is_overwritten_later),
        cmocka_unit_test(kf57_a_number_that_is_zero_has_its_gradient),
        cmocka_unit_test(a_launch_says_why_it_failed),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
