/*
 * The memory of stacks: one array for each kind, shared by all adjoints of a device. Sharing is possible because the
 * device's work is in one order and no launch needs what another left in the memory. An array grows at least by half
 * and never shrinks.
 *
 * Invariants:
 *   SPILL-1  an array that was taken stays valid until the pool has no users, even if the pool had to grow meanwhile
 *   SPILL-2  taking the same array again allocates nothing
 *   SPILL-3  launches over the same number of worlds divide the memory among the worlds in the same way, whatever each
 *       of them needs. So its plain arrays are by_world for world kernels (device/device.h)
 *   SPILL-4  stacks are scratch (device/device.h), but for lists of gradients, which later launches add up
 */
#ifndef STI_ADJOINT_LAUNCH_SPILL_POOL_H
#define STI_ADJOINT_LAUNCH_SPILL_POOL_H

#include "device/device.h"

/* The arrays that the launch of an adjoint passes in addition to the caller's. */
typedef enum sti_stack {
    STI_STACK_REAL,
    STI_STACK_LINT,
    STI_STACK_UREAL,
    STI_STACK_INT,
    STI_STACK_DESTINATIONS,
    STI_STACK_VALUES,
    STI_STACK_COUNT
} sti_stack;

/*
 * The element type of a stack, and whether it has lanes. In a world kernel a stack of lanes is an array of worlds; all
 * others are plain.
 */
stet_dtype sti_stack_dtype(sti_stack stack);
static inline bool sti_stack_has_lanes(sti_stack stack) { return stack == STI_STACK_REAL || stack == STI_STACK_LINT; }

enum { STI_SPILL_POOL_VIEWS = 16 };

typedef struct sti_spill_pool_view {
    stet_array *array;
    sti_stack stack;
    uint64_t used;
} sti_spill_pool_view;

typedef struct sti_spill_pool {
    stet_device *device;
    stet_array *memory[STI_STACK_COUNT];            /* plain; NULL: not needed so far */
    sti_spill_pool_view view[STI_SPILL_POOL_VIEWS]; /* the memory viewed as arrays of worlds */
    int nview;
    uint64_t clock;
    int users;
    struct sti_spill_pool_old *old; /* memory that was replaced while the pool had users */
} sti_spill_pool;

/* Arrays that are taken between these stay valid until the end. */
void sti_spill_pool_begin(sti_spill_pool *h);
void sti_spill_pool_end(sti_spill_pool *h);
/*
 * Returns an array with room for `items` numbers: for each of `worlds` worlds, as an array of worlds; with worlds 0 as
 * a plain array. Its content is undefined. LIMIT: more than can be addressed, or than the device has; OUT_OF_MEMORY.
 */
stet_result sti_spill_pool_take(sti_spill_pool *h, sti_stack stack, int64_t worlds, int64_t items, stet_array **out);
/*
 * The room of each of so many worlds in a plain stack that was taken. It does not change until the stack grows, so a
 * world has the same part in each launch over these worlds.
 */
int64_t sti_spill_pool_room(const sti_spill_pool *h, sti_stack stack, int64_t worlds);
int64_t sti_spill_pool_bytes(const sti_spill_pool *h);
void sti_spill_pool_free(sti_spill_pool *h);
/* Debug builds: SPILL-1, and that each view shows the memory of its stack. */
void sti_validate_spill_pool(const sti_spill_pool *h);

#endif
