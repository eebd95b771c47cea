/* Room for contacts: how much there is, and when it grows (NATIVE-5). */
#include "physics/native_state.h"

#include "physics/tables.h"

#include <assert.h>

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
    assert(nworld > 0 && memory > 0);
    while (team > EIGHT && nworld * team > THREADS * processors) team /= 2;
    int64_t turns = (nworld * team + THREADS * processors - 1) / (THREADS * processors);
    int64_t worlds = (nworld + turns * processors - 1) / (turns * processors);
    int64_t threads = (worlds * team + STEP - 1) / STEP * STEP;
    return (sti_team){team, (int)(threads > LEAST ? threads : LEAST) / team};
}

stet_result sti_native_set_room(sti_native *n, int room)
{
    stet_worlds *worlds = n->worlds;
    assert(room >= 0 && !n->captured && "steps in a caller's graph keep their memory");
    STI_TRY(sti_native_drop_memory(n));
    sti_physics_tables_resize(worlds->model->mj, &n->tables, room);
    n->old = true;
    if (!worlds->device->can.teams) return STET_OK;
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
    STI_TRY(sti_native_greatest(n->most, &most));
    if (4 * (int64_t)most <= 3 * room) return STET_OK;
    if (!n->tables.m[M_HOLDS]) return STET_OK;
    int64_t limit = sti_physics_contact_sizes(n->tables.m).limit; /* looks at all pairs */
    while (4 * (int64_t)most > 3 * room && room < limit) room += room > 0 ? room : 1;
    return sti_native_set_room(n, (int)(room < limit ? room : limit));
}

stet_result sti_native_count_room(sti_native *n)
{
    stet_device *device = n->worlds->device;
    bool splits = device->listing && device->mechanisms.options.strict; /* which is an error there */
    bool taped = device->launch_observer != NULL;                       /* the launch says that it writes the state */
    if (n->begun || n->captured || splits || taped || !n->tables.m[M_HOLDS]) return STET_OK;
    n->begun = true;
    STI_TRY(sti_mask_put(&n->stepped, NULL));
    STI_TRY(sti_native_run_beside(n, 1, PH_COUNT));
    return sti_native_grow_room(n);
}

/* A look costs nothing where arrays are the host's, and no list has to run for it; elsewhere few calls have one. */
stet_result sti_native_look_at_room(sti_native *n)
{
    enum { CALLS = 256 };
    stet_device *device = n->worlds->device;
    if (sti_device_capture(device) != 0) n->captured = true;
    bool free = device->can.host_memory && !device->listing;
    return free || ++n->looked >= CALLS ? sti_native_grow_room(n) : STET_OK;
}
