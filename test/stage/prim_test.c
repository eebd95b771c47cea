/*
 * Transforms of one prim, of few and of many worlds: what was written is read, and where the host has no access to the
 * device's memory few worlds cross by themselves.
 */
#include "sim/room.h"

#include <math.h>

enum { N = 700, ROW = 12 }; /* two pieces, and no more than five, are less than all of it */

static stet_sim *open_balls(bool audit)
{
    return room_open(ROOM_BALL,
                     &(room_def){.nworld = N, .outputs = BIT(DEPTH), .width = 2, .height = 2, .audit = audit});
}

static int add_prim(stet_sim *sim, bool rigid)
{
    static const float frame[ROW] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    int prim;
    OK(stet_stage_add(stet_sim_get_stage(sim), 0, NULL, frame, rigid, &prim));
    return prim;
}

static void fill(float *rows, int64_t n, float x)
{
    for (int64_t k = 0; k < n * ROW; ++k) rows[k] = x + (float)k;
}

static void expect_rows(const float *rows, int64_t n, float x)
{
    for (int64_t k = 0; k < n * ROW; ++k) assert_true(rows[k] == x + (float)k);
}

typedef stet_result setter(stet_stage *stage, int prim, int64_t first, int64_t n, const float *values);
typedef stet_result getter(stet_stage *stage, int prim, int64_t first, int64_t n, float *values);

static void few_and_many(stet_sim *sim, int prim, setter *set, getter *get)
{
    stet_stage *stage = stet_sim_get_stage(sim);
    bool apart = !stet_sim_get_device(sim)->can.host_memory;
    static float rows[N * ROW], back[N * ROW];
    OK(stet_stage_flush(stage, false));
    stet_device_clear_counters(stet_sim_get_device(sim));
    fill(rows, 2, 100);
    OK(set(stage, prim, 7, 2, rows));
    assert_int_equal(room_counters(sim).bytes_copied, apart ? 2 * sizeof(float[ROW]) : 0);
    assert_int_equal(room_counters(sim).mechanism[STET_MECHANISM_READBACK].misses, 0);
    OK(get(stage, prim, 7, 2, back)); /* may have to bring all up to date */
    stet_device_clear_counters(stet_sim_get_device(sim));
    memset(back, 0, sizeof back);
    OK(get(stage, prim, 7, 2, back));
    expect_rows(back, 2, 100);
    assert_int_equal(room_counters(sim).bytes_copied, apart ? 2 * sizeof(float[ROW]) : 0);
    /* All of them, which the host has from then on; one more on top of that; NaN has one pattern. */
    fill(rows, N, -5);
    OK(set(stage, prim, 0, N, rows));
    fill(rows, 1, 9);
    rows[3] = -NAN;
    OK(set(stage, prim, N - 1, 1, rows));
    OK(get(stage, prim, 0, N, back));
    expect_rows(back, N - 1, -5);
    assert_true(back[(N - 1) * ROW] == 9 && isnan(back[(N - 1) * ROW + 3]) && back[N * ROW - 1] == 20);
    OK(get(stage, prim, N - 1, 1, rows));
    assert_memory_equal(rows, back + (N - 1) * ROW, sizeof(float[ROW]));
}

static void few_worlds_cross_by_themselves(void **state)
{
    stet_sim *sim = open_balls(false);
    few_and_many(sim, add_prim(sim, false), stet_stage_write_local, stet_stage_read_local);
    few_and_many(sim, add_prim(sim, true), stet_stage_write_world, stet_stage_read_world);
    stet_sim_destroy(sim);
}

/* What crosses by itself is what physics and pictures see. */
static void pictures_follow(void **state)
{
    stet_sim *sim = open_balls(true);
    int prim = add_prim(sim, false), below;
    float frame[ROW] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}, back[ROW];
    OK(stet_stage_add(stet_sim_get_stage(sim), prim, "below", frame, false, &below));
    (void)room_render(sim);
    for (int k = 1; k < 4; ++k) {
        frame[3] = (float)k;
        OK(stet_stage_write_local(stet_sim_get_stage(sim), prim, 600, 1, frame));
        OK(stet_stage_read_world(stet_sim_get_stage(sim), below, 600, 1, back));
        assert_true(back[3] == (float)k);
        OK(stet_stage_read_world(stet_sim_get_stage(sim), below, 599, 1, back));
        assert_true(back[3] == 0);
    }
    stet_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_worlds_cross_by_themselves),
        cmocka_unit_test(pictures_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
