/*
 * Islands of models of many trees: the pattern of random graphs against elimination without a thought for sparsity;
 * accelerations against MuJoCo's in double; an island's bits are its own, whatever others do, and the same at every
 * width; a factor without room.
 */
#include "physics/native_state.h"
#include "physics/oracle.h"

#include <math.h>

#define STET_CALLS 1
#define STET_W 1
#include "stet/lang.h"

#include "physics/forward.k.h"

/* ---- patterns ---------------------------------------------------------------------------------------------------- */

enum { NODES = 90, SLOTS = 120, DOFS = 5, LIST = 3 * DOFS, GRAPHS = 200, TABLES = 1024, INTS = 1 << 16, REALS = 16 };

typedef struct graph {
    int m[INTS], s[INTS];
    real w[REALS];
    int n, nslot, touches[SLOTS][2];
    bool has[NODES][NODES]; /* of columns: the row's, the column's */
} graph;

static graph g;
static const ph_world w = {.tables = g.m, .memory = g.w, .ints = g.s};

static int draw_below(uint64_t *dice, int n) { return (int)dice_below(dice, (size_t)n); }
static const int *list_of(int which) { return PH_ISLE(w, which); }

/* Nodes of one dof each, which is their own tree, and slots of one or two of them. */
static void draw_graph(uint64_t *dice)
{
    memset(&g, 0, sizeof g);
    int n = g.n = 1 + draw_below(dice, NODES), at = TABLES;
    g.nslot = draw_below(dice, n + SLOTS - NODES + 1);
    g.m[M_NV] = g.m[M_NNODE] = n;
    g.m[M_NSLOT] = SLOTS;
    g.m[M_NODE_TILE] = n * (n + 1) / 2;
    g.m[M_NPATTERN] = PH_ISLE_INTS * (n + 1) + 3 * g.m[M_NODE_TILE] + 2 * n + 1 + n * ((n + 31) / 32);
    static const int tables[] = {M_PLACE, M_M_ROWNNZ, M_M_ROWADR, M_M_COLIND, M_NODE_TREE};
    for (int k = 0; k < (int)(sizeof tables / sizeof *tables); ++k, at += n) {
        g.m[tables[k]] = at;
        for (int d = 0; d < n; ++d) g.m[at + d] = tables[k] == M_PLACE ? 8 * (n - 1 - d) : k == 1 ? 1 : d;
    }
    for (int k = 0; k < g.nslot; ++k, at += B_SIZE + 2) {
        int *block = g.m + at, two = n > 1 && draw_below(dice, 4) > 0, one = draw_below(dice, n), other = one;
        while (two && other == one) other = draw_below(dice, n);
        g.touches[k][0] = one > other ? one : other;
        g.touches[k][1] = one < other ? one : other;
        block[B_NDOF] = 1 + two;
        block[B_PLACES] = B_SIZE;
        for (int i = 0; i < 2; ++i) block[B_SIZE + i] = 8 * g.touches[k][i];
        g.s[S_SLOTS + 4 * k] = at;
        g.s[ph_active(w) + k] = k;
    }
    assert_true(at <= INTS && ph_by_part(w) + SLOTS <= INTS);
    g.s[S_PARTS + PH_SUMS] = g.nslot;
}

/* What the factor has in the order of the columns. */
static void eliminate(void)
{
    const int *column = list_of(I_COLUMN);
    for (int c = 0; c < g.n; ++c) g.has[c][c] = true;
    for (int k = 0; k < g.nslot; ++k) {
        int a = column[g.touches[k][0]], b = column[g.touches[k][1]];
        g.has[a > b ? a : b][a < b ? a : b] = true;
    }
    for (int h = 0; h < g.n; ++h)
        for (int a = h + 1; a < g.n; ++a)
            for (int b = h + 1; b <= a; ++b) g.has[a][b] |= g.has[a][h] && g.has[b][h];
}

static void check_tiles(void)
{
    const int *begin = list_of(I_BEGIN), *row = PH_TILE_ROW(w), *column = PH_TILE_COLUMN(w), *left = PH_LEFT(w);
    const int *level = list_of(I_LEVEL), *adr = list_of(I_LEFT);
    int all = 0, of[NODES];
    for (int l = 0; l < g.s[S_NLEVEL]; ++l)
        for (int c = level[l]; c < level[l + 1]; ++c) of[c] = l;
    assert_int_equal(level[g.s[S_NLEVEL]], g.n);
    for (int a = 0; a < g.n; ++a)
        for (int b = 0; b <= a; ++b) {
            int found = 0;
            for (int t = begin[b]; t < begin[b + 1]; ++t) found += row[t] == a && column[t] == b;
            assert_int_equal(found, g.has[a][b]);
            all += found;
            if (a > b && found) assert_true(of[b] < of[a]);
        }
    assert_int_equal(begin[g.n], all);
    for (int a = 0; a < g.n; ++a)
        for (int i = adr[a]; i < adr[a + 1]; ++i) {
            assert_true(row[left[i]] == a && column[left[i]] < a);
            if (i > adr[a]) assert_true(column[left[i - 1]] < column[left[i]]);
        }
    assert_int_equal(adr[g.n] + g.n, all);
}

/* Islands are what slots join; each slot and each dof is in one, in ascending order. */
static void check_islands(bool whole)
{
    int of[NODES], touched[NODES] = {0}, seen = 0;
    for (int v = 0; v < g.n; ++v) of[v] = v;
    for (int round = 0; round < g.n; ++round)
        for (int k = 0; k < g.nslot; ++k) {
            int a = g.touches[k][0], b = g.touches[k][1], least = of[a] < of[b] ? of[a] : of[b];
            of[a] = of[b] = least;
            touched[a] = touched[b] = 1;
        }
    const int *column = list_of(I_COLUMN), *isle = list_of(I_ISLE), *slot = list_of(I_SLOT), *dof = list_of(I_DOF);
    for (int a = 0; a < g.n; ++a) {
        assert_int_equal(isle[column[a]] >= 0, whole || touched[a]);
        for (int b = 0; b < a; ++b)
            if (isle[column[a]] >= 0) assert_int_equal(isle[column[a]] == isle[column[b]], of[a] == of[b]);
    }
    for (int s = 0; s < isle[g.n]; ++s) {
        for (int i = slot[s]; i < slot[s + 1]; ++i, ++seen) {
            int k = g.s[ph_by_part(w) + i];
            assert_int_equal(isle[column[g.touches[k][0]]], s);
            if (i > slot[s]) assert_true(k > g.s[ph_by_part(w) + i - 1]);
        }
        for (int i = dof[s]; i < dof[s + 1]; ++i) assert_int_equal(ph_isle_of(w, dof_place(w)[PH_ISLE_DOFS(w)[i]]), s);
    }
    assert_int_equal(seen, g.nslot);
    assert_int_equal(ph_nactive(w), g.nslot);
    assert_int_equal(ph_ngoing(w), dof[isle[g.n]]);
}

static void patterns_are_those_of_elimination(void **state)
{
    uint64_t dice = dice_seed("patterns_are_those_of_elimination");
    for (int i = 0; i < GRAPHS; ++i) {
        draw_graph(&dice);
        ph_find_islands(w, i % 2);
        eliminate();
        check_tiles();
        check_islands(i % 2);
    }
}

/* ---- accelerations ----------------------------------------------------------------------------------------------- */

/* Balls on a plane and on each other, arms of three bodies, a slide; equalities and a tendon between trees. */
#define ISLANDS(option)                                                                                                \
    "<mujoco><option timestep='.002' tolerance='1e-12' " option "/><worldbody><geom type='plane' size='9 9 1'/>"       \
    "<replicate count='8' offset='.19 .01 0'><replicate count='8' offset='-.01 .19 .002'><body name='a' "              \
    "pos='0 0 .095'><freejoint/><geom size='.1'/></body></replicate></replicate><replicate count='3' offset='.4 .01 "  \
    "0'><body name='b' pos='0 .2 .28'><freejoint/><geom size='.1'/><body pos='.05 .05 0'><joint axis='0 1 1'/>"        \
    "<joint axis='1 0 0' range='-10 10' damping='.1'/><geom type='capsule' size='.06' fromto='0 0 0 .16 0 .02'/>"      \
    "<body pos='.16 0 0'><joint type='ball'/><geom size='.07'/></body></body></body></replicate>"                      \
    "<replicate count='2' offset='-.3 0 0'><body name='h' pos='-.2 .2 .1'><joint name='s' type='slide' axis='1 0 0' "  \
    "frictionloss='1'/><geom size='.12'/></body></replicate></worldbody><tendon><fixed name='t' range='-.01 .01' "     \
    "limited='true'><joint joint='s0' coef='1'/><joint joint='s1' coef='.5'/></fixed></tendon><equality><connect "     \
    "body1='a00' body2='b0' anchor='0 0 .1'/><weld body1='a05' body2='h0'/></equality></mujoco>"

static void islands_are_mujocos(void **state)
{
    static const char *const scenes[] = {ISLANDS(""), ISLANDS("cone='elliptic' integrator='implicitfast'"),
                                         ISLANDS("noslip_iterations='3'")};
    uint64_t dice = dice_seed("islands_are_mujocos");
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) {
        rig r = rig_make(scenes[k], ORACLE_WORLDS, "f64", 1, false);
        mjData *data[ORACLE_WORLDS];
        oracle_errors errors = {.n = 0};
        for (int i = 0; i < ORACLE_WORLDS; ++i) assert_non_null(data[i] = mj_makeData(r.model->mj));
        oracle_near_states(&r, data, .01, &dice);
        oracle_compare(&r, data, 1, &errors);
        oracle_print(&errors, "islands");
        double limit = k == 2 ? 1e-4 : 1e-9; /* noslip iterations end at 1e-10 */
        oracle_limit(&errors, limit, limit, "islands");
        for (int i = 0; i < ORACLE_WORLDS; ++i) mj_deleteData(data[i]);
        rig_free(&r);
    }
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

enum { WORLDS = 3, HALF = 40, STEPS = 60, FREE_Q = 7 };

/* Two heaps, far from each other. */
static const char heaps[] =
    "<mujoco><option timestep='.004'/><worldbody><geom type='plane' size='9 9 1'/><replicate count='2' offset='5 0 0'>"
    "<replicate count='5' offset='.004 .002 .21'><replicate count='4' offset='.15 .01 .01'><replicate count='2' "
    "offset='.01 .15 .01'><body pos='0 0 .11'><freejoint/><geom type='box' size='.08 .07 .1'/></body></replicate>"
    "</replicate></replicate></replicate></worldbody></mujoco>";

typedef struct run {
    rig r;
    sti_native *native;
} run;

/* The first heap is the same in all worlds. */
static run begin_heaps(const char *isa)
{
    run x = {.r = rig_make(heaps, WORLDS, isa, 1, false)};
    OK(sti_native_create(x.r.worlds, &x.native));
    stet_array *qvel = rig_array(&x.r, "qvel");
    assert_int_equal(qvel->nitem, 12 * HALF);
    for (int64_t i = 0; i < WORLDS; ++i)
        for (int64_t d = 0; d < qvel->nitem; ++d)
            rig_set(&x.r, "qvel", i, d, .3f * rig_wave(d < 6 * HALF ? 0 : i, 1, d));
    return x;
}

static void end_heaps(run *x)
{
    sti_native_destroy(x->native);
    rig_free(&x->r);
}

static void an_island_has_bits_of_its_own(void **state)
{
    static const char *const isas[] = {"w1", "portable"};
    uint64_t hash[2];
    for (int k = 0; k < 2; ++k) {
        run x = begin_heaps(isas[k]);
        static float qpos[WORLDS][2 * FREE_Q * HALF];
        OK(sti_native_steps(x.native, NULL, STEPS));
        OK(stet_array_read(rig_array(&x.r, "qpos"), qpos, sizeof qpos));
        for (int i = 1; i < WORLDS; ++i) {
            assert_memory_equal(qpos[i], qpos[0], sizeof qpos[0] / 2);
            assert_memory_not_equal(qpos[i] + FREE_Q * HALF, qpos[0] + FREE_Q * HALF, sizeof qpos[0] / 2);
        }
        hash[k] = rig_all_hash(&x.r);
        end_heaps(&x);
    }
    assert_true(hash[0] == hash[1]);
}

/* Room for each tree's own tiles alone: the world says so, and ends near what it should. */
static void a_factor_without_room_is_no_secret(void **state)
{
    static float qvel[2][12 * HALF];
    for (int k = 0; k < 2; ++k) {
        run x = begin_heaps("w1");
        if (k == 1) x.native->tables.m[M_NODE_TILE] = 2 * HALF;
        if (k == 1) x.native->tables.m[M_HOLDS] = 0;
        x.native->old = true;
        OK(sti_native_steps(x.native, NULL, 1));
        OK(stet_array_read_worlds(rig_array(&x.r, "qvel"), 0, 1, qvel[k], sizeof qvel[k]));
        for (int i = 0; i < WORLDS; ++i)
            assert_int_equal(stet_worlds_get_faults(x.r.worlds)[i], k ? 1 << STET_FAULT_CONTACTS_FULL : 0);
        end_heaps(&x);
    }
    for (int d = 0; d < 12 * HALF; ++d) assert_true(fabsf(qvel[1][d] - qvel[0][d]) < 5e-2f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_are_those_of_elimination),
        cmocka_unit_test(islands_are_mujocos),
        cmocka_unit_test(an_island_has_bits_of_its_own),
        cmocka_unit_test(a_factor_without_room_is_no_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
