/*
 * Results, and the message of the thread's last failure.
 *
 * Invariants: nothing here allocates; a message and its file are always NUL-terminated; each thread has its own.
 */
#include "base/error.h"

#include "base/printable.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE = 1024, WHERE_SIZE = 128 };

static _Thread_local char last_message[MESSAGE_SIZE];
static _Thread_local char last_where[WHERE_SIZE];

const char *stet_result_sentence(stet_result result)
{
    static const char *const sentences[] = {
#define SENTENCE(name, sentence) sentence,
        "ok", STET_ERRORS(SENTENCE)
#undef SENTENCE
    };
    unsigned index = (unsigned)result;
    return index < STET_RESULT_COUNT ? sentences[index] : "not a result of this library";
}

const char *stet_get_last_error(void) { return last_message; }

const char *stet_get_last_error_where(void) { return last_where; }

/* Ends a text that vsnprintf cut (`length` is the full length) with "...", between two UTF-8 characters. */
static void mark_cut(char *text, size_t size, int length)
{
    if (length >= 0 && (size_t)length < size) return;
    size_t end = strlen(text);
    if (end > size - sizeof("...")) end = size - sizeof("...");
    while (end > 0 && ((unsigned char)text[end] & 0xC0u) == 0x80u) end--;
    memcpy(text + end, "...", sizeof("..."));
    assert(strlen(text) < size);
}

stet_result sti_error_at(stet_result result, const char *file, int line, const char *format, ...)
{
    assert(result != STET_OK && (unsigned)result < STET_RESULT_COUNT && "an error has a result of its own");
    assert(file && line > 0 && format);
    /* Formatted into a second buffer, because an argument may be the present message. */
    char message[MESSAGE_SIZE] = "";
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    mark_cut(message, sizeof message, length);
    sti_make_printable(message);
    memcpy(last_message, message, sizeof message);
    const char *slash = strrchr(file, '/');
    length = snprintf(last_where, sizeof last_where, "%s:%d", slash ? slash + 1 : file, line);
    mark_cut(last_where, sizeof last_where, length);
    return result;
}

stet_result sti_error_prefix(stet_result result, const char *format, ...)
{
    assert(result != STET_OK && (unsigned)result < STET_RESULT_COUNT && format);
    char message[MESSAGE_SIZE] = "";
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    mark_cut(message, sizeof message, length);
    sti_make_printable(message);
    size_t used = strlen(message);
    length = snprintf(message + used, sizeof message - used, ": %s", last_message);
    if (length < 0 || (size_t)length >= sizeof message - used) mark_cut(message, sizeof message, MESSAGE_SIZE);
    memcpy(last_message, message, sizeof message);
    return result;
}
