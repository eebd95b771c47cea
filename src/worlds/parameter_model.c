/* Models of threads, with the parameters of the world that a thread steps, and derived constants; see parameter.h. */
#include "base/hash.h"
#include "base/memory.h"
#include "worlds/parameter.h"
#include "worlds/poses.h"
#include "worlds/worlds.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

/*
 * Arrays of mjModel that mj_setConst computes from parameters, and their counts. Boxes of bodies (bvh_aabb) are kept
 * apart: the array holds those of meshes, too, which do not differ.
 */
#define DERIVED(X)                                                                                                     \
    X(body_sameframe, m->nbody)                                                                                        \
    X(body_subtreemass, m->nbody)                                                                                      \
    X(body_invweight0, 2 * m->nbody)                                                                                   \
    X(dof_invweight0, m->nv)                                                                                           \
    X(dof_M0, m->nv)                                                                                                   \
    X(dof_length, m->nv)                                                                                               \
    X(geom_sameframe, m->ngeom)                                                                                        \
    X(geom_aabb, 6 * m->ngeom)                                                                                         \
    X(geom_rbound, m->ngeom)                                                                                           \
    X(geom_fluid, mjNFLUID * m->ngeom)                                                                                 \
    X(site_sameframe, m->nsite)                                                                                        \
    X(cam_poscom0, 3 * m->ncam)                                                                                        \
    X(cam_pos0, 3 * m->ncam)                                                                                           \
    X(cam_mat0, 9 * m->ncam)                                                                                           \
    X(light_poscom0, 3 * m->nlight)                                                                                    \
    X(light_pos0, 3 * m->nlight)                                                                                       \
    X(light_dir0, 3 * m->nlight)                                                                                       \
    X(flexedge_length0, m->nflexedge)                                                                                  \
    X(flexedge_invweight0, m->nflexedge)                                                                               \
    X(efm0_L, m->nefm0L)                                                                                               \
    X(eq_data, mjNEQDATA * m->neq)                                                                                     \
    X(tendon_length0, m->ntendon)                                                                                      \
    X(tendon_invweight0, m->ntendon)                                                                                   \
    X(actuator_acc0, m->nout)                                                                                          \
    X(actuator_length0, m->nout)

/* Arrays that factors scale: name, count, factor. */
#define SCALED(X)                                                                                                      \
    X(geom_friction, 3 * m->ngeom, friction)                                                                           \
    X(pair_friction, 5 * m->npair, friction)                                                                           \
    X(dof_damping, m->nv, damping)                                                                                     \
    X(dof_dampingpoly, mjNPOLY * m->nv, damping)                                                                       \
    X(jnt_stiffness, m->njnt, stiffness)                                                                               \
    X(jnt_stiffnesspoly, mjNPOLY * m->njnt, stiffness)

/* Bytes of an array, rounded up so that the next one is aligned. */
#define BYTES(array, count) (((size_t)(count) * sizeof *m->array + 7) / 8 * 8)

static size_t derived_bytes(const mjModel *m)
{
    size_t n = 0;
#define COUNT(array, count) n += BYTES(array, count);
    DERIVED(COUNT)
#undef COUNT
    return n;
}

/* Numbers of the boxes of bodies' trees, which come first. */
static size_t box_numbers(const mjModel *m)
{
    int64_t n = 0;
    for (int64_t b = 0; b < m->nbody; ++b)
        if (m->body_bvhnum[b] > 0 && m->body_bvhadr[b] + m->body_bvhnum[b] > n)
            n = m->body_bvhadr[b] + m->body_bvhnum[b];
    return 6 * (size_t)n;
}

static size_t scaled_numbers(const mjModel *m)
{
    size_t n = 0;
#define COUNT(array, count, factor) n += (size_t)(count);
    SCALED(COUNT)
#undef COUNT
    return n;
}

/* Gains and biases of actuators. */
static size_t servo_numbers(const mjModel *m) { return (mjNGAIN + mjNBIAS) * (size_t)m->nactuator; }

/* Numbers of a thread: products with factors, boxes, four ints for each geom, two for each body, gains and biases. */
static size_t thread_numbers(const mjModel *m)
{
    return scaled_numbers(m) + 6 * (size_t)m->nbvhstatic + 2 * (size_t)m->ngeom + (size_t)m->nbody + servo_numbers(m);
}

static const double *value_of(const sti_parameters *p, const mjModel *m, sti_parameter which, int64_t w)
{
    return p->value[which] + w * sti_parameter_items(m, which);
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

stet_result sti_parameters_make_models(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    const mjModel *m = worlds->model->mj;
    size_t threads = (size_t)worlds->device->threads, each = thread_numbers(m);
    if (!p->numbers) STI_TRY(sti_alloc(&p->numbers, threads * each * sizeof *p->numbers, "parameters of worlds"));
    if (!p->poses) STI_TRY(sti_alloc(&p->poses, threads * sizeof *p->poses, "models of threads"));
    if (p->model) return STET_OK;
    STI_TRY(sti_alloc(&p->model, threads * sizeof *p->model, "models of threads"));
    for (size_t t = 0; t < threads; ++t) {
        p->model[t] = *m;
        p->poses[t] = *sti_pose_model(worlds);
        mjtNum *boxes = p->numbers + t * each + scaled_numbers(m);
        if (m->nbvhstatic > 0) memcpy(boxes, m->bvh_aabb, 6 * (size_t)m->nbvhstatic * sizeof *boxes);
    }
    return STET_OK;
}

typedef struct copying {
    const mjModel *m;
    mjModel *copy;
} copying;

static void copy_model(void *context)
{
    copying *c = context;
    c->copy = mj_copyModel(NULL, c->m);
}

static stet_result make_scratch_models(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    if (!p->scratch)
        STI_TRY(sti_alloc(&p->scratch, (size_t)worlds->device->threads * sizeof(mjModel *), "models of threads"));
    for (int t = 0; t < worlds->device->threads; ++t) {
        copying c = {worlds->model->mj, NULL};
        if (p->scratch[t]) continue;
        if (!sti_mujoco_guard(copy_model, &c, NULL, 0) || !c.copy)
            return sti_error(STET_ERROR_OUT_OF_MEMORY, "worlds: out of memory for a copy of the model");
        p->scratch[t] = c.copy;
    }
    return STET_OK;
}

static stet_result make_derived(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    size_t each = derived_bytes(worlds->model->mj) + box_numbers(worlds->model->mj) * sizeof(mjtNum), all;
    if (p->derived) return STET_OK;
    STI_TRY(make_scratch_models(worlds));
    STI_TRY(sti_mul_size(each, (size_t)worlds->nworld, &all, "constants of worlds"));
    STI_TRY(sti_alloc(&p->derived, all, "constants of worlds"));
    p->derived_size = each;
    return STET_OK;
}

static void delete_model(void *m) { mj_deleteModel(m); }

void sti_parameters_free_models(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    for (int t = 0; p->scratch && t < worlds->device->threads; ++t)
        if (p->scratch[t]) (void)sti_mujoco_guard(delete_model, p->scratch[t], NULL, 0);
    sti_free(p->scratch);
    sti_free(p->derived);
    sti_free(p->model);
    sti_free(p->poses);
    sti_free(p->numbers);
}

/* ---- derived constants ------------------------------------------------------------------------------------------- */

/* Is the value of this world what the model has? */
static bool is_own(const sti_parameters *p, const mjModel *m, sti_parameter which, int64_t w)
{
    const double *value = value_of(p, m, which, w);
    for (int64_t i = 0; i < sti_parameter_items(m, which); ++i) {
        double own = sti_parameter_own_number(m, which, i);
        if (memcmp((const void *)(value + i), (const void *)&own, sizeof own) != 0) return false; /* other bits */
    }
    return true;
}

/* Names the content of a world's values that differ from the model's, or of those that mj_setConst reads; 0: none. */
static uint64_t content_key(const sti_parameters *p, const mjModel *m, int64_t w, bool derives)
{
    sti_hash h;
    bool any = false;
    sti_hash_begin(&h);
    for (int k = 0; k < STI_PARAMETER_PHYSICS; ++k) {
        sti_parameter which = (sti_parameter)k;
        if (!p->given[k] || (derives && !sti_parameter_derives(which)) || is_own(p, m, which, w)) continue;
        sti_hash_add(&h, &k, sizeof k);
        sti_hash_add(&h, value_of(p, m, which, w), (size_t)sti_parameter_items(m, which) * sizeof(double));
        any = true;
    }
    uint64_t key = sti_hash_end(&h);
    return any ? key + (key == 0) : 0;
}

static void copy_array(void *to, const void *from, size_t size)
{
    if (size > 0) memcpy(to, from, size);
}

/* A world's meshes of geoms. */
static void put_meshes(const sti_parameters *p, const mjModel *m, int64_t w, int *dataid)
{
    for (int64_t g = 0; g < m->ngeom; ++g) dataid[g] = (int)floor(value_of(p, m, STI_PARAMETER_geom_dataid, w)[g]);
}

/*
 * Boxes and radii of geoms with other meshes than the model's, as the compiler has them, which mj_setConst keeps. What
 * bodies' boxes are made of follows.
 */
static void fit_meshes(mjModel *to, const mjModel *m)
{
    for (int64_t g = 0; g < m->ngeom; ++g) {
        if (m->geom_type[g] != mjGEOM_MESH || to->geom_dataid[g] == m->geom_dataid[g]) continue;
        const mjtNum *box = m->bvh_aabb + 6 * (ptrdiff_t)m->mesh_bvhadr[to->geom_dataid[g]];
        mjtNum far[3];
        for (int k = 0; k < 3; ++k) far[k] = fabs(box[k]) + box[3 + k];
        memcpy(to->geom_aabb + 6 * g, box, 6 * sizeof *box);
        to->geom_rbound[g] = sqrt(far[0] * far[0] + far[1] * far[1] + far[2] * far[2]);
    }
}

/* A thread's whole copy becomes the model with a world's parameters, but for factors, which mj_setConst ignores. */
static void fill_scratch(mjModel *to, const sti_parameters *p, const mjModel *m, int64_t w)
{
#define RESTORE(array, count) copy_array(to->array, m->array, (size_t)(count) * sizeof *m->array);
    DERIVED(RESTORE)
#undef RESTORE
#define FILL(array, count, rule, derives)                                                                              \
    copy_array(to->array, p->given[STI_PARAMETER_##array] ? value_of(p, m, STI_PARAMETER_##array, w) : m->array,       \
               (size_t)(count) * sizeof *m->array);
    STI_PARAMETER_ARRAYS(FILL)
    STI_PARAMETER_MORE(FILL)
#undef FILL
    to->opt.timestep = p->given[STI_PARAMETER_timestep] ? p->value[STI_PARAMETER_timestep][w] : m->opt.timestep;
    copy_array(to->geom_dataid, m->geom_dataid, (size_t)m->ngeom * sizeof *m->geom_dataid);
    if (!p->given[STI_PARAMETER_geom_dataid]) return;
    put_meshes(p, m, w, to->geom_dataid);
    fit_meshes(to, m);
}

typedef struct updating {
    stet_worlds *worlds;
    uint64_t since;
    atomic_llong made;
} updating;

typedef struct constants {
    mjModel *m;
    mjData *d;
} constants;

static void set_constants(void *context)
{
    const constants *c = context;
    mj_setConst(c->m, c->d);
}

/* mj_setConst for one world. If MuJoCo reports an error, the world keeps the model's constants and gets a fault. */
static void derive_world(stet_worlds *worlds, int64_t w, int thread)
{
    sti_parameters *p = &worlds->parameters;
    const mjModel *m = worlds->model->mj;
    constants c = {p->scratch[thread], worlds->poses.scratch[thread]};
    const mjModel *from = c.m;
    fill_scratch(c.m, p, m, w);
    if (!sti_mujoco_guard(set_constants, &c, NULL, 0)) {
        worlds->state.faults[w] |= 1u << STET_FAULT_PHYSICS_ERROR;
        from = m;
    }
    char *at = p->derived + (size_t)w * p->derived_size;
#define KEEP(array, count)                                                                                             \
    copy_array(at, from->array, (size_t)(count) * sizeof *m->array);                                                   \
    at += BYTES(array, count);
    DERIVED(KEEP)
#undef KEEP
    copy_array(at, from->bvh_aabb, box_numbers(m) * sizeof(mjtNum));
}

static void update_world(void *context, int64_t w, int thread)
{
    updating *u = context;
    sti_parameters *p = &u->worlds->parameters;
    const mjModel *m = u->worlds->model->mj;
    if (sti_generation_of(&p->changed, w) <= u->since) return;
    p->key[w] = content_key(p, m, w, false);
    uint64_t key = content_key(p, m, w, true);
    if (key == p->derived_key[w]) return;
    p->derived_key[w] = key;
    if (key == 0) return;
    derive_world(u->worlds, w, thread);
    atomic_fetch_add_explicit(&u->made, 1, memory_order_relaxed);
}

stet_result sti_parameters_derive(stet_worlds *worlds)
{
    sti_parameters *p = &worlds->parameters;
    if (p->updated == p->clock) return STET_OK;
    for (int k = 0; k < STI_PARAMETER_PHYSICS; ++k)
        if (p->given[k] && sti_parameter_derives((sti_parameter)k)) STI_TRY(make_derived(worlds));
    updating u = {.worlds = worlds, .since = p->updated};
    sti_worlds_parallel(worlds, update_world, &u, 0);
    worlds->device->mechanisms.counters.constants += (int64_t)atomic_load(&u.made);
    p->updated = p->clock;
    return STET_OK;
}

/* ---- the models -------------------------------------------------------------------------------------------------- */

/* If a factor is no longer given, its arrays get the model's values back by the factor 1, which changes no bit. */
static double factor_of(const sti_parameters *p, sti_parameter which, int64_t w)
{
    return p->given[which] ? p->value[which][w] : 1;
}

static mjtNum *scale(mjtNum *to, const mjtNum *from, int64_t n, double factor)
{
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] * factor;
    return to;
}

/* Products with factors; `own` has the world's arrays already. */
static void point_to_products(mjModel *own, const sti_parameters *p, const mjModel *m, int64_t w, mjtNum *at)
{
#define POINT(array, count, factor)                                                                                    \
    if (p->value[STI_PARAMETER_##factor]) {                                                                            \
        const mjtNum *from = m->array;                                                                                 \
        sti_parameter same;                                                                                            \
        if (sti_parameter_find(#array, &same) && p->given[same]) from = value_of(p, m, same, w);                       \
        own->array = scale(at, from, (int64_t)(count), factor_of(p, STI_PARAMETER_##factor, w));                       \
    }                                                                                                                  \
    at += (count);
    SCALED(POINT)
#undef POINT
}

/* Gains and biases with kp and kv of servos. at: memory for both. */
static void point_to_servos(mjModel *own, const sti_parameters *p, const mjModel *m, int64_t w, mjtNum *at)
{
    if (!p->value[STI_PARAMETER_actuator_kp] && !p->value[STI_PARAMETER_actuator_kv]) return;
#define COPY(array, count)                                                                                             \
    copy_array(at, p->given[STI_PARAMETER_##array] ? value_of(p, m, STI_PARAMETER_##array, w) : m->array,              \
               (size_t)(count) * sizeof *m->array);                                                                    \
    own->array = at;                                                                                                   \
    at += (count);
    COPY(actuator_gainprm, mjNGAIN * m->nactuator)
    COPY(actuator_biasprm, mjNBIAS * m->nactuator)
#undef COPY
    sti_parameters_put_servos(p, m, w, own->actuator_gainprm, own->actuator_biasprm);
}

/* Derived constants: the world's, or the model's. */
static void point_to_derived(mjModel *own, const sti_parameters *p, const mjModel *m, int64_t w, mjtNum *boxes)
{
    bool differ = p->derived_key[w] != 0;
    char *at = p->derived + (size_t)w * p->derived_size;
#define POINT(array, count)                                                                                            \
    own->array = differ ? (void *)at : m->array;                                                                       \
    at += BYTES(array, count);
    DERIVED(POINT)
#undef POINT
    own->bvh_aabb = differ && box_numbers(m) > 0 ? boxes : m->bvh_aabb;
    if (differ) copy_array(boxes, at, box_numbers(m) * sizeof *boxes);
}

/* Bits of geoms, and of all geoms of a body together, by which MuJoCo leaves out pairs of bodies. */
static void fill_bits(const sti_parameters *p, const mjModel *m, sti_parameter which, int64_t w, int *geom, int *body)
{
    const double *value = value_of(p, m, which, w);
    memset(body, 0, (size_t)m->nbody * sizeof *body);
    for (int64_t g = 0; g < m->ngeom; ++g) {
        geom[g] = (int)value[g];
        body[m->geom_bodyid[g]] |= geom[g];
    }
}

/* at: memory for two ints of each geom and body. */
static void point_to_bits(mjModel *own, const sti_parameters *p, const mjModel *m, int64_t w, int *at)
{
    _Static_assert(2 * sizeof(int) <= sizeof(mjtNum), "thread_numbers has room for them");
#define POINT(name)                                                                                                    \
    if (p->given[STI_PARAMETER_geom_##name]) {                                                                         \
        own->geom_##name = at;                                                                                         \
        own->body_##name = at + m->ngeom;                                                                              \
        fill_bits(p, m, STI_PARAMETER_geom_##name, w, own->geom_##name, own->body_##name);                             \
    } else {                                                                                                           \
        own->geom_##name = m->geom_##name;                                                                             \
        own->body_##name = m->body_##name;                                                                             \
    }                                                                                                                  \
    at += m->ngeom + m->nbody;
    POINT(contype)
    POINT(conaffinity)
#undef POINT
}

/* Gravity compensation is skipped where no body of a model has it. */
static void count_gravcomp(mjModel *own)
{
    own->ngravcomp = 0;
    for (int64_t b = 0; b < own->nbody; ++b) own->ngravcomp += own->body_gravcomp[b] > 0;
    own->flg_gravcomp = own->ngravcomp > 0;
}

/* A world's numbers of an option, or the model's. */
static void put_option(const sti_parameters *p, const mjModel *m, sti_parameter which, int64_t w, mjtNum *to)
{
    const double *from = p->given[which] ? value_of(p, m, which, w) : sti_parameter_own(m, which);
    memcpy(to, from, (size_t)sti_parameter_items(m, which) * sizeof *to);
}

const mjModel *sti_parameters_model(const stet_worlds *worlds, int64_t w, int thread)
{
    const sti_parameters *p = &worlds->parameters;
    const mjModel *m = worlds->model->mj;
    if (!sti_parameters_any(p)) return m;
    mjModel *own = &p->model[thread];
    mjtNum *numbers = p->numbers + (size_t)thread * thread_numbers(m);
    own->opt.timestep = sti_parameters_timestep(worlds, w);
    put_option(p, m, STI_PARAMETER_gravity, w, own->opt.gravity);
    put_option(p, m, STI_PARAMETER_density, w, &own->opt.density);
    put_option(p, m, STI_PARAMETER_viscosity, w, &own->opt.viscosity);
    put_option(p, m, STI_PARAMETER_wind, w, own->opt.wind);
#define POINT(array, count, rule, derives)                                                                             \
    if (p->value[STI_PARAMETER_##array])                                                                               \
        own->array =                                                                                                   \
            p->given[STI_PARAMETER_##array] ? p->value[STI_PARAMETER_##array] + w * (int64_t)(count) : m->array;
    STI_PARAMETER_ARRAYS(POINT)
    STI_PARAMETER_MORE(POINT)
#undef POINT
    if (p->value[STI_PARAMETER_body_gravcomp]) count_gravcomp(own);
    point_to_products(own, p, m, w, numbers);
    mjtNum *boxes = numbers + scaled_numbers(m);
    if (p->derived) point_to_derived(own, p, m, w, boxes);
    mjtNum *bits = boxes + 6 * (size_t)m->nbvhstatic;
    point_to_bits(own, p, m, w, (int *)(void *)bits);
    own->geom_dataid = m->geom_dataid;
    if (p->given[STI_PARAMETER_geom_dataid]) {
        own->geom_dataid = (int *)(void *)(bits + m->ngeom + m->nbody);
        put_meshes(p, m, w, own->geom_dataid);
    }
    point_to_servos(own, p, m, w, bits + 2 * m->ngeom + m->nbody);
    return own;
}

const mjModel *sti_parameters_pose_model(const stet_worlds *worlds, int64_t w, int thread)
{
    const sti_parameters *p = &worlds->parameters;
    const mjModel *m = sti_pose_model(worlds);
    if (!sti_parameters_poses(p)) return m;
    mjModel *own = &p->poses[thread];
    own->body_pos = m->body_pos;
    own->body_quat = m->body_quat;
    own->qpos0 = m->qpos0;
    sti_parameters_point(p, m, STI_PARAMETER_body_pos, w, &own->body_pos);
    sti_parameters_point(p, m, STI_PARAMETER_body_quat, w, &own->body_quat);
    sti_parameters_point(p, m, STI_PARAMETER_qpos0, w, &own->qpos0);
    return own;
}

double sti_parameters_timestep(const stet_worlds *worlds, int64_t w)
{
    const sti_parameters *p = &worlds->parameters;
    return p->given[STI_PARAMETER_timestep] ? p->value[STI_PARAMETER_timestep][w] : worlds->model->mj->opt.timestep;
}

/* ---- a number moved ---------------------------------------------------------------------------------------------- */

stet_result sti_parameter_probe_begin(sti_parameter_probe *probe, stet_worlds *worlds, sti_parameter which, int64_t w,
                                      int thread)
{
    const sti_parameters *p = &worlds->parameters;
    assert(p->given[which] && p->updated == p->clock && (p->derived || !sti_parameter_derives(which)));
    size_t items = (size_t)sti_parameter_items(worlds->model->mj, which);
    *probe = (sti_parameter_probe){worlds, which, w, thread, NULL, NULL, p->derived_key[w], worlds->state.faults[w]};
    STI_TRY(sti_alloc(&probe->value, items * sizeof *probe->value, "parameters of a world"));
    memcpy(probe->value, p->value[which] + (size_t)w * items, items * sizeof *probe->value);
    if (!p->derived) return STET_OK;
    stet_result result = sti_alloc(&probe->derived, p->derived_size, "constants of a world");
    if (result != STET_OK) {
        sti_free(probe->value);
        return result;
    }
    memcpy(probe->derived, p->derived + (size_t)w * p->derived_size, p->derived_size);
    return STET_OK;
}

/* The world's values and constants as they were. */
static void put_back(const sti_parameter_probe *probe)
{
    sti_parameters *p = &probe->worlds->parameters;
    int64_t items = sti_parameter_items(probe->worlds->model->mj, probe->which);
    memcpy(p->value[probe->which] + probe->w * items, probe->value, (size_t)items * sizeof *probe->value);
    if (probe->derived) memcpy(p->derived + (size_t)probe->w * p->derived_size, probe->derived, p->derived_size);
    p->derived_key[probe->w] = probe->key;
    probe->worlds->state.faults[probe->w] = probe->faults;
}

const mjModel *sti_parameter_probe_model(const sti_parameter_probe *probe, int64_t item, double by)
{
    stet_worlds *worlds = probe->worlds;
    sti_parameters *p = &worlds->parameters;
    double *own = p->value[probe->which] + probe->w * sti_parameter_items(worlds->model->mj, probe->which);
    bool failed = false;
    put_back(probe);
    own[item] += by;
    if (sti_parameter_derives(probe->which)) {
        worlds->state.faults[probe->w] = 0;
        derive_world(worlds, probe->w, probe->thread);
        failed = worlds->state.faults[probe->w] != 0;
        worlds->state.faults[probe->w] = probe->faults;
        p->derived_key[probe->w] = 1;
    }
    return failed ? NULL : sti_parameters_model(worlds, probe->w, probe->thread);
}

void sti_parameter_probe_end(sti_parameter_probe *probe)
{
    put_back(probe);
    sti_free(probe->value);
    sti_free(probe->derived);
}
