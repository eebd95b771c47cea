/*
 * The memory of stacks: one piece a kind, shared by all adjoints of a device, since work on it is in one order and no launch needs what another
 * left there. It grows by half at least, and stays.
 *
 * Invariants:
 *   SPILL-1  what is taken while somebody uses the heap stays until nobody does, also if it had to grow meanwhile
 *   SPILL-2  taking what was taken before allocates nothing
 *   SPILL-3  launches over equally many worlds share the memory out among them in the same way, whatever each of them needs; so its plain arrays are by_world for
 *       world kernels (device/device.h)
 */
#ifndef STI_ADJOINT_LAUNCH_SPILL_POOL_H
#define STI_ADJOINT_LAUNCH_SPILL_POOL_H

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

enum { STI_SPILL_POOL_VIEWS = 16 };

typedef struct sti_spill_pool_view {
    stet_array *array;
    sti_stack stack;
    uint64_t used;
} sti_spill_pool_view;

typedef struct sti_spill_pool {
    stet_device *device;
    stet_array *memory[STI_STACK_COUNT];            /* plain; NULL: none was needed */
    sti_spill_pool_view view[STI_SPILL_POOL_VIEWS]; /* of it as arrays of worlds */
    int nview;
    uint64_t clock;
    int users;
    struct sti_spill_pool_old *old; /* replaced while somebody used it */
} sti_spill_pool;

/* Between these what was taken stays. */
void sti_spill_pool_begin(sti_spill_pool *spill_pool);
void sti_spill_pool_end(sti_spill_pool *spill_pool);
/*
 * An array that has room for `items` numbers: of each of `worlds` worlds, as an array of worlds; with worlds 0 plain. Its content is anything. LIMIT: more than
 * can be addressed, or than the device has; OUT_OF_MEMORY.
 */
stet_result sti_spill_pool_take(sti_spill_pool *spill_pool, sti_stack stack, int64_t worlds, int64_t items,
                                stet_array **out);
/* How much of a plain stack that was taken each of so many worlds has: the same until it grows, so that a world's part is the same in each launch over them. */
int64_t sti_spill_pool_room(const sti_spill_pool *spill_pool, sti_stack stack, int64_t worlds);
int64_t sti_spill_pool_bytes(const sti_spill_pool *spill_pool);
void sti_spill_pool_free(sti_spill_pool *spill_pool);

#endif
