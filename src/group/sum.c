/*
 * Sums over the worlds of all ranks, in one order.
 *
 * The order is a binary tree over the worlds' numbers: the node (at, size), with size a power of two that divides at,
 * has the children (at, size / 2) and (at + size / 2, size / 2); a node without a world counts nothing. A rank's block
 * of worlds is a list of whole nodes, which it sends; rank 0 adds these as the tree has it.
 *
 *   SUM-1  a sum's bits are a function of the values: each node is added once, as left child + right child
 */
#include "base/error.h"
#include "base/memory.h"
#include "group/group.h"

#include <assert.h>
#include <string.h>

/* Nodes whose sums are known and wait for their neighbour, from left to right. */
enum { MOST_NODES = 128 };
typedef struct tree {
    int64_t n; /* numbers */
    int count;
    int64_t at[MOST_NODES], size[MOST_NODES];
    double *sum; /* [MOST_NODES][n] */
} tree;

int64_t sti_node_size(int64_t at, int64_t end, int64_t nworld)
{
    int64_t size = 1;
    assert(at >= 0 && at < end && end <= nworld);
    while (at % (2 * size) == 0 && (at + 2 * size <= end || (end == nworld && at + size < end))) size *= 2;
    return size;
}

/*
 * Adds the last node to the one before it while the two are children of one. The last node of all stands for its
 * ancestors that have no other world.
 */
static void merge(tree *t, bool last)
{
    while (t->count > 1) {
        int a = t->count - 2, b = t->count - 1;
        if (!last && (t->size[a] != t->size[b] || t->at[a] % (2 * t->size[a]) != 0)) return;
        assert(t->at[a] + t->size[a] <= t->at[b] && "SUM-1: a left child ends where the right one begins, or before");
        double *left = t->sum + a * t->n, *right = t->sum + b * t->n;
        for (int64_t i = 0; i < t->n; ++i) left[i] += right[i];
        t->size[a] *= 2;
        t->count = b;
    }
}

static double *push(tree *t, int64_t at, int64_t size)
{
    assert(t->count < MOST_NODES && (t->count == 0 || t->at[t->count - 1] < at) && "from left to right");
    t->at[t->count] = at;
    t->size[t->count] = size;
    return t->sum + t->count++ * t->n;
}

/* The sum of a node's worlds; values: of the worlds from `first` on. */
static void sum_node(tree *t, const double *values, int64_t first, int64_t at, int64_t end, double *out)
{
    t->count = 0;
    for (int64_t w = at; w < end; ++w) {
        memcpy(push(t, w, 1), values + (w - first) * t->n, (size_t)t->n * sizeof *values);
        merge(t, false);
    }
    merge(t, true);
    memcpy(out, t->sum, (size_t)t->n * sizeof *out);
}

int sti_count_nodes(int64_t at, int64_t end, int64_t nworld)
{
    int n = 0;
    for (; at < end; at += sti_node_size(at, end, nworld)) ++n;
    return n;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* nodes: the sums of the own block's nodes, from left to right */
static void sum_own(tree *t, const stet_group *g, const double *own, double *nodes)
{
    int64_t first = stet_group_get_first(g), end = first + stet_group_get_own(g);
    for (int64_t at = first, size; at < end; at += size, nodes += t->n) {
        size = sti_node_size(at, end, g->nworld);
        sum_node(t, own, first, at, least(at + size, end), nodes);
    }
}

/* On rank 0: the tree of all ranks' nodes. */
static stet_result sum_ranks(tree *t, stet_group *g, double *nodes)
{
    t->count = 0;
    for (int r = 0; r < g->transport.nrank; ++r) {
        int64_t at = g->first[r], end = g->first[r + 1];
        int count = sti_count_nodes(at, end, g->nworld);
        size_t size = (size_t)count * (size_t)t->n * sizeof *nodes;
        if (r > 0 && count > 0)
            STI_TRY(sti_group_check(g, g->transport.receive(g->transport.context, nodes, size, r), "receiving sums"));
        for (int k = 0; k < count; ++k, at += sti_node_size(at, end, g->nworld)) {
            memcpy(push(t, at, sti_node_size(at, end, g->nworld)), nodes + k * t->n, (size_t)t->n * sizeof *nodes);
            merge(t, false);
        }
    }
    merge(t, true);
    return STET_OK;
}

static stet_result sum_all(stet_group *g, tree *t, const double *own, double *nodes, double *out)
{
    int64_t first = stet_group_get_first(g);
    int count = sti_count_nodes(first, first + stet_group_get_own(g), g->nworld);
    size_t size = (size_t)t->n * sizeof *out;
    sum_own(t, g, own, nodes);
    if (g->transport.rank == 0) {
        STI_TRY(sum_ranks(t, g, nodes));
        if (g->nworld > 0)
            memcpy(out, t->sum, size);
        else
            memset(out, 0, size);
    } else if (count > 0) {
        STI_TRY(sti_group_check(g, g->transport.send(g->transport.context, nodes, (size_t)count * size, 0),
                                "sending sums"));
    }
    return sti_group_check(g, g->transport.broadcast(g->transport.context, out, size, 0), "broadcasting sums");
}

stet_result stet_group_sum(stet_group *g, const double *own, int64_t n, double *out)
{
    tree t = {.n = n};
    double *nodes;
    if (!g || !out || n < 1 || (!own && stet_group_get_own(g) > 0))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_group_sum: group, own and out must not be NULL, and n must be at least 1");
    STI_TRY(sti_group_meet(g, STI_GROUP_SUM, (uint64_t)n));
    STI_TRY(sti_alloc(&t.sum, MOST_NODES * (size_t)n * sizeof *t.sum, "sums over ranks"));
    stet_result result = sti_alloc(&nodes, MOST_NODES * (size_t)n * sizeof *nodes, "sums over ranks");
    if (result == STET_OK) result = sum_all(g, &t, own, nodes, out);
    sti_free(nodes);
    sti_free(t.sum);
    return result;
}

stet_result stet_group_sum_array(stet_group *g, stet_array *own, double *out)
{
    if (!g || !own || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_group_sum_array: no argument may be NULL");
    if (stet_array_get_dtype(own) != STET_DTYPE_REAL || stet_array_get_shape(own)[0] != stet_group_get_own(g))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "stet_group_sum_array: the array must be REAL, and have this rank's %lld worlds",
                         (long long)stet_group_get_own(g));
    const void *host;
    double *values;
    int64_t count = stet_group_get_own(g);
    for (int k = 1; k < stet_array_get_ndim(own); ++k) count *= stet_array_get_shape(own)[k];
    STI_TRY(stet_array_get_host(own, &host));
    STI_TRY(sti_alloc(&values, (size_t)count * sizeof *values, "values to sum"));
    bool doubles = stet_array_get_bytes(own) == (size_t)count * sizeof(double);
    for (int64_t i = 0; i < count; ++i)
        values[i] = doubles ? ((const double *)host)[i] : (double)((const float *)host)[i];
    stet_result result = stet_group_sum(g, values, count / stet_group_get_own(g), out);
    sti_free(values);
    return result;
}
