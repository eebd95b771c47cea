/*
 * Derives from a kernel's source how large a tape its adjoint needs, as bounds.
 */
#ifndef STI_ADJOINT_SIZING_EXTENT_H
#define STI_ADJOINT_SIZING_EXTENT_H

#include "adjoint/analysis/analysis.h"
#include "adjoint/sizing/bound.h"

/* ---- terms.c: expressions in terms of arguments ------------------------------------------------------------------ */

enum { MOST_WORK = 20000, MOST_SCOPE = 256 };

/* The value of a variable at this place in terms of arguments; NULL: unknown. */
typedef struct sti_extent_variable {
    const sti_symbol *symbol;
    sti_bound *value;
    const char *array; /* of a pointer: the kernel's parameter that it points into; `value` is the offset */
} sti_extent_variable;

typedef struct sti_extent {
    sti_transform *t;
    sti_extent_variable scope[MOST_SCOPE];
    int count;
    int work;
    bool complained;
} sti_extent;

/* The variable of a loop and its range. */
typedef struct sti_range {
    sti_bound *variable, *from, *to;
} sti_range;

/* Make bounds in the unit's memory. A NULL operand (unknown) gives NULL. */
sti_bound *sti_extent_bound(sti_extent *x, sti_bound_kind kind);
sti_bound *sti_extent_number(sti_extent *x, int64_t value);
bool sti_is_number(const sti_bound *b, int64_t value);
sti_bound *sti_extent_operation(sti_extent *x, sti_bound_kind kind, sti_bound *a, sti_bound *b);
sti_bound *sti_extent_greatest(sti_extent *x, sti_bound *a, sti_bound *b);
/* The number of columns for so many items, which come in groups of lanes. */
sti_bound *sti_extent_groups(sti_extent *x, sti_bound *count);
/* The greatest value of b over a range. */
sti_bound *sti_extent_over(sti_extent *x, const sti_range *r, sti_bound *b);
/*
 * Sets the value of a symbol from here on. For a pointer: `array` is the kernel's parameter that it points into,
 * `value` the offset in elements.
 */
void sti_extent_bind(sti_extent *x, const sti_symbol *s, sti_bound *value, const char *array);
sti_bound *sti_extent_value(sti_extent *x, const sti_node *e);
bool sti_extent_array(sti_extent *x, const sti_node *e, const char **name, sti_bound **offset);

/* ---- extent.c ---------------------------------------------------------------------------------------------------- */

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
