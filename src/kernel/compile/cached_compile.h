/*
 * Compiled code from the disk cache, or compiled now and kept there: mechanism kernel_cache.
 *
 * Invariants:
 *   COMPILE-1  what is absent, refused, damaged or somebody else's is compiled; with or without a cache the code is the same
 *   COMPILE-2  of several that are wanted at once, those that are missing are compiled at the same time
 *   COMPILE-3  who compiles for the cache holds the locks of all that he compiles, taken in the order of their ids, so that no two
 *       processes compile the same or wait for each other
 *   COMPILE-4  counting and messages are the calling thread's alone
 */
#ifndef STI_KERNEL_COMPILE_CACHED_COMPILE_H
#define STI_KERNEL_COMPILE_CACHED_COMPILE_H

#include "device/device.h"
#include "kernel/compile/cache.h"

/* One piece of code that is wanted. */
typedef struct sti_wanted {
    sti_cache_key key;
    const char *what;   /* for messages and traces: the source's file, … */
    const char *kernel; /* … the kernel, NULL: there are several, … */
    int line;           /* … and its line */
    stet_result (*compile)(void *context, sti_text_buffer *object); /* adds the code to object */
    void *context;
    sti_text_buffer object; /* the code; the caller frees it, after a failure too */
} sti_wanted;

/* Where it may be kept. */
typedef struct sti_keeping {
    const char *folder; /* NULL: the default one */
    int64_t limit;      /* bytes; 0: the usual */
    bool parallel;      /* `compile` may run in several threads of the device */
} sti_keeping;

/*
 * Fills the objects of all n. On failure the message is that of the first that failed. Under audit what was found is compiled
 * all the same and compared.
 */
stet_result sti_cached_compile(stet_device *device, const sti_keeping *keeping, sti_wanted *wanted, int n);

#endif
