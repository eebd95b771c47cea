/*
 * What a trace keeps: things of one size in blocks that never move (TRACE-3), and rows of totals that are found by a hash of what they are about.
 * Part of base/trace.c, whose invariants are trace.h's.
 */
#ifndef STI_BASE_TRACE_ROWS_H
#define STI_BASE_TRACE_ROWS_H

#include "base/trace.h"

/* Memory of a trace. Nothing fails: what does not fit is NULL (TRACE-2). */
typedef struct sti_trace_memory {
    int64_t limit, bytes;
} sti_trace_memory;

/* Things of one size in blocks. */
typedef struct sti_trace_store {
    size_t item;
    void **block;
    int64_t nblock, room, count;
} sti_trace_store;

void *sti_trace_item(const sti_trace_store *store, int64_t i);
/* A zeroed item at the end, or NULL. */
void *sti_trace_add(sti_trace_memory *memory, sti_trace_store *store);
void sti_trace_store_free(sti_trace_store *store);

struct sti_trace_row {
    stet_profile_row total; /* its texts are the row's own, behind it */
    uint64_t hash;
};

typedef struct sti_trace_rows {
    sti_trace_memory *memory;
    sti_trace_store row;  /* of sti_trace_row * */
    sti_trace_row **slot; /* open addressing; nslot a power of two, less than all are used */
    int64_t nslot, unnamed;
    sti_trace_row other[STET_TRACE_KIND_COUNT]; /* one of each kind, for what has no row of its own */
} sti_trace_rows;

void sti_trace_rows_init(sti_trace_rows *rows, sti_trace_memory *memory);
void sti_trace_rows_free(sti_trace_rows *rows);
sti_trace_row *sti_trace_find_row(sti_trace_rows *rows, const sti_trace_what *what); /* TRACE-1 */
int64_t sti_trace_count_rows(const sti_trace_rows *rows);
/* The i-th of them: first those with a name, then those without one that have calls; NULL: there is none. */
const sti_trace_row *sti_trace_row_at(const sti_trace_rows *rows, int64_t i);

#endif
