/*
 * Derivatives of a time step at the present state of each world, against mjd_transitionFD; and the sim stays as it was.
 */
#include "sim/room.h"

#include <math.h>
#include <string.h>

enum { NWORLD = 3, MOST = 80, MOST_NU = 32, MOST_SENSED = 64 };

static stet_array *array_of(stet_sim *sim, const char *name)
{
    stet_array *a;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), name, &a));
    return a;
}

static double drawn(uint64_t *dice) { return (double)(dice_next(dice) >> 11) / (double)(UINT64_C(1) << 52) - 1; }

static void disturb(stet_sim *sim, const char *field, double size, uint64_t *dice)
{
    stet_array *a = array_of(sim, field);
    void *mirror;
    OK(sti_array_mirror_read(a, &mirror));
    OK(sti_array_mirror_write(a, &mirror));
    for (int64_t w = 0; w < a->shape[0]; ++w)
        for (int64_t i = 0; i < a->nitem; ++i)
            sti_mirror_set(a, mirror, w, i, sti_mirror_get(a, mirror, w, i) + size * drawn(dice));
    sti_array_mirror_written(a);
}

static void take(stet_sim *sim, const char *field, int64_t w, mjtNum *out)
{
    stet_array *a = array_of(sim, field);
    void *mirror;
    OK(sti_array_mirror_read(a, &mirror));
    for (int64_t i = 0; i < a->nitem; ++i) out[i] = sti_mirror_get(a, mirror, w, i);
}

typedef struct transition {
    const mjModel *m;
    mjData *d;
    double *A, *B, *C, *D;
} transition;

/* d moved by `by` along number i of the state, of which those behind it are controls; the step; what is behind it. */
static void step_moved(const transition *t, mjData *d, int i, double by, mjtNum *qpos)
{
    const mjModel *m = t->m;
    mj_copyData(d, m, t->d);
    if (i < m->nv) {
        mjtNum way[MOST] = {0};
        way[i] = 1;
        mj_integratePos(m, d->qpos, way, by);
    } else if (i < 2 * m->nv) {
        d->qvel[i - m->nv] += by;
    } else if (i < 2 * m->nv + m->na) {
        d->act[i - 2 * m->nv] += by;
    } else {
        d->ctrl[i - 2 * m->nv - m->na] += by;
    }
    mj_step(m, d);
    memcpy(qpos, d->qpos, (size_t)m->nq * sizeof *qpos);
}

/* By central differences, of integrators that mjd_transitionFD does not take. */
static void find_differences(const transition *t)
{
    const mjModel *m = t->m;
    const double h = 1e-6;
    mjData *one = mj_makeData(m), *two = mj_makeData(m);
    mjtNum before[MOST], after[MOST], by[MOST];
    int n = 2 * (int)m->nv + (int)m->na, nu = (int)m->nu;
    for (int i = 0; i < n + nu; ++i) {
        double *out = i < n ? t->A : t->B, *sensed = i < n ? t->C : t->D;
        int columns = i < n ? n : nu, c = i < n ? i : i - n;
        step_moved(t, one, i, h, after);
        step_moved(t, two, i, -h, before);
        mj_differentiatePos(m, by, 2 * h, before, after);
        for (int k = 0; k < m->nv; ++k) out[k * columns + c] = by[k];
        for (int k = 0; k < m->nv; ++k) out[(m->nv + k) * columns + c] = (one->qvel[k] - two->qvel[k]) / (2 * h);
        for (int k = 0; k < m->na; ++k) out[(2 * m->nv + k) * columns + c] = (one->act[k] - two->act[k]) / (2 * h);
        for (int k = 0; k < m->nsensordata; ++k)
            sensed[k * columns + c] = (one->sensordata[k] - two->sensordata[k]) / (2 * h);
    }
    mj_deleteData(one);
    mj_deleteData(two);
}

static void find_transition(void *context)
{
    const transition *t = context;
    if (t->m->opt.integrator == mjINT_RK4)
        find_differences(t);
    else
        mjd_transitionFD(t->m, t->d, 1e-6, 1, t->A, t->B, t->C, t->D);
}

/* Greatest difference of two matrices next to each other, of which `a` has na columns and b nb. */
static double differ(const char *scene, int64_t rows, int64_t na, int64_t nb, const double *a, const double *b,
                     const double *want_a, const double *want_b, double limit)
{
    double most = 1, worst = 0;
    for (int64_t i = 0; i < rows * na; ++i) most = fmax(most, fabs(want_a[i]));
    for (int64_t i = 0; i < rows * (na + nb); ++i) {
        int64_t r = i / (na + nb), c = i % (na + nb);
        double want = c < na ? want_a[r * na + c] : want_b[r * nb + c - na];
        double got = c < na ? a[r * na + c] : b[r * nb + c - na];
        worst = fmax(worst, fabs(got - want) / most);
        if (!(fabs(got - want) <= limit * most))
            fail_msg("%.40s: row %d, column %d is %.9g, not %.9g", scene, (int)r, (int)c, got, want);
    }
    return worst;
}

/* Positions and quaternions of unit length, as MuJoCo has them behind any step. */
static void check(const char *scene, const char *isa, double limit, uint64_t *dice)
{
    static double A[NWORLD * MOST * MOST], B[NWORLD * MOST * MOST_NU], wantA[MOST * MOST], wantB[MOST * MOST_NU];
    static double C[NWORLD * MOST_SENSED * MOST], D[NWORLD * MOST_SENSED * MOST_NU], wantC[MOST_SENSED * MOST];
    static double wantD[MOST_SENSED * MOST_NU];
    stet_sim *sim = room_open(scene, &(room_def){.nworld = NWORLD, .isa = isa, .physics = STET_PHYSICS_NATIVE});
    stet_model *model = rig_model(scene);
    const mjModel *m = model->mj;
    int64_t n = 2 * m->nv + m->na, nu = m->nu, ns = m->nsensordata;
    double worst = 0, sensed = 0;
    assert_true(n <= MOST && nu <= MOST_NU && ns <= MOST_SENSED);
    disturb(sim, "qvel", .5, dice);
    disturb(sim, "ctrl", .5, dice);
    OK(stet_sim_step(sim, 8));
    disturb(sim, "qfrc_applied", .1, dice);
    uint64_t before = room_state(sim);
    double time = room_field(sim, "time", 1, 0);
    for (int turn = 0; turn < 2; ++turn) {
        OK(stet_sim_linearize(sim, A, NWORLD * n * n, B, NWORLD * n * nu));
        OK(stet_sim_linearize_sensors(sim, C, NWORLD * ns * n, D, NWORLD * ns * nu));
        assert_true(room_state(sim) == before && room_field(sim, "time", 1, 0) == time);
    }
    for (int w = 0; w < NWORLD; ++w) {
        transition t = {m, mj_makeData(m), wantA, wantB, wantC, wantD};
        char message[256] = "";
        assert_non_null(t.d);
        take(sim, "qpos", w, t.d->qpos);
        take(sim, "qvel", w, t.d->qvel);
        take(sim, "act", w, t.d->act);
        take(sim, "ctrl", w, t.d->ctrl);
        take(sim, "qfrc_applied", w, t.d->qfrc_applied);
        take(sim, "qacc_warmstart", w, t.d->qacc_warmstart);
        if (!sti_mujoco_guard(find_transition, &t, message, sizeof message)) fail_msg("%s", message);
        worst = fmax(worst, differ(scene, n, n, nu, A + w * n * n, B + w * n * nu, wantA, wantB, limit));
        sensed = fmax(sensed, differ(scene, ns, n, nu, C + w * ns * n, D + w * ns * nu, wantC, wantD, limit));
        mj_deleteData(t.d);
    }
    print_message("%.60s: greatest error %.1e, of %d numbers of sensors %.1e\n", scene, worst, (int)ns, sensed);
    stet_model_destroy(model);
    stet_sim_destroy(sim);
}

#define MIXED(integrator)                                                                                              \
    "<mujoco><option timestep='.01' integrator='" integrator "'/><worldbody><body pos='0 0 1'><freejoint/><geom "      \
    "type='box' size='.1 .2 .05' contype='0' conaffinity='0'/><body name='p' pos='.3 0 0'><joint name='b' "            \
    "type='ball' damping='.1'/><geom type='capsule' size='.05 .1' pos='.1 .02 0' contype='0' conaffinity='0'/>"        \
    "<body pos='.2 0 0'><joint name='h' axis='0 1 0' damping='.2' stiffness='1'/><joint name='s' type='slide' "        \
    "axis='1 0 0'/><geom size='.06' contype='0' conaffinity='0'/><site name='t' pos='.1 0 .1' euler='10 20 0'/>"       \
    "</body></body></body></worldbody><actuator><motor joint='h'/><general joint='s' dyntype='filter' dynprm='.1' "    \
    "gainprm='3'/><motor joint='b' gear='1 .5 .2'/></actuator><sensor><gyro site='t'/><accelerometer site='t'/>"       \
    "<jointpos joint='h'/><framepos objtype='site' objname='t'/><ballquat joint='b'/><velocimeter site='t'/>"          \
    "<subtreecom body='p'/><frameangacc objtype='body' objname='p'/></sensor></mujoco>"
static const char mixed[] = MIXED("Euler"), stages[] = MIXED("RK4"), implied[] = MIXED("implicitfast");

/* A body that leans on a plane and on the limit of its joint. */
static const char leaning[] =
    "<mujoco><option timestep='.004' cone='elliptic'/><worldbody><geom type='plane' size='5 5 .1'/><body pos='0 0 "
    ".048'><freejoint/><geom type='capsule' size='.05 .2' euler='0 90 0'/><site name='all' size='.3'/><body "
    "pos='0 0 .1'><joint name='j' axis='0 1 0' damping='.1' range='-20 -1'/><geom size='.04' mass='.2' "
    "pos='.1 0 .1'/></body></body></worldbody><actuator><motor joint='j'/></actuator><sensor><touch site='all'/>"
    "<jointlimitfrc joint='j'/><gyro site='all'/></sensor></mujoco>";

static void steps_are_linearized_as_mujoco_has_them(void **state)
{
    uint64_t dice = dice_seed("steps_are_linearized_as_mujoco_has_them");
    check("cartpole_classic.xml", "f64", 1e-6, &dice);
    check(mixed, "f64", 1e-5, &dice);
    check(stages, "f64", 1e-5, &dice);
    check(implied, "f64", 1e-5, &dice);
    check(leaning, "f64", 1e-3, &dice);
    check("humanoid.xml", "f64", 1e-4, &dice);
    check(mixed, NULL, 1e-3, &dice);
}

static void what_has_no_derivative_is_refused(void **state)
{
    static double A[4], B[1], C[6], D[3];
    stet_sim *sim = room_open("cartpole.xml", &(room_def){.nworld = 1, .physics = STET_PHYSICS_MUJOCO});
    FAILS(stet_sim_linearize(sim, A, 4, B, 1), STET_ERROR_UNSUPPORTED, "steps of mujoco physics have none");
    FAILS(stet_sim_linearize_sensors(sim, A, 4, B, 1), STET_ERROR_UNSUPPORTED, "steps of mujoco physics have none");
    stet_sim_destroy(sim);
    sim = room_open("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>",
                    &(room_def){.nworld = 1, .physics = STET_PHYSICS_NATIVE});
    FAILS(stet_sim_linearize(sim, A, 0, B, 0), STET_ERROR_UNSUPPORTED, "the model has no joints");
    stet_sim_destroy(sim);
    sim = room_open("<mujoco><worldbody><body><joint name='j'/><geom size='.1' pos='.2 0 0'/><site name='s'/></body>"
                    "</worldbody><actuator><motor joint='j'/></actuator><sensor><force site='s'/></sensor></mujoco>",
                    &(room_def){.nworld = 1, .physics = STET_PHYSICS_NATIVE});
    FAILS(stet_sim_linearize(sim, A, 3, B, 2), STET_ERROR_INVALID_ARGUMENT, "A has 4 (1 worlds, 2 rows)");
    FAILS(stet_sim_linearize_sensors(sim, C, 6, D, 2), STET_ERROR_INVALID_ARGUMENT, "3 numbers of sensors), D 3");
    OK(stet_sim_linearize_sensors(sim, C, 6, D, 3));
    for (int i = 0; i < 6; ++i) assert_true(isnan(C[i]) && isnan(D[i / 2]));
    stet_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_linearized_as_mujoco_has_them),
        cmocka_unit_test(what_has_no_derivative_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
