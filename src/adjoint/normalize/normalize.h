/*
 * Brings functions to the forms that the transformation relies on.
 */
#ifndef STI_ADJOINT_NORMALIZE_NORMALIZE_H
#define STI_ADJOINT_NORMALIZE_NORMALIZE_H

#include "adjoint/analysis/analysis.h"
#include "adjoint/tree/build.h"

/*
 * normal.c: brings a function's body to normal form, which the rest relies on: one variable a declaration; plain
 * assignments of reals; calls of the source's own functions that return reals are whole values of a statement; no break
 * or continue, and no return except one at the end.
 */
void sti_normalise(sti_transform *t, sti_node *f);

/*
 * hoist.c: replaces calls in an expression by variables that are declared before the statement at *at; *at moves on
 * behind the declarations. `root`: the expression itself may stay a call.
 */
void sti_take_out_calls(sti_transform *t, sti_node ***at, sti_node *e, bool root);
/*
 * After notes were taken: an offset of a pointer becomes a variable of its own if something in it changes later.
 * Returns true if there was one; notes must be taken again then.
 */
bool sti_fix_pointer_offsets(sti_transform *t, sti_node **list);

/*
 * inline.c: after the normal form of a kernel, inlines its calls of functions that the adjoint cannot handle as calls.
 */
void sti_inline_calls(sti_transform *t, sti_node *kernel);
/*
 * Copies statements. In the copy `from` is replaced by `to`, and variables that the statements declare get new names.
 * Returns NULL if there is no memory, or if there are no statements.
 */
sti_node *sti_copy_body(sti_transform *t, const sti_node *body, const sti_symbol *from, sti_symbol *to);

/* unroll.c: after notes were taken, unrolls loops. Returns true if a loop was unrolled; take notes again then. */
bool sti_unroll(sti_transform *t, sti_node *f);

#endif
