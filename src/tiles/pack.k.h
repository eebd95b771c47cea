/*
 * Lanes stored as bytes and halves: part of extraction on CPUs. Compilers make several times as many instructions of
 * the loops that do the same, so the instruction sets that have the shuffles (TX_PACK) use them.
 */
#ifndef STI_TILES_PACK_K_H
#define STI_TILES_PACK_K_H
#include "stet/lang.h"

#if STET_W == 8 && defined(__AVX2__) && defined(__F16C__)
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

/* The lanes as halves (tx_half), by the processor's own conversion, but for NaN. */
LFN void tx_put_real_halves(u16 *to, real x)
{
    __m256 v = (__m256)x;
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    __m128i nans = _mm_packs_epi32(_mm256_castsi256_si128(nan), _mm256_extracti128_si256(nan, 1));
    __m128i half = _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128((__m128i *)(void *)to, _mm_blendv_epi8(half, _mm_set1_epi16(0x7e00), nans));
}
#elif STET_W == 16 && defined(__AVX512BW__)
#define TX_PACK 1

/* The three low bytes of each lane, one after the other: 48 bytes. */
LFN void tx_put_three_bytes(u8 *to, lint x)
{
    const __m512i pick = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1));
    const __m512i dense = _mm512_setr_epi32(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 14, 14, 14, 14);
    __m512i v = _mm512_permutexvar_epi32(dense, _mm512_shuffle_epi8((__m512i)x, pick));
    _mm256_storeu_si256((__m256i *)(void *)to, _mm512_castsi512_si256(v));
    _mm_storeu_si128((__m128i *)(void *)(to + 32), _mm512_extracti32x4_epi32(v, 2));
}

/* The low halves of the lanes. */
LFN void tx_put_halves(u16 *to, lint x)
{
    _mm256_storeu_si256((__m256i *)(void *)to, _mm512_cvtepi32_epi16((__m512i)x));
}

/* The lanes that W bytes are. */
LFN lint tx_get_bytes(const u8 *from)
{
    return (lint)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)from));
}

/* The lanes as halves (tx_half), by the processor's own conversion, but for NaN. */
LFN void tx_put_real_halves(u16 *to, real x)
{
    __m512 v = (__m512)x;
    __m256i half = _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_mask_mov_epi16(half, nan, _mm256_set1_epi16(0x7e00)));
}
#else
#define TX_PACK 0
#endif

#endif
