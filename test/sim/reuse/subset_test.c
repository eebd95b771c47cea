/*
 * Some worlds by mask, all the way: reset, step, render, extraction. Those in the mask do what they do in a sim where
 * all take part; the others keep their bits.
 */
#include "sim/room.h"

#include "base/dice.h"
#include "device/isa.h"

enum { N = 21, PIXELS = 24 * 16 };

static void choose(uint8_t *mask, uint64_t *dice)
{
    for (int w = 0; w < N; ++w) mask[w] = dice_below(dice, 3) == 0;
    mask[N - 1] = 1; /* the last block's lanes are not all worlds */
    mask[0] = 0;
}

static stet_sim *opened(const room_def *d)
{
    room_def def = *d;
    def.nworld = N;
    stet_sim *sim = room_open("hand.xml", &def);
    for (int w = 0; w < N; ++w)
        for (int i = 0; i < 4; ++i) room_write(sim, "ctrl", w, i, 0.05f * (float)(w + i));
    OK(stet_sim_step(sim, 2));
    return sim;
}

/* All numbers of a world's state, as arrays show them. */
static float *numbers_of(stet_sim *sim, int64_t w, int *n)
{
    static const char *const fields[] = {"qpos", "qvel", "ctrl", "time", "xpos"};
    static float out[2][4096];
    static int turn;
    float *at = out[turn = !turn];
    *n = 0;
    for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f) {
        stet_array *a;
        OK(stet_worlds_get_array(stet_sim_get_worlds(sim), fields[f], &a));
        size_t count = (size_t)(stet_array_get_nelement(a) / N);
        assert_true((size_t)*n + count <= 4096);
        OK(stet_array_read_worlds(a, w, 1, at + *n, count * sizeof *at));
        *n += (int)count;
    }
    return at;
}

static bool same_numbers(stet_sim *a, stet_sim *b, int64_t w)
{
    int n, m;
    const float *x = numbers_of(a, w, &n), *y = numbers_of(b, w, &m);
    assert_int_equal(n, m);
    return memcmp(x, y, (size_t)n * sizeof *x) == 0;
}

static void check_steps(const room_def *d, uint64_t *dice)
{
    stet_sim *some = opened(d), *all = opened(d), *none = opened(d);
    uint8_t mask[N];
    choose(mask, dice);
    /* What was written counts in all worlds, stepped or not. */
    stet_sim *const each_sim[] = {some, all, none};
    for (int k = 0; k < 3; ++k) room_write(each_sim[k], "qpos", 0, 1, 0.125f);
    OK(stet_sim_step_worlds(some, mask, 5));
    OK(stet_sim_step(all, 5));
    for (int w = 0; w < N; ++w) {
        assert_true(same_numbers(some, mask[w] ? all : none, w));
        assert_false(same_numbers(some, mask[w] ? none : all, w));
    }
    uint64_t before = room_state(some);
    memset(mask, 0, sizeof mask);
    OK(stet_sim_step_worlds(some, mask, 5));
    assert_true(room_state(some) == before);
    for (int k = 0; k < 3; ++k) stet_sim_destroy(each_sim[k]);
}

static void a_step_of_some(void **state)
{
    uint64_t dice = dice_seed("a_step_of_some");
    static const char *const isas[] = {"portable", "w1", NULL};
    for (int i = 0; i < 3; ++i)
        for (int threads = 1; threads <= 2; ++threads)
            check_steps(&(room_def){.isa = isas[i], .threads = threads}, &dice);
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k) check_steps(&(room_def){.disabled = 1u << k}, &dice);
    check_steps(&(room_def){.audit = true}, &dice);
}

/* Results that the caller wrote in worlds that do not step stay, in the same block of lanes as one that does, too. */
static void results_of_others_stay(void **state)
{
    stet_sim *sim = opened(&(room_def){0});
    uint8_t mask[N] = {0};
    float wanted = 1234.5f, found[2];
    stet_array *a;
    mask[1] = 1;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), "step_sensordata", &a));
    size_t n = (size_t)(stet_array_get_nelement(a) / N);
    room_write(sim, "step_sensordata", 0, 0, wanted);
    room_write(sim, "step_sensordata", 1, 0, wanted);
    OK(stet_sim_step_worlds(sim, mask, 1));
    float *row = malloc(n * sizeof *row);
    assert_non_null(row);
    for (int w = 0; w < 2; ++w) {
        OK(stet_array_read_worlds(a, w, 1, row, n * sizeof *row));
        found[w] = row[0];
    }
    free(row);
    assert_true(found[0] == wanted);
    assert_true(found[1] != wanted);
    stet_sim_destroy(sim);
}

/* With external physics a step is time, and that of the others stands. */
static void time_of_some(void **state)
{
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = N, .physics = STET_PHYSICS_EXTERNAL});
    uint8_t mask[N] = {0};
    mask[3] = mask[20] = 1;
    OK(stet_sim_step_worlds(sim, mask, 4));
    OK(stet_sim_step(sim, 1));
    for (int w = 0; w < N; ++w) {
        float first = room_field(sim, "time", 0, 0), time = room_field(sim, "time", w, 0);
        assert_true(first > 0);
        assert_true(mask[w] ? time > 4.5f * first && time < 5.5f * first : time == first);
    }
    stet_sim_destroy(sim);
}

static bool same_pixels(const uint8_t *a, const uint8_t *b, int w)
{
    return memcmp(a + (ptrdiff_t)w * PIXELS * 4, b + (ptrdiff_t)w * PIXELS * 4, (size_t)PIXELS * 4) == 0;
}

/* Reset, step, render and read of the same mask. */
static void pictures_of_some(void **state)
{
    uint64_t dice = dice_seed("pictures_of_some");
    for (int k = -1; k < STET_MECHANISM_COUNT; ++k) {
        stet_sim *sim = opened(&(room_def){.disabled = k < 0 ? 0 : 1u << k, .outputs = BIT(RGBA)});
        uint8_t mask[N];
        int64_t frame;
        choose(mask, &dice);
        (void)room_render(sim);
        uint8_t *old = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
        OK(stet_sim_step(sim, 40));
        OK(stet_sim_render_worlds(sim, mask, &frame));
        uint8_t *some = room_read(sim, frame, 0, STET_OUTPUT_RGBA);
        (void)room_render(sim);
        uint8_t *new = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
        for (int w = 0; w < N; ++w) {
            assert_false(same_pixels(old, new, w));
            assert_true(same_pixels(some, mask[w] ? new : old, w));
        }
        free(some);
        /* Put back in a world that is not drawn now: a read of the latest frame shows it all the same. */
        room_reset(sim, 0);
        OK(stet_sim_render_worlds(sim, mask, &frame));
        some = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
        assert_false(same_pixels(some, new, 0));
        free(old);
        free(some);
        free(new);
        stet_sim_destroy(sim);
    }
}

/*
 * After rounds under audit, whose poses are filled with NaN in between: what is made again is what stands, in lanes
 * beyond the last world, too. The scene has bodies that move and one that does not.
 */
static void a_round_under_audit(void **state)
{
    static const char *const isas[] = {"w1", "portable", "avx2", "avx512", NULL};
    static const char scene[] =
        "<mujoco><worldbody><body name='post' pos='1 0 0'><geom size='.1'/></body><body name='ball' pos='0 0 "
        "1'><freejoint/><geom size='.1'/><site name='top'/></body></worldbody></mujoco>";
    for (int i = 0; i < 5; ++i) {
        sti_isa isa;
        if (isas[i] && (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa))) continue;
        if (picked_any() && i > 0) continue; /* one device, whatever the name */
        for (int threads = 1; threads <= 2; ++threads) {
            stet_sim *sim =
                room_open(scene, &(room_def){.nworld = 5, .isa = isas[i], .threads = threads, .audit = true});
            (void)room_render(sim); /* what rounds find is what a flush before them left */
            for (int round = 0; round < 3; ++round) {
                int64_t frame;
                OK(stet_sim_round_begin(sim, NULL, 0));
                for (int step = 0; step < 3; ++step) {
                    OK(stet_sim_step(sim, 1));
                    OK(stet_sim_render_worlds(sim, (const uint8_t[]){0, step != 1, 1, 0, 0}, &frame));
                    OK(stet_stage_flush(stet_sim_get_stage(sim), false));
                }
                OK(stet_sim_round_end(sim, NULL, 0));
            }
            stet_sim_destroy(sim);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_of_some),   cmocka_unit_test(results_of_others_stay), cmocka_unit_test(time_of_some),
        cmocka_unit_test(pictures_of_some), cmocka_unit_test(a_round_under_audit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
