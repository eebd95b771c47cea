/*
 * A text that grows: pieces are added without looking at each result; the first failure sticks and is found at the end.
 */
#ifndef STI_KERNEL_COMPILE_TEXT_BUFFER_H
#define STI_KERNEL_COMPILE_TEXT_BUFFER_H

#include "kernel/compile/generate.h"
#include "stet/base.h"

typedef struct sti_text_buffer {
    char *data;  /* zero-terminated beyond its size; NULL while nothing was added */
    size_t size; /* bytes, without that zero */
    stet_result result;
} sti_text_buffer;

void sti_text_buffer_add(sti_text_buffer *t, const char *bytes, size_t n);
void sti_text_buffer_put(sti_text_buffer *t, const char *string);
/* At most 1023 bytes. */
void sti_text_buffer_format(sti_text_buffer *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sti_text_buffer_free(sti_text_buffer *t);
/*
 * Adds what a file holds from its present place on, at most `limit` bytes of it (STET_LIMIT beyond); `name` is for
 * messages.
 */
stet_result sti_text_buffer_read(sti_text_buffer *t, int fd, size_t limit, const char *name);
/* Writes all of it; false with errno set. */
bool sti_write_all(int fd, const void *data, size_t size);
sti_sink sti_text_buffer_sink(sti_text_buffer *t);

#endif
