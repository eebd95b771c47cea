/*
 * The entry points, declared from the one list that stet itself uses, each under the symbol that this object's driver
 * has for it: `entry_alloc` is `cuMemAlloc_v2` in the one and `hipMalloc` in the other.
 */
#ifndef TEST_DOUBLE_ENTRY_H
#define TEST_DOUBLE_ENTRY_H

#include "memory.h"
#include "queue.h"

#define ENTRY_DECLARE(name, symbol, result, parameters)                                                                \
    __attribute__((visibility("default"))) result entry_##name parameters __asm__(#symbol);
#if DD_HIP
#define BOTH(need, name, cuda, hip, result, parameters) ENTRY_DECLARE(name, hip, result, parameters)
#define CUDA(need, name, cuda, result, parameters)
#define HIP(need, name, hip, result, parameters) ENTRY_DECLARE(name, hip, result, parameters)
#else
#define BOTH(need, name, cuda, hip, result, parameters) ENTRY_DECLARE(name, cuda, result, parameters)
#define CUDA(need, name, cuda, result, parameters) ENTRY_DECLARE(name, cuda, result, parameters)
#define HIP(need, name, hip, result, parameters)
#endif
#include "device/gpu/entries.inl"

static inline int entry_begin(void)
{
    dd_lock();
    dd_queue_drift();
    return 0;
}
static inline void entry_end(const int *held)
{
    (void)held;
    dd_memory_close();
    dd_unlock();
}

/* Begins an entry point: holds the lock until it returns, counts the call, fails if it is to fail. */
#define ENTER(name)                                                                                                    \
    __attribute__((cleanup(entry_end))) const int held = entry_begin();                                                \
    (void)held;                                                                                                        \
    int failed = dd_enter(#name);                                                                                      \
    if (failed) return failed

#define TRY(expression)                                                                                                \
    do {                                                                                                               \
        int try_result = (expression);                                                                                 \
        if (try_result) return try_result;                                                                             \
    } while (0)

/* The device that this thread's calls go to. */
static inline int entry_device(dd_device **out)
{
    if (DD_HIP && !dd_current && dd.config.devices > 0) dd_current = &dd.device[0];
    *out = dd_current;
    if (!DD_HIP && !dd.initialized) return DD_NOT_INITIALIZED;
    if (!dd_current) return DD_HIP ? DD_NO_DEVICE : DD_INVALID_CONTEXT;
    return dd_current->lost;
}

/* A stream of the current device. */
static inline int entry_stream(void *handle, dd_stream **out)
{
    dd_device *device;
    TRY(entry_device(&device));
    *out = dd_stream_of(handle);
    return *out && ((*out)->device == device || DD_HIP) ? (*out)->device->lost : DD_INVALID_HANDLE;
}

static inline int entry_kernel(dd_device *device, void *function, const unsigned grid[3], const unsigned block[3],
                               unsigned shared, void **arguments, void **extra, dd_work *out)
{
    if (extra) return DD_NOT_SUPPORTED; /* parameters in one buffer: nobody here asks for it */
    uint64_t most = DD_HIP ? UINT32_MAX : UINT64_MAX;
    for (int i = 0; i < 3; ++i)
        if (block[i] && grid[i] > most / block[i]) return DD_INVALID_VALUE;
    return dd_work_kernel(device, function, grid, block, shared, arguments, out);
}

#endif
