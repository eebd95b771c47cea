/* Parameters of the physics per world; see parameter.h. */
#include "worlds/parameter.h"

#include "base/plural.h"
#include "worlds/worlds.h"

#include <math.h>
#include <string.h>

static const struct {
    int items;
    bool negative;
} rows[STI_PARAMETER_COUNT] = {
#define ROW(name, items, negative) {items, negative},
    STI_PARAMETERS(ROW)
#undef ROW
};

static const char *const names[STI_PARAMETER_COUNT + 1] = {
#define NAME(name, items, negative) #name,
    STI_PARAMETERS(NAME)
#undef NAME
        NULL};

const char *const *stet_worlds_get_parameters(void) { return names; }

bool sti_parameter_find(const char *name, sti_parameter *out, int *items)
{
    for (int k = 0; name && k < STI_PARAMETER_COUNT; ++k) {
        if (strcmp(name, names[k]) != 0) continue;
        *out = (sti_parameter)k;
        *items = rows[k].items;
        return true;
    }
    return false;
}

/* ---- arrays that a thread's model has of its own ----------------------------------------------------------------- */

/* Array of the model, its count, the parameter that scales it. */
#define ARRAYS(X)                                                                                                      \
    X(geom_friction, 3 * m->ngeom, friction)                                                                           \
    X(pair_friction, 5 * m->npair, friction)                                                                           \
    X(dof_damping, m->nv, damping)                                                                                     \
    X(dof_dampingpoly, mjNPOLY * m->nv, damping)                                                                       \
    X(jnt_stiffness, m->njnt, stiffness)                                                                               \
    X(jnt_stiffnesspoly, mjNPOLY * m->njnt, stiffness)

static size_t own_numbers(const mjModel *m)
{
    size_t n = 0;
#define COUNT(array, count, parameter) n += (size_t)(count);
    ARRAYS(COUNT)
#undef COUNT
    return n;
}

/*
 * Makes a thread's model: the shared one, with arrays of its own from `at` on, which hold the model's own values so far
 * (PARAMETER-2).
 */
static void make_model(mjModel *own, const mjModel *m, mjtNum *at)
{
    *own = *m;
#define PLACE(array, count, parameter)                                                                                 \
    if ((count) > 0) memcpy(at, m->array, (size_t)(count) * sizeof *at);                                               \
    own->array = at;                                                                                                   \
    at += (count);
    ARRAYS(PLACE)
#undef PLACE
}

static stet_result make_models(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    const mjModel *m = worlds->model->mj;
    size_t threads = (size_t)worlds->device->threads, each = own_numbers(m);
    if (p->model) return STET_OK;
    STI_TRY(sti_alloc(&p->numbers, threads * each * sizeof *p->numbers, "parameters of worlds"));
    stet_result result = sti_alloc(&p->model, threads * sizeof *p->model, "models of threads");
    if (result != STET_OK) {
        sti_free(p->numbers);
        p->numbers = NULL;
        return result;
    }
    for (size_t t = 0; t < threads; ++t) make_model(&p->model[t], m, p->numbers + t * each);
    return STET_OK;
}

static void scale(mjtNum *to, const mjtNum *from, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] * factor;
}

/* If a parameter is no longer given, its arrays get the model's values back by the factor 1, which changes no bit. */
static double factor(const sti_parameters *p, sti_parameter which, int64_t w)
{
    return p->given[which] ? p->value[which][w] : 1;
}

const mjModel *sti_parameters_model(const stet_worlds *worlds, int64_t w, int thread)
{
    const sti_parameters *p = &worlds->parameters;
    const mjModel *m = worlds->model->mj;
    if (!sti_parameters_any(p)) return m;
    mjModel *own = &p->model[thread];
    memcpy(own->opt.gravity, p->given[STI_PARAMETER_gravity] ? p->value[STI_PARAMETER_gravity] + 3 * w : m->opt.gravity,
           sizeof own->opt.gravity);
#define FILL(array, count, parameter)                                                                                  \
    if (p->value[STI_PARAMETER_##parameter])                                                                           \
        scale(own->array, m->array, (int64_t)(count), factor(p, STI_PARAMETER_##parameter, w));
    ARRAYS(FILL)
#undef FILL
    return own;
}

/* ---- giving them ------------------------------------------------------------------------------------------------- */

bool sti_parameters_any(const sti_parameters *p)
{
    for (int k = 0; k < STI_PARAMETER_COUNT; ++k)
        if (p->given[k]) return true;
    return false;
}

static stet_result check_numbers(sti_parameter parameter, const double *values, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        if (!isfinite(values[i]) || (values[i] < 0 && !rows[parameter].negative))
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "parameter %s: number %lld is %g; give finite numbers%s",
                             names[parameter], (long long)i, values[i],
                             rows[parameter].negative ? "" : " of 0 or more");
    return STET_OK;
}

stet_result sti_parameter_check(const stet_worlds *worlds, sti_parameter parameter, const double *values, int64_t n)
{
    int64_t items = rows[parameter].items;
    if (!worlds->data)
        return sti_error(STET_ERROR_STATE,
                         "parameter %s: it is MuJoCo's physics that reads it, and these worlds are made without (exact "
                         "= false)",
                         names[parameter]);
    if (n != items && n != items * worlds->nworld)
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT,
            "parameter %s: %lld number%s; give %lld, for all worlds alike, or %lld a world for %lld world%s",
            names[parameter], (long long)n, STI_S(n), (long long)items, (long long)items, (long long)worlds->nworld,
            STI_S(worlds->nworld));
    return check_numbers(parameter, values, n);
}

stet_result stet_worlds_set_parameter(stet_worlds *worlds, const char *name, const double *values, int64_t n)
{
    sti_parameter which;
    int items;
    if (!worlds || !name)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_set_parameter: worlds and name must not be NULL");
#define LIST(parameter, items, negative) " " #parameter
    if (!sti_parameter_find(name, &which, &items))
        return sti_error(STET_ERROR_NOT_FOUND, "worlds: there is no parameter '%.64s'; there are:" STI_PARAMETERS(LIST),
                         name);
#undef LIST
    sti_parameters *p = &worlds->parameters;
    sti_quantities_all_changed(worlds);
    if (!values) {
        p->given[which] = false;
        return STET_OK;
    }
    STI_TRY(sti_parameter_check(worlds, which, values, n));
    size_t all = (size_t)(worlds->nworld * items);
    STI_TRY(make_models(worlds));
    if (!p->value[which]) STI_TRY(sti_alloc(&p->value[which], all * sizeof *values, "parameters of worlds"));
    for (size_t i = 0; i < all; ++i) p->value[which][i] = values[i % (size_t)n];
    p->given[which] = true;
    return STET_OK;
}

void sti_parameters_free(sti_parameters *p)
{
    for (int k = 0; k < STI_PARAMETER_COUNT; ++k) sti_free(p->value[k]);
    sti_free(p->model);
    sti_free(p->numbers);
}
