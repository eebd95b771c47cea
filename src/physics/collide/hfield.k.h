/*
 * Contacts of a height field with a convex geom. Each cell of the grid has two prisms, from the field's base up to a
 * triangle of its surface. Those under the geom's bounding box are tried one by one, row by row, each lane its own; a
 * prism gives at most one contact. The field is model data: heights [row][column] from 0 to 1, and MuJoCo's four sizes.
 *
 * Where a geom has more contacts than there are slots, two that follow one another become the deeper of them, then
 * four, and so on: what is kept is spread over all prisms.
 */
#ifndef STI_PHYSICS_COLLIDE_HFIELD_K_H
#define STI_PHYSICS_COLLIDE_HFIELD_K_H
#include "physics/collide/convex_pair.k.h"

#define HFIELD_CONTACTS 32 /* MuJoCo keeps the first 50 */

/* The grid points under a geom: columns c with low[0] <= c < high[0] begin cells, rows likewise. */
typedef struct hfield_range {
    lint low[2], high[2];
    real bottom; /* of the geom, in the field's frame */
    mask near;
} hfield_range;

LFN void hfield_find_range(const convex *c, const ureal *size, int nrow, int ncol, real margin, const int *tables,
                           const ureal *reals, hfield_range *range)
{
    range->near = m_all();
    for (int k = 0; k < 3; ++k) {
        real way[3], local[3], point[3], low, high, radius = convex_radius(c) + margin;
        for (int j = 0; j < 3; ++j) way[j] = splat(j == k ? 1 : 0);
        m3_mul_transposed(c->g.mat, way, local);
        core_support(c, tables, reals, local, point);
        high = c->g.pos[k] + v3_dot(local, point) + radius;
        v3_scale(local, splat(-1), local);
        core_support(c, tables, reals, local, point);
        low = c->g.pos[k] - v3_dot(local, point) - radius;
        mask meets = m_and(ge(high, splat(k == 2 ? -size[3] : -size[k])), le(low, splat(size[k])));
        range->near = m_and(range->near, meets);
        if (k == 2)
            range->bottom = low;
        else {
            ureal cells = (ureal)((k == 0 ? ncol : nrow) - 1), scale = cells / (2 * size[k]);
            real first = floor((low + splat(size[k])) * splat(scale));
            real last = -floor(-((high + splat(size[k])) * splat(scale)));
            range->low[k] = to_int(clamp(first, splat(0), splat(cells)));
            range->high[k] = to_int(clamp(last, splat(0), splat(cells)));
        }
    }
}

/* Prism 0 or 1 of a cell, each lane's own; its place is the cell's first corner. Gives the height of its top. */
LFN real hfield_prism(const ureal *heights, const ureal *size, int nrow, int ncol, lint row, lint column, int second,
                      convex *prism)
{
    ureal dx = 2 * size[0] / (ureal)(ncol - 1), dy = 2 * size[1] / (ureal)(nrow - 1);
    real top = splat(-size[3]);
    prism->g.pos[0] = fma(splat(dx), to_real(column), splat(-size[0]));
    prism->g.pos[1] = fma(splat(dy), to_real(row), splat(-size[1]));
    prism->g.pos[2] = splat(0);
    for (int i = 0; i < 3; ++i) {
        int right = second ? i > 0 : i == 2, up = second ? i == 1 : i != 1;
        real height = gather(heights, (row + isplat(up)) * isplat(ncol) + column + isplat(right)) * splat(size[2]);
        prism->corner[i][0] = splat(right ? dx : 0);
        prism->corner[i][1] = splat(up ? dy : 0);
        prism->corner[i][2] = splat(-size[3]);
        prism->corner[3 + i][0] = prism->corner[i][0];
        prism->corner[3 + i][1] = prism->corner[i][1];
        prism->corner[3 + i][2] = height;
        top = rmax(top, height);
    }
    return top;
}

/* Into the frame of the field, and a contact back. */
LFN void hfield_local(const geom *field, geom *g)
{
    real from[3], mat[9];
    v3_sub(g->pos, field->pos, from);
    m3_mul_transposed(field->mat, from, g->pos);
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j)
            mat[3 * i + j] =
                fma(field->mat[6 + i], g->mat[6 + j], fma(field->mat[3 + i], g->mat[3 + j], field->mat[i] * g->mat[j]));
    for (int k = 0; k < 9; ++k) g->mat[k] = mat[k];
}
LFN void hfield_world(const geom *field, contact *c)
{
    real local[3];
    v3_copy(c->pos, local);
    m3_mul(field->mat, local, c->pos);
    v3_add(c->pos, field->pos, c->pos);
    v3_copy(c->normal, local);
    m3_mul(field->mat, local, c->normal);
}

/* Contacts as they are found: each slot gets `share` of them, one after the other, and keeps the deepest. */
typedef struct hfield_fill {
    lint slot, share, left; /* the present slot, and how many more it gets */
} hfield_fill;

/* *to = the deeper of two slots, of equal ones the first. */
LFN void hfield_deeper(mask m, const contact *later, contact *to)
{
    contact_copy_if(m_andnot(m_and(m, later->hit), m_and(to->hit, le(to->dist, later->dist))), later, to);
}

/* Where all slots are used, but one more is wanted, two by two become one. */
LFN void hfield_make_room(contact *con, hfield_fill *fill, mask wanted)
{
    mask full = m_and(wanted, ieq(fill->slot, isplat(HFIELD_CONTACTS)));
    if (!any(full)) return;
    for (int i = 0; i < HFIELD_CONTACTS; ++i) {
        contact none = con[i];
        none.hit = m_none();
        if (i < HFIELD_CONTACTS / 2) {
            hfield_deeper(full, con + 2 * i + 1, con + 2 * i);
            contact_copy_if(full, con + 2 * i, con + i);
        } else {
            contact_copy_if(full, &none, con + i);
        }
    }
    fill->slot = iselect(full, isplat(HFIELD_CONTACTS / 2), fill->slot);
    fill->share = iselect(full, fill->share + fill->share, fill->share);
    fill->left = iselect(full, fill->share, fill->left);
}

LFN void hfield_add(contact *con, hfield_fill *fill, const contact *c)
{
    hfield_make_room(con, fill, c->hit);
    for (int i = 0; i < HFIELD_CONTACTS; ++i) {
        mask here = m_and(c->hit, ieq(fill->slot, isplat(i)));
        if (any(here)) hfield_deeper(here, c, con + i);
    }
    fill->left = fill->left - iselect(c->hit, isplat(1), isplat(0));
    mask next = ieq(fill->left, isplat(0));
    fill->slot = fill->slot + iselect(next, isplat(1), isplat(0));
    fill->left = iselect(next, fill->share, fill->left);
}

LFN void collide_hfield(const geom *field, const ureal *heights, const ureal *size, int nrow, int ncol,
                        const convex *other, const int *tables, const ureal *reals, real margin, ureal tolerance,
                        int iterations, mask lanes, contact *con)
{
    convex prism, c = *other;
    geom still;
    for (int k = 0; k < 9; ++k) still.mat[k] = splat(k % 4 == 0 ? 1 : 0);
    for (int k = 0; k < 3; ++k) {
        still.pos[k] = splat(0);
        still.size[k] = splat(0);
    }
    convex_of_geom(&still, CONVEX_PRISM, 0, &prism);
    hfield_local(field, &c.g);
    hfield_range range;
    hfield_find_range(&c, size, nrow, ncol, margin, tables, reals, &range);
    mask rows = ilt(range.low[1], range.high[1]), columns = ilt(range.low[0], range.high[0]);
    mask active = m_and(m_and(lanes, range.near), m_and(rows, columns));
    lint row = iselect(active, range.low[1], isplat(0)), column = iselect(active, range.low[0], isplat(0));
    hfield_fill fill;
    fill.slot = isplat(0);
    fill.share = isplat(1);
    fill.left = isplat(1);
    contact_clear(con, HFIELD_CONTACTS);
    for (; any(active);) {
        for (int second = 0; second < 2; ++second) {
            contact found;
            real top = hfield_prism(heights, size, nrow, ncol, row, column, second, &prism);
            mask below = m_and(active, ge(top, range.bottom));
            if (!any(below)) continue;
            collide_convex(&prism, &c, tables, reals, margin, tolerance, iterations, below, &found);
            hfield_add(con, &fill, &found);
        }
        lint next = column + isplat(1);
        mask ends = m_not(ilt(next, range.high[0]));
        column = iselect(active, iselect(ends, range.low[0], next), column);
        row = iselect(m_and(active, ends), row + isplat(1), row);
        active = m_and(active, ilt(row, range.high[1]));
        row = iselect(active, row, isplat(0));
        column = iselect(active, column, isplat(0));
    }
    for (int i = 0; i < HFIELD_CONTACTS; ++i) hfield_world(field, con + i);
}

#endif
