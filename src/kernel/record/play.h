/*
 * Shared declarations of the files that run lists: run_list.c, device_graphs.c, compare_replay.c and play.c. record.h
 * has the invariants.
 */
#ifndef STI_KERNEL_RECORD_PLAY_H
#define STI_KERNEL_RECORD_PLAY_H

#include "kernel/record/record.h"

/* A position in a list. An operation that failed can be tried again from here. */
typedef struct sti_player {
    stet_device *device;
    sti_list *list;
    const char *what;
    sti_recording *recording; /* NULL: launches pass their arguments by value */
    uint64_t capture;         /* id of the caller's capture that the work joins; 0: none */
    bool trial;               /* a trial run: it counts nothing and moves no generation, because the list runs again */
    int at;
    int64_t nlaunch;
} sti_player;

static inline stet_counter *sti_replay_row(stet_device *device)
{
    return &device->mechanisms.counters.mechanism[STET_MECHANISM_GRAPH_REPLAY];
}

/* ---- run_list.c ---- */

/* Runs the rest of the list: through its recording if the player has one, else operation by operation. */
stet_result sti_run(sti_player *p);
/* Runs the whole list through its recording and adds the replay to the trace. */
stet_result sti_replay(sti_player *p);
void sti_rewind(sti_player *p);
/* Launches the rest of the list one by one, after an event that is counted as a fallback. */
stet_result sti_play_fallback(sti_player *p, stet_reason why);

/* ---- device_graphs.c ---- */

/*
 * Builds the graphs that the device can make of a recording, with the numbers of the list that is played. Runs nothing.
 * A list that the driver cannot build is counted as a fallback (in strict mode it is an error, and the next play tries
 * again). Other failures are returned.
 */
stet_result sti_device_graphs_plan(const sti_player *p, sti_recording *x);
void sti_device_graphs_free(stet_device *device, sti_recording *x);
/* Gives the graphs the arguments and numbers of this play (mechanism args): if it is on, only those that differ. */
stet_result sti_device_graphs_update(const sti_player *p);

/* Adds operations first … end - 1 to the graph that the caller's capture becomes (RECORD-8): a loop, whole. */
stet_result sti_device_graphs_join(const sti_player *p, int first, int end);

/* ---- compare_replay.c ---- */

/*
 * Compares the recording with single launches (RECORD-4). When it returns STET_OK the launches have been made, whatever
 * the comparison found. A recording that failed or differs is dropped.
 */
stet_result sti_play_compared(sti_player *p, sti_recording *x);

#endif
