/*
 * A text that grows. Pieces are added without a check of each result: the first failure is stored in `result`, which
 * the caller checks at the end.
 */
#ifndef STI_KERNEL_COMPILE_TEXT_BUFFER_H
#define STI_KERNEL_COMPILE_TEXT_BUFFER_H

#include "kernel/compile/generate.h"
#include "stet/base.h"

typedef struct sti_text_buffer {
    char *data;  /* zero-terminated; NULL while nothing was added */
    size_t size; /* bytes, without the final zero */
    stet_result result;
} sti_text_buffer;

void sti_text_buffer_add(sti_text_buffer *t, const char *bytes, size_t n);
void sti_text_buffer_put(sti_text_buffer *t, const char *string);
/* At most 1023 bytes. */
void sti_text_buffer_format(sti_text_buffer *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sti_text_buffer_free(sti_text_buffer *t);
/* Adds the rest of an open file, at most `limit` bytes (STET_ERROR_LIMIT if there are more). `name` is for messages. */
stet_result sti_text_buffer_read(sti_text_buffer *t, int fd, size_t limit, const char *name);
/* Writes all bytes. Returns false with errno set on failure. */
bool sti_write_all(int fd, const void *data, size_t size);
sti_sink sti_text_buffer_sink(sti_text_buffer *t);

#endif
