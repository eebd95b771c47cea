/* Blocks and rows of a trace; see trace_rows.h. */
#include "base/trace_rows.h"

#include "base/memory.h"

#include <assert.h>
#include <string.h>

enum { BLOCK_SIZE = 64 * 1024, FIRST_SLOTS = 64 };

/* ---- memory (TRACE-2) -------------------------------------------------------------------------------------------- */

static void *alloc_counted(sti_trace_memory *m, size_t size)
{
    if ((int64_t)size > m->limit - m->bytes) return NULL;
    void *block = sti_alloc_or_null(size);
    if (block) m->bytes += (int64_t)size;
    return block;
}

static void free_counted(sti_trace_memory *m, void *block)
{
    m->bytes -= (int64_t)sti_block_size(block);
    assert(m->bytes >= 0 && "what is freed was counted");
    sti_free(block);
}

static int64_t per_block(const sti_trace_store *s) { return (int64_t)(BLOCK_SIZE / s->item); }

void *sti_trace_item(const sti_trace_store *s, int64_t i)
{
    assert(i >= 0 && i < s->count && s->count <= s->nblock * per_block(s));
    return (char *)s->block[i / per_block(s)] + (size_t)(i % per_block(s)) * s->item;
}

static bool make_room(sti_trace_memory *m, sti_trace_store *s)
{
    assert(s->count == s->nblock * per_block(s) && s->nblock <= s->room);
    if (s->nblock == s->room) {
        int64_t room = s->room ? 2 * s->room : 16;
        void **grown = alloc_counted(m, (size_t)room * sizeof *grown);
        if (!grown) return false;
        if (s->room) memcpy(grown, s->block, (size_t)s->nblock * sizeof *grown);
        free_counted(m, s->block);
        s->block = grown;
        s->room = room;
    }
    s->block[s->nblock] = alloc_counted(m, BLOCK_SIZE);
    if (!s->block[s->nblock]) return false;
    ++s->nblock;
    return true;
}

void *sti_trace_add(sti_trace_memory *m, sti_trace_store *s)
{
    if (s->count == s->nblock * per_block(s) && !make_room(m, s)) return NULL;
    return sti_trace_item(s, s->count++);
}

void sti_trace_store_free(sti_trace_store *s)
{
    for (int64_t i = 0; i < s->nblock; ++i) sti_free(s->block[i]);
    sti_free(s->block);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static uint64_t hash_of(const sti_trace_what *w, const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (const char *p = name; *p; ++p) h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    h = (h ^ (uint64_t)w->kind) * 0x100000001b3u;
    h = (h ^ (uint64_t)w->reason) * 0x100000001b3u;
    h = (h ^ (uint64_t)w->line) * 0x100000001b3u;
    return h ^ h >> 29;
}

static bool row_matches(const sti_trace_row *row, const sti_trace_what *w, const char *name)
{
    const stet_profile_row *r = &row->total;
    return r->kind == w->kind && r->line == w->line && r->reason == w->reason && strcmp(r->name, name) == 0 &&
           !r->file == !w->file && (!r->file || strcmp(r->file, w->file) == 0);
}

/* Index of the slot that has a row with this hash, or would get it. */
static int64_t place_of(const sti_trace_rows *r, uint64_t hash, const sti_trace_what *w, const char *name)
{
    assert((r->nslot & (r->nslot - 1)) == 0 && r->row.count < r->nslot && "a slot is free, or the search has no end");
    int64_t i = (int64_t)(hash & (uint64_t)(r->nslot - 1));
    while (r->slot[i] && (r->slot[i]->hash != hash || !row_matches(r->slot[i], w, name))) i = (i + 1) & (r->nslot - 1);
    return i;
}

/* Doubles the slots if a quarter or less of them is free. */
static bool grow_slots(sti_trace_rows *r)
{
    if (4 * r->row.count < 3 * r->nslot) return true;
    int64_t n = r->nslot ? 2 * r->nslot : FIRST_SLOTS;
    sti_trace_row **grown = alloc_counted(r->memory, (size_t)n * sizeof(sti_trace_row *));
    if (!grown) return r->row.count + 1 < r->nslot;
    for (int64_t k = 0; k < r->nslot; ++k) {
        if (!r->slot[k]) continue;
        int64_t i = (int64_t)(r->slot[k]->hash & (uint64_t)(n - 1));
        while (grown[i]) i = (i + 1) & (n - 1);
        grown[i] = r->slot[k];
    }
    free_counted(r->memory, r->slot);
    r->slot = grown;
    r->nslot = n;
    return true;
}

/* Makes a row; NULL: out of memory. */
static sti_trace_row *make_row(sti_trace_rows *r, const sti_trace_what *w, const char *name)
{
    size_t length = strlen(name) + 1, file = w->file ? strlen(w->file) + 1 : 0;
    sti_trace_row *row = alloc_counted(r->memory, sizeof *row + length + file);
    if (!row) return NULL;
    sti_trace_row **listed = sti_trace_add(r->memory, &r->row);
    if (!listed) {
        free_counted(r->memory, row);
        return NULL;
    }
    *listed = row;
    char *text = memcpy(row + 1, name, length);
    row->total = (stet_profile_row){.kind = w->kind, .name = text, .line = w->line, .reason = w->reason};
    if (w->file) row->total.file = memcpy(text + length, w->file, file);
    return row;
}

sti_trace_row *sti_trace_find_row(sti_trace_rows *r, const sti_trace_what *w)
{
    assert((unsigned)w->kind < STET_TRACE_COUNT);
    const char *name = w->name ? w->name : "";
    uint64_t hash = hash_of(w, name);
    int64_t i = r->nslot ? place_of(r, hash, w, name) : 0;
    if (r->nslot && r->slot[i]) return r->slot[i];
    sti_trace_row *row = grow_slots(r) ? make_row(r, w, name) : NULL;
    if (!row) {
        ++r->unnamed;
        return &r->other[w->kind];
    }
    row->hash = hash;
    i = place_of(r, hash, w, name);
    assert(!r->slot[i] && "TRACE-1: a row is there once");
    r->slot[i] = row;
    return row;
}

static const char *const others = "(others)";

void sti_trace_rows_init(sti_trace_rows *r, sti_trace_memory *memory)
{
    r->memory = memory;
    r->row.item = sizeof(sti_trace_row *);
    for (int k = 0; k < STET_TRACE_COUNT; ++k)
        r->other[k].total = (stet_profile_row){.kind = (stet_trace_kind)k, .name = others};
}

void sti_trace_rows_free(sti_trace_rows *r)
{
    for (int64_t i = 0; i < r->row.count; ++i) sti_free(*(sti_trace_row **)sti_trace_item(&r->row, i));
    sti_trace_store_free(&r->row);
    sti_free(r->slot);
}

int64_t sti_trace_count_rows(const sti_trace_rows *r)
{
    int64_t n = r->row.count;
    for (int k = 0; k < STET_TRACE_COUNT; ++k) n += r->other[k].total.calls > 0;
    return n;
}

const sti_trace_row *sti_trace_row_at(const sti_trace_rows *r, int64_t i)
{
    if (i < 0) return NULL;
    if (i < r->row.count) return *(sti_trace_row **)sti_trace_item(&r->row, i);
    i -= r->row.count;
    for (int k = 0; k < STET_TRACE_COUNT; ++k)
        if (r->other[k].total.calls && i-- == 0) return &r->other[k];
    return NULL;
}
