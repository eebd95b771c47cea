/*
 * The tables of native physics against what they stand for, looked up one by one: lists of dofs, transposes, levels.
 * How large they are for many bodies. Blocks that share parameters have those that they would have alone.
 */
#include "base/dice.h"
#include "model/model.h"
#include "physics/heap.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/contact/pairs.h"
#include "physics/tables.h"
#include "physics/trees.h"
#include "worlds/rig.h"

#include <stdlib.h>

enum { TEXT = 1 << 17, MODELS = 60 };

static const int *table(const sti_physics_tables *t, int number) { return t->m + t->m[number]; }

/* ---- dofs of blocks ---------------------------------------------------------------------------------------------- */

static bool body_moves(const mjModel *m, int body, int dof)
{
    for (; body > 0; body = m->body_parentid[body])
        if (m->dof_bodyid[dof] == body) return true;
    return false;
}

static bool tendon_moves(const mjModel *m, int tendon, int dof)
{
    for (int e = 0; e < m->ten_J_rownnz[tendon]; ++e)
        if (m->ten_J_colind[m->ten_J_rowadr[tendon] + e] == dof) return true;
    return false;
}

/* Does one side of a block move with a dof? */
static bool side_moves(const mjModel *m, const int *block, int side, int dof)
{
    int id = block[side ? B_OBJ2 : B_OBJ1];
    if (block[B_TYPE] == PH_GEOMS) return body_moves(m, m->geom_bodyid[id], dof);
    if (block[B_KIND] != PH_EQUALITY) id = side == 0 ? block[B_ID] : -1;
    if (id < 0) return false;
    switch (block[B_TYPE]) {
    case PH_EQ_CONNECT:
    case PH_EQ_WELD: return body_moves(m, id, dof);
    case PH_EQ_JOINT:
    case PH_LIMIT_JOINT:
    case PH_LIMIT_BALL: return m->dof_jntid[dof] == id;
    case PH_LOSS_DOF: return dof == id;
    default: return tendon_moves(m, id, dof);
    }
}

static void check_block(const mjModel *m, const sti_physics_tables *t, const int *block)
{
    const int *dof = block + block[B_DOFS], *place = block + block[B_PLACES], *tiles = block + block[B_TILES];
    int n = 0, words = t->m[M_NWORD], lowest = -1;
    int bits[64] = {0};
    assert_true(words <= 64);
    for (int d = 0; d < m->nv; ++d) {
        int sides = side_moves(m, block, 0, d) + 2 * side_moves(m, block, 1, d);
        if (sides == 0 || (sides == 3 && block[B_TYPE] == PH_GEOMS)) continue;
        assert_true(n < block[B_NDOF]);
        assert_int_equal(dof[2 * n], d);
        assert_int_equal(dof[2 * n + 1], sides);
        lowest = place[n] / 4;
        bits[lowest / 32] |= (int)(1u << lowest % 32);
        assert_int_equal(place[n++], table(t, M_PLACE)[d]);
    }
    assert_int_equal(n, block[B_NDOF]);
    assert_memory_equal(tiles, bits, (size_t)words * sizeof *bits);
    if (n > 0) assert_int_equal(block[B_LOW], lowest);
}

/* ---- lists of the tree and of matrices --------------------------------------------------------------------------- */

static void check_below(const mjModel *m, const sti_physics_tables *t)
{
    for (int i = 0, k = 0; i < m->nv; ++i) {
        assert_int_equal(table(t, M_BELOW_ADR)[i], k);
        for (int r = (int)m->nv - 1; r > i; --r)
            for (int e = m->M_rowadr[r]; e < m->M_rowadr[r] + m->M_rownnz[r]; ++e) {
                if (m->M_colind[e] != i) continue;
                assert_int_equal(table(t, M_BELOW_ROW)[k], r);
                assert_int_equal(table(t, M_BELOW_ENTRY)[k++], e);
            }
        assert_int_equal(table(t, M_BELOW_ADR)[i + 1], k);
    }
}

static void check_children(const mjModel *m, const sti_physics_tables *t)
{
    for (int p = 0, k = 0; p < m->nbody; ++p) {
        assert_int_equal(table(t, M_CHILD_ADR)[p], k);
        for (int b = 1; b < m->nbody; ++b)
            if (m->body_parentid[b] == p) assert_int_equal(table(t, M_CHILD)[k++], b);
        assert_int_equal(table(t, M_CHILD_ADR)[p + 1], k);
    }
    int level = 0;
    for (int k = 0, last = 0; k < m->nbody - 1; ++k) {
        int body = table(t, M_LEVEL_BODY)[k], depth = 0;
        for (int b = m->body_parentid[body]; b > 0; b = m->body_parentid[b]) ++depth;
        while (k >= table(t, M_LEVEL_ADR)[level + 1]) {
            ++level;
            last = 0;
        }
        assert_int_equal(depth, level);
        assert_true(body > last);
        last = body;
    }
    assert_int_equal(t->m[M_NLEVEL], m->nbody > 1 ? level + 1 : 0);
}

static void check_transpose(const sti_physics_tables *t, int nrow, int rowadr, int colind, int number, int adr)
{
    for (int d = 0, k = 0; d < t->m[M_NV]; ++d) {
        assert_int_equal(table(t, adr)[d], k);
        for (int r = 0; r < nrow; ++r)
            for (int e = table(t, rowadr)[r]; e < table(t, rowadr)[r + 1]; ++e) {
                if (table(t, colind)[e] != d) continue;
                assert_int_equal(table(t, number)[2 * k], r);
                assert_int_equal(table(t, number)[2 * k++ + 1], e);
            }
        assert_int_equal(table(t, adr)[d + 1], k);
    }
}

/* What J' b J adds to each entry of qM: all pairs of entries of one row that are in its row and its column. */
static void check_entry_pairs(const mjModel *m, const sti_physics_tables *t)
{
    int k = 0;
    for (int i = 0; i < m->nv; ++i)
        for (int e = m->M_rowadr[i]; e < m->M_rowadr[i] + m->M_rownnz[i]; ++e) {
            assert_int_equal(table(t, M_ENTRY_ADR)[e], k);
            for (int kind = 0; kind < 2; ++kind)
                for (int r = 0; r < (kind ? m->nactuator : m->ntendon); ++r) {
                    const int *adr = table(t, kind ? M_MOMENT_ROWADR : M_TEN_J_ROWADR);
                    const int *col = table(t, kind ? M_MOMENT_COLIND : M_TEN_J_COLIND);
                    for (int a = adr[r]; a < adr[r + 1]; ++a)
                        for (int b = adr[r]; b < adr[r + 1]; ++b) {
                            if (col[a] != i || col[b] != m->M_colind[e]) continue;
                            const int pair[4] = {kind, r, a, b};
                            assert_memory_equal(table(t, M_ENTRY_PAIR) + 4 * k++, pair, sizeof pair);
                        }
                }
            assert_int_equal(table(t, M_ENTRY_ADR)[e + 1], k);
        }
}

/* Which pairs there are, by the rules that MuJoCo's documentation names, one after the other. */
static bool is_pair(const mjModel *m, int a, int b)
{
    int one = m->geom_bodyid[a], two = m->geom_bodyid[b], w1 = m->body_weldid[one], w2 = m->body_weldid[two];
    bool bits = (m->geom_contype[a] & m->geom_conaffinity[b]) || (m->geom_contype[b] & m->geom_conaffinity[a]);
    bool family = w1 && w2 && !(m->opt.disableflags & mjDSBL_FILTERPARENT) &&
                  (m->body_weldid[m->body_parentid[w1]] == w2 || m->body_weldid[m->body_parentid[w2]] == w1);
    bool listed = false;
    for (int i = 0; i < m->nexclude; ++i)
        listed = listed || m->exclude_signature[i] == (one << 16) + two || m->exclude_signature[i] == (two << 16) + one;
    for (int i = 0; i < m->npair; ++i)
        listed = listed || (m->pair_geom1[i] == a && m->pair_geom2[i] == b) ||
                 (m->pair_geom1[i] == b && m->pair_geom2[i] == a);
    return bits && w1 != w2 && !family && !listed;
}

static void check_pairs(const mjModel *m)
{
    sti_pair_place at = {.next = 0};
    if (m->opt.disableflags & (mjDSBL_CONTACT | mjDSBL_CONSTRAINT)) {
        assert_false(sti_physics_next_pair(m, &at));
        return;
    }
    for (int i = 0; i < m->npair; ++i) {
        assert_true(sti_physics_next_pair(m, &at));
        assert_int_equal(at.pair, i);
    }
    for (int a = 0; a < m->ngeom; ++a)
        for (int b = a + 1; b < m->ngeom; ++b) {
            bool flat = m->geom_type[a] <= mjGEOM_HFIELD && m->geom_type[b] <= mjGEOM_HFIELD;
            if (flat || !is_pair(m, a, b)) continue;
            assert_true(sti_physics_next_pair(m, &at));
            assert_int_equal(at.pair, -1);
            assert_int_equal(at.geom[0], a);
            assert_int_equal(at.geom[1], b);
        }
    assert_false(sti_physics_next_pair(m, &at));
}

/* ---- all of a model ---------------------------------------------------------------------------------------------- */

static int nshared;

static void check_shared(const sti_physics_tables *t, const sti_physics_tables *apart)
{
    int n = t->m[M_NBLOCK] + t->m[M_NPAIR];
    assert_int_equal(apart->m[M_NBLOCK] + apart->m[M_NPAIR], n);
    for (int i = 0; i < n; ++i) {
        const int *one = table(t, M_BLOCK) + B_SIZE * i, *two = table(apart, M_BLOCK) + B_SIZE * i;
        assert_memory_equal(t->f + t->m[M_BLOCK_PRM] + one[B_PRM], apart->f + apart->m[M_BLOCK_PRM] + two[B_PRM],
                            P_SIZE * sizeof *t->f);
        assert_int_equal(two[B_PRM], P_SIZE * i);
        nshared += one[B_PRM] != two[B_PRM];
    }
}

static void check(const stet_model *model)
{
    const mjModel *m = model->mj;
    sti_physics_tables t, apart;
    OK(sti_physics_tables_make(m, &t));
    OK(sti_physics_tables_make_apart(m, NULL, &apart));
    for (int i = 0; i < t.m[M_NBLOCK] + t.m[M_NPAIR]; ++i) check_block(m, &t, table(&t, M_BLOCK) + B_SIZE * i);
    check_pairs(m);
    check_below(m, &t);
    check_children(m, &t);
    check_transpose(&t, (int)m->ntendon, M_TEN_J_ROWADR, M_TEN_J_COLIND, M_DOF_TEN, M_DOF_TEN_ADR);
    check_transpose(&t, (int)m->nactuator, M_MOMENT_ROWADR, M_MOMENT_COLIND, M_DOF_ACT, M_DOF_ACT_ADR);
    check_entry_pairs(m, &t);
    check_shared(&t, &apart);
    sti_physics_tables_free(&t);
    sti_physics_tables_free(&apart);
}

static void tables_say_what_the_model_says(void **state)
{
    static char text[TEXT];
    static const char *const scenes[] = {"cartpole.xml",  "hand.xml",
                                         "humanoid.xml",  "quadruped.xml",
                                         "arm_table.xml", "<mujoco><worldbody>" HEAP_OF_TREES "</worldbody></mujoco>"};
    uint64_t dice = dice_seed(__func__);
    tree_counts counts = {.models = 0};
    stet_model *model;
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) {
        check(model = rig_model(scenes[k]));
        stet_model_destroy(model);
    }
    for (int k = 0; k < MODELS; ++k) {
        tree_draw(&dice, text, sizeof text, k % 4 != 0, &counts);
        if (stet_model_load_string(text, &model) != STET_OK) continue;
        check(model);
        stet_model_destroy(model);
    }
    tree_print(&counts);
    assert_true(nshared > 0);
}

/* Bodies in a row; every third may not touch the next one, and one pair has parameters of its own. */
static void pairs_are_left_out(void **state)
{
    enum { BODIES = 12 };
    static char text[TEXT];
    size_t at = (size_t)snprintf(text, TEXT, "<mujoco><worldbody><geom type='plane' size='9 9 1'/>");
    for (int b = 0; b < BODIES; ++b)
        at += (size_t)snprintf(text + at, TEXT - at,
                               "<body name='b%d' pos='%d 0 1'><freejoint/><geom name='g%d' size='.1'/><geom size='.2'/>"
                               "</body>",
                               b, b, b);
    at += (size_t)snprintf(text + at, TEXT - at, "</worldbody><contact>");
    for (int b = BODIES - 1; b > 0; b -= 3)
        at += (size_t)snprintf(text + at, TEXT - at, "<exclude body1='b%d' body2='b%d'/>", b, b - 1);
    (void)snprintf(text + at, TEXT - at,
                   "<pair geom1='g7' geom2='g2'/><pair geom1='g2' geom2='g5'/><pair geom1='g0' geom2='g1'/></contact>"
                   "</mujoco>");
    stet_model *model = rig_model(text);
    check(model);
    stet_model_destroy(model);
}

/* ---- many bodies ------------------------------------------------------------------------------------------------- */

static sti_physics_tables tables_of_spheres(int n)
{
    static char text[TEXT];
    sti_physics_tables t;
    size_t at = (size_t)snprintf(text, TEXT, "<mujoco><worldbody><geom type='plane' size='9 9 1'/>");
    for (int b = 0; b < n; ++b)
        at += (size_t)snprintf(text + at, TEXT - at, "<body pos='%d 0 1'><freejoint/><geom size='.1'/></body>", b);
    (void)snprintf(text + at, TEXT - at, "</worldbody></mujoco>");
    stet_model *model = rig_model(text);
    if (setenv("STET_PAIR_ROWS", "1e9", 1) != 0) fail(); /* physics/tree_pairs has what else there would be */
    OK(sti_physics_tables_make(model->mj, &t));
    (void)unsetenv("STET_PAIR_ROWS");
    stet_model_destroy(model);
    return t;
}

/*
 * Of n equal spheres all of whose pairs have rows: parameters do not grow with their pairs; of ints a pair has its
 * description and its dofs.
 */
static void kf50_tables_of_many_bodies_are_small(void **state)
{
    enum { FEW = 100, MANY = 200, PAIR = B_SIZE + 3 * 12, OTHERS = 400 };
    sti_physics_tables few = tables_of_spheres(FEW), many = tables_of_spheres(MANY);
    int pairs = MANY * (MANY - 1) / 2 + MANY;
    assert_int_equal(many.m[M_NPAIR], pairs);
    assert_in_range(many.nm, 1, pairs * (PAIR + many.m[M_NWORD]) + OTHERS * MANY);
    assert_in_range(many.nf - few.nf, 1, OTHERS * (MANY - FEW));
    assert_int_equal(few.m[M_NTOUCH], FEW + 1);
    sti_physics_tables_free(&few);
    sti_physics_tables_free(&many);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_say_what_the_model_says),
        cmocka_unit_test(pairs_are_left_out),
        cmocka_unit_test(kf50_tables_of_many_bodies_are_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
