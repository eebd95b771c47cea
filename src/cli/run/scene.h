/* The model and the sim that the options of `stet run` describe. */
#ifndef STI_CLI_RUN_SCENE_H
#define STI_CLI_RUN_SCENE_H

#include "cli/options/options.h"

/* Where a sim is, and which of the run's worlds it has. */
typedef struct scene_place {
    stet_device_def device; /* type, GPU, instruction set, threads; its mechanisms are those of the options */
    int64_t nworld, first_world;
} scene_place;

/*
 * Each returns -1, or an exit code after printing the error. substeps: time steps a frame; frame_time: seconds. The
 * caller destroys model and sim, also after an error.
 */
int scene_load(const run_options *options, stet_model **model, int *substeps, double *frame_time);
int scene_sim(const run_options *options, stet_model *model, const scene_place *place, stet_sim **sim);

#endif
