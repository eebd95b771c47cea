/*
 * The checker of the kernel language. It reads a kernel's source, reports mistakes and how to correct them, and keeps
 * the syntax tree, with types and meanings, for later passes.
 *
 *   text → tokens (lexer.h) → macros and #if (reader.h) → tree (parser.h) → meanings and types (typing.h)
 *         → rules of the team (rules.h)
 *
 * A unit owns everything that is made from one source, in one arena. No compiler runs here. A source that passes is C99
 * whose meaning include/stet/lang.h defines.
 */
#ifndef STI_KERNEL_CHECK_CHECK_H
#define STI_KERNEL_CHECK_CHECK_H

#include "kernel/signature.h"
#include "stet/base.h"

enum {
    STI_CHECK_DEPTH = 200,      /* nesting of expressions, statements and uses of macros */
    STI_CHECK_TOKENS = 1 << 20, /* of a source, its includes and expanded macros */
    STI_CHECK_DIAGNOSTICS = 100 /* diagnostics that are stored; more are only counted */
};

/* The configuration that a source is read for. `#if` sees it, so a unit is the tree of one configuration. */
typedef struct sti_check_options {
    int lanes;        /* STET_W: 1, 4, 8 or 16 */
    bool gpu;         /* STET_GPU; lanes is then 1 */
    bool real_double; /* STET_DOUBLE; lanes is then 1 */
} sti_check_options;

/* Returns the options for a CPU with 16 lanes of float. */
sti_check_options sti_default_check_options(void);

typedef struct sti_diagnostic {
    const char *file;
    int line, column; /* from 1; columns count bytes */
    const char *message;
    struct sti_diagnostic *next;
} sti_diagnostic;

typedef struct sti_unit sti_unit;

/*
 * Checks a source text (zero-terminated; `name` is its file's name in messages), which has the text of the files that
 * it includes in it (compile/user_source.h). STET_OK: no mistakes.
 * STET_ERROR_PARSE: there are mistakes, and the thread's message is the first. In both cases *out is a unit, which the
 * caller destroys. With any other result there is no unit.
 */
stet_result sti_check_source(const char *text, const char *name, const sti_check_options *options, sti_unit **out);
void sti_unit_destroy(sti_unit *unit);

/* The diagnostics in the order of the source (NULL: none), and their number. Owned by the unit. */
const sti_diagnostic *sti_unit_diagnostics(const sti_unit *unit);
int sti_unit_mistakes(const sti_unit *unit);

/*
 * Lists the kernels in files whose names (as in messages) pass the test (NULL: all files), in their order. Only for a
 * unit without mistakes (STET_ERROR_STATE). The caller frees *out with sti_free; it is NULL if *n is 0.
 */
typedef bool sti_file_test(const char *name);
stet_result sti_unit_kernels(const sti_unit *unit, sti_file_test *wanted, sti_signature **out, int *n);

/*
 * Prints the tree as C that compiles with stet/lang.h alone. Only for a unit without mistakes (STET_ERROR_STATE). The
 * caller frees *out with sti_free.
 */
stet_result sti_unit_print(const sti_unit *unit, char **out);
/* True if two trees are equal, types included, except for places in the source. */
bool sti_unit_equal(const sti_unit *a, const sti_unit *b);

#endif
