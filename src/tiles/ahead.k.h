/* Prefetching rows of a tile: part of extraction. */
#ifndef STI_TILES_AHEAD_K_H
#define STI_TILES_AHEAD_K_H
#include "stet/lang.h"

/*
 * Rows of a tile are one frame row apart, which no hardware prefetcher predicts. Prefetching this many rows ahead
 * reaches the speed of a plain copy (measured: 1.5 times faster with one thread).
 */
#define ROWS_AHEAD 32
LFN void tx_prefetch_row(const int *words, const ureal *reals, i64 row, int width)
{
    for (int x = 0; x < width; x += 16) {
        if (reals)
            prefetch(reals + row + x);
        else
            prefetch(words + row + x);
    }
}

#endif
