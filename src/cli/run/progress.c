/* See progress.h. */
#include "cli/run/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double progress_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void progress_begin(progress *p, bool wanted, int64_t total, const char *unit)
{
    *p = (progress){.shown = wanted && isatty(STDERR_FILENO), .unit = unit, .total = total, .started = progress_now()};
}

void progress_note(const progress *p, const char *note)
{
    if (!p->shown) return;
    fprintf(stderr, "\r%s ", note);
    fflush(stderr);
}

void progress_update(progress *p, int64_t done)
{
    double now = progress_now();
    if (!p->shown || (now - p->drawn < 0.1 && done < p->total)) return;
    p->drawn = now;
    enum { WIDTH = 40 };
    int filled = p->total > 0 ? (int)(done * WIDTH / p->total) : WIDTH;
    char bar[WIDTH + 1];
    memset(bar, '#', (size_t)filled);
    memset(bar + filled, '.', (size_t)(WIDTH - filled));
    bar[WIDTH] = 0;
    double spent = now - p->started, left = done > 0 ? spent * (double)(p->total - done) / (double)done : 0;
    fprintf(stderr, "\r[%s] %lld/%lld %s, %.0f s left ", bar, (long long)done, (long long)p->total, p->unit, left);
    fflush(stderr);
}

void progress_end(progress *p)
{
    if (p->shown) fprintf(stderr, "\r%80s\r", "");
    p->shown = false;
}
