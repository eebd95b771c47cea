/* See interrupt.h. The handler does only what is safe in a signal handler. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sigaction */
#endif
#include "cli/interrupt.h"

#include "base/temporary.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_int awaited, noted;

static void handle(int number)
{
    int none = 0, error = errno; /* that of the code that is interrupted */
    if (atomic_load(&awaited) && atomic_compare_exchange_strong(&noted, &none, number)) return;
    sti_temporary_remove_all();
    (void)signal(number, SIG_DFL);
    (void)kill(getpid(), number); /* delivered when the handler returns */
    errno = error;
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

void interrupt_await(void) { atomic_store(&awaited, 1); }

int interrupt_signal(void) { return atomic_load(&noted); }
