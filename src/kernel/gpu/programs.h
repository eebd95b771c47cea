/*
 * Programs: the code of kernels on a GPU. It is compiled when first used, cached on disk (mechanism kernel_cache),
 * loaded, and looked up at each launch.
 *
 * Invariants:
 *   PROGRAMS-1  a kernel's code is made once for each device, form and team. Each later launch finds it with one look
 *       into a table
 *   PROGRAMS-2  a program is complete or absent: after a failure the next launch tries again
 *   PROGRAMS-3  results do not depend on the sizes of teams
 *   PROGRAMS-4  a kernel whose code knows more than that of another (sti_kernel.constants) gives its results. The
 *       other's code runs in its place while its own is compiled. Launches change from one to the other only where
 *       none of the other's is listed, and outside of a caller's capture
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
 * dropped or its team is set. STET_ERROR_NOT_FOUND if it was not shipped and no compiler is installed; the message says
 * what was searched.
 */
stet_result sti_program_code(stet_device *device, const sti_kernel *kernel, bool in_block, const sti_code **out);

/*
 * Which of two kernels a launch takes (PROGRAMS-4): `own`, whose code has constants, or `general`. Where own's code is
 * not in the cache, it is compiled in a thread of its own, and *out is general until a later call finds it ready. If
 * general's code is not in the cache either, it is compiled at the same time, and the call waits for one of the two.
 * If own's code cannot be compiled, that is counted, and general stays. With device->wait_for_code, in audit mode, or
 * without constants, *out is own.
 */
stet_result sti_program_choose(stet_device *device, const sti_kernel *own, const sti_kernel *general,
                               const sti_kernel **out);
/*
 * Begins to compile the code, with arguments by value, in a thread of its own, if it is not in the cache; nothing
 * waits. A failure is the next launch's.
 */
void sti_program_begin(stet_device *device, const sti_kernel *kernel);
/* The same for a kernel and, if its code is not in the cache and has constants, the one that runs in its place. */
void sti_program_begin_either(stet_device *device, const sti_kernel *own, const sti_kernel *general);

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
