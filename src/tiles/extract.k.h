/*
 * Extraction: all requests of all listed worlds leave the renderer's buffers in one launch. Kind item; a block is a band of one tile for one
 * request.
 *
 * Destinations are allocations of their own, more of them than a kernel has parameters. So a launch passes one base pointer, and
 * each job the distance in bytes from it; the host works it out. Who launches marks the destinations as written: the launch cannot know.
 */
#include "stet/lang.h"
#include "tiles/conversion.h"

#define TX_CHUNK 64   /* pixels converted at a time */
#define TX_VALUES 256 /* numbers of those: at most 4 channels */
#define TX_ROOM 272   /* and a vector more: the last group may reach beyond */

/* ---- half precision ---- */

/* The bits of x in IEEE binary16, to the nearest, halves to even; 0x7e00 for every NaN. */
#if STET_DOUBLE
LFN lint tx_half(real x)
{
    u64 b = (u64)as_bits(x), m = b & 0x7fffffffffffffffULL;
    int sign = (int)(b >> 48 & 0x8000u);
    if (m > 0x7ff0000000000000ULL) return 0x7e00;
    if (m >= 0x40effe0000000000ULL) return sign | 0x7c00; /* 65520: halfway from the largest to 2^16 */
    if (m < 0x3f10000000000000ULL) return sign | (int)rint(rabs(x) * 16777216.0);
    return sign | ((int)((m + 0x1ffffffffffULL + (m >> 42 & 1u)) >> 42) - (1008 << 10));
}
#else
LFN lint tx_half(real x)
{
    lint b = as_bits(x), m = b & isplat(0x7fffffff), sign = ishr(b, 16) & isplat(0x8000);
    lint odd = ishr(m, 13) & isplat(1);
    lint h = ishr(m + isplat(0xfff) + odd, 13) - isplat(112 << 10);
    /* Below 2^-14 a half is a multiple of 2^-24; the product is exact. */
    lint small = to_int(rint(from_bits(m) * splat(16777216.0f)));
    h = iselect(ilt(m, isplat(0x38800000)), small, h);
    h = iselect(ilt(m, isplat(0x477ff000)), h, isplat(0x7c00)); /* 65520: halfway from the largest to 2^16 */
    return iselect(ilt(isplat(0x7f800000), m), isplat(0x7e00), h | sign);
}
#endif

/* n values to halves; `half` is memory of the block for TX_ROOM numbers. */
LFN void tx_store_halves(const ureal *value, int *half, u16 *to, int n)
{
    items(p, n) istore(half + p, tx_half(load(value + p)));
    sync();
    each (i, n) to[i] = (u16)half[i];
    sync();
}

/* ---- copies of 32-bit elements, at the speed of memory ---- */

#if !STET_DOUBLE
/* W elements from k on, of the one source that is there. */
LFN lint tx_words(const int *words, const ureal *reals, i64 k)
{
    if (reals) return as_bits(load(reals + k));
    return iload(words + k);
}

/* n <= W elements from the flat element q of a tile on, across ends of rows. */
LFN void tx_copy_across(const int *words, const ureal *reals, int *to, int q, int n, int width, int pitch, int stream)
{
    int y = q / width;
    i64 row = (i64)y * pitch;
    lint x = lane() + isplat(q - y * width), at = x;
    mask live = ilt(lane(), isplat(n));
    for (; any(ilt(isplat(width - 1), x));) {
        mask over = ilt(isplat(width - 1), x);
        x = x - (isplat(width) & over);
        at = at + (isplat(pitch - width) & over);
    }
    at = iselect(live, at, isplat(0));
    lint value;
    if (reals)
        value = as_bits(gather(reals + row, at));
    else
        value = igather(words + row, at);
    /* A plain store here would fetch the line that all its neighbours are streamed around. */
    if (stream && n == STET_W)
        istream(to + q, value);
    else
        istore_if(live, to + q, value);
}

/*
 * Rows of a tile lie a frame's row apart, which no machine foresees: asked for this many rows before they are read, they come at the rate of
 * a plain copy (measured: 1.5 times faster with one thread).
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

/* n elements, a multiple of W, from `row` on, two groups at a time: with W = 8 both halves of a cache line leave together. */
LFN void tx_stream_row(const int *words, const ureal *reals, i64 row, int *to, int n)
{
    int pairs = n / (2 * STET_W) * STET_W, done = 2 * pairs;
    items(p, pairs)
    {
        lint a = tx_words(words, reals, row + 2 * p), b = tx_words(words, reals, row + 2 * p + STET_W);
        istream(to + 2 * p, a);
        istream(to + 2 * p + STET_W, b);
    }
    items(r, n - done) istream(to + done + r, tx_words(words, reals, row + done + r));
}

/*
 * Elements begin … end - 1 of a tile, counted along its rows, to `to`, which is dense. Groups begin where the destination is aligned, `ahead`
 * elements after begin, so that they can be streamed past the caches; a group that crosses the end of a row is gathered.
 */
LFN void tx_copy(const int *words, const ureal *reals, int *to, int begin, int end, int ahead, int width, int pitch,
                 int stream)
{
    int q = begin + nmin(ahead, end - begin), last = (end - 1) / width;
    for (int y = q / width; stream && y < nmin(q / width + ROWS_AHEAD, last + 1); ++y)
        tx_prefetch_row(words, reals, (i64)y * pitch, width);
    if (q > begin) tx_copy_across(words, reals, to, begin, q - begin, width, pitch, stream);
    for (; q < end;) {
        int y = q / width, x = q - y * width, rest = nmin(width - x, end - q), n = rest - rest % STET_W;
        i64 row = (i64)y * pitch + x;
        if (stream && x < STET_W && y + ROWS_AHEAD <= last)
            tx_prefetch_row(words, reals, (i64)(y + ROWS_AHEAD) * pitch, width);
        if (stream)
            tx_stream_row(words, reals, row, to + q, n);
        else
            items(p, n) istore(to + q + p, tx_words(words, reals, row + p));
        q += n;
        if (n == rest) continue;
        n = nmin(STET_W, end - q);
        tx_copy_across(words, reals, to, q, n, width, pitch, stream);
        q += n;
    }
}
#endif

/* ---- conversions of n pixels of a row ---- */

LFN void tx_bytes(const int *from, u8 *to, int n, int channels)
{
    if (channels == 3) {
        each (i, n) {
            u32 v = (u32)from[i];
            to[3 * i] = (u8)v;
            to[3 * i + 1] = (u8)(v >> 8);
            to[3 * i + 2] = (u8)(v >> 16);
        }
    } else {
        for (int c = 0; c < channels; ++c) {
            each (i, n) to[channels * i + c] = (u8)((u32)from[i] >> (8 * c));
        }
    }
}

/* The first `channels` channels of colours as reals, 0 to 1. */
LFN void tx_units(const int *from, ureal *to, int n, int channels)
{
    for (int c = 0; c < channels; ++c) {
        each (i, n) to[channels * i + c] = (ureal)(int)((u32)from[i] >> (8 * c) & 255u) / (ureal)255;
    }
}

/* The first `channels` of each `stride` reals. */
LFN void tx_pick(const ureal *from, ureal *to, int n, int channels, int stride)
{
    for (int c = 0; c < channels; ++c) {
        each (i, n) to[channels * i + c] = from[stride * i + c];
    }
}

LFN void tx_convert(int conversion, const int *words, const ureal *reals, int stride, u8 *to, int n, int channels,
                    ureal *value, int *half)
{
    if (conversion == STI_TO_BYTES) {
        tx_bytes(words, to, n, channels);
    } else if (conversion == STI_INT_BYTE) {
        each (i, n) to[i] = (u8)(u32)words[i];
    } else if (conversion == STI_INT_LONG) {
        i64 *wide = (i64 *)to;
        each (i, n) wide[i] = words[i];
    } else if (conversion == STI_BYTES_REAL) {
        tx_units(words, (ureal *)to, n, channels);
    } else if (conversion == STI_BYTES_HALF || conversion == STI_REALS_HALF) {
        if (conversion == STI_BYTES_HALF)
            tx_units(words, value, n, channels);
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

/* Bytes of one pixel of a destination; a word is all channels of one. */
LFN int tx_size(int conversion, int channels)
{
    if (conversion == STI_TO_WORDS) return 4;
    if (conversion == STI_TO_BYTES || conversion == STI_INT_BYTE) return channels;
    if (conversion == STI_BYTES_HALF || conversion == STI_REALS_HALF) return 2 * channels;
    return (conversion == STI_INT_LONG ? 8 : (int)sizeof(ureal)) * channels;
}

/* ---- the kernels ---- */

/*
 * Sources by sti_buffer (NULL where not used); first, pitch [nrow * ntile], ntile = worlds * ncamera: the tile table; job [njob *
 * STI_JOB_COLUMNS], place [njob * STI_PLACE_COLUMNS]; list: worlds, or NULL: block order is world order. `stream`: the outputs are larger
 * than the caches. `out` is aligned to 64 bytes, places are relative to it.
 */
item_kernel void k_extract(const int *colour, const ureal *depth, const ureal *distance, const ureal *normal,
                           const int *albedo, const int *geom, const int *body, const int *type, const i64 *first,
                           const int *pitch, const int *job, const i64 *place, const int *list, int njob, int ncamera,
                           i64 ntile, int stream, u8 *out, int block)
{
    shared(ureal, value, TX_ROOM);
    shared(int, half, TX_ROOM);
    int k = 0;
    for (int i = 1; i < njob; ++i)
        if (block >= job[i * STI_JOB_COLUMNS + STI_JOB_BLOCK]) k = i;
    const int *j = job + k * STI_JOB_COLUMNS;
    int index = (block - j[STI_JOB_BLOCK]) / j[STI_JOB_BANDS], band = (block - j[STI_JOB_BLOCK]) % j[STI_JOB_BANDS];
    int world = list ? list[index] : index, buffer = j[STI_JOB_BUFFER], conversion = j[STI_JOB_CONVERSION];
    int width = j[STI_JOB_WIDTH], channels = j[STI_JOB_CHANNELS], stride = buffer == 3 ? 3 : 1;
    int begin = band * STI_BAND, end = nmin(begin + STI_BAND, width * j[STI_JOB_HEIGHT]);
    i64 tile = j[STI_JOB_ROW] * ntile + (i64)world * ncamera + j[STI_JOB_CAMERA];
    i64 source = first[tile] * stride, to = place[k * STI_PLACE_COLUMNS] + place[k * STI_PLACE_COLUMNS + 1] * world;
    const int *words = buffer == 0 ? colour : buffer == 4 ? albedo : buffer == 5 ? geom : buffer == 6 ? body : type;
    const ureal *reals = buffer == 1 ? depth : buffer == 2 ? distance : normal;
    int from_reals = buffer >= 1 && buffer <= 3;
    words = from_reals ? 0 : words + source;
    reals = from_reals ? reals + source : 0;
#if !STET_DOUBLE
    if (conversion == STI_TO_WORDS || conversion == STI_TO_REALS) {
        int past = (int)((to / 4 + (i64)begin * stride) & (STET_W - 1)), ahead = past ? STET_W - past : 0;
        tx_copy(words, reals, (int *)(out + to), begin * stride, end * stride, ahead, width * stride,
                pitch[tile] * stride, stream);
        return;
    }
#else
    (void)stream; /* eight bytes a real: through the general path */
#endif
    int size = tx_size(conversion, channels);
    for (int q = begin; q < end;) {
        int y = q / width, x = q - y * width, n = nmin(nmin(width - x, end - q), TX_CHUNK);
        i64 at = ((i64)y * pitch[tile] + x) * stride;
        tx_convert(conversion, from_reals ? 0 : words + at, from_reals ? reals + at : 0, stride,
                   out + to + (i64)q * size, n, channels, value, half);
        q += n;
    }
}

/*
 * Pixels that stand: the tiles of the listed worlds from one buffer to another of the same layout. A block is a tile; `stride` elements a
 * pixel; first, pitch: this buffer's rows of the tile table; size [ncamera * 2]: width, height.
 */
item_kernel void k_carry_words(const int *from, int *to, const i64 *first, const int *pitch, const int *size,
                               const int *list, int ncamera, int stride, int block)
{
    int camera = block % ncamera, n = size[camera * 2] * stride;
    i64 tile = (i64)list[block / ncamera] * ncamera + camera;
    for (int y = 0; y < size[camera * 2 + 1]; ++y) {
        i64 row = (first[tile] + (i64)y * pitch[tile]) * stride;
        each (i, n) to[row + i] = from[row + i];
    }
}

item_kernel void k_carry_reals(const ureal *from, ureal *to, const i64 *first, const int *pitch, const int *size,
                               const int *list, int ncamera, int stride, int block)
{
    int camera = block % ncamera, n = size[camera * 2] * stride;
    i64 tile = (i64)list[block / ncamera] * ncamera + camera;
    for (int y = 0; y < size[camera * 2 + 1]; ++y) {
        i64 row = (first[tile] + (i64)y * pitch[tile]) * stride;
        each (i, n) to[row + i] = from[row + i];
    }
}
