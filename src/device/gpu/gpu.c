/* A GPU as a device: opening, closing, device functions; see gpu.h. */
#include "device/gpu/gpu.h"

#include "base/memory.h"
#include "device/processors.h"

#include <stdio.h>

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static stet_result alloc_zeroed(sti_gpu *gpu, size_t size, const char *what, void **out)
{
    STI_TRY(sti_gpu_require_no_capture(gpu, "an allocation"));
    STI_TRY(sti_pool_alloc(gpu, size, what, out));
    stet_result result = size ? STI_GPU_CALL(gpu, fill_async, *out, 0, size, gpu->stream) : STET_OK;
    if (result == STET_OK) return STET_OK;
    sti_pool_free(gpu, *out);
    *out = NULL;
    return result;
}

static stet_result gpu_alloc(stet_device *device, size_t size, const char *what, void **out)
{
    sti_gpu *gpu = device->state;
    *out = NULL;
    STI_GPU_WITHIN(gpu, alloc_zeroed(gpu, size, what, out));
}

static void gpu_free(stet_device *device, void *memory) { sti_pool_free(device->state, memory); }

static stet_result upload(sti_gpu *gpu, void *to, const void *from, size_t size)
{
    STI_TRY(sti_gpu_require_no_capture(gpu, "an upload"));
    return sti_staging_upload(gpu, to, from, size);
}

static stet_result gpu_upload(stet_device *device, void *to, const void *from, size_t size)
{
    sti_gpu *gpu = device->state;
    STI_GPU_WITHIN(gpu, upload(gpu, to, from, size));
}

static stet_result download(sti_gpu *gpu, void *to, const void *from, size_t size)
{
    STI_TRY(sti_gpu_require_no_capture(gpu, "a download"));
    return sti_staging_download(gpu, to, from, size);
}

static stet_result gpu_download(stet_device *device, void *to, const void *from, size_t size)
{
    sti_gpu *gpu = device->state;
    STI_GPU_WITHIN(gpu, download(gpu, to, from, size));
}

static stet_result copy(sti_gpu *gpu, void *to, const void *from, size_t size)
{
    if (size == 0) return STET_OK;
    STI_TRY(sti_gpu_before_issue(gpu));
    return STI_GPU_CALL(gpu, copy_async, to, from, size, gpu->stream);
}

static stet_result gpu_copy(stet_device *device, void *to, const void *from, size_t size)
{
    sti_gpu *gpu = device->state;
    STI_GPU_WITHIN(gpu, copy(gpu, to, from, size));
}

static stet_result host_alloc(sti_gpu *gpu, size_t size, const char *what, void **out)
{
    STI_TRY(sti_gpu_require_no_capture(gpu, "an allocation of the host's"));
    return sti_staging_host_alloc(gpu, size, what, out);
}

static stet_result gpu_host_alloc(stet_device *device, size_t size, const char *what, void **out)
{
    sti_gpu *gpu = device->state;
    *out = NULL;
    STI_GPU_WITHIN(gpu, host_alloc(gpu, size, what, out));
}

static void gpu_host_free(stet_device *device, void *memory) { sti_staging_host_free(device->state, memory); }

static stet_result gpu_memory(stet_device *device, size_t *free, size_t *total)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    STI_TRY(sti_gpu_enter(gpu, &was));
    STI_TRY(sti_gpu_leave(gpu, &was, STI_GPU_CALL(gpu, memory_info, free, total)));
    *free += sti_pool_get_stats(&gpu->pool).kept;
    return STET_OK;
}

static stet_result synchronize(sti_gpu *gpu)
{
    STI_TRY(sti_gpu_require_no_capture(gpu, "waiting for what was issued"));
    STI_TRY(STI_GPU_CALL(gpu, stream_synchronize, gpu->stream));
    return sti_gpu_upload_stream_wait(gpu);
}

static stet_result gpu_synchronize(stet_device *device)
{
    sti_gpu *gpu = device->state;
    STI_GPU_WITHIN(gpu, synchronize(gpu));
}

static stet_result gpu_order(stet_device *device, void *stream, sti_order how)
{
    sti_gpu *gpu = device->state;
    if (how == STI_ORDER_UPLOADS_AFTER || how == STI_ORDER_AFTER_UPLOADS)
        return sti_gpu_order_upload_stream(gpu, how == STI_ORDER_AFTER_UPLOADS);
    if (how == STI_ORDER_HOST_KEEPS || how == STI_ORDER_HOST_BEHIND)
        return sti_staging_order_host(gpu, stream, how == STI_ORDER_HOST_BEHIND);
    STI_GPU_WITHIN(gpu, sti_gpu_order_stream(gpu, stream, how == STI_ORDER_BEHIND_STREAM));
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

/* Frees each part, even if others failed; of a lost device the driver only frees. */
static void close_gpu(sti_gpu *gpu)
{
    const sti_gpu_vendor *v = gpu->driver.vendor;
    sti_gpu_current was;
    if (sti_gpu_is_forked(gpu)) {
        sti_free(gpu);
        return;
    }
    bool inside = sti_gpu_enter_unchecked(gpu, &was) == STI_GPU_OK;
    gpu->nlaunch = 0; /* the kernels' names no longer exist */
    sti_gpu_streams_wait(gpu);
    sti_gpu_clock_end(gpu);
    sti_staging_end(gpu);
    sti_pool_end(gpu);
    sti_gpu_streams_end(gpu);
    if (inside) (void)sti_gpu_leave_unchecked(gpu, &was);
    (void)v->release(&gpu->driver, gpu->facts.ordinal);
    sti_free(gpu);
}

static void gpu_destroy(stet_device *device)
{
    sti_gpu_graphs_end(device);
    close_gpu(device->state);
    sti_free(device->compiler_library);
    sti_free(device->cache_folder);
    device->compiler_library = device->cache_folder = NULL;
    device->state = NULL;
    device->index = device->driver_version = device->processors = 0;
    device->arch[0] = 0;
    device->stream = NULL;
}

static const sti_device_ops gpu_ops = {
    .version = STI_DEVICE_OPS_VERSION,
    .destroy = gpu_destroy,
    .alloc = gpu_alloc,
    .free = gpu_free,
    .upload = gpu_upload,
    .download = gpu_download,
    .copy = gpu_copy,
    .launch = sti_gpu_launch,
    .synchronize = gpu_synchronize,
    .instead = sti_gpu_instead,
    .load = sti_gpu_load,
    .unload = sti_gpu_unload,
    .function = sti_gpu_function,
    .attribute = sti_gpu_attribute,
    .host_alloc = gpu_host_alloc,
    .host_free = gpu_host_free,
    .memory = gpu_memory,
    .graph_make = sti_gpu_graph_make,
    .graph_set = sti_gpu_graph_set,
    .graph_launch = sti_gpu_graph_launch,
    .graph_join = sti_gpu_graph_join,
    .graph_free = sti_gpu_graph_free,
    .use_stream = sti_gpu_use_stream,
    .order = gpu_order,
    .stream_upload = sti_gpu_stream_upload,
    .capturing = sti_gpu_capturing,
    .moment = sti_gpu_moment,
    .between = sti_gpu_between,
};

static stet_result begin_streams(sti_gpu *gpu) { STI_GPU_WITHIN(gpu, sti_gpu_streams_begin(gpu)); }

/* The pool and the staging are initialized first, so that closing works after any failure. */
static stet_result start_gpu(sti_gpu *gpu)
{
    const sti_gpu_vendor *v = gpu->driver.vendor;
    int code = v->retain(&gpu->driver, gpu->facts.ordinal, &gpu->context);
    if (code != STI_GPU_OK) {
        (void)sti_gpu_call_failed(&gpu->driver, code, gpu->where, "context_retain");
        sti_free(gpu);
        return STET_ERROR_DEVICE; /* also if the driver is out of memory, which is not the host's memory */
    }
    sti_pool_init(&gpu->pool, gpu->facts.memory / 8);
    sti_staging_init(&gpu->staging);
    stet_result result = begin_streams(gpu);
    if (result != STET_OK) close_gpu(gpu);
    return result;
}

/* GPU-5: a driver that the parent process has initialized cannot be initialized again in its child. */
static stet_result check_process(const sti_gpu_vendor *vendor, int *forks)
{
    static _Atomic int first = -1; /* sti_forks() before the first GPU was opened */
    int none = -1;
    *forks = sti_forks();
    if (atomic_compare_exchange_strong(&first, &none, *forks) || none == *forks) return STET_OK;
    return sti_error(STET_ERROR_STATE,
                     "%s: this process was forked from one that had opened a GPU, whose driver cannot be used here; "
                     "start the process "
                     "anew (in Python: multiprocessing.get_context(\"spawn\")), or use the CPU",
                     vendor->name);
}

static stet_result open_gpu(const sti_gpu_vendor *vendor, const stet_gpu_def *def, sti_gpu **out)
{
    sti_gpu *gpu;
    int forks;
    STI_TRY(check_process(vendor, &forks));
    STI_TRY(sti_alloc(&gpu, sizeof *gpu, "GPU"));
    gpu->forks = forks;
    stet_result result = sti_gpu_driver_open(vendor, def->library, &gpu->driver);
    if (result == STET_OK) result = sti_gpu_facts_of(&gpu->driver, def->index, &gpu->facts);
    if (result != STET_OK) {
        sti_free(gpu);
        return result;
    }
    (void)snprintf(gpu->where, sizeof gpu->where, "%s:%d (%s)", vendor->name, def->index, gpu->facts.name);
    STI_TRY(start_gpu(gpu));
    *out = gpu;
    return STET_OK;
}

static stet_result copy_text(char **out, const char *text) { return text ? sti_strdup(out, text) : STET_OK; }

static stet_result check_gpu_def(const stet_device_def *def)
{
    if (def->isa)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "device: isa '%s' is of a CPU; leave it out for a GPU", def->isa);
    return STET_OK;
}

static const sti_gpu_vendor *vendor_of(const stet_device_def *def)
{
    return def->type == STET_DEVICE_HIP ? &sti_gpu_hip : &sti_gpu_cuda;
}

stet_result sti_gpu_find_compiler(const stet_device_def *def)
{
    sti_library compiler;
    STI_TRY(sti_library_open(vendor_of(def)->compiler, def->gpu.compiler_library, &compiler));
    sti_library_close(&compiler);
    return STET_OK;
}

stet_result sti_gpu_device_init(stet_device *device, const stet_device_def *def)
{
    const sti_gpu_vendor *vendor = vendor_of(def);
    sti_gpu *gpu = NULL;
    STI_TRY(check_gpu_def(def));
    STI_TRY(open_gpu(vendor, &def->gpu, &gpu));
    stet_result result = copy_text(&device->compiler_library, def->gpu.compiler_library);
    if (result == STET_OK) result = copy_text(&device->cache_folder, def->cache_folder);
    device->state = gpu;
    device->stream = gpu->stream;
    if (result != STET_OK) {
        gpu_destroy(device);
        return result;
    }
    device->ops = &gpu_ops;
    device->type = vendor->type;
    device->can = (sti_capabilities){.own_memory = true, .compiles = true, .teams = true, .queues = true};
    device->isa = STI_ISA_portable; /* for the host's build of a kernel, which never runs here */
    device->lanes = 1;
    device->threads = def->threads ? def->threads : sti_processors();
    device->real_size = sizeof(float);
    device->index = def->gpu.index;
    device->driver_version = gpu->driver.version;
    device->processors = gpu->facts.fact[STI_GPU_PROCESSORS];
    device->shared = (int64_t)sti_gpu_most_shared(gpu);
    (void)snprintf(device->arch, sizeof device->arch, "%s", gpu->facts.arch);
    (void)snprintf(device->name, sizeof device->name, "%s:%d (%.40s, %s, %.0f GiB)", vendor->name, def->gpu.index,
                   gpu->facts.name, gpu->facts.arch, (double)gpu->facts.memory / (double)((size_t)1 << 30));
    return STET_OK;
}
