/*
 * Sources as a GPU's run-time compiler gets them: the library's own kernels (a unit is one file of them, carried in the
 * library) and people's, each followed by the entries that the device launches.
 */
#ifndef STI_KERNEL_GPU_SOURCE_H
#define STI_KERNEL_GPU_SOURCE_H

#include "kernel/compile/language.h"
#include "kernel/compile/user_source.h"

/* The unit with the kernels of a file, "src/stage/stage.k.h"; NULL: the library carries no such file. */
const sti_embedded *sti_gpu_unit(const char *file);
/* The unit after this one in the table (NULL: the first); NULL: that was the last. */
const sti_embedded *sti_gpu_unit_next(const sti_embedded *unit);
/* True if every simulation needs it; false: pilots and probes, for tests and benchmarks. */
bool sti_gpu_unit_in_sim(const sti_embedded *unit);
/* Whether its kernels have memory that a team shares: a team's share then limits how many teams a block can have. */
bool sti_gpu_unit_shares(const sti_embedded *unit);
/* Its kernels, in their order; the caller frees *out. */
stet_result sti_gpu_unit_kernels(const sti_embedded *unit, sti_signature **out, int *n);
/* Its text with all that it includes, without entries. On failure out holds nothing. */
stet_result sti_gpu_unit_read(const sti_embedded *unit, sti_user_source *out);

/* Adds the entries of these kernels of file[0], in the forms (bits of sti_form). */
stet_result sti_gpu_finish(sti_user_source *source, const sti_signature *const *kernel, int nkernel, unsigned forms);

/* The same of a user's source, and of a text without the language's headers. */
bool sti_gpu_shares(const sti_user_source *source);
bool sti_gpu_text_shares(const char *text);

#endif
