/*
 * Parameters of the physics, world by world: each world goes where MuJoCo alone takes it with a model that was edited
 * by hand, on any number of threads; what was given no longer is the model's own again.
 */
#include "worlds/rig.h"

#include <math.h>

enum { WORLDS = 7, STEPS = 30 };

/* Springs, dampers (linear and not), friction of geoms and of a pair, contacts that slide. */
static const char scene[] =
    "<mujoco><option timestep='.005' cone='elliptic'/><worldbody><geom name='floor' type='plane' size='3 3 .1' "
    "friction='.7 .01 .001'/>"
    "<body name='a' pos='0 0 .15'><freejoint/><geom name='a' type='box' size='.1 .1 .1' friction='.4 .02 .003'/></body>"
    "<body name='b' pos='1 0 .1'><joint type='slide' axis='1 0 0' damping='.5 .25' stiffness='3'/><joint type='slide' "
    "axis='0 0 1'/>"
    "<geom name='b' size='.1'/></body><body pos='0 1 1'><joint type='hinge' axis='0 1 0' stiffness='2' damping='.1' "
    "springref='30'/>"
    "<geom type='capsule' size='.03' fromto='0 0 0 .4 0 0'/></body></worldbody>"
    "<contact><pair geom1='floor' geom2='b' friction='.3 .3 .01 .001 .001'/></contact></mujoco>";

/* Values of a world, from its number. */
typedef struct values {
    double gravity[WORLDS][3], friction[WORLDS], damping[WORLDS], stiffness[WORLDS];
} values;

static values some_values(void)
{
    values v;
    for (int w = 0; w < WORLDS; ++w) {
        v.gravity[w][0] = 0.5 * w;
        v.gravity[w][1] = -0.25 * w;
        v.gravity[w][2] = -9.81 + 0.7 * w;
        v.friction[w] = 0.1 + 0.37 * w;
        v.damping[w] = 1.3 * w;
        v.stiffness[w] = 2.1 - 0.3 * w;
    }
    return v;
}

static void give(rig *r, const values *v, int kinds)
{
    if (kinds & 1) OK(stet_worlds_set_parameter(r->worlds, "gravity", v->gravity[0], 3 * WORLDS));
    if (kinds & 2) OK(stet_worlds_set_parameter(r->worlds, "friction", v->friction, WORLDS));
    if (kinds & 4) OK(stet_worlds_set_parameter(r->worlds, "damping", v->damping, WORLDS));
    if (kinds & 8) OK(stet_worlds_set_parameter(r->worlds, "stiffness", v->stiffness, WORLDS));
}

static void multiply(mjtNum *x, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; ++i) x[i] *= factor;
}

/* What MuJoCo alone makes of world w: its state after the steps. */
static void go_alone(const mjModel *shared, const values *v, int w, int kinds, double *qpos)
{
    mjModel *m = mj_copyModel(NULL, shared);
    assert_non_null(m);
    if (kinds & 1) memcpy(m->opt.gravity, v->gravity[w], sizeof m->opt.gravity);
    if (kinds & 2) multiply(m->geom_friction, 3 * m->ngeom, v->friction[w]);
    if (kinds & 2) multiply(m->pair_friction, 5 * m->npair, v->friction[w]);
    if (kinds & 4) multiply(m->dof_damping, m->nv, v->damping[w]);
    if (kinds & 4) multiply(m->dof_dampingpoly, m->nv * mjNPOLY, v->damping[w]);
    if (kinds & 8) multiply(m->jnt_stiffness, m->njnt, v->stiffness[w]);
    if (kinds & 8) multiply(m->jnt_stiffnesspoly, m->njnt * mjNPOLY, v->stiffness[w]);
    mjData *d = mj_makeData(m);
    assert_non_null(d);
    d->qvel[0] = 1.5; /* it slides */
    d->qvel[6] = -0.5;
    for (int i = 0; i < STEPS; ++i) mj_step(m, d);
    memcpy(qpos, d->qpos, (size_t)m->nq * sizeof *qpos);
    mj_deleteData(d);
    mj_deleteModel(m);
}

static void start(rig *r)
{
    stet_reset_def def = stet_default_reset_def();
    OK(stet_worlds_reset(r->worlds, &def));
    for (int64_t w = 0; w < WORLDS; ++w) {
        rig_set(r, "qvel", w, 0, 1.5f);
        rig_set(r, "qvel", w, 6, -0.5f);
    }
}

static void check_worlds(const rig *r, const values *v, int kinds, const char *what)
{
    double want[64];
    for (int w = 0; w < WORLDS; ++w) {
        go_alone(r->model->mj, v, w, kinds, want);
        if (memcmp(want, r->worlds->state.data[w]->qpos, (size_t)r->model->mj->nq * sizeof *want) != 0)
            fail_msg("%s: parameters %d, world %d went another way", what, kinds, w);
    }
}

static void each_world_goes_its_own_way(void **state)
{
    values v = some_values();
    for (int threads = 1; threads <= 3; ++threads)
        for (int kinds = 1; kinds < 16; kinds = kinds == 8 ? 15 : 2 * kinds) {
            rig r = rig_make(scene, WORLDS, NULL, threads, true);
            rig_step(&r, STET_PHYSICS_MUJOCO);
            give(&r, &v, kinds);
            start(&r);
            OK(stet_step_run(r.step, STEPS));
            check_worlds(&r, &v, kinds, "given");
            double with[2] = {r.worlds->state.data[1]->qpos[0], 0};
            for (const char *const *name = stet_worlds_get_parameters(); *name; ++name)
                OK(stet_worlds_set_parameter(r.worlds, *name, NULL, 0));
            start(&r);
            OK(stet_step_run(r.step, STEPS));
            check_worlds(&r, &v, 0, "taken back");
            if (kinds == 1) assert_true(with[0] != r.worlds->state.data[1]->qpos[0]);
            rig_free(&r);
        }
}

/* One after the other given and taken back: of those that are not given nothing is left. */
static void what_is_taken_back_is_the_models_own(void **state)
{
    values v = some_values();
    rig r = rig_make(scene, WORLDS, NULL, 2, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    uint64_t dice = 99;
    print_message("dice 99\n");
    for (int i = 0; i < 20; ++i) {
        int kinds = (int)(dice_next(&dice) % 16);
        for (const char *const *name = stet_worlds_get_parameters(); *name; ++name)
            OK(stet_worlds_set_parameter(r.worlds, *name, NULL, 0));
        give(&r, &v, kinds);
        start(&r);
        OK(stet_step_run(r.step, STEPS));
        check_worlds(&r, &v, kinds, "in turn");
    }
    rig_free(&r);
}

/* For all worlds alike is the same number for each; the model's own values given change no bit. */
static void alike_is_the_same_for_each(void **state)
{
    static const double ones[WORLDS] = {1, 1, 1, 1, 1, 1, 1};
    uint64_t hash[3];
    for (int k = 0; k < 3; ++k) {
        rig r = rig_make(scene, WORLDS, NULL, 2, true);
        rig_step(&r, STET_PHYSICS_MUJOCO);
        if (k == 1) OK(stet_worlds_set_parameter(r.worlds, "friction", ones, 1));
        if (k == 1) OK(stet_worlds_set_parameter(r.worlds, "gravity", (double[]){0, 0, -9.81}, 3));
        if (k == 2) OK(stet_worlds_set_parameter(r.worlds, "damping", ones, WORLDS));
        start(&r);
        OK(stet_step_run(r.step, STEPS));
        hash[k] = rig_hash(&r);
        rig_free(&r);
    }
    assert_true(hash[0] == hash[1] && hash[0] == hash[2]);
}

static void refused_in_a_sentence(void **state)
{
    static const double two[2] = {1, 2}, bad[3] = {0, INFINITY, 0}, negative = -0.5;
    rig r = rig_make(scene, WORLDS, NULL, 1, true);
    REFUSED(STET_ERROR_NOT_FOUND, "did you mean body_mass?", stet_worlds_set_parameter(r.worlds, "mass", two, 1));
    REFUSED(STET_ERROR_NOT_FOUND, "there are: gravity friction", stet_worlds_set_parameter(r.worlds, "colour", two, 1));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "2 numbers; give 1", stet_worlds_set_parameter(r.worlds, "friction", two, 2));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "2 numbers; give 3", stet_worlds_set_parameter(r.worlds, "gravity", two, 2));
    static const double huge[3] = {0, 0, -2e15};
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "number 2 is -2e+15; give numbers of at most 1e15 in size",
            stet_worlds_set_parameter(r.worlds, "gravity", huge, 3));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "number 1 is inf", stet_worlds_set_parameter(r.worlds, "gravity", bad, 3));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "0 or more", stet_worlds_set_parameter(r.worlds, "damping", &negative, 1));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "must not be NULL", stet_worlds_set_parameter(NULL, "damping", two, 1));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "must not be NULL", stet_worlds_set_parameter(r.worlds, NULL, two, 1));
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_world_goes_its_own_way),
        cmocka_unit_test(what_is_taken_back_is_the_models_own),
        cmocka_unit_test(alike_is_the_same_for_each),
        cmocka_unit_test(refused_in_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
