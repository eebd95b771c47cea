/*
 * Builds bounding volume hierarchies: by the surface area heuristic over bins of centroids, or by halving where that
 * finds no split or the depth runs out. Invariants: bvh.h.
 */
#include "geom/bvh.h"

#include "base/error.h"
#include "base/memory.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { BINS = 16 };
/* What a node's two children cost, in tests of a triangle: more than their tests, since the branch is a guess. */
#define SPLIT_COST 3.0

typedef struct box {
    float lower[3], upper[3];
} box;

/* Comparisons instead of the C library's fminf, because they are inlined. If b is NaN, the result is a. */
static float least(float a, float b) { return b < a ? b : a; }
static float most(float a, float b) { return b > a ? b : a; }

static box empty_box(void) { return (box){{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}}; }

static void grow(box *b, const box *by)
{
    for (int k = 0; k < 3; ++k) {
        b->lower[k] = least(b->lower[k], by->lower[k]);
        b->upper[k] = most(b->upper[k], by->upper[k]);
    }
}

/* Half the surface area; 0 for an empty box. */
static double area(const box *b)
{
    double e[3];
    for (int k = 0; k < 3; ++k) {
        e[k] = (double)b->upper[k] - (double)b->lower[k];
        if (!(e[k] > 0)) e[k] = 0;
    }
    return e[0] * e[1] + e[1] * e[2] + e[2] * e[0];
}

static void set_node(sti_bvh_node *node, const box *b, int first, int count)
{
    memcpy(node->lower, b->lower, sizeof node->lower);
    memcpy(node->upper, b->upper, sizeof node->upper);
    assert(first >= 0 && first < STI_BVH_LIMIT && count != 0 && "a float has each number exactly");
    node->first = (float)first;
    node->count = (float)count;
}

/* ---- triangles --------------------------------------------------------------------------------------------------- */

typedef struct builder {
    sti_bvh *bvh;
    box *boxes; /* boxes of the triangles */
    int *spare; /* [n], scratch for partitions */
} builder;

/* Twice the centre of a triangle's box on an axis. */
static double centre(const builder *b, int triangle, int axis)
{
    return (double)b->boxes[triangle].lower[axis] + (double)b->boxes[triangle].upper[axis];
}

typedef struct cut {
    int axis;             /* -1: a leaf is at least as good */
    double origin, scale; /* bin = (centre - origin) * scale */
    int bin;              /* first bin of the upper part */
    double cost;
} cut;

static int bin_of(const builder *b, const cut *c, int triangle)
{
    assert(c->axis >= 0 && c->axis < 3 && isfinite(c->scale));
    double bin = (centre(b, triangle, c->axis) - c->origin) * c->scale;
    return bin < BINS - 1 ? (int)fmax(bin, 0) : BINS - 1;
}

/* Finds the best split on one axis; *best gets it if it costs less. */
static void try_axis(const builder *b, int begin, int end, int axis, double total, cut *best)
{
    const int *order = b->bvh->order;
    double low = INFINITY, high = -INFINITY;
    for (int i = begin; i < end; ++i) {
        double c = centre(b, order[i], axis);
        low = c < low ? c : low;
        high = c > high ? c : high;
    }
    cut c = {.axis = axis, .origin = low, .scale = BINS / (high - low)};
    if (!(high > low) || !isfinite(c.scale)) return;
    box boxes[BINS];
    int counts[BINS] = {0};
    for (int i = 0; i < BINS; ++i) boxes[i] = empty_box();
    for (int i = begin; i < end; ++i) {
        int bin = bin_of(b, &c, order[i]);
        grow(&boxes[bin], &b->boxes[order[i]]);
        ++counts[bin];
    }
    double upper[BINS]; /* cost of the bins from i on */
    box sum = empty_box();
    for (int i = BINS - 1, n = 0; i > 0; --i) {
        grow(&sum, &boxes[i]);
        upper[i] = area(&sum) * (n += counts[i]);
    }
    sum = empty_box();
    for (int i = 1, n = 0; i < BINS; ++i) {
        grow(&sum, &boxes[i - 1]);
        n += counts[i - 1];
        c.bin = i;
        c.cost = SPLIT_COST + (area(&sum) * n + upper[i]) / total;
        if (n > 0 && n < end - begin && c.cost < best->cost) *best = c;
    }
}

/* Sorts order[begin, end) by centre on an axis, then by number: a bottom-up merge sort. */
static void sort_by_centre(const builder *b, int begin, int end, int axis)
{
    int *from = b->bvh->order + begin, *to = b->spare, n = end - begin;
    for (int width = 1; width < n; width *= 2) {
        for (int start = 0; start < n; start += 2 * width) {
            int middle = start + width < n ? start + width : n, stop = start + 2 * width < n ? start + 2 * width : n;
            for (int i = start, j = middle, k = start; k < stop; ++k) {
                bool left = j >= stop;
                if (i < middle && j < stop) {
                    double x = centre(b, from[i], axis), y = centre(b, from[j], axis);
                    left = x < y || (!(y < x) && from[i] < from[j]);
                }
                to[k] = left ? from[i++] : from[j++];
            }
        }
        memcpy(from, to, (size_t)n * sizeof *from);
    }
}

/* Splits into two equal parts on the longest axis; returns the first of the upper part. */
static int halve(const builder *b, int begin, int end, const box *bounds, int *axis)
{
    *axis = 0;
    for (int k = 1; k < 3; ++k)
        if (bounds->upper[k] - bounds->lower[k] > bounds->upper[*axis] - bounds->lower[*axis]) *axis = k;
    sort_by_centre(b, begin, end, *axis);
    return begin + (end - begin) / 2;
}

/* Moves the triangles below the split to the front; keeps their order. */
static int partition(const builder *b, int begin, int end, const cut *c)
{
    int *order = b->bvh->order, at = begin, n = 0;
    for (int i = begin; i < end; ++i) {
        if (bin_of(b, c, order[i]) < c->bin)
            order[at++] = order[i];
        else
            b->spare[n++] = order[i];
    }
    memcpy(order + at, b->spare, (size_t)n * sizeof *order);
    return at;
}

/* Number of levels that halving n triangles needs. */
static int levels(int n)
{
    int l = 0;
    for (; n > STI_BVH_LEAF; n = (n + 1) / 2) ++l;
    return l;
}

static void build(builder *b, int node, int begin, int end, int depth)
{
    box bounds = empty_box();
    for (int i = begin; i < end; ++i) grow(&bounds, &b->boxes[b->bvh->order[i]]);
    int n = end - begin, middle, axis;
    cut best = {.axis = -1, .cost = n <= STI_BVH_LEAF ? (double)n : INFINITY};
    double total = area(&bounds);
    if (n > 1 && total > 0 && depth + 1 + levels(n - 1) <= STI_BVH_DEPTH)
        for (int k = 0; k < 3; ++k) try_axis(b, begin, end, k, total, &best);
    if (best.axis >= 0) {
        axis = best.axis;
        middle = partition(b, begin, end, &best);
    } else if (n <= STI_BVH_LEAF) {
        set_node(&b->bvh->node[node], &bounds, begin, n);
        return;
    } else {
        middle = halve(b, begin, end, &bounds, &axis);
    }
    assert(middle > begin && middle < end && depth < STI_BVH_DEPTH && "both parts have triangles");
    int first = b->bvh->nnode;
    b->bvh->nnode += 2;
    set_node(&b->bvh->node[node], &bounds, first, -1 - axis);
    build(b, first, begin, middle, depth + 1);
    build(b, first + 1, middle, end, depth + 1);
}

stet_result sti_bvh_triangles(const float *vertices, const int *faces, int64_t n, const char *what, sti_bvh *out)
{
    assert(n >= 0 && (n == 0 || (vertices && faces)) && what);
    *out = (sti_bvh){0};
    if (n >= STI_BVH_LIMIT / 2)
        return sti_error(STET_ERROR_LIMIT, "%s: %lld triangles are more than the %d that can be drawn; simplify it",
                         what, (long long)n, STI_BVH_LIMIT / 2 - 1);
    sti_bvh bvh = {0};
    builder b = {.bvh = &bvh};
    size_t count = n > 0 ? (size_t)n : 1;
    stet_result result = sti_alloc(&bvh.node, (2 * count - 1) * sizeof *bvh.node, "a tree of triangles");
    if (result == STET_OK) result = sti_alloc(&bvh.order, count * sizeof *bvh.order, "a tree of triangles");
    if (result == STET_OK) result = sti_alloc(&b.boxes, count * sizeof *b.boxes, "a tree of triangles");
    if (result == STET_OK) result = sti_alloc(&b.spare, count * sizeof *b.spare, "a tree of triangles");
    if (result == STET_OK) {
        bvh.nnode = 1;
        for (int i = 0; i < (int)n; ++i) {
            bvh.order[i] = i;
            b.boxes[i] = empty_box();
            for (int v = 0; v < 3; ++v) {
                box point;
                memcpy(point.lower, vertices + 3 * (int64_t)faces[3 * i + v], sizeof point.lower);
                memcpy(point.upper, point.lower, sizeof point.upper);
                grow(&b.boxes[i], &point);
            }
        }
        if (n > 0) build(&b, 0, 0, (int)n, 0);
        assert(bvh.nnode <= 2 * (int)count - 1);
        sti_validate_bvh(&bvh);
    }
    sti_free(b.boxes);
    sti_free(b.spare);
    if (result != STET_OK) sti_bvh_free(&bvh);
    *out = bvh;
    return result;
}

/* ---- height fields ----------------------------------------------------------------------------------------------- */

typedef struct grid {
    sti_bvh *bvh;
    const float *heights;
    int nrow, ncol;
    double half[2];
} grid;

/* A vertex's position on an axis, rounded down (side -1) or up (1) by more than the kernel's own rounding. */
static float place(const grid *g, int axis, int i, int side)
{
    int n = axis == 0 ? g->ncol : g->nrow;
    double x = (2.0 * i / (n - 1) - 1 + side * 0x1p-21) * g->half[axis];
    return (float)x;
}

/* The box of the cells [r0, r1) x [c0, c1). */
static box cells_box(const grid *g, int r0, int r1, int c0, int c1)
{
    assert(r0 < r1 && c0 < c1 && r1 < g->nrow && c1 < g->ncol);
    box b = {{place(g, 0, c0, -1), place(g, 1, r0, -1), INFINITY}, {place(g, 0, c1, 1), place(g, 1, r1, 1), -INFINITY}};
    for (int r = r0; r <= r1; ++r)
        for (int c = c0; c <= c1; ++c) {
            b.lower[2] = least(b.lower[2], g->heights[(int64_t)r * g->ncol + c]);
            b.upper[2] = most(b.upper[2], g->heights[(int64_t)r * g->ncol + c]);
        }
    return b;
}

/* Fills a node and all below it, and returns its box. */
static box build_grid(grid *g, int node, int r0, int r1, int c0, int c1)
{
    assert(r0 < r1 && c0 < c1);
    int rows = r1 - r0, cols = c1 - c0;
    if (rows == 1 && cols <= STI_BVH_LEAF) {
        box b = cells_box(g, r0, r1, c0, c1);
        set_node(&g->bvh->node[node], &b, r0 * g->ncol + c0, cols);
        return b;
    }
    double wide = cols * g->half[0] / (g->ncol - 1), long_ = rows * g->half[1] / (g->nrow - 1);
    int axis = rows > 1 && (cols <= STI_BVH_LEAF || long_ >= wide) ? 1 : 0;
    int first = g->bvh->nnode;
    g->bvh->nnode += 2;
    int rm = axis == 1 ? r0 + rows / 2 : r1, cm = axis == 0 ? c0 + cols / 2 : c1;
    box b = build_grid(g, first, r0, rm, c0, cm);
    box upper = build_grid(g, first + 1, axis == 1 ? rm : r0, r1, axis == 0 ? cm : c0, c1);
    grow(&b, &upper);
    set_node(&g->bvh->node[node], &b, first, -1 - axis);
    return b;
}

stet_result sti_bvh_grid(const double half[2], const float *heights, int64_t nrow, int64_t ncol, const char *what,
                         sti_bvh *out)
{
    assert(nrow >= 2 && ncol >= 2 && half[0] > 0 && half[1] > 0);
    *out = (sti_bvh){0};
    /* There are up to twice as many triangles as points. */
    if (nrow > STI_BVH_LIMIT / 2 / ncol)
        return sti_error(STET_ERROR_LIMIT, "%s: %lld x %lld points are more than the %d that can be drawn; use fewer",
                         what, (long long)nrow, (long long)ncol, STI_BVH_LIMIT / 2);
    sti_bvh bvh = {.nnode = 1};
    size_t leaves = (size_t)(nrow - 1) * (size_t)(ncol - 1);
    STI_TRY(sti_alloc(&bvh.node, (2 * leaves - 1) * sizeof *bvh.node, "the tree of a height field"));
    grid g = {.bvh = &bvh, .heights = heights, .nrow = (int)nrow, .ncol = (int)ncol, .half = {half[0], half[1]}};
    (void)build_grid(&g, 0, 0, g.nrow - 1, 0, g.ncol - 1);
    assert(bvh.nnode <= 2 * (int)leaves - 1);
    sti_validate_bvh(&bvh);
    *out = bvh;
    return STET_OK;
}

#ifndef NDEBUG
static void validate_node(const sti_bvh *bvh, int i, int depth)
{
    const sti_bvh_node *node = &bvh->node[i];
    const int first = (int)node->first, count = (int)node->count;
    assert((float)first == node->first && (float)count == node->count && first >= 0 && "BVH-3");
    assert(depth <= STI_BVH_DEPTH && "BVH-2");
    if (count >= 0) return;
    assert(count >= -3 && first > i && first + 1 < bvh->nnode &&
           "an inner node has an axis and two children behind it");
    for (int c = first; c <= first + 1; ++c) {
        for (int k = 0; k < 3; ++k)
            assert(bvh->node[c].lower[k] >= node->lower[k] && bvh->node[c].upper[k] <= node->upper[k] && "BVH-1");
        validate_node(bvh, c, depth + 1);
    }
}

void sti_validate_bvh(const sti_bvh *bvh)
{
    assert(bvh->node && bvh->nnode >= 1 && bvh->nnode % 2 == 1 && "each inner node has two children");
    validate_node(bvh, 0, 0);
}
#endif

void sti_bvh_free(sti_bvh *bvh)
{
    sti_free(bvh->node);
    sti_free(bvh->order);
    *bvh = (sti_bvh){0};
}

void sti_bvh_put_nodes(const sti_bvh *bvh, double *out)
{
    assert(bvh->nnode == 0 || (bvh->node && out));
    for (int i = 0; i < bvh->nnode; ++i, out += STI_BVH_NODE) {
        for (int k = 0; k < 3; ++k) {
            out[k] = (double)bvh->node[i].lower[k];
            out[3 + k] = (double)bvh->node[i].upper[k];
        }
        out[6] = (double)bvh->node[i].first;
        out[7] = (double)bvh->node[i].count;
    }
}

void sti_bvh_put_triangles(const sti_bvh *bvh, const float *vertices, const int *faces, int64_t n, double *out)
{
    assert((n == 0 || bvh->order) && "a height field has no order of triangles");
    for (int64_t i = 0; i < n; ++i, out += STI_BVH_TRIANGLE) {
        ptrdiff_t face = bvh->order[i];
        assert(face >= 0 && face < n);
        for (ptrdiff_t v = 0; v < 3; ++v)
            for (int k = 0; k < 3; ++k) out[3 * v + k] = (double)vertices[3 * (int64_t)faces[3 * face + v] + k];
        out[9] = (double)face; /* RAY_TRI_FACE */
    }
}
