/*
 * Pairs of geoms of two trees, which a step makes: each pair of the model has a row or is made, with the parameters
 * that its row would have, and steps have the bits that they have with rows, also where the list of near pairs is full.
 * Tables and lists grow with the scene, not with its square.
 */
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/native_state.h"
#include "physics/contact/pairs.h"
#include "physics/tables.h"
#include "worlds/rig.h"

#include "base/dice.h"

#include <math.h>
#include <stdlib.h>

enum { TEXT = 1 << 16, N = 5, TREES = 24, SCENES = 4 };

static const char *const no_rows = "0", *const all_rows = "1e9";

static const int *table(const sti_physics_tables *t, int number) { return t->m + t->m[number]; }

static sti_physics_tables make_tables(const mjModel *m, const char *rows)
{
    sti_physics_tables t;
    if (setenv("STET_PAIR_ROWS", rows, 1) != 0) fail();
    OK(sti_physics_tables_make(m, &t));
    (void)unsetenv("STET_PAIR_ROWS");
    assert_null(sti_validate_physics_tables(&t));
    return t;
}

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

typedef struct scene {
    char text[TEXT];
    size_t at;
} scene;

#define PUT(s, ...) ((s)->at += (size_t)snprintf((s)->text + (s)->at, TEXT - (s)->at, __VA_ARGS__))

static const char *draw_geom(uint64_t *dice)
{
    static const char *const geoms[] = {"type='sphere' size='.05'", "type='capsule' size='.03 .06'",
                                        "type='box' size='.05 .04 .03'", "type='cylinder' size='.04 .03'",
                                        "type='ellipsoid' size='.05 .04 .03' condim='6' friction='.8 .02 .01'"};
    return geoms[dice_below(dice, sizeof geoms / sizeof *geoms)];
}

static void put_tree(scene *s, uint64_t *dice, int i)
{
    PUT(s, "<body name='b%d' pos='%.2f %.2f %.2f'><freejoint/><geom name='g%d' %s/><site name='s%d' size='.1'/>", i,
        0.16 * (i % 3 - 1), 0.16 * (i / 3 % 3 - 1), 0.1 + 0.16 * (i / 9), i, draw_geom(dice), i);
    if (dice_below(dice, 3) == 0)
        PUT(s, "<geom size='.03' pos='0 .05 0' solref='.03 1' margin='.001'/><geom type='box' size='.02 .02 .02'/>");
    if (dice_below(dice, 3) == 0)
        PUT(s, "<body name='c%d' pos='.07 0 0'><joint axis='0 1 0' range='-60 60'/><geom %s/></body>", i,
            draw_geom(dice));
    PUT(s, "</body>");
}

/* Trees in a box that fall onto each other, some of which may not touch, and some with contacts of their own. */
static const char *draw_scene(scene *s, uint64_t *dice)
{
    s->at = 0;
    PUT(s, "<mujoco><option timestep='.004'/><default><geom density='500'/></default><worldbody>"
           "<geom type='plane' size='9 9 1'/><geom type='box' size='.1 1 1' pos='.35 0 0'/>"
           "<geom type='box' size='.1 1 1' pos='-.35 0 0'/>");
    for (int i = 0; i < TREES; ++i) put_tree(s, dice, i);
    PUT(s, "<geom size='.05' pos='0 .3 .1'/></worldbody><contact>");
    for (int i = 0; i + 1 < TREES; i += 5) PUT(s, "<exclude body1='b%d' body2='b%d'/>", i, i + 1);
    for (int i = 2; i + 3 < TREES; i += 6)
        PUT(s, "<pair geom1='g%d' geom2='g%d' condim='3'/><pair geom1='g%d' geom2='g%d' margin='.01'/>", i, i + 1,
            i + 3, i);
    PUT(s, "</contact><sensor>");
    for (int i = 0; i < TREES; i += 3) PUT(s, "<touch site='s%d'/>", i);
    PUT(s, "</sensor></mujoco>");
    return s->text;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static bool are_apart(const sti_physics_tables *t, int one, int two)
{
    for (int k = table(t, M_APART_ADR)[one]; k < table(t, M_APART_ADR)[one + 1]; ++k)
        if (table(t, M_APART)[k] == two) return true;
    return false;
}

/* The row or the description that a step makes one from; NULL: there is none. */
static const int *find_pair(const sti_physics_tables *t, const int *want)
{
    int one = want[B_OBJ1] < want[B_OBJ2] ? want[B_OBJ1] : want[B_OBJ2], two = want[B_OBJ1] + want[B_OBJ2] - one;
    for (int p = 0; p < t->m[M_NPAIR]; ++p) {
        const int *row = table(t, M_PAIR) + (ptrdiff_t)B_SIZE * p;
        if (row[B_OBJ1] == want[B_OBJ1] && row[B_OBJ2] == want[B_OBJ2]) return row;
    }
    int first = table(t, M_GEOM_TREE)[one], second = table(t, M_GEOM_TREE)[two];
    if (first < 0 || second < 0 || first == second || are_apart(t, one, two)) return NULL;
    assert_true(first < second);
    int kinds = table(t, M_KIND_PAIR)[t->m[M_NKIND] * table(t, M_GEOM_KIND)[one] + table(t, M_GEOM_KIND)[two]];
    return kinds < 0 ? NULL : table(t, M_PAIR) + (ptrdiff_t)B_SIZE * (t->m[M_NPAIR] + kinds);
}

/* How many pairs of two geoms of two trees are made. */
static int count_made(const sti_physics_tables *t)
{
    int n = 0, ngeom = t->m[M_NGEOM];
    const int *tree = table(t, M_GEOM_TREE), *kind = table(t, M_GEOM_KIND);
    for (int a = 0; a < ngeom; ++a)
        for (int b = a + 1; b < ngeom; ++b)
            n += tree[a] >= 0 && tree[b] > tree[a] && !are_apart(t, a, b) &&
                 table(t, M_KIND_PAIR)[t->m[M_NKIND] * kind[a] + kind[b]] >= 0;
    return n;
}

static void each_pair_has_a_row_or_is_made(void **state)
{
    uint64_t dice = dice_seed(__func__);
    scene s;
    for (int k = 0; k < SCENES; ++k) {
        stet_model *model = rig_model(draw_scene(&s, &dice));
        sti_physics_tables rows = make_tables(model->mj, all_rows), made = make_tables(model->mj, no_rows);
        assert_int_equal(rows.m[M_NTREE], 0);
        assert_int_equal(made.m[M_NTREE], TREES);
        assert_true(made.m[M_NPAIR] < rows.m[M_NPAIR] / 2);
        assert_int_equal(made.m[M_NPAIR] + count_made(&made), rows.m[M_NPAIR]);
        for (int p = 0; p < rows.m[M_NPAIR]; ++p) {
            const int *want = table(&rows, M_PAIR) + (ptrdiff_t)B_SIZE * p, *got = find_pair(&made, want);
            static const int same[] = {B_KIND, B_TYPE, B_DIM, B_ID, B_SIDE};
            if (!got) fail_msg("geoms %d and %d have no pair", want[B_OBJ1], want[B_OBJ2]);
            for (size_t i = 0; i < sizeof same / sizeof *same; ++i) assert_int_equal(got[same[i]], want[same[i]]);
            const double *x = made.f + made.m[M_BLOCK_PRM] + got[B_PRM];
            const double *y = rows.f + rows.m[M_BLOCK_PRM] + want[B_PRM];
            for (int i = 0; i < P_SIZE; ++i) assert_true(fabs(x[i] - y[i]) <= 1e-11 * fabs(y[i]));
        }
        sti_physics_tables_free(&made);
        sti_physics_tables_free(&rows);
        stet_model_destroy(model);
    }
}

static sti_physics_tables tables_of_bodies(int n, const char *rows)
{
    static scene s;
    s.at = 0;
    PUT(&s, "<mujoco><worldbody><geom type='plane' size='9 9 1'/>");
    for (int i = 0; i < n; ++i) PUT(&s, "<body pos='%d 0 1'><freejoint/><geom size='.1'/></body>", i);
    PUT(&s, "</worldbody></mujoco>");
    stet_model *model = rig_model(s.text);
    sti_physics_tables t = make_tables(model->mj, rows);
    stet_model_destroy(model);
    return t;
}

/* Bits of tiles are few: a hundredth of a body's other numbers for each hundred bodies. */
static void tables_grow_with_the_scene(void **state)
{
    enum { FEW = 100, INTS = 700, REALS = 300 };
    for (int n = FEW; n <= 8 * FEW; n *= 2) {
        sti_physics_tables t = tables_of_bodies(n, no_rows);
        int room = sti_physics_room(&t), bits = t.m[M_NWORD] * t.m[M_NTILE] + t.m[M_NWORD] * n;
        assert_int_equal(t.m[M_NPAIR], n);
        assert_int_equal(t.m[M_NMADE], 1);
        assert_int_equal(t.m[M_NTREE], n);
        assert_in_range(t.nm, 1, INTS * n + M_HEADER + 2 * bits);
        assert_in_range(t.nf, 1, REALS * n);
        assert_in_range(t.m[M_NNEAR], n, n + 4 * room);
        sti_physics_tables_free(&t);
    }
    sti_physics_tables rows = tables_of_bodies(FEW, all_rows);
    assert_int_equal(rows.m[M_NPAIR], FEW * (FEW - 1) / 2 + FEW);
    sti_physics_tables_free(&rows);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

typedef struct run {
    rig r;
    sti_native *native;
} run;

static run begin(const char *text, const char *isa, const char *rows, int room)
{
    run x = {.r = rig_make(text, N, isa, 2, false)};
    if (setenv("STET_PAIR_ROWS", rows, 1) != 0) fail();
    OK(sti_native_create(x.r.worlds, &x.native));
    (void)unsetenv("STET_PAIR_ROWS");
    x.native->begun = room >= 0;
    if (room >= 0) OK(sti_native_set_room(x.native, room));
    return x;
}

static void end(run *x)
{
    sti_native_destroy(x->native);
    rig_free(&x->r);
}

/* All worlds differ. Gives the hash of all that a step leaves. */
static uint64_t step(run *x, int n, uint64_t dice)
{
    stet_array *qvel = rig_array(&x->r, "qvel");
    for (int64_t w = 0; w < N; ++w)
        for (int64_t i = 0; i < qvel->nitem; ++i) rig_set(&x->r, "qvel", w, i, (float)dice_below(&dice, 100) * 0.002f);
    for (int i = 0; i < n; ++i) OK(sti_native_steps(x->native, NULL, 4));
    return rig_all_hash(&x->r) * 31 + rig_array_hash(&x->r, "ncon");
}

static int count_contacts(const run *x)
{
    int32_t ncon[N];
    int all = 0;
    OK(stet_array_read_worlds(rig_array(&x->r, "ncon"), 0, N, ncon, sizeof ncon));
    for (int w = 0; w < N; ++w) all += ncon[w];
    return all;
}

/* The first scene is made on the device that the run is about. */
static void steps_have_the_bits_that_they_have_with_rows(void **state)
{
    enum { STEPS = 40 };
    static const char *const isas[] = {"w1", "portable", "avx2", "avx512"};
    uint64_t dice = dice_seed(__func__);
    int contacts = 0;
    scene s;
    for (int k = 0; k < SCENES; ++k) {
        uint64_t start = dice_next(&dice);
        const char *text = draw_scene(&s, &dice), *isa = isas[dice_below(&dice, sizeof isas / sizeof *isas)];
        stet_device_def def = stet_default_device_def();
        stet_device *device;
        def.isa = isa;
        if (stet_device_create(&def, &device) == STET_OK)
            stet_device_destroy(device);
        else
            isa = "portable"; /* which each machine has */
        run made = begin(text, k > 0 ? isa : NULL, no_rows, -1), rows = begin(text, isa, all_rows, -1);
        uint64_t got = step(&made, STEPS, start), want = step(&rows, STEPS, start);
        int some = count_contacts(&rows);
        print_message("%s: %d contacts\n", isa, some);
        assert_true(got == want);
        contacts += some;
        end(&made);
        end(&rows);
    }
    assert_true(contacts > SCENES * N * TREES / 2);
}

/* Room for one contact, and for four near pairs that are made: worlds wait until there is room for all. */
static void a_full_list_makes_room(void **state)
{
    enum { STEPS = 20 };
    uint64_t dice = dice_seed(__func__), start = dice_next(&dice);
    scene s;
    const char *text = draw_scene(&s, &dice);
    run made = begin(text, "portable", no_rows, 1), rows = begin(text, "portable", all_rows, -1);
    int before = made.native->tables.m[M_NNEAR];
    assert_int_equal(before, made.native->tables.m[M_NPAIR] + 4);
    uint64_t got = step(&made, STEPS, start), want = step(&rows, STEPS, start);
    assert_true(got == want);
    assert_true(made.native->tables.m[M_NNEAR] > before);
    for (int64_t w = 0; w < N; ++w) assert_int_equal(stet_worlds_get_faults(made.r.worlds)[w], 0);
    end(&made);
    end(&rows);
}

/* Friction and sizes of their own: each geom is a kind. */
static void worlds_may_have_parameters_of_their_own(void **state)
{
    enum { STEPS = 20, GEOMS = 5 * TREES };
    uint64_t dice = dice_seed(__func__), start = dice_next(&dice), hash[2];
    static double friction[N * GEOMS * 3];
    scene s;
    const char *text = draw_scene(&s, &dice);
    for (size_t i = 0; i < sizeof friction / sizeof *friction; ++i)
        friction[i] = 0.1 + 0.01 * (double)dice_below(&dice, 100);
    for (int k = 0; k < 2; ++k) {
        run x = begin(text, "portable", k ? all_rows : no_rows, -1);
        int64_t ngeom = stet_model_get_info(x.r.model).ngeom;
        assert_true(ngeom <= GEOMS);
        if (setenv("STET_PAIR_ROWS", k ? all_rows : no_rows, 1) != 0) fail();
        OK(stet_worlds_set_parameter(x.r.worlds, "geom_friction", friction, N * 3 * ngeom));
        hash[k] = step(&x, STEPS, start);
        (void)unsetenv("STET_PAIR_ROWS");
        if (k == 0) assert_true(x.native->tables.m[M_NKIND] > TREES);
        end(&x);
    }
    assert_true(hash[0] == hash[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_pair_has_a_row_or_is_made),
        cmocka_unit_test(tables_grow_with_the_scene),
        cmocka_unit_test(steps_have_the_bits_that_they_have_with_rows),
        cmocka_unit_test(a_full_list_makes_room),
        cmocka_unit_test(worlds_may_have_parameters_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
