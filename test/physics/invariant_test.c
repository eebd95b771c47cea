/*
 * Laws that the motion keeps, whatever MuJoCo computes: energy, momentum, rest; and how far single precision may lead a
 * trajectory from MuJoCo's.
 */
#include "worlds/rig.h"

#include "bench/pilot/humanoid.h"

#include <math.h>

/* ---- energy and momentum ----------------------------------------------------------------------------------------- */

#define LAWS(step, gravity, joint)                                                                                     \
    "<mujoco><option timestep='" step "' gravity='" gravity "'><flag contact='disable' energy='enable'/></option>"     \
    "<worldbody><body>" joint                                                                                          \
    "<geom type='box' size='.1 .2 .1' pos='.2 0 0'/><body pos='.5 0 0'><joint axis='0 1 1'/>"                          \
    "<geom type='capsule' size='.05' fromto='0 0 0 .4 0 0'/><body pos='.4 0 0'><joint type='ball'/><geom type='box' "  \
    "size='.2 .05 .1' pos='.2 .1 0'/></body></body></body></worldbody></mujoco>"
/* Three bodies that fly into each other, one of them with a joint that reaches its limit. */
#define CRASH(step)                                                                                                    \
    "<mujoco><option timestep='" step "' gravity='0 0 0'/><worldbody><body pos='-.5 .03 0'><freejoint/><geom "         \
    "type='capsule' size='.1 .2' euler='0 90 10'/><body pos='-.4 0 0'><joint axis='0 0 1' range='-9 9'/><geom "        \
    "type='box' size='.1 .1 .1' contype='0' conaffinity='0'/></body></body><body pos='.5 0 .05'><freejoint/><geom "    \
    "size='.2'/></body><body pos='.5 .3 .05'><freejoint/><geom type='capsule' size='.15 .1'/></body></worldbody>"      \
    "</mujoco>"

/* The state of world 0 in an mjData, with what depends on it. */
static void take_state(const rig *r, mjData *d)
{
    const mjModel *m = r->model->mj;
    for (int i = 0; i < m->nq; ++i) d->qpos[i] = rig_get(r, "qpos", 0, i);
    for (int i = 0; i < m->nv; ++i) d->qvel[i] = rig_get(r, "qvel", 0, i);
    mj_forward(m, d);
    mj_subtreeVel(m, d);
}

static rig launch_body(const char *text, double speed)
{
    rig r = rig_make(text, 1, "f64", 1, false);
    double v[32];
    rig_step(&r, STET_PHYSICS_NATIVE);
    assert_true(r.model->mj->nv <= 32);
    for (int i = 0; i < r.model->mj->nv; ++i) v[i] = speed * (double)rig_wave(3, 1, i);
    OK(stet_array_write_worlds(rig_array(&r, "qvel"), 0, 1, v, (size_t)r.model->mj->nv * sizeof *v));
    return r;
}

/* The greatest change of energy over a second, divided by the energy of the motion. */
static double energy_drift(const char *text, int steps)
{
    rig r = launch_body(text, 2);
    mjData *d = mj_makeData(r.model->mj);
    take_state(&r, d);
    double first = d->energy[0] + d->energy[1], size = 0, worst = 0;
    for (int i = 0; i < 50; ++i) {
        OK(stet_step_run(r.step, steps / 50));
        take_state(&r, d);
        worst = fmax(worst, fabs(d->energy[0] + d->energy[1] - first));
        size = fmax(size, d->energy[1]);
    }
    mj_deleteData(d);
    rig_free(&r);
    return worst / size;
}

/* Semi-implicit Euler is of first order: a quarter of the step, about a quarter of the change. */
static void energy_is_conserved_without_dissipation(void **state)
{
    double coarse = energy_drift(LAWS(".0004", "0 0 -9.81", "<joint axis='0 1 0'/>"), 2500);
    double fine = energy_drift(LAWS(".0001", "0 0 -9.81", "<joint axis='0 1 0'/>"), 10000);
    print_message("energy: changes by %.2g of the kinetic energy with steps of 0.4 ms, %.2g with 0.1 ms\n", coarse,
                  fine);
    assert_true(fine < 2e-3 && fine < 0.4 * coarse);
}

/* Runge-Kutta is of fourth order: half the step, about a sixteenth of the change. */
static void energy_follows_the_order_of_runge_kutta(void **state)
{
    double coarse = energy_drift(LAWS(".004' integrator='RK4", "0 0 -9.81", "<joint axis='0 1 0'/>"), 250);
    double fine = energy_drift(LAWS(".002' integrator='RK4", "0 0 -9.81", "<joint axis='0 1 0'/>"), 500);
    print_message("energy with RK4: changes by %.2g of the kinetic energy with steps of 4 ms, %.2g with 2 ms\n", coarse,
                  fine);
    assert_true(fine < 1e-5 && fine < 0.1 * coarse);
}

/* Of all bodies together, angular about their common centre. */
static void take_momentum(const rig *r, mjData *d, double out[6])
{
    take_state(r, d);
    double mass = r->model->mj->body_subtreemass[0];
    for (int k = 0; k < 3; ++k) {
        out[k] = mass * d->subtree_linvel[k];
        out[3 + k] = d->subtree_angmom[k];
    }
}

static double momentum_drift(rig *r, int steps)
{
    mjData *d = mj_makeData(r->model->mj);
    double first[6], last[6], worst = 0;
    take_momentum(r, d, first);
    OK(stet_step_run(r->step, steps));
    take_momentum(r, d, last);
    for (int k = 0; k < 6; ++k) worst = fmax(worst, fabs(last[k] - first[k]));
    mj_deleteData(d);
    return worst;
}

static double free_drift(const char *text, int steps)
{
    rig r = launch_body(text, 1);
    double drift = momentum_drift(&r, steps) / r.model->mj->body_subtreemass[0];
    rig_free(&r);
    return drift;
}

static void momentum_is_conserved_without_forces(void **state)
{
    double coarse = free_drift(LAWS(".0004", "0 0 0", "<freejoint/>"), 2500);
    double fine = free_drift(LAWS(".0001", "0 0 0", "<freejoint/>"), 10000);
    print_message("momentum a kg: changes by %.2g with steps of 0.4 ms, %.2g with 0.1 ms\n", coarse, fine);
    assert_true(fine < 2e-3 && fine < 0.4 * coarse);
}

/* The forces of contacts, friction and limits come in pairs; two bodies of the crash end up with other speeds. */
static double crash_drift(const char *text, int steps)
{
    rig r = rig_make(text, 1, "f64", 1, false);
    double v[19] = {2}, before;
    rig_step(&r, STET_PHYSICS_NATIVE);
    assert_int_equal(r.model->mj->nv, 19);
    v[7] = before = -2;
    OK(stet_array_write_worlds(rig_array(&r, "qvel"), 0, 1, v, sizeof v));
    double drift = momentum_drift(&r, steps);
    assert_true(fabs(rig_get(&r, "qvel", 0, 7) - before) > 0.5 && fabs(rig_get(&r, "qvel", 0, 13)) > 0.1);
    drift /= r.model->mj->body_subtreemass[0];
    rig_free(&r);
    return drift;
}

static void momentum_is_conserved_in_a_crash(void **state)
{
    double coarse = crash_drift(CRASH(".0004"), 2500), fine = crash_drift(CRASH(".0001"), 10000);
    print_message("momentum a kg in a crash: changes by %.2g with steps of 0.4 ms, %.2g with 0.1 ms\n", coarse, fine);
    assert_true(fine < 2e-3 && fine < 0.4 * coarse);
}

/* ---- rest -------------------------------------------------------------------------------------------------------- */

#define RESTS(options, geom)                                                                                           \
    "<mujoco><option " options "/><worldbody><geom type='plane' size='9 9 1'/><body pos='0 0 .2' euler='3 2 0'>"       \
    "<freejoint/><geom density='500' " geom "/></body></worldbody></mujoco>"

typedef struct rest {
    double drift, speed; /* m, m/s or rad/s: over the last 50 s, at the end */
    double depth;        /* m: how much lower the body lies than MuJoCo's */
} rest;

static double mujoco_height(const mjModel *m, int steps)
{
    mjData *d = mj_makeData(m);
    for (int i = 0; i < steps; ++i) mj_step(m, d);
    double z = d->qpos[2];
    mj_deleteData(d);
    return z;
}

/* Dropped askew, given 10 s to come to rest, watched for 50 s. */
static rest watch_rest(const char *text)
{
    enum { SETTLE = 5000, WATCH = 25000 };
    rig r = rig_make(text, 1, NULL, 1, false);
    double at[7];
    rest found = {0, 0, 0};
    rig_step(&r, STET_PHYSICS_NATIVE);
    OK(stet_step_run(r.step, SETTLE));
    for (int i = 0; i < 7; ++i) at[i] = rig_get(&r, "qpos", 0, i);
    OK(stet_step_run(r.step, WATCH));
    for (int i = 0; i < 7; ++i) found.drift = fmax(found.drift, fabs(rig_get(&r, "qpos", 0, i) - at[i]));
    for (int i = 0; i < 6; ++i) found.speed = fmax(found.speed, fabs(rig_get(&r, "qvel", 0, i)));
    found.depth = fabs(rig_get(&r, "qpos", 0, 2) - mujoco_height(r.model->mj, SETTLE));
    assert_int_equal(stet_worlds_get_faults(r.worlds)[0], 0);
    rig_free(&r);
    return found;
}

static void bodies_rest_on_a_plane(void **state)
{
    static const struct {
        const char *name, *text;
    } bodies[] = {
        {"box", RESTS("", "type='box' size='.1 .15 .1'")},
        {"box, implicitfast, elliptic",
         RESTS("integrator='implicitfast' cone='elliptic'", "type='box' size='.1 .1 .1'")},
        {"sphere that rolls with friction", RESTS("", "size='.1' condim='6' friction='1 .01 .01'")},
        {"capsule", RESTS("", "type='capsule' size='.1 .1' euler='90 0 0' condim='6' friction='1 .01 .01'")},
    };
    for (size_t k = 0; k < sizeof bodies / sizeof *bodies; ++k) {
        rest found = watch_rest(bodies[k].text);
        print_message("%s: moves by %.2g in 50 s, %.2g a second at the end; %.2g off MuJoCo's height\n", bodies[k].name,
                      found.drift, found.speed, found.depth);
        if (!(found.drift < 1e-3 && found.speed < 1e-4 && found.depth < 1e-5)) fail_msg("%s", bodies[k].name);
    }
}

/* ---- trajectories ------------------------------------------------------------------------------------------------ */

#define CART                                                                                                           \
    "<mujoco><option timestep='.005'/><worldbody><body pos='0 0 1'><joint type='slide' axis='1 0 0' range='-1 1' "     \
    "damping='.05'/><geom type='box' size='.2 .1 .1' mass='1'/><body><joint axis='0 1 0' damping='.002'/><geom "       \
    "type='capsule' fromto='0 0 0 0 0 .6' size='.02' mass='.1'/></body></body></worldbody></mujoco>"
#define LINK(axis)                                                                                                     \
    "<body pos='0 0 -.3'><joint axis='" axis "' damping='.01'/><geom type='capsule' size='.03' fromto='0 0 0 0 0 "     \
    "-.3'/>"
#define CHAIN                                                                                                          \
    "<mujoco><option timestep='.002'><flag contact='disable'/></option><worldbody>" LINK("0 1 0") LINK("1 0 0")        \
        LINK("0 1 0") LINK("1 0 0") LINK("0 1 0") "</body></body></body></body></body></worldbody></mujoco>"

/*
 * The measure of a trajectory in single precision: MuJoCo in double whose state alone is rounded to float after each
 * step. No solver in float can be expected to be nearer, as its state is rounded, too; it also rounds all that is in
 * between, so ten times that distance is allowed. Both grow alike where the motion is chaotic.
 */
enum { WORLDS = 32 };

static void round_state(const mjModel *m, mjData *d)
{
    for (int i = 0; i < m->nq; ++i) d->qpos[i] = (double)(float)d->qpos[i];
    for (int i = 0; i < m->nv; ++i) d->qvel[i] = (double)(float)d->qvel[i];
}

/* Starts world w and both data in the same state. */
static void start_world(const rig *r, int w, mjData *exact, mjData *rounded)
{
    const mjModel *m = r->model->mj;
    float row[64];
    assert_true(m->nq <= 64);
    for (int i = 0; i < m->nq; ++i) exact->qpos[i] += 0.1 * (double)rig_wave(w, 1, i);
    for (int i = 0; i < m->nv; ++i) exact->qvel[i] = (double)rig_wave(w, 2, i);
    mj_normalizeQuat(m, exact->qpos);
    round_state(m, exact);
    mj_copyData(rounded, m, exact);
    for (int i = 0; i < m->nq; ++i) row[i] = (float)exact->qpos[i];
    OK(stet_array_write_worlds(rig_array(r, "qpos"), w, 1, row, (size_t)m->nq * sizeof *row));
    for (int i = 0; i < m->nv; ++i) row[i] = (float)exact->qvel[i];
    OK(stet_array_write_worlds(rig_array(r, "qvel"), w, 1, row, (size_t)m->nv * sizeof *row));
}

/* The middle of the worlds: few of them, at a contact that opens a step sooner, may be far off by chance. */
static double median(double *x)
{
    for (int i = 0; i < WORLDS; ++i)
        for (int k = i + 1; k < WORLDS; ++k)
            if (x[k] < x[i]) {
                double kept = x[i];
                x[i] = x[k];
                x[k] = kept;
            }
    return (x[WORLDS / 2 - 1] + x[WORLDS / 2]) / 2;
}

static void follow(const char *text, double *native, double *spread)
{
    rig r = rig_make(text, WORLDS, NULL, 1, false);
    const mjModel *m = r.model->mj;
    int steps = (int)round(1 / m->opt.timestep);
    double error[WORLDS] = {0}, own[WORLDS] = {0};
    mjData *exact[WORLDS], *rounded[WORLDS];
    rig_step(&r, STET_PHYSICS_NATIVE);
    for (int w = 0; w < WORLDS; ++w) {
        assert_non_null(exact[w] = mj_makeData(m));
        assert_non_null(rounded[w] = mj_makeData(m));
        start_world(&r, w, exact[w], rounded[w]);
    }
    OK(stet_step_run(r.step, steps));
    for (int w = 0; w < WORLDS; ++w) {
        for (int i = 0; i < steps; ++i) {
            mj_step(m, exact[w]);
            mj_step(m, rounded[w]);
            round_state(m, rounded[w]);
        }
        for (int i = 0; i < m->nq; ++i) {
            error[w] = fmax(error[w], fabs(rig_get(&r, "qpos", w, i) - exact[w]->qpos[i]));
            own[w] = fmax(own[w], fabs(rounded[w]->qpos[i] - exact[w]->qpos[i]));
        }
        mj_deleteData(exact[w]);
        mj_deleteData(rounded[w]);
    }
    rig_free(&r);
    *native = median(error);
    *spread = median(own);
}

static void trajectories_stay_within_the_spread_of_rounding(void **state)
{
    static const struct {
        const char *name, *text;
    } scenes[] = {{"cart-pole", CART},
                  {"chain", CHAIN},
                  {"humanoid", HUMANOID(".9", "")},
                  {"humanoid, elliptic", HUMANOID(".9", "cone='elliptic' integrator='implicitfast'")}};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) {
        double native, spread;
        follow(scenes[k].text, &native, &spread);
        print_message("%s: after a second %.2g off MuJoCo; MuJoCo itself %.2g with a state rounded to float\n",
                      scenes[k].name, native, spread);
        if (!(native < 10 * spread)) fail_msg("%s", scenes[k].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_is_conserved_without_dissipation),
        cmocka_unit_test(energy_follows_the_order_of_runge_kutta),
        cmocka_unit_test(momentum_is_conserved_without_forces),
        cmocka_unit_test(momentum_is_conserved_in_a_crash),
        cmocka_unit_test(bodies_rest_on_a_plane),
        cmocka_unit_test(trajectories_stay_within_the_spread_of_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
