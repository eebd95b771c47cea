/* Room for contacts: how much there is, when it grows, and what worlds without it do (NATIVE-5, NATIVE-8). */
#include "physics/native_state.h"

#include "kernel/gpu/programs.h"
#include "kernel/record/launch.h"
#include "physics/model_code.h"
#include "physics/tables.h"

#include <limits.h>
#include <string.h>

extern const sti_kernel sti_k_native_step;

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
    int memory = sti_physics_usual_memory(n->tables.m);
    if (lone && share >= MANY && (memory < SMALL || (share >= LONE && memory < MIDDLE))) {
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

int sti_native_grown_room(void *context)
{
    const sti_native *n = context;
    int room = sti_physics_room(&n->tables);
    return room > n->first_room ? room : 0;
}

stet_result sti_native_restore_room(void *context, int room)
{
    sti_native *n = context;
    return room > sti_physics_room(&n->tables) && !n->captured ? sti_native_set_room(n, room) : STET_OK;
}

/* The greatest number of an array that has one of each world, if that is above 0, else 0. */
static stet_result greatest_of(stet_array *a, int32_t *out)
{
    void *mirror;
    STI_TRY(sti_array_mirror(a, &mirror));
    *out = 0;
    for (int64_t w = 0; w < a->shape[0]; ++w) {
        int32_t own = ((const int32_t *)mirror)[sti_array_index(a, w, 0)];
        *out = own > *out ? own : *out;
    }
    return STET_OK;
}

/*
 * NATIVE-5. Looks at the most contacts of all worlds; when they come near to what there is room for, there is twice as
 * much room from the next step on, or four times, …: rooms of other runs, whose code a GPU's cache may have. Steps in a
 * caller's graph go on with their memory.
 */
stet_result sti_native_grow_room(sti_native *n)
{
    int32_t most;
    int64_t room = sti_physics_room(&n->tables);
    n->looked = 0;
    if (n->captured) return STET_OK;
    STI_TRY(sti_array_ensure(n->most)); /* listed steps run first */
    STI_TRY(greatest_of(n->most, &most));
    if (4 * (int64_t)most <= 3 * room) return STET_OK;
    if (!n->tables.m[M_HOLDS]) return STET_OK;
    int64_t limit = sti_physics_contact_sizes(n->tables.m).limit; /* looks at all pairs */
    while (4 * (int64_t)most > 3 * room && room < limit) room += room > 0 ? room : 1;
    return sti_native_set_room(n, (int)(room < limit ? room : limit));
}

/* ---- worlds without room (NATIVE-8) ------------------------------------------------------------------------------ */

void sti_native_spare_free(sti_native *n)
{
    stet_array_destroy(n->spare.tables);
    stet_array_destroy(n->spare.memory);
    stet_array_destroy(n->spare.plain_memory);
    sti_free(n->spare.m);
    n->spare = (sti_native_spare){NULL};
}

static stet_result drop_spare(sti_native *n)
{
    STI_TRY(sti_native_drop_array(&n->spare.tables));
    STI_TRY(sti_native_drop_array(&n->spare.memory));
    STI_TRY(sti_native_drop_array(&n->spare.plain_memory));
    sti_native_spare_free(n);
    return STET_OK;
}

/* For as many teams as run at once, but no more than SPARE_… bytes, or for one: few worlds need it at once. */
stet_result sti_native_make_spare_memory(sti_native *n, int reals)
{
    if (!n->spare.m) return STET_OK;
    if (reals < n->spare.m[M_NMEMORY_ALL]) reals = n->spare.m[M_NMEMORY_ALL];

    enum { SPARE_HOST = 1 << 25, SPARE_GPU = 1 << 28, TEAMS = 8, INTS = STI_ALIGN / sizeof(int) };
    stet_device *device = n->worlds->device;
    bool gpu = sti_device_is_gpu(device);
    int64_t line = STI_ALIGN / (int64_t)device->real_size, lanes = device->lanes;
    int64_t team = (lanes * reals + line - 1) / line * line, ints = (n->spare.m[M_NINTS] + INTS - 1) / INTS * INTS;
    if (n->spare.plain_memory && n->spare.memory->nitem >= team) return STET_OK;
    int64_t teams = gpu ? TEAMS * (device->processors > 0 ? device->processors : 1) : device->threads;
    int64_t groups = (n->worlds->nworld + lanes - 1) / lanes;
    int64_t fit = (gpu ? SPARE_GPU : SPARE_HOST) / (team * (int64_t)device->real_size + ints * (int64_t)sizeof(int));
    if (teams > groups) teams = groups;
    if (teams > fit) teams = fit > 0 ? fit : 1;
    STI_TRY(sti_native_drop_array(&n->spare.memory));
    STI_TRY(sti_native_drop_array(&n->spare.plain_memory));
    STI_TRY(STI_ARRAY(device, "spare memory of the physics", STET_DTYPE_REAL, false, &n->spare.memory, teams * team));
    return STI_ARRAY(device, "spare lists of the physics", STET_DTYPE_INT, false, &n->spare.plain_memory, teams * ints);
}

stet_result sti_native_make_spare(sti_native *n)
{
    stet_device *device = n->worlds->device;
    sti_physics_tables all = n->tables;
    size_t bytes = (size_t)all.nm * sizeof *all.m;
    STI_TRY(drop_spare(n));
    if (!all.m[M_HOLDS]) return STET_OK;
    STI_TRY(sti_alloc(&n->spare.m, bytes, "spare tables of the physics"));
    memcpy(n->spare.m, all.m, bytes);
    all.m = n->spare.m;
    sti_physics_tables_resize(n->worlds->model->mj, &all, INT_MAX);
    STI_TRY(STI_ARRAY(device, "spare tables of the physics", STET_DTYPE_INT, false, &n->spare.tables, all.nm));
    STI_TRY(stet_array_write(n->spare.tables, all.m, bytes));
    if (sti_device_is_gpu(device)) sti_program_begin(device, &sti_k_native_step);
    return STET_OK;
}

stet_result sti_native_may_be(stet_array *numbers, bool *out)
{
    const stet_device *device = numbers->device;
    int32_t greatest = 1;
    if (device->host_memory && !device->listing) STI_TRY(greatest_of(numbers, &greatest));
    *out = greatest > 0;
    return STET_OK;
}

/* What a step needs of the code for all models, in a launch of which not all worlds have something to do. */
static stet_result run_beside(sti_native *n, const int *m, stet_array *tables, stet_array *memory, stet_array *ints,
                              int nstep, int how)
{
    return STI_LAUNCH(sti_k_native_step, n->worlds->device, n->worlds->nworld, sti_arg_array(tables),
                      sti_arg_array(n->f), sti_arg_array(n->own.v), sti_arg_array(n->stepped.array),
                      sti_arg_team(NULL, 0), sti_arg_team(memory, m[sti_model_memory(&n->tables)]),
                      sti_arg_team(ints, m[M_NINTS]), STEP_ARGS, sti_arg_int(nstep), sti_arg_int(how));
}

stet_result sti_native_catch_up(sti_native *n, int nstep)
{
    bool owed = false;
    if (n->spare.m) STI_TRY(sti_native_may_be(n->owed, &owed));
    if (!owed) return STET_OK;
    return run_beside(n, n->spare.m, n->spare.tables, n->spare.memory, n->spare.plain_memory, nstep, PH_OWED);
}

/* ---- looking at room (NATIVE-5) ---------------------------------------------------------------------------------- */

stet_result sti_native_count_room(sti_native *n)
{
    stet_device *device = n->worlds->device;
    bool splits = device->listing && device->mechanisms.options.strict; /* which is an error there */
    if (n->begun || n->captured || splits || !n->tables.m[M_HOLDS]) return STET_OK;
    n->begun = true;
    STI_TRY(sti_mask_put(&n->stepped, NULL));
    STI_TRY(run_beside(n, n->tables.m, n->m, n->memory, n->plain_memory, 1, PH_COUNT));
    return sti_native_grow_room(n);
}

/* A look costs nothing where arrays are the host's, and no list has to run for it; elsewhere few calls have one. */
stet_result sti_native_look_at_room(sti_native *n)
{
    enum { CALLS = 256 };
    stet_device *device = n->worlds->device;
    if (sti_device_capture(device) != 0) n->captured = true;
    bool free = device->host_memory && !device->listing;
    return free || ++n->looked >= CALLS ? sti_native_grow_room(n) : STET_OK;
}
