/*
 * Typing: gives each name its symbol and each value its type, and checks the rules of each operator.
 *
 * Invariant: after a reported mistake the type is NULL, and a NULL type causes no further reports.
 */
#ifndef STI_KERNEL_CHECK_TYPING_H
#define STI_KERNEL_CHECK_TYPING_H

#include "kernel/check/printer.h"
#include "kernel/check/tree.h"
#include "kernel/check/type.h"

typedef struct sti_typing {
    sti_unit *u;
    sti_symbol *function; /* the function around this place */
    sti_symbol *innermost;
    int scope;
    int loops; /* loops around this place */
} sti_typing;

/* Types the whole unit. */
void sti_type_unit(sti_unit *u);

/* ---- what the parts share: typing.c, scope.c, declare.c, operator.c, call.c, convert.c ---- */

/* The type of a value; NULL: a mistake was reported. */
const sti_type *sti_type_of(sti_typing *t, sti_node *e);
/* The same, with arrays as pointers to their first elements. */
const sti_type *sti_type_decayed(sti_typing *t, sti_node *e);
const sti_type *sti_type_call(sti_typing *t, sti_node *e);
const sti_type *sti_type_operation(sti_typing *t, sti_node *e);
/* ++ and --, for plain whole numbers and pointers. */
const sti_type *sti_type_step(sti_typing *t, sti_node *e);
/* Types assignments and steps, the expressions of statements. */
void sti_type_effect(sti_typing *t, sti_node *e);
/* Types a plain condition; `what` names the statement. */
void sti_type_test(sti_typing *t, sti_node *e, const char *what);
/* Returns the type of a place that may be written. Reports a mistake if it may not. */
const sti_type *sti_type_place(sti_typing *t, sti_node *e);
/*
 * True if e, of type `from`, converts to `to`; reports a mistake if not. `what` names its use, such as "argument 1 of
 * lt".
 */
bool sti_type_convert(sti_typing *t, const sti_node *e, const sti_type *from, const sti_type *to, const char *what,
                      const char *twin);
/* Types an operator on two types, at least one of them lanes. */
const sti_type *sti_type_lanes_operation(sti_typing *t, const sti_node *e, sti_operator op, const sti_type *a,
                                         const sti_type *b);
/* Types an operator between values: for a += b the +. */
const sti_type *sti_type_binary(sti_typing *t, const sti_node *e, sti_operator op, const sti_type *a,
                                const sti_type *b);

/* Declares a symbol for a name. NULL: no memory, or a mistake was reported. */
sti_symbol *sti_declare(sti_typing *t, sti_symbol_kind kind, sti_node *n, const sti_type *type);
void sti_scope_open(sti_typing *t);
void sti_scope_close(sti_typing *t);
/* Types DECLARE and TABLE: variables with their first values. */
void sti_type_declare(sti_typing *t, sti_node *n, sti_symbol_kind kind);
/* The type of a VARIABLE; NULL: a mistake was reported. */
const sti_type *sti_type_variable(sti_typing *t, const sti_node *v, bool parameter);
void sti_type_structure_fields(sti_typing *t, sti_node *n);
/* ---- structures with pointers: bundle.c ---- */

int sti_bundle_fields(const sti_structure *bundle);
/* The bundle that an expression names; NULL: it names none. */
const sti_structure *sti_bundle_of(const sti_node *e);
/* The parameters that replace v, a parameter that is a bundle, before v->next. NULL: a mistake was reported. */
sti_node *sti_bundle_parameter(sti_typing *t, sti_node *v);
/* The arguments that replace e, which names a bundle, before e->next. NULL: no memory. */
sti_node *sti_bundle_argument(sti_typing *t, sti_node *e);
/* Makes the name of the field of a MEMBER of a bundle. False: it is another member, or there is no such field. */
bool sti_bundle_member(sti_typing *t, sti_node *e);
/* Makes a DECLARE of bundles one DECLARE for each field. */
void sti_bundle_declare(sti_typing *t, sti_node *n);
/* Removes the definitions of bundles, which nothing in the unit refers to any more. False: there was none. */
bool sti_bundle_drop(sti_unit *u);
/* Makes pointers const that nothing is written through, in a unit without mistakes that had bundles. */
void sti_bundle_const(sti_unit *u);

/* Evaluates a size: a constant above 0. */
bool sti_type_count(sti_typing *t, sti_node *e, int64_t *out);

#endif
