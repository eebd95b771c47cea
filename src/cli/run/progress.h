/*
 * A progress bar on standard error, only on a terminal. While the run waits for compilers, a thread shows what they
 * make instead; the time left is that of frames alone.
 */
#ifndef STI_CLI_RUN_PROGRESS_H
#define STI_CLI_RUN_PROGRESS_H

#include "kernel/compile/compiling.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef struct progress {
    bool shown;
    const char *unit;
    int64_t total;
    double started, drawn; /* seconds */
    double compiled;       /* seconds that the process had waited for compilers at the start */
    pthread_t thread;
    bool joinable;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool end;
} progress;

double progress_now(void); /* monotonic seconds */
void progress_begin(progress *p, bool wanted, int64_t total, const char *unit);
void progress_update(progress *p, int64_t done); /* draws at most ten times a second */
void progress_end(progress *p);                  /* clears the line */

/* ---- what it shows ----------------------------------------------------------------------------------------------- */

enum { PROGRESS_LINE = 80 };

/* Of `done` of `total` in so many seconds of work. */
void progress_bar_text(int64_t done, int64_t total, const char *unit, double spent, char out[PROGRESS_LINE]);
void progress_compiling_text(const sti_compiling *c, char out[PROGRESS_LINE]);

#endif
