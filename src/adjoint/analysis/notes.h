/*
 * Parts of taking notes (transform.h): places and what they belong to (place.c), which symbols are active, which values
 * are needed, and what is overwritten after it was read (order.c). Places, activity and need are iterated over all
 * statements until nothing changes, so the order of statements does not matter.
 */
#ifndef STI_ADJOINT_ANALYSIS_NOTES_H
#define STI_ADJOINT_ANALYSIS_NOTES_H

#include "adjoint/transform/transform.h"

/*
 * A place may belong to several symbols. These test or mark all of them. They return true if a note is new;
 * sti_memory_active returns true if one of the symbols is active.
 */
bool sti_memory_active(sti_transform *t, const sti_node *place);
bool sti_mark_active(sti_transform *t, const sti_node *place);
bool sti_mark_needed(sti_transform *t, const sti_node *place, bool read);
void sti_mark_read(sti_transform *t, const sti_node *place);
/* The n-th argument of a call, from 0; NULL: it has fewer. */
sti_node *sti_argument(const sti_node *call, int n);

/* One round over the statements. Returns true if a note is new. */
bool sti_vary(sti_transform *t, const sti_node *n);
bool sti_need_statement(sti_transform *t, const sti_node *n);
void sti_vary_parameters(sti_transform *t, const sti_node *f);

/* Fills `overwritten` of an array, and of all shared arrays below n. */
void sti_note_order(sti_transform *t, const sti_node *f, const sti_symbol *array);
void sti_note_shared(sti_transform *t, const sti_node *f, const sti_node *n);

#endif
