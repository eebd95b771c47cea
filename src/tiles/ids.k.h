/*
 * Numbers of ids, looked up in a table: classes, and colours as bytes. Kind item; a block is STI_IDS_BLOCK ids.
 *
 * table: nrow numbers of the ids from `first` on, then that of all other ids. Colours are packed, R G B A from the
 * lowest byte up.
 */
#include "stet/lang.h"

#define STET_IN_EVERY_SIM /* its code for a GPU is made with that of the others */
#include "tiles/conversion.h"

LFN int id_row(int id, int first, int nrow)
{
    u32 row = (u32)id - (u32)first;
    return row < (u32)nrow ? (int)row : nrow;
}

item_kernel void k_classify_ids(const int *ids, const int *table, int first, int nrow, i64 n, int *out, int block)
{
    i64 begin = (i64)block * STI_IDS_BLOCK, left = n - begin;
    int count = left < STI_IDS_BLOCK ? (int)left : STI_IDS_BLOCK;
    const int *from = ids + begin;
    int *to = out + begin;
    each (i, count) to[i] = table[id_row(from[i], first, nrow)];
}

item_kernel void k_colour_ids(const int *ids, const int *table, int first, int nrow, i64 n, int channels, u8 *out,
                              int block)
{
    i64 begin = (i64)block * STI_IDS_BLOCK, left = n - begin;
    int count = left < STI_IDS_BLOCK ? (int)left : STI_IDS_BLOCK;
    const int *from = ids + begin;
    u8 *to = out + begin * channels;
    each (i, count) {
        u32 colour = (u32)table[id_row(from[i], first, nrow)];
        for (int c = 0; c < channels; ++c) to[i * channels + c] = (u8)(colour >> (8 * c));
    }
}
