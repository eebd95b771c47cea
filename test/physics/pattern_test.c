/*
 * The pattern of the solver's matrix and its factor, of random graphs of blocks, some of which hold in some lanes only:
 * the tiles are those that one of the lanes on has by itself, eliminated one column after the other without a thought
 * for sparsity.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/dice.h"

#include <stdbool.h>
#include <string.h>

#define STET_CALLS 1
#define STET_W 4
#include "stet/lang.h"

#include "physics/forward.k.h"

enum {
    MOST_TILES = 100,
    MOST_SLOTS = 80,
    MOST_WORDS = 4,
    TABLES = 1024,
    GRAPHS = 200,
    INTS = 1 << 16,
    REALS = 1 << 10
};

typedef struct graph {
    int m[INTS], s[INTS];
    real w[REALS];
    int ntile, nslot;
    bool on[STET_W], holds[MOST_SLOTS][STET_W];
    bool touches[MOST_SLOTS][MOST_TILES]; /* rows of tiles of a slot's dofs */
    bool has[MOST_TILES][MOST_TILES];     /* the row's, the column's */
} graph;

static graph g;
static const ph_world w = {.tables = g.m, .memory = g.w, .ints = g.s};

static int draw_below(uint64_t *dice, int n) { return (int)dice_below(dice, (size_t)n); }

static void mark(int *bits, int tile) { bits[tile / 32] = (int)((unsigned)bits[tile / 32] | 1u << tile % 32); }

/* A matrix of tiles of their own, but for the row that is solved, and slots of 1 to 4 of them. */
static void draw(uint64_t *dice)
{
    memset(&g, 0, sizeof g);
    int n = g.ntile = 2 + draw_below(dice, MOST_TILES - 1), words = (n + 31) / 32, at = TABLES;
    g.nslot = draw_below(dice, MOST_SLOTS + 1);
    g.m[M_NTILE] = n;
    g.m[M_NWORD] = words;
    g.m[M_NPLACE] = 4 * (n - 1);
    g.m[M_NPATTERN] = n * (2 * words + 4) + 2 + n * (n + 1) / 2;
    g.m[M_NSLOT] = MOST_SLOTS;
    g.m[M_M_TILES] = at;
    for (int h = 0; h < n; ++h, at += words) {
        mark(g.m + at, h);
        mark(g.m + at, n - 1);
    }
    for (int l = 0; l < STET_W; ++l) g.on[l] = l == 0 || draw_below(dice, 3) > 0;
    for (int k = 0; k < g.nslot; ++k, at += B_SIZE + words) {
        int *block = g.m + at, low = n;
        block[B_TILES] = B_SIZE;
        for (int i = draw_below(dice, 4); i >= 0; --i) {
            int tile = draw_below(dice, n - 1);
            low = tile < low ? tile : low;
            g.touches[k][tile] = true;
            mark(block + B_SIZE, tile);
        }
        block[B_LOW] = low;
        g.s[S_SLOTS + 4 * k] = at;
        g.s[S_SLOTS + 4 * k + 1] = k;
        g.s[ph_active(w) + k] = k;
        for (int l = 0; l < STET_W; ++l) {
            g.holds[k][l] = draw_below(dice, STET_W) == 0;
            ((float *)&g.w[k])[l] = g.holds[k][l] ? 2.0f : 0.0f; /* efc_D */
        }
    }
    assert_true(at <= INTS);
    g.s[S_PARTS + PH_SUMS] = g.nslot;
}

/* What lane l has. */
static void eliminate(int l)
{
    static bool has[MOST_TILES][MOST_TILES];
    int n = g.ntile;
    memset(has, 0, sizeof has);
    for (int h = 0; h < n; ++h) has[h][h] = has[n - 1][h] = true;
    for (int k = 0; k < g.nslot; ++k)
        for (int a = 0; a < n && g.holds[k][l]; ++a)
            for (int b = 0; b <= a; ++b) has[a][b] |= g.touches[k][a] && g.touches[k][b];
    for (int h = 0; h < n; ++h)
        for (int a = h + 1; a < n; ++a)
            for (int b = h + 1; b <= a; ++b) has[a][b] |= has[a][h] && has[b][h];
    for (int a = 0; a < n; ++a)
        for (int b = 0; b <= a; ++b) g.has[a][b] |= has[a][b];
}

static void check(void)
{
    static bool listed[MOST_TILES][MOST_TILES];
    int n = g.ntile, nlevel = g.s[S_NLEVEL], done[MOST_TILES], all = 0;
    const int *begin = g.s + ph_level_begin(w), *list = g.s + ph_tile_list(w), *rows = g.s + ph_tile_rows(w);
    memset(listed, 0, sizeof listed);
    assert_int_equal(begin[0], 0);
    for (int h = 0; h < n; ++h) done[h] = -1;
    for (int l = 0; l < nlevel; ++l)
        for (int i = begin[2 * l]; i < begin[2 * l + 2]; ++i, ++all) {
            int row = list[i] >> 16, column = list[i] & 0xffff;
            assert_true(g.has[row][column] && !listed[row][column]);
            assert_int_equal(row == column, i < begin[2 * l + 1]);
            if (row == column) done[column] = l;
            assert_int_equal(done[column], l);
            listed[row][column] = true;
        }
    for (int a = 0; a < n; ++a)
        for (int b = 0; b <= a; ++b) {
            assert_int_equal(listed[a][b], g.has[a][b] && b < n - 1); /* the last column is of no dof */
            if (a > b) assert_int_equal(rows[a * g.m[M_NWORD] + b / 32] >> b % 32 & 1, g.has[a][b]);
            if (a > b && a < n - 1 && g.has[a][b]) assert_true(done[a] > done[b]);
        }
    assert_int_equal(all, begin[2 * nlevel]);
}

static void lanes_have_what_one_of_them_has(void **state)
{
    uint64_t dice = dice_seed("lanes_have_what_one_of_them_has");
    int several = 0;
    for (int i = 0; i < GRAPHS; ++i) {
        draw(&dice);
        mask on = m_none();
        for (int l = 0; l < STET_W; ++l)
            if (g.on[l]) on = m_or(on, ieq(lane(), isplat(l)));
        ph_find_pattern(w, on);
        /* few tiles: one pattern serves all slots that hold in a lane on */
        if (g.m[M_NWORD] == 1)
            for (int k = 0; k < g.nslot; ++k)
                for (int l = 1; l < STET_W; ++l) g.holds[k][0] |= g.on[l] && g.holds[k][l];
        for (int l = 0; l < (g.m[M_NWORD] == 1 ? 1 : STET_W); ++l)
            if (g.on[l]) eliminate(l);
        check();
        several += g.m[M_NWORD] > 1;
    }
    print_message("%d graphs, %d of them with more than 32 columns\n", GRAPHS, several);
    assert_true(several > 0 && several < GRAPHS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lanes_have_what_one_of_them_has)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
