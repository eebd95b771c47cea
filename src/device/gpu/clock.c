/* Moments in a GPU's streams; see clock.h. */
#include "device/gpu/clock.h"

#include "base/memory.h"
#include "device/gpu/gpu.h"

#include <math.h>

enum { FIRST_ROOM = 64 };

/* ---- events ------------------------------------------------------------------------------------------------------ */

static stet_result make_room(sti_gpu_clock *c)
{
    int64_t room = c->room ? 2 * c->room : FIRST_ROOM;
    STI_TRY(sti_realloc(&c->event, (size_t)room * sizeof *c->event, "moments of a device"));
    c->room = room;
    return STET_OK;
}

/* Returns the event of the next moment. */
static stet_result next_event(sti_gpu *gpu, void **out)
{
    sti_gpu_clock *c = &gpu->clock;
    if (c->used == STI_GPU_MOMENTS)
        return sti_error(STET_ERROR_LIMIT, "%s: more than %d moments are kept; drop them", gpu->where, STI_GPU_MOMENTS);
    if (c->used == c->room) STI_TRY(make_room(c));
    if (c->used == c->made) {
        STI_TRY(STI_GPU_CALL(gpu, event_create, &c->event[c->made], STI_GPU_EVENT_TIMING));
        ++c->made;
    }
    *out = c->event[c->used];
    return STET_OK;
}

static stet_result record_moment(sti_gpu *gpu, int64_t *id)
{
    void *event;
    STI_TRY(next_event(gpu, &event));
    STI_TRY(STI_GPU_CALL(gpu, event_record, event, gpu->stream));
    *id = gpu->clock.used++;
    return STET_OK;
}

static stet_result elapsed_ns(sti_gpu *gpu, void *from, void *to, int64_t *ns)
{
    float milliseconds = 0;
    STI_TRY(STI_GPU_CALL(gpu, event_synchronize, from));
    STI_TRY(STI_GPU_CALL(gpu, event_synchronize, to));
    STI_TRY(STI_GPU_CALL(gpu, event_elapsed, &milliseconds, from, to));
    *ns = (int64_t)llround((double)milliseconds * 1e6);
    return STET_OK;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

stet_result sti_gpu_moment(stet_device *device, int64_t *id)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    if (!id) {
        gpu->clock.used = 0;
        return STET_OK;
    }
    *id = -1;
    if (!gpu->driver.api.event_elapsed)
        return sti_error(STET_ERROR_UNSUPPORTED, "%s: the driver does not tell the time between events", gpu->where);
    STI_TRY(sti_gpu_enter(gpu, &was));
    return sti_gpu_leave(gpu, &was, record_moment(gpu, id));
}

stet_result sti_gpu_between(stet_device *device, int64_t from, int64_t to, int64_t *ns)
{
    sti_gpu *gpu = device->state;
    const sti_gpu_clock *c = &gpu->clock;
    sti_gpu_current was;
    *ns = 0;
    if (from < 0 || to < 0 || from >= c->used || to >= c->used)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: there are no moments %lld and %lld; %lld are kept",
                         gpu->where, (long long)from, (long long)to, (long long)c->used);
    STI_TRY(sti_gpu_enter(gpu, &was));
    return sti_gpu_leave(gpu, &was, elapsed_ns(gpu, c->event[from], c->event[to], ns));
}

void sti_gpu_clock_end(sti_gpu *gpu)
{
    sti_gpu_clock *c = &gpu->clock;
    for (int64_t i = 0; i < c->made; ++i) (void)gpu->driver.api.event_destroy(c->event[i]);
    sti_free(c->event);
    *c = (sti_gpu_clock){0};
}
