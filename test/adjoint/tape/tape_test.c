/*
 * Tapes: gradients through many launches are the same wherever checkpoints lie, on every device, as recordings or not,
 * and right by central differences; a second backward pass is a replay.
 */
#include "device/devices.h"

#include "adjoint/tape/tape_rig.h"

#include "kernel/record/record.h"

#include <math.h>

enum { STEPS = 100 };

/* Gradients over n steps, checked to leave the state as it is. */
static uint64_t gradients_over(stet_device *device, int64_t every, int n, bool recorded)
{
    sheets x = open_sheets(device, every);
    x.recorded = recorded;
    take_down(&x, n);
    uint64_t state = state_hash(&x);
    seed(&x);
    OK(stet_tape_backward(x.tape));
    assert_true(state_hash(&x) == state);
    uint64_t hash = gradients_hash(&x);
    close_sheets(&x);
    return hash;
}

static void gradients_are_the_same_wherever_checkpoints_lie(void **state)
{
    static const int64_t every[] = {0, 1, 7, 10, STEPS, 5 * STEPS};
    stet_device *device = open_device(STI_ISA_portable, 1);
    uint64_t wanted = 0;
    for (size_t i = 0; i < sizeof every / sizeof *every; ++i) {
        uint64_t found = gradients_over(device, every[i], STEPS, i % 2 == 1);
        if (i == 0) wanted = found;
        if (found != wanted) fail_msg("a checkpoint every %lld steps: other gradients", (long long)every[i]);
    }
    stet_device_destroy(device);
}

/* ---- central differences ----------------------------------------------------------------------------------------- */

typedef enum input { POS, VEL, STIFFNESS, DAMPING, REST, WEIGHT } input;

/* NULL: it is a number. */
static stet_array *array_of(const sheets *x, input which)
{
    stet_array *const all[] = {x->s.pos, x->s.vel, x->s.stiffness, x->s.damping, x->s.rest, NULL};
    return all[which];
}

/* The sum of weighted positions of one world after the steps, with one input moved. */
static double sum_with(sheets *x, input which, int64_t w, int64_t i, double by)
{
    double sum = 0, weight = x->weight;
    void *mirror;
    sti_springs_destroy(&x->s);
    OK(sti_springs_create(x->device, WORLDS, &x->s));
    stet_array *moved = array_of(x, which);
    if (moved) {
        OK(sti_array_mirror_write(moved, &mirror));
        sti_mirror_set(moved, mirror, w, i, sti_mirror_get(moved, mirror, w, i) + by);
        sti_array_mirror_written(moved);
    } else {
        x->weight += by;
    }
    OK(steps_of(x, STEPS, false));
    x->weight = weight;
    for (int k = 0; k < M3; ++k) sum += weight_of(w, k) * item(x->s.pos, w, k);
    return sum;
}

typedef struct place {
    input which;
    int64_t w, i;
    double found;
} place;

static void gradients_are_right_by_differences(void **state)
{
    static const double h = 1e-5;
    place places[] = {{POS, 0, 2, 0},  {POS, 3, 100, 0},     {POS, 4, 191, 0},     {VEL, 1, 0, 0},
                      {VEL, 2, 77, 0}, {STIFFNESS, 0, 0, 0}, {STIFFNESS, 4, 0, 0}, {DAMPING, 2, 0, 0},
                      {REST, 3, 0, 0}, {REST, 1, 200, 0},    {WEIGHT, 3, 0, 0}};
    enum { PLACES = sizeof places / sizeof *places };
    stet_device *device = open_device(STI_ISA_f64, 1);
    sheets x = open_sheets(device, 0);
    take_down(&x, STEPS);
    seed(&x);
    OK(stet_tape_backward(x.tape));
    for (int k = 0; k < PLACES; ++k) {
        place *p = &places[k];
        stet_array *array = array_of(&x, p->which), *gradient;
        if (array)
            gradient = gradient_of(&x, array);
        else
            OK(stet_tape_get_number_gradient(x.tape, x.kernel[5], "weight", &gradient));
        p->found = item(gradient, p->w, p->i);
    }
    for (int k = 0; k < PLACES; ++k) {
        const place *p = &places[k];
        double up = sum_with(&x, p->which, p->w, p->i, h), down = sum_with(&x, p->which, p->w, p->i, -h);
        double wanted = (up - down) / (2 * h);
        if (!(fabs(p->found - wanted) <= 1e-6 * (1 + fabs(wanted))))
            fail_msg("input %d, world %lld, item %lld: %.12g, by differences %.12g", (int)p->which, (long long)p->w,
                     (long long)p->i, p->found, wanted);
        if (wanted == 0) fail_msg("input %d, item %lld changes nothing", (int)p->which, (long long)p->i);
    }
    close_sheets(&x);
    stet_device_destroy(device);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

static void the_same_bits_on_every_device(void **state)
{
    uint64_t wanted = 0;
    FOR_RUNNING_DEVICES(rig)
    {
        uint64_t found = gradients_over(rig.device, 2, 5, true);
        if (!wanted) wanted = found;
        if (found != wanted) fail_msg("%s: other gradients", rig.name);
    }
}

static void the_same_bits_with_each_mechanism_off(void **state)
{
    static const uint32_t off[] = {0, 1u << STET_MECHANISM_GRAPH_REPLAY, 1u << STET_MECHANISM_ARGS,
                                   1u << STET_MECHANISM_GRAPH_REPLAY | 1u << STET_MECHANISM_ARGS};
    uint64_t wanted = 0;
    for (size_t i = 0; i < sizeof off / sizeof *off; ++i) {
        stet_device *device = open_device(STI_ISA_portable, 1);
        stet_mechanism_options options = device->mechanisms.options;
        options.disabled |= off[i];
        options.audit = i == 0; /* and all that stands compared, once */
        OK(stet_device_set_mechanisms(device, &options));
        uint64_t found = gradients_over(device, 3, 24, true);
        if (!wanted) wanted = found;
        if (found != wanted) fail_msg("mechanisms %x off: other gradients", off[i]);
        stet_device_destroy(device);
    }
}

/* ---- what it costs ----------------------------------------------------------------------------------------------- */

static void a_second_pass_is_a_replay(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        sheets x = open_sheets(rig.device, 3);
        stet_counters before, after;
        take_down(&x, 12);
        seed(&x);
        OK(stet_tape_backward(x.tape));
        uint64_t wanted = gradients_hash(&x), found;
        seed(&x);
        int64_t built = rig.device->recorder->built;
        int64_t allocations = stet_get_memory_stats().allocations;
        before = stet_device_get_counters(rig.device);
        OK(stet_tape_backward(x.tape));
        after = stet_device_get_counters(rig.device);
        const stet_counter *a = &before.mechanism[STET_MECHANISM_GRAPH_REPLAY],
                           *b = &after.mechanism[STET_MECHANISM_GRAPH_REPLAY];
        assert_int_equal(stet_get_memory_stats().allocations, allocations);
        assert_int_equal(rig.device->recorder->built, built);
        assert_int_equal(b->misses, a->misses);
        assert_int_equal(b->fallbacks, a->fallbacks);
        assert_int_equal(b->hits, a->hits + 4); /* a list a segment */
        assert_int_equal(after.mechanism[STET_MECHANISM_ARGS].misses, before.mechanism[STET_MECHANISM_ARGS].misses);
        assert_int_equal(after.mechanism[STET_MECHANISM_ADSTACK].misses,
                         before.mechanism[STET_MECHANISM_ADSTACK].misses);
        found = gradients_hash(&x);
        assert_true(found == wanted);
        close_sheets(&x);
    }
}

static void a_tape_tells_what_it_holds(void **state)
{
    stet_device *device = open_device(STI_ISA_portable, 1);
    sheets x = open_sheets(device, 0);
    stet_tape_info info = stet_tape_get_info(x.tape);
    assert_int_equal(info.launches, 0);
    assert_int_equal(info.steps, 0);
    assert_int_equal(info.checkpoint_bytes, 0);
    take_down(&x, STEPS);
    info = stet_tape_get_info(x.tape);
    assert_int_equal(info.steps, STEPS);
    assert_int_equal(info.launches, STEPS * STI_SPRING_LAUNCHES);
    assert_int_equal(info.every, 8);
    assert_int_equal(info.checkpoints, 13);
    assert_int_equal(info.undo_bytes, 0);

    const sti_springs *s = &x.s;
    int64_t one = (int64_t)(s->pos->size + s->vel->size + s->force->size + s->way->size + s->length->size +
                            s->rate->size + s->tension->size);
    assert_int_equal(info.checkpoint_bytes,
                     13 * one); /* what was free again when every second one went, was taken again */
    OK(stet_tape_backward(x.tape));
    stet_tape_info later = stet_tape_get_info(x.tape);
    assert_int_equal(later.checkpoint_bytes, info.checkpoint_bytes + one);
    /*
     * 16 halves of a step a segment, of the last of which all but the first launch need not run again: what they leave
     * is looked up in the next checkpoint. In each way is overwritten twice, and force three times, of which only
     * k_mass_velocity looks at it; in the first one nobody has looked at what these and length, rate and tension held.
     */
    int64_t way = (int64_t)s->way->size;
    int64_t first = way + (int64_t)(s->force->size + s->length->size + s->rate->size + s->tension->size);
    int64_t ahead = first + (int64_t)s->vel->size;
    assert_int_equal(later.undo_bytes, 16 * (one + way) - first + ahead);
    assert_true(later.gradient_bytes > one);
    close_sheets(&x);
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_the_same_wherever_checkpoints_lie),
        cmocka_unit_test(gradients_are_right_by_differences),
        cmocka_unit_test(the_same_bits_on_every_device),
        cmocka_unit_test(the_same_bits_with_each_mechanism_off),
        cmocka_unit_test(a_second_pass_is_a_replay),
        cmocka_unit_test(a_tape_tells_what_it_holds),
    };
    return cmocka_run_group_tests(tests, make_quick_folder, remove_folder);
}
