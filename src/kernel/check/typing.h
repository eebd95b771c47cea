/*
 * Meanings and types: each name gets its symbol, each value its type, and every operator is held to its rule.
 *
 * Invariant: where something was complained about, the type is NULL, and NULL makes no further complaint.
 */
#ifndef STI_KERNEL_CHECK_TYPING_H
#define STI_KERNEL_CHECK_TYPING_H

#include "kernel/check/printer.h"
#include "kernel/check/tree.h"
#include "kernel/check/type.h"

typedef struct sti_typing {
    sti_unit *u;
    sti_symbol *function; /* in whose body we are */
    sti_symbol *innermost;
    int scope;
    int loops; /* around this place */
} sti_typing;

/* The whole unit. */
void sti_type_unit(sti_unit *u);

/* ---- what the parts share: typing.c, declare.c, operator.c, call.c, convert.c ---- */

/* Type of a value; NULL: complained. */
const sti_type *sti_type_of(sti_typing *t, sti_node *e);
/* The same with arrays as pointers to their first elements. */
const sti_type *sti_type_decayed(sti_typing *t, sti_node *e);
const sti_type *sti_type_call(sti_typing *t, sti_node *e);
const sti_type *sti_type_operation(sti_typing *t, sti_node *e);
/* Assignments and steps, as statements are made of. */
void sti_type_effect(sti_typing *t, sti_node *e);
/* Something that is true or false: plain; `what` names the statement. */
void sti_type_test(sti_typing *t, sti_node *e, const char *what);
/* Whether something may be written, and its type; complains. */
const sti_type *sti_type_place(sti_typing *t, sti_node *e);
/* Whether e, of type `from`, may become `to`; complains. `what`: what it is for, "argument 1 of lt". */
bool sti_type_convert(sti_typing *t, const sti_node *e, const sti_type *from, const sti_type *to, const char *what,
                      const char *twin);
/* An operator on two types, at least one of them lanes. */
const sti_type *sti_type_lanes_operation(sti_typing *t, const sti_node *e, sti_operator op, const sti_type *a,
                                         const sti_type *b);
/* Type of an operator between values: + of a += b too. */
const sti_type *sti_type_binary(sti_typing *t, const sti_node *e, sti_operator op, const sti_type *a,
                                const sti_type *b);

/* Makes a name mean a new symbol; NULL: no memory, or complained. */
sti_symbol *sti_declare(sti_typing *t, sti_symbol_kind kind, sti_node *n, const sti_type *type);
void sti_scope_open(sti_typing *t);
void sti_scope_close(sti_typing *t);
/* DECLARE and TABLE: variables with their first values. */
void sti_type_declare(sti_typing *t, sti_node *n, sti_symbol_kind kind);
/* The type of a VARIABLE; NULL: complained. */
const sti_type *sti_type_variable(sti_typing *t, const sti_node *v, bool parameter);
void sti_type_structure_fields(sti_typing *t, sti_node *n);
/* A size: a constant above 0. */
bool sti_type_count(sti_typing *t, sti_node *e, int64_t *out);

#endif
