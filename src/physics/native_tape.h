/*
 * Time steps and resets of native physics on a tape (kernel/record/operation.h).
 *
 *   NATIVE-TAPE-1  while a tape is open, a call of steps is one operation a time step, with the bits of one call of all
 *   NATIVE-TAPE-2  what is done again counts nothing: faults, time steps, resets that were not pulled, and the most
 *       contacts are those of the first time
 *   NATIVE-TAPE-3  a world that was put back in a step or by a reset passes no gradient to what was before
 */
#ifndef STI_PHYSICS_NATIVE_TAPE_H
#define STI_PHYSICS_NATIVE_TAPE_H

#include "kernel/record/operation.h"
#include "physics/native_pull.h"

/* The state and the inputs, in the order of fields, as operands of a step and of a reset. */
#define STI_NATIVE_GRADED(X)                                                                                           \
    X(qpos)                                                                                                            \
    X(qvel)                                                                                                            \
    X(act)                                                                                                             \
    X(ctrl)                                                                                                            \
    X(qfrc_applied)                                                                                                    \
    X(xfrc_applied)                                                                                                    \
    X(mocap_pos)                                                                                                       \
    X(mocap_quat)                                                                                                      \
    X(eq_active)

enum {
#define STI_NATIVE_PLACE(name) STI_TAPED_##name,
    STI_NATIVE_GRADED(STI_NATIVE_PLACE)
#undef STI_NATIVE_PLACE
        STI_TAPED_GRADED,
    STI_TAPED_qacc_warmstart = STI_TAPED_GRADED, /* behind a step its acceleration */
    STI_TAPED_step_sensordata,
    STI_TAPED_history,           /* of models without gradients of steps */
    STI_TAPED_LOST,              /* worlds that the step put back, as bits of faults */
    STI_TAPED_STEPPED,           /* of a step: the worlds that step */
    STI_TAPED_V,                 /* parameters of worlds */
    STI_TAPED_NUMBERS_OF_TABLES, /* whose gradients are those of the tables' numbers, if parameters' are asked for */
    STI_TAPED_STEP,
    STI_TAPED_CHOSEN = STI_TAPED_LOST, /* of a reset: its mask, */
    STI_TAPED_NUMBERS,                 /* numbers of resets, */
    STI_TAPED_KEYFRAME,
    STI_TAPED_QPOS_NOISE,
    STI_TAPED_QVEL_NOISE,
    STI_TAPED_RESET
};

typedef struct sti_native_reading sti_native_reading; /* native_tape_reads.c */

typedef struct sti_native_tape {
    sti_operation step, reset;
    sti_native_reading *readings; /* what was read while a tape was open, and poses */
    bool made;
    /* INT [nworld][1]: in place of the sim's while something is done again (NATIVE-TAPE-2); lost: faults of a step */
    stet_array *lost, *fault, *ticks, *most, *owed;
    stet_array *every;        /* INT [nworld][1]: ones */
    sti_native_wanted wanted; /* tables by which steps have gradients; n = 0: nobody asked */
    int *number;              /* theirs */
} sti_native_tape;

#endif
