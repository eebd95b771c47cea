/*
 * Results, messages, memory hooks: what every other header needs.
 */
#ifndef STET_BASE_H
#define STET_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(STET_SHARED) && defined(__GNUC__)
#define STET_API __attribute__((visibility("default")))
#else
#define STET_API
#endif

#define STET_VERSION_MAJOR 0
#define STET_VERSION_MINOR 1
#define STET_VERSION_PATCH 0

/* Every result: name, sentence. Zero is success. */
#define STET_RESULTS(X)                                                                                                \
    X(OK, "ok")                                                                                                        \
    X(INVALID_ARGUMENT, "an argument is not valid")                                                                    \
    X(NOT_FOUND, "no such thing")                                                                                      \
    X(IO, "a file could not be read or written")                                                                       \
    X(PARSE, "a file's content is not understood")                                                                     \
    X(OUT_OF_MEMORY, "out of memory")                                                                                  \
    X(UNSUPPORTED, "not supported")                                                                                    \
    X(LIMIT, "a limit is exceeded")                                                                                    \
    X(STRICT, "a fallback happened in strict mode")                                                                    \
    X(AUDIT, "a mechanism let stand what had changed")                                                                 \
    X(STATE, "not possible in this state")                                                                             \
    X(DEVICE, "the device reported an error")                                                                          \
    X(INTERRUPTED, "ended early, as the caller asked")                                                                 \
    X(FAULT, "a checked kernel went out of bounds")

typedef enum stet_result {
#define STET_RESULT_ENUM(name, sentence) STET_##name,
    STET_RESULTS(STET_RESULT_ENUM)
#undef STET_RESULT_ENUM
        STET_RESULT_COUNT
} stet_result;

/*
 * In all of stet a pointer is needed where nothing is said of NULL. Without it a function returns INVALID_ARGUMENT; one
 * that returns no result returns 0, "", NULL or zeros, and does nothing.
 */

/* The general sentence of a result; never NULL. */
STET_API const char *stet_result_string(stet_result result);

/*
 * The message of this thread's last failed call: one sentence that says what, where and what to do. Empty before the
 * first failure. Valid until the next failure in this thread.
 */
STET_API const char *stet_last_error(void);

/* Source file and line where that error was born, "file.c:123"; for bug reports. */
STET_API const char *stet_last_error_where(void);

/*
 * Allocation hook, process wide, to be set before anything is created (STET_STATE otherwise). `alloc` returns memory
 * aligned to `align` (a power of two, at least 16) or NULL; `release` gets what `alloc` gave. NULL, NULL restores the
 * default.
 */
typedef void *stet_alloc_fn(size_t size, size_t align, void *context);
typedef void stet_free_fn(void *memory, void *context);
STET_API stet_result stet_set_allocator(stet_alloc_fn *alloc, stet_free_fn *release, void *context);

/*
 * Blocks and bytes now held through the hook, and calls made; for leak tests and "no allocation in the steady state".
 */
typedef struct stet_memory_stats {
    int64_t blocks, bytes, peak_bytes, allocations;
} stet_memory_stats;
STET_API stet_memory_stats stet_get_memory_stats(void);

typedef enum stet_log_level { STET_LOG_ERROR, STET_LOG_WARNING, STET_LOG_INFO } stet_log_level;
/* Called for warnings and information; may be called from any thread. NULL (the default): silence. */
typedef void stet_log_fn(stet_log_level level, const char *message, void *context);
STET_API void stet_set_log(stet_log_fn *log, void *context);

#ifdef __cplusplus
}
#endif
#endif
