/*
 * The preprocessor's directives that matter to who puts files together, found in a source text as a C compiler finds them: after
 * comments, across spliced lines, never inside a comment.
 */
#ifndef STI_KERNEL_COMPILE_DIRECTIVE_H
#define STI_KERNEL_COMPILE_DIRECTIVE_H

#include <stdbool.h>
#include <stddef.h>

typedef enum sti_directive_kind {
    STI_DIRECTIVE_NONE,           /* anything else: other directives, code */
    STI_DIRECTIVE_INCLUDE,        /* #include "name" */
    STI_DIRECTIVE_SYSTEM_INCLUDE, /* #include <name> */
    STI_DIRECTIVE_OTHER_INCLUDE,  /* any other way to name a file: a macro, #include_next, #import, #embed */
    STI_DIRECTIVE_ONCE,           /* #pragma once */
    STI_DIRECTIVE_BRANCH,         /* #else, #elif, #endif: what stands before may have been skipped */
} sti_directive_kind;

enum { STI_DIRECTIVE_NAME = 256 };

typedef struct sti_directive {
    sti_directive_kind kind;
    char name[STI_DIRECTIVE_NAME]; /* of INCLUDE and SYSTEM_INCLUDE */
} sti_directive;

/* Reads the logical line that begins at `at`; returns where the next one begins. */
size_t sti_directive_next(const char *text, size_t at, sti_directive *out);
bool sti_directive_says_once(const char *text);
/*
 * The macro X where the whole of a file stands between #ifndef X and #endif, as its first and last directive; false:
 * it does not.
 */
bool sti_directive_guard(const char *text, char name[STI_DIRECTIVE_NAME]);
/*
 * The next macro that the text, from *at on, defines or undefines, whatever its conditions say; *at is then behind that line. false: there is
 * none any more. A name that is too long is cut.
 */
bool sti_directive_macro(const char *text, size_t *at, char name[STI_DIRECTIVE_NAME]);
/* Does the text have this identifier, not in a comment and not in a string? */
bool sti_directive_uses(const char *text, const char *identifier);

#endif
