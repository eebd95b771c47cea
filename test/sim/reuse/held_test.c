/*
 * held_bytes: what each mechanism holds, by exact numbers worked out from shapes here, and nothing once everything is
 * destroyed.
 */
#include "sim/room.h"

#include "stage/flush.h"
#include "tiles/tiles.h"

/* A ball over a floor: two bodies. Four lanes: five worlds take the room of eight. */
enum { WORLDS = 5, PADDED = 8, BODIES = 2, WIDTH = 8, HEIGHT = 6, FLIGHT = 2, PLACES = FLIGHT + 1, REAL = 4 };

static stet_sim *open_ball(uint32_t outputs)
{
    const room_def def = {.nworld = WORLDS,
                          .isa = "portable",
                          .physics = STET_PHYSICS_MUJOCO,
                          .outputs = outputs,
                          .width = WIDTH,
                          .height = HEIGHT,
                          .flight = FLIGHT};
    return room_open(ROOM_BALL, &def);
}

static int64_t held(stet_sim *sim, stet_mechanism mechanism)
{
    return room_counters(sim).mechanism[mechanism].held_bytes;
}

/* Closes a sim: then no mechanism holds anything. */
static void close_all(stet_sim *sim)
{
    stet_device *device = stet_sim_get_device(sim);
    sti_device_retain(device);
    stet_sim_destroy(sim);
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k)
        if (device->mechanisms.counters.mechanism[k].held_bytes != 0)
            fail_msg("%s holds %lld bytes", stet_mechanism_name((stet_mechanism)k),
                     (long long)device->mechanisms.counters.mechanism[k].held_bytes);
    sti_device_release(device);
}

static void poses_and_transforms(void **state)
{
    stet_sim *sim = open_ball(BIT(DEPTH));
    int64_t capacity = stet_sim_get_stage(sim)->tree.capacity, world = PADDED * capacity * 12 * REAL;
    assert_int_equal(held(sim, STET_MECHANISM_POSE_SYNC), PADDED * BODIES * (3 + 4) * REAL);
    /*
     * World transforms, the worlds to visit; with the first flush also lists of numbers: the schedule and its
     * selections.
     */
    int64_t visits = PADDED * (int64_t)sizeof(int);
    assert_int_equal(held(sim, STET_MECHANISM_HIERARCHY), world + visits);
    OK(stet_stage_flush(stet_sim_get_stage(sim), false));
    int64_t lists = capacity + BODIES + capacity + (2 + STI_SELECTIONS) * (capacity + capacity + 1);
    assert_int_equal(held(sim, STET_MECHANISM_HIERARCHY), world + visits + lists * (int64_t)sizeof(int));
    /* More prims than there is room for: everything is as large as the new room. */
    const float frame[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    for (int64_t k = 0; k <= capacity; ++k) {
        int prim;
        char name[32];
        (void)snprintf(name, sizeof name, "more %d", (int)k);
        OK(stet_stage_add(stet_sim_get_stage(sim), 0, name, frame, false, &prim));
    }
    OK(stet_stage_flush(stet_sim_get_stage(sim), false));
    int64_t grown = stet_sim_get_stage(sim)->tree.capacity;
    assert_true(grown > capacity);
    lists = grown + BODIES + grown + (2 + STI_SELECTIONS) * (grown + grown + 1);
    assert_int_equal(held(sim, STET_MECHANISM_HIERARCHY),
                     PADDED * grown * 12 * REAL + visits + lists * (int64_t)sizeof(int));
    close_all(sim);
}

/* Depth is drawn in place; rgb is taken out of rgba. */
static void frames_and_tensors(void **state)
{
    enum { PIXELS = WORLDS * WIDTH * HEIGHT };
    stet_sim *sim = open_ball(BIT(DEPTH));
    assert_int_equal(held(sim, STET_MECHANISM_FRAME), PLACES * PIXELS * REAL);
    assert_int_equal(held(sim, STET_MECHANISM_DEFERRED_TILES), 0);
    int64_t tables = held(sim, STET_MECHANISM_TILES);
    assert_true(tables > 0);
    /* Switched off, what was drawn in place is copied; the copies of the places that were used stay. */
    const stet_mechanism_options off = {.disabled = 1u << STET_MECHANISM_TILES};
    OK(stet_device_set_mechanisms(stet_sim_get_device(sim), &off));
    (void)room_frame(sim, room_render(sim));
    assert_int_equal(held(sim, STET_MECHANISM_DEFERRED_TILES), PIXELS * REAL);
    assert_int_equal(held(sim, STET_MECHANISM_TILES), tables);
    close_all(sim);

    sim = open_ball(BIT(DEPTH) | BIT(RGB));
    int64_t pixels = 0; /* rgba in a tiled frame, which may have tiles that no world has */
    for (int k = 0; k < PLACES; ++k)
        for (int b = 0; b < STI_BUFFER_COUNT; ++b)
            if (sim->tiles->place[k].pixels[b]) pixels += (int64_t)stet_array_get_bytes(sim->tiles->place[k].pixels[b]);
    assert_true(pixels >= (int64_t)PLACES * PIXELS * (REAL + 4));
    assert_int_equal(held(sim, STET_MECHANISM_FRAME), pixels);
    assert_int_equal(held(sim, STET_MECHANISM_DEFERRED_TILES), PLACES * PIXELS * 3);
    assert_true(held(sim, STET_MECHANISM_TILES) > tables); /* a row for each buffer */
    close_all(sim);
}

/* The caller's own arrays, bound to a request, are the caller's. */
static void bound_arrays_are_not_held(void **state)
{
    stet_sim *sim = open_ball(BIT(DEPTH));
    stet_tiles_def def = stet_default_tiles_def();
    stet_array_def bound = stet_default_array_def();
    stet_camera camera = *stet_sim_get_camera(sim, 0);
    stet_tile_request request = {.output = STET_OUTPUT_DEPTH, .dtype = STET_DTYPE_F16};
    stet_array *array;
    stet_tiles *tiles;
    bound.dtype = STET_DTYPE_F16;
    bound.ndim = 4;
    bound.shape[0] = WORLDS;
    bound.shape[1] = HEIGHT;
    bound.shape[2] = WIDTH;
    bound.shape[3] = 1;
    OK(stet_array_create(stet_sim_get_device(sim), &bound, &array));
    request.bound = array;
    def.cameras = &camera;
    def.ncamera = 1;
    def.requests = &request;
    def.nrequest = 1;
    int64_t before = held(sim, STET_MECHANISM_DEFERRED_TILES), frames = held(sim, STET_MECHANISM_FRAME);
    OK(stet_tiles_create(stet_sim_get_stage(sim), &def, &tiles));
    assert_int_equal(held(sim, STET_MECHANISM_DEFERRED_TILES), before);
    assert_true(held(sim, STET_MECHANISM_FRAME) > frames);
    stet_tiles_destroy(tiles);
    assert_int_equal(held(sim, STET_MECHANISM_FRAME), frames);
    stet_array_destroy(array);
    close_all(sim);
}

static void mirrors_of_arrays(void **state)
{
    stet_sim *sim = open_ball(BIT(DEPTH));
    stet_array *qpos;
    const void *data;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), "qpos", &qpos));
    int64_t before = held(sim, STET_MECHANISM_READBACK);
    for (int k = 0; k < 2; ++k) {
        OK(stet_array_get_host(qpos, &data));
        assert_int_equal(held(sim, STET_MECHANISM_READBACK) - before, WORLDS * 7 * REAL);
    }
    stet_device_clear_counters(stet_sim_get_device(sim)); /* what is held is held all the same */
    assert_int_equal(held(sim, STET_MECHANISM_READBACK) - before, WORLDS * 7 * REAL);
    close_all(sim);
}

/* Steps, pictures, resets; each mechanism off once. */
static void nothing_is_left_after_everything(void **state)
{
    for (int k = -1; k < STET_MECHANISM_COUNT; ++k) {
        const room_def def = {.disabled = k < 0 ? 0 : 1u << k, .audit = k == -1};
        stet_sim *sim = room_open("cartpole.xml", &def);
        room_play(sim, 0, 3, 2);
        room_reset(sim, 1);
        (void)room_frame(sim, STET_FRAME_LATEST);
        for (int m = 0; m <= STET_MECHANISM_READBACK; ++m)
            if (m != STET_MECHANISM_READBACK && m != STET_MECHANISM_DEFERRED_TILES)
                assert_true(held(sim, (stet_mechanism)m) > 0);
        close_all(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(poses_and_transforms),
        cmocka_unit_test(frames_and_tensors),
        cmocka_unit_test(bound_arrays_are_not_held),
        cmocka_unit_test(mirrors_of_arrays),
        cmocka_unit_test(nothing_is_left_after_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
