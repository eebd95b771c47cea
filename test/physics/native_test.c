/*
 * Native physics as a whole: the same bits everywhere, faults that stay in their world, steps of some worlds, and what
 * is refused. Laws of mechanics: invariant_test.c.
 */
#include "physics/covered.h"
#include "physics/oracle.h"

#include "bench/pilot/humanoid.h"
#include "kernel/record/launch.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/tables.h"
#include "step/step.h"

#include <math.h>

#define ARM                                                                                                            \
    "<body pos='0 0 .2'><joint name='s' axis='1 0 0' damping='.1' stiffness='1'/><geom type='capsule' size='.04' "     \
    "fromto='0 0 0 .2 0 .4'/><body pos='.2 0 .4'><joint type='ball' pos='0 0 .1' damping='.05'/><geom type='box' "     \
    "size='.1 .05 .2'/><body pos='0 0 .3'><joint name='e' type='slide' axis='0 1 1' damping='.3'/><geom size='.1'/>"   \
    "</body></body></body>"
#define MIXED(options)                                                                                                 \
    "<mujoco><option timestep='.005' " options "><flag contact='disable'/></option><worldbody><body pos='0 0 1'>"      \
    "<freejoint/><geom type='box' size='.2 .3 .1'/>" ARM "</body><body pos='2 0 0'><freejoint/><geom type='box' "      \
    "size='.1 .2 .3'/></body><body mocap='true'><geom size='.1'/></body></worldbody><tendon><fixed name='t' "          \
    "stiffness='1' damping='.1'><joint joint='s' coef='1'/><joint joint='e' coef='-2'/></fixed></tendon><actuator>"    \
    "<position joint='s' kp='5' kv='.3'/><general tendon='t' dyntype='filterexact' dynprm='.05'/></actuator></mujoco>"

#define LIMITED                                                                                                        \
    "<mujoco><option timestep='.001' integrator='implicitfast'><flag contact='disable'/></option><worldbody><body "    \
    "name='a'><joint name='a' axis='0 1 0' damping='9' range='-20 30' frictionloss='.3'/><geom type='capsule' "        \
    "size='.05' "                                                                                                      \
    "fromto='0 0 0 .5 0 0'/><body name='b' pos='.5 0 0'><joint type='ball' range='0 40' damping='9'/><geom "           \
    "type='capsule' size='.05' fromto='0 0 0 .4 .2 0'/></body></body><body name='c' pos='1 0 0'><freejoint/><geom "    \
    "type='box' size='.1 .2 .1'/></body></worldbody><equality><connect body1='b' body2='c' anchor='.4 .2 0'/>"         \
    "</equality></mujoco>"

/* Bodies on a height field and in each other. */
#define BODY(geom) "<body pos='0 0 .4'><freejoint/><geom " geom "/></body>"
#define GROUND                                                                                                         \
    "<mujoco><option timestep='.002'/><default><geom density='300' solref='.02 1'/></default><asset><hfield name='h' " \
    "nrow='5' ncol='6' size='2.5 2 .4 .5' elevation='0 .3 .1 .8 .2 1 .5 .9 .2 .4 .7 .3 .1 .1 .6 .2 .5 0 .9 .3 .3 .3 "  \
    ".8 .2 .4 .1 .6 .5 .2 .7'/><mesh name='m' vertex='0 0 0 .4 0 0 0 .5 0 0 0 .3 .3 .3 .3'/></asset><worldbody><geom " \
    "type='hfield' hfield='h' pos='0 0 -.6'/>" BODY("size='.2'") BODY("type='capsule' size='.1 .2'")                   \
        BODY("type='cylinder' size='.2 .1'") BODY("type='mesh' mesh='m'") "</worldbody></mujoco>"

static const struct {
    const char *name, *text;
    uint64_t hash;
} golden[] = {
    {"euler", MIXED("integrator='Euler'"), 0x30f999b161cb7571},
    {"implicitfast", MIXED("integrator='implicitfast'"), 0x3dea447245311dd7},
    {"constraints", LIMITED, 0xed819c25204635c6},
    {"ground", GROUND, 0x0518bc62f4cc40cd},
    {"contacts", HUMANOID(".3", "integrator='implicitfast'"), 0xdea7deede6bd1ed5},
};
enum { GOLDEN = sizeof golden / sizeof *golden, STEPS = 30, N = 21 };

/* Worlds whose world w moves as number first + w of all. */
static rig make_worlds(const char *text, int64_t nworld, int64_t first, const char *isa, int threads)
{
    enum { MOST = 256 };
    float row[MOST];
    static const char *const fields[] = {"qpos", "qvel", "act", "ctrl", "xfrc_applied"};
    rig r = rig_make(text, nworld, isa, threads, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f) {
        stet_array *a = rig_array(&r, fields[f]);
        size_t n = (size_t)a->nitem;
        assert_true(n <= MOST);
        for (int64_t w = 0; n > 0 && w < nworld; ++w) {
            OK(stet_array_read_worlds(a, w, 1, row, n * sizeof *row));
            for (size_t i = 0; i < n; ++i) {
                bool pushed = (first + w) % 3 == 0 || strcmp(fields[f], "xfrc_applied") != 0;
                if (pushed) row[i] += rig_wave(first + w, (int64_t)f, (int64_t)i);
            }
            OK(stet_array_write_worlds(a, w, 1, row, n * sizeof *row));
        }
    }
    return r;
}

static uint64_t state_hash(const rig *r)
{
    return (rig_array_hash(r, "qpos") * 31 + rig_array_hash(r, "qvel")) * 31 + rig_array_hash(r, "act");
}

/* ---- a parameter's array ----------------------------------------------------------------------------------------- */

extern const sti_kernel sti_k_native_take;

/* Gravity of each world, written by a launch, between steps and in a list with them; and what set_parameter makes. */
static void a_kernel_writes_a_parameter(void **state)
{
    double values[3 * N];
    uint64_t hash[3];
    for (int64_t i = 0; i < 3 * N; ++i) values[i] = (double)rig_wave(i / 3, 7, i % 3);
    for (int way = 0; way < 3; ++way) {
        rig r = make_worlds(golden[0].text, N, 0, NULL, 2);
        stet_array *gravity, *from;
        OK(stet_step_run(r.step, 2));
        if (way == 0) {
            OK(stet_worlds_set_parameter(r.worlds, "gravity", values, 3 * N));
            OK(stet_step_run(r.step, 3));
            OK(stet_worlds_get_parameter_array(r.worlds, "gravity", &gravity));
            for (int64_t i = 0; i < 3 * N; ++i) assert_true(reals_get(gravity, i / 3, i % 3) == values[i]);
        } else {
            OK(stet_worlds_get_parameter_array(r.worlds, "gravity", &gravity));
            OK(STI_ARRAY(r.device, "numbers", STET_DTYPE_REAL, true, &from, N, 3));
            for (int64_t w = 0; w < N; ++w) {
                const double *v = values + 3 * w;
                float row[3] = {(float)v[0], (float)v[1], (float)v[2]};
                OK(stet_array_write_worlds(from, w, 1, row, sizeof row));
            }
            if (way == 2) OK(stet_record_begin(r.device, "a parameter and steps"));
            OK(STI_LAUNCH(sti_k_native_take, r.device, N, sti_arg_array(from), sti_arg_array(gravity), sti_arg_int(0),
                          sti_arg_int(3)));
            OK(stet_step_run(r.step, 3));
            if (way == 2) OK(stet_record_end(r.device, STET_OK));
            stet_array_destroy(from);
        }
        hash[way] = state_hash(&r);
        OK(stet_worlds_set_parameter(r.worlds, "gravity", NULL, 0));
        OK(stet_step_run(r.step, 1));
        rig_free(&r);
    }
    assert_true(hash[0] == hash[1] && hash[0] == hash[2]);
}

/* World w of a and world v of b have the same bits. */
static void check_same(const rig *a, int64_t w, const rig *b, int64_t v)
{
    static const char *const fields[] = {"qpos", "qvel", "act", "time", "qacc_warmstart"};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f)
        for (int64_t i = 0; i < rig_array(a, fields[f])->nitem; ++i) {
            double x = rig_get(a, fields[f], w, i), y = rig_get(b, fields[f], v, i);
            assert_true(x == y && signbit(x) == signbit(y));
        }
}

static void golden_hashes_everywhere(void **state)
{
    for (size_t k = 0; k < GOLDEN; ++k) FOR_FLOAT_ISAS(isa)
    for (int threads = 1; threads <= 3; threads += 2) {
        rig r = make_worlds(golden[k].text, N, 0, sti_isa_name((sti_isa)isa), threads);
        OK(stet_step_run(r.step, STEPS));
        for (int64_t w = 0; w < N; ++w) assert_int_equal(stet_worlds_get_faults(r.worlds)[w], 0);
        if (state_hash(&r) != golden[k].hash)
            fail_msg("%s on %s: %016" PRIx64 ", not %016" PRIx64, golden[k].name, stet_device_get_name(r.device),
                     state_hash(&r), golden[k].hash);
        rig_free(&r);
    }
}

/* The device that the run is about, a GPU or its double: teams of threads compute the same bits. */
static void golden_hashes_on_the_device(void **state)
{
    for (size_t k = 0; k < GOLDEN; ++k) {
        rig r = make_worlds(golden[k].text, N, 0, NULL, 1);
        OK(stet_step_run(r.step, STEPS));
        assert_true(state_hash(&r) == golden[k].hash);
        rig_free(&r);
    }
}

static void a_world_depends_on_itself_alone(void **state)
{
    static const int64_t sizes[] = {1, 3, 16, 40}, firsts[] = {0, 5, 13};
    for (size_t k = 0; k < GOLDEN; ++k) {
        rig all = make_worlds(golden[k].text, 64, 0, NULL, 2);
        OK(stet_step_run(all.step, STEPS));
        for (size_t s = 0; s < 4; ++s)
            for (size_t f = 0; f < 3; ++f) {
                rig some = make_worlds(golden[k].text, sizes[s], firsts[f], NULL, 1);
                OK(stet_step_run(some.step, STEPS));
                for (int64_t w = 0; w < sizes[s]; ++w) check_same(&all, firsts[f] + w, &some, w);
                rig_free(&some);
            }
        rig_free(&all);
    }
}

static void n_steps_are_n_single_ones(void **state)
{
    rig a = make_worlds(golden[1].text, N, 0, NULL, 1), b = make_worlds(golden[1].text, N, 0, NULL, 1);
    OK(stet_step_run(a.step, 12));
    for (int i = 0; i < 12; ++i) OK(stet_step_run(b.step, 1));
    for (int64_t w = 0; w < N; ++w) check_same(&a, w, &b, w);
    rig_free(&a);
    rig_free(&b);
}

static void poses_follow_a_step(void **state)
{
    rig r = make_worlds(golden[0].text, 3, 0, NULL, 1);
    sti_native *native;
    stet_array *xpos;
    OK(stet_step_run(r.step, 3));
    OK(sti_native_create(r.worlds, &native));
    OK(sti_native_quantity(native, "xpos", &xpos));
    for (int64_t w = 0; w < 3; ++w)
        for (int64_t i = 0; i < xpos->nitem; ++i)
            assert_true(fabs(reals_get(xpos, w, i) - rig_get(&r, "xpos", w, i)) < 1e-5);
    stet_array *none;
    FAILS(sti_native_quantity(native, "efc_none", &none), STET_ERROR_NOT_FOUND, "efc_none");
    stet_array_destroy(xpos);
    sti_native_destroy(native);
    rig_free(&r);
}

static void a_mask_steps_some_worlds(void **state)
{
    uint8_t mask[N];
    rig a = make_worlds(golden[0].text, N, 0, NULL, 1), b = make_worlds(golden[0].text, N, 0, NULL, 1);
    rig still = make_worlds(golden[0].text, N, 0, NULL, 1);
    for (int w = 0; w < N; ++w) mask[w] = w % 3 == 1;
    OK(stet_step_run_worlds(a.step, mask, 4));
    OK(stet_step_run(b.step, 4));
    for (int w = 0; w < N; ++w) check_same(&a, w, mask[w] ? &b : &still, w);
    OK(stet_step_run(a.step, 1));
    OK(stet_step_run(b.step, 1));
    for (int w = 0; w < N; ++w)
        if (mask[w]) check_same(&a, w, &b, w);
    rig_free(&a);
    rig_free(&b);
    rig_free(&still);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/* A world that goes bad has MuJoCo's state afterwards, and all other worlds the bits that they have without it. */
static void a_bad_number_stays_in_its_world(void **state)
{
    static const struct {
        const char *field;
        int64_t item;
        float value;
        uint32_t faults;
    } bad[] = {
        {"qpos", 1, NAN, 1u << STET_FAULT_BAD_QPOS},           {"qpos", 8, -INFINITY, 1u << STET_FAULT_BAD_QPOS},
        {"qvel", 2, NAN, 1u << STET_FAULT_BAD_QVEL},           {"qvel", 2, 1e20f, 1u << STET_FAULT_BAD_QVEL},
        {"ctrl", 0, NAN, 1u << STET_FAULT_BAD_CTRL},           {"ctrl", 1, 1e15f, 1u << STET_FAULT_BAD_CTRL},
        {"qfrc_applied", 0, NAN, 1u << STET_FAULT_BAD_QACC},   {"xfrc_applied", 12, NAN, 1u << STET_FAULT_BAD_QACC},
        {"qfrc_applied", 1, 1e20f, 1u << STET_FAULT_BAD_QACC},
    };
    static const char *const all[] = {"qpos",         "qvel",         "act",       "ctrl",      "time",
                                      "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat"};
    enum { BAD = 4, STEPS_BAD = 5 };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        rig r = make_worlds(golden[0].text, N, 0, NULL, 2), clean = make_worlds(golden[0].text, N, 0, NULL, 2);
        rig mujoco = rig_make(golden[0].text, N, NULL, 1, true);
        rig_step(&mujoco, STET_PHYSICS_MUJOCO);
        rig_set(&r, bad[k].field, BAD, bad[k].item, bad[k].value);
        rig_set(&r, "mocap_pos", BAD, 0, 3);
        for (size_t f = 0; f < sizeof all / sizeof *all; ++f)
            for (int64_t i = 0; i < rig_array(&r, all[f])->nitem; ++i)
                rig_set(&mujoco, all[f], BAD, i, (float)rig_get(&r, all[f], BAD, i));
        OK(stet_step_run(r.step, STEPS_BAD));
        OK(stet_step_run(clean.step, STEPS_BAD));
        OK(stet_step_run(mujoco.step, STEPS_BAD));
        for (int64_t w = 0; w < N; ++w) {
            assert_int_equal(stet_worlds_get_faults(r.worlds)[w], w == BAD ? bad[k].faults : 0);
            if (w != BAD) check_same(&r, w, &clean, w);
        }
        assert_int_equal(stet_worlds_get_faults(mujoco.worlds)[BAD], bad[k].faults);
        for (size_t f = 0; f < sizeof all / sizeof *all; ++f)
            for (int64_t i = 0; i < rig_array(&r, all[f])->nitem; ++i) {
                double x = rig_get(&r, all[f], BAD, i), y = rig_get(&mujoco, all[f], BAD, i);
                if (!(fabs(x - y) <= 1e-4 * fmax(1, fabs(y))) && !(x != x && y != y))
                    fail_msg("%s %d: %s %d is %g, MuJoCo's %g", bad[k].field, (int)bad[k].item, all[f], (int)i, x, y);
            }
        rig_free(&r);
        rig_free(&clean);
        rig_free(&mujoco);
    }
}

/* Lanes share the slots of contacts: a world that goes bad among worlds in contact leaves their bits as they are. */
static void a_bad_number_stays_in_its_world_among_contacts(void **state)
{
    static const struct {
        const char *field;
        float value;
    } bad[] = {{"qpos", NAN}, {"qvel", NAN}, {"qvel", 1e9f}, {"qfrc_applied", NAN}, {"qpos", 1e9f}};
    enum { BAD = 4, LAST = GOLDEN - 1 };
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        rig r = make_worlds(golden[LAST].text, N, 0, NULL, 1), clean = make_worlds(golden[LAST].text, N, 0, NULL, 1);
        rig_set(&r, bad[k].field, BAD, 2, bad[k].value);
        OK(stet_step_run(r.step, 8));
        OK(stet_step_run(clean.step, 8));
        for (int64_t w = 0; w < N; ++w)
            if (w != BAD) check_same(&r, w, &clean, w);
        rig_free(&r);
        rig_free(&clean);
    }
}

/*
 * All boxes of one world at one place have ten times as many contacts as there is room for in the beginning: the world
 * waits for room, is the same on all devices, and no other world notices.
 */
static void too_many_contacts_stay_in_their_world(void **state)
{
    (void)state;
    enum { BOXES = 40, FULL = 5, WORLDS = 64 };
    static char text[1 << 14];
    size_t at = (size_t)snprintf(text, sizeof text, "<mujoco><worldbody><geom type='plane' size='9 9 1'/>");
    for (int k = 0; k < BOXES; ++k)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "<body pos='%d 0 .09'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 "
                               "0'/><joint type='slide' axis='0 0 1'/><geom type='box' size='.1 .1 .1'/></body>",
                               k);
    (void)snprintf(text + at, sizeof text - at, "</worldbody></mujoco>");
    uint64_t hash = 0;
    FOR_FLOAT_ISAS(isa)
    {
        rig r = make_worlds(text, WORLDS, 0, sti_isa_name((sti_isa)isa), 2);
        rig clean = make_worlds(text, WORLDS, 0, sti_isa_name((sti_isa)isa), 2);
        for (int k = 0; k < BOXES; ++k)
            for (int i = 0; i < 3; ++i) rig_set(&r, "qpos", FULL, 3 * k + i, i == 0 ? (float)(.002 * k - k) : 0);
        OK(stet_step_run(r.step, 1));
        OK(stet_step_run(clean.step, 1));
        for (int64_t w = 0; w < WORLDS; ++w) {
            assert_int_equal(stet_worlds_get_faults(r.worlds)[w], 0);
            if (w != FULL) check_same(&r, w, &clean, w);
        }
        if (hash == 0) hash = state_hash(&r);
        assert_true(state_hash(&r) == hash);
        rig_free(&r);
        rig_free(&clean);
    }
}

/* A chain of five links that flies, and whose last joint has a limit. */
#define LINK(limits)                                                                                                   \
    "<body pos='.2 .03 0'><joint axis='.1 1 0'" limits "/><geom type='capsule' size='.02' fromto='0 .01 .03 .2 0 0'/>"
#define FLYING_CHAIN                                                                                                   \
    "<mujoco><default><geom contype='0' conaffinity='0'/></default><worldbody><body pos='.3 .7 1.1'><freejoint/>"      \
    "<geom type='box' pos='.1 .05 .02' size='.1 .07 .03'/>" LINK("") LINK("") LINK("") LINK("")                        \
        LINK(" limited='true' range='-60 60'") "</body></body></body></body></body></body></worldbody></mujoco>"

/* In free fall the acceleration is all but the last step's, so that rounding decides which of them costs less. */
static void a_neighbour_at_its_limit_changes_no_bit(void **state)
{
    enum { BENT = 2, BENT_JOINT = 11, FALLING = 40 };
    rig r, calm, *both[] = {&r, &calm};
    for (int k = 0; k < 2; ++k) {
        *both[k] = rig_make(FLYING_CHAIN, N, NULL, 1, false);
        rig_step(both[k], STET_PHYSICS_NATIVE);
        for (int64_t w = 0; w < N; ++w)
            for (int64_t i = 3; i <= BENT_JOINT; ++i) rig_set(both[k], "qpos", w, i, (float)0.9 * rig_wave(w, i, 0));
        if (k == 0) rig_set(both[k], "qpos", BENT, BENT_JOINT, 2);
        OK(stet_step_run(both[k]->step, FALLING));
    }
    for (int64_t w = 0; w < N; ++w)
        if (w != BENT) check_same(&r, w, &calm, w);
    rig_free(&r);
    rig_free(&calm);
}

/* Slots of a neighbour's contact add zeros, which leave a zero its sign. */
static void a_neighbour_in_contact_changes_no_sign_of_zero(void **state)
{
    enum { TOUCHES = 2 };
    rig r, calm, *both[] = {&r, &calm};
    for (int k = 0; k < 2; ++k) {
        *both[k] = rig_make(COVERED_SCENE, N, NULL, 1, false);
        rig_step(both[k], STET_PHYSICS_NATIVE);
        for (int64_t w = 0; w < N; ++w) {
            rig_set(both[k], "qpos", w, 2, k == 0 && w == TOUCHES ? 0.09f : 5);
            for (int64_t i = 6; i < 12; ++i) rig_set(both[k], "xfrc_applied", w, i, rig_wave(w, i, 0) > 0 ? -0.0f : 0);
            for (int64_t i = 0; i < 6; ++i) rig_set(both[k], "qacc_warmstart", w, i, rig_wave(w, i, 1) > 0 ? -0.0f : 0);
            for (int64_t i = 0; i < 6; ++i) rig_set(both[k], "qvel", w, i, rig_wave(w, i, 2) > 0 ? -0.0f : 0);
        }
        OK(stet_step_run(both[k]->step, 1));
    }
    for (int i = 0; i < 6; ++i) {
        for (int64_t w = 0; w < N; ++w)
            if (w != TOUCHES) check_same(&r, w, &calm, w);
        OK(stet_step_run(r.step, 1));
        OK(stet_step_run(calm.step, 1));
    }
    rig_free(&r);
    rig_free(&calm);
}

/* With autoreset disabled a bad world stays bad, and says so. */
static void without_autoreset_a_world_stays_bad(void **state)
{
    rig r = rig_make("<mujoco><option><flag autoreset='disable'/></option><worldbody><body><joint/><geom size='.1' "
                     "pos='1 0 0'/></body></worldbody></mujoco>",
                     3, NULL, 1, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    rig_set(&r, "qvel", 1, 0, NAN);
    OK(stet_step_run(r.step, 2));
    assert_true(stet_worlds_get_faults(r.worlds)[1] & 1u << STET_FAULT_BAD_QVEL);
    assert_true(isnan(rig_get(&r, "qpos", 1, 0)) && !isnan(rig_get(&r, "qpos", 0, 0)));
    assert_int_equal(stet_worlds_get_faults(r.worlds)[0], 0);
    rig_free(&r);
}

/* A model that asks for another solver gets Newton's method, whose result is at least as near to what all solve. */
static void other_solvers_are_newtons_method(void **state)
{
    static const char *const solvers[] = {"Newton", "CG", "PGS"};
    uint64_t want = 0;
    for (int k = 0; k < 3; ++k) {
        char text[512], reason[200];
        (void)snprintf(
            text, sizeof text,
            "<mujoco><option solver='%s' iterations='100'/><worldbody><geom type='plane' size='1 1 1'/><body "
            "pos='0 0 .09'><freejoint/><geom type='box' size='.1 .1 .1'/></body></worldbody></mujoco>",
            solvers[k]);
        rig r = rig_make(text, 3, NULL, 1, false);
        rig_step(&r, STET_PHYSICS_NATIVE);
        assert_true(sti_step_native_suits(r.model, r.device, 3, -1, reason, sizeof reason));
        assert_int_equal(strstr(reason, "Newton's method") != NULL, k > 0);
        mjData *d = mj_makeData(r.model->mj);
        for (int i = 0; i < 20; ++i) mj_step(r.model->mj, d);
        OK(stet_step_run(r.step, 20));
        for (int i = 0; i < 7; ++i) assert_true(fabs(rig_get(&r, "qpos", 1, i) - d->qpos[i]) < 1e-4);
        if (k == 0) want = rig_hash(&r);
        assert_true(rig_hash(&r) == want);
        mj_deleteData(d);
        rig_free(&r);
    }
}

/* ---- refusals and tables ----------------------------------------------------------------------------------------- */

#define ACTUATED(actuator)                                                                                             \
    "<mujoco><worldbody><body name='b'><joint name='a'/><geom size='1'/></body></worldbody><actuator>" actuator        \
    "</actuator></mujoco>"

static void what_is_missing_is_listed(void **state)
{
    static const struct {
        const char *scene, *words;
    } rows[] = {
        {"<mujoco><option integrator='discrete'/><worldbody><body><joint name='a'/><geom size='1'/></body><body>"
         "<joint name='b'/><geom size='1'/></body></worldbody><tendon><fixed stiffness='1'><joint joint='a' coef='1'/>"
         "<joint joint='b' coef='1'/></fixed></tendon></mujoco>",
         "between dofs of which none moves the other"},
        {"<mujoco><option><flag speculative='enable'/></option><worldbody><geom type='plane' size='1 1 1'/><body>"
         "<freejoint/><geom size='1'/></body></worldbody></mujoco>",
         "speculative contacts"},
        {"<mujoco><option><flag nativeccd='disable'/></option><worldbody><geom type='box' size='1 1 "
         "1'/><body><freejoint/>"
         "<geom type='ellipsoid' size='1 1 1'/></body></worldbody></mujoco>",
         "libccd"},
        {"<mujoco><option><flag sleep='enable'/></option><worldbody><body><freejoint/><geom "
         "size='1'/></body></worldbody>"
         "</mujoco>",
         "sleeping"},
        {ACTUATED("<general joint='a' gaintype='user'/>"), "of actuators that a user defines"},
        {ACTUATED("<general joint='a' gaintype='dcmotor' dyntype='dcmotor' actearly='true' dynprm='0' gainprm='1 1' "
                  "biastype='affine'/>"),
         "parts of DC motors"},
        {ACTUATED("<general body='b' gaintype='affine' gainprm='1 2 3'/>"), "adhesion of bodies by a force"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        rig r = rig_make(rows[k].scene, 1, NULL, 1, false);
        REFUSED(STET_ERROR_UNSUPPORTED, rows[k].words, stet_step_create(r.worlds, STET_PHYSICS_NATIVE, &r.step));
        rig_free(&r);
    }
    rig exact = rig_make("<mujoco/>", 1, NULL, 1, true);
    REFUSED(STET_ERROR_STATE, "exact = false", stet_step_create(exact.worlds, STET_PHYSICS_NATIVE, &exact.step));
    rig_free(&exact);
}

static void features_of_a_model_are_listed(void **state)
{
    stet_model *model = rig_model("cartpole.xml");
    bool covered = false, joints = false, limits = false;
    const char *name;
    for (int i = 0; (name = stet_native_get_feature(model, i, &covered)) != NULL; ++i) {
        joints = joints || (strcmp(name, "joints") == 0 && covered);
        limits = limits || (strcmp(name, "joint limits") == 0 && covered);
        assert_true(i < 40);
    }
    assert_true(joints && limits);
    assert_null(stet_native_get_feature(NULL, 0, NULL));
    stet_model_destroy(model);
    /* the flag sleep alone is nothing that the physics needs: what has actuators never sleeps */
    model =
        rig_model("<mujoco><option><flag sleep='enable'/></option><worldbody><geom type='plane' size='1 1 1'/><body>"
                  "<joint name='a'/><geom size='1'/></body></worldbody><actuator><motor joint='a'/></actuator>"
                  "</mujoco>");
    for (int i = 0; (name = stet_native_get_feature(model, i, &covered)) != NULL; ++i) assert_true(covered);
    stet_model_destroy(model);
}

static void tables_are_complete(void **state)
{
    for (size_t k = 0; k < GOLDEN; ++k) {
        stet_model *model = rig_model(golden[k].text);
        sti_physics_tables t;
        OK(sti_physics_tables_make(model->mj, &t));
        assert_null(sti_validate_physics_tables(&t));
        int kept = t.m[M_BODY_MASS];
        t.m[M_BODY_MASS] = t.nf + 1;
        assert_non_null(sti_validate_physics_tables(&t));
        t.m[M_BODY_MASS] = kept;
        t.m[W_QVEL] = t.m[W_ACT] + 1;
        assert_non_null(sti_validate_physics_tables(&t));
        sti_physics_tables_free(&t);
        stet_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_hashes_everywhere),
        cmocka_unit_test(golden_hashes_on_the_device),
        cmocka_unit_test(a_world_depends_on_itself_alone),
        cmocka_unit_test(n_steps_are_n_single_ones),
        cmocka_unit_test(poses_follow_a_step),
        cmocka_unit_test(a_mask_steps_some_worlds),
        cmocka_unit_test(a_kernel_writes_a_parameter),
        cmocka_unit_test(a_bad_number_stays_in_its_world),
        cmocka_unit_test(a_bad_number_stays_in_its_world_among_contacts),
        cmocka_unit_test(too_many_contacts_stay_in_their_world),
        cmocka_unit_test(a_neighbour_at_its_limit_changes_no_bit),
        cmocka_unit_test(a_neighbour_in_contact_changes_no_sign_of_zero),
        cmocka_unit_test(without_autoreset_a_world_stays_bad),
        cmocka_unit_test(other_solvers_are_newtons_method),
        cmocka_unit_test(what_is_missing_is_listed),
        cmocka_unit_test(features_of_a_model_are_listed),
        cmocka_unit_test(tables_are_complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
