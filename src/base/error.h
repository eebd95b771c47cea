/*
 * Errors: a result code, and per thread one message with the file and line where the error was set.
 */
#ifndef STI_BASE_ERROR_H
#define STI_BASE_ERROR_H

#include "stet/base.h"

/*
 * Sets the thread's message. The value is the result, which is evaluated twice:
 *     return sti_error(STET_ERROR_NOT_FOUND, "scene %s: no such file; check the path", path);
 */
#define sti_error(result, ...) (sti_error_at((result), __FILE__, __LINE__, __VA_ARGS__), (result))
stet_result sti_error_at(stet_result result, const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Puts "prefix: " in front of the present message and keeps its file and line. Returns result. */
stet_result sti_error_prefix(stet_result result, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Returns from the calling function if an expression is not STET_OK. */
#define STI_TRY(expression)                                                                                            \
    do {                                                                                                               \
        stet_result sti_result_ = (expression);                                                                        \
        if (sti_result_ != STET_OK) return sti_result_;                                                                \
    } while (0)

void sti_log(stet_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
