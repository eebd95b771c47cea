/* The upload stream; see upload_stream.h. */
#include "device/gpu/gpu.h"

/* ---- the stream -------------------------------------------------------------------------------------------------- */

static stet_result make_upload_stream(sti_gpu *gpu)
{
    void *stream;
    if (gpu->upload_stream.stream) return STET_OK;
    STI_TRY(STI_GPU_CALL(gpu, stream_create, &stream, STI_GPU_STREAM_NON_BLOCKING));
    stet_result result = sti_gpu_make_stream_wait(gpu, stream, gpu->stream);
    if (result == STET_OK)
        gpu->upload_stream.stream = stream;
    else
        (void)gpu->driver.api.stream_destroy(stream);
    return result;
}

stet_result sti_gpu_upload_stream_wait(sti_gpu *gpu)
{
    if (!gpu->upload_stream.busy) return STET_OK;
    STI_TRY(STI_GPU_CALL(gpu, stream_synchronize, gpu->upload_stream.stream));
    gpu->upload_stream.busy = false;
    return STET_OK;
}

/* ---- uploads ----------------------------------------------------------------------------------------------------- */

static stet_result upload(sti_gpu *gpu, void *to, const void *from, size_t size)
{
    STI_TRY(sti_gpu_require_no_capture(gpu, "an upload"));
    STI_TRY(make_upload_stream(gpu));
    gpu->upload_stream.busy = true; /* also if the upload fails in the middle */
    return sti_staging_stream_upload(gpu, to, from, size);
}

stet_result sti_gpu_stream_upload(stet_device *device, void *to, const void *from, size_t size)
{
    sti_gpu *gpu = device->state;
    STI_GPU_WITHIN(gpu, upload(gpu, to, from, size));
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

/*
 * Captured work cannot be ordered behind work outside of its capture. There the host waits, so what is issued later is
 * behind it all the same.
 */
static stet_result order_after_uploads(sti_gpu *gpu)
{
    if (gpu->stream != gpu->own) STI_TRY(sti_gpu_poll_capture(gpu));
    if (gpu->streams.capture) return sti_gpu_upload_stream_wait(gpu);
    STI_TRY(sti_gpu_make_stream_wait(gpu, gpu->stream, gpu->upload_stream.stream));
    gpu->upload_stream.busy = false;
    return STET_OK;
}

static stet_result order_uploads_after(sti_gpu *gpu)
{
    STI_TRY(sti_gpu_require_no_capture(gpu, "an upload beside it"));
    return sti_gpu_make_stream_wait(gpu, gpu->upload_stream.stream, gpu->stream);
}

stet_result sti_gpu_order_upload_stream(sti_gpu *gpu, bool behind)
{
    if (behind ? !gpu->upload_stream.busy : !gpu->upload_stream.stream) return STET_OK;
    STI_GPU_WITHIN(gpu, behind ? order_after_uploads(gpu) : order_uploads_after(gpu));
}
