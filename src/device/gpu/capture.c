/*
 * Captures the caller's work into a graph: the work is captured while the caller issues it, on a stream that is used
 * for nothing else.
 *
 * Invariants:
 *   CAPTURE-1  nothing runs while it is captured; captured work runs with the graph that it becomes part of
 *   CAPTURE-2  the stream is a private one that does not wait for the legacy stream, captured in relaxed mode: other
 *       threads may make any call, also on the legacy stream
 *   CAPTURE-3  the capture has ended when this returns, also on failure; the stream of a failed capture is not used
 *       again
 *   CAPTURE-4  once the capture has begun, a failure is the work's: it never becomes UNSUPPORTED, which means that the
 *       driver has no graphs
 */
#include "device/gpu/gpu.h"

static stet_result begin_capture(sti_gpu *gpu)
{
    if (!gpu->streams.foreign)
        STI_TRY(STI_GPU_CALL(gpu, stream_create, &gpu->streams.foreign, STI_GPU_STREAM_NON_BLOCKING));
    return STI_GPU_CALL(gpu, capture_begin, gpu->streams.foreign, STI_GPU_CAPTURE_RELAXED);
}

/* CAPTURE-3: ends a capture whose first end was refused before it did anything, and destroys the stream. */
static void destroy_capture_stream(sti_gpu *gpu)
{
    const sti_gpu_api *api = &gpu->driver.api;
    void *graph = NULL;
    int status = 0;
    if (api->capture_status && api->capture_status(gpu->streams.foreign, &status) == STI_GPU_OK && status != 0 &&
        api->capture_end(gpu->streams.foreign, &graph) == STI_GPU_OK && graph)
        (void)api->graph_destroy(graph);
    (void)api->stream_destroy(gpu->streams.foreign);
    gpu->streams.foreign = NULL;
}

stet_result sti_gpu_capture(sti_gpu *gpu, stet_foreign_fn *work, void *context, const char *name, void **graph)
{
    *graph = NULL;
    STI_TRY(begin_capture(gpu));
    stet_result result = work(context, gpu->streams.foreign);
    if (result != STET_OK)
        (void)sti_error(result, "the work of %s failed while it was captured: %s", name, stet_result_sentence(result));
    if (result == STET_OK) {
        result = STI_GPU_CALL(gpu, capture_end, gpu->streams.foreign, graph);
        if (result != STET_OK) (void)sti_error_prefix(result, "the work of %s cannot be captured", name);
    }
    if (result != STET_OK) destroy_capture_stream(gpu);
    return result == STET_ERROR_UNSUPPORTED ? STET_ERROR_STATE : result; /* CAPTURE-4 */
}
