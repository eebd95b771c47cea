/*
 * A list of operations: launches, copies, loops and foreign work (work that the caller issues itself), in the order in
 * which they were issued, with the arrays that each reads and writes.
 *
 * Invariants:
 *   LIST-1  the key contains everything that a recording is built from: kernels, foreign work and its context, arrays
 *       (identity, address, size), absent arrays, and how loops nest. Numbers (scalars, numbers of blocks, limits of
 *       trips) are not in the key: each replay gets their current values
 *   LIST-2  the uses of a loop are those of its condition, followed by those of all operations in its body
 *   LIST-3  an append that fails leaves the list as it was
 */
#ifndef STI_KERNEL_RECORD_LIST_H
#define STI_KERNEL_RECORD_LIST_H

#include "kernel/kernel.h"
#include "stet/kernel.h"

typedef enum sti_op_kind { STI_OP_LAUNCH, STI_OP_COPY, STI_OP_WHILE, STI_OP_END, STI_OP_FOREIGN } sti_op_kind;

/* An array that an operation touches. An operation may also read an array that it writes. */
typedef struct sti_use {
    stet_array *array;
    bool written;
} sti_use;

enum { STI_FOREIGN_USES = 4096 };

/* Foreign work, as the caller announces it. No array is NULL. */
typedef struct sti_foreign {
    const char *name; /* for messages */
    stet_foreign_fn *work;
    void *context;
    const stet_use *use;
    int nuse;
} sti_foreign;

typedef struct sti_op {
    sti_op_kind kind;
    int parent;               /* index of the WHILE that contains it; -1: none */
    int match;                /* WHILE: index of its END. END: index of its WHILE */
    const sti_kernel *kernel; /* LAUNCH */
    int slot, nslot;          /* LAUNCH: its range of the list's slots */
    int use, nuse;            /* its range of the list's uses. COPY: to, from. WHILE: condition, body (LIST-2) */
    int64_t nblock;           /* LAUNCH */
    int64_t most, trips;      /* WHILE: the most trips allowed, and the trips made so far in this run */
    const char *name;         /* FOREIGN */
    stet_foreign_fn *work;
    void *context;
} sti_op;

/* The zeroed struct is an empty list. */
typedef struct sti_list {
    sti_op *op;
    sti_slot *slot;
    sti_use *use;
    uint64_t *key; /* LIST-1 */
    int nop, nslot, nuse, nkey;
    int nsite; /* launches that have slots */
    int op_room, slot_room, use_room, key_room;
} sti_list;

void sti_list_clear(sti_list *list); /* keeps the memory */
void sti_list_free(sti_list *list);
/* Copies operations, uses and key, but not the slots. `to` is zeroed. */
stet_result sti_list_copy(sti_list *to, const sti_list *from);
int64_t sti_list_bytes(const sti_list *list);
STI_VALIDATE(list, sti_list)

/* Each function appends one operation inside the loop `parent` (-1: none). */
stet_result sti_list_launch(sti_list *list, int parent, const sti_launch *launch);
stet_result sti_list_array_copy(sti_list *list, int parent, stet_array *to, stet_array *from);
stet_result sti_list_while(sti_list *list, int parent, stet_array *condition, int64_t most);
stet_result sti_list_end(sti_list *list, int loop);
stet_result sti_list_foreign(sti_list *list, int parent, const sti_foreign *f);
/* Adds one more use to the last operation. */
stet_result sti_list_add_use(sti_list *list, stet_array *array, bool written);

/* True if two arrays share memory. Views share the memory of other arrays, so addresses decide, not identities. */
static inline bool sti_memory_overlaps(const stet_array *a, const stet_array *b)
{
    uintptr_t p = (uintptr_t)a->data, q = (uintptr_t)b->data;
    return a->size && b->size && p < q + b->size && q < p + a->size;
}
uint64_t sti_list_hash(const sti_list *list);
bool sti_list_same(const sti_list *a, const sti_list *b); /* compares the keys */
/* True if an operation touches memory of the array. With `written`: true if an operation writes it. */
bool sti_list_touches(const sti_list *list, const stet_array *array, bool written);
bool sti_list_holds(const sti_list *list, const stet_array *array);

/*
 * Finds the order that must be kept. An edge means that operation `from` must run before operation `to`, because one of
 * them writes memory that the other reads or writes. Both are in the same loop, or in none. An edge that follows from
 * other edges is left out. The caller frees *out.
 */
stet_result sti_list_edges(const sti_list *list, sti_edge **out, int *nedge);

#endif
