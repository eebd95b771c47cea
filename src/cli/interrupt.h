/*
 * SIGINT, SIGTERM and SIGHUP. A command is ended by them at once, and what it had begun to write is removed
 * (base/temporary.h); from interrupt_await on the first one is only noted, so that the command can end in order.
 */
#ifndef STI_CLI_INTERRUPT_H
#define STI_CLI_INTERRUPT_H

#include <stdbool.h>

/* Once, at the start of the process. Signals that are ignored stay so. */
void interrupt_begin(void);
/* From now on the first signal is noted; the second ends the process at once. */
void interrupt_await(void);
/* The number of the signal that was noted, or 0. */
int interrupt_signal(void);
/* The exit code that shells give to a command that such a signal ended. */
static inline int interrupt_code(int number) { return 128 + number; }

#endif
