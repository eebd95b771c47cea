/*
 * The checker of the kernel language: reads a kernel's source, says what is wrong in it and what the language wants
 * instead, and keeps the tree, with types and meanings, for whoever walks it next.
 *
 *   files → tokens (lexer.h) → macros and #if (reader.h) → tree (parser.h) → meanings and types (typing.h) → rules of the team (rules.h)
 *
 * A unit owns everything that was made from one source, in one arena. Nothing here runs a compiler: what passes is C99 that
 * include/stet/lang.h gives a meaning to.
 */
#ifndef STI_KERNEL_CHECK_CHECK_H
#define STI_KERNEL_CHECK_CHECK_H

#include "kernel/launch/signature.h"
#include "stet/base.h"

enum {
    STI_CHECK_DEPTH = 200,       /* nesting of expressions, statements and uses of macros */
    STI_CHECK_TOKENS = 1 << 20,  /* of a source, its includes and what its macros become */
    STI_CHECK_DIAGNOSTICS = 100, /* that are kept; the rest is counted */
    STI_CHECK_SOURCE = 1 << 24   /* bytes of a file */
};

/* What the source is read for: `#if` sees these, so a unit is the tree of one configuration. */
typedef struct sti_check_options {
    const char *const *folder; /* where #include "…" looks, after the including file's own; borrowed during the call */
    int nfolder;
    int lanes;        /* STET_W: 1, 4, 8 or 16 */
    bool gpu;         /* STET_GPU; lanes is then 1 */
    bool real_double; /* STET_DOUBLE; lanes is then 1 */
} sti_check_options;

/* A CPU with 16 lanes of float, no folders. */
sti_check_options sti_default_check_options(void);

typedef struct sti_diagnostic {
    const char *file;
    int line, column; /* from 1; columns count bytes */
    const char *message;
    struct sti_diagnostic *next;
} sti_diagnostic;

typedef struct sti_unit sti_unit;

/*
 * Check a source text (zero-terminated; `name` is its file's name in messages). STET_OK: no mistakes. STET_PARSE: there
 * are, the first of them in the thread's message. In both cases *out is a unit, to be destroyed. Any other result: no unit.
 */
stet_result sti_check_source(const char *text, const char *name, const sti_check_options *options, sti_unit **out);
/* The same for a file; `name` as in messages. STET_NOT_FOUND, STET_IO or STET_LIMIT where it can't be read. */
stet_result sti_check_file(const char *path, const char *name, const sti_check_options *options, sti_unit **out);
void sti_unit_destroy(sti_unit *unit);

/* In the order of the source (NULL: none), and how many there were. Owned by the unit. */
const sti_diagnostic *sti_unit_diagnostics(const sti_unit *unit);
int sti_unit_mistakes(const sti_unit *unit);

/*
 * The kernels that stand in files whose names (as messages have them) pass the test (NULL: in any file), in their order;
 * only of a unit without mistakes (STET_STATE). Free *out with sti_free; it is NULL where *n is 0.
 */
typedef bool sti_file_test(const char *name);
stet_result sti_unit_kernels(const sti_unit *unit, sti_file_test *wanted, sti_signature **out, int *n);

/* The tree as C that compiles with stet/lang.h alone; only of a unit without mistakes (STET_STATE). Free it with sti_free. */
stet_result sti_unit_print(const sti_unit *unit, char **out);
/* Whether two trees are the same but for places in the source; types included. */
bool sti_unit_equal(const sti_unit *a, const sti_unit *b);

#endif
