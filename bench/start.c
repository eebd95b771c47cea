/*
 * From nothing to the first frame of the hand, in separate processes: with an empty folder of compiled kernels, and
 * with the folder that the run before filled. Creating the first device (which initialises a GPU's driver) is timed
 * separately.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* realpath */
#endif
#include "bench/start.h"

#include "base/error.h"
#include "cli/commands/device.h"
#include "kernel/compile/subprocess.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORLDS = 64, COLD = 5 };

/* ---- in the new process ------------------------------------------------------------------------------------------ */

/* *done: when the frame is on the host; what is compiled for the next time may take longer. */
static stet_result draw_first(stet_model *model, const stet_device_def *device, double *done)
{
    stet_sim *sim;
    stet_array *tensor;
    const void *pixels;
    stet_sim_def def = stet_default_sim_def();
    def.device = *device;
    def.nworld = WORLDS;
    def.outputs = 1u << STET_OUTPUT_RGB;
    STI_TRY(stet_sim_create(model, &def, &sim));
    stet_result result = stet_sim_render(sim, NULL);
    if (result == STET_OK) result = stet_sim_get_array(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGB, &tensor);
    if (result == STET_OK) result = stet_array_get_host(tensor, &pixels);
    *done = bench_now();
    stet_sim_destroy(sim);
    return result;
}

stet_result bench_first_frame(const bench *b, const char *folder)
{
    char path[512];
    stet_device_def def = b->device;
    stet_device *device;
    stet_model *model;
    double start = bench_now();
    def.wait_for_code = false;
    def.cache_folder = folder;
    STI_TRY(stet_device_create(&def, &device)); /* its context serves the sim's device too */
    double ready = bench_now();
    (void)snprintf(path, sizeof path, "%s/hand.xml", b->scenes);
    stet_result result = stet_model_load(path, &model);
    if (result == STET_OK) {
        double done;
        result = draw_first(model, &def, &done);
        stet_model_destroy(model);
        if (result == STET_OK && (printf("%.9f %.9f\n", ready - start, done - ready) < 0 || fflush(stdout) != 0))
            result = sti_error(STET_ERROR_IO, "bench start: the times could not be written");
    }
    stet_device_destroy(device);
    return result;
}

/* ---- in the old one ---------------------------------------------------------------------------------------------- */

/* Times of one new process, whose kernels are in `folder`. */
static stet_result start_one(const bench *b, char *folder, double *context, double *frame)
{
    char device[32], scenes[PATH_MAX];
    int status = 0;
    sti_text_buffer input = {0}, said = {0};
    if (!realpath(b->scenes, scenes))
        return sti_error(STET_ERROR_IO, "bench start: %s: %s", b->scenes, strerror(errno));
    device_spell(&b->device, device, sizeof device);
    char *argv[] = {"stet-bench", "--first-frame", folder, "--device", device, "--scenes", scenes, NULL};
    stet_result result = sti_subprocess_run("/proc/self/exe", argv, folder, &input, &said, NULL, &status);
    if (result == STET_OK && (status != 0 || !said.data || sscanf(said.data, "%lf %lf", context, frame) != 2))
        result = sti_error(STET_ERROR_IO, "bench start: the new process drew no frame: %s", said.data ? said.data : "");
    sti_text_buffer_free(&said);
    return result;
}

typedef struct started {
    double context[BENCH_SAMPLES], cold[BENCH_SAMPLES], warm[BENCH_SAMPLES];
} started;

static stet_result measure_bench_start(const bench *b, started *t)
{
    for (int k = 0; k < COLD; ++k) {
        char folder[BENCH_FOLDER];
        double ignored;
        STI_TRY(bench_make_folder(folder));
        stet_result result = start_one(b, folder, &t->context[k], &t->cold[k]);
        if (result == STET_OK) result = start_one(b, folder, &ignored, &t->warm[k]);
        bench_remove_folder(folder);
        if (result != STET_OK) return result;
    }
    return STET_OK;
}

stet_result bench_start(bench *b)
{
    started t;
    bench_row *row;
    STI_TRY(measure_bench_start(b, &t));
    STI_TRY(bench_add(b, &row, t.context, COLD, "s", false, "start/context_s"));
    bench_note(row, "making the first device of a process; no part of the rows below");
    STI_TRY(bench_add(b, &row, t.cold, COLD, "s", false, "start/cold_start_s"));
    bench_goal(row, 2);
    bench_note(row, "hand, %d worlds, first frame on the host; no kernel was compiled before", WORLDS);
    STI_TRY(bench_add(b, &row, t.warm, COLD, "s", false, "start/warm_start_s"));
    bench_goal(row, 0.1);
    bench_note(row, "the same with the kernels that the process before had compiled");
    return STET_OK;
}
