/*
 * Saves what a statement overwrites, in the forward part of a list, and restores it in the reverse part. For a variable
 * that is its value, for an array's element the element, for a statement that contains others everything that it
 * changes. Values that the reverse part does not need are not saved.
 */
#ifndef STI_ADJOINT_TRANSFORM_SAVE_RESTORE_H
#define STI_ADJOINT_TRANSFORM_SAVE_RESTORE_H

#include "adjoint/transform/transform.h"

/* A saved value, to be restored to `place`. */
typedef struct sti_saved {
    const sti_type *type; /* of an array or structure: all of it */
    const char *place, *name;
    const sti_node *store; /* the place is written with put */
    const char *back;      /* the statement that restores it; NULL: the members above describe it */
    struct sti_saved *next;
} sti_saved;

typedef struct sti_step {
    sti_node *n;
    sti_saved *saved;
    sti_effects effects; /* of a statement that runs with a log */
    const char *mark;    /* the variable with the value of `top` before it; NULL: there is no log */
} sti_step;

/* Copies a whole value. */
void sti_copy(sti_transform *t, const char *to, const char *from, const sti_type *type);
/* Save the value of a variable, what a statement changes, or an element. `first` is the list's first step. */
void sti_save_variable(sti_transform *t, const sti_step *first, sti_step *s, const sti_symbol *symbol);
void sti_save_effects(sti_transform *t, const sti_step *first, sti_step *s);
void sti_save_element(sti_transform *t, const sti_step *first, sti_step *s, sti_node *place);
/* Sets the statement that restores what the caller saved itself. */
void sti_restore_by(sti_transform *t, sti_step *s, const char *statement);
/* Writes the statements that restore the values. */
void sti_restore(sti_transform *t, const sti_saved *k);

#endif
