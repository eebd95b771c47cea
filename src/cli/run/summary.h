/* The results of a run: one JSON object for programs, a few aligned lines for people. */
#ifndef STI_CLI_RUN_SUMMARY_H
#define STI_CLI_RUN_SUMMARY_H

#include "cli/files/folder.h"
#include "cli/options/options.h"
#include "cli/run/profile.h"
#include "cli/run/ranks.h"
#include "cli/run/rounds.h"

typedef struct summary {
    const run_options *options;
    stet_sim *sim;        /* borrowed */
    const rounds *rounds; /* borrowed; without rows the run has no rounds */
    const ranks *ranks;   /* borrowed; of a run over several processes */
    int substeps;
    int64_t since;     /* frames from the scene's initial state to this run's first */
    int64_t done;      /* frames, in all rounds together */
    bool interrupted;  /* before all frames were done */
    double frame_time; /* seconds of simulated time per frame */
    double load;       /* seconds for loading the scene and creating the worlds and their first state */
    double seconds;    /* for all frames: controls, physics, pictures and recordings; the sum of the phases below */
    double record;     /* the part of `seconds` for recordings */
    double write;      /* seconds for writing pictures, tensors and the state; not part of `seconds` */
    stet_sim_timing timing;
    stet_counters counters;
    stet_trace_stats traced; /* zero: not traced */
    profile profile;
    int64_t faults[STET_FAULT_COUNT]; /* worlds that had it */
    uint64_t state_hash, frame_hash;  /* frame_hash: of the last frame; 0 without outputs */
    int64_t shown;                    /* worlds in a mosaic; 0: none was made */
    file_list files;
} summary;

/* Counts the worlds with each fault. */
void summary_count_faults(summary *s);
/* Writes the same object to a file (returns NULL or an error text), or to standard output. */
const char *summary_write_json(const summary *s, const char *path);
void summary_print_json(const summary *s);
void summary_print(const summary *s);

#endif
