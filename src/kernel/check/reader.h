/*
 * From files to the tokens that are parsed: directives obeyed, includes read, macros replaced.
 *
 * Of C's preprocessor this is what kernels need: #define with and without parameters, #undef, #include "…", #if … #endif,
 * #error, #pragma once and, in texts that were put together of files, #line. Pasting and quoting (# and ## in a macro) do not exist. What is configured (STET_W, STET_GPU …) stays a name in the tree, so that
 * printed code can be compiled for another width; #if sees its value.
 */
#ifndef STI_KERNEL_CHECK_READER_H
#define STI_KERNEL_CHECK_READER_H

#include "kernel/check/lexer.h"

typedef struct sti_tokens {
    sti_token *token;
    size_t count, capacity;
} sti_tokens;

bool sti_tokens_add(sti_unit *u, sti_tokens *t, const sti_token *token);

typedef struct sti_macro {
    sti_name *name;
    bool function; /* has parameters, be it none */
    bool active;   /* is being replaced: its name in there stays */
    int nparam;
    sti_tokens param; /* their names */
    sti_tokens body;
} sti_macro;

/* A list of tokens that is read before the files go on. */
typedef struct sti_frame {
    const sti_token *token;
    size_t count, at;
    sti_macro *macro; /* whose body it is, or NULL */
    bool barrier;     /* reading stops at its end */
    struct sti_frame *below;
} sti_frame;

typedef struct sti_reader {
    sti_unit *u;
    sti_lexer *file; /* innermost include */
    sti_frame *frame;
    size_t steps;
    int depth;
    bool stopped; /* by a limit */
} sti_reader;

/* All tokens of a source text (path: where it was read, or NULL), the last one STI_TOKEN_END. False: no memory. */
bool sti_read_tokens(sti_unit *u, const char *text, const char *name, const char *path, sti_tokens *out);

/* The next token after replacement; macro.c. */
bool sti_reader_next(sti_reader *r, sti_token *out);
/* The next token of the files, directives obeyed; directive.c. */
bool sti_reader_file(sti_reader *r, sti_token *out);
/* Replaces the macros in a list of tokens, as if it stood alone. */
bool sti_reader_expand(sti_reader *r, const sti_token *token, size_t count, sti_tokens *out);
/*
 * Begins to read a text as a file (path: NULL, from memory). False: no memory. Too many files are complained about at
 * `place`.
 */
bool sti_reader_open(sti_reader *r, const char *text, const char *name, const char *path, sti_source_place place);

#endif
