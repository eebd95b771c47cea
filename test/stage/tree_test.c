/*
 * Random trees of added prims, rigid ones in the middle, against a plain recursive walk in double; and what becomes of
 * memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/failing.h"
#include "base/part.h"
#include "scene.h"

enum { NWORLD = 19, MOST = 400 };

/* What the test knows of an added prim; transforms of each world. */
typedef struct mirror_prim {
    bool exists, rigid;
    int parent;
    double given[NWORLD][12]; /* local; of a rigid prim: world */
} mirror_prim;

typedef struct mirror {
    scene s;
    uint64_t dice;
    int nmodel, nadded;
    mirror_prim *prim; /* [MOST] */
    mjData *d[NWORLD];
} mirror;

static void take_reference(mirror *m)
{
    for (int w = 0; w < NWORLD; w++) {
        if (m->d[w]) mj_deleteData(m->d[w]);
        m->d[w] = scene_reference(&m->s, w);
    }
}

/* The plain walk. Prims of the model that trees hang under here are bodies and geoms. */
static void walk(const mirror *m, int prim, int w, double out[12])
{
    const mjModel *model = m->s.model->mj;
    if (prim < model->nbody) {
        compose(m->d[w]->xpos + 3 * prim, m->d[w]->xmat + 9 * prim, out);
    } else if (prim < m->nmodel) {
        int g = prim - (int)model->nbody;
        compose(m->d[w]->geom_xpos + 3 * g, m->d[w]->geom_xmat + 9 * g, out);
    } else if (m->prim[prim].rigid) {
        memcpy(out, m->prim[prim].given[w], 12 * sizeof *out);
    } else {
        walk(m, m->prim[prim].parent, w, out);
        mul(out, m->prim[prim].given[w], out);
    }
}

static int depth(const mirror *m, int prim)
{
    int n = 0;
    for (; prim >= m->nmodel; prim = m->prim[prim].parent) n++;
    return n;
}

/* A rotation, scaled along three axes. */
static void random_frame(uint64_t *dice, float out[12])
{
    double quat[4], mat[9];
    random_quat(dice, quat);
    mju_quat2Mat(mat, quat);
    for (int c = 0; c < 3; c++) {
        double scale = dice_between(dice, 0.7, 1.3);
        for (int r = 0; r < 3; r++) out[r * 4 + c] = (float)(mat[r * 3 + c] * scale);
    }
    for (int r = 0; r < 3; r++) out[r * 4 + 3] = (float)dice_between(dice, -1, 1);
}

/* A prim that exists: mostly an added one. */
static int any_prim(mirror *m, bool added)
{
    int nparent = (int)(m->s.model->mj->nbody + m->s.model->mj->ngeom);
    for (int tries = 0; m->nadded > 0 && tries < 5 * MOST && (added || dice_below(&m->dice, 4) != 0); tries++) {
        int p = m->nmodel + (int)dice_below(&m->dice, (size_t)(MOST - m->nmodel));
        if (m->prim[p].exists && depth(m, p) < 12) return p;
    }
    return added ? -1 : (int)dice_below(&m->dice, (size_t)nparent);
}

static void add(mirror *m)
{
    float frame[12];
    int parent = any_prim(m, false), prim;
    bool rigid = dice_below(&m->dice, 4) == 0;
    if (stet_stage_get_nprim(m->s.stage) >= MOST - 1) return;
    random_frame(&m->dice, frame);
    must(stet_stage_add(m->s.stage, parent, NULL, frame, rigid, &prim));
    assert_true(prim >= m->nmodel && prim < stet_stage_get_capacity(m->s.stage) && prim < MOST &&
                !m->prim[prim].exists);
    m->prim[prim].rigid = false;
    m->prim[prim].exists = true;
    m->prim[prim].parent = parent;
    m->nadded++;
    for (int w = 0; w < NWORLD; w++) {
        for (int k = 0; k < 12; k++) m->prim[prim].given[w][k] = (double)frame[k];
        double placed[12];
        walk(m, prim, w, placed);
        if (rigid) memcpy(m->prim[prim].given[w], placed, sizeof placed);
    }
    m->prim[prim].rigid = rigid;
}

static void set(mirror *m)
{
    int prim = any_prim(m, true);
    if (prim < 0) return;
    int first = (int)dice_below(&m->dice, NWORLD), n = 1 + (int)dice_below(&m->dice, (size_t)(NWORLD - first));
    float frames[NWORLD][12];
    for (int w = 0; w < n; w++) {
        random_frame(&m->dice, frames[w]);
        for (int k = 0; k < 12; k++) m->prim[prim].given[first + w][k] = (double)frames[w][k];
    }
    if (m->prim[prim].rigid)
        must(stet_stage_write_world(m->s.stage, prim, first, n, frames[0]));
    else
        must(stet_stage_write_local(m->s.stage, prim, first, n, frames[0]));
}

static bool below(const mirror *m, int prim, int top)
{
    for (; prim >= m->nmodel && prim != top; prim = m->prim[prim].parent) continue;
    return prim == top;
}

static void reparent(mirror *m)
{
    int prim = any_prim(m, true), parent = any_prim(m, false);
    if (prim < 0) return;
    if (below(m, parent, prim)) {
        assert_refused(stet_stage_reparent(m->s.stage, prim, parent), STET_ERROR_INVALID_ARGUMENT, "below it");
        return;
    }
    must(stet_stage_reparent(m->s.stage, prim, parent));
    m->prim[prim].parent = parent;
}

static void take_out(mirror *m)
{
    int prim = any_prim(m, true), gone[MOST], ngone = 0;
    if (prim < 0) return;
    for (int p = m->nmodel; p < MOST; p++)
        if (m->prim[p].exists && below(m, p, prim)) gone[ngone++] = p;
    must(stet_stage_remove(m->s.stage, prim));
    m->nadded -= ngone;
    for (int i = 0; i < ngone; i++) m->prim[gone[i]].exists = false;
    assert_int_equal(stet_stage_get_nprim(m->s.stage), m->nmodel + m->nadded);
    float v[12];
    assert_refused(stet_stage_read_world(m->s.stage, prim, 0, 1, v), STET_ERROR_INVALID_ARGUMENT, "there is no prim");
}

static void compare(mirror *m, int prim, int w)
{
    double wanted[12], parent[12], local[12];
    float got[12], back[12];
    walk(m, prim, w, wanted);
    must(stet_stage_read_world(m->s.stage, prim, w, 1, got));
    double d = difference(got, wanted);
    if (!(d < 1e-5)) fail_msg("prim %d, world %d: off by %g", prim, w, d);
    must(stet_stage_read_local(m->s.stage, prim, w, 1, got));
    walk(m, m->prim[prim].parent, w, parent);
    for (int k = 0; k < 12; k++) local[k] = (double)got[k];
    mul(parent, local, local);
    for (int k = 0; k < 12; k++) back[k] = (float)local[k];
    d = difference(back, wanted);
    /* The way back through a parent that scales loses what its condition number says. */
    if (!(d < 1e-4)) fail_msg("prim %d, world %d: local off by %g", prim, w, d);
}

static void check_all(mirror *m)
{
    for (int p = m->nmodel; p < MOST; p++)
        for (int w = 0; m->prim[p].exists && w < NWORLD; w++) compare(m, p, w);
}

static void open_mirror(mirror *m, uint64_t seed, const char *isa)
{
    *m = (mirror){.s = scene_open(&(scene_def){.xml = SMALL, .nworld = NWORLD, .isa = isa}), .dice = seed};
    m->nmodel = stet_stage_get_nprim(m->s.stage);
    m->prim = calloc(MOST, sizeof *m->prim);
    take_reference(m);
}

static void close_mirror(mirror *m)
{
    for (int w = 0; w < NWORLD; w++) mj_deleteData(m->d[w]);
    free(m->prim);
    scene_close(&m->s);
}

static void play(uint64_t seed, const char *isa)
{
    mirror m;
    open_mirror(&m, seed, isa);
    int steps =
        picked_any() || in_part() ? 40 : 300; /* each step reads every prim, which on a GPU crosses every time */
    for (int step = 0; step < steps; step++) {
        switch (dice_below(&m.dice, 10)) {
        case 0: take_out(&m); break;
        case 1: reparent(&m); break;
        case 2:
        case 3: set(&m); break;
        case 4:
            scene_nudge(&m.s, (int64_t)dice_below(&m.dice, NWORLD), 0.25f);
            take_reference(&m);
            break;
        default: add(&m);
        }
        /* Not after each step, so that several changes meet in one flush. */
        if (dice_below(&m.dice, 4) == 0) check_all(&m);
    }
    check_all(&m);
    assert_true(m.nadded > 0);
    close_mirror(&m);
}

static void random_trees_match_a_recursive_walk(void **state)
{
    uint64_t seed = dice_seed("random trees");
    play(seed, NULL);
    play(seed + 1, "portable");
}

/* What was flushed bit by bit is what one flush of all gives. */
static void force_changes_no_bit(void **state)
{
    mirror m;
    open_mirror(&m, dice_seed("force"), NULL);
    for (int step = 0; step < (picked_any() || in_part() ? 20 : 120); step++) {
        add(&m);
        set(&m);
        scene_nudge(&m.s, (int64_t)dice_below(&m.dice, NWORLD), 0.125f);
        must(stet_stage_flush(m.s.stage, false));
        take_reference(&m);
    }
    uint64_t world = world_hash(&m.s), local = local_hash(&m.s);
    must(stet_stage_flush(m.s.stage, true));
    assert_true(world == world_hash(&m.s));
    assert_true(local == local_hash(&m.s));
    close_mirror(&m);
}

/* Numbers stay, arrays are made anew, and what they held is kept. */
static void growth_keeps_content(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 5});
    stet_array *local, *world, *local2, *world2;
    float frame[12] = {1, 0, 0, 1, 0, 1, 0, 2, 0, 0, 1, 3}, moved[12] = {0, -1, 0, 4, 1, 0, 0, 5, 0, 0, 1, 6}, got[12];
    int first, capacity = stet_stage_get_capacity(s.stage), grown = 0, last = 0;
    must(stet_stage_get_arrays(s.stage, &local, &world));
    uint64_t id = stet_array_get_id(world);
    must(stet_stage_add(s.stage, 0, "first", frame, true, &first));
    must(stet_stage_write_world(s.stage, first, 3, 1, moved));
    for (int i = 0; i < 200; i++) {
        must(stet_stage_add(s.stage, i % 2 ? last : first, NULL, frame, false, &last));
        grown += stet_stage_get_capacity(s.stage) != capacity;
        capacity = stet_stage_get_capacity(s.stage);
    }
    must(stet_stage_get_arrays(s.stage, &local2, &world2));
    assert_true(stet_array_get_id(world2) != id);
    assert_true(grown > 1 && grown < 9); /* geometric */
    assert_int_equal(stet_array_get_shape(world2)[1], capacity);
    must(stet_stage_read_world(s.stage, first, 3, 1, got));
    assert_memory_equal(got, moved, sizeof moved);
    must(stet_stage_read_world(s.stage, first, 2, 1, got));
    assert_memory_equal(got, frame, sizeof frame);
    must(stet_stage_read_world(s.stage, last, 2, 1, got)); /* first, then two more */
    assert_true(got[3] == 3 && got[7] == 6 && got[11] == 9);
    assert_int_equal(prim_named(&s, STET_PRIM_XFORM, "first"), first);
    must(stet_stage_remove(s.stage, first));
    assert_int_equal(stet_stage_get_nprim(s.stage), 11);
    int again;
    must(stet_stage_add(s.stage, 0, "first", frame, false, &again));
    assert_int_equal(again, first); /* the lowest free number */
    scene_close(&s);
}

static stet_result use_stage(scene *s)
{
    float frame[12] = {1, 0, 0, 1, 0, 1, 0, 2, 0, 0, 1, 3}, got[12];
    int a = 0, b = 0, c = 0;
    STI_TRY(stet_stage_add(s->stage, 2, "a", frame, false, &a));
    STI_TRY(stet_stage_add(s->stage, a, "b", frame, true, &b));
    STI_TRY(stet_stage_write_world(s->stage, b, 0, 2, (float[24]){1}));
    STI_TRY(stet_stage_add(s->stage, b, "c", frame, false, &c));
    STI_TRY(stet_stage_read_world(s->stage, c, 0, 1, got));
    STI_TRY(stet_stage_reparent(s->stage, c, a));
    STI_TRY(stet_stage_read_local(s->stage, c, 0, 1, got));
    return stet_stage_remove(s->stage, a);
}

static stet_result whole_life(void)
{
    scene s;
    stet_result result = scene_try(&(scene_def){.xml = SMALL, .nworld = 3, .threads = 1}, &s);
    if (result == STET_OK) result = use_stage(&s);
    scene_close(&s);
    return result;
}

static void each_allocation_may_fail(void **state) { assert_true(fail_each_allocation(whole_life, true) > 30); }

/* A failure inside leaves the stage as it was, and the same call succeeds once there is memory. */
static void a_failed_call_changes_nothing(void **state)
{
    for (int64_t n = 1;; n++) {
        failing f = {0};
        assert_int_equal(stet_set_allocator(failing_alloc, failing_free, &f), STET_OK);
        scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 3, .threads = 1});
        float frame[12] = {1, 0, 0, 1, 0, 1, 0, 2, 0, 0, 1, 3}, got[12];
        int count = stet_stage_get_nprim(s.stage), prim = -1, bone = prim_named(&s, STET_PRIM_GEOM, "bone");
        f.fail_at = f.calls + n;
        stet_result result = stet_stage_add(s.stage, bone, "tip", frame, false, &prim);
        if (result != STET_OK) {
            assert_int_equal(result, STET_ERROR_OUT_OF_MEMORY);
            assert_int_equal(stet_stage_get_nprim(s.stage), count);
            assert_int_equal(prim, -1);
        }
        stet_result flushed = stet_stage_flush(s.stage, false);
        assert_true(flushed == STET_OK || flushed == STET_ERROR_OUT_OF_MEMORY);
        bool failed = f.failed;
        f.fail_at = 0;
        if (result != STET_OK) must(stet_stage_add(s.stage, bone, "tip", frame, false, &prim));
        must(stet_stage_read_world(s.stage, prim, 0, 1, got));
        /* ball at z = 1, arm 0.2 along x, no turn */
        assert_true(fabsf(got[3] - 1.2f) < 1e-6f && fabsf(got[7] - 2) < 1e-6f && fabsf(got[11] - 4) < 1e-6f);
        scene_close(&s);
        assert_int_equal(f.held, 0);
        assert_int_equal(stet_set_allocator(NULL, NULL, NULL), STET_OK);
        if (!failed) break;
        assert_true(n < 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_trees_match_a_recursive_walk),
        cmocka_unit_test(force_changes_no_bit),
        cmocka_unit_test(growth_keeps_content),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(a_failed_call_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
