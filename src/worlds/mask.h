/*
 * A mask of worlds for kernels, which is written only if it differs from the last one. To say "all worlds" again takes
 * as long for many worlds as for one.
 */
#ifndef STI_WORLDS_MASK_H
#define STI_WORLDS_MASK_H

#include "device/device.h"

typedef struct sti_mask {
    stet_array *array; /* INT [nworld][1]: 1 or 0 */
    uint8_t *held;     /* [nworld], what it holds; 255: not known */
    bool all;          /* it holds ones */
} sti_mask;

/* Of no world. Memory for later writes is taken, too. */
stet_result sti_mask_init(sti_mask *m, stet_device *device, const char *name, int64_t nworld);
void sti_mask_free(sti_mask *m);
/* The worlds whose byte in mask [nworld] is not 0; NULL: all. */
stet_result sti_mask_put(sti_mask *m, const uint8_t *mask);
/* Somebody else writes the array. */
void sti_mask_forget(sti_mask *m);

#endif
