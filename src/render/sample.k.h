/*
 * Several samples a pixel, for colours: a rotated grid of side x side rays, whose bytes are averaged as by OpenGL's
 * multisampling. No two of them have the same place across or down, and each is in its own part of the pixel. Part of
 * render.k.h.
 */

/* The view whose rays go through sample `s` of each pixel instead of its centre; the view itself with side 1. */
LFN void sample_view(const ureal *view, int side, int s, ureal *out)
{
    int across = s, down = s % side * side + side - 1 - s / side;
    ureal half = (ureal)0.5, step = 1 / (ureal)(side * side);
    for (int k = 0; k < VIEW_SIZE; ++k) out[k] = view[k];
    out[VIEW_LENS + 2] -= ((ureal)across + half) * step - half;
    out[VIEW_LENS + 5] -= ((ureal)down + half) * step - half;
}

/* Colours of a row's pixels that the same lanes wrote before. at: the first one's; pixels past `n` are 0. */
LFN lint load_colours(const int *at, int n)
{
    lint word = isplat(0);
    for (int l = 0; l < STET_W; ++l) {
        lint own = isplat(l < n ? at[l] : 0);
        word = iselect(ieq(lane(), isplat(l)), own, word);
    }
    return word;
}

#define LIGHT_MOST 4095 /* of a channel: 16 samples of it fit into 16 bits */

/* Red and blue, green and alpha of bytes as light. */
LFN void light_of_colours(lint word, lint *even, lint *odd)
{
    real rgb[3];
    lint light[3];
    unpack_bytes(word, rgb);
    for (int k = 0; k < 3; ++k) light[k] = to_int(rint(linear_of_srgb(rgb[k]) * splat(LIGHT_MOST)));
    *even = light[0] | ishl(light[2], 16);
    *odd = light[1] | ishl(ishr(word, 24), 16);
}

/* The bytes of such sums of a pixel's samples. */
LFN lint colours_of_light(lint even, lint odd, int side)
{
    lint sum[3] = {even & isplat(0xffff), odd & isplat(0xffff), ishr(even, 16)}, half = isplat(side * side / 2);
    real rgb[3];
    for (int k = 0; k < 3; ++k)
        rgb[k] = srgb_of_linear(to_real(sum[k]) * splat((ureal)(1.0 / LIGHT_MOST) / (ureal)(side * side)));
    return pack_bytes(rgb, ishr(ishr(odd, 16) + half, side == 4 ? 4 : 2));
}

/*
 * Adds a patch's colours to the sums of its samples, or begins them. A sum is two words of 16 bits a channel: red and
 * blue, green and alpha. After the last sample the colours are the means, halves up. In mode physical channels are
 * linear light of 12 bits, rounded.
 */
LFN void add_sample(rd_world w, rd_patch patch, rd_hits hits, rd_pictures out, int side, int s)
{
    int physical = is_physical(w);
    lint bytes = isplat(0xff00ff), half = isplat(side * side / 2 * 0x10001);
    items (p, PIXELS) {
        int x = patch.x + p % PATCH, y = patch.y + p / PATCH;
        if (x >= patch.width || y >= patch.height) continue;
        int *at = out.colour + pixel_at(out, BUFFER_COLOUR, x, y);
        lint word = load_colours(at, patch.width - x), even = word & bytes, odd = ishr(word, 8) & bytes;
        if (physical) light_of_colours(word, &even, &odd);
        if (s > 0) {
            even = even + iload(hits.sum + p);
            odd = odd + iload(hits.sum + PIXELS + p);
        }
        istore(hits.sum + p, even);
        istore(hits.sum + PIXELS + p, odd);
        if (s < side * side - 1) continue;
        if (physical) {
            istore_if(in_range(x, patch.width), at, colours_of_light(even, odd, side));
            continue;
        }
        int shift = side == 4 ? 4 : 2;
        even = ishr(even + half, shift) & bytes;
        odd = ishr(odd + half, shift) & bytes;
        istore_if(in_range(x, patch.width), at, even | ishl(odd, 8));
    }
}
