/*
 * Parameters by MuJoCo's names, world by world: each world goes where MuJoCo alone takes it with a model that was
 * edited and given to mj_setConst, bit for bit, and its model differs from that one in no array. Draws at resets.
 * Errors.
 */
#include "worlds/parameters.h"

#include <mujoco/mjxmacro.h>

#include <math.h>

enum { STEPS = 25 };

static const char scene[] = PARAMETERS_SCENE("<option timestep='.004'/>");

static void compare_models(const mjModel *a, const mjModel *b, const char *what, int64_t w)
{
#undef MJ_M
#define MJ_M(n) a->n
#define X(type, name, nr, nc)                                                                                          \
    {                                                                                                                  \
        size_t size = sizeof(type) * (size_t)(a->nr) * (size_t)(nc);                                                   \
        if (size > 0 && memcmp(a->name, b->name, size) != 0)                                                           \
            fail_msg("%s, world %d: array %s differs from that of the edited model", what, (int)w, #name);             \
    }
#define XNV X
    MJMODEL_POINTERS
#undef X
#undef XNV
#undef MJ_M
#define MJ_M(n) n
    assert_memory_equal(&a->opt, &b->opt, sizeof a->opt);
}

static void start(mjData *d)
{
    for (int i = 0; i < 3; ++i) d->ctrl[i] = 0.7;
    d->qvel[0] = 1.5;
    d->qvel[9] = -6;
}

/* The same number in arrays of floats and of doubles. */
static void set_real(const rig *r, const char *field, int64_t w, int64_t i, float x)
{
    stet_array *a = rig_array(r, field);
    void *mirror;
    OK(sti_array_mirror_write(a, &mirror));
    sti_mirror_set(a, mirror, w, i, (double)x);
    sti_array_mirror_written(a);
}

static void start_worlds(rig *r)
{
    stet_reset_def def = stet_default_reset_def();
    OK(stet_worlds_reset(r->worlds, &def));
    for (int64_t w = 0; w < WORLDS; ++w) {
        for (int i = 0; i < r->model->mj->nu; ++i) set_real(r, "ctrl", w, i, 0.7f);
        set_real(r, "qvel", w, 0, 1.5f);
        set_real(r, "qvel", w, 9, -6);
    }
}

static void compare_world(rig *r, const mjModel *m, const char *what, int64_t w)
{
    const mjData *got = r->worlds->state.data[w];
    mjData *d = mj_makeData(m);
    start(d);
    for (int i = 0; i < m->nu; ++i) d->ctrl[i] = (double)0.7f;
    for (int i = 0; i < STEPS; ++i) mj_step(m, d);
    if (memcmp(d->qpos, got->qpos, (size_t)m->nq * sizeof *d->qpos) != 0 ||
        memcmp(d->qvel, got->qvel, (size_t)m->nv * sizeof *d->qvel) != 0 || d->time != got->time)
        fail_msg("%s, world %d: its state is not that of MuJoCo with an edited model", what, (int)w);
    assert_memory_equal(d->sensordata, got->sensordata, (size_t)m->nsensordata * sizeof *d->qpos);
    mj_kinematics(m, d);
    for (int i = 0; i < 3 * m->nbody; ++i)
        if ((float)d->xpos[i] != (float)rig_get(r, "xpos", w, i))
            fail_msg("%s, world %d: xpos %d is %g, not %g", what, (int)w, i, rig_get(r, "xpos", w, i), d->xpos[i]);
    mj_deleteData(d);
}

/* Checks the models, and where the worlds go with them; returns whether any world went elsewhere than world 0,
 * or its sensors show something else. */
static bool check_worlds(rig *r, const bool given[STI_PARAMETER_PHYSICS], const char *what)
{
    bool differs = false;
    start_worlds(r);
    OK(stet_step_run(r->step, STEPS));
    for (int64_t w = 0; w < WORLDS; ++w) {
        mjModel *m = edited(r->model->mj, given, w);
        compare_models(sti_parameters_model(r->worlds, w, 0), m, what, w);
        compare_world(r, m, what, w);
        const mjData *own = r->worlds->state.data[w], *first = r->worlds->state.data[0];
        differs = differs || memcmp(own->qpos, first->qpos, (size_t)m->nq * sizeof(double)) != 0 ||
                  memcmp(own->sensordata, first->sensordata, (size_t)m->nsensordata * sizeof(double)) != 0;
        mj_deleteModel(m);
    }
    return differs;
}

static void each_parameter_is_that_of_an_edited_model(void **state)
{
    bool none[STI_PARAMETER_PHYSICS] = {false};
    for (int k = 0; k < STI_PARAMETER_PHYSICS; ++k) {
        const char *name = stet_worlds_get_parameters()[k];
        rig r = rig_make(scene, WORLDS, NULL, 1 + k % 3, true);
        bool given[STI_PARAMETER_PHYSICS] = {false};
        given[k] = true;
        rig_step(&r, STET_PHYSICS_MUJOCO);
        give(&r, (sti_parameter)k);
        /* no sensor has a past, and no geom a mesh */
        if (!check_worlds(&r, given, name) && k != STI_PARAMETER_sensor_delay && k != STI_PARAMETER_geom_dataid)
            fail_msg("%s changed nothing", name);
        OK(stet_worlds_set_parameter(r.worlds, name, NULL, 0));
        assert_false(check_worlds(&r, none, name));
        rig_free(&r);
    }
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static stet_array *array_of(const rig *r, const char *name)
{
    stet_array *a;
    OK(stet_worlds_get_parameter_array(r->worlds, name, &a));
    return a;
}

/* Values written into a parameter's array are those of set_parameter, to the bit where the array has doubles. */
static void an_array_is_the_parameter(void **state)
{
    static double all[WORLDS * MOST];
    for (int k = 0; k < STI_PARAMETER_PHYSICS; ++k) {
        const char *name = stet_worlds_get_parameters()[k];
        rig r = rig_make(scene, WORLDS, "f64", 1 + k % 3, true);
        bool given[STI_PARAMETER_PHYSICS] = {false};
        const mjModel *m = r.model->mj;
        int64_t n = sti_parameter_items(m, (sti_parameter)k);
        given[k] = true;
        rig_step(&r, STET_PHYSICS_MUJOCO);
        stet_array *a = array_of(&r, name), *same = array_of(&r, name);
        assert_ptr_equal(a, same);
        assert_false(stet_worlds_has_parameter(r.worlds, name));
        for (int64_t w = 0; w < WORLDS; ++w)
            for (int64_t i = 0; i < n; ++i) {
                assert_true(reals_get(a, w, i) == sti_parameter_own_number(m, (sti_parameter)k, i));
                all[w * n + i] = value_of(m, (sti_parameter)k, w, i);
            }
        OK(stet_array_write_worlds(a, 0, WORLDS, all, (size_t)(WORLDS * n) * sizeof *all));
        bool none = k == STI_PARAMETER_sensor_delay || k == STI_PARAMETER_geom_dataid; /* none are here */
        bool moved = check_worlds(&r, given, name);
        if (moved == none) fail_msg("the array of %s changed %s", name, moved ? "something" : "nothing");
        OK(stet_worlds_set_parameter(r.worlds, name, NULL, 0));
        assert_true(reals_get(a, WORLDS - 1, 0) == sti_parameter_own_number(m, (sti_parameter)k, 0));
        assert_false(check_worlds(&r, (bool[STI_PARAMETER_PHYSICS]){false}, name));
        rig_free(&r);
    }
}

/* Constants are derived in the worlds that were written; what was not written keeps its exact number. */
static void what_was_written_counts_alone(void **state)
{
    rig r = rig_make(scene, WORLDS, NULL, 1, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    int64_t n = r.model->mj->nbody;
    double mass[WORLDS * MOST];
    OK(stet_worlds_get_parameter(r.worlds, "body_mass", mass, n * WORLDS));
    for (int64_t i = 1; i < n; ++i) mass[2 * n + i] *= 1.1; /* no floats */
    OK(stet_worlds_set_parameter(r.worlds, "body_mass", mass, n * WORLDS));
    stet_array *a = array_of(&r, "body_mass");
    OK(stet_step_run(r.step, 1));
    int64_t made = rig_counters(&r).constants;
    float row[MOST];
    OK(stet_array_read_worlds(a, 2, 1, row, (size_t)n * sizeof *row));
    row[1] *= 1.5f;
    OK(stet_array_write_worlds(a, 2, 1, row, (size_t)n * sizeof *row));
    OK(stet_step_run(r.step, 1));
    assert_int_equal(rig_counters(&r).constants - made, 1);
    double now[WORLDS * MOST];
    OK(stet_worlds_get_parameter(r.worlds, "body_mass", now, n * WORLDS));
    for (int64_t w = 0; w < WORLDS; ++w)
        for (int64_t i = 0; i < n; ++i)
            assert_true(now[w * n + i] == (w == 2 && i == 1 ? (double)row[1] : mass[w * n + i]));
    OK(stet_array_write_worlds(a, 2, 1, row, (size_t)n * sizeof *row)); /* the same again */
    OK(stet_step_run(r.step, 1));
    assert_int_equal(rig_counters(&r).constants - made, 1);
    rig_free(&r);
}

/* Nothing reads a number that the parameter does not take. */
static void a_bad_number_is_an_error_until_it_is_gone(void **state)
{
    rig r = rig_make(scene, WORLDS, NULL, 1, true);
    rig_step(&r, STET_PHYSICS_MUJOCO);
    stet_array *a = array_of(&r, "body_mass"), *out;
    int64_t n = r.model->mj->nbody;
    float row[MOST], bad[MOST];
    OK(stet_array_read_worlds(a, 1, 1, row, (size_t)n * sizeof *row));
    memcpy(bad, row, sizeof bad);
    bad[1] = -1;
    OK(stet_array_write_worlds(a, 1, 1, bad, (size_t)n * sizeof *bad));
    uint64_t before = rig_array_hash(&r, "qvel");
    for (int i = 0; i < 2; ++i) REFUSED(STET_ERROR_INVALID_ARGUMENT, "body_mass", stet_step_run(r.step, 1));
    assert_true(before == rig_array_hash(&r, "qvel"));
    OK(stet_array_write_worlds(a, 1, 1, row, (size_t)n * sizeof *row));
    OK(stet_step_run(r.step, 1));
    bad[1] = (float)__builtin_nan("");
    OK(stet_array_write_worlds(a, 1, 1, bad, (size_t)n * sizeof *bad));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "finite", stet_step_run(r.step, 1));
    OK(stet_worlds_set_parameter(r.worlds, "body_mass", NULL, 0));
    OK(stet_step_run(r.step, 1));
    REFUSED(STET_ERROR_NOT_FOUND, "body_mass", stet_worlds_get_parameter_array(r.worlds, "body_masses", &out));
    assert_null(out);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_worlds_get_parameter_array(r.worlds, NULL, &out));
    rig_free(&r);
}

/* Draws at a reset arrive in the array. */
static void draws_arrive_in_the_array(void **state)
{
    rig r = rig_make(scene, WORLDS, "f64", 1, true);
    stet_array *a = array_of(&r, "friction");
    stet_reset_def def = stet_default_reset_def();
    double low = .5, high = 1, values[WORLDS];
    OK(stet_worlds_randomize(r.worlds, "friction", &low, &high, 1));
    def.mask = (const uint8_t[WORLDS]){0, 1, 0, 1};
    OK(stet_worlds_reset(r.worlds, &def));
    OK(stet_worlds_get_parameter(r.worlds, "friction", values, WORLDS));
    for (int64_t w = 0; w < WORLDS; ++w) {
        assert_true(reals_get(a, w, 0) == values[w]);
        assert_true((values[w] != 1) == (w == 1 || w == 3));
    }
    rig_free(&r);
}

/* Any of them together, in any order, given and taken back. */
static void many_parameters_together(void **state)
{
    bool given[STI_PARAMETER_PHYSICS] = {false};
    rig r = rig_make(scene, WORLDS, NULL, 2, true);
    uint64_t dice = 5;
    rig_step(&r, STET_PHYSICS_MUJOCO);
    for (int round = 0; round < 12; ++round) {
        for (int i = 0; i < 6; ++i) {
            int k = (int)dice_below(&dice, STI_PARAMETER_PHYSICS);
            given[k] = dice_below(&dice, 3) > 0;
            if (given[k])
                give(&r, (sti_parameter)k);
            else
                OK(stet_worlds_set_parameter(r.worlds, stet_worlds_get_parameters()[k], NULL, 0));
        }
        check_worlds(&r, given, "several");
    }
    rig_free(&r);
}

/* The model's own values change no bit; constants are derived once for each content, and not for the model's own. */
static void constants_are_derived_once(void **state)
{
    uint64_t hash[2];
    rig r = {0};
    for (int own = 0; own < 2; ++own) {
        if (own) rig_free(&r);
        r = rig_make(scene, WORLDS, NULL, 2, true);
        rig_step(&r, STET_PHYSICS_MUJOCO);
        const mjModel *m = r.model->mj;
        for (int k = 0; own && k < STI_PARAMETER_PHYSICS; ++k) {
            double x[MOST];
            int64_t n = sti_parameter_items(m, (sti_parameter)k);
            for (int64_t i = 0; i < n; ++i) x[i] = sti_parameter_own_number(m, (sti_parameter)k, i);
            OK(stet_worlds_set_parameter(r.worlds, stet_worlds_get_parameters()[k], x, n));
        }
        start_worlds(&r);
        OK(stet_step_run(r.step, STEPS));
        hash[own] = rig_all_hash(&r);
    }
    const mjModel *m = r.model->mj;
    assert_true(hash[0] == hash[1]);
    assert_int_equal(rig_counters(&r).constants, 0);
    give(&r, STI_PARAMETER_body_mass);
    give(&r, STI_PARAMETER_dof_armature);
    for (int i = 0; i < 3; ++i) OK(stet_step_run(r.step, 2));
    assert_int_equal(rig_counters(&r).constants, WORLDS - 1);
    OK(stet_worlds_set_parameter(r.worlds, "body_mass", NULL, 0));
    give(&r, STI_PARAMETER_body_mass);
    give(&r, STI_PARAMETER_geom_friction);
    OK(stet_step_run(r.step, 2));
    assert_int_equal(rig_counters(&r).constants, WORLDS - 1);
    double mass[MOST];
    uint8_t mask[WORLDS] = {0, 0, 1, 0, 0};
    for (int64_t b = 0; b < m->nbody; ++b) mass[b] = 2 * m->body_mass[b];
    OK(stet_worlds_set_parameter_where(r.worlds, "body_mass", mask, mass, m->nbody));
    OK(stet_step_run(r.step, 2));
    assert_int_equal(rig_counters(&r).constants, WORLDS);
    rig_free(&r);
}

/* A mask: the other worlds keep their value; NULL gives the marked worlds the model's. */
static void values_of_some_worlds(void **state)
{
    rig r = rig_make(scene, WORLDS, NULL, 1, true);
    double got[WORLDS], values[WORLDS] = {1, 2, 3, 4, 5}, half = 0.5;
    uint8_t mask[WORLDS] = {0, 1, 0, 0, 1}, last[WORLDS] = {0, 0, 0, 0, 1};
    assert_int_equal(stet_worlds_get_parameter_items(r.worlds, "timestep"), 1);
    OK(stet_worlds_set_parameter_where(r.worlds, "timestep", mask, values, WORLDS));
    OK(stet_worlds_get_parameter(r.worlds, "timestep", got, WORLDS));
    assert_memory_equal(got, ((double[]){.004, 2, .004, .004, 5}), sizeof got);
    OK(stet_worlds_set_parameter_where(r.worlds, "timestep", last, NULL, 0));
    OK(stet_worlds_set_parameter_where(r.worlds, "friction", mask, &half, 1));
    OK(stet_worlds_get_parameter(r.worlds, "timestep", got, WORLDS));
    assert_memory_equal(got, ((double[]){.004, 2, .004, .004, .004}), sizeof got);
    OK(stet_worlds_get_parameter(r.worlds, "friction", got, WORLDS));
    assert_memory_equal(got, ((double[]){1, .5, 1, 1, .5}), sizeof got);
    OK(stet_worlds_set_parameter(r.worlds, "timestep", NULL, 0));
    OK(stet_worlds_get_parameter(r.worlds, "timestep", got, WORLDS));
    assert_memory_equal(got, ((double[]){.004, .004, .004, .004, .004}), sizeof got);
    rig_free(&r);
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

static void draw_masses(int64_t nworld, int threads, int resets, double *out)
{
    stet_reset_def def = stet_default_reset_def();
    rig r = rig_make(scene, nworld, NULL, threads, true);
    const mjModel *m = r.model->mj;
    double low[MOST], high[MOST];
    for (int64_t b = 0; b < m->nbody; ++b) {
        low[b] = 0.5 * m->body_mass[b];
        high[b] = 2 * m->body_mass[b];
    }
    rig_step(&r, STET_PHYSICS_MUJOCO);
    OK(stet_worlds_randomize(r.worlds, "body_mass", low, high, m->nbody));
    OK(stet_worlds_randomize(r.worlds, "friction", (double[]){0.2}, (double[]){0.4}, 1));
    for (int i = 0; i < resets; ++i) {
        OK(stet_worlds_reset(r.worlds, &def));
        OK(stet_step_run(r.step, 1));
    }
    OK(stet_worlds_get_parameter(r.worlds, "body_mass", out, nworld * m->nbody));
    for (int64_t i = 0; i < nworld * m->nbody; ++i)
        assert_true(out[i] >= low[i % m->nbody] && out[i] <= high[i % m->nbody]);
    rig_free(&r);
}

static void draws_depend_on_the_world_and_its_resets_alone(void **state)
{
    static double few[3 * MOST], many[9 * MOST], later[9 * MOST];
    draw_masses(3, 1, 2, few);
    draw_masses(9, 3, 2, many);
    draw_masses(9, 2, 3, later);
    stet_model *model = rig_model(scene);
    size_t nbody = (size_t)model->mj->nbody;
    assert_memory_equal(few, many, 3 * nbody * sizeof *few);
    assert_true(memcmp(many + nbody, many + 2 * nbody, nbody * sizeof *many) != 0);
    assert_true(memcmp(many, later, nbody * sizeof *many) != 0);
    stet_model_destroy(model);
}

/* Only worlds that are reset draw; the number of draws is that of their resets; drawing ends, values stay. */
static void worlds_that_are_reset_draw(void **state)
{
    rig r = rig_make(scene, WORLDS, NULL, 1, true), all = rig_make(scene, WORLDS, NULL, 1, true);
    stet_reset_def def = stet_default_reset_def(), some = def;
    uint8_t mask[WORLDS] = {0, 1, 0, 0, 1};
    double low = 0.5, high = 0.75, got[WORLDS], want[WORLDS], again[WORLDS];
    some.mask = mask;
    OK(stet_worlds_randomize(r.worlds, "friction", &low, &high, 1));
    OK(stet_worlds_randomize(all.worlds, "friction", &low, &high, 1));
    OK(stet_worlds_get_parameter(r.worlds, "friction", got, WORLDS));
    for (int w = 0; w < WORLDS; ++w) assert_true(got[w] == 1);
    OK(stet_worlds_reset(r.worlds, &some));
    OK(stet_worlds_reset(all.worlds, &def));
    OK(stet_worlds_get_parameter(r.worlds, "friction", got, WORLDS));
    OK(stet_worlds_get_parameter(all.worlds, "friction", want, WORLDS));
    for (int w = 0; w < WORLDS; ++w) assert_true(mask[w] ? got[w] == want[w] && got[w] < high : got[w] == 1);
    OK(stet_worlds_randomize(r.worlds, "friction", NULL, NULL, 0));
    OK(stet_worlds_reset(r.worlds, &def));
    OK(stet_worlds_get_parameter(r.worlds, "friction", again, WORLDS));
    assert_memory_equal(got, again, sizeof got);
    rig_free(&r);
    rig_free(&all);
}

/* ---- servos ------------------------------------------------------------------------------------------------------ */

static const char servos[] =
    "<mujoco><worldbody><body><joint name='a' type='slide' damping='2'/><geom size='.1'/></body><body pos='1 0 "
    "0'><joint "
    "name='b' type='slide' damping='2'/><geom size='.1'/></body><body pos='2 0 0'><joint name='c' type='slide'/><geom "
    "size='.1'/></body></worldbody><option gravity='0 0 0' timestep='.01'/><actuator><position joint='a' kp='20' "
    "kv='9'/><velocity joint='b' kv='3'/><motor joint='c'/><damper joint='c' kv='2' ctrlrange='0 1'/><intvelocity "
    "joint='b' kp='7' actrange='-1 1'/></actuator></mujoco>";

/* Gains that differ between worlds move no set point, where gainprm alone does. */
static void gains_move_no_set_point(void **state)
{
    rig r = rig_make(servos, 3, NULL, 1, true);
    const double kp[3][5] = {{20, 0, 0, 0, 7}, {40, 0, 0, 0, 7}, {10, 0, 0, 0, 7}};
    const double kv[3][5] = {{9, 3, 0, 0, 0}, {12, 6, 0, 0, 0}, {5, 20, 0, 0, 0}};
    double own[15];
    rig_step(&r, STET_PHYSICS_MUJOCO);
    OK(stet_worlds_get_parameter(r.worlds, "actuator_kp", own, 15));
    assert_memory_equal(own, kp[0], sizeof kp[0]);
    OK(stet_worlds_get_parameter(r.worlds, "actuator_kv", own, 15));
    assert_memory_equal(own, kv[0], sizeof kv[0]);
    for (int alone = 0; alone < 2; ++alone) {
        stet_reset_def def = stet_default_reset_def();
        OK(stet_worlds_reset(r.worlds, &def));
        for (int w = 0; w < 3; ++w) rig_set(&r, "ctrl", w, 0, 0.5f);
        if (alone) {
            double gain[3][5 * mjNGAIN] = {{0}};
            for (int w = 0; w < 3; ++w)
                for (int a = 0; a < 5; ++a) gain[w][a * mjNGAIN] = a == 0 ? kp[w][0] : 1;
            OK(stet_worlds_set_parameter(r.worlds, "actuator_kp", NULL, 0));
            OK(stet_worlds_set_parameter(r.worlds, "actuator_kv", NULL, 0));
            OK(stet_worlds_set_parameter(r.worlds, "actuator_gainprm", gain[0], (int64_t)15 * mjNGAIN));
        } else {
            OK(stet_worlds_set_parameter(r.worlds, "actuator_kp", kp[0], 15));
            OK(stet_worlds_set_parameter(r.worlds, "actuator_kv", kv[0], 15));
            const mjModel *m = sti_parameters_model(r.worlds, 2, 0);
            assert_true(m->actuator_gainprm[mjNGAIN] == 20 && m->actuator_biasprm[mjNBIAS + 2] == -20);
            assert_true(m->actuator_gainprm[3 * mjNGAIN + 2] == -2); /* the damper's */
        }
        OK(stet_step_run(r.step, 5000));
        for (int w = 0; w < 3; ++w) {
            const double at = rig_get(&r, "qpos", w, 0), want = alone ? 0.5 * kp[w][0] / 20 : 0.5;
            if (!(fabs(at - want) < 1e-4)) fail_msg("world %d is at %g, not %g", w, at, want);
        }
    }
    REFUSED(STET_ERROR_UNSUPPORTED, "actuator 1 is no position servo",
            stet_worlds_set_parameter(r.worlds, "actuator_kp", (double[]){1, 2, 0, 0, 7}, 5));
    REFUSED(STET_ERROR_UNSUPPORTED, "actuator 2 is no servo",
            stet_worlds_randomize(r.worlds, "actuator_kv", (double[]){1}, (double[]){2}, 1));
    rig_free(&r);
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void errors_change_nothing(void **state)
{
    static double x[WORLDS * MOST];
    rig r = rig_make(scene, WORLDS, NULL, 1, true), simple = rig_make("hand.xml", 1, NULL, 1, true);
    const mjModel *m = r.model->mj;
    stet_worlds *w = r.worlds;
    memcpy(x, m->body_mass, (size_t)m->nbody * sizeof *x);
    REFUSED(STET_ERROR_NOT_FOUND, "body_mass body_inertia", stet_worlds_set_parameter(w, "colour", x, 1));
    REFUSED(STET_ERROR_NOT_FOUND, "body_mass", stet_worlds_randomize(w, "mass", x, x, 1));
    REFUSED(STET_ERROR_NOT_FOUND, "body_mass", stet_worlds_get_parameter(w, "mass", x, 1));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "for all worlds alike",
            stet_worlds_set_parameter(w, "body_mass", x, m->nbody - 1));
    x[1] = -1;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "number 1 is -1", stet_worlds_set_parameter(w, "body_mass", x, m->nbody));
    x[1] = 0;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "above 0", stet_worlds_set_parameter(w, "body_mass", x, m->nbody));
    x[1] = NAN;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "number 1 is nan", stet_worlds_set_parameter(w, "body_mass", x, m->nbody));
    memset(x, 0, sizeof x);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "quaternions", stet_worlds_set_parameter(w, "body_quat", x, 4 * m->nbody));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "above 0", stet_worlds_set_parameter(w, "timestep", x, 1));
    memcpy(x, m->jnt_range, 2 * (size_t)m->njnt * sizeof *x);
    x[0] = x[1] + 1;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "at most", stet_worlds_set_parameter(w, "jnt_range", x, 2 * m->njnt));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "low <= high",
            stet_worlds_randomize(w, "friction", (double[]){1}, (double[]){0}, 1));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "of 1 for all", stet_worlds_randomize(w, "body_mass", x, x, 2));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "low <= high",
            stet_worlds_randomize(w, "body_quat", (double[]){-1}, (double[]){1}, 1));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "room for", stet_worlds_get_parameter(w, "timestep", x, 1));
    assert_false(sti_parameters_any(&w->parameters));
    assert_false(sti_parameters_drawn(&w->parameters));
    const mjModel *s = simple.model->mj;
    memcpy(x, s->body_ipos, 3 * (size_t)s->nbody * sizeof *x);
    int b = 1;
    while (b < s->nbody && !s->body_simple[b]) ++b;
    assert_true(b < s->nbody);
    x[3 * b] += 0.01;
    REFUSED(STET_ERROR_UNSUPPORTED, "simple='false'",
            stet_worlds_set_parameter(simple.worlds, "body_ipos", x, 3 * s->nbody));
    rig_free(&r);
    rig_free(&simple);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_parameter_is_that_of_an_edited_model),
        cmocka_unit_test(an_array_is_the_parameter),
        cmocka_unit_test(what_was_written_counts_alone),
        cmocka_unit_test(a_bad_number_is_an_error_until_it_is_gone),
        cmocka_unit_test(draws_arrive_in_the_array),
        cmocka_unit_test(many_parameters_together),
        cmocka_unit_test(constants_are_derived_once),
        cmocka_unit_test(values_of_some_worlds),
        cmocka_unit_test(draws_depend_on_the_world_and_its_resets_alone),
        cmocka_unit_test(worlds_that_are_reset_draw),
        cmocka_unit_test(gains_move_no_set_point),
        cmocka_unit_test(errors_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
