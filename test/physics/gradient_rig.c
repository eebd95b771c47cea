#include "physics/gradient_rig.h"

#include "physics/native_state.h"
#include "physics/oracle.h"

#include <math.h>
#include <stdlib.h>

enum { STATE = 3, MOCAP = 6, FIELDS = GRADIENT_FIELDS, EQ_ACTIVE = 8, QACC = 9, BEFORE = 10, ROW = 4096 };
/* The first three are the state. */
static const char *const fields[BEFORE] = {"qpos",         "qvel",      "act",        "ctrl",      "qfrc_applied",
                                           "xfrc_applied", "mocap_pos", "mocap_quat", "eq_active", "qacc_warmstart"};

static int64_t count_items(const mjModel *m, int field)
{
    const int64_t n[FIELDS] = {m->nq, m->nv, m->na, m->nu, m->nv, 6 * m->nbody, 3 * m->nmocap, 4 * m->nmocap};
    return n[field];
}

static int count_columns(const mjModel *m)
{
    int64_t n = 0;
    for (int k = 0; k < FIELDS; ++k) n += count_items(m, k);
    return (int)n;
}

static void put_row(stet_array *a, int64_t w, const double *x)
{
    float narrow[ROW];
    bool wide = a->device->real_size == sizeof *x;
    if (a->nitem == 0) return;
    assert_true(a->nitem <= ROW);
    for (int64_t i = 0; i < a->nitem; ++i) narrow[i] = (float)x[i];
    OK(stet_array_write_worlds(a, w, 1, wide ? (const void *)x : narrow, (size_t)a->nitem * a->device->real_size));
}

static void put_all(stet_array *a, const double *x)
{
    for (int64_t w = 0; w < a->shape[0]; ++w) put_row(a, w, x);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/* The solver ends where rounding does, so that differences are not those of where it ended. */
static void end_late(mjModel *m)
{
    enum { ITERATIONS = 200 };
    m->opt.tolerance = 1e-15;
    m->opt.ls_tolerance = 1e-6;
    m->opt.ccd_tolerance = 1e-14;
    if (m->opt.iterations < ITERATIONS) m->opt.iterations = ITERATIONS;
    if (m->opt.ls_iterations < ITERATIONS) m->opt.ls_iterations = ITERATIONS;
    if (m->opt.ccd_iterations < ITERATIONS) m->opt.ccd_iterations = ITERATIONS;
}

bool gradient_open(const char *scene, const char *isa, int64_t nworld, gradient_rig *g)
{
    stet_model *model = rig_model(scene);
    int ncolumn = count_columns(model->mj);
    stet_result result = sti_gradient_check_model(model->mj);
    stet_model_destroy(model);
    if (result != STET_OK) return false;
    *g = (gradient_rig){.r = rig_make(scene, nworld > 0 ? nworld : 1 + 2 * ncolumn, isa, 1, false), .ncolumn = ncolumn};
    const mjModel *m = g->r.model->mj;
    end_late((mjModel *)g->r.model->mj);
    OK(sti_native_create(g->r.worlds, &g->native));
    assert_non_null(g->base = calloc((size_t)ncolumn + 1, sizeof *g->base));
    assert_non_null(g->warm = calloc((size_t)m->nv + 1, sizeof *g->warm));
    int64_t worlds = g->r.worlds->nworld;
    for (int k = 0; k < BEFORE; ++k) {
        int64_t n = rig_array(&g->r, fields[k])->nitem;
        OK(STI_ARRAY(g->r.device, fields[k], STET_DTYPE_REAL, true, &g->before[k], worlds, n));
        if (k < FIELDS) OK(STI_ARRAY(g->r.device, fields[k], STET_DTYPE_REAL, true, &g->gradient[k], worlds, n));
    }
    OK(STI_ARRAY(g->r.device, "stepped", STET_DTYPE_INT, true, &g->stepped, worlds, 1));
    return true;
}

void gradient_close(gradient_rig *g)
{
    for (int k = 0; k < BEFORE; ++k) stet_array_destroy(g->before[k]);
    for (int k = 0; k < FIELDS; ++k) stet_array_destroy(g->gradient[k]);
    stet_array_destroy(g->stepped);
    sti_native_destroy(g->native);
    rig_free(&g->r);
    free(g->base);
    free(g->warm);
}

/* ---- states ------------------------------------------------------------------------------------------------------ */

/* Numbers of the base go to all worlds. */
static void put_base(gradient_rig *g)
{
    const double *at = g->base;
    for (int k = 0; k < FIELDS; ++k) {
        put_all(rig_array(&g->r, fields[k]), at);
        at += count_items(g->r.model->mj, k);
    }
    put_all(rig_array(&g->r, "qacc_warmstart"), g->warm);
}

static void take_row(const rig *r, const char *field, int64_t w, double *out)
{
    stet_array *a = rig_array(r, field);
    OK(sti_array_ensure(a));
    for (int64_t i = 0; i < a->nitem; ++i) out[i] = reals_get(a, w, i);
}

/* The solver ends once more where it begins, so all worlds begin where it ends. */
static void find_warm(gradient_rig *g)
{
    enum { TIMES = 2 };
    for (int k = 0; k < TIMES && g->r.model->mj->nv > 0; ++k) {
        stet_array *a;
        OK(sti_native_quantity(g->native, "qacc", &a));
        for (int64_t i = 0; i < a->nitem; ++i) g->warm[i] = reals_get(a, 0, i);
        stet_array_destroy(a);
        put_all(rig_array(&g->r, "qacc_warmstart"), g->warm);
    }
}

void gradient_state(gradient_rig *g, const gradient_draw *draw, uint64_t *dice)
{
    const mjModel *m = g->r.model->mj;
    const double size[FIELDS] = {draw->size, draw->speed, 1, 3, 2, 2, 1, 1};
    double *at = g->base;
    for (int k = 0; k < FIELDS; ++k) {
        int64_t n = count_items(m, k);
        bool still = !draw->pushed && (k == 4 || k == 5);
        for (int64_t i = 0; i < n; ++i)
            at[i] = (k == 0 ? m->qpos0[i] : 0) + (still ? 0 : oracle_uniform(dice, -size[k], size[k]));
        at += n;
    }
    memset(g->warm, 0, (size_t)m->nv * sizeof *g->warm);
    put_base(g);
    if (draw->settle > 0) {
        OK(sti_native_steps(g->native, NULL, draw->settle));
        take_row(&g->r, "qpos", 0, g->base);
        take_row(&g->r, "qvel", 0, g->base + m->nq);
        take_row(&g->r, "act", 0, g->base + m->nq + m->nv);
    }
    find_warm(g);
    put_base(g);
}

/* ---- differences ------------------------------------------------------------------------------------------------- */

/* By how much numbers of a field are moved: what is linear is moved farther, because solvers end with some rounding. */
static double epsilon_of(int field) { return field >= STATE && field < MOCAP ? 1e-4 : 1e-6; }

/* World 1 + 2 c has number c above the base, the next one below it. */
static void put_differences(gradient_rig *g)
{
    double row[ROW];
    int c = 0;
    for (int k = 0; k < FIELDS; ++k) {
        int64_t n = count_items(g->r.model->mj, k);
        const double *own = g->base + c, epsilon = epsilon_of(k);
        assert_true(n <= ROW);
        for (int64_t i = 0; i < n; ++i, ++c)
            for (int side = 0; side < 2; ++side) {
                memcpy(row, own, (size_t)n * sizeof *row);
                row[i] += side ? -epsilon : epsilon;
                put_row(rig_array(&g->r, fields[k]), 1 + 2 * (int64_t)c + side, row);
            }
    }
}

static void take_state(const gradient_rig *g, int64_t w, double *out)
{
    for (int k = 0; k < STATE; ++k) {
        take_row(&g->r, fields[k], w, out);
        out += count_items(g->r.model->mj, k);
    }
}

/* The state before the step in all worlds, gradients of that after it in the first n, and none of inputs. */
static void put_before(gradient_rig *g, double *const *loss, int nloss)
{
    const mjModel *m = g->r.model->mj;
    double row[ROW] = {0};
    int c = 0, s = 0;
    int32_t *due;
    for (int k = 0; k < FIELDS; ++k) {
        int n = (int)count_items(m, k);
        put_all(g->before[k], g->base + c);
        put_all(g->gradient[k], row);
        for (int l = 0; l < nloss && k < STATE; ++l) put_row(g->gradient[k], l, loss[l] + s);
        c += n;
        if (k < STATE) s += n;
    }
    take_row(&g->r, fields[EQ_ACTIVE], 0, row);
    put_all(g->before[EQ_ACTIVE], row);
    take_row(&g->r, fields[QACC], 0, row);
    put_all(g->before[QACC], row);
    OK(sti_mirror_overwrite(g->stepped, (void **)&due));
    for (int64_t w = 0; w < g->r.worlds->nworld; ++w) due[sti_array_index(g->stepped, w, 0)] = w < nloss;
    sti_array_mirror_written(g->stepped);
}

static void pull(gradient_rig *g, const sti_native_wanted *wanted)
{
    stet_array **b = g->before, **x = g->gradient;
    const sti_native_before before = {b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[EQ_ACTIVE], b[QACC]};
    const sti_native_gradients gradients = {x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]};
    OK(sti_native_pull(g->native, g->stepped, &before, &gradients, wanted));
}

/* What the sum over the state after the step of loss times x is, and the sum of sizes. */
static double weigh(const double *loss, const double *x, int n, double *size)
{
    double sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += loss[i] * x[i];
        *size += fabs(loss[i] * x[i]);
    }
    return sum;
}

typedef struct column {
    double wanted[GRADIENT_LOSSES], size[GRADIENT_LOSSES];
    bool kink;
} column;

static void find_column(const gradient_rig *g, int c, double epsilon, const double *at, double *const *loss,
                        column *out)
{
    int n = (int)(g->r.model->mj->nq + g->r.model->mj->nv + g->r.model->mj->na);
    double up[ROW], down[ROW], rate[ROW], scale = 1e-3, bend = 0;
    take_state(g, 1 + 2 * (int64_t)c, up);
    take_state(g, 2 + 2 * (int64_t)c, down);
    for (int i = 0; i < n; ++i) {
        rate[i] = (up[i] - down[i]) / (2 * epsilon);
        scale = fmax(scale, fabs(rate[i]));
        bend = fmax(bend, fabs(up[i] + down[i] - 2 * at[i]) / epsilon);
    }
    *out = (column){.kink = bend > 1e-3 * scale};
    for (int l = 0; l < GRADIENT_LOSSES; ++l) out->wanted[l] = weigh(loss[l], rate, n, &out->size[l]);
}

/* The columns c … c + n - 1, those of a field. */
static void compare_field(const gradient_rig *g, int k, int c, int n, const column *columns, const char *name,
                          gradient_errors *e)
{
    double most = 1e-3;
    for (int i = 0; i < n; ++i)
        for (int l = 0; l < GRADIENT_LOSSES; ++l) most = fmax(most, fabs(columns[c + i].wanted[l]));
    for (int i = 0; i < n; ++i) {
        const column *own = columns + c + i;
        if (k == 5 && i < 6) continue; /* of the world: nothing reads it */
        e->compared++;
        e->kinks += own->kink;
        for (int l = 0; l < GRADIENT_LOSSES && !own->kink; ++l) {
            double got = reals_get(g->gradient[k], l, i), off = fabs(got - own->wanted[l]);
            double error = off / fmax(most, own->size[l]);
            bool bad = !(error <= e->limit);
            e->wrong += bad;
            if (error <= e->worst) continue;
            e->worst = error;
            (void)snprintf(e->where, sizeof e->where, "%.40s: %s[%d] is %.6g, not %.6g", name, fields[k], i, got,
                           own->wanted[l]);
        }
    }
}

void gradient_compare(gradient_rig *g, const char *name, uint64_t *dice, gradient_errors *errors)
{
    const mjModel *m = g->r.model->mj;
    int n = (int)(m->nq + m->nv + m->na), c = 0;
    double at[ROW], *loss[GRADIENT_LOSSES];
    column *columns = calloc((size_t)g->ncolumn + 1, sizeof *columns);
    assert_non_null(columns);
    assert_true(n <= ROW);
    for (int l = 0; l < GRADIENT_LOSSES; ++l) {
        assert_non_null(loss[l] = calloc((size_t)n + 1, sizeof *loss[l]));
        for (int i = 0; i < n; ++i) loss[l][i] = oracle_uniform(dice, -1, 1);
    }
    put_base(g);
    put_differences(g);
    OK(sti_native_steps(g->native, NULL, 1));
    take_state(g, 0, at);
    for (int k = 0; k < FIELDS; ++k)
        for (int i = 0; i < count_items(m, k); ++i, ++c) find_column(g, c, epsilon_of(k), at, loss, columns + c);
    c = 0;
    put_before(g, loss, GRADIENT_LOSSES);
    pull(g, NULL);
    for (int k = 0; k < FIELDS; ++k) {
        int items = (int)count_items(m, k);
        compare_field(g, k, c, items, columns, name, errors);
        c += items;
    }
    for (int l = 0; l < GRADIENT_LOSSES; ++l) free(loss[l]);
    free(columns);
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

/* The state after a step of all worlds alike, with number `at` of the shared parameters changed by this much. */
static void step_with(gradient_rig *g, int at, double change, double *out)
{
    double *x = g->native->tables.f + at, kept = *x;
    *x += change;
    g->native->old = true; /* it goes to the device */
    put_base(g);
    OK(sti_native_steps(g->native, NULL, 1));
    take_state(g, 0, out);
    *x = kept;
    g->native->old = true;
}

static void compare_parameter(gradient_rig *g, int at, const double *base, double *const *loss, const double *got,
                              double most, const char *name, gradient_errors *e)
{
    const mjModel *m = g->r.model->mj;
    int n = (int)(m->nq + m->nv + m->na);
    double x = g->native->tables.f[at], epsilon = 1e-5 * fabs(x), up[ROW], down[ROW], scale = 1e-3, bend = 0;
    step_with(g, at, epsilon, up);
    step_with(g, at, -epsilon, down);
    for (int i = 0; i < n; ++i) {
        bend = fmax(bend, fabs(up[i] + down[i] - 2 * base[i]) / epsilon);
        up[i] = (up[i] - down[i]) / (2 * epsilon);
        scale = fmax(scale, fabs(up[i]));
    }
    e->compared++;
    if (bend > 1e-3 * scale) {
        e->kinks++;
        return;
    }
    for (int l = 0; l < GRADIENT_LOSSES; ++l) {
        double size = 0, wanted = weigh(loss[l], up, n, &size), error = fabs(got[l] - wanted) / fmax(most, size);
        e->wrong += !(error <= e->limit);
        if (error <= e->worst) continue;
        e->worst = error;
        (void)snprintf(e->where, sizeof e->where, "%.40s: number %d is %.6g, not %.6g", name, at, got[l], wanted);
    }
}

void gradient_compare_parameters(gradient_rig *g, const int *numbers, const char *name, uint64_t *dice,
                                 gradient_errors *errors)
{
    const mjModel *m = g->r.model->mj;
    int n = (int)(m->nq + m->nv + m->na), count = 0;
    double base[ROW], *loss[GRADIENT_LOSSES];
    sti_native_wanted wanted;
    for (; numbers[count] > 0; ++count) assert_true(sti_gradient_has_parameter(numbers[count]));
    OK(sti_native_want(g->native, numbers, count, &wanted));
    for (int l = 0; l < GRADIENT_LOSSES; ++l) {
        assert_non_null(loss[l] = calloc((size_t)n + 1, sizeof *loss[l]));
        for (int i = 0; i < n; ++i) loss[l][i] = oracle_uniform(dice, -1, 1);
    }
    step_with(g, 0, 0, base);
    put_before(g, loss, GRADIENT_LOSSES);
    pull(g, &wanted);
    for (int k = 0; k < count; ++k) {
        double most = 1e-3;
        int items = wanted.begin[k + 1] - wanted.begin[k], first = g->native->tables.m[numbers[k]];
        for (int i = 0; i < GRADIENT_LOSSES * items; ++i)
            most = fmax(most, 1e-2 * fabs(reals_get(wanted.gradient, i % GRADIENT_LOSSES,
                                                    wanted.begin[k] + i / GRADIENT_LOSSES)));
        for (int i = 0; i < items; ++i) {
            double got[GRADIENT_LOSSES];
            for (int l = 0; l < GRADIENT_LOSSES; ++l) got[l] = reals_get(wanted.gradient, l, wanted.begin[k] + i);
            if (g->native->tables.f[first + i] != 0 && (numbers[k] != M_BLOCK_PRM || got[0] != 0))
                compare_parameter(g, first + i, base, loss, got, most, name, errors);
        }
    }
    for (int l = 0; l < GRADIENT_LOSSES; ++l) free(loss[l]);
    sti_native_wanted_free(&wanted);
}

void gradient_check_zero(const char *name, const char *none, const char *some, double by, int number, int item,
                         uint64_t *dice, gradient_errors *e)
{
    const gradient_draw draw = {.size = .5, .speed = 2, .pushed = true};
    const char *const scenes[2] = {none, some};
    double at[2][ROW], *loss[GRADIENT_LOSSES];
    uint64_t same = *dice;
    gradient_rig g[2];
    sti_native_wanted wanted;
    for (int k = 0; k < 2; ++k) {
        assert_true(gradient_open(scenes[k], "f64", GRADIENT_LOSSES, &g[k]));
        gradient_state(&g[k], &draw, k ? &same : dice);
        OK(sti_native_steps(g[k].native, NULL, 1));
        take_state(&g[k], 0, at[k]);
    }
    const mjModel *m = g[0].r.model->mj;
    int n = (int)(m->nq + m->nv + m->na);
    for (int i = 0; i < n; ++i) at[1][i] = (at[1][i] - at[0][i]) / by;
    for (int l = 0; l < GRADIENT_LOSSES; ++l) {
        assert_non_null(loss[l] = calloc((size_t)n + 1, sizeof *loss[l]));
        for (int i = 0; i < n; ++i) loss[l][i] = oracle_uniform(dice, -1, 1);
    }
    OK(sti_native_want(g[0].native, &number, 1, &wanted));
    put_before(&g[0], loss, GRADIENT_LOSSES);
    pull(&g[0], &wanted);
    e->models++;
    e->compared++;
    for (int l = 0; l < GRADIENT_LOSSES; ++l) {
        double size = 1e-6, want = weigh(loss[l], at[1], n, &size), got = reals_get(wanted.gradient, l, item);
        double error = fabs(got - want) / size;
        e->wrong += !(error <= e->limit);
        if (error > e->worst) (void)snprintf(e->where, sizeof e->where, "%.40s is %.6g, not %.6g", name, got, want);
        e->worst = fmax(e->worst, error);
        free(loss[l]);
    }
    sti_native_wanted_free(&wanted);
    for (int k = 0; k < 2; ++k) gradient_close(&g[k]);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

void gradient_rows(gradient_rig *g, double *out)
{
    const mjModel *m = g->r.model->mj;
    int n = (int)(m->nq + m->nv + m->na);
    double **loss = calloc((size_t)n + 1, sizeof *loss);
    assert_non_null(loss);
    assert_int_equal(g->r.worlds->nworld, n);
    for (int l = 0; l < n; ++l) {
        assert_non_null(loss[l] = calloc((size_t)n, sizeof **loss));
        loss[l][l] = 1;
    }
    put_base(g);
    OK(sti_native_steps(g->native, NULL, 1));
    put_before(g, loss, n);
    pull(g, NULL);
    for (int l = 0; l < n; ++l) {
        for (int k = 0; k < FIELDS; ++k)
            for (int64_t i = 0; i < count_items(m, k); ++i) *out++ = reals_get(g->gradient[k], l, i);
        free(loss[l]);
    }
    free(loss);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* Numbers of field k in world `number`, the same in every run. */
static void draw_row(const mjModel *m, int k, int64_t number, const gradient_draw *draw, double *row)
{
    const double size[FIELDS] = {draw->size, draw->speed, 1, 1, .5, .5, 1, 1};
    int64_t n = count_items(m, k);
    for (int64_t i = 0; i < n; ++i) row[i] = (k == 0 ? m->qpos0[i] : 0) + size[k] * (double)rig_wave(number, k, i);
}

void gradient_collect(gradient_rig *g, const gradient_draw *draw, int64_t first, double *out)
{
    const mjModel *m = g->r.model->mj;
    double row[ROW];
    int32_t *due;
    for (int64_t w = 0; w < g->r.worlds->nworld; ++w) {
        for (int k = 0; k < FIELDS; ++k) {
            draw_row(m, k, first + w, draw, row);
            put_row(rig_array(&g->r, fields[k]), w, row);
            put_row(g->before[k], w, row);
            for (int64_t i = 0; i < count_items(m, k); ++i) row[i] = (double)rig_wave(first + w, FIELDS + k, i);
            put_row(g->gradient[k], w, row);
        }
        take_row(&g->r, fields[EQ_ACTIVE], w, row);
        put_row(g->before[EQ_ACTIVE], w, row);
    }
    OK(sti_native_steps(g->native, NULL, 1));
    OK(sti_mirror_overwrite(g->stepped, (void **)&due));
    for (int64_t w = 0; w < g->r.worlds->nworld; ++w) {
        take_row(&g->r, fields[QACC], w, row);
        put_row(g->before[QACC], w, row);
        due[sti_array_index(g->stepped, w, 0)] = 1;
    }
    sti_array_mirror_written(g->stepped);
    pull(g, NULL);
    for (int64_t w = 0; w < g->r.worlds->nworld; ++w)
        for (int k = 0; k < FIELDS; ++k)
            for (int64_t i = 0; i < count_items(m, k); ++i) *out++ = reals_get(g->gradient[k], w, i);
}

void gradient_check(const char *name, const char *scene, const gradient_draw *draw, int rounds, uint64_t *dice,
                    gradient_errors *errors)
{
    gradient_rig g;
    errors->models++;
    if (!gradient_open(scene, "f64", 0, &g)) {
        errors->refused++;
        return;
    }
    int wrong = errors->wrong, compared = errors->compared, kinks = errors->kinks;
    for (int k = 0; k < rounds; ++k) {
        gradient_state(&g, draw, dice);
        gradient_compare(&g, name, dice, errors);
    }
    if (errors->wrong > wrong)
        print_message("%s: %d of %d gradients are wrong, %d kinks set aside\n", name, errors->wrong - wrong,
                      errors->compared - compared, errors->kinks - kinks);
    gradient_close(&g);
}

void gradient_print(const gradient_errors *e, const char *what)
{
    print_message("%s: %d of %d models refused; %d gradients, %d "
                  "kinks set aside, %d wrong; greatest error %.1e (%s)\n",
                  what, e->refused, e->models, e->compared, e->kinks, e->wrong, e->worst, e->where);
}

void gradient_limit(const gradient_errors *e, int kinks, const char *what)
{
    if (e->wrong > 0) fail_msg("%s: %d of %d gradients are wrong: %s", what, e->wrong, e->compared, e->where);
    if (100 * e->kinks > kinks * e->compared) fail_msg("%s: %d of %d are kinks", what, e->kinks, e->compared);
}
