/*
 * A kernel source in checked mode: the tree printed with a check around each access (include/stet/lang_checked.h), for
 * a compiler.
 *
 * Invariants:
 *   INSTRUMENT-1  each pointer of the source is passed with its span, from the kernel's parameters through
 *       variables, assignments and calls
 *   INSTRUMENT-2  where nothing is out of bounds the text computes the same bits
 *   INSTRUMENT-3  a kernel gets two parameters more, which only its entry knows (STI_WATCH): its slots, and the number
 *       of the block
 */
#ifndef STI_KERNEL_CHECKED_INSTRUMENT_H
#define STI_KERNEL_CHECKED_INSTRUMENT_H

#include "kernel/check/check.h"

typedef enum sti_site_kind {
    STI_SITE_READ,
    STI_SITE_WRITE,
    STI_SITE_WORLDS, /* of_world */
    STI_SITE_OVERFLOW,
    STI_SITE_DIVISION,
    STI_SITE_COUNT
} sti_site_kind;

/* Beside the number of a site that writes, as in lang_checked.h. */
enum { STI_SITE_WRITES = 0x10000 };

/* A place of the source that is checked; texts are owned by the list. */
typedef struct sti_site {
    sti_site_kind kind;
    char *file, *text; /* the expression */
    int line, column;
} sti_site;

/* A variable that a span may be of. */
typedef struct sti_root {
    char *name;
    int64_t count; /* its elements */
} sti_root;

/*
 * What a span is of, in a byte: 0 nothing that has a name, 1 … the argument of the launch (from 1), STI_ROOT … a
 * variable of the list (from its first). The list goes no further than a byte does.
 */
enum { STI_SITES = 32767, STI_ROOT = 64, STI_ROOTS = 256 - STI_ROOT };

typedef struct sti_sites {
    sti_site *site;
    int nsite;
    sti_root *root;
    int nroot;
} sti_sites;

/*
 * Prints a unit without mistakes; its tree is used up. Free *text with sti_free and *sites with sti_sites_free, also
 * after a failure. LIMIT: more than STI_SITES places.
 */
stet_result sti_unit_instrument(sti_unit *unit, char **text, sti_sites *sites);
void sti_sites_free(sti_sites *sites);

#endif
