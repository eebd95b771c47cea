/*
 * Worlds: creating and destroying them, and what they have. Invariants: worlds.h.
 *
 *   WORLDS-6  worlds that could not be created completely are destroyed by the same function as complete ones
 */
#include "worlds/worlds.h"

#include "base/memory.h"
#include "base/plural.h"
#include "worlds/poses.h"
#include "worlds/reset.h"

#include <assert.h>
#include <string.h>

enum { WORLDS_COOKIE = 0x57e70001 };

/* ---- making ----------------------------------------------------------------------------------------------------- */

stet_worlds_def stet_default_worlds_def(void)
{
    return (stet_worlds_def){.cookie = WORLDS_COOKIE, .nworld = 1, .keyframe = -1, .exact = true};
}

static stet_result check_def(const stet_model *model, const stet_worlds_def *def)
{
    if (def->cookie != WORLDS_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "worlds: the def is not initialised; start from stet_default_worlds_def()");
    if (def->nworld < 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "worlds: nworld is %lld; ask for at least 1",
                         (long long)def->nworld);
    if (def->nworld > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT, "worlds: nworld is %lld; at most %d are possible", (long long)def->nworld,
                         INT32_MAX);
    if (def->first_world < 0 || def->first_world > INT32_MAX - def->nworld)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "worlds: first_world is %lld; give 0 or more, so that no number is above %d",
                         (long long)def->first_world, INT32_MAX - 1);
    if (def->keyframe == -2)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "worlds: keyframe -2 means that of the def, and this is the def");
    return sti_check_keyframe(model->mj, def->keyframe, "worlds");
}

typedef struct making {
    const mjModel *m;
    mjData *d;
    mjModel *copy;
} making;

static void make_data(void *context)
{
    making *c = context;
    c->d = mj_makeData(c->m);
}

static void copy_model(void *context)
{
    making *c = context;
    c->copy = mj_copyModel(NULL, c->m);
}

static void delete_data(void *d) { mj_deleteData(d); }

static void delete_model(void *m) { mj_deleteModel(m); }

static stet_result new_data(const mjModel *m, mjData **out)
{
    assert(m && out);
    making c = {.m = m};
    char text[256];
    if (!sti_mujoco_guard(make_data, &c, text, sizeof text) || !c.d)
        return sti_error(STET_ERROR_OUT_OF_MEMORY,
                         "worlds: MuJoCo could not make the data of a world (%s); ask for fewer worlds",
                         text[0] ? text : "no memory");
    *out = c.d;
    return STET_OK;
}

static stet_result make_tables(stet_worlds *worlds)
{
    size_t n = (size_t)worlds->nworld;
    STI_TRY(sti_alloc(&worlds->state.faults, n * sizeof *worlds->state.faults, "faults of worlds"));
    STI_TRY(sti_generations_init(&worlds->state.stamps.moved, worlds->nworld, "moves of worlds"));
    STI_TRY(sti_generations_init(&worlds->poses.stamps.moved, worlds->nworld, "moves of worlds"));
    STI_TRY(sti_generations_init(&worlds->quantities.stamps.changed, worlds->nworld, "changes of worlds"));
    STI_TRY(sti_generations_init(&worlds->quantities.stamps.stepped, worlds->nworld, "steps of worlds"));
    sti_worlds_moved(worlds, NULL);
    STI_TRY(sti_alloc(&worlds->state.resets, n * sizeof *worlds->state.resets, "resets of worlds"));
    STI_TRY(sti_alloc(&worlds->marks, n, "marks of worlds"));
    STI_TRY(sti_alloc(&worlds->poses.marks, n, "marks of worlds"));
    STI_TRY(sti_alloc(&worlds->chosen, n, "marks of worlds"));
    STI_TRY(
        sti_alloc(&worlds->pending, (size_t)sti_worlds_blocks(worlds) * sizeof *worlds->pending, "blocks of worlds"));
    if (worlds->def.exact) return sti_alloc(&worlds->state.data, n * sizeof(mjData *), "data of worlds");
    return sti_alloc(&worlds->state.time, n * sizeof *worlds->state.time, "time of worlds");
}

/* Kinematics skip sleeping bodies, but scratch data do not record which bodies sleep. */
static stet_result make_pose_model(stet_worlds *worlds)
{
    const mjModel *m = worlds->model->mj;
    if (!(m->opt.enableflags & mjENBL_SLEEP)) return STET_OK;
    making c = {.m = m};
    if (!sti_mujoco_guard(copy_model, &c, NULL, 0) || !c.copy)
        return sti_error(STET_ERROR_OUT_OF_MEMORY, "worlds: out of memory for a copy of the model");
    worlds->poses.model = c.copy;
    worlds->poses.model->opt.enableflags &= ~mjENBL_SLEEP;
    return STET_OK;
}

static stet_result make_scratch(stet_worlds *worlds)
{
    STI_TRY(make_pose_model(worlds));
    const mjModel *m = sti_pose_model(worlds);
    STI_TRY(sti_alloc(&worlds->poses.scratch, (size_t)worlds->device->threads * sizeof(mjData *), "scratch data"));
    for (int t = 0; t < worlds->device->threads; ++t) STI_TRY(new_data(m, &worlds->poses.scratch[t]));
    return STET_OK;
}

stet_result sti_worlds_check_memory(int64_t nworld, double each, double have)
{
    assert(nworld > 0 && each > 0);
    double need = each * (double)nworld;
    if (need <= have || have <= 0) return STET_OK;
    return sti_error(
        STET_ERROR_LIMIT,
        "worlds: for %lld world%s of this model %.1f GB are needed, this machine has %.1f GB; ask for at most %lld",
        (long long)nworld, STI_S(nworld), need / 1e9, have / 1e9, (long long)(have / each));
}

static int64_t count_items(const stet_worlds *worlds, sti_field field)
{
    return sti_worlds_items(worlds->model->mj, worlds->def.exact, field);
}

/*
 * The system hands out more memory than it has, and kills the process that then uses it; so what cannot fit is refused
 * first. MuJoCo's arenas do not count, because they grow with a world's contacts. Nor do fields in GPU memory, whose
 * allocation fails by itself.
 */
static stet_result check_memory(const stet_worlds *worlds)
{
    double bytes = 64;
    for (int f = 0; f < STI_FIELD_COUNT && !worlds->device->can.own_memory; ++f)
        bytes += (double)count_items(worlds, (sti_field)f) * (double)worlds->device->real_size;
    if (worlds->def.exact) bytes += (double)sizeof(mjData) + (double)worlds->poses.scratch[0]->nbuffer;
    return sti_worlds_check_memory(worlds->nworld, bytes, sti_machine_memory());
}

static stet_result make_fields(stet_worlds *worlds)
{
    const char *const *names = stet_worlds_get_fields();
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        STI_TRY(STI_ARRAY(worlds->device, names[f], STET_DTYPE_REAL, true, &worlds->state.field[f], worlds->nworld,
                          count_items(worlds, (sti_field)f)));
    sti_array_held_by(worlds->state.field[STI_FIELD_xpos], STET_MECHANISM_POSE_SYNC);
    sti_array_held_by(worlds->state.field[STI_FIELD_xquat], STET_MECHANISM_POSE_SYNC);
    return STET_OK;
}

static stet_result build(stet_worlds *worlds)
{
    STI_TRY(make_scratch(worlds));
    STI_TRY(check_memory(worlds));
    STI_TRY(make_tables(worlds));
    STI_TRY(make_fields(worlds));
    for (int64_t w = 0; worlds->state.data && w < worlds->nworld; ++w)
        STI_TRY(new_data(worlds->model->mj, &worlds->state.data[w]));
    STI_TRY(sti_worlds_begin(worlds));
    sti_poses_attach(worlds);
    return STET_OK;
}

stet_result stet_worlds_create(stet_device *device, stet_model *model, const stet_worlds_def *def, stet_worlds **out)
{
    if (!out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_create: out is NULL; give a place for the worlds");
    *out = NULL;
    if (!device || !model || !def)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_create: device, model and def must not be NULL");
    STI_TRY(check_def(model, def));
    stet_worlds *worlds;
    STI_TRY(sti_alloc(&worlds, sizeof *worlds, "worlds"));
    worlds->device = device;
    worlds->model = model;
    worlds->def = *def;
    worlds->nworld = def->nworld;
    worlds->state.stamps.version = sti_version_new();
    worlds->poses.stamps.version = sti_version_new();
    worlds->quantities.stamps.version = sti_version_new();
    worlds->quantities.stamps.stepped_version = sti_version_new();
    worlds->quantities.any_begun = true;
    worlds->state.stamps.resets = sti_version_new();
    sti_model_retain(model);
    stet_result result = build(worlds);
    if (result != STET_OK) {
        stet_worlds_destroy(worlds);
        return result;
    }
    sti_validate_worlds(worlds);
    *out = worlds;
    return STET_OK;
}

static void free_data(mjData **data, int64_t n)
{
    for (int64_t i = 0; data && i < n; ++i)
        if (data[i]) (void)sti_mujoco_guard(delete_data, data[i], NULL, 0);
    sti_free(data);
}

void stet_worlds_destroy(stet_worlds *worlds)
{
    if (!worlds) return;
    assert(worlds->poses.readers == 0 && "stages are destroyed before their worlds");
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        stet_array_destroy(worlds->state.field[f]);
        sti_stamp_free(&worlds->state.stamps.pushed[f]);
    }
    sti_quantities_free(worlds);
    sti_worlds_forget_initial(worlds);
    sti_poses_forget_first(worlds);
    stet_array_destroy(worlds->state.noise);
    stet_array_destroy(worlds->state.draws);
    sti_parameter_arrays_free(worlds);
    sti_parameters_free(worlds);
    free_data(worlds->state.data, worlds->nworld);
    free_data(worlds->poses.scratch, worlds->device->threads);
    if (worlds->poses.model) (void)sti_mujoco_guard(delete_model, worlds->poses.model, NULL, 0);
    sti_stamp_free(&worlds->poses.stamps.made);
    sti_stamp_free(&worlds->poses.stamps.written);
    sti_free(worlds->state.time);
    sti_free(worlds->state.faults);
    sti_generations_free(&worlds->state.stamps.moved);
    sti_generations_free(&worlds->poses.stamps.moved);
    sti_generations_free(&worlds->quantities.stamps.changed);
    sti_generations_free(&worlds->quantities.stamps.stepped);
    sti_free(worlds->state.resets);
    sti_free(worlds->marks);
    sti_free(worlds->poses.marks);
    sti_free(worlds->poses.before);
    sti_free(worlds->chosen);
    sti_free(worlds->pending);
    stet_model_destroy(worlds->model);
    sti_free(worlds);
}

/* ---- looking at them -------------------------------------------------------------------------------------------- */

int64_t stet_worlds_get_nworld(const stet_worlds *worlds) { return worlds ? worlds->nworld : 0; }

const char *stet_fault_name(stet_fault fault)
{
    static const char *const names[] = {"bad_qpos", "bad_qvel",      "bad_qacc",
                                        "bad_ctrl", "contacts_full", "physics_error"};
    _Static_assert(sizeof names / sizeof *names == STET_FAULT_COUNT, "a name for each fault");
    return (unsigned)fault < STET_FAULT_COUNT ? names[fault] : "unknown";
}

const uint32_t *stet_worlds_get_faults(const stet_worlds *worlds)
{
    /* to the caller, bringing faults up to date is no change of the worlds */
    return worlds && sti_worlds_pull_physics((stet_worlds *)worlds) == STET_OK ? worlds->state.faults : NULL;
}
