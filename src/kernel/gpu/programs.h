/*
 * Kernels as a GPU has them: compiled when first used, kept on disk (mechanism kernel_cache), loaded, found again at each
 * launch.
 *
 * Invariants:
 *   PROGRAMS-1  a kernel's code is made once a device, form and size of team; finding it again is one look into a table
 *   PROGRAMS-2  what is made is whole or not there: after a failure the next launch tries again
 *   PROGRAMS-3  results do not depend on the sizes of teams
 *
 * One thread at a time, like the device.
 */
#ifndef STI_KERNEL_GPU_PROGRAMS_H
#define STI_KERNEL_GPU_PROGRAMS_H

#include "kernel/gpu/teams.h"
#include "kernel/launch/kernel.h"

struct sti_keeping;     /* kernel/compile/cached_compile.h */
struct sti_user_source; /* kernel/compile/user_source.h */

/*
 * The code of a kernel with the entry for arguments by value, or in a block. *out stands until the kernel is dropped or its team
 * is set. STET_NOT_FOUND where no compiler is installed: the sentence says what was looked for.
 */
stet_result sti_program_code(stet_device *device, const sti_kernel *kernel, bool in_block, const sti_code **out);

/* The code that looks at the condition of a loop in a graph (device/graph.h); NULL on devices that have none. Stands as long as they do. */
stet_result sti_program_condition(stet_device *device, const sti_code **out);

/*
 * Compiles and loads a kernel of the user's, both forms of it. `source` was read for a GPU and checked; its text is finished
 * here. `team`: 0 where the default will do. id (of STI_ID_SIZE): as of a kernel on the CPU.
 */
stet_result sti_program_add(stet_device *device, const sti_kernel *kernel, struct sti_user_source *source,
                            sti_team team, const struct sti_keeping *keeping, char *id);
/* Forgets a kernel; one that was added is unloaded. None is fine. */
void sti_program_drop(stet_device *device, const sti_kernel *kernel);

#endif
