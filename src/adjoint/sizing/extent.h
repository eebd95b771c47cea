/*
 * How large a tape a kernel's adjoint needs, worked out from its source as bounds.
 */
#ifndef STI_ADJOINT_SIZING_EXTENT_H
#define STI_ADJOINT_SIZING_EXTENT_H

#include "adjoint/transform/transform.h"

/* ---- terms.c: what expressions are in terms of arguments ---------------------------------------------------------- */

enum { MOST_WORK = 20000, MOST_SCOPE = 256 };

/* What a variable is, at this place, in terms of arguments; NULL: nobody knows. */
typedef struct sti_extent_variable {
    const sti_symbol *symbol;
    sti_bound *value;
    const char *array; /* of a pointer parameter: the kernel's parameter that it is, and the offset in `value` */
} sti_extent_variable;

typedef struct sti_extent {
    sti_transform *t;
    sti_extent_variable scope[MOST_SCOPE];
    int count;
    int work;
    bool complained;
} sti_extent;

/* A variable of a loop and from where to where it runs. */
typedef struct sti_range {
    sti_bound *variable, *from, *to;
} sti_range;

/* Bounds in the unit's memory; NULL as an operand makes NULL: nobody knows. */
sti_bound *sti_extent_bound(sti_extent *x, sti_bound_kind kind);
sti_bound *sti_extent_number(sti_extent *x, int64_t value);
bool sti_is_number(const sti_bound *b, int64_t value);
sti_bound *sti_extent_operation(sti_extent *x, sti_bound_kind kind, sti_bound *a, sti_bound *b);
sti_bound *sti_extent_greatest(sti_extent *x, sti_bound *a, sti_bound *b);
/* Columns for so many items, which come in groups of lanes. */
sti_bound *sti_extent_groups(sti_extent *x, sti_bound *count);
/* The greatest value of b over a range. */
sti_bound *sti_extent_over(sti_extent *x, const sti_range *r, sti_bound *b);
/* From here on a symbol means this; `array`: the kernel's parameter that a pointer points into, `value` elements on. */
void sti_extent_bind(sti_extent *x, const sti_symbol *s, sti_bound *value, const char *array);
sti_bound *sti_extent_value(sti_extent *x, const sti_node *e);
bool sti_extent_array(sti_extent *x, const sti_node *e, const char **name, sti_bound **offset);

/* ---- extent.c ----------------------------------------------------------------------------------------------------- */

/*
 * After the adjoint of a kernel was made: fills width and depth. What cannot be worked out is complained about at the loop.
 */
void sti_extent_of(sti_transform *t, const sti_node *kernel, sti_adjoint_kernel *out);

#endif
