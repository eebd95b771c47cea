/* See progress.h. */
#include "cli/run/progress.h"

#include <signal.h>
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

/* ---- what it shows ----------------------------------------------------------------------------------------------- */

void progress_bar_text(int64_t done, int64_t total, const char *unit, double spent, char out[PROGRESS_LINE])
{
    enum { WIDTH = 36 };
    int filled = total > 0 ? (int)(done * WIDTH / total) : WIDTH;
    char bar[WIDTH + 1];
    memset(bar, '#', (size_t)filled);
    memset(bar + filled, '.', (size_t)(WIDTH - filled));
    bar[WIDTH] = 0;
    (void)snprintf(out, PROGRESS_LINE, "[%s] %lld/%lld %s, %.0f s left", bar, (long long)done, (long long)total, unit,
                   done > 0 ? spent * (double)(total - done) / (double)done : 0);
}

void progress_compiling_text(const sti_compiling *c, char out[PROGRESS_LINE])
{
    (void)snprintf(out, PROGRESS_LINE, "compiling %s, %d of %d done, %.0f s", c->what, c->done, c->total, c->since);
}

static void draw_line(const char *text)
{
    fprintf(stderr, "\r%-*s", PROGRESS_LINE - 1, text);
    fflush(stderr);
}

/* ---- while compilers work ---------------------------------------------------------------------------------------- */

static void draw_compiling(void)
{
    char text[PROGRESS_LINE];
    const sti_compiling now = sti_compiling_look();
    if (!now.waits) return;
    progress_compiling_text(&now, text);
    draw_line(text);
}

static void *watch_compilers(void *context)
{
    progress *p = context;
    (void)pthread_mutex_lock(&p->lock);
    while (!p->end) {
        struct timespec next;
        (void)clock_gettime(CLOCK_REALTIME, &next);
        next.tv_nsec += 250000000;
        next.tv_sec += next.tv_nsec / 1000000000;
        next.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&p->ended, &p->lock, &next);
        if (!p->end) draw_compiling();
    }
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* Without a thread the bar alone is shown. Signals are for the caller's. */
static void start_watching(progress *p)
{
    sigset_t all, saved;
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->ended, NULL);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &saved);
    p->joinable = pthread_create(&p->thread, NULL, watch_compilers, p) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &saved, NULL);
}

/* ---- the bar ----------------------------------------------------------------------------------------------------- */

void progress_begin(progress *p, bool wanted, int64_t total, const char *unit)
{
    *p = (progress){.shown = wanted && isatty(STDERR_FILENO),
                    .unit = unit,
                    .total = total,
                    .started = progress_now(),
                    .compiled = sti_compiling_look().seconds};
    if (p->shown) start_watching(p);
}

void progress_update(progress *p, int64_t done)
{
    char text[PROGRESS_LINE];
    double now = progress_now();
    if (!p->shown || (now - p->drawn < 0.1 && done < p->total)) return;
    (void)pthread_mutex_lock(&p->lock);
    p->drawn = now;
    progress_bar_text(done, p->total, p->unit, now - p->started - (sti_compiling_look().seconds - p->compiled), text);
    draw_line(text);
    (void)pthread_mutex_unlock(&p->lock);
}

void progress_end(progress *p)
{
    if (!p->shown) return;
    (void)pthread_mutex_lock(&p->lock);
    p->end = true;
    (void)pthread_cond_signal(&p->ended);
    (void)pthread_mutex_unlock(&p->lock);
    if (p->joinable) (void)pthread_join(p->thread, NULL);
    (void)pthread_cond_destroy(&p->ended);
    (void)pthread_mutex_destroy(&p->lock);
    fprintf(stderr, "\r%*s\r", PROGRESS_LINE - 1, "");
    p->shown = false;
}
