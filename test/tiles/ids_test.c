/*
 * Tables of ids: rows of a model, labels of ids and prims, colours and classes of pictures on every device, by plain
 * loops over the ids; the same of another renderer's frames; depths as colours; what is refused.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/devices.h"
#include "stet/tiles.h"

#include <math.h>
#include <string.h>

enum { WORLDS = 3, WIDTH = 53, HEIGHT = 37, PIXELS = WORLDS * WIDTH * HEIGHT };

static const char xml[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='2 2 .1'/>"
    "<body name='arm' pos='0 0 .5'><freejoint/><geom type='box' size='.3 .1 .1'/><site name='a' pos='0 0 .2'/>"
    "<body name='hand' pos='.5 0 0'><geom name='palm' size='.15'/></body></body>"
    "<body pos='-.6 0 .4'><geom type='capsule' size='.1 .2'/><site name='b' pos='0 0 .4'/></body>"
    "<camera name='side' pos='0 -2 .9' xyaxes='1 0 0 0 .2 1'/></worldbody>"
    "<tendon><spatial name='cord' width='.04'><site site='a'/><site site='b'/></spatial></tendon></mujoco>";

typedef struct room {
    stet_device *device;
    stet_model *model;
    stet_worlds *worlds;
    stet_stage *stage;
    stet_tiles *tiles;
    stet_array *ids[3], *colours, *classes; /* of geoms, bodies, types */
} room;

#define OK(expression)                                                                                                 \
    do {                                                                                                               \
        if ((expression) != STET_OK) fail_msg("%s: %s", #expression, stet_get_last_error());                           \
    } while (0)

static void open_room(room *r, stet_device *device)
{
    stet_worlds_def worlds_def = stet_default_worlds_def();
    stet_tiles_def def = stet_default_tiles_def();
    stet_camera camera = {0, WIDTH, HEIGHT, 50, "side", false, false};
    stet_tile_request requests[3] = {{0}};
    int64_t frame;
    memset(r, 0, sizeof *r);
    r->device = device;
    worlds_def.nworld = WORLDS;
    OK(stet_model_load_string(xml, &r->model));
    OK(stet_worlds_create(r->device, r->model, &worlds_def, &r->worlds));
    OK(stet_stage_create(r->worlds, &r->stage));
    OK(stet_stage_get_prim(r->stage, STET_PRIM_CAMERA, 0, &camera.prim));
    for (int k = 0; k < 3; ++k)
        requests[k] = (stet_tile_request){.output = (stet_output)(STET_OUTPUT_SEG_GEOM + k), .dtype = STET_DTYPE_INT};
    def.cameras = &camera;
    def.ncamera = 1;
    def.requests = requests;
    def.nrequest = 3;
    OK(stet_tiles_create(r->stage, &def, &r->tiles));
    OK(stet_tiles_render(r->tiles, NULL, &frame));
    for (int k = 0; k < 3; ++k) OK(stet_tiles_get_array(r->tiles, frame, k, &r->ids[k]));
    OK(STI_ARRAY(device, "colours", STET_DTYPE_U8, false, &r->colours, WORLDS, HEIGHT, WIDTH, 3));
    OK(STI_ARRAY(device, "classes", STET_DTYPE_INT, false, &r->classes, WORLDS, HEIGHT, WIDTH, 1));
}

static void close_room(room *r)
{
    stet_array_destroy(r->classes);
    stet_array_destroy(r->colours);
    stet_tiles_destroy(r->tiles);
    stet_stage_destroy(r->stage);
    stet_worlds_destroy(r->worlds);
    stet_model_destroy(r->model);
}

static stet_id_row row_of(const stet_id_table *t, int id)
{
    for (int k = 0; k < stet_id_table_get_nrow(t); ++k)
        if (stet_id_table_get_row(t, k).id == id) return stet_id_table_get_row(t, k);
    stet_id_row none = {.id = id, .class_id = -1, .name = "", .label = ""};
    return none;
}

/* Colours of `channels` bytes and classes of n ids are those of the table's rows. */
static void check_lookups(stet_id_table *t, const stet_array *ids, stet_array *colours, int channels,
                          stet_array *classes)
{
    static int32_t id[PIXELS], class_id[PIXELS];
    static uint8_t colour[2][PIXELS * 4];
    int64_t n = stet_array_get_nelement(ids);
    OK(stet_array_read((stet_array *)ids, id, (size_t)n * 4));
    for (int k = 0; k < 2; ++k) {
        OK(stet_id_table_colour(t, ids, k == 1, colours));
        OK(stet_array_read(colours, colour[k], (size_t)(n * channels)));
    }
    OK(stet_id_table_classify(t, ids, classes));
    OK(stet_array_read(classes, class_id, (size_t)n * 4));
    for (int64_t i = 0; i < n; ++i) {
        stet_id_row row = row_of(t, id[i]);
        assert_int_equal(class_id[i], row.class_id);
        assert_memory_equal(&colour[0][i * channels], row.colour, 3);
        assert_memory_equal(&colour[1][i * channels], row.class_colour, 3);
        if (channels == 3) continue;
        assert_int_equal(colour[0][i * 4 + 3], id[i] == -1 || !*row.name ? 0 : 255);
        assert_int_equal(colour[1][i * 4 + 3], row.class_id == -1 ? 0 : 255);
    }
}

static int count_class(room *r, int class_id)
{
    static int32_t classes[PIXELS];
    int n = 0;
    OK(stet_array_read(r->classes, classes, sizeof classes));
    for (int i = 0; i < PIXELS; ++i) n += classes[i] == class_id;
    return n;
}

/* ---- a model's --------------------------------------------------------------------------------------------------- */

static void rows_have_the_models_names(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        static const char *const geoms[] = {"cord", "sky", "floor", "arm geom 1", "palm", "body 3 geom 3"};
        static const char *const bodies[] = {"skins", "flexes", "tendons", "sky", "world", "arm", "hand", "body 3"};
        static const char *const types[] = {"skins",   "flexes",    "tendons",  "sky", "plane", "hfield", "sphere",
                                            "capsule", "ellipsoid", "cylinder", "box", "mesh",  "sdf"};
        static const char *const *const names[3] = {geoms, bodies, types};
        static const int length[3] = {6, 8, 13}, first[3] = {-2, -4, -4};
        room r;
        open_room(&r, rig.device);
        for (int k = 0; k < 3; ++k) {
            stet_id_table *t;
            OK(stet_id_table_create(r.stage, (stet_output)(STET_OUTPUT_SEG_GEOM + k), &t));
            assert_int_equal(stet_id_table_get_nrow(t), length[k]);
            for (int i = 0; i < length[k]; ++i) {
                stet_id_row row = stet_id_table_get_row(t, i);
                assert_int_equal(row.id, first[k] + i);
                assert_string_equal(row.name, names[k][i]);
                assert_string_equal(row.label, "");
                assert_int_equal(row.class_id, row.id == -1 ? -1 : 0);
                for (int j = 0; j < i; ++j) assert_memory_not_equal(row.colour, stet_id_table_get_row(t, j).colour, 3);
            }
            stet_id_table_destroy(t);
        }
        close_room(&r);
    }
}

static void pixels_get_colours_and_classes(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        room r;
        int arm, root;
        open_room(&r, rig.device);
        OK(stet_stage_find(r.stage, STET_PRIM_BODY, "arm", &arm));
        OK(stet_stage_get_prim(r.stage, STET_PRIM_BODY, 0, &root));
        for (int k = 0; k < 3; ++k) {
            stet_id_table *t;
            OK(stet_id_table_create(r.stage, (stet_output)(STET_OUTPUT_SEG_GEOM + k), &t));
            check_lookups(t, r.ids[k], r.colours, 3, r.classes);
            OK(stet_id_table_label(t, -2, "string"));
            if (k < 2) {
                OK(stet_id_table_label_prim(t, root, "scenery"));
                OK(stet_id_table_label_prim(t, arm, "robot"));
                assert_string_equal(row_of(t, 2).label, "robot");
                assert_string_equal(row_of(t, 0).label, "scenery");
                check_lookups(t, r.ids[k], r.colours, 3, r.classes);
                assert_true(count_class(&r, 1) > 0 && count_class(&r, 2) > 0 && count_class(&r, 3) > 0);
                assert_int_equal(count_class(&r, 0), 0);
                OK(stet_id_table_label_prim(t, arm, NULL)); /* none any more */
                assert_int_equal(row_of(t, 2).class_id, 0);
            }
            OK(stet_id_table_label(t, 0, "string"));
            assert_int_equal(row_of(t, 0).class_id, 1);
            check_lookups(t, r.ids[k], r.colours, 3, r.classes);
            stet_id_table_destroy(t);
        }
        close_room(&r);
    }
}

/* ---- another renderer's ------------------------------------------------------------------------------------------ */

static void frames_of_another_renderer_get_colours(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        enum { NID = 9 };
        static int32_t pixels[HEIGHT][WORLDS * WIDTH];
        int64_t first[WORLDS], frame;
        stet_foreign_def def = stet_default_foreign_def();
        stet_camera camera = {0, WIDTH, HEIGHT, 45, "theirs", false, false};
        stet_foreign_request request = {.dtype = STET_DTYPE_INT};
        stet_tiles *tiles;
        stet_array *theirs, *ids, *colours, *classes;
        stet_id_table *t;
        for (int i = 0; i < PIXELS; ++i) /* some ids are not in the table */
            pixels[i / (WORLDS * WIDTH)][i % (WORLDS * WIDTH)] = i % 97 == 0   ? INT32_MIN + i
                                                                 : i % 89 == 0 ? INT32_MAX - i
                                                                               : i * 7 % 13 - 2;
        for (int w = 0; w < WORLDS; ++w) first[w] = (int64_t)w * WIDTH; /* tiles side by side */
        OK(STI_ARRAY(rig.device, "theirs", STET_DTYPE_INT, false, &theirs, HEIGHT, WORLDS * WIDTH));
        OK(STI_ARRAY(rig.device, "colours", STET_DTYPE_U8, false, &colours, WORLDS, HEIGHT, WIDTH, 4));
        OK(STI_ARRAY(rig.device, "classes", STET_DTYPE_INT, false, &classes, PIXELS));
        stet_foreign_picture picture = {theirs, 1, first, (int64_t)WORLDS * WIDTH, 1, 1};
        def.nworld = WORLDS;
        def.cameras = &camera;
        def.ncamera = def.npicture = def.nrequest = 1;
        def.pictures = &picture;
        def.requests = &request;
        OK(stet_tiles_create_foreign(rig.device, &def, &tiles));
        OK(stet_array_write(theirs, pixels, sizeof pixels));
        OK(stet_tiles_accept(tiles, NULL, STET_READY_NOW, NULL, &frame));
        OK(stet_tiles_get_array(tiles, frame, 0, &ids));
        OK(stet_id_table_create_plain(rig.device, 1, NID, &t));
        assert_string_equal(row_of(t, 7).name, "7");
        for (int k = 1; k <= NID; ++k)
            if (k % 3) OK(stet_id_table_label(t, k, k % 3 == 1 ? "one" : "two"));
        check_lookups(t, ids, colours, 4, classes);
        stet_id_table_destroy(t);
        stet_tiles_destroy(tiles);
        stet_array_destroy(classes);
        stet_array_destroy(colours);
        stet_array_destroy(theirs);
    }
}

/* ---- refused ----------------------------------------------------------------------------------------------------- */

#define REFUSED(expression, words)                                                                                     \
    do {                                                                                                               \
        assert_int_equal(expression, STET_ERROR_INVALID_ARGUMENT);                                                     \
        assert_non_null(strstr(stet_get_last_error(), words));                                                         \
    } while (0)

static void what_makes_no_sense_is_refused(void **state)
{
    FOR_RUNNING_DEVICES(rig)
    {
        room r;
        stet_id_table *t, *types, *plain;
        open_room(&r, rig.device);
        REFUSED(stet_id_table_create(r.stage, STET_OUTPUT_DEPTH, &t), "output depth has no ids");
        REFUSED(stet_id_table_create_plain(r.device, 0, 0, &t), "0 ids");
        REFUSED(stet_id_table_create_plain(r.device, INT32_MAX, 1, &t), "all of them ints");
        OK(stet_id_table_create(r.stage, STET_OUTPUT_SEG_GEOM, &t));
        OK(stet_id_table_create(r.stage, STET_OUTPUT_SEG_TYPE, &types));
        OK(stet_id_table_create_plain(r.device, -3, 3, &plain));
        REFUSED(stet_id_table_label(t, 4, "x"), "ids are -2 to 3");
        REFUSED(stet_id_table_label(t, INT32_MIN, "x"), "ids are -2 to 3");
        REFUSED(stet_id_table_label(t, INT32_MAX, "x"), "ids are -2 to 3");
        REFUSED(stet_id_table_label_prim(t, 1000, "x"), "prim 1000");
        REFUSED(stet_id_table_label_prim(types, 0, "x"), "label an id");
        REFUSED(stet_id_table_label_prim(plain, 0, "x"), "label an id");
        REFUSED(stet_id_table_colour(t, r.colours, false, r.colours), "must be a plain one of int");
        REFUSED(stet_id_table_colour(t, r.ids[0], false, r.ids[1]), "must be a plain one of u8");
        stet_array *two;
        OK(STI_ARRAY(r.device, "two", STET_DTYPE_U8, false, &two, PIXELS, 2));
        REFUSED(stet_id_table_colour(t, r.ids[0], false, two), "3 or 4 bytes");
        stet_array_destroy(two);
        OK(STI_ARRAY(r.device, "few", STET_DTYPE_INT, false, &two, PIXELS - 1));
        REFUSED(stet_id_table_classify(t, r.ids[0], two), "as the ids");
        stet_array_destroy(two);
        stet_id_table_destroy(plain);
        stet_id_table_destroy(types);
        stet_id_table_destroy(t);
        close_room(&r);
    }
}

/* ---- depths ------------------------------------------------------------------------------------------------------ */

static void refuse_depths(const stet_array *depth, float near, float far, stet_array *colours, const char *mentions)
{
    assert_int_equal(stet_depth_colours(depth, near, far, colours), STET_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(stet_get_last_error(), mentions));
}

/* Over several blocks, with what has no depth: the host's colours, of 3 and of 4 bytes. */
static void depths_have_the_hosts_colours(void **state)
{
    enum { N = 9000 };
    static float depth[N];
    static uint8_t colour[N * 4];
    for (int i = 0; i < N; ++i) depth[i] = i % 97 == 0 ? INFINITY : i % 89 == 0 ? NAN : 0.001f * (float)i;
    FOR_RUNNING_DEVICES(rig)
    {
        stet_array *from, *to[2], *odd;
        OK(STI_ARRAY(rig.device, "depth", STET_DTYPE_REAL, false, &from, N));
        OK(STI_ARRAY(rig.device, "odd", STET_DTYPE_U8, false, &odd, N * 3 + 1));
        OK(stet_array_write(from, depth, sizeof depth));
        for (int k = 0; k < 2; ++k) {
            int channels = 3 + k;
            OK(STI_ARRAY(rig.device, "colours", STET_DTYPE_U8, false, &to[k], N, channels));
            for (int near = 0; near < 2; ++near) {
                OK(stet_depth_colours(from, (float)near, 5.5f, to[k]));
                OK(stet_array_read(to[k], colour, (size_t)(N * channels)));
                for (int i = 0; i < N; ++i) {
                    uint8_t wanted[4] = {0, 0, 0, isfinite(depth[i]) ? 255 : 0};
                    stet_depth_colour(depth[i], (float)near, 5.5f, wanted);
                    assert_memory_equal(&colour[(ptrdiff_t)i * channels], wanted, (size_t)channels);
                }
            }
        }
        refuse_depths(from, 1, 1, to[0], "near < far");
        refuse_depths(from, NAN, 1, to[0], "near < far");
        refuse_depths(from, -1, 1, to[0], "near < far");
        refuse_depths(from, 0, INFINITY, to[0], "near < far");
        refuse_depths(to[0], 0, 1, to[0], "must be a plain one of real");
        refuse_depths(from, 0, 1, from, "one of u8");
        refuse_depths(from, 0, 1, odd, "3 or 4 bytes");
        refuse_depths(NULL, 0, 1, odd, "must not be NULL");
        stet_array_destroy(odd);
        for (int k = 0; k < 2; ++k) stet_array_destroy(to[k]);
        stet_array_destroy(from);
    }
}

/* The ends and points of the ramp, whose steps are even in 1 / depth. */
static void the_ramp_goes_from_near_to_far(void **state)
{
    static const uint8_t point[5][3] = {{252, 242, 189}, {250, 168, 107}, {209, 84, 115}, {110, 46, 128}, {23, 20, 66}};
    for (int k = 0; k < 7; ++k) {
        uint8_t colour[3];
        float inverse = 1 - 0.125f * (float)(k - 1); /* from 1 m to 2 m, and beyond both */
        stet_depth_colour(1 / inverse, 1, 2, colour);
        for (int c = 0; c < 3; ++c) assert_in_range(colour[c] + 1 - point[k < 1 ? 0 : k > 5 ? 4 : k - 1][c], 0, 2);
    }
    uint8_t colour[3] = {1, 2, 3};
    stet_depth_colour(1, 2, 2, colour); /* no range */
    assert_memory_equal(colour, "\0\0\0", 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(depths_have_the_hosts_colours),
                                       cmocka_unit_test(the_ramp_goes_from_near_to_far),
                                       cmocka_unit_test(rows_have_the_models_names),
                                       cmocka_unit_test(pixels_get_colours_and_classes),
                                       cmocka_unit_test(frames_of_another_renderer_get_colours),
                                       cmocka_unit_test(what_makes_no_sense_is_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
