/*
 * Depths as colours. Kind item; a block is STI_DEPTHS_BLOCK depths.
 *
 * The ramp goes by 1 / depth. near: 1 / the nearest depth; steps: pieces of the ramp for a unit of 1 / depth.
 */
#include "stet/lang.h"

#define STET_IN_EVERY_SIM /* its code for a GPU is made with that of the others */
#include "tiles/depth_ramp.h"

LFN ureal ramp_part(ureal x, int piece)
{
    ureal part = x - (ureal)piece;
    return umin(umax(part, 0), 1);
}

LFN int ramp_byte(ureal x, ureal first, ureal second, ureal third, ureal fourth, ureal fifth)
{
    ureal c = ufma(ramp_part(x, 0), second - first, first);
    c = ufma(ramp_part(x, 1), third - second, c);
    c = ufma(ramp_part(x, 2), fourth - third, c);
    c = ufma(ramp_part(x, 3), fifth - fourth, c);
    return (int)ufma(c, 255, (ureal)0.5);
}

item_kernel void k_colour_depths(const ureal *depth, ureal near, ureal steps, i64 n, int channels, u8 *out, int block)
{
    i64 begin = (i64)block * STI_DEPTHS_BLOCK, left = n - begin;
    int count = left < STI_DEPTHS_BLOCK ? (int)left : STI_DEPTHS_BLOCK;
    const ureal *from = depth + begin;
    u8 *to = out + begin * channels;
    each (i, count) {
        ureal d = from[i], x = (near - 1 / umax(d, (ureal)STI_DEPTH_LEAST)) * steps;
        int hit = d - d == 0;
        to[i * channels] = (u8)(hit ? ramp_byte(x, STI_RAMP_RED) : 0);
        to[i * channels + 1] = (u8)(hit ? ramp_byte(x, STI_RAMP_GREEN) : 0);
        to[i * channels + 2] = (u8)(hit ? ramp_byte(x, STI_RAMP_BLUE) : 0);
        if (channels == 4) to[i * channels + 3] = (u8)(hit ? 255 : 0);
    }
}
