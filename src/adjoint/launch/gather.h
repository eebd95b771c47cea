/*
 * Gradients that an item kernel's adjoint lists, added up by the owners of their destinations.
 *
 * Where an item reads an array at a place of its own choosing, its adjoint writes (destination, value) to a list instead of adding: other items may
 * have read the same element. The lists are sorted by destination, items in their order and an item's entries in the order of its reverse; then
 * each destination's owner adds up what is there for it, 256 at a time. So no sum depends on the device, its width or its threads, and there are no
 * atomics.
 *
 * An entry is `place * STI_LISTING_CODES + code`, below 0: there is none; `place` is the element of a plain array, 0 of a number, and
 * world * items + item of an array of worlds.
 */
#ifndef STI_ADJOINT_LAUNCH_GATHER_H
#define STI_ADJOINT_LAUNCH_GATHER_H

#include "stet/device.h"

enum { STI_LISTING_CODES = 64 };

/* A parameter of an item kernel whose gradient is (also) listed. */
typedef struct sti_listing {
    const char *name; /* the kernel's parameter */
    int code;
    struct sti_listing *next;
} sti_listing;

/* What a list is: [blocks][depth][width], columns being the items of a block. */
typedef struct sti_lists {
    stet_array *destinations; /* I64, plain */
    stet_array *values;       /* REAL, plain */
    int64_t blocks, depth, width;
} sti_lists;

/* Room for sorting, kept from one call to the next; it grows. */
typedef struct sti_gathering sti_gathering;

stet_result sti_gathering_create(stet_device *device, sti_gathering **out);
/* NULL is fine; before the device. */
void sti_gathering_destroy(sti_gathering *gathering);
int64_t sti_gathering_bytes(const sti_gathering *gathering);

/*
 * Adds the listed gradients of one parameter to `gradient`: REAL, plain or of worlds, shaped like the parameter's array; of a number plain with one
 * element. Launches only, nothing is read back. LIMIT: more than 2^40 entries.
 */
stet_result sti_adjoint_gather(sti_gathering *gathering, const sti_lists *lists, int code, stet_array *gradient);

#endif
