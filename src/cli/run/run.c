/*
 * `stet run`: steps copies of a scene, renders them, and reports the result.
 *
 * Invariant: all checks of the request are made before the first file or folder is created (prepare), and fail with
 * EXIT_INPUT; later failures end with EXIT_WORK.
 */
#include "cli/command.h"
#include "cli/run/control.h"
#include "cli/files/folder.h"
#include "cli/interrupt.h"
#include "cli/options/options.h"
#include "cli/pictures/output.h"
#include "cli/pictures/tensor_frames.h"
#include "cli/pictures/video.h"
#include "cli/files/places.h"
#include "cli/run/progress.h"
#include "cli/run/ranks.h"
#include "cli/run/record.h"
#include "cli/run/rounds.h"
#include "cli/run/scene.h"
#include "cli/run/summary.h"
#include "cli/run/timeline.h"
#include "cli/run/watch.h"
#include "cli/report_error.h"

#include "base/error.h"
#include "worlds/snapshot.h"
#include "base/plural.h"

#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    run_options options;
    ranks ranks;
    stet_model *model;
    stet_sim *sim;
    control control;
    recorder recorder;
    rounds rounds;
    tensor_frames tensors;
    video video;
    watch watch;
    mosaic_layout layout; /* if there are pictures */
    summary summary;
    int64_t since; /* frames from the scene's initial state to this run's first */
    int64_t frame; /* number of the latest picture */
    int made;      /* number of folders created for --out */
} run;

/* ---- before the first frame -------------------------------------------------------------------------------------- */

static int make_sim(run *r)
{
    const run_options *o = &r->options;
    scene_place place = {.device = o->device, .nworld = o->worlds, .first_world = o->first_world};
    place.device.threads = o->threads > 0 ? o->threads : r->ranks.threads;
    if (r->ranks.group) {
        if (!o->device_numbered) place.device.gpu.index = r->ranks.local / (int)o->ranks_per_gpu;
        place.nworld = stet_group_get_own(r->ranks.group);
        place.first_world += stet_group_get_first(r->ranks.group);
    }
    int code = scene_sim(o, r->model, &place, &r->sim);
    return code < 0 ? ranks_check_physics(&r->ranks, stet_sim_get_physics(r->sim)) : code;
}

/* The latest time of any world; a world that the physics reset is behind. */
static stet_result latest_time(run *r, double *out)
{
    stet_array *array;
    const void *data;
    stet_result result = stet_worlds_get_array(stet_sim_get_worlds(r->sim), "time", &array);
    if (result == STET_OK) result = stet_array_get_host(array, &data);
    if (result != STET_OK) return result;
    *out = -HUGE_VAL;
    for (int64_t w = 0; w < stet_array_get_shape(array)[0]; ++w) *out = fmax(*out, (double)((const float *)data)[w]);
    return ranks_most(&r->ranks, out);
}

static stet_result resume_worlds(run *r)
{
    stet_group *group = r->ranks.group;
    return group ? stet_group_resume(group, r->sim, r->options.resume) : stet_sim_resume(r->sim, r->options.resume);
}

static int resume(run *r)
{
    double begin, now;
    if (!r->options.resume) return -1;
    if (latest_time(r, &begin) != STET_OK || resume_worlds(r) != STET_OK || latest_time(r, &now) != STET_OK)
        return report_last_error(EXIT_INPUT);
    double frames = round((now - begin) / r->summary.frame_time);
    r->since = frames > 0 ? (int64_t)fmin(frames, 1e15) : 0;
    r->summary.since = r->since;
    if (r->options.until == 0) return -1;
    if (r->since >= r->options.until)
        return report_error(EXIT_INPUT, "--until %lld: %s has %lld frames already; nothing is left to do",
                            (long long)r->options.until, r->options.resume, (long long)r->since);
    r->options.frames = r->options.until - r->since;
    return -1;
}

/* Checks that outputs, the state file included, are not inputs and can be written. */
static int check_files(run *r)
{
    const run_options *o = &r->options;
    if (!whole_writes(r->ranks.group)) return -1;
    if (o->save && sti_snapshot_check(stet_sim_get_worlds(r->sim)->model->mj) != STET_OK)
        return report_error(EXIT_INPUT, "--save %s: %s", o->save, stet_get_last_error());
    int code = places_check(o, r->sim);
    return code < 0 && o->video ? report_text(EXIT_INPUT, video_check_program()) : code;
}

/* The output that the video shows. */
static stet_output video_output(const run *r)
{
    int k = 0;
    while (!(r->options.outputs >> k & 1)) ++k;
    return (stet_output)k;
}

static const char *open_video(run *r)
{
    const run_options *o = &r->options;
    double every = o->video_every ? (double)o->video_every : 1, fps = 1 / (r->summary.frame_time * every);
    if (!o->video || !whole_writes(r->ranks.group)) return NULL;
    fps = o->video_fps > 0 ? o->video_fps : fmin(fmax(fps, 0.1), 1000);
    return video_open(&r->video, o->video, r->layout.width, r->layout.height, mosaic_channels(video_output(r)), fps);
}

/* Pictures cross between GPUs by NCCL, where it is there. */
static int link_ranks(run *r)
{
    if (!r->ranks.group || !r->options.outputs) return -1;
    return stet_group_link(r->ranks.group, stet_sim_get_device(r->sim), NULL) == STET_OK ? -1
                                                                                         : report_last_error(EXIT_WORK);
}

/* Creates the folder, after all checks. */
static int open_files(run *r)
{
    const char *wrong;
    if (r->options.outputs) r->layout = output_layout(r->sim, r->ranks.group);
    r->layout.numbered = r->options.numbers;
    r->layout.first = r->options.first_world;
    memcpy(r->layout.depth, r->options.depth_range, sizeof r->layout.depth);
    if (r->options.out && whole_writes(r->ranks.group) && !folder_make(r->options.out, &r->made, &wrong))
        return report_error(EXIT_INPUT, "--out %s: the folder cannot be made: %s; choose another", r->options.out,
                            wrong);
    wrong = record_open(&r->recorder, &r->options, r->sim, r->ranks.group, &r->summary.files);
    if (!wrong && r->options.tensors_every)
        wrong =
            tensor_frames_open(&r->tensors, r->sim, r->ranks.group, r->options.out,
                               r->options.frames / r->options.tensors_every, r->options.tensors_npz, &r->summary.files);
    if (!wrong) wrong = open_video(r);
    return report_text(EXIT_WORK, wrong);
}

static int prepare(run *r)
{
    double begun = progress_now();
    int code = scene_load(&r->options, &r->model, &r->summary.substeps, &r->summary.frame_time);
    if (code < 0) code = ranks_check_scene(&r->ranks, r->model);
    if (code < 0) code = control_open(&r->control, &r->options, r->ranks.group, r->model);
    if (code < 0) code = make_sim(r);
    if (code < 0) code = check_files(r);
    if (code < 0) code = resume(r);
    if (code < 0) code = rounds_open(&r->rounds, &r->options, r->sim, r->ranks.group);
    if (code < 0 && r->options.view_socket >= 0)
        code = report_text(EXIT_INPUT, watch_open(&r->watch, r->options.view_socket, r->options.scene));
    r->watch.waits = r->options.view_wait;
    code = ranks_agree(&r->ranks, code, EXIT_INPUT);
    if (code < 0) code = link_ranks(r);
    if (code < 0) code = ranks_agree(&r->ranks, open_files(r), EXIT_WORK);
    r->summary.load = progress_now() - begun;
    return code;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/* Time in calls that read pictures, as the sim counts it. */
static double sim_reading(const run *r)
{
    stet_sim_timing t = stet_sim_get_timing(r->sim);
    return t.extract + t.read;
}

static int write_mosaics(run *r, int64_t number)
{
    double begun = progress_now(), reading = sim_reading(r);
    const char *wrong =
        output_mosaics(r->sim, r->ranks.group, r->frame, &r->layout, r->options.out, number, &r->summary.files);
    r->summary.shown = r->layout.worlds;
    r->summary.write += progress_now() - begun - (sim_reading(r) - reading);
    return report_text(EXIT_WORK, wrong);
}

static int add_tensors(run *r)
{
    double begun = progress_now(), reading = sim_reading(r);
    const char *wrong = tensor_frames_add(&r->tensors, r->sim, r->frame);
    r->summary.write += progress_now() - begun - (sim_reading(r) - reading);
    return report_text(EXIT_WORK, wrong);
}

static int add_to_video(run *r)
{
    double begun = progress_now(), reading = sim_reading(r);
    uint8_t *pixels;
    const char *wrong = output_pixels(r->sim, r->ranks.group, r->frame, video_output(r), &r->layout, &pixels);
    if (!wrong && pixels) wrong = video_add(&r->video, pixels);
    free(pixels);
    r->summary.shown = r->layout.worlds;
    r->summary.write += progress_now() - begun - (sim_reading(r) - reading);
    return report_text(EXIT_WORK, wrong);
}

static int record(run *r)
{
    double begun = progress_now();
    const char *wrong = record_frame(&r->recorder);
    r->summary.record += progress_now() - begun;
    return report_text(EXIT_WORK, wrong);
}

static stet_result save(run *r)
{
    stet_worlds *worlds = stet_sim_get_worlds(r->sim);
    return r->ranks.group ? stet_group_save(r->ranks.group, worlds, r->options.save)
                          : stet_worlds_save(worlds, r->options.save);
}

static int save_on_the_way(run *r)
{
    double begun = progress_now();
    stet_result result = save(r);
    r->summary.write += progress_now() - begun;
    return result == STET_OK ? -1 : report_last_error(EXIT_WORK);
}

/* Called between two frames, and between time steps of a long one. */
static bool is_interrupted(void *context)
{
    run *r = context;
    return r->summary.interrupted = r->summary.interrupted || interrupt_signal() != 0;
}

/* An interrupted frame is not counted, and nothing of it is written. */
static int one_frame(run *r, int64_t f)
{
    const run_options *o = &r->options;
    int64_t row = o->until ? r->since + f : f; /* of a file with controls */
    stet_result result = r->rounds.controls ? STET_OK : control_apply(&r->control, r->sim, row, r->since + f);
    if (result == STET_OK) result = stet_sim_step(r->sim, r->summary.substeps);
    if (result == STET_ERROR_INTERRUPTED) return -1;
    if (result == STET_OK && o->outputs) result = stet_sim_render(r->sim, &r->frame);
    if (result != STET_OK) return report_last_error(EXIT_WORK);
    ++r->summary.done;
    int code = record(r);
    if (code < 0 && o->state_every && (r->since + f + 1) % o->state_every == 0) code = save_on_the_way(r);
    if (code < 0 && o->save_every && (f + 1) % o->save_every == 0) code = write_mosaics(r, f + 1);
    if (code < 0 && o->tensors_every && (f + 1) % o->tensors_every == 0) code = add_tensors(r);
    if (code < 0 && o->video && (f + 1) % (o->video_every ? o->video_every : 1) == 0) code = add_to_video(r);
    return code;
}

/* Reads the last frame's tensors, so that all requested pictures are part of the timed work. */
static stet_result finish_frame(run *r)
{
    for (int c = 0; c < stet_sim_get_ncamera(r->sim); ++c)
        for (int k = 0; k < STET_OUTPUT_COUNT; ++k) {
            stet_array *tensor;
            if (!(r->options.outputs & 1u << k)) continue;
            stet_result result = stet_sim_get_array(r->sim, r->frame, c, (stet_output)k, &tensor);
            if (result != STET_OK) return result;
        }
    return STET_OK;
}

/* Starts the trace together with the counters, so that both cover the timed work. */
static int begin_trace(run *r)
{
    stet_trace_def def = stet_default_trace_def();
    def.events = r->options.trace != NULL;
    if (!r->options.trace && !r->options.profile) return -1;
    return stet_trace_begin(stet_sim_get_device(r->sim), &def) == STET_OK ? -1 : report_last_error(EXIT_WORK);
}

/* Missing ranges are an error in strict mode only. */
static int begin_ranges(run *r)
{
    stet_device *device = stet_sim_get_device(r->sim);
    stet_ranges_def def = stet_default_ranges_def();
    if (!r->options.ranges || stet_ranges_get_library(device)) return -1;
    if (stet_ranges_begin(device, &def) == STET_OK) return -1;
    if (r->options.mechanisms.strict) return report_last_error(EXIT_WORK);
    sti_log(STET_LOG_WARNING, "%s", stet_get_last_error());
    return -1;
}

static int end_trace(run *r)
{
    stet_device *device = stet_sim_get_device(r->sim);
    if (!stet_trace_is_on(device)) return -1;
    if (stet_trace_end(device) != STET_OK) return report_last_error(EXIT_WORK);
    r->summary.traced = stet_trace_get_stats(device);
    if (r->options.profile && !profile_take(&r->summary.profile, device))
        return report_error(EXIT_WORK, "--profile: out of memory for the table; ask for fewer worlds");
    return -1;
}

/* All frames of a run, or of one of its rounds. */
static int frames_of(run *r, int64_t round, progress *bar)
{
    const run_options *o = &r->options;
    int code = r->rounds.row ? rounds_begin(&r->rounds, round) : -1;
    for (int64_t f = 0; f < o->frames && code < 0; ++f) {
        code = ranks_stop(&r->ranks, r->summary.done, is_interrupted(r), &r->summary.interrupted);
        if (code >= 0 || r->summary.interrupted) break;
        code = one_frame(r, f);
        watch_frame(&r->watch, r->sim, r->summary.done);
        if (code < 0) progress_update(bar, r->summary.done);
        interrupt_await(true);
    }
    if (code < 0 && r->rounds.row && !r->summary.interrupted) return rounds_end(&r->rounds, r->frame);
    if (r->rounds.row) rounds_cancel(&r->rounds);
    return code;
}

static int all_frames(run *r)
{
    progress bar;
    interrupt_await(false);
    if (!r->ranks.group) stet_sim_set_interrupt(r->sim, is_interrupted, r); /* RANKS-2 */
    int64_t count = r->rounds.row ? r->rounds.count : 1;
    stet_device_clear_counters(stet_sim_get_device(r->sim));
    int code = begin_ranges(r);
    if (code < 0) code = begin_trace(r);
    stet_sim_clear_timing(r->sim);
    progress_begin(&bar, !r->options.json, count * r->options.frames, "frames");
    double begun = progress_now();
    for (int64_t k = 0; k < count && code < 0 && !r->summary.interrupted; ++k) code = frames_of(r, k, &bar);
    progress_end(&bar);
    if (code < 0 && r->summary.done && finish_frame(r) != STET_OK) code = report_last_error(EXIT_WORK);
    /* What was issued is part of the run: the clock stops when the device has done it. */
    if (code < 0 && stet_device_synchronize(stet_sim_get_device(r->sim)) != STET_OK)
        code = report_last_error(EXIT_WORK);
    r->summary.seconds = progress_now() - begun - r->summary.write;
    r->summary.timing = stet_sim_get_timing(r->sim);
    r->summary.counters = stet_device_get_counters(stet_sim_get_device(r->sim));
    return code < 0 ? end_trace(r) : code;
}

/* Seconds of work, without waiting for other ranks. */
static double busy(const run *r)
{
    const stet_sim_timing *t = &r->summary.timing;
    return t->control + t->step + t->pose + t->hierarchy + t->render + t->extract + t->read + t->round;
}

/* What rank 0 says of the ranks. */
static int gather_ranks(run *r)
{
    rank_row row = {.busy = busy(r), .threads = stet_device_get_threads(stet_sim_get_device(r->sim))};
    if (!r->ranks.group) return -1;
    (void)snprintf(row.device, sizeof row.device, "%s", stet_device_get_name(stet_sim_get_device(r->sim)));
    (void)snprintf(row.warning, sizeof row.warning, "%s", report_warning(0) ? report_warning(0) : "");
    if (ranks_gather_rows(&r->ranks, &row) != STET_OK || ranks_most(&r->ranks, &r->summary.seconds) != STET_OK ||
        ranks_add(r->ranks.group, r->summary.faults, STET_FAULT_COUNT) != STET_OK)
        return report_last_error(EXIT_WORK);
    return -1;
}

/* ---- after the last one ------------------------------------------------------------------------------------------ */

static int take_hashes(run *r)
{
    summary_count_faults(&r->summary);
    if (ranks_hash(r->ranks.group, r->sim, &r->summary.state_hash) != STET_OK ||
        (r->options.outputs && ranks_hash_frame(r->ranks.group, r->sim, r->frame, &r->summary.frame_hash) != STET_OK))
        return report_last_error(EXIT_WORK);
    return gather_ranks(r);
}

static const char *write_rounds(run *r)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/rounds.npz", r->options.out) >= (int)sizeof path)
        return "the folder's name is too long; use a shorter one";
    const char *wrong = rounds_write(&r->rounds, &r->recorder, path);
    if (wrong) return wrong;
    return file_list_add(&r->summary.files, path) ? NULL : "out of memory for the names of files";
}

static const char *write_trace(run *r)
{
    char title[400];
    (void)snprintf(title, sizeof title, "stet run %s", r->options.scene);
    const char *wrong = timeline_write(stet_sim_get_device(r->sim), title, r->options.trace);
    if (wrong) return wrong;
    return file_list_add(&r->summary.files, r->options.trace) ? NULL : "out of memory for the names of files";
}

static const char *end_video(run *r)
{
    bool some = r->video.frames > 0;
    const char *wrong = video_close(&r->video);
    if (wrong || !some) return wrong;
    return file_list_add(&r->summary.files, r->options.video) ? NULL : "out of memory for the names of files";
}

static int write_files(run *r)
{
    const run_options *o = &r->options;
    double begun = progress_now();
    bool writes = whole_writes(r->ranks.group);
    const char *wrong = r->rounds.row ? NULL : record_close(&r->recorder);
    if (!wrong) wrong = tensor_frames_close(&r->tensors);
    if (!wrong && o->out && r->rounds.row && writes) wrong = write_rounds(r);
    if (!wrong && o->out && o->outputs) {
        wrong = output_mosaics(r->sim, r->ranks.group, r->frame, &r->layout, o->out, 0, &r->summary.files);
        r->summary.shown = r->layout.worlds;
    }
    if (!wrong && o->out && o->outputs)
        wrong = output_tensors(r->sim, r->ranks.group, r->frame, o->out, &r->summary.files);
    if (!wrong && o->save) {
        if (save(r) != STET_OK)
            wrong = stet_get_last_error();
        else if (!file_list_add(&r->summary.files, o->save))
            wrong = "out of memory for the names of files";
    }
    if (!wrong && o->tensors_npz && writes) wrong = tensor_frames_pack(&r->tensors, r->sim, o->out, &r->summary.files);
    if (!wrong && o->trace && writes) wrong = write_trace(r);
    if (!wrong && o->video && writes) wrong = end_video(r);
    r->summary.write += progress_now() - begun;
    return report_text(EXIT_WORK, wrong);
}

static int say_interrupted(const run *r)
{
    int64_t all = r->options.frames * (r->rounds.row ? r->rounds.count : 1);
    int number = interrupt_signal() ? interrupt_signal() : SIGTERM; /* 0: another process got it */
    return report_error(interrupt_code(number), "interrupted after frame %lld of %lld; %s", (long long)r->summary.done,
                        (long long)all,
                        r->summary.done ? "files hold what was done until then" : "nothing was written");
}

static int report(run *r)
{
    char path[PATH_MAX];
    if (!whole_writes(r->ranks.group)) return r->summary.interrupted ? say_interrupted(r) : 0;
    if (r->options.out) {
        if (snprintf(path, sizeof path, "%s/summary.json", r->options.out) >= (int)sizeof path ||
            !file_list_add(&r->summary.files, path))
            return report_error(EXIT_WORK, "--out %s: out of memory for the names of files", r->options.out);
        const char *wrong = summary_write_json(&r->summary, path);
        if (wrong) return report_text(EXIT_WORK, wrong);
    }
    if (r->options.json)
        summary_print_json(&r->summary);
    else
        summary_print(&r->summary);
    return r->summary.interrupted ? say_interrupted(r) : 0;
}

static void clean_up(run *r)
{
    if (r->rounds.row || r->summary.done == 0)
        record_drop(&r->recorder);
    else
        (void)record_close(&r->recorder);
    tensor_frames_drop(&r->tensors);
    video_drop(&r->video);
    watch_close(&r->watch);
    if (r->options.out && r->made) folder_unmake(r->options.out, r->made);
    rounds_close(&r->rounds);
    profile_free(&r->summary.profile);
    stet_group_unlink(r->ranks.group);
    stet_sim_destroy(r->sim);
    stet_model_destroy(r->model);
    ranks_close(&r->ranks);
    control_close(&r->control);
    file_list_free(&r->summary.files);
    options_free(&r->options);
}

int run_main(int argc, char **argv)
{
    run r = {.frame = STET_FRAME_LATEST};
    report_begin("stet run", WARNINGS_KEPT);
    int code = ranks_open(&r.ranks);
    if (code < 0) code = ranks_divide(&r.ranks, &r.options, argc, argv, options_read(argc, argv, &r.options));
    r.summary.options = &r.options;
    r.summary.rounds = &r.rounds;
    r.summary.ranks = &r.ranks;
    if (code < 0) code = prepare(&r);
    r.summary.sim = r.sim;
    if (code < 0) code = all_frames(&r);
    if (code < 0 && r.summary.interrupted && r.summary.done == 0) code = say_interrupted(&r);
    if (code < 0) code = take_hashes(&r);
    if (code < 0) code = write_files(&r);
    code = ranks_agree(&r.ranks, code, EXIT_WORK);
    if (code < 0) code = report(&r);
    clean_up(&r);
    return code;
}
