/*
 * Extraction: all requests of all listed worlds are copied from the renderer's buffers in one launch. Kind item; a
 * block is a band of one tile for one request, on a CPU of a group of tiles, which it reads in strips (conversion.h).
 *
 * Destinations are separate allocations, more than a kernel has parameters. So a launch passes one base pointer, and
 * each job has the distance of its destination in bytes, which the host computes. The launch cannot know these
 * destinations, so its caller marks them as written.
 */
#include "stet/lang.h"

#define STET_IN_EVERY_SIM /* its code for a GPU is made with that of the others */

/*
 * A GPU's team: 39 us for 1225 tiles of 120 x 120, 84 us with a conversion to floats, on an H200 (64 threads: 49 and
 * 86; 256: 42 and 100).
 */
#define STET_TEAM_k_extract 128, 1
#include "tiles/conversion.h"
#include "tiles/ahead.k.h"
#if STET_WIDE > 1
#include "tiles/convert_words.k.h"
#else
#include "tiles/convert_rows.k.h"
#endif

/* ---- copies of 32-bit elements, at the speed of memory ----------------------------------------------------------- */

#if !STET_DOUBLE
/* W elements from k on, of the source that is not NULL. */
LFN lint tx_words(const int *words, const ureal *reals, i64 k)
{
    if (reals) return as_bits(load(reals + k));
    return iload(words + k);
}

/* Copies n <= W elements from the flat element q of a tile on, across ends of rows. */
LFN void tx_copy_across(tx_source s, int *to, int q, int n, int stream)
{
    int width = s.width, pitch = width + s.gap, y = q / width;
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
    if (s.reals)
        value = as_bits(gather(s.reals + row, at));
    else
        value = igather(s.words + row, at);
    /* A plain store here would load the cache line that its neighbours bypass. */
    if (stream && n == STET_W)
        istream(to + q, value);
    else
        istore_if(live, to + q, value);
}

/*
 * Copies elements begin … end - 1 of a tile, counted along its rows, to `to`. Rows, the ends of the band and the starts
 * of source and destination are multiples of a wide group. Four groups are in flight at a time.
 */
LFN void tx_copy_wide(const int *from, int *to, int begin, int end, int width, int pitch)
{
    int ngroup = (end - begin) / STET_WIDE, part = (ngroup + 3) / 4;
    items (p, part) {
        lint v[4 * STET_WIDE];
        for (int k = 0; k < 4; ++k) {
            int q = begin + nmin(p + k * part, ngroup - 1) * STET_WIDE, y = q / width;
            wide_load(from + (i64)y * pitch + (q - y * width), v + k * STET_WIDE);
        }
        for (int k = 0; k < 4; ++k)
            if (p + k * part < ngroup) wide_store(to + begin + (p + k * part) * STET_WIDE, v + k * STET_WIDE);
    }
}

/*
 * Streams n elements (a multiple of W) from `row` on, two groups at a time: with W = 8 both halves of a cache line are
 * written together.
 */
LFN void tx_stream_row(const int *words, const ureal *reals, i64 row, int *to, int n)
{
    int pairs = n / (2 * STET_W) * STET_W, done = 2 * pairs;
    items (p, pairs) {
        lint a = tx_words(words, reals, row + 2 * p), b = tx_words(words, reals, row + 2 * p + STET_W);
        istream(to + 2 * p, a);
        istream(to + 2 * p + STET_W, b);
    }
    items (r, n - done) istream(to + done + r, tx_words(words, reals, row + done + r));
}

/*
 * Copies elements begin … end - 1 of a tile, counted along its rows, to `to`, which is dense. Groups start where the
 * destination is aligned, `past` elements after begin, so that they can bypass the caches. A group that crosses the
 * end of a row is gathered. ahead: where the row to prefetch is, elements from each row; 0: none is.
 */
LFN void tx_copy(tx_source s, int *to, int begin, int end, int past, int stream, i64 ahead)
{
    int q = begin + nmin(past, end - begin), width = s.width;
    if (q > begin) tx_copy_across(s, to, begin, q - begin, stream);
    for (; q < end;) {
        int y = q / width, x = q - y * width, rest = nmin(width - x, end - q), n = rest - rest % STET_W;
        i64 row = (i64)y * (width + s.gap) + x;
        if (ahead != 0 && x < STET_W) tx_prefetch_row(s.words, s.reals, row - x + ahead, width);
        if (stream)
            tx_stream_row(s.words, s.reals, row, to + q, n);
        else
            items (p, n) istore(to + q + p, tx_words(s.words, s.reals, row + p));
        q += n;
        if (n == rest) continue;
        n = nmin(STET_W, end - q);
        tx_copy_across(s, to, q, n, stream);
        q += n;
    }
}
#endif

/* ---- the kernels ------------------------------------------------------------------------------------------------- */

/* A tile of a request. */
typedef struct tx_tile {
    const int *words; /* the source is the one of words and reals that is not NULL */
    const ureal *reals;
    i64 source;        /* its first pixel */
    int pitch, stride; /* pixels from row to row; numbers a pixel */
    u8 *out;           /* the tile of the destination begins `to` bytes from here */
    i64 to, ahead;     /* ahead: see tx_copy */
    int stream;
} tx_tile;

/* Pixels begin … end - 1 of a world's tile. j: the row of the job table. */
LFN void tx_band(tx_tile t, const int *j, int begin, int end, tx_scratch scratch)
{
    int width = j[STI_JOB_WIDTH], channels = j[STI_JOB_CHANNELS], conversion = j[STI_JOB_CONVERSION];
    int channel = j[STI_JOB_CHANNEL], stride = t.stride;
    i64 source = t.source * stride;
    const int *words = t.reals ? 0 : t.words + source;
    const ureal *reals = t.reals ? t.reals + source : 0;
#if !STET_DOUBLE
    if (conversion == STI_TO_WORDS || conversion == STI_TO_REALS) {
        int row = width * stride, rows = t.pitch * stride;
        int past = (int)((t.to / 4 + (i64)begin * stride) & (STET_W - 1));
        int odd = (row | rows | begin * stride | end * stride | (int)source | (int)(t.to / 4)) & (STET_WIDE - 1);
        tx_source numbers = {words, reals, 1, row, rows - row, 0, 1, 0};
        if (STET_WIDE > 1 && odd == 0)
            tx_copy_wide(reals ? (const int *)reals : words, (int *)(t.out + t.to), begin * stride, end * stride, row,
                         rows);
        else
            tx_copy(numbers, (int *)(t.out + t.to), begin * stride, end * stride, past ? STET_W - past : 0, t.stream,
                    t.stream ? t.ahead * stride : 0);
        return;
    }
#endif
    int y = begin / width, size = tx_size(conversion, channels);
    i64 row = (i64)y * t.pitch, place = t.to + (i64)begin * size;
    tx_source pixels = {reals ? 0 : words + row,
                        reals ? reals + row * stride + channel : 0,
                        stride,
                        width,
                        t.pitch - width,
                        begin - y * width,
                        channels,
                        8 * channel};
#if STET_WIDE > 1
    int aligned = (place & (4 * STET_WIDE - 1)) == 0;
    int fours = !STET_DOUBLE && conversion != STI_INT_LONG && stride == 1 &&
                ((width | t.pitch | begin | (int)source) & (STET_WIDE - 1)) == 0;
    tx_convert(conversion, pixels, t.out + place, aligned, fours, end - begin, scratch);
#else
    /* Only where packing is quick: the rest was not faster when it was streamed. */
    int past = TX_PACK && t.stream ? (int)(place & (TX_LINE - 1)) : -1;
    tx_convert(conversion, pixels, t.out + place, end - begin, past, t.ahead * stride, scratch);
#endif
}

/*
 * Sources are indexed by sti_picture_buffer (NULL if unused). first, pitch [nrow * ntile], ntile = worlds * ncamera:
 * the tile table. job [njob * STI_JOB_COLUMNS], place [njob * STI_PLACE_COLUMNS]. list: the worlds; NULL: those from
 * `start` on. `stream`: the outputs are larger than the caches. `out` is aligned to 64 bytes; places are relative
 * to it.
 */
item_kernel void k_extract(const int *colour, const ureal *depth, const ureal *distance, const ureal *normal,
                           const int *albedo, const int *geom, const int *body, const int *type, const ureal *motion,
                           const ureal *body_point, const i64 *first, const int *pitch, const int *job,
                           const i64 *place, const int *list, int start, int njob, int ncamera, i64 ntile, int stream,
                           u8 *out, int block)
{
    int k = 0;
    for (int i = 1; i < njob; ++i)
        if (block >= job[i * STI_JOB_COLUMNS + STI_JOB_BLOCK]) k = i;
    const int *j = job + k * STI_JOB_COLUMNS;
    int group = (block - j[STI_JOB_BLOCK]) / j[STI_JOB_BANDS], band = (block - j[STI_JOB_BLOCK]) % j[STI_JOB_BANDS];
    int buffer = j[STI_JOB_BUFFER], stride = buffer == 3 || buffer == 9 ? 3 : buffer == 8 ? 2 : 1;
    int begin = band * j[STI_JOB_BAND], end = nmin(begin + j[STI_JOB_BAND], j[STI_JOB_WIDTH] * j[STI_JOB_HEIGHT]);
    int from = group * j[STI_JOB_TILES], tiles = nmin(j[STI_JOB_TILES], j[STI_JOB_WORLDS] - from);
    const int *words = buffer == 0 ? colour : buffer == 4 ? albedo : buffer == 5 ? geom : buffer == 6 ? body : type;
    const ureal *reals = buffer == 1   ? depth
                         : buffer == 2 ? distance
                         : buffer == 3 ? normal
                         : buffer == 8 ? motion
                                       : body_point;
    if (!((buffer >= 1 && buffer <= 3) || buffer >= 8)) reals = 0;
#if STET_WIDE > 1
    shared(int, word, TX_ROOM);
    shared(int, halves, 256);
    tx_scratch scratch = {word, halves};
#else
    shared(ureal, value, TX_ROOM);
    shared(int, half, TX_ROOM);
    shared(int, word, TX_ROOM);
    shared(int, stage, TX_STAGE);
    tx_scratch scratch = {value, half, word, stage};
#endif
    for (int at = begin; at < end; at += j[STI_JOB_STRIP]) {
        for (int t = from; t < from + tiles; ++t) {
            int world = list ? list[t] : start + t, last = t == from + tiles - 1, other = last ? from : t + 1;
            i64 row = j[STI_JOB_ROW] * ntile + j[STI_JOB_CAMERA], tile = row + (i64)world * ncamera;
            i64 to = place[k * STI_PLACE_COLUMNS] + place[k * STI_PLACE_COLUMNS + 1] * world;
            i64 ahead = first[row + (i64)(list ? list[other] : start + other) * ncamera] - first[tile];
            if (last) ahead = at + j[STI_JOB_STRIP] < end ? ahead + (i64)STI_STRIP_ROWS * pitch[tile] : 0;
            tx_tile own = {words, reals, first[tile], pitch[tile], stride, out, to, ahead, stream};
            tx_band(own, j, at, nmin(at + j[STI_JOB_STRIP], end), scratch);
        }
    }
}

/*
 * Copies the tiles of worlds (list, start: as above), whose pixels are unchanged, to another buffer of the same layout.
 * A block is a tile; `stride` elements per pixel; first, pitch: the tile table, whose row of this buffer begins at
 * entry `skip`; size [ncamera * 2]: width, height.
 */
item_kernel void k_carry_words(const int *from, int *to, const i64 *first, const int *pitch, const int *size,
                               const int *list, int start, int ncamera, i64 skip, int stride, int block)
{
    int camera = block % ncamera, n = size[camera * 2] * stride;
    int world = list ? list[block / ncamera] : start + block / ncamera;
    i64 tile = skip + (i64)world * ncamera + camera;
    for (int y = 0; y < size[camera * 2 + 1]; ++y) {
        i64 row = (first[tile] + (i64)y * pitch[tile]) * stride;
        each (i, n) to[row + i] = from[row + i];
    }
}

item_kernel void k_carry_reals(const ureal *from, ureal *to, const i64 *first, const int *pitch, const int *size,
                               const int *list, int start, int ncamera, i64 skip, int stride, int block)
{
    int camera = block % ncamera, n = size[camera * 2] * stride;
    int world = list ? list[block / ncamera] : start + block / ncamera;
    i64 tile = skip + (i64)world * ncamera + camera;
    for (int y = 0; y < size[camera * 2 + 1]; ++y) {
        i64 row = (first[tile] + (i64)y * pitch[tile]) * stride;
        each (i, n) to[row + i] = from[row + i];
    }
}
