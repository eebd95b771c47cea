/* The pilots with every `each` in a scrambled order: what races would show without a GPU. */
#ifndef TEST_KERNEL_PERMUTED_H
#define TEST_KERNEL_PERMUTED_H

#include "kernel/lang/pilots.h"

extern const own_pilots permuted_pilots;
/* The order that each(i, n) takes. */
void permuted_order(int n, int *out);

#endif
