/* The list of shapes; see shape.h for its invariants. */
#include "stage/shape.h"

#include "base/error.h"
#include "base/memory.h"

int sti_shapes_find(const sti_shapes *shapes, int prim)
{
    for (int i = 0; i < shapes->n; ++i)
        if (shapes->shape[i].prim == prim) return i;
    return -1;
}

void sti_shape_free(sti_shape *s)
{
    sti_free(s->visible);
    sti_free(s->colour);
    *s = (sti_shape){.prim = -1};
}

void sti_shapes_sweep(sti_shapes *shapes, const sti_tree *tree)
{
    for (int i = 0; i < shapes->n; ++i) {
        sti_shape *s = &shapes->shape[i];
        if (s->prim < 0 || sti_tree_has(tree, s->prim)) continue;
        sti_shape_free(s);
        sti_version_bump(&shapes->set);
    }
    while (shapes->n > 0 && shapes->shape[shapes->n - 1].prim < 0) shapes->n--;
}

void sti_shapes_free(sti_shapes *shapes)
{
    for (int i = 0; i < shapes->n; ++i) sti_shape_free(&shapes->shape[i]);
    sti_free(shapes->shape);
    *shapes = (sti_shapes){0};
}

stet_result sti_shapes_vacant(sti_shapes *shapes, int *out)
{
    *out = sti_shapes_find(shapes, -1);
    if (*out >= 0) return STET_OK;
    STI_TRY(sti_realloc(&shapes->shape, (size_t)(shapes->n + 1) * sizeof *shapes->shape, "shapes"));
    shapes->shape[shapes->n] = (sti_shape){.prim = -1};
    *out = shapes->n++;
    return STET_OK;
}
