/*
 * Rounds, inside: the slots of inputs, and what a sim keeps from round to round.
 *
 * Invariants:
 *   ROUND-1  a round's bits are those of a sim that was made just now and got the same inputs
 *   ROUND-2  what a slot says is there (`valid`) is there: it says so only after a copy that succeeded, and no longer once another begins
 *   ROUND-3  `begin` checks all inputs before it touches anything
 *   ROUND-4  `end` copies what is an output, and nothing else
 *   ROUND-5  in later rounds of the same inputs nothing is allocated, compiled or sent
 *   ROUND-6  what goes aside (the device's second stream) writes `next.held` alone, and comes after all work that touches it; a round that begins,
 *       and whoever lets go of it, comes after what went aside
 *   ROUND-7  what the round before wrote is put back by copies on the device that are one list, played when all else has been looked at and
 *       sent: one recording, as long as rounds write the same arrays
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

/* What an input or output means. */
typedef struct sti_round_target {
    sti_target_kind kind;
    stet_array *array; /* ARRAY; a field of the worlds, or the caller's */
    int field;         /* of the worlds; -1: the caller's */
    sti_parameter parameter;
} sti_round_target;

/* Content that was given, where it can be had again without the caller. */
typedef struct sti_content {
    char *host;          /* [size] */
    stet_device *device; /* whose host_alloc gave that; NULL: it is memory like any other */
    size_t room, size;
    int64_t frames;
    uint64_t serial;   /* no two contents of a sim's rounds have the same */
    const void *place; /* the caller's, with his generation of it */
    uint64_t generation;
    stet_array *held; /* the same on the device, of controls as steps take them; NULL: the host's copy is as near */
    bool valid;       /* ROUND-2 */
    bool held_valid;  /* ROUND-2: of `held` */
} sti_content;

typedef struct sti_round_slot {
    sti_round_target target;
    char name[48];
    stet_contract contract; /* EPOCH, ZERO: stated for an array of the caller's; an input has that too */
    sti_content now, next;  /* next: staged for the round after this one */
    stet_array *zeros;      /* of a ZERO */
    sti_stamp zeroed;       /* version of the array when it last was 0 */
    sti_stamp begun;        /* version of the array when it last had that content */
    int64_t checked;        /* the last check of inputs that met this one */
    int64_t pass;           /* the last call of begin of which this is an input */
    bool stands;            /* and there its content was that of the round before */
} sti_round_slot;

typedef struct sti_round {
    stet_round_info info;
    double begun; /* time of the latest begin */
    uint64_t serial;
    bool trusted; /* what slots say is there, is */
    bool evicted; /* the sim was made again, after a pool had let it go */
    sti_round_slot *slot;
    int nslot, room;
    int64_t checked, pass;            /* checks of inputs, and those on which a round began */
    sti_stamp state[STI_FIELD_COUNT]; /* versions of fields when the latest round had begun */
    bool from_input[STI_FIELD_COUNT]; /* and whether they were an input's */
    sti_restores restores;            /* ROUND-7 */
    bool apart;   /* ROUND-6: nothing that was issued touches what is staged, but what the second stream waits for */
    char *turned; /* controls on the host, as the device has them: [nworld][frames * nu] */
    size_t turned_room;
    int64_t frame;       /* of controls: taken in this round */
    sti_watcher watcher; /* of the caller's arrays */
    bool watching;
} sti_round;

void sti_round_free(stet_sim *sim);
/* The step's part: the next frame of controls, where there is one. */
bool sti_round_has_controls(const sti_round *round);
stet_result sti_round_take_controls(stet_sim *sim);

/* ---- round_slot.c ---- */

/* What a value means, checked for a use (STET_IN or STET_OUT). */
stet_result sti_round_find(stet_sim *sim, const stet_round_value *value, stet_direction use, sti_round_target *out);
/* The slot of a target, made if need be. */
stet_result sti_round_slot_of(stet_sim *sim, const sti_round_target *target, sti_round_slot **out);
/* The input of this round for a field of the worlds; NULL: there is none. */
const sti_round_slot *sti_round_input_of(const sti_round *round, int field);
static inline bool sti_round_has(const sti_round *round, int field) { return sti_round_input_of(round, field) != NULL; }
void sti_round_drop_content(sti_round_slot *slot); /* as if it had never been given */
void sti_round_drop_slot(sti_round *round, int k);

/* ---- round_content.c ---- */

/* Is it the value's, byte for byte, or by its generation? */
bool sti_content_is(const sti_content *content, const stet_round_value *value);
void sti_content_note_place(sti_content *content, const stet_round_value *value);
/* Takes the value's content over; there is no copy of it on the device yet. */
stet_result sti_content_take(sti_content *content, stet_sim *sim, const stet_round_value *value, const char *name);
void sti_content_drop_held(sti_content *content);
void sti_content_free(sti_content *content);

/* ---- round_input.c ---- */

/* Copies an input in, if it is not there; what the device has to copy for that is added (ROUND-7). */
stet_result sti_round_copy_in(stet_sim *sim, sti_round_slot *slot, const stet_round_value *value);
/* Content beside the one in use; on a device with a second stream, through that. */
stet_result sti_round_stage_one(stet_sim *sim, sti_round_slot *slot, const stet_round_value *value);
/* Is it an input of this round whose array does not have it yet? */
bool sti_round_is_due(const stet_sim *sim, const sti_round_slot *slot);
/* What was stated for an array of the caller's; copies are added (ROUND-7). */
stet_result sti_round_keep_contract(stet_sim *sim, sti_round_slot *slot);
/* Audit, once all is in its place: what was let stand, or put back, is what was given. */
stet_result sti_round_audit_inputs(const stet_sim *sim);

/* ---- round_controls.c ---- */

stet_result sti_round_check_controls(const stet_sim *sim, const stet_round_value *value);
/* Their copy on the device: the array, made if need be (*made), and what is to be written to it. */
stet_result sti_round_turn_controls(stet_sim *sim, sti_content *content, bool *made, const char **out);

/* ---- round_state.c ---- */

/* Everything of the table that is not kept, but for inputs; copies are added (ROUND-7). */
stet_result sti_round_put_back(stet_sim *sim);
/* Poses that follow from what the round begins with, if they were made before: their copies are added (*given); and when those were made. */
stet_result sti_round_give_poses(stet_sim *sim, bool *given);
stet_result sti_round_begin_poses(stet_sim *sim, bool given);
/* The fields are now as the round begins. */
void sti_round_note_state(stet_sim *sim);
/* Nothing that an earlier round set up is used any more. */
void sti_round_forget(stet_sim *sim);
/* Worlds whose state became NaN or huge. */
int64_t sti_round_faulty(const stet_sim *sim);

/* ---- round_output.c ---- */

stet_result sti_round_copy_out(stet_sim *sim, stet_round_value *value);

#endif
