/*
 * Failures that users of comparable systems met (test names kfNN_), with native physics and pictures of its worlds:
 * empty selections, worlds made again at old addresses, in other numbers and shapes, many tiles, tiles of several sizes
 * in any order, channels that there are not. Layers by themselves: test/base, test/tiles, test/worlds.
 */
#include "device/device.h"
#include "sim/room.h"

#include "stet/tiles.h"

enum { CAMERAS = 3 /* of the cart-pole */, MOST_FIELDS = 32 };

/* ---- 17: empty selections ---------------------------------------------------------------------------------------- */

static int64_t misses(stet_sim *sim)
{
    stet_counters c = room_counters(sim);
    int64_t n = 0;
    for (int m = 0; m < STET_MECHANISM_COUNT; ++m) n += c.mechanism[m].misses;
    return n;
}

/* Resets, steps and pictures of no world, and a read of the latest frame. */
static void select_none(stet_sim *sim, int64_t frame)
{
    static const uint8_t none[5] = {0};
    int64_t drawn;
    stet_reset_def def = stet_default_reset_def();
    def.mask = none;
    OK(stet_sim_reset(sim, &def));
    OK(stet_sim_step_worlds(sim, none, 2));
    OK(stet_sim_render_worlds(sim, none, &drawn));
    assert_int_equal(drawn, frame);
    OK(stet_sim_render(sim, &drawn)); /* nothing has moved */
    assert_int_equal(drawn, frame);
    (void)room_frame(sim, STET_FRAME_LATEST);
    assert_int_equal(stet_sim_get_latest_frame(sim), frame);
}

static void kf17_an_empty_selection_is_nothing_to_do(void **state)
{
    stet_sim *sim = room_open("cartpole.xml", &(room_def){.nworld = 5, .physics = STET_PHYSICS_NATIVE});
    OK(stet_sim_step(sim, 3));
    room_reset(sim, 2);
    int64_t frame = room_render(sim);
    uint64_t state_before = room_state(sim), pixels = room_frame(sim, frame);
    select_none(sim, frame);
    stet_device_clear_counters(stet_sim_get_device(sim));
    for (int k = 0; k < 20; ++k) select_none(sim, frame);
    stet_counters c = room_counters(sim);
    assert_int_equal(c.launches, 0);
    assert_int_equal(c.bytes_copied, 0);
    assert_int_equal(c.kinematics, 0);
    assert_int_equal(misses(sim), 0);
    assert_true(room_state(sim) == state_before && room_frame(sim, STET_FRAME_LATEST) == pixels);
    stet_sim_destroy(sim);
}

/*
 * Who a mask on the device puts back the host does not know: it compares poses once, and finds that none moved; where
 * only a device has them, all worlds are drawn once more.
 */
static void kf17_a_mask_of_zeros_on_the_device_is_looked_at_once(void **state)
{
    stet_sim *sim = room_open("cartpole.xml", &(room_def){.nworld = 5, .physics = STET_PHYSICS_NATIVE});
    stet_array *mask;
    OK(STI_ARRAY(stet_sim_get_device(sim), "nobody", STET_DTYPE_INT, true, &mask, 5, 1));
    stet_reset_def def = stet_default_reset_def();
    def.mask_array = mask;
    OK(stet_sim_step(sim, 3));
    int64_t frame = room_render(sim);
    uint64_t pixels = room_frame(sim, frame);
    for (int k = 0; k < 4; ++k) {
        OK(stet_sim_reset(sim, &def));
        assert_true(room_frame(sim, STET_FRAME_LATEST) == pixels);
        stet_device_clear_counters(stet_sim_get_device(sim));
        for (int i = 0; i < 5; ++i) assert_true(room_frame(sim, STET_FRAME_LATEST) == pixels);
        assert_int_equal(room_counters(sim).launches, 0);
        assert_int_equal(room_counters(sim).bytes_copied, 0);
        assert_int_equal(misses(sim), 0);
        int64_t drawn = stet_sim_get_device(sim)->can.host_memory ? 0 : k + 1;
        assert_int_equal(stet_sim_get_latest_frame(sim), frame + drawn);
    }
    for (int w = 0; w < 5; ++w) assert_int_equal(stet_sim_get_worlds(sim)->state.resets[w], 0);
    stet_array_destroy(mask);
    stet_sim_destroy(sim);
}

/* ---- 22 and 23: made again on one device ------------------------------------------------------------------------- */

typedef struct shape {
    int nworld, width, height;
    bool heavy; /* with masses of their own from the second step on */
} shape;

typedef struct show {
    stet_worlds *worlds;
    stet_step *step;
    stet_stage *stage;
    stet_tiles *tiles;
} show;

static show show_open(stet_device *device, stet_model *model, const shape *s)
{
    show out;
    stet_worlds_def worlds = stet_default_worlds_def();
    stet_tiles_def tiles = stet_default_tiles_def();
    stet_camera camera = {.width = s->width, .height = s->height, .fovy = 50};
    const stet_tile_request request = {.output = STET_OUTPUT_RGB, .dtype = STET_DTYPE_U8};
    worlds.nworld = s->nworld;
    worlds.exact = false;
    OK(stet_worlds_create(device, model, &worlds, &out.worlds));
    OK(stet_step_create(out.worlds, STET_PHYSICS_NATIVE, &out.step));
    OK(stet_stage_create(out.worlds, &out.stage));
    OK(stet_stage_get_prim(out.stage, STET_PRIM_CAMERA, 0, &camera.prim));
    tiles.cameras = &camera;
    tiles.requests = &request;
    tiles.ncamera = tiles.nrequest = 1;
    OK(stet_tiles_create(out.stage, &tiles, &out.tiles));
    return out;
}

static void show_close(show *s)
{
    stet_tiles_destroy(s->tiles);
    stet_stage_destroy(s->stage);
    stet_step_destroy(s->step);
    stet_worlds_destroy(s->worlds);
}

/* Worlds begin differently in each round; two steps and pictures. The hash of the state and of all pixels. */
static void play(const show *s, const shape *with, int round, uint64_t hash[2])
{
    rig r = {.worlds = s->worlds};
    stet_array *pixels;
    for (int w = 0; w < with->nworld; ++w)
        for (int i = 0; i < 2; ++i) rig_set(&r, "qpos", w, i, rig_wave(w, round, i));
    for (int k = 0; k < 2; ++k) {
        OK(stet_step_run(s->step, 4));
        OK(stet_tiles_render(s->tiles, NULL, NULL));
        OK(stet_tiles_get_array(s->tiles, STET_FRAME_LATEST, 0, &pixels));
        OK(stet_array_hash(pixels, &hash[1]));
        if (k > 0 || !with->heavy) continue;
        double mass[256];
        int64_t n = with->nworld * stet_worlds_get_parameter_items(s->worlds, "body_mass");
        assert_true(n <= 256);
        OK(stet_worlds_get_parameter(s->worlds, "body_mass", mass, n));
        for (int i = 0; i < n; ++i) mass[i] *= 1 + 0.5 * (i % 7);
        OK(stet_worlds_set_parameter(s->worlds, "body_mass", mass, n));
    }
    hash[0] = rig_hash(&r);
}

static void alone(stet_model *model, const shape *with, int round, uint64_t hash[2])
{
    stet_device *device = rig_open_device(NULL, 1);
    show s = show_open(device, model, with);
    play(&s, with, round, hash);
    show_close(&s);
    stet_device_destroy(device);
}

/* The addresses of the fields' arrays, in `now`; returns how many of them were there before. */
static int count_recycled(const show *s, const void *before[MOST_FIELDS], const void *now[MOST_FIELDS])
{
    const char *const *names = stet_worlds_get_fields();
    int again = 0;
    for (int f = 0; names[f]; ++f) {
        stet_array *a;
        assert_true(f < MOST_FIELDS);
        OK(stet_worlds_get_array(s->worlds, names[f], &a));
        now[f] = a->data;
        for (int k = 0; k < MOST_FIELDS; ++k) again += a->data && a->data == before[k];
    }
    return again;
}

/* One after the other on one device they are what they are alone. Returns how many arrays were where one was before. */
static int check_again(const shape *shapes, int n, int rounds)
{
    stet_model *model = rig_model("cartpole.xml");
    stet_device *device = rig_open_device(NULL, 1);
    const void *address[2][MOST_FIELDS] = {{NULL}};
    int again = 0;
    for (int round = 0; round < rounds; ++round) {
        const shape *with = &shapes[round % n];
        uint64_t hash[2], want[2];
        show s = show_open(device, model, with);
        again += count_recycled(&s, address[round % 2], address[(round + 1) % 2]);
        play(&s, with, round, hash);
        show_close(&s);
        alone(model, with, round, want);
        if (hash[0] != want[0] || hash[1] != want[1]) fail_msg("round %d is not what it is alone", round);
    }
    stet_device_destroy(device);
    stet_model_destroy(model);
    return again;
}

static void kf22_worlds_at_recycled_addresses_are_other_worlds(void **state)
{
    static const shape one = {5, 12, 9, false};
    int again = check_again(&one, 1, 6);
    assert_true(again > 0 || !picked_any()); /* a GPU's pool hands the same memory out again */
}

static void kf23_numbers_of_worlds_shapes_and_what_was_absent_are_recorded(void **state)
{
    static const shape shapes[] = {{5, 12, 9, false}, {9, 12, 9, false}, {5, 9, 12, false}, {5, 12, 9, true},
                                   {3, 12, 9, false}, {5, 12, 9, false}, {9, 30, 5, true},  {9, 12, 9, false}};
    enum { SHAPES = sizeof shapes / sizeof *shapes };
    (void)check_again(shapes, SHAPES, SHAPES);
}

/* ---- 25: many tiles ---------------------------------------------------------------------------------------------- */

static stet_sim *open_many(int64_t nworld, int64_t classes)
{
    enum { NQ = 2 };
    stet_sim *sim = room_open("cartpole.xml", &(room_def){.nworld = nworld,
                                                          .physics = STET_PHYSICS_NATIVE,
                                                          .outputs = BIT(RGBA) | BIT(DEPTH),
                                                          .camera = "all",
                                                          .width = 16,
                                                          .height = 12});
    stet_array *qpos;
    float *x = malloc((size_t)nworld * NQ * sizeof *x);
    assert_non_null(x);
    for (int64_t w = 0; w < nworld; ++w)
        for (int i = 0; i < NQ; ++i) x[w * NQ + i] = rig_wave(w % classes, 0, i);
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), "qpos", &qpos));
    OK(stet_array_write(qpos, x, (size_t)nworld * NQ * sizeof *x));
    free(x);
    OK(stet_sim_step(sim, 2));
    (void)room_render(sim);
    return sim;
}

/* Worlds of the same state have the same pixels, in the last of all tiles, too: each sees its own. */
static void kf25_each_world_of_many_sees_its_own_pixels(void **state)
{
    enum { CLASSES = 97 };
    const char *device = getenv("STET_TEST_DEVICE");
    bool slow = device && strncmp(device, "double", 6) == 0;
    int64_t nworld = slow ? 1400 : 7000; /* 4200 tiles, 21,000 */
    stet_sim *few = open_many(CLASSES, CLASSES), *many = open_many(nworld, CLASSES);
    assert_int_equal(stet_sim_get_ncamera(many), CAMERAS);
    for (int c = 0; c < CAMERAS; ++c)
        for (int o = 0; o < 2; ++o) {
            stet_output output = o ? STET_OUTPUT_DEPTH : STET_OUTPUT_RGBA;
            uint8_t *a = room_read(few, STET_FRAME_LATEST, c, output),
                    *b = room_read(many, STET_FRAME_LATEST, c, output);
            size_t one = stet_sim_get_output_bytes(few, c, output) / CLASSES;
            assert_int_equal(stet_sim_get_output_bytes(many, c, output), (size_t)nworld * one);
            for (int64_t w = 0; w < nworld; ++w)
                assert_memory_equal(b + (size_t)w * one, a + (size_t)(w % CLASSES) * one, one);
            size_t unlike = 0;
            for (size_t w = 1; w < CLASSES; ++w) unlike += memcmp(a + w * one, a + (w - 1) * one, one) != 0;
            if (unlike < CLASSES - 9) fail_msg("camera %d: %zu worlds differ from the one before", c, unlike);
            free(a);
            free(b);
        }
    stet_sim_destroy(few);
    stet_sim_destroy(many);
}

/* ---- 27: the order of tiles -------------------------------------------------------------------------------------- */

enum { WORLDS = 13, REQUESTS = 5 };
static const int sizes[CAMERAS][2] = {{20, 12}, {9, 33}, {35, 7}};
static const stet_tile_request requests[REQUESTS] = {{2, STET_OUTPUT_RGBA, STET_DTYPE_U8, 0, NULL, false},
                                                     {0, STET_OUTPUT_DEPTH, STET_DTYPE_REAL, 0, NULL, false},
                                                     {1, STET_OUTPUT_RGB, STET_DTYPE_U8, 0, NULL, true},
                                                     {0, STET_OUTPUT_SEG_GEOM, STET_DTYPE_INT, 0, NULL, false},
                                                     {2, STET_OUTPUT_RGB, STET_DTYPE_REAL, 0, NULL, false}};

/* Tiles over a sim's stage: of one request and its camera alone, or (-1) of all cameras and requests. */
static stet_tiles *open_tiles(stet_sim *sim, int only)
{
    stet_tiles *tiles;
    stet_camera cameras[CAMERAS];
    stet_tiles_def def = stet_default_tiles_def();
    stet_tile_request one = requests[only < 0 ? 0 : only];
    for (int c = 0; c < CAMERAS; ++c) {
        cameras[c] = *stet_sim_get_camera(sim, c);
        cameras[c].width = sizes[c][0];
        cameras[c].height = sizes[c][1];
    }
    def.cameras = only < 0 ? cameras : &cameras[one.camera];
    def.ncamera = only < 0 ? CAMERAS : 1;
    one.camera = 0;
    def.requests = only < 0 ? requests : &one;
    def.nrequest = only < 0 ? REQUESTS : 1;
    OK(stet_tiles_create(stet_sim_get_stage(sim), &def, &tiles));
    return tiles;
}

/* The latest tensor of a request; from malloc. */
static uint8_t *read_tensor(stet_tiles *tiles, int request, size_t *size)
{
    stet_array *a;
    OK(stet_tiles_get_array(tiles, STET_FRAME_LATEST, request, &a));
    *size = stet_array_get_bytes(a);
    uint8_t *out = malloc(*size);
    assert_non_null(out);
    OK(stet_array_read(a, out, *size));
    return out;
}

/* Worlds in turns, tiles of several sizes: each has the pixels that its camera had alone when the world was drawn. */
static void kf27_tiles_of_several_sizes_and_worlds_in_any_order(void **state)
{
    uint64_t dice = dice_seed("kf27_tiles");
    stet_sim *sim =
        room_open("cartpole.xml", &(room_def){.nworld = WORLDS, .physics = STET_PHYSICS_NATIVE, .camera = "all"});
    stet_tiles *all = open_tiles(sim, -1), *one[REQUESTS];
    uint8_t *want[REQUESTS] = {NULL};
    for (int k = 0; k < REQUESTS; ++k) one[k] = open_tiles(sim, k);
    for (int turn = 0; turn < 8; ++turn) {
        uint8_t mask[WORLDS];
        for (int w = 0; w < WORLDS; ++w) {
            room_write(sim, "ctrl", w, 0, rig_wave(w, turn, 0));
            mask[w] = turn == 0 || dice_below(&dice, 3) == 0;
        }
        OK(stet_sim_step(sim, 20));
        OK(stet_tiles_render(all, mask, NULL));
        for (int k = 0; k < REQUESTS; ++k) {
            size_t size, same;
            OK(stet_tiles_render(one[k], NULL, NULL));
            uint8_t *now = read_tensor(one[k], 0, &size), *got = read_tensor(all, k, &same);
            size_t each = size / WORLDS;
            assert_int_equal(same, size);
            for (size_t w = 0; w < WORLDS; ++w)
                if (turn > 0 && !mask[w]) memcpy(now + w * each, want[k] + w * each, each);
            assert_memory_equal(got, now, size);
            free(want[k]);
            free(got);
            want[k] = now;
        }
    }
    for (int k = 0; k < REQUESTS; ++k) {
        free(want[k]);
        stet_tiles_destroy(one[k]);
    }
    stet_tiles_destroy(all);
    stet_sim_destroy(sim);
}

/* ---- 28: channels that there are not ----------------------------------------------------------------------------- */

static void kf28_more_channels_than_there_are_are_refused(void **state)
{
    stet_sim *sim = room_open("cartpole.xml", &(room_def){.physics = STET_PHYSICS_NATIVE});
    OK(stet_sim_step(sim, 3));
    uint64_t before = room_frame(sim, room_render(sim));
    stet_tiles_def def = stet_default_tiles_def();
    def.cameras = stet_sim_get_camera(sim, 0);
    def.ncamera = def.nrequest = 1;
    for (int o = 0; o < STET_OUTPUT_COUNT; ++o) {
        char words[64];
        stet_tiles *tiles;
        int n = stet_output_channels((stet_output)o);
        const stet_tile_request request = {0, (stet_output)o, stet_output_dtype((stet_output)o), n + 1, NULL, false};
        def.requests = &request;
        (void)snprintf(words, sizeof words, "request 0: %s with %d channels: it has %d",
                       stet_output_name((stet_output)o), n + 1, n);
        REFUSED(STET_ERROR_INVALID_ARGUMENT, words, stet_tiles_create(stet_sim_get_stage(sim), &def, &tiles));
        assert_null(tiles);
    }
    assert_true(room_frame(sim, STET_FRAME_LATEST) == before);
    stet_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf17_an_empty_selection_is_nothing_to_do),
        cmocka_unit_test(kf17_a_mask_of_zeros_on_the_device_is_looked_at_once),
        cmocka_unit_test(kf22_worlds_at_recycled_addresses_are_other_worlds),
        cmocka_unit_test(kf23_numbers_of_worlds_shapes_and_what_was_absent_are_recorded),
        cmocka_unit_test(kf25_each_world_of_many_sees_its_own_pixels),
        cmocka_unit_test(kf27_tiles_of_several_sizes_and_worlds_in_any_order),
        cmocka_unit_test(kf28_more_channels_than_there_are_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
