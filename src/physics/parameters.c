/* Parameters of worlds in native physics; see parameters.h. */
#include "physics/parameters.h"

#include "base/memory.h"
#include "device/host_mirror.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/collide/hulls.h"
#include "physics/sensors/ray_shapes.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

enum { FIRST = PH_PARAMETER_FIRST, TABLES = PH_MEMORY_FIRST - FIRST };

/* ---- the model that has everything (OWN-1) ----------------------------------------------------------------------- */

/* Arrays whose zeros mean that something is absent; bits that let geoms touch; frames, which are shortcuts where they
 * are not 0. */
#define PRESENT(X)                                                                                                     \
    X(body_gravcomp, m->nbody)                                                                                         \
    X(jnt_stiffness, m->njnt)                                                                                          \
    X(dof_damping, m->nv)                                                                                              \
    X(dof_frictionloss, m->nv)                                                                                         \
    X(tendon_stiffness, m->ntendon)                                                                                    \
    X(tendon_damping, m->ntendon)                                                                                      \
    X(tendon_armature, m->ntendon)                                                                                     \
    X(tendon_frictionloss, m->ntendon)
/* Options of the same kind. */
#define OPTIONS(X)                                                                                                     \
    X(density)                                                                                                         \
    X(viscosity)
#define BITS(X)                                                                                                        \
    X(geom_contype, m->ngeom)                                                                                          \
    X(geom_conaffinity, m->ngeom)
#define FRAMES(X)                                                                                                      \
    X(body_sameframe, m->nbody)                                                                                        \
    X(geom_sameframe, m->ngeom)                                                                                        \
    X(site_sameframe, m->nsite)

static stet_result make_all(sti_native_parameters *p, const mjModel *m)
{
    size_t size = 4 * (size_t)m->nbody * sizeof *m->body_quat;
    if (!p->meshes && m->nmesh > 0)
        STI_TRY(sti_alloc(&p->meshes, (size_t)m->nmesh * sizeof *p->meshes, "parameters of the physics"));
#define COUNT(array, count) size += (size_t)(count) * sizeof *m->array;
    PRESENT(COUNT)
    BITS(COUNT)
    FRAMES(COUNT)
#undef COUNT
    if (p->arrays) return STET_OK;
    STI_TRY(sti_alloc(&p->arrays, size, "parameters of the physics"));
    char *at = p->arrays;
    p->all = *m;
#define OWN(array, count)                                                                                              \
    if ((count) > 0) memcpy(at, m->array, (size_t)(count) * sizeof *m->array);                                         \
    p->all.array = (void *)at;                                                                                         \
    at += (size_t)(count) * sizeof *m->array;
    OWN(body_quat, 4 * m->nbody)
    PRESENT(OWN)
    BITS(OWN)
    FRAMES(OWN)
#undef OWN
    return STET_OK;
}

static bool is_straight(const mjtNum *q) { return q[0] == 1 && q[1] == 0 && q[2] == 0 && q[3] == 0; }

/* The same of meshes of geoms. */
static bool add_meshes(sti_native_parameters *p, const mjModel *m)
{
    bool changed = false;
    for (int64_t g = 0; g < m->ngeom; ++g) {
        int mesh = m->geom_dataid[g];
        if (m->geom_type[g] != mjGEOM_MESH || mesh == p->all.geom_dataid[g] || p->meshes[mesh]) continue;
        changed = p->meshed = p->meshes[mesh] = true;
    }
    return changed;
}

/* Geoms that touch have hulls, and rays of sensors know the model's meshes alone. */
static stet_result check_meshes(const mjModel *all, const mjModel *m, int64_t w)
{
    for (int g = 0; g < m->ngeom; ++g) {
        int mesh = m->geom_dataid[g];
        if (m->geom_type[g] != mjGEOM_MESH || mesh == all->geom_dataid[g]) continue;
        if (sti_physics_count_ray_shapes(m) > 0)
            return sti_error(STET_ERROR_UNSUPPORTED,
                             "step: parameter geom_dataid: geom %d of world %lld has another mesh, and rangefinders of "
                             "native physics see the model's; use physics mujoco, or take the rangefinders out",
                             g, (long long)w);
        if (sti_physics_touches(m, g) && !sti_physics_has_shape(m, g))
            return sti_error(
                STET_ERROR_UNSUPPORTED,
                "step: parameter geom_dataid: geom %d of world %lld touches others, and its mesh, %d (%s), "
                "has no hull: give it another, or use physics mujoco",
                g, (long long)w, mesh, m->names + m->name_meshadr[mesh]);
    }
    return STET_OK;
}

/* Adds what a world has; returns whether the model lacked it. */
static bool add_world(mjModel *all, const mjModel *m)
{
    bool changed = false;
#define PRESENCE(array, count)                                                                                         \
    for (int64_t i = 0; i < (int64_t)(count); ++i)                                                                     \
        if (all->array[i] == 0 && m->array[i] != 0) {                                                                  \
            all->array[i] = m->array[i];                                                                               \
            changed = true;                                                                                            \
        }
    PRESENT(PRESENCE)
#undef PRESENCE
#define OPTION(name)                                                                                                   \
    if (all->opt.name == 0 && m->opt.name != 0) {                                                                      \
        all->opt.name = m->opt.name;                                                                                   \
        changed = true;                                                                                                \
    }
    OPTIONS(OPTION)
#undef OPTION
    all->flg_gravcomp |= m->flg_gravcomp;
#define BIT(array, count)                                                                                              \
    for (int64_t i = 0; i < (int64_t)(count); ++i)                                                                     \
        if (m->array[i] & ~all->array[i]) {                                                                            \
            all->array[i] |= m->array[i];                                                                              \
            changed = true;                                                                                            \
        }
    BITS(BIT)
#undef BIT
#define FRAME(array, count)                                                                                            \
    for (int64_t i = 0; i < (int64_t)(count); ++i)                                                                     \
        if (all->array[i] != 0 && all->array[i] != m->array[i]) {                                                      \
            all->array[i] = 0;                                                                                         \
            changed = true;                                                                                            \
        }
    FRAMES(FRAME)
#undef FRAME
    for (int64_t b = 0; b < m->nbody; ++b)
        if (is_straight(all->body_quat + 4 * b) && !is_straight(m->body_quat + 4 * b)) {
            memcpy(all->body_quat + 4 * b, m->body_quat + 4 * b, 4 * sizeof *m->body_quat);
            changed = true;
        }
    return changed;
}

/* ---- numbers of worlds ------------------------------------------------------------------------------------------- */

typedef struct filling {
    sti_native_parameters *p;
    stet_worlds *worlds;
    int size[TABLES];                 /* at most: to where the next table begins */
    const sti_physics_tables *tables; /* f, and entries of v as far as they are decided */
    bool every;                       /* worlds whose parameters have not changed, too */
    void *mirror;                     /* of v */
    atomic_bool differs[TABLES];
} filling;

static void measure_tables(filling *g)
{
    for (int k = 0; k < TABLES; ++k) {
        int end = g->tables->nf;
        for (int i = 0; i < TABLES; ++i)
            if (g->p->begin[i] > g->p->begin[k] && g->p->begin[i] < end) end = g->p->begin[i];
        g->size[k] = end - g->p->begin[k];
    }
}

static bool is_due(const filling *g, int64_t w) { return g->every || g->p->key[w] != g->worlds->parameters.key[w]; }

/* The numbers of a world, in the order of f. */
static const double *world_numbers(const filling *g, int64_t w, int thread)
{
    double *f = g->p->f + (ptrdiff_t)thread * g->tables->nf;
    sti_physics_tables_values(sti_parameters_model(g->worlds, w, thread), g->tables, g->p->begin, f);
    return f;
}

static void compare_world(void *context, int64_t w, int thread)
{
    filling *g = context;
    if (!is_due(g, w)) return;
    const double *f = world_numbers(g, w, thread);
    for (int k = 0; k < TABLES; ++k) {
        size_t size = (size_t)g->size[k] * sizeof *f;
        if (g->tables->m[FIRST + k] >= 0 && memcmp(f + g->p->begin[k], g->tables->f + g->p->begin[k], size) != 0)
            atomic_store_explicit(&g->differs[k], true, memory_order_relaxed);
    }
}

/* Lanes beyond the last world get the shared numbers, so that they compute nothing that is out of range. */
static void put_numbers(const filling *g, int64_t w, const double *f)
{
    for (int k = 0; k < TABLES; ++k)
        for (int i = 0; g->tables->m[FIRST + k] < 0 && i < g->size[k]; ++i)
            sti_mirror_set(g->p->v, g->mirror, w, ~g->tables->m[FIRST + k] + i, f[g->p->begin[k] + i]);
}

static void put_world(void *context, int64_t w, int thread)
{
    const filling *g = context;
    if (is_due(g, w)) put_numbers(g, w, world_numbers(g, w, thread));
}

/* OWN-4 */
static const int read_raw[] = {M_CCD_TOLERANCE, M_SHAPE_PRM, M_SHAPES, M_RAY_PRM};

/* Empty tables begin where the next one does, and seem to differ with it. */
static bool is_read_raw(const filling *g, int k)
{
    bool raw = false;
    for (size_t i = 0; i < sizeof read_raw / sizeof *read_raw; ++i) raw = raw || read_raw[i] == FIRST + k;
    for (int i = 0; raw && i < TABLES; ++i) raw = i == k || g->p->begin[i] != g->p->begin[k];
    return raw;
}

/* Gives tables that differ a place in v; returns whether there are any. */
static bool move_tables(const filling *g, sti_physics_tables *tables)
{
    bool any = false;
    for (int k = 0; k < TABLES; ++k) {
        if (!atomic_load(&g->differs[k]) || tables->m[FIRST + k] < 0) continue;
        const bool raw = is_read_raw(g, k);
        assert(!raw);
        (void)raw;
        tables->m[FIRST + k] = ~g->p->nv;
        g->p->nv += g->size[k];
        any = true;
    }
    return any;
}

/* An array for nv numbers; one of another size is replaced. */
static stet_result make_array(sti_native_parameters *p, stet_worlds *worlds)
{
    if (p->v && p->v->nitem == p->nv) return STET_OK;
    if (p->v) STI_TRY(sti_before_host_access(p->v->device, STI_ACT_WRITE, p->v, p->v->name));
    stet_array_destroy(p->v);
    p->v = NULL;
    return STI_ARRAY(worlds->device, "parameters of worlds", STET_DTYPE_REAL, true, &p->v, worlds->nworld, p->nv);
}

static stet_result fill_worlds(filling *g, sti_physics_tables *tables, bool *changed)
{
    sti_native_parameters *p = g->p;
    measure_tables(g);
    sti_worlds_parallel(g->worlds, compare_world, g, 0);
    if (move_tables(g, tables)) *changed = g->every = true;
    if (p->nv == 0) return STET_OK;
    STI_TRY(make_array(p, g->worlds));
    STI_TRY(sti_array_mirror_write(p->v, &g->mirror));
    sti_worlds_parallel(g->worlds, put_world, g, 0);
    for (int64_t w = g->worlds->nworld; w < sti_worlds_blocks(g->worlds) * g->worlds->device->lanes; ++w)
        put_numbers(g, w, g->tables->f);
    sti_array_mirror_written(p->v);
    return STET_OK;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

/* New tables, in which nothing has moved yet. */
static stet_result make_tables(sti_native_parameters *p, bool apart, const mjModel *m, int threads,
                               sti_physics_tables *tables)
{
    sti_physics_tables made;
    stet_result result = apart ? sti_physics_tables_make_apart(m, p->meshed ? p->meshes : NULL, &made)
                               : sti_physics_tables_make(m, &made);
    if (result == STET_OK) result = sti_realloc(&p->begin, TABLES * sizeof *p->begin, "parameters of the physics");
    if (result == STET_OK)
        result = sti_realloc(&p->f, (size_t)threads * (size_t)made.nf * sizeof *p->f, "parameters of the physics");
    if (result != STET_OK) {
        sti_physics_tables_free(&made);
        return result;
    }
    sti_physics_tables_resize(m, &made, sti_physics_room(tables));
    sti_physics_tables_free(tables);
    *tables = made;
    memcpy(p->begin, made.m + FIRST, TABLES * sizeof *p->begin);
    p->nv = 0;
    return STET_OK;
}

/* No parameter is given: everything is shared again. */
static stet_result share_all(sti_native_parameters *p, stet_worlds *worlds, sti_physics_tables *tables, bool *changed)
{
    if (p->arrays) {
        STI_TRY(make_tables(p, false, worlds->model->mj, worlds->device->threads, tables));
        *changed = true;
    }
    sti_native_parameters_free(p);
    p->clock = worlds->parameters.clock;
    return STET_OK;
}

stet_result sti_native_parameters_update(sti_native_parameters *p, stet_worlds *worlds, sti_physics_tables *tables,
                                         bool *changed)
{
    const sti_parameters *from = &worlds->parameters;
    filling g = {.p = p, .worlds = worlds, .tables = tables};
    STI_TRY(sti_parameters_update(worlds));
    if (p->clock == from->clock) return STET_OK;
    if (!sti_parameters_any(from)) return share_all(p, worlds, tables, changed);
    bool first = !p->arrays, more = false;
    if (!p->key) STI_TRY(sti_alloc(&p->key, (size_t)worlds->nworld * sizeof *p->key, "parameters of worlds"));
    STI_TRY(make_all(p, worlds->model->mj));
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        if (!is_due(&g, w)) continue;
        const mjModel *own = sti_parameters_model(worlds, w, 0);
        if (from->given[STI_PARAMETER_geom_dataid]) STI_TRY(check_meshes(&p->all, own, w));
        more = add_world(&p->all, own) || more;
        more = add_meshes(p, own) || more;
    }
    if (first || more) {
        STI_TRY(make_tables(p, true, &p->all, worlds->device->threads, tables));
        g.every = *changed = true;
    }
    stet_result result = fill_worlds(&g, tables, changed);
    if (result != STET_OK) {
        memset(p->key, 0xff, (size_t)worlds->nworld * sizeof *p->key); /* v may have no world's parameters */
        return result;
    }
    memcpy(p->key, from->key, (size_t)worlds->nworld * sizeof *p->key);
    p->clock = from->clock;
    return STET_OK;
}

void sti_native_parameters_free(sti_native_parameters *p)
{
    stet_array_destroy(p->v);
    sti_free(p->key);
    sti_free(p->arrays);
    sti_free(p->meshes);
    sti_free(p->begin);
    sti_free(p->f);
    memset(p, 0, sizeof *p);
}
