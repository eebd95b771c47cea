/*
 * A run over several processes ("ranks") that MPI's launcher started: each has a block of the run's worlds, rank 0
 * writes and reports. Without a launcher the run is of one process, and has no group.
 *
 *   RANKS-1  all ranks end with one exit code, and rank 0 says why (ranks_agree, ranks_close)
 *   RANKS-2  all ranks do the same frames: an interruption is agreed upon (ranks_stop)
 */
#ifndef STI_CLI_RUN_RANKS_H
#define STI_CLI_RUN_RANKS_H

#include "cli/options/options.h"
#include "stet/group.h"

/* What rank 0 says of each rank. */
typedef struct rank_row {
    char host[64], device[96], warning[200];
    int64_t first, nworld;
    double busy; /* seconds of work, without waiting for other ranks */
    int threads;
} rank_row;

typedef struct ranks {
    stet_group *all;   /* the processes that were started; NULL: this one alone */
    stet_group *group; /* those of them that have worlds; NULL: this one alone */
    int rank, count;   /* number of this process, and how many were started */
    bool idle;         /* this one has no world */
    int local;         /* number of this process among those of its machine */
    int threads;       /* processors for each of them */
    rank_row *row;     /* [nrank of the group], on all ranks, after ranks_gather_rows */
    int64_t every;     /* frames between two agreements … */
    double since;      /* … and when the last one was */
} ranks;

/*
 * Each returns -1, or an exit code. ranks_open comes first of all; then messages are held until ranks_close, and only
 * rank 0 has a standard output. `code` of ranks_divide: that of reading the options. Always call ranks_close.
 */
int ranks_open(ranks *r);
int ranks_divide(ranks *r, const run_options *options, int argc, char **argv, int code);
/* Is it the same scene in all of them, and the same physics? */
int ranks_check_scene(ranks *r, const stet_model *model);
int ranks_check_physics(ranks *r, stet_physics physics);
/*
 * All go on, or none: a rank whose code is not -1 ends the others, with its message and their exit code `other`. It is
 * the last call that all of them make.
 */
int ranks_agree(ranks *r, int code, int other);
/* Rank 0 prints the message that was held. */
void ranks_close(ranks *r);

/* May the next frame begin? *stop: no, on all ranks, as one of them was interrupted. */
int ranks_stop(ranks *r, int64_t frame, bool interrupted, bool *stop);
/* The hashes of all worlds; without a group those of the sim. */
stet_result ranks_hash(stet_group *group, stet_sim *sim, uint64_t *out);
stet_result ranks_hash_frame(stet_group *group, stet_sim *sim, int64_t frame, uint64_t *out);
/* x [n] becomes the sum of that of each rank. */
stet_result ranks_add(stet_group *group, int64_t *x, int n);
/* The largest of a number of each rank. */
stet_result ranks_most(ranks *r, double *x);
stet_result ranks_gather_rows(ranks *r, const rank_row *own);
/* The rank that others wait for: it works much longer than the median; -1: none. */
int ranks_straggler(const ranks *r);

#endif
