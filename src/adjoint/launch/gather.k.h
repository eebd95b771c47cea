/*
 * Kernels that sort listed gradients by destination and add them up; see gather.h. Kind item.
 *
 * The sort is a stable radix sort by four bits of the place a round. Each worker counts the digits of its own entries.
 * A sum over (digit, worker) gives the position of its first entry of each digit, and the worker moves its entries
 * there one after the other. The number of entries is known only on the device (`n`), and a worker whose entries would
 * be behind the end does nothing. A worker is an iteration, not a thread, so nothing depends on the number of threads.
 */
#include "stet/lang.h"

#include "adjoint/launch/gather_sizes.h"

/* ---- entries of one parameter, items in their order ---- */

/*
 * counts[item] = entries of this code that the item listed; destinations [blocks][depth][width], nitem = blocks *
 * width.
 */
item_kernel void k_gather_count(const i64 *destinations, i64 *counts, i64 nitem, int depth, int width, int code,
                                int block)
{
    each (i, GATHER_WORKERS) {
        i64 item = (i64)block * GATHER_WORKERS + i, count = 0;
        if (item >= nitem) continue;
        i64 first = item / width * depth * width + item % width;
        for (int k = 0; k < depth; ++k) {
            i64 d = destinations[first + (i64)k * width];
            if (d >= 0 && d % GATHER_CODES == code) count += 1;
        }
        counts[item] = count;
    }
}

/* Copies the entries of each item, from position counts[item] on. */
item_kernel void k_gather_take(const i64 *destinations, const ureal *values, const i64 *counts, i64 *place,
                               ureal *value, i64 nitem, int depth, int width, int code, int block)
{
    each (i, GATHER_WORKERS) {
        i64 item = (i64)block * GATHER_WORKERS + i;
        if (item >= nitem) continue;
        i64 first = item / width * depth * width + item % width, to = counts[item];
        for (int k = 0; k < depth; ++k) {
            i64 at = first + (i64)k * width, d = destinations[at];
            if (d < 0 || d % GATHER_CODES != code) continue;
            place[to] = d / GATHER_CODES;
            value[to] = values[at];
            to += 1;
        }
    }
}

/* ---- sums before each element ---- */

/* sums[p] = sum of piece p of a [n]. */
item_kernel void k_gather_sums(const i64 *a, i64 *sums, i64 n, i64 npiece, int block)
{
    each (i, GATHER_WORKERS) {
        i64 p = (i64)block * GATHER_WORKERS + i, sum = 0;
        if (p >= npiece) continue;
        for (int k = 0; k < GATHER_PIECE; ++k)
            if (p * GATHER_PIECE + k < n) sum += a[p * GATHER_PIECE + k];
        sums[p] = sum;
    }
}

/* Replaces a[j] by the sum of the elements before it. sums[p] is the sum before piece p. */
item_kernel void k_gather_before(i64 *a, const i64 *sums, i64 n, i64 npiece, int block)
{
    each (i, GATHER_WORKERS) {
        i64 p = (i64)block * GATHER_WORKERS + i;
        if (p >= npiece) continue;
        i64 sum = sums[p];
        for (int k = 0; k < GATHER_PIECE; ++k) {
            i64 j = p * GATHER_PIECE + k;
            if (j >= n) continue;
            i64 own = a[j];
            a[j] = sum;
            sum += own;
        }
    }
}

/* The same for a [n], n <= GATHER_PIECE, by one worker; total[0] = the sum of all elements. */
item_kernel void k_gather_top(i64 *a, i64 *total, int n)
{
    each (one, 1) {
        i64 sum = 0;
        for (int j = 0; j < n; ++j) {
            i64 own = a[j];
            a[j] = sum;
            sum += own;
        }
        total[0] = sum;
    }
}

/* ---- a round of the sort ---- */

LFN int gather_digit(i64 place, int shift) { return (int)((place >> shift) & (GATHER_DIGITS - 1)); }

/* counts[digit * nworker + worker] */
item_kernel void k_gather_digits(const i64 *place, const i64 *n, i64 *counts, i64 nworker, int shift, int block)
{
    each (i, GATHER_WORKERS) {
        i64 worker = (i64)block * GATHER_WORKERS + i, from = worker * GATHER_RUN;
        int count[GATHER_DIGITS];
        if (worker >= nworker) continue;
        for (int d = 0; d < GATHER_DIGITS; ++d) count[d] = 0;
        for (int k = 0; k < GATHER_RUN; ++k) {
            if (from + k >= n[0]) break;
            count[gather_digit(place[from + k], shift)] += 1;
        }
        for (int d = 0; d < GATHER_DIGITS; ++d) counts[d * nworker + worker] = count[d];
    }
}

/* Moves the entries to the positions in counts, which holds prefix sums by now. */
item_kernel void k_gather_move(const i64 *place, const ureal *value, const i64 *n, const i64 *counts, i64 *to_place,
                               ureal *to_value, i64 nworker, int shift, int block)
{
    each (i, GATHER_WORKERS) {
        i64 worker = (i64)block * GATHER_WORKERS + i, from = worker * GATHER_RUN;
        i64 next[GATHER_DIGITS];
        if (worker >= nworker || from >= n[0]) continue;
        for (int d = 0; d < GATHER_DIGITS; ++d) next[d] = counts[d * nworker + worker];
        for (int k = 0; k < GATHER_RUN; ++k) {
            if (from + k >= n[0]) break;
            int d = gather_digit(place[from + k], shift);
            to_place[next[d]] = place[from + k];
            to_value[next[d]] = value[from + k];
            next[d] += 1;
        }
    }
}

/* ---- what the owners add ---- */

/* The first entry with the place of entry `at`. */
LFN i64 gather_first(const i64 *place, i64 at)
{
    i64 low = 0, high = at;
    for (; low < high;) {
        i64 middle = low + (high - low) / 2;
        if (place[middle] < place[at])
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sums up pieces: sum[j] of every GATHER_PIECE-th entry of a place is the sum of that entry and those behind it. */
item_kernel void k_gather_pieces(const i64 *place, const ureal *value, const i64 *n, ureal *sum, int block)
{
    each (i, GATHER_WORKERS) {
        i64 from = ((i64)block * GATHER_WORKERS + i) * GATHER_RUN;
        if (from >= n[0]) continue;
        i64 first = gather_first(place, from);
        for (i64 j = from; j < from + GATHER_RUN; ++j) {
            if (j >= n[0]) break;
            if (place[j] != place[first]) first = j;
            if ((j - first) % GATHER_PIECE != 0) continue;
            ureal s = value[j];
            for (i64 k = j + 1; k < j + GATHER_PIECE; ++k) {
                if (k >= n[0] || place[k] != place[j]) break;
                s = s + value[k];
            }
            sum[j] = s;
        }
    }
}

/* The sum of all entries with the place of entry j, from the sums of its pieces in their order. */
LFN ureal gather_total(const i64 *place, const ureal *sum, i64 n, i64 j)
{
    ureal s = sum[j];
    for (i64 k = j + GATHER_PIECE; k < n; k += GATHER_PIECE) {
        if (place[k] != place[j]) break;
        s = s + sum[k];
    }
    return s;
}

/* Gives NaN one bit pattern in memory. */
LFN ureal gather_canonical(ureal x)
{
    ureal lanes[STET_W];
    store(lanes, splat(x));
    return lanes[0];
}

item_kernel void k_gather_add(const i64 *place, const ureal *sum, const i64 *n, ureal *gradient, int block)
{
    each (i, GATHER_WORKERS) {
        i64 from = ((i64)block * GATHER_WORKERS + i) * GATHER_RUN;
        for (i64 j = from; j < from + GATHER_RUN; ++j) {
            if (j >= n[0]) break;
            if (j > 0 && place[j - 1] == place[j]) continue;
            gradient[place[j]] = gather_canonical(gradient[place[j]] + gather_total(place, sum, n[0], j));
        }
    }
}

/* The same for an array of worlds with `nitem` elements a world. */
item_kernel void k_gather_add_worlds(const i64 *place, const ureal *sum, const i64 *n, wreal *gradient, int nitem,
                                     int block)
{
    each (i, GATHER_WORKERS) {
        i64 from = ((i64)block * GATHER_WORKERS + i) * GATHER_RUN;
        for (i64 j = from; j < from + GATHER_RUN; ++j) {
            if (j >= n[0]) break;
            if (j > 0 && place[j - 1] == place[j]) continue;
            int world = (int)(place[j] / nitem), item = (int)(place[j] % nitem);
            of_world(gradient, nitem, world, item) =
                gather_canonical(of_world(gradient, nitem, world, item) + gather_total(place, sum, n[0], j));
        }
    }
}

/* ---- shares of worlds ---- */

/*
 * sum[i] = sum of shares over all worlds [nworld][nitem]. Worker k adds up the worlds k, k + 32, … in their order. Then
 * the upper half of the workers is added to the lower, until one is left.
 */
item_kernel void k_sum_worlds(ureal *sum, const wreal *shares, i64 nitem, int nworld, int block)
{
    shared(ureal, part, SUM_ITEMS * SUM_WORKERS);
    each (g, SUM_ITEMS * SUM_WORKERS) {
        i64 item = (i64)block * SUM_ITEMS + g % SUM_ITEMS;
        ureal s = 0;
        if (item < nitem)
            for (int w = g / SUM_ITEMS; w < nworld; w += SUM_WORKERS) s = s + of_world(shares, nitem, w, (int)item);
        part[g] = s;
    }
    sync();
    for (int half = SUM_ITEMS * SUM_WORKERS / 2; half >= SUM_ITEMS; half /= 2) {
        each (g, half) part[g] = part[g] + part[g + half];
        sync();
    }
    each (g, SUM_ITEMS) {
        i64 item = (i64)block * SUM_ITEMS + g;
        if (item < nitem) sum[item] = gather_canonical(part[g]);
    }
}
