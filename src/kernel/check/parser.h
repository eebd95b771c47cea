/*
 * From tokens to a tree: syntax only. Names get their meanings in typing.h.
 *
 * A mistake is complained about once; reading goes on behind the next `;` or `}`. Functions return NULL where a mistake was
 * complained about, or memory is missing.
 */
#ifndef STI_KERNEL_CHECK_PARSER_H
#define STI_KERNEL_CHECK_PARSER_H

#include "kernel/check/tree.h"

typedef struct sti_parser {
    sti_unit *u;
    const sti_token *t; /* the next token; the last one is STI_TOKEN_END */
    int depth;          /* of what is being read */
    int parens;         /* that are open in this statement */
    int lists;          /* { of first values that are open in this statement */
} sti_parser;

/* All definitions of a source, chained. */
sti_node *sti_parse(sti_unit *u, const sti_token *token);
/* The whole list as an expression of #if. */
sti_node *sti_parse_condition(sti_unit *u, const sti_token *token, size_t count);

/* ---- what the parts of the parser share: parser.c, statement.c, expression.c ---- */

sti_node *sti_parse_expression(sti_parser *p);                       /* with commas */
sti_node *sti_parse_assignment(sti_parser *p);                       /* without */
sti_node *sti_parse_conditional(sti_parser *p);                      /* and without = */
sti_node *sti_parse_block(sti_parser *p);                            /* from { to } */
sti_node *sti_parse_variables(sti_parser *p, const sti_type *named); /* after the type, up to the ; which stays */

/* Whether a type begins here; reading one complains where there is none. */
bool sti_parser_at_type(const sti_parser *p);
const sti_type *sti_parser_type(sti_parser *p);

bool sti_parser_is(const sti_parser *p, sti_operator op);
bool sti_parser_word(const sti_parser *p, sti_word word);
void sti_parser_pass(sti_parser *p);
/* Past an operator if it is there; the second complains if not: "… expected after …". */
bool sti_parser_take(sti_parser *p, sti_operator op);
bool sti_parser_expect(sti_parser *p, sti_operator op, const char *where);
/* A name that may be given to something; complains about words of the language. */
sti_name *sti_parser_name(sti_parser *p, const char *of_what);
/* Complains about the token that stands here instead of what is wanted. */
void sti_parser_unexpected(sti_parser *p, const char *wanted);
sti_node *sti_parser_node(sti_parser *p, sti_node_kind kind, sti_source_place place);
/* A node above others; complains where the tree becomes too deep. */
sti_node *sti_parser_above(sti_parser *p, sti_node *n);
/* Deeper by one; false, with a complaint: too deep. */
bool sti_parser_enter(sti_parser *p);
void sti_parser_leave(sti_parser *p);

#endif
