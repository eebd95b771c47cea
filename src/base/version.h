/*
 * Versions and stamps: the one notion of "has not changed".
 *
 * Invariants:
 *   VERSION-1  an identity is given once in a process, never again
 *   VERSION-2  a generation only grows; equal (identity, generation) means equal content
 *   VERSION-3  a stamp lists everything its thing was made from: content, shapes, addresses, and what was found absent
 *   VERSION-4  identity 0 is never given, so the words 0, 0 of a version mean absence
 *   VERSION-5  words carry no kind: who lists a varying number of things adds that number first
 */
#ifndef STI_BASE_VERSION_H
#define STI_BASE_VERSION_H

#include "stet/base.h"

typedef struct sti_version {
    uint64_t id, generation;
} sti_version;

sti_version sti_version_new(void); /* a new identity, generation 1; thread safe */
/* Content was (or may have been) written. */
static inline void sti_version_bump(sti_version *v) { v->generation++; }

/*
 * A list of 64-bit words; two stamps are equal when their words are. The zeroed struct is a stamp of nothing, current
 * never.
 */
typedef struct sti_stamp {
    uint32_t count, capacity; /* words; capacity of `more`, 0 while the words fit in `few` */
    bool valid;               /* false: made from nothing yet, or invalidated */
    bool failed;              /* out of memory while adding: never current */
    uint64_t few[16];
    uint64_t *more;
} sti_stamp;

enum { STI_STAMP_FEW = sizeof(((sti_stamp *)0)->few) / sizeof(uint64_t) };

/* Asking whether something stands is adding words and comparing them, so adding is in line; only growing is not. */
bool sti_stamp_grow(sti_stamp *s, uint32_t n);
/* n more words, which the caller fills; NULL: there is no memory for them, and the stamp has failed. */
static inline uint64_t *sti_stamp_extend(sti_stamp *s, uint32_t n)
{
    uint32_t room = s->capacity > 0 ? s->capacity : STI_STAMP_FEW, at = s->count;
    if (s->failed || (n > room - at && !sti_stamp_grow(s, n))) return NULL;
    s->count = at + n;
    return (s->capacity > 0 ? s->more : s->few) + at;
}

/* Empty and valid; keeps its memory. */
static inline void sti_stamp_begin(sti_stamp *s)
{
    s->count = 0;
    s->valid = true;
    s->failed = false;
}
/* A size, an option, a float's bits. */
static inline void sti_stamp_add_value(sti_stamp *s, uint64_t value)
{
    uint64_t *word = sti_stamp_extend(s, 1);
    if (word) *word = value;
}
/* NULL: absent, which is a fact like any other. */
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
/* kept becomes a copy of now; on lack of memory kept is invalid (the work is done again next time, nothing worse). */
void sti_stamp_keep(sti_stamp *kept, const sti_stamp *now);
void sti_stamp_keep_version(sti_stamp *kept, const sti_version *v); /* kept is made from one version alone */
void sti_stamp_invalidate(sti_stamp *s);
void sti_stamp_free(sti_stamp *s);

#endif
