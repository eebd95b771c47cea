/*
 * Reader: turns a text into the tokens for the parser. It executes directives and replaces macros.
 *
 * It has the part of C's preprocessor that kernels need: #define with and without parameters, #undef, #if … #endif,
 * #error and #line. Other files are in the text already: compile/user_source.h puts them in the places of their
 * #include. There are no # and ## operators in macros. Settings (STET_W, STET_GPU …) remain names in the tree, so that
 * printed code can be compiled for another width; #if sees their values.
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
    bool function; /* has parameters, possibly none */
    bool active;   /* being replaced: its own name is not replaced inside */
    int nparam;
    sti_tokens param; /* their names */
    sti_tokens body;
} sti_macro;

/* A list of tokens that is read before the text continues. */
typedef struct sti_frame {
    const sti_token *token;
    size_t count, at;
    sti_macro *macro; /* the macro whose body it is, or NULL */
    bool barrier;     /* reading stops at its end */
    struct sti_frame *below;
} sti_frame;

typedef struct sti_reader {
    sti_unit *u;
    sti_lexer lexer;
    int conditions; /* #if without their #endif yet */
    sti_frame *frame;
    size_t steps;
    int depth;
    bool stopped; /* stopped by a limit */
} sti_reader;

/* Reads all tokens of a source text. The last one is STI_TOKEN_END. False: no memory. */
bool sti_read_tokens(sti_unit *u, const char *text, const char *name, sti_tokens *out);

/* Reads the next token after replacement of macros; macro.c. */
bool sti_reader_next(sti_reader *r, sti_token *out);
/* Reads the next token of the text and executes directives; directive.c. */
bool sti_reader_text(sti_reader *r, sti_token *out);
/* Replaces the macros in a list of tokens, independent of what surrounds it. */
bool sti_reader_expand(sti_reader *r, const sti_token *token, size_t count, sti_tokens *out);

#endif
