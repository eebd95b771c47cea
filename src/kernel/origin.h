/*
 * What a kernel of the user's was made from, kept for whoever makes another kernel of it (its adjoint).
 */
#ifndef STI_KERNEL_ORIGIN_H
#define STI_KERNEL_ORIGIN_H

#include "kernel/user_source.h"
#include "stet/kernel.h"

typedef struct sti_origin {
    sti_user_source source; /* the checker's text and the names of its files; not what the compiler saw */
    char *compiler, *cache_folder;
    int64_t cache_limit;
    int team, teams;
    char **constant;
    int nconstant;
} sti_origin;

/* Takes the source over, also where it fails. */
stet_result sti_origin_keep(sti_origin *origin, const stet_kernel_def *def, sti_user_source *source);
void sti_origin_free(sti_origin *origin);
/* A def with the same settings, without a source; borrowed from the origin. */
stet_kernel_def sti_origin_def(const sti_origin *origin);

#endif
