/*
 * Questions about the tree: walks, types that contain reals, calls, places and the arrays that they belong to.
 */
#ifndef STI_ADJOINT_TREE_PLACE_H
#define STI_ADJOINT_TREE_PLACE_H

#include "adjoint/tree/state.h"
#include "kernel/check/flow.h"

#include <stddef.h>

/* ---- walks: each node of a list of trees, before its parts ---- */

typedef void sti_visit(sti_transform *t, const sti_node *n);
void sti_walk(sti_transform *t, const sti_node *list, sti_visit *visit);
/* True if a test is true for one of the nodes. Nodes after it are not tested. */
typedef bool sti_test(sti_transform *t, const sti_node *n, const void *context);
bool sti_any(sti_transform *t, const sti_node *list, sti_test *test, const void *context);
/* True if a symbol occurs in a list of trees; if a statement, or one inside of it, declares a symbol. */
bool sti_mentions(const sti_node *list, const sti_symbol *symbol);
bool sti_declared_in(const sti_node *statement, const sti_symbol *symbol);

/* ---- nodes ---- */

/* A call of the source's own function; of the language's; of this one of the language's. */
bool sti_is_own_call(const sti_node *e);
bool sti_is_library_call(const sti_node *e);
bool sti_is_call_of(const sti_node *e, const char *name);
/* load and gather: lanes read different places of an array that all worlds share. */
bool sti_lane_read(const sti_node *e);
/* The n-th argument of a call, from 0; NULL: it has fewer. */
sti_node *sti_argument(const sti_node *call, int n);
/* The call of an own function that is a statement's whole value; NULL: there is none. */
sti_node *sti_call_of_statement(const sti_node *n);
/* The place that an assignment, ++ or -- writes; NULL: the expression is none of these. */
sti_node *sti_assigned_place(const sti_node *e);
bool sti_declares(const sti_node *n); /* a variable, or an array of the team */
bool sti_nests(const sti_node *n);    /* a statement that contains others */
/* True if a statement is the last of its list. */
bool sti_last_of_list(const sti_node *n);
/* p + i, p - i */
bool sti_is_offset(const sti_node *e);
/* a[i], *p */
bool sti_is_element(const sti_node *e);

/* ---- types ---- */

bool sti_type_real(const sti_type *type);    /* real, ureal, wreal */
bool sti_type_carries(const sti_type *type); /* contains reals: a real, or an array, structure or pointer of such */
const sti_type *sti_type_element(const sti_type *type);
/* True if a type has room for any index. A narrower type can make two indices equal. */
bool sti_saves_index(const sti_type *type);
/* The number of numbers in a value; `reals`: without fields that contain no reals. */
int64_t sti_type_numbers(const sti_type *type, bool reals);

/* ---- places and arrays ---- */

bool sti_is_array_symbol(const sti_symbol *s); /* memory that other threads see: a parameter's array, a shared array */
/* True if elements are reached through a pointer, so that put writes them: a parameter's, not a local array's. */
bool sti_through_pointer(const sti_node *place);
/* Calls for each symbol that a place may belong to. A staged array counts as the array that it is a copy of. */
void sti_owners(const sti_node *place, sti_origin_fn *call, void *context);
bool sti_may_belong(const sti_node *place, const sti_symbol *symbol);
/* The symbol that a place belongs to; if there may be several, one of them, with *only false. NULL: unknown. */
sti_symbol *sti_origin_of(const sti_node *place, bool *only);
/* True if the source writes a symbol that the place may belong to. */
bool sti_place_written(const sti_node *place);
/* For a store of the language: the index of the array among its arguments; -1: it is no store. */
int sti_store_of(const sti_node *call);
/* The number of consecutive elements that put and put4 write behind their index; 0: the node is neither. */
int sti_put_width(const sti_node *call);

/* ---- notes of the owners ---- */

/*
 * One member of the notes of the symbols that a place may belong to. sti_ask: it is set for one of them. sti_mark: sets
 * it for all of them, and returns true if that is new for one.
 */
#define STI_NOTE(member) offsetof(sti_note, member)
bool sti_ask(sti_transform *t, const sti_node *place, size_t member);
bool sti_mark(sti_transform *t, const sti_node *place, size_t member);

#endif
