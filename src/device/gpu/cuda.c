/*
 * What is specific to CUDA: names of libraries, numbers of attributes, contexts. Numbers are those of the CUDA driver
 * API.
 */
#include "device/device.h"
#include "device/gpu/driver.h"

#include <assert.h>
#include <stdio.h>

static const char *const driver_names[] = {"libcuda.so.1", "libcuda.so", NULL};
static const char *const driver_folders[] = {"/usr/lib/wsl/lib", NULL};
static const sti_library_names driver = {"NVIDIA's driver", driver_names, driver_folders, NULL};

static const char *const compiler_names[] = {"libnvrtc.so.13",
                                             "libnvrtc.so.12",
                                             "libnvrtc.so.11.2",
                                             "libnvrtc.so.11.1",
                                             "libnvrtc.so.11.0",
                                             "libnvrtc.so",
                                             NULL};
static const char *const compiler_folders[] = {"/usr/local/cuda*/lib64", "/usr/local/cuda*/lib",
                                               "/opt/nvidia/hpc_sdk/*/*/cuda/lib64", NULL};
static const char *const compiler_wheels[] = {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", NULL};
const sti_library_names sti_cuda_compiler = {"NVIDIA's run-time compiler (NVRTC)", compiler_names, compiler_folders,
                                             compiler_wheels};

static void version_text(int version, char *out, size_t size)
{
    (void)snprintf(out, size, "%d.%d", version / 1000, version % 1000 / 10);
}

static stet_result arch(const sti_gpu_driver *d, int ordinal, const int *fact, char *out, size_t size)
{
    (void)d;
    (void)ordinal;
    (void)snprintf(out, size, "sm_%d%d", fact[STI_GPU_MAJOR], fact[STI_GPU_MINOR]);
    return STET_OK;
}

static void error_text(const sti_gpu_driver *d, int code, const char **name, const char **text)
{
    if (d->api.error_name_into(code, name) != STI_GPU_OK) *name = NULL;
    if (d->api.error_text_into(code, text) != STI_GPU_OK) *text = NULL;
}

/*
 * Errors that leave the process in an inconsistent state, as the manual says, and errors that take the context or the
 * device away.
 */
static bool fatal(int code)
{
    return code == 4 || code == 46 || code == 214 || code == 220 || code == 226 || code == 700 || code == 702 ||
           (code >= 709 && code <= 710) || (code >= 714 && code <= 719) || code == 721 || code == 810 || code == 999;
}

static int retain(const sti_gpu_driver *d, int ordinal, void **context)
{
    return d->api.context_retain(context, ordinal);
}

static int release(const sti_gpu_driver *d, int ordinal) { return d->api.context_release(ordinal); }

static int enter(const sti_gpu_driver *d, int ordinal, void *context, sti_gpu_current *was)
{
    (void)ordinal;
    was->switched = false;
    int code = d->api.context_get(&was->context);
    if (code != STI_GPU_OK || was->context == context) return code;
    code = d->api.context_set(context);
    was->switched = code == STI_GPU_OK;
    return code;
}

static int leave(const sti_gpu_driver *d, const sti_gpu_current *was)
{
    return was->switched ? d->api.context_set(was->context) : STI_GPU_OK;
}

/* ---- nodes of graphs: structs of the driver API, of CUDA 12 ------------------------------------------------------ */

typedef struct kernel_parameters {
    void *function;
    unsigned grid[3], block[3], shared;
    void **arguments, **extra;
    void *kernel, *context; /* ignored if there is a function */
} kernel_parameters;
static_assert(sizeof(kernel_parameters) == 72, "CUDA_KERNEL_NODE_PARAMS, version 2");

static kernel_parameters parameters_of(const sti_gpu_kernel *k)
{
    return (kernel_parameters){.function = k->function,
                               .grid = {k->grid, 1, 1},
                               .block = {k->team, k->teams, 1},
                               .shared = k->shared,
                               .arguments = k->arguments};
}

/*
 * CUDA's edge data: from which port of a node, to which port of another, of which type; 0: from its end, to its
 * beginning, a full dependency.
 */
typedef struct edge_data {
    unsigned char from, to, type, unused[5];
} edge_data;
static_assert(sizeof(edge_data) == 8, "CUgraphEdgeData");

typedef struct any_kernel_parameters {
    int type; /* 0: kernel */
    int zero[3];
    kernel_parameters kernel;
    char unused[168]; /* zero */
} any_kernel_parameters;
static_assert(sizeof(any_kernel_parameters) == 256, "CUgraphNodeParams");

enum { EDGES = 32 };

/*
 * Edge from port 1 (all blocks of the kernel have ended or allowed dependents to start), of type 1 (the next kernel
 * waits by itself).
 */
static int add_early(const sti_gpu_driver *d, const sti_gpu_place *at, const sti_gpu_kernel *k, void **node)
{
    any_kernel_parameters p = {.kernel = parameters_of(k)};
    edge_data edge[EDGES] = {0};
    for (size_t i = 0; i < at->nafter; ++i)
        if (at->early[i]) edge[i] = (edge_data){.from = 1, .type = 1};
    return d->api.graph_add_node(node, at->graph, at->after, edge, at->nafter, &p);
}

static int add_kernel(const sti_gpu_driver *d, const sti_gpu_place *at, const sti_gpu_kernel *k, void **node)
{
    if (at->early && at->nafter <= EDGES) return add_early(d, at, k, node);
    kernel_parameters p = parameters_of(k);
    return d->api.graph_add_kernel(node, at->graph, at->after, at->nafter, &p);
}

static int set_kernel(const sti_gpu_driver *d, void *executable, void *node, const sti_gpu_kernel *k)
{
    kernel_parameters p = parameters_of(k);
    return d->api.graph_exec_set_kernel(executable, node, &p);
}

/* One side of a copy: position and kind of memory. */
typedef struct copy_side {
    size_t x, y, z, level;
    unsigned memory; /* 2: device memory */
    const void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
} copy_side;

typedef struct copy_parameters {
    copy_side from, to;
    size_t width, height, depth;
} copy_parameters;
static_assert(sizeof(copy_parameters) == 200, "CUDA_MEMCPY3D, version 2");

/* Adds a copy of one row. */
static int add_copy(const sti_gpu_driver *d, const sti_gpu_place *at, void *context, void *to, const void *from,
                    size_t size, void **node)
{
    const copy_parameters p = {
        .from = {.memory = 2, .device = (uint64_t)(uintptr_t)from, .pitch = size, .height = 1},
        .to = {.memory = 2, .device = (uint64_t)(uintptr_t)to, .pitch = size, .height = 1},
        .width = size,
        .height = 1,
        .depth = 1,
    };
    return d->api.graph_add_copy(node, at->graph, at->after, at->nafter, &p, context);
}

typedef struct while_parameters {
    int type; /* 13: conditional */
    int zero[3];
    uint64_t handle;
    int kind;      /* 1: while */
    unsigned size; /* number of bodies */
    void **bodies; /* out; the driver owns them */
    void *context;
    char unused[208]; /* zero */
} while_parameters;
static_assert(sizeof(while_parameters) == 256, "CUgraphNodeParams");

static int add_while(const sti_gpu_driver *d, const sti_gpu_place *at, void *context, uint64_t handle, void **node,
                     void **body)
{
    while_parameters p = {.type = 13, .handle = handle, .kind = 1, .size = 1, .context = context};
    int code = d->api.graph_add_node(node, at->graph, at->after, NULL, at->nafter, &p);
    if (code == STI_GPU_OK) *body = p.bodies[0];
    return code;
}

const sti_gpu_vendor sti_gpu_cuda = {
    .name = "cuda",
    .title = "CUDA",
    .type = STET_DEVICE_CUDA,
    .driver = &driver,
    .compiler = &sti_cuda_compiler,
    /* since this version it runs code of every compiler of its major version, and has stream-ordered memory */
    .least = 11020,
    .version_text = version_text,
    .fact = {[STI_GPU_MAX_THREADS] = 1,
             [STI_GPU_MAX_X] = 2,
             [STI_GPU_MAX_Y] = 3,
             [STI_GPU_MAX_GRID] = 5,
             [STI_GPU_SHARED] = 8,
             [STI_GPU_SHARED_MOST] = 97,
             [STI_GPU_WARP] = 10,
             [STI_GPU_PROCESSORS] = 16,
             [STI_GPU_MAJOR] = 75,
             [STI_GPU_MINOR] = 76},
    .attribute = {[STI_ATTRIBUTE_REGISTERS] = 4,
                  [STI_ATTRIBUTE_LOCAL_BYTES] = 3,
                  [STI_ATTRIBUTE_SHARED_BYTES] = 1,
                  [STI_ATTRIBUTE_MAX_THREADS] = 0},
    .shared_attribute = 8,
    .max_threads = UINT64_MAX,
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
    .add_while = add_while,
    .early_version = 12030,
    .early_major = 9,
};
