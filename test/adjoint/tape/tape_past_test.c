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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf58_what_was_read_is_overwritten_later),
        cmocka_unit_test(kf57_a_number_that_is_zero_has_its_gradient),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
