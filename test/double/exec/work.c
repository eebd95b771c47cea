/*
 * Work: checked when asked for, done later. Invariants: work.h.
 */
#include "work.h"

#include "fiber.h"
#include "double/driver/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* ---- asking ----------------------------------------------------------------------------------------------------- */

static bool on_host(const void *p) { return p && !dd_memory_device((uintptr_t)p); }

static bool on_device(const dd_device *device, uint64_t address, size_t size)
{
    return dd_memory_device(address) == device && dd_memory_find(address, size);
}

int dd_work_to_device(dd_device *device, uint64_t to, const void *from, size_t size, dd_work *out)
{
    *out = (dd_work){.kind = DD_TO_DEVICE, .device = device, .to = to, .host_from = from, .size = size};
    if (size == 0) out->kind = DD_NOTHING;
    return size == 0 || (on_device(device, to, size) && on_host(from)) ? DD_OK : DD_INVALID_VALUE;
}

int dd_work_to_host(dd_device *device, void *to, uint64_t from, size_t size, dd_work *out)
{
    *out = (dd_work){.kind = DD_TO_HOST, .device = device, .host_to = to, .from = from, .size = size};
    if (size == 0) out->kind = DD_NOTHING;
    return size == 0 || (on_device(device, from, size) && on_host(to)) ? DD_OK : DD_INVALID_VALUE;
}

int dd_work_copy(dd_device *device, uint64_t to, uint64_t from, size_t size, dd_work *out)
{
    *out = (dd_work){.kind = DD_COPY, .device = device, .to = to, .from = from, .size = size};
    if (size == 0) out->kind = DD_NOTHING;
    return size == 0 || (on_device(device, to, size) && on_device(device, from, size)) ? DD_OK : DD_INVALID_VALUE;
}

int dd_work_fill(dd_device *device, uint64_t to, unsigned char byte, size_t size, dd_work *out)
{
    *out = (dd_work){.kind = DD_FILL, .device = device, .to = to, .byte = byte, .size = size};
    if (size == 0) out->kind = DD_NOTHING;
    return size == 0 || on_device(device, to, size) ? DD_OK : DD_INVALID_VALUE;
}

int dd_work_free_later(dd_device *device, uint64_t address, dd_work *out)
{
    *out = (dd_work){.kind = DD_FREE, .device = device, .to = address};
    return dd_memory_leave(device, address) ? DD_OK : DD_INVALID_VALUE;
}

static bool shape_is_right(const dd_function *f, const unsigned grid[3], const unsigned block[3])
{
    uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
    if (threads == 0 || threads > (uint64_t)f->most_threads || block[0] > 1024 || block[1] > 1024 || block[2] > 64)
        return false;
    return grid[0] > 0 && grid[1] > 0 && grid[2] > 0 && grid[0] <= dd.config.max_grid && grid[1] <= 65535 &&
           grid[2] <= 65535;
}

/*
 * The bytes of parameters may hold addresses of the device and of pinned memory. A word that looks like another address
 * of the host's would be a wrong access on a device; here it would go unnoticed.
 */
static bool holds_address_of_host(const dd_function *f, const unsigned char *bytes)
{
    const uint64_t stack = (uintptr_t)&bytes;
    const uint64_t of_host[] = {(uintptr_t)&dd >> 40, stack >> 40, (uintptr_t)f >> 40, getauxval(AT_ENTRY) >> 40};
    for (size_t at = 0; at + 8 <= f->bytes; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof word);
        bool looks = false;
        for (int i = 0; i < 4; ++i) looks |= word >> 40 != 0 && word >> 40 == of_host[i];
        if (!looks) continue;
        if (!dd_memory_device(word) && !dd_host_owns((const void *)(uintptr_t)word)) return true;
    }
    return false;
}

int dd_work_kernel(dd_device *device, dd_function *function, const unsigned grid[3], const unsigned block[3],
                   unsigned shared, void **arguments, dd_work *out)
{
    *out = (dd_work){.kind = DD_KERNEL, .device = device};
    if (!dd_function_is_alive(function) || function->module->device != device) return DD_INVALID_HANDLE;
    if (!shape_is_right(function, grid, block)) return DD_INVALID_VALUE;
    if (shared + function->module->shared_size > (size_t)dd.config.shared_memory) return DD_INVALID_VALUE;
    if (function->nparam > 0 && !arguments) return DD_INVALID_VALUE;
    dd_launch *l = &out->launch;
    l->function = function;
    memcpy(l->grid, grid, sizeof l->grid);
    memcpy(l->block, block, sizeof l->block);
    l->shared = shared;
    l->bytes = calloc(1, function->bytes + 1);
    if (!l->bytes) return DD_OUT_OF_MEMORY;
    for (size_t i = 0, at = 0; i < function->nparam; at += (function->size[i++] + 15) / 16 * 16)
        memcpy(l->bytes + at, arguments[i], function->size[i]);
    return DD_OK;
}

int dd_work_same(const dd_work *from, dd_work *out)
{
    *out = *from;
    if (from->kind != DD_KERNEL) return DD_OK;
    out->launch.bytes = malloc(from->launch.function->bytes + 1);
    if (!out->launch.bytes) return DD_OUT_OF_MEMORY;
    memcpy(out->launch.bytes, from->launch.bytes, from->launch.function->bytes);
    return DD_OK;
}

void dd_work_drop(dd_work *work)
{
    if (work->kind == DD_KERNEL) free(work->launch.bytes);
    *work = (dd_work){0};
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

static int run_kernel(const dd_work *work)
{
    const dd_launch *l = &work->launch;
    const dd_function *f = l->function;
    if (!dd_function_is_alive(f)) {
        dd_wrong("a kernel runs after its module was unloaded");
        return DD_ILLEGAL_ADDRESS;
    }
    int result = dd_kernel_fault();
    if (result) return result;
    if (holds_address_of_host(f, l->bytes)) {
        dd_wrong("kernel %s: an argument is an address of the host", f->name);
        return DD_ILLEGAL_ADDRESS;
    }
    result = dd_memory_open(work->device);
    if (result) return result;
    char message[256] = "";
    result = dd_grid_run(f, l->grid, l->block, l->shared, l->bytes, message, sizeof message);
    if (result) dd_wrong("kernel %s: %s", f->name, message);
    dd.early += work->early;
    if (!result && work->early && !dd_grid_waited())
        dd_wrong("kernel %s: may be started while those before it end, and does not wait for them", f->name);
    return result;
}

static bool still_there(const dd_work *w)
{
    bool to = w->kind == DD_TO_HOST || dd_memory_find(w->to, w->size);
    bool from = w->kind == DD_TO_DEVICE || w->kind == DD_FILL || dd_memory_find(w->from, w->size);
    if (!to || !from) dd_wrong("a copy or fill of %zu bytes runs after its memory was freed", w->size);
    return to && from;
}

static int run(const dd_work *w)
{
    switch (w->kind) {
    case DD_NOTHING: return DD_OK;
    case DD_KERNEL: return run_kernel(w);
    case DD_FREE: return dd_memory_free(w->device, w->to);
    default: break;
    }
    if (!still_there(w)) return DD_ILLEGAL_ADDRESS;
    if (w->kind == DD_TO_DEVICE) memcpy(dd_memory_shadow(w->to), w->host_from, w->size);
    if (w->kind == DD_TO_HOST) memcpy(w->host_to, dd_memory_shadow(w->from), w->size);
    if (w->kind == DD_COPY) memmove(dd_memory_shadow(w->to), dd_memory_shadow(w->from), w->size);
    if (w->kind == DD_FILL) memset(dd_memory_shadow(w->to), w->byte, w->size);
    return DD_OK;
}

void dd_work_run(const dd_work *work)
{
    if (work->device->lost && work->kind != DD_FREE) return;
    int result = run(work);
    if (result && !work->device->lost) work->device->lost = result;
}
