/* How long a time step takes: native physics on a processor, compared with MuJoCo's mj_step, by an estimate. */
#ifndef STI_PHYSICS_PACE_H
#define STI_PHYSICS_PACE_H

#include "model/model.h"

#include <stdbool.h>

/* Microseconds, of one thread of the processor that they were measured on. */
typedef struct sti_pace {
    double mujoco; /* of mj_step, for one world */
    double native; /* of a vector of worlds, divided by the worlds that it has */
} sti_pace;

/*
 * The estimate for nworld worlds that begin with a keyframe (-1: none), so many to a vector. It follows from counts of
 * the model and of that state alone, so it is the same in all runs. 0, 0: MuJoCo's forward dynamics fail there.
 */
sti_pace sti_physics_estimate_pace(const mjModel *model, int keyframe, int lanes, int64_t nworld);

/* What the estimate counts, which bench/pace.py fits the costs to: names, NULL behind the last, and numbers. */
enum { STI_PACE_MOST = 32 };
const char *sti_physics_pace_name(int k);
/* False: MuJoCo's forward dynamics fail there. */
bool sti_physics_pace_counts(const mjModel *model, int keyframe, double counts[STI_PACE_MOST]);

#endif
