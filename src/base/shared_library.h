/*
 * Finds and opens a shared library that stet was not linked with: a driver, a run-time compiler.
 *
 * Invariants:
 *   LIBRARY-1  a library is one of a list of names, best first. Each name is searched where the system's loader
 *       searches, then in each of a list of folders, then in Python's packages; nothing is fixed to one version
 *   LIBRARY-2  a library that was found says which file it is; otherwise the message says what was searched for, and
 *       why the files that exist are not used
 *   LIBRARY-3  a path that the caller gave is the only one that is tried
 *   LIBRARY-4  no folder is searched because it is the current directory
 */
#ifndef STI_BASE_SHARED_LIBRARY_H
#define STI_BASE_SHARED_LIBRARY_H

#include "base/error.h"

typedef struct sti_library {
    void *handle;   /* NULL: nothing is open */
    char file[512]; /* the file that was loaded; the name, if the loader does not say */
} sti_library;

typedef struct sti_library_names {
    const char *what;           /* for messages: "NVIDIA's driver" */
    const char *const *names;   /* sonames, best first, ended by NULL: "libnvrtc.so.13", "libnvrtc.so.12", … */
    const char *const *folders; /* patterns for glob(3), ended by NULL; NULL: none */
    /* folders within Python's site-packages, ended by NULL; NULL: none: "nvidia/cuda_nvrtc/lib" */
    const char *const *wheels;
} sti_library_names;

/*
 * Opens the best library of a list, or only `given` if it is not NULL. STET_ERROR_NOT_FOUND: the message says what was
 * searched for, and the loader's error for files that exist. *out is empty on failure.
 */
stet_result sti_library_open(const sti_library_names *names, const char *given, sti_library *out);
/* Does nothing for an empty one. */
void sti_library_close(sti_library *library);

/* Returns the address of a symbol; NULL: the library has no such symbol. */
void *sti_library_symbol(const sti_library *library, const char *symbol);

#endif
