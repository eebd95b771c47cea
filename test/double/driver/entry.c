/*
 * Entry points of the driver: devices, contexts, memory, streams, events, modules, launches.
 */
#include "entry.h"

#include <stdio.h>
#include <string.h>

/* ---- the driver and its devices ---------------------------------------------------------------------------------- */

int entry_init(unsigned flags)
{
    ENTER(init);
    if (flags) return DD_INVALID_VALUE;
    if (dd.config.devices == 0) return DD_NO_DEVICE;
    dd.initialized = true;
    return DD_OK;
}

int entry_driver_version(int *version)
{
    ENTER(driver_version);
    *version = DD_HIP ? dd.config.hip_version : dd.config.cuda_version;
    return DD_OK;
}

static int need_init(void) { return !DD_HIP && !dd.initialized ? DD_NOT_INITIALIZED : DD_OK; }

static int check_ordinal(int ordinal)
{
    TRY(need_init());
    return ordinal >= 0 && ordinal < dd.config.devices ? DD_OK : DD_INVALID_DEVICE;
}

int entry_device_count(int *count)
{
    ENTER(device_count);
    *count = dd.config.devices;
    return need_init();
}

int entry_device_get(int *ordinal, int index)
{
    ENTER(device_get);
    *ordinal = index;
    return check_ordinal(index);
}

int entry_device_name(char *name, int size, int ordinal)
{
    ENTER(device_name);
    TRY(check_ordinal(ordinal));
    snprintf(name, (size_t)size, "Double %s %d", DD_HIP ? "Radeon" : "GeForce", ordinal);
    return DD_OK;
}

/* Numbers of attributes, of CUDA and of HIP. */
int entry_device_attribute(int *value, int attribute, int ordinal)
{
    ENTER(device_attribute);
    TRY(check_ordinal(ordinal));
    const double_config *c = &dd.config;
    const struct {
        int cuda, hip, value;
    } known[] = {
        {1, 56, 1024},
        {2, 26, 1024},
        {3, 27, 1024},
        {4, 28, 64},
        {5, 29, (int)c->max_grid},
        {6, 30, 65535},
        {7, 31, 65535},
        {8, 74, DD_HIP || c->shared_memory < 48 << 10 ? c->shared_memory : 48 << 10},
        {10, 87, dd_warp_width()},
        {16, 63, c->multiprocessors},
        {41, 85, 1}, /* one address space with the host */
        {75, 23, c->major},
        {76, 61, c->minor},
        {97, 75, c->shared_memory},
        {115, -1, 1}, /* stream-ordered memory */
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if ((DD_HIP ? known[i].hip : known[i].cuda) == attribute) {
            *value = known[i].value;
            return DD_OK;
        }
    return DD_INVALID_VALUE;
}

int entry_device_memory(size_t *bytes, int ordinal)
{
    ENTER(device_memory);
    *bytes = dd.config.memory;
    return check_ordinal(ordinal);
}

#if DD_HIP
int entry_runtime_version(int *version)
{
    ENTER(runtime_version);
    *version = dd.config.hip_version;
    return DD_OK;
}

/* The struct's first member is the name; the architecture's name lies where that version of the struct has it. */
static int properties(char *out, size_t size, size_t arch, int ordinal)
{
    TRY(check_ordinal(ordinal));
    memset(out, 0, size);
    snprintf(out, 256, "Double Radeon %d", ordinal);
    snprintf(out + arch, 256, "%s:sramecc+:xnack-", dd.config.gfx);
    return DD_OK;
}

int entry_device_properties_6(void *out, int ordinal)
{
    ENTER(device_properties_6);
    return properties(out, 1472, 1160, ordinal);
}

int entry_device_properties_5(void *out, int ordinal)
{
    ENTER(device_properties_5);
    return properties(out, 792, 396, ordinal);
}

static const char *error_name(int code)
{
    /* HIP writes its names in its own way: hipErrorOutOfMemory. */
    static _Thread_local char name[64];
    const char *from = dd_error_name(code);
    if (!from) return "hipErrorUnknown";
    if (code == DD_OK) return "hipSuccess";
    size_t n = (size_t)snprintf(name, sizeof name, "hipError");
    for (bool up = true; *from; ++from) {
        if (*from != '_') name[n++] = (char)(up || *from < 'A' || *from > 'Z' ? *from : *from + 'a' - 'A');
        up = *from == '_';
    }
    name[n] = 0;
    return name;
}

const char *entry_error_name_of(int code) { return error_name(code); }
const char *entry_error_text_of(int code)
{
    const char *text = dd_error_sentence(code);
    return text ? text : "unknown error";
}

#else

int entry_error_name_into(int code, const char **name)
{
    static _Thread_local char text[64];
    const char *known = dd_error_name(code);
    *name = NULL;
    if (!known) return DD_INVALID_VALUE;
    snprintf(text, sizeof text, code == DD_OK ? "CUDA_%s" : "CUDA_ERROR_%s", known);
    *name = text;
    return DD_OK;
}

int entry_error_text_into(int code, const char **text)
{
    *text = dd_error_sentence(code);
    return *text ? DD_OK : DD_INVALID_VALUE;
}
#endif

/* ---- which device a thread's calls go to ------------------------------------------------------------------------- */

#if DD_HIP
int entry_device_current(int *ordinal)
{
    dd_device *device;
    ENTER(device_current);
    entry_device(&device);
    *ordinal = device ? device->ordinal : 0;
    return device ? DD_OK : DD_NO_DEVICE;
}

int entry_device_set(int ordinal)
{
    ENTER(device_set);
    TRY(check_ordinal(ordinal));
    dd_current = &dd.device[ordinal];
    return DD_OK;
}

#else

int entry_context_retain(void **context, int ordinal)
{
    ENTER(context_retain);
    TRY(check_ordinal(ordinal));
    dd.alive.contexts += dd.device[ordinal].retained++ == 0;
    *context = &dd.device[ordinal];
    return DD_OK;
}

int entry_context_release(int ordinal)
{
    ENTER(context_release);
    TRY(check_ordinal(ordinal));
    if (dd.device[ordinal].retained == 0) return DD_INVALID_CONTEXT;
    dd.alive.contexts -= --dd.device[ordinal].retained == 0;
    return DD_OK;
}

int entry_context_get(void **context)
{
    ENTER(context_get);
    *context = dd_current;
    return need_init();
}

int entry_context_set(void *context)
{
    ENTER(context_set);
    TRY(need_init());
    dd_device *device = NULL;
    for (int i = 0; i < dd.config.devices; ++i)
        if (context == &dd.device[i] && dd.device[i].retained) device = &dd.device[i];
    if (context && !device) return DD_INVALID_CONTEXT;
    dd_current = device;
    return DD_OK;
}
#endif

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static uint64_t address_of(const void *memory) { return (uintptr_t)memory; }

int entry_memory_info(size_t *bytes, size_t *total)
{
    dd_device *device;
    ENTER(memory_info);
    TRY(entry_device(&device));
    *bytes = dd_memory_free_bytes(device);
    *total = dd.config.memory;
    return DD_OK;
}

static int allocate(void **memory, size_t size)
{
    dd_device *device;
    uint64_t address;
    *memory = NULL;
    TRY(entry_device(&device));
    TRY(dd_memory_alloc(device, size, &address));
    *memory = (void *)(uintptr_t)address;
    return DD_OK;
}

int entry_alloc(void **memory, size_t size)
{
    ENTER(alloc);
    TRY(dd_capture_forbids());
    return allocate(memory, size);
}

/* Waits for all that the device was given, as drivers do. */
int entry_free(void *memory)
{
    dd_device *device;
    ENTER(free);
    TRY(dd_capture_forbids());
    TRY(entry_device(&device));
    if (!memory) return DD_OK;
    device = dd_memory_device(address_of(memory));
    if (!device || !dd_memory_leave(device, address_of(memory))) return DD_INVALID_VALUE;
    TRY(dd_wait_device(device));
    return dd_memory_free(device, address_of(memory));
}

int entry_alloc_async(void **memory, size_t size, void *handle)
{
    dd_stream *stream;
    ENTER(alloc_async);
    TRY(entry_stream(handle, &stream));
    if (stream->capture) return DD_NOT_SUPPORTED; /* memory that belongs to a graph: not in this driver */
    int result = allocate(memory, size);
    if (result != DD_OUT_OF_MEMORY) return result;
    /* What was freed in a stream comes back when the stream gets there; a driver waits for that before it gives up. */
    TRY(dd_wait_device(stream->device));
    return allocate(memory, size);
}

int entry_free_async(void *memory, void *handle)
{
    dd_stream *stream;
    dd_work work;
    ENTER(free_async);
    TRY(entry_stream(handle, &stream));
    if (stream->capture) return DD_NOT_SUPPORTED;
    TRY(dd_work_free_later(stream->device, address_of(memory), &work));
    return dd_queue_work(stream, &work);
}

int entry_host_alloc(void **memory, size_t size, unsigned flags)
{
    dd_device *device;
    ENTER(host_alloc);
    (void)flags;
    TRY(entry_device(&device));
    TRY(dd_capture_forbids());
    return dd_host_alloc(size, memory);
}

int entry_host_free(void *memory)
{
    dd_device *device;
    ENTER(host_free);
    TRY(entry_device(&device));
    TRY(dd_capture_forbids());
    TRY(dd_wait_device(device));
    return dd_host_free(memory);
}

int entry_fill_async(void *memory, unsigned char value, size_t size, void *handle)
{
    dd_stream *stream;
    dd_work work;
    ENTER(fill_async);
    TRY(entry_stream(handle, &stream));
    TRY(dd_work_fill(stream->device, address_of(memory), value, size, &work));
    return dd_queue_work(stream, &work);
}

int entry_copy_to_device_async(void *to, const void *from, size_t size, void *handle)
{
    dd_stream *stream;
    dd_work work;
    ENTER(copy_to_device_async);
    TRY(entry_stream(handle, &stream));
    TRY(dd_work_to_device(stream->device, address_of(to), from, size, &work));
    return dd_queue_work(stream, &work);
}

int entry_copy_to_host_async(void *to, const void *from, size_t size, void *handle)
{
    dd_stream *stream;
    dd_work work;
    ENTER(copy_to_host_async);
    TRY(entry_stream(handle, &stream));
    TRY(dd_work_to_host(stream->device, to, address_of(from), size, &work));
    return dd_queue_work(stream, &work);
}

int entry_copy_async(void *to, const void *from, size_t size, void *handle)
{
    dd_stream *stream;
    dd_work work;
    ENTER(copy_async);
    TRY(entry_stream(handle, &stream));
    TRY(dd_work_copy(stream->device, address_of(to), address_of(from), size, &work));
    return dd_queue_work(stream, &work);
}

/* ---- streams and events ------------------------------------------------------------------------------------------ */

int entry_stream_create(void **out, unsigned flags)
{
    dd_device *device;
    dd_stream *stream;
    ENTER(stream_create);
    TRY(entry_device(&device));
    if (flags > 1) return DD_INVALID_VALUE;
    TRY(dd_stream_make(device, flags == 0, &stream));
    *out = stream;
    return DD_OK;
}

int entry_stream_destroy(void *handle)
{
    dd_stream *stream;
    ENTER(stream_destroy);
    TRY(entry_stream(handle, &stream));
    if (stream->legacy) return DD_INVALID_HANDLE;
    if (stream->capture) return dd_capture_forbids();
    return dd_stream_end(stream);
}

int entry_stream_synchronize(void *handle)
{
    dd_stream *stream;
    ENTER(stream_synchronize);
    TRY(entry_stream(handle, &stream));
    if (stream->capture) stream->capture->broken = true;
    return stream->capture ? DD_CAPTURE_UNSUPPORTED : dd_wait_stream(stream);
}

static int check_event(void *handle, dd_event **out)
{
    dd_device *device;
    TRY(entry_device(&device));
    *out = handle;
    return dd_event_is_alive(*out) ? DD_OK : DD_INVALID_HANDLE;
}

int entry_stream_wait_event(void *handle, void *event_handle, unsigned flags)
{
    dd_stream *stream;
    dd_event *event;
    ENTER(stream_wait_event);
    TRY(check_event(event_handle, &event));
    TRY(entry_stream(handle, &stream));
    return flags ? DD_INVALID_VALUE : dd_queue_wait(stream, event);
}

int entry_event_create(void **out, unsigned flags)
{
    dd_device *device;
    dd_event *event;
    ENTER(event_create);
    TRY(entry_device(&device));
    TRY(dd_event_make(device, !(flags & 2), &event));
    *out = event;
    return DD_OK;
}

int entry_event_destroy(void *handle)
{
    dd_event *event;
    ENTER(event_destroy);
    TRY(check_event(handle, &event));
    return dd_event_end(event);
}

int entry_event_record(void *handle, void *stream_handle)
{
    dd_stream *stream;
    dd_event *event;
    ENTER(event_record);
    TRY(check_event(handle, &event));
    TRY(entry_stream(stream_handle, &stream));
    if (stream->device != event->device) return DD_INVALID_HANDLE;
    return dd_queue_record(stream, event);
}

int entry_event_query(void *handle)
{
    dd_event *event;
    ENTER(event_query);
    TRY(check_event(handle, &event));
    if (event->capture) return DD_CAPTURE_UNSUPPORTED;
    if (!dd_event_has_run(event, event->asked)) dd_queue_step();
    return dd_event_has_run(event, event->asked) ? event->device->lost : DD_NOT_READY;
}

int entry_event_synchronize(void *handle)
{
    dd_event *event;
    ENTER(event_synchronize);
    TRY(check_event(handle, &event));
    return event->capture ? DD_CAPTURE_UNSUPPORTED : dd_wait_event(event);
}

/* A call is a microsecond. */
int entry_event_elapsed(float *milliseconds, void *begin, void *end)
{
    dd_event *from, *to;
    ENTER(event_elapsed);
    TRY(check_event(begin, &from));
    TRY(check_event(end, &to));
    if (!from->timed || !to->timed || from->asked == 0 || to->asked == 0) return DD_INVALID_HANDLE;
    if (!dd_event_has_run(from, from->asked) || !dd_event_has_run(to, to->asked)) return DD_NOT_READY;
    *milliseconds = (float)(to->time - from->time) * 1e-3f;
    return DD_OK;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

int entry_module_load(void **out, const void *image)
{
    dd_device *device;
    dd_module *module;
    ENTER(module_load);
    TRY(entry_device(&device));
    TRY(dd_capture_forbids());
    TRY(dd_module_load(device, image, &module));
    *out = module;
    return DD_OK;
}

int entry_module_unload(void *module)
{
    dd_device *device;
    ENTER(module_unload);
    TRY(entry_device(&device));
    TRY(dd_capture_forbids());
    return dd_module_unload(module);
}

int entry_module_function(void **out, void *module, const char *symbol)
{
    dd_device *device;
    dd_function *function;
    ENTER(module_function);
    TRY(entry_device(&device));
    TRY(dd_module_function(module, symbol, &function));
    *out = function;
    return DD_OK;
}

/*
 * Registers and local memory are a host's: as much as an ordinary kernel has. Shared memory is that of the whole
 * module.
 */
int entry_function_attribute(int *value, int attribute, void *handle)
{
    ENTER(function_attribute);
    const dd_function *f = handle;
    if (!dd_function_is_alive(f)) return DD_INVALID_HANDLE;
    const int values[] = {f->most_threads, (int)f->module->shared_size, 0, 0, 32};
    if (attribute < 0 || attribute >= (int)(sizeof values / sizeof *values)) return DD_INVALID_VALUE;
    *value = values[attribute];
    return DD_OK;
}

#if !DD_HIP
int entry_function_set(void *handle, int attribute, int value)
{
    ENTER(function_set);
    if (!dd_function_is_alive(handle)) return DD_INVALID_HANDLE;
    return attribute == 8 && value >= 0 && value <= dd.config.shared_memory ? DD_OK : DD_INVALID_VALUE;
}
#endif

int entry_launch(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                 unsigned block_z, unsigned shared_bytes, void *handle, void **arguments, void **extra)
{
    dd_stream *stream;
    dd_work work;
    ENTER(launch);
    TRY(entry_stream(handle, &stream));
    const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
    TRY(entry_kernel(stream->device, function, grid, block, shared_bytes, arguments, extra, &work));
    return dd_queue_work(stream, &work);
}
