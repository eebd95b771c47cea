/*
 * Conversions row by row: part of extraction on CPUs, whose compilers vectorise plain loops over the pixels of a row.
 * The bits are those of convert_words.k.h.
 */
#ifndef STI_TILES_CONVERT_ROWS_K_H
#define STI_TILES_CONVERT_ROWS_K_H
#include "stet/lang.h"

#include "tiles/ahead.k.h"
#include "tiles/conversion.h"
#include "tiles/half.k.h"
#include "tiles/pack.k.h"

#define TX_CHUNK 128  /* pixels converted at a time */
#define TX_VALUES 512 /* numbers of those: at most 4 channels */
#define TX_ROOM 528   /* and one vector more, because the last group may write past the end */
#define TX_LINE 64    /* bytes of a cache line */
#define TX_STAGE 544  /* words: those of a chunk, those of a line that were left, and a line after them */

/* Three bytes of each colour: four colours as three words first. `word` is scratch memory of the block. */
LFN void tx_three_bytes(const int *from, u8 *to, int n, int *word)
{
    const u8 *packed = (const u8 *)word;
#if TX_PACK
    int fours = 0, done = n - n % STET_W;
    items (p, done) tx_put_three_bytes(to + 3 * p, iload(from + p));
#else
    int fours = n / 4, done = 4 * fours;
#endif
    each (i, fours) {
        u32 a = (u32)from[4 * i], b = (u32)from[4 * i + 1], c = (u32)from[4 * i + 2], d = (u32)from[4 * i + 3];
        word[3 * i] = (int)((a & 0xffffffu) | b << 24);
        word[3 * i + 1] = (int)((b >> 8 & 0xffffu) | c << 16);
        word[3 * i + 2] = (int)((c >> 16 & 0xffu) | d << 8);
    }
    sync();
    each (i, 12 * fours) to[i] = packed[i];
    each (i, n - done) {
        u32 v = (u32)from[done + i];
        to[3 * (done + i)] = (u8)v;
        to[3 * (done + i) + 1] = (u8)(v >> 8);
        to[3 * (done + i) + 2] = (u8)(v >> 16);
    }
}

/* The bytes of colours from bit `shift` on. */
LFN void tx_bytes(const int *from, u8 *to, int n, int channels, int shift, int *word)
{
    if (channels == 1) {
        each (i, n) to[i] = (u8)((u32)from[i] >> shift);
    } else if (channels == 3) {
        tx_three_bytes(from, to, n, word);
    } else {
        for (int c = 0; c < channels; ++c) {
            each (i, n) to[channels * i + c] = (u8)((u32)from[i] >> (8 * c));
        }
    }
}

/* The byte of a colour from bit `shift` on as a real, 0 to 1. */
LFN ureal tx_unit(int colour, int shift) { return (ureal)(int)((u32)colour >> shift & 255u) / (ureal)255; }

/* The same as reals. Three and four channels are written together, so that a compiler stores whole vectors. */
LFN void tx_units(const int *from, ureal *to, int n, int channels, int shift)
{
    if (channels == 3) {
        each (i, n) {
            to[3 * i] = tx_unit(from[i], 0);
            to[3 * i + 1] = tx_unit(from[i], 8);
            to[3 * i + 2] = tx_unit(from[i], 16);
        }
    } else if (channels == 4) {
        each (i, n) {
            to[4 * i] = tx_unit(from[i], 0);
            to[4 * i + 1] = tx_unit(from[i], 8);
            to[4 * i + 2] = tx_unit(from[i], 16);
            to[4 * i + 3] = tx_unit(from[i], 24);
        }
    } else if (channels == 1) {
        each (i, n) to[i] = tx_unit(from[i], shift);
    } else {
        for (int c = 0; c < channels; ++c) {
            each (i, n) to[channels * i + c] = tx_unit(from[i], shift + 8 * c);
        }
    }
}

/* The first `channels` of each `stride` reals. */
LFN void tx_pick(const ureal *from, ureal *to, int n, int channels, int stride)
{
    if (stride == 1) {
        each (i, n) to[i] = from[i];
        return;
    }
    for (int c = 0; c < channels; ++c) {
        each (i, n) to[channels * i + c] = from[stride * i + c];
    }
}

/* The low halves of n words, a multiple of W. */
LFN void tx_narrow(const int *word, u16 *to, int n)
{
    for (int q = 0; q < n; q += STET_W) {
        each (i, STET_W) to[q + i] = (u16)word[q + i];
    }
}

/* n >= W reals that lie one after the other as halves. Those of a last group that is not whole are converted twice. */
LFN void tx_real_halves(const ureal *from, u16 *to, int n, int *half)
{
    int whole = n - n % STET_W, last = n - STET_W;
#if TX_PACK
    (void)half;
    items (p, whole) tx_put_real_halves(to + p, load(from + p));
    if (whole < n) tx_put_real_halves(to + last, load(from + last));
#else
    items (p, whole) istore(half + p, tx_half(load(from + p)));
    if (whole < n) istore(half + whole, tx_half(load(from + last)));
    sync();
    tx_narrow(half, to, whole);
    if (whole < n) tx_narrow(half + whole, to + last, STET_W);
#endif
}

#if !STET_DOUBLE
/*
 * The byte of each colour from bit `shift` on, over 255, as a half: the product is 2^-112 times that, and its bits
 * from bit 13 on are those of a half, whose least exponent is 112 greater. None of the 256 quotients is halfway.
 */
LFN lint tx_unit_half(lint colour, int shift)
{
    real scaled = to_real(ishr(colour, shift) & isplat(255)) * splat(7.5526669e-37f);
    return ishr(as_bits(scaled) + isplat(0x1000), 13);
}

/* The same of n colours, a multiple of W. */
LFN void tx_one_half(const int *from, u16 *to, int n, int shift, int *half)
{
    items (p, n) istore(half + p, tx_unit_half(iload(from + p), shift));
    sync();
    tx_narrow(half, to, n);
    sync();
}

#if TX_PACK
/* Three halves of n <= TX_CHUNK colours, a multiple of W: their bytes one after the other first. */
LFN void tx_three_halves(const int *from, u16 *to, int n, int *half, int *word)
{
    u8 *byte = (u8 *)word;
    (void)half;
    items (p, n) tx_put_three_bytes(byte + 3 * p, iload(from + p));
    items (p, 3 * n) tx_put_halves(to + p, tx_unit_half(tx_get_bytes(byte + p), 0));
}
#else
/*
 * Three halves of n <= TX_CHUNK colours, a multiple of W; two colours as three words first. Words have scratch memory
 * of their own, so that a compiler sees that they are nothing that is read, and vectorises the loop.
 */
LFN void tx_three_halves(const int *from, u16 *to, int n, int *half, int *word)
{
    int *blue = half + TX_CHUNK, pairs = nmin(n, TX_CHUNK) / 2;
    const u16 *packed = (const u16 *)word;
    items (p, n) {
        lint colour = iload(from + p);
        istore(half + p, tx_unit_half(colour, 0) | ishl(tx_unit_half(colour, 8), 16));
        istore(blue + p, tx_unit_half(colour, 16));
    }
    sync();
    each (i, pairs) {
        u32 a = (u32)half[2 * i], b = (u32)half[2 * i + 1];
        word[3 * i] = (int)a;
        word[3 * i + 1] = (int)((u32)blue[2 * i] | b << 16);
        word[3 * i + 2] = (int)(b >> 16 | (u32)blue[2 * i + 1] << 16);
    }
    sync();
    each (i, 6 * pairs) to[i] = packed[i];
    if (n % 2) {
        to[3 * n - 3] = (u16)(u32)half[n - 1];
        to[3 * n - 2] = (u16)((u32)half[n - 1] >> 16);
        to[3 * n - 1] = (u16)blue[n - 1];
    }
}
#endif

/* One or three halves of n >= W colours; those of a last group that is not whole are converted twice. */
LFN void tx_unit_halves(const int *from, u16 *to, int n, int channels, int shift, int *half, int *word)
{
    int whole = n - n % STET_W, last = n - STET_W;
    if (channels == 1) {
        tx_one_half(from, to, whole, shift, half);
        sync();
        if (whole < n) tx_one_half(from + last, to + last, STET_W, shift, half);
    } else {
        tx_three_halves(from, to, whole, half, word);
        sync();
        if (whole < n) tx_three_halves(from + last, to + 3 * last, STET_W, half, word);
    }
}
#endif

/* Memory of a block: TX_ROOM numbers each, TX_STAGE words. */
typedef struct tx_scratch {
    ureal *value;
    int *half, *word, *stage;
} tx_scratch;

/* Converts the n pixels of a row that are `at` numbers into the source. */
LFN void tx_convert_pixels(int conversion, tx_source s, i64 at, u8 *to, int n, tx_scratch scratch)
{
    const int *words = s.words ? s.words + at : 0;
    const ureal *reals = s.reals ? s.reals + at : 0;
    int channels = s.channels, shift = s.shift, stride = s.stride, *half = scratch.half;
    ureal *value = scratch.value;
    if (conversion == STI_TO_BYTES) {
        tx_bytes(words, to, n, channels, shift, half);
    } else if (conversion == STI_INT_BYTE) {
        each (i, n) to[i] = (u8)(u32)words[i];
    } else if (conversion == STI_INT_LONG) {
        i64 *wide = (i64 *)to;
        each (i, n) wide[i] = words[i];
    } else if (conversion == STI_BYTES_REAL) {
        tx_units(words, (ureal *)to, n, channels, shift);
    } else if (conversion == STI_REALS_HALF && stride == 1 && n >= STET_W) {
        tx_real_halves(reals, (u16 *)to, n, half);
#if !STET_DOUBLE
    } else if (conversion == STI_BYTES_HALF && channels % 2 && n >= STET_W) {
        tx_unit_halves(words, (u16 *)to, n, channels, shift, half, scratch.word);
#endif
    } else if (conversion == STI_BYTES_HALF || conversion == STI_REALS_HALF) {
        if (conversion == STI_BYTES_HALF)
            tx_units(words, value, n, channels, shift);
        else
            tx_pick(reals, value, n, channels, stride);
        sync();
        tx_store_halves(value, half, (u16 *)to, n * channels);
    } else if (conversion == STI_TO_WORDS) {
        int *same = (int *)to;
        each (i, n) same[i] = words[i];
    } else {
        tx_pick(reals, (ureal *)to, n, channels, stride);
    }
}

/* Bytes of one pixel of a destination. For a word conversion the pixel is all its channels. */
LFN int tx_size(int conversion, int channels)
{
    if (conversion == STI_TO_WORDS) return 4;
    if (conversion == STI_TO_BYTES || conversion == STI_INT_BYTE) return channels;
    if (conversion == STI_BYTES_HALF || conversion == STI_REALS_HALF) return 2 * channels;
    return (conversion == STI_INT_LONG ? 8 : (int)sizeof(ureal)) * channels;
}

/*
 * Streams the whole cache lines of n bytes of `stage` to `line`, which is aligned to them, and moves the bytes after
 * them to the front of `stage`. The first `skip` bytes belong to another block. Returns the number of bytes streamed.
 */
LFN int tx_stream_lines(int *stage, u8 *line, int skip, int n)
{
    int whole = n - n % TX_LINE, first = skip ? TX_LINE : 0;
    const u8 *byte = (const u8 *)stage;
    if (whole == 0) return 0;
    each (i, first - skip) line[skip + i] = byte[skip + i];
    items (p, (whole - first) / 4) istream((int *)(line + first) + p, iload(stage + first / 4 + p));
    items (r, TX_LINE / 4) istore(stage + r, iload(stage + whole / 4 + r));
    return whole;
}

/*
 * Converts a band of npixel pixels to `to`, which is dense. `past`: bytes from the start of a cache line to `to` if the
 * output bypasses the caches, or -1. ahead: where the row to prefetch is, elements from each row; 0: none is.
 */
LFN void tx_convert(int conversion, tx_source s, u8 *to, int npixel, int past, i64 ahead, tx_scratch scratch)
{
    int size = tx_size(conversion, s.channels), width = s.width, pitch = width + s.gap, *stage = scratch.stage;
    int held = nmax(past, 0), before = held;
    u8 *line = to - held;
    for (int q = 0; q < npixel;) {
        int y = (s.skip + q) / width, x = s.skip + q - y * width, n = nmin(nmin(width - x, npixel - q), TX_CHUNK);
        i64 at = ((i64)y * pitch + x) * s.stride;
        if (ahead != 0 && x < TX_CHUNK)
            tx_prefetch_row(s.words, s.reals, (i64)y * pitch * s.stride + ahead, width * s.stride);
        tx_convert_pixels(conversion, s, at, past < 0 ? to + (i64)q * size : (u8 *)stage + held, n, scratch);
        q += n;
        if (past < 0) continue;
        held += n * size;
        sync();
        int streamed = tx_stream_lines(stage, line, before, held);
        held -= streamed;
        line += streamed;
        if (streamed) before = 0;
    }
    if (past < 0) return;
    const u8 *byte = (const u8 *)stage;
    each (i, held - before) line[before + i] = byte[before + i];
}

#endif
