/* The name that was probably meant, of those that exist. */
#ifndef STI_BASE_NEAR_H
#define STI_BASE_NEAR_H

/* A search: `nearest` is the nearest of the names that were offered, or NULL while none is near enough. */
typedef struct sti_near {
    const char *wanted, *nearest; /* borrowed from the caller */
    int distance;                 /* of the nearest name */
} sti_near;

sti_near sti_near_begin(const char *wanted);
/*
 * Names are near each other if one contains the other (three characters or more), or if few edits (a character added,
 * removed or replaced, neighbours swapped) turn one into the other: at most one in three characters. Upper and lower
 * case count as equal. Of names equally near the first counts.
 */
void sti_near_offer(sti_near *near, const char *name);

#endif
