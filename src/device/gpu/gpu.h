/*
 * A GPU as a device: what its files share.
 *
 * Invariants:
 *   G1  all work goes to one private stream that does not wait for the legacy stream, in the order in which it was asked for;
 *       nothing here uses another stream, or a call that acts on all of them
 *   G2  whatever device or context the calling thread had made current is current again when a call returns: other libraries
 *       in the process count on theirs. A capture that one of them has begun is not broken by stet's calls, which work meanwhile
 *   G3  after a fault on the device (a kernel that went wrong) every call fails with the first one's sentence, which names the
 *       last launches; the driver is not asked any more but to let go
 *   G4  nothing that the caller's memory holds is read after the call has returned
 */
#ifndef STI_DEVICE_GPU_GPU_H
#define STI_DEVICE_GPU_GPU_H

#include "device/device.h"
#include "device/gpu/driver.h"
#include "device/gpu/pool.h"
#include "device/gpu/staging.h"

enum { STI_GPU_LAUNCHES = 16, STI_GPU_ARGUMENT_BYTES = 4096 };

typedef struct sti_gpu {
    sti_gpu_driver driver;
    sti_gpu_facts facts;
    char where[96]; /* for messages: "cuda:0 (NVIDIA H200)" */
    void *context;
    void *stream;
    sti_gpu_pool pool;
    sti_gpu_staging staging;
    char launches[STI_GPU_LAUNCHES][64]; /* names of the last ones */
    uint64_t nlaunch;
    _Atomic bool losing; /* one thread writes `why` … */
    _Atomic bool lost;   /* … and then it does not change any more (G3) */
    char why[700];
} sti_gpu;

/* The result of a driver call, with a sentence if it failed; notices a device that is lost. */
stet_result sti_gpu_check(sti_gpu *gpu, int code, const char *call);
#define STI_GPU_CALL(gpu, name, ...) sti_gpu_check((gpu), (gpu)->driver.api.name(__VA_ARGS__), #name)

/* Around all driver calls of a slot: G2, and the error of a device that is lost. leave's value is `result`, or its own failure. */
stet_result sti_gpu_enter(sti_gpu *gpu, sti_gpu_current *was);
stet_result sti_gpu_leave(sti_gpu *gpu, const sti_gpu_current *was, stet_result result);
/* The two without looking whether the device is lost, for what only lets go. Values are the driver's codes. */
int sti_gpu_go_in(sti_gpu *gpu, sti_gpu_current *was);
int sti_gpu_go_out(sti_gpu *gpu, const sti_gpu_current *was);

stet_result sti_gpu_launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot, int64_t nblock,
                           bool in_block);

#endif
