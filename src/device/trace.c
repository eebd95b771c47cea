/*
 * Tracing of a device: `mechanisms.trace` is the running trace; `traced` is also kept after it has ended
 * (base/trace.h).
 */
#include "device/trace.h"

#include "device/ranges.h"

enum { TRACE_COOKIE = 0x57e7d00c };

stet_trace_def stet_default_trace_def(void)
{
    return (stet_trace_def){.cookie = TRACE_COOKIE, .events = true, .limit = INT64_C(64) << 20};
}

stet_result stet_trace_begin(stet_device *device, const stet_trace_def *def)
{
    sti_trace *trace;
    if (!device || !def)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_trace_begin: device and def must not be NULL");
    if (def->cookie != TRACE_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "trace: the def is not initialised; start from stet_default_trace_def()");
    if (def->limit < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "trace: a limit of %lld bytes; give 0 or more",
                         (long long)def->limit);
    if (stet_trace_is_on(device))
        return sti_error(STET_ERROR_STATE, "device %s is being traced already; end that first", device->name);
    if (device->mechanisms.trace && sti_trace_is_open(device->mechanisms.trace))
        return sti_error(STET_ERROR_STATE, "device %s is in the middle of a range; begin the trace before it",
                         device->name);
    STI_TRY(sti_trace_new(def->events, def->limit, &trace));
    sti_trace_free(device->traced);
    device->traced = device->mechanisms.trace = trace;
    sti_ranges_join(device, trace);
    sti_times_begin(device);
    return STET_OK;
}

stet_result stet_trace_end(stet_device *device)
{
    if (!device) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_trace_end: device must not be NULL");
    if (!stet_trace_is_on(device))
        return sti_error(STET_ERROR_STATE, "device %s is not being traced; begin that first", device->name);
    if (sti_trace_is_open(device->mechanisms.trace))
        return sti_error(STET_ERROR_STATE, "device %s is in the middle of what is being traced; end the trace after it",
                         device->name);
    sti_times_end(device);
    (void)sti_trace_stop(device->mechanisms.trace);
    device->mechanisms.trace = sti_ranges_alone(device);
    return STET_OK;
}

bool stet_trace_is_on(const stet_device *device)
{
    return device && device->mechanisms.trace && device->mechanisms.trace != sti_ranges_alone(device);
}

stet_trace_stats stet_trace_get_stats(const stet_device *device)
{
    stet_trace_stats stats = {0};
    if (device && device->traced) sti_trace_stats(device->traced, &stats);
    return stats;
}

bool stet_trace_get_event(const stet_device *device, int64_t i, stet_trace_event *out)
{
    if (!out) return false;
    *out = (stet_trace_event){0};
    return device && device->traced && sti_trace_get(device->traced, i, out);
}

bool stet_profile_get_row(const stet_device *device, int64_t i, stet_profile_row *out)
{
    if (!out) return false;
    *out = (stet_profile_row){0};
    return device && device->traced && sti_trace_get_row(device->traced, i, out);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static sti_device_mark begin_copy(stet_device *device, stet_trace_kind kind, const char *name, size_t size)
{
    return sti_device_trace_open(device, &(sti_trace_what){.kind = kind, .name = name, .amount = (int64_t)size});
}

stet_result sti_device_upload_traced(stet_device *device, const char *name, void *to, const void *from, size_t size)
{
    sti_device_mark mark = begin_copy(device, STET_TRACE_UPLOAD, name, size);
    stet_result result = device->ops->upload(device, to, from, size);
    sti_device_trace_close(device, mark, result);
    return result;
}

/*
 * Uploads in the upload stream, to which moments of the stream in use do not apply: the event has only the host's
 * times.
 */
stet_result sti_device_stream_upload(stet_device *device, const char *name, void *to, const void *from, size_t size)
{
    sti_trace *trace = device->mechanisms.trace;
    sti_trace_mark mark = {0};
    sti_trace_what what = {.kind = STET_TRACE_STAGE, .name = name, .amount = (int64_t)size};
    if (trace) mark = sti_trace_open(trace, &what);
    stet_result result = device->ops->stream_upload(device, to, from, size);
    if (trace) sti_trace_close(trace, mark, result);
    return result;
}

stet_result sti_device_download_traced(stet_device *device, const char *name, void *to, const void *from, size_t size)
{
    sti_device_mark mark = begin_copy(device, STET_TRACE_DOWNLOAD, name, size);
    stet_result result = device->ops->download(device, to, from, size);
    sti_device_trace_close(device, mark, result);
    return result;
}

stet_result sti_device_copy_traced(stet_device *device, const char *name, void *to, const void *from, size_t size)
{
    sti_device_mark mark = begin_copy(device, STET_TRACE_COPY, name, size);
    stet_result result = device->ops->copy(device, to, from, size);
    sti_device_trace_close(device, mark, result);
    return result;
}
