/*
 * What is specific to HIP: names of libraries, numbers of attributes, the current device, the architecture's name.
 * Numbers are those of HIP 5.2 to 7 (they were different before).
 */
#include "device/device.h"
#include "device/gpu/driver.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char *const driver_names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so",
                                           NULL};
static const char *const folders[] = {"/opt/rocm*/lib", "/opt/rocm*/hip/lib", NULL};
static const char *const driver_wheels[] = {"_rocm_sdk_core/lib", "torch/lib", NULL};
static const sti_library_names driver = {"AMD's driver (HIP)", driver_names, folders, driver_wheels};

static const char *const compiler_names[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libhiprtc.so.5", "libhiprtc.so",
                                             /* the library that contained it then */
                                             "libamdhip64.so.5", NULL};
const sti_library_names sti_hip_compiler = {"AMD's run-time compiler (hipRTC)", compiler_names, folders, driver_wheels};

static void version_text(int version, char *out, size_t size)
{
    (void)snprintf(out, size, "%d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000);
}

/* ---- the architecture's name ---------------------------------------------------------------------------------------
 * It is a member of the struct of properties alone, which has one layout in HIP 5 and another from HIP 6 on; the newer
 * one's symbol names its layout. What comes before the name is of no interest here.
 */

typedef struct properties_5 {
    char before[396];
    char arch[256];
    char after[4096 - 396 - 256];
} properties_5;

typedef struct properties_6 {
    char before[1160];
    char arch[256];
    char after[8192 - 1160 - 256];
} properties_6;

/* "gfx90a:sramecc+:xnack-": what follows the colon is not needed for compiling. */
static stet_result take_arch(const char *full, char *out, size_t size)
{
    size_t n = 0;
    while (n < 255 && isalnum((unsigned char)full[n])) ++n;
    bool ends = full[n] == 0 || full[n] == ':';
    if (strncmp(full, "gfx", 3) != 0 || n < 6 || n >= size || !ends)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "AMD's driver (HIP): the device's architecture is given as '%.40s', not as gfx…", full);
    memcpy(out, full, n);
    out[n] = 0;
    return STET_OK;
}

static stet_result arch(const sti_gpu_driver *d, int ordinal, const int *fact, char *out, size_t size)
{
    (void)fact;
    int code;
    if (d->version >= 60000000 && d->api.device_properties_6) {
        properties_6 p = {.before = ""};
        code = d->api.device_properties_6(&p, ordinal);
        p.arch[sizeof p.arch - 1] = 0;
        if (code == STI_GPU_OK) return take_arch(p.arch, out, size);
    } else if (d->version < 60000000 && d->api.device_properties_5) {
        properties_5 p = {.before = ""};
        code = d->api.device_properties_5(&p, ordinal);
        p.arch[sizeof p.arch - 1] = 0;
        if (code == STI_GPU_OK) return take_arch(p.arch, out, size);
    } else {
        return sti_error(STET_ERROR_UNSUPPORTED, "AMD's driver (HIP): %s (%s) lacks %s, which tells the architecture",
                         d->library.file, d->version_text,
                         d->version >= 60000000 ? "hipGetDevicePropertiesR0600" : "hipGetDeviceProperties");
    }
    return sti_gpu_call_failed(d, code, d->vendor->driver->what, "device_properties");
}

/* ---- errors, the current device ---------------------------------------------------------------------------------- */

static void error_text(const sti_gpu_driver *d, int code, const char **name, const char **text)
{
    *name = d->api.error_name_of(code);
    *text = d->api.error_text_of(code);
}

static bool fatal(int code)
{
    return code == 4 || code == 214 || code == 700 || code == 702 || code == 709 || code == 710 || code == 719 ||
           code == 999 || code == 1052 || code == 1053;
}

/* The runtime manages a device's context itself. */
static int retain(const sti_gpu_driver *d, int ordinal, void **context)
{
    (void)d;
    (void)ordinal;
    *context = NULL;
    return STI_GPU_OK;
}

static int release(const sti_gpu_driver *d, int ordinal)
{
    (void)d;
    (void)ordinal;
    return STI_GPU_OK;
}

static int enter(const sti_gpu_driver *d, int ordinal, void *context, sti_gpu_current *was)
{
    (void)context;
    was->switched = false;
    int code = d->api.device_current(&was->ordinal);
    if (code != STI_GPU_OK || was->ordinal == ordinal) return code;
    code = d->api.device_set(ordinal);
    was->switched = code == STI_GPU_OK;
    return code;
}

static int leave(const sti_gpu_driver *d, const sti_gpu_current *was)
{
    return was->switched ? d->api.device_set(was->ordinal) : STI_GPU_OK;
}

/* ---- nodes of graphs --------------------------------------------------------------------------------------------- */

typedef struct kernel_parameters {
    unsigned block[3];
    void **extra;
    void *function;
    unsigned grid[3];
    void **arguments;
    unsigned shared;
} kernel_parameters;
static_assert(sizeof(kernel_parameters) == 64, "hipKernelNodeParams");

static kernel_parameters parameters_of(const sti_gpu_kernel *k)
{
    return (kernel_parameters){.block = {k->team, k->teams, 1},
                               .function = k->function,
                               .grid = {k->grid, 1, 1},
                               .arguments = k->arguments,
                               .shared = k->shared};
}

static int add_kernel(const sti_gpu_driver *d, const sti_gpu_place *at, const sti_gpu_kernel *k, void **node)
{
    kernel_parameters p = parameters_of(k);
    return d->api.graph_add_kernel(node, at->graph, at->after, at->nafter, &p);
}

static int set_kernel(const sti_gpu_driver *d, void *executable, void *node, const sti_gpu_kernel *k)
{
    kernel_parameters p = parameters_of(k);
    return d->api.graph_exec_set_kernel(executable, node, &p);
}

static int add_copy(const sti_gpu_driver *d, const sti_gpu_place *at, void *context, void *to, const void *from,
                    size_t size, void **node)
{
    enum { DEVICE_TO_DEVICE = 3 };
    (void)context;
    return d->api.graph_add_copy_1d(node, at->graph, at->after, at->nafter, to, from, size, DEVICE_TO_DEVICE);
}

const sti_gpu_vendor sti_gpu_hip = {
    .name = "hip",
    .title = "HIP",
    .type = STET_DEVICE_HIP,
    .driver = &driver,
    .compiler = &sti_hip_compiler,
    .least = 50200000,
    .version_text = version_text,
    .fact = {[STI_GPU_MAX_THREADS] = 56,
             [STI_GPU_MAX_X] = 26,
             [STI_GPU_MAX_Y] = 27,
             [STI_GPU_MAX_GRID] = 29,
             [STI_GPU_SHARED] = 74,
             [STI_GPU_SHARED_MOST] = -1, /* all shared memory is available without a request */
             [STI_GPU_WARP] = 87,
             [STI_GPU_PROCESSORS] = 63,
             [STI_GPU_MAJOR] = 23,
             [STI_GPU_MINOR] = 61},
    .attribute = {[STI_ATTRIBUTE_REGISTERS] = 4,
                  [STI_ATTRIBUTE_LOCAL_BYTES] = 3,
                  [STI_ATTRIBUTE_SHARED_BYTES] = 1,
                  [STI_ATTRIBUTE_MAX_THREADS] = 0},
    .shared_attribute = -1,
    .max_threads = UINT32_MAX,
    .arch = arch,
    .error_text = error_text,
    .fatal = fatal,
    .retain = retain,
    .release = release,
    .enter = enter,
    .leave = leave,
    .add_kernel = add_kernel,
    .set_kernel = set_kernel,
    .add_copy = add_copy,
    .graphs_wait = true, /* older drivers free what a running graph still reads */
};
