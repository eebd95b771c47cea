/*
 * The text of fused code (fused.h): the language once, each source of its kernels in a namespace of its own, one entry.
 *
 * Invariants:
 *   FUSEDTEXT-1  after each source the macros that it defined are gone, guards of its includes among them: the next one finds what it would find alone
 *   FUSEDTEXT-2  a source that defines or undefines a macro of the language's is refused, for it would change the next one
 *   FUSEDTEXT-3  equal sequences give equal texts, in all processes
 */
#ifndef STI_KERNEL_GPU_FUSED_TEXT_H
#define STI_KERNEL_GPU_FUSED_TEXT_H

#include "kernel/gpu/fused.h"
#include "kernel/compile/user_source.h"

/* What stands before all sources. */
typedef struct sti_fused_head {
    sti_text_buffer text;   /* the language for a GPU */
    sti_text_buffer macros; /* names of the macros that it defines, each between ends of lines */
} sti_fused_head;

/* On failure it is empty. */
stet_result sti_fused_head_read(sti_fused_head *out);
void sti_fused_head_free(sti_fused_head *head);

/* FUSEDTEXT-2: does the source (without the language's headers) define or undefine a macro of the language's? */
bool sti_fused_redefines(const sti_fused_head *head, const char *own);

/* A kernel's source without the language's headers. Borrowed from the kernel, or (of the library's) read into `room`, which the caller frees. */
stet_result sti_fused_source(const sti_kernel *kernel, sti_user_source *room, const sti_user_source **out);

/*
 * The finished source of a sequence, for so many resident threads a processor (0: as many as come of it): `name` stands for its file, `entry` is the entry point, which takes 1 + repeats * (slots of all phases)
 * slots by value. The caller frees *out; on failure it holds nothing.
 */
stet_result sti_fused_write(const sti_fused_head *head, const sti_phase *phase, int nphase, int repeats, int resident,
                            const char *name, const char *entry, sti_user_source *out);

#endif
