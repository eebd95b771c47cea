/*
 * Memory, names and diagnostics of a unit; see unit.h.
 */
#include "kernel/check/unit.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1 << 15, ALIGN = 16, MESSAGE = 512 };

void *sti_unit_alloc(sti_unit *u, size_t size)
{
    if (u->failed) return NULL;
    size = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (size > u->left) {
        size_t piece = size > PIECE ? size : PIECE;
        char *fresh;
        if (sti_arena_take(&u->arena, piece, &fresh) != STET_OK) {
            u->failed = true;
            return NULL;
        }
        u->piece = fresh;
        u->left = piece;
    }
    assert(size <= u->left && (uintptr_t)u->piece % ALIGN == 0);
    void *out = u->piece;
    u->piece += size;
    u->left -= size;
    return out;
}

bool sti_unit_grow(sti_unit *u, void *items, size_t count, size_t *capacity, size_t size)
{
    assert(count <= *capacity && size > 0);
    if (count < *capacity) return true;
    size_t more = *capacity ? 2 * *capacity : 16;
    void *now, *fresh = sti_unit_alloc(u, more * size);
    if (!fresh) return false;
    memcpy(&now, items, sizeof now);
    if (count > 0) memcpy(fresh, now, count * size);
    memcpy(items, &fresh, sizeof fresh);
    *capacity = more;
    return true;
}

static uint32_t bucket_of(const char *text, size_t length)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < length; ++i) h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h % STI_CHECK_BUCKETS;
}

sti_name *sti_unit_find(const sti_unit *u, const char *text, size_t length)
{
    for (sti_name *n = u->bucket[bucket_of(text, length)]; n; n = n->next)
        if (n->length == length && memcmp(n->text, text, length) == 0) return n;
    return NULL;
}

sti_name *sti_unit_name(sti_unit *u, const char *text, size_t length)
{
    sti_name **bucket = &u->bucket[bucket_of(text, length)], *known = sti_unit_find(u, text, length);
    if (known) return known;
    sti_name *n = sti_unit_alloc(u, sizeof *n);
    char *copy = sti_unit_alloc(u, length + 1);
    if (!n || !copy) return NULL;
    memcpy(copy, text, length);
    *n = (sti_name){.text = copy, .length = (uint32_t)length, .next = *bucket};
    *bucket = n;
    return n;
}

const char *sti_unit_copy(sti_unit *u, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = sti_unit_alloc(u, size);
    if (copy) memcpy(copy, text, size);
    return copy;
}

static bool after(const sti_diagnostic *d, sti_source_place place)
{
    return d->line > (int)place.line || (d->line == (int)place.line && d->column > place.column);
}

/*
 * Inserts a diagnostic in the order of the source, because passes report mistakes one after the other. Files keep the
 * order of their first mistake.
 */
static void insert(sti_unit *u, sti_diagnostic *fresh, sti_source_place place)
{
    sti_diagnostic **at = &u->first;
    while (*at && (*at)->file != fresh->file) at = &(*at)->next;
    while (*at && (*at)->file == fresh->file && !after(*at, place)) at = &(*at)->next;
    assert(!fresh->next && fresh->message);
    fresh->next = *at;
    *at = fresh;
}

void sti_report_mistake(sti_unit *u, sti_source_place place, const char *format, ...)
{
    if (++u->nmistake > STI_CHECK_DIAGNOSTICS) return;
    char message[MESSAGE];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    sti_diagnostic *d = sti_unit_alloc(u, sizeof *d);
    const char *copy = sti_unit_copy(u, message);
    if (!d || !copy) return;
    *d = (sti_diagnostic){u->file[place.file], (int)place.line, place.column, copy, NULL};
    insert(u, d, place);
}
