/*
 * Passes whose adjoints need sizes that the tape's own launches write: lists end where the host has to know them, which
 * a strict device has no objection to; lists of the caller's that are split are another matter. More lists than there
 * are recordings are told of.
 */
#include "device/devices.h"
#include "device/tensor.h"

#include "adjoint/tape/tape_small.h"

#include <math.h>

static stet_counter row(const stet_device *d, stet_mechanism which) { return d->mechanisms.counters.mechanism[which]; }

static void make_strict(stet_device *d)
{
    stet_mechanism_options options = d->mechanisms.options;
    options.strict = true;
    OK(stet_device_set_mechanisms(d, &options));
}

/*
 * y += x ^ (2 ^ count), and count goes on: what the next adjoint's stack is sized by is written by the launch before.
 */
static void take_down_powers(const small *s)
{
    stet_result result = STET_OK;
    OK(stet_tape_begin(s->tape));
    for (int k = 0; k < 5 && result == STET_OK; ++k) {
        result = stet_tape_step(s->tape);
        if (result == STET_OK) result = power(s);
        if (result == STET_OK) result = next(s);
    }
    OK(stet_tape_end(s->tape, result));
}

static void check_powers(const small *s)
{
    double wanted = 0;
    for (int k = 0; k < 5; ++k) wanted += ldexp(1, k) * pow(2, (1 << k) - 1); /* x is 2 in world 1 */
    assert_true(get(gradient_of(s, s->x), 0, 0) == 1 + 2 + 4 + 8 + 16);
    assert_true(get(gradient_of(s, s->x), 1, 0) == wanted);
}

static void a_pass_ends_its_lists_where_sizes_are_needed(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        small s = open_small(rig.device, 5); /* all steps in one segment */
        make_strict(rig.device);
        take_down_powers(&s);
        int64_t lists = 0;
        for (int pass = 0; pass < 4; ++pass) {
            seed_ones(&s, s.y);
            stet_counter before = row(rig.device, STET_MECHANISM_GRAPH_REPLAY);
            OK(stet_tape_backward(s.tape));
            check_powers(&s);
            stet_counter now = row(rig.device, STET_MECHANISM_GRAPH_REPLAY);
            assert_int_equal(now.fallbacks, before.fallbacks);
            int64_t done = now.hits + now.misses - before.hits - before.misses;
            if (pass == 0) lists = done;
            assert_int_equal(done, lists); /* they end at the same places */
            if (pass >= 2) assert_int_equal(now.misses, before.misses);
        }
        assert_int_equal(lists,
                         2); /* the launches; and, once the counts that each of them met are known, the adjoints */
        assert_int_equal(reason_count(rig.device, STET_REASON_GRAPH_REPLAY_SPLIT), 0);
        assert_true(reason_count(rig.device, STET_REASON_ADSTACK_MOVED) > 0); /* so the reading is counted */
        close_small(&s);
    }
}

/*
 * An adjoint in a list of the caller's, behind the launch that its size comes from: the list is split, for a reason;
 * strict, that is an error.
 */
static void a_callers_list_is_split_for_a_reason(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        small s = open_small(rig.device, 0);
        stet_adjoint *adjoint;
        stet_array *gradient[2];
        OK(stet_kernel_get_adjoint(s.kernel[POWER], &adjoint));
        for (int i = 0; i < 2; ++i) OK(STI_ARRAY(rig.device, "g", STET_DTYPE_REAL, true, &gradient[i], FEW, ITEMS));
        const stet_arg args[] = {stet_arg_array(s.x), stet_arg_array(s.count), stet_arg_array(s.y)};
        stet_array *const gradients[] = {gradient[0], NULL, gradient[1]};
        OK(stet_adjoint_launch(adjoint, FEW, args, gradients, 3)); /* what it needs is made */
        for (int strict = 0; strict < 2; ++strict) {
            int64_t splits = reason_count(rig.device, STET_REASON_GRAPH_REPLAY_SPLIT);
            if (strict) make_strict(rig.device);
            write_reals(gradient[0], value_of_x);
            write_reals(gradient[1], value_one);
            OK(stet_record_begin(rig.device, "a count and its adjoint"));
            stet_result result = next(&s);
            if (result == STET_OK) result = stet_adjoint_launch(adjoint, FEW, args, gradients, 3);
            result = stet_record_end(rig.device, result);
            assert_int_equal(reason_count(rig.device, STET_REASON_GRAPH_REPLAY_SPLIT), splits + 1);
            if (!strict) {
                OK(result);
                assert_true(get(gradient[0], 1, 0) == value_of_x(1, 0) + 2 * 2.0); /* count is 1: x * x */
                continue;
            }
            assert_int_equal(result, STET_ERROR_STRICT);
            assert_non_null(strstr(stet_get_last_error(), "a count and its adjoint"));
        }
        for (int i = 0; i < 2; ++i) stet_array_destroy(gradient[i]);
        close_small(&s);
    }
}

/* ---- more lists than recordings ---------------------------------------------------------------------------------- */

enum { KEPT = 64 /* recordings of a device */ };

/*
 * `n` segments, each over an array of its own, so each a list of its own. Returns misses of the second pass and of the
 * third, by reason `first`.
 */
static void two_passes(small *s, int n, int64_t misses[2])
{
    stet_array *own[KEPT + 8];
    stet_result result = STET_OK;
    assert_true(n <= KEPT + 8);
    for (int k = 0; k < n; ++k) {
        OK(STI_ARRAY(s->device, "own", STET_DTYPE_REAL, true, &own[k], FEW, ITEMS));
        write_reals(own[k], value_of_x);
    }
    OK(stet_tape_begin(s->tape));
    for (int k = 0; k < n && result == STET_OK; ++k) {
        result = stet_tape_step(s->tape);
        if (result == STET_OK) result = scale(s, own[k], 2, s->y);
        if (result == STET_OK) result = square(s, own[k]);
    }
    OK(stet_tape_end(s->tape, result));
    for (int pass = 0; pass < 4; ++pass) {
        OK(stet_tape_zero(s->tape));
        for (int k = 0; k < n; ++k) write_reals(gradient_of(s, own[k]), value_one);
        int64_t before = reason_count(s->device, STET_REASON_GRAPH_REPLAY_FIRST);
        OK(stet_tape_backward(s->tape));
        for (int k = 0; k < n; ++k) assert_true(get(gradient_of(s, own[k]), 2, 1) == 2 * value_of_x(2, 1));
        if (pass >= 2) misses[pass - 2] = reason_count(s->device, STET_REASON_GRAPH_REPLAY_FIRST) - before;
    }
    for (int k = 0; k < n; ++k) stet_array_destroy(own[k]);
}

static void lists_beyond_the_recordings_are_told_of(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        small s = open_small(rig.device, 1);
        int64_t misses[2];
        two_passes(&s, KEPT / 2, misses);
        assert_int_equal(misses[0] + misses[1], 0);
        two_passes(&s, KEPT + 4, misses); /* each goes before it comes back: `first` says so, each time */
        assert_int_equal(misses[0], KEPT + 4);
        assert_int_equal(misses[1], KEPT + 4);
        close_small(&s);
    }
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static stet_result square_of_product(const small *s)
{
    STI_TRY(scale(s, s->x, 2, s->y));
    return square(s, s->y);
}

static void check_square_of_product(const small *s)
{
    for (int i = 0; i < ITEMS; ++i) {
        double v = value_of_x(1, i), t = value_of_t(0, i);
        assert_true(get(gradient_of(s, s->x), 1, i) == 2 * (2 * t * v) * 2 * t);
    }
}

/*
 * Of an input that somebody else may write at any time nobody knows what it held; who announces his writes may have it.
 */
static void exported_inputs_are_announced(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        small s = open_small(rig.device, 0);
        tensor *shown = export_as(s.x, true, false, false);
        OK(stet_tape_begin(s.tape));
        FAILS(stet_tape_end(s.tape, square_of_product(&s)), STET_ERROR_STATE,
              "k_scale reads array x, which somebody else may write at any time, through a tensor");
        end(shown);
        shown = export_as(s.x, true, true, false);
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, square_of_product(&s)));
        for (int pass = 0; pass < 3; ++pass) {
            seed_ones(&s, s.y);
            OK(stet_tape_backward(s.tape));
            check_square_of_product(&s);
        }
        stet_array_mark_written(s.x); /* announced: the pass that reads it is told */
        FAILS(stet_tape_backward(s.tape), STET_ERROR_STATE, "array x was written since the tape ended");
        end(shown);
        close_small(&s);
    }
}

/* A tensor that only shows an input, and one that went before the tape began, are in nobody's way. */
static void tensors_for_reading_are_no_writers(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        small s = open_small(rig.device, 0);
        end(export_as(s.x, true, false, false));
        tensor *shown = export_as(s.x, false, false, false);
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, square_of_product(&s)));
        seed_ones(&s, s.y);
        OK(stet_tape_backward(s.tape));
        check_square_of_product(&s);
        end(shown);
        close_small(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_ends_its_lists_where_sizes_are_needed),
        cmocka_unit_test(a_callers_list_is_split_for_a_reason),
        cmocka_unit_test(lists_beyond_the_recordings_are_told_of),
        cmocka_unit_test(exported_inputs_are_announced),
        cmocka_unit_test(tensors_for_reading_are_no_writers),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
