/*
 * The module over MPI: a transport made of a communicator of its own (table.h). It allocates nothing through the
 * library, and MPI's errors are returned, not fatal.
 */
#include "group/mpi/table.h"

#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI's implementations have functions of their own that say whether they take memory of GPUs; not all builds do. */
#if defined(MPIX_GPU_SUPPORT_CUDA) && defined(MPIX_GPU_SUPPORT_HIP)
#pragma weak MPIX_GPU_query_support
#elif defined(OMPI_HAVE_MPI_EXT_CUDA)
#pragma weak MPIX_Query_cuda_support
#endif
#ifdef OMPI_HAVE_MPI_EXT_ROCM
#pragma weak MPIX_Query_rocm_support
#endif

static const size_t most = (size_t)1 << 30; /* bytes of one call: MPI counts in int */

typedef struct link {
    MPI_Comm comm;
    char why[MPI_MAX_ERROR_STRING];
} link_state;

static int check(link_state *l, int code)
{
    int size;
    if (code == MPI_SUCCESS) return 0;
    if (MPI_Error_string(code, l->why, &size) != MPI_SUCCESS) (void)snprintf(l->why, sizeof l->why, "MPI %d", code);
    return 1;
}

static const char *why(void *context) { return ((link_state *)context)->why; }

static int all_gather(void *context, const void *send, void *recv, size_t size)
{
    link_state *l = context;
    if (size > most) return snprintf(l->why, sizeof l->why, "more than 1 GiB a rank to share") > 0;
    return check(l, MPI_Allgather(send, (int)size, MPI_BYTE, recv, (int)size, MPI_BYTE, l->comm));
}

typedef enum call { BROADCAST, SEND, RECEIVE } call;

static int pass_piece(link_state *l, call what, void *data, int size, int other)
{
    if (what == BROADCAST) return MPI_Bcast(data, size, MPI_BYTE, other, l->comm);
    if (what == SEND) return MPI_Send(data, size, MPI_BYTE, other, 0, l->comm);
    return MPI_Recv(data, size, MPI_BYTE, other, 0, l->comm, MPI_STATUS_IGNORE);
}

static int pass(link_state *l, call what, char *data, size_t size, int other)
{
    int code = 0;
    for (size_t n; size > 0 && code == 0; data += n, size -= n) {
        n = size < most ? size : most;
        code = check(l, pass_piece(l, what, data, (int)n, other));
    }
    return code;
}

static int broadcast(void *context, void *data, size_t size, int root)
{
    return pass(context, BROADCAST, data, size, root);
}

static int send_bytes(void *context, const void *data, size_t size, int to)
{
    return pass(context, SEND, (char *)(uintptr_t)data, size, to);
}

static int receive_bytes(void *context, void *data, size_t size, int from)
{
    return pass(context, RECEIVE, data, size, from);
}

static bool takes_gpu(stet_device_type type)
{
    int takes = 0;
#if defined(MPIX_GPU_SUPPORT_CUDA) && defined(MPIX_GPU_SUPPORT_HIP)
    int kind = type == STET_DEVICE_CUDA ? MPIX_GPU_SUPPORT_CUDA : MPIX_GPU_SUPPORT_HIP;
    if (MPIX_GPU_query_support && MPIX_GPU_query_support(kind, &takes) != MPI_SUCCESS) takes = 0;
#elif defined(OMPI_HAVE_MPI_EXT_CUDA)
    if (type == STET_DEVICE_CUDA && MPIX_Query_cuda_support) takes = MPIX_Query_cuda_support();
#endif
#ifdef OMPI_HAVE_MPI_EXT_ROCM
    if (type == STET_DEVICE_HIP && MPIX_Query_rocm_support) takes = MPIX_Query_rocm_support();
#endif
    return takes != 0;
}

static const char *why_no_gpu(void *context, stet_device_type type)
{
    link_state *l = context;
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "MPI";
    int size;
    if (takes_gpu(type)) return NULL;
    (void)MPI_Get_library_version(version, &size);
    (void)snprintf(l->why, sizeof l->why, "%.*s does not take memory of %s GPUs", (int)strcspn(version, ",\n"), version,
                   type == STET_DEVICE_CUDA ? "CUDA" : "HIP");
    return l->why;
}

static void close_link(void *context)
{
    link_state *l = context;
    int over = 0;
    if (MPI_Finalized(&over) == MPI_SUCCESS && !over) (void)MPI_Comm_free(&l->comm);
    free(l);
}

static void finalize(void)
{
    int over = 0;
    if (MPI_Finalized(&over) == MPI_SUCCESS && !over) (void)MPI_Finalize();
}

/* A process that initialized MPI here finalizes it when it exits. */
static int initialize(link_state *l)
{
    int done = 0, level;
    int code = check(l, MPI_Initialized(&done));
    if (code != 0 || done) return code;
    code = check(l, MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level));
    if (code == 0 && atexit(finalize) != 0) code = snprintf(l->why, sizeof l->why, "atexit has no room") > 0;
    return code;
}

static int count_local(link_state *l, stet_transport *out)
{
    MPI_Comm local;
    int code = check(l, MPI_Comm_split_type(l->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local));
    if (code == 0) code = check(l, MPI_Comm_rank(local, &out->local));
    if (code == 0) code = check(l, MPI_Comm_size(local, &out->nlocal));
    if (code == 0) code = check(l, MPI_Comm_free(&local));
    return code;
}

/* Leaves l->comm MPI_COMM_NULL for a rank that does not join. */
static int open_link(link_state *l, const void *communicator, bool joins, stet_transport *out)
{
    int code = initialize(l);
    MPI_Comm from = code == 0 && communicator ? *(const MPI_Comm *)communicator : MPI_COMM_WORLD;
    if (code == 0) code = check(l, MPI_Comm_split(from, joins ? 0 : MPI_UNDEFINED, 0, &l->comm));
    if (code != 0 || l->comm == MPI_COMM_NULL) return code;
    code = check(l, MPI_Comm_set_errhandler(l->comm, MPI_ERRORS_RETURN));
    if (code == 0) code = check(l, MPI_Comm_rank(l->comm, &out->rank));
    if (code == 0) code = check(l, MPI_Comm_size(l->comm, &out->nrank));
    return code == 0 ? count_local(l, out) : code;
}

static int open_transport(const void *communicator, bool joins, stet_transport *out, char *reason, size_t size)
{
    link_state *l = calloc(1, sizeof *l);
    *out = (stet_transport){.rank = -1};
    if (!l) return snprintf(reason, size, "out of memory") > 0;
    l->comm = MPI_COMM_NULL;
    int code = open_link(l, communicator, joins, out);
    if (code != 0) (void)snprintf(reason, size, "%s", l->why);
    if (code != 0 || l->comm == MPI_COMM_NULL) return free(l), code;
    out->context = l;
    out->all_gather = all_gather;
    out->broadcast = broadcast;
    out->send = send_bytes;
    out->receive = receive_bytes;
    out->why = why;
    out->close = close_link;
    out->why_no_gpu = why_no_gpu;
    return 0;
}

__attribute__((visibility("default"))) extern const sti_mpi_table stet_mpi_table;
const sti_mpi_table stet_mpi_table = {STI_MPI_TABLE, open_transport};
