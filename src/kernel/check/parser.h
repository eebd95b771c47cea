/*
 * Parser: makes a tree from tokens. Syntax only: names get their meanings in typing.h.
 *
 * A mistake is reported once, and parsing continues behind the next `;` or `}`. Functions return NULL after a reported
 * mistake, or if memory is missing.
 */
#ifndef STI_KERNEL_CHECK_PARSER_H
#define STI_KERNEL_CHECK_PARSER_H

#include "kernel/check/tree.h"

typedef struct sti_parser {
    sti_unit *u;
    const sti_token *t; /* the next token; the last one is STI_TOKEN_END */
    int depth;          /* nesting depth of the current construct */
    int parens;         /* open parentheses in the current statement */
    int lists;          /* open braces of first values in the current statement */
} sti_parser;

/* Parses all definitions of a source, chained. */
sti_node *sti_parse(sti_unit *u, const sti_token *token);
/* Parses the whole list as an expression of #if. */
sti_node *sti_parse_condition(sti_unit *u, const sti_token *token, size_t count);

/* ---- what the parts of the parser share: parser.c, statement.c, expression.c ---- */

sti_node *sti_parse_expression(sti_parser *p);                       /* with commas */
sti_node *sti_parse_assignment(sti_parser *p);                       /* without commas */
sti_node *sti_parse_conditional(sti_parser *p);                      /* without commas and assignments */
sti_node *sti_parse_block(sti_parser *p);                            /* from { to } */
sti_node *sti_parse_variables(sti_parser *p, const sti_type *named); /* after the type, up to but without the ; */

/* Tests for a type, and reads one; reading reports a mistake if there is none. */
bool sti_parser_at_type(const sti_parser *p);
const sti_type *sti_parser_type(sti_parser *p);

bool sti_parser_is(const sti_parser *p, sti_operator op);
bool sti_parser_word(const sti_parser *p, sti_word word);
void sti_parser_pass(sti_parser *p);
/* Skip an operator if it is next. The second reports "… expected after …" if it is not. */
bool sti_parser_take(sti_parser *p, sti_operator op);
bool sti_parser_expect(sti_parser *p, sti_operator op, const char *where);
/* Reads a name that a declaration may use. Reports a mistake for words of the language. */
sti_name *sti_parser_name(sti_parser *p, const char *of_what);
/* Reports that the next token is unexpected, and what is wanted. */
void sti_parser_unexpected(sti_parser *p, const char *wanted);
sti_node *sti_parser_node(sti_parser *p, sti_node_kind kind, sti_source_place place);
/* Sets the height of a node above its children. Reports a mistake if the tree becomes too deep. */
sti_node *sti_parser_above(sti_parser *p, sti_node *n);
/* Increases the nesting depth. False: it is too deep, which was reported. */
bool sti_parser_enter(sti_parser *p);
void sti_parser_leave(sti_parser *p);

#endif
