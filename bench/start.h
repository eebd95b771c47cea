/* The first frame of a new process; see start.c. */
#ifndef STET_BENCH_START_H
#define STET_BENCH_START_H

#include "bench/bench.h"

/*
 * What `stet bench --first-frame FOLDER` does: prints the seconds of making a device, and from there to the first
 * frame.
 */
stet_result bench_first_frame(const bench *b, const char *folder);

#endif
