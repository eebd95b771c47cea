/* Slots of rounds: what a value refers to, and what the sim knows about it. Invariants: round.h. */
#include "sim/sim.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- what a value means ------------------------------------------------------------------------------------------ */

static stet_result unknown_name(const char *name)
{
#define LIST_FIELD(field, items, member, writer) " " #field
#define LIST_PARAMETER(parameter, items, rule, derives) " " #parameter
    return sti_error(STET_ERROR_NOT_FOUND,
                     "round: there is no value '%.64s'; the worlds' fields are" STI_FIELDS(
                         LIST_FIELD) ", the parameters" STI_PARAMETERS(LIST_PARAMETER) ", and controls over time are "
                                                                                       "'controls', a seed 'seed'",
                     name);
#undef LIST_FIELD
#undef LIST_PARAMETER
}

static int field_of(const stet_worlds *worlds, const stet_array *array)
{
    for (int f = 0; f < STI_FIELD_COUNT; ++f)
        if (worlds->state.field[f] == array) return f;
    return -1;
}

static stet_result find_target(stet_sim *sim, const stet_round_value *value, sti_round_target *out)
{
    *out = (sti_round_target){.kind = STI_TARGET_ARRAY, .field = -1};
    if ((value->name != NULL) == (value->array != NULL))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "round: a value has %s; give one of the two",
                         value->name ? "a name and an array" : "neither a name nor an array");
    if (value->array)
        out->array = value->array;
    else if (strcmp(value->name, "controls") == 0)
        out->kind = STI_TARGET_CONTROLS;
    else if (strcmp(value->name, "seed") == 0)
        out->kind = STI_TARGET_SEED;
    else if (sti_parameter_find(value->name, &out->parameter))
        out->kind = STI_TARGET_PARAMETER;
    else if (stet_worlds_get_array(sim->worlds, value->name, &out->array) != STET_OK)
        return unknown_name(value->name);
    if (out->array) out->field = field_of(sim->worlds, out->array);
    return STET_OK;
}

static stet_result check_array(const stet_sim *sim, const stet_round_value *value, const sti_round_target *t,
                               stet_direction use)
{
    const stet_array *a = t->array;
    if (a->device != sim->device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "round: array %s lives on another device; make it on that of the sim (stet_sim_get_device)",
                         a->name);
    if (use == STET_DIRECTION_OUT && value->header) return STET_OK;
    if (value->size != stet_array_get_bytes(a))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "round: %zu bytes given for %s, which has %zu", value->size,
                         a->name, stet_array_get_bytes(a));
    if (use == STET_DIRECTION_OUT) return STET_OK;
    if (a->read_only)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "round: array %s was imported for reading and cannot be an input",
                         a->name);
    if (t->field == STI_FIELD_step_sensordata || sti_is_quantity(sim->worlds, a))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "round: %s is made by the physics and cannot be an input",
                         a->name);
    return STET_OK;
}

stet_result sti_round_find(stet_sim *sim, const stet_round_value *value, stet_direction use, sti_round_target *out)
{
    STI_TRY(find_target(sim, value, out));
    if (!value->data && value->size > 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "round: the data of %s is NULL; give %s",
                         value->name ? value->name : value->array->name,
                         use == STET_DIRECTION_IN ? "its content" : "room for its content");
    if (out->kind == STI_TARGET_ARRAY) return check_array(sim, value, out, use);
    if (use == STET_DIRECTION_OUT || (value->direction & STET_DIRECTION_OUT))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "round: %s is an input only", value->name);
    if (out->kind == STI_TARGET_CONTROLS) return sti_round_check_controls(sim, value);
    if (out->kind == STI_TARGET_SEED) {
        if (value->size == sizeof(uint64_t)) return STET_OK;
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "round: %zu bytes given for the seed, which is one uint64_t",
                         value->size);
    }
    if (value->size % sizeof(double))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "round: %zu bytes given for parameter %s, whose numbers are double", value->size, value->name);
    return sti_parameter_check(sim->worlds, out->parameter, value->data, (int64_t)(value->size / sizeof(double)));
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

void sti_round_drop_content(sti_round_slot *slot)
{
    sti_content_free(&slot->now);
    sti_content_free(&slot->next);
    stet_array_destroy(slot->zeros);
    slot->zeros = NULL;
    sti_stamp_invalidate(&slot->begun);
    sti_stamp_invalidate(&slot->zeroed);
}

void sti_round_drop_slot(sti_round *round, int k)
{
    assert(k >= 0 && k < round->nslot);
    sti_round_drop_content(&round->slot[k]);
    sti_stamp_free(&round->slot[k].begun);
    sti_stamp_free(&round->slot[k].zeroed);
    round->nslot--;
    memmove(&round->slot[k], &round->slot[k + 1], (size_t)(round->nslot - k) * sizeof *round->slot);
}

/* Called when one of the caller's arrays is destroyed: drops its slot's content and its contract. */
static void gone(sti_watcher *watcher, const void *thing)
{
    sti_round *round = (sti_round *)(void *)((char *)watcher - offsetof(sti_round, watcher));
    for (int k = 0; k < round->nslot; ++k)
        if (round->slot[k].target.array == thing) {
            sti_round_drop_slot(round, k);
            return;
        }
}

static bool same_target(const sti_round_target *a, const sti_round_target *b)
{
    return a->kind == b->kind && a->array == b->array && a->parameter == b->parameter;
}

static const char *target_name(const sti_round_target *t)
{
    return t->kind == STI_TARGET_ARRAY       ? t->array->name
           : t->kind == STI_TARGET_PARAMETER ? stet_worlds_get_parameters()[t->parameter]
           : t->kind == STI_TARGET_CONTROLS  ? "controls"
                                             : "seed";
}

stet_result sti_round_slot_of(stet_sim *sim, const sti_round_target *target, sti_round_slot **out)
{
    assert((target->kind == STI_TARGET_ARRAY) == (target->array != NULL));
    sti_round *round = &sim->round;
    for (int k = 0; k < round->nslot; ++k) {
        *out = &round->slot[k];
        if (same_target(&round->slot[k].target, target)) return STET_OK;
    }
    if (round->nslot == round->room) {
        int room = round->room ? 2 * round->room : 8;
        STI_TRY(sti_realloc(&round->slot, (size_t)room * sizeof *round->slot, "inputs of rounds"));
        round->room = room;
    }
    if (!round->watching) {
        round->watcher.gone = gone;
        round->watching = true;
        sti_device_watch(sim->device, &round->watcher);
    }
    sti_round_slot *slot = *out = &round->slot[round->nslot++];
    *slot = (sti_round_slot){.target = *target};
    (void)snprintf(slot->name, sizeof slot->name, "%s", target_name(target));
    return STET_OK;
}

const sti_round_slot *sti_round_input_of(const sti_round *round, int field)
{
    assert(field >= 0 && field < STI_FIELD_COUNT && "a field of the worlds");
    for (int k = 0; k < round->nslot; ++k)
        if (round->slot[k].pass == round->pass && round->slot[k].target.field == field &&
            round->slot[k].target.kind == STI_TARGET_ARRAY)
            return &round->slot[k];
    return NULL;
}
