/* Results, messages, the memory hook and the log hook. Every other header includes this one. */
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

/* Every error: name, general sentence. */
#define STET_ERRORS(X)                                                                                                 \
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
    STET_OK,
#define STET_ERROR_ENUM(name, sentence) STET_ERROR_##name,
    STET_ERRORS(STET_ERROR_ENUM)
#undef STET_ERROR_ENUM
        STET_RESULT_COUNT
} stet_result;

/*
 * A pointer argument must not be NULL unless its comment says that NULL is allowed. With a NULL that is not allowed, a
 * function that returns a stet_result returns STET_ERROR_INVALID_ARGUMENT; any other function returns 0, "", NULL or
 * zeros. In both cases it does nothing else.
 */

/* The general sentence of a result code; never NULL. */
STET_API const char *stet_result_sentence(stet_result result);

/*
 * The message of this thread's last failed call: one sentence that says what failed, where, and what to do. Empty
 * before the first failure. Borrowed until the next failure in this thread.
 */
STET_API const char *stet_get_last_error(void);

/* The source file and line that raised that error, "file.c:123". For bug reports. */
STET_API const char *stet_get_last_error_where(void);

/*
 * Sets the allocation hook of the whole process. Call it before anything is created; later it returns STET_ERROR_STATE.
 * `alloc` returns memory aligned to `align` bytes (a power of two, at least 16), or NULL. `release` gets the pointers
 * that `alloc` returned. NULL, NULL restores the default.
 */
typedef void *stet_alloc_fn(size_t size, size_t align, void *context);
typedef void stet_free_fn(void *memory, void *context);
STET_API stet_result stet_set_allocator(stet_alloc_fn *alloc, stet_free_fn *release, void *context);

/*
 * Blocks and bytes that are allocated through the hook now, and the number of calls of the hook. Tests use it to find
 * leaks and allocations in the steady state.
 */
typedef struct stet_memory_stats {
    int64_t blocks, bytes, peak_bytes, allocations;
} stet_memory_stats;
STET_API stet_memory_stats stet_get_memory_stats(void);

typedef enum stet_log_level { STET_LOG_ERROR, STET_LOG_WARNING, STET_LOG_INFO } stet_log_level;
/* Receives warnings and information. It may be called from any thread. NULL (the default): no log. */
typedef void stet_log_fn(stet_log_level level, const char *message, void *context);
STET_API void stet_set_log(stet_log_fn *log, void *context);

#ifdef __cplusplus
}
#endif
#endif
