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

/*
 * Adds a patch's colours to the sums of its samples, or begins them. A sum is two words of 16 bits a channel: red and
 * blue, green and alpha. After the last sample the colours are the means, halves up.
 */
LFN void add_sample(int px, int py, int width, int height, int side, int s, int *sum, int *colour, const i64 *first,
                    const int *pitch, i64 entry)
{
    lint bytes = isplat(0xff00ff), half = isplat(side * side / 2 * 0x10001);
    items(p, PIXELS)
    {
        int x = px + p % PATCH, y = py + p / PATCH;
        if (x >= width || y >= height) continue;
        int *at = colour + pixel_at(first, pitch, entry, x, y);
        lint word = load_colours(at, width - x), even = word & bytes, odd = ishr(word, 8) & bytes;
        if (s > 0) {
            even = even + iload(sum + p);
            odd = odd + iload(sum + PIXELS + p);
        }
        istore(sum + p, even);
        istore(sum + PIXELS + p, odd);
        if (s < side * side - 1) continue;
        int shift = side == 4 ? 4 : 2;
        even = ishr(even + half, shift) & bytes;
        odd = ishr(odd + half, shift) & bytes;
        istore_if(in_range(x, width), at, even | ishl(odd, 8));
    }
}
