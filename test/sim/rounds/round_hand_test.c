/*
 * Rounds of the real thing: hands with native physics and pictures, twenty rounds in one sim. They have the bits of
 * sims of their own, reuse all that the sim holds, and copy in what differs and nothing else; where nothing can be
 * reused, the sim says why.
 */
#include "sim/rounds/rounds.h"

#include <stdio.h>

enum { HANDS = 4, ROUNDS = 20, STEPS = 3, SEEDS = 3, NUMBERS = 64 };

static const room_def hand = {.nworld = HANDS,
                              .threads = 2,
                              .physics = STET_PHYSICS_NATIVE,
                              .outputs = BIT(RGBA) | BIT(DEPTH),
                              .width = 24,
                              .height = 18};

/* A sim, and what its rounds get. */
typedef struct hands {
    stet_sim *sim;
    int64_t nq, nu;
    float home[HANDS * NUMBERS], qpos[HANDS * NUMBERS], controls[STEPS * HANDS * NUMBERS], out[HANDS * NUMBERS];
    uint64_t seed;
    stet_round_value in[3], end;
} hands;

static void open_hands(hands *h, const room_def *d)
{
    stet_array *qpos;
    h->sim = room_open("hand.xml", d);
    stet_model_info info = stet_model_get_info(stet_sim_get_model(h->sim));
    h->nq = info.nq;
    h->nu = info.nu;
    assert_true(h->nq <= NUMBERS && h->nu <= NUMBERS);
    OK(stet_worlds_get_array(stet_sim_get_worlds(h->sim), "qpos", &qpos));
    OK(stet_array_read(qpos, h->home, stet_array_get_bytes(qpos)));
}

static void fill_inputs(hands *h, uint64_t seed)
{
    for (int64_t i = 0; i < HANDS * h->nq; ++i) h->qpos[i] = h->home[i] + 0.002f * rig_wave((int64_t)seed, 1, i);
    for (int64_t i = 0; i < STEPS * HANDS * h->nu; ++i) h->controls[i] = 0.3f * rig_wave((int64_t)seed, 2, i);
    h->seed = 100 + seed;
    h->in[0] = stet_round_in("qpos", h->qpos, (size_t)(HANDS * h->nq) * sizeof(float));
    h->in[1] = stet_round_in("controls", h->controls, (size_t)(STEPS * HANDS * h->nu) * sizeof(float));
    h->in[1].frames = STEPS;
    h->in[2] = stet_round_in("seed", &h->seed, sizeof h->seed);
    h->end = stet_round_out("qpos", h->out, (size_t)(HANDS * h->nq) * sizeof(float));
}

/* One round: what it leaves, pictures included. */
static uint64_t play_hands(hands *h, uint64_t seed)
{
    uint64_t all[STEPS + 2];
    fill_inputs(h, seed);
    OK(stet_sim_round_begin(h->sim, h->in, 3));
    for (int i = 0; i < STEPS; ++i) {
        OK(stet_sim_step(h->sim, 2));
        all[i] = room_frame(h->sim, room_render(h->sim));
    }
    all[STEPS] = room_state(h->sim);
    OK(stet_sim_round_end(h->sim, &h->end, 1));
    all[STEPS + 1] = sti_hash_bytes(h->out, h->end.size);
    return sti_hash_bytes(all, sizeof all);
}

static uint64_t alone(uint64_t seed)
{
    hands h;
    open_hands(&h, &hand);
    uint64_t digest = play_hands(&h, seed);
    stet_sim_destroy(h.sim);
    return digest;
}

static void twenty_rounds_reuse_what_the_sim_holds(void **state)
{
    hands h;
    uint64_t want[SEEDS];
    int64_t held = 0, bytes = 0;
    for (uint64_t s = 0; s < SEEDS; ++s) want[s] = alone(s);
    assert_true(want[0] != want[1] && want[1] != want[2]);
    open_hands(&h, &hand);
    for (int r = 0; r < ROUNDS; ++r) {
        uint64_t seed = (uint64_t)(r * r % SEEDS); /* 0 1 1 0 1 1 …: some follow one of the same inputs */
        if (r == ROUNDS - 1) seed = 2;
        bool again = r > 0 && h.seed == 100 + seed;
        stet_device_clear_counters(stet_sim_get_device(h.sim));
        if (play_hands(&h, seed) != want[seed]) fail_msg("round %d, seed %d", r, (int)seed);
        stet_round_info info = stet_sim_get_round(h.sim);
        stet_counter c = room_counters(h.sim).mechanism[STET_MECHANISM_ROUNDS];
        assert_int_equal(info.why, r == 0 ? STET_REASON_ROUNDS_FIRST : STET_REASON_NONE);
        assert_int_equal(info.copied_in, again ? 0 : 3);
        assert_int_equal(c.fallbacks, 0);
        if (r > 0) assert_int_equal(c.misses, info.copied_in);
        if (again) assert_true(c.saved_bytes >= info.bytes_out);
        if (r == 4) {
            held = stet_sim_get_bytes(h.sim);
            bytes = stet_get_memory_stats().bytes;
        }
    }
    assert_int_equal(stet_sim_get_bytes(h.sim), held);
    assert_int_equal(stet_get_memory_stats().bytes, bytes);
    print_message("%d rounds of %d hands: %lld bytes of the sim reused\n", ROUNDS, HANDS, (long long)held);
    stet_sim_destroy(h.sim);
}

/* With the mechanism off each round sets everything up, and says so; the bits are the same. */
static void rounds_without_reuse_say_why(void **state)
{
    hands h;
    room_def off = hand;
    off.disabled = 1u << STET_MECHANISM_ROUNDS;
    open_hands(&h, &off);
    for (int r = 0; r < 3; ++r) {
        assert_true(play_hands(&h, 1) == alone(1));
        assert_int_equal(stet_sim_get_round(h.sim).why,
                         r == 0 ? STET_REASON_ROUNDS_FIRST : STET_REASON_ROUNDS_DISABLED);
        assert_int_equal(stet_sim_get_round(h.sim).copied_in, 3);
    }
    stet_sim_destroy(h.sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(twenty_rounds_reuse_what_the_sim_holds),
                                       cmocka_unit_test(rounds_without_reuse_say_why)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
