/*
 * Extraction from pictures of another renderer, element by element: any distances between rows, pixels and channels,
 * any element type. Kind item; a block is a band of one tile for one request. Sources and destinations are passed as in
 * extract.k.h: by their distance from `out`.
 */
#include "stet/lang.h"

#define STET_IN_EVERY_SIM /* its code for a GPU is made with that of the others */
#include "tiles/conversion.h"
#include "tiles/half.k.h"

#define FX_VALUES 256 /* numbers that become halves at a time */
#define FX_ROOM 272   /* and one vector more, because the last group may write past the end */

/* Where element e of the destination's tile is in the source's tile. */
LFN i64 fx_at(int e, const i64 *j)
{
    int width = (int)j[STI_FOREIGN_WIDTH], height = (int)j[STI_FOREIGN_HEIGHT], channels = (int)j[STI_FOREIGN_CHANNELS];
    int pixel = e / channels, c = e - pixel * channels;
    if (j[STI_FOREIGN_PLANAR]) {
        c = e / (width * height);
        pixel = e - c * width * height;
    }
    int y = pixel / width, x = pixel - y * width;
    return y * j[STI_FOREIGN_ROW] + x * j[STI_FOREIGN_PIXEL] + c * j[STI_FOREIGN_CHANNEL];
}

/* n elements from begin on, one for one. `from`: the first element of the source's tile. */
LFN void fx_copy(int conversion, const u8 *from, u8 *to, int begin, int n, const i64 *j)
{
    if (conversion == STI_FOREIGN_COPY_1) {
        each (i, n) to[i] = from[fx_at(begin + i, j)];
    } else if (conversion == STI_FOREIGN_COPY_2) {
        const u16 *twos = (const u16 *)from;
        u16 *same = (u16 *)to;
        each (i, n) same[i] = twos[fx_at(begin + i, j)];
    } else if (conversion == STI_FOREIGN_COPY_4) {
        const u32 *fours = (const u32 *)from;
        u32 *same = (u32 *)to;
        each (i, n) same[i] = fours[fx_at(begin + i, j)];
    } else {
        const i64 *eights = (const i64 *)from;
        i64 *same = (i64 *)to;
        each (i, n) same[i] = eights[fx_at(begin + i, j)];
    }
}

/* The same with another type of integers, or bytes as reals from 0 to 1. */
LFN void fx_convert(int conversion, const u8 *from, u8 *to, int begin, int n, const i64 *j)
{
    const u32 *ids = (const u32 *)from;
    if (conversion == STI_FOREIGN_ID_BYTE) {
        each (i, n) to[i] = (u8)ids[fx_at(begin + i, j)];
    } else if (conversion == STI_FOREIGN_BYTE_REAL) {
        ureal *reals = (ureal *)to;
        each (i, n) reals[i] = (ureal)(int)from[fx_at(begin + i, j)] / (ureal)255;
    } else if (conversion == STI_FOREIGN_U32_LONG) {
        i64 *wide = (i64 *)to;
        each (i, n) wide[i] = ids[fx_at(begin + i, j)];
    } else {
        i64 *wide = (i64 *)to;
        each (i, n) wide[i] = (int)ids[fx_at(begin + i, j)];
    }
}

/* The same as halves. */
LFN void fx_halves(int conversion, const u8 *from, u16 *to, int begin, int n, const i64 *j, ureal *value, int *half)
{
    const ureal *reals = (const ureal *)from;
    for (int q = 0; q < n; q += FX_VALUES) {
        int m = nmin(n - q, FX_VALUES);
        if (conversion == STI_FOREIGN_BYTE_HALF) {
            each (i, m) value[i] = (ureal)(int)from[fx_at(begin + q + i, j)] / (ureal)255;
        } else {
            each (i, m) value[i] = reals[fx_at(begin + q + i, j)];
        }
        sync();
        tx_store_halves(value, half, to + q, m);
    }
}

/* Halves as reals. */
LFN void fx_numbers(const u8 *from, ureal *to, int begin, int n, const i64 *j, ureal *value, int *half)
{
    const u16 *halves = (const u16 *)from;
    for (int q = 0; q < n; q += FX_VALUES) {
        int m = nmin(n - q, FX_VALUES);
        each (i, m) half[i] = halves[fx_at(begin + q + i, j)];
        sync();
        tx_store_numbers(half, value, to + q, m);
    }
}

/* Bytes of an element of the destination, and of the source. */
LFN int fx_size(int conversion)
{
    if (conversion == STI_FOREIGN_COPY_1 || conversion == STI_FOREIGN_ID_BYTE) return 1;
    if (conversion == STI_FOREIGN_COPY_4) return 4;
    if (conversion == STI_FOREIGN_BYTE_REAL || conversion == STI_FOREIGN_HALF_REAL) return (int)sizeof(ureal);
    if (conversion == STI_FOREIGN_COPY_8 || conversion >= STI_FOREIGN_INT_LONG) return 8;
    return 2;
}

LFN int fx_source_size(int conversion)
{
    if (conversion == STI_FOREIGN_BYTE_REAL || conversion == STI_FOREIGN_BYTE_HALF) return 1;
    if (conversion == STI_FOREIGN_REAL_HALF) return (int)sizeof(ureal);
    if (conversion == STI_FOREIGN_HALF_REAL) return 2;
    return conversion >= STI_FOREIGN_ID_BYTE ? 4 : fx_size(conversion);
}

/*
 * first [pictures * worlds * ncamera]: the first element of each tile. job [njob * STI_FOREIGN_COLUMNS]. list: the
 * worlds; NULL: those from `start` on. `out` is aligned to 64 bytes.
 */
item_kernel void k_extract_foreign(const i64 *first, const i64 *job, const int *list, int start, int njob, int ncamera,
                                   u8 *out, int block)
{
    shared(ureal, value, FX_ROOM);
    shared(int, half, FX_ROOM);
    int k = 0;
    for (int i = 1; i < njob; ++i)
        if (block >= job[i * STI_FOREIGN_COLUMNS + STI_FOREIGN_BLOCK]) k = i;
    const i64 *j = job + k * STI_FOREIGN_COLUMNS;
    int at = block - (int)j[STI_FOREIGN_BLOCK], bands = (int)j[STI_FOREIGN_BANDS], index = at / bands;
    int world = list ? list[index] : start + index, conversion = (int)j[STI_FOREIGN_CONVERSION];
    int all = (int)(j[STI_FOREIGN_WIDTH] * j[STI_FOREIGN_HEIGHT] * j[STI_FOREIGN_CHANNELS]);
    int band = (int)j[STI_FOREIGN_BAND], begin = (at - index * bands) * band, n = nmin(band, all - begin);
    i64 tile = first[j[STI_FOREIGN_FIRST] + (i64)world * ncamera + j[STI_FOREIGN_CAMERA]];
    const u8 *from = out + j[STI_FOREIGN_FROM] + tile * fx_source_size(conversion);
    u8 *to = out + j[STI_FOREIGN_TO] + world * j[STI_FOREIGN_PITCH] + (i64)begin * fx_size(conversion);
    if (conversion <= STI_FOREIGN_COPY_8)
        fx_copy(conversion, from, to, begin, n, j);
    else if (conversion == STI_FOREIGN_BYTE_HALF || conversion == STI_FOREIGN_REAL_HALF)
        fx_halves(conversion, from, (u16 *)to, begin, n, j, value, half);
    else if (conversion == STI_FOREIGN_HALF_REAL)
        fx_numbers(from, (ureal *)to, begin, n, j, value, half);
    else
        fx_convert(conversion, from, to, begin, n, j);
}
