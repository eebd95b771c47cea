/*
 * A scene of a few worlds and two cameras, painted by the test's painter, and ways to look at the frames of its tiles.
 * Included after cmocka.h.
 */
#ifndef TEST_TILES_SCENE_H
#define TEST_TILES_SCENE_H

#include "tiles/painter.h"

enum { NWORLD = 21, NCAMERA = 2 };

static const sti_tile_size sizes[NCAMERA] = {{13, 9}, {16, 4}};

/* Direct: 0, 3, 4, 6; converted: 1, 2 (planar), 5. */
static const stet_tile_request mixed[] = {
    {0, STET_OUTPUT_RGBA, STET_DTYPE_U8, 0, NULL, false},
    {0, STET_OUTPUT_RGB, STET_DTYPE_U8, 0, NULL, false},
    {1, STET_OUTPUT_RGB, STET_DTYPE_F16, 0, NULL, true},
    {1, STET_OUTPUT_DEPTH, STET_DTYPE_REAL, 0, NULL, false},
    {0, STET_OUTPUT_NORMAL, STET_DTYPE_REAL, 0, NULL, false},
    {1, STET_OUTPUT_SEG_GEOM, STET_DTYPE_I64, 0, NULL, false},
    {0, STET_OUTPUT_SEG_BODY, STET_DTYPE_U32, 0, NULL, false},
};
enum { NMIXED = sizeof mixed / sizeof *mixed, NDIRECT = 4 };

/* ---- a scene to look at ---- */

typedef struct scene {
    stet_device *device;
    painter painter;
    stet_tiles *tiles;
    stet_counters before;
} scene;

static inline stet_tiles_def def_of(const stet_tile_request *requests, int nrequest, int depth,
                                    stet_camera cameras[NCAMERA])
{
    stet_tiles_def def = stet_default_tiles_def();
    for (int c = 0; c < NCAMERA; ++c)
        cameras[c] = (stet_camera){c, sizes[c].width, sizes[c].height, 45, "camera", false, false};
    def.cameras = cameras;
    def.ncamera = NCAMERA;
    def.requests = requests;
    def.nrequest = nrequest;
    def.frames_in_flight = depth;
    return def;
}

static inline void open_device(scene *s, const char *isa, uint32_t disabled, bool audit)
{
    stet_device_def def = stet_default_device_def();
    memset(s, 0, sizeof *s);
    def.isa = isa;
    def.mechanisms = (stet_mechanism_options){.disabled = disabled, .strict = true, .audit = audit};
    picked_device(&def);
    assert_int_equal(stet_device_create(&def, &s->device), STET_OK);
    painter_init(&s->painter, s->device, NWORLD, NCAMERA, sizes);
    for (int w = 0; w < NWORLD; ++w) s->painter.value[w] = 1000 + (uint64_t)w;
}

static inline void open_tiles(scene *s, const stet_tile_request *requests, int nrequest, int depth)
{
    stet_camera cameras[NCAMERA];
    stet_tiles_def def = def_of(requests, nrequest, depth, cameras);
    assert_int_equal(sti_tiles_create_with(&s->painter.base, &def, &s->tiles), STET_OK);
    stet_device_clear_counters(s->device);
}

static inline void close_scene(scene *s)
{
    stet_tiles_destroy(s->tiles);
    if (s->tiles) assert_true(s->painter.destroyed);
    painter_free(&s->painter);
    stet_device_destroy(s->device);
}

static inline int64_t render(scene *s, const uint8_t *mask)
{
    int64_t frame = -7;
    assert_int_equal(stet_tiles_render(s->tiles, mask, &frame), STET_OK);
    return frame;
}

static inline void move(scene *s, int w) { s->painter.value[w] += 100; }

static inline void move_all(scene *s)
{
    for (int w = 0; w < NWORLD; ++w) move(s, w);
}

/* The tensor of a request is what it should be for the scene as `p` has it. */
static inline void check_tensor(scene *s, const painter *p, const stet_tile_request *r, int64_t frame, int k)
{
    stet_array *a;
    size_t size;
    assert_int_equal(stet_tiles_get_array(s->tiles, frame, k, &a), STET_OK);
    unsigned char *expected = expect_tensor(p, r, NWORLD, &size), *got = malloc(size);
    assert_int_equal(stet_array_read(a, got, size), STET_OK);
    assert_memory_equal(got, expected, size);
    const void *host;
    assert_int_equal(stet_array_get_host(a, &host), STET_OK); /* kept copies follow the generation */
    assert_memory_equal(host, expected, size);
    free(got);
    free(expected);
}

static inline void check_frame(scene *s, const painter *p, const stet_tile_request *r, int n, int64_t frame)
{
    for (int k = 0; k < n; ++k) check_tensor(s, p, &r[k], frame, k);
}

/* The scene as it is now, to compare frames with later. */
static inline painter remember(const scene *s)
{
    painter p = s->painter;
    p.value = malloc(NWORLD * sizeof *p.value);
    memcpy(p.value, s->painter.value, NWORLD * sizeof *p.value);
    return p;
}

static inline stet_counters taken(scene *s)
{
    stet_counters c = stet_device_get_counters(s->device);
    stet_device_clear_counters(s->device);
    return c;
}

static inline int64_t tensor_bytes(const scene *s, int k) { return s->tiles->request[k].world_bytes; }

static inline int64_t
pixel_bytes(void) /* of a world in the buffers that `mixed` uses: colour, depth, normal, geom, body */
{
    return (13 * 9 + 16 * 4) * (4 + 4 + 12 + 4 + 4);
}

/* ---- arrays of the caller ---- */

typedef struct bound {
    stet_array *rgba, *half;
    stet_tile_request request[3];
} bound;

static inline bound bind(const scene *s)
{
    bound b;
    assert_int_equal(STI_ARRAY(s->device, "mine", STET_DTYPE_U8, false, &b.rgba, NWORLD, 9, 13, 4), STET_OK);
    assert_int_equal(STI_ARRAY(s->device, "halves", STET_DTYPE_F16, false, &b.half, NWORLD, 4, 16, 1), STET_OK);
    b.request[0] = (stet_tile_request){0, STET_OUTPUT_RGBA, STET_DTYPE_U8, 4, b.rgba, false};
    b.request[1] = (stet_tile_request){1, STET_OUTPUT_DEPTH, STET_DTYPE_F16, 1, b.half, false};
    b.request[2] = (stet_tile_request){0, STET_OUTPUT_RGBA, STET_DTYPE_U8, 3, NULL, false};
    return b;
}

/* Tiles first, then what they were bound to, then the device. */
static inline void close_bound(scene *s, bound *b)
{
    stet_tiles_destroy(s->tiles);
    s->tiles = NULL;
    stet_array_destroy(b->rgba);
    stet_array_destroy(b->half);
    close_scene(s);
}

#endif
