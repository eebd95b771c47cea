/*
 * Time steps of native physics on a tape: gradients by hand of a body that slides, of up to 100 steps by central
 * differences; worlds that are put back; the same bits wherever checkpoints lie, on each device, alone and among
 * others; and a sim that goes on as if there had been no tape. Gradients of one step: test/physics/gradient_test.c.
 */
#include "sim/phases.h"

#include "stet/adjoint.h"

#include <math.h>
#include <string.h>

enum { NWORLD = 5, STEPS = 20 };

/* x'' = 3 u + f, without anything else: x' = x + h v', v' = v + h x''. */
#define H 0.0078125
#define GEAR 3
static const char slider[] =
    "<mujoco><option timestep='0.0078125' integrator='Euler' gravity='0 0 0'/><worldbody><body><joint name='x' "
    "type='slide' axis='1 0 0'/><geom size='.1' mass='1' contype='0' conaffinity='0'/></body></worldbody>"
    "<actuator><motor joint='x' gear='3'/></actuator><keyframe><key qpos='0.25' qvel='0.5'/></keyframe></mujoco>";

/* ---- the rig ----------------------------------------------------------------------------------------------------- */

typedef struct slide {
    phases p;
    stet_tape *tape;
    stet_array *qpos, *qvel, *ctrl;
} slide;

static slide slide_open(int64_t every, const char *isa)
{
    slide s = {
        .p = {.sim = room_open(slider,
                               &(room_def){.nworld = NWORLD, .threads = 2, .isa = isa, .physics = STET_PHYSICS_NATIVE}),
              .nworld = NWORLD}};
    stet_tape_def def = stet_default_tape_def();
    def.every = every;
    OK(stet_tape_create(stet_sim_get_device(s.p.sim), &def, &s.tape));
    s.qpos = phases_field(&s.p, "qpos");
    s.qvel = phases_field(&s.p, "qvel");
    s.ctrl = phases_field(&s.p, "ctrl");
    for (int w = 0; w < NWORLD; ++w) {
        room_write(s.p.sim, "qpos", w, 0, 0.125f * (float)w);
        room_write(s.p.sim, "qvel", w, 0, 1 - 0.25f * (float)w);
    }
    return s;
}

static void slide_close(slide *s)
{
    stet_tape_destroy(s->tape);
    phases_close(&s->p);
}

static stet_array *gradient(const slide *s, stet_array *a)
{
    stet_array *out;
    OK(stet_tape_get_gradient(s->tape, a, &out));
    return out;
}

static double number(stet_array *a, int64_t w, int64_t i)
{
    void *mirror;
    OK(sti_array_mirror_read(a, &mirror));
    return sti_mirror_get(a, mirror, w, i);
}

static void seed(const slide *s, double qpos, double qvel)
{
    OK(stet_tape_zero(s->tape));
    stet_array *both[] = {gradient(s, s->qpos), gradient(s, s->qvel)};
    double value[] = {qpos, qvel};
    for (int k = 0; k < 2; ++k) {
        void *mirror;
        OK(sti_array_mirror_write(both[k], &mirror));
        for (int w = 0; w < NWORLD; ++w) sti_mirror_set(both[k], mirror, w, 0, value[k]);
        sti_array_mirror_written(both[k]);
    }
}

static stet_result steps(const slide *s, int n, int substeps)
{
    for (int i = 0; i < n; ++i) {
        STI_TRY(stet_tape_step(s->tape));
        STI_TRY(stet_sim_step(s->p.sim, substeps));
    }
    return STET_OK;
}

static void near_to(double found, double wanted)
{
    if (!(fabs(found - wanted) <= 1e-5 * (1 + fabs(wanted)))) fail_msg("%.9g, wanted %.9g", found, wanted);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Of x = x0 + n h v0 + h h (n + (n - 1) …) (3 u + f). */
static void gradients_of_steps(void **state)
{
    static const int64_t every[] = {0, 1, 3, 100};
    for (int k = 0; k < 8; ++k) {
        int substeps = k < 4 ? 1 : 4, n = STEPS * substeps;
        slide s = slide_open(every[k % 4], NULL);
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, steps(&s, STEPS, substeps)));
        assert_int_equal(stet_tape_get_info(s.tape).launches, n);
        for (int pass = 0; pass < 2; ++pass) {
            seed(&s, 1, 0.5);
            OK(stet_tape_backward(s.tape));
            for (int w = 0; w < NWORLD; ++w) {
                double by = H * H * n * (n + 1) / 2 + 0.5 * n * H;
                near_to(number(gradient(&s, s.qpos), w, 0), 1);
                near_to(number(gradient(&s, s.qvel), w, 0), n * H + 0.5);
                near_to(number(gradient(&s, s.ctrl), w, 0), GEAR * by);
                near_to(number(gradient(&s, phases_field(&s.p, "qfrc_applied")), w, 0), by);
            }
        }
        slide_close(&s);
    }
}

/* u = k (x + 0.2 v) before each step: a closed loop, and the gradient of k, which is that of all launches. */
static void kernels_before_and_after_physics(void **state)
{
    slide s = slide_open(0, NULL);
    stet_array *seen = phases_array(&s.p, "seen", STET_DTYPE_REAL, 1), *gain;
    (void)ADD(&s.p, BEFORE, "k_push", stet_arg_array(s.qpos), stet_arg_array(s.qvel), stet_arg_array(s.ctrl),
              stet_arg_real(-2), stet_arg_int(1));
    (void)ADD(&s.p, AFTER, "k_time", stet_arg_array(s.qvel), stet_arg_array(seen), stet_arg_int(0)); /* seen = qvel */
    OK(stet_tape_begin(s.tape));
    OK(stet_tape_end(s.tape, steps(&s, STEPS, 1)));
    seed(&s, 1, 0);
    void *mirror;
    OK(sti_array_mirror_write(gradient(&s, seen), &mirror));
    for (int w = 0; w < NWORLD; ++w) sti_mirror_set(gradient(&s, seen), mirror, w, 0, 2);
    sti_array_mirror_written(gradient(&s, seen));
    OK(stet_tape_backward(s.tape));
    OK(stet_tape_get_number_gradient(s.tape, s.p.kernel[0], "gain", &gain));
    for (int w = 0; w < NWORLD; ++w) {
        /* x, v and their derivatives by x0, v0 and k */
        double x[4] = {0.125 * w, 1, 0, 0}, v[4] = {1 - 0.25 * w, 0, 1, 0};
        for (int t = 0; t < STEPS; ++t)
            for (int d = 3; d >= 0; --d) {
                double a = GEAR * (-2 * (x[d] + (double)0.2f * v[d]) + (d == 3 ? x[0] + (double)0.2f * v[0] : 0));
                v[d] += H * a;
                x[d] += H * v[d];
            }
        near_to(number(gradient(&s, s.qpos), w, 0), x[1] + 2 * v[1]);
        near_to(number(gradient(&s, s.qvel), w, 0), x[2] + 2 * v[2]);
        near_to(number(gain, w, 0), x[3] + 2 * v[3]);
    }
    slide_close(&s);
}

/* Worlds 1 and 3 are put back in the middle, by a mask of which a kernel knows, and once by the host's. */
static void worlds_that_are_reset_pass_nothing_back(void **state)
{
    for (int how = 0; how < 2; ++how) {
        slide s = slide_open(3, NULL);
        stet_array *mask;
        uint8_t bytes[NWORLD] = {0, 1, 0, 1, 0};
        OK(STI_ARRAY(stet_sim_get_device(s.p.sim), "mask", STET_DTYPE_U8, false, &mask, NWORLD));
        OK(stet_array_write(mask, bytes, sizeof bytes));
        stet_reset_def def = stet_default_reset_def();
        def.keyframe = 0;
        def.qpos_noise = 0.1;
        if (how == 0) def.mask_array = mask;
        if (how == 1) def.mask = bytes;
        uint64_t wanted = 0;
        for (int turn = 0; turn < 2; ++turn) {
            OK(stet_tape_begin(s.tape));
            OK(steps(&s, STEPS / 2, 1));
            OK(stet_sim_reset(s.p.sim, &def));
            OK(stet_tape_end(s.tape, steps(&s, STEPS / 2, 1)));
            uint64_t left = room_state(s.p.sim);
            for (int pass = 0; pass < 2; ++pass) {
                seed(&s, 1, 0);
                OK(stet_tape_backward(s.tape));
                assert_true(room_state(s.p.sim) == left);
                for (int w = 0; w < NWORLD; ++w) {
                    near_to(number(gradient(&s, s.qpos), w, 0), !bytes[w]);
                    near_to(number(gradient(&s, s.qvel), w, 0), bytes[w] ? 0 : STEPS * H);
                }
            }
            wanted = left;
        }
        assert_true(wanted);
        stet_array_destroy(mask);
        slide_close(&s);
    }
}

/* A world whose state is no number goes on from the beginning, without its controls. */
static void worlds_that_a_step_puts_back_pass_nothing_back(void **state)
{
    slide s = slide_open(4, NULL);
    for (int w = 0; w < NWORLD; ++w) room_write(s.p.sim, "ctrl", w, 0, 0.5f);
    room_write(s.p.sim, "qvel", 2, 0, 2e10f); /* at once, */
    room_write(s.p.sim, "qfrc_applied", 3, 0, 1e12f);
    room_write(s.p.sim, "qvel", 4, 0, 9.9e9f); /* and after five steps */
    room_write(s.p.sim, "ctrl", 4, 0, 1e9f);
    OK(stet_tape_begin(s.tape));
    OK(stet_tape_end(s.tape, steps(&s, STEPS, 1)));
    uint64_t left = room_state(s.p.sim);
    seed(&s, 1, 0);
    OK(stet_tape_backward(s.tape));
    assert_true(room_state(s.p.sim) == left);
    for (int w = 0; w < NWORLD; ++w) {
        near_to(number(gradient(&s, s.qpos), w, 0), w < 2);
        near_to(number(gradient(&s, s.qvel), w, 0), w < 2 ? STEPS * H : 0);
        near_to(number(s.ctrl, w, 0), w < 2 ? 0.5 : 0);
    }
    slide_close(&s);
}

/* Steps after a pass, and time, are those of a sim that was on no tape; but for steps that were listed one by one. */
static void a_sim_goes_on_as_if_nothing_had_been(void **state)
{
    slide twin = slide_open(0, NULL), s = slide_open(0, NULL);
    for (int turn = 0; turn < 3; ++turn) {
        OK(stet_tape_begin(s.tape));
        OK(stet_tape_end(s.tape, steps(&s, STEPS, 2)));
        OK(stet_sim_step(twin.p.sim, 2 * STEPS));
        assert_true(room_state(s.p.sim) == room_state(twin.p.sim));
        seed(&s, 1, 0);
        OK(stet_tape_backward(s.tape));
        assert_true(room_state(s.p.sim) == room_state(twin.p.sim));
        OK(stet_sim_step(s.p.sim, 3));
        OK(stet_sim_step(twin.p.sim, 3));
        assert_true(room_field(s.p.sim, "time", 1, 0) == room_field(twin.p.sim, "time", 1, 0));
        assert_true(room_field(s.p.sim, "xpos", 1, 3) == room_field(twin.p.sim, "xpos", 1, 3));
    }
    slide_close(&s);
    slide_close(&twin);
}

/* ---- by differences ---------------------------------------------------------------------------------------------- */

#define TWO_LINKS(limits)                                                                                              \
    "<mujoco><compiler angle='radian'/><option timestep='.005'/><default><geom contype='0' "                           \
    "conaffinity='0'/></default>"                                                                                      \
    "<worldbody><body pos='0 0 1'><joint name='a' axis='0 1 0' damping='.05' " limits "/><geom type='capsule' "        \
    "fromto='0 0 0 .3 0 -.3' size='.03'/><body pos='.3 0 -.3'><joint name='b' axis='0 1 0' " limits "/><geom "         \
    "type='capsule' fromto='0 0 0 0 0 -.4' size='.02'/></body></body></worldbody><actuator><motor joint='b' "          \
    "gear='2'/>"                                                                                                       \
    "</actuator></mujoco>"

/* A shipped scene without its contacts, whose pairs of geoms have tests of their own; limits hold. */
#define IN_THE_AIR(name)                                                                                               \
    "<mujoco><include file='" STET_TEST_SOURCE_DIR "/scenes/" name "'/><option><flag contact='disable'/></option>"     \
    "</mujoco>"

/* Four legs of capsules that stand on their feet. */
#define LEG(x, y)                                                                                                      \
    "<body pos='" x " " y " 0'><joint axis='0 1 0' range='-1 1' limited='true' damping='.5'/><geom type='capsule' "    \
    "fromto='0 0 0 .05 0 -.2' size='.02'/><body pos='.05 0 -.2'><joint axis='0 1 0' damping='.3'/><geom "              \
    "type='capsule' fromto='0 0 0 -.05 0 -.2' size='.02'/><geom size='.03' pos='-.05 0 -.2'/></body></body>"
#define WALKER(options)                                                                                                \
    "<mujoco><compiler angle='radian'/><option cone='elliptic' integrator='implicitfast' timestep='.004' " options     \
    "/><default><geom friction='.8'/></default><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 .42'>"      \
    "<freejoint/><geom type='capsule' fromto='-.2 0 0 .2 0 0' size='.05' mass='3'/>" LEG("-.2", "-.1")                 \
        LEG("-.2", ".1") LEG(".2", "-.1") LEG(".2", ".1") "</body></worldbody></mujoco>"
static const char walker[] = WALKER(""), hasty_walker[] = WALKER("iterations='1' ls_iterations='4'");

/* What a rollout begins with, field after field, and how a loss weighs its end. */
enum { FIELDS = 4, MOST_NUMBERS = 256 };
static const char *const fields[FIELDS] = {"qpos", "qvel", "ctrl", "qfrc_applied"};
typedef struct beginning {
    int n, count[FIELDS], quaternion; /* where a quaternion begins in qpos; -1: nowhere */
    double x[MOST_NUMBERS], weight[MOST_NUMBERS];
} beginning;

static double drawn(uint64_t *dice) { return (double)(dice_next(dice) >> 11) / (double)(UINT64_C(1) << 52) - 1; }

static stet_array *field_of(stet_sim *sim, const char *name)
{
    stet_array *a;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), name, &a));
    return a;
}

static void to_unit(const beginning *b, double *x)
{
    double norm = 0;
    for (int k = 0; b->quaternion >= 0 && k < 4; ++k) norm += x[b->quaternion + k] * x[b->quaternion + k];
    for (int k = 0; b->quaternion >= 0 && k < 4; ++k) x[b->quaternion + k] /= sqrt(norm);
}

/* Numbers around the first state. */
static beginning begin(stet_sim *sim, bool floats, uint64_t dice)
{
    beginning b = {.quaternion = floats ? 3 : -1};
    for (int f = 0; f < FIELDS; ++f) {
        stet_array *a = field_of(sim, fields[f]);
        double most = f == 0 ? 0.02 : 0.3;
        b.count[f] = (int)a->nitem;
        assert_true(b.n + b.count[f] <= MOST_NUMBERS);
        for (int i = 0; i < b.count[f]; ++i, ++b.n) b.x[b.n] = number(a, 0, i) + most * drawn(&dice);
    }
    to_unit(&b, b.x);
    for (int i = 0; i < b.count[0] + b.count[1]; ++i) b.weight[i] = drawn(&dice);
    return b;
}

/* Writes x [n] into world w. */
static void put_beginning(stet_sim *sim, const beginning *b, int64_t w, const double *x)
{
    for (int f = 0, at = 0; f < FIELDS; at += b->count[f++]) {
        void *mirror;
        stet_array *a = field_of(sim, fields[f]);
        OK(sti_array_mirror_write(a, &mirror));
        for (int i = 0; i < b->count[f]; ++i) sti_mirror_set(a, mirror, w, i, x[at + i]);
        sti_array_mirror_written(a);
    }
}

/* Slopes of the loss by all numbers: world 2 i begins a step of h above, 2 i + 1 below number i. */
static void differences(const char *scene, const beginning *b, int n, double h, double *slope)
{
    room_def d = {.nworld = 2 * b->n, .threads = 2, .isa = "f64", .physics = STET_PHYSICS_NATIVE};
    stet_sim *sim = room_open(scene, &d);
    double loss[2], x[MOST_NUMBERS];
    for (int i = 0; i < 2 * b->n; ++i) {
        memcpy(x, b->x, sizeof x);
        x[i / 2] += i % 2 ? -h : h;
        to_unit(b, x);
        put_beginning(sim, b, i, x);
    }
    OK(stet_sim_step(sim, n));
    stet_array *both[] = {field_of(sim, "qpos"), field_of(sim, "qvel")};
    for (int i = 0; i < b->n; ++i) {
        for (int k = 0; k < 2; ++k) {
            loss[k] = 0;
            for (int f = 0, at = 0; f < 2; ++f)
                for (int j = 0; j < b->count[f]; ++j, ++at) loss[k] += b->weight[at] * number(both[f], 2 * i + k, j);
        }
        slope[i] = (loss[0] - loss[1]) / (2 * h);
    }
    stet_sim_destroy(sim);
}

static void seed_weights(stet_tape *tape, stet_sim *sim, const beginning *b, int64_t nworld)
{
    OK(stet_tape_zero(tape));
    for (int f = 0, at = 0; f < 2; at += b->count[f++]) {
        stet_array *g;
        void *mirror;
        OK(stet_tape_get_gradient(tape, field_of(sim, fields[f]), &g));
        OK(sti_array_mirror_write(g, &mirror));
        for (int64_t w = 0; w < nworld; ++w)
            for (int i = 0; i < b->count[f]; ++i) sti_mirror_set(g, mirror, w, i, b->weight[at + i]);
        sti_array_mirror_written(g);
    }
}

/* Takes n steps on a tape and goes back. */
static void go_through(stet_tape *tape, stet_sim *sim, const beginning *b, int64_t nworld, int n)
{
    OK(stet_tape_begin(tape));
    stet_result result = STET_OK;
    for (int t = 0; t < n && result == STET_OK; ++t) {
        result = stet_tape_step(tape);
        if (result == STET_OK) result = stet_sim_step(sim, 1);
    }
    OK(stet_tape_end(tape, result));
    for (int f = 0; f < FIELDS; ++f) {
        stet_array *g;
        OK(stet_tape_get_gradient(tape, field_of(sim, fields[f]), &g));
    }
    seed_weights(tape, sim, b, nworld);
    OK(stet_tape_backward(tape));
}

/*
 * Gradients on a tape of `scene` against differences of `same`. Of a unit quaternion the part along it, which
 * differences of unit quaternions do not see, is taken out.
 */
static void check_slopes_of(const char *scene, const char *same, bool floats, int n, uint64_t dice)
{
    room_def d = {.nworld = 1, .isa = "f64", .physics = STET_PHYSICS_NATIVE};
    stet_tape_def def = stet_default_tape_def();
    stet_sim *sim = room_open(scene, &d);
    stet_tape *tape;
    beginning b = begin(sim, floats, dice);
    double found[MOST_NUMBERS], one[MOST_NUMBERS], four[MOST_NUMBERS], greatest = 1, along = 0;
    int kinks = 0, moving = 0;
    OK(stet_tape_create(stet_sim_get_device(sim), &def, &tape));
    put_beginning(sim, &b, 0, b.x);
    go_through(tape, sim, &b, 1, n);
    for (int f = 0, at = 0; f < FIELDS; ++f) {
        stet_array *g;
        OK(stet_tape_get_gradient(tape, field_of(sim, fields[f]), &g));
        for (int i = 0; i < b.count[f]; ++i, ++at) found[at] = number(g, 0, i);
    }
    for (int k = 0; floats && k < 4; ++k) along += found[3 + k] * b.x[3 + k];
    for (int k = 0; floats && k < 4; ++k) found[3 + k] -= along * b.x[3 + k];
    differences(same, &b, n, 1e-6, one);
    differences(same, &b, n, 4e-6, four);
    for (int i = 0; i < b.n; ++i) greatest = fmax(greatest, fabs(one[i]));
    for (int i = 0; i < b.n; ++i) {
        bool kink = !(fabs(one[i] - four[i]) <= 1e-6 * greatest);
        kinks += kink;
        moving += fabs(one[i]) > 1e-6;
        if (!kink && !(fabs(found[i] - one[i]) <= 1e-6 * greatest))
            fail_msg("%.100s, %d steps, number %d: %.12g, by differences %.12g", scene, n, i, found[i], one[i]);
    }
    print_message("%d numbers, seed %d: %d steps, %d at a kink, %d move the loss\n", b.n, (int)dice, n, kinks, moving);
    assert_true(100 * kinks <= 5 * b.n && 10 * moving >= 9 * b.n);
    stet_tape_destroy(tape);
    stet_sim_destroy(sim);
}

static void check_slopes(const char *scene, bool floats, int n, uint64_t dice)
{
    check_slopes_of(scene, scene, floats, n, dice);
}

/* A model that ends its solver early is stepped on as one that does not. */
static void a_tape_lets_the_solver_converge(void **state) { check_slopes_of(hasty_walker, walker, true, 20, 5); }

static void gradients_agree_with_differences(void **state)
{
    static const int lengths[] = {1, 20, 100};
    for (int k = 0; k < 3; ++k) {
        check_slopes(TWO_LINKS(""), false, lengths[k], 1);
        check_slopes(TWO_LINKS("limited='true' range='-.1 .2'"), false, lengths[k], 2);
        check_slopes(IN_THE_AIR("quadruped.xml"), true, lengths[k], 3);
        check_slopes(walker, true, lengths[k], 5);
    }
    for (int k = 0; k < 2; ++k) check_slopes(IN_THE_AIR("humanoid.xml"), true, lengths[k], 4);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

enum { BITS_WORLDS = 5, BITS_STEPS = 12 };

/* A hash of the gradients of world `only`, or of all, each of which begins elsewhere. */
static uint64_t gradients_of_worlds(const room_def *d, int64_t every, int only)
{
    stet_tape_def def = stet_default_tape_def();
    room_def own = *d;
    own.nworld = only < 0 ? BITS_WORLDS : 1;
    stet_sim *sim = room_open(IN_THE_AIR("humanoid.xml"), &own);
    stet_tape *tape;
    uint64_t hash = 0;
    def.every = every;
    OK(stet_tape_create(stet_sim_get_device(sim), &def, &tape));
    beginning b = begin(sim, true, 7);
    for (int w = 0; w < own.nworld; ++w) {
        int k = only < 0 ? w : only;
        beginning at = b;
        for (int i = b.count[0]; i < b.n; ++i) at.x[i] *= 1 - 0.25 * k;
        at.x[2] -= 0.125 * k;
        put_beginning(sim, &b, w, at.x);
    }
    go_through(tape, sim, &b, own.nworld, BITS_STEPS);
    for (int pass = 0; pass < 2; ++pass) {
        uint64_t found = 0;
        for (int f = 0; f < FIELDS; ++f) {
            stet_array *g;
            void *mirror;
            OK(stet_tape_get_gradient(tape, field_of(sim, fields[f]), &g));
            OK(sti_array_mirror_read(g, &mirror));
            for (int w = 0; w < own.nworld; ++w)
                for (int i = 0; i < b.count[f]; ++i) {
                    float x = (float)sti_mirror_get(g, mirror, w, i);
                    uint32_t bits;
                    memcpy(&bits, &x, sizeof bits);
                    found += (bits + 1) * (UINT64_C(1099511628211) * (uint64_t)(f * 1000 + i + 1)) *
                             (uint64_t)((only < 0 ? w : only) + 1);
                }
        }
        if (pass == 1 && found != hash) fail_msg("a second pass has other bits");
        hash = found;
        if (pass == 1) break;
        seed_weights(tape, sim, &b, own.nworld);
        OK(stet_tape_backward(tape));
    }
    stet_tape_destroy(tape);
    stet_sim_destroy(sim);
    return hash;
}

static void the_same_bits_wherever_checkpoints_lie(void **state)
{
    room_def d = {.threads = 2, .physics = STET_PHYSICS_NATIVE};
    uint64_t wanted = gradients_of_worlds(&d, 0, -1), alone = 0;
    assert_true(gradients_of_worlds(&d, 1, -1) == wanted);
    assert_true(gradients_of_worlds(&d, 5, -1) == wanted);
    assert_true(gradients_of_worlds(&d, 100, -1) == wanted);
    for (int w = 0; w < BITS_WORLDS; ++w) alone += gradients_of_worlds(&d, 3, w);
    assert_true(alone == wanted);
    d.strict = true;
    assert_true(gradients_of_worlds(&d, 3, -1) == wanted);
    d.strict = false;
    for (uint32_t off = 0; off < 3; ++off) {
        d.disabled = off == 0   ? 1u << STET_MECHANISM_GRAPH_REPLAY
                     : off == 1 ? 1u << STET_MECHANISM_ARGS
                                : (1u << STET_MECHANISM_COUNT) - 1;
        assert_true(gradients_of_worlds(&d, 3, -1) == wanted);
    }
}

static void the_same_bits_on_each_instruction_set(void **state)
{
    uint64_t wanted = gradients_of_worlds(&(room_def){.physics = STET_PHYSICS_NATIVE}, 3, -1); /* on a GPU, say */
    for (int isa = 0; isa < STI_ISA_COUNT; ++isa) {
        room_def d = {.isa = sti_isa_name((sti_isa)isa), .physics = STET_PHYSICS_NATIVE};
        if (isa == STI_ISA_f64 || !sti_isa_available((sti_isa)isa)) continue;
        uint64_t found = gradients_of_worlds(&d, 3, -1);
        if (found != wanted) fail_msg("%s: other gradients", d.isa);
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

static void what_a_step_leaves_without_a_derivative_is_refused(void **state)
{
    slide s = slide_open(0, NULL);
    stet_array *seen = phases_array(&s.p, "seen", STET_DTYPE_REAL, 1);
    (void)ADD(&s.p, AFTER, "k_time", stet_arg_array(phases_field(&s.p, "qacc_warmstart")), stet_arg_array(seen),
              stet_arg_int(0));
    OK(stet_tape_begin(s.tape));
    FAILS(stet_tape_end(s.tape, steps(&s, 2, 1)), STET_ERROR_UNSUPPORTED,
          "k_time reads array qacc_warmstart, which a step of native physics without an adjoint wrote");
    slide_close(&s);
}

/* What a step reads besides must be what it was. */
static void parameters_and_masks_that_change_are_refused(void **state)
{
    const uint8_t some[NWORLD] = {1, 1, 0, 1, 1};
    const double heavy = 2;
    slide s = slide_open(0, NULL);
    stet_worlds *worlds = stet_sim_get_worlds(s.p.sim);
    OK(stet_tape_begin(s.tape));
    OK(steps(&s, 2, 1));
    FAILS(stet_tape_end(s.tape, stet_sim_step_worlds(s.p.sim, some, 1)), STET_ERROR_STATE,
          "array stepped worlds was written between two launches, and a step of native physics reads it");
    OK(stet_tape_begin(s.tape)); /* the same worlds in each step */
    for (int k = 0; k < STEPS; ++k) OK(stet_sim_step_worlds(s.p.sim, some, 1));
    OK(stet_tape_end(s.tape, STET_OK));
    seed(&s, 1, 0);
    OK(stet_tape_backward(s.tape));
    for (int w = 0; w < NWORLD; ++w) near_to(number(gradient(&s, s.qvel), w, 0), some[w] ? STEPS * H : 0);

    OK(stet_tape_begin(s.tape));
    OK(stet_tape_end(s.tape, steps(&s, 2, 1)));
    OK(stet_worlds_set_parameter_where(worlds, "body_mass", some, (const double[]){0, heavy}, 2));
    seed(&s, 1, 0);
    uint64_t left = room_state(s.p.sim);
    FAILS(stet_tape_backward(s.tape), STET_ERROR_STATE, "parameters of worlds were given or taken since the tape");
    assert_true(room_state(s.p.sim) == left);
    OK(stet_tape_begin(s.tape)); /* and with these */
    OK(stet_tape_end(s.tape, steps(&s, STEPS, 1)));
    seed(&s, 1, 0);
    OK(stet_tape_backward(s.tape));
    double by = H * H * STEPS * (STEPS + 1) / 2;
    for (int w = 0; w < NWORLD; ++w) near_to(number(gradient(&s, s.ctrl), w, 0), GEAR * by / (some[w] ? heavy : 1));
    slide_close(&s);
}

static void models_without_a_derivative_are_refused(void **state)
{
    static const char scene[] =
        "<mujoco><option noslip_iterations='3'/><worldbody><geom type='plane' size='1 1 .1'/><body pos='0 0 .1'>"
        "<freejoint/><geom size='.1'/></body></worldbody></mujoco>";
    stet_sim *sim = room_open(scene, &(room_def){.nworld = 2, .physics = STET_PHYSICS_NATIVE});
    stet_tape_def def = stet_default_tape_def();
    stet_array *g;
    stet_tape *tape;
    OK(stet_tape_create(stet_sim_get_device(sim), &def, &tape));
    OK(stet_tape_begin(tape));
    OK(stet_tape_end(tape, stet_sim_step(sim, 1))); /* nobody reads what it wrote */
    OK(stet_tape_get_gradient(tape, field_of(sim, "qpos"), &g));
    FAILS(stet_tape_backward(tape), STET_ERROR_UNSUPPORTED, "noslip iterations");
    OK(stet_tape_begin(tape));
    FAILS(stet_tape_end(tape, stet_sim_step(sim, 2)), STET_ERROR_UNSUPPORTED, "noslip iterations");
    stet_tape_destroy(tape);
    stet_sim_destroy(sim);
}

static void other_physics_is_refused(void **state)
{
    phases p = phases_open(&(room_def){.nworld = NWORLD, .physics = STET_PHYSICS_MUJOCO});
    stet_tape_def def = stet_default_tape_def();
    stet_array *qpos = phases_field(&p, "qpos"), *qvel = phases_field(&p, "qvel"), *of;
    stet_tape *tape;
    OK(stet_tape_create(stet_sim_get_device(p.sim), &def, &tape));
    stet_kernel *push = phases_kernel(p.sim, "k_push");
    const stet_arg args[] = {stet_arg_array(qpos), stet_arg_array(qvel), stet_arg_array(phases_field(&p, "ctrl")),
                             stet_arg_real(3), stet_arg_int(1)};
    OK(stet_tape_begin(tape));
    OK(stet_kernel_launch(push, NWORLD, args, 5));
    OK(stet_tape_end(tape, stet_sim_step(p.sim, 1)));
    OK(stet_tape_get_gradient(tape, qvel, &of));
    FAILS(stet_tape_backward(tape), STET_ERROR_UNSUPPORTED,
          "array qvel has a gradient, and a step of MuJoCo's physics wrote it, which has no adjoint");
    stet_tape_destroy(tape);
    stet_kernel_destroy(push);
    phases_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_steps),
        cmocka_unit_test(kernels_before_and_after_physics),
        cmocka_unit_test(worlds_that_are_reset_pass_nothing_back),
        cmocka_unit_test(worlds_that_a_step_puts_back_pass_nothing_back),
        cmocka_unit_test(a_sim_goes_on_as_if_nothing_had_been),
        cmocka_unit_test(gradients_agree_with_differences),
        cmocka_unit_test(a_tape_lets_the_solver_converge),
        cmocka_unit_test(the_same_bits_wherever_checkpoints_lie),
        cmocka_unit_test(the_same_bits_on_each_instruction_set),
        cmocka_unit_test(what_a_step_leaves_without_a_derivative_is_refused),
        cmocka_unit_test(parameters_and_masks_that_change_are_refused),
        cmocka_unit_test(models_without_a_derivative_are_refused),
        cmocka_unit_test(other_physics_is_refused),
    };
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
