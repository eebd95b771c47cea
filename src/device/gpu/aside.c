/* Uploads beside what runs; see aside.h. */
#include "device/gpu/gpu.h"

/* ---- the stream ---------------------------------------------------------------------------------------------------- */

static stet_result make(sti_gpu *gpu)
{
    void *stream;
    if (gpu->aside.stream) return STET_OK;
    STI_TRY(STI_GPU_CALL(gpu, stream_create, &stream, STI_GPU_STREAM_NON_BLOCKING));
    stet_result result = sti_gpu_put_behind(gpu, stream, gpu->stream);
    if (result == STET_OK)
        gpu->aside.stream = stream;
    else
        (void)gpu->driver.api.stream_destroy(stream);
    return result;
}

stet_result sti_gpu_aside_wait(sti_gpu *gpu)
{
    if (!gpu->aside.busy) return STET_OK;
    STI_TRY(STI_GPU_CALL(gpu, stream_synchronize, gpu->aside.stream));
    gpu->aside.busy = false;
    return STET_OK;
}

/* ---- uploads --------------------------------------------------------------------------------------------------------- */

static stet_result upload(sti_gpu *gpu, void *to, const void *from, size_t size)
{
    STI_TRY(sti_gpu_outside(gpu, "an upload"));
    STI_TRY(make(gpu));
    gpu->aside.busy = true; /* also of one that fails in the middle */
    return sti_staging_upload_aside(gpu, to, from, size);
}

stet_result sti_gpu_upload_aside(stet_device *device, void *to, const void *from, size_t size)
{
    sti_gpu *gpu = device->state;
    STI_GPU_WITHIN(gpu, upload(gpu, to, from, size));
}

/* ---- orders ---------------------------------------------------------------------------------------------------------- */

/* What is captured cannot be put behind anything outside of it: there the host waits, and what comes later is behind all the same. */
static stet_result put_behind_aside(sti_gpu *gpu)
{
    if (gpu->stream != gpu->own) STI_TRY(sti_gpu_look_at_capture(gpu));
    if (gpu->streams.capture) return sti_gpu_aside_wait(gpu);
    STI_TRY(sti_gpu_put_behind(gpu, gpu->stream, gpu->aside.stream));
    gpu->aside.busy = false;
    return STET_OK;
}

static stet_result put_aside_behind(sti_gpu *gpu)
{
    STI_TRY(sti_gpu_outside(gpu, "an upload beside it"));
    return sti_gpu_put_behind(gpu, gpu->aside.stream, gpu->stream);
}

stet_result sti_gpu_order_aside(sti_gpu *gpu, bool behind)
{
    if (behind ? !gpu->aside.busy : !gpu->aside.stream) return STET_OK;
    STI_GPU_WITHIN(gpu, behind ? put_behind_aside(gpu) : put_aside_behind(gpu));
}
