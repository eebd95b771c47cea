/*
 * The derivatives of a time step at the present state (A, B of mjd_transitionFD): k_native_pull for one loss a number
 * of the velocities and activations behind it. A world becomes as many worlds as there are losses, in whole blocks of
 * lanes, so lanes share its contacts. Positions follow from velocities: q' = q moved by h v'; with Runge-Kutta, where
 * they do not, they have losses, too. Those of sensors (C, D): k_native_pull_reads, one loss a number, in as many
 * rounds as it takes.
 *
 *   LINEARIZE-1  the state, time, faults and all that is counted are as before
 */
#include "physics/native_state.h"

#include "kernel/record/launch.h"
#include "kernel/record/record.h"
#include "physics/native_pull.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { NBEFORE = 10, NGRADIENT = 8, KEPT = 11, ROOM = 64 << 20 };

/* What a chunk of worlds has, spread; made once. */
struct sti_native_linear {
    int loss, spread; /* losses of a step, and how many worlds a world becomes */
    bool turns;       /* the first nv losses are of positions */
    int64_t chunk;    /* of worlds */
    stet_array *before[NBEFORE], *gradient[NGRADIENT], *stepped, *v;
    stet_array *kept[KEPT];    /* the state, while a step is made */
    stet_array *list, *sensed; /* what reads have: all sensors; gradients of their numbers */
};

/* The arrays of the worlds that these are spread from; the last is what the step found. */
static const sti_field fields[NBEFORE] = {
    STI_FIELD_qpos,         STI_FIELD_qvel,      STI_FIELD_act,        STI_FIELD_ctrl,      STI_FIELD_qfrc_applied,
    STI_FIELD_xfrc_applied, STI_FIELD_mocap_pos, STI_FIELD_mocap_quat, STI_FIELD_eq_active, STI_FIELD_qacc_warmstart};

static stet_array *field_of(const sti_native *n, int k)
{
    return n->worlds->state.field[k == NBEFORE ? STI_FIELD_step_sensordata : fields[k]];
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

void sti_native_linear_free(sti_native *n)
{
    sti_native_linear *l = n->linear;
    if (!l) return;
    for (int k = 0; k < NBEFORE; ++k) stet_array_destroy(l->before[k]);
    for (int k = 0; k < NGRADIENT; ++k) stet_array_destroy(l->gradient[k]);
    for (int k = 0; k < KEPT; ++k) stet_array_destroy(l->kept[k]);
    stet_array_destroy(l->stepped);
    stet_array_destroy(l->list);
    stet_array_destroy(l->sensed);
    stet_array_destroy(l->v);
    sti_free(l);
    n->linear = NULL;
}

static stet_result make_spread(const sti_native *n, const stet_array *of, const char *name, stet_array **out)
{
    const sti_native_linear *l = n->linear;
    return STI_ARRAY(n->worlds->device, name, STET_DTYPE_REAL, true, out, l->chunk * l->spread, of->nitem);
}

static stet_result make_ones(const sti_native *n)
{
    sti_native_linear *l = n->linear;
    int64_t count = l->chunk * l->spread;
    int32_t *ones;
    STI_TRY(sti_alloc(&ones, (size_t)count * sizeof *ones, "losses of worlds"));
    for (int64_t i = 0; i < count; ++i) ones[i] = 1;
    stet_result result = STI_ARRAY(n->worlds->device, "losses of worlds", STET_DTYPE_INT, true, &l->stepped, count, 1);
    if (result == STET_OK) result = stet_array_write(l->stepped, ones, (size_t)count * sizeof *ones);
    sti_free(ones);
    return result;
}

/* What reads of sensors need besides. */
static stet_result make_sensed(sti_native *n)
{
    sti_native_linear *l = n->linear;
    stet_device *device = n->worlds->device;
    const int64_t nsensordata = n->worlds->model->mj->nsensordata;
    int32_t row[Q_SIZE] = {0};
    row[Q_KIND] = PH_SHOW_COPY;
    row[Q_N] = (int32_t)nsensordata;
    row[Q_FROM] = W_SENSORDATA;
    if (l->sensed) return STET_OK;
    if (!l->list) STI_TRY(STI_ARRAY(device, "list of sensors", STET_DTYPE_INT, false, &l->list, Q_SIZE));
    STI_TRY(stet_array_write(l->list, row, sizeof row));
    return STI_ARRAY(device, "losses of sensors", STET_DTYPE_REAL, true, &l->sensed, l->chunk * l->spread, nsensordata);
}

static stet_result make_linear(sti_native *n)
{
    sti_native_linear *l;
    const mjModel *m = n->worlds->model->mj;
    stet_device *device = n->worlds->device;
    int64_t items = 0;
    STI_TRY(sti_alloc(&n->linear, sizeof *n->linear, "linearisation"));
    l = n->linear;
    l->turns = m->opt.integrator == mjINT_RK4;
    l->loss = (int)((l->turns ? 2 : 1) * m->nv + m->na);
    l->spread = (l->loss + device->lanes - 1) / device->lanes * device->lanes;
    for (int k = 0; k < NBEFORE; ++k)
        items
            += 2 * field_of(n, k)->nitem;
    l->chunk = ROOM / (items * l->spread * (int64_t)device->real_size + 1) + 1;
    if (l->chunk > n->worlds->nworld) l->chunk = n->worlds->nworld;
    for (int k = 0; k < NBEFORE; ++k) STI_TRY(make_spread(n, field_of(n, k), "losses of worlds", &l->before[k]));
    for (int k = 0; k < NGRADIENT; ++k) STI_TRY(make_spread(n, field_of(n, k), "gradients of losses", &l->gradient[k]));
    for (int k = 0; k < KEPT; ++k)
        STI_TRY(STI_ARRAY(device, "state before a step", STET_DTYPE_REAL, true, &l->kept[k], n->worlds->nworld,
                          field_of(n, k)->nitem));
    return make_ones(n);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/* Keeps the state and makes a step; after becomes the velocities behind it, or, if they have losses, the positions. */
static stet_result make_step(sti_native *n, stet_array *after)
{
    sti_native_linear *l = n->linear;
    for (int k = 0; k < KEPT; ++k) STI_TRY(sti_record_copy(l->kept[k], field_of(n, k)));
    stet_result result = sti_native_step_uncounted(n);
    if (result == STET_OK) result = sti_record_copy(after, field_of(n, l->turns ? 0 : 1));
    return result;
}

/* The state becomes what it was; qacc [nworld][nv]: what the step found. */
static stet_result end_step(sti_native *n, stet_array *qacc)
{
    const sti_native_linear *l = n->linear;
    stet_result result = sti_record_copy(qacc, n->worlds->state.field[STI_FIELD_qacc_warmstart]);
    for (int k = 0; k < KEPT; ++k) {
        stet_result one = sti_record_copy(field_of(n, k), l->kept[k]);
        if (result == STET_OK) result = one;
    }
    return result;
}

/* ---- spreading --------------------------------------------------------------------------------------------------- */

typedef struct linearizing {
    sti_native *n;
    stet_array *qacc, *after; /* of the step: accelerations, and velocities (positions) behind it; NULL: of sensors */
    int64_t first, count;     /* worlds of the chunk */
    int64_t begin, nloss;     /* of sensors: those of this round */
    void *from[NBEFORE + 1], *to[NBEFORE + 1], *seed[NGRADIENT], *moved, *sensed;
    double *A, *B; /* or C and D */
} linearizing;

static const stet_array *source_of(const linearizing *z, int k)
{
    return k == NBEFORE ? z->n->own.v : k == NBEFORE - 1 && z->qacc ? z->qacc : field_of(z->n, k);
}
static const stet_array *target_of(const linearizing *z, int k)
{
    return k == NBEFORE ? z->n->linear->v : z->n->linear->before[k];
}

/* x into the n worlds from w on, which are whole blocks of lanes. */
static void fill_lanes(const stet_array *a, void *mirror, int64_t w, int64_t i, int n, double x)
{
    assert(w % a->device->lanes == 0 && n % a->device->lanes == 0 && w + n <= a->shape[0] && "whole blocks of lanes");
    int lanes = a->device->lanes;
    for (int b = 0; b < n; b += lanes) {
        int64_t at = sti_array_index(a, w + b, i);
        for (int k = 0; k < lanes && a->device->real_size == 8; ++k) ((double *)mirror)[at + k] = x;
        for (int k = 0; k < lanes && a->device->real_size == 4; ++k) ((float *)mirror)[at + k] = (float)x;
    }
}

/* Of the worlds that world `at` of the chunk becomes all numbers are 0. */
static void clear_lanes(const linearizing *z, const stet_array *a, void *mirror, int64_t at)
{
    size_t e = a->device->real_size, n = (size_t)(z->n->linear->spread * a->nitem);
    memset((char *)mirror + (size_t)sti_array_index(a, at * z->n->linear->spread, 0) * e, 0, n * e);
}

static void spread_world(void *context, int64_t at, int thread)
{
    const linearizing *z = context;
    const sti_native_linear *l = z->n->linear;
    int64_t begin = at * l->spread, w = z->first + at;
    (void)thread;
    for (int k = 0; k <= NBEFORE; ++k) {
        const stet_array *from = source_of(z, k), *to = target_of(z, k);
        for (int64_t i = 0; from && i < from->nitem; ++i)
            fill_lanes(to, z->to[k], begin, i, l->spread, sti_mirror_get(from, z->from[k], w, i));
    }
}

/* The gradient, by its numbers, of what turns the unit quaternion q in its own frame about axis k. */
static void turn_seed(const double *q, int k, double *g)
{
    int a = (k + 1) % 3, b = (k + 2) % 3;
    g[0] = -2 * q[1 + k];
    g[1 + k] = 2 * q[0];
    g[1 + a] = 2 * q[1 + b];
    g[1 + b] = -2 * q[1 + a];
}

/* World `at` of the spread ones has position d (of nv) behind the step of world w as its loss. */
static void seed_position(const linearizing *z, int64_t w, int64_t at, int d)
{
    const mjModel *m = z->n->worlds->model->mj;
    const stet_array *to = z->n->linear->gradient[0];
    int j = m->dof_jntid[d], from = m->jnt_qposadr[j], k = d - m->jnt_dofadr[j];
    int straight = m->jnt_type[j] == mjJNT_FREE ? 3 : m->jnt_type[j] == mjJNT_BALL ? 0 : 1;
    double q[4], g[4];
    if (k < straight) {
        sti_mirror_set(to, z->seed[0], at, from + k, 1);
        return;
    }
    for (int i = 0; i < 4; ++i) q[i] = sti_mirror_get(z->after, z->moved, w, from + straight + i);
    turn_seed(q, k - straight, g);
    for (int i = 0; i < 4; ++i) sti_mirror_set(to, z->seed[0], at, from + straight + i, g[i]);
}

static void seed_world(void *context, int64_t at, int thread)
{
    const linearizing *z = context;
    const sti_native_linear *l = z->n->linear;
    int64_t begin = at * l->spread, w = z->first + at;
    int nv = (int)z->n->worlds->model->mj->nv, turns = l->turns ? nv : 0;
    (void)thread;
    for (int k = 0; k < NGRADIENT; ++k) clear_lanes(z, l->gradient[k], z->seed[k], at);
    if (!z->after) {
        clear_lanes(z, l->sensed, z->sensed, at);
        for (int64_t i = 0; i < z->nloss; ++i) sti_mirror_set(l->sensed, z->sensed, begin + i, z->begin + i, 1);
        return;
    }
    for (int i = 0; i < turns; ++i) seed_position(z, w, begin + i, i);
    for (int i = turns; i < l->loss; ++i) {
        int k = i < turns + nv ? 1 : 2; /* qvel, act */
        sti_mirror_set(l->gradient[k], z->seed[k], begin + i, i - turns - (k == 1 ? 0 : nv), 1);
    }
}

/* Gives parameters of worlds room, too, if there are any. */
static stet_result take_mirrors(linearizing *z)
{
    sti_native_linear *l = z->n->linear;
    stet_array *v = z->n->own.v;
    if (v && l->v && l->v->nitem != v->nitem) STI_TRY(sti_native_drop_array(&l->v));
    if (v && !l->v) STI_TRY(make_spread(z->n, v, "parameters of losses", &l->v));
    for (int k = 0; k < NBEFORE; ++k) {
        stet_array *from = k == NBEFORE - 1 && z->qacc ? z->qacc : field_of(z->n, k);
        STI_TRY(sti_array_mirror_read(from, &z->from[k]));
        STI_TRY(sti_array_mirror_write(l->before[k], &z->to[k]));
    }
    if (v) STI_TRY(sti_array_mirror_read(v, &z->from[NBEFORE]));
    if (v) STI_TRY(sti_array_mirror_write(l->v, &z->to[NBEFORE]));
    return z->after ? sti_array_mirror_read(z->after, &z->moved) : STET_OK;
}

/* The worlds of the chunk, spread. */
static stet_result spread_chunk(linearizing *z)
{
    sti_native_linear *l = z->n->linear;
    STI_TRY(take_mirrors(z));
    sti_device_parallel(z->n->worlds->device, z->count, 0, spread_world, z);
    for (int k = 0; k < NBEFORE; ++k) sti_array_mirror_written(l->before[k]);
    if (z->n->own.v) sti_array_mirror_written(l->v);
    return STET_OK;
}

/* One loss in each of the spread worlds. */
static stet_result seed_chunk(linearizing *z)
{
    sti_native_linear *l = z->n->linear;
    for (int k = 0; k < NGRADIENT; ++k) STI_TRY(sti_array_mirror_write(l->gradient[k], &z->seed[k]));
    if (!z->after) STI_TRY(sti_array_mirror_write(l->sensed, &z->sensed));
    sti_device_parallel(z->n->worlds->device, z->count, 0, seed_world, z);
    for (int k = 0; k < NGRADIENT; ++k) sti_array_mirror_written(l->gradient[k]);
    if (!z->after) sti_array_mirror_written(l->sensed);
    return STET_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* out = the gradient by turns of the unit quaternion q, from that by its numbers: half the vector part of q* g. */
static void turn_gradient(const double *q, const double *g, double *out)
{
    for (int k = 0; k < 3; ++k) {
        int a = (k + 1) % 3, b = (k + 2) % 3;
        out[k] = .5 * (q[0] * g[1 + k] - g[0] * q[1 + k] - (q[1 + a] * g[1 + b] - q[1 + b] * g[1 + a]));
    }
}

/* One row of A and B: gradients of world `at` of the spread ones. */
static void put_row(const linearizing *z, int64_t w, int64_t at, double *A, double *B)
{
    const mjModel *m = z->n->worlds->model->mj;
    const sti_native_linear *l = z->n->linear;
    double g[4], q[4];
    for (int j = 0; j < m->njnt; ++j) {
        int type = m->jnt_type[j], from = m->jnt_qposadr[j], d = m->jnt_dofadr[j];
        int straight = type == mjJNT_FREE ? 3 : type == mjJNT_BALL ? 0 : 1;
        for (int k = 0; k < straight; ++k) A[d + k] = sti_mirror_get(l->gradient[0], z->seed[0], at, from + k);
        if (type > mjJNT_BALL) continue;
        for (int k = 0; k < 4; ++k) {
            g[k] = sti_mirror_get(l->gradient[0], z->seed[0], at, from + straight + k);
            q[k] = sti_mirror_get(field_of(z->n, 0), z->from[0], w, from + straight + k);
        }
        turn_gradient(q, g, A + d + straight); /* of any length: the longer, the less its numbers turn it */
    }
    for (int64_t i = 0; i < m->nv; ++i) A[m->nv + i] = sti_mirror_get(l->gradient[1], z->seed[1], at, i);
    for (int64_t i = 0; i < m->na; ++i) A[2 * m->nv + i] = sti_mirror_get(l->gradient[2], z->seed[2], at, i);
    for (int64_t i = 0; i < m->nu; ++i) B[i] = sti_mirror_get(l->gradient[3], z->seed[3], at, i);
}

/*
 * A rotation q is moved to q exp(u), u = h v'. What turns q by a turns that by R(-u) a, and what adds b to u turns it
 * by J b, where J is the right Jacobian of SO(3). R(-u) = 1 - s [u] + c [u]^2, J = 1 - c [u] + e [u]^2, with the
 * entries of the matrix [u] of a cross product.
 */
static void rotation_matrices(const double *u, double R[9], double J[9])
{
    double t = u[0] * u[0] + u[1] * u[1] + u[2] * u[2], a = sqrt(t);
    double s = a < 1e-4 ? 1 - t / 6 : sin(a) / a, c = a < 1e-4 ? .5 - t / 24 : (1 - cos(a)) / t;
    double e = a < 1e-2 ? 1. / 6 - t / 120 + t * t / 5040 : (a - sin(a)) / (a * t);
    const double cross[9] = {0, -u[2], u[1], u[2], 0, -u[0], -u[1], u[0], 0};
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) {
            double twice = u[i] * u[k] - (i == k ? t : 0);
            R[3 * i + k] = (i == k) - s * cross[3 * i + k] + c * twice;
            J[3 * i + k] = (i == k) - c * cross[3 * i + k] + e * twice;
        }
}

/* Rows of positions from those of velocities, which begin behind them. */
static void put_positions(const linearizing *z, int64_t w, double *A, double *B)
{
    const mjModel *m = z->n->worlds->model->mj;
    int64_t n = 2 * m->nv + m->na;
    double h = sti_parameters_timestep(z->n->worlds, w), u[3], R[9], J[9];
    for (int j = 0; j < m->njnt; ++j) {
        int type = m->jnt_type[j], d = m->jnt_dofadr[j], straight = type == mjJNT_FREE ? 3 : type == mjJNT_BALL ? 0 : 1;
        for (int64_t r = d; r < d + straight; ++r) {
            for (int64_t c = 0; c < n; ++c) A[r * n + c] = h * A[(m->nv + r) * n + c] + (c == r);
            for (int64_t c = 0; c < m->nu; ++c) B[r * m->nu + c] = h * B[(m->nv + r) * m->nu + c];
        }
        if (type > mjJNT_BALL) continue;
        d += straight;
        for (int k = 0; k < 3; ++k) u[k] = h * sti_mirror_get(z->after, z->moved, w, d + k);
        rotation_matrices(u, R, J);
        for (int i = 0; i < 3; ++i) {
            double *row = A + (d + i) * n, *control = B + (d + i) * m->nu;
            for (int64_t c = 0; c < n; ++c) {
                row[c] = c >= d && c < d + 3 ? R[3 * i + c - d] : 0;
                for (int k = 0; k < 3; ++k) row[c] += h * J[3 * i + k] * A[(m->nv + d + k) * n + c];
            }
            for (int64_t c = 0; c < m->nu; ++c) {
                control[c] = 0;
                for (int k = 0; k < 3; ++k) control[c] += h * J[3 * i + k] * B[(m->nv + d + k) * m->nu + c];
            }
        }
    }
}

static void put_world(void *context, int64_t at, int thread)
{
    const linearizing *z = context;
    const mjModel *m = z->n->worlds->model->mj;
    const sti_native_linear *l = z->n->linear;
    int64_t n = 2 * m->nv + m->na, w = z->first + at, first = l->turns ? 0 : m->nv;
    double *A = z->A + w * n * n, *B = z->B + w * n * m->nu;
    (void)thread;
    for (int i = 0; i < l->loss; ++i) put_row(z, w, at * l->spread + i, A + (first + i) * n, B + (first + i) * m->nu);
    if (!l->turns) put_positions(z, w, A, B);
}

/* Of a number without a derivative all is NaN. */
static void put_sensors(void *context, int64_t at, int thread)
{
    const linearizing *z = context;
    const mjModel *m = z->n->worlds->model->mj;
    int64_t n = 2 * m->nv + m->na, w = z->first + at;
    (void)thread;
    for (int64_t i = 0; i < z->nloss; ++i) {
        int64_t row = w * m->nsensordata + z->begin + i;
        double *C = z->A + row * n, *D = z->B + row * m->nu;
        put_row(z, w, at * z->n->linear->spread + i, C, D);
        if (!isnan(C[m->nv])) continue;
        for (int64_t k = 0; k < n; ++k) C[k] = NAN;
        for (int64_t k = 0; k < m->nu; ++k) D[k] = NAN;
    }
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

static stet_result read_gradients(linearizing *z)
{
    for (int k = 0; k < 4; ++k) STI_TRY(sti_array_mirror_read(z->n->linear->gradient[k], &z->seed[k]));
    return STET_OK;
}

static stet_result pull_chunk(linearizing *z)
{
    sti_native *n = z->n;
    sti_native_linear *l = n->linear;
    assert(z->count > 0 && z->count <= l->chunk && l->spread >= l->loss && "a chunk's losses have room");
    stet_array *const *b = l->before, *const *g = l->gradient, *v = n->own.v ? l->v : NULL;
    const sti_native_before before = {b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9]};
    const sti_native_gradients gradients = {g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]};
    int64_t count = z->count * l->spread, nsensordata = n->worlds->model->mj->nsensordata;
    STI_TRY(spread_chunk(z));
    if (z->after) {
        STI_TRY(seed_chunk(z));
        STI_TRY(sti_native_pull_spread(n, count, v, l->stepped, &before, &gradients));
        STI_TRY(read_gradients(z));
        sti_device_parallel(n->worlds->device, z->count, 0, put_world, z);
        return STET_OK;
    }
    for (z->begin = 0; z->begin < nsensordata; z->begin += z->nloss) {
        z->nloss = nsensordata - z->begin < l->spread ? nsensordata - z->begin : l->spread;
        STI_TRY(seed_chunk(z));
        STI_TRY(sti_native_pull_reads_spread(n, count, v, l->stepped, l->list, &before, l->sensed, &gradients,
                                             sti_sensors_solve(n->worlds->model->mj)));
        STI_TRY(read_gradients(z));
        sti_device_parallel(n->worlds->device, z->count, 0, put_sensors, z);
    }
    return STET_OK;
}

static stet_result pull_all(linearizing *z)
{
    sti_native *n = z->n;
    for (z->first = 0; z->first < n->worlds->nworld; z->first += z->count) {
        z->count = n->worlds->nworld - z->first;
        if (z->count > n->linear->chunk) z->count = n->linear->chunk;
        STI_TRY(pull_chunk(z));
    }
    return STET_OK;
}

static stet_result prepare(sti_native *n)
{
    if (n->worlds->model->mj->nv == 0)
        return sti_error(STET_ERROR_UNSUPPORTED, "linearize: the model has no joints, so nothing moves");
    if (n->linear) return STET_OK;
    stet_result result = make_linear(n);
    if (result != STET_OK) sti_native_linear_free(n);
    return result;
}

static stet_result linearize_step(linearizing *z)
{
    sti_native *n = z->n;
    stet_result result = make_step(n, z->after);
    stet_result ended = end_step(n, z->qacc);
    STI_TRY(result);
    STI_TRY(ended);
    return pull_all(z);
}

stet_result sti_native_linearize(sti_native *n, double *A, double *B)
{
    linearizing z = {.n = n, .A = A, .B = B};
    stet_device *device = n->worlds->device;
    int64_t nworld = n->worlds->nworld;
    STI_TRY(sti_native_prepare_pull(n));
    STI_TRY(prepare(n));
    stet_result result = STI_ARRAY(device, "accelerations of a step", STET_DTYPE_REAL, true, &z.qacc, nworld,
                                   field_of(n, NBEFORE - 1)->nitem);
    if (result == STET_OK)
        result = STI_ARRAY(device, "what is behind a step", STET_DTYPE_REAL, true, &z.after, nworld,
                           field_of(n, n->linear->turns ? 0 : 1)->nitem);
    if (result == STET_OK) result = linearize_step(&z);
    stet_array_destroy(z.qacc);
    stet_array_destroy(z.after);
    return result;
}

stet_result sti_native_linearize_sensors(sti_native *n, double *C, double *D)
{
    linearizing z = {.n = n, .A = C, .B = D};
    const mjModel *m = n->worlds->model->mj;
    if (sti_sensors_solve(m)) STI_TRY(sti_native_prepare_pull(n));
    STI_TRY(sti_native_prepare_pull_reads(n));
    STI_TRY(prepare(n));
    if (m->nsensordata == 0) return STET_OK;
    STI_TRY(make_sensed(n));
    return pull_all(&z);
}
