/* What a run came to: one JSON object for machines, a few aligned lines for people. */
#ifndef STI_CLI_SUMMARY_H
#define STI_CLI_SUMMARY_H

#include "cli/folder.h"
#include "cli/options.h"
#include "cli/profile.h"
#include "cli/rounds.h"

typedef struct summary {
    const run_options *options;
    stet_sim *sim;        /* borrowed */
    const rounds *rounds; /* likewise; without rows it is no run of rounds */
    int substeps;
    int64_t done;      /* frames, of all rounds together */
    bool interrupted;  /* before all frames were done */
    double frame_time; /* seconds of simulated time a frame */
    double load;       /* seconds: the scene, the worlds, the first state */
    double seconds;    /* of all frames: controls, physics, pictures and recordings; the phases below add up to it */
    double record;     /* of that: recordings */
    double write;      /* seconds: pictures, tensors and the state into files; not part of `seconds` */
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
/* The same object in a file (NULL, or what is wrong), or on standard output. */
const char *summary_write_json(const summary *s, const char *path);
void summary_print_json(const summary *s);
void summary_print(const summary *s);

#endif
