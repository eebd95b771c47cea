/* Compilations in threads of their own; see beside.h. */
#define _GNU_SOURCE /* on_exit */
#include "kernel/compile/beside.h"

#include "base/temporary.h"
#include "kernel/compile/compiling.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MESSAGE = 1024 };

struct sti_beside {
    sti_compile_request *wanted;
    const char *folder;
    int64_t limit;
    bool keeps;      /* it is stored in the cache */
    stet_reason why; /* the reason to compile it */
    pthread_t thread;
    bool joinable;
    unsigned fork; /* threads.forks, when it began */
    /* ---- the thread's, until `done` ---- */
    bool found, stored; /* another process compiled it meanwhile; it was stored */
    stet_result result;
    char message[MESSAGE];
    /* ---- with the lock ---- */
    bool done;
    void (*drop)(void *context); /* NULL: it was not left */
    void *dropped;
};

/* All threads of the process. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int running;
    unsigned forks; /* how many forks lie between the first process and this one */
    bool left;      /* the end of the process does not wait (stet_leave_code_at_exit) */
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- the process (BESIDE-2, BESIDE-3) ---------------------------------------------------------------------------- */

static void before_fork(void) { (void)pthread_mutex_lock(&threads.lock); }
static void after_fork(void) { (void)pthread_mutex_unlock(&threads.lock); }
static void reset_in_child(void)
{
    threads.running = 0;
    threads.forks++;
    (void)pthread_cond_init(&threads.changed, NULL);
    (void)pthread_mutex_unlock(&threads.lock);
}

static void await_threads(void)
{
    (void)pthread_mutex_lock(&threads.lock);
    while (threads.running > 0) (void)pthread_cond_wait(&threads.changed, &threads.lock);
    (void)pthread_mutex_unlock(&threads.lock);
}

/* What is in a vendor's library ends with the process alone. */
static void end_at_once(int code)
{
    (void)fflush(NULL);
    sti_temporary_remove_all();
    _exit(code);
}

static void end_process(int code, void *context)
{
    (void)context;
    if (threads.left && sti_beside_is_running()) end_at_once(code);
    await_threads();
}

/* The vendor's library is loaded by now, so this runs before its own end. */
static void watch_process(void)
{
    (void)pthread_atfork(before_fork, after_fork, reset_in_child);
    (void)on_exit(end_process, NULL);
}

void stet_leave_code_at_exit(void) { threads.left = true; }

/* ---- the thread -------------------------------------------------------------------------------------------------- */

/* Another process may have compiled it before this one got the lock. */
static void compile_or_load(sti_beside *it, const sti_cache *cache, bool locked)
{
    sti_compile_request *w = it->wanted;
    sti_verdict verdict = STI_ABSENT;
    if (locked) it->result = sti_cache_load(cache, &w->key, &w->object, &verdict);
    it->found = verdict == STI_FOUND;
    if (it->found || it->result != STET_OK) return;
    it->result = w->compile(w->context, &w->object);
    if (it->result == STET_OK && locked)
        it->stored = sti_cache_store(cache, &w->key, w->object.data, w->object.size) == STET_OK;
}

static void compile_kept(sti_beside *it)
{
    sti_cache cache = {.folder = -1};
    bool open = it->keeps && sti_cache_open(it->folder, it->limit, false, &cache) == STET_OK;
    int lock = open ? sti_cache_lock(&cache, it->wanted->key.id, true) : -1;
    compile_or_load(it, &cache, lock >= 0);
    if (it->result != STET_OK) (void)snprintf(it->message, sizeof it->message, "%s", stet_get_last_error());
    if (lock >= 0) sti_cache_unlock(&cache, it->wanted->key.id, lock);
    sti_cache_close(&cache);
}

static void *run_beside(void *context)
{
    sti_beside *it = context;
    compile_kept(it);
    (void)pthread_mutex_lock(&threads.lock);
    it->done = true;
    if (it->drop) {
        (void)pthread_mutex_unlock(&threads.lock);
        it->drop(it->dropped);
        sti_free(it);
        (void)pthread_mutex_lock(&threads.lock);
    }
    assert(threads.running > 0 && "each thread is counted once");
    threads.running--;
    (void)pthread_cond_broadcast(&threads.changed);
    (void)pthread_mutex_unlock(&threads.lock);
    return NULL;
}

/* If the system has no thread for it, the caller compiles. Signals are for the caller's threads. */
static void start_thread(sti_beside *it)
{
    sigset_t all, saved;
    (void)pthread_mutex_lock(&threads.lock);
    threads.running++;
    it->fork = threads.forks;
    (void)pthread_mutex_unlock(&threads.lock);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &saved);
    it->joinable = pthread_create(&it->thread, NULL, run_beside, it) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &saved, NULL);
    if (!it->joinable) (void)run_beside(it);
}

/* ---- the caller -------------------------------------------------------------------------------------------------- */

/* Looks for it; `why` is NONE if it was found. */
static stet_result look_up(stet_device *device, sti_beside *it)
{
    sti_cache cache;
    sti_verdict verdict;
    it->why = STET_REASON_KERNEL_CACHE_DISABLED;
    if (!sti_enabled(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE)) return STET_OK;
    it->why = STET_REASON_KERNEL_CACHE_BESIDE;
    stet_result result = sti_cache_open(it->folder, it->limit, false, &cache);
    if (result == STET_ERROR_OUT_OF_MEMORY) return result;
    if (result != STET_OK) return sti_compile_fall_back(device, it->wanted, STET_REASON_KERNEL_CACHE_REFUSED);
    it->keeps = true;
    result = sti_cache_load(&cache, &it->wanted->key, &it->wanted->object, &verdict);
    sti_cache_close(&cache);
    STI_TRY(result);
    if (verdict == STI_FOUND)
        it->why = STET_REASON_NONE;
    else if (verdict != STI_ABSENT)
        it->why = sti_compile_reason(verdict);
    return STET_OK;
}

stet_result sti_beside_begin(stet_device *device, const sti_cache_options *keeping, sti_compile_request *wanted,
                             bool only_look, sti_beside **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    sti_beside *it;
    assert(wanted->compile && wanted->what && "a request says what it compiles");
    *out = NULL;
    STI_TRY(sti_alloc(&it, sizeof *it, "a compilation"));
    *it = (sti_beside){.wanted = wanted, .folder = keeping->folder, .limit = keeping->limit};
    stet_result result = look_up(device, it);
    bool found = it->why == STET_REASON_NONE;
    if (result == STET_OK && !found && !only_look) {
        (void)pthread_once(&once, watch_process);
        start_thread(it);
        *out = it;
        return STET_OK;
    }
    if (result == STET_OK && found) sti_compile_count_cached(device, wanted);
    sti_free(it);
    return result;
}

static bool has_ended(const sti_beside *it) { return it->done || it->fork != threads.forks; }

bool sti_beside_is_done(const sti_beside *it)
{
    (void)pthread_mutex_lock(&threads.lock);
    bool done = has_ended(it);
    (void)pthread_mutex_unlock(&threads.lock);
    return done;
}

bool sti_beside_leave(sti_beside *it, void (*drop)(void *context), void *context)
{
    (void)pthread_mutex_lock(&threads.lock);
    bool running = !has_ended(it);
    if (running) {
        assert(drop && !it->drop && it->joinable && "it is left once, to its own thread");
        it->drop = drop;
        it->dropped = context;
        (void)pthread_detach(it->thread);
    }
    (void)pthread_mutex_unlock(&threads.lock);
    return running;
}

static int count_ended(sti_beside *const *all, int n)
{
    int ended = 0;
    for (int i = 0; i < n; ++i) ended += has_ended(all[i]);
    return ended;
}

void sti_beside_wait(sti_beside *const *all, int n)
{
    (void)pthread_mutex_lock(&threads.lock);
    if (n > 0 && count_ended(all, n) == 0) {
        sti_compiling_begin(all[0]->wanted->what, n);
        while (count_ended(all, n) == 0) (void)pthread_cond_wait(&threads.changed, &threads.lock);
        sti_compiling_end();
    }
    (void)pthread_mutex_unlock(&threads.lock);
}

bool sti_beside_is_running(void)
{
    (void)pthread_mutex_lock(&threads.lock);
    bool running = threads.running > 0;
    (void)pthread_mutex_unlock(&threads.lock);
    return running;
}

/* The calls of a trace are on one thread: it shows the compilation at its end, as one moment. */
static stet_result count_compiled(stet_device *device, const sti_beside *it)
{
    const sti_compile_request *w = it->wanted;
    const sti_trace_what what = {
        STET_TRACE_COMPILE, w->kernel ? w->kernel : w->what, w->what, w->line, it->why, (int64_t)w->object.size, 0};
    if (device->mechanisms.trace) sti_trace_instant(device->mechanisms.trace, &what);
    sti_count_miss(&device->mechanisms, STET_MECHANISM_KERNEL_CACHE, it->why, 0, (int64_t)w->object.size);
    if (!it->keeps || it->stored) return STET_OK;
    (void)sti_error(STET_ERROR_IO, "kernel cache: the entry could not be written");
    return sti_compile_fall_back(device, w, STET_REASON_KERNEL_CACHE_NOT_KEPT);
}

stet_result sti_beside_end(stet_device *device, sti_beside *it)
{
    sti_beside_wait(&it, 1);
    bool ran = it->fork == threads.forks;
    assert(!it->drop && "what was left ends by itself");
    if (ran && it->joinable) (void)pthread_join(it->thread, NULL);
    stet_result result = STET_OK;
    if (!ran) {
        it->wanted->object = (sti_text_buffer){0}; /* in the middle of anything */
        result = sti_error(STET_ERROR_STATE, "%s: was being compiled when the process was forked", it->wanted->what);
    } else if (it->result != STET_OK) {
        result = sti_error(it->result, "%s", it->message);
    } else if (it->found) {
        sti_compile_count_cached(device, it->wanted);
    } else {
        result = count_compiled(device, it);
    }
    sti_free(it);
    return result;
}
