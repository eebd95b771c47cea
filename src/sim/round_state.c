/*
 * Resets a sim's resources when a round begins: one function for each row of STET_ROUND_RESOURCES that is not kept.
 *
 * In audit mode each function first fills its resource with NaN, or with what MuJoCo treats as NaN. A result that
 * changes by that depends on what an earlier round left.
 */
#include "device/host_mirror.h"
#include "kernel/record/record.h"
#include "sim/sim.h"
#include "worlds/poses.h"
#include "worlds/reset.h"

#include <assert.h>
#include <string.h>

static bool audited(const stet_sim *sim) { return sim->device->mechanisms.options.audit; }

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

/* Fields that may differ from the initial state and that no input will overwrite. */
static void find_stale(stet_sim *sim, bool stale[STI_FIELD_COUNT])
{
    sti_round *round = &sim->round;
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        bool exported = sti_array_poll_external_writes(sim->worlds->state.field[f]);
        stale[f] = (sti_field_writer[f] & STI_WRITER_BOTH) && !sti_round_has(round, f) &&
                   (exported || round->from_input[f] || audited(sim) ||
                    !sti_stamp_is(&round->state[f], &sim->worlds->state.field[f]->version));
    }
}

static stet_result begin_state(stet_sim *sim)
{
    bool stale[STI_FIELD_COUNT];
    find_stale(sim, stale);
    for (int f = 0; f < STI_FIELD_COUNT; ++f) sti_stamp_invalidate(&sim->round.state[f]);
    sim->worlds->def.seed = sim->seed;
    return sti_worlds_begin_again(sim->worlds, stale, audited(sim), &sim->round.restores);
}

static stet_result begin_parameters(stet_sim *sim) { return sti_parameters_take_back(sim->worlds); }

static stet_result begin_controls(stet_sim *sim)
{
    sim->round.frame = 0;
    return STET_OK;
}

static stet_result begin_counts(stet_sim *sim)
{
    size_t n = (size_t)sim->worlds->nworld;
    memset(sim->worlds->state.faults, 0, n * sizeof *sim->worlds->state.faults);
    memset(sim->worlds->state.resets, 0, n * sizeof *sim->worlds->state.resets);
    sti_version_bump(&sim->worlds->state.stamps.resets);
    return STET_OK;
}

/*
 * Lanes beyond the last world are not filled: transforms are computed from them, too, and nothing would compute them
 * again.
 */
static stet_result poison_poses(stet_worlds *worlds)
{
    static const sti_field poses[] = {STI_FIELD_xpos, STI_FIELD_xquat};
    for (size_t k = 0; k < sizeof poses / sizeof *poses; ++k) {
        stet_array *a = worlds->state.field[poses[k]];
        void *mirror;
        if (a->size == 0) continue;
        STI_TRY(sti_mirror_overwrite(a, &mirror));
        for (int64_t w = 0; w < worlds->nworld; ++w)
            for (int64_t i = 0; i < a->nitem; ++i) sti_mirror_set(a, mirror, w, i, (double)__builtin_nan(""));
        sti_array_mirror_written(a);
    }
    return STET_OK;
}

/* Marks the worlds as moved; scene transforms and pictures follow. */
static stet_result begin_poses(stet_sim *sim)
{
    stet_worlds *worlds = sim->worlds;
    if (audited(sim)) STI_TRY(poison_poses(worlds));
    (void)sti_array_poll_external_writes(worlds->state.field[STI_FIELD_xpos]);
    (void)sti_array_poll_external_writes(worlds->state.field[STI_FIELD_xquat]);
    sti_poses_keep_written(worlds); /* the caller's writes of the round before do not count any more */
    sti_worlds_moved(worlds, NULL);
    return sti_quantities_begun(worlds, NULL);
}

static stet_result begin_reset_mask(stet_sim *sim)
{
    sti_stamp_invalidate(&sim->phases.taken);
    return STET_OK;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    stet_contract contract;
} resources[STET_ROUND_RESOURCE_COUNT] = {
#define ROW(id, name, contract, sentence) {name, STET_CONTRACT_##contract},
    STET_ROUND_RESOURCES(ROW)
#undef ROW
};

typedef stet_result begin_fn(stet_sim *sim);
/* Kept resources have no function, nor have pictures, which follow poses. */
static begin_fn *const begins[STET_ROUND_RESOURCE_COUNT] = {
    [STET_ROUND_RESOURCE_STATE] = begin_state,       [STET_ROUND_RESOURCE_PARAMETERS] = begin_parameters,
    [STET_ROUND_RESOURCE_CONTROLS] = begin_controls, [STET_ROUND_RESOURCE_COUNTS] = begin_counts,
    [STET_ROUND_RESOURCE_POSES] = begin_poses,       [STET_ROUND_RESOURCE_RESET_MASK] = begin_reset_mask,
};

const char *stet_round_resource_name(stet_round_resource resource)
{
    return (unsigned)resource < STET_ROUND_RESOURCE_COUNT ? resources[resource].name : "unknown";
}

stet_contract stet_round_resource_contract(stet_round_resource resource)
{
    return (unsigned)resource < STET_ROUND_RESOURCE_COUNT ? resources[resource].contract : STET_CONTRACT_KEEP;
}

stet_result sti_round_put_back(stet_sim *sim)
{
    for (int k = 0; k < STET_ROUND_RESOURCE_COUNT; ++k) {
        assert((begins[k] != NULL) ==
               (resources[k].contract != STET_CONTRACT_KEEP && k != STET_ROUND_RESOURCE_PICTURES));
        if (begins[k]) STI_TRY(begins[k](sim));
    }
    return STET_OK;
}

void sti_round_note_state(stet_sim *sim)
{
    for (int f = 0; f < STI_FIELD_COUNT; ++f) {
        sti_stamp_keep_version(&sim->round.state[f], &sim->worlds->state.field[f]->version);
        sim->round.from_input[f] = sti_round_has(&sim->round, f);
    }
}

void sti_round_forget(stet_sim *sim)
{
    sti_round *round = &sim->round;
    sti_recorder *recorder = sim->device->recorder;
    for (int k = 0; k < round->nslot; ++k) sti_round_drop_content(&round->slot[k]);
    sti_worlds_forget_initial(sim->worlds);
    sti_poses_forget_first(sim->worlds);
    for (int f = 0; f < STI_FIELD_COUNT; ++f) sti_stamp_invalidate(&round->state[f]);
    while (recorder && recorder->nrecording) sti_recording_drop(sim->device, recorder->nrecording - 1);
}

/* The serials of the contents that poses depend on; NULL: poses are an input themselves. */
static const uint64_t *pose_key(const stet_sim *sim, uint64_t key[STI_POSE_INPUTS])
{
    static const sti_field inputs[STI_POSE_INPUTS] = {STI_FIELD_qpos, STI_FIELD_mocap_pos, STI_FIELD_mocap_quat};
    const sti_round *round = &sim->round;
    if (sti_round_has(round, STI_FIELD_xpos) || sti_round_has(round, STI_FIELD_xquat)) return NULL;
    for (int i = 0; i < STI_POSE_INPUTS; ++i) {
        const sti_round_slot *slot = sti_round_input_of(round, (int)inputs[i]);
        key[i] = slot ? slot->now.serial : 0;
    }
    return key;
}

stet_result sti_round_give_poses(stet_sim *sim, bool *given)
{
    uint64_t key[STI_POSE_INPUTS];
    return sti_poses_give_first(sim->worlds, pose_key(sim, key), &sim->round.restores, given);
}

stet_result sti_round_begin_poses(stet_sim *sim, bool given)
{
    uint64_t key[STI_POSE_INPUTS];
    return sti_poses_begin(sim->worlds, pose_key(sim, key), given);
}

/* ---- looking at the end ------------------------------------------------------------------------------------------ */

int64_t sti_round_faulty(const stet_sim *sim)
{
    const uint32_t bad = 1u << STET_FAULT_BAD_QPOS | 1u << STET_FAULT_BAD_QVEL | 1u << STET_FAULT_BAD_QACC |
                         1u << STET_FAULT_PHYSICS_ERROR;
    int64_t n = 0;
    if (sti_worlds_pull_physics(sim->worlds) != STET_OK) return 0; /* the outputs' copies report the device's error */
    for (int64_t w = 0; w < sim->worlds->nworld; ++w) n += (sim->worlds->state.faults[w] & bad) != 0;
    return n;
}
