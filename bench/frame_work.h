/*
 * What `stet bench frame` plays: the hand in many worlds, its camera, and a frame of it, in one of the variants that
 * frame.c lists.
 */
#ifndef STET_BENCH_FRAME_WORK_H
#define STET_BENCH_FRAME_WORK_H

#include "bench/recording.h"

#include "base/hash.h"

enum {
    FRAME_SUBSTEPS = 2,
    FRAME_PHASES = 4, /* of the recording: poses of as many frames are made ahead */
    FRAME_REQUESTS = 2,
    FRAME_TURNS = 8 /* of each variant at most, an even number */
};

typedef struct frame_variant {
    char name[48];
    uint32_t on; /* mechanisms, a bit each */
    bool allocates;
    double ms[2][FRAME_TURNS]; /* a frame that moves; of a scene that rests in every second */
    stet_counters counters[2];
} frame_variant;

typedef struct frame_work {
    int64_t nworld;
    int width, height; /* of a picture */
    stet_model *model;
    stet_sim *sim;
    stet_snapshot *start;
    stet_tiles *tiles;
    stet_camera camera;
    stet_tile_request request[FRAME_REQUESTS];
    stet_tiles_def tiles_def;
    bench_recording recording[FRAME_PHASES]; /* with external physics */
    bool external;
    const frame_variant *variant;
    bool rests; /* in every second frame */
} frame_work;

/* w has its first three members, and nothing else. */
stet_result frame_work_open(frame_work *w, bench *b);
void frame_work_close(frame_work *w);
/* From the start again. */
stet_result frame_work_begin(frame_work *w, const frame_variant *v, bool rests);
/* A frame; tensor: its arrays; h: adds the frame's hashes. Either may be NULL. */
stet_result frame_work_play(frame_work *w, int64_t frame, stet_array **tensor, sti_hash *h);
/* Plays frames until the device has done them; *seconds: of one. */
stet_result frame_work_time(frame_work *w, int64_t first, int n, double *seconds);
/* Adds what a frame is, and what it was drawn from. */
stet_result frame_work_hash(frame_work *w, stet_array *const *tensor, sti_hash *h);

/* Seconds of a frame that the caller captured, of the host for it, and of the same frame without a graph. */
typedef struct frame_times {
    double captured, host, eager;
} frame_times;

/*
 * n frames that the caller captured, a graph for each phase, in the way of a tensor library: stet works in the caller's
 * stream. Each graph was launched before. The last frame equals that of the same frames without graphs, or it fails.
 */
stet_result frame_work_captured(frame_work *w, const frame_variant *v, int n, frame_times *out);

#endif
