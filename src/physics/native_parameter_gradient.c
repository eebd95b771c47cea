/*
 * Gradients by parameters of worlds (worlds/parameter.h): a step has them by the numbers of its tables (native_pull.h).
 * From these to a parameter goes what MuJoCo derives, mj_setConst included, and how tables are filled: its derivatives
 * are central differences of the whole of it, in double, on the host, for each world.
 *
 *   BY-NAME-1  what a parameter moves has a gradient, or has no part in a step, or the parameter is refused by name
 */
#include "physics/native_state.h"

#include "base/memory.h"
#include "physics/native_pull.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { FIRST = PH_PARAMETER_FIRST, TABLES = PH_MEMORY_FIRST - FIRST };

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static const char *const names[TABLES] = {
#define PARAMETER(number, name, n, have, take) [(number)-FIRST] = #name,
#define PARAMETER_OF(number, name, array, n, have, take) [(number)-FIRST] = #name,
#define PARAMETER_MADE(number, name) [(number)-FIRST] = #name,
#include "physics/model/rows.inl"
};

/*
 * What steps do not depend on: where dynamics are about (a centre of mass), when the solver ends, what finds pairs of
 * geoms faster, what sensors, rays and resets read.
 */
static bool has_no_part(int number)
{
    static const int rows[] = {
        M_BODY_INVSUBTREEMASS, M_TOLERANCE, M_LS_TOLERANCE,     M_SOLVER_SCALE,  M_SENSOR_CUTOFF, M_MAGNETIC,
        M_SITE_SIZE,           M_CAM_POS,   M_CAM_QUAT,         M_GEOM_AABB,     M_GROUP_REACH,   M_SHAPES,
        M_GEOM_BOUND,          M_CAM_PRM,   M_NOSLIP_TOLERANCE, M_CCD_TOLERANCE, M_RAY_PRM,       M_RESET_MOCAP_POS,
        M_RESET_MOCAP_QUAT};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        if (rows[k] == number) return true;
    return false;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* Rows of friction loss exist where there is some: at 0 the gradient of a step says nothing of it. */
static bool is_unknown(const sti_native *n, sti_parameter which, int64_t w, int64_t item)
{
    const double *value = n->worlds->parameters.value[which];
    return which == STI_PARAMETER_dof_frictionloss && value[w * n->worlds->model->mj->nv + item] == 0;
}

static stet_result find(const sti_native *n, const char *name, sti_parameter *out)
{
    if (!sti_parameter_find(name, out) || *out >= STI_PARAMETER_PHYSICS)
        return sti_error(STET_ERROR_NOT_FOUND, "gradients: the physics has no parameter '%.64s'", name);
    if (sti_parameter_rule_of(*out) == STI_RULE_BITS || sti_parameter_rule_of(*out) == STI_RULE_MESH)
        return sti_error(STET_ERROR_UNSUPPORTED, "gradients: parameter %s is no real number", name);
    if (sti_parameter_items(n->worlds->model->mj, *out) == 0)
        return sti_error(STET_ERROR_NOT_FOUND, "gradients: the model has nothing with the parameter %s", name);
    return STET_OK;
}

/* All tables that have gradients. In a medium masses and inertias have none. */
static stet_result want_tables(sti_native *n)
{
    const mjModel *m = n->worlds->model->mj;
    bool drags = m->opt.density > 0 || m->opt.viscosity > 0;
    int numbers[TABLES], count = 0;
    for (int k = FIRST; k < PH_MEMORY_FIRST; ++k) {
        if (!sti_gradient_has_parameter(k) || (drags && (k == M_BODY_MASS || k == M_BODY_INERTIA))) continue;
        numbers[count++] = k;
    }
    sti_native_wanted_free(&n->tape.wanted);
    STI_TRY(sti_native_want(n, numbers, count, &n->tape.wanted));
    STI_TRY(sti_alloc(&n->tape.number, (size_t)count * sizeof *n->tape.number, "parameters that have gradients"));
    memcpy(n->tape.number, numbers, (size_t)count * sizeof *numbers);
    return STET_OK;
}

/* Each becomes a parameter that may differ between worlds, so that there are values to go on from. */
stet_result sti_native_take_parameters(sti_native *n, const char *const *name, int count)
{
    sti_parameter which;
    STI_TRY(sti_gradient_check_model(n->worlds->model->mj));
    for (int k = 0; k < count; ++k) STI_TRY(find(n, name[k], &which));
    sti_native_parameter_gradients_free(n);
    for (int k = 0; k < count; ++k) {
        (void)sti_parameter_find(name[k], &which);
        bool given = n->worlds->parameters.given[which];
        STI_TRY(sti_parameter_give(n->worlds, which));
        if (!given) sti_parameter_changed(n->worlds, which, NULL);
    }
    return count > 0 ? want_tables(n) : STET_OK;
}

void sti_native_parameter_gradients_free(sti_native *n)
{
    sti_native_wanted_free(&n->tape.wanted);
    sti_free(n->tape.number);
    n->tape.number = NULL;
}

stet_array *sti_native_table_numbers(const sti_native *n) { return n->tape.wanted.gradient; }

/* ---- from tables to a parameter ---------------------------------------------------------------------------------- */

typedef struct chain {
    sti_native *native;
    sti_parameter which;
    stet_array *gradient; /* of the tables' numbers */
    void *mirror;
    double *out, *up, *down; /* [nworld][items]; of threads, [nf] each */
    int size[TABLES];
    atomic_int refused; /* a table that has no gradient, + 1 */
    atomic_bool failed;
} chain;

/* How many numbers a table has, if its row says so, or it has a gradient; else -1. */
static int64_t known_size(const sti_native *n, int number)
{
    const mjModel *m = n->worlds->model->mj;
    const sti_physics_tables *t = &n->tables;
    for (int i = 0; i < n->tape.wanted.n; ++i)
        if (n->tape.number[i] == number) return n->tape.wanted.begin[i + 1] - n->tape.wanted.begin[i];
    const int64_t known[TABLES] = {
#define PARAMETER(number, name, n, have, take) [(number)-FIRST] = (n) * (take) + 1,
#define PARAMETER_OF(number, name, array, n, have, take) [(number)-FIRST] = (n) * (take) + 1,
#include "physics/model/rows.inl"
    };
    (void)t;
    return known[number - FIRST] - 1;
}

/*
 * How many numbers of each table there are in f. Others than the known ones go to where the next table begins, unless
 * it is a known one that begins there: then they are empty.
 */
static void measure(chain *c)
{
    const sti_native *n = c->native;
    for (int k = 0; k < TABLES; ++k) {
        int begin = n->own.begin[k], end = n->tables.nf;
        int64_t size = known_size(n, FIRST + k);
        for (int i = 0; i < TABLES; ++i) {
            if (n->own.begin[i] > begin && n->own.begin[i] < end) end = n->own.begin[i];
            if (size < 0 && n->own.begin[i] == begin && known_size(n, FIRST + i) > 0) end = begin;
        }
        c->size[k] = size < 0 ? end - begin : (int)size;
    }
}

static bool fill(const chain *c, const sti_parameter_probe *probe, int64_t item, double by, double *f)
{
    const mjModel *m = sti_parameter_probe_model(probe, item, by);
    if (m) sti_physics_tables_values(m, &c->native->tables, c->native->own.begin, f);
    return m != NULL;
}

/* The sum of the gradients of all that moved from f to g. */
static double dot_moved(chain *c, int64_t w, const double *f, const double *g)
{
    const sti_native *n = c->native;
    double sum = 0;
    for (int k = 0; k < TABLES; ++k) {
        int place = -1, begin = n->own.begin[k];
        if (c->size[k] == 0 || memcmp(f + begin, g + begin, (size_t)c->size[k] * sizeof *f) == 0) continue;
        for (int i = 0; i < n->tape.wanted.n; ++i)
            if (n->tape.number[i] == FIRST + k) place = n->tape.wanted.begin[i];
        if (place < 0 && !has_no_part(FIRST + k)) atomic_store(&c->refused, k + 1);
        for (int i = 0; place >= 0 && i < c->size[k]; ++i) {
            double moved = g[begin + i] - f[begin + i];
            if (moved != 0) sum += moved * sti_mirror_get(c->gradient, c->mirror, w, place + i);
        }
    }
    return sum;
}

/* Numbers that may not be below 0 are moved up alone from there. */
static void pull_world(void *context, int64_t w, int thread)
{
    chain *c = context;
    const sti_native *n = c->native;
    int64_t items = sti_parameter_items(n->worlds->model->mj, c->which);
    sti_parameter_rule rule = sti_parameter_rule_of(c->which);
    double *up = c->up + (ptrdiff_t)thread * n->tables.nf, *down = c->down + (ptrdiff_t)thread * n->tables.nf;
    bool least0 = rule == STI_RULE_LEAST_0 || rule == STI_RULE_ABOVE_0 || rule == STI_RULE_FACTOR;
    sti_parameter_probe probe;
    if (sti_parameter_probe_begin(&probe, n->worlds, c->which, w, thread) != STET_OK) {
        atomic_store(&c->failed, true);
        return;
    }
    for (int64_t i = 0; i < items; ++i) {
        c->out[w * items + i] = NAN;
        if (is_unknown(n, c->which, w, i)) continue;
        double x = probe.value[i], h = x == 0 ? 1e-6 : 1e-5 * fabs(x), below = least0 && x == 0 ? 0 : h;
        bool made = fill(c, &probe, i, h, up) && fill(c, &probe, i, -below, down);
        if (!made) atomic_store(&c->failed, true);
        if (made) c->out[w * items + i] = dot_moved(c, w, down, up) / (h + below);
    }
    sti_parameter_probe_end(&probe);
}

static stet_result report(const chain *c, const char *name)
{
    int refused = atomic_load(&c->refused);
    if (atomic_load(&c->failed))
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "gradients: MuJoCo derives no constants near the present values of parameter %s", name);
    if (refused == 0) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED,
                     "gradients: parameter %s changes %s of the physics, by which steps have no gradient", name,
                     names[refused - 1]);
}

stet_result sti_native_parameter_gradient(sti_native *n, const char *name, stet_array *gradient, double *out)
{
    chain c = {.native = n, .gradient = gradient, .out = out};
    size_t room = (size_t)n->worlds->device->threads;
    STI_TRY(find(n, name, &c.which));
    if (!n->worlds->parameters.given[c.which])
        return sti_error(STET_ERROR_STATE, "gradients: name parameter %s before the tape begins", name);
    STI_TRY(sti_native_update(n));
    STI_TRY(sti_array_mirror_read(gradient, &c.mirror));
    room *= (size_t)n->tables.nf * sizeof(double);
    STI_TRY(sti_alloc(&c.up, 2 * room, "parameters of the physics"));
    c.down = c.up + room / sizeof(double);
    measure(&c);
    sti_worlds_parallel(n->worlds, pull_world, &c, 0);
    sti_free(c.up);
    return report(&c, name);
}
