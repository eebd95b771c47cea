/* Compiled code on a GPU: modules and their functions; device/device.h describes the calls. */
#include "device/gpu/gpu.h"

stet_result sti_gpu_load(stet_device *device, const void *image, size_t size, const char *what, void **module)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    *module = NULL;
    if (!image || size == 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: the code of %s is empty", gpu->where, what);
    STI_TRY(sti_gpu_enter(gpu, &was));
    stet_result result = sti_gpu_require_no_capture(gpu, "the loading of code");
    if (result == STET_OK) result = STI_GPU_CALL(gpu, module_load, module, image);
    if (result != STET_OK) {
        *module = NULL;
        (void)sti_error_prefix(result, "%s", what);
    }
    return sti_gpu_leave(gpu, &was, result);
}

void sti_gpu_unload(stet_device *device, void *module)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    if (!module || sti_gpu_enter(gpu, &was) != STET_OK) return;
    sti_gpu_forget_functions(gpu);
    sti_gpu_drop_after_work(gpu, gpu->driver.api.module_unload, module);
    if (sti_gpu_leave(gpu, &was, STET_OK) != STET_OK) sti_log(STET_LOG_WARNING, "%s", stet_get_last_error());
}

stet_result sti_gpu_function(stet_device *device, void *module, const char *symbol, void **out)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    *out = NULL;
    STI_TRY(sti_gpu_enter(gpu, &was));
    stet_result result = STI_GPU_CALL(gpu, module_function, out, module, symbol);
    if (result != STET_OK) (void)sti_error_prefix(result, "function %s", symbol);
    return sti_gpu_leave(gpu, &was, result);
}

stet_result sti_gpu_attribute(stet_device *device, void *function, sti_attribute attribute, int *out)
{
    sti_gpu *gpu = device->state;
    int number = gpu->driver.vendor->attribute[attribute];
    STI_GPU_WITHIN(gpu, STI_GPU_CALL(gpu, function_attribute, out, number, function));
}
