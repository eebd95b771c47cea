/*
 * Code of several kernels in one: a team does for its world phase after phase, each a launch of a world kernel or a copy of an array of
 * worlds, with a barrier in between, and all of them over and over (mechanism fusion; doc/design/gpu_programs.md).
 *
 * Invariants:
 *   FUSED-1  fused code does for each world what the launches do one by one, in their order: the same bits, whatever its team
 *   FUSED-2  it goes before the first of its kernels, so that a kernel at the same address is never taken for one that has gone
 *   FUSED-3  what is made is whole or not there
 */
#ifndef STI_KERNEL_GPU_FUSED_H
#define STI_KERNEL_GPU_FUSED_H

#include "kernel/launch/kernel.h"

enum { STI_FUSED_REPEATS = 8 }; /* at most so many times over in one launch */

/* One phase of fused code: a launch of a world kernel; or (kernel NULL) a copy of an array of worlds. */
typedef struct sti_phase {
    const sti_kernel *kernel;
    int nslot; /* as a launch of it passes; of a copy 2 */
} sti_phase;

/*
 * The code that does phases one after the other, a team a world: one launch of it is for `count` worlds, by value, and takes code->nslot slots;
 * what is not used is zero. slot[0].i: how many times over, 1 … code->repeats. Then, for each time, the slots of each phase in their order; of a
 * copy `to` and `from`, with .p the address of world 0 and .n the bytes of one world, a multiple of 4: world w has [w * n, (w + 1) * n).
 *
 * Made once a device, sequence and team; kept until one of its kernels is dropped or has its team set, or the device goes. `count`: only the
 * choice of the team depends on it. STET_LIMIT: the slots do not fit one launch even once. STET_UNSUPPORTED: the sentence says which kernel cannot
 * be part of fused code, and why. STET_NOT_FOUND, STET_PARSE, …: as of any kernel that is compiled.
 */
stet_result sti_program_fused(stet_device *device, const sti_phase *phase, int nphase, int64_t count,
                              const sti_code **out);

/* Could this kernel be a phase? A world kernel whose source is known and has no memory that a team shares. Looked into once a kernel. */
bool sti_program_can_fuse(stet_device *device, const sti_kernel *kernel);

/* ---- for programs.c ---- */

struct sti_programs;
/* Fused code that has this kernel goes; NULL: all. No launch of it may be listed. */
void sti_fused_drop(struct sti_programs *programs, const sti_kernel *kernel);

#endif
