/* The stream in use, and streams of the caller; see stream.h. */
#include "device/gpu/stream.h"

#include "base/memory.h"
#include "device/gpu/gpu.h"

#include <assert.h>

struct sti_gpu_later {
    struct sti_gpu_later *next;
    sti_gpu_drop *drop;
    void *thing;
};

/* ---- captures ---------------------------------------------------------------------------------------------------- */

/* The legacy stream cannot be captured, and querying it during a capture is an error. */
static bool is_legacy(const void *stream) { return (uintptr_t)stream <= 1; }

/* Queries a stream: *status is 0 if it is not being captured; *id is 0 if the driver gives no number. */
static stet_result ask_stream(sti_gpu *gpu, void *stream, int *status, uint64_t *id)
{
    const sti_gpu_api *api = &gpu->driver.api;
    *status = 0;
    *id = 0;
    if (stream == gpu->own || is_legacy(stream)) return STET_OK;
    if (api->capture_info) return STI_GPU_CALL(gpu, capture_info, stream, status, id, NULL, NULL, NULL);
    return api->capture_status ? STI_GPU_CALL(gpu, capture_status, stream, status) : STET_OK;
}

/* A capture without a number, or a broken one that has lost its number, keeps the first number it was seen with. */
static stet_result find_capture(sti_gpu *gpu, uint64_t *id)
{
    sti_gpu_streams *s = &gpu->streams;
    int status;
    STI_TRY(ask_stream(gpu, gpu->stream, &status, id));
    if (status == 0) *id = 0;
    if (status != 0 && *id == 0) *id = s->capture ? s->capture : UINT64_C(1) << 63 | ++s->ncapture;
    s->capture = *id;
    return STET_OK;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* The event can be reused for the next order at once. The upload stream has an event of its own. */
stet_result sti_gpu_make_stream_wait(sti_gpu *gpu, void *to, void *from)
{
    bool upload_stream = gpu->upload_stream.stream && from == gpu->upload_stream.stream;
    void **event = upload_stream ? &gpu->upload_stream.event : &gpu->streams.event;
    if (to == from) return STET_OK;
    if (!*event) STI_TRY(STI_GPU_CALL(gpu, event_create, event, STI_GPU_EVENT_NO_TIMING));
    STI_TRY(STI_GPU_CALL(gpu, event_record, *event, from));
    return STI_GPU_CALL(gpu, stream_wait_event, to, *event, 0);
}

/* The capture that stet had joined has ended: orders the stream behind the work issued before (STREAM-2). */
static stet_result leave_capture(sti_gpu *gpu)
{
    assert(gpu->streams.joined && !gpu->streams.capture && "STREAM-2");
    STI_TRY(sti_gpu_make_stream_wait(gpu, gpu->stream, gpu->own));
    gpu->streams.joined = false;
    return STET_OK;
}

stet_result sti_gpu_poll_capture(sti_gpu *gpu)
{
    uint64_t id;
    STI_TRY(find_capture(gpu, &id));
    return id || !gpu->streams.joined ? STET_OK : leave_capture(gpu);
}

stet_result sti_gpu_require_no_capture(sti_gpu *gpu, const char *what)
{
    if (gpu->stream == gpu->own) return STET_OK;
    STI_TRY(sti_gpu_poll_capture(gpu));
    if (!gpu->streams.capture) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED,
                     "%s: %s cannot be a part of a graph, and the stream in use is being captured; do this before the "
                     "capture begins, or when it has ended",
                     gpu->where, what);
}

/* ---- the stream in use ------------------------------------------------------------------------------------------- */

/* Returns the stream behind which all work issued outside of captures comes (STREAM-2). */
static void *front_stream(const sti_gpu *gpu) { return gpu->streams.joined ? gpu->own : gpu->stream; }

/* Under the pool's lock, because a free in any thread waits for the device's own stream. */
static void set_stream(sti_gpu *gpu, void *stream, bool joined)
{
    assert(!joined || stream != gpu->own);
    pthread_mutex_lock(&gpu->pool.lock);
    gpu->stream = stream;
    gpu->streams.joined = joined;
    gpu->streams.capture = 0;
    pthread_mutex_unlock(&gpu->pool.lock);
}

static stet_result change_stream(sti_gpu *gpu, void *to)
{
    int captured;
    uint64_t id;
    STI_TRY(sti_gpu_before_issue(gpu));
    if (to == gpu->stream) return STET_OK;
    STI_TRY(find_capture(gpu, &id));
    if (id && !gpu->streams.joined)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "%s: the stream in use is being captured since it came into use, so that no other can be put "
                         "behind what it had got before; use another stream when the capture has ended",
                         gpu->where);
    STI_TRY(ask_stream(gpu, to, &captured, &id));
    STI_TRY(sti_gpu_make_stream_wait(gpu, captured ? gpu->own : to, front_stream(gpu)));
    set_stream(gpu, to, captured != 0);
    return STET_OK;
}

stet_result sti_gpu_use_stream(stet_device *device, void *stream, bool own)
{
    sti_gpu *gpu = device->state;
    void *to = own ? gpu->own : stream;
    sti_gpu_current was;
    if (to == gpu->stream && !gpu->streams.joined) return STET_OK;
    STI_TRY(sti_gpu_enter(gpu, &was));
    stet_result result = sti_gpu_leave(gpu, &was, change_stream(gpu, to));
    device->stream = gpu->stream;
    return result;
}

stet_result sti_gpu_order_stream(sti_gpu *gpu, void *other, bool behind)
{
    int captured[2];
    uint64_t id[2];
    STI_TRY(sti_gpu_before_issue(gpu));
    if (other == gpu->stream) return STET_OK;
    STI_TRY(ask_stream(gpu, gpu->stream, &captured[0], &id[0]));
    STI_TRY(ask_stream(gpu, other, &captured[1], &id[1]));
    bool same = captured[0] ? captured[1] && id[0] && id[0] == id[1] : !captured[1];
    if (!same)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "%s: what is captured cannot be ordered with what is not, and %s is being captured%s; do this "
                         "when the capture has ended",
                         gpu->where, captured[0] ? "the stream in use" : "the other stream",
                         captured[0] && captured[1] ? ", the other one elsewhere" : "");
    return behind ? sti_gpu_make_stream_wait(gpu, gpu->stream, other)
                  : sti_gpu_make_stream_wait(gpu, other, gpu->stream);
}

static stet_result query_capture(sti_gpu *gpu, uint64_t *out)
{
    STI_TRY(sti_gpu_poll_capture(gpu));
    *out = gpu->streams.capture;
    return STET_OK;
}

stet_result sti_gpu_capturing(stet_device *device, uint64_t *out)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    *out = 0;
    if (gpu->stream == gpu->own) return STET_OK;
    STI_TRY(sti_gpu_enter(gpu, &was));
    return sti_gpu_leave(gpu, &was, query_capture(gpu, out));
}

/* ---- a second stream --------------------------------------------------------------------------------------------- */

static stet_result make_second(sti_gpu *gpu, void **second)
{
    STI_TRY(sti_gpu_require_no_capture(gpu, "work beside the stream"));
    if (!*second) STI_TRY(STI_GPU_CALL(gpu, stream_create, second, STI_GPU_STREAM_NON_BLOCKING));
    return sti_gpu_make_stream_wait(gpu, *second, gpu->stream);
}

stet_result sti_gpu_second_begin(stet_device *device, void **second, void **used)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    STI_TRY(sti_gpu_enter(gpu, &was));
    STI_TRY(sti_gpu_leave(gpu, &was, make_second(gpu, second)));
    *used = gpu->stream;
    set_stream(gpu, *second, false);
    device->stream = gpu->stream;
    return STET_OK;
}

void sti_gpu_second_end(stet_device *device, void *used)
{
    sti_gpu *gpu = device->state;
    set_stream(gpu, used, false);
    device->stream = gpu->stream;
}

stet_result sti_gpu_second_join(stet_device *device, void *second)
{
    sti_gpu *gpu = device->state;
    STI_GPU_WITHIN(gpu, sti_gpu_order_stream(gpu, second, true));
}

void sti_gpu_second_destroy(stet_device *device, void *second)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    if (!second || sti_gpu_enter_unchecked(gpu, &was) != STI_GPU_OK) return;
    (void)gpu->driver.api.stream_synchronize(second);
    (void)gpu->driver.api.stream_destroy(second);
    (void)sti_gpu_leave_unchecked(gpu, &was);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

/* Returns false if the stream in use has been captured since it came into use, and must not be waited for. */
static bool wait_for_all(sti_gpu *gpu)
{
    uint64_t id = 0;
    if (atomic_load(&gpu->lost)) return true; /* GPU-3: nothing runs any more */
    bool known = gpu->stream == gpu->own || find_capture(gpu, &id) == STET_OK;
    if (!known || (id && !gpu->streams.joined)) return false;
    if (STI_GPU_CALL(gpu, stream_synchronize, front_stream(gpu)) != STET_OK)
        sti_log(STET_LOG_WARNING, "%s", stet_get_last_error());
    return true;
}

static void drop_now(sti_gpu *gpu, sti_gpu_drop *drop, void *thing)
{
    int code = drop(thing);
    if (!atomic_load(&gpu->lost) && sti_gpu_check(gpu, code, "letting go of what has run") != STET_OK)
        sti_log(STET_LOG_WARNING, "%s", stet_get_last_error());
}

static void drop_all(sti_gpu *gpu)
{
    sti_gpu_later *l;
    while ((l = gpu->streams.later) != NULL) {
        gpu->streams.later = l->next;
        drop_now(gpu, l->drop, l->thing);
        sti_free(l);
    }
}

static void drop_later(sti_gpu *gpu, sti_gpu_drop *drop, void *thing)
{
    sti_gpu_later *l;
    if (sti_alloc(&l, sizeof *l, "what goes when a capture has ended") != STET_OK) {
        sti_log(STET_LOG_WARNING, "%s: it stays with the driver", stet_get_last_error());
        return;
    }
    *l = (sti_gpu_later){gpu->streams.later, drop, thing};
    gpu->streams.later = l;
}

void sti_gpu_drop_after_work(sti_gpu *gpu, sti_gpu_drop *drop, void *thing)
{
    assert(drop && thing);
    if (!wait_for_all(gpu)) {
        drop_later(gpu, drop, thing);
        return;
    }
    drop_all(gpu);
    drop_now(gpu, drop, thing);
}

/* ---- beginning and end ------------------------------------------------------------------------------------------- */

stet_result sti_gpu_streams_begin(sti_gpu *gpu)
{
    STI_TRY(STI_GPU_CALL(gpu, stream_create, &gpu->own, STI_GPU_STREAM_NON_BLOCKING));
    gpu->stream = gpu->own;
    return STET_OK;
}

void sti_gpu_streams_wait(sti_gpu *gpu)
{
    if (!gpu->own) return;
    if (gpu->stream != gpu->own) (void)wait_for_all(gpu);
    (void)gpu->driver.api.stream_synchronize(gpu->own);
    if (gpu->upload_stream.stream) (void)gpu->driver.api.stream_synchronize(gpu->upload_stream.stream);
    drop_all(gpu);
}

void sti_gpu_streams_end(sti_gpu *gpu)
{
    const sti_gpu_api *api = &gpu->driver.api;
    if (gpu->streams.event) (void)api->event_destroy(gpu->streams.event);
    if (gpu->streams.foreign) (void)api->stream_destroy(gpu->streams.foreign);
    if (gpu->upload_stream.event) (void)api->event_destroy(gpu->upload_stream.event);
    if (gpu->upload_stream.stream) (void)api->stream_destroy(gpu->upload_stream.stream);
    if (gpu->own) (void)api->stream_destroy(gpu->own);
}
