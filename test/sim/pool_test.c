/*
 * Pools of sims: scenes alternate without making each other's sims anew, until together they hold more than they may; who goes and comes back says so,
 * and has the bits that it had.
 */
#include "sim/room.h"

#include "base/failing.h"
#include "stet/pool.h"

enum { SCENES = 3 };
static const char *const scenes[SCENES] = {"cartpole.xml", "hand.xml", "quadruped.xml"};

typedef struct playground {
    stet_pool *pool;
    stet_model *model[SCENES];
    stet_sim_def def;
} playground;

static playground open_pool(int64_t bytes)
{
    playground p = {.def = room_sim_def(&(room_def){.nworld = 3, .outputs = BIT(DEPTH)})};
    stet_pool_def def = stet_default_pool_def();
    if (bytes >= 0) def.bytes = bytes;
    OK(stet_pool_create(&def, &p.pool));
    for (int k = 0; k < SCENES; ++k) p.model[k] = rig_model(scenes[k]);
    return p;
}

static void close_pool(playground *p)
{
    stet_pool_destroy(p->pool);
    for (int k = 0; k < SCENES; ++k) stet_model_destroy(p->model[k]);
}

static stet_sim *ask(playground *p, int scene)
{
    stet_sim *sim;
    OK(stet_pool_get(p->pool, p->model[scene], &p->def, &sim));
    assert_ptr_equal(stet_sim_get_model(sim), p->model[scene]);
    return sim;
}

static uint64_t one_round(stet_sim *sim)
{
    OK(stet_sim_round_begin(sim, NULL, 0));
    room_play(sim, 20, 2, 2);
    uint64_t hash = room_state(sim) ^ room_frame(sim, STET_FRAME_LATEST);
    OK(stet_sim_round_end(sim, NULL, 0));
    return hash;
}

static void scenes_alternate_in_sims_that_stay(void **state)
{
    (void)state;
    playground p = open_pool(-1);
    stet_sim *sim[SCENES];
    uint64_t want[SCENES];
    for (int k = 0; k < SCENES; ++k) {
        sim[k] = ask(&p, k);
        want[k] = one_round(sim[k]);
        for (int i = 0; i < k; ++i) assert_true(sim[i] != sim[k] && want[i] != want[k]);
    }
    int64_t allocations = 0;
    for (int r = 0; r < 4; ++r) {
        for (int k = 0; k < SCENES; ++k) {
            assert_ptr_equal(ask(&p, (k + r) % SCENES), sim[(k + r) % SCENES]);
            assert_true(one_round(sim[(k + r) % SCENES]) == want[(k + r) % SCENES]);
        }
        if (r == 1) allocations = stet_get_memory_stats().bytes;
    }
    assert_int_equal(stet_get_memory_stats().bytes, allocations);
    stet_pool_stats stats = stet_pool_get_stats(p.pool);
    assert_int_equal(stats.sims, SCENES);
    assert_int_equal(stats.made, SCENES);
    assert_int_equal(stats.found, 4 * SCENES);
    assert_int_equal(stats.evicted, 0);
    assert_true(stats.bytes > 3 * 3 * 24 * 16 * 4); /* at least the frames */
    close_pool(&p);
}

/* Room for two: the one that was asked for longest ago goes. */
static void the_least_recently_used_goes_and_says_so(void **state)
{
    (void)state;
    playground p = open_pool(-1);
    int64_t each[SCENES], all = 0;
    uint64_t want[SCENES];
    for (int k = 0; k < SCENES; ++k) {
        want[k] = one_round(ask(&p, k));
        each
            [k] = stet_sim_get_bytes(ask(&p, k));
        all += each[k];
    }
    assert_int_equal(stet_pool_get_stats(p.pool).bytes, all);
    close_pool(&p);
    p = open_pool(all - 1); /* all but one of them fit */
    for (int k = 0; k < SCENES; ++k) assert_true(one_round(ask(&p, k)) == want[k]);
    (void)ask(&p, 2); /* grown by its round: now it is known */
    stet_pool_stats stats = stet_pool_get_stats(p.pool);
    assert_int_equal(stats.evicted, 1);
    assert_int_equal(stats.sims, SCENES - 1);
    assert_true(stats.bytes <= all - 1);
    stet_sim *again = ask(&p, 0); /* it was the oldest */
    assert_true(one_round(again) == want[0]);
    assert_int_equal(stet_sim_get_round(again).why, STET_REASON_ROUNDS_EVICTED);
    assert_int_equal(room_counters(again).reason[STET_REASON_ROUNDS_EVICTED], 1);
    assert_int_equal(stet_pool_get_stats(p.pool).made, SCENES + 1);
    close_pool(&p);
}

/* One in whose round somebody is stays, and so does the one that is asked for, however little they may hold. */
static void what_is_in_use_stays(void **state)
{
    (void)state;
    playground p = open_pool(0);
    stet_sim *first = ask(&p, 0);
    uint64_t want = one_round(first);
    OK(stet_sim_round_begin(first, NULL, 0));
    room_play(first, 20, 1, 2);
    stet_sim *second = ask(&p, 1);
    (void)one_round(second);
    assert_int_equal(stet_pool_get_stats(p.pool).sims, 2);
    room_play(first, 21, 1, 2);
    assert_true((room_state(first) ^ room_frame(first, STET_FRAME_LATEST)) == want);
    OK(stet_sim_round_end(first, NULL, 0));
    (void)ask(&p, 2);
    stet_pool_stats stats = stet_pool_get_stats(p.pool);
    assert_int_equal(stats.sims, 1);
    assert_int_equal(stats.evicted, 2);
    close_pool(&p);
}

/* Each thing that a definition says makes another sim; the same said again, in other memory, does not. */
static void every_part_of_a_definition_counts(void **state)
{
    (void)state;
    playground p = open_pool(-1);
    stet_sim *sim = ask(&p, 1), *other;
    const char *front[] = {"front"}, *both[] = {"main", "front"};
    stet_sim_def d[12];
    for (int k = 0; k < 12; ++k) d[k] = p.def;
    d[0].nworld = 4;
    d[1].physics = STET_PHYSICS_EXTERNAL;
    d[2].seed++;
    d[3].keyframe = -1;
    d[4].cameras = front;
    d[4].ncamera = 1;
    d[5].cameras = both;
    d[5].ncamera = 2;
    d[6].width++;
    d[7].outputs |= BIT(RGBA);
    d[8].frames_in_flight++;
    d[9].device.threads++;
    d[10].device.mechanisms.disabled = 1;
    d[11].device.isa = "portable";
    for (int64_t k = 0; k < 12; ++k) {
        OK(stet_pool_get(p.pool, p.model[1], &d[k], &other));
        if (other == sim || stet_pool_get_stats(p.pool).made != k + 2) fail_msg("part %d is not seen", (int)k);
    }
    char copied[] = "front";
    const char *elsewhere[] = {copied};
    d[4].cameras = elsewhere;
    OK(stet_pool_get(p.pool, p.model[1], &d[4], &other));
    assert_int_equal(stet_pool_get_stats(p.pool).made, 13);
    /* The same scene loaded again is another model. */
    stet_model *twin = rig_model(scenes[1]);
    OK(stet_pool_get(p.pool, twin, &p.def, &other));
    assert_ptr_not_equal(other, sim);
    stet_model_destroy(twin);
    close_pool(&p);
}

static void refused_in_a_sentence(void **state)
{
    (void)state;
    playground p = open_pool(-1);
    stet_sim *sim = (stet_sim *)&p;
    stet_pool_def def = {0};
    stet_pool *pool;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "stet_default_pool_def", stet_pool_create(&def, &pool));
    def = stet_default_pool_def();
    def.bytes = -1;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "-1 bytes", stet_pool_create(&def, &pool));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "must not be NULL", stet_pool_get(NULL, p.model[0], &p.def, &sim));
    assert_null(sim);
    stet_sim_def bad = p.def;
    const char *names[] = {"nowhere"};
    bad.cameras = names;
    bad.ncamera = 1;
    REFUSED(STET_ERROR_NOT_FOUND, "camera nowhere", stet_pool_get(p.pool, p.model[0], &bad, &sim));
    bad.nworld = 0;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "0 worlds", stet_pool_get(p.pool, p.model[0], &bad, &sim));
    assert_int_equal(stet_pool_get_stats(p.pool).sims + stet_pool_get_stats(p.pool).made, 0);
    stet_pool_destroy(NULL);
    close_pool(&p);
}

static stet_result ask_twice(void)
{
    stet_pool_def def = stet_default_pool_def();
    stet_sim_def sim_def = room_sim_def(&(room_def){.nworld = 2});
    stet_model *model = NULL;
    stet_pool *pool = NULL;
    stet_sim *sim, *same = NULL;
    stet_result result = stet_model_load_string(ROOM_BALL, &model);
    if (result == STET_OK) result = stet_pool_create(&def, &pool);
    if (result == STET_OK) result = stet_pool_get(pool, model, &sim_def, &sim);
    if (result == STET_OK) result = stet_pool_get(pool, model, &sim_def, &same);
    if (result == STET_OK) assert_ptr_equal(sim, same);
    stet_pool_destroy(pool);
    stet_model_destroy(model);
    return result;
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(fail_each_allocation(ask_twice, true) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scenes_alternate_in_sims_that_stay),
        cmocka_unit_test(the_least_recently_used_goes_and_says_so),
        cmocka_unit_test(what_is_in_use_stays),
        cmocka_unit_test(every_part_of_a_definition_counts),
        cmocka_unit_test(refused_in_a_sentence),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
