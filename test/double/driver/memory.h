/*
 * Memory of the double's devices: one region of addresses a device, closed to everybody but while a kernel runs.
 *
 * The pages have two addresses: the one that is handed out, which is closed, and a shadow, by which the double itself
 * copies.
 *
 * Invariants:
 *   DOUBLE-MEMORY-1  an address that was handed out lies in exactly one block; a block has a zone of known bytes on
 *   each side DOUBLE-MEMORY-2  a block that was freed is filled with garbage and keeps its addresses until it has
 *   rested, or `recycle` says otherwise DOUBLE-MEMORY-3  a region is open only inside a call that runs a kernel of its
 *   device
 */
#ifndef TEST_DOUBLE_MEMORY_H
#define TEST_DOUBLE_MEMORY_H

#include "state.h"

typedef struct dd_block {
    uint64_t address;
    size_t size; /* as asked for */
    size_t room; /* multiple of the alignment, without zones */
    bool live;
    bool leaving; /* it is to be freed by an operation that waits */
} dd_block;

int dd_memory_alloc(dd_device *device, size_t size, uint64_t *address);
int dd_memory_free(dd_device *device, uint64_t address); /* the address of a live block, at its start */
/* The live block that holds all of these bytes, and its device. */
const dd_block *dd_memory_find(uint64_t address, size_t size);
dd_device *dd_memory_device(uint64_t address); /* whose region it is in, live or not; NULL: none */
/* Marks it as leaving; false: not the start of a live block, or marked already. */
bool dd_memory_leave(dd_device *device, uint64_t address);
void *dd_memory_shadow(uint64_t address);
size_t dd_memory_free_bytes(const dd_device *device);

int dd_memory_open(dd_device *device); /* for a kernel */
void dd_memory_close(void);            /* every region that is open */

int dd_host_alloc(size_t size, void **out);
int dd_host_free(void *memory);
bool dd_host_owns(const void *memory); /* it is pinned memory that was handed out */

void dd_memory_check(void);  /* all zones; what is wrong goes to the report */
void dd_memory_forget(void); /* frees all */

#endif
