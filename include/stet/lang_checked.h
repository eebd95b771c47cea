/*
 * What a kernel in checked mode is printed with (doc/design/checked.md): each access asks here where it may go.
 * Included behind lang.h by kernels that the library has instrumented, by nobody else.
 *
 * Invariant: what is out of bounds is neither read nor written; it goes to a sink of the call's own, which is zero
 * then.
 *
 * On a CPU it is also noted which iteration of an `each` touches what. Between two sync() no iteration may touch an
 * element that another one writes: on a GPU they run at the same time.
 */
#ifndef STET_LANG_CHECKED_H
#define STET_LANG_CHECKED_H
#ifndef STET_LANG_H
#include "lang.h"
#endif

#if STET_GPU
#define STI_LANE(x, l) (x)
#define STI_LANES(l) for (int l = 0; l < 1; ++l)
#endif

/* Indices beyond this are out of any array; below, bytes are counted without overflow. */
#define STI_FAR (1ll << 40)

/*
 * Bits beside the number of a site: it writes; and of an array: iterations share it, and the kernel writes it. Lanes of
 * a fault that is no place out of bounds.
 */
#define STI_SITE_WRITES 0x10000
#define STI_SHARED_ROOT 0x100
#define STI_LANES_MEET 30   /* two iterations of an `each` */
#define STI_LANES_UNSYNC 29 /* iterations of two `each` without sync() between them */

/* Memory that a pointer may reach: so many bytes from lo; and which array it is of. */
typedef struct sti_span {
    char *lo;
    i64 size;
    int root;
} sti_span;

/* As sti_slot (device/slot.h). */
typedef struct sti_seen_slot {
    void *p;
    i64 n;
} sti_seen_slot;

/* One call of a kernel: whether it had a fault, and where that is noted. */
typedef struct sti_watch {
    u64 *record;       /* a word whether there are any, then one a block */
    i64 block, worlds; /* worlds 0: not a world kernel */
    char *sink;
    i64 sink_size;
    int fault;
    /* the iteration that runs, -1: none that is watched; their count and the step from one to the next; which each */
    int iteration, count, step, each;
} sti_watch;

/* After a fault a loop ends; on a GPU not where the team has to stay together. */
#define STI_STOP (sti_c->fault)
#if STET_GPU
#define STI_STOP_TEAM 0
#else
#define STI_STOP_TEAM (sti_c->fault)
#endif

/* ---- which iteration touches what -------------------------------------------------------------------------------- */

#if STET_GPU
#define sti_sync_seen() ((void)0)
#define STI_EACH ((void)0)
#define STI_ITERATION(i, by) ((void)0)
#define STI_UNWATCHED ((void)0)
#else

/* An element that was touched since the last sync(): by which iterations (-1: none, -2: several), in which each. */
typedef struct sti_seen {
    u64 at, round;
    int writer, reader, each;
} sti_seen;

/* Beyond half of these elements between two sync(), others are not watched. */
#define STI_SEEN 16384
static __thread sti_seen sti_table[STI_SEEN];
static __thread u64 sti_round;
static __thread int sti_nseen;

/* Entries of earlier rounds are free. */
LFN void sti_sync_seen(void)
{
    ++sti_round;
    sti_nseen = 0;
}

/* The entry of an address; NULL: there is no room. */
LFN sti_seen *sti_find_seen(u64 at)
{
    u64 k = at * 0x9e3779b97f4a7c15ull >> 50;
    while (sti_table[k].round == sti_round && sti_table[k].at != at) k = (k + 1) % STI_SEEN;
    sti_seen *s = &sti_table[k];
    if (s->round == sti_round) return s;
    if (sti_nseen == STI_SEEN / 2) return 0;
    ++sti_nseen;
    s->at = at;
    s->round = sti_round;
    s->writer = s->reader = -1;
    return s;
}

#define STI_EACH (++sti_c->each)
#define STI_ITERATION(i, by) (sti_c->iteration = (i), sti_c->count = i##_n, sti_c->step = (by))
#define STI_UNWATCHED (sti_c->iteration = -1) /* behind an each, and where iterations run in order on every device */
#endif

/* `world`: of a world kernel, whose last block may have lanes without a world. */
LFN sti_watch sti_watch_open(const void *slots, int narg, i64 block, int world, void *sink, i64 size)
{
    const sti_seen_slot *s = (const sti_seen_slot *)slots + narg;
    sti_watch c;
    c.record = (u64 *)s->p;
    c.block = block;
    c.worlds = world ? s->n : 0;
    c.sink = (char *)sink;
    c.sink_size = size;
    c.fault = 0;
    c.iteration = -1;
    c.count = c.step = c.each = 0;
    sti_sync_seen();
    return c;
}

/* ---- spans ------------------------------------------------------------------------------------------------------- */

LFN sti_span sti_span_of(const void *lo, i64 size, int root)
{
    sti_span s;
    s.lo = (char *)(unsigned long)lo;
    s.size = lo ? size : 0;
    s.root = root;
    return s;
}

LFN sti_span sti_span_none(void) { return sti_span_of(0, 0, 0); }

/* A kernel's array. */
LFN sti_span sti_span_array(const void *lo, const void *slots, int slot, i64 size, int root)
{
    return sti_span_of(lo, ((const sti_seen_slot *)slots)[slot].n * size, root);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/*
 * Notes the first fault of a call; of threads that share a block the one that comes first in the source, then by lane
 * and index. In a word: bits 63 … 49 the site, 48 … 44 the lane (31: all; STI_LANES_…), 43 … 36 the array, below the
 * index + 2^35; all inverted, so that 0 is none.
 */
LFN void sti_fault(sti_watch *c, int site, int lane, int root, i64 index)
{
    const i64 most = (1ll << 35) - 1;
    i64 at = index > most ? most : index < -most ? -most : index;
    site &= ~STI_SITE_WRITES;
    if (lane >= 0 && lane < STI_LANES_UNSYNC && c->worlds && c->block * STET_W + lane >= c->worlds) return;
    if (c->fault) return;
    c->fault = 1;
    u64 word = ~((u64)site << 49 | (u64)(lane & 31) << 44 | (u64)(root & 255) << 36 | (u64)(at + (1ll << 35)));
#if STET_GPU
    atomicMax(c->record + 1 + c->block, word);
    c->record[0] = 1;
#else
    c->record[1 + c->block] = word;
    __atomic_store_n(c->record, (u64)1, __ATOMIC_RELAXED);
#endif
}

/* Element i of an array, at this address, is touched by an iteration of the each that runs. */
LFN void sti_touch(sti_watch *c, const void *at, int iteration, int root, i64 i, int site)
{
#if !STET_GPU
    if (c->iteration < 0 || !(root & STI_SHARED_ROOT) || iteration >= c->count) return;
    sti_seen *s = sti_find_seen((u64)(unsigned long)at);
    int writes = (site & STI_SITE_WRITES) != 0;
    if (!s) return;
    int met = s->writer >= 0 && s->writer != iteration;
    met |= writes && s->reader != -1 && s->reader != iteration;
    if (met) sti_fault(c, site, s->each == c->each ? STI_LANES_MEET : STI_LANES_UNSYNC, root, i);
    if (writes)
        s->writer = iteration;
    else
        s->reader = s->reader == -1 || s->reader == iteration ? iteration : -2;
    s->each = c->each;
#endif
}

LFN void *sti_drain(sti_watch *c)
{
    for (i64 k = 0; k < c->sink_size; ++k) c->sink[k] = 0;
    return c->sink;
}

LFN i64 sti_floor_div(i64 a, i64 b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

/*
 * Elements i … i + count - 1 of `size` bytes from p: where they are, or the sink. `line`: those behind the first may
 * lie in the rest of the line of the cache in which the array ends: lanes beyond the last item read what is there.
 */
LFN void *sti_range(sti_watch *c, const void *p, sti_span s, i64 i, i64 size, i64 count, int line, int lane, int site)
{
    i64 from = (i64)((u64)(unsigned long)p - (u64)(unsigned long)s.lo);
    if (i > -STI_FAR && i < STI_FAR) {
        i64 first = from + i * size, rest = line ? (i64)(-((u64)(unsigned long)s.lo + (u64)s.size) & 63) : 0;
        if (first >= 0 && first + size <= s.size && first + count * size <= s.size + rest) {
            if (c->iteration >= 0 && s.root & STI_SHARED_ROOT)
                for (i64 k = 0; k < count; ++k)
                    sti_touch(c, s.lo + first + k * size, c->iteration + (c->step > 1 ? lane >= 0 ? lane : (int)k : 0),
                              s.root, sti_floor_div(first, size) + k, site);
            return s.lo + first;
        }
        i = sti_floor_div(first, size);
        if (i >= 0 && first + size <= s.size) i = s.size / size; /* the first of them that is not there */
    }
    sti_fault(c, site, lane, s.root, i);
    return sti_drain(c);
}
LFN void *sti_at(sti_watch *c, const void *p, sti_span s, i64 i, i64 size, int site)
{
    return sti_range(c, p, s, i, size, 1, 0, -1, site);
}
LFN void *sti_wide(sti_watch *c, const void *p, sti_span s, i64 size, i64 count, int reads, int site)
{
    return sti_range(c, p, s, 0, size, count, reads, -1, site);
}

/* Element i of an array of `count`, of `size` bytes each. */
LFN void *sti_in(sti_watch *c, const void *a, i64 i, i64 count, i64 size, int root, int site)
{
    if (i >= 0 && i < count) {
        char *at = (char *)(unsigned long)a + i * size;
        sti_touch(c, at, c->iteration, root, i, site);
        return at;
    }
    sti_fault(c, site, -1, root, i);
    return sti_drain(c);
}
/* The number of a row of an array of arrays, within which the element is looked for; another one: row 0. */
LFN i64 sti_row(sti_watch *c, i64 i, i64 count, int root, int site)
{
    if (i >= 0 && i < count) return i;
    sti_fault(c, site, -1, root, i);
    return 0;
}

LFN void *sti_world(sti_watch *c, const void *p, sti_span s, i64 n, i64 w, i64 i, i64 size, int site)
{
    i64 from = (i64)((u64)(unsigned long)p - (u64)(unsigned long)s.lo);
    int inside = n >= 0 && n < 1ll << 31 && i >= 0 && i < n && w >= 0 && w < 1ll << 31;
    if (inside) {
        i64 at = from + sti_at_world(n, (int)w, (int)i) * size;
        if (at >= 0 && at + size <= s.size) {
            sti_touch(c, s.lo + at, c->iteration, s.root, i, site);
            return s.lo + at;
        }
    }
    sti_fault(c, site, -1, s.root, i >= 0 && i < n ? w : i);
    return sti_drain(c);
}

/* ---- lanes that go to places of their own ------------------------------------------------------------------------ */

/* Of the lanes of m those that may touch element i of theirs. */
LFN mask sti_allowed(sti_watch *c, mask m, const void *p, sti_span s, lint i, i64 size, int site)
{
    STI_LANES(l)
    if (STI_LANE(m, l) && sti_range(c, p, s, STI_LANE(i, l), size, 1, 0, l, site) == (void *)c->sink)
        STI_LANE(m, l) = 0;
    return m;
}
LFN real sti_gather(sti_watch *c, const ureal *p, sti_span s, lint i, int site)
{
    real r;
    STI_LANES(l) STI_LANE(r, l) = *(const ureal *)sti_range(c, p, s, STI_LANE(i, l), sizeof(ureal), 1, 0, l, site);
    return r;
}
LFN lint sti_igather(sti_watch *c, const int *p, sti_span s, lint i, int site)
{
    lint r;
    STI_LANES(l) STI_LANE(r, l) = *(const int *)sti_range(c, p, s, STI_LANE(i, l), sizeof(int), 1, 0, l, site);
    return r;
}

/* ---- whole numbers ----------------------------------------------------------------------------------------------- */

/* What becomes an index has to fit an int. */
LFN int sti_int(sti_watch *c, i64 x, int site)
{
    if (x < -2147483647ll - 1 || x > 2147483647ll) sti_fault(c, site, -1, 0, x);
    return (int)x;
}
LFN i64 sti_add(sti_watch *c, i64 a, i64 b, int site)
{
    i64 sum = (i64)((u64)a + (u64)b);
    if ((a >= 0) == (b >= 0) && (sum >= 0) != (a >= 0)) sti_fault(c, site, -1, 0, a);
    return sum;
}
LFN i64 sti_sub(sti_watch *c, i64 a, i64 b, int site)
{
    i64 rest = (i64)((u64)a - (u64)b);
    if ((a >= 0) != (b >= 0) && (rest >= 0) != (a >= 0)) sti_fault(c, site, -1, 0, a);
    return rest;
}
LFN i64 sti_mul(sti_watch *c, i64 a, i64 b, int site)
{
    u64 x = a < 0 ? 0 - (u64)a : (u64)a, y = b < 0 ? 0 - (u64)b : (u64)b;
    if (x != 0 && y > 0x7fffffffffffffffull / x) sti_fault(c, site, -1, 0, a);
    return (i64)((u64)a * (u64)b);
}
/* A divisor that is not 0. */
LFN i64 sti_divisor(sti_watch *c, i64 b, int site)
{
    if (b != 0) return b;
    sti_fault(c, site, -1, 0, 0);
    return 1;
}
LFN u64 sti_udivisor(sti_watch *c, u64 b, int site) { return b != 0 ? b : (u64)sti_divisor(c, 0, site); }
/* Of signed numbers; the least one by -1 has no quotient. */
LFN i64 sti_quotient(sti_watch *c, i64 a, i64 b, i64 least, int site)
{
    if (b == -1 && a == least) sti_fault(c, site, -1, 0, -1);
    return b == -1 ? (i64)(0 - (u64)a) : a / sti_divisor(c, b, site);
}
LFN i64 sti_rest(sti_watch *c, i64 a, i64 b, int site) { return b == -1 ? 0 : a % sti_divisor(c, b, site); }
/* A count of a loop that its steps do not go beyond. */
LFN int sti_count(sti_watch *c, int n, int site)
{
    if (n <= 2147483647 - 65536) return n;
    sti_fault(c, site, -1, 0, n);
    return 0;
}

#endif
