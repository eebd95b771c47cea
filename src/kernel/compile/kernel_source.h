/*
 * What a kernel of the user's was made from, kept for whoever makes another kernel of it (its adjoint).
 */
#ifndef STI_KERNEL_COMPILE_KERNEL_SOURCE_H
#define STI_KERNEL_COMPILE_KERNEL_SOURCE_H

#include "kernel/compile/user_source.h"
#include "stet/kernel.h"

typedef struct sti_kernel_source {
    sti_user_source source; /* the checker's text and the names of its files; not what the compiler saw */
    char *compiler, *cache_folder;
    int64_t cache_limit;
    int team, teams;
    char **constant;
    int nconstant;
} sti_kernel_source;

/* Takes the source over, also where it fails. */
stet_result sti_kernel_source_keep(sti_kernel_source *source_kept, const stet_kernel_def *def, sti_user_source *source);
void sti_kernel_source_free(sti_kernel_source *source_kept);
/* A def with the same settings, without a source; borrowed from the origin. */
stet_kernel_def sti_kernel_source_def(const sti_kernel_source *source_kept);

#endif
