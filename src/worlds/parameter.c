/* Parameters of the physics per world: giving, reading and checking values; see parameter.h. */
#include "worlds/parameter.h"

#include "base/memory.h"
#include "base/near.h"
#include "base/plural.h"
#include "worlds/worlds.h"

#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

stet_result sti_parameter_named(const char *name, sti_parameter *out)
{
#define LIST(parameter, items, rule, derives) " " #parameter
    if (sti_parameter_find(name, out)) return STET_OK;
    sti_near near = sti_near_begin(name ? name : "");
    for (const char *const *one = stet_worlds_get_parameters(); *one; ++one) sti_near_offer(&near, *one);
    if (near.nearest)
        return sti_error(STET_ERROR_NOT_FOUND, "worlds: there is no parameter '%.64s'; did you mean %s?", name,
                         near.nearest);
    return sti_error(STET_ERROR_NOT_FOUND, "worlds: there is no parameter '%.64s'; there are:" STI_PARAMETERS(LIST),
                     name);
#undef LIST
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static const char *rule_sentence(sti_parameter_rule rule)
{
    switch (rule) {
    case STI_RULE_FACTOR:
    case STI_RULE_LEAST_0: return " of 0 or more";
    case STI_RULE_ABOVE_0: return " above 0";
    case STI_RULE_RANGE: return ", pairs of which the first is at most the second";
    case STI_RULE_QUAT: return ", quaternions w x y z whose length is not 0";
    case STI_RULE_MATERIAL: return ", numbers of the model's materials, or -1 for none";
    case STI_RULE_MESH: return ", numbers of the model's meshes, or -1 for what has none";
    case STI_RULE_ANGLE: return " above 0 and below 180";
    case STI_RULE_CUTOFF: return " from 0 to 180";
    case STI_RULE_BITS: return " from 0 to 2147483647";
    case STI_RULE_DIRECTION: return ", directions x y z whose length is not 0";
    case STI_RULE_QPOS: return ", with quaternions w x y z whose length is not 0";
    default: return "";
    }
}

/* What is larger overflows where it is squared, and a world that the physics puts back for it begins with NaN. */
static const double most = 1e15;

/* Is number i of a parameter one that it takes? */
static bool is_good(sti_parameter_rule rule, const double *x, int64_t i)
{
    assert(i >= 0);
    const double *q = x + (i - i % 4), *d = x + (i - i % 3);
    if (!(fabs(x[i]) <= most)) return false;
    switch (rule) {
    case STI_RULE_FACTOR:
    case STI_RULE_LEAST_0: return x[i] >= 0;
    case STI_RULE_ABOVE_0: return x[i] > 0;
    case STI_RULE_MATERIAL:
    case STI_RULE_MESH: return x[i] >= -1;
    case STI_RULE_BITS: return x[i] >= 0 && x[i] <= INT_MAX;
    case STI_RULE_ANGLE: return x[i] > 0 && x[i] < 180;
    case STI_RULE_CUTOFF: return x[i] >= 0 && x[i] <= 180;
    case STI_RULE_RANGE: return i % 2 == 0 || x[i - 1] <= x[i];
    case STI_RULE_QUAT: return i % 4 != 3 || q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] > mjMINVAL;
    case STI_RULE_DIRECTION: return i % 3 != 2 || d[0] * d[0] + d[1] * d[1] + d[2] * d[2] > mjMINVAL;
    default: return true;
    }
}

static stet_result check_numbers(sti_parameter parameter, const double *values, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        if (!is_good(sti_parameter_rule_of(parameter), values, i))
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "parameter %s: number %lld is %g; give %s%s",
                             stet_worlds_get_parameters()[parameter], (long long)i, values[i],
                             isfinite(values[i]) && fabs(values[i]) > most ? "numbers of at most 1e15 in size"
                                                                           : "finite numbers",
                             rule_sentence(sti_parameter_rule_of(parameter)));
    return STET_OK;
}

/* Bodies that move have mass, as MuJoCo's compiler demands: without, accelerations have no bound. */
static stet_result check_moving(const mjModel *m, sti_parameter parameter, const double *values, int64_t n)
{
    int per = parameter == STI_PARAMETER_body_mass ? 1 : 3;
    for (int64_t i = 0; i < n; ++i) {
        int64_t at = i % (per * m->nbody);
        double own = sti_parameter_own(m, parameter)[at];
        if (values[i] >= mjMINVAL || own < mjMINVAL) continue;
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "parameter %s: number %lld is %g; body %lld has %g in the model: give what is above 0",
                         stet_worlds_get_parameters()[parameter], (long long)i, values[i], (long long)(at / per), own);
    }
    return STET_OK;
}

/*
 * What the compiler chose by a value cannot be chosen again: the pattern of the inertia matrix of simple bodies, and
 * sizes of geoms that come from their mesh or height field. What is no servo has no kp. Cameras and lights that follow
 * a body by their mode have no place of their own, and cameras without a sensor no focal length. What is opaque is so
 * in all worlds.
 */
static bool is_fixed(const mjModel *m, sti_parameter parameter, int64_t item)
{
    switch (parameter) {
    case STI_PARAMETER_body_ipos: return item >= 3 && m->body_simple[item / 3];
    case STI_PARAMETER_body_iquat: return item >= 4 && m->body_simple[item / 4];
    case STI_PARAMETER_geom_size: {
        int type = m->geom_type[item / 3];
        return type == mjGEOM_MESH || type == mjGEOM_HFIELD || type == mjGEOM_SDF;
    }
    case STI_PARAMETER_geom_dataid: return m->geom_type[item] != mjGEOM_MESH;
    case STI_PARAMETER_actuator_kp:
    case STI_PARAMETER_actuator_kv: return !sti_parameter_in_servo(m, parameter, item);
    case STI_PARAMETER_cam_intrinsic: return m->cam_sensorsize[2 * (item / 4)] == 0;
    case STI_PARAMETER_cam_pos: return m->cam_mode[item / 3] != mjCAMLIGHT_FIXED;
    case STI_PARAMETER_cam_quat: return m->cam_mode[item / 4] != mjCAMLIGHT_FIXED;
    case STI_PARAMETER_light_pos:
    case STI_PARAMETER_light_dir: return m->light_mode[item / 3] != mjCAMLIGHT_FIXED;
    default: return false;
    }
}

/*
 * Does number `item` of dynprm or gainprm decide by its sign whether an actuator has an activation: of a DC motor or a
 * PID controller?
 */
static bool makes_activation(const mjModel *m, sti_parameter parameter, int64_t item)
{
#if mjVERSION_HEADER >= 4000000
    static const int64_t motor[] = {0, 2, 5, 7};
    bool dyn = parameter == STI_PARAMETER_actuator_dynprm;
    if (!dyn && parameter != STI_PARAMETER_actuator_gainprm) return false;
    int64_t i = item / (dyn ? mjNDYN : mjNGAIN), k = item % (dyn ? mjNDYN : mjNGAIN);
    if (m->actuator_dyntype[i] == mjDYN_PID) return k == (dyn ? 1 : 0);
    if (m->actuator_dyntype[i] != mjDYN_DCMOTOR) return false;
    for (size_t j = 0; dyn && j < sizeof motor / sizeof *motor; ++j)
        if (k == motor[j]) return true;
    return !dyn && k == 5;
#else
    (void)m, (void)parameter, (void)item;
    return false;
#endif
}

static stet_result check_activations(const mjModel *m, sti_parameter parameter, const double *values, int64_t n)
{
    int64_t items = sti_parameter_items(m, parameter);
    for (int64_t i = 0; i < n; ++i) {
        if (!makes_activation(m, parameter, i % items)) continue;
        const double own = sti_parameter_own_number(m, parameter, i % items);
        if ((values[i] > 0) != (own > 0))
            return sti_error(STET_ERROR_UNSUPPORTED,
                             "parameter %s: number %lld is %g; actuator %lld has an activation if it is above 0, and "
                             "activations are the model's: give a number %s 0",
                             stet_worlds_get_parameters()[parameter], (long long)i, values[i],
                             (long long)(i % items / (items / m->nactuator)), own > 0 ? "above" : "not above");
    }
    return STET_OK;
}

static stet_result check_fixed(const mjModel *m, sti_parameter parameter, const double *values, int64_t n)
{
    int64_t items = sti_parameter_items(m, parameter);
    STI_TRY(check_activations(m, parameter, values, n));
    for (int64_t i = 0; i < n; ++i) {
        if (!is_fixed(m, parameter, i % items)) continue;
        const double own = sti_parameter_own_number(m, parameter, i % items);
        if (values[i] == own) continue;
        if (parameter >= STI_PARAMETER_cam_pos)
            return sti_error(
                STET_ERROR_UNSUPPORTED,
                "parameter %s: number %lld is %g; its camera or light follows a body by its mode: give what "
                "the model has, %g, or set mode='fixed' in the model",
                stet_worlds_get_parameters()[parameter], (long long)i, values[i], own);
        if (parameter == STI_PARAMETER_cam_intrinsic)
            return sti_error(STET_ERROR_UNSUPPORTED,
                             "parameter cam_intrinsic: number %lld is %g; its camera has no sensorsize in the model: "
                             "give what the model has, %g",
                             (long long)i, values[i], own);
        if (parameter == STI_PARAMETER_actuator_kp || parameter == STI_PARAMETER_actuator_kv)
            return sti_error(STET_ERROR_UNSUPPORTED,
                             "parameter %s: number %lld is %g; actuator %lld is no %sservo: give what the model has, "
                             "%g, or set actuator_gainprm and actuator_biasprm",
                             stet_worlds_get_parameters()[parameter], (long long)i, values[i], (long long)(i % items),
                             parameter == STI_PARAMETER_actuator_kp ? "position " : "", own);
        if (parameter == STI_PARAMETER_geom_dataid)
            return sti_error(STET_ERROR_UNSUPPORTED,
                             "parameter geom_dataid: number %lld is %g; geom %lld is no mesh: give what the model has, "
                             "%g",
                             (long long)i, values[i], (long long)(i % items), own);
        if (parameter == STI_PARAMETER_geom_size)
            return sti_error(STET_ERROR_UNSUPPORTED,
                             "parameter geom_size: number %lld is %g; geom %lld has the size of its mesh or height "
                             "field: give what the model has, %g",
                             (long long)i, values[i], (long long)(i % items / 3), own);
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "parameter %s: number %lld is %g; body %lld was compiled as simple, with a diagonal inertia: "
                         "give what the model has, %g, or set simple='false' on the body in the model",
                         stet_worlds_get_parameters()[parameter], (long long)i, values[i],
                         (long long)(i % items / (parameter == STI_PARAMETER_body_ipos ? 3 : 4)), own);
    }
    return STET_OK;
}

/* Materials and meshes are below `end`; draws leave out their higher bound, so that may be how many there are. */
static stet_result check_assets(const mjModel *m, sti_parameter parameter, const double *values, int64_t n, double end)
{
    bool mesh = parameter == STI_PARAMETER_geom_dataid;
    for (int64_t i = 0; i < n; ++i) {
        if (mesh && m->geom_type[i % m->ngeom] != mjGEOM_MESH) continue;
        if (values[i] >= end || (mesh && values[i] < 0))
            return sti_error(
                STET_ERROR_INVALID_ARGUMENT, "parameter %s: number %lld is %g; the model has %lld %s: give %sless",
                stet_worlds_get_parameters()[parameter], (long long)i, values[i],
                (long long)(mesh ? m->nmesh : m->nmat), mesh ? "meshes" : "materials", mesh ? "0 or more, and " : "");
    }
    return STET_OK;
}

/* How many assets of its kind the numbers of a parameter name; -1: they name none. */
static int64_t count_assets(const mjModel *m, sti_parameter parameter)
{
    return parameter == STI_PARAMETER_geom_matid ? m->nmat : parameter == STI_PARAMETER_geom_dataid ? m->nmesh : -1;
}

/* Where in qpos the quaternion of a joint is; -1: it has none. */
static int find_quat(const mjModel *m, int64_t joint)
{
    int at = m->jnt_qposadr[joint], type = m->jnt_type[joint];
    return type == mjJNT_FREE ? at + 3 : type == mjJNT_BALL ? at : -1;
}

static stet_result check_positions(const mjModel *m, const double *values, int64_t n)
{
    for (int64_t i = 0; i < n; i += m->nq)
        for (int64_t j = 0; j < m->njnt; ++j) {
            const double *q = values + i + find_quat(m, j);
            if (find_quat(m, j) < 0 || q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3] > mjMINVAL) continue;
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "parameter qpos0: the quaternion of joint %lld, from number %lld on, is of length 0; give "
                             "one of length 1",
                             (long long)j, (long long)(i + find_quat(m, j)));
        }
    return STET_OK;
}

static stet_result check_focal(const mjModel *m, const double *values, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        if (i % 4 < 2 && values[i] <= 0 && !is_fixed(m, STI_PARAMETER_cam_intrinsic, i % (4 * m->ncam)))
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "parameter cam_intrinsic: number %lld is %g; it is a focal length: give what is above 0",
                             (long long)i, values[i]);
    return STET_OK;
}

/* By whether a tendon has armature the compiler chose which dofs are simple. */
static stet_result check_armature(const mjModel *m, const double *values, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        if (values[i] > 0 && m->tendon_armature[i % m->ntendon] == 0)
            return sti_error(STET_ERROR_UNSUPPORTED,
                             "parameter tendon_armature: number %lld is %g; tendon %lld has none in the model, whose "
                             "inertia matrix was compiled for that: give 0, or the tendon some in the model",
                             (long long)i, values[i], (long long)(i % m->ntendon));
    return STET_OK;
}

static stet_result check_values(const mjModel *m, sti_parameter parameter, const double *values, int64_t n)
{
    STI_TRY(check_numbers(parameter, values, n));
    if (parameter == STI_PARAMETER_qpos0) STI_TRY(check_positions(m, values, n));
    if (parameter == STI_PARAMETER_tendon_armature) STI_TRY(check_armature(m, values, n));
    if (parameter == STI_PARAMETER_cam_intrinsic) STI_TRY(check_focal(m, values, n));
    if (parameter == STI_PARAMETER_body_mass || parameter == STI_PARAMETER_body_inertia)
        STI_TRY(check_moving(m, parameter, values, n));
    return check_fixed(m, parameter, values, n);
}

stet_result sti_parameter_check(const stet_worlds *worlds, sti_parameter parameter, const double *values, int64_t n)
{
    int64_t items = sti_parameter_items(worlds->model->mj, parameter);
    if (n != items && n != items * worlds->nworld)
        return sti_error(
            STET_ERROR_INVALID_ARGUMENT,
            "parameter %s: %lld number%s; give %lld, for all worlds alike, or %lld a world for %lld world%s",
            stet_worlds_get_parameters()[parameter], (long long)n, STI_S(n), (long long)items, (long long)items,
            (long long)worlds->nworld, STI_S(worlds->nworld));
    if (count_assets(worlds->model->mj, parameter) >= 0)
        STI_TRY(
            check_assets(worlds->model->mj, parameter, values, n, (double)count_assets(worlds->model->mj, parameter)));
    return check_values(worlds->model->mj, parameter, values, n);
}

/* ---- giving them ------------------------------------------------------------------------------------------------- */

static double *value_of(const stet_worlds *worlds, sti_parameter parameter, int64_t w)
{
    assert(worlds->parameters.value[parameter] && w >= 0 && w < worlds->nworld);
    return worlds->parameters.value[parameter] + w * sti_parameter_items(worlds->model->mj, parameter);
}

/* PARAMETER-2: what has the model's bits keeps them. */
static void normalize(double *quat, const double *own)
{
    if (memcmp((const void *)quat, (const void *)own, 4 * sizeof *quat) != 0) mju_normalize4(quat);
}

void sti_parameter_put(stet_worlds *worlds, sti_parameter parameter, int64_t w, const double *value)
{
    int64_t items = sti_parameter_items(worlds->model->mj, parameter);
    const double *own = sti_parameter_own(worlds->model->mj, parameter);
    double *to = value_of(worlds, parameter, w);
    for (int64_t i = 0; i < items; ++i)
        to[i] = value ? value[i] : sti_parameter_own_number(worlds->model->mj, parameter, i);
    if (!value) return;
    if (sti_parameter_rule_of(parameter) == STI_RULE_QUAT)
        for (int64_t i = 0; i < items; i += 4) normalize(to + i, own + i);
    if (sti_parameter_rule_of(parameter) == STI_RULE_QPOS)
        for (int64_t j = 0; j < worlds->model->mj->njnt; ++j) {
            int at = find_quat(worlds->model->mj, j);
            if (at >= 0) normalize(to + at, own + at);
        }
}

/* Does the stage read it? */
static bool is_place(sti_parameter parameter)
{
    return parameter >= STI_PARAMETER_PLACES || parameter == STI_PARAMETER_geom_pos ||
           parameter == STI_PARAMETER_geom_quat;
}

/* Does the renderer read it? */
static bool is_look(sti_parameter parameter)
{
    return (parameter >= STI_PARAMETER_PHYSICS && parameter < STI_PARAMETER_PLACES) ||
           parameter == STI_PARAMETER_geom_size || parameter == STI_PARAMETER_geom_dataid;
}

void sti_parameter_changed(stet_worlds *worlds, sti_parameter parameter, const uint8_t *mask)
{
    sti_parameters *p = &worlds->parameters;
    assert(p->given[parameter] && "what changes was given");
    p->array[parameter].due = p->array[parameter].array && p->array[parameter].array->nitem > 0;
    if (is_look(parameter)) (void)sti_generations_put_some(&p->look_changed, mask, ++p->look_clock);
    if (is_place(parameter)) (void)sti_generations_put_some(&p->place_changed, mask, ++p->place_clock);
    if (parameter >= STI_PARAMETER_PHYSICS) return;
    (void)sti_generations_put_some(&p->changed, mask, ++p->clock);
    sti_quantities_changed(worlds, mask);
    if (parameter == STI_PARAMETER_body_pos || parameter == STI_PARAMETER_body_quat || parameter == STI_PARAMETER_qpos0)
        sti_worlds_moved_unless_posed(worlds, mask); /* their poses are computed again */
}

/* The model's own value in all worlds. */
static void put_own(stet_worlds *worlds, sti_parameter parameter)
{
    for (int64_t w = 0; w < worlds->nworld; ++w) sti_parameter_put(worlds, parameter, w, NULL);
    sti_parameter_changed(worlds, parameter, NULL);
}

static stet_result alloc_worlds(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    size_t size = (size_t)worlds->nworld * sizeof(uint64_t);
    if (!p->changed.own) STI_TRY(sti_generations_init(&p->changed, worlds->nworld, "parameters of worlds"));
    if (!p->key) STI_TRY(sti_alloc(&p->key, size, "parameters of worlds"));
    if (!p->derived_key) STI_TRY(sti_alloc(&p->derived_key, size, "parameters of worlds"));
    return sti_parameters_make_models(worlds);
}

stet_result sti_parameter_give(stet_worlds *worlds, sti_parameter parameter)
{
    sti_parameters *p = &worlds->parameters;
    size_t items = (size_t)sti_parameter_items(worlds->model->mj, parameter), all;
    bool physics = parameter < STI_PARAMETER_PHYSICS;
    if (p->given[parameter]) return STET_OK;
    if (physics) STI_TRY(alloc_worlds(worlds));
    if (is_look(parameter) && !p->look_changed.own)
        STI_TRY(sti_generations_init(&p->look_changed, worlds->nworld, "looks of worlds"));
    if (is_place(parameter) && !p->place_changed.own)
        STI_TRY(sti_generations_init(&p->place_changed, worlds->nworld, "places of worlds"));
    STI_TRY(sti_mul_size(items * sizeof(double), (size_t)worlds->nworld, &all, "parameters of worlds"));
    if (!p->value[parameter]) STI_TRY(sti_alloc(&p->value[parameter], all, "parameters of worlds"));
    p->given[parameter] = true;
    p->ngiven += physics;
    assert(p->ngiven <= STI_PARAMETER_PHYSICS);
    put_own(worlds, parameter);
    return STET_OK;
}

void sti_parameter_take_back(stet_worlds *worlds, sti_parameter parameter)
{
    sti_parameters *p = &worlds->parameters;
    if (!p->given[parameter]) return;
    put_own(worlds, parameter);
    p->given[parameter] = false;
    p->ngiven -= parameter < STI_PARAMETER_PHYSICS;
    assert(p->ngiven >= 0);
}

/* ---- reading them ------------------------------------------------------------------------------------------------ */

bool stet_worlds_has_parameter(const stet_worlds *worlds, const char *name)
{
    sti_parameter which;
    return worlds && sti_parameter_find(name, &which) && worlds->parameters.given[which];
}

int64_t stet_worlds_get_parameter_items(const stet_worlds *worlds, const char *name)
{
    sti_parameter which;
    return worlds && sti_parameter_find(name, &which) ? sti_parameter_items(worlds->model->mj, which) : 0;
}

/* ---- drawing them: what is given --------------------------------------------------------------------------------- */

static void stop_drawing(sti_parameters *p, sti_parameter which)
{
    sti_free(p->low[which]);
    sti_free(p->high[which]);
    stet_array_destroy(p->noise[which]);
    p->low[which] = p->high[which] = NULL;
    p->noise[which] = NULL;
}

/* Spreads one number over all items. */
static stet_result new_bounds(const double *from, int64_t n, int64_t items, double **out)
{
    STI_TRY(sti_alloc(out, (size_t)items * sizeof **out, "bounds of a parameter"));
    for (int64_t i = 0; i < items; ++i) (*out)[i] = from[i % n];
    return STET_OK;
}

/* How many numbers a vector has that ends at an item and must not be 0, or 0. */
static int ends_vector(const mjModel *m, sti_parameter_rule rule, int64_t item)
{
    if (rule == STI_RULE_QUAT) return item % 4 == 3 ? 4 : 0;
    if (rule == STI_RULE_DIRECTION) return item % 3 == 2 ? 3 : 0;
    for (int64_t j = 0; rule == STI_RULE_QPOS && j < m->njnt; ++j)
        if (find_quat(m, j) >= 0 && find_quat(m, j) + 3 == item) return 4;
    return 0;
}

/* Whatever is drawn between the bounds must be a value that the parameter takes. */
static stet_result check_bounds(const stet_worlds *worlds, sti_parameter which, const double *low, const double *high)
{
    const mjModel *m = worlds->model->mj;
    int64_t items = sti_parameter_items(m, which);
    sti_parameter_rule rule = sti_parameter_rule_of(which);
    bool range = rule == STI_RULE_RANGE, quat = rule == STI_RULE_QUAT, way = rule == STI_RULE_DIRECTION;
    for (int64_t i = 0; i < items; ++i) {
        int64_t each = ends_vector(m, rule, i);
        bool zero = each > 0; /* a length of 0 lies between the bounds */
        for (int64_t k = i - each + 1; zero && k <= i; ++k) zero = low[k] <= 0 && high[k] >= 0;
        if (low[i] <= high[i] && !(range && i % 2 == 1 && high[i - 1] > low[i]) && !zero) continue;
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "parameter %s: bounds %g and %g of number %lld; give low <= high%s",
                         stet_worlds_get_parameters()[which], low[i], high[i], (long long)i,
                         rule_sentence(sti_parameter_rule_of(which)));
    }
    if (count_assets(m, which) >= 0) {
        double end = (double)count_assets(m, which);
        STI_TRY(check_assets(m, which, low, items, end));
        STI_TRY(check_assets(m, which, high, items, nextafter(end, HUGE_VAL)));
    }
    if (quat || way) {
        STI_TRY(check_fixed(m, which, low, items));
        return check_fixed(m, which, high, items);
    }
    STI_TRY(check_values(m, which, low, items));
    return check_values(m, which, high, items);
}

static stet_result start_drawing(stet_worlds *worlds, sti_parameter which, const double *low, const double *high,
                                 int64_t n)
{
    sti_parameters *p = &worlds->parameters;
    int64_t items = sti_parameter_items(worlds->model->mj, which);
    double *bounds[2] = {NULL, NULL};
    stet_array *noise = NULL;
    stet_result result = new_bounds(low, n, items, &bounds[0]);
    if (result == STET_OK) result = new_bounds(high, n, items, &bounds[1]);
    if (result == STET_OK) result = check_bounds(worlds, which, bounds[0], bounds[1]);
    if (result == STET_OK)
        result = STI_ARRAY(worlds->device, stet_worlds_get_parameters()[which], STET_DTYPE_REAL, true, &noise,
                           worlds->nworld, items);
    if (result == STET_OK) result = sti_parameter_give(worlds, which);
    if (result != STET_OK) {
        sti_free(bounds[0]);
        sti_free(bounds[1]);
        stet_array_destroy(noise);
        return result;
    }
    stop_drawing(p, which);
    p->low[which] = bounds[0];
    p->high[which] = bounds[1];
    p->noise[which] = noise;
    return STET_OK;
}

stet_result stet_worlds_randomize(stet_worlds *worlds, const char *name, const double *low, const double *high,
                                  int64_t n)
{
    sti_parameter which;
    if (!worlds || !name)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_randomize: worlds and name must not be NULL");
    STI_TRY(sti_parameter_named(name, &which));
    if (!low && !high) {
        stop_drawing(&worlds->parameters, which);
        return STET_OK;
    }
    int64_t items = sti_parameter_items(worlds->model->mj, which);
    if (!low || !high || (n != 1 && n != items))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "parameter %s: bounds of %lld number%s; give a low and a high bound of %lld, or of 1 for all",
                         name, (long long)n, STI_S(n), (long long)items);
    return start_drawing(worlds, which, low, high, n);
}

void sti_parameters_free(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    for (int k = 0; k < STI_PARAMETER_COUNT; ++k) {
        stop_drawing(p, (sti_parameter)k);
        sti_free(p->value[k]);
    }
    sti_generations_free(&p->changed);
    sti_generations_free(&p->look_changed);
    sti_generations_free(&p->place_changed);
    sti_free(p->key);
    sti_free(p->derived_key);
    sti_parameters_free_models(worlds);
}
