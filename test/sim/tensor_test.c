/*
 * A sim whose arrays other libraries hold as tensors: what they write is seen by physics and pictures, and what they
 * were given stays.
 */
#include "sim/room.h"

#include "device/dlpack.h"

typedef struct DLManagedTensorVersioned tensor;

static tensor *export_as(stet_array *a, bool writable, bool announced)
{
    stet_export_def def = stet_default_export_def();
    def.writable = writable;
    def.announced = announced;
    tensor *t;
    OK(stet_array_export(a, &def, &t));
    return t;
}

static stet_array *field(stet_sim *sim, const char *name)
{
    stet_array *a;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), name, &a));
    return a;
}

/* Where item i of world w lies in the blocks of a tensor, or in the rows of a device of one lane. */
static float *item(stet_sim *sim, const tensor *t, int64_t w, int64_t i)
{
    int64_t lanes = stet_device_get_lanes(stet_sim_get_device(sim)), n = t->dl_tensor.shape[1];
    return (float *)t->dl_tensor.data + (w / lanes * n + i) * lanes + w % lanes;
}

/* As another library writes and reads it, whose work is done when stet is called again. */
static void put_item(stet_sim *sim, const tensor *t, int64_t w, int64_t i, float x)
{
    stet_device *device = stet_sim_get_device(sim);
    OK(device->ops->upload(device, item(sim, t, w, i), &x, sizeof x));
}
static float get_item(stet_sim *sim, const tensor *t, int64_t w, int64_t i)
{
    stet_device *device = stet_sim_get_device(sim);
    float x;
    OK(device->ops->download(device, &x, item(sim, t, w, i), sizeof x));
    return x;
}

static void kf24_a_state_written_through_dlpack_is_the_state(void **state)
{
    static const char *const isas[] = {"portable", "w1", NULL}; /* NULL: the device that the run is about */
    for (int k = 0; k < 6; ++k) {
        bool announced = k & 1;
        sti_isa isa;
        if (isas[k / 2] && (!sti_isa_find(isas[k / 2], &isa) || !sti_isa_available(isa))) continue;
        room_def def = {.nworld = 6, .isa = isas[k / 2]};
        stet_sim *written = room_open(ROOM_BALL, &def), *told = room_open(ROOM_BALL, &def);
        stet_array *qpos = field(written, "qpos");
        tensor *t = export_as(qpos, true, announced);
        room_play(written, 0, 1, 3);
        room_play(told, 0, 1, 3);
        assert_true(room_state(written) == room_state(told));
        for (int64_t w = 0; w < 6; w += 2) { /* a ball lifted, in some worlds */
            put_item(written, t, w, 2, 1.5f);
            room_write(told, "qpos", w, 2, 1.5f);
        }
        if (announced) stet_array_mark_written(qpos);
        int64_t frame = room_render(written), want = room_render(told);
        assert_int_equal(frame, want);
        assert_true(room_frame(written, frame) == room_frame(told, want));
        assert_true(room_state(written) == room_state(told));
        OK(stet_sim_step(written, 2));
        OK(stet_sim_step(told, 2));
        assert_true(room_state(written) == room_state(told));
        /* Nothing was written since, so what was drawn stands, though it might have been; MuJoCo compares states. */
        frame = room_render(written);
        if (announced || room_physics() == STET_PHYSICS_MUJOCO) assert_int_equal(room_render(written), frame);
        put_item(written, t, 0, 2, 0.7f);
        t->deleter(t); /* with its last word not yet read */
        if (announced) stet_array_mark_written(qpos);
        room_write(told, "qpos", 0, 2, 0.7f);
        assert_true(room_render(written) > frame);
        assert_true(room_state(written) == room_state(told));
        assert_true(room_frame(written, -1) == room_frame(told, room_render(told)));
        stet_sim_destroy(written);
        stet_sim_destroy(told);
    }
}

static void what_stet_works_out_is_exported_for_reading_or_announced(void **state)
{
    room_def def = {.nworld = 3};
    stet_sim *sim = room_open(ROOM_BALL, &def);
    stet_array *xpos = field(sim, "xpos");
    stet_export_def out = stet_default_export_def();
    tensor *t;
    out.writable = true;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "array xpos: stet works it out", stet_array_export(xpos, &out, &t));
    /* For reading: current after an update. */
    t = export_as(xpos, false, false);
    float before = get_item(sim, t, 1, 5);
    assert_true(before == room_field(sim, "xpos", 1, 5));
    OK(stet_sim_step(sim, 20));
    assert_true(get_item(sim, t, 1, 5) == before);
    OK(stet_array_update(xpos));
    assert_true(get_item(sim, t, 1, 5) < before);
    t->deleter(t);
    /* Announced: the caller's poses stand, and are drawn. */
    t = export_as(xpos, true, true);
    int64_t frame = room_render(sim);
    assert_int_equal(room_render(sim), frame);
    put_item(sim, t, 1, 5, 1.2f);
    stet_array_mark_written(xpos);
    assert_int_equal(room_render(sim), frame + 1);
    assert_true(room_field(sim, "xpos", 1, 5) == 1.2f);
    t->deleter(t);
    stet_sim_destroy(sim);
}

/* Another device over the same memory, to look at it when the sim is gone. */
static stet_device *open_reader(const room_def *d)
{
    stet_sim_def def = room_sim_def(d);
    stet_device *device;
    OK(stet_device_create(&def.device, &device));
    return device;
}

static void peek(stet_device *device, void *to, const void *from, size_t size)
{
    OK(device->ops->download(device, to, from, size));
}

static void pictures_outlive_the_sim(void **state)
{
    int64_t blocks = stet_get_memory_stats().blocks;
    room_def def = {.nworld = 4, .threads = 2};
    stet_device *reader = open_reader(&def);
    stet_sim *sim = room_open("arm_table.xml", &def);
    static const stet_output outputs[] = {STET_OUTPUT_RGBA, STET_OUTPUT_DEPTH, STET_OUTPUT_SEG_GEOM};
    tensor *t[3];
    void *pixels[3];
    size_t size[3];
    room_play(sim, 0, 1, 1);
    for (int k = 0; k < 3; ++k) {
        stet_array *a;
        stet_export_def out = stet_default_export_def();
        OK(stet_sim_get_array(sim, STET_FRAME_LATEST, 0, outputs[k], &a));
        pixels[k] = room_read(sim, STET_FRAME_LATEST, 0, outputs[k]);
        size[k] = stet_sim_get_output_bytes(sim, 0, outputs[k]);
        out.writable = out.announced = true;
        if (a->borrowed) REFUSED(STET_ERROR_INVALID_ARGUMENT, "a view of pictures", stet_array_export(a, &out, &t[k]));
        t[k] = export_as(a, false, false);
        assert_int_equal(t[k]->dl_tensor.ndim, 4);
        assert_int_equal(t[k]->dl_tensor.shape[0], 4);
        assert_int_equal(t[k]->dl_tensor.shape[1], 16);
        assert_int_equal(t[k]->dl_tensor.shape[2], 24);
    }
    stet_sim_destroy(sim);
    for (int k = 0; k < 3; ++k) {
        uint8_t *seen = malloc(size[k]);
        assert_non_null(seen);
        peek(reader, seen, t[k]->dl_tensor.data, size[k]);
        assert_memory_equal(seen, pixels[k], size[k]);
        t[k]->deleter(t[k]);
        free(pixels[k]);
        free(seen);
    }
    stet_device_destroy(reader);
    assert_int_equal(stet_get_memory_stats().blocks, blocks);
}

/* ---- tensors that pictures are drawn into ------------------------------------------------------------------------ */

enum { W = 3, HIGH = 10, WIDE = 14, CHANNELS = 4, BYTES = W * HIGH * WIDE * CHANNELS };

enum { ROOM = BYTES + 8, FIRST = 3 }; /* aligned to nothing */

typedef struct canvas {
    tensor tensor;
    int64_t shape[4];
    int ended;
    stet_device *device;
    unsigned char pixels[ROOM]; /* what was there when last it was looked at */
} canvas;

static void end_canvas(tensor *t) { ((canvas *)t->manager_ctx)->ended++; }

static stet_array *import_canvas(stet_device *device, canvas *c, uint64_t flags, bool announced)
{
    stet_import_def def = stet_default_import_def();
    stet_array *a;
    memset(c, 0, sizeof *c);
    c->device = device;
    memcpy(c->shape, (int64_t[]){W, HIGH, WIDE, CHANNELS}, sizeof c->shape);
    c->tensor = (tensor){.version = {1, 1}, .manager_ctx = c, .deleter = end_canvas, .flags = flags};
    c->tensor.dl_tensor = (DLTensor){.device = sti_dlpack_place(device),
                                     .ndim = 4,
                                     .dtype = {kDLUInt, 8, 1},
                                     .shape = c->shape,
                                     .byte_offset = FIRST};
    OK(device->ops->alloc(device, ROOM, "a canvas", &c->tensor.dl_tensor.data));
    def.announced = announced;
    OK(stet_array_import(device, &c->tensor, &def, &a));
    return a;
}

static void look_at_canvas(canvas *c) { peek(c->device, c->pixels, c->tensor.dl_tensor.data, ROOM); }

static void scribble_on_canvas(canvas *c, int at, unsigned char x)
{
    OK(c->device->ops->upload(c->device, (unsigned char *)c->tensor.dl_tensor.data + at, &x, 1));
}

static void drop_canvas(canvas *c, stet_array *bound)
{
    stet_array_destroy(bound);
    assert_int_equal(c->ended, 1);
    c->device->ops->free(c->device, c->tensor.dl_tensor.data);
}

static stet_result open_tiles(stet_sim *sim, stet_array *bound, stet_tiles **out)
{
    stet_camera camera = *stet_sim_get_camera(sim, 0);
    stet_tile_request request = {0, STET_OUTPUT_RGBA, STET_DTYPE_U8, CHANNELS, bound, false};
    stet_tiles_def def = stet_default_tiles_def();
    camera.width = WIDE;
    camera.height = HIGH;
    def.cameras = &camera;
    def.ncamera = 1;
    def.requests = &request;
    def.nrequest = 1;
    def.frames_in_flight = 2;
    return stet_tiles_create(stet_sim_get_stage(sim), &def, out);
}

/* An imported tensor is drawn into where it lies; if its owner may write it at any time, each read draws it anew. */
static void pictures_are_drawn_into_an_imported_tensor(void **state)
{
    for (int announced = 0; announced < 2; ++announced) {
        room_def def = {.nworld = W};
        stet_sim *sim = room_open("arm_table.xml", &def);
        stet_tiles *tiles;
        stet_array *a;
        canvas c, copy;
        stet_array *bound = import_canvas(stet_sim_get_device(sim), &c, 0, announced);
        OK(open_tiles(sim, bound, &tiles));
        OK(stet_tiles_render(tiles, NULL, NULL));
        OK(stet_tiles_get_array(tiles, -1, 0, &a));
        assert_ptr_equal(a, bound);
        look_at_canvas(&c);
        copy = c;
        int64_t lit = 0;
        for (int k = 0; k < BYTES; ++k) lit += c.pixels[FIRST + k] != 0;
        assert_true(lit > BYTES / 4);
        for (int k = 0; k < FIRST; ++k) assert_int_equal(c.pixels[k], 0);
        for (int k = FIRST + BYTES; k < ROOM; ++k) assert_int_equal(c.pixels[k], 0);
        stet_counters before = room_counters(sim), after;
        scribble_on_canvas(&c, 100, c.pixels[100] ^ 0xff);
        if (announced) stet_array_mark_written(bound);
        OK(stet_tiles_get_array(tiles, -1, 0, &a));
        look_at_canvas(&c);
        assert_memory_equal(c.pixels, copy.pixels, sizeof c.pixels);
        after = room_counters(sim);
        assert_int_equal(after.reason[STET_REASON_DEFERRED_TILES_EXPORTED] -
                             before.reason[STET_REASON_DEFERRED_TILES_EXPORTED],
                         !announced);
        OK(stet_tiles_get_array(tiles, -1, 0, &a));
        stet_counters last = room_counters(sim);
        assert_int_equal(last.mechanism[STET_MECHANISM_DEFERRED_TILES].hits -
                             after.mechanism[STET_MECHANISM_DEFERRED_TILES].hits,
                         announced);
        stet_tiles_destroy(tiles);
        drop_canvas(&c, bound);
        stet_sim_destroy(sim);
    }
}

static void pictures_are_not_drawn_into_what_is_for_reading(void **state)
{
    room_def def = {.nworld = W};
    stet_sim *sim = room_open("arm_table.xml", &def);
    stet_tiles *tiles;
    canvas c;
    stet_array *bound = import_canvas(stet_sim_get_device(sim), &c, DLPACK_FLAG_BITMASK_READ_ONLY, true);
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "request 0: array tensor was imported for reading",
            open_tiles(sim, bound, &tiles));
    drop_canvas(&c, bound);
    stet_sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf24_a_state_written_through_dlpack_is_the_state),
        cmocka_unit_test(what_stet_works_out_is_exported_for_reading_or_announced),
        cmocka_unit_test(pictures_outlive_the_sim),
        cmocka_unit_test(pictures_are_drawn_into_an_imported_tensor),
        cmocka_unit_test(pictures_are_not_drawn_into_what_is_for_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
