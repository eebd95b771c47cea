/*
 * Islands of a model of many trees (M_NNODE is not 0), and the pattern of their factors. Part of the kernels that
 * include it, after products.k.h.
 *
 * Rows of H come in nodes of PH_EDGE, of one tree each (places.h). Slots join nodes; what is joined is an island, and
 * is solved until it has converged by itself (island_solve.k.h). A column of the factor is a node's. Columns are
 * ordered so that the factor has few tiles: the node with the fewest neighbours goes first, and its neighbours become
 * each other's (minimum degree: Davis, Direct Methods for Sparse Linear Systems, 2006, section 7.1); then by levels of
 * the elimination tree, whose columns have nothing to do with each other. All of it follows from the slots of one
 * world: lanes are solved one after the other.
 *
 * From ph_pattern on, w.ints has I_LISTS lists of nnode(w) + 1 ints, three of a tile each, the dofs by their islands
 * and those of islands that go on, the bits of nodes' neighbours.
 */
#define I_COLUMN 0 /* of each node; [nnode(w)]: 1 if the factor has no room for what slots couple trees by */
#define I_NODE 1   /* of each column */
#define I_BEGIN 2  /* of each column: its first tile, which is on the diagonal */
#define I_LEFT 3   /* of each row of tiles: where the list of those before the diagonal begins */
#define I_LEVEL 4  /* of each level: its first column; [nnode(w)]: how many there are */
#define I_ISLE 5   /* of each column: its island, -1: none; [nnode(w)]: how many there are */
#define I_GOES 6   /* of each island: bits PH_GOES_…; [nnode(w)]: how many have PH_SEARCHES */
#define I_SLOT 7   /* of each island: where its slots begin, in the list ph_by_part(w) */
#define I_DOF 8    /* of each island: where its dofs begin, in PH_ISLE_DOFS */
#define I_DEGREE 9 /* of each node: how many neighbours it has; lists of nodes by that: */
#define I_HEAD 10
#define I_NEXT 11
#define I_LAST 12
#define I_LISTS PH_ISLE_INTS
#define PH_ISLE(w, list) ((w).ints + ph_pattern(w) + (list) * (nnode(w) + 1))
#define PH_TILE_ROW(w) (PH_ISLE(w, I_LISTS))             /* the row of tiles of each tile, a column number */
#define PH_TILE_COLUMN(w) (PH_TILE_ROW(w) + nodetile(w)) /* its column */
#define PH_LEFT(w) (PH_TILE_COLUMN(w) + nodetile(w))     /* tiles before the diagonal, by rows, columns ascending */
#define PH_ISLE_DOFS(w) (PH_LEFT(w) + nodetile(w))
#define PH_GOING_DOFS(w) (PH_ISLE_DOFS(w) + nv(w)) /* of islands that have PH_GOES; how many: the int behind them */
#define PH_NEIGHBOURS(w) (PH_GOING_DOFS(w) + nv(w) + 1)

/* Lanes are solved one after the other from the beginning. */
#define PH_LANES_APART(w) (STET_W > 1 && nnode(w) > 0)

#define PH_GOES 1     /* the island has not converged */
#define PH_SEARCHES 2 /* its line search goes on */

LFN int ph_node_words(ph_world w) { return (nnode(w) + 31) >> 5; }

/* ---- neighbours -------------------------------------------------------------------------------------------------- */

/* Makes two nodes neighbours. */
LFN void ph_join_nodes(int *bits, int words, int *degree, int a, int b)
{
    if (a == b || ((u32)bits[a * words + (b >> 5)] >> (b & 31) & 1)) return;
    bits[a * words + (b >> 5)] = (int)((u32)bits[a * words + (b >> 5)] | 1u << (b & 31));
    bits[b * words + (a >> 5)] = (int)((u32)bits[b * words + (a >> 5)] | 1u << (a & 31));
    degree[a] = degree[a] + 1;
    degree[b] = degree[b] + 1;
}

/*
 * Nodes that M couples, or an active slot (of one tree, where trees are apart); I_GOES of a node is 1 where a slot has
 * dofs of it.
 */
LFN void ph_find_neighbours(ph_world w, int apart, int *bits)
{
    const int *place = dof_place(w), *nnz = M_rownnz(w), *adr = M_rowadr(w), *col = M_colind(w);
    const int *list = w.ints + ph_active(w);
    int words = ph_node_words(w), *degree = PH_ISLE(w, I_DEGREE), *touched = PH_ISLE(w, I_GOES);
    for (int k = 0; k < nnode(w) * words; ++k) bits[k] = 0;
    for (int k = 0; k < nnode(w); ++k) degree[k] = 0;
    for (int k = 0; k < nnode(w); ++k) touched[k] = 0;
    rolled
    for (int d = 0; d < nv(w); ++d) { /* places descend, and a dof's first ancestor is the farthest one */
        int own = place[d] >> 3, end = adr[d] + nnz[d];
        rolled
        for (int e = adr[d]; e < end && place[col[e]] >> 3 != own; ++e)
            ph_join_nodes(bits, words, degree, own, place[col[e]] >> 3);
    }
    rolled
    for (int i = 0; i < ph_nactive(w); ++i) {
        const int *block = PH_BLOCK(ph_slot_block(w, list[i])), *places = block + block[B_PLACES];
        int n = block[B_NDOF];
        rolled
        for (int c = 0; c < n; ++c) {
            int own = places[c] >> 3;
            if (c > 0 && places[nmax(c - 1, 0)] >> 3 == own) continue;
            touched[own] = 1;
            rolled
            for (int e = c + 1; e < n; ++e)
                if (!apart || node_tree(w)[own] == node_tree(w)[places[e] >> 3])
                    ph_join_nodes(bits, words, degree, own, places[e] >> 3);
        }
    }
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Takes a node out of the list of its degree, or puts it in front. */
LFN void ph_unlink_node(ph_world w, int v)
{
    int *next = PH_ISLE(w, I_NEXT), *last = PH_ISLE(w, I_LAST);
    if (last[v] >= 0)
        next[last[v]] = next[v];
    else
        PH_ISLE(w, I_HEAD)[PH_ISLE(w, I_DEGREE)[v]] = next[v];
    if (next[v] >= 0) last[next[v]] = last[v];
}
LFN void ph_link_node(ph_world w, int v)
{
    int *head = PH_ISLE(w, I_HEAD) + PH_ISLE(w, I_DEGREE)[v], *next = PH_ISLE(w, I_NEXT), *last = PH_ISLE(w, I_LAST);
    next[v] = head[0];
    last[v] = -1;
    if (head[0] >= 0) last[head[0]] = v;
    head[0] = v;
}

/* Node u, whose neighbour v goes first, gets v's other neighbours, in `own`. */
LFN void ph_replace_neighbour(ph_world w, int *row, const int *own, int u, int v)
{
    int words = ph_node_words(w), more = -1;
    row[v >> 5] = (int)((u32)row[v >> 5] & ~(1u << (v & 31)));
    rolled
    for (int q = 0; q < words; ++q) {
        u32 added = (u32)own[q] & ~(u32)row[q];
        if (q == u >> 5) added = added & ~(1u << (u & 31));
        row[q] = (int)((u32)row[q] | added);
        rolled
        for (; added; added = added & (added - 1)) more = more + 1;
    }
    PH_ISLE(w, I_DEGREE)[u] = PH_ISLE(w, I_DEGREE)[u] + more;
}

/* I_LEFT becomes the order of nodes; a node's neighbours become those that come later. */
LFN void ph_order_nodes(ph_world w, int *bits)
{
    int *head = PH_ISLE(w, I_HEAD), *order = PH_ISLE(w, I_LEFT);
    const int *degree = PH_ISLE(w, I_DEGREE);
    int n = nnode(w), words = ph_node_words(w), least = 0;
    for (int k = 0; k <= n; ++k) head[k] = -1;
    for (int v = n - 1; v >= 0; --v) ph_link_node(w, v);
    rolled
    for (int k = 0; k < n; ++k) {
        for (; head[least] < 0;) least = least + 1;
        int v = head[least];
        const int *own = bits + v * words;
        ph_unlink_node(w, v);
        order[k] = v;
        rolled
        for (int q = 0; q < words; ++q) {
            rolled
            for (u32 left = (u32)own[q]; left; left = left & (left - 1)) {
                int u = 32 * q + ph_lowest(left);
                ph_unlink_node(w, u);
                ph_replace_neighbour(w, bits + u * words, own, u, v);
                ph_link_node(w, u);
                least = nmin(least, degree[u]);
            }
        }
    }
}

/* Columns by levels: I_COLUMN, I_NODE, I_LEVEL. A column comes after those that have tiles in its row. */
LFN void ph_number_columns(ph_world w, const int *bits)
{
    const int *order = PH_ISLE(w, I_LEFT);
    int *height = PH_ISLE(w, I_DEGREE), *begin = PH_ISLE(w, I_LEVEL);
    int n = nnode(w), words = ph_node_words(w), nlevel = 0;
    for (int k = 0; k < n; ++k) height[k] = 0;
    for (int k = 0; k <= n; ++k) begin[k] = 0;
    rolled
    for (int k = 0; k < n; ++k) {
        int v = order[k];
        rolled
        for (int q = 0; q < words; ++q) {
            rolled
            for (u32 left = (u32)bits[v * words + q]; left; left = left & (left - 1)) {
                int u = 32 * q + ph_lowest(left);
                height[u] = nmax(height[u], height[v] + 1);
            }
        }
        nlevel = nmax(nlevel, height[v] + 1);
        begin[height[v] + 1] = begin[height[v] + 1] + 1;
    }
    for (int l = 1; l < nlevel; ++l) begin[l] = begin[l] + begin[l - 1];
    rolled
    for (int k = 0; k < n; ++k) {
        int v = order[k], c = begin[height[v]];
        begin[height[v]] = c + 1;
        PH_ISLE(w, I_COLUMN)[v] = c;
        PH_ISLE(w, I_NODE)[c] = v;
    }
    for (int l = nlevel; l > 0; --l) begin[l] = begin[l - 1]; /* each was where it ends */
    begin[0] = 0;
    w.ints[S_NLEVEL] = nlevel;
}

/* ---- tiles ------------------------------------------------------------------------------------------------------- */

/* The tiles of each column and row: I_BEGIN, PH_TILE_ROW, PH_TILE_COLUMN, I_LEFT, PH_LEFT. 0: they have no room. */
LFN int ph_list_node_tiles(ph_world w, const int *bits)
{
    int *begin = PH_ISLE(w, I_BEGIN), *adr = PH_ISLE(w, I_LEFT), *left = PH_LEFT(w);
    int *row = PH_TILE_ROW(w), *column = PH_TILE_COLUMN(w);
    int n = nnode(w), words = ph_node_words(w), t = 0, sum = 0;
    for (int k = 0; k <= n; ++k) adr[k] = 0;
    rolled
    for (int c = 0; c < n; ++c) {
        const int *own = bits + PH_ISLE(w, I_NODE)[c] * words;
        begin[c] = t;
        if (t == nodetile(w)) return 0;
        row[t] = c;
        column[t] = c;
        t = t + 1;
        rolled
        for (int q = 0; q < words; ++q) {
            rolled
            for (u32 rest = (u32)own[q]; rest; rest = rest & (rest - 1)) {
                int a = PH_ISLE(w, I_COLUMN)[32 * q + ph_lowest(rest)];
                if (t == nodetile(w)) return 0;
                row[t] = a;
                column[t] = c;
                adr[a] = adr[a] + 1;
                t = t + 1;
            }
        }
    }
    begin[n] = t;
    for (int c = 0; c <= n; ++c) { /* where each row's list ends, from which it is filled backwards */
        sum = sum + adr[c];
        adr[c] = sum;
    }
    rolled
    for (int k = t - 1; k >= 0; --k) {
        if (row[k] == column[k]) continue;
        adr[row[k]] = adr[row[k]] - 1;
        left[adr[row[k]]] = k;
    }
    return 1;
}

/* The tile in row a and column c, which has it. */
LFN int ph_node_tile(ph_world w, int a, int c)
{
    const int *row = PH_TILE_ROW(w);
    int t = PH_ISLE(w, I_BEGIN)[c];
    for (; row[t] != a;) t = t + 1;
    return t;
}

/* ---- islands ----------------------------------------------------------------------------------------------------- */

/* I_ISLE: islands that slots touch, or (whole) all. I_GOES of nodes becomes that of islands: all go on. */
LFN void ph_number_islands(ph_world w, int whole)
{
    const int *begin = PH_ISLE(w, I_BEGIN), *row = PH_TILE_ROW(w), *node = PH_ISLE(w, I_NODE);
    int *isle = PH_ISLE(w, I_ISLE), *goes = PH_ISLE(w, I_GOES), *touched = PH_ISLE(w, I_HEAD), n = nnode(w), all = 0;
    rolled
    for (int c = n - 1; c >= 0; --c) { /* a column without others below is its island's last one, whose number it has */
        isle[c] = begin[c + 1] - begin[c] > 1 ? isle[row[begin[c] + 1]] : c;
        if (isle[c] == c) touched[c] = whole;
        touched[isle[c]] = touched[isle[c]] | goes[node[c]];
    }
    rolled
    for (int c = 0; c < n; ++c) {
        if (isle[c] != c) continue;
        int on = touched[c];
        touched[c] = on ? all : -1;
        all = all + on;
    }
    for (int c = 0; c < n; ++c) isle[c] = touched[isle[c]];
    for (int s = 0; s < all; ++s) goes[s] = PH_GOES;
    isle[n] = all;
}

LFN void ph_make_one_island(ph_world w)
{
    int *isle = PH_ISLE(w, I_ISLE);
    for (int c = 0; c < nnode(w); ++c) isle[c] = 0;
    PH_ISLE(w, I_GOES)[0] = PH_GOES;
    isle[nnode(w)] = 1;
    w.ints[S_FULL] = 1;
}

/* The island of the row `place` of H. */
LFN int ph_isle_of(ph_world w, int place) { return PH_ISLE(w, I_ISLE)[PH_ISLE(w, I_COLUMN)[place >> 3]]; }
LFN int ph_nisle(ph_world w) { return PH_ISLE(w, I_ISLE)[nnode(w)]; }

/* The active slots, and the dofs, by islands; what is in none is not listed. */
LFN void ph_sort_by_islands(ph_world w)
{
    const int *active = w.ints + ph_active(w), *place = dof_place(w);
    int *slot = PH_ISLE(w, I_SLOT), *dof = PH_ISLE(w, I_DOF), *slots = w.ints + ph_by_part(w), *dofs = PH_ISLE_DOFS(w);
    int n = ph_nisle(w);
    for (int s = 0; s <= n; ++s) slot[s] = 0;
    for (int s = 0; s <= n; ++s) dof[s] = 0;
    for (int pass = 0; pass < 2; ++pass) {
        rolled
        for (int i = ph_nactive(w) - 1; i >= 0; --i) {
            const int *block = PH_BLOCK(ph_slot_block(w, active[i]));
            if (block[B_NDOF] == 0) continue; /* it moves nothing */
            int s = ph_isle_of(w, block[block[B_PLACES]]);
            slot[s] = slot[s] + (pass ? -1 : 1);
            if (pass) slots[slot[s]] = active[i];
        }
        rolled
        for (int d = nv(w) - 1; d >= 0; --d) {
            int s = ph_isle_of(w, place[d]);
            if (s < 0) continue;
            dof[s] = dof[s] + (pass ? -1 : 1);
            if (pass) dofs[dof[s]] = d;
        }
        for (int s = 1; !pass && s <= n; ++s) { /* where each ends */
            slot[s] = slot[s] + slot[s - 1];
            dof[s] = dof[s] + dof[s - 1];
        }
    }
}

/* The slots and dofs of islands that go on become the active ones; in each (one, 1). */
LFN void ph_list_going(ph_world w)
{
    const int *goes = PH_ISLE(w, I_GOES), *slot = PH_ISLE(w, I_SLOT), *dof = PH_ISLE(w, I_DOF);
    int *active = w.ints + ph_active(w), *going = PH_GOING_DOFS(w), nslots = 0, ndofs = 0;
    rolled
    for (int s = 0; s < ph_nisle(w); ++s) {
        if (!(goes[s] & PH_GOES)) continue;
        rolled
        for (int i = slot[s]; i < slot[s + 1]; ++i, ++nslots) active[nslots] = (w.ints + ph_by_part(w))[i];
        rolled
        for (int i = dof[s]; i < dof[s + 1]; ++i, ++ndofs) going[ndofs] = PH_ISLE_DOFS(w)[i];
    }
    w.ints[S_PARTS + PH_SUMS] = nslots;
    going[nv(w)] = ndofs;
}
LFN int ph_ngoing(ph_world w) { return PH_GOING_DOFS(w)[nv(w)]; }

/*
 * Islands of the active slots (whole: of all trees), the pattern of their factors, their slots and dofs. Where the
 * factor has no room (S_FULL), trees are apart in it and one island: H is then what is not less than the sum (see
 * ph_add_to_nodes), so each iteration still goes downhill, but gains less.
 */
LFN void ph_find_islands(ph_world w, int whole)
{
    each (one, 1) {
        int *bits = PH_NEIGHBOURS(w) + one, fits = 0;
        for (int apart = 0; !fits; ++apart) {
            ph_find_neighbours(w, apart, bits);
            ph_order_nodes(w, bits);
            ph_number_columns(w, bits);
            fits = ph_list_node_tiles(w, bits);
            PH_ISLE(w, I_COLUMN)[nnode(w)] = apart;
        }
        ph_number_islands(w, whole);
        if (PH_ISLE(w, I_COLUMN)[nnode(w)]) ph_make_one_island(w);
        ph_sort_by_islands(w);
        ph_list_going(w);
    }
    sync();
}
