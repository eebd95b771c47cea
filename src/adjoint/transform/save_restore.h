/*
 * What is kept of a statement in the forward part of a list, for its reverse: of a variable its value, of an element of an array that
 * value, of a statement with others in it whatever changes by it. A value that nobody needs is not kept.
 */
#ifndef STI_ADJOINT_TRANSFORM_SAVE_RESTORE_H
#define STI_ADJOINT_TRANSFORM_SAVE_RESTORE_H

#include "adjoint/transform/transform.h"

/* A value that was kept: it goes back to `place`. */
typedef struct sti_kept {
    const sti_type *type; /* of an array or structure: all of it */
    const char *place, *name;
    const sti_node *store; /* the place is written with put */
    const char *back;      /* the statement that brings it back; NULL: the above say it */
    struct sti_kept *next;
} sti_kept;

typedef struct sti_step {
    sti_node *n;
    sti_kept *kept;
    sti_effects effects; /* of a statement that is run with a log */
    const char *mark;    /* what `top` was before it; NULL: there is no log */
} sti_step;

/* `first`: of the list. */
void sti_save_variable(sti_transform *t, const sti_step *first, sti_step *s, const sti_symbol *symbol);
void sti_save_effects(sti_transform *t, const sti_step *first, sti_step *s);
void sti_save_element(sti_transform *t, const sti_step *first, sti_step *s, sti_node *place);
/* What is kept already comes back by a statement. */
void sti_restore_saved(sti_transform *t, sti_step *s, const char *statement);
/* All of it goes back to where it was. */
void sti_bring_back(sti_transform *t, const sti_kept *k);

#endif
