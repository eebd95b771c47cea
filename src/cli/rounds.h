/*
 * A run in rounds: their values, from .npz files and sweeps, and what came of each.
 *
 * Invariant: values are checked against scene and options before anything is written (rounds_open).
 */
#ifndef STI_CLI_ROUNDS_H
#define STI_CLI_ROUNDS_H

#include "cli/npz.h"
#include "cli/options.h"
#include "cli/record.h"

enum { ROUNDS_VALUES = 32 };

/* A value of rounds as the library takes it: `stride` bytes from one round to the next, 0: the same in all. */
typedef struct rounds_value {
    stet_round_value value;
    char name[NPZ_NAME];
    char *data;
    size_t stride;
    int64_t rounds;
} rounds_value;

/* What came of a round. */
typedef struct rounds_row {
    double setup, seconds;
    uint64_t state, frame;
    int64_t faulty;
    int staged; /* of its inputs */
} rounds_row;

typedef struct rounds {
    const run_options *options;
    stet_sim *sim;
    int64_t count;
    rounds_value value[ROUNDS_VALUES];
    int nvalue;
    bool controls;   /* one of the values: no other controls are made */
    rounds_row *row; /* [count] */
    int64_t done;
} rounds;

/* An exit code after its sentence was printed, or -1. rounds_close is due in each case. */
int rounds_open(rounds *r, const run_options *options, stet_sim *sim);
void rounds_close(rounds *r);
/* Begins round k, and stages the values of the one after it: they cross while this one runs. */
int rounds_begin(rounds *r, int64_t k);
/* Takes what came of the round that runs; `frame`: its last picture. All worlds NaN is a warning. */
int rounds_end(rounds *r, int64_t frame);
/* Ends the round that runs; it does not count. */
void rounds_cancel(rounds *r);

/* The first round's figures, and the medians of the others (0: there are none). */
typedef struct rounds_figures {
    double first_setup, first_seconds, later_setup, later_seconds;
} rounds_figures;
rounds_figures rounds_look(const rounds *r);
/*
 * rounds.npz: swept values, hashes, seconds, faults, and the recordings, of the rounds that were ended. NULL, or a
 * sentence.
 */
const char *rounds_write(const rounds *r, recorder *recorded, const char *path);

#endif
