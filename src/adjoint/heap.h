/*
 * The memory of stacks: one piece a kind, shared by all adjoints of a device, since work on it is in one order and no launch needs what another
 * left there. It grows by half at least, and stays.
 *
 * Invariants:
 *   P1  what is taken while somebody uses the heap stays until nobody does, also if it had to grow meanwhile
 *   P2  taking what was taken before allocates nothing
 *   P3  launches over equally many worlds share the memory out among them in the same way, whatever each of them needs; so its plain arrays are by_world for
 *       world kernels (device/device.h)
 */
#ifndef STI_ADJOINT_HEAP_H
#define STI_ADJOINT_HEAP_H

#include "device/device.h"

/* Arrays of its own that the launch of an adjoint passes. */
typedef enum sti_stack {
    STI_STACK_REAL,
    STI_STACK_LINT,
    STI_STACK_UREAL,
    STI_STACK_INT,
    STI_STACK_DESTINATIONS,
    STI_STACK_VALUES,
    STI_STACK_COUNT
} sti_stack;

/* What it holds; and whether that is lanes, which in a world kernel are an array of worlds: all others are plain. */
stet_dtype sti_stack_dtype(sti_stack stack);
static inline bool sti_stack_has_lanes(sti_stack stack) { return stack == STI_STACK_REAL || stack == STI_STACK_LINT; }

enum { STI_HEAP_VIEWS = 16 };

typedef struct sti_heap_view {
    stet_array *array;
    sti_stack stack;
    uint64_t used;
} sti_heap_view;

typedef struct sti_heap {
    stet_device *device;
    stet_array *memory[STI_STACK_COUNT]; /* plain; NULL: none was needed */
    sti_heap_view view[STI_HEAP_VIEWS];  /* of it as arrays of worlds */
    int nview;
    uint64_t clock;
    int users;
    struct sti_heap_old *old; /* replaced while somebody used it */
} sti_heap;

/* Between these what was taken stays. */
void sti_heap_begin(sti_heap *heap);
void sti_heap_end(sti_heap *heap);
/*
 * An array that has room for `items` numbers: of each of `worlds` worlds, as an array of worlds; with worlds 0 plain. Its content is anything. LIMIT: more than
 * can be addressed, or than the device has; OUT_OF_MEMORY.
 */
stet_result sti_heap_take(sti_heap *heap, sti_stack stack, int64_t worlds, int64_t items, stet_array **out);
/* How much of a plain stack that was taken each of so many worlds has: the same until it grows, so that a world's part is the same in each launch over them. */
int64_t sti_heap_room(const sti_heap *heap, sti_stack stack, int64_t worlds);
int64_t sti_heap_bytes(const sti_heap *heap);
void sti_heap_free(sti_heap *heap);

#endif
