/*
 * What follows from the state, read on a tape: gradients of poses, quantities and sensors against central differences
 * in double, of the present state and behind steps whose controls are made from poses; what has none is refused by
 * name; and a sim goes on as if there had been no tape. Gradients of steps: native_tape_test.c.
 */
#include "sim/phases.h"

#include "stet/adjoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

/* Joints of all kinds, several in a body, sites, cameras, tendons, a mocap body; nothing touches. */
#define PARTS                                                                                                          \
    "<worldbody><site name='still' pos='.3 -.2 .9' euler='10 20 30'/><body name='hand' mocap='true' pos='1 1 1'>"      \
    "<site name='held' pos='.1 0 0' euler='30 0 10'/><geom size='.02'/></body>"                                        \
    "<body name='a' pos='0 .1 1' euler='10 0 20'><freejoint name='f'/><geom name='g' type='capsule' size='.05 .1' "    \
    "pos='.05 0 .02' euler='20 30 0'/><site name='sa' pos='.1 .2 -.1' euler='40 10 0'/><camera name='c' "              \
    "pos='0 0 .3' euler='10 0 0'/><body name='b' pos='.3 0 0' euler='0 30 0'><joint name='u' axis='0 1 1' "            \
    "pos='0 .02 .01'/><joint name='v' type='slide' axis='1 0 1'/><joint name='w' axis='1 0 0'/><geom type='box' "      \
    "size='.05 .06 .1' pos='0 0 .05'/><body name='d' pos='0 .3 0'><joint name='e' type='ball' pos='0 .01 0'/>"         \
    "<geom type='capsule' size='.04 .1' pos='.05 0 .05' euler='0 40 0'/><site name='sb' pos='0 .1 .1' "                \
    "euler='0 50 20'/></body></body></body><body name='h' pos='-1 0 1'><joint name='k' axis='0 1 0' damping='.1' "     \
    "stiffness='1'/><geom type='capsule' size='.04 .1' pos='.1 0 0' mass='.7'/><site name='sc' pos='.1 0 .1'/>"        \
    "</body></worldbody><tendon><spatial name='t' stiffness='5' damping='.2'><site site='still'/><site site='sb'/>"    \
    "<site site='sc'/></spatial><fixed name='x'><joint joint='u' coef='.7'/><joint joint='k' coef='-.4'/></fixed>"     \
    "</tendon><actuator><motor name='m0' joint='u' gear='2'/><position tendon='x' kp='3'/><motor name='m2' "           \
    "tendon='t' gear='.5'/>"                                                                                           \
    "<motor joint='e' gear='1 .5 -.3'/><motor site='sb' gear='1 0 .5 .2 0 0'/><general joint='k' dyntype='filter' "    \
    "dynprm='.05' gainprm='2'/></actuator>"
#define SENSORS                                                                                                        \
    "<sensor><jointpos joint='u'/><jointvel joint='v'/><tendonpos tendon='t'/><tendonvel tendon='t'/>"                 \
    "<tendonpos tendon='x'/><actuatorpos actuator='m0'/><actuatorvel actuator='m2'/><ballquat joint='e'/>"             \
    "<ballangvel joint='e'/><framepos objtype='site' objname='sb'/><framepos objtype='body' objname='d' "              \
    "reftype='site' refname='sa'/><framequat objtype='geom' objname='g'/><framequat objtype='xbody' objname='d' "      \
    "reftype='body' refname='a'/><framexaxis objtype='site' objname='sb'/><framezaxis objtype='camera' objname='c' "   \
    "reftype='site' refname='held'/><framelinvel objtype='site' objname='sb'/><framelinvel objtype='xbody' "           \
    "objname='d' reftype='site' refname='sa'/><frameangvel objtype='body' objname='d'/><frameangvel objtype='site' "   \
    "objname='sb' reftype='xbody' refname='h'/><velocimeter site='sb'/><gyro site='sb'/><subtreecom body='b'/>"        \
    "<subtreelinvel body='a'/><magnetometer site='sb'/><clock/><velocimeter site='sa' cutoff='.3'/>" MORE_SENSORS      \
    "</sensor>"
#define ACCELERATIONS                                                                                                  \
    "<accelerometer site='sb'/><framelinacc objtype='body' objname='d'/><frameangacc objtype='site' objname='sc'/>"
#define MORE_SENSORS
static const char moving[] =
    "<mujoco><option timestep='.004'><flag contact='disable'/></option>" PARTS SENSORS "</mujoco>";
#undef MORE_SENSORS
#define MORE_SENSORS ACCELERATIONS
static const char feeling[] =
    "<mujoco><option timestep='.004'/><default><geom friction='.7'/></default>" PARTS SENSORS "</mujoco>";
#undef MORE_SENSORS

/* A body that lies on a plane, with rows of contacts in its acceleration. */
static const char lying[] =
    "<mujoco><option timestep='.004' cone='elliptic'/><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 "
    ".048'><freejoint/><geom type='capsule' size='.05 .2' euler='0 90 0'/><site name='s' pos='.1 0 .02' "
    "euler='0 20 0'/><site name='all' size='.3'/><body pos='0 0 .1'><joint name='j' axis='0 1 0' damping='.1' "
    "range='-20 -1'/><geom size='.04' mass='.2' "
    "pos='.1 0 .1'/></body></body></worldbody><actuator><motor joint='j'/></actuator><sensor><accelerometer "
    "site='s'/><gyro site='s'/><touch site='all'/><jointlimitfrc joint='j'/></sensor></mujoco>";

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

enum { FIELDS = 8, MOST_NUMBERS = 512, MOST_WEIGHTS = 4096 };
static const char *const fields[FIELDS] = {"qpos",         "qvel",         "act",       "ctrl",
                                           "qfrc_applied", "xfrc_applied", "mocap_pos", "mocap_quat"};

typedef struct numbers {
    int n, count[FIELDS];
    double x[MOST_NUMBERS];
} numbers;

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

/* Around the first state; forces at bodies but the world's. */
static void draw(stet_sim *sim, double size, uint64_t *dice, numbers *out)
{
    out->n = 0;
    for (int f = 0; f < FIELDS; ++f) {
        stet_array *a = array_of(sim, fields[f]);
        double most = f == 0 || f >= 6 ? size : 0.5;
        out->count[f] = (int)a->nitem;
        assert_true(out->n + out->count[f] <= MOST_NUMBERS);
        for (int i = 0; i < out->count[f]; ++i, ++out->n)
            out->x[out->n] = get(a, 0, i) + (f == 5 && i < 6 ? 0 : most * drawn(dice));
    }
}

static void put(stet_sim *sim, const numbers *b, int64_t w, const double *x)
{
    for (int f = 0, at = 0; f < FIELDS; at += b->count[f++]) {
        stet_array *a = array_of(sim, fields[f]);
        void *mirror;
        OK(sti_array_mirror_write(a, &mirror));
        for (int i = 0; i < b->count[f]; ++i) sti_mirror_set(a, mirror, w, i, x[at + i]);
        sti_array_mirror_written(a);
    }
}

/* ---- a loop through poses ---------------------------------------------------------------------------------------- */

/* ctrl = gain * numbers of xpos and of sensordata: where something is has a part in how it goes on. */
static const char loop_source[] =
    "#include \"stet/lang.h\"\n"
    "world_kernel void k_loop(const real *xpos, const real *sensed, real *ctrl, int npos, int nsensed, int n)\n"
    "{ each (i, n) put(ctrl, i, splat((ureal)0.3) * xpos[(7 * i + 4) % npos] + splat((ureal)0.2) * "
    "sensed[(5 * i) % nsensed]); }\n";

typedef struct loop {
    stet_sim *sim;
    stet_kernel *kernel;
} loop;

static loop loop_open(const char *scene, int64_t nworld, const char *isa)
{
    loop l = {.sim = room_open(
                  scene, &(room_def){.nworld = nworld, .threads = 2, .isa = isa, .physics = STET_PHYSICS_NATIVE})};
    stet_kernel_def def = stet_default_kernel_def();
    def.source = loop_source;
    def.name = "k_loop";
    def.cache_folder = folder;
    OK(stet_kernel_create(stet_sim_get_device(l.sim), &def, &l.kernel));
    return l;
}

static void loop_close(loop *l)
{
    stet_kernel_destroy(l->kernel);
    stet_sim_destroy(l->sim);
}

static stet_result loop_steps(const loop *l, stet_tape *tape, int n)
{
    stet_array *xpos = array_of(l->sim, "xpos"), *sensed = array_of(l->sim, "sensordata");
    stet_array *ctrl = array_of(l->sim, "ctrl");
    const stet_arg args[] = {stet_arg_array(xpos),      stet_arg_array(sensed),      stet_arg_array(ctrl),
                             stet_arg_int(xpos->nitem), stet_arg_int(sensed->nitem), stet_arg_int(ctrl->nitem)};
    for (int k = 0; k < n; ++k) {
        if (tape) STI_TRY(stet_tape_step(tape));
        STI_TRY(stet_kernel_launch(l->kernel, xpos->shape[0], args, 6));
        STI_TRY(stet_sim_step(l->sim, 2));
    }
    return STET_OK;
}

/* ---- against differences ----------------------------------------------------------------------------------------- */

typedef struct question {
    const char *scene, *array;
    int steps;
    double size, limit;
} question;

static void weigh(stet_tape *tape, stet_array *a, const double *weight)
{
    stet_array *g;
    void *mirror;
    OK(stet_tape_get_gradient(tape, a, &g));
    OK(stet_tape_zero(tape));
    OK(sti_array_mirror_write(g, &mirror));
    for (int64_t w = 0; w < a->shape[0]; ++w)
        for (int64_t i = 0; i < a->nitem; ++i) sti_mirror_set(g, mirror, w, i, weight[i]);
    sti_array_mirror_written(g);
}

static void gradients(const question *q, const numbers *b, const double *weight, double *out)
{
    loop l = loop_open(q->scene, 1, "f64");
    stet_tape_def def = stet_default_tape_def();
    stet_tape *tape;
    stet_array *a = array_of(l.sim, q->array);
    OK(stet_tape_create(stet_sim_get_device(l.sim), &def, &tape));
    put(l.sim, b, 0, b->x);
    (void)get(a, 0, 0); /* it is up to date before the tape begins */
    OK(stet_tape_begin(tape));
    OK(stet_tape_end(tape, loop_steps(&l, tape, q->steps)));
    for (int pass = 0; pass < 2; ++pass) {
        weigh(tape, a, weight);
        OK(stet_tape_backward(tape));
        for (int f = 0, at = 0; f < FIELDS; ++f) {
            stet_array *g;
            OK(stet_tape_get_gradient(tape, array_of(l.sim, fields[f]), &g));
            for (int i = 0; i < b->count[f]; ++i, ++at) {
                double x = get(g, 0, i);
                if (pass > 0 && memcmp(&x, out + at, sizeof x) != 0)
                    fail_msg("%s: a second pass gives %.17g, not %.17g", q->array, x, out[at]);
                out[at] = x;
            }
        }
    }
    stet_tape_destroy(tape);
    loop_close(&l);
}

static void differences(const question *q, const numbers *b, const double *weight, double h, double *out)
{
    loop l = loop_open(q->scene, 2 * b->n, "f64");
    double x[MOST_NUMBERS];
    for (int i = 0; i < 2 * b->n; ++i) {
        memcpy(x, b->x, sizeof x);
        x[i / 2] += i % 2 ? -h : h;
        put(l.sim, b, i, x);
    }
    OK(loop_steps(&l, NULL, q->steps));
    stet_array *a = array_of(l.sim, q->array);
    for (int i = 0; i < b->n; ++i) {
        out[i] = 0;
        for (int k = 0; k < a->nitem; ++k) out[i] += weight[k] * (get(a, 2 * i, k) - get(a, 2 * i + 1, k)) / (2 * h);
    }
    loop_close(&l);
}

static void compare(const question *q, uint64_t *dice)
{
    static double found[MOST_NUMBERS], one[MOST_NUMBERS], two[MOST_NUMBERS], weight[MOST_WEIGHTS];
    static numbers b;
    loop l = loop_open(q->scene, 1, "f64");
    int nweight = (int)array_of(l.sim, q->array)->nitem, kinks = 0, nmoving = 0;
    double greatest = 1e-3, worst = 0;
    assert_true(nweight <= MOST_WEIGHTS);
    draw(l.sim, q->size, dice, &b);
    for (int i = 0; i < nweight; ++i) weight[i] = drawn(dice);
    loop_close(&l);
    gradients(q, &b, weight, found);
    differences(q, &b, weight, 1e-6, one);
    differences(q, &b, weight, 3e-6, two);
    for (int i = 0; i < b.n; ++i) greatest = fmax(greatest, fabs(one[i]));
    for (int i = 0; i < b.n; ++i) {
        bool kink = !(fabs(one[i] - two[i]) <= q->limit * greatest);
        kinks += kink;
        nmoving += fabs(one[i]) > 1e-6 * greatest;
        if (kink) continue;
        worst = fmax(worst, fabs(found[i] - one[i]) / greatest);
        if (!(fabs(found[i] - one[i]) <= q->limit * greatest))
            fail_msg("%s, %d steps, number %d: %.12g, by differences %.12g", q->array, q->steps, i, found[i], one[i]);
    }
    print_message("%s, %d steps: %d numbers, %d move it, %d at a kink, greatest error %.1e\n", q->array, q->steps, b.n,
                  nmoving, kinks, worst);
    assert_true(nmoving > 2 && 20 * kinks <= b.n);
}

static void quantities_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("quantities_have_their_gradients");
    static const char *const names[] = {
        "xpos",          "xquat",      "xmat",         "xipos",           "ximat",      "geom_xpos",
        "geom_xmat",     "geom_xquat", "site_xpos",    "site_xmat",       "site_xquat", "subtree_com",
        "cvel",          "ten_length", "ten_velocity", "actuator_length", "sensordata", "actuator_velocity",
        "subtree_linvel"};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
        compare(&(question){moving, names[k], 0, .3, 1e-7}, &dice);
}

static void accelerations_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("accelerations_have_their_gradients");
    static const char *const names[] = {"qacc", "sensordata"};
    for (int k = 0; k < 2; ++k) {
        compare(&(question){feeling, names[k], 0, .3, 1e-6}, &dice);
        compare(&(question){lying, names[k], 0, .001, 1e-5}, &dice);
    }
}

static void loops_through_poses_and_sensors_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("loops_through_poses_and_sensors_have_their_gradients");
    compare(&(question){moving, "xpos", 6, .2, 1e-6}, &dice);
    compare(&(question){feeling, "sensordata", 5, .2, 1e-5}, &dice);
    compare(&(question){moving, "qpos", 4, .2, 1e-6}, &dice);
    compare(&(question){lying, "sensordata", 4, .001, 1e-4}, &dice);
}

/* ---- the sim, bits ----------------------------------------------------------------------------------------------- */

static stet_tape *tape_of(stet_sim *sim, int64_t every)
{
    stet_tape_def def = stet_default_tape_def();
    stet_tape *tape;
    def.every = every;
    OK(stet_tape_create(stet_sim_get_device(sim), &def, &tape));
    return tape;
}

static void same_numbers(stet_sim *a, stet_sim *b, const char *name)
{
    stet_array *one = array_of(a, name), *two = array_of(b, name);
    for (int64_t w = 0; w < one->shape[0]; ++w)
        for (int64_t i = 0; i < one->nitem; ++i)
            if (get(one, w, i) != get(two, w, i))
                fail_msg("%s[%d] of world %d: %.9g, without a tape %.9g", name, (int)i, (int)w, get(one, w, i),
                         get(two, w, i));
}

static void a_sim_goes_on_as_if_nothing_had_been(void **state)
{
    enum { NWORLD = 5, STEPS = 7 };
    loop l = loop_open(moving, NWORLD, NULL), twin = loop_open(moving, NWORLD, NULL);
    stet_tape *tape = tape_of(l.sim, 2);
    static double weight[MOST_WEIGHTS];
    for (int k = 0; k < MOST_WEIGHTS; ++k) weight[k] = 1;
    for (int turn = 0; turn < 3; ++turn) {
        OK(stet_tape_begin(tape));
        OK(stet_tape_end(tape, loop_steps(&l, tape, STEPS)));
        OK(loop_steps(&twin, NULL, STEPS));
        weigh(tape, array_of(l.sim, turn ? "xpos" : "sensordata"), weight);
        OK(stet_tape_backward(tape));
        assert_true(room_state(l.sim) == room_state(twin.sim));
        same_numbers(l.sim, twin.sim, "xpos");
        same_numbers(l.sim, twin.sim, "sensordata");
        OK(stet_sim_step(l.sim, 3));
        OK(stet_sim_step(twin.sim, 3));
        same_numbers(l.sim, twin.sim, "xquat");
        same_numbers(l.sim, twin.sim, "sensordata");
    }
    stet_tape_destroy(tape);
    loop_close(&l);
    loop_close(&twin);
}

/* Gradients of qpos of all worlds, of world `only` alone, which begins where that of many does. */
static int collect(const char *scene, const char *isa, int64_t every, int only, double *out)
{
    enum { NWORLD = 5, STEPS = 6 };
    static double weight[MOST_WEIGHTS];
    loop l = loop_open(scene, only < 0 ? NWORLD : 1, isa);
    stet_array *qvel = array_of(l.sim, "qvel"), *g;
    stet_tape *tape = tape_of(l.sim, every);
    int n = 0;
    void *mirror;
    OK(sti_array_mirror_write(qvel, &mirror));
    for (int w = 0; w < qvel->shape[0]; ++w)
        for (int i = 0; i < qvel->nitem; ++i)
            sti_mirror_set(qvel, mirror, w, i, 0.125 * ((only < 0 ? w : only) + i % 3));
    sti_array_mirror_written(qvel);
    for (int k = 0; k < MOST_WEIGHTS; ++k) weight[k] = 1 - 0.25 * (k % 7);
    OK(stet_tape_begin(tape));
    OK(stet_tape_end(tape, loop_steps(&l, tape, STEPS)));
    weigh(tape, array_of(l.sim, "sensordata"), weight);
    OK(stet_tape_backward(tape));
    OK(stet_tape_get_gradient(tape, array_of(l.sim, "qpos"), &g));
    for (int w = 0; w < g->shape[0]; ++w)
        for (int i = 0; i < g->nitem; ++i) out[n++] = get(g, w, i);
    stet_tape_destroy(tape);
    loop_close(&l);
    return n;
}

static void check_bits(const char *scene)
{
    static double wanted[MOST_NUMBERS], found[MOST_NUMBERS];
    int n = collect(scene, NULL, 0, -1, wanted);
    for (int every = 1; every < 4; every += 2)
        assert_true(collect(scene, NULL, every, -1, found) == n && memcmp(wanted, found, sizeof wanted) == 0);
    for (int w = 0; w < 5; w += 2) {
        int one = collect(scene, NULL, 2, w, found);
        assert_true(memcmp(wanted + (ptrdiff_t)w * one, found, (size_t)one * sizeof *found) == 0);
    }
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa) {
        if (isa == STI_ISA_f64 || !sti_isa_available((sti_isa)isa)) continue;
        assert_true(collect(scene, sti_isa_name((sti_isa)isa), 2, -1, found) == n);
        if (memcmp(wanted, found, (size_t)n * sizeof *found) != 0)
            fail_msg("%.60s, %s: other gradients", scene, sti_isa_name((sti_isa)isa));
    }
}

static void the_same_bits_everywhere(void **state)
{
    check_bits(feeling);
    check_bits(lying);
}

/* ---- what has none ----------------------------------------------------------------------------------------------- */

static void what_has_no_gradient_is_refused_by_name(void **state)
{
    static const char *const names[] = {"qfrc_actuator", "cfrc_int", "contact_force", "qM"};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        loop l = loop_open(lying, 2, NULL);
        stet_tape *tape = tape_of(l.sim, 0);
        stet_array *g;
        char words[128];
        (void)snprintf(words, sizeof words, "array %s has a gradient, and a read of native physics wrote it", names[k]);
        OK(stet_tape_begin(tape));
        OK(stet_tape_end(tape, loop_steps(&l, tape, 2)));
        OK(stet_tape_get_gradient(tape, array_of(l.sim, names[k]), &g));
        FAILS(stet_tape_backward(tape), STET_ERROR_UNSUPPORTED, words);
        stet_tape_destroy(tape);
        loop_close(&l);
    }
}

/* A sensor without a derivative makes gradients NaN, if its numbers have one; beside it others have theirs. */
static void sensors_without_a_derivative_are_not_silent(void **state)
{
    static const char scene[] =
        "<mujoco><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 .05'><freejoint/><geom size='.05'/><site "
        "name='s' size='.06'/></body></worldbody><sensor><force site='s'/><gyro site='s'/></sensor></mujoco>";
    for (int touched = 0; touched < 2; ++touched) {
        stet_sim *sim = room_open(scene, &(room_def){.nworld = 2, .isa = "f64", .physics = STET_PHYSICS_NATIVE});
        const double weight[] = {0, touched, 0, 1, 1, 1};
        stet_tape *tape = tape_of(sim, 0);
        stet_array *g;
        OK(stet_tape_begin(tape));
        OK(stet_tape_end(tape, stet_sim_step(sim, 2)));
        weigh(tape, array_of(sim, "sensordata"), weight);
        OK(stet_tape_backward(tape));
        OK(stet_tape_get_gradient(tape, array_of(sim, "qvel"), &g));
        for (int i = 0; i < 6; ++i) assert_true(isnan(get(g, 1, i)) == touched);
        stet_tape_destroy(tape);
        stet_sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantities_have_their_gradients),
        cmocka_unit_test(accelerations_have_their_gradients),
        cmocka_unit_test(loops_through_poses_and_sensors_have_their_gradients),
        cmocka_unit_test(a_sim_goes_on_as_if_nothing_had_been),
        cmocka_unit_test(the_same_bits_everywhere),
        cmocka_unit_test(what_has_no_gradient_is_refused_by_name),
        cmocka_unit_test(sensors_without_a_derivative_are_not_silent),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
