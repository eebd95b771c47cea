/*
 * Rounds, inside: the slots of inputs, and what a sim keeps from round to round.
 *
 * Invariants:
 *   ROUND-1  a round has the bits of a newly created sim with the same inputs
 *   ROUND-2  a slot is `valid` only while its content is complete: it is set after a copy succeeds and cleared before
 *            the next copy starts
 *   ROUND-3  `begin` checks all inputs before it changes anything
 *   ROUND-4  `end` copies outputs and nothing else
 *   ROUND-5  later rounds with the same inputs allocate, compile and upload nothing
 *   ROUND-6  the upload stream writes only `next.held`, after all work that uses it; a round that begins, and whoever
 *            frees that memory, is ordered after the uploads
 *   ROUND-7  what the round before wrote is restored by copies on the device. They are one list, which runs after all
 *            checks and uploads: one recording, as long as rounds write the same arrays
 */
#ifndef STI_SIM_ROUND_H
#define STI_SIM_ROUND_H

#include "stet/round.h"
#include "worlds/restores.h"
#include "worlds/worlds.h"

typedef enum sti_target_kind {
    STI_TARGET_ARRAY,
    STI_TARGET_PARAMETER,
    STI_TARGET_CONTROLS,
    STI_TARGET_SEED
} sti_target_kind;

/* What an input or output refers to. */
typedef struct sti_round_target {
    sti_target_kind kind;
    stet_array *array; /* for ARRAY: a field of the worlds, or the caller's array */
    int field;         /* index of the field of the worlds; -1: the caller's array */
    sti_parameter parameter;
} sti_round_target;

/* The content of an input, kept so that it can be copied again without the caller. */
typedef struct sti_content {
    char *host;          /* [size] */
    stet_device *device; /* whose host_alloc allocated `host`; NULL: plain memory */
    size_t room, size;
    int64_t frames;
    uint64_t serial;   /* unique among the contents of a sim's rounds */
    const void *place; /* the caller's pointer, with the caller's generation of it */
    uint64_t generation;
    stet_array *held; /* the same on the device (controls in the layout of the step); NULL: the host's copy is used */
    bool valid;       /* ROUND-2 */
    bool held_valid;  /* ROUND-2: of `held` */
} sti_content;

typedef struct sti_round_slot {
    sti_round_target target;
    char name[48];
    stet_contract contract; /* EPOCH, ZERO: set for one of the caller's arrays, which may be an input, too */
    sti_content now, next;  /* next: staged for the next round */
    stet_array *zeros;      /* zeros for an array with contract ZERO */
    sti_stamp zeroed;       /* version of the array when it was last zeroed */
    sti_stamp begun;        /* version of the array when it last had that content */
    int64_t checked;        /* number of the last check of inputs that contained this one */
    int64_t pass;           /* number of the last `begin` that had this input */
    bool stands;            /* in that begin the content was equal to that of the round before */
} sti_round_slot;

typedef struct sti_round {
    stet_round_info info;
    double begun; /* time of the latest begin */
    uint64_t serial;
    bool trusted; /* the slots are right about their contents */
    sti_round_slot *slot;
    int nslot, room;
    int64_t checked, pass;            /* number of checks of inputs; number of begins */
    sti_stamp state[STI_FIELD_COUNT]; /* versions of the fields after the latest begin */
    bool from_input[STI_FIELD_COUNT]; /* whether those fields were inputs */
    sti_restores restores;            /* ROUND-7 */
    bool apart;   /* ROUND-6: nothing that was issued uses staged memory, except what the upload stream waits for */
    char *turned; /* controls on the host in the device's layout: [nworld][frames * nu] */
    size_t turned_room;
    int64_t frame;       /* frames of controls used in this round */
    sti_watcher watcher; /* watches the caller's arrays */
    bool watching;
} sti_round;

void sti_round_free(stet_sim *sim);
STI_VALIDATE(round, sti_round)
/* Used by a step: applies the next frame of controls, if there is one. */
bool sti_round_has_controls(const sti_round *round);
stet_result sti_round_take_controls(stet_sim *sim);

/* ---- round_slot.c ------------------------------------------------------------------------------------------------ */

/* Finds what a value refers to and checks it for a direction (STET_DIRECTION_IN or STET_DIRECTION_OUT). */
stet_result sti_round_find(stet_sim *sim, const stet_round_value *value, stet_direction use, sti_round_target *out);
/* The slot of a target, created if missing. */
stet_result sti_round_slot_of(stet_sim *sim, const sti_round_target *target, sti_round_slot **out);
/* The slot of this round's input for a field of the worlds; NULL: none. */
const sti_round_slot *sti_round_input_of(const sti_round *round, int field);
static inline bool sti_round_has(const sti_round *round, int field) { return sti_round_input_of(round, field) != NULL; }
void sti_round_drop_content(sti_round_slot *slot); /* forgets the content */
void sti_round_drop_slot(sti_round *round, int k);

/* ---- round_content.c --------------------------------------------------------------------------------------------- */

/* Whether the content equals the value, by generation or byte for byte. */
bool sti_content_is(const sti_content *content, const stet_round_value *value);
void sti_content_note_place(sti_content *content, const stet_round_value *value);
/* Copies the value's content to the host copy; the device copy becomes invalid. */
stet_result sti_content_take(sti_content *content, stet_sim *sim, const stet_round_value *value, const char *name);
void sti_content_drop_held(sti_content *content);
void sti_content_free(sti_content *content);

/* ---- round_input.c ----------------------------------------------------------------------------------------------- */

/* Copies an input to its array unless it is there; the device's part is added to the list of copies (ROUND-7). */
stet_result sti_round_copy_in(stet_sim *sim, sti_round_slot *slot, const stet_round_value *value);
/* Copies the content beside the one in use; with an upload stream, through that. */
stet_result sti_round_stage_one(stet_sim *sim, sti_round_slot *slot, const stet_round_value *value);
/* Whether this is an input of this round that its array does not have yet. */
bool sti_round_is_due(const stet_sim *sim, const sti_round_slot *slot);
/* Applies the contract of one of the caller's arrays; copies are added (ROUND-7). */
stet_result sti_round_keep_contract(stet_sim *sim, sti_round_slot *slot);
/* Audit after `begin`: what was reused or restored must equal the input. */
stet_result sti_round_audit_inputs(const stet_sim *sim);

/* ---- round_controls.c -------------------------------------------------------------------------------------------- */

stet_result sti_round_check_controls(const stet_sim *sim, const stet_round_value *value);
/* The device copy of controls: its array, created if missing (*made), and the bytes to write to it. */
stet_result sti_round_turn_controls(stet_sim *sim, sti_content *content, bool *made, const char **out);

/* ---- round_state.c ----------------------------------------------------------------------------------------------- */

/* Resets all resources that are not kept, except inputs; copies are added (ROUND-7). */
stet_result sti_round_put_back(stet_sim *sim);
/*
 * Restores poses of the round's initial state, if they were computed before: adds their copies (*given), or notes when
 * they were computed.
 */
stet_result sti_round_give_poses(stet_sim *sim, bool *given);
stet_result sti_round_begin_poses(stet_sim *sim, bool given);
/* Notes the versions of the fields as those of the round's beginning. */
void sti_round_note_state(stet_sim *sim);
/* Makes the next begin set everything up again. */
void sti_round_forget(stet_sim *sim);
/* Number of worlds whose state became NaN or huge. */
int64_t sti_round_faulty(const stet_sim *sim);

/* ---- round_output.c ---------------------------------------------------------------------------------------------- */

stet_result sti_round_copy_out(stet_sim *sim, stet_round_value *value);

#endif
