/*
 * Inside of playing lists: what run_list.c, device_graphs.c, compare_replay.c and play.c share. See record.h for the invariants.
 */
#ifndef STI_KERNEL_RECORD_PLAY_H
#define STI_KERNEL_RECORD_PLAY_H

#include "kernel/record/record.h"

/* Where a list is: an operation that failed can be tried again from here. */
typedef struct sti_player {
    stet_device *device;
    sti_list *list;
    const char *what;
    sti_recording *recording; /* NULL: launches go by value */
    uint64_t capture;         /* of a caller's, that this becomes a part of; 0: none */
    bool trial;               /* counts nothing and moves no generation: it will be done again */
    int at;
    int64_t nlaunch;
} sti_player;

static inline stet_counter *sti_replay_row(stet_device *device)
{
    return &device->mechanisms.counters.mechanism[STET_MECH_graph_replay];
}

/* ---- run_list.c ---- */

/* To the end of the list: by its recording, if the player has one, or one by one. */
stet_result sti_run(sti_player *p);
/* By its recording, from the beginning; noted in a trace. */
stet_result sti_replay(sti_player *p);
void sti_rewind(sti_player *p);

/* ---- device_graphs.c ---- */

/*
 * Gives a recording the graphs that the device can make of it, for the numbers of the list that is played; runs nothing. What the driver cannot is
 * counted as a fallback (in strict mode an error, and asked again next time). Other failures are returned.
 */
stet_result sti_device_graphs_plan(const sti_player *p, sti_recording *x);
void sti_device_graphs_free(stet_device *device, sti_recording *x);
/* Gives the graphs the arguments and numbers of this play (mechanism args): only those that differ, if it is on. */
stet_result sti_device_graphs_update(const sti_player *p);

/* ---- compare_replay.c ---- */

/* R4. The launches have been made when it returns STET_OK, whatever it found; a recording that failed or differs is gone. */
stet_result sti_play_compared(sti_player *p, sti_recording *x);

/* ---- play.c ---- */

/* Launches one by one what is left of the list, after something that is counted as a fallback. */
stet_result sti_play_on(sti_player *p, stet_reason why);

#endif
