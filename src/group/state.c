/* The state of all worlds of a group: in one file, and its hash; the hash of a frame. */
#include "base/error.h"
#include "base/hash.h"
#include "base/memory.h"
#include "group/group.h"
#include "sim/sim.h"
#include "worlds/snapshot.h"

/* ---- snapshots of all worlds ------------------------------------------------------------------------------------- */

static stet_result find_greatest(stet_group *g, uint64_t own, uint64_t *out)
{
    uint64_t *all;
    int nrank = stet_group_get_nrank(g);
    STI_TRY(sti_alloc(&all, (size_t)nrank * sizeof *all, "ranks of a group"));
    stet_result result = stet_group_share(g, &own, sizeof own, all);
    *out = 0;
    for (int r = 0; r < nrank; ++r) *out = all[r] > *out ? all[r] : *out;
    sti_free(all);
    return result;
}

static stet_result gather_tables(stet_group *g, const stet_snapshot *own, stet_snapshot *all)
{
    const sti_snapshot_head *h = &own->head;
    STI_TRY(stet_group_gather(g, own->state, h->nstate * sizeof *own->state, all ? all->state : NULL));
    STI_TRY(stet_group_gather(g, own->sensor, h->nsensor * sizeof *own->sensor, all ? all->sensor : NULL));
    STI_TRY(stet_group_gather(g, own->pose, h->npose * sizeof *own->pose, all ? all->pose : NULL));
    STI_TRY(stet_group_gather(g, own->resets, sizeof *own->resets, all ? all->resets : NULL));
    STI_TRY(stet_group_gather(g, own->faults, sizeof *own->faults, all ? all->faults : NULL));
    return stet_group_gather(g, own->caller, sizeof *own->caller, all ? all->caller : NULL);
}

/* *out: on rank 0 the snapshot of all worlds, NULL elsewhere. */
static stet_result join(stet_group *g, stet_worlds *worlds, stet_snapshot **out)
{
    stet_snapshot *own;
    uint64_t npose, room;
    *out = NULL;
    STI_TRY(sti_snapshot_take(worlds, false, &own));
    stet_result result = find_greatest(g, own->head.npose, &npose); /* if any world of any rank has the caller's */
    if (result == STET_OK) result = find_greatest(g, own->head.room, &room);
    if (result == STET_OK && npose != own->head.npose) {
        stet_snapshot_destroy(own);
        own = NULL;
        result = sti_snapshot_take(worlds, true, &own);
    }
    if (result == STET_OK && stet_group_get_rank(g) == 0) {
        sti_snapshot_head head = own->head;
        head.nworld = (uint64_t)stet_group_get_nworld(g);
        head.room = (uint32_t)room;
        result = sti_snapshot_new(worlds->model, &head, out);
    }
    if (result == STET_OK) result = gather_tables(g, own, *out);
    stet_snapshot_destroy(own);
    if (result == STET_OK) return STET_OK;
    stet_snapshot_destroy(*out);
    *out = NULL;
    return result;
}

static stet_result check_worlds(const stet_group *g, const stet_worlds *worlds, bool good, const char *call)
{
    if (!g || !worlds || !good) return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: no argument may be NULL", call);
    if (worlds->nworld == stet_group_get_own(g)) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: there are %lld worlds; this rank of the group has %lld", call,
                     (long long)worlds->nworld, (long long)stet_group_get_own(g));
}

stet_result stet_group_save(stet_group *g, stet_worlds *worlds, const char *path)
{
    stet_snapshot *all;
    STI_TRY(check_worlds(g, worlds, path && path[0], "stet_group_save"));
    STI_TRY(sti_snapshot_check(worlds->model->mj));
    STI_TRY(join(g, worlds, &all));
    stet_result result = all ? sti_snapshot_save(all, path) : STET_OK;
    stet_snapshot_destroy(all);
    return result;
}

stet_result stet_group_resume(stet_group *g, stet_sim *sim, const char *path)
{
    STI_TRY(check_worlds(g, sim ? sim->worlds : NULL, path, "stet_group_resume"));
    STI_TRY(sti_worlds_resume_block(sim->worlds, path, stet_group_get_nworld(g), stet_group_get_first(g)));
    return STET_OK;
}

stet_result stet_group_hash(stet_group *g, stet_worlds *worlds, uint64_t *out)
{
    stet_snapshot *all;
    STI_TRY(check_worlds(g, worlds, out, "stet_group_hash"));
    STI_TRY(join(g, worlds, &all));
    *out = all ? sti_snapshot_hash(all) : 0;
    stet_snapshot_destroy(all);
    return stet_group_broadcast(g, out, sizeof *out);
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

static stet_result add_bytes(void *context, const void *data, size_t size)
{
    sti_hash_add(context, data, size);
    return STET_OK;
}

static stet_result add_tensor(stet_group *g, sti_hash *h, stet_array *tensor)
{
    sti_hash content;
    sti_hash_begin(&content);
    STI_TRY(sti_group_stream_array(g, tensor, add_bytes, &content));
    uint64_t sum = sti_hash_end(&content);
    sti_hash_add(h, &sum, sizeof sum);
    return STET_OK;
}

stet_result stet_group_hash_frame(stet_group *g, stet_sim *sim, int64_t frame, uint64_t *out)
{
    sti_hash h;
    STI_TRY(check_worlds(g, sim ? sim->worlds : NULL, out, "stet_group_hash_frame"));
    sti_hash_begin(&h);
    for (int c = 0; c < stet_sim_get_ncamera(sim); ++c)
        for (int k = 0; k < STET_OUTPUT_COUNT; ++k) {
            stet_array *tensor;
            if (!(stet_sim_get_outputs(sim) >> k & 1)) continue;
            STI_TRY(stet_sim_get_array(sim, frame, c, (stet_output)k, &tensor));
            STI_TRY(add_tensor(g, &h, tensor));
        }
    *out = sti_hash_end(&h);
    return stet_group_broadcast(g, out, sizeof *out);
}
