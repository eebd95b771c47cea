/*
 * NVIDIA's NCCL, or AMD's RCCL, which has the same functions: bytes from GPU to GPU. The library is opened at run time;
 * building stet needs nothing of it.
 *
 * Invariants:
 *   NCCL-1  only sends and receives are used, and NCCL's own sum for two ranks: a + b is b + a but for NaN's bits. With
 *       more, its order depends on the number of ranks and on the algorithm that it chooses
 *   NCCL-2  a communicator's calls are made with its device current, and issued to the stream in use
 */
#ifndef STI_GROUP_NCCL_H
#define STI_GROUP_NCCL_H

#include "base/shared_library.h"
#include "stet/device.h"

enum { STI_NCCL_ID_SIZE = 128, STI_NCCL_TEXT = 300 };

/* How the first rank names a new communicator to the others (ncclUniqueId). */
typedef struct sti_nccl_id {
    char bytes[STI_NCCL_ID_SIZE];
} sti_nccl_id;

typedef struct sti_nccl {
    const char *name; /* "NCCL", "RCCL" */
    int version;      /* 22707 is 2.27.7 */
    void *comm;       /* NULL: none */
    int (*get_version)(int *version);
    int (*get_id)(sti_nccl_id *id);
    int (*join)(void **comm, int nrank, sti_nccl_id id, int rank);
    int (*destroy)(void *comm);
    int (*abort)(void *comm);
    int (*send)(const void *data, size_t count, int type, int to, void *comm, void *stream);
    int (*receive)(void *data, size_t count, int type, int from, void *comm, void *stream);
    int (*all_reduce)(const void *data, void *out, size_t count, int type, int sum, void *comm, void *stream);
    int (*begin)(void);
    int (*end)(void);
    const char *(*error)(int code);
    const char *(*last_error)(void *comm); /* NULL: this version has none */
} sti_nccl;

/* One message of an exchange, of memory of the device. */
typedef struct sti_message {
    bool send; /* else received */
    int peer;
    void *data;
    size_t size;
} sti_message;

/* Finds the library for the device's vendor. given: its file, or NULL. UNSUPPORTED: the message says why. */
stet_result sti_nccl_open(const stet_device *device, const char *given, sti_nccl *out);
stet_result sti_nccl_make_id(sti_nccl *nccl, sti_nccl_id *out);
/* Of all ranks. */
stet_result sti_nccl_join(sti_nccl *nccl, stet_device *device, const sti_nccl_id *id, int rank, int nrank);
/* Ends the communicator, if there is one. abort: without waiting for other ranks. */
void sti_nccl_leave(sti_nccl *nccl, stet_device *device, bool abort);
/* Issues all messages at once; those between two ranks are in one order on both. */
stet_result sti_nccl_exchange(sti_nccl *n, stet_device *device, const sti_message *messages, int count);
/* out [count], REAL: data of one rank + data of the other, of two (NCCL-1); NaN has any of its bits. */
stet_result sti_nccl_add_two(sti_nccl *n, stet_device *device, const void *data, void *out, int64_t count);

#endif
