/* Native physics on the host: tables to the device, launches, and what a step leaves to do; see native.h. */
#include "physics/native_state.h"

#include "base/clock.h"
#include "base/environment.h"
#include "base/memory.h"
#include "kernel/gpu/programs.h"
#include "kernel/gpu/teams.h"
#include "kernel/record/launch.h"
#include "physics/features.h"
#include "physics/model_code.h"
#include "physics/parameters.h"
#include "physics/tables.h"
#include "worlds/poses.h"

#include <string.h>

extern const sti_kernel sti_k_native_step, sti_k_native_poses, sti_k_native_reset;

_Static_assert(PH_BAD_QPOS == 1 << STET_FAULT_BAD_QPOS && PH_BAD_QVEL == 1 << STET_FAULT_BAD_QVEL &&
                   PH_BAD_QACC == 1 << STET_FAULT_BAD_QACC && PH_BAD_CTRL == 1 << STET_FAULT_BAD_CTRL &&
                   PH_CONTACTS_FULL == 1 << STET_FAULT_CONTACTS_FULL,
               "kernels write the bits of stet_fault");

/* ---- making ------------------------------------------------------------------------------------------------------ */

/*
 * Teams of a step on a GPU, as measured (doc/design/gpu_programs.md). A processor runs one block of up to 512 threads
 * with all the registers that it has, and each block as many worlds as make all processors end together. Fewer threads
 * a world do less work twice and wait less for one another, so a world has no more of them than run at once: 32 up to
 * 16 worlds a processor, 16 up to 32, then 8. A thread alone has its memory for itself, which a processor interleaves
 * with that of its neighbours: the fastest where there are worlds for all threads, as long as a world's memory is not
 * too large for the bandwidth. lone: that may be.
 */
static sti_team choose_team(const sti_native *n, bool lone)
{
    const stet_device *device = n->worlds->device;
    const sti_physics_tables *tables = &n->tables;
    int64_t nworld = n->worlds->nworld;
    enum {
        THREADS = 512,
        LEAST = 256,
        STEP = 64, /* of threads: fewer numbers of worlds have code of their own */
        MOST = 32,
        EIGHT = 8,
        SMALL = 1024,
        MIDDLE = 4096,
        MANY = 32,
        LONE = 128
    };
    if (!n->many) return (sti_team){MOST, LEAST / MOST}; /* the code for all models */
    int64_t processors = device->processors > 0 ? device->processors : 1, share = nworld / processors;
    bool small = tables->m[M_NMEMORY] < SMALL;
    if (lone && share >= MANY && (small || (share >= LONE && tables->m[M_NMEMORY] < MIDDLE))) {
        int teams = MANY;
        while (teams < THREADS && teams < share) teams *= 2;
        return (sti_team){1, teams};
    }
    int team = MOST;
    while (team > EIGHT && nworld * team > THREADS * processors) team /= 2;
    int64_t turns = (nworld * team + THREADS * processors - 1) / (THREADS * processors);
    int64_t worlds = (nworld + turns * processors - 1) / (turns * processors);
    int64_t threads = (worlds * team + STEP - 1) / STEP * STEP;
    return (sti_team){team, (int)(threads > LEAST ? threads : LEAST) / team};
}

stet_result sti_native_set_room(sti_native *n, int room)
{
    stet_worlds *worlds = n->worlds;
    STI_TRY(sti_native_drop_memory(n));
    sti_physics_tables_resize(worlds->model->mj, &n->tables, room);
    n->old = true;
    if (!sti_device_is_gpu(worlds->device)) return STET_OK;
    n->team = choose_team(n, true);
    n->stages.team = choose_team(n, false);
    return STET_OK;
}

static int grown_room(void *context)
{
    const sti_native *n = context;
    int room = sti_physics_room(&n->tables);
    return room > n->first_room ? room : 0;
}

static stet_result restore_room(void *context, int room)
{
    sti_native *n = context;
    return room > sti_physics_room(&n->tables) && !n->captured ? sti_native_set_room(n, room) : STET_OK;
}

/* What the first reset and the first poses need is compiled beside the step. */
static void begin_codes(stet_device *device)
{
    sti_program_begin(device, &sti_k_native_reset);
    sti_program_begin(device, &sti_k_native_poses);
}

static stet_result build_native(sti_native *n)
{
    stet_worlds *worlds = n->worlds;
    const char *stages = sti_environment("STET_STAGES");
    if (stages) STI_TRY(sti_native_set_stages(n, stages));
    STI_TRY(sti_physics_tables_make(worlds->model->mj, &n->tables));
    n->old = true;
    n->step = sti_k_native_step;
    n->many = worlds->nworld >= STI_NATIVE_MODEL_WORLDS;
    if (sti_device_is_gpu(worlds->device))
        STI_TRY(sti_native_set_room(n, sti_physics_contact_sizes(n->tables.m).alone));
    n->first_room = sti_physics_room(&n->tables);
    STI_TRY(sti_native_update(n));
    begin_codes(worlds->device);
    STI_TRY(sti_mask_init(&n->stepped, worlds->device, "stepped worlds", worlds->nworld));
    STI_TRY(
        STI_ARRAY(worlds->device, "faults that were not pulled", STET_DTYPE_INT, true, &n->fault, worlds->nworld, 1));
    STI_TRY(
        STI_ARRAY(worlds->device, "steps that were not pulled", STET_DTYPE_INT, true, &n->ticks, worlds->nworld, 1));
    STI_TRY(
        STI_ARRAY(worlds->device, "resets that were not pulled", STET_DTYPE_INT, true, &n->resets, worlds->nworld, 3));
    STI_TRY(STI_ARRAY(worlds->device, "most contacts", STET_DTYPE_INT, true, &n->most, worlds->nworld, 1));
    STI_TRY(STI_ARRAY(worlds->device, "steps of held worlds", STET_DTYPE_INT, true, &n->owed, worlds->nworld, 1));
    STI_TRY(sti_alloc(&n->late, (size_t)worlds->nworld, "held worlds"));
    STI_TRY(sti_mask_init(&n->put_back, worlds->device, "worlds to put back", worlds->nworld));
    STI_TRY(sti_native_put_resets(n));
    n->keyframe = NO_KEY;
    sti_stamp_keep_version(&n->pulled, &n->fault->version);
    return sti_mask_init(&n->due, worlds->device, "worlds to pose", worlds->nworld);
}

static stet_result make_poses(void *context, const uint8_t *due);
static stet_result pull(void *context, bool drop);

stet_result sti_native_create(stet_worlds *worlds, sti_native **out)
{
    *out = NULL;
    STI_TRY(sti_physics_check_model(worlds->model->mj));
    if (worlds->data)
        return sti_error(STET_ERROR_STATE,
                         "step: physics native has its state in the arrays, and these worlds were made "
                         "with MuJoCo's data; make them with exact = false");
    sti_native *n;
    STI_TRY(sti_alloc(&n, sizeof *n, "native physics"));
    n->worlds = worlds;
    stet_result result = build_native(n);
    if (result != STET_OK) {
        sti_native_destroy(n);
        return result;
    }
    if (!worlds->physics.context)
        sti_worlds_set_physics(worlds, (sti_worlds_physics){n, make_poses, pull, sti_native_reset, sti_native_fill,
                                                            sti_native_expect_reads, grown_room, restore_room});
    *out = n;
    return STET_OK;
}

void sti_native_destroy(sti_native *n)
{
    if (!n) return;
    if (n->worlds->physics.context == n) {
        (void)pull(n, false); /* a device that fails here says so in the next call */
        sti_worlds_set_physics(n->worlds, (sti_worlds_physics){0});
    }
    sti_program_drop(n->worlds->device, &n->step);
    sti_text_buffer_free(&n->code);
    sti_native_stages_free(n);
    stet_array *arrays[] = {n->m,    n->f,      n->fault,        n->ticks, n->most,
                            n->owed, n->memory, n->plain_memory, n->key,   n->resets};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) stet_array_destroy(arrays[i]);
    sti_native_reads_free(&n->reads);
    sti_physics_tables_free(&n->tables);
    sti_native_parameters_free(&n->own);
    sti_stamp_free(&n->pulled);
    sti_stamp_free(&n->numbered);
    sti_stamp_free(&n->counted);
    sti_mask_free(&n->stepped);
    sti_mask_free(&n->put_back);
    sti_mask_free(&n->due);
    sti_free(n->late);
    sti_free(n);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static int64_t count_stepped(const sti_native *n)
{
    int64_t count = 0;
    for (int64_t w = 0; w < n->worlds->nworld; ++w) count += n->stepped.held[w];
    return count;
}

/*
 * NATIVE-5. Looks at the most contacts of all worlds; when they come near to what there is room for, there is twice as
 * much room from the next step on, or four times, …: rooms of other runs, whose code a GPU's cache may have. Steps in a
 * caller's graph go on with their memory.
 */
static stet_result grow_room(sti_native *n)
{
    void *mirror;
    int32_t most = 0;
    int64_t room = sti_physics_room(&n->tables);
    n->looked = 0;
    if (n->captured) return STET_OK;
    STI_TRY(sti_array_ensure(n->most)); /* listed steps run first */
    STI_TRY(sti_array_mirror(n->most, &mirror));
    for (int64_t w = 0; w < n->worlds->nworld; ++w) {
        int32_t own = ((const int32_t *)mirror)[sti_array_index(n->most, w, 0)];
        most = own > most ? own : most;
    }
    if (4 * (int64_t)most <= 3 * room) return STET_OK;
    int64_t limit = sti_physics_contact_sizes(n->tables.m).limit; /* looks at all pairs */
    if (room >= limit) return STET_OK;
    while (4 * (int64_t)most > 3 * room && room < limit) room += room > 0 ? room : 1;
    return sti_native_set_room(n, (int)(room < limit ? room : limit));
}

/*
 * NATIVE-8, from the most steps that a world owes to the fewest. Where room is at its limit, they go on with the
 * deepest contacts.
 */
stet_result sti_native_catch_up(sti_native *n)
{
    n->owing = true;
    for (;;) {
        void *mirror;
        int32_t most = 0;
        STI_TRY(sti_array_mirror(n->owed, &mirror));
        for (int64_t w = 0; w < n->worlds->nworld; ++w) {
            int32_t own = ((const int32_t *)mirror)[sti_array_index(n->owed, w, 0)];
            most = own > most ? own : most;
        }
        if (most == 0) break;
        for (int64_t w = 0; w < n->worlds->nworld; ++w)
            n->late[w] = ((const int32_t *)mirror)[sti_array_index(n->owed, w, 0)] == most;
        STI_TRY(grow_room(n));
        bool limit = sti_physics_room(&n->tables) >= sti_physics_contact_sizes(n->tables.m).limit;
        STI_TRY(sti_native_update(n));
        STI_TRY(sti_mask_put(&n->stepped, n->late));
        STI_TRY(sti_native_run(n, most, limit ? 0 : PH_HOLD));
    }
    n->owing = false;
    return STET_OK;
}

/* Are worlds without room held? Not where the host does not look before something else reads them. */
static bool holds_worlds(const sti_native *n)
{
    const stet_device *device = n->worlds->device;
    return device->host_memory && !device->listing && !n->captured && sti_native_is_whole(n);
}

/* Where worlds are not held, there is room for the contacts of the first step before it is made. */
static stet_result count_room(sti_native *n)
{
    if (n->begun || n->captured || !sti_native_is_whole(n)) return STET_OK;
    n->begun = true;
    if (holds_worlds(n)) return STET_OK;
    STI_TRY(sti_mask_put(&n->stepped, NULL));
    STI_TRY(sti_native_run(n, 1, PH_COUNT));
    return grow_room(n);
}

/* A look costs nothing where arrays are the host's, and no list has to run for it; elsewhere few calls have one. */
static stet_result look_at_room(sti_native *n)
{
    enum { CALLS = 256 };
    stet_device *device = n->worlds->device;
    if (sti_device_capture(device) != 0) n->captured = true;
    bool free = device->host_memory && !device->listing;
    return free || ++n->looked >= CALLS ? grow_room(n) : STET_OK;
}

/* `ticks` has room for the steps of this call. */
static stet_result make_room(sti_native *n, int nstep)
{
    if (n->unpulled + nstep > INT32_MAX) STI_TRY(pull(n, false));
    n->unpulled += nstep;
    return STET_OK;
}

stet_result sti_native_steps(sti_native *n, const uint8_t *mask, int nstep)
{
    stet_worlds *worlds = n->worlds;
    STI_TRY(sti_worlds_take_writes(worlds));
    STI_TRY(look_at_room(n));
    STI_TRY(make_room(n, nstep));
    STI_TRY(sti_native_update(n));
    if (n->owing) STI_TRY(sti_native_catch_up(n));
    STI_TRY(count_room(n));
    STI_TRY(sti_native_update(n));
    STI_TRY(sti_mask_put(&n->stepped, mask));
    double start = sti_now();
    bool hold = holds_worlds(n);
    STI_TRY(sti_native_run(n, nstep, hold ? PH_HOLD : 0));
    if (worlds->device->host_memory && !worlds->device->listing)
        worlds->step_seconds = (sti_now() - start) / (double)(nstep * count_stepped(n));
    stet_result result = hold ? sti_native_catch_up(n) : STET_OK;
    sti_worlds_launch_wrote(worlds);
    sti_worlds_moved(worlds, mask);
    return result;
}

/* ---- what steps leave to do (NATIVE-3) --------------------------------------------------------------------------- */

static double add_steps(double time, double dt, int32_t ticks)
{
    for (int32_t i = 0; i < ticks; ++i) time += dt;
    return time;
}

/* Where the time of a world begins that made its ticks since. */
static double begin_time(const sti_native *n, int64_t w, int32_t fault)
{
    if (fault & PH_WAS_RESET) return 0;
    return fault & PH_WAS_PUT_BACK ? n->key_time : n->worlds->time[w];
}

/* Worlds that step together have the same time, which is added up once. */
static void advance_times(sti_native *n, const int32_t *fault, const int32_t *ticks, void *mirror)
{
    stet_worlds *worlds = n->worlds;
    stet_array *time = worlds->field[STI_FIELD_time];
    double dt = 0, from = 0, to = 0;
    int32_t last = 0;
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        int64_t at = sti_array_index(n->ticks, w, 0);
        double begin = begin_time(n, w, fault[at]), step = sti_parameters_timestep(worlds, w);
        if (begin != from || step != dt || ticks[at] != last) to = add_steps(begin, step, ticks[at]);
        dt = step;
        from = begin;
        last = ticks[at];
        worlds->time[w] = to;
        sti_mirror_set(time, mirror, w, 0, to);
    }
}

static void take_faults(sti_native *n, const int32_t *fault)
{
    for (int64_t w = 0; w < n->worlds->nworld; ++w) {
        int32_t bits = fault[sti_array_index(n->fault, w, 0)];
        if (bits & PH_WAS_PUT_BACK) n->worlds->faults[w] = 0;
        n->worlds->faults[w] |= (uint32_t)(bits & ~(PH_WAS_RESET | PH_WAS_PUT_BACK));
    }
}

/* Numbers of resets, if there were any. */
static stet_result take_resets(sti_native *n)
{
    stet_worlds *worlds = n->worlds;
    void *mirror;
    if (sti_stamp_is(&n->counted, &n->resets->version)) return STET_OK;
    STI_TRY(sti_array_mirror(n->resets, &mirror));
    const int32_t *resets = mirror;
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        uint32_t number = (uint32_t)resets[sti_array_index(n->resets, w, 0)];
        if (resets[sti_array_index(n->resets, w, 1)] == 0) continue;
        worlds->resets[w] += number - (uint32_t)worlds->resets[w];
    }
    return STET_OK;
}

static stet_result take_steps(sti_native *n)
{
    void *fault, *ticks, *mirror;
    STI_TRY(sti_array_mirror(n->fault, &fault));
    STI_TRY(sti_array_mirror(n->ticks, &ticks));
    STI_TRY(take_resets(n));
    STI_TRY(sti_array_mirror_write(n->worlds->field[STI_FIELD_time], &mirror));
    advance_times(n, fault, ticks, mirror);
    take_faults(n, fault);
    sti_worlds_field_written(n->worlds, STI_FIELD_time);
    return STET_OK;
}

static stet_result clear_array(stet_array *a)
{
    void *mirror;
    STI_TRY(sti_mirror_overwrite(a, &mirror));
    memset(mirror, 0, a->size);
    sti_array_mirror_written(a);
    return STET_OK;
}

static stet_result pull(void *context, bool drop)
{
    sti_native *n = context;
    STI_TRY(sti_array_ensure(n->fault)); /* listed steps run first */
    if (!drop) STI_TRY(sti_worlds_take_time(n->worlds));
    if (sti_stamp_is(&n->pulled, &n->fault->version)) return STET_OK;
    if (!drop) STI_TRY(take_steps(n));
    STI_TRY(clear_array(n->ticks));
    STI_TRY(clear_array(n->fault));
    if (!sti_stamp_is(&n->counted, &n->resets->version)) STI_TRY(sti_native_put_resets(n));
    sti_stamp_keep_version(&n->pulled, &n->fault->version);
    n->unpulled = 0;
    if (!n->worlds->device->host_memory) { /* now: a step that is captured cannot upload */
        STI_TRY(sti_array_to_device(n->ticks));
        STI_TRY(sti_array_to_device(n->fault));
    }
    return grow_room(n);
}

/* ---- poses ------------------------------------------------------------------------------------------------------- */

/* Kinematics use team memory up to the quantities of geoms. */
static stet_result make_poses(void *context, const uint8_t *due)
{
    sti_native *n = context;
    STI_TRY(sti_native_update(n));
    STI_TRY(sti_mask_put(&n->due, due));
    return STI_LAUNCH(sti_k_native_poses, n->worlds->device, n->worlds->nworld, MODEL_ARGS, sti_arg_array(n->due.array),
                      sti_arg_int(n->tables.m[W_GEOM_XPOS]), STATE_ARG(qpos), STATE_ARG(mocap_pos),
                      STATE_ARG(mocap_quat), STATE_ARG(xpos), STATE_ARG(xquat));
}
