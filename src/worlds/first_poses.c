/*
 * The poses of the initial state (WORLDS-9), for worlds that begin again and again without MuJoCo's data, on a device
 * whose memory the host cannot access. Kinematics on the host compute them once for each content of qpos and mocap
 * poses; later they are copied on the device.
 */
#include "worlds/poses.h"

#include <string.h>

static const sti_field poses[] = {STI_FIELD_xpos, STI_FIELD_xquat};
enum { POSES = 2 };

static bool is_key(const uint64_t a[STI_POSE_INPUTS], const uint64_t b[STI_POSE_INPUTS])
{
    return memcmp(a, b, STI_POSE_INPUTS * sizeof *a) == 0;
}

/* Calls no producer: the producer itself is running, or has nothing to do. */
static stet_result copy(stet_array *to, stet_array *from)
{
    STI_TRY(sti_array_to_device(from));
    STI_TRY(sti_device_copy_of(to->device, to->name, to->data, from->data, from->size));
    to->device->mechanisms.counters.bytes_copied += (int64_t)from->size;
    sti_version_bump(&to->version);
    return STET_OK;
}

/* ---- keeping ----------------------------------------------------------------------------------------------------- */

static stet_result keep_first_poses(stet_worlds *worlds, int k)
{
    stet_array *a = worlds->state.field[poses[k]], **first = &worlds->poses.first[k];
    void *bytes;
    if (!*first) {
        STI_TRY(STI_ARRAY(worlds->device, a->name, STET_DTYPE_REAL, true, first, worlds->nworld, a->nitem));
        sti_array_held_by(*first, STET_MECHANISM_ROUNDS);
    }
    STI_TRY(sti_mirror_overwrite(*first, &bytes));
    STI_TRY(copy(*first, a));
    sti_mirror_fill(*first, worlds->state.mirror[poses[k]]);
    return STET_OK;
}

/* Audit: poses computed again must equal the kept ones. */
static stet_result compare_first_poses(const stet_worlds *worlds)
{
    for (int k = 0; k < POSES; ++k) {
        void *bytes;
        STI_TRY(sti_array_mirror(worlds->poses.first[k], &bytes));
        if (memcmp(bytes, worlds->state.mirror[poses[k]], worlds->poses.first[k]->size) == 0) continue;
        return sti_error(
            STET_ERROR_AUDIT,
            "rounds: %s of a round's beginning are others than those that were kept, though its inputs are "
            "the same; switch this mechanism off and report it",
            worlds->state.field[poses[k]]->name);
    }
    return STET_OK;
}

stet_result sti_poses_keep_first(stet_worlds *worlds)
{
    if (!worlds->poses.stamps.begun || worlds->state.stamps.version.generation != worlds->poses.stamps.begun)
        return STET_OK;
    if (worlds->poses.first_valid && is_key(worlds->poses.first_key, worlds->poses.begun_key))
        return compare_first_poses(worlds);
    worlds->poses.first_valid = false;
    for (int k = 0; k < POSES; ++k) STI_TRY(keep_first_poses(worlds, k));
    memcpy(worlds->poses.first_key, worlds->poses.begun_key, sizeof worlds->poses.first_key);
    worlds->poses.first_valid = true;
    return STET_OK;
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

static bool has_first(const stet_worlds *worlds, const uint64_t key[STI_POSE_INPUTS])
{
    if (!key || worlds->state.data || worlds->device->can.host_memory || !worlds->poses.external) return false;
    if (sti_parameters_poses(&worlds->parameters)) return false;
    return worlds->poses.first_valid && is_key(worlds->poses.first_key, key) &&
           !worlds->device->mechanisms.options.audit;
}

stet_result sti_poses_give_first(stet_worlds *worlds, const uint64_t key[STI_POSE_INPUTS], sti_restores *restores,
                                 bool *given)
{
    *given = has_first(worlds, key);
    for (int k = 0; *given && k < POSES; ++k) {
        stet_array *first = worlds->poses.first[k];
        void *bytes;
        STI_TRY(sti_array_mirror(first, &bytes));
        STI_TRY(sti_restores_add(restores, &(sti_restore){worlds->state.field[poses[k]], first, bytes, NULL}));
    }
    return STET_OK;
}

stet_result sti_poses_begin(stet_worlds *worlds, const uint64_t key[STI_POSE_INPUTS], bool given)
{
    worlds->poses.stamps.begun = 0;
    if (!key || worlds->state.data || worlds->device->can.host_memory || !worlds->poses.external) return STET_OK;
    if (sti_parameters_poses(&worlds->parameters)) return STET_OK;
    if (given) sti_poses_keep_written(worlds); /* these copies are not writes of the caller */
    STI_TRY(sti_worlds_sync(worlds));          /* writes up to now are part of the initial state */
    memcpy(worlds->poses.begun_key, key, sizeof worlds->poses.begun_key);
    worlds->poses.stamps.begun = worlds->state.stamps.version.generation;
    if (!given) return STET_OK;
    worlds->poses.stamps.posed = worlds->poses.stamps.begun;
    (void)sti_generations_bump(&worlds->poses.stamps.moved, &worlds->poses.stamps.version, NULL); /* WORLDS-11 */
    return STET_OK;
}

void sti_poses_forget_first(stet_worlds *worlds)
{
    for (int k = 0; k < POSES; ++k) {
        stet_array_destroy(worlds->poses.first[k]);
        worlds->poses.first[k] = NULL;
    }
    worlds->poses.first_valid = false;
    worlds->poses.stamps.begun = 0;
}
