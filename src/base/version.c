/*
 * Identities, generations, stamps: see version.h for the invariants.
 */
#include "base/version.h"

#include "base/memory.h"

#include <stdatomic.h>
#include <string.h>

sti_version sti_version_new(void)
{
    static _Atomic uint64_t last_id;
    return (sti_version){.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1, .generation = 1};
}

static const uint64_t *words(const sti_stamp *s) { return s->capacity > 0 ? s->more : s->few; }

/* Makes room for `count` words in all; on failure the stamp stays as it was. */
static bool reserve(sti_stamp *s, uint32_t count)
{
    uint32_t room = s->capacity > 0 ? s->capacity : STI_STAMP_FEW;
    if (count <= room) return true;
    while (room < count) {
        if (room > UINT32_MAX / 2) return false;
        room *= 2;
    }
    size_t size;
    uint64_t *more = s->capacity > 0 ? s->more : NULL;
    if (sti_mul_size(room, sizeof *more, &size, "a stamp") != STET_OK) return false;
    if (sti_realloc(&more, size, "a stamp") != STET_OK) return false;
    if (s->capacity == 0) memcpy(more, s->few, s->count * sizeof *more);
    s->more = more;
    s->capacity = room;
    return true;
}

bool sti_stamp_grow(sti_stamp *s, uint32_t n)
{
    assert(n > 0 && s->count <= (s->capacity > 0 ? s->capacity : STI_STAMP_FEW));
    if (s->count > UINT32_MAX - n || !reserve(s, s->count + n)) s->failed = true;
    return !s->failed;
}

bool sti_stamp_equal(const sti_stamp *kept, const sti_stamp *now)
{
    if (!kept->valid || kept->failed || !now->valid || now->failed) return false;
    return kept->count == now->count && memcmp(words(kept), words(now), now->count * sizeof(uint64_t)) == 0;
}

void sti_stamp_keep(sti_stamp *kept, const sti_stamp *now)
{
    if (kept == now) return;
    sti_validate_stamp(kept);
    sti_validate_stamp(now);
    sti_stamp_begin(kept);
    if (!now->valid || now->failed || !reserve(kept, now->count)) {
        sti_stamp_invalidate(kept);
        return;
    }
    memcpy(kept->capacity > 0 ? kept->more : kept->few, words(now), now->count * sizeof(uint64_t));
    kept->count = now->count;
    assert(sti_stamp_equal(kept, now) && "a stamp that was kept equals the present one");
}

void sti_stamp_keep_version(sti_stamp *kept, const sti_version *v)
{
    sti_validate_version(v);
    sti_stamp_begin(kept);
    sti_stamp_add(kept, v);
}

void sti_stamp_invalidate(sti_stamp *s) { s->valid = false; }

void sti_stamp_free(sti_stamp *s)
{
    sti_free(s->more);
    *s = (sti_stamp){0};
}

#ifndef NDEBUG

void sti_validate_stamp(const sti_stamp *s)
{
    assert((s->capacity > 0) == (s->more != NULL) && "words that do not fit have memory of their own");
    assert(s->capacity == 0 || s->capacity > STI_STAMP_FEW);
    assert(s->count <= (s->capacity > 0 ? s->capacity : STI_STAMP_FEW));
}

void sti_validate_version(const sti_version *v)
{
    assert(v->id != 0 && "VERSION-4: identity 0 means absence");
    assert(v->generation != 0 && "VERSION-2: a generation begins at 1 and grows");
}

#endif
