/*
 * Groups: processes ("ranks") that share the worlds of a run. Each rank has a block of the run's worlds in a sim of its
 * own (stet_sim_def.first_world and nworld: stet_group_get_first and stet_group_get_own). Results do not depend on the
 * number of ranks, nor on the division: world w has the same bits everywhere, and sums have one order.
 *
 * Functions marked "of all ranks" are called by all ranks of a group, in one order and with the same sizes; a rank
 * waits in them for the others. Before any data are exchanged, the ranks compare what they call. If that differs, or a
 * rank has failed (stet_group_fail), the call fails on all ranks with the same message, and so do all later ones:
 * STATE. A group is used from one thread at a time.
 */
#ifndef STET_GROUP_H
#define STET_GROUP_H

#include "sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_group stet_group;

/*
 * How bytes cross between ranks: MPI (stet_transport_open_mpi), or functions of the caller's, over what connects its
 * processes already. Functions are called by all ranks in one order, and return 0, or not 0 after a failure, of which
 * `why` then says the reason.
 */
typedef struct stet_transport {
    int rank, nrank;
    int local, nlocal; /* number of this rank among those of its machine, and how many these are; 0: not known */
    void *context;
    /* recv [nrank][size]: what each rank sends */
    int (*all_gather)(void *context, const void *send, void *recv, size_t size);
    int (*broadcast)(void *context, void *data, size_t size, int root);
    /* One message; called in pairs. */
    int (*send)(void *context, const void *data, size_t size, int to);
    int (*receive)(void *context, void *data, size_t size, int from);
    const char *(*why)(void *context);
    void (*close)(void *context); /* NULL: nothing is to be done */
    /*
     * May `data` of send and receive be memory of a GPU of this type? NULL: yes; otherwise why not. No work of the GPU
     * is pending then, and what was received is there when receive returns. Without this function the answer is no.
     */
    const char *(*why_no_gpu)(void *context, stet_device_type type);
} stet_transport;

/*
 * Was this process started as one of several by MPI's launchers (mpirun, mpiexec, srun with PMI)? Looks at the
 * environment alone.
 */
STET_API bool stet_mpi_is_launched(void);
/*
 * The ranks of an MPI communicator that call this with `joins`; those with false get rank -1 and no functions. All
 * ranks of the communicator call it. communicator: the address of an MPI_Comm, or NULL: MPI_COMM_WORLD; MPI is
 * initialized if it was not, and then finalized when the process exits. The caller closes *out, or hands it to a group.
 * UNSUPPORTED: this build has no MPI, or its library is not installed; the message says which.
 */
STET_API stet_result stet_transport_open_mpi(const void *communicator, bool joins, stet_transport *out);

typedef struct stet_group_def {
    uint32_t cookie;          /* set by stet_default_group_def */
    stet_transport transport; /* the group closes it; rank -1 (default): MPI_COMM_WORLD; one rank needs no functions */
    int64_t nworld;           /* worlds of the run; at least 0 */
    int64_t own;              /* this rank's worlds; -1 (default): an even share, the first ranks have one more */
} stet_group_def;
STET_API stet_group_def stet_default_group_def(void);
/*
 * Of all ranks. The caller owns *out; the transport is closed also if this fails. STATE on all ranks: versions of stet
 * or MuJoCo differ, or numbers of worlds, or the own ones do not add up; the message names a rank. Errors as of
 * stet_transport_open_mpi.
 */
STET_API stet_result stet_group_create(const stet_group_def *def, stet_group **out);
STET_API void stet_group_destroy(stet_group *group);

STET_API int stet_group_get_rank(const stet_group *group);
STET_API int stet_group_get_nrank(const stet_group *group);
STET_API int64_t stet_group_get_nworld(const stet_group *group); /* of the run */
STET_API int64_t stet_group_get_first(const stet_group *group);  /* number of this rank's first world */
STET_API int64_t stet_group_get_own(const stet_group *group);
/* The worlds of any rank. */
STET_API int64_t stet_group_get_first_of(const stet_group *group, int rank);
STET_API int64_t stet_group_get_own_of(const stet_group *group, int rank);

/* Of all ranks: all [nrank][size] is what each rank gives. */
STET_API stet_result stet_group_share(stet_group *group, const void *own, size_t size, void *all);
/*
 * Of all ranks: puts together, on rank 0, `item` bytes a world: own [own][item], all [nworld][item]. Other ranks' `all`
 * may be NULL.
 */
STET_API stet_result stet_group_gather(stet_group *group, const void *own, size_t item, void *all);
/* Of all ranks: the reverse; all [nworld][item] of rank 0. */
STET_API stet_result stet_group_scatter(stet_group *group, const void *all, size_t item, void *own);
/* Of all ranks: size bytes of rank 0 for all. */
STET_API stet_result stet_group_broadcast(stet_group *group, void *data, size_t size);
/*
 * Of all ranks: out [n], on each rank, is the sum of own [own][n] over all worlds of the run. It is added pairwise, in
 * the order of a binary tree over the worlds' numbers, so that its bits depend on the values alone. A rank sends the
 * sums of whole subtrees: one where its block begins at a multiple of its size, a power of two; at most
 * 2 log2(nworld).
 */
STET_API stet_result stet_group_sum(stet_group *group, const double *own, int64_t n, double *out);
/* Of all ranks: the same of an array REAL [own][n] of a device. */
STET_API stet_result stet_group_sum_array(stet_group *group, stet_array *own, double *out);
/* Of all ranks: an array [own]… of a device, put together on rank 0 as by stet_array_read; all [nworld]…. */
STET_API stet_result stet_group_read(stet_group *group, stet_array *own, void *all);

/* ---- from device to device --------------------------------------------------------------------------------------- */

/*
 * Of all ranks, each with a device of its own and at least one world: the calls below are about arrays of `device` from
 * now on. Where all ranks have GPUs and NVIDIA's NCCL (AMD's RCCL), arrays cross from GPU to GPU, in the stream in use,
 * and the host does not wait. Else, where all have GPUs of one vendor and transports that take their memory (GPU-aware
 * MPI), the transport sends it as it is, and the host waits. Else arrays cross through the host's memory. Results have
 * the same bits, and stet_group_get_link says by what arrays cross, and why. library: the file of NCCL or RCCL; NULL:
 * what the environment's STET_NCCL names, or the one that is found. With STET_GROUP_STAGED in the environment the
 * transport is never given memory of GPUs. The group keeps the device alive.
 */
STET_API stet_result stet_group_link(stet_group *group, stet_device *device, const char *library);
/*
 * Ends the link, as stet_group_destroy does: call one of the two on each rank before the device is destroyed. The group
 * can be linked again. Without a link nothing is done.
 */
STET_API void stet_group_unlink(stet_group *group);
/* "NCCL 2.27.7", "GPU-aware transport, because rank 1 of 2: …" or "host memory, because …"; "" before the link. */
STET_API const char *stet_group_get_link(const stet_group *group);
/*
 * Of all ranks: puts own [own]… together on rank 0, in `all` [nworld]…; of the other ranks `all` may be NULL. Arrays of
 * worlds and plain ones.
 */
STET_API stet_result stet_group_gather_array(stet_group *group, stet_array *own, stet_array *all);
/* Of all ranks: the reverse. */
STET_API stet_result stet_group_scatter_array(stet_group *group, stet_array *all, stet_array *own);
/* Of all ranks: a plain array of rank 0 for all. */
STET_API stet_result stet_group_broadcast_array(stet_group *group, stet_array *array);
/*
 * Of all ranks: out [n], plain, on each rank, is the sum of own [own]… of n numbers each over all worlds of the run: in
 * REAL, and in the order of stet_group_sum, so that it has the same bits for any number of ranks, on all devices, by
 * NCCL or without. For a gradient of parameters, "worlds" of the group are the parts that a batch is divided into, the
 * same ones for any number of ranks. Each rank adds its share of the n numbers.
 */
STET_API stet_result stet_group_reduce(stet_group *group, stet_array *own, stet_array *out);
/*
 * The two, beside other work: they begin after all work issued so far, and work issued later does not wait for them
 * before stet_group_wait, as with the sum of one layer's gradient while the next layer's is computed, or pictures that
 * are gathered while the next ones are drawn. Until then the caller must not write `own`, use the result, or
 * destroy either. By NCCL they go on in a stream of the group's own; otherwise they are done when they return.
 */
STET_API stet_result stet_group_reduce_begin(stet_group *group, stet_array *own, stet_array *out);
STET_API stet_result stet_group_gather_begin(stet_group *group, stet_array *own, stet_array *all);
/* Orders later work after all that has begun. The host does not wait; nothing crosses between ranks. */
STET_API stet_result stet_group_wait(stet_group *group);

/*
 * Ends the group with an error of this rank: the next call of each other rank fails, and says this message. A rank that
 * cannot go on calls it once, in place of its next call.
 */
STET_API void stet_group_fail(stet_group *group, const char *message);

/*
 * Of all ranks: the state of all worlds in one file, written by rank 0, which any number of ranks can resume, and a
 * process without a group, too. Errors as of stet_worlds_save and stet_worlds_resume. Each rank reads the file itself.
 */
STET_API stet_result stet_group_save(stet_group *group, stet_worlds *worlds, const char *path);
STET_API stet_result stet_group_resume(stet_group *group, stet_sim *sim, const char *path);
/* Of all ranks: the hash that stet_worlds_hash and stet_sim_hash_frame give for one sim of all worlds. */
STET_API stet_result stet_group_hash(stet_group *group, stet_worlds *worlds, uint64_t *out);
STET_API stet_result stet_group_hash_frame(stet_group *group, stet_sim *sim, int64_t frame, uint64_t *out);

#ifdef __cplusplus
}
#endif
#endif
