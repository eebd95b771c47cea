/*
 * Conversions by words of the destination: part of extraction, where a lane has neighbours to store beside (a thread of a GPU), so that a team's
 * stores are whole lines of memory. Each word is worked out from the pixels that it holds parts of.
 */
#ifndef STI_TILES_CONVERT_WORDS_K_H
#define STI_TILES_CONVERT_WORDS_K_H
#include "stet/lang.h"

#include "tiles/conversion.h"
#include "tiles/half.k.h"

/*
 * x / d for small whole numbers, d at least 1: exact while x * d < 2^32, by a multiplication with 2^32 / d rounded up (T. Granlund,
 * P. Montgomery, Division by Invariant Integers using Multiplication, 1994).
 */
LFN lint tx_divide(lint x, int d)
{
    if (d == 1) return x;
    return imulhi(x, isplat((int)(u32)((0xffffffffLL + d) / d)));
}

/* x is 0 … 3: which of four. */
LFN lint tx_choose(lint x, lint a, lint b, lint c, lint d)
{
    mask high = ilt(isplat(1), x), odd = ieq(x & isplat(1), isplat(1));
    return iselect(high, iselect(odd, d, c), iselect(odd, b, a));
}

/* Channel c of a colour, and byte c of a word. */
LFN lint tx_byte(lint word, lint c)
{
    return tx_choose(c, word, ishr(word, 8), ishr(word, 16), ishr(word, 24)) & isplat(255);
}

/*
 * A pixel's place, counted from the first of the band's first row: that row has `skip` pixels before the band, rows have `width` of them and
 * `gap` others between.
 */
LFN lint tx_place(lint pixel, int skip, int width, int gap)
{
    lint p = pixel + isplat(skip);
    return p + tx_divide(p, width) * isplat(gap);
}

/* Colour element e of a band: byte, or unit (0 to 1). */
LFN lint tx_colour(const int *words, lint e, int channels, int skip, int width, int gap)
{
    lint pixel = tx_divide(e, channels);
    return tx_byte(igather(words, tx_place(pixel, skip, width, gap)), e - pixel * isplat(channels));
}

/* Real element e of a band: the first `channels` of each `stride` reals. */
LFN real tx_real(const ureal *reals, int stride, lint e, int channels, int skip, int width, int gap)
{
    lint pixel = tx_divide(e, channels);
    lint at = tx_place(pixel, skip, width, gap) * isplat(stride) + (e - pixel * isplat(channels));
    return gather(reals, at);
}

/* Element e as a real; `words` or `reals` is there. */
LFN real tx_value(const int *words, const ureal *reals, int stride, lint e, int channels, int skip, int width, int gap)
{
    if (reals) return tx_real(reals, stride, e, channels, skip, width, gap);
    return to_real(tx_colour(words, e, channels, skip, width, gap)) / splat((ureal)255);
}

/*
 * Three bytes a pixel: byte `byte` of the band on begins in pixel a, at its byte 0, 1 or 2, and ends in the next. The last word of a band
 * reads one pixel more than it needs, the last one again.
 */
LFN lint tx_rgb(const int *words, lint byte, int npixel, int skip, int width, int gap)
{
    lint p = tx_divide(byte, 3), phase = byte - p * isplat(3), next = imin(p + isplat(1), isplat(npixel - 1));
    lint a = igather(words, tx_place(p, skip, width, gap)) & isplat(0xffffff);
    lint b = igather(words, tx_place(next, skip, width, gap)) & isplat(0xffffff);
    return tx_choose(phase, a | ishl(b, 24), ishr(a, 8) | ishl(b, 16), ishr(a, 16) | ishl(b, 8), b);
}

/* Four elements of a byte each. */
LFN lint tx_four(int conversion, const int *words, lint byte, int npixel, int channels, int skip, int width, int gap)
{
    if (channels == 3) return tx_rgb(words, byte, npixel, skip, width, gap);
    lint word = isplat(0);
    for (int k = 0; k < 4; ++k) {
        lint e = imin(byte + isplat(k), isplat(npixel * channels - 1)), x;
        if (conversion == STI_INT_BYTE)
            x = igather(words, tx_place(e, skip, width, gap)) & isplat(255);
        else
            x = tx_colour(words, e, channels, skip, width, gap);
        word = word | ishl(x, 8 * k);
    }
    return word;
}

/* The word of a real at byte `byte` of the band. */
#if STET_DOUBLE
LFN lint tx_real_word(const int *words, const ureal *reals, int stride, lint byte, int channels, int skip, int width,
                      int gap)
{
    u64 bits = (u64)as_bits(tx_value(words, reals, stride, byte >> 3, channels, skip, width, gap));
    return (lint)(u32)(byte & 4 ? bits >> 32 : bits);
}
#else
LFN lint tx_real_word(const int *words, const ureal *reals, int stride, lint byte, int channels, int skip, int width,
                      int gap)
{
    return as_bits(tx_value(words, reals, stride, ishr(byte, 2), channels, skip, width, gap));
}
#endif

/*
 * The four bytes from byte `byte` of a band's destination on: a multiple of the element's size (of 4 where that is larger). The band has npixel
 * pixels; bytes beyond them mean nothing.
 */
LFN lint tx_word(int conversion, const int *words, const ureal *reals, int stride, lint byte, int npixel, int channels,
                 int skip, int width, int gap)
{
    if (conversion == STI_TO_BYTES || conversion == STI_INT_BYTE)
        return tx_four(conversion, words, byte, npixel, channels, skip, width, gap);
    if (conversion == STI_TO_WORDS) return igather(words, tx_place(ishr(byte, 2), skip, width, gap));
    if (conversion == STI_INT_LONG) {
        lint v = igather(words, tx_place(ishr(byte, 3), skip, width, gap));
        return iselect(ieq(byte & isplat(4), isplat(0)), v, ilt(v, isplat(0)));
    }
    if (conversion == STI_BYTES_HALF || conversion == STI_REALS_HALF) {
        lint e = ishr(byte, 1), last = isplat(npixel * channels - 1);
        lint low = tx_half(tx_value(words, reals, stride, e, channels, skip, width, gap));
        e = imin(e + isplat(1), last);
        return low | ishl(tx_half(tx_value(words, reals, stride, e, channels, skip, width, gap)), 16);
    }
    return tx_real_word(words, reals, stride, byte, channels, skip, width, gap);
}

/* Bytes of one pixel of a destination; a word is all channels of one. */
LFN int tx_size(int conversion, int channels)
{
    if (conversion == STI_TO_WORDS) return 4;
    if (conversion == STI_TO_BYTES || conversion == STI_INT_BYTE) return channels;
    if (conversion == STI_BYTES_HALF || conversion == STI_REALS_HALF) return 2 * channels;
    return (conversion == STI_INT_LONG ? 8 : (int)sizeof(ureal)) * channels;
}

/* Bytes begin … end - 1 of a band's destination one by one: what lies before the first whole group of words, and after the last. */
LFN void tx_edge(int conversion, const int *words, const ureal *reals, int stride, u8 *to, int begin, int end,
                 int npixel, int channels, int skip, int width, int gap)
{
    items(p, end - begin)
    {
        lint byte = imin(lane() + isplat(begin + p), isplat(end - 1));
        lint word = tx_word(conversion, words, reals, stride, byte & isplat(-4), npixel, channels, skip, width, gap);
        bstore_if(in_range(p, end - begin), to, byte, tx_byte(word, byte & isplat(3)));
    }
}

/*
 * A band of npixel pixels to `to`, which is dense: groups of words that neighbouring lanes store side by side, from the first aligned place
 * on, `head` bytes after the beginning.
 */
LFN void tx_convert(int conversion, const int *words, const ureal *reals, int stride, u8 *to, int head, int npixel,
                    int channels, int skip, int width, int gap)
{
    int size = npixel * tx_size(conversion, channels), begin = nmin(head, size);
    int ngroup = (size - begin) / (4 * STET_WIDE * STET_W) * STET_W, end = begin + ngroup * 4 * STET_WIDE;
    int *body = (int *)(to + begin);
    tx_edge(conversion, words, reals, stride, to, 0, begin, npixel, channels, skip, width, gap);
    items(p, ngroup)
    {
        lint v[STET_WIDE], byte = (lane() + isplat(p)) * isplat(4 * STET_WIDE) + isplat(begin);
        for (int k = 0; k < STET_WIDE; ++k)
            v[k] = tx_word(conversion, words, reals, stride, byte + isplat(4 * k), npixel, channels, skip, width, gap);
        wide_store(body + p * STET_WIDE, v);
    }
    tx_edge(conversion, words, reals, stride, to, end, size, npixel, channels, skip, width, gap);
}

#endif
