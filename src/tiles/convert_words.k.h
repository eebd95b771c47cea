/*
 * Conversions on a GPU, where a lane is a thread: part of extraction. A team takes a chunk of pixels at a time. It
 * first stages each element of the pixels as a word in shared memory, then packs the elements, and neighbouring threads
 * store 16 bytes each. So the loads and stores of a team are whole cache lines, whatever the size of a pixel.
 */
#ifndef STI_TILES_CONVERT_WORDS_K_H
#define STI_TILES_CONVERT_WORDS_K_H
#include "stet/lang.h"

#include "tiles/ahead.k.h"
#include "tiles/conversion.h"
#include "tiles/half.k.h"

#define TX_FOURS 4             /* loads of four pixels that a thread has in flight */
#define TX_AHEAD 8             /* loads that a thread has in flight */
#define TX_CHUNK 768           /* pixels taken at a time */
#define TX_ROOM (TX_CHUNK * 4) /* their elements, at most 4 each */
#define TX_REAL_WORDS (STET_DOUBLE ? 2 : 1)

/* Words that a pixel is staged as: one per element, or two for an element of 8 bytes. */
LFN int tx_elements(int conversion, int channels)
{
    if (conversion == STI_TO_WORDS) return 1;
    if (conversion == STI_INT_LONG) return 2;
    if (conversion == STI_BYTES_REAL || conversion == STI_PICK_REALS || conversion == STI_TO_REALS)
        return channels * TX_REAL_WORDS;
    return channels;
}

/* Bytes of each staged word that are stored. */
LFN int tx_bytes_of(int conversion)
{
    if (conversion == STI_TO_BYTES || conversion == STI_INT_BYTE) return 1;
    if (conversion == STI_BYTES_HALF || conversion == STI_REALS_HALF) return 2;
    return 4;
}

/* Bytes of one pixel of a destination. */
LFN int tx_size(int conversion, int channels) { return tx_elements(conversion, channels) * tx_bytes_of(conversion); }

/*
 * x / 255 with the bits of IEEE division, for x from 0 to 255: a product with the rounded inverse, corrected by its
 * remainder (P. Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990). The test
 * pictures have all 256 values.
 */
LFN real tx_unit(lint byte)
{
    real x = to_real(byte), inverse = splat((ureal)1 / (ureal)255), q = x * inverse;
    return fma(fma(-q, splat((ureal)255), x), inverse, q);
}

/* Stages a real at `word`. */
LFN void tx_put_real(int *word, real x)
{
#if STET_DOUBLE
    word[0] = (int)(u32)as_bits(x);
    word[1] = (int)(u32)((u64)as_bits(x) >> 32);
#else
    istore(word, as_bits(x));
#endif
}

/* Element c of a pixel of one number (a colour, an int, a real's bits), if the element is one word. */
LFN lint tx_element(int conversion, lint v, int c, const int *halves)
{
    if (conversion == STI_REALS_HALF) return tx_half(from_bits((sti_bits)v));
    if (conversion == STI_TO_BYTES) return ishr(v, 8 * c) & isplat(255);
    if (conversion == STI_BYTES_HALF) return igather(halves, ishr(v, 8 * c) & isplat(255));
    if (conversion == STI_BYTES_REAL) return (lint)as_bits(tx_unit(ishr(v, 8 * c) & isplat(255)));
    return v;
}

/* Stages such a pixel. */
LFN void tx_stage_word(int conversion, lint v, int channels, const int *halves, int *word)
{
    if (conversion == STI_INT_LONG) {
        istore(word, v);
        istore(word + 1, ilt(v, isplat(0)));
    } else if (conversion == STI_BYTES_REAL) {
        for (int c = 0; c < channels; ++c) tx_put_real(word + c * TX_REAL_WORDS, tx_unit(ishr(v, 8 * c) & isplat(255)));
    } else {
        for (int c = 0; c < tx_elements(conversion, channels); ++c)
            istore(word + c, tx_element(conversion, v, c, halves));
    }
}

/* Stages a pixel of reals. */
LFN void tx_stage_real(int conversion, const ureal *v, int channels, int *word)
{
    for (int c = 0; c < channels; ++c)
        if (conversion == STI_REALS_HALF)
            istore(word + c, tx_half(load(v + c)));
        else
            tx_put_real(word + c * TX_REAL_WORDS, load(v + c));
}

/* Packs four elements of two bytes into two words, or of one byte into one. */
LFN lint tx_pack_two(lint low, lint high) { return (low & isplat(0xffff)) | ishl(high, 16); }
LFN lint tx_pack_four(const lint *v)
{
    lint low = (v[0] & isplat(255)) | ishl(v[1] & isplat(255), 8);
    return low | ishl(v[2] & isplat(255), 16) | ishl(v[3], 24);
}

/* Packs 4, 8 or 16 elements into sixteen bytes. */
LFN void tx_pack(const int *word, int bytes, lint *v)
{
    lint u[4];
    if (bytes == 4) {
        wide_load(word, v);
    } else if (bytes == 2) {
        for (int k = 0; k < 2; ++k) {
            wide_load(word + 4 * k, u);
            v[2 * k] = tx_pack_two(u[0], u[1]);
            v[2 * k + 1] = tx_pack_two(u[2], u[3]);
        }
    } else {
        for (int k = 0; k < 4; ++k) {
            wide_load(word + 4 * k, u);
            v[k] = tx_pack_four(u);
        }
    }
}

/* Packs and stores n elements: 16 bytes at a time if `to` is aligned to 16 bytes, the remainder one by one. */
LFN void tx_store(const int *word, u8 *to, int n, int bytes, int aligned)
{
    int group = 16 / bytes, wide = aligned ? n / group : 0, done = wide * group;
    items (p, wide) {
        lint v[4];
        tx_pack(word + p * group, bytes, v);
        wide_store((int *)to + p * 4, v);
    }
    if (bytes == 4) {
        int *words = (int *)to;
        each (i, n - done) words[done + i] = word[done + i];
    } else if (bytes == 2) {
        u16 *halves = (u16 *)to;
        each (i, n - done) halves[done + i] = (u16)(u32)word[done + i];
    } else {
        each (i, n - done) to[done + i] = (u8)(u32)word[done + i];
    }
}

/*
 * x / width for a pixel index below 2^20. The product is nearer to the quotient than 1 / (2 width), so truncation is
 * exact.
 */
LFN int tx_row(int x, ureal inverse) { return (int)(((ureal)x + (ureal)0.5) * inverse); }

/* Memory of a block: TX_ROOM words, and the values that a byte converts to. */
typedef struct tx_scratch {
    int *word, *halves;
} tx_scratch;

/* Stages n pixels of one number each, from pixel `first` of the band on, with TX_AHEAD loads in flight. */
LFN void tx_stage_words(int conversion, tx_source s, int first, int n, tx_scratch scratch)
{
    int part = (n + TX_AHEAD - 1) / TX_AHEAD, channels = s.channels, elements = tx_elements(conversion, channels);
    int skip = s.skip + first, *word = scratch.word;
    ureal inverse = (ureal)1 / (ureal)s.width;
    each (i, part) {
        lint v[TX_AHEAD];
        for (int k = 0; k < TX_AHEAD; ++k) {
            int p = skip + nmin(i + k * part, n - 1);
            v[k] = ishr(iload(s.words + p + tx_row(p, inverse) * s.gap), s.shift);
        }
        for (int k = 0; k < TX_AHEAD; ++k)
            if (i + k * part < n)
                tx_stage_word(conversion, v[k], channels, scratch.halves, word + (i + k * part) * elements);
    }
}

/* Packs the elements of four pixels: as many words as a pixel has bytes. */
LFN void tx_pack_pixels(int conversion, const lint *pixel, int channels, int shift, const int *halves, int *word)
{
    lint w[16];
    int bytes = tx_bytes_of(conversion);
    for (int k = 0; k < 4; ++k)
        for (int c = 0; c < channels; ++c)
            w[k * channels + c] = tx_element(conversion, ishr(pixel[k], shift), c, halves);
    for (int k = 0; k < channels; ++k) {
        if (bytes == 4) {
            wide_store(word + 4 * k, w + 4 * k);
        } else if (bytes == 2) {
            istore(word + 2 * k, tx_pack_two(w[4 * k], w[4 * k + 1]));
            istore(word + 2 * k + 1, tx_pack_two(w[4 * k + 2], w[4 * k + 3]));
        } else {
            istore(word + k, tx_pack_four(w + 4 * k));
        }
    }
}

/*
 * Stages all groups of four of a chunk, with TX_FOURS in flight. Rows, the chunk's start within them and its length are
 * multiples of four pixels. channels, shift: instead of the source's.
 */
LFN void tx_stage_fours(int conversion, tx_source s, int first, int n, int channels, int shift, tx_scratch scratch)
{
    int part = (n / 4 + TX_FOURS - 1) / TX_FOURS, size = channels * tx_bytes_of(conversion), skip = s.skip + first;
    ureal inverse = (ureal)1 / (ureal)s.width;
    each (i, part) {
        lint v[4 * TX_FOURS];
        for (int k = 0; k < TX_FOURS; ++k) {
            int p = skip + 4 * nmin(i + k * part, n / 4 - 1);
            wide_load(s.words + p + tx_row(p, inverse) * s.gap, v + 4 * k);
        }
        for (int k = 0; k < TX_FOURS; ++k)
            if (i + k * part < n / 4)
                tx_pack_pixels(conversion, v + 4 * k, channels, shift, scratch.halves,
                               scratch.word + (i + k * part) * size);
    }
}

/* The same with a constant number of channels, so that the compiler keeps a pixel's elements in registers. */
LFN void tx_stage_channels(int conversion, tx_source s, int first, int n, tx_scratch scratch)
{
    if (s.channels == 1)
        tx_stage_fours(conversion, s, first, n, 1, s.shift, scratch);
    else if (s.channels == 2)
        tx_stage_fours(conversion, s, first, n, 2, s.shift, scratch);
    else if (s.channels == 3)
        tx_stage_fours(conversion, s, first, n, 3, s.shift, scratch);
    else
        tx_stage_fours(conversion, s, first, n, 4, s.shift, scratch);
}

/* Stages n pixels of one number each, four at a time. */
LFN void tx_stage_wide(int conversion, tx_source s, int first, int n, tx_scratch scratch)
{
    if (conversion == STI_TO_BYTES)
        tx_stage_channels(STI_TO_BYTES, s, first, n, scratch);
    else if (conversion == STI_BYTES_HALF)
        tx_stage_channels(STI_BYTES_HALF, s, first, n, scratch);
    else if (conversion == STI_BYTES_REAL)
        tx_stage_channels(STI_BYTES_REAL, s, first, n, scratch);
    else if (conversion == STI_REALS_HALF)
        tx_stage_fours(STI_REALS_HALF, s, first, n, 1, 0, scratch);
    else if (conversion == STI_INT_BYTE)
        tx_stage_fours(STI_INT_BYTE, s, first, n, 1, 0, scratch);
    else
        tx_stage_fours(STI_TO_WORDS, s, first, n, 1, 0, scratch);
}

LFN void tx_stage_reals(int conversion, tx_source s, int first, int n, int *word)
{
    int elements = tx_elements(conversion, s.channels);
    ureal inverse = (ureal)1 / (ureal)s.width;
    each (i, n) {
        int p = s.skip + first + i;
        tx_stage_real(conversion, s.reals + (i64)(p + tx_row(p, inverse) * s.gap) * s.stride, s.channels,
                      word + i * elements);
    }
}

/*
 * Converts a band as tx_convert does, for pixels of one number each, if `to` is aligned and rows, their ends and the
 * start of the source are multiples of four pixels. It packs in registers, so the chunk is as large as fits.
 */
LFN void tx_convert_fours(int conversion, tx_source s, u8 *to, int npixel, tx_scratch scratch)
{
    int size = tx_size(conversion, s.channels), chunk = 4 * TX_ROOM / size / 64 * 64, *word = scratch.word;
    for (int first = 0; first < npixel; first += chunk) {
        int n = nmin(chunk, npixel - first), nword = n / 4 * size, wide = nword / 4;
        int *dense = (int *)(to + (i64)first * size);
        tx_stage_wide(conversion, s, first, n, scratch);
        sync();
        items (p, wide) {
            lint v[4];
            wide_load(word + 4 * p, v);
            wide_store(dense + 4 * p, v);
        }
        each (i, nword - 4 * wide) dense[4 * wide + i] = word[4 * wide + i];
        sync();
    }
}

/*
 * Converts a band of npixel pixels to `to`, which is dense and may be unaligned. fours: rows, their ends and the start
 * of the source are multiples of four pixels.
 */
LFN void tx_convert(int conversion, tx_source s, u8 *to, int aligned, int fours, int npixel, tx_scratch scratch)
{
    int elements = tx_elements(conversion, s.channels), bytes = tx_bytes_of(conversion), *word = scratch.word;
    tx_source numbers = {
        s.reals ? (const int *)s.reals : s.words, s.reals, s.stride, s.width, s.gap, s.skip, s.channels, s.shift};
    if (conversion == STI_BYTES_HALF) {
        each (i, 256) istore(scratch.halves + i, tx_half(tx_unit(isplat(i))));
        sync();
    }
    if (fours && aligned) {
        tx_convert_fours(conversion, numbers, to, npixel, scratch);
        return;
    }
    for (int first = 0; first < npixel; first += TX_CHUNK) {
        int n = nmin(TX_CHUNK, npixel - first);
        if (s.reals && (s.stride > 1 || STET_DOUBLE))
            tx_stage_reals(conversion, s, first, n, word);
        else
            tx_stage_words(conversion, numbers, first, n, scratch);
        sync();
        tx_store(word, to + (i64)first * elements * bytes, n * elements, bytes, aligned);
        sync();
    }
}

#endif
