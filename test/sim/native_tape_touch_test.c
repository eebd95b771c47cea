/*
 * Gradients through first touch (stet_sim_set_touch): against the slope that losses have over worlds which begin a
 * little apart, so that touch falls in every phase of a time step; equal bits at all widths; what is counted.
 */
#include "sim/room.h"

#include "stet/adjoint.h"

#include <math.h>
#include <string.h>

enum { NWORLD = 96, MOST_NQ = 16 };

static stet_array *array_of(stet_sim *sim, const char *name)
{
    stet_array *a;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), name, &a));
    return a;
}

static double get(stet_array *a, int64_t w, int64_t i)
{
    void *mirror;
    OK(sti_array_mirror_read(a, &mirror));
    return sti_mirror_get(a, mirror, w, i);
}

static void put(stet_array *a, int64_t w, int64_t i, double x)
{
    void *mirror;
    OK(sti_array_mirror_read(a, &mirror));
    OK(sti_array_mirror_write(a, &mirror));
    sti_mirror_set(a, mirror, w, i, x);
    sti_array_mirror_written(a);
}

typedef struct drop {
    const char *name, *scene;
    int moved, seen, steps; /* numbers of qpos: of the beginning, and of the end, which is the loss */
    double width;           /* over which worlds begin */
} drop;

/* Gradients of all worlds; ends [nworld]: their losses, if it is not NULL. Returns how many touches were counted. */
static int run(const drop *d, stet_touch touch, const char *isa, int64_t nworld, double *gradient, double *ends)
{
    stet_sim *sim = room_open(d->scene, &(room_def){.nworld = nworld, .isa = isa, .physics = STET_PHYSICS_NATIVE});
    stet_tape_def def = stet_default_tape_def();
    stet_array *qpos = array_of(sim, "qpos"), *g, *counts;
    stet_tape *tape;
    int touches = 0;
    double begin = get(qpos, 0, d->moved);
    for (int64_t w = 0; w < nworld; ++w) put(qpos, w, d->moved, begin + d->width * ((double)w / NWORLD - .5));
    OK(stet_sim_set_touch(sim, touch));
    OK(stet_tape_create(stet_sim_get_device(sim), &def, &tape));
    OK(stet_tape_begin(tape));
    for (int k = 0; k < d->steps; ++k) {
        OK(stet_tape_step(tape));
        OK(stet_sim_step(sim, 1));
    }
    OK(stet_tape_end(tape, STET_OK));
    for (int64_t w = 0; w < nworld && ends; ++w) ends[w] = get(qpos, w, d->seen);
    OK(stet_tape_get_gradient(tape, qpos, &g));
    for (int64_t w = 0; w < nworld; ++w) put(g, w, d->seen, 1);
    OK(stet_tape_backward(tape));
    for (int64_t w = 0; w < nworld; ++w) gradient[w] = get(g, w, d->moved);
    if (touch == STET_TOUCH_SALTATION) {
        OK(stet_sim_get_touches(sim, &counts));
        int32_t count[NWORLD];
        OK(stet_array_read(counts, count, (size_t)nworld * sizeof *count));
        for (int64_t w = 0; w < nworld; ++w) touches += count[w];
    }
    stet_tape_destroy(tape);
    stet_sim_destroy(sim);
    return touches;
}

static double mean(const double *x)
{
    double sum = 0;
    for (int w = 0; w < NWORLD; ++w) sum += x[w] / NWORLD;
    return sum;
}

/* The slope of the losses over where worlds begin. */
static double regress(const drop *d, const double *ends)
{
    double sum = 0, all = 0;
    for (int w = 0; w < NWORLD; ++w) {
        double x = (double)w / NWORLD - .5 + .5 / NWORLD;
        sum += x * ends[w];
        all += x * x * d->width;
    }
    return sum / all;
}

#define BALL(options, geom, height)                                                                                    \
    "<mujoco><option " options "/><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 " height                 \
    "'><joint type='slide' axis='0 0 1'/><geom size='.1' " geom "/></body></worldbody></mujoco>"
#define BOX(euler)                                                                                                     \
    "<mujoco><option timestep='.002'/><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 .3' euler='" euler   \
    "'><freejoint/><geom type='box' size='.1 .15 .05'/></body></worldbody></mujoco>"

static const drop drops[] = {
    {"ball, 4 ms", BALL("timestep='.004'", "", ".4"), 0, 0, 72, .06},
    {"ball, 2 ms", BALL("timestep='.002'", "", ".4"), 0, 0, 140, .03},
    {"ball, implicitfast", BALL("timestep='.004' integrator='implicitfast'", "solref='.03 .5'", ".35"), 0, 0, 72, .06},
    {"bouncing ball", BALL("timestep='.002'", "solref='-2000 -10'", ".3"), 0, 0, 150, .03},
    {"tilted box: height", BOX("0 20 0"), 2, 2, 120, .03},
    {"tilted box: turn", BOX("0 20 0"), 2, 5, 140, .03},
    {"box on a corner: height", BOX("25 15 0"), 2, 2, 120, .03},
    {"box on a corner: turn", BOX("25 15 0"), 2, 4, 120, .03},
};

/* Within 40 % of the slope, or of what touch has in it, if that is more: the two parts may all but cancel out. */
static void gradients_have_the_slope_of_losses(void **state)
{
    for (size_t k = 0; k < sizeof drops / sizeof *drops; ++k) {
        const drop *d = drops + k;
        double steps[NWORLD], found[NWORLD], ends[NWORLD];
        run(d, STET_TOUCH_STEPS, "f64", NWORLD, steps, ends);
        int touches = run(d, STET_TOUCH_SALTATION, "f64", NWORLD, found, NULL);
        double wanted = regress(d, ends), got = mean(found), alone = mean(steps);
        print_message("%s: slope %.4f; gradients %.4f, of the steps alone %.4f; %d touches\n", d->name, wanted, got,
                      alone, touches);
        assert_true(touches >= NWORLD);
        if (!(fabs(got - wanted) <= 0.4 * fmax(fabs(wanted), fabs(wanted - alone)) && got * wanted > 0))
            fail_msg("%s: %.4f, but losses have the slope %.4f", d->name, got, wanted);
        if (!(fabs(got - wanted) < fabs(alone - wanted))) fail_msg("%s: no nearer than without touch", d->name);
    }
}

static void the_same_bits_everywhere(void **state)
{
    double wanted[NWORLD], found[NWORLD];
    const drop *d = drops + 6;
    int touches = run(d, STET_TOUCH_SALTATION, NULL, NWORLD, wanted, NULL);
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa) {
        if (isa == STI_ISA_f64 || !sti_isa_available((sti_isa)isa)) continue;
        assert_true(run(d, STET_TOUCH_SALTATION, sti_isa_name((sti_isa)isa), NWORLD, found, NULL) == touches);
        if (memcmp(wanted, found, sizeof found) != 0) fail_msg("%s: other gradients", sti_isa_name((sti_isa)isa));
    }
    assert_true(run(d, STET_TOUCH_SALTATION, NULL, 1, found, NULL) > 0);
    assert_true(memcmp(wanted, found, sizeof *found) == 0);
}

static void what_it_does_not_do_is_refused(void **state)
{
    stet_array *counts;
    stet_sim *sim =
        room_open(BALL("integrator='RK4'", "", "0"), &(room_def){.nworld = 1, .physics = STET_PHYSICS_NATIVE});
    FAILS(stet_sim_set_touch(sim, STET_TOUCH_SALTATION), STET_ERROR_UNSUPPORTED, "integrator RK4 is not known");
    FAILS(stet_sim_set_touch(sim, (stet_touch)2), STET_ERROR_INVALID_ARGUMENT, "STEPS or SALTATION, not 2");
    FAILS(stet_sim_get_touches(sim, &counts), STET_ERROR_STATE, "touches are counted with STET_TOUCH_SALTATION");
    stet_sim_destroy(sim);
    sim = room_open("cartpole.xml", &(room_def){.nworld = 1, .physics = STET_PHYSICS_MUJOCO});
    OK(stet_sim_set_touch(sim, STET_TOUCH_STEPS));
    FAILS(stet_sim_set_touch(sim, STET_TOUCH_SALTATION), STET_ERROR_UNSUPPORTED, "steps of mujoco physics have none");
    stet_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_have_the_slope_of_losses),
        cmocka_unit_test(the_same_bits_everywhere),
        cmocka_unit_test(what_it_does_not_do_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
