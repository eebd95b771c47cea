/*
 * Models that people use: those of the projects in tools/corpus.txt. Which of them does native physics cover, what do
 * the others need, and how far from MuJoCo are those that it covers?
 *
 * A model that is covered runs in double from the same states as MuJoCo, with the same random controls, to the
 * tolerance of rounding (see make_exact): contacts (pairs, number, place, depth), accelerations, sensors and forces of
 * contact in the states, then positions and speeds after a step and after STEPS. `spread` is what MuJoCo itself makes
 * of a state that differs by NUDGE: an error may be SPREADS times that, or LEAST. Where geoms touch whose contacts are
 * found by iterations, MuJoCo's may be others (see pairs_test.c), and errors may be SEARCHED. What is found goes into
 * corpus.md in the build tree.
 *
 * Without arguments: SAMPLE models, which the run's seed draws, of the packages that other tests need anyway. "all":
 * all that are there. CORPUS in the environment: those of all whose path has this part.
 */
#include "physics/corpus_contacts.h"
#include "physics/oracle.h"

#include "physics/pairs.h"

#include <math.h>
#include <stdlib.h>

enum { WORLDS = 4, SETTLE = 60, STEPS = 20, SAMPLE = 24, NATIVE_LEAST = 40 };
#define NUDGE 1e-12
#define SPREADS 10
#define LEAST 1e-9
#define FLOOR 1e-2
#define SEARCHED_FIRST 2e-2
#define SEARCHED_LAST .5
#define PLACE 1e-6 /* m: contacts that are nearer to MuJoCo's are the same */

static corpus_list list;
static corpus_model models[CORPUS_MOST];
static const char *features[CORPUS_FEATURES];
static int nfeature;
static uint64_t seed;

static int feature_number(const char *name)
{
    for (int i = 0; i < nfeature; ++i)
        if (strcmp(features[i], name) == 0) return i;
    assert_true(nfeature < CORPUS_FEATURES);
    features[nfeature] = name;
    return nfeature++;
}

/* ---- one model --------------------------------------------------------------------------------------------------- */

/* Both sides solve to rounding, so that what is left is a difference of the equations. */
static void make_exact(mjModel *m)
{
    m->opt.solver = mjSOL_NEWTON;
    m->opt.tolerance = 1e-18;
    m->opt.ls_tolerance = 1e-6;
    m->opt.iterations = 200;
    m->opt.ls_iterations = 200;
    m->opt.ccd_tolerance = 1e-12;
    m->opt.ccd_iterations = 200;
}

typedef struct corpus_run {
    const mjModel *m;
    mjData *d;
    int nstep;
} corpus_run;

static void run_steps(void *context)
{
    const corpus_run *r = context;
    if (r->nstep == 0) mj_forward(r->m, r->d);
    for (int i = 0; i < r->nstep; ++i) mj_step(r->m, r->d);
}

static bool run_mujoco(const mjModel *m, mjData *d, int nstep)
{
    return sti_mujoco_guard(run_steps, &(corpus_run){m, d, nstep}, NULL, 0);
}

static void draw_controls(const mjModel *m, mjData *d, uint64_t *dice)
{
    for (int i = 0; i < m->nu; ++i) {
        double low = m->actuator_ctrllimited[i] ? m->actuator_ctrlrange[2 * i] : -1;
        double high = m->actuator_ctrllimited[i] ? m->actuator_ctrlrange[2 * i + 1] : 1;
        d->ctrl[i] = oracle_uniform(dice, low, high);
    }
}

/* World w begins w * SETTLE steps after a state near the model's own, with other controls. */
static bool draw_world(const mjModel *m, mjData *d, int w, uint64_t *dice)
{
    if (m->nkey > 0) mj_resetDataKeyframe(m, d, 0);
    for (int i = 0; i < m->nq; ++i) d->qpos[i] += oracle_uniform(dice, -0.01, 0.01);
    for (int i = 0; i < m->nv; ++i) d->qvel[i] = oracle_uniform(dice, -0.1, 0.1);
    draw_controls(m, d, dice);
    if (w > 0 && !run_mujoco(m, d, w * SETTLE)) return false;
    draw_controls(m, d, dice);
    mju_zero(d->qacc_warmstart, (int)m->nv);
    return true;
}

static void write_state(const rig *r, int w, const mjData *d)
{
    const mjModel *m = r->model->mj;
    const struct {
        const char *field;
        const mjtNum *x;
        size_t n;
    } rows[] = {{"qpos", d->qpos, (size_t)m->nq},
                {"qvel", d->qvel, (size_t)m->nv},
                {"act", d->act, (size_t)m->na},
                {"ctrl", d->ctrl, (size_t)m->nu},
                {"mocap_pos", d->mocap_pos, 3 * (size_t)m->nmocap},
                {"mocap_quat", d->mocap_quat, 4 * (size_t)m->nmocap}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        if (rows[k].n > 0)
            OK(stet_array_write_worlds(rig_array(r, rows[k].field), w, 1, rows[k].x, rows[k].n * sizeof *rows[k].x));
}

static double relative(const double *x, const mjtNum *exact, int64_t n)
{
    double scale = FLOOR, worst = 0;
    for (int64_t i = 0; i < n; ++i) {
        double diff = fabs(x[i] - exact[i]);
        scale = fmax(scale, fabs(exact[i]));
        worst = fmax(worst, diff == diff ? diff : HUGE_VAL);
    }
    return worst / scale;
}

static double relative_row(const stet_array *a, int w, const mjtNum *exact, int64_t n)
{
    static double row[4096];
    assert_true(n <= 4096);
    for (int64_t i = 0; i < n; ++i) row[i] = reals_get(a, w, i);
    return relative(row, exact, n);
}

static void raise(double *most, double x) { *most = fmax(*most, x); }

/* The state of near moves by NUDGE. */
static void nudge(const mjModel *m, mjData *near, const mjData *d, uint64_t *dice)
{
    mj_copyData(near, m, d);
    for (int i = 0; i < m->nq; ++i) near->qpos[i] += oracle_uniform(dice, -NUDGE, NUDGE);
    for (int i = 0; i < m->nv; ++i) near->qvel[i] += oracle_uniform(dice, -NUDGE, NUDGE);
}

/* After steps. */
static void compare_motion(const rig *r, mjData *const *d, mjData *const *near, bool first, corpus_model *c)
{
    const mjModel *m = r->model->mj;
    stet_array *qpos = rig_array(r, "qpos"), *qvel = rig_array(r, "qvel");
    OK(sti_array_ensure(qpos));
    OK(sti_array_ensure(qvel));
    for (int w = 0; w < WORLDS; ++w) {
        raise(first ? &c->error.first : &c->error.last, relative_row(qpos, w, d[w]->qpos, m->nq));
        raise(first ? &c->spread.first : &c->spread.last, relative(near[w]->qpos, d[w]->qpos, m->nq));
        raise(first ? &c->error.first_speed : &c->error.last_speed, relative_row(qvel, w, d[w]->qvel, m->nv));
        raise(first ? &c->spread.first_speed : &c->spread.last_speed, relative(near[w]->qvel, d[w]->qvel, m->nv));
    }
}

static bool is_at_margin(const mjData *d)
{
    for (int i = 0; i < d->ncon; ++i)
        if (fabs(d->contact[i].dist - d->contact[i].includemargin) < 1e-12) return true;
    return false;
}

/* A quantity of the states as forward dynamics leave it. exact: those of MuJoCo, near: of the states beside. */
static bool compare_quantity(sti_native *native, const char *name, int64_t n, const mjtNum *const *exact,
                             const mjtNum *const *near, double *error, double *spread)
{
    stet_array *a;
    if (n == 0) return true;
    if (sti_native_quantity(native, name, &a) != STET_OK) return false;
    for (int w = 0; w < WORLDS; ++w) {
        raise(error, relative_row(a, w, exact[w], n));
        raise(spread, relative(near[w], exact[w], n));
    }
    stet_array_destroy(a);
    return true;
}

static bool compare_present(corpus_model *c, const rig *r, sti_native *native, mjData *const *d, mjData *const *near)
{
    const mjModel *m = r->model->mj;
    const mjtNum *qacc[2][WORLDS], *sensors[2][WORLDS];
    contact_arrays contacts = corpus_find_contacts(r, d, WORLDS);
    for (int w = 0; w < WORLDS; ++w) {
        c->most_rows = c->most_rows > d[w]->nefc ? c->most_rows : d[w]->nefc;
        c->grazes = c->grazes || is_at_margin(d[w]);
        raise(&c->error.force, corpus_compare_contacts(&contacts, w, m, d[w], &c->contacts));
        raise(&c->spread.force, corpus_compare_forces(m, near[w], d[w]));
        qacc[0][w] = d[w]->qacc;
        qacc[1][w] = near[w]->qacc;
        sensors[0][w] = d[w]->sensordata;
        sensors[1][w] = near[w]->sensordata;
    }
    return compare_quantity(native, "qacc", m->nv, qacc[0], qacc[1], &c->error.qacc, &c->spread.qacc) &&
           compare_quantity(native, "sensordata", c->sensors_off ? 0 : m->nsensordata, sensors[0], sensors[1],
                            &c->error.sensors, &c->spread.sensors);
}

/* What went wrong, or NULL. */
static const char *compare_states(corpus_model *c, const rig *r, sti_native *native, mjData *const *d,
                                  mjData *const *near)
{
    const mjModel *m = r->model->mj;
    for (int w = 0; w < WORLDS; ++w)
        if (!run_mujoco(m, d[w], 0) || !run_mujoco(m, near[w], 0)) return "MuJoCo: mj_forward fails";
    if (!compare_present(c, r, native, d, near)) return stet_get_last_error();
    for (int w = 0; w < WORLDS; ++w) { /* mj_forward left its own warm start */
        mju_zero(d[w]->qacc_warmstart, (int)m->nv);
        mju_zero(near[w]->qacc_warmstart, (int)m->nv);
    }
    for (int part = 0; part < 2; ++part) {
        int nstep = part == 0 ? 1 : STEPS - 1;
        for (int w = 0; w < WORLDS; ++w)
            if (!run_mujoco(m, d[w], nstep) || !run_mujoco(m, near[w], nstep)) return "MuJoCo: mj_step fails";
        if (sti_native_steps(native, NULL, nstep) != STET_OK) return stet_get_last_error();
        compare_motion(r, d, near, part == 0, c);
    }
    for (int w = 0; w < WORLDS; ++w) c->faults |= stet_worlds_get_faults(r->worlds)[w];
    c->compared = true;
    return NULL;
}

static const char *compare_worlds(corpus_model *c, rig *r, mjData *const *d, mjData *const *near)
{
    const mjModel *m = r->model->mj;
    uint64_t dice = seed;
    for (const char *p = c->file->name; *p; ++p) dice = dice * 31 + (unsigned char)*p;
    sti_native *native;
    for (int w = 0; w < WORLDS; ++w) {
        if (!d[w] || !near[w]) return "no memory for MuJoCo's data";
        if (!draw_world(m, d[w], w, &dice)) return "MuJoCo: mj_step fails";
        nudge(m, near[w], d[w], &dice);
        write_state(r, w, d[w]);
    }
    if (sti_native_create(r->worlds, &native) != STET_OK) return stet_get_last_error();
    const char *failure = compare_states(c, r, native, d, near);
    sti_native_destroy(native);
    return failure;
}

static void compare_model(corpus_model *c, stet_model *model)
{
    rig r = {.device = rig_open_device("f64", 1), .model = model};
    stet_worlds_def def = stet_default_worlds_def();
    mjData *d[WORLDS], *near[WORLDS];
    def.nworld = WORLDS;
    def.exact = false;
    OK(stet_worlds_create(r.device, model, &def, &r.worlds));
    for (int w = 0; w < WORLDS; ++w) {
        d[w] = mj_makeData(model->mj);
        near[w] = mj_makeData(model->mj);
    }
    const char *failure = compare_worlds(c, &r, d, near);
    if (failure) (void)snprintf(c->failure, sizeof c->failure, "%s", failure);
    for (int w = 0; w < WORLDS; ++w) {
        mj_deleteData(d[w]);
        mj_deleteData(near[w]);
    }
    stet_worlds_destroy(r.worlds);
    stet_device_destroy(r.device);
}

static bool is_searched(const mjModel *m)
{
    for (int a = 0; a < m->ngeom; ++a)
        for (int b = 0; b < m->ngeom; ++b)
            if (m->geom_type[a] <= m->geom_type[b] && sti_physics_may_touch(m, a, b) &&
                sti_physics_is_searched(m->geom_type[a], m->geom_type[b]))
                return true;
    return false;
}

static bool within(double error, double spread) { return error <= fmax(LEAST, SPREADS * spread); }

static bool agrees(const corpus_model *c)
{
    const corpus_distance *e = &c->error, *s = &c->spread;
    if (c->grazes || (c->searched && e->first <= SEARCHED_FIRST && e->last <= SEARCHED_LAST)) return true;
    return c->contacts.same == c->contacts.touch && c->contacts.place <= PLACE && c->contacts.depth <= PLACE &&
           within(e->qacc, s->qacc) && within(e->sensors, s->sensors) && within(e->force, s->force) &&
           within(e->first, s->first) && within(e->first_speed, s->first_speed) && within(e->last, s->last) &&
           within(e->last_speed, s->last_speed);
}

/* Sensors change nothing of the motion: a model that lacks them alone is compared without. */
static void check_model(corpus_model *c)
{
    stet_model *model;
    const char *name;
    bool covered;
    if (stet_model_load(c->file->path, &model) != STET_OK) {
        (void)snprintf(c->failure, sizeof c->failure, "it does not load: %s", stet_get_last_error());
        return;
    }
    c->nv = (int)model->mj->nv;
    for (int i = 0; (name = stet_native_get_feature(model, i, &covered)) != NULL; ++i)
        if (!covered) c->missing |= 1ull << feature_number(name);
    c->sensors_off = c->missing == 1ull << feature_number("sensors");
    mjModel *m = (mjModel *)model->mj;
    if (c->sensors_off) m->opt.disableflags |= mjDSBL_SENSOR;
    make_exact(m);
    c->searched = is_searched(m);
    if (c->missing == 0 || c->sensors_off) compare_model(c, model);
    c->differs = c->compared && !agrees(c);
    stet_model_destroy(model);
}

/* ---- the test ---------------------------------------------------------------------------------------------------- */

/* All models, or as many in a random order; returns how many. */
static int choose(bool all, const corpus_file *chosen[CORPUS_MOST])
{
    uint64_t dice = seed;
    for (int k = 0; k < list.nfile; ++k) chosen[k] = &list.file[k];
    if (all || list.nfile <= SAMPLE) return list.nfile;
    for (int k = 0; k < SAMPLE; ++k) {
        size_t other = (size_t)k + dice_below(&dice, (size_t)(list.nfile - k));
        const corpus_file *file = chosen[k];
        chosen[k] = chosen[other];
        chosen[other] = file;
    }
    return SAMPLE;
}

static void check_models(bool all, const char *part)
{
    const char *const installed[] = {"gymnasium", "dm_control", NULL};
    seed = dice_seed("models_that_are_covered_move_as_mujocos");
    corpus_read(&list, all ? NULL : installed);
    if (list.nfile == 0) {
        print_message("there are no models in .venv/: run tools/setup.sh test\n");
        skip();
    }
    int nmodel = 0, compared = 0, differ = 0, graze = 0, failed = 0;
    static const corpus_file *chosen[CORPUS_MOST];
    for (int k = 0, n = choose(all, chosen); k < n; ++k) {
        if (part && !strstr(chosen[k]->path, part)) continue;
        corpus_model *c = &models[nmodel++];
        c->file = chosen[k];
        check_model(c);
        compared += c->compared;
        differ += c->differs;
        graze += c->grazes;
        failed += c->failure[0] != 0;
        if (c->differs || c->failure[0]) print_message("%s %s\n", c->file->name, c->differs ? "differs" : c->failure);
    }
    FILE *out = fopen(STET_TEST_BINARY_DIR "/corpus.md", "w");
    assert_non_null(out);
    corpus_report(out, &list, models, nmodel, features, nfeature);
    assert_int_equal(fclose(out), 0);
    print_message("%d models, %d of them native; see %s/corpus.md\n", nmodel, compared, STET_TEST_BINARY_DIR);
    assert_int_equal(differ, 0);
    assert_int_equal(failed, 0);
    assert_true(graze <= 1 + nmodel / 100); /* what no comparison says anything about */
    if (!part) assert_true(compared >= (all ? NATIVE_LEAST : 1));
}

static void a_sample_of_models_moves_as_mujocos(void **state) { check_models(false, NULL); }

static void all_models_move_as_mujocos(void **state) { check_models(true, getenv("CORPUS")); }

int main(int argc, char **argv)
{
    const struct CMUnitTest sample[] = {cmocka_unit_test(a_sample_of_models_moves_as_mujocos)};
    const struct CMUnitTest all[] = {cmocka_unit_test(all_models_move_as_mujocos)};
    bool whole = getenv("CORPUS") || (argc > 1 && strcmp(argv[1], "all") == 0);
    return whole ? cmocka_run_group_tests(all, NULL, NULL) : cmocka_run_group_tests(sample, NULL, NULL);
}
