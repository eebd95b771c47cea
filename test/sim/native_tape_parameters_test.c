/*
 * Gradients of steps on a tape by parameters of worlds, by name: against central differences of the whole of it, from
 * setting the parameter, with all that MuJoCo derives from it, to the state behind steps; in double. What has none is
 * refused by name.
 */
#include "sim/room.h"

#include "stet/adjoint.h"

#include <math.h>
#include <string.h>

enum { STEPS = 6, MOST_NUMBERS = 256, MOST_STATE = 128 };

/* Limits, friction loss, tendons, servos, contacts of several bodies with the ground, an equality. */
static const char scene[] =
    "<mujoco><compiler angle='radian'/><option timestep='.004' integrator='implicitfast' cone='elliptic'/><default>"
    "<geom friction='.8 .01 .002' condim='4'/></default><worldbody><geom type='plane' size='5 5 .1' friction='.3 .02 "
    ".001'/><body pos='0 0 .098'><freejoint/><geom type='capsule' fromto='-.2 0 0 .2 0 0' size='.1' mass='2'/><body "
    "pos='.2 0 .05'><joint name='a' axis='0 1 0' range='-.2 .05' limited='true' damping='.3' stiffness='2' "
    "armature='.01' frictionloss='.05'/><geom type='capsule' fromto='0 0 0 .2 0 .1' size='.03'/><body pos='.2 0 .1'>"
    "<joint name='b' axis='0 1 0' damping='.1' frictionloss='.02'/><geom size='.04' mass='.3'/></body></body><body "
    "pos='-.2 0 .05'><joint name='c' axis='1 0 0' damping='.2' stiffness='1'/><geom type='capsule' fromto='0 0 0 -.2 "
    "0 .1' size='.03'/></body></body><body pos='1 0 .05'><joint name='x' type='slide' axis='1 0 0' damping='1'/><joint "
    "name='z' type='slide' axis='0 0 1'/><geom size='.0505' mass='.5'/></body></worldbody><tendon><fixed name='t' "
    "stiffness='3' damping='.2' springlength='.1'><joint joint='a' coef='1'/><joint joint='c' coef='-.5'/></fixed>"
    "</tendon><equality><joint joint1='b' joint2='c' polycoef='.02 .5 0 0 0'/></equality><actuator><position joint='a' "
    "kp='4' kv='.3'/><motor joint='b' gear='2'/><general joint='c' gainprm='3 .2 -.1' gaintype='affine' "
    "biastype='affine' biasprm='.1 -2 -.2'/></actuator></mujoco>";

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

static double drawn(uint64_t *dice) { return (double)(dice_next(dice) >> 11) / (double)(UINT64_C(1) << 52) - 1; }

/* The same beginning in all worlds. */
static void begin(stet_sim *sim, uint64_t seed)
{
    static const char *const fields[] = {"qvel", "ctrl", "qfrc_applied"};
    for (int f = 0; f < 3; ++f) {
        stet_array *a = array_of(sim, fields[f]);
        uint64_t dice = seed + (uint64_t)f;
        void *mirror;
        OK(sti_array_mirror_write(a, &mirror));
        for (int64_t i = 0; i < a->nitem; ++i) {
            double x = .5 * drawn(&dice);
            for (int64_t w = 0; w < a->shape[0]; ++w) sti_mirror_set(a, mirror, w, i, x);
        }
        sti_array_mirror_written(a);
    }
}

static double loss(stet_sim *sim, int64_t w, const double *weight)
{
    stet_array *both[] = {array_of(sim, "qpos"), array_of(sim, "qvel")};
    double sum = 0;
    for (int k = 0, at = 0; k < 2; ++k)
        for (int64_t i = 0; i < both[k]->nitem; ++i) sum += weight[at++] * get(both[k], w, i);
    return sum;
}

static stet_sim *open(int64_t nworld)
{
    return room_open(scene, &(room_def){.nworld = nworld, .threads = 2, .isa = "f64", .physics = STET_PHYSICS_NATIVE});
}

static void differences(const char *name, int items, const double *value, const double *step, double scale,
                        const double *weight, uint64_t seed, double *out)
{
    static double values[2 * MOST_NUMBERS * MOST_NUMBERS];
    stet_sim *sim = open(2 * items);
    for (int w = 0; w < 2 * items; ++w)
        for (int i = 0; i < items; ++i)
            values[w * items + i] = value[i] + (i == w / 2 ? (w % 2 ? -1 : 1) * scale * step[i] : 0);
    OK(stet_worlds_set_parameter(stet_sim_get_worlds(sim), name, values, 2 * items * items));
    begin(sim, seed);
    OK(stet_sim_step(sim, STEPS));
    for (int i = 0; i < items; ++i)
        out[i] = (loss(sim, 2 * i, weight) - loss(sim, 2 * i + 1, weight)) / (2 * scale * step[i]);
    stet_sim_destroy(sim);
}

static stet_tape *tape_of(stet_sim *sim)
{
    stet_tape_def def = stet_default_tape_def();
    stet_tape *tape;
    OK(stet_tape_create(stet_sim_get_device(sim), &def, &tape));
    return tape;
}

/* Two worlds, of which the second has other values; `moved` is what it has more of. */
static void compare(const char *name, uint64_t *dice)
{
    static double value[2][MOST_NUMBERS], out[2 * MOST_NUMBERS], one[MOST_NUMBERS], two[MOST_NUMBERS];
    static double step[MOST_NUMBERS], weight[MOST_STATE];
    uint64_t seed = dice_next(dice);
    stet_sim *sim = open(2);
    stet_worlds *worlds = stet_sim_get_worlds(sim);
    stet_tape *tape = tape_of(sim);
    int items = (int)stet_worlds_get_parameter_items(worlds, name), moving = 0, kinks = 0;
    double worst = 0;
    assert_true(items > 0 && items <= MOST_NUMBERS);
    OK(stet_worlds_get_parameter(worlds, name, out, 2 * items));
    for (int i = 0; i < items; ++i) {
        value[0][i] = out[i];
        value[1][i] = out[i] * (1.1 + .05 * (i % 3));
        memcpy(out + items + i, &value[1][i], sizeof *out);
    }
    OK(stet_worlds_set_parameter(worlds, name, out, 2 * items));
    for (int i = 0; i < MOST_STATE; ++i) weight[i] = drawn(dice);
    begin(sim, seed);
    OK(stet_sim_take_parameters(sim, &name, 1));
    OK(stet_tape_begin(tape));
    OK(stet_tape_end(tape, stet_sim_step(sim, STEPS)));
    const char *state[] = {"qpos", "qvel"};
    OK(stet_tape_zero(tape));
    for (int k = 0, at = 0; k < 2; ++k) {
        stet_array *a = array_of(sim, state[k]), *g;
        void *mirror;
        OK(stet_tape_get_gradient(tape, a, &g));
        OK(sti_array_mirror_write(g, &mirror));
        for (int64_t i = 0; i < a->nitem; ++i, ++at)
            for (int w = 0; w < 2; ++w) sti_mirror_set(g, mirror, w, i, weight[at]);
        sti_array_mirror_written(g);
    }
    OK(stet_tape_backward(tape));
    OK(stet_sim_get_parameter_gradient(sim, tape, name, out, 2 * items));
    for (int w = 0; w < 2; ++w) {
        double greatest = 1e-6;
        for (int i = 0; i < items; ++i) step[i] = fabs(value[w][i]); /* numbers that are 0 are left out */
        differences(name, items, value[w], step, 1e-5, weight, seed, one);
        differences(name, items, value[w], step, 3e-5, weight, seed, two);
        for (int i = 0; i < items; ++i)
            if (step[i] > 0) greatest = fmax(greatest, fabs(one[i] * step[i]));
        for (int i = 0; i < items; ++i) {
            double found = out[w * items + i];
            if (step[i] == 0) continue;
            bool kink = !(fabs(one[i] - two[i]) * step[i] <= 1e-6 * greatest);
            kinks += kink;
            moving += fabs(one[i]) * step[i] > 1e-9;
            if (kink) continue;
            worst = fmax(worst, fabs(found - one[i]) * step[i] / greatest);
            if (!(fabs(found - one[i]) * step[i] <= 1e-5 * greatest))
                fail_msg("%s[%d] of world %d: %.12g, by differences %.12g", name, i, w, found, one[i]);
        }
    }
    print_message("%s: %d numbers of two worlds, %d move the loss, %d at a kink, greatest error %.1e\n", name, items,
                  moving, kinks, worst);
    assert_true(moving > 0 && 4 * kinks <= 2 * items);
    stet_tape_destroy(tape);
    stet_sim_destroy(sim);
}

static void parameters_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("parameters_have_their_gradients");
    static const char *const names[] = {"gravity",          "friction",         "damping",        "stiffness",
                                        "body_mass",        "body_inertia",     "geom_friction",  "geom_solref",
                                        "geom_solimp",      "jnt_stiffness",    "dof_damping",    "dof_armature",
                                        "dof_frictionloss", "tendon_stiffness", "tendon_damping", "actuator_gainprm",
                                        "actuator_biasprm", "actuator_kp",      "actuator_kv",    "eq_solref"};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) compare(names[k], &dice);
}

static void others_are_refused_by_name(void **state)
{
    static const struct {
        const char *name, *words;
    } rows[] = {{"body_pos", "parameter body_pos changes body_pos of the physics"},
                {"geom_size", "parameter geom_size changes"},
                {"timestep", "parameter timestep changes timestep of the physics"},
                {"actuator_gear", "parameter actuator_gear changes actuator_gear of the physics"}};
    static double out[2 * MOST_NUMBERS];
    stet_sim *sim = open(2);
    stet_tape *tape = tape_of(sim);
    stet_array *g;
    const char *mass = "body_mass", *wrong = "geom_contype";
    int items = (int)stet_worlds_get_parameter_items(stet_sim_get_worlds(sim), mass);
    OK(stet_tape_begin(tape));
    OK(stet_tape_end(tape, stet_sim_step(sim, 1)));
    FAILS(stet_sim_get_parameter_gradient(sim, tape, mass, out, 2 * items), STET_ERROR_STATE, "before the tape began");
    FAILS(stet_sim_take_parameters(sim, &wrong, 1), STET_ERROR_UNSUPPORTED, "geom_contype is no real number");
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        items
            = (int)stet_worlds_get_parameter_items(stet_sim_get_worlds(sim), rows[k].name);
        OK(stet_sim_take_parameters(sim, &rows[k].name, 1));
        OK(stet_tape_begin(tape));
        OK(stet_tape_end(tape, stet_sim_step(sim, 1)));
        OK(stet_tape_backward(tape));
        FAILS(stet_sim_get_parameter_gradient(sim, tape, rows[k].name, out, 2 * items), STET_ERROR_UNSUPPORTED,
              rows[k].words);
    }
    OK(stet_sim_take_parameters(sim, &mass, 1));
    OK(stet_tape_begin(tape)); /* what is read depends on them, too */
    OK(stet_tape_end(tape, stet_sim_step(sim, 1)));
    OK(stet_tape_get_gradient(tape, array_of(sim, "qacc"), &g));
    FAILS(stet_tape_backward(tape), STET_ERROR_UNSUPPORTED, "gradients by parameters do not go through qacc");
    stet_tape_destroy(tape);
    stet_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_have_their_gradients),
        cmocka_unit_test(others_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
