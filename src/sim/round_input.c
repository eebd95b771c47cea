/* Inputs of rounds: copies those to the device or the host that are not there yet. Invariants: round.h. */
#include "device/host_mirror.h"
#include "kernel/record/record.h"
#include "sim/sim.h"

#include <assert.h>
#include <string.h>

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* A field with exact MuJoCo data is used on the host, so writing it needs no upload. */
static bool on_host(const stet_sim *sim, const sti_round_target *t)
{
    return t->field >= 0 && sim->worlds->state.data && sti_field_writer[t->field] & STI_WRITER_CALLER;
}

/* Writes the caller's rows to the array's host mirror. */
static stet_result write_mirror(stet_array *a, const char *rows)
{
    char *mirror;
    size_t e = stet_dtype_size(a->device, a->dtype), nitem = (size_t)a->nitem;
    if (a->size == 0) return STET_OK;
    STI_TRY(sti_mirror_overwrite(a, (void **)&mirror));
    if (a->device->lanes == 1) memcpy(mirror, rows, a->size);
    for (int64_t w = 0; a->device->lanes > 1 && w < a->shape[0]; ++w)
        for (int64_t i = 0; i < a->nitem; ++i)
            memcpy(mirror + (size_t)sti_array_index(a, w, i) * e, rows + ((size_t)w * nitem + (size_t)i) * e, e);
    sti_array_mirror_written(a);
    return STET_OK;
}

static stet_result make_like(const stet_array *a, stet_array **out)
{
    stet_array_def def = stet_default_array_def();
    if (*out) return STET_OK;
    def.name = a->name;
    def.dtype = a->dtype;
    def.worlds = a->worlds;
    def.ndim = a->ndim;
    memcpy(def.shape, a->shape, sizeof def.shape);
    STI_TRY(stet_array_create(a->device, &def, out));
    sti_array_held_by(*out, STET_MECHANISM_ROUNDS);
    return STET_OK;
}

/*
 * Whether an input needs a device copy to restore its array from. It does not if the host copy is in the same memory
 * with the same layout.
 */
static bool needs_held(const stet_sim *sim, const sti_round_target *t)
{
    if (t->kind == STI_TARGET_CONTROLS) return !sim->worlds->state.data;
    if (t->kind != STI_TARGET_ARRAY || on_host(sim, t)) return false;
    return !sim->device->can.host_memory || (t->array->worlds && sim->device->lanes > 1);
}

/*
 * Prepares the array of the content's device copy and the bytes that go into it. If the array was created just now
 * (*made), earlier work may still use its memory.
 */
static stet_result prepare_held(stet_sim *sim, const sti_round_target *t, sti_content *c, bool *made, const char **out)
{
    if (t->kind == STI_TARGET_CONTROLS) return sti_round_turn_controls(sim, c, made, out);
    *made = !c->held;
    *out = c->host;
    return make_like(t->array, &c->held);
}

/* Uploads the content to its device copy. */
static stet_result hold_round_input(stet_sim *sim, const sti_round_target *t, sti_content *c)
{
    assert(c->valid && "ROUND-2");
    bool made;
    const char *bytes;
    if (c->held_valid) return STET_OK;
    STI_TRY(prepare_held(sim, t, c, &made, &bytes));
    assert(c->held && stet_array_get_bytes(c->held) == c->size);
    STI_TRY(stet_array_write(c->held, bytes, c->size));
    c->held_valid = true;
    return STET_OK;
}

/* The same in the upload stream (ROUND-6). */
static stet_result hold_upload(stet_sim *sim, const sti_round_target *t, sti_content *c)
{
    bool made;
    const char *bytes;
    if (c->held_valid) return STET_OK;
    STI_TRY(prepare_held(sim, t, c, &made, &bytes));
    if (made) sim->round.apart = false;
    if (!sim->round.apart) STI_TRY(sti_device_uploads_after(sim->device));
    sim->round.apart = true;
    STI_TRY(sti_array_stream_upload(c->held, bytes, c->size));
    c->held_valid = true;
    return STET_OK;
}

/*
 * Whether the array still has the content. Poses that are still valid belong to the round before: they must be written
 * again to count as the caller's (worlds.h, WORLDS-4).
 */
static bool array_stands(const sti_round_slot *slot)
{
    stet_array *a = slot->target.array;
    int field = slot->target.field;
    bool exported = sti_array_poll_external_writes(a);
    return !exported && !(field >= 0 && sti_field_writer[field] & STI_WRITER_POSES) &&
           sti_stamp_is(&slot->begun, &a->version);
}

/*
 * Copies from the device copy. An array that the round before wrote is restored in the common list, whatever content it
 * gets, so the list does not depend on which inputs differ. An array that was not written is not in the list.
 */
static stet_result copy_held(stet_sim *sim, sti_round_slot *slot)
{
    assert(slot->target.kind == STI_TARGET_ARRAY && slot->now.valid);
    stet_array *a = slot->target.array;
    const char *bytes = a->device->lanes == 1 ? slot->now.host : NULL;
    bool stood = array_stands(slot);
    sti_stamp_invalidate(&slot->begun);
    STI_TRY(hold_round_input(sim, &slot->target, &slot->now));
    if (!stood) return sti_restores_add(&sim->round.restores, &(sti_restore){a, slot->now.held, bytes, &slot->begun});
    STI_TRY(stet_array_copy(a, slot->now.held));
    if (bytes) sti_mirror_fill(a, bytes);
    sti_stamp_keep_version(&slot->begun, &a->version);
    return STET_OK;
}

/* Writes the slot's content to the array from the nearest copy: at once, or with the restoring copies (ROUND-7). */
static stet_result write_array(stet_sim *sim, sti_round_slot *slot)
{
    stet_array *a = slot->target.array;
    if (needs_held(sim, &slot->target)) return copy_held(sim, slot);
    assert(slot->now.size == stet_array_get_bytes(a));
    sti_stamp_invalidate(&slot->begun);
    if (on_host(sim, &slot->target))
        STI_TRY(write_mirror(a, slot->now.host));
    else
        STI_TRY(stet_array_write(a, slot->now.host, slot->now.size));
    sti_stamp_keep_version(&slot->begun, &a->version);
    return STET_OK;
}

/* ---- copying in -------------------------------------------------------------------------------------------------- */

static stet_result set_round_input(stet_sim *sim, sti_round_slot *slot)
{
    switch (slot->target.kind) {
    case STI_TARGET_ARRAY: return write_array(sim, slot);
    case STI_TARGET_PARAMETER:
        return stet_worlds_set_parameter(sim->worlds, slot->name, (const double *)(void *)slot->now.host,
                                         (int64_t)(slot->now.size / sizeof(double)));
    case STI_TARGET_SEED: memcpy(&sim->worlds->def.seed, slot->now.host, sizeof sim->worlds->def.seed); return STET_OK;
    default: return needs_held(sim, &slot->target) ? hold_round_input(sim, &slot->target, &slot->now) : STET_OK;
    }
}

/* Audit: compares the array with the input. */
static stet_result check_content(const sti_round_slot *slot)
{
    char *fresh;
    if (slot->target.kind != STI_TARGET_ARRAY || slot->now.size == 0) return STET_OK;
    STI_TRY(sti_alloc(&fresh, slot->now.size, "the audit's copy of an input"));
    stet_result result = stet_array_read(slot->target.array, fresh, slot->now.size);
    bool same = memcmp(fresh, slot->now.host, slot->now.size) == 0;
    sti_free(fresh);
    if (result != STET_OK || same) return result;
    return sti_error(STET_ERROR_AUDIT,
                     "rounds: input %s had changed though its stamp stood; switch this mechanism off and report it, or "
                     "announce a write that was not announced",
                     slot->name);
}

/*
 * The content equals that of the round before: nothing is copied from the host, even if the array was written
 * meanwhile.
 */
static stet_result let_stand(stet_sim *sim, sti_round_slot *slot, const stet_round_value *value)
{
    assert(slot->now.valid && slot->now.size == value->size && "ROUND-2");
    bool array = slot->target.kind == STI_TARGET_ARRAY, audit = sim->device->mechanisms.options.audit;
    if (audit && memcmp(slot->now.host, value->data, value->size) != 0)
        return sti_error(STET_ERROR_AUDIT,
                         "rounds: input %s has other bytes than in the round before, under the same address and "
                         "generation; give another generation with each change",
                         slot->name);
    if (!array || audit || !array_stands(slot)) STI_TRY(set_round_input(sim, slot));
    slot->stands = true;
    sti_content_note_place(&slot->now, value);
    sti_count_hit(&sim->device->mechanisms, STET_MECHANISM_ROUNDS, 0, (int64_t)value->size);
    return STET_OK;
}

bool sti_round_is_due(const stet_sim *sim, const sti_round_slot *slot)
{
    return slot->pass == sim->round.pass && slot->target.kind == STI_TARGET_ARRAY &&
           !sti_stamp_is(&slot->begun, &slot->target.array->version);
}

stet_result sti_round_audit_inputs(const stet_sim *sim)
{
    const sti_round *round = &sim->round;
    for (int k = 0; k < round->nslot && sim->device->mechanisms.options.audit; ++k)
        if (round->slot[k].pass == round->pass && round->slot[k].stands) STI_TRY(check_content(&round->slot[k]));
    return STET_OK;
}

/* Makes the staged content the present one. */
static bool take_staged(sti_round_slot *slot, const stet_round_value *value)
{
    if (!sti_content_is(&slot->next, value)) return false;
    assert(slot->next.valid && "ROUND-2");
    sti_content before = slot->now;
    slot->now = slot->next;
    slot->next = before;
    slot->next.valid = false;
    sti_content_note_place(&slot->now, value);
    return true;
}

stet_result sti_round_copy_in(stet_sim *sim, sti_round_slot *slot, const stet_round_value *value)
{
    stet_reason why = sim->round.info.why;
    slot->stands = false;
    if (sti_content_is(&slot->now, value)) return let_stand(sim, slot, value);
    if (why == STET_REASON_NONE) why = slot->now.valid ? STET_REASON_ROUNDS_DIFFERS : STET_REASON_ROUNDS_FIRST;
    bool staged = take_staged(slot, value);
    if (!staged) STI_TRY(sti_content_take(&slot->now, sim, value, slot->name));
    assert(sti_content_is(&slot->now, value) && "the content is the caller's");
    stet_result result = set_round_input(sim, slot);
    if (result != STET_OK) {
        slot->now.valid = false;
        return result;
    }
    sim->round.info.copied_in++;
    sim->round.info.staged += staged;
    sim->round.info.bytes_in += (int64_t)value->size;
    sti_count_miss(&sim->device->mechanisms, STET_MECHANISM_ROUNDS, why, 0, (int64_t)value->size);
    return STET_OK;
}

stet_result sti_round_stage_one(stet_sim *sim, sti_round_slot *slot, const stet_round_value *value)
{
    if (!sti_enabled(&sim->device->mechanisms, STET_MECHANISM_ROUNDS)) return STET_OK;
    if (sti_content_is(&slot->now, value)) return STET_OK;
    if (!sti_content_is(&slot->next, value)) STI_TRY(sti_content_take(&slot->next, sim, value, slot->name));
    return needs_held(sim, &slot->target) ? hold_upload(sim, &slot->target, &slot->next) : STET_OK;
}

/* ---- arrays of the caller's that are no inputs ------------------------------------------------------------------- */

/* Fills an array with bytes that no kernel can use by mistake: NaN, -1. */
static stet_result poison(stet_array *a)
{
    char *bytes;
    size_t size = stet_array_get_bytes(a);
    if (size == 0) return STET_OK;
    STI_TRY(sti_alloc(&bytes, size, "the audit's filling"));
    memset(bytes, 0xff, size);
    stet_result result = stet_array_write(a, bytes, size);
    sti_free(bytes);
    return result;
}

stet_result sti_round_keep_contract(stet_sim *sim, sti_round_slot *slot)
{
    stet_array *a = slot->target.array;
    bool audit = sim->device->mechanisms.options.audit, input = slot->pass == sim->round.pass;
    if (slot->target.kind != STI_TARGET_ARRAY || a->read_only) return STET_OK;
    if (audit && input && slot->now.valid && array_stands(slot)) STI_TRY(check_content(slot));
    if (audit && (slot->contract != STET_CONTRACT_KEEP || (input && slot->target.field < 0))) STI_TRY(poison(a));
    if (input || slot->contract == STET_CONTRACT_KEEP) return STET_OK;
    if (slot->contract == STET_CONTRACT_EPOCH) {
        stet_array_mark_written(a);
        return STET_OK;
    }
    (void)sti_array_poll_external_writes(a);
    if (sti_stamp_is(&slot->zeroed, &a->version)) return STET_OK;
    STI_TRY(make_like(a, &slot->zeros));
    return sti_restores_add(&sim->round.restores, &(sti_restore){a, slot->zeros, NULL, &slot->zeroed});
}
