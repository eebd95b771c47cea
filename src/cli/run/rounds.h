/*
 * A run in rounds: values from .npz files and sweeps, and the results of each round.
 *
 * Invariant: values are checked against scene and options before anything is written (rounds_open).
 */
#ifndef STI_CLI_RUN_ROUNDS_H
#define STI_CLI_RUN_ROUNDS_H

#include "cli/files/npz.h"
#include "cli/options/options.h"
#include "cli/run/record.h"
#include "stet/group.h"

enum { ROUNDS_VALUES = 32 };

/* A value of rounds for the library: `stride` bytes from one round to the next; 0: the same in all. */
typedef struct rounds_value {
    stet_round_value value;
    char name[NPZ_NAME];
    char *data;
    size_t stride;
    int64_t rounds;
} rounds_value;

/* Results of a round. */
typedef struct rounds_row {
    double setup, seconds;
    uint64_t state, frame;
    int64_t faulty;
    int staged; /* of its inputs */
} rounds_row;

typedef struct rounds {
    const run_options *options;
    stet_sim *sim;
    stet_group *group; /* borrowed; NULL: one process */
    int64_t count;
    rounds_value value[ROUNDS_VALUES];
    int nvalue;
    bool controls;   /* one of the values is controls, so no other controls are used */
    rounds_row *row; /* [count] */
    int64_t done;
} rounds;

/* Returns -1, or an exit code after printing the error. Always call rounds_close. */
int rounds_open(rounds *r, const run_options *options, stet_sim *sim, stet_group *group);
void rounds_close(rounds *r);
/* Begins round k, and stages the values of the next one, which are uploaded while this one runs. */
int rounds_begin(rounds *r, int64_t k);
/* Ends the round and stores its results; `frame`: its last picture. A warning is printed if all worlds are NaN. */
int rounds_end(rounds *r, int64_t frame);
/* Ends the round without counting it. */
void rounds_cancel(rounds *r);

/* Figures of the first round, and medians of the others (0: there are none). */
typedef struct rounds_figures {
    double first_setup, first_seconds, later_setup, later_seconds;
} rounds_figures;
rounds_figures rounds_look(const rounds *r);
/*
 * Writes rounds.npz: swept values, hashes, seconds, faults and recordings of all rounds that ended. Returns NULL, or an
 * error text.
 */
const char *rounds_write(const rounds *r, recorder *recorded, const char *path);

#endif
