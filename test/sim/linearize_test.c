/*
 * Derivatives of a time step at the present state of each world, against mjd_transitionFD; and the sim stays as it was.
 */
#include "sim/room.h"

#include <math.h>
#include <string.h>

enum { NWORLD = 3, MOST = 80, MOST_NU = 32 };

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
    double *A, *B;
} transition;

static void find_transition(void *context)
{
    const transition *t = context;
    mjd_transitionFD(t->m, t->d, 1e-6, 1, t->A, t->B, NULL, NULL);
}

/* Positions and quaternions of unit length, as MuJoCo has them behind any step. */
static void check(const char *scene, const char *isa, double limit, uint64_t *dice)
{
    static double A[NWORLD * MOST * MOST], B[NWORLD * MOST * MOST_NU], wantA[MOST * MOST], wantB[MOST * MOST_NU];
    stet_sim *sim = room_open(scene, &(room_def){.nworld = NWORLD, .isa = isa, .physics = STET_PHYSICS_NATIVE});
    stet_model *model = rig_model(scene);
    const mjModel *m = model->mj;
    int64_t n = 2 * m->nv + m->na, nu = m->nu;
    double worst = 0;
    assert_true(n <= MOST && nu <= MOST_NU);
    disturb(sim, "qvel", .5, dice);
    disturb(sim, "ctrl", .5, dice);
    OK(stet_sim_step(sim, 8));
    disturb(sim, "qfrc_applied", .1, dice);
    uint64_t before = room_state(sim);
    double time = room_field(sim, "time", 1, 0);
    for (int turn = 0; turn < 2; ++turn) {
        OK(stet_sim_linearize(sim, A, NWORLD * n * n, B, NWORLD * n * nu));
        assert_true(room_state(sim) == before && room_field(sim, "time", 1, 0) == time);
    }
    for (int w = 0; w < NWORLD; ++w) {
        transition t = {m, mj_makeData(m), wantA, wantB};
        char message[256] = "";
        assert_non_null(t.d);
        take(sim, "qpos", w, t.d->qpos);
        take(sim, "qvel", w, t.d->qvel);
        take(sim, "act", w, t.d->act);
        take(sim, "ctrl", w, t.d->ctrl);
        take(sim, "qfrc_applied", w, t.d->qfrc_applied);
        take(sim, "qacc_warmstart", w, t.d->qacc_warmstart);
        if (!sti_mujoco_guard(find_transition, &t, message, sizeof message)) fail_msg("%s", message);
        double most = 1;
        for (int64_t i = 0; i < n * n; ++i) most = fmax(most, fabs(wantA[i]));
        for (int64_t i = 0; i < n * (n + nu); ++i) {
            int64_t r = i / (n + nu), c = i % (n + nu);
            double want = c < n ? wantA[r * n + c] : wantB[r * nu + c - n];
            double got = c < n ? A[w * n * n + r * n + c] : B[w * n * nu + r * nu + c - n];
            worst = fmax(worst, fabs(got - want) / most);
            if (!(fabs(got - want) <= limit * most))
                fail_msg("%.40s, world %d: row %d, column %d is %.9g, not %.9g", scene, w, (int)r, (int)c, got, want);
        }
        mj_deleteData(t.d);
    }
    print_message("%.60s: greatest error %.1e\n", scene, worst);
    stet_model_destroy(model);
    stet_sim_destroy(sim);
}

static const char mixed[] =
    "<mujoco><option timestep='.01'/><worldbody><body pos='0 0 1'><freejoint/><geom type='box' size='.1 .2 .05' "
    "contype='0' conaffinity='0'/><body pos='.3 0 0'><joint name='b' type='ball' damping='.1'/><geom type='capsule' "
    "size='.05 .1' pos='.1 .02 0' contype='0' conaffinity='0'/><body pos='.2 0 0'><joint name='h' axis='0 1 0' "
    "damping='.2' stiffness='1'/><joint name='s' type='slide' axis='1 0 0'/><geom size='.06' contype='0' "
    "conaffinity='0'/></body></body></body></worldbody><actuator><motor joint='h'/><general joint='s' "
    "dyntype='filter' dynprm='.1' gainprm='3'/><motor joint='b' gear='1 .5 .2'/></actuator></mujoco>";

static void steps_are_linearized_as_mujoco_has_them(void **state)
{
    uint64_t dice = dice_seed("steps_are_linearized_as_mujoco_has_them");
    check("cartpole_classic.xml", "f64", 1e-6, &dice);
    check(mixed, "f64", 1e-5, &dice);
    check("humanoid.xml", "f64", 1e-4, &dice);
    check(mixed, NULL, 1e-3, &dice);
}

static void what_has_no_derivative_is_refused(void **state)
{
    static double A[4], B[1];
    stet_sim *sim = room_open("<mujoco><option integrator='RK4'/><worldbody><body><joint/><geom size='.1'/></body>"
                              "</worldbody></mujoco>",
                              &(room_def){.nworld = 1, .physics = STET_PHYSICS_NATIVE});
    FAILS(stet_sim_linearize(sim, A, 4, B, 0), STET_ERROR_UNSUPPORTED, "not with integrator RK4");
    FAILS(stet_sim_linearize(sim, A, 3, B, 0), STET_ERROR_INVALID_ARGUMENT, "A has 4 (1 worlds, 2 rows)");
    stet_sim_destroy(sim);
    sim = room_open("cartpole.xml", &(room_def){.nworld = 1, .physics = STET_PHYSICS_MUJOCO});
    FAILS(stet_sim_linearize(sim, A, 4, B, 1), STET_ERROR_UNSUPPORTED, "steps of mujoco physics have none");
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
