/* Snapshots: taking and restoring the exact state, and its hash. */
#include "worlds/snapshot.h"

#include "base/hash.h"
#include "base/plural.h"
#include "worlds/poses.h"

#include <assert.h>
#include <string.h>

/*
 * MuJoCo's list of what the next step depends on: time, positions, velocities, activations, histories, warm start,
 * inputs.
 */
enum { STATE = mjSTATE_INTEGRATION };

/* ---- one world's state as numbers -------------------------------------------------------------------------------- */

/* In worlds without MuJoCo's data. */
static bool is_state(const stet_worlds *worlds, int f)
{
    if (f == STI_FIELD_qacc_warmstart) return sti_worlds_are_native(worlds);
    return (sti_field_writer[f] & STI_WRITER_CALLER) != 0;
}

static uint64_t state_items(const stet_worlds *worlds)
{
    if (worlds->state.data) return (uint64_t)mj_stateSize(worlds->model->mj, STATE);
    uint64_t n = 0;
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (is_state(worlds, f)) n += (uint64_t)worlds->state.field[f]->nitem;
    return n;
}

static void read_numbers(const stet_worlds *worlds, int f, int64_t w, double *out)
{
    const stet_array *a = worlds->state.field[f];
    for (int64_t i = 0; i < a->nitem; ++i) out[i] = sti_mirror_get(a, worlds->state.mirror[f], w, i);
}

static void write_numbers(const stet_worlds *worlds, int f, int64_t w, const double *from)
{
    const stet_array *a = worlds->state.field[f];
    for (int64_t i = 0; i < a->nitem; ++i) sti_mirror_set(a, worlds->state.mirror[f], w, i, from[i]);
}

static void get_state(const stet_worlds *worlds, int64_t w, double *out)
{
    assert(w >= 0 && w < worlds->nworld);
    if (worlds->state.data) {
        mj_getState(worlds->model->mj, worlds->state.data[w], out, STATE);
        return;
    }
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        if (!is_state(worlds, f)) continue;
        if (f == STI_FIELD_time)
            *out = worlds->state.time[w];
        else
            read_numbers(worlds, f, w, out);
        out += worlds->state.field[f]->nitem;
    }
}

static void set_state(stet_worlds *worlds, int64_t w, const double *from)
{
    assert(w >= 0 && w < worlds->nworld);
    if (worlds->state.data) {
        mj_setState(worlds->model->mj, worlds->state.data[w], from, STATE);
        return;
    }
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        if (!is_state(worlds, f)) continue;
        if (f == STI_FIELD_time) worlds->state.time[w] = *from;
        write_numbers(worlds, f, w, from);
        from += worlds->state.field[f]->nitem;
    }
}

static void get_poses(const stet_worlds *worlds, int64_t w, double *out)
{
    read_numbers(worlds, STI_FIELD_xpos, w, out);
    read_numbers(worlds, STI_FIELD_xquat, w, out + worlds->state.field[STI_FIELD_xpos]->nitem);
}

static void set_poses(stet_worlds *worlds, int64_t w, const double *from)
{
    write_numbers(worlds, STI_FIELD_xpos, w, from);
    write_numbers(worlds, STI_FIELD_xquat, w, from + worlds->state.field[STI_FIELD_xpos]->nitem);
}

/* ---- memory of a snapshot ---------------------------------------------------------------------------------------- */

const char *sti_state_words(uint64_t kind)
{
    return kind == STI_STATE_EXACT    ? "with exact data"
           : kind == STI_STATE_NATIVE ? "without exact data, with native physics"
                                      : "without exact data";
}

sti_snapshot_head sti_snapshot_head_of(const stet_worlds *worlds)
{
    return (sti_snapshot_head){
        .kind = worlds->state.data              ? STI_STATE_EXACT
                : sti_worlds_are_native(worlds) ? STI_STATE_NATIVE
                                                : STI_STATE_ARRAYS,
        .room = worlds->physics.grown_room ? (uint32_t)worlds->physics.grown_room(worlds->physics.context) : 0,
        .nworld = (uint64_t)worlds->nworld,
        .nstate = state_items(worlds),
        .nsensor = (uint64_t)worlds->state.field[STI_FIELD_step_sensordata]->nitem,
        .seed = worlds->def.seed};
}

uint64_t sti_snapshot_pose_items(const stet_worlds *worlds)
{
    return (uint64_t)(worlds->state.field[STI_FIELD_xpos]->nitem + worlds->state.field[STI_FIELD_xquat]->nitem);
}

static stet_result lay_out(stet_snapshot *s)
{
    assert(!s->payload && s->head.nworld > 0);
    const sti_snapshot_head *h = &s->head;
    size_t each = (h->nstate + h->nsensor + h->npose) * sizeof(double) + sizeof *s->resets + sizeof *s->faults +
                  sizeof *s->caller;
    STI_TRY(sti_mul_size(each, h->nworld, &s->size, "a snapshot"));
    STI_TRY(sti_alloc(&s->payload, s->size, "a snapshot"));
    s->state = (double *)(void *)s->payload;
    s->sensor = s->state + h->nworld * h->nstate;
    s->pose = s->sensor + h->nworld * h->nsensor;
    s->resets = (uint64_t *)(void *)(s->pose + h->nworld * h->npose);
    s->faults = (uint32_t *)(void *)(s->resets + h->nworld);
    s->caller = (uint8_t *)(s->faults + h->nworld);
    assert((char *)s->caller + h->nworld == s->payload + s->size && "the tables fill the payload");
    return STET_OK;
}

stet_result sti_snapshot_new(stet_model *model, const sti_snapshot_head *head, stet_snapshot **out)
{
    stet_snapshot *s;
    *out = NULL;
    STI_TRY(sti_alloc(&s, sizeof *s, "a snapshot"));
    s->head = *head;
    stet_result result = lay_out(s);
    if (result != STET_OK) {
        sti_free(s);
        return result;
    }
    s->model = model;
    if (model) sti_model_retain(model);
    *out = s;
    return STET_OK;
}

void stet_snapshot_destroy(stet_snapshot *snapshot)
{
    if (!snapshot) return;
    stet_model_destroy(snapshot->model);
    sti_free(snapshot->payload);
    sti_free(snapshot);
}

/* ---- taking ------------------------------------------------------------------------------------------------------ */

/* Refuses models for which MuJoCo's state is not all that the next step depends on. */
stet_result sti_snapshot_check(const mjModel *m)
{
    const char *option = sti_model_sleeps(m) ? "sleep" : m->opt.enableflags & mjENBL_IPC ? "ipc" : NULL;
    if (!option) return STET_OK;
    return sti_error(
        STET_ERROR_UNSUPPORTED,
        "snapshot: the model has the option flag %s, and MuJoCo's state does not hold all that follows from "
        "it; disable the flag in the model",
        option);
}

static void take_world(stet_snapshot *s, const stet_worlds *worlds, int64_t w)
{
    size_t k = (size_t)w;
    double *sensor = s->sensor + k * s->head.nsensor;
    get_state(worlds, w, s->state + k * s->head.nstate);
    if (worlds->state.data)
        memcpy(sensor, worlds->state.data[w]->sensordata, s->head.nsensor * sizeof *sensor);
    else
        read_numbers(worlds, STI_FIELD_step_sensordata, w, sensor);
    s->caller[k] = sti_worlds_is_caller_posed(worlds, w);
    assert((!s->caller[k] || s->head.npose > 0) && "a snapshot has room for poses that the caller wrote");
    if (s->caller[k]) get_poses(worlds, w, s->pose + k * s->head.npose);
    s->resets[k] = worlds->state.resets[w];
    s->faults[k] = worlds->state.faults[w];
}

/*
 * Takes what the caller wrote, and the host mirrors of what a snapshot may read: the state, sensors, and the caller's
 * poses.
 */
static stet_result sync_mirrors(stet_worlds *worlds)
{
    stet_array **field = worlds->state.field;
    void **mirror = worlds->state.mirror;
    STI_TRY(sti_worlds_sync(worlds));
    STI_TRY(sti_worlds_pull_physics(worlds));
    for (int f = 0; !worlds->state.data && f < STI_FIELD_COUNT; ++f)
        if (sti_field_writer[f] & STI_WRITER_BOTH) STI_TRY(sti_array_mirror_read(field[f], &mirror[f]));
    if (!sti_worlds_any_caller_posed(worlds)) return STET_OK;
    STI_TRY(sti_array_mirror(field[STI_FIELD_xpos], &mirror[STI_FIELD_xpos]));
    return sti_array_mirror(field[STI_FIELD_xquat], &mirror[STI_FIELD_xquat]);
}

stet_result sti_snapshot_take(stet_worlds *worlds, bool poses, stet_snapshot **out)
{
    *out = NULL;
    STI_TRY(sti_not_listing(worlds->device, "a snapshot"));
    STI_TRY(sync_mirrors(worlds));
    sti_snapshot_head head = sti_snapshot_head_of(worlds);
    if (poses || sti_worlds_any_caller_posed(worlds)) head.npose = sti_snapshot_pose_items(worlds);
    stet_snapshot *s;
    STI_TRY(sti_snapshot_new(worlds->model, &head, &s));
    for (int64_t w = 0; w < worlds->nworld; ++w) take_world(s, worlds, w);
    *out = s;
    return STET_OK;
}

stet_result stet_snapshot_create(stet_worlds *worlds, stet_snapshot **out)
{
    if (!worlds || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_snapshot_create: worlds and out must not be NULL");
    *out = NULL;
    STI_TRY(sti_snapshot_check(worlds->model->mj));
    return sti_snapshot_take(worlds, false, out);
}

/* Copies row `from` of a table of the payload to row `to` of another. */
static void copy_row(void *to_table, int64_t to, const void *from_table, int64_t from, size_t bytes)
{
    if (bytes > 0)
        memcpy((char *)to_table + (size_t)to * bytes, (const char *)from_table + (size_t)from * bytes, bytes);
}

stet_result stet_snapshot_select(const stet_snapshot *snapshot, const int64_t *worlds, int64_t nworld,
                                 stet_snapshot **out)
{
    if (!snapshot || !worlds || !out || nworld < 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_snapshot_select: snapshot, worlds and out must not be NULL, and nworld is at least 1");
    *out = NULL;
    for (int64_t w = 0; w < nworld; ++w)
        if (worlds[w] < 0 || (uint64_t)worlds[w] >= snapshot->head.nworld)
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "stet_snapshot_select: there is no world %lld in the snapshot; it has %llu",
                             (long long)worlds[w], (unsigned long long)snapshot->head.nworld);
    const stet_snapshot *s = snapshot;
    stet_snapshot *made;
    sti_snapshot_head head = s->head;
    head.nworld = (uint64_t)nworld;
    STI_TRY(sti_snapshot_new(s->model, &head, &made));
    made->fingerprint = s->fingerprint;
    for (int64_t w = 0; w < nworld; ++w) {
        copy_row(made->state, w, s->state, worlds[w], (size_t)head.nstate * sizeof *s->state);
        copy_row(made->sensor, w, s->sensor, worlds[w], (size_t)head.nsensor * sizeof *s->sensor);
        copy_row(made->pose, w, s->pose, worlds[w], (size_t)head.npose * sizeof *s->pose);
        copy_row(made->resets, w, s->resets, worlds[w], sizeof *s->resets);
        copy_row(made->faults, w, s->faults, worlds[w], sizeof *s->faults);
        copy_row(made->caller, w, s->caller, worlds[w], sizeof *s->caller);
    }
    *out = made;
    return STET_OK;
}

/* ---- restoring --------------------------------------------------------------------------------------------------- */

stet_result sti_snapshot_fingerprint(const stet_snapshot *s, uint64_t *out)
{
    *out = s->fingerprint;
    return s->model ? sti_model_fingerprint(s->model, out) : STET_OK;
}

/* A model that is loaded twice is two objects of the same content. */
static stet_result is_of_model(const stet_snapshot *s, const stet_model *model, bool *out)
{
    uint64_t a, b;
    *out = s->model && s->model->version.id == model->version.id;
    if (*out) return STET_OK;
    STI_TRY(sti_snapshot_fingerprint(s, &a));
    STI_TRY(sti_model_fingerprint(model, &b));
    *out = a == b;
    return STET_OK;
}

static stet_result check_fits(const stet_worlds *worlds, const stet_snapshot *s)
{
    sti_snapshot_head own = sti_snapshot_head_of(worlds);
    bool same;
    STI_TRY(is_of_model(s, worlds->model, &same));
    if (!same)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "restore: the snapshot is of another model; restore it into worlds of the same model");
    if (s->head.nworld != own.nworld)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "restore: the snapshot has %llu world%s, these are %llu; select as many of it (Python: "
                         "snapshot.select), or fork a sim",
                         (unsigned long long)s->head.nworld, STI_S(s->head.nworld), (unsigned long long)own.nworld);
    if (s->head.kind != own.kind)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "restore: the snapshot was taken %s, these worlds are %s; make both alike",
                         sti_state_words(s->head.kind), sti_state_words(own.kind));
    if (s->head.nstate != own.nstate || s->head.nsensor != own.nsensor ||
        (s->head.npose != 0 && s->head.npose != sti_snapshot_pose_items(worlds)))
        return sti_error(STET_ERROR_PARSE,
                         "restore: the snapshot is damaged (its sizes are not those of its model); use another copy");
    return sti_snapshot_check(worlds->model->mj);
}

typedef struct restoring {
    stet_worlds *worlds;
    const stet_snapshot *s;
} restoring;

static void restore_world(void *context, int64_t w, int thread)
{
    (void)thread;
    const restoring *r = context;
    stet_worlds *worlds = r->worlds;
    size_t k = (size_t)w;
    const double *sensor = r->s->sensor + k * r->s->head.nsensor;
    set_state(worlds, w, r->s->state + k * r->s->head.nstate);
    if (worlds->state.data) {
        memcpy(worlds->state.data[w]->sensordata, sensor, r->s->head.nsensor * sizeof *sensor);
        sti_worlds_pull(worlds, w, worlds->state.data[w], true);
    } else {
        write_numbers(worlds, STI_FIELD_step_sensordata, w, sensor);
    }
    worlds->state.resets[w] = r->s->resets[k];
    worlds->state.faults[w] = r->s->faults[k];
}

/* After all worlds were marked as moved: those without poses in the snapshot move once more (WORLDS-4). */
static void restore_poses(stet_worlds *worlds, const stet_snapshot *s)
{
    assert(s->head.npose == sti_snapshot_pose_items(worlds));
    worlds->poses.stamps.posed = worlds->poses.stamps.caller = worlds->state.stamps.version.generation;
    (void)sti_generations_bump(&worlds->poses.stamps.moved, &worlds->poses.stamps.version, NULL); /* WORLDS-11 */
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        worlds->marks[w] = !s->caller[w];
        if (s->caller[w]) set_poses(worlds, w, s->pose + (size_t)w * s->head.npose);
    }
    sti_worlds_moved(worlds, worlds->marks);
    sti_array_mirror_written(worlds->state.field[STI_FIELD_xpos]);
    sti_array_mirror_written(worlds->state.field[STI_FIELD_xquat]);
    sti_poses_keep_written(worlds);
}

/* The worlds have as many contacts in their next step as the snapshot's had. */
static stet_result restore_room(stet_worlds *worlds, uint32_t room)
{
    if (room == 0 || !worlds->physics.restore_room) return STET_OK;
    return worlds->physics.restore_room(worlds->physics.context, room < INT32_MAX ? (int)room : INT32_MAX);
}

stet_result stet_worlds_restore(stet_worlds *worlds, const stet_snapshot *snapshot)
{
    if (!worlds || !snapshot)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_restore: worlds and snapshot must not be NULL");
    STI_TRY(check_fits(worlds, snapshot));
    STI_TRY(sti_not_listing(worlds->device, "stet_worlds_restore"));
    STI_TRY(sti_worlds_pull_physics(worlds)); /* nothing is left that would come on top of the snapshot */
    STI_TRY(sti_worlds_take_mirrors(worlds, STI_WRITER_BOTH | (snapshot->head.npose ? STI_WRITER_POSES : 0)));
    STI_TRY(sti_worlds_sync(worlds)); /* WORLDS-5: earlier writes are replaced */
    STI_TRY(restore_room(worlds, snapshot->head.room));
    restoring r = {worlds, snapshot};
    sti_worlds_parallel(worlds, restore_world, &r, 0);
    sti_worlds_written(worlds, true);
    sti_version_bump(&worlds->state.stamps.resets);
    sti_worlds_moved(worlds, NULL);
    worlds->def.seed = snapshot->head.seed;
    if (snapshot->head.npose) restore_poses(worlds, snapshot);
    sti_validate_worlds(worlds);
    return sti_quantities_begun(worlds, NULL);
}

/* ---- hash -------------------------------------------------------------------------------------------------------- */

/* NaN has many bit patterns; equal states need one. */
static void add_numbers(sti_hash *h, double *x, uint64_t n)
{
    const uint64_t nan_bits = UINT64_C(0x7ff8000000000000);
    for (uint64_t i = 0; i < n; ++i)
        if (x[i] != x[i]) memcpy(&x[i], &nan_bits, sizeof *x);
    sti_hash_add(h, x, n * sizeof *x);
}

stet_result stet_worlds_hash(stet_worlds *worlds, uint64_t *out)
{
    if (!worlds || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_hash: worlds and out must not be NULL");
    STI_TRY(sti_not_listing(worlds->device, "stet_worlds_hash"));
    STI_TRY(sync_mirrors(worlds));
    uint64_t nstate = state_items(worlds), npose = sti_snapshot_pose_items(worlds);
    double *numbers;
    STI_TRY(sti_alloc(&numbers, (nstate > npose ? nstate : npose) * sizeof *numbers, "hash of the state"));
    sti_hash h;
    sti_hash_begin(&h);
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        get_state(worlds, w, numbers);
        add_numbers(&h, numbers, nstate);
        if (!sti_worlds_is_caller_posed(worlds, w)) continue;
        get_poses(worlds, w, numbers);
        add_numbers(&h, numbers, npose);
    }
    sti_free(numbers);
    *out = sti_hash_end(&h);
    return STET_OK;
}

uint64_t sti_snapshot_hash(stet_snapshot *s)
{
    sti_hash h;
    sti_hash_begin(&h);
    for (uint64_t w = 0; w < s->head.nworld; ++w) {
        add_numbers(&h, s->state + w * s->head.nstate, s->head.nstate);
        if (s->caller[w]) add_numbers(&h, s->pose + w * s->head.npose, s->head.npose);
    }
    return sti_hash_end(&h);
}
