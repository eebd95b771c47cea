/* NCCL and RCCL, opened at run time; see nccl.h. */
#include "group/nccl.h"

#include "base/environment.h"
#include "device/gpu/gpu.h"

#include <stdio.h>
#include <string.h>

enum { NCCL_BYTE = 0, NCCL_FLOAT = 7, NCCL_DOUBLE = 8, NCCL_SUM = 0 };
enum { LEAST_VERSION = 2700 }; /* 2.7 has sends and receives */

/* ---- finding it -------------------------------------------------------------------------------------------------- */

static const char *const nccl_names[] = {"libnccl.so.2", "libnccl.so", NULL};
static const char *const nccl_folders[] = {"/usr/local/cuda*/lib64", "/usr/local/cuda*/lib",
                                           "/opt/nvidia/hpc_sdk/*/*/comm_libs/nccl/lib", NULL};
static const char *const nccl_wheels[] = {"nvidia/nccl/lib", NULL};
static const sti_library_names nccl = {"NCCL", nccl_names, nccl_folders, nccl_wheels};

static const char *const rccl_names[] = {"librccl.so.1", "librccl.so", NULL};
static const char *const rccl_folders[] = {"/opt/rocm*/lib", NULL};
static const sti_library_names rccl = {"RCCL", rccl_names, rccl_folders, NULL};

/* Sets a pointer to a function; false: the library lacks it. */
static bool find(const sti_library *library, const char *symbol, void *pointer)
{
    void *address = sti_library_symbol(library, symbol);
    memcpy(pointer, &address, sizeof address);
    return address != NULL;
}

static const char *find_all(sti_nccl *n, const sti_library *library)
{
    const struct {
        const char *symbol;
        void *pointer;
    } rows[] = {{"ncclGetVersion", &n->get_version}, {"ncclGetUniqueId", &n->get_id},   {"ncclCommInitRank", &n->join},
                {"ncclCommDestroy", &n->destroy},    {"ncclCommAbort", &n->abort},      {"ncclSend", &n->send},
                {"ncclRecv", &n->receive},           {"ncclAllReduce", &n->all_reduce}, {"ncclGroupStart", &n->begin},
                {"ncclGroupEnd", &n->end},           {"ncclGetErrorString", &n->error}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        if (!find(library, rows[k].symbol, rows[k].pointer)) return rows[k].symbol;
    (void)find(library, "ncclGetLastError", &n->last_error);
    return NULL;
}

stet_result sti_nccl_open(const stet_device *device, const char *given, sti_nccl *out)
{
    const sti_library_names *names = device->type == STET_DEVICE_HIP ? &rccl : &nccl;
    sti_library library;
    *out = (sti_nccl){.name = names->what};
    if (!device->can.own_memory)
        return sti_error(STET_ERROR_UNSUPPORTED, "%s is not a GPU", stet_device_get_name(device));
    /* It stays open: it has threads of its own. */
    if (sti_library_open(names, given ? given : sti_environment("STET_NCCL"), &library) != STET_OK)
        return STET_ERROR_UNSUPPORTED;
    const char *missing = find_all(out, &library);
    if (missing)
        return sti_error(STET_ERROR_UNSUPPORTED, "%s: %s has no %s; install a newer one", names->what, library.file,
                         missing);
    if (out->get_version(&out->version) != 0 || out->version < LEAST_VERSION)
        return sti_error(STET_ERROR_UNSUPPORTED, "%s: %s is older than 2.7; install a newer one", names->what,
                         library.file);
    return STET_OK;
}

/* ---- calling it -------------------------------------------------------------------------------------------------- */

static stet_result check(sti_nccl *n, int code, const char *call)
{
    if (code == 0) return STET_OK;
    const char *last = n->last_error ? n->last_error(n->comm) : NULL, *text = n->error(code);
    return sti_error(STET_ERROR_DEVICE, "%s: %s failed: %s%s%.*s", n->name, call, text ? text : "no reason given",
                     last && last[0] ? "; " : "", STI_NCCL_TEXT, last ? last : "");
}

stet_result sti_nccl_make_id(sti_nccl *n, sti_nccl_id *out) { return check(n, n->get_id(out), "ncclGetUniqueId"); }

stet_result sti_nccl_join(sti_nccl *n, stet_device *device, const sti_nccl_id *id, int rank, int nrank)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    STI_TRY(sti_gpu_enter(gpu, &was));
    stet_result result = check(n, n->join(&n->comm, nrank, *id, rank), "ncclCommInitRank");
    if (result != STET_OK) n->comm = NULL;
    return sti_gpu_leave(gpu, &was, result);
}

void sti_nccl_leave(sti_nccl *n, stet_device *device, bool abort)
{
    sti_gpu *gpu = device->state;
    sti_gpu_current was;
    if (!n->comm) return;
    if (sti_gpu_enter_unchecked(gpu, &was) == STI_GPU_OK) {
        (void)(abort ? n->abort : n->destroy)(n->comm);
        (void)sti_gpu_leave_unchecked(gpu, &was);
    }
    n->comm = NULL;
}

static stet_result issue(sti_nccl *n, void *stream, const sti_message *messages, int count)
{
    stet_result result = check(n, n->begin(), "ncclGroupStart");
    if (result != STET_OK) return result;
    for (int k = 0; k < count && result == STET_OK; ++k) {
        const sti_message *m = &messages[k];
        if (m->send)
            result = check(n, n->send(m->data, m->size, NCCL_BYTE, m->peer, n->comm, stream), "ncclSend");
        else
            result = check(n, n->receive(m->data, m->size, NCCL_BYTE, m->peer, n->comm, stream), "ncclRecv");
    }
    int code = n->end();
    return result == STET_OK ? check(n, code, "ncclGroupEnd") : result;
}

stet_result sti_nccl_exchange(sti_nccl *n, stet_device *device, const sti_message *messages, int count)
{
    sti_gpu *gpu = device->state;
    if (count == 0) return STET_OK;
    STI_GPU_WITHIN(gpu, issue(n, gpu->stream, messages, count));
}

static stet_result add_two(sti_nccl *n, const stet_device *device, void *stream, const void *data, void *out,
                           int64_t count)
{
    int type = device->real_size == sizeof(double) ? NCCL_DOUBLE : NCCL_FLOAT;
    return check(n, n->all_reduce(data, out, (size_t)count, type, NCCL_SUM, n->comm, stream), "ncclAllReduce");
}

stet_result sti_nccl_add_two(sti_nccl *n, stet_device *device, const void *data, void *out, int64_t count)
{
    sti_gpu *gpu = device->state;
    STI_GPU_WITHIN(gpu, add_two(n, device, gpu->stream, data, out, count));
}
