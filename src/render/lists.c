/* Lists of geoms to draw, rows as in scene.k.h: their order, and where they are. */
#include "render/appearance.h"

#include "render/scene.k.h"

#include <string.h>

static void swap_rows(int *a, int *b)
{
    int row[SHOWN_SIZE];
    memcpy(row, a, sizeof row);
    memcpy(a, b, sizeof row);
    memcpy(b, row, sizeof row);
}

static void reverse_rows(int *rows, int n)
{
    for (int i = 0; i < n / 2; ++i)
        swap_rows(rows + (ptrdiff_t)SHOWN_SIZE * i, rows + (ptrdiff_t)SHOWN_SIZE * (n - 1 - i));
}

/* The last geom first, and mirrors last. */
static void order_list(const int *head, int *rows, int n)
{
    reverse_rows(rows, n);
    for (int i = 0; i < head[SCENE_NMIRROR]; ++i) {
        const int *mirror = &head[head[SCENE_MIRROR] + (ptrdiff_t)MIRROR_SIZE * i];
        int at = 0;
        while (at < n && rows[(ptrdiff_t)SHOWN_SIZE * at + SHOWN_GEOM] != mirror[MIRROR_GEOM]) ++at;
        for (; at < n - 1; ++at) swap_rows(rows + (ptrdiff_t)SHOWN_SIZE * at, rows + (ptrdiff_t)SHOWN_SIZE * (at + 1));
    }
}

void sti_lists_order(int *head)
{
    order_list(head, &head[head[SCENE_SHOWN]], head[SCENE_NSHOWN]);
    order_list(head, &head[head[SCENE_SOLID]], head[SCENE_NSOLID]);
}

void sti_lists_close_up(int *head)
{
    const int all = head[SCENE_NSHOWN] + head[SCENE_NSITE], *solid = &head[head[SCENE_SOLID]];
    const int *clear = &head[head[SCENE_CLEAR]], *shown = &head[head[SCENE_SHOWN]];
    const size_t row = SHOWN_SIZE * sizeof *head;
    const bool same = head[SCENE_NSOLID] == all && memcmp(shown, solid, row * (size_t)all) == 0;
    head[SCENE_SOLID] = head[SCENE_SHOWN] + (same ? 0 : SHOWN_SIZE * all);
    if (!same) memmove(&head[head[SCENE_SOLID]], solid, row * (size_t)head[SCENE_NSOLID]);
    head[SCENE_CLEAR] = head[SCENE_SHOWN] + SHOWN_SIZE * (same ? all : all + head[SCENE_NSOLID]);
    memmove(&head[head[SCENE_CLEAR]], clear, row * (size_t)(head[SCENE_NCLEAR] + head[SCENE_NUNDER]));
}
