/* Derives from a kernel's source how large a tape its adjoint needs, as bounds. */
#ifndef STI_ADJOINT_SIZING_EXTENT_H
#define STI_ADJOINT_SIZING_EXTENT_H

#include "adjoint/analysis/analysis.h"
#include "adjoint/sizing/bound.h"

/* The sizes of a kernel's stacks. */
typedef struct sti_extents {
    sti_bound *width, *depth, *entries;
} sti_extents;

/*
 * Finds the sizes of a kernel's stacks, after its adjoint was made. `lists`: its items list gradients. A loop whose
 * bound cannot be derived is reported as an error.
 */
void sti_extent_of(sti_transform *t, const sti_node *kernel, bool lists, sti_extents *out);

#endif
