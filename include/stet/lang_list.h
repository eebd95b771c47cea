/*
 * Lists of gradients. Iterations of an `each` list what they add to elements that several of them may share; the list
 * is then added up in one fixed order. Adjoints use this (doc/design/adjoint.md). Included by lang.h only.
 *
 * A list is two arrays [depth][width]. Entry k = 1, 2, … of iteration j is at [(depth - k) * width + j]: its value in
 * `values`, its element in `places` (listed_place; -1: the entry was removed). places[top * width + j] is the number of
 * entries of iteration j.
 *
 * Invariant: each element gets its entries one after the other, iterations in order, and the entries of an iteration in
 * the order in which it listed them. So no bit depends on the size of a team, and the result is that of a serial loop
 * that adds each entry at once.
 */
#ifndef STET_LANG_LIST_H
#define STET_LANG_LIST_H
#ifndef STET_LANG_H
#include "lang.h"
#endif

/* Identifies the element a[i] of any array; never -1. */
LFN i64 listed_place(const real *a, i64 i) { return (i64)(unsigned long)(a + i); }

/*
 * sum + values[0] + values[1] …, in this order. The values are contiguous and visible to all threads, for example
 * shares of an each's iterations. A GPU thread loads four at a time.
 */
LFN real sum_listed(const real *values, int count, real sum)
{
    int j = 0;
#if STET_GPU

/*
 * Functions of a list are long, and a fused kernel uses several. So each is compiled once and called, not inlined. A
 * test may define its own qualifier.
 */
#if defined(STI_LIST_FUNCTION)
#elif defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define STI_LIST_FUNCTION static __device__ __noinline__
#else
#define STI_LIST_FUNCTION LFN
#endif
    for (; j < count && ((unsigned long)(values + j) & (4 * sizeof *values - 1)) != 0; ++j) sum = sum + values[j];
    for (; j + 4 <= count; j += 4) {
        real v[4];
        load4(values, j, v);
        sum = sum + v[0];
        sum = sum + v[1];
        sum = sum + v[2];
        sum = sum + v[3];
    }
#endif
    for (; j < count; ++j) sum = sum + values[j];
    return sum;
}

#if STET_GPU

/* An element that differs by lane. On a GPU a lane is a thread. */
LFN i64 listed_lanes(const real *a, lint i) { return listed_place(a, i); }

/*
 * One warp processes a list: the first warp of a team, or all threads of a team that is smaller than a warp. All of
 * them must call each of the three operations below, which exchange words between lanes. `lanes` is the mask of these
 * lanes, counted within their warp; AMD's 64 lanes count as two halves.
 */
#define STI_LIST_LANES (STET_TEAM < 32 ? STET_TEAM : 32)
/* Groups with more entries than this for one element take another path; see sti_list_sum. */
#define STI_LIST_FEW 6

LFN unsigned sti_list_first(void) { return STET_TEAMS > 1 ? (threadIdx.y * STET_TEAM) & 31u : 0u; }
LFN unsigned sti_list_lanes(void)
{
    return (STI_LIST_LANES == 32 ? 0xffffffffu : (1u << (STI_LIST_LANES & 31)) - 1u) << sti_list_first();
}

/* x of another lane; the mask of lanes in which `yes` is true. A test may define its own. */
#if !defined(sti_from_lane) && defined(__HIPCC_RTC__)
#define sti_from_lane(lanes, x, from) ((unsigned)__shfl((int)(x), (int)(from), 32))
#define sti_vote(lanes, yes) ((unsigned)(__ballot(yes) >> (__lane_id() & 32u)) & (lanes))
#elif !defined(sti_from_lane)
#define sti_from_lane(lanes, x, from) __shfl_sync(lanes, (unsigned)(x), (int)(from))
#define sti_vote(lanes, yes) __ballot_sync(lanes, yes)
#endif

LFN u64 sti_wide_from_lane(unsigned lanes, u64 x, unsigned from)
{
    u64 low = sti_from_lane(lanes, (unsigned)x, from), high = sti_from_lane(lanes, (unsigned)(x >> 32), from);
    return high << 32 | low;
}

LFN real sti_real_from_lane(unsigned lanes, real x, unsigned from)
{
#if STET_DOUBLE
    return from_bits((sti_bits)sti_wide_from_lane(lanes, (u64)as_bits(x), from));
#else
    return from_bits((sti_bits)sti_from_lane(lanes, (unsigned)as_bits(x), from));
#endif
}

/* The mask of lanes that have the same x. */
#if defined(__CUDACC_RTC__) && !(defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 700)
LFN unsigned sti_list_same(unsigned lanes, u64 x) { return __match_any_sync(lanes, x); }
#else
/*
 * Elements of few arrays differ from the first lane's in a few bits only, so one vote for each differing bit is enough.
 */
LFN unsigned sti_list_same(unsigned lanes, u64 x)
{
    unsigned first = sti_list_first(), me = threadIdx.x, same = lanes;
    u64 differ = x ^ sti_wide_from_lane(lanes, x, first);
    for (unsigned step = 1; step < STI_LIST_LANES; step *= 2)
        differ |= sti_wide_from_lane(lanes, differ, first + (me + step) % STI_LIST_LANES);
    for (; differ != 0; differ &= differ - 1) {
        int bit = __ffsll((long long)differ) - 1;
        unsigned set = sti_vote(lanes, (int)(x >> bit & 1));
        same &= (x >> bit & 1) ? set : ~set;
    }
    return same;
}
#endif

/* sum + the values of the lanes in `same`, in lane order. */
LFN real sti_list_sum(unsigned lanes, unsigned same, real sum, real value)
{
    if (sti_vote(lanes, (same & (same - 1)) != 0) == 0) return same ? sum + value : sum;
    if (sti_vote(lanes, __popc(same) > STI_LIST_FEW) == 0) {
        for (unsigned rest = same; sti_vote(lanes, rest != 0) != 0; rest &= rest - 1) {
            real v = sti_real_from_lane(lanes, value, rest ? (unsigned)__ffs((int)rest) - 1 : sti_list_first());
            if (rest) sum = sum + v;
        }
        return sum;
    }
    /* The lane numbers are known in advance, so the exchanges overlap. */
    for (unsigned l = 0; l < STI_LIST_LANES; ++l) {
        real v = sti_real_from_lane(lanes, value, sti_list_first() + l);
        if (same >> (sti_list_first() + l) & 1) sum = sum + v;
    }
    return sum;
}

typedef struct sti_listed {
    i64 place; /* -1: none */
    real value;
} sti_listed;

/* Adds one entry per lane, in lane order. */
LFN void sti_list_add(unsigned lanes, sti_listed e)
{
    unsigned some = sti_vote(lanes, e.place != -1);
    if (some == 0) return;
    /* A lane without an entry uses the place of a lane that has one, so it adds no further bits to compare. */
    i64 place = e.place;
    if (some != lanes) {
        i64 other = (i64)sti_wide_from_lane(lanes, (u64)e.place, (unsigned)__ffs((int)some) - 1);
        if (e.place == -1) place = other;
    }
    real *at = (real *)(unsigned long)place;
    unsigned same = sti_list_same(lanes, (u64)place) & some;
    if (e.place == -1) same = 0;
    real sum = sti_list_sum(lanes, same, same ? *at : 0, e.value);
    bool first = same != 0 && (unsigned)__ffs((int)same) - 1 == sti_list_first() + threadIdx.x;
    if (first) *at = canon(sum);
    sti_sync_lanes(lanes);
}

/* Entry i of `total` entries of these iterations; `end` is each lane's running sum of their counts. */
LFN sti_listed sti_list_entry(const real *values, const i64 *places, int width, int depth, int end, int i, int total)
{
    unsigned lanes = sti_list_lanes(), first = sti_list_first();
    int j = 0, before = 0;
    for (int step = 16; step > 0; step /= 2) {
        if (step >= STI_LIST_LANES) continue;
        bool there = j + step < STI_LIST_LANES;
        int sum = (int)sti_from_lane(lanes, end, first + (unsigned)(there ? j + step - 1 : 0));
        if (there && sum <= i) {
            j += step;
            before = sum;
        }
    }
    if (i >= total) return {-1, 0};
    i64 slot = (i64)(depth - 1 - (i - before)) * width + j;
    return {places[slot], values[slot]};
}

/*
 * Adds the entries of as many iterations as there are lanes; n is the count of this lane's iteration. The next entries
 * are loaded while the present ones are added.
 */
LFN void sti_list_columns(const real *values, const i64 *places, int width, int depth, int n)
{
    unsigned lanes = sti_list_lanes(), first = sti_list_first();
    int me = (int)threadIdx.x, end = n;
    for (int step = 1; step < STI_LIST_LANES; step *= 2) {
        int sum = (int)sti_from_lane(lanes, end, first + (unsigned)(me >= step ? me - step : me));
        if (me >= step) end += sum;
    }
    int total = (int)sti_from_lane(lanes, end, first + STI_LIST_LANES - 1);
    if (total == 0) return;
    sti_listed next = sti_list_entry(values, places, width, depth, end, me, total);
    for (int i = STI_LIST_LANES; i - STI_LIST_LANES < total; i += STI_LIST_LANES) {
        sti_listed e = next;
        if (i < total) next = sti_list_entry(values, places, width, depth, end, i + me, total);
        sti_list_add(lanes, e);
    }
}

/* Adds up the list of `count` iterations. The whole team must call it, with sync() before and after. */
STI_LIST_FUNCTION void add_listed(const real *values, const i64 *places, int top, int count, int width, int depth)
{
    const i64 *counts = places + (i64)top * width;
    int me = (int)threadIdx.x;
    if (me >= STI_LIST_LANES) return;
    int next = me < count ? (int)counts[me] : 0;
    for (int j = 0; j < count; j += STI_LIST_LANES) {
        int n = next, after = j + STI_LIST_LANES + me;
        next = after < count ? (int)counts[after] : 0;
        sti_list_columns(values + j, places + j, width, depth, n);
    }
}
/* The same if some entries are lane vectors: `at` has the element of each. */
LFN void add_listed_lanes(const real *values, const lint *at, const i64 *places, int top, int count, int width,
                          int depth)
{
    (void)at;
    add_listed(values, places, top, count, width, depth);
}

/* Values of a row that a lane loads at a time. */
#define STI_PLANNED_DEEP 8
#define STI_PLANNED_ROOM (STI_LIST_LANES * STI_PLANNED_DEEP)

/* Loads as many values of a row as fit into shared memory of the team. Unused places are -0, which adds nothing. */
LFN void sti_planned_fetch(real *room, const real *values, const int *slot, int n)
{
    int at[STI_PLANNED_DEEP], me = (int)(threadIdx.x % STI_LIST_LANES);
#pragma unroll
    for (int d = 0; d < STI_PLANNED_DEEP; ++d) {
        int k = d * STI_LIST_LANES + me;
        at[d] = k < n ? slot[k] : -1;
    }
#pragma unroll
    for (int d = 0; d < STI_PLANNED_DEEP; ++d) room[d * STI_LIST_LANES + me] = at[d] >= 0 ? values[at[d]] : -(real)0;
}

/*
 * sum + the n values in these slots, in order, computed by all lanes of a warp; each lane gets the sum. Values go from
 * lane to lane through shared memory, which returns four to all lanes in one read; lane shuffles take three times as
 * long.
 */
LFN real sti_planned_sum(real sum, const real *values, const int *slot, int n)
{
    __shared__ __attribute__((aligned(16)))
    real rooms[(STET_TEAM * STET_TEAMS + STI_LIST_LANES - 1) / STI_LIST_LANES][STI_PLANNED_ROOM];
    real *room = rooms[(threadIdx.y * STET_TEAM + threadIdx.x) / STI_LIST_LANES];
    for (int i = 0; i < n; i += STI_PLANNED_ROOM) {
        int rest = n - i < STI_PLANNED_ROOM ? n - i : STI_PLANNED_ROOM;
        sti_planned_fetch(room, values, slot + i, rest);
        sti_sync_lanes(sti_list_lanes());
        for (int k = 0; k < rest; k += 16) {
            real v[16];
#pragma unroll
            for (int q = 0; q < 16; q += 4) load4(room, k + q, v + q);
#pragma unroll
            for (int q = 0; q < 16; ++q) sum = sum + v[q];
        }
        sti_sync_lanes(sti_list_lanes());
    }
    return sum;
}

/* A row of a plan: the entries that are added to one element. Its first four slots are loaded with it. */
typedef struct sti_planned_row {
    int element, first, n, slot[4];
} sti_planned_row;

LFN sti_planned_row sti_read_row(const int *plan, const int *row, int r, int rows)
{
    sti_planned_row x = {0, 0, 0, {0, 0, 0, 0}};
    if (r >= rows) return x;
    x.element = row[3 * r], x.first = row[3 * r + 1], x.n = row[3 * r + 2];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        if (k < x.n) x.slot[k] = plan[x.first + k];
    return x;
}

LFN real sti_planned_add(real sum, const real *values, const int *plan, const sti_planned_row *x)
{
    real v[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) v[k] = k < x->n ? values[x->slot[k]] : -(real)0;
#pragma unroll
    for (int k = 0; k < 4; ++k) sum = sum + v[k];
    for (int i = 4; i < x->n; i += 4) {
#pragma unroll
        for (int k = 0; k < 4; ++k) v[k] = i + k < x->n ? values[plan[x->first + i + k]] : -(real)0;
#pragma unroll
        for (int k = 0; k < 4; ++k) sum = sum + v[k];
    }
    return sum;
}

/*
 * Adds the listed entries of the elements of one array, by a plan. plan[array] is where the array's part begins: the
 * number of rows with many entries, the number of rows, then each row (element, start of its slots in the plan, number
 * of slots), those with many entries first. A warp adds a row with many entries and loads them in parallel. A single
 * thread adds any other row and loads its next row while the values arrive. The whole team must call it, with sync()
 * before and after.
 */
STI_LIST_FUNCTION void add_planned(real *a, const real *values, const int *plan, int array)
{
    const int *row = plan + plan[array] + 2;
    int many = row[-2], rows = row[-1], warp = (int)threadIdx.x / STI_LIST_LANES;
    int warps = STET_TEAM / STI_LIST_LANES; /* whole ones */
    for (int r = (warp + array) % (warps > 0 ? warps : 1); warp < warps && r < many;
         r += warps) { /* arrays of one row each start at different warps */
        real sum = sti_planned_sum(a[row[3 * r]], values, plan + row[3 * r + 1], row[3 * r + 2]);
        if (threadIdx.x % STI_LIST_LANES == 0) a[row[3 * r]] = canon(sum);
    }
    int r = many + (int)threadIdx.x;
    sti_planned_row next = sti_read_row(plan, row, r, rows);
    for (; r < rows; r += STET_TEAM) {
        sti_planned_row x = next;
        real sum = a[x.element];
        next = sti_read_row(plan, row, r + STET_TEAM, rows);
        a[x.element] = canon(sti_planned_add(sum, values, plan, &x));
    }
}

#else

/* Only GPUs have plans. */
LFN void add_planned(real *a, const real *values, const int *plan, int array)
{
    (void)a, (void)values, (void)plan, (void)array;
}

/* An element that differs by lane: the marked array; the element numbers are stored beside it. */
LFN i64 listed_lanes(const real *a, lint i)
{
    (void)i;
    return listed_place(a, 0) + 1;
}

/* Adds a value to the element at a place, or each lane's value to its own element of the array there. */
LFN void sti_list_add(i64 place, const lint *at, real value)
{
    if (place == -1) return;
    real *a = (real *)(unsigned long)(place & ~1ll);
    if (at && place & 1) {
        STI_LANES(l)
        {
            real sum = a[STI_LANE(*at, l)] + value;
            STI_LANE(a[STI_LANE(*at, l)], l) = STI_LANE(canon(sum), l);
        }
    } else {
        a[0] = canon(a[0] + value);
    }
}

/*
 * Adds up the list of `count` iterations if the order is permuted. Otherwise nothing is listed: each entry was added at
 * once.
 */
LFN void add_listed_lanes(const real *values, const lint *at, const i64 *places, int top, int count, int width,
                          int depth)
{
    for (int j = 0; STET_PERMUTE && j < count; ++j)
        for (int k = 1; k <= (int)places[(i64)top * width + j]; ++k) {
            i64 slot = (i64)(depth - k) * width + j;
            sti_list_add(places[slot], at ? at + slot : 0, values[slot]);
        }
}
LFN void add_listed(const real *values, const i64 *places, int top, int count, int width, int depth)
{
    add_listed_lanes(values, 0, places, top, count, width, depth);
}

#endif
#endif
