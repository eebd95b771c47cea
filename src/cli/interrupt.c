/* See interrupt.h. The handler does only what is safe in a signal handler. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sigaction */
#endif
#include "cli/interrupt.h"

#include "base/temporary.h"
#include "kernel/compile/compiling.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int awaited, begun, noted;

static void end_at_once(int number)
{
    sti_temporary_remove_all();
    (void)signal(number, SIG_DFL);
    (void)kill(getpid(), number); /* in the handler: delivered when that returns */
}

static void handle(int number)
{
    int none = 0, error = errno; /* that of the code that is interrupted */
    const bool waits = !atomic_load(&begun) && sti_compiling_waits();
    if (!atomic_load(&awaited) || waits || !atomic_compare_exchange_strong(&noted, &none, number)) end_at_once(number);
    errno = error;
}

/* A signal that was noted before the wait began. */
static void look_before_wait(void)
{
    const int number = atomic_load(&noted);
    if (number && !atomic_load(&begun)) end_at_once(number);
}

void interrupt_begin(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART}, old;
    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
}

void interrupt_await(bool something)
{
    atomic_store(&begun, something);
    sti_compiling_on_wait(look_before_wait);
    atomic_store(&awaited, 1);
}

int interrupt_signal(void) { return atomic_load(&noted); }
