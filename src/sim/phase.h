/*
 * The caller's kernels in the phases of a step, and the reset by mask between two phases.
 *
 * Invariants:
 *   PHASE-1  the destruction of a kernel or array that a phase uses is noticed; a step that needs it is refused before
 *            anything of the step runs
 *   PHASE-2  kernels without host work between them are one list, in the order phase by phase, kernel by kernel
 *   PHASE-3  a list ends, and runs, before host work that needs what the list writes: physics on the host, a reset on
 *            the host (with native physics both are launches in the list), poses and transforms that depend on it. None
 *            of these is a split, so none counts as a fallback
 *   PHASE-4  worlds are reset once for each generation of the mask
 */
#ifndef STI_SIM_PHASE_H
#define STI_SIM_PHASE_H

#include "kernel/record/launch.h"
#include "stet/sim.h"

typedef struct sti_phase_kernel {
    int id;
    stet_phase phase;
    stet_kernel *kernel; /* NULL: it was destroyed */
    int64_t count;
    sti_arg *arg; /* [narg] */
    int narg;
    int lost; /* index of the argument whose array was destroyed (its name is in `array`); -1: none */
    char name[64], array[48];
} sti_phase_kernel;

typedef struct sti_phases {
    sti_phase_kernel *kernel; /* in the order of adding */
    int nkernel, room, next_id;
    stet_array *mask;     /* as stet_reset_def.mask_array; NULL: no reset by mask */
    bool mask_lost;       /* the mask was destroyed */
    char mask_name[48];   /* for the message in that case */
    stet_reset_def reset; /* without the mask */
    sti_stamp taken;      /* PHASE-4: version of the mask at the last reset */
    sti_watcher watcher;  /* PHASE-1 */
    bool watching;
} sti_phases;

/* Whether a step has anything besides physics. */
static inline bool sti_phases_any(const sti_phases *p) { return p->nkernel > 0 || p->mask || p->mask_lost; }
/* A whole step: kernels, n time steps, kernels, reset, kernels. */
stet_result sti_phases_step(stet_sim *sim, int n);
void sti_phases_free(stet_sim *sim);

#endif
