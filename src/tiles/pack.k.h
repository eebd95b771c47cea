/*
 * Lanes stored as bytes and halves: part of extraction on CPUs. Compilers make several times as many instructions of
 * the loops that do the same, so the instruction sets that have the shuffles (TX_PACK) use them.
 */
#ifndef STI_TILES_PACK_K_H
#define STI_TILES_PACK_K_H
#include "stet/lang.h"

#if STET_W == 8 && defined(__AVX2__)
#define TX_PACK 1

/* The three low bytes of each lane, one after the other: 24 bytes. */
LFN void tx_put_three_bytes(u8 *to, lint x)
{
    const __m256i pick = _mm256_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, 0, 1, 2, 4, 5, 6, 8,
                                          9, 10, 12, 13, 14, -1, -1, -1, -1);
    __m256i v = _mm256_shuffle_epi8((__m256i)x, pick);
    v = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 6, 6));
    _mm_storeu_si128((__m128i *)(void *)to, _mm256_castsi256_si128(v));
    _mm_storel_epi64((__m128i *)(void *)(to + 16), _mm256_extracti128_si256(v, 1));
}

/* The low halves of the lanes, which are below 2^16. */
LFN void tx_put_halves(u16 *to, lint x)
{
    __m128i low = _mm256_castsi256_si128((__m256i)x), high = _mm256_extracti128_si256((__m256i)x, 1);
    _mm_storeu_si128((__m128i *)(void *)to, _mm_packus_epi32(low, high));
}

/* The lanes that W bytes are. */
LFN lint tx_get_bytes(const u8 *from)
{
    return (lint)_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)from));
}
#else
#define TX_PACK 0
#endif

#endif
