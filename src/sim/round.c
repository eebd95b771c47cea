/* Rounds: begin and end. Invariants: round.h. */
#include "sim/round.h"

#include "sim/sim.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const char *stet_contract_name(stet_contract contract)
{
    static const char *const names[] = {
#define NAME(id, name, sentence) name,
        STET_CONTRACTS(NAME)
#undef NAME
    };
    return (unsigned)contract < STET_CONTRACT_COUNT ? names[contract] : "unknown";
}

/* ---- copies that failed ------------------------------------------------------------------------------------------ */

/* Several copies may fail in one call: the message has the cause of the first and the names of all. */
typedef struct failures {
    stet_result result;
    int n;
    char why[512], names[256];
} failures;

static const char *name_of(const stet_round_value *value)
{
    return value->name ? value->name : value->array ? stet_array_get_name(value->array) : "?";
}

static void note_failure(failures *f, const stet_round_value *value)
{
    assert(value->result != STET_OK && "only what failed is noted");
    size_t used = strlen(f->names);
    if (f->n++ == 0) {
        f->result = value->result;
        (void)snprintf(f->why, sizeof f->why, "%s", stet_get_last_error());
    }
    if (used < sizeof f->names)
        (void)snprintf(f->names + used, sizeof f->names - used, "%s%s", used ? ", " : "", name_of(value));
}

static stet_result tell_failures(const failures *f, int64_t round, const char *what)
{
    if (f->n == 0) return STET_OK;
    return sti_error(f->result, "round %lld: %d %s could not be copied (%s), the others were; the first: %s",
                     (long long)round, f->n, what, f->names, f->why);
}

/* ---- beginning --------------------------------------------------------------------------------------------------- */

static stet_result check_call(stet_sim *sim, const stet_round_value *values, int n, const char *call)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: sim must not be NULL", call);
    if (n < 0 || (n > 0 && !values))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: %d values, and %s list of them; give both, or neither", call,
                         n, values ? "a" : "no");
    return sti_not_listing(sim->device, call);
}

static stet_result check_directions(const stet_round_value *values, int n)
{
    for (int i = 0; i < n; ++i)
        if ((unsigned)values[i].direction > STET_DIRECTION_INOUT || !values[i].direction)
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "round: value %s has direction %d; use STET_DIRECTION_IN, STET_DIRECTION_OUT or both",
                             name_of(&values[i]), (int)values[i].direction);
    return STET_OK;
}

/* Checks all inputs (ROUND-3) and creates their slots. */
static stet_result check_inputs(stet_sim *sim, const stet_round_value *values, int n)
{
    sti_round *round = &sim->round;
    STI_TRY(check_directions(values, n));
    round->checked++;
    for (int i = 0; i < n; ++i) {
        sti_round_target target;
        sti_round_slot *slot;
        if (!(values[i].direction & STET_DIRECTION_IN)) continue;
        STI_TRY(sti_round_find(sim, &values[i], STET_DIRECTION_IN, &target));
        STI_TRY(sti_round_slot_of(sim, &target, &slot));
        if (slot->checked == round->checked)
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "round: %s is an input twice; give each once", slot->name);
        slot->checked = round->checked;
    }
    return STET_OK;
}

stet_result stet_sim_round_check(stet_sim *sim, const stet_round_value *values, int n)
{
    STI_TRY(check_call(sim, values, n, "stet_sim_round_check"));
    return check_inputs(sim, values, n);
}

/* Makes the inputs that were just checked those of the round that begins. */
static void take_inputs(sti_round *round)
{
    assert(round->nslot <= round->room);
    round->pass++;
    for (int k = 0; k < round->nslot; ++k)
        if (round->slot[k].checked == round->checked) round->slot[k].pass = round->pass;
}

/* The reason for setting everything up; none: the earlier set-up is still valid. */
static stet_reason why_all(const stet_sim *sim)
{
    if (sim->round.info.round == 0) return STET_REASON_ROUNDS_FIRST;
    if (!sti_enabled(&sim->device->mechanisms, STET_MECHANISM_ROUNDS)) return STET_REASON_ROUNDS_DISABLED;
    if (stet_device_get_instead(sim->device, STET_REUSE_CONTENT)) return STET_REASON_ROUNDS_NO_REUSE;
    return sim->round.trusted ? STET_REASON_NONE : STET_REASON_ROUNDS_FAILED;
}

static stet_result count_setup(stet_sim *sim, stet_reason why)
{
    sti_mechanisms *m = &sim->device->mechanisms;
    if (why == STET_REASON_ROUNDS_NO_REUSE) return sti_fallback(m, STET_MECHANISM_ROUNDS, why, "a round's set-up");
    if (why == STET_REASON_NONE)
        sti_count_hit(m, STET_MECHANISM_ROUNDS, 0, 0);
    else
        sti_count_miss(m, STET_MECHANISM_ROUNDS, why, 0, 0);
    return STET_OK;
}

/* Uploads inputs that differ, and adds the device's part of the work to the list of copies. */
static void copy_inputs(stet_sim *sim, stet_round_value *values, int n, failures *f)
{
    for (int i = 0; i < n; ++i) {
        sti_round_target target;
        sti_round_slot *slot;
        if (!(values[i].direction & STET_DIRECTION_IN)) continue;
        stet_result result = sti_round_find(sim, &values[i], STET_DIRECTION_IN, &target);
        if (result == STET_OK) result = sti_round_slot_of(sim, &target, &slot);
        if (result == STET_OK) result = sti_round_copy_in(sim, slot, &values[i]);
        values[i].result = result;
        sim->round.info.inputs++;
        if (result != STET_OK) note_failure(f, &values[i]);
    }
}

/* The copies on the device failed: marks each input among them as failed. */
static void note_due(stet_sim *sim, stet_round_value *values, int n, stet_result result, failures *f)
{
    for (int i = 0; i < n; ++i) {
        sti_round_target target;
        sti_round_slot *slot;
        if (!(values[i].direction & STET_DIRECTION_IN) || values[i].result != STET_OK) continue;
        if (sti_round_find(sim, &values[i], STET_DIRECTION_IN, &target) != STET_OK ||
            sti_round_slot_of(sim, &target, &slot) != STET_OK || !sti_round_is_due(sim, slot))
            continue;
        values[i].result = result;
        note_failure(f, &values[i]);
    }
}

static stet_result keep_contracts(stet_sim *sim)
{
    for (int i = 0; i < sim->round.nslot; ++i) STI_TRY(sti_round_keep_contract(sim, &sim->round.slot[i]));
    return STET_OK;
}

/* ROUND-7: copies inputs and resets everything else. A failing input does not stop the rest. */
static stet_result bring_in(stet_sim *sim, stet_round_value *values, int n, bool *posed)
{
    failures f = {.result = STET_OK};
    bool all = sim->round.info.why != STET_REASON_NONE;
    copy_inputs(sim, values, n, &f);
    stet_result result = sti_round_give_poses(sim, posed);
    if (result == STET_OK)
        result = sti_restores_make(&sim->round.restores, sim->device, "the beginning of a round", all);
    if (result != STET_OK) note_due(sim, values, n, result, &f);
    return f.n ? tell_failures(&f, sim->round.info.round, "inputs") : result;
}

static stet_result set_up(stet_sim *sim, stet_round_value *values, int n)
{
    bool posed;
    sti_restores_clear(&sim->round.restores);       /* left by a begin that failed */
    STI_TRY(sti_device_after_uploads(sim->device)); /* ROUND-6 */
    STI_TRY(sti_round_put_back(sim));
    sti_validate_round(&sim->round);
    STI_TRY(keep_contracts(sim));
    STI_TRY(bring_in(sim, values, n, &posed));
    STI_TRY(sti_round_begin_poses(sim, posed));
    STI_TRY(sti_round_audit_inputs(sim));
    sti_round_note_state(sim);
    return STET_OK;
}

stet_result stet_sim_round_begin(stet_sim *sim, stet_round_value *values, int n)
{
    double start = sti_now();
    STI_TRY(check_call(sim, values, n, "stet_sim_round_begin"));
    STI_TRY(check_inputs(sim, values, n));
    sti_round *round = &sim->round;
    stet_reason why = why_all(sim);
    STI_TRY(count_setup(sim, why));
    if (why != STET_REASON_NONE && round->info.round > 0) sti_round_forget(sim);
    take_inputs(round);
    round->info = (stet_round_info){.round = round->info.round + 1, .why = why};
    round->trusted = round->apart = false;
    STI_TRY_TIMED(sim, round, set_up(sim, values, n));
    round->trusted = round->info.open = true;
    assert(round->restores.n == 0 && "ROUND-7: all copies were made");
    sti_validate_round(round);
    round->apart = sti_device_uploads_after(sim->device) == STET_OK; /* otherwise staging reports the error */
    round->begun = start;
    round->info.setup = sti_now() - start;
    return STET_OK;
}

stet_result stet_sim_round_stage(stet_sim *sim, stet_round_value *values, int n)
{
    failures f = {.result = STET_OK};
    STI_TRY(check_call(sim, values, n, "stet_sim_round_stage"));
    STI_TRY(check_inputs(sim, values, n));
    for (int i = 0; i < n; ++i) {
        sti_round_target target;
        sti_round_slot *slot;
        if (!(values[i].direction & STET_DIRECTION_IN)) continue;
        STI_TRY(sti_round_find(sim, &values[i], STET_DIRECTION_IN, &target));
        STI_TRY(sti_round_slot_of(sim, &target, &slot));
        values[i].result = sti_round_stage_one(sim, slot, &values[i]);
        if (values[i].result != STET_OK) note_failure(&f, &values[i]);
    }
    return tell_failures(&f, sim->round.info.round + 1, "inputs");
}

/* ---- ending ------------------------------------------------------------------------------------------------------ */

static stet_result copy_outputs(stet_sim *sim, stet_round_value *values, int n)
{
    assert(!sim->round.info.open && "ROUND-4: a round that has ended");
    failures f = {.result = STET_OK};
    for (int i = 0; i < n; ++i) {
        if (!(values[i].direction & STET_DIRECTION_OUT)) continue;
        values[i].result = sti_round_copy_out(sim, &values[i]);
        sim->round.info.outputs++;
        if (values[i].result != STET_OK) note_failure(&f, &values[i]);
    }
    return tell_failures(&f, sim->round.info.round, "outputs");
}

static stet_result check_worlds(stet_sim *sim)
{
    stet_round_info *info = &sim->round.info;
    info->faulty = sti_round_faulty(sim);
    if (info->faulty < sim->worlds->nworld) return STET_OK;
    return sti_error(STET_ERROR_STATE,
                     "round %lld: the state of all %lld worlds became NaN or huge; look at its inputs, or take a "
                     "shorter time step. The sim is ready for another round",
                     (long long)info->round, (long long)sim->worlds->nworld);
}

stet_result stet_sim_round_end(stet_sim *sim, stet_round_value *values, int n)
{
    STI_TRY(check_call(sim, values, n, "stet_sim_round_end"));
    STI_TRY(check_directions(values, n));
    stet_round_info *info = &sim->round.info;
    if (!info->open)
        return sti_error(STET_ERROR_STATE, "stet_sim_round_end: no round was begun, or it has ended; call "
                                           "stet_sim_round_begin first");
    info->open = false;
    stet_result result;
    STI_TRY_TIMED(sim, round, (result = copy_outputs(sim, values, n), STET_OK));
    info->seconds = sti_now() - sim->round.begun;
    if (result == STET_OK) return check_worlds(sim);
    info->faulty = sti_round_faulty(sim);
    sim->round.trusted = false; /* a device that could not be read may hold anything */
    return result;
}

stet_round_info stet_sim_get_round(const stet_sim *sim) { return sim ? sim->round.info : (stet_round_info){0}; }

/* ---- contracts of the caller's arrays ---------------------------------------------------------------------------- */

stet_result stet_sim_round_contract(stet_sim *sim, stet_array *array, stet_contract contract)
{
    sti_round_target target;
    sti_round_slot *slot;
    if (!sim || !array)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_round_contract: sim and array must not be NULL");
    if ((unsigned)contract >= STET_CONTRACT_COUNT || contract == STET_CONTRACT_COPY_IN)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "contract of array %s: %s cannot be stated; use KEEP, EPOCH or ZERO, and make it an input of "
                         "stet_sim_round_begin to have it copied in",
                         stet_array_get_name(array), stet_contract_name(contract));
    stet_round_value value = stet_round_array(array, STET_DIRECTION_INOUT, NULL, stet_array_get_bytes(array));
    value.data = &value; /* only checked, never copied */
    STI_TRY(sti_round_find(sim, &value, STET_DIRECTION_IN, &target));
    if (target.field >= 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "contract of %s: it is a field of the worlds, which stet puts back",
                         stet_array_get_name(array));
    STI_TRY(sti_round_slot_of(sim, &target, &slot));
    if (slot->contract == contract) return STET_OK;
    sti_round_drop_content(slot);
    slot->contract = contract;
    return STET_OK;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

void sti_round_free(stet_sim *sim)
{
    sti_round *round = &sim->round;
    if (sim->device && round->watching) sti_device_unwatch(sim->device, &round->watcher);
    while (round->nslot) sti_round_drop_slot(round, round->nslot - 1);
    sti_free(round->slot);
    for (int f = 0; f < STI_FIELD_COUNT; ++f) sti_stamp_free(&round->state[f]);
    sti_free(round->turned);
    sti_restores_free(&round->restores);
}

#ifndef NDEBUG

static void validate_content(const sti_content *c)
{
    assert((c->host == NULL) == (c->room == 0) && c->size <= c->room);
    assert((!c->held_valid || c->held) && "ROUND-2");
    assert((!c->valid || c->serial > 0) && "a content that is valid has a serial");
}

void sti_validate_round(const sti_round *round)
{
    assert(round->nslot >= 0 && round->nslot <= round->room && round->pass <= round->checked);
    for (int k = 0; k < round->nslot; ++k) {
        const sti_round_slot *slot = &round->slot[k];
        bool array = slot->target.kind == STI_TARGET_ARRAY;
        assert((slot->target.array != NULL) == array && (array || slot->target.field == -1));
        assert(slot->checked <= round->checked && slot->pass <= round->pass);
        assert((slot->contract == STET_CONTRACT_KEEP || array) && "a contract is of an array of the caller's");
        assert(slot->now.serial <= round->serial && slot->next.serial <= round->serial);
        validate_content(&slot->now);
        validate_content(&slot->next);
        for (int j = 0; j < k; ++j)
            assert((!array || round->slot[j].target.array != slot->target.array) && "a target has one slot");
    }
}

#endif
