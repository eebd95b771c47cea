/*
 * The derivatives of a time step at the present state (A, B of mjd_transitionFD): k_native_pull for one loss a number
 * of the velocities and activations behind it. A world becomes as many worlds as there are losses, in whole blocks of
 * lanes, so lanes share its contacts. Positions follow from velocities: q' = q moved by h v'.
 *
 *   LINEARIZE-1  the state, time, faults and all that is counted are as before
 */
#include "physics/native_state.h"

#include "kernel/record/launch.h"
#include "kernel/record/record.h"
#include "physics/native_pull.h"

#include <math.h>
#include <string.h>

enum { NBEFORE = 10, NGRADIENT = 8, KEPT = 11, ROOM = 64 << 20 };

/* What a chunk of worlds has, spread; made once. */
struct sti_native_linear {
    int loss, spread; /* losses of a world, and how many worlds it becomes */
    int64_t chunk;    /* of worlds */
    stet_array *before[NBEFORE], *gradient[NGRADIENT], *stepped, *v;
    stet_array *kept[KEPT]; /* the state, while a step is made */
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

static stet_result make_linear(sti_native *n)
{
    sti_native_linear *l;
    const mjModel *m = n->worlds->model->mj;
    stet_device *device = n->worlds->device;
    int64_t items = 0;
    STI_TRY(sti_alloc(&n->linear, sizeof *n->linear, "linearisation"));
    l = n->linear;
    l->loss = (int)(m->nv + m->na);
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

/* Keeps the state and makes a step; after [nworld][nv] becomes the velocities behind it. */
static stet_result make_step(sti_native *n, stet_array *after)
{
    sti_native_linear *l = n->linear;
    for (int k = 0; k < KEPT; ++k) STI_TRY(sti_record_copy(l->kept[k], field_of(n, k)));
    stet_result result = sti_native_step_uncounted(n);
    if (result == STET_OK) result = sti_record_copy(after, n->worlds->state.field[STI_FIELD_qvel]);
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
    stet_array *qacc, *after; /* of the step: accelerations, and velocities behind it */
    int64_t first, count;     /* worlds of the chunk */
    void *from[NBEFORE + 1], *to[NBEFORE + 1], *seed[NGRADIENT], *moved;
    double *A, *B;
} linearizing;

static const stet_array *source_of(const linearizing *z, int k)
{
    return k == NBEFORE ? z->n->own.v : k == NBEFORE - 1 ? z->qacc : field_of(z->n, k);
}
static const stet_array *target_of(const linearizing *z, int k)
{
    return k == NBEFORE ? z->n->linear->v : z->n->linear->before[k];
}

/* x into all lanes that a world has there. */
static void fill_lanes(const stet_array *a, void *mirror, int64_t w, int64_t i, int n, double x)
{
    for (int k = 0; k < n; ++k) sti_mirror_set(a, mirror, w + k, i, x);
}

static void spread_world(void *context, int64_t at, int thread)
{
    const linearizing *z = context;
    const sti_native_linear *l = z->n->linear;
    int64_t begin = at * l->spread, w = z->first + at;
    int nv = (int)z->n->worlds->model->mj->nv;
    (void)thread;
    for (int k = 0; k <= NBEFORE; ++k) {
        const stet_array *from = source_of(z, k), *to = target_of(z, k);
        for (int64_t i = 0; from && i < from->nitem; ++i)
            fill_lanes(to, z->to[k], begin, i, l->spread, sti_mirror_get(from, z->from[k], w, i));
    }
    for (int k = 0; k < NGRADIENT; ++k)
        for (int64_t i = 0; i < l->gradient[k]->nitem; ++i)
            fill_lanes(l->gradient[k], z->seed[k], begin, i, l->spread, 0);
    for (int i = 0; i < l->loss; ++i) {
        int k = i < nv ? 1 : 2; /* qvel, act */
        sti_mirror_set(l->gradient[k], z->seed[k], begin + i, i < nv ? i : i - nv, 1);
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
        stet_array *from = k == NBEFORE - 1 ? z->qacc : field_of(z->n, k);
        STI_TRY(sti_array_mirror_read(from, &z->from[k]));
        STI_TRY(sti_array_mirror_write(l->before[k], &z->to[k]));
    }
    if (v) STI_TRY(sti_array_mirror_read(v, &z->from[NBEFORE]));
    if (v) STI_TRY(sti_array_mirror_write(l->v, &z->to[NBEFORE]));
    for (int k = 0; k < NGRADIENT; ++k) STI_TRY(sti_array_mirror_write(l->gradient[k], &z->seed[k]));
    return sti_array_mirror_read(z->after, &z->moved);
}

static void mirrors_written(const linearizing *z)
{
    sti_native_linear *l = z->n->linear;
    for (int k = 0; k < NBEFORE; ++k) sti_array_mirror_written(l->before[k]);
    if (z->n->own.v) sti_array_mirror_written(l->v);
    for (int k = 0; k < NGRADIENT; ++k) sti_array_mirror_written(l->gradient[k]);
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
    int64_t n = 2 * m->nv + m->na, w = z->first + at;
    double *A = z->A + w * n * n, *B = z->B + w * n * m->nu;
    (void)thread;
    for (int i = 0; i < l->loss; ++i) put_row(z, w, at * l->spread + i, A + (m->nv + i) * n, B + (m->nv + i) * m->nu);
    put_positions(z, w, A, B);
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static stet_result linearize_chunk(linearizing *z)
{
    sti_native *n = z->n;
    sti_native_linear *l = n->linear;
    stet_array *const *b = l->before, *const *g = l->gradient;
    const sti_native_before before = {b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9]};
    const sti_native_gradients gradients = {g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7]};
    STI_TRY(take_mirrors(z));
    sti_device_parallel(n->worlds->device, z->count, 0, spread_world, z);
    mirrors_written(z);
    STI_TRY(sti_native_pull_spread(n, z->count * l->spread, n->own.v ? l->v : NULL, l->stepped, &before, &gradients));
    for (int k = 0; k < 4; ++k) STI_TRY(sti_array_mirror_read(l->gradient[k], &z->seed[k]));
    sti_device_parallel(n->worlds->device, z->count, 0, put_world, z);
    return STET_OK;
}

static stet_result linearize_all(linearizing *z)
{
    sti_native *n = z->n;
    stet_result result = make_step(n, z->after);
    stet_result ended = end_step(n, z->qacc);
    STI_TRY(result);
    STI_TRY(ended);
    for (z->first = 0; z->first < n->worlds->nworld; z->first += z->count) {
        z->count = n->worlds->nworld - z->first;
        if (z->count > n->linear->chunk) z->count = n->linear->chunk;
        STI_TRY(linearize_chunk(z));
    }
    return STET_OK;
}

stet_result sti_native_linearize(sti_native *n, double *A, double *B)
{
    linearizing z = {.n = n, .A = A, .B = B};
    const mjModel *m = n->worlds->model->mj;
    stet_device *device = n->worlds->device;
    STI_TRY(sti_gradient_check_model(m));
    if (m->opt.integrator == mjINT_RK4)
        return sti_error(STET_ERROR_UNSUPPORTED, "linearize: not with integrator RK4; use Euler or implicitfast");
    STI_TRY(sti_native_prepare_pull(n));
    if (!n->linear) {
        stet_result result = make_linear(n);
        if (result != STET_OK) {
            sti_native_linear_free(n);
            return result;
        }
    }
    if (m->nv == 0) return STET_OK;
    stet_result result =
        STI_ARRAY(device, "accelerations of a step", STET_DTYPE_REAL, true, &z.qacc, n->worlds->nworld, m->nv);
    if (result == STET_OK)
        result =
            STI_ARRAY(device, "velocities behind a step", STET_DTYPE_REAL, true, &z.after, n->worlds->nworld, m->nv);
    if (result == STET_OK) result = linearize_all(&z);
    stet_array_destroy(z.qacc);
    stet_array_destroy(z.after);
    return result;
}
