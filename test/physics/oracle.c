#include "physics/oracle.h"

#include "physics/tables.h"
#include "worlds/history.h"

#include <float.h>
#include <math.h>

/* Name, numbers in mjData, how many. */
#define QUANTITIES(X)                                                                                                  \
    X(xpos, d->xpos, 3 * m->nbody)                                                                                     \
    X(xquat, d->xquat, 4 * m->nbody)                                                                                   \
    X(xmat, d->xmat, 9 * m->nbody)                                                                                     \
    X(xipos, d->xipos, 3 * m->nbody)                                                                                   \
    X(ximat, d->ximat, 9 * m->nbody)                                                                                   \
    X(xanchor, d->xanchor, 3 * m->njnt)                                                                                \
    X(xaxis, d->xaxis, 3 * m->njnt)                                                                                    \
    X(geom_xpos, d->geom_xpos, 3 * m->ngeom)                                                                           \
    X(geom_xmat, d->geom_xmat, 9 * m->ngeom)                                                                           \
    X(site_xpos, d->site_xpos, 3 * m->nsite)                                                                           \
    X(site_xmat, d->site_xmat, 9 * m->nsite)                                                                           \
    X(subtree_com, d->subtree_com, 3 * m->nbody)                                                                       \
    X(cdof, d->cdof, 6 * m->nv)                                                                                        \
    X(cinert, d->cinert + 10, 10 * (m->nbody - 1))                                                                     \
    X(crb, d->crb + 10, 10 * (m->nbody - 1))                                                                           \
    X(qM, d->M, m->nC)                                                                                                 \
    X(qLD, d->qLD, shows_factor(m) ? m->nC : 0)                                                                        \
    X(qLDiagInv, d->qLDiagInv, shows_factor(m) ? m->nv : 0)                                                            \
    X(ten_length, d->ten_length, m->ntendon)                                                                           \
    X(ten_velocity, d->ten_velocity, m->ntendon)                                                                       \
    X(actuator_length, d->actuator_length, m->nout)                                                                    \
    X(actuator_velocity, d->actuator_velocity, m->nout)                                                                \
    X(cvel, d->cvel, 6 * m->nbody)                                                                                     \
    X(cdof_dot, d->cdof_dot, 6 * m->nv)                                                                                \
    X(qfrc_spring, d->qfrc_spring, m->nv)                                                                              \
    X(qfrc_damper, d->qfrc_damper, m->nv)                                                                              \
    X(qfrc_gravcomp, d->qfrc_gravcomp, m->nv)                                                                          \
    X(qfrc_passive, d->qfrc_passive, m->nv)                                                                            \
    X(qfrc_bias, d->qfrc_bias, m->nv)                                                                                  \
    X(act_dot, d->act_dot, m->na)                                                                                      \
    X(actuator_force, d->actuator_force, m->nout)                                                                      \
    X(qfrc_actuator, d->qfrc_actuator, m->nv)                                                                          \
    X(qfrc_smooth, d->qfrc_smooth, m->nv)                                                                              \
    X(qacc_smooth, d->qacc_smooth, m->nv)                                                                              \
    X(qacc, d->qacc, m->nv)                                                                                            \
    X(cacc, d->cacc, 6 * m->nbody)                                                                                     \
    X(cfrc_ext, d->cfrc_ext, 6 * m->nbody)                                                                             \
    X(subtree_linvel, d->subtree_linvel, 3 * m->nbody)                                                                 \
    X(subtree_angmom, d->subtree_angmom, 3 * m->nbody)                                                                 \
    X(energy, d->energy, 2)

double oracle_uniform(uint64_t *dice, double low, double high)
{
    return low + (high - low) * ((double)(dice_next(dice) >> 11) / 9007199254740992.0);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* Rounds to float, so that both sides have the same numbers on every device. */
static double draw(uint64_t *dice, double size) { return (double)(float)oracle_uniform(dice, -size, size); }

static void draw_state(const mjModel *m, mjData *d, double size, uint64_t *dice)
{
    mj_resetData(m, d);
    for (int i = 0; i < m->nq; ++i) d->qpos[i] = (double)(float)(d->qpos[i] + draw(dice, size));
    for (int i = 0; i < m->nv; ++i) d->qvel[i] = draw(dice, 3);
    for (int i = 0; i < m->na; ++i) d->act[i] = draw(dice, 1);
    for (int i = 0; i < m->nu; ++i) d->ctrl[i] = draw(dice, 3);
    for (int i = 0; i < 3 * m->nmocap; ++i) d->mocap_pos[i] = draw(dice, 1);
    for (int i = 0; i < 4 * m->nmocap; ++i) d->mocap_quat[i] = draw(dice, 1);
    bool pushed = dice_below(dice, 2) == 0, pulled = dice_below(dice, 2) == 0;
    for (int i = 0; pushed && i < m->nv; ++i) d->qfrc_applied[i] = draw(dice, 2);
    for (int i = 6; pulled && i < 6 * m->nbody; ++i) d->xfrc_applied[i] = draw(dice, 2);
}

/* Samples of the past, when they were at the beginning. */
static void draw_past(const mjModel *m, mjData *d, uint64_t *dice)
{
    sti_history h;
    for (int64_t k = 0; k < sti_history_most(m); ++k)
        for (int i = 0; sti_history_find(m, k, &h) && i < h.n * h.dim; ++i)
            d->history[h.at + 2 + h.n + i] = draw(dice, h.sensor ? 1 : 3);
}

static void write_row(const rig *r, const char *field, int w, const double *exact)
{
    enum { MOST = 4096 };
    float narrow[MOST];
    double wide[MOST];
    stet_array *a = rig_array(r, field);
    bool is_wide = r->device->real_size == sizeof(double);
    if (a->nitem == 0) return;
    assert_true(a->nitem <= MOST);
    for (int64_t i = 0; i < a->nitem; ++i) {
        narrow[i] = (float)exact[i];
        wide[i] = exact[i];
    }
    OK(stet_array_write_worlds(a, w, 1, is_wide ? (void *)wide : narrow, (size_t)a->nitem * r->device->real_size));
}

void oracle_states(const rig *r, mjData **data, uint64_t *dice) { oracle_near_states(r, data, 1.5, dice); }

void oracle_near_states(const rig *r, mjData **data, double size, uint64_t *dice)
{
    for (int w = 0; w < ORACLE_WORLDS; ++w) {
        mjData *d = data[w];
        draw_state(r->model->mj, d, size, dice);
        draw_past(r->model->mj, d, dice);
        write_row(r, "qpos", w, d->qpos);
        write_row(r, "qvel", w, d->qvel);
        write_row(r, "act", w, d->act);
        write_row(r, "ctrl", w, d->ctrl);
        write_row(r, "qfrc_applied", w, d->qfrc_applied);
        write_row(r, "xfrc_applied", w, d->xfrc_applied);
        write_row(r, "mocap_pos", w, d->mocap_pos);
        write_row(r, "mocap_quat", w, d->mocap_quat);
        sti_history_to_ages(r->model->mj, r->model->mj->opt.timestep, d->time, d->history);
        write_row(r, "history", w, d->history);
        sti_history_to_times(r->model->mj, r->model->mj->opt.timestep, d->time, d->history);
    }
}

/* Integrator discrete has the factor of its metric in qLD's place. */
static bool shows_factor(const mjModel *m) { return m->opt.integrator != mjINT_DISCRETE; }

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

static double *find_worst(oracle_errors *e, const char *name)
{
    for (int i = 0; i < e->n; ++i)
        if (strcmp(e->name[i], name) == 0) return &e->worst[i];
    assert_true(e->n < ORACLE_MOST);
    e->name[e->n] = name;
    return &e->worst[e->n++];
}

/* NaN counts as infinite. The scale is the greatest of the numbers `of`. */
static double scaled_error(const stet_array *a, int64_t w, const mjtNum *exact, const mjtNum *of, int64_t n)
{
    double scale = a->device->real_size == sizeof(double) ? ORACLE_FLOOR : ORACLE_FLOOR_FLOAT, worst = 0;
    int64_t skip = a->nitem - n; /* what is the world's own in an array of bodies */
    for (int64_t i = 0; i < n; ++i) scale = fmax(scale, fmax(fabs(exact[i]), fabs(of[i])));
    for (int64_t i = 0; i < n; ++i) {
        double x = fabs(reals_get(a, w, skip + i) - exact[i]);
        worst = fmax(worst, x == x ? x : HUGE_VAL);
    }
    return worst / scale;
}
static double row_error(const stet_array *a, int64_t w, const mjtNum *exact, int64_t n)
{
    return scaled_error(a, w, exact, exact, n);
}

/* The greatest ratio of a coordinate's inertia to what is left of it when all others give way: qM_ii (qM^-1)_ii. */
static double find_condition(const mjModel *m, mjData *d)
{
    double worst = 1;
    mjtNum *column = mju_malloc(sizeof *column * (size_t)(m->nv + 1));
    assert_non_null(column);
    for (int i = 0; i < m->nv; ++i) {
        mju_zero(column, (int)m->nv);
        column[i] = 1;
        mj_solveM(m, d, column, column, 1);
        worst = fmax(worst, column[i] * d->M[m->M_rowadr[i] + m->M_rownnz[i] - 1]);
    }
    mju_free(column);
    return worst;
}

/*
 * Are numbers of a step not worth a comparison: did MuJoCo find the implicit integrator's matrix singular, or is qM so
 * close to singular that its factors in `r`'s reals may not exist (Demmel's bound, Higham, Accuracy and Stability of
 * Numerical Algorithms, theorem 10.7)?
 */
static bool was_singular(const rig *r, mjData *d)
{
    const mjModel *m = r->model->mj;
    double epsilon = r->device->real_size == sizeof(double) ? DBL_EPSILON : FLT_EPSILON, n = (double)m->nv;
    return n * (n + 1) * epsilon / 2 * find_condition(m, d) >= 1 || d->warning[mjWARN_INERTIA].number > 0;
}

static void compare_field(const rig *r, mjData **data, const char *name, const char *shown, size_t offset, int64_t n,
                          oracle_errors *errors)
{
    if (n == 0) return;
    double *worst = find_worst(errors, shown);
    OK(sti_array_ensure(rig_array(r, name)));
    for (int w = 0; w < ORACLE_WORLDS; ++w) {
        const mjtNum *const *exact = (const void *)((const char *)data[w] + offset);
        if (!was_singular(r, data[w])) *worst = fmax(*worst, row_error(rig_array(r, name), w, *exact, n));
    }
}

/* |M (a - qacc)| / (|M| |qacc| + |qfrc_smooth|), of the greatest components. */
static double backward_error(const mjModel *m, const mjData *d, const stet_array *a, int64_t w)
{
    double worst = 0, scale = ORACLE_FLOOR;
    for (int i = 0; i < m->nv; ++i) {
        double force = 0, size = fabs(d->qfrc_smooth[i]) + fabs(d->qfrc_constraint[i]);
        for (int row = 0; row < m->nv; ++row)
            for (int e = m->M_rowadr[row]; e < m->M_rowadr[row] + m->M_rownnz[row]; ++e) {
                int col = m->M_colind[e], other = row == i ? col : col == i ? row : -1;
                if (other < 0) continue;
                force += d->M[e] * (reals_get(a, w, other) - d->qacc[other]);
                size += fabs(d->M[e] * d->qacc[other]);
            }
        worst = fmax(worst, fabs(force));
        scale = fmax(scale, size);
    }
    return worst / scale;
}

static void compare_backward(const rig *r, mjData **data, sti_native *native, oracle_errors *errors)
{
    const mjModel *m = r->model->mj;
    stet_array *a;
    if (m->nv == 0) return;
    OK(sti_native_quantity(native, "qacc", &a));
    double *worst = find_worst(errors, "qacc backward");
    for (int w = 0; w < ORACLE_WORLDS; ++w)
        if (!was_singular(r, data[w])) *worst = fmax(*worst, backward_error(m, data[w], a, w));
    stet_array_destroy(a);
}

/* Internal forces are differences of external ones, which may be much greater. */
static void compare_internal(const mjModel *m, mjData **data, sti_native *native, oracle_errors *errors)
{
    stet_array *a;
    OK(sti_native_quantity(native, "cfrc_int", &a));
    double *worst = find_worst(errors, "cfrc_int");
    for (int w = 0; w < ORACLE_WORLDS; ++w)
        *worst = fmax(*worst, scaled_error(a, w, data[w]->cfrc_int, data[w]->cfrc_ext, 6 * m->nbody));
    stet_array_destroy(a);
}

typedef struct run {
    const mjModel *m;
    mjData *d;
    int nstep;
} run;

void oracle_forward(const mjModel *m, mjData *d)
{
    enum { AGAIN = 3 };
    mj_forward(m, d);
    for (int i = 0; i < AGAIN; ++i) {
        mju_copy(d->qacc_warmstart, d->qacc, (int)m->nv);
        mj_forward(m, d);
    }
}

static void run_forward(void *context)
{
    const run *k = context;
    oracle_forward(k->m, k->d);
    mj_rnePostConstraint(k->m, k->d);
    mj_subtreeVel(k->m, k->d);
    mj_energyPos(k->m, k->d);
    mj_energyVel(k->m, k->d);
}
static void run_steps(void *context)
{
    const run *k = context;
    for (int i = 0; i < k->nstep; ++i) mj_step(k->m, k->d);
}

void oracle_compare(rig *r, mjData **data, int nstep, oracle_errors *errors)
{
    const mjModel *m = r->model->mj;
    sti_native *native;
    OK(sti_native_create(r->worlds, &native));
    for (int w = 0; w < ORACLE_WORLDS; ++w) assert_true(sti_mujoco_guard(run_forward, &(run){m, data[w], 0}, NULL, 0));
#define COMPARE(name, member, count)                                                                                   \
    if ((count) > 0) {                                                                                                 \
        stet_array *a;                                                                                                 \
        OK(sti_native_quantity(native, #name, &a));                                                                    \
        double *worst = find_worst(errors, #name);                                                                     \
        for (int w = 0; w < ORACLE_WORLDS; ++w) {                                                                      \
            const mjData *d = data[w];                                                                                 \
            *worst = fmax(*worst, row_error(a, w, (member), (count)));                                                 \
        }                                                                                                              \
        stet_array_destroy(a);                                                                                         \
    }
    QUANTITIES(COMPARE)
#undef COMPARE
    compare_backward(r, data, native, errors);
    compare_internal(m, data, native, errors);
    for (int w = 0; w < ORACLE_WORLDS; ++w)
        assert_true(sti_mujoco_guard(run_steps, &(run){m, data[w], nstep}, NULL, 0));
    OK(sti_native_steps(native, NULL, nstep));
    compare_field(r, data, "qpos", "qpos after", offsetof(mjData, qpos), m->nq, errors);
    compare_field(r, data, "qvel", "qvel after", offsetof(mjData, qvel), m->nv, errors);
    compare_field(r, data, "act", "act after", offsetof(mjData, act), m->na, errors);
    OK(sti_worlds_pull_physics(r->worlds));
    for (int w = 0; w < ORACLE_WORLDS; ++w) errors->nsingular += was_singular(r, data[w]);
    for (int w = 0; w < ORACLE_WORLDS; ++w)
        if (!was_singular(r, data[w])) assert_true(r->worlds->state.time[w] == data[w]->time);
    sti_native_destroy(native);
}

void oracle_check(const char *scene, const char *isa, int nstep, uint64_t *dice, oracle_errors *errors)
{
    rig r = rig_make(scene, ORACLE_WORLDS, isa, 1, false);
    mjData *data[ORACLE_WORLDS];
    for (int w = 0; w < ORACLE_WORLDS; ++w) assert_non_null(data[w] = mj_makeData(r.model->mj));
    oracle_states(&r, data, dice);
    oracle_compare(&r, data, nstep, errors);
    for (int w = 0; w < ORACLE_WORLDS; ++w) mj_deleteData(data[w]);
    rig_free(&r);
}

void oracle_merge(oracle_errors *all, const oracle_errors *one)
{
    all->nsingular += one->nsingular;
    for (int i = 0; i < one->n; ++i) {
        double *worst = find_worst(all, one->name[i]);
        *worst = fmax(*worst, one->worst[i]);
    }
}

void oracle_print(const oracle_errors *errors, const char *what)
{
    print_message("%s: greatest relative errors (%d steps with a singular matrix are not compared)\n", what,
                  errors->nsingular);
    for (int i = 0; i < errors->n; ++i) print_message("  %-18s %.1e\n", errors->name[i], errors->worst[i]);
}

static bool is_conditioned(const char *name)
{
    static const char *const names[] = {"qLD",        "qLDiagInv", "qacc_smooth", "qacc",    "qvel after",
                                        "qpos after", "cacc",      "cfrc_ext",    "cfrc_int"};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k)
        if (strcmp(name, names[k]) == 0) return true;
    return false;
}

void oracle_limit(const oracle_errors *errors, double limit, double conditioned, const char *what)
{
    for (int i = 0; i < errors->n; ++i) {
        double most = is_conditioned(errors->name[i]) ? conditioned : limit;
        if (!(errors->worst[i] <= most)) {
            (void)printf("%s\n", what); /* print_message has a limit */
            fail_msg("%s differs from MuJoCo's by %.3g, more than %.3g", errors->name[i], errors->worst[i], most);
        }
    }
}
