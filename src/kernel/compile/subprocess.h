/*
 * Other programs: finding one, and running it to its end without a shell.
 */
#ifndef STI_KERNEL_COMPILE_SUBPROCESS_H
#define STI_KERNEL_COMPILE_SUBPROCESS_H

#include "kernel/compile/text_buffer.h"

/*
 * Its path as the user's PATH gives it; a name with a slash is a path already. STET_NOT_FOUND. The caller frees
 * *path.
 */
stet_result sti_subprocess_find(const char *name, char **path);

/*
 * Runs path with these arguments (argv[0] included, ended by NULL) and waits for it. `input` is what it reads; what it
 * writes to its two outputs is added to said. It works in `folder` (also its TMPDIR) and sees PATH, LD_LIBRARY_PATH,
 * HOME and LC_ALL=C of the environment, so that nothing else there has a say in what it does. status: its exit code;
 * 128 + the signal that ended it; 0 where the host program took the status first.
 */
stet_result sti_subprocess_run(const char *path, char *const *argv, const char *folder, const sti_text_buffer *input,
                               sti_text_buffer *said, int *status);

#endif
