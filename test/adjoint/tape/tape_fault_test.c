/*
 * Tapes while memory or the device fails: each allocation, and each call of a driver, once (in part, part.h: some of
 * them). What was done is an error or right, arrays that the launches wrote are put back, and the next tape works.
 */
#include "device/devices.h"

#include "base/failing.h"

#include "adjoint/tape/tape_small.h"

/* ---- a tape ------------------------------------------------------------------------------------------------------ */

enum { STEPS = 4 };

/* z = (2 t x)^2 in each step, from the same x. */
static stet_result steps(const small *s)
{
    for (int k = 0; k < STEPS; ++k) {
        STI_TRY(stet_tape_step(s->tape));
        STI_TRY(stet_record_begin(s->device, "a step"));
        stet_result result = scale(s, s->x, 2, s->y);
        if (result == STET_OK) result = stet_array_copy(s->z, s->y);
        if (result == STET_OK) result = square(s, s->z);
        STI_TRY(stet_record_end(s->device, result));
    }
    return STET_OK;
}

static stet_result seed(const small *s)
{
    float ones[FEW * ITEMS];
    stet_array *gradient;
    for (int i = 0; i < FEW * ITEMS; ++i) ones[i] = 1;
    STI_TRY(stet_tape_zero(s->tape));
    STI_TRY(stet_tape_get_gradient(s->tape, s->z, &gradient));
    return stet_array_write(gradient, ones, sizeof ones);
}

/* *forward: the launches have run. Twice backwards, so that a list is compared, too. */
static stet_result go(const small *s, bool *forward)
{
    *forward = false;
    STI_TRY(stet_tape_begin(s->tape));
    STI_TRY(stet_tape_end(s->tape, steps(s)));
    *forward = true;
    for (int pass = 0; pass < 2; ++pass) {
        STI_TRY(seed(s));
        STI_TRY(stet_tape_backward(s->tape));
    }
    return STET_OK;
}

static stet_result one_tape(small *s, bool *forward)
{
    stet_tape_def def = stet_default_tape_def();
    *forward = false;
    def.every = 2;
    STI_TRY(stet_tape_create(s->device, &def, &s->tape));
    return go(s, forward);
}

static bool put_back(void) { return strstr(stet_get_last_error(), "could not be put back") == NULL; }

static void check_left(const small *s)
{
    for (int w = 0; w < FEW; ++w)
        for (int i = 0; i < ITEMS; ++i) {
            double y = 2 * (i + 1) * value_of_x(w, i);
            assert_true(get(s->y, w, i) == y);
            assert_true(get(s->z, w, i) == y * y);
        }
}

static void check_gradients(const small *s)
{
    for (int w = 0; w < FEW; ++w)
        for (int i = 0; i < ITEMS; ++i)
            assert_true(get(gradient_of(s, s->x), w, i) == 8.0 * (i + 1) * (i + 1) * value_of_x(w, i));
}

/* After a failure the same tape, or a new one, does all of it. */
static void works_again(small *s)
{
    bool forward;
    if (!s->tape)
        OK(one_tape(s, &forward));
    else
        OK(go(s, &forward));
    check_gradients(s);
    check_left(s);
    stet_tape_destroy(s->tape);
    s->tape = NULL;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void each_allocation_may_fail(void **state)
{
    failing f = {0};
    bool forward = false;
    assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
    stet_device *device = open_device(STI_ISA_portable, 1);
    small s = open_small(device, 0);
    stet_tape_destroy(s.tape);
    s.tape = NULL;
    works_again(&s); /* adjoints are compiled, and stay */
    const test_part p = choose_part(5);
    int64_t n = p.first - p.step;
    do {
        f.failed = false;
        f.fail_at = f.calls + (n += p.step);
        stet_result result = one_tape(&s, &forward);
        f.fail_at = 0;
        if (result != STET_OK) assert_int_equal(result, STET_ERROR_OUT_OF_MEMORY);
        if (result == STET_OK) check_gradients(&s);
        if (forward && (result == STET_OK || put_back())) check_left(&s);
        if (f.failed)
            works_again(&s);
        else
            assert_int_equal(result, STET_OK);
    } while (f.failed);
    assert_true(n > 40);
    close_small(&s);
    stet_device_destroy(device);
    assert_int_equal(f.held, 0);
    assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
}

/* ---- drivers ----------------------------------------------------------------------------------------------------- */

/* The n-th call of the driver fails, from one tape on; false: there are not so many. */
static bool fail_at(const rig_device *rig, small *s, int64_t n, int64_t *failed)
{
    bool forward;
    rig->control->fail_call(NULL, n, 1, false);
    int64_t before = rig->control->calls(NULL);
    stet_result result = one_tape(s, &forward);
    bool reached = rig->control->calls(NULL) - before >= n;
    rig->control->fail_call(NULL, 0, 0, false);
    bool left = put_back();
    *failed += result != STET_OK;
    if (result == STET_OK) check_gradients(s);
    if (forward && (result == STET_OK || left)) check_left(s);
    works_again(s);
    return reached;
}

static void each_call_of_a_driver_may_fail(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        const test_part p = choose_part(5);
        int64_t n = p.first, failed = 0;
        if (!rig.control) continue;
        small s = open_small(rig.device, 0);
        stet_tape_destroy(s.tape);
        s.tape = NULL;
        works_again(&s);
        while (fail_at(&rig, &s, n, &failed)) n += p.step;
        print_message("%lld calls, %lld failures\n", (long long)n, (long long)failed);
        assert_true(n > 100 && failed > 30 / p.step);
        close_small(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(each_call_of_a_driver_may_fail),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
