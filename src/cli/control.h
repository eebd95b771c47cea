/* The controls of a run, frame by frame: the scene's own, noise, or numbers from a file. */
#ifndef STI_CLI_CONTROL_H
#define STI_CLI_CONTROL_H

#include "cli/npy.h"
#include "cli/options.h"

typedef struct control {
    control_kind kind;
    double scale;
    npy_array numbers; /* of a file: [frames][nu] or [frames][nworld][nu] */
    float *row;        /* [nworld][nu] */
    int64_t nworld, nu;
} control;

/*
 * Reads and checks the file, if there is one. An exit code after its sentence was printed, or -1. control_close is
 * due in each case.
 */
int control_open(control *c, const run_options *options, int nu);
void control_close(control *c);
/*
 * Sets the controls for a frame: `frame` counts from this run's first, `since` from the scene's initial state, so that
 * noise goes on where a run that was saved had stopped.
 */
stet_result control_apply(control *c, stet_sim *sim, int64_t frame, int64_t since);

#endif
