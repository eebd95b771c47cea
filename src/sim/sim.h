/*
 * The sim, inside: its parts, and what it keeps between calls.
 *
 * Invariants:
 *   SIM-1  parts are created from left to right and destroyed from right to left, also after a failing creation
 *   SIM-2  the sim has no copy of any state: the next call sees changes that were made to a part directly
 */
#ifndef STI_SIM_SIM_H
#define STI_SIM_SIM_H

#include "base/clock.h"
#include "sim/phase.h"
#include "sim/round.h"
#include "stet/sim.h"
#include "stet/tiles.h"
#include "worlds/worlds.h"

enum { STI_CONTROL_TABLES = 4 };
/* What computes controls (control.c). */
typedef struct sti_controls {
    stet_device *device;
    stet_array *ctrl;                      /* REAL [nworld][nu]; of the sim's device: the field's */
    stet_array *table[STI_CONTROL_TABLES]; /* hold, half, low, high: REAL [max(nu, 1)]; see control.k.h */
    uint64_t taken[STI_CONTROL_TABLES];    /* generations of the sim's tables that these hold */
} sti_controls;

struct stet_sim {
    stet_model *model;
    stet_device *device;
    stet_worlds *worlds;
    stet_step *step;
    stet_stage *stage;
    const uint8_t *stepped; /* worlds that the running call steps; NULL: all */
    stet_tiles *tiles;      /* NULL: no outputs */
    stet_camera *cameras;
    int ncamera;
    int keyframe;
    int noutput;
    int64_t newest; /* number of the latest frame; -1: none */
    uint32_t outputs, groups;
    sti_controls controls; /* of the sim's device, */
    sti_controls host;     /* and where MuJoCo's physics takes them; without a device: there are none */
    sti_phases phases;     /* the caller's kernels in the step */
    sti_round round;
    uint64_t seed; /* from the def */
    struct {
        stet_interrupt_fn *ask; /* NULL: no interruption */
        void *context;
        double next; /* time of the next call of `ask` */
    } interrupt;
    int made; /* time steps made by the latest call */
    stet_sim_timing timing;
};

/* ---- physics.c --------------------------------------------------------------------------------------------------- */

/* Makes n time steps of physics, without the caller's kernels. */
stet_result sti_sim_physics(stet_sim *sim, int n);
/* True if they are one call of the physics: nobody could interrupt them in between. */
bool sti_sim_steps_at_once(const stet_sim *sim, int n);

/* ---- def.c: what a definition asks for --------------------------------------------------------------------------- */

/* Makes all checks that need no allocation; the message is about the first error. */
stet_result sti_sim_check(const stet_model *model, const stet_sim_def *def);
/* The def with its zeros and the keyframe replaced by their meaning. */
stet_sim_def sti_sim_resolve(const stet_model *model, const stet_sim_def *def);
/* Width and height of a camera. */
void sti_sim_camera_size(const stet_sim_def *resolved, int camera, int size[2]);
/* LIMIT: the pixels of a frame do not fit into this machine's memory. */
stet_result sti_sim_check_memory(const stet_sim_def *resolved, int ncamera, size_t real_size);

/* ---- camera.c ---------------------------------------------------------------------------------------------------- */

/* Number of cameras that the names of a def select; NOT_FOUND lists those that exist. */
/* The name and the angle of view of a camera of the model; -1: of the free one. */
void sti_sim_describe_camera(const mjModel *m, int camera, stet_camera *out);
stet_result sti_sim_count_cameras(const stet_model *model, const stet_sim_def *def, int *n);
/* Fills sim->cameras [sim->ncamera]; adds free cameras that are selected to the stage. */
stet_result sti_sim_make_cameras(stet_sim *sim, const stet_sim_def *resolved);

/* ---- free_camera.c ----------------------------------------------------------------------------------------------- */

/* Where a free camera is and what it looks at, as in MuJoCo's mjvCamera; degrees, metres. */
typedef struct sti_free_camera {
    double azimuth, elevation, distance, lookat[3];
    bool fit;        /* instead of distance and lookat: as near as all geoms are visible from */
    uint32_t groups; /* of those geoms; the caller sets it */
} sti_free_camera;

/* Is this a free camera's name: "free", or "free:" and more? */
bool sti_free_camera_meant(const char *name);
/* Reads such a name. INVALID_ARGUMENT: what is behind "free:" is not understood. */
stet_result sti_free_camera_read(const mjModel *m, const char *name, sti_free_camera *out);
/*
 * The frame of a camera whose lens is known. To fit the scene, it reads the poses of the first world, and sets the
 * distance and the point that is looked at, and the height of what an orthographic camera shows.
 */
stet_result sti_free_camera_place(stet_sim *sim, sti_free_camera *view, stet_camera *camera, float frame[12]);

/* ---- control.c --------------------------------------------------------------------------------------------------- */

stet_result sti_sim_make_controls(stet_sim *sim);
void sti_sim_free_controls(stet_sim *sim);

/* ---- frame.c ----------------------------------------------------------------------------------------------------- */

stet_result sti_sim_make_frames(stet_sim *sim, const stet_sim_def *resolved);

/* ---- timing ------------------------------------------------------------------------------------------------------ */

/* Starts a row of sim->timing and, if the sim's device is traced, a phase of the trace. */
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

/*
 * Returns from the calling function if a call is not STET_OK. The time of the call is added to a row of sim->timing and
 * to a trace.
 */
#define STI_TRY_TIMED(sim, row, call)                                                                                  \
    do {                                                                                                               \
        double sti_start_ = sti_now();                                                                                 \
        sti_trace_mark sti_phase_ = sti_sim_begin_phase((sim), #row);                                                  \
        stet_result sti_timed_ = (call);                                                                               \
        sti_sim_end_phase((sim), sti_phase_, sti_timed_);                                                              \
        (sim)->timing.row += sti_now() - sti_start_;                                                                   \
        if (sti_timed_ != STET_OK) return sti_timed_;                                                                  \
    } while (0)

#endif
