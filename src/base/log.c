/*
 * The log callback, through which the library reports everything that is not a failure.
 *
 * Invariant: callback and context are always read as the pair that was set, whatever other threads do.
 */
#include "base/error.h"
#include "base/printable.h"

#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

enum { LINE_SIZE = 1024 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static stet_log_fn *log_function;
static void *log_context;

/* A child forked while another thread is in here can log. */
static void take_lock(void) { pthread_mutex_lock(&lock); }
static void give_lock(void) { pthread_mutex_unlock(&lock); }
__attribute__((constructor)) static void watch_forks(void) { (void)pthread_atfork(take_lock, give_lock, give_lock); }

void stet_set_log(stet_log_fn *log, void *context)
{
    take_lock();
    log_function = log;
    log_context = context;
    give_lock();
}

void sti_log(stet_log_level level, const char *format, ...)
{
    assert(format);
    take_lock();
    stet_log_fn *log = log_function;
    void *context = log_context;
    give_lock();
    if (!log) return;
    /* Called without the lock, so that a callback may log or set another callback. */
    char line[LINE_SIZE] = "";
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    sti_make_printable(line);
    log(level, line, context);
}
