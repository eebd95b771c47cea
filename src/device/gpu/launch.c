/* Launches on a GPU: the contract of entries is sti_code's (device/device.h). */
#include "device/gpu/gpu.h"

#include <string.h>

typedef struct shape {
    uint64_t grid;
    unsigned team, teams;
} shape;

/* Every limit is an error before the driver sees the launch, which would speak of an invalid value only. */
static stet_result find_shape(const sti_gpu *gpu, const sti_code *code, int64_t count, shape *out)
{
    const int *fact = gpu->facts.fact;
    uint64_t per = code->worlds ? (uint64_t)code->teams : 1;
    *out = (shape){((uint64_t)count + per - 1) / per, (unsigned)code->team, (unsigned)code->teams};
    if (code->team < 1 || code->teams < 1 || code->team > fact[STI_GPU_MAX_X] || code->teams > fact[STI_GPU_MAX_Y] ||
        (int64_t)code->team * code->teams > fact[STI_GPU_MAX_THREADS])
        return sti_error(STET_LIMIT, "%s: kernel %s: blocks of %d × %d threads; %d × %d, together %d, are possible",
                         gpu->where, code->name, code->team, code->teams, fact[STI_GPU_MAX_X], fact[STI_GPU_MAX_Y],
                         fact[STI_GPU_MAX_THREADS]);
    if (out->grid > (uint64_t)fact[STI_GPU_MAX_GRID])
        return sti_error(STET_LIMIT, "%s: kernel %s: %llu blocks; %d are possible: use fewer worlds a launch",
                         gpu->where, code->name, (unsigned long long)out->grid, fact[STI_GPU_MAX_GRID]);
    if (out->grid * out->team > gpu->driver.vendor->max_threads)
        return sti_error(STET_LIMIT,
                         "%s: kernel %s: %llu blocks of %u threads; %s takes %llu threads: use fewer worlds",
                         gpu->where, code->name, (unsigned long long)out->grid, out->team, gpu->driver.vendor->title,
                         (unsigned long long)gpu->driver.vendor->max_threads);
    if (code->shared > (unsigned)fact[STI_GPU_SHARED_MOST])
        return sti_error(STET_LIMIT, "%s: kernel %s: %u bytes of shared memory a block; %d are possible", gpu->where,
                         code->name, code->shared, fact[STI_GPU_SHARED_MOST]);
    return STET_OK;
}

static stet_result check_arguments(const sti_gpu *gpu, const sti_code *code, int nslot, bool in_block)
{
    if (!(in_block ? code->block : code->value))
        return sti_error(STET_STATE, "%s: kernel %s has no code that takes its arguments %s", gpu->where, code->name,
                         in_block ? "in a block" : "by value");
    size_t size = (size_t)nslot * sizeof(sti_slot) + sizeof(int64_t);
    if (!in_block && size > STI_GPU_ARGUMENT_BYTES)
        return sti_error(STET_LIMIT, "%s: kernel %s: %zu bytes of arguments by value; %d are possible", gpu->where,
                         code->name, size, STI_GPU_ARGUMENT_BYTES);
    return STET_OK;
}

/* A function gets more shared memory than is usual only when it was asked for. */
static stet_result allow_shared(sti_gpu *gpu, const sti_code *code, void *function)
{
    int attribute = gpu->driver.vendor->shared_attribute;
    if (attribute < 0 || code->shared <= (unsigned)gpu->facts.fact[STI_GPU_SHARED]) return STET_OK;
    return STI_GPU_CALL(gpu, function_set, function, attribute, (int)code->shared);
}

static void remember(sti_gpu *gpu, const char *name)
{
    char *place = gpu->launches[gpu->nlaunch++ % STI_GPU_LAUNCHES];
    size_t n = strnlen(name, sizeof *gpu->launches - 1);
    memcpy(place, name, n);
    place[n] = 0;
}

static stet_result issue(sti_gpu *gpu, const sti_code *code, void *function, const shape *s, void **arguments)
{
    STI_TRY(allow_shared(gpu, code, function));
    stet_result result = STI_GPU_CALL(gpu, launch, function, (unsigned)s->grid, 1, 1, s->team, s->teams, 1,
                                      code->shared, gpu->stream, arguments, NULL);
    if (result != STET_OK) return sti_error_prefix(result, "kernel %s", code->name);
    remember(gpu, code->name);
    return STET_OK;
}

stet_result sti_gpu_launch(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot, int64_t nblock,
                           bool in_block)
{
    static const sti_slot none; /* an entry without slots takes one, which it does not look at */
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    shape s;
    STI_TRY(check_arguments(gpu, code, nslot, in_block));
    if (nblock <= 0) return STET_OK;
    STI_TRY(find_shape(gpu, code, nblock, &s));
    const sti_slot *first = nslot ? slots : &none;
    void *by_value[] = {(void *)(uintptr_t)first, &nblock};
    void *by_block[] = {(void *)&slots, &nblock};
    STI_TRY(sti_gpu_enter(gpu, &was));
    return sti_gpu_leave(gpu, &was,
                         issue(gpu, code, in_block ? code->block : code->value, &s, in_block ? by_block : by_value));
}
