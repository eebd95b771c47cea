/*
 * SIGINT, SIGTERM and SIGHUP. By default they end the command at once, and files that it had begun are removed
 * (base/temporary.h). After interrupt_await the first signal is only noted, so the command can end in order; but as
 * long as nothing is done yet that would be lost, it ends the command at once while that waits for a compiler.
 */
#ifndef STI_CLI_INTERRUPT_H
#define STI_CLI_INTERRUPT_H

#include <stdbool.h>

/* Call once at the start of the process. Ignored signals stay ignored. */
void interrupt_begin(void);
/* From now on the first signal is noted; the second ends the process at once. begun: something would be lost. */
void interrupt_await(bool begun);
/* The number of the noted signal, or 0. */
int interrupt_signal(void);
/* The exit code of a command that this signal ended, as shells have it. */
static inline int interrupt_code(int number) { return 128 + number; }

#endif
