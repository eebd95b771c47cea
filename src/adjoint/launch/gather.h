/*
 * Listed gradients: gradients that an item kernel's adjoint writes to a list, and that the owners of their destinations
 * add up.
 *
 * An item may read an array at any place, and other items may read the same element. So the adjoint does not add to the
 * gradient of that element. It writes (destination, value) to a list instead. The lists are sorted by destination.
 * Entries of one destination keep the order of items, and the order in which the item's reverse wrote them. Then the
 * owner of each destination adds up its entries, 256 at a time. So no sum depends on the device, its width or its
 * threads, and no atomics are used.
 *
 * An entry is `place * STI_LISTING_CODES + code`; an entry below 0 is empty. `place` is the element of a plain array, 0
 * of a number, and world * items + item of an array of worlds.
 */
#ifndef STI_ADJOINT_LAUNCH_GATHER_H
#define STI_ADJOINT_LAUNCH_GATHER_H

#include "adjoint/transform/adjoint.h"
#include "stet/device.h"

/* A list: [blocks][depth][width]. The columns are the items of a block. */
typedef struct sti_lists {
    stet_array *destinations; /* I64, plain */
    stet_array *values;       /* REAL, plain */
    int64_t blocks, depth, width;
} sti_lists;

/* Memory for sorting. It grows and is reused by later calls. */
typedef struct sti_gathering sti_gathering;

stet_result sti_gathering_create(stet_device *device, sti_gathering **out);
/* NULL is allowed. Must be called before the device is destroyed. */
void sti_gathering_destroy(sti_gathering *gathering);
int64_t sti_gathering_bytes(const sti_gathering *gathering);

/*
 * Adds the listed gradients of one parameter to `gradient`: a REAL array, plain or of worlds, shaped like the
 * parameter's array; for a number a plain array of one element. Only launches kernels and reads nothing back. LIMIT:
 * more than 2^40 entries.
 */
stet_result sti_adjoint_gather(sti_gathering *gathering, const sti_lists *lists, int code, stet_array *gradient);

#endif
