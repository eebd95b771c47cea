/*
 * Models that people use: every one of the packages gymnasium, dm_control and mujoco_warp (tools/setup.sh corpus).
 * Which of them does native physics cover, what do the others need, and how far from MuJoCo are those that it covers?
 *
 * A model that is covered runs in double from the same states as MuJoCo, with the same random controls, to the
 * tolerance of rounding (see make_exact). `spread` is what MuJoCo itself makes of a state that differs by NUDGE: an
 * error may be SPREADS times that, or LEAST. Where geoms touch whose contacts are found by iterations, MuJoCo's may be
 * others (see pairs_test.c), and errors may be SEARCHED. What is found goes into corpus.md in the build tree.
 */
#include "physics/corpus.h"
#include "physics/oracle.h"

#include "physics/pairs.h"

#include <math.h>
#include <stdlib.h>

enum { FEATURES_MOST = 64, WORLDS = 4, SETTLE = 60, STEPS = 20, NATIVE_LEAST = 50 };
#define NUDGE 1e-12
#define SPREADS 10
#define LEAST 1e-9
#define FLOOR 1e-2
#define SEARCHED_FIRST 2e-2
#define SEARCHED_LAST .5

/* The greatest relative errors over the worlds. */
typedef struct distance {
    double qacc, first, last; /* forward dynamics; qpos after a step, after STEPS */
} distance;

typedef struct corpus_model {
    const corpus_file *file;
    char failure[200];
    bool loads, compared, sensors_off;
    bool searched;              /* contacts may be found by iterations */
    unsigned long long missing; /* bits: numbers of features */
    int nv, most_rows;
    bool grazes; /* a contact is at its margin but for rounding, which then decides whether it exists */
    uint32_t faults;
    distance error, spread;
} corpus_model;

static corpus_model models[CORPUS_MOST];
static int nmodel;
static const char *features[FEATURES_MOST];
static int nfeature;
static uint64_t seed;

static int feature_number(const char *name)
{
    for (int i = 0; i < nfeature; ++i)
        if (strcmp(features[i], name) == 0) return i;
    assert_true(nfeature < FEATURES_MOST);
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

static void compare_qpos(const rig *r, mjData *const *d, mjData *const *near, double *error, double *spread)
{
    int64_t nq = r->model->mj->nq;
    OK(sti_array_ensure(rig_array(r, "qpos")));
    for (int w = 0; w < WORLDS; ++w) {
        raise(error, relative_row(rig_array(r, "qpos"), w, d[w]->qpos, nq));
        raise(spread, relative(near[w]->qpos, d[w]->qpos, nq));
    }
}

static bool is_at_margin(const mjData *d)
{
    for (int i = 0; i < d->ncon; ++i)
        if (fabs(d->contact[i].dist - d->contact[i].includemargin) < 1e-12) return true;
    return false;
}

/* What went wrong, or NULL. */
static const char *compare_states(corpus_model *c, const rig *r, sti_native *native, mjData *const *d,
                                  mjData *const *near)
{
    const mjModel *m = r->model->mj;
    stet_array *qacc;
    for (int w = 0; w < WORLDS; ++w)
        if (!run_mujoco(m, d[w], 0) || !run_mujoco(m, near[w], 0)) return "MuJoCo: mj_forward fails";
    if (m->nv > 0) {
        if (sti_native_quantity(native, "qacc", &qacc) != STET_OK) return stet_get_last_error();
        for (int w = 0; w < WORLDS; ++w) {
            c->most_rows = c->most_rows > d[w]->nefc ? c->most_rows : d[w]->nefc;
            c->grazes = c->grazes || is_at_margin(d[w]);
            raise(&c->error.qacc, relative_row(qacc, w, d[w]->qacc, m->nv));
            raise(&c->spread.qacc, relative(near[w]->qacc, d[w]->qacc, m->nv));
        }
        stet_array_destroy(qacc);
    }
    for (int w = 0; w < WORLDS; ++w) { /* mj_forward left its own warm start */
        mju_zero(d[w]->qacc_warmstart, (int)m->nv);
        mju_zero(near[w]->qacc_warmstart, (int)m->nv);
    }
    for (int part = 0; part < 2; ++part) {
        int nstep = part == 0 ? 1 : STEPS - 1;
        for (int w = 0; w < WORLDS; ++w)
            if (!run_mujoco(m, d[w], nstep) || !run_mujoco(m, near[w], nstep)) return "MuJoCo: mj_step fails";
        if (sti_native_steps(native, NULL, nstep) != STET_OK) return stet_get_last_error();
        compare_qpos(r, d, near, part == 0 ? &c->error.first : &c->error.last,
                     part == 0 ? &c->spread.first : &c->spread.last);
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

/* Sensors change nothing of the motion: a model that lacks them alone is compared without. */
static void check_model(corpus_model *c)
{
    stet_model *model;
    const char *name;
    bool covered;
    if (stet_model_load(c->file->path, &model) != STET_OK) {
        (void)snprintf(c->failure, sizeof c->failure, "MuJoCo cannot load it");
        return;
    }
    c->loads = true;
    c->nv = (int)model->mj->nv;
    for (int i = 0; (name = stet_native_get_feature(model, i, &covered)) != NULL; ++i)
        if (!covered) c->missing |= 1ull << feature_number(name);
    c->sensors_off = c->missing == 1ull << feature_number("sensors");
    mjModel *m = (mjModel *)model->mj;
    if (c->sensors_off) m->opt.disableflags |= mjDSBL_SENSOR;
    make_exact(m);
    c->searched = is_searched(m);
    if (c->missing == 0 || c->sensors_off) compare_model(c, model);
    stet_model_destroy(model);
}

/* ---- the report -------------------------------------------------------------------------------------------------- */

static bool within(double error, double spread) { return error <= fmax(LEAST, SPREADS * spread); }
static bool agrees(const corpus_model *c)
{
    bool near = c->searched && c->error.first <= SEARCHED_FIRST && c->error.last <= SEARCHED_LAST;
    return c->compared && c->failure[0] == 0 &&
           (near || c->grazes ||
            (within(c->error.qacc, c->spread.qacc) && within(c->error.first, c->spread.first) &&
             within(c->error.last, c->spread.last)));
}

static void write_features(FILE *out)
{
    int lacking[FEATURES_MOST] = {0}, alone[FEATURES_MOST] = {0};
    for (int k = 0; k < nmodel; ++k)
        for (int i = 0; i < nfeature; ++i) {
            lacking[i] += (models[k].missing >> i & 1) != 0;
            alone[i] += models[k].missing == 1ull << i;
        }
    (void)fprintf(out, "\n| missing feature | models that need it | that need nothing else |\n|---|---|---|\n");
    for (int most = nmodel; most > 0; --most)
        for (int i = 0; i < nfeature; ++i)
            if (lacking[i] == most) (void)fprintf(out, "| %s | %d | %d |\n", features[i], lacking[i], alone[i]);
}

static void write_missing(FILE *out)
{
    (void)fprintf(out, "\n| model that is not covered | needs |\n|---|---|\n");
    for (int k = 0; k < nmodel; ++k) {
        if (models[k].missing == 0) continue;
        (void)fprintf(out, "| %s |", models[k].file->name);
        const char *comma = " ";
        for (int i = 0; i < nfeature; ++i)
            if (models[k].missing >> i & 1) {
                (void)fprintf(out, "%s%s", comma, features[i]);
                comma = "; ";
            }
        (void)fprintf(out, " |\n");
    }
}

static int by_error(const void *a, const void *b)
{
    const corpus_model *x = *(corpus_model *const *)a, *y = *(corpus_model *const *)b;
    double p = fmax(x->error.qacc, x->error.last), q = fmax(y->error.qacc, y->error.last);
    return (p < q) - (p > q);
}

static void write_errors(FILE *out)
{
    static corpus_model *sorted[CORPUS_MOST];
    int n = 0;
    for (int k = 0; k < nmodel; ++k)
        if (models[k].compared) sorted[n++] = &models[k];
    qsort(sorted, (size_t)n, sizeof(corpus_model *), by_error);
    (void)fprintf(out,
                  "\n| model | dofs | rows | qacc | qpos, 1 step | qpos, %d steps | spread of them | |\n"
                  "|---|---|---|---|---|---|---|---|\n",
                  STEPS);
    for (int k = 0; k < n; ++k) {
        const corpus_model *c = sorted[k];
        (void)fprintf(out, "| %s | %d | %d | %.1e | %.1e | %.1e | %.1e, %.1e, %.1e | %s%s%s |\n", c->file->name, c->nv,
                      c->most_rows, c->error.qacc, c->error.first, c->error.last, c->spread.qacc, c->spread.first,
                      c->spread.last,
                      !agrees(c)  ? "differs "
                      : c->grazes ? "touches at its margin "
                                  : "",
                      c->sensors_off ? "without sensors" : "", c->faults ? " faults" : "");
    }
}

typedef struct corpus_counts {
    int loads, moving, native, native_moving, sensors, sensors_moving, differs, grazes;
} corpus_counts;

static corpus_counts count_models(void)
{
    corpus_counts n = {0};
    for (int k = 0; k < nmodel; ++k) {
        const corpus_model *c = &models[k];
        bool native = c->loads && c->missing == 0, moving = c->nv > 0;
        n.loads += c->loads;
        n.moving += moving;
        n.native += native;
        n.native_moving += native && moving;
        n.sensors += c->sensors_off;
        n.sensors_moving += c->sensors_off && moving;
        n.grazes += c->grazes;
        n.differs += (native || c->sensors_off) && !agrees(c);
    }
    return n;
}

static void write_report(FILE *out, const corpus_counts *n)
{
    (void)fprintf(
        out,
        "# Models of gymnasium, dm_control and mujoco_warp\n\nWritten by the test physics/corpus, which says "
        "what is measured.\n\n| | models | with dofs |\n|---|---|---|\n| XML files | %d | |\n| models that load "
        "| %d | %d |\n| covered by native physics | %d | %d |\n| covered but for their sensors | %d | %d |\n"
        "| differ from MuJoCo by more than rounding | %d | |\n",
        nmodel, n->loads, n->moving, n->native, n->native_moving, n->sensors, n->sensors_moving, n->differs);
    write_features(out);
    write_errors(out);
    write_missing(out);
    (void)fprintf(out, "\n| file that is not compared | why |\n|---|---|\n");
    for (int k = 0; k < nmodel; ++k)
        if (models[k].failure[0]) (void)fprintf(out, "| %s | %s |\n", models[k].file->name, models[k].failure);
}

/* ---- the test ---------------------------------------------------------------------------------------------------- */

static void models_that_are_covered_move_as_mujocos(void **state)
{
    seed = dice_seed("models_that_are_covered_move_as_mujocos");
    const char *only = getenv("CORPUS");
    static corpus_file files[CORPUS_MOST];
    bool all;
    nmodel = corpus_list(files, &all);
    for (int k = 0; k < nmodel; ++k) models[k].file = &files[k];
    if (nmodel == 0) {
        print_message("there are no models in .venv/: run tools/setup.sh corpus\n");
        skip();
    }
    for (int k = 0; k < nmodel; ++k)
        if (!only || strstr(models[k].file->path, only)) check_model(&models[k]);
    corpus_counts n = count_models();
    FILE *out = fopen(STET_TEST_BINARY_DIR "/corpus.md", "w");
    assert_non_null(out);
    write_report(out, &n);
    assert_int_equal(fclose(out), 0);
    for (int k = 0; k < nmodel; ++k)
        if (models[k].compared && !agrees(&models[k])) print_message("%s differs from MuJoCo\n", models[k].file->name);
    print_message("%d models: %d native, %d more without sensors; see %s/corpus.md\n", n.loads, n.native, n.sensors,
                  STET_TEST_BINARY_DIR);
    assert_int_equal(n.differs, 0);
    assert_true(n.grazes <= 1); /* what no comparison says anything about */
    if (all && !only) assert_true(n.native + n.sensors >= NATIVE_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models_that_are_covered_move_as_mujocos)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
