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
#include "physics/collide/prism.k.h"

#define HFIELD_CONTACTS 32 /* MuJoCo keeps the first 50 */

/* The same in all lanes. */
typedef struct hfield {
    int nrow, ncol;
    ureal size[4];  /* MuJoCo's */
    ureal cell[2];  /* the sides of a cell, m */
    ureal right[2]; /* the unit direction to the right of the cells' diagonals, which go up and to the right */
} hfield;

/* The cells under a geom: columns c with low[0] <= c < high[0], rows likewise. */
typedef struct hfield_range {
    lint low[2], high[2];
    real bottom;          /* of the geom, in the field's frame */
    real left, rightmost; /* its extent along hfield.right */
    mask near;
} hfield_range;

LFN void hfield_of_size(const ureal *size, int nrow, int ncol, hfield *f)
{
    for (int k = 0; k < 4; ++k) f->size[k] = size[k];
    f->nrow = nrow;
    f->ncol = ncol;
    f->cell[0] = 2 * size[0] / (ureal)(ncol - 1);
    f->cell[1] = 2 * size[1] / (ureal)(nrow - 1);
    ureal length = usqrt(ufma(f->cell[0], f->cell[0], f->cell[1] * f->cell[1]));
    f->right[0] = f->cell[1] / length;
    f->right[1] = -f->cell[0] / length;
}

/* The least and the greatest coordinate of a geom with its margin along a unit direction. */
LFN void hfield_extent(const convex *c, const real *way, real margin, const int *tables, const ureal *reals, real *low,
                       real *high)
{
    real local[3], point[3], middle = v3_dot(c->g.pos, way), radius = convex_radius(c) + margin;
    m3_mul_transposed(c->g.mat, way, local);
    core_support(c, tables, reals, local, point);
    *high = middle + v3_dot(local, point) + radius;
    v3_scale(local, splat(-1), local);
    core_support(c, tables, reals, local, point);
    *low = middle - v3_dot(local, point) - radius;
}

LFN void hfield_find_range(const hfield *f, const convex *c, real margin, const int *tables, const ureal *reals,
                           hfield_range *range)
{
    real way[3], low, high;
    range->near = m_all();
    for (int k = 0; k < 3; ++k) {
        for (int j = 0; j < 3; ++j) way[j] = splat(j == k ? 1 : 0);
        hfield_extent(c, way, margin, tables, reals, &low, &high);
        mask meets = m_and(ge(high, splat(k == 2 ? -f->size[3] : -f->size[k])), le(low, splat(f->size[k])));
        range->near = m_and(range->near, meets);
        if (k == 2)
            range->bottom = low;
        else {
            ureal cells = (ureal)((k == 0 ? f->ncol : f->nrow) - 1), scale = cells / (2 * f->size[k]);
            real first = floor((low + splat(f->size[k])) * splat(scale));
            real last = -floor(-((high + splat(f->size[k])) * splat(scale)));
            range->low[k] = to_int(clamp(first, splat(0), splat(cells)));
            range->high[k] = to_int(clamp(last, splat(0), splat(cells)));
        }
    }
    for (int k = 0; k < 3; ++k) way[k] = splat(k < 2 ? f->right[k] : 0);
    hfield_extent(c, way, margin, tables, reals, &range->left, &range->rightmost);
}

/* The heights at the corners of a cell, each lane's own: of the field's column and the next, then the next row's. */
LFN void hfield_heights(const hfield *f, const ureal *heights, lint row, lint column, real *height)
{
    lint at = row * isplat(f->ncol) + column;
    for (int i = 0; i < 4; ++i) height[i] = gather(heights, at + isplat(i / 2 * f->ncol + i % 2)) * splat(f->size[2]);
}

/* The cell's prism 0 or 1; its place is the cell's first corner. Gives the height of its top. */
LFN real hfield_prism(const hfield *f, const real *height, int second, convex *prism)
{
    real top = splat(-f->size[3]);
    for (int i = 0; i < 3; ++i) {
        int right = second ? i > 0 : i == 2, up = second ? i == 1 : i != 1;
        prism->corner[i][0] = splat(right ? f->cell[0] : 0);
        prism->corner[i][1] = splat(up ? f->cell[1] : 0);
        prism->corner[i][2] = splat(-f->size[3]);
        prism->corner[3 + i][0] = prism->corner[i][0];
        prism->corner[3 + i][1] = prism->corner[i][1];
        prism->corner[3 + i][2] = height[2 * up + right];
        top = rmax(top, prism->corner[3 + i][2]);
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
    lint row, column;       /* each lane's cell */
    mask active;            /* lanes that have one */
    lint slot, share, left; /* the present slot, and how many more it gets */
    int used;               /* slots that hold a contact in some lane */
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
    for (int i = 0; i < HFIELD_CONTACTS && i <= fill->used; ++i) {
        mask here = m_and(c->hit, ieq(fill->slot, isplat(i)));
        if (!any(here)) continue;
        if (i == fill->used) {
            contact_clear(con + i, 1);
            fill->used = i + 1;
        }
        hfield_deeper(here, c, con + i);
    }
    fill->left = fill->left - iselect(c->hit, isplat(1), isplat(0));
    mask next = ieq(fill->left, isplat(0));
    fill->slot = fill->slot + iselect(next, isplat(1), isplat(0));
    fill->left = iselect(next, fill->share, fill->left);
}

/* The two prisms of each lane's cell. */
LFN void hfield_try_cell(const hfield *f, const ureal *heights, const hfield_range *range, convex *prism,
                         const convex *c, convex_search search, contact *con, hfield_fill *fill)
{
    real height[4], *place = prism->g.pos;
    lint row = fill->row, column = fill->column;
    hfield_heights(f, heights, row, column, height);
    place[0] = fma(splat(f->cell[0]), to_real(column), splat(-f->size[0]));
    place[1] = fma(splat(f->cell[1]), to_real(row), splat(-f->size[1]));
    real diagonal = fma(place[0], splat(f->right[0]), place[1] * splat(f->right[1]));
    for (int second = 0; second < 2; ++second) {
        contact found;
        real top = hfield_prism(f, height, second, prism);
        mask beside = second ? ge(range->rightmost, diagonal) : le(range->left, diagonal);
        mask near = m_and(m_and(fill->active, beside), ge(top, range->bottom));
        if (!any(near)) continue;
        collide_prism(prism, second, c, search, near, &found);
        if (any(found.hit)) hfield_add(con, fill, &found);
    }
}

/*
 * `heights` are the field's, [row][column]. Gives how many slots it has filled in some lane; of the others nothing is
 * written. `c` moves to the field's frame.
 */
LFN int collide_hfield(const geom *field, const hfield *f, const ureal *heights, convex *c, convex_search search,
                       mask lanes, contact *con)
{
    convex prism;
    geom still;
    for (int k = 0; k < 9; ++k) still.mat[k] = splat(k % 4 == 0 ? 1 : 0);
    for (int k = 0; k < 3; ++k) {
        still.pos[k] = splat(0);
        still.size[k] = splat(0);
    }
    convex_of_geom(&still, CONVEX_PRISM, 0, &prism);
    hfield_local(field, &c->g);
    hfield_range range;
    hfield_find_range(f, c, search.margin, search.tables, search.reals, &range);
    mask rows = ilt(range.low[1], range.high[1]), columns = ilt(range.low[0], range.high[0]);
    mask active = m_and(m_and(lanes, range.near), m_and(rows, columns));
    hfield_fill fill;
    fill.row = iselect(active, range.low[1], isplat(0));
    fill.column = iselect(active, range.low[0], isplat(0));
    fill.active = active;
    fill.slot = isplat(0);
    fill.share = isplat(1);
    fill.left = isplat(1);
    fill.used = 0;
    for (; any(fill.active);) {
        hfield_try_cell(f, heights, &range, &prism, c, search, con, &fill);
        lint next = fill.column + isplat(1);
        mask ends = m_not(ilt(next, range.high[0]));
        fill.column = iselect(fill.active, iselect(ends, range.low[0], next), fill.column);
        fill.row = iselect(m_and(fill.active, ends), fill.row + isplat(1), fill.row);
        fill.active = m_and(fill.active, ilt(fill.row, range.high[1]));
        fill.row = iselect(fill.active, fill.row, isplat(0));
        fill.column = iselect(fill.active, fill.column, isplat(0));
    }
    rolled
    for (int i = 0; i < fill.used; ++i) hfield_world(field, con + i);
    return fill.used;
}

#endif
