/*
 * The caller's kernels in the phases of a step, and the reset by mask between two of them.
 *
 * Invariants:
 *   PHASE-1  what a phase keeps of the caller's (kernels, arrays) is told to it when it goes; a step that needs it is refused before
 *       anything of it has run
 *   PHASE-2  kernels with no work of the host between them are one list, in the order phase by phase, kernel by kernel
 *   PHASE-3  a list ends, and runs, before the host's work that needs what it writes: physics of the host, the reset, poses and transforms
 *       that follow what it writes. None of these is a split: nothing is counted as a fallback
 *   PHASE-4  worlds are put back once for each generation of the mask
 */
#ifndef STI_SIM_PHASE_H
#define STI_SIM_PHASE_H

#include "kernel/launch/kernel.h"
#include "stet/sim.h"

typedef struct sti_phase_kernel {
    int id;
    stet_phase phase;
    stet_kernel *kernel; /* NULL: it was destroyed */
    int64_t count;
    sti_arg *arg; /* [narg] */
    int narg;
    int lost; /* argument whose array was destroyed, its name is `array`; -1: none */
    char name[64], array[48];
} sti_phase_kernel;

typedef struct sti_phases {
    sti_phase_kernel *kernel; /* in the order of adding */
    int nkernel, room, next_id;
    stet_array *mask;     /* INT, one item a world; NULL: no reset by mask */
    bool mask_lost;       /* it was destroyed */
    char mask_name[48];   /* for the sentence then */
    stet_reset_def reset; /* its mask is `chosen` */
    uint8_t *chosen;      /* [nworld] */
    sti_stamp taken;      /* PHASE-4: version of the mask at the last reset */
    sti_watcher watcher;  /* PHASE-1 */
    bool watching;
} sti_phases;

/* Is there anything but physics in a step? */
static inline bool sti_phases_any(const sti_phases *p) { return p->nkernel > 0 || p->mask || p->mask_lost; }
/* A whole step: kernels, n time steps, kernels, reset, kernels. */
stet_result sti_phases_step(stet_sim *sim, int n);
void sti_phases_free(stet_sim *sim);

#endif
