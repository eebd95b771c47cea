/* Prefetching rows of a tile: part of extraction. */
#ifndef STI_TILES_AHEAD_K_H
#define STI_TILES_AHEAD_K_H
#include "stet/lang.h"

/*
 * Rows of a tile are one frame row apart, which no hardware prefetcher predicts. So many rows are prefetched ahead:
 * with fewer, loads wait for memory; with many more, so do the prefetches at the beginning of a tile (bench/README.md).
 */
#define ROWS_AHEAD 8
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
