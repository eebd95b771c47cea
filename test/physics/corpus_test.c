/*
 * Models that people use: those of the projects in tools/corpus.txt. Which of them does native physics cover, what do
 * the others need, and how far from MuJoCo are those that it covers?
 *
 * A model that is covered runs in double from the same states as MuJoCo, with the same random controls, to the
 * tolerance of rounding (see make_exact): accelerations and sensors in the states; contacts (pairs, number, place,
 * depth) in the states, with their forces, and before each step; positions and speeds after a step and after STEPS (of
 * LARGE models: 3; HUGE_MODELs are not compared). `spread` is what MuJoCo itself makes of a state and of geoms' places
 * that differ by NUDGE: an error may be SPREADS times that, or LEAST. Where contacts are others, but would be others in
 * MuJoCo, too, if its state and geoms differed by ALIGNED, geoms are aligned, and rounding decides (one is at its
 * margin, or a capsule is level on a box). Contacts that are found by iterations may be others than MuJoCo's
 * (pairs_test.c). Such worlds are counted, by types of geoms, and compared no further. What is found goes into
 * corpus.md in the build tree, after each model.
 *
 * Without arguments: SAMPLE models, which the run's seed draws, of the packages that other tests need anyway. "all":
 * all that are there. CORPUS in the environment: those of all whose path has this part.
 */
#include "physics/corpus_contacts.h"
#include "physics/oracle.h"

#include "physics/contact/pairs.h"
#include "worlds/history.h"

#include <math.h>
#include <stdlib.h>

enum {
    WORLDS = 4,
    SETTLE = 60,
    STEPS = 20,
    SAMPLE = 24,
    NATIVE_LEAST = 600,
    NUDGES = 12,
    LARGE = 300,
    HUGE_MODEL = 1000
};
#define NUDGE 1e-12
#define ALIGNED 1e-5 /* m and rad */
#define SPREADS 10
#define LEAST 1e-9
#define LEAST_INSIDE 1e-4   /* where tendons pass geoms from within: MuJoCo's search for a path ends at 1e-6 */
#define LEAST_SEARCHED 1e-2 /* where places are off by up to CORPUS_PLACE */
#define FLOOR 1e-2
#define OTHER_NUMBER .05 /* of pairs of geoms whose contacts are found by iterations, and touch: as many at most, */
#define OTHER_PLACE .2   /* and these elsewhere */

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
    m->opt.noslip_tolerance = 0; /* MuJoCo ends them island by island */
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

/* A LARGE model takes minutes a step to rounding. */
static int count_steps(const mjModel *m) { return m->nv > LARGE ? 3 : STEPS; }

/* World w begins w * SETTLE steps after a state near the model's own (of a LARGE model fewer), with other controls. */
static bool draw_world(const mjModel *m, mjData *d, int w, uint64_t *dice)
{
    if (m->nkey > 0) mj_resetDataKeyframe(m, d, 0);
    for (int i = 0; i < m->nq; ++i) d->qpos[i] += oracle_uniform(dice, -0.01, 0.01);
    for (int i = 0; i < m->nv; ++i) d->qvel[i] = oracle_uniform(dice, -0.1, 0.1);
    draw_controls(m, d, dice);
    if (w > 0 && !run_mujoco(m, d, w * (m->nv > LARGE ? 1 : SETTLE))) return false;
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
                {"time", &d->time, 1},
                {"mocap_pos", d->mocap_pos, 3 * (size_t)m->nmocap},
                {"mocap_quat", d->mocap_quat, 4 * (size_t)m->nmocap}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        if (rows[k].n > 0)
            OK(stet_array_write_worlds(rig_array(r, rows[k].field), w, 1, rows[k].x, rows[k].n * sizeof *rows[k].x));
    if (m->nhistory == 0) return;
    mjtNum *past = malloc((size_t)m->nhistory * sizeof *past);
    assert_non_null(past);
    memcpy(past, d->history, (size_t)m->nhistory * sizeof *past);
    sti_history_to_ages(m, m->opt.timestep, d->time, past);
    OK(stet_array_write_worlds(rig_array(r, "history"), w, 1, past, (size_t)m->nhistory * sizeof *past));
    free(past);
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
    mjData *d[WORLDS], *near[WORLDS], *before, *scratch;
    bool skip[WORLDS]; /* contacts were others */
    mjModel *moved;    /* the model of the states beside */
    uint64_t dice;
} sides;

static void move_by(double most, mjtNum *to, const mjtNum *from, int64_t n, uint64_t *dice)
{
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] + oracle_uniform(dice, -most, most);
}

/* The state of near, and the geoms of the model that it belongs to, move by up to `most`. */
static void nudge(const mjModel *m, const mjData *d, double most, sides *s, mjData *near)
{
    mj_copyData(near, m, d);
    move_by(most, near->qpos, d->qpos, m->nq, &s->dice);
    move_by(most, near->qvel, d->qvel, m->nv, &s->dice);
    move_by(most, s->moved->geom_pos, m->geom_pos, 3 * m->ngeom, &s->dice);
    move_by(most, s->moved->geom_quat, m->geom_quat, 4 * m->ngeom, &s->dice);
}

static bool same_contacts(const mjData *a, const mjData *b)
{
    if (a->ncon != b->ncon) return false;
    for (int i = 0; i < a->ncon; ++i)
        if (memcmp(a->contact[i].geom, b->contact[i].geom, sizeof a->contact[i].geom) != 0) return false;
    return true;
}

/* Is a contact at its margin, or is its force that of what cannot move, one over rounding? */
static bool is_rounding(const mjModel *m, const mjData *d)
{
    for (int i = 0; i < d->ncon; ++i) {
        double force[6];
        mj_contactForce(m, d, i, force);
        if (fabs(d->contact[i].dist - d->contact[i].includemargin) < NUDGE) return true;
        if (mju_norm3(force) > CORPUS_MOST_FORCE) return true;
    }
    return false;
}

/* Would the contacts of a state be others in states beside it? */
static bool changes_beside(const mjModel *m, sides *s, const mjData *state)
{
    bool changes = false;
    for (int k = 0; k < NUDGES && !changes; ++k) {
        nudge(m, state, k % 2 ? ALIGNED : NUDGE, s, s->scratch);
        changes = !run_mujoco(s->moved, s->scratch, 0) || !same_contacts(state, s->scratch);
    }
    nudge(m, state, NUDGE, s, s->scratch); /* the other states beside go on with geoms that have hardly moved */
    return changes;
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
        if (s->skip[w]) continue;
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

/*
 * Contacts of a state, after forward dynamics, and ours of world w. Where they are others the world is compared no
 * further. Raises *force by how much forces differ.
 */
static void compare_contacts(corpus_model *c, const contact_arrays *a, const mjModel *m, sides *s, int w,
                             const mjData *state, double *force)
{
    bool rounding = is_rounding(m, state);
    if (s->skip[w]) return;
    if (!rounding) {
        corpus_match found = corpus_compare_contacts(a, w, m, state, &c->contacts, force);
        if (found == CORPUS_SAME) return;
        rounding = found == CORPUS_LEVEL || changes_beside(m, s, state);
        c->other = c->other || (!rounding && found == CORPUS_OTHER);
    }
    s->skip[w] = true;
    c->rounding += rounding;
    c->searches += !rounding;
}

/* True: all is well; else an error is said. */
static bool compare_present(corpus_model *c, const contact_arrays *contacts, const mjModel *m, sti_native *native,
                            sides *s)
{
    const mjtNum *qacc[2][WORLDS], *sensors[2][WORLDS];
    for (int w = 0; w < WORLDS; ++w) {
        const mjData *d = s->d[w], *near = s->near[w];
        c->most_rows = c->most_rows > d->nefc ? c->most_rows : d->nefc;
        compare_contacts(c, contacts, m, s, w, d, &c->error.force);
        raise(&c->spread.force, corpus_compare_forces(m, near, d));
        qacc[0][w] = d->qacc;
        qacc[1][w] = near->qacc;
        sensors[0][w] = d->sensordata;
        sensors[1][w] = near->sensordata;
    }
    return compare_quantity(native, "qacc", m->nv, qacc[0], qacc[1], s->skip, &c->error.qacc, &c->spread.qacc) &&
           compare_quantity(native, "sensordata", c->sensors_off ? 0 : m->nsensordata, sensors[0], sensors[1], s->skip,
                            &c->error.sensors, &c->spread.sensors);
}

/* What went wrong, or NULL. */
static const char *compare_states(corpus_model *c, const rig *r, sti_native *native, sides *s)
{
    const mjModel *m = r->model->mj;
    for (int w = 0; w < WORLDS; ++w) {
        nudge(m, s->d[w], NUDGE, s, s->near[w]);
        if (!run_mujoco(m, s->d[w], 0) || !run_mujoco(s->moved, s->near[w], 0)) return "MuJoCo: mj_forward fails";
    }
    contact_arrays contacts = corpus_find_contacts(r, s->d, WORLDS);
    if (!compare_present(c, &contacts, m, native, s)) return stet_get_last_error();
    for (int w = 0; w < WORLDS; ++w) { /* mj_forward left its own warm start */
        mju_zero(s->d[w]->qacc_warmstart, (int)m->nv);
        mju_zero(s->near[w]->qacc_warmstart, (int)m->nv);
    }
    for (int step = 0, nstep = count_steps(m); step < nstep; ++step) {
        if (step > 0) corpus_update_contacts(&contacts);
        for (int w = 0; w < WORLDS; ++w) {
            double force = 0; /* which the solver's warm start differs in */
            mj_copyData(s->before, m, s->d[w]);
            if (!run_mujoco(m, s->before, 0)) return "MuJoCo: mj_forward fails";
            if (step > 0) compare_contacts(c, &contacts, m, s, w, s->before, &force);
            if (!run_mujoco(m, s->d[w], 1) || !run_mujoco(s->moved, s->near[w], 1)) return "MuJoCo: mj_step fails";
        }
        if (sti_native_steps(native, NULL, 1) != STET_OK) return stet_get_last_error();
        if (step == 0 || step == nstep - 1) compare_motion(r, s, step == 0, c);
    }
    for (int w = 0; w < WORLDS; ++w) c->faults |= stet_worlds_get_faults(r->worlds)[w];
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
    s.moved = mj_copyModel(NULL, model->mj);
    s.before = mj_makeData(model->mj);
    s.scratch = mj_makeData(model->mj);
    assert_true(s.moved && s.before && s.scratch);
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
    mj_deleteData(s.before);
    mj_deleteData(s.scratch);
    mj_deleteModel(s.moved);
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

/* Does a tendon pass a geom from within? Its side site is in the geom then. */
static bool passes_inside(const mjModel *m)
{
    for (int i = 0; i < m->nwrap; ++i) {
        int type = m->wrap_type[i], geom = m->wrap_objid[i], site = (int)m->wrap_prm[i];
        if ((type != mjWRAP_SPHERE && type != mjWRAP_CYLINDER) || site < 0) continue;
        const mjtNum *from = m->geom_pos + (ptrdiff_t)3 * geom, *to = m->site_pos + (ptrdiff_t)3 * site;
        bool together = m->site_bodyid[site] == m->geom_bodyid[geom];
        if (together && mju_dist3(from, to) < m->geom_size[3 * geom]) return true;
    }
    return false;
}

/* Contacts that are found by iterations are MuJoCo's but for their tolerance. */
static corpus_verdict judge(const corpus_model *c)
{
    const corpus_distance *e = &c->error, *s = &c->spread;
    const double error[] = {e->qacc, e->sensors, e->force, e->first, e->first_speed, e->last, e->last_speed};
    const double spread[] = {s->qacc, s->sensors, s->force, s->first, s->first_speed, s->last, s->last_speed};
    double least = c->searched ? LEAST_SEARCHED : c->inside ? LEAST_INSIDE : LEAST;
    bool differs = c->other;
    for (size_t k = 0; k < sizeof error / sizeof *error; ++k)
        differs = differs || !(error[k] <= fmax(least, SPREADS * spread[k]));
    if (differs) return CORPUS_DIFFERS;
    return c->searches > 0 ? CORPUS_SEARCHES : c->rounding == WORLDS ? CORPUS_ROUNDING : CORPUS_EQUAL;
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
    c->inside = passes_inside(m);
    if ((c->missing == 0 || c->sensors_off) && c->nv <= HUGE_MODEL) compare_model(c, model);
    if (c->compared) c->verdict = judge(c);
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

/* Of pairs whose contacts are found by iterations most have MuJoCo's. */
static void check_pairs(void)
{
    corpus_pairs all = {.touch = 0};
    for (int i = 0; i < CORPUS_TYPES; ++i)
        for (int k = i; k < CORPUS_TYPES; ++k) {
            if (!sti_physics_is_searched(i, k)) continue;
            all.touch += corpus_pairs_of[i][k].touch;
            all.number += corpus_pairs_of[i][k].number;
            all.place += corpus_pairs_of[i][k].place;
        }
    print_message("%d pairs of geoms touch by iterations: %d with another number of contacts, %d elsewhere\n",
                  all.touch, all.number, all.place);
    assert_true(all.number <= 1 + all.touch * OTHER_NUMBER && all.place <= 1 + all.touch * OTHER_PLACE);
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
    if (!part) check_pairs();
    assert_int_equal(differ, 0);
    assert_int_equal(failed, 0);
    assert_true(rounding <= 2 * WORLDS + WORLDS * compared / 10); /* worlds that no comparison says anything about */
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
