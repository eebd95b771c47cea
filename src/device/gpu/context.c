/*
 * The context of a GPU's driver calls: what was current before is current again (GPU-2), and a fault takes the device
 * (GPU-3); see gpu.h.
 */
#include "device/gpu/gpu.h"

#include <stdio.h>
#include <string.h>

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* Lists the last launches, the newest first. */
static void name_launches(const sti_gpu *gpu, char *out, size_t size)
{
    uint64_t n = gpu->nlaunch < STI_GPU_LAUNCHES ? gpu->nlaunch : STI_GPU_LAUNCHES;
    (void)snprintf(out, size, "%s", n ? "" : "none");
    for (uint64_t i = 0; i < n; ++i) {
        size_t used = strlen(out);
        (void)snprintf(out + used, size - used, "%s%s", i ? ", " : "",
                       gpu->launches[(gpu->nlaunch - 1 - i) % STI_GPU_LAUNCHES]);
    }
}

/* Marks the device as lost: from now on every call fails (GPU-3). */
static stet_result mark_lost(sti_gpu *gpu)
{
    char launches[400];
    if (atomic_exchange(&gpu->losing, true)) return STET_ERROR_DEVICE;
    name_launches(gpu, launches, sizeof launches);
    (void)sti_error(STET_ERROR_DEVICE,
                    "%s; the device can do nothing more: destroy it; the last launches, newest first: %s",
                    stet_get_last_error(), launches);
    (void)snprintf(gpu->why, sizeof gpu->why, "%s", stet_get_last_error());
    atomic_store(&gpu->lost, true);
    return STET_ERROR_DEVICE;
}

stet_result sti_gpu_check(sti_gpu *gpu, int code, const char *call)
{
    if (code == STI_GPU_OK) return STET_OK;
    stet_result result = sti_gpu_call_failed(&gpu->driver, code, gpu->where, call);
    return gpu->driver.vendor->fatal(code) ? mark_lost(gpu) : result;
}

/* ---- entering and leaving ---------------------------------------------------------------------------------------- */

enum { MODE_LEFT = -1 }; /* not a mode of the driver: the mode was left alone */

/*
 * A driver refuses calls of a thread that may conflict with another thread's capture, and breaks the capture; stet's
 * stream is not part of it.
 */
static int exchange_mode(sti_gpu *gpu, int mode, int *was)
{
    *was = mode;
    return gpu->driver.api.capture_mode ? gpu->driver.api.capture_mode(was) : STI_GPU_OK;
}

/*
 * Calls that restore the caller's state are tried twice (GPU-2): a driver may report an earlier failure in any call,
 * and then has not done what was asked. An error that takes the device is reported although the second try worked.
 */
static int result_of_two_tries(const sti_gpu *gpu, int first, int second)
{
    return gpu->driver.vendor->fatal(first) ? first : second;
}

static int restore_mode(sti_gpu *gpu, int mode)
{
    int relaxed, code = exchange_mode(gpu, mode, &relaxed);
    return code == STI_GPU_OK ? code : result_of_two_tries(gpu, code, exchange_mode(gpu, mode, &relaxed));
}

static int restore_device(sti_gpu *gpu, const sti_gpu_current *was)
{
    const sti_gpu_vendor *v = gpu->driver.vendor;
    int code = v->leave(&gpu->driver, was);
    return code == STI_GPU_OK ? code : result_of_two_tries(gpu, code, v->leave(&gpu->driver, was));
}

/* GPU-3, GPU-5. */
static stet_result check_usable(const sti_gpu *gpu)
{
    if (sti_gpu_is_forked(gpu))
        return sti_error(
            STET_ERROR_STATE,
            "%s: this process was forked from the one that opened the device, and a GPU cannot be used across a fork; "
            "start the process anew (in Python: multiprocessing.get_context(\"spawn\")), or open the device "
            "after the fork alone",
            gpu->where);
    return atomic_load(&gpu->lost) ? sti_error(STET_ERROR_DEVICE, "%s", gpu->why) : STET_OK;
}

int sti_gpu_enter_unchecked(sti_gpu *gpu, sti_gpu_current *was)
{
    was->mode = MODE_LEFT;
    if (sti_gpu_is_forked(gpu)) return STI_GPU_NOT_SUPPORTED;
    int code = gpu->driver.vendor->enter(&gpu->driver, gpu->facts.ordinal, gpu->context, was);
    if (code != STI_GPU_OK) return code;
    code = exchange_mode(gpu, STI_GPU_CAPTURE_RELAXED, &was->mode);
    if (code != STI_GPU_OK) (void)restore_device(gpu, was);
    return code;
}

int sti_gpu_leave_unchecked(sti_gpu *gpu, const sti_gpu_current *was)
{
    int code = was->mode == MODE_LEFT ? STI_GPU_OK : restore_mode(gpu, was->mode);
    int left = restore_device(gpu, was);
    return code != STI_GPU_OK ? code : left;
}

stet_result sti_gpu_enter(sti_gpu *gpu, sti_gpu_current *was)
{
    STI_TRY(check_usable(gpu));
    return sti_gpu_check(gpu, sti_gpu_enter_unchecked(gpu, was), "making the device current");
}

stet_result sti_gpu_enter_in_any_mode(sti_gpu *gpu, sti_gpu_current *was)
{
    STI_TRY(check_usable(gpu));
    was->mode = MODE_LEFT;
    int code = gpu->driver.vendor->enter(&gpu->driver, gpu->facts.ordinal, gpu->context, was);
    return sti_gpu_check(gpu, code, "making the device current");
}

stet_result sti_gpu_leave(sti_gpu *gpu, const sti_gpu_current *was, stet_result result)
{
    int code = sti_gpu_leave_unchecked(gpu, was);
    return result != STET_OK ? result : sti_gpu_check(gpu, code, "giving the device back");
}
