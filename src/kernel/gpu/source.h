/*
 * Sources for a GPU's run-time compiler: the library's own kernels (a unit is one of their files, embedded in the
 * library) and users' kernels, each followed by the entries that the device launches.
 */
#ifndef STI_KERNEL_GPU_SOURCE_H
#define STI_KERNEL_GPU_SOURCE_H

#include "kernel/language.h"
#include "kernel/compile/user_source.h"
#include "kernel/kernel.h"

/* The unit of a kernel that was compiled ahead of time; NULL: its sources are not embedded. */
const sti_embedded *sti_gpu_unit(const sti_kernel *kernel);
/* The beginning of its name: "src/", or "" at the top of the source tree. */
const char *sti_gpu_unit_folder(const sti_embedded *unit);
/* Iterate over the units of a table of sources (compile/language.h). NULL: there are no more. */
const sti_embedded *sti_gpu_unit_first(const sti_embedded *table);
const sti_embedded *sti_gpu_unit_next(const sti_embedded *unit);
/*
 * What a unit says of itself, in macros: STET_IN_EVERY_SIM, every simulation needs it as it is; STET_NOT_SHIPPED, it is
 * not compiled before it is needed (shipped.h).
 */
bool sti_gpu_unit_in_sim(const sti_embedded *unit);
bool sti_gpu_unit_ships(const sti_embedded *unit);
/* True if its kernels have memory that a team shares, which limits the teams of a block. */
bool sti_gpu_unit_shares(const sti_embedded *unit);
/* Lists its kernels in their order. The caller frees *out. */
stet_result sti_gpu_unit_kernels(const sti_embedded *unit, sti_signature **out, int *n);
/*
 * Reads its text with everything that it includes, without entries, behind lines of constants (sti_kernel). On failure
 * out is empty.
 */
stet_result sti_gpu_unit_read(const sti_embedded *unit, const char *constants, sti_user_source *out);

/* Adds the entries of these kernels of file[0], in the forms (bits of sti_form). */
stet_result sti_gpu_finish(sti_user_source *source, const sti_signature *const *kernel, int nkernel, unsigned forms);

/* The same as sti_gpu_unit_shares, for a user's source, and for a text without the language's headers. */
bool sti_gpu_shares(const sti_user_source *source);
bool sti_gpu_text_shares(const char *text);

#endif
