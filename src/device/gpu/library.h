/*
 * Finding a shared library that stet was not linked with: a driver, a run-time compiler.
 *
 * Invariants:
 *   LIBRARY-1  a library is one of a list of names, best first, each looked for where the system's loader looks, then in each of
 *       a list of folders, then where Python's packages are; nothing is fixed to one version
 *   LIBRARY-2  what was found says which file it is; what was not says what was looked for, and why what is there is not used
 *   LIBRARY-3  a path that the caller gave is the only one that is tried
 *   LIBRARY-4  no folder is searched because the process happens to work in it
 */
#ifndef STI_DEVICE_GPU_LIBRARY_H
#define STI_DEVICE_GPU_LIBRARY_H

#include "base/error.h"

typedef struct sti_library {
    void *handle;   /* NULL: nothing is open */
    char file[512]; /* the file that was loaded; the name where the loader does not say */
} sti_library;

typedef struct sti_library_names {
    const char *what;           /* for sentences: "NVIDIA's driver" */
    const char *const *names;   /* sonames, best first, ended by NULL: "libnvrtc.so.13", "libnvrtc.so.12", … */
    const char *const *folders; /* patterns as of glob(3), ended by NULL; NULL: none */
    const char *const *wheels; /* within a Python's site-packages, ended by NULL; NULL: none: "nvidia/cuda_nvrtc/lib" */
} sti_library_names;

/* What compiles kernels when they are first used: NVRTC, hipRTC (cuda.c, hip.c). */
extern const sti_library_names sti_cuda_compiler, sti_hip_compiler;

/*
 * Opens the best of them, or `given` alone if it is not NULL. STET_NOT_FOUND: the sentence says what was looked for, and
 * what the loader said of those that are there. *out is empty on failure.
 */
stet_result sti_library_open(const sti_library_names *names, const char *given, sti_library *out);
/* An empty one is fine. */
void sti_library_close(sti_library *library);

/* The address of a symbol; NULL: it has none of this name. */
void *sti_library_symbol(const sti_library *library, const char *symbol);

#endif
