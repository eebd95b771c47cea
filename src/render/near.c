/* Groups of geoms that are near each other, by which patches leave many out at once (cull.k.h). */
#include "render/appearance.h"

#include "base/memory.h"
#include "render/scene.k.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct placed_row {
    double at[3];
    int row, endless;
} placed_row;

static int compare(const placed_row *a, const placed_row *b, int axis)
{
    if (a->at[axis] != b->at[axis]) return a->at[axis] < b->at[axis] ? -1 : 1;
    return a->row - b->row;
}

static int by_x(const void *a, const void *b) { return compare(a, b, 0); }
static int by_y(const void *a, const void *b) { return compare(a, b, 1); }
static int by_z(const void *a, const void *b) { return compare(a, b, 2); }

static int by_endless(const void *a, const void *b)
{
    const placed_row *r = a, *s = b;
    return r->endless != s->endless ? r->endless - s->endless : r->row - s->row;
}

/* Halves the rows along their longest side, until a group is left. */
static void halve(placed_row *rows, int n)
{
    static int (*const by[3])(const void *, const void *) = {by_x, by_y, by_z};
    int axis = 0, half = (n / 2 + GROUP - 1) / GROUP * GROUP;
    double longest = -1;
    if (n <= GROUP) return;
    assert(half > 0 && half < n && half % GROUP == 0 && "both parts have rows, the first one whole groups");
    for (int k = 0; k < 3; ++k) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < n; ++i) {
            low = fmin(low, rows[i].at[k]);
            high = fmax(high, rows[i].at[k]);
        }
        if (high - low > longest) longest = high - low, axis = k;
    }
    qsort(rows, (size_t)n, sizeof *rows, by[axis]);
    halve(rows, half);
    halve(rows + half, n - half);
}

/* One list's rows: those without end last. */
static void order_list(placed_row *rows, int n)
{
    int bounded = 0;
    qsort(rows, (size_t)n, sizeof *rows, by_endless);
    while (bounded < n && !rows[bounded].endless) ++bounded;
    halve(rows, bounded);
}

/* Where rows are in the first world now. */
static stet_result place_rows(stet_stage *stage, const int *shown, int n, placed_row *rows)
{
    stet_array *xform = sti_stage_world(stage);
    size_t real = stet_dtype_size(xform->device, STET_DTYPE_REAL), size = real * (size_t)xform->nitem;
    char *bytes;
    STI_TRY(sti_alloc(&bytes, size, "transforms"));
    stet_result result = stet_array_read_worlds(xform, 0, 1, bytes, size);
    for (int i = 0; i < n && result == STET_OK; ++i) {
        const int *row = &shown[(ptrdiff_t)SHOWN_SIZE * i];
        assert(12 * (int64_t)(row[SHOWN_PRIM] + 1) <= xform->nitem && "a prim has a transform");
        rows[i] = (placed_row){.row = i, .endless = row[SHOWN_KIND] & SHOWN_ENDLESS};
        for (int k = 0; k < 3; ++k) {
            const char *at = bytes + real * (size_t)(12 * row[SHOWN_PRIM] + 4 * k + 3);
            float f = 0;
            double x = 0;
            memcpy(real == sizeof f ? (void *)&f : (void *)&x, at, real);
            x += f;
            rows[i].at[k] = isfinite(x) ? x : 0;
        }
    }
    sti_free(bytes);
    return result;
}

stet_result sti_near_order(stet_stage *stage, const int *head, int *order)
{
    int n = SCENE_NROW(head), solid = (head[SCENE_SOLID] - head[SCENE_SHOWN]) / SHOWN_SIZE,
        clear = (head[SCENE_CLEAR] - head[SCENE_SHOWN]) / SHOWN_SIZE;
    placed_row *rows;
    assert(solid >= 0 && clear >= solid && n >= clear && "lists follow each other");
    STI_TRY(sti_alloc(&rows, (size_t)n * sizeof *rows, "geoms to draw"));
    stet_result result = place_rows(stage, &head[head[SCENE_SHOWN]], n, rows);
    if (result == STET_OK) {
        order_list(rows, solid ? solid : clear);
        order_list(rows + solid, solid ? clear - solid : 0);
        order_list(rows + clear, n - clear);
        for (int i = 0; i < n; ++i) order[i] = rows[i].row;
    }
    sti_free(rows);
    return result;
}
