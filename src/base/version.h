/*
 * Versions and stamps: the one notion of "has not changed".
 *
 * Invariants:
 *   V1  an identity is given once in a process, never again
 *   V2  a generation only grows; equal (identity, generation) means equal content
 *   V3  a stamp lists everything its thing was made from: content, shapes, addresses, and what was found absent
 *   V4  identity 0 is never given, so the words 0, 0 of a version mean absence
 *   V5  words carry no kind: who lists a varying number of things adds that number first
 */
#ifndef STI_BASE_VERSION_H
#define STI_BASE_VERSION_H

#include "stet/base.h"

typedef struct sti_version {
    uint64_t id, generation;
} sti_version;

sti_version sti_version_new(void);     /* a new identity, generation 1; thread safe */
void sti_version_bump(sti_version *v); /* content was (or may have been) written */

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

void sti_stamp_begin(sti_stamp *s);                     /* empty and valid; keeps its memory */
void sti_stamp_add(sti_stamp *s, const sti_version *v); /* NULL: absent, which is a fact like any other */
void sti_stamp_add_value(sti_stamp *s, uint64_t value); /* a size, an option, a float's bits */
void sti_stamp_add_address(sti_stamp *s, const void *address);
bool sti_stamp_equal(const sti_stamp *kept, const sti_stamp *now);
/* kept becomes a copy of now; on lack of memory kept is invalid (the work is done again next time, nothing worse). */
void sti_stamp_keep(sti_stamp *kept, const sti_stamp *now);
void sti_stamp_invalidate(sti_stamp *s);
void sti_stamp_free(sti_stamp *s);

#endif
