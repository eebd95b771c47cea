/*
 * A list of operations: launches, copies, loops and work of others in the order in which they were issued, with what each reads and
 * writes.
 *
 * Invariants:
 *   LIST-1  the key says all that a recording is built from: kernels, work of others and its context, arrays (identity, address, size),
 *       what was absent, and how loops nest. Numbers (scalars, how many blocks, how many trips) are not in it: they reach a recording as they are now
 *   LIST-2  a loop's uses are its condition's, followed by those of all that is in it
 *   LIST-3  an append that fails leaves the list as it was
 */
#ifndef STI_KERNEL_RECORD_LIST_H
#define STI_KERNEL_RECORD_LIST_H

#include "kernel/launch/kernel.h"
#include "stet/kernel.h"

typedef enum sti_op_kind { STI_OP_LAUNCH, STI_OP_COPY, STI_OP_WHILE, STI_OP_END, STI_OP_FOREIGN } sti_op_kind;

/* An array that an operation touches. What a parameter may write it may read, too. */
typedef struct sti_use {
    stet_array *array;
    bool written;
} sti_use;

enum { STI_FOREIGN_USES = 4096 };

/* Work of others, as it is announced. Arrays are not NULL. */
typedef struct sti_foreign {
    const char *name; /* for messages */
    stet_foreign *work;
    void *context;
    const stet_use *use;
    int nuse;
} sti_foreign;

typedef struct sti_op {
    sti_op_kind kind;
    int parent;               /* the WHILE that it is in; -1: none */
    int match;                /* of a WHILE its END, of an END its WHILE */
    const sti_kernel *kernel; /* LAUNCH */
    int slot, nslot;          /* LAUNCH: of the list's slots */
    int use, nuse;            /* of the list's uses. COPY: to, from. WHILE: condition, body (LIST-2) */
    int64_t nblock;           /* LAUNCH */
    int64_t most, trips;      /* WHILE: trips allowed, and made while it is played */
    const char *name;         /* FOREIGN */
    stet_foreign *work;
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

void sti_list_clear(sti_list *list); /* empty; keeps its memory */
void sti_list_free(sti_list *list);
/* A copy of operations, uses and key, without the slots. `to` is zeroed. */
stet_result sti_list_copy(sti_list *to, const sti_list *from);
int64_t sti_list_bytes(const sti_list *list);

/* Each appends one operation inside the loop `parent` (-1: none). */
stet_result sti_list_launch(sti_list *list, int parent, const sti_launch *launch);
stet_result sti_list_array_copy(sti_list *list, int parent, stet_array *to, stet_array *from);
stet_result sti_list_while(sti_list *list, int parent, stet_array *condition, int64_t most);
stet_result sti_list_end(sti_list *list, int loop);
stet_result sti_list_foreign(sti_list *list, int parent, const sti_foreign *f);
/* One more use of the last operation. */
stet_result sti_list_add_use(sti_list *list, stet_array *array, bool written);

/* Views share the memory of others, so it is memory that counts. */
static inline bool sti_memory_overlaps(const stet_array *a, const stet_array *b)
{
    uintptr_t p = (uintptr_t)a->data, q = (uintptr_t)b->data;
    return a->size && b->size && p < q + b->size && q < p + a->size;
}
uint64_t sti_list_hash(const sti_list *list);
bool sti_list_same(const sti_list *a, const sti_list *b); /* by their keys */
/* Does some operation touch memory of the array (written: write it)? */
bool sti_list_touches(const sti_list *list, const stet_array *array, bool written);
bool sti_list_holds(const sti_list *list, const stet_array *array);

/*
 * The order that has to be kept: `from` before `to`, operations of one loop (or of none), because one writes memory that the other
 * reads or writes. No edge follows from others. *out is the caller's to free.
 */
stet_result sti_list_edges(const sti_list *list, sti_edge **out, int *nedge);

#endif
