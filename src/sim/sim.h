/*
 * The sim, inside: its parts, and what it remembers between calls.
 *
 * Invariants:
 *   SIM-1  the parts are made from left to right and destroyed from right to left, also where one could
 *       not be made
 *   SIM-2  the sim keeps no copy of any state: what is done to a part directly is seen by the next call
 *   SIM-3  a world whose number of resets is not `seen` was put back since the latest frame
 */
#ifndef STI_SIM_SIM_H
#define STI_SIM_SIM_H

#include "sim/phase.h"
#include "sim/round.h"
#include "stet/sim.h"
#include "stet/tiles.h"
#include "worlds/worlds.h"

#include <time.h>

struct stet_sim {
    stet_model *model;
    stet_device *device;
    stet_worlds *worlds;
    stet_step *step;
    stet_stage *stage;
    const uint8_t *stepped; /* worlds that the call which is running steps; NULL: all */
    stet_tiles *tiles;      /* NULL: no outputs */
    stet_camera *cameras;
    int ncamera;
    int keyframe;
    int noutput;
    int64_t newest; /* number of the latest frame; -1: none */
    uint32_t outputs;
    stet_array *hold, *half, *low, *high; /* REAL [max(nu, 1)]: of each actuator, see control.k.h */
    uint64_t *seen;                       /* [nworld], SIM-3 */
    sti_stamp seen_at;                    /* moves of worlds of which `seen` tells all resets: a reset is a move */
    uint8_t *again;                       /* [nworld]: worlds to render again */
    sti_phases phases;                    /* the caller's kernels in the step */
    sti_round round;
    uint64_t seed; /* as the sim was made */
    stet_sim_timing timing;
};

/* ---- sim.c ---- */

/* n time steps, and nothing of the caller's. */
stet_result sti_sim_physics(stet_sim *sim, int n);

/* ---- def.c: what a definition asks for ---- */

/* All that can be told before anything is made; one sentence for the first thing that is wrong. */
stet_result sti_sim_check(const stet_model *model, const stet_sim_def *def);
/* The def with its zeros and the keyframe filled in. */
stet_sim_def sti_sim_resolve(const stet_model *model, const stet_sim_def *def);
/* STET_LIMIT if a frame's pixels cannot be in this machine's memory. */
stet_result sti_sim_check_memory(const stet_sim_def *resolved, int ncamera, size_t real_size);

/* ---- camera.c ---- */

/* How many cameras the names of a def mean; NOT_FOUND lists those that exist. */
stet_result sti_sim_count_cameras(const stet_model *model, const stet_sim_def *def, int *n);
/* Fills sim->cameras [sim->ncamera]; adds the free camera to the stage if it is one of them. */
stet_result sti_sim_make_cameras(stet_sim *sim, const stet_sim_def *resolved);

/* ---- control.c ---- */

stet_result sti_sim_make_controls(stet_sim *sim);

/* ---- frame.c ---- */

stet_result sti_sim_make_frames(stet_sim *sim, const stet_sim_def *resolved);
/* All worlds were put back, whatever their numbers of resets say. */
void sti_sim_all_put_back(stet_sim *sim);

/* ---- timing ---- */

static inline double sti_sim_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* A row of sim->timing, in the trace of the sim's device if there is one. */
static inline sti_trace_mark sti_sim_begin_phase(const stet_sim *sim, const char *name)
{
    sti_trace *trace = sim->device->mechanisms.trace;
    if (!trace) return (sti_trace_mark){0};
    return sti_trace_open(trace, &(sti_trace_what){.kind = STET_TRACE_PHASE, .name = name});
}
static inline void sti_sim_end_phase(const stet_sim *sim, sti_trace_mark mark, stet_result result)
{
    if (mark.row) sti_trace_close(sim->device->mechanisms.trace, mark, result);
}

/* Returns from the calling function if a call is not STET_OK; its time goes to a row of sim->timing, and into a trace. */
#define STI_TRY_TIMED(sim, row, call)                                                                                  \
    do {                                                                                                               \
        double sti_start_ = sti_sim_now();                                                                             \
        sti_trace_mark sti_phase_ = sti_sim_begin_phase((sim), #row);                                                  \
        stet_result sti_timed_ = (call);                                                                               \
        sti_sim_end_phase((sim), sti_phase_, sti_timed_);                                                              \
        (sim)->timing.row += sti_sim_now() - sti_start_;                                                               \
        if (sti_timed_ != STET_OK) return sti_timed_;                                                                  \
    } while (0)

#endif
