/*
 * The mechanism hierarchy: what each kind of flush visits, that nothing stale is read, and that switches change no bit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scene.h"

#include "stet/step.h"

enum {
    TRANSFORM = 12 * 4,
    ALL_PRIMS = SMALL_BODIES + SMALL_FORWARD,
    MOVING_PRIMS = SMALL_MOVING_BODIES + SMALL_MOVING_FORWARD
};

static const float identity[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

/* What a call cost, as the counters have it. */
typedef struct cost {
    int64_t hits, misses, launches, bytes, total_launches, schedules, reason;
} cost;

static cost cost_since(const scene *s, const stet_counters *before, stet_reason reason)
{
    stet_counters now = counters_of(s);
    const stet_counter *a = &before->mechanism[STET_MECHANISM_HIERARCHY], *b = &now.mechanism[STET_MECHANISM_HIERARCHY];
    return (cost){b->hits - a->hits,
                  b->misses - a->misses,
                  b->done_launches - a->done_launches,
                  b->done_bytes - a->done_bytes,
                  now.launches - before->launches,
                  now.schedules_built - before->schedules_built,
                  now.reason[reason] - before->reason[reason]};
}

static void assert_cost(cost got, cost wanted)
{
    assert_int_equal(got.hits, wanted.hits);
    assert_int_equal(got.misses, wanted.misses);
    assert_int_equal(got.launches, wanted.launches);
    assert_int_equal(got.bytes, wanted.bytes);
    assert_int_equal(got.total_launches, wanted.total_launches);
    assert_int_equal(got.schedules, wanted.schedules);
    assert_int_equal(got.reason, wanted.reason);
}

/* Flushes and says what that cost. */
static cost flush(const scene *s, bool force, stet_reason reason)
{
    stet_counters before = counters_of(s);
    must(stet_stage_flush(s->stage, force));
    return cost_since(s, &before, reason);
}

/* A miss with this reason that visited nprim prims in nworld worlds. */
static cost miss(int launches, int64_t nworld, int nprim)
{
    return (cost){0, 1, launches, nworld * nprim * TRANSFORM, launches, 0, 1};
}

static const cost hit = {1, 0, 0, 0, 0, 0, 0};

static void each_flush_costs_what_moved(void **state)
{
    enum { N = 9 };
    const stet_reason values = STET_REASON_HIERARCHY_VALUES, connectivity = STET_REASON_HIERARCHY_CONNECTIVITY;
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = N});
    int top = prim_named(&s, STET_PRIM_GEOM, "top"), skin = prim_named(&s, STET_PRIM_GEOM, "skin"), added;
    cost first = miss(2, N, ALL_PRIMS);
    first.schedules = 1;
    assert_cost(flush(&s, false, connectivity), first);
    assert_cost(flush(&s, false, values), hit);
    scene_nudge(&s, 3, 0.5f); /* one world's pose */
    assert_cost(flush(&s, false, values), miss(2, 1, MOVING_PRIMS));
    assert_cost(flush(&s, false, values), hit);
    float frames[2 * 12];
    memcpy(frames, identity, sizeof identity);
    memcpy(frames + 12, identity, sizeof identity);
    must(stet_stage_write_local(s.stage, top, 4, 2, frames)); /* one prim of two worlds */
    cost one = miss(1, 2, 1);
    one.schedules = 1; /* the selection of this prim, once */
    assert_cost(flush(&s, false, values), one);
    must(stet_stage_write_local(s.stage, top, 7, 1, frames));
    assert_cost(flush(&s, false, values), miss(1, 1, 1));
    must(stet_stage_write_local(s.stage, skin, 0, 1, frames)); /* visited with the poses anyway */
    scene_nudge(&s, 1, 0.5f);
    assert_cost(flush(&s, false, values), miss(2, 2, MOVING_PRIMS));
    assert_cost(flush(&s, true, STET_REASON_HIERARCHY_FORCED), miss(2, N, ALL_PRIMS));
    assert_cost(flush(&s, true, STET_REASON_HIERARCHY_FORCED), miss(2, N, ALL_PRIMS));
    assert_cost(flush(&s, false, values), hit);
    must(stet_stage_add(s.stage, top, "cup", identity, false, &added));
    cost grown = miss(1, N, 1);
    grown.schedules = 2; /* the schedule, and the selection of the new prim */
    assert_cost(flush(&s, false, connectivity), grown);
    must(stet_stage_remove(s.stage, added));
    cost gone = miss(0, 0, 0);
    gone.schedules = 1;
    assert_cost(flush(&s, false, connectivity), gone);
    assert_cost(flush(&s, false, values), hit);
    scene_close(&s);
}

static void a_hit_counts_what_it_saves(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 4});
    must(stet_stage_flush(s.stage, false));
    stet_counter before = counters_of(&s).mechanism[STET_MECHANISM_HIERARCHY];
    for (int i = 0; i < 3; i++) must(stet_stage_flush(s.stage, false));
    stet_counter after = counters_of(&s).mechanism[STET_MECHANISM_HIERARCHY];
    assert_int_equal(after.saved_launches - before.saved_launches, 3 * 2);
    assert_int_equal(after.saved_bytes - before.saved_bytes, 3 * 4 * ALL_PRIMS * TRANSFORM);
    scene_close(&s);
}

/* Reading is what makes things; reading world transforms does not make local ones. */
static void local_transforms_are_made_when_they_are_read(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 4});
    stet_counters before = counters_of(&s);
    (void)world_hash(&s);
    assert_int_equal(cost_since(&s, &before, STET_REASON_HIERARCHY_CONNECTIVITY).total_launches, 2);
    before = counters_of(&s);
    (void)local_hash(&s);
    cost c = cost_since(&s, &before, STET_REASON_HIERARCHY_CONNECTIVITY);
    assert_int_equal(c.total_launches, 1);
    assert_int_equal(c.bytes, 4 * SMALL_BODIES * TRANSFORM);
    assert_int_equal(c.hits, 1); /* world transforms */
    scene_nudge(&s, 2, 1);
    must(stet_stage_flush(s.stage, false));
    before = counters_of(&s);
    (void)local_hash(&s);
    c = cost_since(&s, &before, STET_REASON_HIERARCHY_VALUES);
    assert_int_equal(c.bytes, 1 * SMALL_MOVING_BODIES * TRANSFORM);
    before = counters_of(&s);
    (void)local_hash(&s);
    assert_cost(cost_since(&s, &before, STET_REASON_NONE), (cost){2, 0, 0, 0, 0, 0, 0});
    scene_close(&s);
}

/*
 * A frame of poses, transforms and writes to the arrays; in three hundred of them everything has happened more than
 * twice.
 */
static void move_on(scene *s, int frame, int skin, int rigid)
{
    stet_array *local, *world;
    must(stet_stage_get_arrays(s->stage, &local, &world)); /* a view of the values */
    scene_nudge(s, frame % 5, 0.01f);
    must(stet_stage_write_local(s->stage, skin, frame % 5, 1, identity));
    if (frame % 2) must(stet_stage_write_world(s->stage, rigid, frame % 5, 1, identity));
    if (frame % 3 == 0) must(stet_stage_flush(s->stage, false));
    if (frame % 3 == 0) must(stet_stage_write_world(s->stage, rigid, frame % 5, 1, identity));
    if (frame % 100 == 50) stet_array_mark_written(world);
    if (frame % 100 == 51) stet_array_mark_written(local);
    must(stet_stage_flush(s->stage, false));
}

static void a_thousand_frames_rebuild_no_schedule(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 5});
    int skin = prim_named(&s, STET_PRIM_GEOM, "skin"), rigid;
    must(stet_stage_add(s.stage, 3, "rigid", identity, true, &rigid));
    must(stet_stage_write_local(s.stage, skin, 0, 1, identity));
    must(stet_stage_write_world(s.stage, rigid, 0, 1, identity));
    must(stet_stage_flush(s.stage, false));
    for (int frame = 0; frame < 300; frame++) move_on(&s, frame, skin, rigid); /* selections, and recordings of them */
    stet_counters before = counters_of(&s);
    int64_t calls = stet_get_memory_stats().allocations;
    for (int frame = 0; frame < 1000; frame++) move_on(&s, frame, skin, rigid);
    cost c = cost_since(&s, &before, STET_REASON_HIERARCHY_VALUES);
    assert_int_equal(c.misses, 1000 + 334);
    assert_int_equal(c.reason, 1000 + 334);
    assert_int_equal(c.schedules, 0);
    assert_int_equal(stet_get_memory_stats().allocations, calls); /* and allocate nothing */
    stet_counters after = counters_of(&s);
    const stet_counter *replay = &after.mechanism[STET_MECHANISM_GRAPH_REPLAY];
    assert_int_equal(replay->misses, before.mechanism[STET_MECHANISM_GRAPH_REPLAY].misses);
    assert_true(replay->hits - before.mechanism[STET_MECHANISM_GRAPH_REPLAY].hits >=
                1000); /* its launches are replayed */
    scene_close(&s);
}

static void only_worlds_that_moved_are_said_to_have_changed(void **state)
{
    enum { N = 20 };
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = N});
    uint64_t before[N];
    must(stet_stage_flush(s.stage, false));
    const sti_generations *changed = sti_stage_changed(s.stage);
    for (int w = 0; w < N; w++) before[w] = sti_generation_of(changed, w);
    scene_nudge(&s, 6, 1);
    must(stet_stage_write_local(s.stage, prim_named(&s, STET_PRIM_CAMERA, "main"), 17, 1, identity));
    must(stet_stage_flush(s.stage, false));
    for (int w = 0; w < N; w++) assert_int_equal(sti_generation_of(changed, w) != before[w], w == 6 || w == 17);
    scene_close(&s);
}

/* A reset that leaves poses their bits moves nothing: there is no flush to do. */
static void kf17_a_reset_that_moves_nothing_counts_as_done(void **state)
{
    scene s = scene_open(&(scene_def){
        .xml = "<mujoco><worldbody><geom size='1'/><body pos='1 0 0'><geom size='1'/></body></worldbody></mujoco>",
        .nworld = 3});
    stet_reset_def reset = stet_default_reset_def();
    must(stet_stage_flush(s.stage, false));
    for (int i = 0; i < 5; i++) {
        must(stet_worlds_reset(s.worlds, &reset));
        for (int k = 0; k < 3; k++) assert_cost(flush(&s, false, STET_REASON_NONE), hit);
    }
    scene_close(&s);
}

static void kf18_a_reset_without_a_step_is_seen(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 3});
    int bone = prim_named(&s, STET_PRIM_GEOM, "bone");
    float start[12], moved[12], back[12];
    stet_reset_def reset = stet_default_reset_def();
    must(stet_stage_read_world(s.stage, bone, 1, 1, start));
    scene_randomise(&s, dice_seed("kf18"));
    must(stet_stage_read_world(s.stage, bone, 1, 1, moved));
    assert_memory_not_equal(start, moved, sizeof start);
    must(stet_worlds_reset(s.worlds, &reset));
    must(stet_stage_read_world(s.stage, bone, 1, 1, back));
    assert_memory_equal(start, back, sizeof start);
    scene_close(&s);
}

static void kf19_a_write_without_a_step_is_seen(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 3});
    int skin = prim_named(&s, STET_PRIM_GEOM, "skin");
    stet_array *world, *local;
    float got[12], values[12] = {2, 0, 0, 5, 0, 2, 0, 6, 0, 0, 2, 7};
    const void *host;
    must(stet_stage_get_arrays(s.stage, &local, &world));
    must(stet_stage_read_world(s.stage, skin, 2, 1, got));
    float x = got[3];
    scene_nudge(&s, 2, 0.5f); /* qpos */
    must(stet_stage_read_world(s.stage, skin, 2, 1, got));
    assert_true(got[3] == x + 0.5f);
    must(stet_stage_write_local(s.stage, skin, 2, 1, values)); /* a local transform, seen through the array */
    must(stet_array_get_host(world, &host));
    const float *here =
        (const float *)host + ((size_t)2 * (size_t)stet_stage_get_capacity(s.stage) + (size_t)skin) * 12;
    assert_true(here[0] == 2 && here[3] == x + 0.5f + 5);
    /* The array of local transforms as a whole. */
    size_t size = stet_array_get_bytes(local);
    float *all = calloc(size, 1);
    must(stet_array_read(local, all, size));
    all[((size_t)1 * (size_t)stet_stage_get_capacity(s.stage) + (size_t)skin) * 12 + 3] = 9;
    must(stet_array_write(local, all, size));
    must(stet_stage_read_world(s.stage, skin, 1, 1, got));
    assert_true(got[3] == 9);
    /* A write over what follows from others does not last. */
    uint64_t before = world_hash(&s);
    memset(all, 0, size);
    must(stet_array_write(world, all, size));
    assert_true(before == world_hash(&s));
    before = local_hash(&s);
    for (int body = 1; body < SMALL_BODIES; body++) reals_set(local, 0, body * 12 + 3, 77);
    stet_array_mark_written(local);
    assert_true(before == local_hash(&s));
    free(all);
    scene_close(&s);
}

/* The stage's own writes do not hide what somebody else wrote before. */
static void kf19_a_write_before_an_own_write_is_seen(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 3});
    int skin = prim_named(&s, STET_PRIM_GEOM, "skin"), bone = prim_named(&s, STET_PRIM_GEOM, "bone"), added;
    stet_array *local;
    float got[12];
    must(stet_stage_flush(s.stage, false));
    must(stet_stage_get_arrays(s.stage, &local, NULL));
    reals_set(local, 1, skin * 12 + 3, 5);
    stet_array_mark_written(local);
    must(stet_stage_add(s.stage, 0, NULL, identity, false, &added));
    must(stet_stage_read_world(s.stage, skin, 1, 1, got));
    assert_true(got[3] == 5);
    must(stet_stage_get_arrays(s.stage, &local, NULL));
    reals_set(local, 1, skin * 12 + 3, 6);
    stet_array_mark_written(local);
    must(stet_stage_write_local(s.stage, bone, 0, 1, identity));
    must(stet_stage_read_world(s.stage, skin, 1, 1, got));
    assert_true(got[3] == 6);
    scene_close(&s);
}

/* The same roots with and without moving poses are two selections. */
static void poses_and_a_written_prim_meet_in_one_flush(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 3});
    int skin = prim_named(&s, STET_PRIM_GEOM, "skin"), rigid, child;
    float frame[12], got[12];
    memcpy(frame, identity, sizeof frame);
    must(stet_stage_add(s.stage, 0, NULL, identity, true, &rigid));
    must(stet_stage_add(s.stage, rigid, NULL, identity, false, &child));
    must(stet_stage_flush(s.stage, false));
    for (int i = 1; i <= 4; i++) {
        frame[3] = (float)i;
        must(stet_stage_write_world(s.stage, rigid, 1, 1, frame));
        if (i % 2 == 0) scene_nudge(&s, 1, 1);
        must(stet_stage_read_world(s.stage, child, 1, 1, got));
        assert_true(got[3] == (float)i);
        must(stet_stage_read_world(s.stage, skin, 1, 1, got));
        assert_true(got[3] == (float)(i / 2));
    }
    scene_close(&s);
}

/* A flush asks for the poses once, whatever it launches. */
static void a_flush_asks_for_poses_once(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 3});
    for (int i = 0; i < 3; i++) {
        scene_nudge(&s, i, 1);
        const stet_counter before = counters_of(&s).mechanism[STET_MECHANISM_POSE_SYNC];
        must(stet_stage_flush(s.stage, false));
        const stet_counter after = counters_of(&s).mechanism[STET_MECHANISM_POSE_SYNC];
        assert_int_equal(after.misses - before.misses, 1);
        assert_int_equal(after.hits - before.hits, 0);
    }
    scene_close(&s);
}

static void poses_from_outside_are_seen(void **state)
{
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = 2});
    int top = prim_named(&s, STET_PRIM_GEOM, "top"); /* on a body that joints cannot move */
    stet_array *xpos = scene_field(&s, "xpos");
    float got[12], poses[SMALL_BODIES * 3] = {0, 0, 0, 10, 20, 30};
    must(stet_stage_flush(s.stage, false));
    stet_step *step;
    must(stet_step_create(s.worlds, STET_PHYSICS_EXTERNAL, &step));
    must(stet_array_write_worlds(xpos, 1, 1, poses, sizeof poses));
    must(stet_stage_read_world(s.stage, top, 1, 1, got));
    assert_true(got[3] == 10 && got[7] == 20 && got[11] == 30.5f);
    must(stet_stage_read_world(s.stage, top, 0, 1, got));
    assert_true(got[3] == 1 && got[7] == 0 && got[11] == 0.5f);
    stet_step_destroy(step);
    /* The physics takes over again. */
    stet_reset_def reset = stet_default_reset_def();
    must(stet_worlds_reset(s.worlds, &reset));
    must(stet_stage_read_world(s.stage, top, 1, 1, got));
    assert_true(got[3] == 1 && got[7] == 0 && got[11] == 0.5f);
    scene_close(&s);
}

/* A body that is welded to the world stands elsewhere in a world that has another body_pos; geoms go with it. */
static void bodies_that_do_not_move_have_places_by_world(void **state)
{
    enum { N = 3, TABLE = 1 };
    scene s = scene_open(&(scene_def){.xml = SMALL, .nworld = N});
    int table = prim_named(&s, STET_PRIM_BODY, "table"), top = prim_named(&s, STET_PRIM_GEOM, "top");
    double pos[N][3 * SMALL_BODIES];
    float place[12], above[12];
    must(stet_stage_flush(s.stage, false));
    must(stet_worlds_get_parameter(s.worlds, "body_pos", pos[0], 3 * SMALL_BODIES * N));
    for (int given = 1; given >= 0; --given) {
        for (int w = 0; w < N; ++w) pos[w][3 * TABLE] = 1 + w;
        must(stet_worlds_set_parameter(s.worlds, "body_pos", given ? pos[0] : NULL, given ? 3 * SMALL_BODIES * N : 0));
        for (int w = 0; w < N; ++w) {
            must(stet_stage_read_world(s.stage, table, w, 1, place));
            must(stet_stage_read_world(s.stage, top, w, 1, above));
            assert_true(place[3] == (float)(1 + given * w) && above[3] == place[3]);
            must(stet_stage_read_local(s.stage, table, w, 1, place));
            assert_true(place[3] == (float)(1 + given * w));
        }
    }
    scene_close(&s);
}

static void nan_stays_in_its_world(void **state)
{
    enum { N = 18 };
    scene a = scene_open(&(scene_def){.xml = SMALL, .nworld = N}),
          b = scene_open(&(scene_def){.xml = SMALL, .nworld = N});
    uint64_t seed = dice_seed("nan");
    int rigid[2], n = 0;
    must(stet_stage_add(a.stage, 2, "rigid", identity, true, &rigid[0]));
    must(stet_stage_add(b.stage, 2, "rigid", identity, true, &rigid[1]));
    scene_randomise(&a, seed);
    scene_randomise(&b, seed);
    float frame[12], nan_frame[12];
    memcpy(frame, identity, sizeof frame);
    for (int k = 0; k < 12; k++) nan_frame[k] = k % 2 ? NAN : -NAN;
    scene_nudge(&a, 7, NAN);
    must(stet_stage_write_world(a.stage, rigid[0], 8, 1, nan_frame));
    must(stet_stage_write_local(a.stage, prim_named(&a, STET_PRIM_GEOM, "floor"), 9, 1, nan_frame));
    for (int64_t w = 0; w < N; w++)
        for (int p = 0; p < 12; p++) {
            float x[12], y[12];
            must(stet_stage_read_world(a.stage, p, w, 1, x));
            must(stet_stage_read_world(b.stage, p, w, 1, y));
            bool touched = (w >= 7 && w <= 9);
            if (!touched) assert_memory_equal(x, y, sizeof x);
            for (int k = 0; k < 12 && touched; k++) {
                uint32_t bits;
                memcpy(&bits, &x[k], sizeof bits);
                n += isnan(x[k]);
                if (isnan(x[k])) assert_int_equal(bits, 0x7fc00000u); /* one NaN */
            }
            must(stet_stage_read_local(a.stage, p, w, 1, x));
            must(stet_stage_read_local(b.stage, p, w, 1, y));
            if (!touched) assert_memory_equal(x, y, sizeof x);
        }
    assert_true(n >= 12 + 12 + 2);
    scene_close(&a);
    scene_close(&b);
}

/* The same play, whatever the options; returns hashes of both arrays on the way. */
static uint64_t play(scene *s, uint64_t seed)
{
    uint64_t dice = seed, sum = 0;
    int prims[3];
    must(stet_stage_add(s->stage, 2, "a", identity, false, &prims[0]));
    must(stet_stage_add(s->stage, prims[0], "b", identity, true, &prims[1]));
    must(stet_stage_add(s->stage, prims[1], "c", identity, false, &prims[2]));
    for (int i = 0; i < 40; i++) {
        float frame[12];
        int64_t w = (int64_t)dice_below(&dice, (size_t)s->worlds->nworld);
        for (int k = 0; k < 12; k++) frame[k] = (float)dice_between(&dice, -1, 1);
        switch (dice_below(&dice, 5)) {
        case 0: scene_nudge(s, w, frame[0]); break;
        case 1: must(stet_stage_write_local(s->stage, prims[2], w, 1, frame)); break;
        case 2: must(stet_stage_write_world(s->stage, prims[1], w, 1, frame)); break;
        case 3: must(stet_stage_flush(s->stage, false)); break;
        default: sum = sum * 31 + local_hash(s);
        }
        sum = sum * 31 + world_hash(s);
    }
    return sum;
}

static void switching_it_off_changes_no_bit_and_shows(void **state)
{
    uint64_t seed = dice_seed("off");
    scene on = scene_open(&(scene_def){.xml = SMALL, .nworld = 11}),
          off = scene_open(&(scene_def){.xml = SMALL, .nworld = 11, .off = true});
    assert_true(play(&on, seed) == play(&off, seed));
    scene_close(&on);
    scene_close(&off);
    off = scene_open(&(scene_def){.xml = SMALL, .nworld = 11, .off = true});
    uint64_t changed = 0;
    for (int i = 0; i < 4; i++) {
        cost c = flush(&off, false, STET_REASON_HIERARCHY_DISABLED), wanted = miss(2, 11, ALL_PRIMS);
        wanted.schedules = i == 0;
        if (off.device->can.compiles) wanted.total_launches = 0; /* the host's launches */
        assert_cost(c, wanted);
        if (i > 0) assert_int_equal(sti_stage_changes(off.stage)->generation, changed); /* nothing did */
        changed = sti_stage_changes(off.stage)->generation;
    }
    scene_close(&off);
}

static void the_audit_agrees_and_finds_what_was_not_announced(void **state)
{
    uint64_t seed = dice_seed("audit");
    scene plain = scene_open(&(scene_def){.xml = SMALL, .nworld = 11}),
          s = scene_open(&(scene_def){.xml = SMALL, .nworld = 11, .audit = true});
    assert_true(play(&plain, seed) == play(&s, seed));
    int skin = prim_named(&s, STET_PRIM_GEOM, "skin");
    stet_array *world, *local, *xpos;
    must(stet_stage_get_arrays(s.stage, &local, &world));
    must(stet_worlds_get_array(s.worlds, "xpos", &xpos));
    must(stet_stage_flush(s.stage, false));
    must(stet_stage_flush(s.stage, false));
    if (11 % s.device->lanes != 0) reals_set(xpos, 11, 3, 99); /* beyond the last world: any number may be there */
    must(stet_stage_flush(s.stage, false));
    reals_set(world, 3, skin * 12 + 3, 99); /* behind stet's back */
    assert_refused(stet_stage_flush(s.stage, false), STET_ERROR_AUDIT, "hierarchy: world transforms");
    must(stet_stage_flush(s.stage, false));
    if (s.device->can.host_memory) {
        reals_set(local, 3, skin * 12 + 3, 99); /* an input, behind stet's back */
        assert_refused(stet_stage_flush(s.stage, false), STET_ERROR_AUDIT, "hierarchy: world transforms");
        must(sti_array_ensure(local));
        reals_set(local, 3, 2 * 12 + 3, 99);
        assert_refused(sti_array_ensure(local), STET_ERROR_AUDIT, "hierarchy: local transforms");
    } else { /* it shows in what is made of it or, if the host wrote some last, in that the host has something else */
        reals_set(local, 3, skin * 12 + 3, 99);
        assert_refused(stet_stage_flush(s.stage, false), STET_ERROR_AUDIT, " transforms had changed");
    }
    scene_close(&plain);
    scene_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_flush_costs_what_moved),
        cmocka_unit_test(a_hit_counts_what_it_saves),
        cmocka_unit_test(local_transforms_are_made_when_they_are_read),
        cmocka_unit_test(a_thousand_frames_rebuild_no_schedule),
        cmocka_unit_test(only_worlds_that_moved_are_said_to_have_changed),
        cmocka_unit_test(kf17_a_reset_that_moves_nothing_counts_as_done),
        cmocka_unit_test(kf18_a_reset_without_a_step_is_seen),
        cmocka_unit_test(kf19_a_write_without_a_step_is_seen),
        cmocka_unit_test(kf19_a_write_before_an_own_write_is_seen),
        cmocka_unit_test(poses_and_a_written_prim_meet_in_one_flush),
        cmocka_unit_test(a_flush_asks_for_poses_once),
        cmocka_unit_test(poses_from_outside_are_seen),
        cmocka_unit_test(bodies_that_do_not_move_have_places_by_world),
        cmocka_unit_test(nan_stays_in_its_world),
        cmocka_unit_test(switching_it_off_changes_no_bit_and_shows),
        cmocka_unit_test(the_audit_agrees_and_finds_what_was_not_announced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
