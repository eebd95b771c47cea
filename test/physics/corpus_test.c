/*
 * Models that people use: those of the projects in tools/corpus.txt. Which of them does native physics cover, what do
 * the others need, and how far from MuJoCo are those that it covers?
 *
 * A model that is covered runs in double from the same states as MuJoCo, with the same random controls, to the
 * tolerance of rounding (see make_exact): contacts (pairs, number, place, depth), accelerations, sensors and forces of
 * contact in the states, then positions and speeds after a step and after STEPS. `spread` is what MuJoCo itself makes
 * of a state that differs by NUDGE: an error may be SPREADS times that, or LEAST. Where that changes MuJoCo's own list of
 * contacts (one is at its margin, or a capsule is level on a box), rounding decides, and the world is not compared. Where
 * geoms touch whose contacts are found by iterations, MuJoCo's may be others (see pairs_test.c), and errors may be
 * SEARCHED. What is found goes into corpus.md in the build tree, after each model.
 *
 * Without arguments: SAMPLE models, which the run's seed draws, of the packages that other tests need anyway. "all":
 * all that are there. CORPUS in the environment: those of all whose path has this part.
 */
#include "physics/corpus_contacts.h"
#include "physics/oracle.h"

#include "physics/pairs.h"

#include <math.h>
#include <stdlib.h>

enum { WORLDS = 4, SETTLE = 60, STEPS = 20, SAMPLE = 24, NATIVE_LEAST = 40, NUDGES = 6, LARGE = 300 };
#define NUDGE 1e-12
#define SPREADS 10
#define LEAST 1e-9
#define FLOOR 1e-2
#define SEARCHED_FIRST 2e-2
#define SEARCHED_LAST .5

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

/* World w begins w * SETTLE steps after a state near the model's own (of a LARGE model fewer), with other controls. */
static bool draw_world(const mjModel *m, mjData *d, int w, uint64_t *dice)
{
    if (m->nkey > 0) mj_resetDataKeyframe(m, d, 0);
    for (int i = 0; i < m->nq; ++i) d->qpos[i] += oracle_uniform(dice, -0.01, 0.01);
    for (int i = 0; i < m->nv; ++i) d->qvel[i] = oracle_uniform(dice, -0.1, 0.1);
    draw_controls(m, d, dice);
    if (w > 0 && !run_mujoco(m, d, w * SETTLE / (m->nv > LARGE ? 10 : 1))) return false;
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

/* MuJoCo's data of the worlds, of states beside them, and which worlds are not compared. */
typedef struct sides {
    mjData *d[WORLDS], *near[WORLDS];
    bool rounding[WORLDS]; /* it decides which contacts MuJoCo has there, or has had on the way */
    uint64_t dice;
} sides;

/* The state of near moves by NUDGE. */
static void nudge(const mjModel *m, mjData *near, const mjData *d, uint64_t *dice)
{
    mj_copyData(near, m, d);
    for (int i = 0; i < m->nq; ++i) near->qpos[i] += oracle_uniform(dice, -NUDGE, NUDGE);
    for (int i = 0; i < m->nv; ++i) near->qvel[i] += oracle_uniform(dice, -NUDGE, NUDGE);
}

static bool same_contacts(const mjData *a, const mjData *b)
{
    if (a->ncon != b->ncon) return false;
    for (int i = 0; i < a->ncon; ++i)
        if (memcmp(a->contact[i].geom, b->contact[i].geom, sizeof a->contact[i].geom) != 0) return false;
    return true;
}

static bool is_at_margin(const mjData *d)
{
    for (int i = 0; i < d->ncon; ++i)
        if (fabs(d->contact[i].dist - d->contact[i].includemargin) < NUDGE) return true;
    return false;
}

/* After forward dynamics. Leaves a state beside in near. False: MuJoCo fails. */
static bool look_beside(const mjModel *m, sides *s, int w)
{
    const mjData *d = s->d[w];
    s->rounding[w] = is_at_margin(d);
    for (int k = 0; k < NUDGES; ++k) {
        nudge(m, s->near[w], d, &s->dice);
        if (!run_mujoco(m, s->near[w], 0)) return false;
        if (!same_contacts(d, s->near[w])) s->rounding[w] = true;
    }
    return true;
}

/* After steps. */
static void compare_motion(const rig *r, const sides *s, bool first, corpus_model *c)
{
    const mjModel *m = r->model->mj;
    mjData *const *d = s->d, *const *near = s->near;
    stet_array *qpos = rig_array(r, "qpos"), *qvel = rig_array(r, "qvel");
    OK(sti_array_ensure(qpos));
    OK(sti_array_ensure(qvel));
    for (int w = 0; w < WORLDS; ++w) {
        if (s->rounding[w]) continue;
        raise(first ? &c->error.first : &c->error.last, relative_row(qpos, w, d[w]->qpos, m->nq));
        raise(first ? &c->spread.first : &c->spread.last, relative(near[w]->qpos, d[w]->qpos, m->nq));
        raise(first ? &c->error.first_speed : &c->error.last_speed, relative_row(qvel, w, d[w]->qvel, m->nv));
        raise(first ? &c->spread.first_speed : &c->spread.last_speed, relative(near[w]->qvel, d[w]->qvel, m->nv));
    }
}

/* A quantity of the states as forward dynamics leave it. exact: those of MuJoCo, near: of the states beside. */
static bool compare_quantity(sti_native *native, const char *name, int64_t n, const mjtNum *const *exact,
                             const mjtNum *const *near, const bool *skip, double *error, double *spread)
{
    stet_array *a;
    if (n == 0) return true;
    if (sti_native_quantity(native, name, &a) != STET_OK) return false;
    for (int w = 0; w < WORLDS; ++w) {
        if (skip[w]) continue;
        raise(error, relative_row(a, w, exact[w], n));
        raise(spread, relative(near[w], exact[w], n));
    }
    stet_array_destroy(a);
    return true;
}

static bool compare_present(corpus_model *c, const rig *r, sti_native *native, const sides *s)
{
    const mjModel *m = r->model->mj;
    mjData *const *d = s->d, *const *near = s->near;
    const mjtNum *qacc[2][WORLDS], *sensors[2][WORLDS];
    contact_arrays contacts = corpus_find_contacts(r, d, WORLDS);
    for (int w = 0; w < WORLDS; ++w) {
        c->most_rows = c->most_rows > d[w]->nefc ? c->most_rows : d[w]->nefc;
        if (!s->rounding[w]) raise(&c->error.force, corpus_compare_contacts(&contacts, w, m, d[w], &c->contacts));
        if (!s->rounding[w]) raise(&c->spread.force, corpus_compare_forces(m, near[w], d[w]));
        qacc[0][w] = d[w]->qacc;
        qacc[1][w] = near[w]->qacc;
        sensors[0][w] = d[w]->sensordata;
        sensors[1][w] = near[w]->sensordata;
    }
    return compare_quantity(native, "qacc", m->nv, qacc[0], qacc[1], s->rounding, &c->error.qacc, &c->spread.qacc) &&
           compare_quantity(native, "sensordata", c->sensors_off ? 0 : m->nsensordata, sensors[0], sensors[1],
                            s->rounding, &c->error.sensors, &c->spread.sensors);
}

/* What went wrong, or NULL. */
static const char *compare_states(corpus_model *c, const rig *r, sti_native *native, sides *s)
{
    const mjModel *m = r->model->mj;
    mjData *const *d = s->d, *const *near = s->near;
    for (int w = 0; w < WORLDS; ++w)
        if (!run_mujoco(m, d[w], 0) || !look_beside(m, s, w)) return "MuJoCo: mj_forward fails";
    if (!compare_present(c, r, native, s)) return stet_get_last_error();
    for (int w = 0; w < WORLDS; ++w) { /* mj_forward left its own warm start */
        mju_zero(d[w]->qacc_warmstart, (int)m->nv);
        mju_zero(near[w]->qacc_warmstart, (int)m->nv);
    }
    for (int part = 0; part < 2; ++part) {
        int nstep = part == 0 ? 1 : STEPS - 1;
        for (int w = 0; w < WORLDS; ++w)
            for (int i = 0; i < nstep; ++i) {
                if (!run_mujoco(m, d[w], 1) || !run_mujoco(m, near[w], 1)) return "MuJoCo: mj_step fails";
                s->rounding[w] = s->rounding[w] || is_at_margin(d[w]) || !same_contacts(d[w], near[w]);
            }
        if (sti_native_steps(native, NULL, nstep) != STET_OK) return stet_get_last_error();
        compare_motion(r, s, part == 0, c);
    }
    for (int w = 0; w < WORLDS; ++w) {
        c->rounding += s->rounding[w];
        c->faults |= stet_worlds_get_faults(r->worlds)[w];
    }
    c->compared = true;
    return NULL;
}

static const char *compare_worlds(corpus_model *c, rig *r, sides *s)
{
    const mjModel *m = r->model->mj;
    s->dice = seed;
    for (const char *p = c->file->name; *p; ++p) s->dice = s->dice * 31 + (unsigned char)*p;
    sti_native *native;
    for (int w = 0; w < WORLDS; ++w) {
        if (!s->d[w] || !s->near[w]) return "no memory for MuJoCo's data";
        if (!draw_world(m, s->d[w], w, &s->dice)) return "MuJoCo: mj_step fails";
        write_state(r, w, s->d[w]);
    }
    if (sti_native_create(r->worlds, &native) != STET_OK) return stet_get_last_error();
    const char *failure = compare_states(c, r, native, s);
    sti_native_destroy(native);
    return failure;
}

static void compare_model(corpus_model *c, stet_model *model)
{
    rig r = {.device = rig_open_device("f64", 1), .model = model};
    stet_worlds_def def = stet_default_worlds_def();
    sides s = {.dice = 0};
    def.nworld = WORLDS;
    def.exact = false;
    OK(stet_worlds_create(r.device, model, &def, &r.worlds));
    for (int w = 0; w < WORLDS; ++w) {
        s.d[w] = mj_makeData(model->mj);
        s.near[w] = mj_makeData(model->mj);
    }
    const char *failure = compare_worlds(c, &r, &s);
    if (failure) (void)snprintf(c->failure, sizeof c->failure, "%s", failure);
    for (int w = 0; w < WORLDS; ++w) {
        mj_deleteData(s.d[w]);
        mj_deleteData(s.near[w]);
    }
    stet_worlds_destroy(r.worlds);
    stet_device_destroy(r.device);
}

static bool is_searched(const mjModel *m)
{
    sti_pair_place at = {.next = 0};
    while (sti_physics_next_pair(m, &at)) {
        int a = m->geom_type[at.geom[0]], b = m->geom_type[at.geom[1]];
        if (sti_physics_is_searched(a < b ? a : b, a < b ? b : a)) return true;
    }
    return false;
}

static bool within(double error, double spread) { return error <= fmax(LEAST, SPREADS * spread); }

static bool is_near(const corpus_model *c)
{
    return c->searched && c->error.first <= SEARCHED_FIRST && c->error.last <= SEARCHED_LAST;
}

static bool is_equal(const corpus_model *c)
{
    const corpus_distance *e = &c->error, *s = &c->spread;
    return c->contacts.same == c->contacts.touch && c->contacts.place <= CORPUS_PLACE &&
           c->contacts.depth <= CORPUS_PLACE && within(e->qacc, s->qacc) && within(e->sensors, s->sensors) &&
           within(e->force, s->force) && within(e->first, s->first) && within(e->first_speed, s->first_speed) &&
           within(e->last, s->last) && within(e->last_speed, s->last_speed);
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
    if (c->compared) c->verdict = is_equal(c) ? CORPUS_EQUAL : is_near(c) ? CORPUS_NEAR : CORPUS_DIFFERS;
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
    int nmodel = 0, compared = 0, differ = 0, rounding = 0, failed = 0;
    static const corpus_file *chosen[CORPUS_MOST];
    for (int k = 0, n = choose(all, chosen); k < n; ++k) {
        if (part && !strstr(chosen[k]->path, part)) continue;
        corpus_model *c = &models[nmodel++];
        c->file = chosen[k];
        check_model(c);
        compared += c->compared;
        differ += c->verdict == CORPUS_DIFFERS;
        rounding += c->rounding;
        failed += c->failure[0] != 0;
        if (c->verdict == CORPUS_DIFFERS || c->failure[0])
            print_message("%s %s\n", c->file->name, c->failure[0] ? c->failure : "differs");
        FILE *out = fopen(STET_TEST_BINARY_DIR "/corpus.md", "w");
        assert_non_null(out);
        corpus_report(out, &list, models, nmodel, features, nfeature);
        assert_int_equal(fclose(out), 0);
    }
    print_message("%d models, %d of them native; see %s/corpus.md\n", nmodel, compared, STET_TEST_BINARY_DIR);
    assert_int_equal(differ, 0);
    assert_int_equal(failed, 0);
    assert_true(rounding <= 2 + WORLDS * compared / 50); /* worlds that no comparison says anything about */
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
