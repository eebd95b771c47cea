/*
 * The memory of a trace: items of one size in blocks that never move (TRACE-3), and rows of totals in a hash table.
 * Part of base/trace.c; the invariants are in trace.h.
 */
#ifndef STI_BASE_TRACE_ROWS_H
#define STI_BASE_TRACE_ROWS_H

#include "base/trace.h"

/* Memory of a trace. Nothing fails: an item that does not fit is NULL (TRACE-2). */
typedef struct sti_trace_memory {
    int64_t limit, bytes;
} sti_trace_memory;

/* Items of one size in blocks. */
typedef struct sti_trace_store {
    size_t item;
    void **block;
    int64_t nblock, room, count;
} sti_trace_store;

void *sti_trace_item(const sti_trace_store *store, int64_t i);
/* Appends a zeroed item; NULL: there is no memory for it. */
void *sti_trace_add(sti_trace_memory *memory, sti_trace_store *store);
void sti_trace_store_free(sti_trace_store *store);

struct sti_trace_row {
    stet_profile_row total; /* its texts are stored behind the row */
    uint64_t hash;
};

typedef struct sti_trace_rows {
    sti_trace_memory *memory;
    sti_trace_store row;  /* of sti_trace_row * */
    sti_trace_row **slot; /* open addressing; nslot is a power of two, and one slot at least is free */
    int64_t nslot, unnamed;
    /* one per kind, for events that have no row of their own */
    sti_trace_row other[STET_TRACE_COUNT];
} sti_trace_rows;

void sti_trace_rows_init(sti_trace_rows *rows, sti_trace_memory *memory);
void sti_trace_rows_free(sti_trace_rows *rows);
sti_trace_row *sti_trace_find_row(sti_trace_rows *rows, const sti_trace_what *what); /* TRACE-1 */
int64_t sti_trace_count_rows(const sti_trace_rows *rows);
/* The i-th row: first the named ones, then those of `other` that have calls; NULL: there is none. */
const sti_trace_row *sti_trace_row_at(const sti_trace_rows *rows, int64_t i);

#endif
