/*
 * Parts of taking notes (transform.h): places and what they belong to (place.c), what is varied, what is needed, and what is overwritten
 * after it was read (order.c). The first three grow until nothing changes, without an order of statements.
 */
#ifndef STI_ADJOINT_ANALYSIS_NOTES_H
#define STI_ADJOINT_ANALYSIS_NOTES_H

#include "adjoint/transform/transform.h"

/* What a place belongs to, all that it may be: whether one of it is varied; notes of it. True: something is new. */
bool sti_memory_active(sti_transform *t, const sti_node *place);
bool sti_mark_active(sti_transform *t, const sti_node *place);
bool sti_mark_needed(sti_transform *t, const sti_node *place, bool read);
void sti_mark_read(sti_transform *t, const sti_node *place);
/* The n-th argument of a call, from 0; NULL: it has fewer. */
sti_node *sti_argument(const sti_node *call, int n);

/* One round over statements; true: something is new. */
bool sti_vary(sti_transform *t, const sti_node *n);
bool sti_need_statement(sti_transform *t, const sti_node *n);
void sti_vary_parameters(sti_transform *t, const sti_node *f);

/* Fills `overwritten` of an array; of all shared arrays below n. */
void sti_note_order(sti_transform *t, const sti_node *f, const sti_symbol *array);
void sti_note_shared(sti_transform *t, const sti_node *f, const sti_node *n);

#endif
