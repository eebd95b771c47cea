/* Sizes that gather.c and its kernels share. */
#ifndef STI_ADJOINT_LAUNCH_GATHER_SIZES_H
#define STI_ADJOINT_LAUNCH_GATHER_SIZES_H

#define GATHER_CODES 64    /* parameters of a list */
#define GATHER_WORKERS 256 /* workers of a block */
#define GATHER_RUN 32      /* entries of a worker */
#define GATHER_BITS 4      /* bits of a place for each round of the sort */
#define GATHER_DIGITS 16
#define GATHER_PIECE 256 /* numbers that one worker adds up */
#define SUM_ITEMS 8      /* items of a block that adds up shares of worlds */
#define SUM_WORKERS 32   /* workers of such an item; the result depends on this number */

#endif
