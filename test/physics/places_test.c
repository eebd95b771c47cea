/* Where dofs are in the solver's matrix: of random trees, of the shipped scenes, of a heap of trees. */
#include "base/dice.h"
#include "model/model.h"
#include "physics/heap.h"
#include "physics/solver/places.h"
#include "physics/tables.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/trees.h"
#include "worlds/rig.h"

#define FREE "<body><freejoint/><geom size='.1'/></body>"

enum { TEXT = 1 << 16, MOST = 128, MODELS = 60 };

/* Tiles below the diagonal that a factor has: row by row, without a thought for sparsity. */
static int count_tiles(const mjModel *m, int first, int last, int shift)
{
    static bool has[MOST][MOST];
    int n = (shift + last - first) / 4 + 1, all = 0;
    assert_true(n <= MOST);
    memset(has, 0, sizeof has);
    for (int d = first; d <= last; ++d)
        for (int a = d; a >= 0; a = m->dof_parentid[a]) has[(shift + last - a) / 4][(shift + last - d) / 4] = true;
    for (int h = 0; h < n; ++h)
        for (int g = h + 1; g < n; ++g)
            for (int i = g; i < n; ++i)
                if (has[g][h] && has[i][h]) has[i][g] = true;
    for (int h = 0; h < n; ++h)
        for (int g = h + 1; g < n; ++g) all += has[g][h];
    return all;
}

/* H is stored row by row; those of four rows are as long as the last of them. */
static int find_entry(int row, int column)
{
    int at = 0;
    for (int i = 0; i < row; ++i) at += i / 4 * 4 + 4;
    return at + column;
}

static int alone, shared; /* trees whose first tile is their own, and others */

/* Of many trees each begins with a row of tiles of its own, of 8 by 8, which has no other's dofs. */
static void check_nodes(const mjModel *m, const sti_physics_tables *t)
{
    const int *place = t->m + t->m[M_PLACE], *tree = t->m + t->m[M_NODE_TREE];
    int at = 0;
    for (int d = (int)m->nv - 1; d >= 0; --d, ++at) {
        if (d + 1 < m->nv && m->dof_treeid[d] != m->dof_treeid[d + 1]) at = (at + 7) / 8 * 8;
        assert_int_equal(place[d], at);
        assert_int_equal(tree[at / 8], m->dof_treeid[d]);
    }
    assert_int_equal(t->m[M_NNODE], (at + 7) / 8);
    assert_in_range(t->m[M_NODE_TILE], t->m[M_NNODE], t->m[M_NNODE] * (t->m[M_NNODE] + 1) / 2);
}

/* A tree begins with a tile of its own, if there is room for that, and where it has the fewest tiles. */
static void check(const stet_model *model)
{
    const mjModel *m = model->mj;
    sti_physics_tables t;
    OK(sti_physics_tables_make(m, &t));
    const int *place = t.m + t.m[M_PLACE], *entry = t.m + t.m[M_M_PLACE];
    int at = 0;
    assert_int_equal(t.m[M_NNODE] > 0, m->ntree > 64);
    if (m->ntree > 64) {
        check_nodes(m, &t);
        sti_physics_tables_free(&t);
        return;
    }
    for (int last = (int)m->nv - 1, first; last >= 0; last = first - 1) {
        first = last;
        while (first > 0 && m->dof_treeid[first - 1] == m->dof_treeid[last]) first--;
        int begin = place[last], own = (at + 3) / 4 * 4, most = (last - first + 1) / 8;
        int tiles = count_tiles(m, first, last, begin % 4);
        assert_true(begin == at || (begin >= own && begin < own + 4 && begin - at <= most));
        assert_true(tiles <= count_tiles(m, first, last, at % 4));
        for (int other = own; other < own + 4 && other - at <= most; ++other) {
            int less = count_tiles(m, first, last, other % 4) - tiles;
            assert_true(less > 0 || (less == 0 && begin >= own && begin <= other));
        }
        alone += begin % 4 == 0 || begin > at;
        shared += begin % 4 != 0 && begin == at;
        for (int d = last; d >= first; --d) assert_int_equal(place[d], begin + last - d);
        at = place[first] + 1;
    }
    assert_int_equal(t.m[M_NPLACE], at);
    assert_int_equal(t.m[M_NTILE], at / 4 + 1);
    for (int d = 0, e = 0; d < m->nv; ++d)
        for (int k = 0; k < m->M_rownnz[d]; ++k, ++e)
            assert_int_equal(entry[e], find_entry(place[m->M_colind[e]], place[d]));
    assert_int_equal(t.m[M_NC], m->nC);
    sti_physics_tables_free(&t);
}

static void trees_begin_where_it_is_best(void **state)
{
    static char text[TEXT];
    static const char *const scenes[] = {"cartpole.xml", "hand.xml", "humanoid.xml", "quadruped.xml", "arm_table.xml"};
    uint64_t dice = dice_seed("trees_begin_where_it_is_best");
    tree_counts counts = {.models = 0};
    stet_model *model;
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) {
        check(model = rig_model(scenes[k]));
        stet_model_destroy(model);
    }
    check(model = rig_model("<mujoco><worldbody>" HEAP_OF_TREES "</worldbody></mujoco>"));
    stet_model_destroy(model);
    check(model = rig_model("<mujoco><worldbody>" HEAP_OF_TREES "<replicate count='40'>" FREE "</replicate></worldbody>"
                            "</mujoco>"));
    assert_true(model->mj->ntree > 64);
    stet_model_destroy(model);
    for (int k = 0; k < MODELS; ++k) {
        tree_draw(&dice, text, sizeof text, false, &counts);
        if (stet_model_load_string(text, &model) != STET_OK) continue;
        check(model);
        stet_model_destroy(model);
    }
    tree_print(&counts);
    print_message("%d trees have their first tile alone, %d share it\n", alone, shared);
    assert_true(alone > 0 && shared > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(trees_begin_where_it_is_best)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
