/*
 * Masses on springs over a floor, moved by kernels alone: 20 small launches a step. A sheet of 8 x 8 masses falls,
 * bounces and comes to rest; each world has its own stiffness, damping and tilt. Used by tests and benchmarks of
 * everything that launches.
 */
#ifndef STET_BENCH_PILOT_SPRINGS_H
#define STET_BENCH_PILOT_SPRINGS_H

#include "kernel/record/launch.h"

enum { STI_SHEET = 8, STI_SPRING_MASSES = STI_SHEET * STI_SHEET, STI_SPRING_LAUNCHES = 20 };

typedef struct sti_springs {
    stet_device *device;
    int64_t nworld;
    int nspring;
    /*
     * Of worlds: [nworld][3 * masses] pos, vel, force; [nworld][3 * nspring] way; [nworld][nspring] …; [nworld][1]
     * stiffness, damping.
     */
    stet_array *pos, *vel, *force, *way, *length, *rate, *tension, *stiffness, *damping;
    stet_array *spring, *rest, *first, *end; /* plain: see springs.k.h */
} sti_springs;

stet_result sti_springs_create(stet_device *device, int64_t nworld, sti_springs *out);
void sti_springs_destroy(sti_springs *s);
/* Time step 1 ms, in two halves; recorded: as one list. */
stet_result sti_springs_step(sti_springs *s, bool recorded);
/* Hash of positions and velocities. */
stet_result sti_springs_hash(const sti_springs *s, uint64_t *out);

/* Constants of the scene, for oracles. */
#define STI_SPRING_MASS 0.0625        /* kg */
#define STI_SPRING_GRAVITY 9.8125     /* m/s^2 */
#define STI_SPRING_HALF 0.00048828125 /* s, half a time step: 2^-11 */
#define STI_SPRING_RADIUS 0.015625    /* m */
#define STI_FLOOR_STIFFNESS 2048.0    /* N/m */
#define STI_FLOOR_DAMPING 4.0         /* N s/m */
#define STI_FLOOR_SLIP 1.0            /* N s/m */

#endif
