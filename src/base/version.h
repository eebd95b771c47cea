/*
 * Versions and stamps, by which stet knows that something has not changed.
 *
 * Invariants:
 *   VERSION-1  an identity is given once in a process, never again
 *   VERSION-2  a generation only grows; equal (identity, generation) means equal content
 *   VERSION-3  a stamp lists everything that its output was made from: content, shapes, addresses, and what was absent
 *   VERSION-4  identity 0 is never given, so the words 0, 0 of a version mean absence
 *   VERSION-5  words carry no kind: a caller that lists a varying number of things adds that number first
 */
#ifndef STI_BASE_VERSION_H
#define STI_BASE_VERSION_H

#include "base/validate.h"
#include "stet/base.h"

typedef struct sti_version {
    uint64_t id, generation;
} sti_version;

sti_version sti_version_new(void); /* a new identity, generation 1; thread-safe */
/* Call it when content was, or may have been, written. */
static inline void sti_version_bump(sti_version *v) { v->generation++; }

/*
 * A list of 64-bit words. Two stamps are equal when their words are equal. A zeroed struct is a stamp of nothing, which
 * equals no other.
 */
typedef struct sti_stamp {
    uint32_t count, capacity; /* words; capacity of `more`, 0 while the words fit in `few` */
    bool valid;               /* false: nothing was made yet, or it was invalidated */
    bool failed;              /* out of memory while words were added: equals no other stamp */
    uint64_t few[16];
    uint64_t *more;
} sti_stamp;

enum { STI_STAMP_FEW = sizeof(((sti_stamp *)0)->few) / sizeof(uint64_t) };

/* Adding and comparing words is the cost of every check, so adding is inline; only growing is not. */
bool sti_stamp_grow(sti_stamp *s, uint32_t n);
/* Appends n words, which the caller fills. NULL: out of memory, and the stamp has failed. */
static inline uint64_t *sti_stamp_extend(sti_stamp *s, uint32_t n)
{
    uint32_t room = s->capacity > 0 ? s->capacity : STI_STAMP_FEW, at = s->count;
    if (s->failed || (n > room - at && !sti_stamp_grow(s, n))) return NULL;
    s->count = at + n;
    return (s->capacity > 0 ? s->more : s->few) + at;
}

/* Makes the stamp empty and valid; keeps its memory. */
static inline void sti_stamp_begin(sti_stamp *s)
{
    s->count = 0;
    s->valid = true;
    s->failed = false;
}
/* Adds a size, an option, or a float's bits. */
static inline void sti_stamp_add_value(sti_stamp *s, uint64_t value)
{
    uint64_t *word = sti_stamp_extend(s, 1);
    if (word) *word = value;
}
/* Adds a version; NULL: absent, which is a fact like any other. */
static inline void sti_stamp_add(sti_stamp *s, const sti_version *v)
{
    uint64_t *word = sti_stamp_extend(s, 2);
    if (!word) return;
    word[0] = v ? v->id : 0;
    word[1] = v ? v->generation : 0;
}
static inline void sti_stamp_add_address(sti_stamp *s, const void *address)
{
    sti_stamp_add_value(s, (uint64_t)(uintptr_t)address);
}

bool sti_stamp_equal(const sti_stamp *kept, const sti_stamp *now);
/* The same for a stamp of one version and nothing else. */
static inline bool sti_stamp_is(const sti_stamp *kept, const sti_version *v)
{
    const uint64_t *word = kept->capacity > 0 ? kept->more : kept->few;
    return kept->valid && !kept->failed && kept->count == 2 && word[0] == v->id && word[1] == v->generation;
}
/* Copies now to kept. Without memory kept becomes invalid, so the work is done again next time. */
void sti_stamp_keep(sti_stamp *kept, const sti_stamp *now);
/* Makes kept a stamp of one version only. */
void sti_stamp_keep_version(sti_stamp *kept, const sti_version *v);
void sti_stamp_invalidate(sti_stamp *s);
void sti_stamp_free(sti_stamp *s);
/* Versions too: identity and generation of a living thing are not 0 (VERSION-2, VERSION-4). */
STI_VALIDATE(stamp, sti_stamp)
STI_VALIDATE(version, sti_version)

#endif
