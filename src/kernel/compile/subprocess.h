/*
 * Finds other programs and runs them to their end, without a shell.
 */
#ifndef STI_KERNEL_COMPILE_SUBPROCESS_H
#define STI_KERNEL_COMPILE_SUBPROCESS_H

#include "kernel/compile/text_buffer.h"

/*
 * Finds a program in the user's PATH; a name with a slash is a path already. STET_ERROR_NOT_FOUND if there is none. The
 * caller frees *path.
 */
stet_result sti_subprocess_find(const char *name, char **path);

/* What to do, once, when a program has run for so long. */
typedef struct sti_patience {
    int milliseconds;
    void (*over)(void *context);
    void *context;
} sti_patience;

/*
 * Runs the program `path` with these arguments (argv[0] included, ended by NULL) and waits for it. `input` is its
 * standard input. Its standard output and error output are added to `said`. It runs in `folder`, which is also its
 * TMPDIR. Of the environment it sees PATH, LD_LIBRARY_PATH and HOME, and LC_ALL=C, so that no other variable changes
 * its behaviour. *status: its exit code; 128 + the signal that ended it; 0 if the host program took the status first.
 * patience: NULL, or for a program that may run long.
 */
stet_result sti_subprocess_run(const char *path, char *const *argv, const char *folder, const sti_text_buffer *input,
                               sti_text_buffer *said, const sti_patience *patience, int *status);

#endif
