/*
 * What stet's tests do with a null device: how it behaves, the calls that it counts, and the call that fails.
 */
#ifndef STI_DEVICE_NULL_NULL_H
#define STI_DEVICE_NULL_NULL_H

#include "stet/device.h"

/*
 * The operations that a null device counts, one for each function of the device's table that it implements. `any`
 * stands for all operations that can fail, which is every one but `free`.
 */
#define STI_NULL_OPS(X)                                                                                                \
    X(ANY, "any")                                                                                                      \
    X(ALLOC, "alloc")                                                                                                  \
    X(FREE, "free")                                                                                                    \
    X(UPLOAD, "upload")                                                                                                \
    X(DOWNLOAD, "download")                                                                                            \
    X(COPY, "copy")                                                                                                    \
    X(LAUNCH, "launch")                                                                                                \
    X(SYNCHRONIZE, "synchronize")
typedef enum sti_null_op {
#define STI_NULL_OP_ENUM(id, name) STI_NULL_OP_##id,
    STI_NULL_OPS(STI_NULL_OP_ENUM)
#undef STI_NULL_OP_ENUM
        STI_NULL_OP_COUNT
} sti_null_op;
const char *sti_null_op_name(sti_null_op op); /* "alloc" */

/*
 * How to make a null device (stet_device_def.null). Of stet_device_def it also uses `threads` (for work on the host; 0:
 * 1) and `mechanisms`.
 */
typedef struct sti_null_def {
    int lanes;     /* B, worlds in a block of the layout: 1 (as on a GPU; 0 means 1), 4, 8 or 16 */
    bool no_reuse; /* a round (stet/round.h) can reuse nothing from the previous round and sets everything up again */
    bool apart;    /* device addresses are not host addresses: touching one outside a device call ends the program */
    sti_null_op fail_op; /* the operation of which one call fails, with STET_ERROR_DEVICE */
    int64_t fail_at;     /* which call of that operation fails, counted from 1; 0: none */
} sti_null_def;

/* Number of calls of an operation since the device was created; -1: not a null device, or no such operation. */
int64_t sti_null_calls(const stet_device *device, sti_null_op op);
/*
 * Makes the at-th call from now of this operation fail, once, with STET_ERROR_DEVICE. The failing call does nothing. 0:
 * no call fails. A new request replaces the one before. INVALID_ARGUMENT: not a null device, or an operation that
 * cannot fail.
 */
stet_result sti_null_fail(stet_device *device, sti_null_op op, int64_t at);

#endif
