/* Prefetching rows of a tile: part of extraction. */
#ifndef STI_TILES_AHEAD_K_H
#define STI_TILES_AHEAD_K_H
#include "stet/lang.h"

/* The pixels of a band: the one of words and reals that is not NULL, `stride` numbers a pixel. */
typedef struct tx_source {
    const int *words;
    const ureal *reals;
    int stride, width, gap; /* pixels of a row, and further ones between rows */
    int skip;               /* the band starts so many pixels into its first row, whose first pixel is the first one */
    int channels, shift;    /* of colours; these count from bit `shift` on */
} tx_source;

/*
 * Rows of a tile are one frame row apart, which no hardware prefetcher predicts. With each row of a strip the one that
 * is read a strip later is prefetched, that of the next tile (bench/README.md).
 */
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
