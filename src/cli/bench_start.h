/* The first frame of a new process; see bench_start.c. */
#ifndef STI_CLI_BENCH_START_H
#define STI_CLI_BENCH_START_H

#include "cli/bench.h"

/* What `stet bench --first-frame FOLDER` does: prints the seconds of making a device, and from there to the first frame. */
stet_result bench_first_frame(const bench *b, const char *folder);

#endif
