/*
 * Which tiles of H = L L' (hessian.k.h) its factor has: the pattern. Part of the kernels that include it, after
 * constraint.k.h.
 *
 * s has it from ph_pattern on: of each column of tiles the rows in which it has entries, and of each row the columns
 * before its own, as M_NWORD ints of bits each; of each column its level, and how many tiles it has; where each level
 * begins in the list; the list, 2^16 times the row plus the column. Columns of one level have nothing to do with each
 * other. Slots that are empty in a lane make a pattern too large for it, and tiles that are 0 throughout change no bit.
 */

LFN int ph_tile_columns(ph_world w) { return ph_pattern(w); }
LFN int ph_tile_rows(ph_world w) { return ph_pattern(w) + ntile(w) * nword(w); }
LFN int ph_tile_level(ph_world w) { return ph_pattern(w) + 2 * ntile(w) * nword(w); }
LFN int ph_tile_count(ph_world w) { return ph_tile_level(w) + ntile(w); }
LFN int ph_level_begin(ph_world w) { return ph_tile_count(w) + ntile(w); }
LFN int ph_tile_list(ph_world w) { return ph_level_begin(w) + 2 * ntile(w) + 2; }

/* The first run of set bits is from … to - 1; returns the bits behind it. */
LFN u32 ph_take_run(u32 bits, int *from, int *to)
{
    u32 above = bits + (bits & (0 - bits));
    *from = ph_lowest(bits);
    *to = above ? ph_lowest(above) : 32;
    return bits & above;
}

/* The lanes in which slot k holds. */
LFN mask ph_slot_holds(ph_world w, int k) { return m_not(eq(efc_D(w)[ph_slot_row(w, k)], splat(0))); }

/*
 * Columns of H as M and the active slots of the lanes `on` have them: a slot in that of its first dofs, which couple
 * all of its dofs.
 */
LFN void ph_mark_columns(ph_world w, mask on, int *columns)
{
    const int *list = w.ints + ph_active(w);
    int words = nword(w);
    each (k, ntile(w) * words) columns[k] = M_tiles(w)[k];
#if STET_GPU /* a thread has its columns to itself */
    sync();
    each (h, ntile(w)) {
        rolled
        for (int i = 0; i < ph_nactive(w); ++i) {
            const int *block = PH_BLOCK(ph_slot_block(w, list[i]));
            for (int k = 0; block[B_LOW] == h && k < words; ++k)
                columns[h * words + k] = columns[h * words + k] | (block + block[B_TILES])[k];
        }
    }
#else
    for (int i = 0; i < ph_nactive(w); ++i) {
        const int *block = PH_BLOCK(ph_slot_block(w, list[i]));
        int *column = columns + block[B_LOW] * words;
        if (!any(m_and(on, ph_slot_holds(w, list[i])))) continue;
        for (int k = 0; k < words; ++k) column[k] = column[k] | (block + block[B_TILES])[k];
    }
#endif
    sync();
}

/*
 * The factor's columns, and their levels: a column comes after those that have entries in its row. What is in a column
 * is in that of the first row below its own, too: the elimination tree (Davis, Direct Methods for Sparse Linear
 * Systems, 2006, section 4). In each (one, 1).
 */
LFN void ph_fill_columns(ph_world w, int *columns, int *level)
{
    int words = nword(w);
    rolled
    for (int h = 0; h < ntile(w); ++h) level[h] = 0;
    rolled
    for (int h = 0; h < ntile(w) - 1; ++h) {
        const int *column = columns + h * words;
        u32 own = 1u << (h & 31), bits = (u32)column[h >> 5] & ~own;
        int first = h >> 5;
        for (; !bits; bits = (u32)column[first]) first = first + 1;
        int next = 32 * first + ph_lowest(bits);
        for (int k = h >> 5; k < words; ++k)
            columns[next * words + k] = columns[next * words + k] | (int)((u32)column[k] & ~(k == h >> 5 ? own : 0));
        level[next] = nmax(level[next], level[h] + 1);
    }
}

#if STET_GPU
/*
 * Where the tiles of column h of n are in the list, and where its level begins there, tiles on the diagonal and the
 * others: begin[2 l], begin[2 l + 1].
 */
LFN void ph_list_column(ph_world w, int h, int n)
{
    const int *columns = w.ints + ph_tile_columns(w), *level = w.ints + ph_tile_level(w),
              *count = w.ints + ph_tile_count(w);
    int *begin = w.ints + ph_level_begin(w), *list = w.ints + ph_tile_list(w);
    int words = nword(w), own = level[h], first = 0, diagonals = 0, before = 0, others = 0, all = 0, last = 1;
    rolled
    for (int k = 0; k < n; ++k) {
        int l = level[k], tiles = count[k];
        if (l < own) first = first + tiles;
        if (l > own) last = 0;
        if (l != own) continue;
        diagonals = diagonals + 1;
        all = all + tiles;
        if (k < h) before = before + 1;
        if (k < h) others = others + tiles - 1;
    }
    if (before == 0) begin[2 * own] = first;
    if (before == 0) begin[2 * own + 1] = first + diagonals;
    if (before == 0 && last) begin[2 * own + 2] = first + all;
    if (before == 0 && last) w.ints[S_NLEVEL] = own + 1;
    list[first + before] = h << 16 | h;
    int to = first + diagonals + others;
    rolled
    for (int k = h >> 5; k < words; ++k) {
        u32 bits = (u32)columns[h * words + k];
        rolled
        for (; bits; bits = bits & (bits - 1)) {
            int g = 32 * k + ph_lowest(bits);
            if (g > h) list[to] = g << 16 | h;
            to = to + (g > h);
        }
    }
}

/* The rows of the factor, and the list. A thread has a row, or a column, to itself. */
LFN void ph_list_tiles(ph_world w, int n)
{
    int words = nword(w), *count = w.ints + ph_tile_count(w), *rows = w.ints + ph_tile_rows(w);
    const int *columns = w.ints + ph_tile_columns(w);
    each (h, n) {
        int tiles = 0;
        rolled
        for (int k = 0; k < words; ++k) rolled
        for (u32 bits = (u32)columns[h * words + k]; bits; bits = bits & (bits - 1)) tiles = tiles + 1;
        count[h] = tiles;
    }
    each (g, ntile(w)) {
        rolled
        for (int k = 0; k < words; ++k) {
            u32 bits = 0;
            rolled
            for (int h = 32 * k; h < nmin(32 * k + 32, g); ++h)
                bits = bits | ((u32)columns[h * words + (g >> 5)] >> (g & 31) & 1) << (h & 31);
            rows[g * words + k] = (int)bits;
        }
    }
    sync();
    each (h, n) ph_list_column(w, h, n);
    sync();
}
#else
/*
 * The same, tile by tile: the rows, levels, where each level begins in the list (its tiles on the diagonal, the
 * others), the list.
 */
LFN void ph_list_tiles(ph_world w, int n)
{
    int words = nword(w), nlevel = 0, *rows = w.ints + ph_tile_rows(w), *level = w.ints + ph_tile_level(w);
    int *begin = w.ints + ph_level_begin(w), *list = w.ints + ph_tile_list(w);
    const int *columns = w.ints + ph_tile_columns(w);
    for (int k = 0; k < ntile(w) * words; ++k) rows[k] = 0;
    for (int k = 0; k < ntile(w); ++k) level[k] = 0;
    for (int k = 0; k < 2 * ntile(w) + 2; ++k) begin[k] = 0;
    for (int pass = 0; pass < 2; ++pass) {
        rolled
        for (int h = 0; h < n; ++h) {
            int *next = begin + 2 * level[h] + 2 - pass;
            nlevel = nmax(nlevel, level[h] + 1);
            rolled
            for (int k = h >> 5; k < words; ++k) {
                rolled
                for (u32 bits = (u32)columns[h * words + k]; bits; bits = bits & (bits - 1)) {
                    int g = 32 * k + ph_lowest(bits), *to = next + (g > h);
                    if (pass)
                        list[*to] = g << 16 | h;
                    else if (g > h) {
                        rows[g * words + (h >> 5)] = rows[g * words + (h >> 5)] | ph_contact_bit(1, h & 31);
                        level[g] = nmax(level[g], level[h] + 1);
                    }
                    *to = *to + 1;
                }
            }
        }
        /* how many there are two before become where the one before begins, which moves to where it ends */
        for (int k = 2; !pass && k < 2 * nlevel + 2; ++k) begin[k] = begin[k] + begin[k - 1];
    }
    w.ints[S_NLEVEL] = nlevel;
}
#endif

/*
 * The pattern of H and its factor, for the active slots and the lanes `on`. Of many trees each lane has its own
 * factor's columns found, and all have what one of them has: contacts of many lanes together would make one heap of
 * what are heaps apart in each, and fill its factor.
 */
LFN void ph_find_pattern(ph_world w, mask on)
{
    int *columns = w.ints + ph_tile_columns(w), *level = w.ints + ph_tile_level(w), words = ntile(w) * nword(w);
    int lanes = nword(w) > 1 ? STET_W : 1, *own = lanes > 1 ? w.ints + ph_tile_rows(w) : columns;
    if (lanes > 1)
        for (int k = 0; k < words; ++k) columns[k] = 0;
    for (int i = 0; i < lanes; ++i) {
        mask of = lanes > 1 ? m_and(on, ieq(lane(), isplat(i))) : on;
        if (!any(of)) continue;
        ph_mark_columns(w, of, own);
        each (one, 1) ph_fill_columns(w, own, level);
        sync();
        for (int k = 0; lanes > 1 && k < words; ++k) columns[k] = columns[k] | own[k];
    }
    ph_list_tiles(w, (nplace(w) + 3) >> 2);
}
