/*
 * Types of the kernel language: which have lanes, which are plain, which convert to which.
 */
#ifndef STI_KERNEL_CHECK_TYPE_H
#define STI_KERNEL_CHECK_TYPE_H

#include "kernel/check/tree.h"

const sti_type *sti_type_basic(sti_type_kind kind, bool is_const);
const sti_type *sti_type_structure(sti_structure *s, bool is_const);
/* Return NULL if there is no memory. */
const sti_type *sti_type_pointer(sti_unit *u, const sti_type *of);
const sti_type *sti_type_array(sti_unit *u, const sti_type *of, int64_t count);
/* The same type without const, which values do not have. */
const sti_type *sti_type_value(const sti_type *t);
/* The type in an expression: an array becomes a pointer to its first element. NULL: no memory. */
const sti_type *sti_type_decay(sti_unit *u, const sti_type *t);

bool sti_type_lanes(const sti_type *t);   /* real, lint, mask and sti_bits */
bool sti_type_whole(const sti_type *t);   /* lint, mask and sti_bits */
bool sti_type_integer(const sti_type *t); /* plain whole numbers */
bool sti_type_plain(const sti_type *t);   /* plain numbers */
bool sti_type_points(const sti_type *t);
/* A structure with pointers (bundle.c). */
bool sti_is_bundle(const sti_type *t);
/* What treal, tlint or tint memory of a team holds: real, lint or int; NULL: t is another type. */
const sti_type *sti_type_team_element(const sti_type *t);
/* `exactly`: const behind a pointer must be equal, too. */
bool sti_type_same(const sti_type *a, const sti_type *b, bool exactly);
/* The type of an operation on two plain numbers. */
const sti_type *sti_type_common(const sti_type *a, const sti_type *b);
/* The size in bytes on every device of this configuration. False: lanes have no such size. */
bool sti_type_size(const sti_unit *u, const sti_type *t, int64_t *out);

/* The type as C spells it, "const real *"; an array is "real [3]". Cut if it is too long. */
void sti_type_text(const sti_type *t, char *out, size_t size);

#endif
