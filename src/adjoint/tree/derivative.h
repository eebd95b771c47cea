/*
 * The derivatives of the language's operators and functions (derivative.inl), by name.
 */
#ifndef STI_ADJOINT_TREE_DERIVATIVE_H
#define STI_ADJOINT_TREE_DERIVATIVE_H

#include "kernel/check/tree.h"

typedef enum sti_derivative_kind {
    STI_DERIVATIVE_SMOOTH,
    STI_DERIVATIVE_LINEAR,
    STI_DERIVATIVE_ZERO,
    STI_DERIVATIVE_CHOICE,
    STI_DERIVATIVE_MEMORY,
    STI_DERIVATIVE_REFUSED
} sti_derivative_kind;

typedef struct sti_derivative {
    const char *name;
    sti_derivative_kind kind;
    const char *partial[3]; /* "": this argument takes no gradient */
} sti_derivative;

/* NULL: the table does not have this name. */
const sti_derivative *sti_derivative_find(const char *name);
/*
 * The derivative of an expression's operation: a call of the language's own function, or an operator. NULL: it is
 * neither.
 */
const sti_derivative *sti_derivative_of(const sti_node *e);

#endif
