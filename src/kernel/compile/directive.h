/*
 * Finds the preprocessor's directives that matter when files are put together into one text. They are found as a C
 * compiler finds them: after comments, across spliced lines, never inside a comment.
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
    STI_DIRECTIVE_IF,             /* #if, #ifdef, #ifndef */
    STI_DIRECTIVE_ELSE,           /* #else, #elif: the lines before it may have been skipped */
    STI_DIRECTIVE_ENDIF,          /* #endif: they may, too */
} sti_directive_kind;

enum { STI_DIRECTIVE_NAME = 256 };

typedef struct sti_directive {
    sti_directive_kind kind;
    char name[STI_DIRECTIVE_NAME]; /* of INCLUDE and SYSTEM_INCLUDE */
} sti_directive;

/* Reads the logical line that begins at `at`. Returns where the next one begins. */
size_t sti_directive_next(const char *text, size_t at, sti_directive *out);
bool sti_directive_says_once(const char *text);
/*
 * True if the file has an include guard: all of it is between #ifndef X and #endif, its first and last directives.
 * `name` is X then.
 */
bool sti_directive_guard(const char *text, char name[STI_DIRECTIVE_NAME]);
/*
 * Finds the next #define or #undef from *at on, inside skipped branches too, and moves *at behind its line. `name` is
 * the macro, cut if it is too long. Returns false if there is no more.
 */
bool sti_directive_macro(const char *text, size_t *at, char name[STI_DIRECTIVE_NAME]);
/* What follows the macro's name in its first #define or #undef; NULL: the text has none. */
const char *sti_directive_value(const char *text, const char *macro);
/* True if the text has one of these identifiers outside of comments and strings. */
bool sti_directive_uses(const char *text, const char *const *identifier, int n);

#endif
