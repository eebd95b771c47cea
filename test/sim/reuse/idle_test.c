/*
 * A sim at rest: what an idle render asks, what ends the rest, and a loop that moves and rests in turn and takes no
 * memory.
 */
#include "sim/room.h"

#include "stage/stage.h"
#include "tiles/tiles.h"

#include <math.h>

/* ---- asking ------------------------------------------------------------------------------------------------------ */

/* However many worlds stand, a render asks for poses, transforms and the frame, once each, and does nothing. */
static void an_idle_render_asks_each_once(void **state)
{
    enum { K = 5 };
    for (int64_t nworld = 1; nworld <= 41; nworld += 20) {
        stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = nworld, .strict = true});
        room_play(sim, 0, 3, 2);
        int64_t frame = room_render(sim), allocations = stet_get_memory_stats().allocations;
        stet_device_clear_counters(stet_sim_get_device(sim));
        for (int k = 0; k < K; ++k) assert_int_equal(room_render(sim), frame);
        stet_counters c = room_counters(sim);
        assert_int_equal(c.launches + c.bytes_copied + c.kinematics + c.schedules_built, 0);
        for (int m = 0; m < STET_MECHANISM_COUNT; ++m) {
            bool asked = m == STET_MECHANISM_POSE_SYNC || m == STET_MECHANISM_HIERARCHY || m == STET_MECHANISM_FRAME;
            /* Where the host has a side of its own, it asks whether that still holds. */
            if (m != STET_MECHANISM_READBACK || stet_sim_get_device(sim)->can.host_memory)
                assert_int_equal(c.mechanism[m].hits, asked ? K : 0);
            assert_int_equal(c.mechanism[m].misses + c.mechanism[m].fallbacks, 0);
        }
        assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].saved_launches, K);
        assert_int_equal(stet_get_memory_stats().allocations, allocations);
        stet_sim_destroy(sim);
    }
}

/*
 * A step is no move where poses keep their bits: nothing is drawn, and later only the world that moves. A device whose
 * memory the host has not draws, but no patch of it.
 */
static void a_step_at_rest_draws_nothing(void **state)
{
    static const stet_physics physics[] = {STET_PHYSICS_MUJOCO, STET_PHYSICS_NATIVE};
    static const char scene[] =
        "<mujoco><option gravity='0 0 0'/><worldbody><light pos='0 0 3'/><camera pos='0 0 2'/><body><freejoint/>"
        "<geom size='.2'/></body><body pos='.4 0 0'><joint name='j' type='slide' axis='0 1 0'/><geom size='.1'/></body>"
        "</worldbody><actuator><motor joint='j'/></actuator></mujoco>";
    for (int i = 0; i < 4; ++i) {
        stet_sim *sim = room_open(scene, &(room_def){.physics = physics[i / 2], .audit = i % 2});
        const sti_generations *painted = &sim->tiles->painted;
        int64_t frame = room_render(sim);
        if (!stet_sim_get_device(sim)->can.host_memory) {
            stet_sim_destroy(sim);
            continue;
        }
        stet_device_clear_counters(stet_sim_get_device(sim));
        for (int k = 0; k < 3; ++k) {
            OK(stet_sim_step(sim, 2));
            assert_int_equal(room_render(sim), frame);
        }
        stet_counters c = room_counters(sim);
        assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].hits, 3);
        assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].misses + c.mechanism[STET_MECHANISM_HIERARCHY].misses, 0);
        uint64_t hash = room_frame(sim, frame);
        room_write(sim, "ctrl", 1, 0, 0.5f);
        OK(stet_sim_step(sim, 20));
        assert_int_equal(room_render(sim), frame + 1);
        assert_true(room_frame(sim, frame + 1) != hash);
        assert_true(sti_generation_of(painted, 1) > sti_generation_of(painted, 0));
        assert_true(sti_generation_of(painted, 2) == sti_generation_of(painted, 0));
        stet_sim_destroy(sim);
    }
}

/* ---- all or some ------------------------------------------------------------------------------------------------- */

static bool any_apart(const stet_sim *sim)
{
    const sti_tile_place *place = sti_place_of(sim->tiles, sim->newest);
    return sim->worlds->state.stamps.moved.apart || sim->worlds->quantities.stamps.changed.apart ||
           sti_stage_changed(sim->stage)->apart || sim->tiles->painted.apart || sim->tiles->drawn.apart ||
           place->serial.apart;
}

/* Nobody walks through the worlds where all of them move, also after one has moved alone. */
static void worlds_that_move_together_are_one(void **state)
{
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = 5});
    for (int k = 0; k < 3; ++k) {
        room_play(sim, k, 1, 2);
        assert_false(any_apart(sim));
        room_reset(sim, 2);
        (void)room_render(sim);
        assert_true(sim->worlds->state.stamps.moved.apart && sti_stage_changed(sim->stage)->apart &&
                    sim->tiles->painted.apart);
    }
    stet_sim_destroy(sim);
}

/* ---- what ends the rest ------------------------------------------------------------------------------------------ */

static const float aside[12] = {1, 0, 0, 0.2f, 0, 1, 0, 0.1f, 0, 0, 1, 0.4f};

static void step_once(stet_sim *sim) { OK(stet_sim_step(sim, 1)); }
static void write_positions(stet_sim *sim) { room_write(sim, "qpos", 1, 2, 1.1f); }
static void write_poses(stet_sim *sim) { room_write(sim, "xpos", 0, 5, 1.4f); }
static void reset_one(stet_sim *sim) { room_reset(sim, 2); }

static int ball(stet_sim *sim)
{
    int prim;
    OK(stet_stage_get_prim(stet_sim_get_stage(sim), STET_PRIM_GEOM, 1, &prim));
    return prim;
}

static void move_a_geom(stet_sim *sim) { OK(stet_stage_write_local(stet_sim_get_stage(sim), ball(sim), 1, 1, aside)); }

static void add_a_prim(stet_sim *sim)
{
    int prim;
    OK(stet_stage_add(stet_sim_get_stage(sim), 0, "added", aside, false, &prim));
}

/* Two writes of what is there already: nobody can know that without looking. */
static void announce_transforms(stet_sim *sim) { stet_array_mark_written(sti_stage_local(stet_sim_get_stage(sim))); }
static void force_a_flush(stet_sim *sim) { OK(stet_stage_flush(stet_sim_get_stage(sim), true)); }

typedef struct ending {
    void (*end)(stet_sim *sim);
    bool other; /* the picture is another one */
} ending;

static const ending endings[] = {
    {step_once, true},   {write_positions, true}, {write_poses, true},          {reset_one, true},
    {move_a_geom, true}, {add_a_prim, false},     {announce_transforms, false}, {force_a_flush, false},
};

/* Each ends the rest for one render; then all stands again. Audited, what stood is compared with what it would be. */
static void whatever_moves_ends_the_rest(void **state)
{
    for (int audit = 0; audit < 2; ++audit) {
        stet_sim *sim = room_open(ROOM_BALL, &(room_def){.audit = audit});
        OK(stet_sim_step(sim, 40)); /* so that a reset moves something */
        int64_t frame = room_render(sim);
        for (size_t k = 0; k < sizeof endings / sizeof *endings; ++k) {
            uint64_t before = room_frame(sim, frame);
            assert_int_equal(room_render(sim), frame);
            endings[k].end(sim);
            assert_int_equal(room_render(sim), frame + 1);
            assert_int_equal(room_render(sim), ++frame);
            if ((room_frame(sim, frame) != before) != endings[k].other) fail_msg("ending %zu, audit %d", k, audit);
        }
        stet_sim_destroy(sim);
    }
}

/* A world that moved and was not wanted is still to be drawn, however often the others stood meanwhile. */
static void a_world_left_behind_is_not_forgotten(void **state)
{
    const uint8_t second[3] = {0, 1, 0};
    stet_sim *sim = room_open(ROOM_BALL, &(room_def){0}), *twin = room_open(ROOM_BALL, &(room_def){0});
    int64_t frame = room_render(sim);
    for (int64_t w = 0; w < 2; ++w) {
        room_write(sim, "qpos", w, 2, 1.2f);
        room_write(twin, "qpos", w, 2, 1.2f);
    }
    for (int k = 0; k < 3; ++k) {
        int64_t now;
        OK(stet_tiles_render(sim->tiles, second, &now));
        assert_int_equal(now, frame + 1); /* drawn once, then it stands */
    }
    assert_true(stet_tiles_is_stale(sim->tiles, 0) && !stet_tiles_is_stale(sim->tiles, 1));
    /* Writes to the state of native physics move all worlds; where the host has both, poses show which did not. */
    bool compared = stet_sim_get_device(sim)->can.host_memory || stet_sim_get_physics(sim) != STET_PHYSICS_NATIVE;
    assert_true(stet_tiles_is_stale(sim->tiles, 2) == !compared);
    assert_int_equal(room_render(sim), frame + 2);
    assert_false(stet_tiles_is_stale(sim->tiles, 0));
    assert_int_equal(room_render(sim), frame + 2);
    (void)room_render(twin);
    assert_true(room_frame(sim, STET_FRAME_LATEST) == room_frame(twin, STET_FRAME_LATEST));
    stet_sim_destroy(twin);
    stet_sim_destroy(sim);
}

/* Reading the present picture again and again looks for worlds that moved, and finds each once. */
static void worlds_that_moved_are_found_once(void **state)
{
    stet_sim *sim = room_open(ROOM_BALL, &(room_def){0});
    OK(stet_sim_step(sim, 40));
    int64_t frame = room_render(sim);
    uint64_t before = room_frame(sim, STET_FRAME_LATEST);
    for (int k = 0; k < 2; ++k) assert_true(room_frame(sim, STET_FRAME_LATEST) == before);
    OK(stet_sim_step(sim, 40));
    room_reset(sim, 1);
    uint64_t after = room_frame(sim, STET_FRAME_LATEST);
    assert_true(after != before);
    for (int k = 0; k < 2; ++k) assert_true(room_frame(sim, STET_FRAME_LATEST) == after);
    assert_true(room_frame(sim, frame + 1) == after);
    stet_sim_destroy(sim);
}

/* ---- moving and resting in turn ---------------------------------------------------------------------------------- */

/* What somebody else's physics does: a pose for each body of each world, from the frame's number. */
static void write_all_poses(stet_sim *sim, int64_t frame, float *buffer)
{
    static const char *const fields[] = {"xpos", "xquat"};
    for (int k = 0; k < 2; ++k) {
        stet_array *a;
        OK(stet_worlds_get_array(stet_sim_get_worlds(sim), fields[k], &a));
        int64_t n = stet_array_get_nelement(a), of = k ? 4 : 3;
        for (int64_t i = 0; i < n; ++i) {
            double angle = 0.1 * (double)(frame + i / of);
            double quat[4] = {cos(angle), sin(angle), 0, 0};
            buffer[i] = (float)(k ? quat[i % 4] : 0.2 * sin(angle + (double)(i % 3)));
        }
        OK(stet_array_write(a, buffer, (size_t)n * sizeof *buffer));
    }
}

/*
 * As in the ablation of `stet bench mechanisms`: poses, substeps, a frame read twice; and once more though nothing
 * moved.
 */
static void play_frame(stet_sim *sim, int64_t frame, float *buffer)
{
    write_all_poses(sim, frame, buffer);
    OK(stet_sim_step(sim, 3));
    for (int times = 2; times > 0; --times) {
        stet_array *tensor;
        const void *pixels;
        (void)room_render(sim);
        OK(stet_sim_get_array(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_DEPTH, &tensor));
        for (int k = 0; k < times; ++k) OK(stet_array_get_host(tensor, &pixels));
        OK(stet_sim_get_array(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_SEG_GEOM, &tensor));
    }
}

static float *pose_buffer(stet_sim *sim)
{
    stet_array *xquat;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), "xquat", &xquat));
    float *buffer = malloc(stet_array_get_bytes(xquat));
    assert_non_null(buffer);
    return buffer;
}

static const room_def moving = {.nworld = 9, .physics = STET_PHYSICS_EXTERNAL, .outputs = BIT(DEPTH) | BIT(SEG_GEOM)};

static void moving_and_resting_allocates_nothing(void **state)
{
    for (int threads = 1; threads <= 2; ++threads) {
        room_def d = moving;
        d.threads = threads;
        stet_sim *sim = room_open("hand.xml", &d);
        float *buffer = pose_buffer(sim);
        int64_t before = 0;
        for (int64_t f = 0; f < 12; ++f) {
            if (f == 4) before = stet_get_memory_stats().allocations;
            play_frame(sim, f, buffer);
        }
        assert_int_equal(stet_get_memory_stats().allocations, before);
        free(buffer);
        stet_sim_destroy(sim);
    }
}

/* With none of them, with each alone, with all but each, with all: switched in one sim along the way. */
static void every_choice_of_mechanisms_draws_the_same(void **state)
{
    enum { ALL = (1 << STET_MECHANISM_COUNT) - 1 };
    stet_sim *sim = room_open("hand.xml", &moving);
    float *buffer = pose_buffer(sim);
    stet_mechanism_options options = stet_device_get_mechanisms(stet_sim_get_device(sim));
    uint64_t expected[2] = {0, 0};
    for (int k = 0; k <= 2 * STET_MECHANISM_COUNT + 1; ++k) {
        uint32_t one = 1u << k / 2;
        options.disabled = one > ALL ? (k % 2 ? 0 : ALL) : k % 2 ? one : ALL & ~one;
        OK(stet_device_set_mechanisms(stet_sim_get_device(sim), &options));
        for (int64_t f = 0; f < 2; ++f) {
            play_frame(sim, f, buffer);
            uint64_t hash = room_frame(sim, STET_FRAME_LATEST);
            if (k == 0) expected[f] = hash;
            if (hash != expected[f]) fail_msg("frame %d, disabled %x", (int)f, options.disabled);
        }
    }
    assert_true(expected[0] != expected[1]);
    free(buffer);
    stet_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_idle_render_asks_each_once),
        cmocka_unit_test(a_step_at_rest_draws_nothing),
        cmocka_unit_test(worlds_that_move_together_are_one),
        cmocka_unit_test(whatever_moves_ends_the_rest),
        cmocka_unit_test(a_world_left_behind_is_not_forgotten),
        cmocka_unit_test(worlds_that_moved_are_found_once),
        cmocka_unit_test(moving_and_resting_allocates_nothing),
        cmocka_unit_test(every_choice_of_mechanisms_draws_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
