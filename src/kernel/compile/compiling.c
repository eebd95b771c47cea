/* See compiling.h. A fork may find the lock taken, so nobody waits for it: what is shown is late then. */
#include "kernel/compile/compiling.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct {
    atomic_int waiting, done, total;
    void (*on_wait)(void);
    pthread_mutex_t lock;
    /* ---- with the lock ---- */
    double began, seconds;
    char what[sizeof((sti_compiling *)0)->what];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool take(void) { return pthread_mutex_trylock(&state.lock) == 0; }
static void give(void) { (void)pthread_mutex_unlock(&state.lock); }

void sti_compiling_name(const char *what)
{
    const size_t length = strlen(what), most = sizeof state.what - 1;
    if (!take()) return;
    (void)snprintf(state.what, sizeof state.what, "%s", what + (length > most ? length - most : 0));
    give();
}

void sti_compiling_begin(const char *what, int n)
{
    sti_compiling_name(what);
    if (atomic_load(&state.waiting) == 0) {
        atomic_store(&state.done, 0);
        atomic_store(&state.total, 0);
        if (take()) {
            state.began = now();
            give();
        }
    }
    (void)atomic_fetch_add(&state.total, n);
    (void)atomic_fetch_add(&state.waiting, 1);
    if (state.on_wait) state.on_wait();
}

void sti_compiling_on_wait(void (*hook)(void)) { state.on_wait = hook; }

void sti_compiling_done(void) { (void)atomic_fetch_add(&state.done, 1); }

void sti_compiling_end(void)
{
    if (atomic_fetch_sub(&state.waiting, 1) > 1 || !take()) return;
    state.seconds += now() - state.began;
    give();
}

sti_compiling sti_compiling_look(void)
{
    sti_compiling out = {
        .waits = sti_compiling_waits(), .done = atomic_load(&state.done), .total = atomic_load(&state.total)};
    (void)pthread_mutex_lock(&state.lock);
    if (out.waits) out.since = now() - state.began;
    out.seconds = state.seconds + out.since;
    memcpy(out.what, state.what, sizeof out.what);
    give();
    return out;
}

bool sti_compiling_waits(void) { return atomic_load(&state.waiting) > 0; }
