/*
 * Frames of another renderer: any layout and element type gives the bytes that plain loops over its pictures give; what
 * is copied, and when; tensors of other libraries and their streams; what is refused.
 */
#include "device/arrays/foreigner.h"

#include "base/failing.h"
#include "tiles/another.h"

#define FOR_RUNNING_DEVICES_AND_DOUBLE(rig)                                                                            \
    for (rig_device rig = {.at = -1, .running_only = true, .with_double = true}; rig_next(&rig);)

/* ---- what comes out ---------------------------------------------------------------------------------------------- */

/* Random pictures and requests; frames of some worlds, some read; mechanisms on and off, with and without audit. */
static void tell_story(stet_device *device, uint64_t *dice)
{
    static const uint32_t switches[] = {1u << STET_MECHANISM_TILES, 1u << STET_MECHANISM_DEFERRED_TILES,
                                        1u << STET_MECHANISM_READBACK};
    renderer r;
    uint8_t mask[WORLDS];
    open_renderer(&r, device, 1 + (int)dice_below(dice, MOST_CAMERAS));
    for (int k = 0; k < MOST_PICTURES; ++k) add_random_picture(&r, dice);
    for (int k = 0; k < MOST_REQUESTS; ++k) add_random_request(&r, dice);
    open_foreign_tiles(&r, 1 + (int)dice_below(dice, 2));
    for (int64_t f = 0; f < 6; ++f) {
        uint32_t off = 0;
        for (int k = 0; k < 3; ++k) off |= dice_below(dice, 4) ? 0 : switches[k];
        set_mechanisms(&r, off, dice_below(dice, 2));
        for (int w = 0; w < WORLDS; ++w) mask[w] = f == 0 || dice_below(dice, 2);
        mask[dice_below(dice, WORLDS)] = 1;
        draw_worlds(&r, mask, dice);
        assert_int_equal(accept(&r, mask), f);
        if (dice_below(dice, 4) == 0) continue;
        for (int k = 0; k < r.nrequest; ++k) check_tensor(&r, dice_below(dice, 2) ? f : -1, k);
    }
    set_mechanisms(&r, 0, false);
    close_renderer(&r);
}

static void any_layout_and_type_gives_the_same_pixels(void **state)
{
    uint64_t seed = dice_seed("any_layout_and_type_gives_the_same_pixels");
    FOR_RUNNING_DEVICES_AND_DOUBLE(rig)
    {
        uint64_t dice = seed;
        for (int k = 0; k < 12; ++k) tell_story(rig.device, &dice);
    }
}

static void a_tile_of_many_blocks_is_whole(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        renderer r;
        uint64_t dice = 5;
        open_renderer(&r, rig.device, 1);
        r.camera[0] = (stet_camera){.width = 131, .height = 67};
        add_dense_picture(&r, STET_DTYPE_U8, 4, false, 0);
        add_dense_picture(&r, STET_DTYPE_REAL, 2, true, 3);
        r.request[0] = (stet_foreign_request){.dtype = STET_DTYPE_F16, .channels = 3, .planar = true};
        r.request[1] = (stet_foreign_request){.dtype = STET_DTYPE_U8, .channels = 3};
        r.request[2] = (stet_foreign_request){.picture = 1, .dtype = STET_DTYPE_F16};
        r.nrequest = 3;
        open_foreign_tiles(&r, 1);
        draw_worlds(&r, NULL, &dice);
        accept(&r, NULL);
        for (int k = 0; k < 3; ++k) check_tensor(&r, 0, k);
        close_renderer(&r);
    }
}

/* ---- what is done ------------------------------------------------------------------------------------------------ */

/* Requests 0 and 1 have their layout already (NHWC, NCHW); 2 and 3 have not. */
static void open_mixed(renderer *r, stet_device *device, uint64_t *dice)
{
    open_renderer(r, device, 1);
    add_dense_picture(r, STET_DTYPE_U8, 3, false, 17);
    add_dense_picture(r, STET_DTYPE_REAL, 2, true, 0);
    r->request[0] = (stet_foreign_request){.picture = 0, .dtype = STET_DTYPE_U8};
    r->request[1] = (stet_foreign_request){.picture = 1, .dtype = STET_DTYPE_REAL, .planar = true};
    r->request[2] = (stet_foreign_request){.picture = 0, .dtype = STET_DTYPE_U8, .planar = true};
    r->request[3] = (stet_foreign_request){.picture = 1, .dtype = STET_DTYPE_REAL, .channels = 1};
    r->nrequest = 4;
    open_foreign_tiles(r, 2);
    draw_worlds(r, NULL, dice);
}

static void one_launch_at_the_first_read_and_none_where_the_layout_fits(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        renderer r;
        stet_array *a;
        uint64_t dice = 1;
        open_mixed(&r, rig.device, &dice);
        const size_t real = rig.device->real_size;
        const int64_t bytes = WORLDS * 35 * (3 + (int64_t)real);
        counted(&r);
        assert_int_equal(accept(&r, NULL), 0);
        assert_int_equal(counted(&r).launches, 0);
        OK(stet_tiles_get_array(r.tiles, 0, 0, &a));
        assert_ptr_equal(a->data, (char *)r.picture[0].array->data + 17);
        stet_counters c = counted(&r);
        assert_int_equal(c.launches, 1);
        assert_int_equal(c.mechanism[STET_MECHANISM_TILES].hits, 2);
        assert_int_equal(c.reason[STET_REASON_TILES_NOT_DIRECT], 2);
        assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_launches, 1);
        assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_bytes, bytes);
        assert_int_equal(c.reason[STET_REASON_DEFERRED_TILES_FIRST_READ], 1);
        OK(stet_tiles_get_array(r.tiles, -1, 1, &a));
        assert_ptr_equal(a->data, r.picture[1].array->data);
        for (int k = 0; k < r.nrequest; ++k) check_tensor(&r, 0, k);
        assert_int_equal(counted(&r).launches, 0);
        close_renderer(&r);
    }
}

static void worlds_whose_pixels_a_tensor_has_are_not_copied_again(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        renderer r;
        uint64_t dice = 2;
        const uint8_t two[WORLDS] = {0, 1, 0, 1, 0}, none[WORLDS] = {0};
        open_renderer(&r, rig.device, 1);
        add_dense_picture(&r, STET_DTYPE_U8, 3, false, 0);
        r.request[0] = (stet_foreign_request){.dtype = STET_DTYPE_U8, .channels = 2};
        OK(STI_ARRAY(rig.device, "ours", STET_DTYPE_U8, false, &r.request[0].bound, WORLDS, 5, 7, 2));
        r.nrequest = 1;
        open_foreign_tiles(&r, 1);
        draw_worlds(&r, NULL, &dice);
        accept(&r, NULL);
        check_tensor(&r, 0, 0);
        draw_worlds(&r, two, &dice);
        counted(&r);
        assert_int_equal(accept(&r, two), 1);
        check_tensor(&r, 1, 0);
        stet_counters c = counted(&r);
        assert_int_equal(c.launches, 1);
        assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_bytes, 2 * 5 * 7 * 2);
        assert_int_equal(accept(&r, none), 1); /* no world is new: no frame is */
        check_tensor(&r, -1, 0);
        assert_int_equal(counted(&r).launches, 0);
        for (int w = 0; w < WORLDS; ++w) assert_false(stet_tiles_is_stale(r.tiles, w));
        close_renderer(&r);
    }
}

static void worlds_that_were_never_drawn_are_zero(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        renderer r;
        stet_array *a;
        uint64_t dice = 3;
        const uint8_t one[WORLDS] = {[2] = 1};
        unsigned char got[WORLDS][5][7];
        open_renderer(&r, rig.device, 1);
        add_dense_picture(&r, STET_DTYPE_U8, 3, false, 0);
        r.request[0] = (stet_foreign_request){.dtype = STET_DTYPE_U8, .channels = 1};
        r.nrequest = 1;
        open_foreign_tiles(&r, 1);
        assert_true(stet_tiles_is_stale(r.tiles, 2));
        draw_worlds(&r, NULL, &dice);
        accept(&r, one);
        OK(stet_tiles_get_array(r.tiles, 0, 0, &a));
        OK(stet_array_read(a, got, sizeof got));
        for (int w = 0; w < WORLDS; ++w)
            for (int i = 0; i < 35; ++i)
                assert_int_equal(got[w][i / 7][i % 7], w == 2 ? r.picture[0].pixels[(w * 35 + i) * 3] : 0);
        assert_false(stet_tiles_is_stale(r.tiles, 2));
        assert_true(stet_tiles_is_stale(r.tiles, 3));
        close_renderer(&r);
    }
}

/* A frame that was read stays as it was read; one that was not is gone, and cost nothing. */
static void older_frames_are_what_was_read_of_them(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        renderer r;
        stet_array *a;
        uint64_t dice = 4;
        open_mixed(&r, rig.device, &dice);
        accept(&r, NULL);
        OK(stet_tiles_get_array(r.tiles, 0, 2, &a));
        size_t size = stet_array_get_bytes(a);
        unsigned char *before = malloc(size), *after = malloc(size);
        OK(stet_array_read(a, before, size));
        draw_worlds(&r, NULL, &dice);
        accept(&r, NULL);
        counted(&r);
        for (int off = 0; off < 2; ++off) { /* no switch makes it read the pictures again */
            set_mechanisms(&r, (uint32_t)off << STET_MECHANISM_TILES, off);
            OK(stet_tiles_get_array(r.tiles, 0, 2, &a));
            OK(stet_array_read(a, after, size));
            assert_memory_equal(before, after, size);
        }
        set_mechanisms(&r, 0, false);
        FAILS(stet_tiles_get_array(r.tiles, 0, 0, &a), STET_ERROR_NOT_FOUND, "holds frame 1, not 0");
        assert_int_equal(counted(&r).launches, 0);
        draw_worlds(&r, NULL, &dice);
        accept(&r, NULL);
        stet_counters c = counted(&r);
        assert_int_equal(c.reason[STET_REASON_DEFERRED_TILES_DROPPED], 1);
        assert_int_equal(c.mechanism[STET_MECHANISM_DEFERRED_TILES].misses, 1);
        FAILS(stet_tiles_get_array(r.tiles, 1, 2, &a), STET_ERROR_NOT_FOUND,
              "frame 1 was not read before frame 2 was accepted");
        assert_int_equal(counted(&r).launches, 0);
        for (int k = 0; k < r.nrequest; ++k) check_tensor(&r, 2, k);
        free(before);
        free(after);
        close_renderer(&r);
    }
}

/* ---- tensors of other libraries ---------------------------------------------------------------------------------- */

/* What their stream has got is extracted, though it is not done when the frame is accepted. */
static void a_frame_is_ready_in_the_stream_of_its_renderer(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    for (int round = 0; round < 8; ++round) {
        stet_device *other = foreigner_open(&rig);
        foreign_tensor *f = foreign_make(other, WORLDS * 35);
        stet_import_def import = stet_default_import_def();
        renderer r;
        stet_array *a;
        int64_t whole[WORLDS][5][7];
        void *theirs = stet_device_get_stream(other);
        import.announced = round % 2;
        open_renderer(&r, rig.device, 1);
        r.npicture = 1;
        OK(stet_array_import(rig.device, &f->tensor, &import, &r.picture[0].array));
        r.pictures[0] = (stet_foreign_picture){r.picture[0].array, 1, r.picture[0].first, 7, 1, 1};
        for (int w = 0; w < WORLDS; ++w) r.picture[0].first[w] = w * 35;
        r.request[0] = (stet_foreign_request){.dtype = STET_DTYPE_I64};
        r.nrequest = 1;
        open_foreign_tiles(&r, 1);
        for (int frame = 0; frame < 3; ++frame) {
            for (int k = 0; k < WORLDS * 35; ++k) foreigner_set(other, &f->tensor, k, k - 1000 * frame - round);
            OK(stet_tiles_accept(r.tiles, NULL, STET_READY_IN_STREAM, theirs, NULL));
            OK(stet_tiles_get_array(r.tiles, frame, 0, &a));
            OK(stet_array_read(a, whole, sizeof whole));
            for (int k = 0; k < WORLDS * 35; ++k)
                assert_int_equal(whole[k / 35][k / 7 % 5][k % 7], k - 1000 * frame - round);
            OK(stet_device_signal_stream(rig.device, theirs));
        }
        close_renderer(&r);
        foreign_drop(f);
        stet_device_destroy(other);
    }
}

/* ---- what is refused --------------------------------------------------------------------------------------------- */

#define REFUSES(part)                                                                                                  \
    do {                                                                                                               \
        stet_tiles *none;                                                                                              \
        assert_true(stet_tiles_create_foreign(r.device, &def, &none) != STET_OK);                                      \
        assert_null(none);                                                                                             \
        if (!strstr(stet_get_last_error(), (part)))                                                                    \
            fail_msg("the sentence '%s' does not say '%s'", stet_get_last_error(), (part));                            \
        def = def_of(&r, 1);                                                                                           \
        memcpy(r.pictures, pictures, sizeof pictures);                                                                 \
        memcpy(r.request, requests, sizeof requests);                                                                  \
    } while (0)

static void bad_defs_are_refused(void **state)
{
    renderer r;
    uint64_t dice = 6;
    stet_array *other;
    stet_device *device = open_device(STI_ISA_portable, 1);
    open_mixed(&r, device, &dice);
    stet_foreign_picture pictures[MOST_PICTURES];
    stet_foreign_request requests[MOST_REQUESTS];
    memcpy(pictures, r.pictures, sizeof pictures);
    memcpy(requests, r.request, sizeof requests);
    stet_foreign_def def = def_of(&r, 1);
    OK(STI_ARRAY(device, "of worlds", STET_DTYPE_INT, true, &other, WORLDS, 3));

    def.cookie = 0;
    REFUSES("stet_default_foreign_def");
    def.ncamera = 0;
    REFUSES("no camera");
    def.nworld = 0;
    REFUSES("0 worlds");
    def.npicture = 0;
    REFUSES("at least one picture");
    def.nrequest = 0;
    REFUSES("one request");
    def.frames_in_flight = 17;
    REFUSES("17 frames in flight");
    r.pictures[1].array = NULL;
    REFUSES("picture 1 has no array");
    r.pictures[0].first = NULL;
    REFUSES("picture 0 has no table");
    r.pictures[0].array = other;
    REFUSES("array of worlds");
    r.pictures[0].channels = 65;
    REFUSES("65 channels; 1 to 64");
    r.pictures[0].row = INT64_MAX;
    REFUSES("2^40");
    r.pictures[1].channels = 3;
    REFUSES("picture 1: the tile of world 4 and camera 0, from element 280 on");
    r.pictures[0].row = -21;
    REFUSES("from element 17 on, is not within array theirs");
    r.request[3].picture = 2;
    REFUSES("request 3 is for picture 2, but there are 2");
    r.request[3].camera = 1;
    REFUSES("request 3 is for camera 1, but there are 1");
    r.request[2].channels = 4;
    REFUSES("picture 0 has 3; ask for 1 to 3");
    r.request[2].dtype = STET_DTYPE_I64;
    REFUSES("request 2: u8 as i64");
    r.request[3].dtype = STET_DTYPE_U8;
    REFUSES("request 3: real as u8");
    r.request[0].bound = r.picture[0].array;
    REFUSES("bound to the array of picture 0");
    r.request[0].bound = r.request[1].bound = r.picture[1].array;
    REFUSES("bound to the array of picture 1");
    stet_array_destroy(other);
    OK(STI_ARRAY(device, "planes", STET_DTYPE_U8, false, &other, WORLDS, 3, 5, 7));
    r.request[0].bound = other;
    REFUSES("must have the shape 5 x 5 x 7 x 3");

    stet_tiles *tiles;
    FAILS(stet_tiles_create_foreign(NULL, &def, &tiles), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_tiles_render(r.tiles, NULL, NULL), STET_ERROR_STATE, "stet_tiles_accept");
    FAILS(stet_tiles_accept(NULL, NULL, STET_READY_NOW, NULL, NULL), STET_ERROR_INVALID_ARGUMENT, "NULL");
    FAILS(stet_tiles_accept(r.tiles, NULL, (stet_ready)9, NULL, NULL), STET_ERROR_INVALID_ARGUMENT, "way 9");
    stet_array_destroy(other);
    close_renderer(&r);
    stet_device_destroy(device);
}

static void tiles_of_a_renderer_accept_nothing(void **state)
{
    const stet_camera camera = {.width = 4, .height = 4};
    const stet_tile_request request = {.output = STET_OUTPUT_RGBA, .dtype = STET_DTYPE_U8};
    const sti_tile_size size = {4, 4};
    stet_device *device = open_device(STI_ISA_portable, 1);
    stet_tiles_def def = stet_default_tiles_def();
    stet_tiles *tiles;
    painter p;
    painter_init(&p, device, 2, 1, &size);
    def.cameras = &camera;
    def.ncamera = 1;
    def.requests = &request;
    def.nrequest = 1;
    OK(sti_tiles_create_with(&p.base, &def, &tiles));
    FAILS(stet_tiles_accept(tiles, NULL, STET_READY_NOW, NULL, NULL), STET_ERROR_STATE, "stet_tiles_render");
    stet_tiles_destroy(tiles);
    painter_free(&p);
    stet_device_destroy(device);
}

/* ---- allocations that fail --------------------------------------------------------------------------------------- */

static stet_result make_and_read(stet_device *device, stet_array *array)
{
    static const int64_t first[2] = {0, 48};
    const stet_camera camera = {.width = 4, .height = 4};
    const stet_foreign_picture picture = {array, 3, first, 12, 3, 1};
    const stet_foreign_request request[2] = {{.dtype = STET_DTYPE_U8}, {.dtype = STET_DTYPE_REAL, .planar = true}};
    stet_foreign_def def = stet_default_foreign_def();
    stet_tiles *tiles;
    stet_array *read;
    def.nworld = 2;
    def.cameras = &camera;
    def.pictures = &picture;
    def.requests = request;
    def.ncamera = def.npicture = 1;
    def.nrequest = 2;
    stet_result result = stet_tiles_create_foreign(device, &def, &tiles);
    if (result != STET_OK) return result;
    result = stet_tiles_accept(tiles, NULL, STET_READY_NOW, NULL, NULL);
    if (result == STET_OK) result = stet_tiles_get_array(tiles, 0, 1, &read);
    stet_tiles_destroy(tiles);
    return result;
}

static stet_result scenario(void)
{
    stet_device_def def = stet_default_device_def();
    stet_device *device;
    stet_array *array = NULL;
    def.type = STET_DEVICE_CPU;
    stet_result result = stet_device_create(&def, &device);
    if (result != STET_OK) return result;
    result = STI_ARRAY(device, "theirs", STET_DTYPE_U8, false, &array, 96);
    if (result == STET_OK) result = make_and_read(device, array);
    stet_array_destroy(array);
    stet_device_destroy(device);
    return result;
}

static void each_allocation_may_fail(void **state) { assert_true(fail_each_allocation(scenario, false) > 20); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_layout_and_type_gives_the_same_pixels),
        cmocka_unit_test(a_tile_of_many_blocks_is_whole),
        cmocka_unit_test(one_launch_at_the_first_read_and_none_where_the_layout_fits),
        cmocka_unit_test(worlds_whose_pixels_a_tensor_has_are_not_copied_again),
        cmocka_unit_test(worlds_that_were_never_drawn_are_zero),
        cmocka_unit_test(older_frames_are_what_was_read_of_them),
        cmocka_unit_test(a_frame_is_ready_in_the_stream_of_its_renderer),
        cmocka_unit_test(bad_defs_are_refused),
        cmocka_unit_test(tiles_of_a_renderer_accept_nothing),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
