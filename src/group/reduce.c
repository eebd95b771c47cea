/*
 * Sums over the worlds of all ranks on their devices, in the order of sum.c.
 *
 * Each rank adds up the whole nodes that its block of worlds consists of. Then the n numbers are divided: rank r takes
 * its share of them from the nodes of all ranks, adds it up as the tree has it, and sends it to all. Where there are
 * two nodes, of two ranks with NCCL, NCCL adds them: no order is left to choose.
 *
 *   REDUCE-1  merges[k]: how many sums end with row k, first of the own worlds, node by node, then of the nodes of all
 *       ranks. So what is added to what depends on the division into blocks alone, and its order not even on that
 */
#include "base/memory.h"
#include "group/link.h"
#include "kernel/record/launch.h"

#include <assert.h>

extern const sti_kernel sti_k_reduce, sti_k_canonical;
enum { ITEMS = 256, CANONICAL = 1024, MOST_SUMS = 64 }; /* of reduce.k.h */
enum { SHARE_STEP = 256 };                              /* numbers; a rank's share is a multiple of it */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

/* Nodes that wait for their neighbour, from left to right. */
typedef struct waiting {
    int count;
    int64_t at[MOST_SUMS], size[MOST_SUMS];
} waiting;

/* Adds a node, and returns how many sums end with it. */
static int count_merges(waiting *w, int64_t at, int64_t size, bool last)
{
    int merges = 0;
    assert(w->count < MOST_SUMS);
    assert(size > 0 && (w->count == 0 || w->at[w->count - 1] + w->size[w->count - 1] == at) &&
           "rows follow each other");
    w->at[w->count] = at;
    w->size[w->count++] = size;
    for (int k = w->count - 2; k >= 0; --k, ++merges) {
        if (!last && (w->size[k] != w->size[k + 1] || w->at[k] % (2 * w->size[k]) != 0)) break;
        w->size[k] *= 2;
        w->count = k + 1;
    }
    assert((!last || w->count == 1) && "REDUCE-1: one sum is left");
    return merges;
}

/* The rows of the own worlds, node by node. */
static int32_t *fill_own(const stet_group *g, int32_t *merges)
{
    int64_t end = stet_group_get_first(g) + stet_group_get_own(g);
    for (int64_t at = stet_group_get_first(g), next; at < end; at = next) {
        waiting w = {0};
        next = least(at + sti_node_size(at, end, g->nworld), end);
        for (int64_t k = at; k < next; ++k) *merges++ = count_merges(&w, k, 1, k + 1 == next);
    }
    return merges;
}

static void fill_all(const stet_group *g, int32_t *merges)
{
    waiting w = {0};
    for (int r = 0; r < g->transport.nrank; ++r)
        for (int64_t at = g->first[r], size; at < g->first[r + 1]; at += size) {
            size = sti_node_size(at, g->first[r + 1], g->nworld);
            *merges++ = count_merges(&w, at, size, at + size >= g->nworld);
        }
}

/* link->merges and first_node, once. */
static stet_result make_tree(stet_group *g)
{
    sti_link *l = g->link;
    int nrank = g->transport.nrank;
    int64_t own = stet_group_get_own(g);
    int32_t *merges;
    if (l->merges) return STET_OK;
    STI_TRY(sti_alloc(&l->first_node, ((size_t)nrank + 1) * sizeof *l->first_node, "ranks of a group"));
    for (int r = 0; r < nrank; ++r)
        l->first_node[r + 1] = l->first_node[r] + sti_count_nodes(g->first[r], g->first[r + 1], g->nworld);
    size_t count = (size_t)(own + l->first_node[nrank]);
    assert(l->first_node[nrank] >= 1 && l->first_node[nrank] <= g->nworld);
    STI_TRY(sti_alloc(&merges, count * sizeof *merges, "the order of a sum"));
    fill_all(g, fill_own(g, merges));
    stet_result result = STI_ARRAY(l->device, "order of a sum", STET_DTYPE_INT, false, &l->merges, (int64_t)count);
    if (result == STET_OK) result = stet_array_write(l->merges, merges, count * sizeof *merges);
    sti_free(merges);
    return result;
}

/* ---- one sum ----------------------------------------------------------------------------------------------------- */

typedef struct reduction {
    stet_group *group;
    sti_link *link;
    stet_array *own, *out;
    int64_t n, share;             /* numbers; of a rank, but the last ones may have less */
    int rank, nrank, nnode, mine; /* nodes of this rank; the first number of all its own */
    const stet_array *nodes;      /* [nnode][n] */
} reduction;

/* Where a rank's share begins, and how large it is. */
static int64_t share_begin(const reduction *d, int rank) { return least(d->share * rank, d->n); }

static int64_t share_size(const reduction *d, int rank) { return share_begin(d, rank + 1) - share_begin(d, rank); }

static char *element(const reduction *d, const stet_array *a, int64_t index)
{
    return (char *)a->data + (size_t)index * d->link->device->real_size;
}

/* A plain array of at least n numbers, with what it held lost if it grows. */
static stet_result make_room(sti_link *link, const char *name, int64_t n, stet_array **array)
{
    if (*array && stet_array_get_nelement(*array) >= n) return STET_OK;
    STI_TRY(sti_link_join(link)); /* LINK-4 */
    stet_array_destroy(*array);
    *array = NULL;
    return STI_ARRAY(link->device, name, STET_DTYPE_REAL, false, array, n);
}

/* Nodes of one world each are the array itself, where it is in C order. */
static bool nodes_are_rows(const reduction *d)
{
    return d->nnode == stet_group_get_own(d->group) && (!d->own->worlds || d->link->device->lanes == 1);
}

/* Two nodes of two ranks: the sum is one addition (NCCL-1). */
static bool are_two(const reduction *d) { return d->link->direct && d->nrank == 2 && d->link->first_node[2] == 2; }

/* Everything that is allocated, before the second stream is used (STREAM-5). */
static stet_result make_rooms(reduction *d)
{
    sti_link *l = d->link;
    d->nodes = d->own;
    if (!nodes_are_rows(d)) {
        STI_TRY(make_room(l, "sums of own worlds", d->nnode * d->n, &l->nodes));
        d->nodes = l->nodes;
    }
    if (are_two(d) || share_size(d, d->rank) == 0) return STET_OK;
    return make_room(l, "sums of all ranks", l->first_node[d->nrank] * d->share, &l->parts);
}

/* What k_reduce adds: rows of `own`, and of link->parts where there are more. */
typedef struct addends {
    const stet_array *own;
    int64_t first, mine, nmine; /* rows of own, which are rows mine … mine + nmine - 1 of all */
    int64_t nrow, order;        /* all rows; where their merges begin */
    int64_t begin, count;       /* columns of own; those of the parts begin with 0 */
} addends;

/* out [count] from `at` on. */
static stet_result launch_sum(const reduction *d, const addends *a, stet_array *out, int64_t at)
{
    assert(a->nmine >= 0 && a->mine >= 0 && a->mine + a->nmine <= a->nrow && a->begin + a->count <= d->n);
    const stet_array *none = NULL;
    bool worlds = a->own->worlds;
    return STI_LAUNCH(sti_k_reduce, d->link->device, (a->count + ITEMS - 1) / ITEMS,
                      sti_arg_array(a->nrow > a->nmine ? d->link->parts : none), sti_arg_int(d->share),
                      sti_arg_array(worlds ? none : a->own), sti_arg_array(worlds ? a->own : none), sti_arg_int(worlds),
                      sti_arg_int(d->n), sti_arg_int(a->begin), sti_arg_int(a->first), sti_arg_int(a->mine),
                      sti_arg_int(a->nmine), sti_arg_array(d->link->merges), sti_arg_int(a->order),
                      sti_arg_int(a->nrow), sti_arg_int(a->count), sti_arg_array(out), sti_arg_int(at));
}

/* The own nodes' sums. */
static stet_result sum_own_nodes(reduction *d)
{
    const stet_group *g = d->group;
    int64_t first = stet_group_get_first(g), end = first + stet_group_get_own(g), node = 0;
    if (nodes_are_rows(d)) return STET_OK;
    for (int64_t at = first, next; at < end; at = next, ++node) {
        next = least(at + sti_node_size(at, end, g->nworld), end);
        addends a = {d->own,       .first = at - first, .nmine = next - at, .nrow = next - at, .order = at - first,
                     .count = d->n};
        STI_TRY(launch_sum(d, &a, d->link->nodes, node * d->n));
    }
    return STET_OK;
}

/* The own share, of the nodes of all ranks. */
static stet_result sum_share(reduction *d)
{
    sti_link *l = d->link;
    int64_t begin = share_begin(d, d->rank), size = share_size(d, d->rank);
    if (size == 0) return STET_OK;
    sti_version_bump(&l->parts->version);
    addends a = {d->nodes,
                 .mine = d->mine,
                 .nmine = d->nnode,
                 .nrow = l->first_node[d->nrank],
                 .order = stet_group_get_own(d->group),
                 .begin = begin,
                 .count = size};
    return launch_sum(d, &a, d->out, begin);
}

static sti_message *add_message(sti_message *m, bool send, int peer, void *data, int64_t n, const reduction *d)
{
    *m = (sti_message){send, peer, data, (size_t)n * d->link->device->real_size};
    return n > 0 ? m + 1 : m;
}

/* Each rank's share of all nodes, to that rank: link->parts [nodes of all][share]. */
static sti_message *list_nodes(const reduction *d, sti_message *m)
{
    sti_link *l = d->link;
    int64_t size = share_size(d, d->rank);
    for (int r = 0; r < d->nrank; ++r) {
        if (r == d->rank) continue;
        for (int k = 0; k < d->nnode; ++k)
            m = add_message(m, true, r, element(d, d->nodes, k * d->n + share_begin(d, r)), share_size(d, r), d);
        for (int k = l->first_node[r]; size > 0 && k < l->first_node[r + 1]; ++k)
            m = add_message(m, false, r, element(d, l->parts, k * d->share), size, d);
    }
    return m;
}

/* Each rank's share of the sum, to all. */
static sti_message *list_sums(const reduction *d, sti_message *m)
{
    for (int r = 0; r < d->nrank; ++r) {
        if (r == d->rank) continue;
        m = add_message(m, true, r, element(d, d->out, share_begin(d, d->rank)), share_size(d, d->rank), d);
        m = add_message(m, false, r, element(d, d->out, share_begin(d, r)), share_size(d, r), d);
    }
    return m;
}

static stet_result sum_two(reduction *d)
{
    sti_link *l = d->link;
    if (sti_nccl_add_two(&l->nccl, l->device, d->nodes->data, d->out->data, d->n) != STET_OK)
        return sti_group_set_failure(d->group, d->rank, stet_get_last_error());
    return STI_LAUNCH(sti_k_canonical, l->device, (d->n + CANONICAL - 1) / CANONICAL, sti_arg_array(d->out),
                      sti_arg_int(d->n));
}

/* In one piece: adding one while the next one crosses was slower on two GPUs. */
static stet_result sum_all(reduction *d, sti_message *messages)
{
    STI_TRY(sum_own_nodes(d));
    if (are_two(d)) return sum_two(d);
    STI_TRY(sti_link_exchange(d->group, messages, (int)(list_nodes(d, messages) - messages)));
    STI_TRY(sum_share(d));
    return sti_link_exchange(d->group, messages, (int)(list_sums(d, messages) - messages));
}

static stet_result check_reduction(const stet_group *g, const stet_array *own, const stet_array *out, const char *call)
{
    STI_TRY(sti_link_check(g, own, call));
    STI_TRY(sti_link_check(g, out, call));
    int64_t rows = stet_array_get_shape(own)[0], n = stet_array_get_nelement(own) / (rows > 0 ? rows : 1);
    if (own->dtype != STET_DTYPE_REAL || out->dtype != STET_DTYPE_REAL || rows != stet_group_get_own(g))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "%s: arrays %s and %s must be REAL, and the first one have this rank's %lld worlds", call,
                         own->name, out->name, (long long)stet_group_get_own(g));
    if (out->worlds || stet_array_get_nelement(out) != n || n < 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "%s: array %s must be plain and of %lld numbers, as many as a "
                         "world has in %s",
                         call, out->name, (long long)n, own->name);
    if (own == out && rows > 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: array %s has several rows; give another one for the sum",
                         call, own->name);
    return STET_OK;
}

static stet_result run_reduction(reduction *d, bool beside)
{
    sti_message *messages;
    void *used;
    size_t nrank = (size_t)d->nrank, of_nodes = nrank * (size_t)d->nnode + (size_t)d->link->first_node[d->nrank];
    size_t most = of_nodes > 2 * nrank ? of_nodes : 2 * nrank;
    STI_TRY(sti_alloc(&messages, most * sizeof *messages, "messages between ranks"));
    stet_result result = sti_link_begin(d->link, beside, &used);
    if (result == STET_OK) {
        result = sum_all(d, messages);
        sti_link_end(d->link, beside, used);
    }
    sti_free(messages);
    sti_version_bump(&d->out->version);
    return result;
}

static stet_result reduce(stet_group *g, stet_array *own, stet_array *out, bool beside, const char *call)
{
    STI_TRY(check_reduction(g, own, out, call));
    reduction d = {g, g->link, own, out, .rank = g->transport.rank, .nrank = g->transport.nrank};
    d.n = stet_array_get_nelement(own) / stet_group_get_own(g);
    int64_t step = (int64_t)d.nrank * SHARE_STEP;
    d.share = (d.n + step - 1) / step * SHARE_STEP;
    STI_TRY(sti_group_meet(g, STI_GROUP_REDUCE, (uint64_t)d.n));
    STI_TRY(make_tree(g));
    d.mine = d.link->first_node[d.rank];
    d.nnode = d.link->first_node[d.rank + 1] - d.mine;
    STI_TRY(sti_link_prepare(own));
    STI_TRY(sti_link_prepare(out));
    STI_TRY(make_rooms(&d));
    return run_reduction(&d, beside);
}

stet_result stet_group_reduce(stet_group *g, stet_array *own, stet_array *out)
{
    return reduce(g, own, out, false, "stet_group_reduce");
}

stet_result stet_group_reduce_begin(stet_group *g, stet_array *own, stet_array *out)
{
    return reduce(g, own, out, true, "stet_group_reduce_begin");
}
