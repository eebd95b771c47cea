/*
 * A group, inside: its ranks, their worlds, and what each call compares before it exchanges data.
 *
 * Invariants:
 *   GROUP-1  every call of all ranks begins with sti_group_meet, in which each rank says what it calls; data cross only
 *       if all say the same. So ranks that disagree, or one that failed, cannot leave others waiting
 *   GROUP-2  after a failure a group exchanges nothing more; `failure` is the sentence of all later calls
 *   GROUP-3  first[r] to first[r + 1] - 1 are the worlds of rank r; first[nrank] is nworld
 */
#ifndef STI_GROUP_GROUP_H
#define STI_GROUP_GROUP_H

#include "base/validate.h"
#include "stet/group.h"

enum {
    STI_GROUP_TEXT = 400,
    STI_GROUP_PIECE = 16 << 20, /* bytes of a message, at most */
};

/* What a rank calls; names in messages: sti_group_meet. */
typedef enum sti_group_call {
    STI_GROUP_FAIL,
    STI_GROUP_SHARE,
    STI_GROUP_GATHER,
    STI_GROUP_SCATTER,
    STI_GROUP_BROADCAST,
    STI_GROUP_SUM,
    STI_GROUP_LINK,
    STI_GROUP_REDUCE,
    STI_GROUP_CALLS
} sti_group_call;

typedef struct sti_group_head {
    uint64_t call, size; /* size: bytes or numbers, as the call has them */
} sti_group_head;

struct stet_group {
    stet_transport transport;
    int64_t nworld, *first;
    sti_group_head *heads; /* [nrank] */
    struct sti_link *link; /* link.h; NULL: none */
    void (*close_link)(struct sti_link *link, bool failed);
    bool failed;
    char failure[STI_GROUP_TEXT + 64];
};

/* Creates a group of ranks that run these versions of stet and MuJoCo. */
stet_result sti_group_create_as(const stet_group_def *def, const char *stet, const char *mujoco, stet_group **out);

/* GROUP-2, GROUP-3. */
STI_VALIDATE(group, stet_group)
/* GROUP-1. */
stet_result sti_group_meet(stet_group *group, sti_group_call call, uint64_t size);
/* Checks what a function of the transport returned, and keeps its failure (GROUP-2). */
stet_result sti_group_check(stet_group *group, int code, const char *what);

/* Ends the group with a reason that all ranks found (GROUP-2); `rank` is the one to name. */
stet_result sti_group_set_failure(stet_group *group, int rank, const char *text);

/*
 * sum.c: the order of sums. The largest node that begins at `at` and has no world outside of at … end - 1, and how many
 * such nodes a block is.
 */
int64_t sti_node_size(int64_t at, int64_t end, int64_t nworld);
int sti_count_nodes(int64_t at, int64_t end, int64_t nworld);

/* mpi.c: a launcher of another MPI starts processes that do not see each other. t: of all that were started. */
stet_result sti_mpi_check_launcher(const stet_transport *t);

/*
 * Of all ranks: `item` bytes a world, in the order of the worlds, to a function of rank 0, piece by piece, so that it
 * never has all of them in memory. Returns the first result of `take` that is not STET_OK, on rank 0.
 */
typedef stet_result sti_group_take(void *context, const void *data, size_t size);
stet_result sti_group_stream(stet_group *group, const void *own, size_t item, sti_group_take *take, void *context);
/* Such a function, which puts the pieces one after the other into memory; context: a char ** there. */
stet_result sti_group_put(void *context, const void *data, size_t size);
/* link.c: the same of an array with this rank's worlds, by NCCL where the group is linked so with its device. */
stet_result sti_group_stream_array(stet_group *group, stet_array *own, sti_group_take *take, void *context);

#endif
