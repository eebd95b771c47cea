/* Texts that grow; see text_buffer.h. */
#include "kernel/compile/text_buffer.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Makes room for n more bytes and the final zero. */
static bool reserve(sti_text_buffer *t, size_t n)
{
    if (t->result != STET_OK) return false;
    size_t wanted = t->size + n + 1, have = sti_block_size(t->data);
    if (wanted <= have) return true;
    size_t grown = have * 2 > wanted ? have * 2 : wanted + 256;
    t->result = sti_realloc(&t->data, grown, "a text");
    return t->result == STET_OK;
}

void sti_text_buffer_add(sti_text_buffer *t, const char *bytes, size_t n)
{
    if (!reserve(t, n)) return;
    if (n > 0) memcpy(t->data + t->size, bytes, n);
    t->size += n;
    t->data[t->size] = 0;
}

void sti_text_buffer_put(sti_text_buffer *t, const char *string) { sti_text_buffer_add(t, string, strlen(string)); }

void sti_text_buffer_format(sti_text_buffer *t, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    sti_text_buffer_put(t, text);
}

void sti_text_buffer_free(sti_text_buffer *t)
{
    sti_free(t->data);
    *t = (sti_text_buffer){0};
}

stet_result sti_text_buffer_read(sti_text_buffer *t, int fd, size_t limit, const char *name)
{
    size_t start = t->size;
    for (;;) {
        if (!reserve(t, 1 << 14)) return t->result;
        ssize_t n = read(fd, t->data + t->size, 1 << 14);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return sti_error(STET_ERROR_IO, "%s: cannot be read: %s", name, strerror(errno));
        t->size += (size_t)n;
        t->data[t->size] = 0;
        if (t->size - start > limit)
            return sti_error(STET_ERROR_LIMIT, "%s: larger than the %zu bytes that are read", name, limit);
        if (n == 0) return STET_OK;
    }
}

bool sti_write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            if (n == 0) errno = ENOSPC;
            return false;
        }
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static void add_piece(void *context, const char *text, size_t size) { sti_text_buffer_add(context, text, size); }

sti_sink sti_text_buffer_sink(sti_text_buffer *t) { return (sti_sink){add_piece, t}; }
