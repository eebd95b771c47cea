/*
 * The environment of the process: the one place that reads it.
 *
 *   STET_DISABLE            mechanisms that are switched off
 *   STET_RANGES             ranges for profilers
 *   STET_CHECKED            1: people's kernels are made in checked mode
 *   XDG_CACHE_HOME, HOME    where the user's caches are
 *   PATH, LD_LIBRARY_PATH   handed on to the compiler
 *   VIRTUAL_ENV             where a Python's packages may hold libraries
 *   TMPDIR                  where the compiler works
 *   CC                      the compiler of kernels, where none is named
 */
#ifndef STI_BASE_ENVIRONMENT_H
#define STI_BASE_ENVIRONMENT_H

/* NULL where the variable is not set, or empty. Borrowed until somebody changes the environment. */
const char *sti_environment(const char *name);

#endif
