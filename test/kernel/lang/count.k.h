/*
 * A kernel whose operations and bytes count_test.c knows: kind item, four items a block. Comments have the operations
 * of a line, then the bytes of arrays.
 */
#include "stet/lang.h"

typedef struct count_pair {
    real a, b;
} count_pair;

/* own: a variable of the caller's, or its team's; neither is an array. */
LFN void count_add(const real *own, int i, real x, count_pair *sum)
{
    sum->a = sum->a + own[i]; /* 1 */
    sum->b *= x;              /* 1 */
}

/* y: five numbers a block; small: bytes, four a block; memory: of the team, four numbers. */
item_kernel void k_count(const ureal *x, const int *index, ureal *y, u8 *small, treal *memory, int block)
{
    real table[2] = {splat(1), splat(2)};
    ureal first = x[0];                                    /* 0; 4 */
    int at = index[3] * 2;                                 /* 0, as these are whole numbers; 4 */
    y[5 * block + 4] = ufma(first, 2, umax(first, 1)) - 1; /* 2 + 1 + 1; 4 */
    items (p, 4) {
        count_pair sum = {splat(0), splat(1)};
        real a = load(x + p), b = gather(x, iload(index + p)); /* 0; 4 + 4 + 4 */
        mask m = lt(a, b);                                     /* 1 */
        memory[p] = fma(a, b, -a) / sqrt(b + splat(2));        /* 2 + 1 + 1 + 1; none */
        count_add(table, p & 1, a, &sum);                      /* 2; none */
        count_add(memory, p, a, &sum);                         /* 2; none */
        b = select(m, rmin(sum.a, a), sin(sum.b));             /* 1 + 1 + 38 (15 to reduce the angle), whatever m is */
        if (first > 0 && at > 3) b = rabs(b) + clamp(a, b, a); /* 1, and where both are so 1 + 2 */
        store_if(m, y + 5 * block + p, b);                     /* 0; 4 where m is so */
        bstore_if(m_not(m), small + 4 * block, isplat(p), isplat(7)); /* 0; 1 elsewhere */
    }
}
