/* The controls of a run, frame by frame: the scene's own, noise, or a file. */
#ifndef STI_CLI_RUN_CONTROL_H
#define STI_CLI_RUN_CONTROL_H

#include "cli/files/npy.h"
#include "cli/options/options.h"
#include "stet/group.h"

typedef struct control {
    control_kind kind;
    double scale;
    npy_array numbers;              /* of a file: [frames][nu] or [frames][nworld][nu] */
    float *row;                     /* [own][nu] */
    int64_t nworld, first, own, nu; /* worlds of the numbers; those of this process */
} control;

/*
 * Opens and checks the file, if there is one. Returns -1, or an exit code after printing the error. Always call
 * control_close.
 */
int control_open(control *c, const run_options *options, const stet_group *group, const stet_model *model);
void control_close(control *c);
/*
 * Sets the controls of a frame. `frame` counts from this run's first, `since` from the scene's initial state, so that
 * noise continues where a saved run stopped.
 */
stet_result control_apply(control *c, stet_sim *sim, int64_t frame, int64_t since);

#endif
