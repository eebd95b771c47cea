/* A progress bar on standard error, only on a terminal. */
#ifndef STI_CLI_RUN_PROGRESS_H
#define STI_CLI_RUN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct progress {
    bool shown;
    const char *unit;
    int64_t total;
    double started, drawn; /* seconds */
} progress;

double progress_now(void); /* monotonic seconds */
void progress_begin(progress *p, bool wanted, int64_t total, const char *unit);
void progress_note(const progress *p, const char *note); /* until the next update; at most 80 characters */
void progress_update(progress *p, int64_t done);         /* draws at most ten times a second */
void progress_end(progress *p);                          /* clears the line */

#endif
