/*
 * The context of a GPU takes longer to make than most tests take, and goes with the last device that uses it: a process
 * that opens many devices holds on to it.
 */
#ifndef TEST_DEVICE_CONTEXT_H
#define TEST_DEVICE_CONTEXT_H

#include "device/gpu/driver.h"

/* STET_ERROR_NOT_FOUND: there is no driver or no device here. */
static inline stet_result keep_cuda_context(void)
{
    static void *kept;
    sti_gpu_driver driver;
    if (kept) return STET_OK;
    STI_TRY(sti_gpu_driver_open(&sti_gpu_cuda, NULL, &driver));
    int code = sti_gpu_cuda.retain(&driver, 0, &kept);
    return code == 0 ? STET_OK : sti_error(STET_ERROR_DEVICE, "the context of cuda:0 cannot be made: %d", code);
}

#endif
