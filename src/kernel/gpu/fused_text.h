/*
 * The text of fused code (fused.h): the language once, the source of each kernel in a namespace of its own, one entry.
 *
 * Invariants:
 *   FUSEDTEXT-1  after each source the macros that it defined are undefined, include guards too, so the next source
 *       sees what it would see alone
 *   FUSEDTEXT-2  a source that defines or undefines a macro of the language is refused, because it would change the
 *       next source
 *   FUSEDTEXT-3  equal sequences give equal texts, in all processes
 */
#ifndef STI_KERNEL_GPU_FUSED_TEXT_H
#define STI_KERNEL_GPU_FUSED_TEXT_H

#include "kernel/gpu/fused.h"
#include "kernel/compile/user_source.h"

/* The text before all sources. */
typedef struct sti_fused_head {
    sti_text_buffer text;   /* the language for a GPU */
    sti_text_buffer macros; /* the names of the macros that the language defines, one a line */
} sti_fused_head;

/* Reads the head. On failure *out is empty. */
stet_result sti_fused_head_read(sti_fused_head *out);
void sti_fused_head_free(sti_fused_head *head);

/* FUSEDTEXT-2: true if the source (without the language's headers) defines or undefines a macro of the language. */
bool sti_fused_redefines(const sti_fused_head *head, const char *own);

/*
 * Returns a kernel's source without the language's headers. A user's kernel lends its own; a source of the library is
 * read into `room`, which the caller frees.
 */
stet_result sti_fused_source(const sti_kernel *kernel, sti_user_source *room, const sti_user_source **out);

/*
 * Writes the finished source of a sequence. `resident`: the threads that must be resident on a processor (0: no bound).
 * `name` names its file. `entry` is the entry point, which takes 1 + repeats * (slots of all phases) slots by value.
 * The caller frees *out; on failure it is empty.
 */
stet_result sti_fused_write(const sti_fused_head *head, const sti_phase *phase, int nphase, int repeats, int resident,
                            const char *name, const char *entry, sti_user_source *out);

#endif
