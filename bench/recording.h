/* Body poses of the hand that were recorded (scenes/recordings), played in place of physics. */
#ifndef STET_BENCH_RECORDING_H
#define STET_BENCH_RECORDING_H

#include "bench/bench.h"

#include "cli/files/npy.h"

typedef struct bench_recording {
    int64_t nworld, nframe;
    npy_array recorded[2]; /* xpos, xquat: [nframe][1][items] */
    stet_array *pose[2];
    float *buffer[2]; /* of all worlds */
} bench_recording;

/* Reads the recordings for a sim of the hand; `what`: the benchmark, for messages. */
stet_result bench_recording_open(bench_recording *r, const bench *b, stet_sim *sim, const char *what);
void bench_recording_close(bench_recording *r);
/* Fills the buffers, which stands for the other physics: world w is 7 w frames ahead. */
void bench_recording_fill(bench_recording *r, int64_t frame);
/* Writes the buffers to the poses of all worlds. */
stet_result bench_recording_write(bench_recording *r);

#endif
