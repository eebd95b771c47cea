/*
 * Fused code: several kernels compiled into one (mechanism fusion; doc/design/gpu_programs.md). Each team runs a
 * sequence of phases for its world, with a barrier between them, and repeats the sequence. A phase is a launch of a
 * world kernel or a copy of an array of worlds.
 *
 * Invariants:
 *   FUSED-1  fused code does for each world what the single launches do, in their order: the same bits, whatever its
 *       team
 *   FUSED-2  fused code is destroyed before the first of its kernels, so a new kernel at the same address is never
 *       mistaken for it
 *   FUSED-3  fused code is complete or absent
 */
#ifndef STI_KERNEL_GPU_FUSED_H
#define STI_KERNEL_GPU_FUSED_H

#include "kernel/kernel.h"

enum { STI_FUSED_REPEATS = 8 }; /* the most repetitions of the sequence in one launch */

/* A phase of fused code: a launch of a world kernel or, with kernel NULL, a copy of an array of worlds. */
typedef struct sti_phase {
    const sti_kernel *kernel;
    int nslot; /* slots of one launch; 2 for a copy */
} sti_phase;

/*
 * Returns the code that runs these phases one after the other, a team a world. A launch of it covers `count` worlds,
 * passes its slots by value and takes code->nslot of them; unused slots are zero. slot[0].i is the number of
 * repetitions, 1 … code->repeats. For each repetition the slots of each phase follow in order. Those of a copy are `to`
 * and `from`, with .p the address of world 0 and .n the bytes of one world, a multiple of 4: world w has bytes [w * n,
 * (w + 1) * n).
 *
 * The code is compiled once for each device, sequence and team. It is kept until one of its kernels is dropped or gets
 * another team, or the device is destroyed. `count` affects only the choice of the team. STET_ERROR_LIMIT: the slots of
 * one repetition do not fit a launch. STET_ERROR_UNSUPPORTED: the message names the kernel that cannot be fused, and
 * why. STET_ERROR_NOT_FOUND, STET_ERROR_PARSE, …: as for any kernel that is compiled.
 */
stet_result sti_program_fused(stet_device *device, const sti_phase *phase, int nphase, int64_t count,
                              const sti_code **out);

/*
 * True if this kernel can be a phase: a world kernel whose source is known and whose team shares no memory. The answer
 * is cached for each kernel.
 */
bool sti_program_can_fuse(stet_device *device, const sti_kernel *kernel);

#endif
