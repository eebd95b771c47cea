/*
 * Compiled code, loaded from the disk cache, or compiled and stored there (mechanism kernel_cache).
 *
 * Invariants:
 *   COMPILE-1  an entry that is absent, refused, damaged or another user's is compiled. The code is the same with or
 *       without a cache
 *   COMPILE-2  of several objects that are requested at once, the missing ones are compiled at the same time
 *   COMPILE-3  a process holds the locks of all entries that it compiles, taken in the order of their ids. So no two
 *       processes compile the same entry, and no two processes wait for each other
 *   COMPILE-4  only the calling thread counts and writes messages
 *   COMPILE-5  an audit compiles an entry once in a process; after that it compares the entry with what came of it
 */
#ifndef STI_KERNEL_COMPILE_CACHED_COMPILE_H
#define STI_KERNEL_COMPILE_CACHED_COMPILE_H

#include "device/device.h"
#include "kernel/compile/cache.h"

/* One request for compiled code. */
typedef struct sti_compile_request {
    sti_cache_key key;
    const char *what;   /* for messages and traces: the file of the source */
    const char *kernel; /* for messages and traces: the kernel; NULL: several kernels */
    int line;           /* the kernel's line in the file */
    /* Compiles: adds the code to `object`. */
    stet_result (*compile)(void *context, sti_text_buffer *object);
    void *context;
    sti_text_buffer object; /* the code; the caller frees it, after a failure too */
} sti_compile_request;

/* The cache to use. */
typedef struct sti_cache_options {
    const char *folder; /* NULL: the default folder */
    int64_t limit;      /* in bytes; 0: the default limit */
    bool parallel;      /* `compile` may run in several threads of the device */
} sti_cache_options;

/*
 * Fills the objects of n requests. On failure the message is that of the first request that failed. In audit mode
 * cached code is compiled again and compared (COMPILE-5).
 */
stet_result sti_cached_compile(stet_device *device, const sti_cache_options *keeping, sti_compile_request *wanted,
                               int n);

/* ---- for other ways to get code ---- */

/* Counts a fallback. The thread's message gives the cause. */
stet_result sti_compile_fall_back(stet_device *device, const sti_compile_request *wanted, stet_reason why);
/* The reason to compile what the cache did not have. */
stet_reason sti_compile_reason(sti_verdict verdict);
/* Counts code that the cache had. */
void sti_compile_count_cached(stet_device *device, const sti_compile_request *wanted);
/* Counts code that was shipped (compiled.h). */
void sti_compile_count_shipped(stet_device *device, const sti_compile_request *wanted);
/* Counts shipped code that is no good, as a fallback. */
stet_result sti_compile_unfit(stet_device *device, const sti_compile_request *wanted, sti_verdict verdict);

#endif
