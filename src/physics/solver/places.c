/* Where dofs are in the solver's matrix; see places.h. */
#include "physics/solver/places.h"

#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"

enum { TILE = 4, MOST_TILES = 64, MANY_TREES = 64, NODE = 8, ROOM_A_NODE = 32, LEAST_ROOM = 1 << 18 };

static bool has_islands(const mjModel *m) { return m->ntree > MANY_TREES; }

/*
 * How many tiles below the diagonal the factor of M has for the dofs first … last, which are a tree, if they begin with
 * row `shift` of a tile; of a tree too large for a word of bits it does not say.
 */
static int count_tiles(const mjModel *m, int first, int last, int shift)
{
    uint64_t column[MOST_TILES] = {0};
    int n = (shift + last - first + TILE) / TILE, all = 0;
    if (n > MOST_TILES) return 0;
    for (int d = last; d >= first; --d)
        for (int e = 0; e < m->M_rownnz[d]; ++e)
            column[(shift + last - d) / TILE] |= UINT64_C(1) << (shift + last - m->M_colind[m->M_rowadr[d] + e]) / TILE;
    for (int h = 0; h < n; ++h) {
        uint64_t above = column[h] & ~(UINT64_C(1) << h);
        int next = h + 1;
        while (above && !(above >> next & 1)) next++;
        if (above) column[next] |= above;
        for (; above; above &= above - 1) all++;
    }
    return all;
}

/*
 * Where the rows of the dofs first … last, a tree, begin, behind `at` others: of many trees in a node of its own; else
 * in a tile of its own, if no more than an eighth of its rows stay free for that, or at once. Of these places it is the
 * one that makes the fewest tiles.
 */
static int find_begin(const mjModel *m, int first, int last, int at)
{
    if (has_islands(m)) return (at + NODE - 1) / NODE * NODE;
    int own = (at + TILE - 1) / TILE * TILE, most = (last - first + 1) / 8;
    int best = at, tiles = count_tiles(m, first, last, at % TILE);
    for (int begin = own; begin < own + TILE && begin - at <= most; ++begin) {
        int here = count_tiles(m, first, last, begin % TILE);
        if (here > tiles || (here == tiles && best >= own)) continue;
        best = begin;
        tiles = here;
    }
    return best;
}

int sti_physics_place_dofs(const mjModel *m, int *place)
{
    int at = 0;
    for (int64_t tree = m->ntree - 1; tree >= 0; --tree) {
        int first = m->tree_dofadr[tree], last = first + m->tree_dofnum[tree] - 1;
        at = find_begin(m, first, last, at);
        for (; last >= first; --last, ++at)
            if (place) place[last] = at;
    }
    return at;
}

/* Nodes of a tree are its own. */
int sti_physics_count_nodes(const mjModel *m)
{
    return has_islands(m) ? (sti_physics_place_dofs(m, NULL) + NODE - 1) / NODE : 0;
}

/*
 * As many as there can be, if that is few: a heap's factor has some ten tiles a column, and one equality or tendon may
 * couple all trees. Each tree by itself always has room.
 */
int64_t sti_physics_count_node_tiles(const mjModel *m)
{
    int64_t n = sti_physics_count_nodes(m), all = n * (n + 1) / 2, room = ROOM_A_NODE * n, trees = 0;
    for (int64_t t = 0; t < m->ntree; ++t) {
        int64_t own = (m->tree_dofnum[t] + NODE - 1) / NODE;
        trees += own * (own + 1) / 2;
    }
    if (room < LEAST_ROOM) room = LEAST_ROOM;
    if (room < trees) room = trees;
    return room < all ? room : all;
}

int64_t sti_physics_count_island_ints(const mjModel *m)
{
    int64_t n = sti_physics_count_nodes(m);
    return PH_ISLE_INTS * (n + 1) + 3 * sti_physics_count_node_tiles(m) + 2 * m->nv + 1 + n * ((n + 31) / 32);
}

/* Where the entry in a row and a column of the solver's matrix is. */
static int find_entry(int row, int column)
{
    int tile = row / TILE;
    return TILE * (tile + 1) * (TILE * tile / 2 + row % TILE) + column;
}

void sti_physics_put_places(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int n = b->t->m[M_NTILE], words = b->t->m[M_NWORD], nv = (int)m->nv;
    const int *at;
    int *place = sti_physics_new_table(b, M_PLACE, nv);
    if (place) sti_physics_place_dofs(m, place);
    int *tree = sti_physics_new_table(b, M_NODE_TREE, b->t->m[M_NNODE]);
    at = tree ? b->t->m + b->t->m[M_PLACE] : NULL;
    for (int d = 0; tree && b->t->m[M_NNODE] > 0 && d < nv; ++d) tree[at[d] / NODE] = m->dof_treeid[d];
    bool dense = !has_islands(m);
    int *entry = sti_physics_new_table(b, M_M_PLACE, dense ? m->nC : 0);
    at = entry ? b->t->m + b->t->m[M_PLACE] : NULL;
    for (int d = 0; entry && dense && d < nv; ++d)
        for (int e = m->M_rowadr[d]; e < m->M_rowadr[d] + m->M_rownnz[d]; ++e)
            entry[e] = find_entry(at[m->M_colind[e]], at[d]);
    int *bits = sti_physics_new_table(b, M_M_TILES, (int64_t)n * words);
    at = bits ? b->t->m + b->t->m[M_PLACE] : NULL;
    for (int h = 0; bits && dense && h < n; ++h) { /* the last row of tiles has the row that is solved with H */
        sti_physics_mark_tile(bits + (ptrdiff_t)h * words, TILE * h);
        sti_physics_mark_tile(bits + (ptrdiff_t)h * words, TILE * (n - 1));
    }
    for (int d = 0; bits && dense && d < nv; ++d)
        for (int e = 0; e < m->M_rownnz[d]; ++e)
            sti_physics_mark_tile(bits + (ptrdiff_t)at[d] / TILE * words, at[m->M_colind[m->M_rowadr[d] + e]]);
}

void sti_physics_mark_tile(int *bits, int place)
{
    int tile = place / TILE;
    bits[tile / 32] = (int)((unsigned)bits[tile / 32] | 1u << tile % 32);
}
