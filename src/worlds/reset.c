/*
 * Resets: of all worlds, of a list, or by mask; to a keyframe, with noise.
 *
 *   RESET-1  a world's state after a reset depends on (seed, its global number, number of its earlier resets) and the
 *       call, on no other world
 *   RESET-2  a reset of no world changes nothing, and no version; but the host does not know what a mask on the device
 *       says, so a reset by one counts as a move of all worlds
 */
#include "worlds/reset.h"

#include "stet/kernel.h"
#include "worlds/poses.h"
#include "worlds/random.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { RESET_COOKIE = 0x57e70002 };

stet_reset_def stet_default_reset_def(void) { return (stet_reset_def){.cookie = RESET_COOKIE, .keyframe = -2}; }

/* ---- MuJoCo's part ---------------------------------------------------------------------------------------------- */

enum { POISON = 0xcb };

typedef struct data_reset {
    const mjModel *m;
    mjData *d;
    int keyframe;
    bool poison;
} data_reset;

static void reset_data(void *context)
{
    const data_reset *r = context;
    if (r->poison) mj_resetDataDebug(r->m, r->d, POISON);
    if (r->keyframe >= 0)
        mj_resetDataKeyframe(r->m, r->d, r->keyframe);
    else
        mj_resetData(r->m, r->d);
}

bool sti_reset_data(const mjModel *m, mjData *d, int keyframe, bool poison)
{
    data_reset r = {m, d, keyframe, poison};
    assert(m && d && keyframe >= -1 && keyframe < m->nkey && "a keyframe that was checked");
    return sti_mujoco_guard(reset_data, &r, NULL, 0);
}

/* A world whose reset MuJoCo aborted keeps its state, and gets a fault. */
static uint32_t fault_of(bool good) { return good ? 0 : 1u << STET_FAULT_PHYSICS_ERROR; }

typedef struct resetting {
    stet_worlds *worlds;
    int keyframe;
    double qpos_noise, qvel_noise; /* half-widths; 0: no noise */
    void *noise;                   /* host mirror of worlds->noise; NULL: none */
} resetting;

stet_result sti_check_keyframe(const mjModel *m, int keyframe, const char *who)
{
    if (keyframe >= -1 && keyframe < m->nkey) return STET_OK;
    if (m->nkey == 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: keyframe %d: the model has none; use -1 for its qpos0", who,
                         keyframe);
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "%s: keyframe %d: the model has keyframes 0 to %d; use one of them, or -1 for its qpos0", who,
                     keyframe, (int)m->nkey - 1);
}

/* ---- one world -------------------------------------------------------------------------------------------------- */

static void add_noise(const resetting *r, int64_t w, mjData *d)
{
    const mjModel *m = r->worlds->model->mj;
    const stet_array *noise = r->worlds->state.noise;
    assert(noise && r->noise && noise->nitem >= m->nq + m->nv && "draws are there before resets");
    if (r->qpos_noise > 0) {
        for (int64_t i = 0; i < m->nq; ++i) d->qpos[i] += r->qpos_noise * sti_mirror_get(noise, r->noise, w, i);
        mj_normalizeQuat(m, d->qpos);
    }
    if (r->qvel_noise > 0)
        for (int64_t i = 0; i < m->nv; ++i) d->qvel[i] += r->qvel_noise * sti_mirror_get(noise, r->noise, w, m->nq + i);
}

static void reset_world(void *context, int64_t w, int thread)
{
    const resetting *r = context;
    stet_worlds *worlds = r->worlds;
    if (!worlds->marks[w]) return;
    bool asleep = !worlds->state.data && worlds->poses.model; /* see make_pose_model */
    const mjModel *m = asleep ? worlds->poses.model : sti_parameters_model(worlds, w, thread);
    mjData *d = worlds->state.data ? worlds->state.data[w] : worlds->poses.scratch[thread];
    bool good = sti_reset_data(m, d, r->keyframe, false);
    if (r->qpos_noise > 0 || r->qvel_noise > 0) add_noise(r, w, d);
    worlds->state.faults[w] = fault_of(good);
    sti_worlds_pull(worlds, w, d, true);
}

stet_result sti_worlds_begin(stet_worlds *worlds)
{
    resetting r = {.worlds = worlds, .keyframe = worlds->def.keyframe};
    STI_TRY(sti_worlds_take_mirrors(worlds, STI_WRITER_BOTH));
    memset(worlds->marks, 1, (size_t)worlds->nworld);
    sti_worlds_parallel(worlds, reset_world, &r, 0);
    sti_worlds_written(worlds, true);
    sti_worlds_moved(worlds, NULL);
    return STET_OK;
}

/* ---- from the beginning ------------------------------------------------------------------------------------------ */

typedef struct beginning {
    stet_worlds *worlds;
    const bool *fields;
    bool poison;
} beginning;

static bool begin_data(const beginning *b, const mjModel *m, mjData *d)
{
    return sti_reset_data(m, d, b->worlds->def.keyframe, b->poison);
}

/* Without data of their own, all worlds begin with the content of the scratch data. */
static stet_result begin_scratch(const beginning *b)
{
    if (begin_data(b, sti_pose_model(b->worlds), b->worlds->poses.scratch[0])) return STET_OK;
    return sti_error(STET_ERROR_STATE, "worlds: MuJoCo reported an error while it reset its data; look at the model");
}

static void begin_world(void *context, int64_t w, int thread)
{
    const beginning *b = context;
    stet_worlds *worlds = b->worlds;
    (void)thread;
    if (worlds->state.data && !begin_data(b, worlds->model->mj, worlds->state.data[w]))
        worlds->state.faults[w] |= fault_of(false);
    sti_worlds_pull_fields(worlds, w, worlds->state.data ? worlds->state.data[w] : worlds->poses.scratch[0], b->fields);
}

void sti_worlds_forget_initial(stet_worlds *worlds)
{
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        stet_array_destroy(worlds->state.initial[f]);
        worlds->state.initial[f] = NULL;
    }
}

/* WORLDS-8: creates an array with a host mirror, which the caller fills. */
static stet_result make_initial(stet_worlds *worlds, int f)
{
    stet_array *a;
    STI_TRY(STI_ARRAY(worlds->device, worlds->state.field[f]->name, STET_DTYPE_REAL, true, &a, worlds->nworld,
                      worlds->state.field[f]->nitem));
    stet_result result = sti_mirror_overwrite(a, &worlds->state.mirror[f]);
    if (result != STET_OK) {
        stet_array_destroy(a);
        return result;
    }
    sti_array_held_by(a, STET_MECHANISM_ROUNDS);
    worlds->state.initial[f] = a;
    return STET_OK;
}

/* Creates all missing initial arrays or, on failure, none: an array that exists has been filled. */
static stet_result make_missing(stet_worlds *worlds, const bool fields[STI_FIELD_COUNT], bool missing[STI_FIELD_COUNT])
{
    stet_result result = STET_OK;
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        missing[f] = fields[f] && worlds->state.field[f]->size > 0 && !worlds->state.initial[f];
    for (int f = 0; f < STI_FIELD_COUNT && result == STET_OK; ++f)
        if (missing[f]) result = make_initial(worlds, f);
    for (int f = 0; f < STI_FIELD_COUNT && result != STET_OK; ++f)
        if (missing[f]) {
            stet_array_destroy(worlds->state.initial[f]);
            worlds->state.initial[f] = NULL;
        }
    return result;
}

/* Fills missing initial arrays on the host: all worlds begin with the same numbers. */
static stet_result fill_missing(stet_worlds *worlds, const bool fields[STI_FIELD_COUNT], bool poison)
{
    bool missing[STI_FIELD_COUNT], any = false;
    beginning b = {worlds, missing, poison};
    STI_TRY(make_missing(worlds, fields, missing));
    for (int f = 0; f < STI_FIELD_COUNT; ++f) any = any || missing[f];
    if (!any) return STET_OK;
    STI_TRY(begin_scratch(&b));
    sti_worlds_parallel(worlds, begin_world, &b, 0);
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (missing[f]) sti_array_mirror_written(worlds->state.initial[f]);
    return STET_OK;
}

static stet_result begin_on_device(stet_worlds *worlds, const bool fields[STI_FIELD_COUNT], bool poison,
                                   sti_restores *restores)
{
    STI_TRY(fill_missing(worlds, fields, poison));
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        stet_array *a = worlds->state.field[f], *from = worlds->state.initial[f];
        void *bytes;
        if (!fields[f] || a->size == 0) continue;
        STI_TRY(sti_array_mirror(from, &bytes));
        STI_TRY(sti_restores_add(restores, &(sti_restore){a, from, bytes, &worlds->state.stamps.pushed[f]}));
    }
    return STET_OK;
}

/* Without data of their own, all worlds begin with the same time, which is always on the host. */
static void begin_time(stet_worlds *worlds)
{
    int keyframe = worlds->def.keyframe;
    double time = keyframe >= 0 ? worlds->model->mj->key_time[keyframe] : 0;
    for (int64_t w = 0; w < worlds->nworld; ++w) worlds->state.time[w] = time;
}

/* For arrays that the host can access, or that have exact numbers behind them. */
static stet_result begin_on_host(stet_worlds *worlds, const bool fields[STI_FIELD_COUNT], bool poison)
{
    beginning b = {worlds, fields, poison};
    bool any = worlds->state.data != NULL;
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        if (fields[f]) STI_TRY(sti_mirror_overwrite(worlds->state.field[f], &worlds->state.mirror[f]));
        any = any || (fields[f] && worlds->state.field[f]->size > 0);
    }
    if (!any) return STET_OK;
    if (!worlds->state.data) STI_TRY(begin_scratch(&b));
    sti_worlds_parallel(worlds, begin_world, &b, 0);
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        if (fields[f] && worlds->state.field[f]->nitem > 0)
            sti_worlds_field_written(worlds, (sti_field)f);
        else if (worlds->state.data)
            sti_stamp_invalidate(&worlds->state.stamps.pushed[f]);
    }
    return STET_OK;
}

stet_result sti_worlds_begin_again(stet_worlds *worlds, const bool fields[STI_FIELD_COUNT], bool poison,
                                   sti_restores *restores)
{
    bool far = !worlds->state.data && !worlds->device->can.host_memory;
    if (worlds->physics.pull) STI_TRY(worlds->physics.pull(worlds->physics.context, true));
    if (!worlds->state.data) begin_time(worlds);
    if (!far) return begin_on_host(worlds, fields, poison);
    if (poison) sti_worlds_forget_initial(worlds);
    return begin_on_device(worlds, fields, poison, restores);
}

/* ---- the call --------------------------------------------------------------------------------------------------- */

stet_result sti_check_mask_array(const stet_worlds *worlds, const char *who, const uint8_t *mask, const stet_array *a)
{
    if (!a) return STET_OK;
    if (mask)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: there are a mask and a mask_array; leave one out", who);
    if (a->device != worlds->device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "%s: mask %s lives on another device; make it on that of the worlds", who, a->name);
    bool fits = a->dtype == STET_DTYPE_INT ? a->worlds : a->dtype == STET_DTYPE_U8 && !a->worlds;
    if (fits && stet_array_get_nelement(a) == worlds->nworld && a->shape[0] == worlds->nworld) return STET_OK;
    return sti_error(
        STET_ERROR_INVALID_ARGUMENT,
        "%s: mask %s must be an array of worlds of int, [%lld][1], or of uint8, [%lld]: not 0 says that a world is "
        "meant",
        who, a->name, (long long)worlds->nworld, (long long)worlds->nworld);
}

stet_result sti_check_reset(const stet_worlds *worlds, const stet_reset_def *def)
{
    if (def->cookie != RESET_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "reset: the def is not initialised; start from stet_default_reset_def()");
    if (!(def->qpos_noise >= 0 && isfinite(def->qpos_noise)) || !(def->qvel_noise >= 0 && isfinite(def->qvel_noise)))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "reset: noise of half-width %g (qpos) and %g (qvel); give finite numbers of 0 or more",
                         def->qpos_noise, def->qvel_noise);
    STI_TRY(sti_check_mask_array(worlds, "reset", def->mask, def->mask_array));
    if (def->keyframe == -2) return STET_OK;
    return sti_check_keyframe(worlds->model->mj, def->keyframe, "reset");
}

stet_result sti_read_mask_array(stet_worlds *worlds, stet_array *array, const uint8_t **mask)
{
    const void *host;
    if (!array) return STET_OK;
    STI_TRY(stet_array_get_host(array, &host));
    bool ints = array->dtype == STET_DTYPE_INT;
    for (int64_t w = 0; w < worlds->nworld; ++w)
        worlds->chosen[w] = ints ? ((const int32_t *)host)[w] != 0 : ((const uint8_t *)host)[w] != 0;
    *mask = worlds->chosen;
    return STET_OK;
}

static bool is_chosen(const stet_reset_def *def, int64_t w) { return !def->mask || def->mask[w] != 0; }

static bool any_chosen(const stet_worlds *worlds, const stet_reset_def *def)
{
    int64_t w = 0;
    while (w < worlds->nworld && !is_chosen(def, w)) w++;
    return w < worlds->nworld;
}

/* The number of resets that each world will have had: the draw of its random numbers. */
static stet_result number_draws(stet_worlds *worlds)
{
    if (!worlds->state.draws)
        STI_TRY(STI_ARRAY(worlds->device, "numbers of resets", STET_DTYPE_INT, true, &worlds->state.draws,
                          worlds->nworld, 1));
    void *mirror;
    STI_TRY(sti_array_mirror_write(worlds->state.draws, &mirror));
    int32_t *draws = mirror;
    for (int64_t w = 0; w < worlds->nworld; ++w)
        draws[sti_array_index(worlds->state.draws, w, 0)] = (int32_t)(uint32_t)(worlds->state.resets[w] + 1);
    sti_array_mirror_written(worlds->state.draws);
    return STET_OK;
}

/* Draws noise for all worlds. *out: the noise's host mirror. */
static stet_result draw_noise(stet_worlds *worlds, void **out)
{
    const mjModel *m = worlds->model->mj;
    if (!worlds->state.noise)
        STI_TRY(STI_ARRAY(worlds->device, "reset noise", STET_DTYPE_REAL, true, &worlds->state.noise, worlds->nworld,
                          (int64_t)m->nq + m->nv));
    STI_TRY(sti_noise_draws(worlds->state.noise, worlds->def.seed, worlds->def.first_world, STI_STREAM_RESET,
                            worlds->state.draws));
    return sti_array_mirror_read(worlds->state.noise, out);
}

/* The keyframe that a reset goes to. */
static int keyframe_of(const stet_worlds *worlds, const stet_reset_def *def)
{
    return def->keyframe == -2 ? worlds->def.keyframe : def->keyframe;
}

/* Of the marked worlds, on the host. */
static void reset_marked(stet_worlds *worlds, const stet_reset_def *def, void *noise)
{
    resetting r = {.worlds = worlds,
                   .keyframe = keyframe_of(worlds, def),
                   .qpos_noise = def->qpos_noise,
                   .qvel_noise = def->qvel_noise,
                   .noise = noise};
    sti_worlds_parallel(worlds, reset_world, &r, 0);
    sti_worlds_written(worlds, true);
}

static stet_result count_resets(stet_worlds *worlds)
{
    for (int64_t w = 0; w < worlds->nworld; ++w) worlds->state.resets[w] += worlds->marks[w] != 0;
    sti_worlds_moved(worlds, worlds->marks);
    return sti_quantities_begun(worlds, worlds->marks);
}

stet_result sti_worlds_reset_on_device(stet_worlds *worlds, stet_array *mask, const stet_reset_def *def)
{
    STI_TRY(worlds->physics.reset(worlds->physics.context, mask, def, keyframe_of(worlds, def)));
    sti_worlds_launch_wrote(worlds);
    sti_worlds_moved(worlds, mask ? NULL : worlds->marks);
    sti_quantities_begun_there(worlds);
    return STET_OK;
}

bool sti_worlds_reset_is_on_device(const stet_worlds *worlds)
{
    return worlds->physics.reset && !sti_parameters_drawn(&worlds->parameters);
}

/* On the host, or with a mask from there. */
static stet_result reset_chosen(stet_worlds *worlds, const stet_reset_def *def)
{
    void *drawn = NULL;
    bool device = worlds->physics.reset != NULL, parameters = sti_parameters_drawn(&worlds->parameters);
    bool noise = !device && (def->qpos_noise > 0 || def->qvel_noise > 0);
    if (!device || parameters) STI_TRY(sti_worlds_pull_physics(worlds));
    if (!device) STI_TRY(sti_worlds_take_mirrors(worlds, STI_WRITER_BOTH));
    /* WORLDS-5, for what the caller wrote into worlds that are not reset */
    STI_TRY(sti_worlds_sync(worlds));
    if (noise || parameters) STI_TRY(number_draws(worlds));
    if (noise) STI_TRY(draw_noise(worlds, &drawn));
    if (parameters) STI_TRY(sti_parameters_draw(worlds, worlds->state.draws));
    for (int64_t w = 0; w < worlds->nworld; ++w) worlds->marks[w] = is_chosen(def, w);
    if (parameters) sti_parameters_take_drawn(worlds);
    if (parameters) STI_TRY(sti_parameters_put_arrays(worlds));
    if (device) return sti_worlds_reset_on_device(worlds, NULL, def);
    reset_marked(worlds, def, drawn);
    return count_resets(worlds);
}

stet_result stet_worlds_reset(stet_worlds *worlds, const stet_reset_def *def)
{
    if (!worlds || !def)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_worlds_reset: worlds and def must not be NULL");
    STI_TRY(sti_check_reset(worlds, def));
    if (def->mask_array && sti_worlds_reset_is_on_device(worlds)) {
        STI_TRY(sti_worlds_take_writes(worlds));
        return sti_worlds_reset_on_device(worlds, def->mask_array, def);
    }
    STI_TRY(sti_not_listing(worlds->device, "stet_worlds_reset"));
    stet_reset_def own = *def;
    STI_TRY(sti_read_mask_array(worlds, own.mask_array, &own.mask));
    return any_chosen(worlds, &own) ? reset_chosen(worlds, &own) : STET_OK;
}
