/*
 * Lexer: splits a text into names, numbers and operators, without comments, white space and line splices.
 */
#ifndef STI_KERNEL_CHECK_LEXER_H
#define STI_KERNEL_CHECK_LEXER_H

#include "kernel/check/unit.h"

/* Tag, spelling, precedence as a binary operator (0: it is none). */
#define STI_OPS(X)                                                                                                     \
    X(NONE, "", 0)                                                                                                     \
    X(OPEN, "(", 0)                                                                                                    \
    X(CLOSE, ")", 0)                                                                                                   \
    X(LEFT, "[", 0)                                                                                                    \
    X(RIGHT, "]", 0)                                                                                                   \
    X(BEGIN, "{", 0)                                                                                                   \
    X(END, "}", 0)                                                                                                     \
    X(COMMA, ",", 0)                                                                                                   \
    X(SEMICOLON, ";", 0)                                                                                               \
    X(COLON, ":", 0)                                                                                                   \
    X(QUESTION, "?", 0)                                                                                                \
    X(ELLIPSIS, "...", 0)                                                                                              \
    X(DOT, ".", 0)                                                                                                     \
    X(ARROW, "->", 0)                                                                                                  \
    X(INCREMENT, "++", 0)                                                                                              \
    X(DECREMENT, "--", 0)                                                                                              \
    X(NOT, "!", 0)                                                                                                     \
    X(INVERT, "~", 0)                                                                                                  \
    X(MUL, "*", 10)                                                                                                    \
    X(DIV, "/", 10)                                                                                                    \
    X(MOD, "%", 10)                                                                                                    \
    X(ADD, "+", 9)                                                                                                     \
    X(SUB, "-", 9)                                                                                                     \
    X(SHL, "<<", 8)                                                                                                    \
    X(SHR, ">>", 8)                                                                                                    \
    X(LT, "<", 7)                                                                                                      \
    X(GT, ">", 7)                                                                                                      \
    X(LE, "<=", 7)                                                                                                     \
    X(GE, ">=", 7)                                                                                                     \
    X(EQ, "==", 6)                                                                                                     \
    X(NE, "!=", 6)                                                                                                     \
    X(AND, "&", 5)                                                                                                     \
    X(XOR, "^", 4)                                                                                                     \
    X(OR, "|", 3)                                                                                                      \
    X(BOTH, "&&", 2)                                                                                                   \
    X(EITHER, "||", 1)                                                                                                 \
    X(ASSIGN, "=", 0)                                                                                                  \
    X(MUL_ASSIGN, "*=", 0)                                                                                             \
    X(DIV_ASSIGN, "/=", 0)                                                                                             \
    X(MOD_ASSIGN, "%=", 0)                                                                                             \
    X(ADD_ASSIGN, "+=", 0)                                                                                             \
    X(SUB_ASSIGN, "-=", 0)                                                                                             \
    X(SHL_ASSIGN, "<<=", 0)                                                                                            \
    X(SHR_ASSIGN, ">>=", 0)                                                                                            \
    X(AND_ASSIGN, "&=", 0)                                                                                             \
    X(XOR_ASSIGN, "^=", 0)                                                                                             \
    X(OR_ASSIGN, "|=", 0)                                                                                              \
    X(HASH, "#", 0)                                                                                                    \
    X(PASTE, "##", 0)

typedef enum sti_operator {
#define STI_OP_ENUM(tag, text, precedence) STI_OP_##tag,
    STI_OPS(STI_OP_ENUM)
#undef STI_OP_ENUM
        STI_OP_COUNT
} sti_operator;

const char *sti_op_text(sti_operator op);
int sti_op_precedence(sti_operator op);
/* The operator of a compound assignment: + for +=. STI_OP_NONE for any other operator. */
sti_operator sti_op_compound(sti_operator op);

typedef enum sti_token_kind {
    STI_TOKEN_END,
    STI_TOKEN_NAME,
    STI_TOKEN_NUMBER,
    STI_TOKEN_OP,
    STI_TOKEN_TEXT, /* a string or character, with its quotes */
    STI_TOKEN_OTHER /* not part of the language */
} sti_token_kind;

typedef struct sti_token {
    sti_source_place place;
    sti_name *name; /* spelling; NULL for operators */
    uint8_t kind;   /* sti_token_kind */
    uint8_t op;     /* sti_operator */
    bool first;     /* the first of its line */
    bool spaced;    /* white space before it */
    bool fixed;     /* a macro's name that must not be replaced again */
} sti_token;

typedef struct sti_lexer {
    sti_unit *u;
    const char *text;
    size_t at;
    sti_source_place place;
    bool first;
} sti_lexer;

/*
 * What is no token of C, for others that read sources, too. Each returns where it ends, and `at` where there is none.
 * A comment `//` ends before its newline; *closed (or NULL): the comment has its end.
 */
size_t sti_skip_splice(const char *text, size_t at); /* a backslash with its end of line */
size_t sti_skip_comment(const char *text, size_t at, bool *closed);
/* The end of the string or character constant at `at`. An unclosed one ends before the newline. */
size_t sti_skip_quoted(const char *text, size_t at);

/* Reads the next token; at the end always STI_TOKEN_END. False: no memory. */
bool sti_lex(sti_lexer *lexer, sti_token *out);

#endif
