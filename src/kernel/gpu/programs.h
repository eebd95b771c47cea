/*
 * Programs: the code of kernels on a GPU. It is compiled when first used, cached on disk (mechanism kernel_cache),
 * loaded, and looked up at each launch.
 *
 * Invariants:
 *   PROGRAMS-1  a kernel's code is made once for each device, form and team. Each later launch finds it with one look
 *       into a table
 *   PROGRAMS-2  a program is complete or absent: after a failure the next launch tries again
 *   PROGRAMS-3  results do not depend on the sizes of teams
 *
 * Not thread-safe, like the device.
 */
#ifndef STI_KERNEL_GPU_PROGRAMS_H
#define STI_KERNEL_GPU_PROGRAMS_H

#include "kernel/gpu/teams.h"
#include "kernel/kernel.h"

struct sti_cache_options; /* kernel/compile/cached_compile.h */
struct sti_user_source;   /* kernel/compile/user_source.h */

/*
 * Returns the code of a kernel, with the entry for arguments by value or in a block. *out is valid until the kernel is
 * dropped or its team is set. STET_ERROR_NOT_FOUND if no compiler is installed; the message says what was searched.
 */
stet_result sti_program_code(stet_device *device, const sti_kernel *kernel, bool in_block, const sti_code **out);

/*
 * Returns the code that reads the condition of a loop in a graph (device/graph.h); NULL on devices without such loops.
 * Valid as long as the device.
 */
stet_result sti_program_condition(stet_device *device, const sti_code **out);

/*
 * Compiles and loads a user's kernel in both forms. `source` was read for a GPU and checked; this call finishes its
 * text. `team`: 0 for the default. id (of STI_ID_SIZE): as for a kernel on the CPU.
 */
stet_result sti_program_add(stet_device *device, const sti_kernel *kernel, struct sti_user_source *source,
                            sti_team team, const struct sti_cache_options *keeping, char *id);
/* Removes a kernel from lists, recordings and programs, and unloads a user's kernel. It may never have been added. */
void sti_program_drop(stet_device *device, const sti_kernel *kernel);

#endif
