/*
 * Frames of a sim: what is current, what is kept, what is given back, and what it costs.
 */
#include "sim/room.h"

#include <math.h>

/* ---- freshness --------------------------------------------------------------------------------------------------- */

/* After a step, and after a reset without one, pictures and transforms are those after it. */
static void kf18_a_reset_without_a_step_is_seen(void **state)
{
    enum { NWORLD = 4, BACK = 2 };
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = NWORLD});
    size_t size = stet_sim_get_output_bytes(sim, 0, STET_OUTPUT_RGBA) / NWORLD;
    (void)room_render(sim);
    uint8_t *home = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
    room_play(sim, 30, 3, 20);
    uint8_t *moved = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
    OK(stet_sim_step(sim, 20)); /* not rendered */

    room_reset(sim, BACK);
    uint8_t *drawn = room_read(sim, STET_FRAME_DRAWN, 0, STET_OUTPUT_RGBA);
    uint8_t *after = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
    assert_memory_equal(drawn, moved, NWORLD * size);
    for (size_t w = 0; w < NWORLD; ++w) {
        assert_memory_not_equal(moved + w * size, home + w * size, size);
        assert_true((memcmp(after + w * size, home + w * size, size) == 0) == (w == BACK));
        assert_memory_not_equal(after + w * size, moved + w * size, size);
    }
    free(drawn);
    float now[12], fresh[12];
    int cube;
    OK(stet_stage_find(stet_sim_get_stage(sim), STET_PRIM_BODY, "cube", &cube));
    OK(stet_stage_read_world(stet_sim_get_stage(sim), cube, BACK, 1, now));
    room_reset(sim, -1);
    OK(stet_stage_read_world(stet_sim_get_stage(sim), cube, 0, 1, fresh));
    assert_memory_equal(now, fresh, sizeof now);
    free(home);
    free(moved);
    free(after);
    stet_sim_destroy(sim);
}

/* A read after a move starts a frame, of the worlds that moved only; a second read of it starts none. */
static void only_worlds_that_moved_are_rendered_on_a_read(void **state)
{
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = 6}),
             *twin = room_open("hand.xml", &(room_def){.nworld = 6});
    OK(stet_sim_step(sim, 50));
    OK(stet_sim_step(twin, 50));
    assert_int_equal(stet_sim_get_latest_frame(sim), -1);
    uint64_t before = room_frame(sim, STET_FRAME_LATEST);
    int64_t frame = stet_sim_get_latest_frame(sim);
    assert_int_equal(frame, 0); /* the first picture needs no call either */
    assert_true(room_frame(sim, frame) == before);
    OK(stet_sim_step(sim, 50));
    OK(stet_sim_step(twin, 50));
    assert_true(room_frame(sim, STET_FRAME_DRAWN) == before && room_frame(sim, frame) == before);
    assert_int_equal(stet_sim_get_latest_frame(sim), frame);
    assert_true(room_frame(sim, STET_FRAME_LATEST) == room_frame(twin, room_render(twin)));
    assert_int_equal(stet_sim_get_latest_frame(sim), frame + 1);
    stet_device_clear_counters(stet_sim_get_device(sim));
    room_reset(sim, 5);
    room_reset(twin, 5);
    uint64_t after = room_frame(sim, STET_FRAME_LATEST);
    assert_true(after == room_frame(twin, room_render(twin)));
    assert_int_equal(stet_sim_get_latest_frame(sim), frame + 2);
    assert_true(room_frame(sim, STET_FRAME_LATEST) == after);
    stet_counters c = room_counters(sim);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].misses, 1);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].hits, 0);
    int64_t pixel = 4 + 4 + 4; /* rgba, depth, seg_geom */
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].done_bytes, 24 * 16 * pixel);
    stet_sim_destroy(sim);
    stet_sim_destroy(twin);
}

/* Worlds that a render left out are drawn when the present picture is read, not when the frame is as it was drawn. */
static void a_read_draws_what_a_mask_left_out(void **state)
{
    const uint8_t some[3] = {0, 1, 0};
    stet_sim *sim = room_open(ROOM_BALL, &(room_def){0});
    int64_t frame = room_render(sim), masked;
    OK(stet_sim_step(sim, 40));
    OK(stet_sim_render_worlds(sim, some, &masked));
    assert_int_equal(masked, frame + 1);
    uint64_t part = room_frame(sim, masked);
    assert_true(room_frame(sim, STET_FRAME_DRAWN) == part);
    assert_int_equal(stet_sim_get_latest_frame(sim), masked);
    uint64_t all = room_frame(sim, STET_FRAME_LATEST);
    assert_int_equal(stet_sim_get_latest_frame(sim), masked + 1);
    assert_int_equal(room_render(sim), masked + 1); /* all worlds are drawn */
    assert_true(all != part);
    stet_sim_destroy(sim);
}

/* A write without a step moves the picture. */
static void kf19_a_write_without_a_step_is_seen(void **state)
{
    stet_sim *sim = room_open(ROOM_BALL, &(room_def){0});
    int64_t first = room_render(sim);
    uint64_t before = room_frame(sim, first);
    room_write(sim, "qpos", 1, 2, 1.2f);
    int64_t second = room_render(sim);
    assert_int_equal(second, first + 1);
    assert_true(room_frame(sim, second) != before);
    assert_true(room_frame(sim, first) == before);
    assert_int_equal(room_render(sim), second);
    stet_sim_destroy(sim);
}

static void a_write_of_poses_moves_the_picture_of_external_physics(void **state)
{
    stet_sim *sim = room_open(ROOM_BALL, &(room_def){.physics = STET_PHYSICS_EXTERNAL});
    assert_int_equal(stet_sim_get_physics(sim), STET_PHYSICS_EXTERNAL);
    uint64_t before = room_frame(sim, room_render(sim));
    OK(stet_sim_step(sim, 5));
    assert_true(fabsf(room_field(sim, "time", 2, 0) - 0.01f) < 1e-6f);
    assert_true(room_frame(sim, room_render(sim)) == before); /* time went on, nothing else */
    room_write(sim, "xpos", 1, 5, 1.3f);
    OK(stet_sim_step(sim, 1));
    uint64_t after = room_frame(sim, room_render(sim));
    assert_true(after != before);
    assert_true(room_field(sim, "xpos", 1, 5) == 1.3f);
    stet_sim_destroy(sim);
}

/* ---- frames in flight -------------------------------------------------------------------------------------------- */

/* Rendering twice without a read loses nothing; one more than is kept takes the oldest out first. */
static void kf20_frames_that_were_not_read_are_kept(void **state)
{
    enum { K = 3 };
    uint64_t hash[K + 2];
    stet_sim *sim = room_open("hand.xml", &(room_def){.flight = K, .outputs = BIT(RGB) | BIT(DEPTH)});
    stet_sim *twin = room_open("hand.xml", &(room_def){.flight = 1, .outputs = BIT(RGB) | BIT(DEPTH)});
    for (int f = 0; f < K; ++f) {
        room_play(sim, 30 + f, 1, 5);
        room_play(twin, 30 + f, 1, 5);
        hash[f] = room_frame(twin, STET_FRAME_LATEST);
    }
    for (int f = 0; f < K; ++f) assert_true(room_frame(sim, f) == hash[f]);
    assert_int_equal(room_counters(sim).reason[STET_REASON_DEFERRED_TILES_RING_FULL], 0);
    for (int f = K; f < 2 * K + 1; ++f) room_play(sim, 30 + f, 1, 5);
    assert_int_equal(room_counters(sim).reason[STET_REASON_DEFERRED_TILES_RING_FULL], 1);
    for (int f = K + 1; f < 2 * K + 1; ++f) (void)room_frame(sim, f);
    uint64_t lost;
    REFUSED(STET_ERROR_NOT_FOUND, "no longer kept", stet_sim_hash_frame(sim, 0, &lost));
    REFUSED(STET_ERROR_NOT_FOUND, "there is no frame 7", stet_sim_hash_frame(sim, 2 * K + 1, &lost));
    stet_sim_destroy(twin);
    stet_sim_destroy(sim);
}

/* A close between render and read gives all memory back. */
static void kf21_closing_with_frames_pending_gives_everything_back(void **state)
{
    stet_memory_stats before = stet_get_memory_stats();
    for (int pending = 0; pending <= 3; ++pending) {
        stet_sim *sim =
            room_open("arm_table.xml", &(room_def){.outputs = (1u << STET_OUTPUT_COUNT) - 1, .camera = "all"});
        room_play(sim, 0, pending, 1);
        stet_sim_destroy(sim);
        assert_int_equal(stet_get_memory_stats().blocks, before.blocks);
        assert_int_equal(stet_get_memory_stats().bytes, before.bytes);
    }
}

/* ---- one world's fault ------------------------------------------------------------------------------------------- */

static void kf44_nan_stays_in_its_world(void **state)
{
    stet_sim *sick = room_open("hand.xml", &(room_def){.nworld = 5, .threads = 2}),
             *well = room_open("hand.xml", &(room_def){.nworld = 5});
    room_play(sick, 30, 2, 3);
    room_play(well, 30, 2, 3);
    room_write(sick, "qpos", 2, 0, NAN);
    room_write(sick, "ctrl", 2, 1, NAN);
    for (int f = 0; f < 3; ++f) {
        (void)room_render(sick); /* first the NaN itself, then what the physics makes of it */
        (void)room_render(well);
        size_t size = stet_sim_get_output_bytes(well, 0, STET_OUTPUT_RGBA) / 5;
        char *a = room_read(sick, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA),
             *b = room_read(well, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
        for (size_t w = 0; w < 5; ++w)
            if (w != 2) assert_memory_equal(a + w * size, b + w * size, size);
        free(a);
        free(b);
        for (int64_t w = 0; w < 5; ++w)
            for (int64_t i = 0; w != 2 && i < 20; ++i)
                assert_true(room_field(sick, "qpos", w, i) == room_field(well, "qpos", w, i));
        OK(stet_sim_step(sick, 2));
        OK(stet_sim_step(well, 2));
    }
    for (int64_t w = 0; w < 5; ++w) assert_int_equal(stet_worlds_get_faults(stet_sim_get_worlds(sick))[w] != 0, w == 2);
    stet_sim_destroy(well);
    stet_sim_destroy(sick);
}

/* ---- what it costs ----------------------------------------------------------------------------------------------- */

static void nothing_moved_is_nothing_done(void **state)
{
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = 4});
    room_play(sim, 30, 2, 2);
    (void)room_frame(sim, STET_FRAME_LATEST);
    stet_device_clear_counters(stet_sim_get_device(sim));
    int64_t frame = room_render(sim);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(room_render(sim), frame);
        (void)room_frame(sim, STET_FRAME_LATEST);
    }
    stet_counters c = room_counters(sim);
    assert_int_equal(c.launches, 0);
    assert_int_equal(c.kinematics, 0);
    assert_int_equal(c.mechanism[STET_MECHANISM_FRAME].hits, 4);
    for (int m = 0; m < STET_MECHANISM_COUNT; ++m) assert_int_equal(c.mechanism[m].misses, 0);
    stet_sim_destroy(sim);
}

/* Poses and transforms are made once a frame, or, switched off, after each time step at least. */
static void pose_sync_off_follows_each_substep(void **state)
{
    enum { NWORLD = 4, FRAMES = 3, SUBSTEPS = 5 };
    int64_t kinematics[2], flushes[2];
    for (int off = 0; off < 2; ++off) {
        stet_sim *sim =
            room_open("hand.xml", &(room_def){.nworld = NWORLD, .disabled = off ? 1u << STET_MECHANISM_POSE_SYNC : 0});
        stet_device_clear_counters(stet_sim_get_device(sim));
        room_play(sim, 30, FRAMES, SUBSTEPS);
        stet_counters c = room_counters(sim);
        kinematics[off] = c.kinematics;
        flushes[off] = c.mechanism[STET_MECHANISM_HIERARCHY].misses;
        if (off)
            assert_int_equal(c.mechanism[STET_MECHANISM_POSE_SYNC].hits, 0);
        else
            assert_int_equal(c.reason[STET_REASON_POSE_SYNC_DISABLED], 0);
        stet_sim_destroy(sim);
    }
    assert_int_equal(kinematics[0], NWORLD * FRAMES);
    assert_int_equal(flushes[0], FRAMES);
    assert_true(kinematics[1] >= NWORLD * FRAMES * SUBSTEPS);
    /* One ahead of the first step: it takes the memory, so that no step fails after it was made. */
    assert_int_equal(flushes[1], FRAMES * SUBSTEPS + 1);
}

/* Without outputs, and with all of them: from the second frame on the loop takes no memory. */
static void the_steady_state_allocates_nothing(void **state)
{
    for (int threads = 1; threads <= 2; ++threads) {
        room_def d = {.nworld = 9, .threads = threads, .outputs = (1u << STET_OUTPUT_COUNT) - 1, .camera = "all"};
        stet_sim *sim = room_open("arm_table.xml", &d);
        size_t size = stet_sim_get_output_bytes(sim, 0, STET_OUTPUT_NORMAL);
        void *pixels = malloc(size);
        assert_non_null(pixels);
        int64_t before = 0;
        for (int f = 0; f < 12; ++f) {
            if (f == 4) before = stet_get_memory_stats().allocations;
            room_play(sim, f, 1, 2);
            if (f % 3 == 0) room_reset(sim, f % 9);
            OK(stet_sim_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_NORMAL, pixels, size));
            OK(stet_sim_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_NORMAL, pixels, size));
        }
        assert_int_equal(stet_get_memory_stats().allocations, before);
        free(pixels);
        stet_sim_destroy(sim);
    }
}

static bool any_motion(stet_sim *sim)
{
    size_t n = stet_sim_get_output_bytes(sim, 0, STET_OUTPUT_MOTION) / sizeof(float);
    float *motion = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_MOTION);
    bool any = false;
    for (size_t i = 0; i < n; ++i) any = any || motion[i] != 0;
    free(motion);
    return any;
}

/* A world that stands is drawn once more after it moved, since its motion is 0 then; and not again. */
static void motion_ends_with_the_move(void **state)
{
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = 3, .outputs = BIT(MOTION)});
    int64_t frame = room_render(sim);
    assert_false(any_motion(sim));
    assert_int_equal(room_render(sim), frame);
    OK(stet_sim_step(sim, 20));
    assert_int_equal(room_render(sim), frame + 1);
    assert_true(any_motion(sim));
    assert_int_equal(room_render(sim), frame + 2);
    assert_false(any_motion(sim));
    assert_int_equal(room_render(sim), frame + 2);
    room_reset(sim, 1);
    assert_true(any_motion(sim));
    assert_int_equal(stet_sim_get_latest_frame(sim), frame + 3);
    stet_sim_destroy(sim);
}

static void time_goes_to_its_row(void **state)
{
    stet_sim *sim = room_open("hand.xml", &(room_def){.outputs = BIT(RGB)});
    stet_sim_timing none = {0}, t = stet_sim_get_timing(sim);
    assert_memory_equal(&t, &none, sizeof t);
    OK(stet_sim_control_zero(sim));
    OK(stet_sim_step(sim, 2));
    t = stet_sim_get_timing(sim);
    assert_true(t.control > 0 && t.step > 0);
    assert_true(t.pose == 0 && t.hierarchy == 0 && t.render == 0 && t.extract == 0 && t.read == 0);
    (void)room_render(sim);
    t = stet_sim_get_timing(sim);
    assert_true(t.pose > 0 && t.hierarchy > 0 && t.render > 0 && t.extract == 0 && t.read == 0);
    free(room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGB));
    t = stet_sim_get_timing(sim);
    assert_true(t.extract > 0 && t.read > 0);
    stet_sim_clear_timing(sim);
    t = stet_sim_get_timing(sim);
    assert_memory_equal(&t, &none, sizeof t);
    stet_sim_destroy(sim);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* All outputs of all cameras are what tiles of the same stage give, and have their shapes. */
static void tensors_have_their_shapes(void **state)
{
    stet_sim *sim = room_open(
        "arm_table.xml",
        &(room_def){.nworld = 2, .outputs = (1u << STET_OUTPUT_COUNT) - 1, .camera = "all", .width = 9, .height = 5});
    (void)room_render(sim);
    assert_true(stet_sim_get_ncamera(sim) > 1);
    for (int c = 0; c < stet_sim_get_ncamera(sim); ++c)
        for (int o = 0; o < STET_OUTPUT_COUNT; ++o) {
            stet_array *tensor;
            OK(stet_sim_get_array(sim, STET_FRAME_LATEST, c, (stet_output)o, &tensor));
            const int64_t shape[] = {2, 5, 9, stet_output_channels((stet_output)o)};
            assert_int_equal(stet_array_get_ndim(tensor), 4);
            assert_memory_equal(stet_array_get_shape(tensor), shape, sizeof shape);
            assert_int_equal(stet_array_get_dtype(tensor), stet_output_dtype((stet_output)o));
            assert_int_equal(stet_array_get_bytes(tensor), stet_sim_get_output_bytes(sim, c, (stet_output)o));
        }
    /* rgb is rgba without its last channel. */
    uint8_t *rgb = room_read(sim, STET_FRAME_LATEST, 1, STET_OUTPUT_RGB),
            *rgba = room_read(sim, STET_FRAME_LATEST, 1, STET_OUTPUT_RGBA);
    for (size_t i = 0; i < (size_t)2 * 5 * 9; ++i) assert_memory_equal(rgb + 3 * i, rgba + 4 * i, 3);
    free(rgb);
    free(rgba);
    stet_sim_destroy(sim);
}

static void bad_reads_are_refused(void **state)
{
    stet_sim *sim = room_open(ROOM_BALL, &(room_def){.outputs = BIT(DEPTH)});
    stet_array *tensor;
    uint64_t hash;
    size_t size = stet_sim_get_output_bytes(sim, 0, STET_OUTPUT_DEPTH);
    float *pixels = malloc(size);
    assert_non_null(pixels);
    assert_int_equal(size, 3 * 24 * 16 * sizeof *pixels);
    REFUSED(STET_ERROR_NOT_FOUND, "rendered yet",
            stet_sim_read(sim, STET_FRAME_DRAWN, 0, STET_OUTPUT_DEPTH, pixels, size));
    room_reset(sim, 0);
    REFUSED(STET_ERROR_NOT_FOUND, "rendered yet", stet_sim_hash_frame(sim, STET_FRAME_DRAWN, &hash));
    (void)room_render(sim);
    REFUSED(STET_ERROR_NOT_FOUND, "no camera 1",
            stet_sim_read(sim, STET_FRAME_LATEST, 1, STET_OUTPUT_DEPTH, pixels, size));
    REFUSED(STET_ERROR_NOT_FOUND, "no camera -1",
            stet_sim_get_array(sim, STET_FRAME_LATEST, -1, STET_OUTPUT_DEPTH, &tensor));
    assert_null(tensor);
    REFUSED(STET_ERROR_NOT_FOUND, "output rgb was not asked for",
            stet_sim_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGB, pixels, size));
    REFUSED(STET_ERROR_NOT_FOUND, "no output 11",
            stet_sim_get_array(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_COUNT, &tensor));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "which has 4608",
            stet_sim_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_DEPTH, pixels, size - 1));
    REFUSED(STET_ERROR_NOT_FOUND, "no frame 1", stet_sim_read(sim, 1, 0, STET_OUTPUT_DEPTH, pixels, size));
    REFUSED(STET_ERROR_NOT_FOUND, "no frame -3", stet_sim_read(sim, -3, 0, STET_OUTPUT_DEPTH, pixels, size));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_read(NULL, 0, 0, STET_OUTPUT_DEPTH, pixels, size));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_read(sim, 0, 0, STET_OUTPUT_DEPTH, NULL, size));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_get_array(sim, 0, 0, STET_OUTPUT_DEPTH, NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_hash_frame(sim, 0, NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_sim_render(NULL, NULL));
    OK(stet_sim_render(sim, NULL));
    OK(stet_sim_read(sim, 0, 0, STET_OUTPUT_DEPTH, pixels, size));
    assert_int_equal(stet_sim_get_output_bytes(sim, 0, STET_OUTPUT_RGB), 0);
    free(pixels);
    stet_sim_destroy(sim);
}

static void a_sim_without_outputs_has_no_frames(void **state)
{
    stet_sim_def def = room_sim_def(&(room_def){0});
    stet_model *model = rig_model("cartpole.xml");
    stet_sim *sim;
    uint64_t hash;
    def.outputs = 0;
    OK(stet_sim_create(model, &def, &sim));
    stet_model_destroy(model);
    OK(stet_sim_step(sim, 3));
    REFUSED(STET_ERROR_STATE, "without outputs", stet_sim_render(sim, NULL));
    REFUSED(STET_ERROR_STATE, "without outputs", stet_sim_read(sim, 0, 0, STET_OUTPUT_RGB, &hash, sizeof hash));
    REFUSED(STET_ERROR_STATE, "without outputs", stet_sim_hash_frame(sim, 0, &hash));
    stet_sim_destroy(sim);
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

static struct {
    const sti_device_ops *real;
    sti_device_ops ops;
    int left; /* calls before one fails */
} failing;

static bool fails(void) { return failing.left-- == 0; }
static stet_result failed(void) { return sti_error(STET_ERROR_DEVICE, "the test lets this call fail"); }

static stet_result alloc_or_fail(stet_device *device, size_t size, const char *what, void **out)
{
    return fails() ? failed() : failing.real->alloc(device, size, what, out);
}

static stet_result upload_or_fail(stet_device *device, void *to, const void *from, size_t size)
{
    return fails() ? failed() : failing.real->upload(device, to, from, size);
}

static stet_result launch_or_fail(stet_device *device, const sti_code *code, const sti_slot *slots, int nslot,
                                  int64_t nblock, bool in_block)
{
    return fails() ? failed() : failing.real->launch(device, code, slots, nslot, nblock, in_block);
}

/*
 * The latest frame's hash after a reset, or of the `first` picture, during which call n fails (-1: none does), and
 * which is asked for again if it failed for that. True if there were so many calls.
 */
static bool hash_after_failure(int n, bool first, uint64_t *hash)
{
    static const uint32_t off =
        1u << STET_MECHANISM_FRAME | 1u << STET_MECHANISM_TILES | 1u << STET_MECHANISM_DEFERRED_TILES;
    stet_sim *sim =
        room_open("hand.xml", &(room_def){.outputs = BIT(MOTION) | BIT(BODY_POINT) | BIT(DEPTH), .disabled = off});
    stet_device *device = stet_sim_get_device(sim);
    if (!first) {
        (void)room_render(sim);
        room_play(sim, 30, 2, 20);
        room_reset(sim, 1);
    }
    int64_t frame = stet_sim_get_latest_frame(sim);
    failing.real = device->ops;
    failing.ops = *device->ops;
    failing.ops.alloc = alloc_or_fail;
    failing.ops.upload = upload_or_fail;
    failing.ops.launch = launch_or_fail;
    failing.left = n;
    device->ops = &failing.ops;
    stet_result drawn = first ? stet_sim_render(sim, NULL) : STET_OK, result = drawn;
    if (drawn == STET_OK) result = stet_sim_hash_frame(sim, STET_FRAME_LATEST, hash);
    device->ops = failing.real;
    if (drawn != STET_OK && stet_sim_get_latest_frame(sim) == frame) (void)room_render(sim); /* else it was drawn */
    if (result != STET_OK) *hash = room_frame(sim, STET_FRAME_LATEST);
    assert_true(result == STET_OK || result == STET_ERROR_DEVICE);
    assert_int_equal(stet_sim_get_latest_frame(sim), frame + 1);
    stet_sim_destroy(sim);
    return failing.left < 0;
}

static void check_failures(bool first)
{
    uint64_t whole, again;
    int n = 0;
    (void)hash_after_failure(-1, first, &whole);
    while (hash_after_failure(n, first, &again)) {
        assert_true(again == whole);
        ++n;
    }
    assert_true(n > 3 && again == whole);
}

/* Whatever call failed, the same read again gives what it should: motion since the frame before, not since it. */
static void a_read_that_failed_makes_no_second_frame(void **state) { check_failures(false); }

/* … and the first picture is what it would have been. */
static void a_first_picture_that_failed_is_drawn_again(void **state) { check_failures(true); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf18_a_reset_without_a_step_is_seen),
        cmocka_unit_test(only_worlds_that_moved_are_rendered_on_a_read),
        cmocka_unit_test(a_read_draws_what_a_mask_left_out),
        cmocka_unit_test(kf19_a_write_without_a_step_is_seen),
        cmocka_unit_test(a_write_of_poses_moves_the_picture_of_external_physics),
        cmocka_unit_test(kf20_frames_that_were_not_read_are_kept),
        cmocka_unit_test(kf21_closing_with_frames_pending_gives_everything_back),
        cmocka_unit_test(kf44_nan_stays_in_its_world),
        cmocka_unit_test(nothing_moved_is_nothing_done),
        cmocka_unit_test(pose_sync_off_follows_each_substep),
        cmocka_unit_test(the_steady_state_allocates_nothing),
        cmocka_unit_test(motion_ends_with_the_move),
        cmocka_unit_test(time_goes_to_its_row),
        cmocka_unit_test(tensors_have_their_shapes),
        cmocka_unit_test(bad_reads_are_refused),
        cmocka_unit_test(a_sim_without_outputs_has_no_frames),
        cmocka_unit_test(a_read_that_failed_makes_no_second_frame),
        cmocka_unit_test(a_first_picture_that_failed_is_drawn_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
