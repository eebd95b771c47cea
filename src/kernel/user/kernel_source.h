/*
 * The source and settings of a user's kernel, kept to make another kernel from it (its adjoint).
 */
#ifndef STI_KERNEL_USER_KERNEL_SOURCE_H
#define STI_KERNEL_USER_KERNEL_SOURCE_H

#include "kernel/compile/user_source.h"
#include "stet/kernel.h"

enum { STI_KERNEL_COOKIE = 0x57e7d00b };

typedef struct sti_kernel_source {
    sti_user_source source; /* the text for the checker and the names of the files, not the text for the compiler */
    char *compiler, *cache_folder;
    int64_t cache_limit;
    int team, teams;
    char **constant;
    int nconstant;
} sti_kernel_source;

/* Stores the source and the def's settings. Takes ownership of the source, also on failure. */
stet_result sti_kernel_source_keep(sti_kernel_source *o, const stet_kernel_def *def, sti_user_source *source);
void sti_kernel_source_free(sti_kernel_source *o);
/* Returns a def with the same settings and no source. It borrows from o. */
stet_kernel_def sti_kernel_source_def(const sti_kernel_source *o);

#endif
