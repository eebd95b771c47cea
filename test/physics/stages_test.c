/*
 * Time steps as launches of groups of stages (NATIVE-7): they have the bits of one kernel in all that a step leaves,
 * through faults, resets, steps of some worlds, several time steps a call, too little room, and parameters of a world's
 * own; on a GPU also with code for the model. physics/same has other models; the other tests of native physics that
 * physics.cmake runs with STET_STAGES hold stages against MuJoCo, and against what a step has to leave.
 */
#include "physics/model_runs.h"
#include "worlds/rig.h"

#include "stet/kernel.h"

#include <math.h>
#include <stdlib.h>

enum { N = 19, CALLS = 9, LITTLE = 2 };

static const char *const groupings[] = {"single", "one", "three", "apart"};
enum { GROUPINGS = sizeof groupings / sizeof *groupings };

static const char implicit[] = PARAMETERS_SCENE("<option timestep='.004' integrator='implicitfast'/>");
static const char uneven[] =
    PARAMETERS_SCENE("<option timestep='.004' integrator='implicit' density='20' viscosity='.1'/>");
/* Integrator discrete: bodies that fall, with drag, and rest; springs, limits and servos. */
static const char late[] =
    "<mujoco><option timestep='.004' integrator='discrete' density='20' viscosity='.1'/><worldbody><geom type='plane' "
    "size='9 9 1'/><body pos='0 0 .2'><freejoint/><geom type='box' size='.1 .2 .05' fluidshape='ellipsoid'/></body>"
    "<body pos='1 0 .3'><freejoint/><geom type='capsule' size='.1 .2'/></body><body pos='2 0 .5'><joint name='a' "
    "axis='0 1 0' stiffness='90' damping='1' range='-20 20'/><geom type='capsule' size='.05' fromto='0 0 0 .4 0 0'/>"
    "<body pos='.4 0 0'><joint name='b' axis='0 1 0' frictionloss='.1'/><geom type='box' size='.1 .2 .05' pos='.2 0 0' "
    "fluidshape='ellipsoid'/></body></body></worldbody><tendon><fixed name='t' stiffness='20' damping='.4'><joint "
    "joint='a' coef='1'/><joint joint='b' coef='-1'/></fixed></tendon><actuator><position joint='b' kp='50' kv='1'/>"
    "</actuator></mujoco>";
static const char runge_kutta[] = PARAMETERS_SCENE("<option timestep='.004' integrator='RK4'/>");
static const char no_reset[] = PARAMETERS_SCENE("<option timestep='.004'><flag autoreset='disable'/></option>");

/* More contacts than there may be room for; each world has others. */
#define BALL(x) "<body pos='" #x " 0 .06'><freejoint/><geom size='.05' condim='6'/></body>"
static const char heap[] = "<mujoco><option timestep='.004'/><worldbody><geom type='plane' size='9 9 1'/>" BALL(0)
    BALL(.09) BALL(.2) BALL(.3) BALL(.4) BALL(.5) BALL(.6) "</worldbody></mujoco>";

/* ---- a run ------------------------------------------------------------------------------------------------------- */

typedef struct run {
    const char *text;
    int64_t nworld;
    int room; /* 0: the device's own; with less than they need, worlds depend on the number of lanes */
} run;

typedef struct seen {
    uint64_t hash[CALLS];
    uint32_t faults; /* of all worlds, in all calls */
} seen;

/* Each kind of fault, in a world of its own. */
static void break_worlds(const rig *r)
{
    rig_set(r, "qpos", 1, 2, NAN);
    rig_set(r, "qvel", 2, 1, 1e20f);
    if (rig_array(r, "ctrl")->nitem > 0) rig_set(r, "ctrl", 3, 0, NAN);
    rig_set(r, "qfrc_applied", 4, 0, NAN);
}

static void reset_some(const rig *r)
{
    uint8_t mask[MANY] = {[0] = 1, [5] = 1};
    stet_reset_def def = stet_default_reset_def();
    def.mask = mask;
    def.qpos_noise = 0.01;
    def.qvel_noise = 0.1;
    OK(stet_worlds_reset(r->worlds, &def));
}

static void give_mass(const rig *r)
{
    uint8_t mask[MANY] = {[6] = 1};
    double mass[256];
    int64_t nbody = r->model->mj->nbody;
    assert_true(nbody <= 256);
    for (int64_t b = 0; b < nbody; ++b) mass[b] = r->model->mj->body_mass[b] * 1.25;
    OK(stet_worlds_set_parameter_where(r->worlds, "body_mass", mask, mass, nbody));
}

static void call(const rig *r, sti_native *n, int k)
{
    uint8_t some[MANY];
    for (int w = 0; w < MANY; ++w) some[w] = (uint8_t)(w % 3 != 1);
    for (int64_t w = 0; w < 8; ++w)
        if (rig_array(r, "ctrl")->nitem > 0) rig_set(r, "ctrl", w, 0, rig_wave(w, k, 0));
    for (int64_t w = 0; w < N && k == 0; ++w)
        for (int64_t i = 0; i < r->model->mj->nv; ++i) rig_set(r, "qvel", w, i, rig_wave(w, k, i));
    if (k == 1) break_worlds(r);
    if (k == 4) reset_some(r);
    if (k == 6) give_mass(r);
    if (k == 7) { /* in the caller's own list, twice */
        OK(stet_record_begin(r->device, "steps"));
        stet_result result = sti_native_steps(n, NULL, 1);
        if (result == STET_OK) result = sti_native_steps(n, some, 2);
        OK(stet_record_end(r->device, result));
    }
    OK(sti_native_steps(n, k % 3 == 2 ? some : NULL, 1 + k % 3));
}

static void run_in(const run *it, const char *stages, const char *isa, seen *out)
{
    rig r = rig_make(it->text, it->nworld, isa, 2, false);
    sti_native *n;
    OK(sti_native_create(r.worlds, &n));
    if (it->room) OK(sti_native_set_room(n, it->room));
    OK(sti_native_set_stages(n, stages));
    *out = (seen){.faults = 0};
    for (int k = 0; k < CALLS; ++k) {
        call(&r, n, k);
        for (int64_t w = 0; w < it->nworld; ++w) {
            uint32_t faults = stet_worlds_get_faults(r.worlds)[w];
            out->hash[k] = out->hash[k] * 31 + faults;
            out->faults |= faults;
        }
        out->hash[k] = out->hash[k] * 31 + rig_all_hash(&r);
    }
    sti_native_destroy(n);
    rig_free(&r);
}

/* Where there is too little room a whole step waits for it, and launches of stages do not: these are compared. */
static void compare(const run *it, const char *isa, seen *want)
{
    if (it->room) run_in(it, groupings[GROUPINGS - 1], isa, want);
    bool slow = picked_any() && it->nworld >= FEW; /* to compile */
    for (int g = slow ? GROUPINGS - 1 : 0; g < GROUPINGS; ++g) {
        seen got;
        run_in(it, groupings[g], isa, &got);
        for (int k = 0; k < CALLS; ++k)
            if (got.hash[k] != want->hash[k])
                fail_msg("%s, %s, call %d: %016" PRIx64 ", not %016" PRIx64, groupings[g], isa ? isa : "here", k,
                         got.hash[k], want->hash[k]);
        assert_int_equal(got.faults, want->faults);
    }
}

/* One kernel on a CPU, and each grouping on the device of this run; on a CPU at each width. Gives the faults. */
static uint32_t check(const run *it)
{
    seen want;
    if (!it->room) run_in(it, "whole", "portable", &want);
    if (picked_any())
        compare(it, NULL, &want);
    else
        FOR_FLOAT_ISAS(isa) compare(it, sti_isa_name((sti_isa)isa), &want);
    return want.faults;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static const uint32_t bad_states =
    1u << STET_FAULT_BAD_QPOS | 1u << STET_FAULT_BAD_QVEL | 1u << STET_FAULT_BAD_QACC | 1u << STET_FAULT_BAD_CTRL;

static void they_have_the_bits_of_one_kernel(void **state)
{
    assert_int_equal(check(&(run){scene, N, 0}) & bad_states, bad_states);
    assert_int_equal(check(&(run){implicit, N, 0}) & bad_states, bad_states);
}

static void with_integrators_that_look_ahead(void **state)
{
    assert_int_equal(check(&(run){uneven, N, 0}) & bad_states, bad_states);
    check(&(run){late, N, 0});
    check(&(run){late, N, LITTLE});
}

static void with_runge_kutta(void **state)
{
    assert_int_equal(check(&(run){runge_kutta, N, 0}) & bad_states, bad_states);
}

static void without_resets_of_bad_worlds(void **state)
{
    assert_int_equal(check(&(run){no_reset, N, 0}) & bad_states, bad_states);
}

/* Lanes that share slots are solved one by one where there are too few; a lane that lacks some goes on by itself. */
static void with_too_little_room(void **state)
{
    assert_int_equal(check(&(run){heap, N, LITTLE}) & 1u << STET_FAULT_CONTACTS_FULL, 0);
}

static void with_code_for_the_model(void **state)
{
    assert_int_equal(check(&(run){scene, FEW, 0}) & bad_states, bad_states);
}

static void names_are_checked(void **state)
{
    rig r = rig_make(scene, 2, NULL, 1, false);
    sti_native *n;
    OK(sti_native_create(r.worlds, &n));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "'two'; there are whole", sti_native_set_stages(n, "two"));
    OK(sti_native_steps(n, NULL, 1));
    sti_native_destroy(n);
    if (setenv("STET_STAGES", "two", 1) != 0) fail();
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "'two'; there are whole", sti_native_create(r.worlds, &n));
    (void)unsetenv("STET_STAGES");
    rig_free(&r);
}

/* A time step's launches; what is left of a call's inputs and results is the same. */
static void each_group_is_a_launch(void **state)
{
    /* Stages have one more, for worlds whose acceleration was bad. */
    static const int launches[GROUPINGS] = {1, 2, 4, 8};
    rig r = rig_make(scene, N, NULL, 1, false);
    sti_native *n;
    OK(sti_native_create(r.worlds, &n));
    for (int g = 0; g < GROUPINGS; ++g) {
        OK(sti_native_set_stages(n, groupings[g]));
        OK(sti_native_steps(n, NULL, 3));
        int64_t before = rig_counters(&r).launches;
        OK(sti_native_steps(n, NULL, 2));
        assert_int_equal(rig_counters(&r).launches - before, 2 * launches[g]);
    }
    OK(sti_native_set_stages(n, "whole"));
    OK(sti_native_steps(n, NULL, 1)); /* contacts may be counted once before it */
    int64_t before = rig_counters(&r).launches;
    OK(sti_native_steps(n, NULL, 3));
    assert_int_equal(rig_counters(&r).launches - before, 1);
    sti_native_destroy(n);
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_have_the_bits_of_one_kernel), cmocka_unit_test(with_runge_kutta),
        cmocka_unit_test(without_resets_of_bad_worlds),     cmocka_unit_test(with_too_little_room),
        cmocka_unit_test(with_code_for_the_model),          cmocka_unit_test(names_are_checked),
        cmocka_unit_test(each_group_is_a_launch),           cmocka_unit_test(with_integrators_that_look_ahead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
