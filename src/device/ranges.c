/* Ranges for profilers; see ranges.h. */
#include "device/ranges.h"

#include "base/environment.h"
#include "base/shared_library.h"

#include <stdio.h>
#include <string.h>

enum { RANGES_COOKIE = 0x57e7d00d };

struct sti_ranges {
    sti_library library;
    sti_trace_ranges calls;
    sti_trace *alone; /* RANGES-2 */
};

/* ---- the libraries ----------------------------------------------------------------------------------------------- */

static const char *const nvidia_folders[] = {"/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib", NULL};
static const char *const nvidia_wheels[] = {"nvidia/nvtx/lib", "nvidia/cu13/lib", NULL};
static const char *const amd_folders[] = {"/opt/rocm*/lib", NULL};
static const char *const amd_wheels[] = {"_rocm_sdk_core/lib", NULL};

static const struct vendor {
    const char *title, *push, *pop;
    const char *names[4];
    const char *const *folders, *const *wheels;
} vendors[] = {
    {"NVIDIA's NVTX",
     "nvtxRangePushA",
     "nvtxRangePop",
     {"libnvtx3interop.so.1", "libnvtx3interop.so", "libnvToolsExt.so.1"},
     nvidia_folders,
     nvidia_wheels},
    {"AMD's ROCTX",
     "roctxRangePushA",
     "roctxRangePop",
     {"librocprofiler-sdk-roctx.so.1", "libroctx64.so.4", "libroctx64.so"},
     amd_folders,
     amd_wheels},
};
enum { NVIDIA, AMD, VENDORS };

/* RANGES-3. */
static bool has_calls(const sti_library *library, const struct vendor *v, sti_trace_ranges *out)
{
    void *push = sti_library_symbol(library, v->push), *pop = sti_library_symbol(library, v->pop);
    memcpy(&out->push, &push, sizeof push);
    memcpy(&out->pop, &pop, sizeof pop);
    return push && pop;
}

static bool find_library(const struct vendor *v, sti_ranges *r)
{
    for (const char *const *name = v->names; *name; ++name) {
        const char *const one[] = {*name, NULL};
        const sti_library_names names = {v->title, one, v->folders, v->wheels};
        if (sti_library_open(&names, NULL, &r->library) != STET_OK) continue;
        if (has_calls(&r->library, v, &r->calls)) return true;
        sti_library_close(&r->library);
    }
    return false;
}

static stet_result open_given(const char *path, sti_ranges *r)
{
    const sti_library_names names = {.what = "ranges"};
    STI_TRY(sti_library_open(&names, path, &r->library));
    for (int v = 0; v < VENDORS; ++v)
        if (has_calls(&r->library, &vendors[v], &r->calls)) return STET_OK;
    sti_library_close(&r->library);
    return sti_error(STET_ERROR_UNSUPPORTED, "ranges: %s has neither %s nor %s; give the file of NVTX or of ROCTX",
                     path, vendors[NVIDIA].push, vendors[AMD].push);
}

/* A GPU needs its vendor's profiler; for other devices either library will do. */
static stet_result open_library(const stet_device *device, const char *given, sti_ranges *r)
{
    if (given) return open_given(given, r);
    if (device->type != STET_DEVICE_HIP && find_library(&vendors[NVIDIA], r)) return STET_OK;
    if (device->type != STET_DEVICE_CUDA && find_library(&vendors[AMD], r)) return STET_OK;
    return sti_error(STET_ERROR_NOT_FOUND,
                     "ranges: no library that profilers take them from was found (%s, %s); install %s",
                     vendors[NVIDIA].names[0], vendors[AMD].names[0],
                     device->type == STET_DEVICE_HIP ? "ROCTX" : "NVTX, which comes with CUDA's toolkit, or ROCTX");
}

/* ---- beginning and ending ---------------------------------------------------------------------------------------- */

stet_ranges_def stet_default_ranges_def(void) { return (stet_ranges_def){.cookie = RANGES_COOKIE}; }

static stet_result make_ranges(const stet_device *device, const char *given, sti_ranges **out)
{
    STI_TRY(sti_alloc(out, sizeof **out, "ranges"));
    sti_ranges *r = *out;
    stet_result result = open_library(device, given, r);
    if (result == STET_OK) result = sti_trace_new(false, 0, &r->alone);
    if (result == STET_OK) {
        sti_trace_show(r->alone, &r->calls, true);
        return STET_OK;
    }
    sti_library_close(&r->library);
    sti_free(r);
    *out = NULL;
    return result;
}

static stet_result begin_ranges(stet_device *device, const char *given)
{
    sti_trace *trace = device->mechanisms.trace;
    if (device->ranges)
        return sti_error(STET_ERROR_STATE, "device %s gives ranges already, to %s; end them first", device->name,
                         device->ranges->library.file);
    if (trace && sti_trace_is_open(trace)) /* RANGES-1 */
        return sti_error(STET_ERROR_STATE, "device %s is in the middle of what is being traced; begin ranges before it",
                         device->name);
    STI_TRY(make_ranges(device, given, &device->ranges));
    if (trace)
        sti_ranges_join(device, trace);
    else
        device->mechanisms.trace = device->ranges->alone;
    return STET_OK;
}

stet_result stet_ranges_begin(stet_device *device, const stet_ranges_def *def)
{
    if (!device || !def)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_ranges_begin: device and def must not be NULL");
    if (def->cookie != RANGES_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "ranges: the def is not initialised; start from stet_default_ranges_def()");
    return begin_ranges(device, def->library);
}

stet_result stet_ranges_end(stet_device *device)
{
    if (!device) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_ranges_end: device must not be NULL");
    if (!device->ranges)
        return sti_error(STET_ERROR_STATE, "device %s gives no ranges; begin them first", device->name);
    sti_trace *trace = device->mechanisms.trace;
    if (sti_trace_is_open(trace))
        return sti_error(STET_ERROR_STATE, "device %s is in the middle of a range; end ranges after it", device->name);
    if (trace == device->ranges->alone)
        device->mechanisms.trace = NULL;
    else
        sti_trace_show(trace, NULL, false);
    sti_ranges_free(device);
    return STET_OK;
}

const char *stet_ranges_get_library(const stet_device *device)
{
    return device && device->ranges ? device->ranges->library.file : NULL;
}

/* ---- inside ------------------------------------------------------------------------------------------------------ */

void sti_ranges_begin_asked(stet_device *device)
{
    const char *asked = sti_environment("STET_RANGES");
    if (!asked || strcmp(asked, "0") == 0) return;
    if (begin_ranges(device, strcmp(asked, "1") == 0 ? NULL : asked) != STET_OK)
        sti_log(STET_LOG_WARNING, "STET_RANGES=%s: %s", asked, stet_get_last_error());
}

void sti_ranges_free(stet_device *device)
{
    sti_ranges *r = device->ranges;
    if (!r) return;
    sti_trace_free(r->alone);
    sti_library_close(&r->library);
    sti_free(r);
    device->ranges = NULL;
}

sti_trace *sti_ranges_alone(const stet_device *device) { return device->ranges ? device->ranges->alone : NULL; }

void sti_ranges_join(const stet_device *device, sti_trace *trace)
{
    if (device->ranges) sti_trace_show(trace, &device->ranges->calls, false);
}
