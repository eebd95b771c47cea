/*
 * Many tiles, and far ones: 20,000 tiles of 4 x 4 pixels, rendered and accepted; tiles that begin beyond 2^31 elements
 * of a picture. `test_tiles_far whole` renders a frame of more than 2^31 bytes.
 */
#include "sim/room.h"

enum { EDGE = 4, TILES = 20000, CHANNELS = 4, FEW = 3 };

/* A wall on a rail that a camera looks along: its depth is 5 - qpos. */
static const char wall[] = "<mujoco><option gravity='0 0 0'/><worldbody><camera name='eye' pos='0 0 5'/><body><joint "
                           "type='slide' axis='0 0 1'/>"
                           "<geom type='box' size='9 9 .5' pos='0 0 -.5' mass='1'/></body></worldbody></mujoco>";

static double place(int64_t world) { return (double)(world * 7919 % TILES) / TILES * 3; }

static stet_sim *open_walls(int64_t nworld, int edge, uint32_t outputs)
{
    room_def def = {.nworld = nworld, .threads = 2, .physics = STET_PHYSICS_NATIVE, .outputs = outputs, .flight = 1};
    def.width = def.height = edge;
    stet_sim *sim = room_open(wall, &def);
    float *qpos = malloc((size_t)nworld * sizeof *qpos);
    stet_array *array;
    assert_non_null(qpos);
    for (int64_t w = 0; w < nworld; ++w) qpos[w] = (float)place(w);
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), "qpos", &array));
    OK(stet_array_write(array, qpos, (size_t)nworld * sizeof *qpos));
    free(qpos);
    return sim;
}

static void check_depth(const float *depth, int64_t world, int64_t npixel)
{
    for (int64_t i = 0; i < npixel; ++i) {
        double d = (double)depth[world * npixel + i];
        if (!(fabs(d - (5 - place(world))) < 1e-4))
            fail_msg("world %lld, pixel %lld: %g", (long long)world, (long long)i, d);
    }
}

static void twenty_thousand_tiles_are_rendered(void **state)
{
    stet_sim *sim = open_walls(TILES, EDGE, BIT(DEPTH) | BIT(SEG_GEOM));
    float *depth = room_read(sim, room_render(sim), 0, STET_OUTPUT_DEPTH);
    int32_t *geom = room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_SEG_GEOM);
    for (int64_t w = 0; w < TILES; ++w) check_depth(depth, w, EDGE * EDGE);
    for (int64_t i = 0; i < (int64_t)TILES * EDGE * EDGE; ++i) assert_int_equal(geom[i], 0);
    free(depth);
    free(geom);
    stet_sim_destroy(sim);
}

/* ---- a picture of more than 2^31 elements, little of which is touched -------------------------------------------- */

static uint8_t shade_of(int64_t tile, int64_t i) { return (uint8_t)(tile * 31 + (tile >> 8) * 7 + i * 5); }

static void check_far(stet_tiles *tiles, int64_t frame)
{
    stet_array *bytes, *reals;
    const void *content;
    OK(stet_tiles_get_array(tiles, frame, 0, &bytes));
    OK(stet_array_get_host(bytes, &content));
    const uint8_t *b = content;
    OK(stet_tiles_get_array(tiles, frame, 1, &reals));
    OK(stet_array_get_host(reals, &content));
    const float *r = content;
    for (int64_t t = 0; t < TILES; ++t)
        for (int64_t i = 0; i < EDGE * EDGE; ++i)
            for (int64_t c = 0; c < FEW; ++c) {
                uint8_t want = shade_of(t, i * CHANNELS + c);
                if (b[(t * EDGE * EDGE + i) * FEW + c] != want)
                    fail_msg("tile %lld, pixel %lld", (long long)t, (long long)i);
                double real = (double)r[(t * CHANNELS + c) * EDGE * EDGE + i];
                if (fabs(real * 255 - want) > 1e-4)
                    fail_msg("tile %lld, pixel %lld: %g", (long long)t, (long long)i, real);
            }
}

/* Tiles lie far apart, some of them beyond 2^31 elements; every second one begins with its last row. */
static void tiles_are_extracted_from_beyond_2_31(void **state)
{
    static const char *const isas[] = {"portable", NULL};
    static int64_t first[TILES];
    const int64_t apart = 108000, room = apart * TILES;
    assert_true(room > (int64_t)INT32_MAX + apart * 50);
    for (int i = 0; i < 2; ++i) {
        stet_device_def def = stet_default_device_def();
        stet_foreign_def foreign = stet_default_foreign_def();
        stet_camera camera = {.width = EDGE, .height = EDGE, .name = "far"};
        stet_foreign_request request[2] = {{.dtype = STET_DTYPE_U8, .channels = FEW},
                                           {.dtype = STET_DTYPE_REAL, .planar = true}};
        stet_device *device;
        stet_array *picture;
        stet_tiles *tiles;
        int64_t frame;
        def.type = STET_DEVICE_CPU;
        def.isa = isas[i];
        def.threads = 2;
        OK(stet_device_create(&def, &device));
        if (STI_ARRAY(device, "far picture", STET_DTYPE_U8, false, &picture, room) != STET_OK) {
            print_message("%s\n", stet_get_last_error());
            stet_device_destroy(device);
            skip();
        }
        uint8_t *data = picture->data; /* so that the rest of it takes no memory */
        for (int64_t t = 0; t < TILES; ++t) {
            first[t] = (TILES - 1 - t) * apart;
            for (int64_t k = 0; k < EDGE * EDGE * CHANNELS; ++k) data[first[t] + k] = shade_of(t, k);
        }
        stet_foreign_picture one = {picture, CHANNELS, first, EDGE * CHANNELS, CHANNELS, 1};
        foreign.nworld = TILES;
        foreign.cameras = &camera;
        foreign.pictures = &one;
        foreign.requests = request;
        foreign.ncamera = foreign.npicture = 1;
        foreign.nrequest = 2;
        OK(stet_tiles_create_foreign(device, &foreign, &tiles));
        OK(stet_tiles_accept(tiles, NULL, STET_READY_NOW, NULL, &frame));
        check_far(tiles, frame);
        stet_tiles_destroy(tiles);
        stet_array_destroy(picture);
        stet_device_destroy(device);
    }
}

/* ---- a frame of more than 2^31 bytes ----------------------------------------------------------------------------- */

static void a_frame_of_more_than_2_31_bytes(void **state)
{
    enum { WORLDS = 36, WIDE = 4096 };
    const int64_t npixel = (int64_t)WIDE * WIDE;
    stet_sim *sim = open_walls(WORLDS, WIDE, BIT(DEPTH));
    stet_array *depth;
    const void *content;
    assert_true(WORLDS * npixel * (int64_t)sizeof(float) > (int64_t)INT32_MAX);
    OK(stet_sim_get_array(sim, room_render(sim), 0, STET_OUTPUT_DEPTH, &depth));
    OK(stet_array_get_host(depth, &content));
    for (int64_t w = 0; w < WORLDS; ++w) check_depth(content, w, npixel);
    stet_sim_destroy(sim);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(twenty_thousand_tiles_are_rendered),
                                       cmocka_unit_test(tiles_are_extracted_from_beyond_2_31)},
                            whole[] = {cmocka_unit_test(a_frame_of_more_than_2_31_bytes)};
    if (argc > 1) return cmocka_run_group_tests(whole, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
