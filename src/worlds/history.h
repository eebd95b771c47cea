/*
 * Buffers of past controls and sensors (mjData.history): two numbers, then the times of n samples, then n times what a
 * sample has. With MuJoCo's data the field `history` is what MuJoCo has. In worlds without them times are ages instead:
 * how many time steps ago, because a float has no room for late times. So is the first number of a sensor's buffer, the
 * time of its latest sample; and samples are in order, the oldest first (the second number is n - 1).
 */
#ifndef STI_WORLDS_HISTORY_H
#define STI_WORLDS_HISTORY_H

#include "model/model.h"

typedef struct sti_history {
    bool sensor;
    int item;           /* actuator or sensor */
    int at;             /* in history, of the first number */
    int n, dim, interp; /* samples; numbers of one; 0: the latest, 1: linear, 2: cubic */
} sti_history;

/* Number k of those that actuators (first) and sensors may have; false: it has none. */
bool sti_history_find(const mjModel *m, int64_t k, sti_history *out);
/* How many that are. */
static inline int64_t sti_history_most(const mjModel *m) { return m->nu + m->nsensor; }
/* history as mj_resetData leaves it. */
void sti_history_begin(const mjModel *m, mjtNum *history);
/* Times become ages at `time`, in time steps of so many seconds, and samples are put in order; and back. */
void sti_history_to_ages(const mjModel *m, double timestep, double time, mjtNum *history);
void sti_history_to_times(const mjModel *m, double timestep, double time, mjtNum *history);

#endif
