/*
 * One sim that lives for many frames: under audit, with resets, steps and renders of some worlds, prims and shapes
 * added, removed and re-parented (a camera among them), shapes shown, hidden and coloured in some worlds, frames of
 * another renderer, reads in any order. It has the pixels of a twin that reuses nothing, and its memory does not grow.
 * `test_sim_long_run 10000` makes 10,000 frames.
 */
#include "sim/room.h"

#include "base/dice.h"

enum {
    N = 5,
    WIDTH = 17,
    HEIGHT = 13,
    TILE = WIDTH * HEIGHT,
    MOST_PRIMS = 6,
    MOST_SHAPES = 4,
    FLIGHT = 3,
    ON_A_DOUBLE = 60,
    FILLED = 500
};

static const char scene[] =
    "<mujoco><option timestep='.01'/><worldbody><light pos='0 0 3'/><geom type='plane' size='2 2 .1'/>"
    "<body name='cart' pos='0 0 .4'><joint name='rail' type='slide' axis='1 0 0' damping='.2'/><geom type='box' "
    "size='.2 .1 .1'/>"
    "<body name='pole' pos='0 0 .1'><joint axis='0 1 0'/><geom type='capsule' size='.05' fromto='0 0 0 0 0 .5'/></body>"
    "</body><body name='ball' pos='.6 .3 .8'><freejoint/><geom size='.15'/></body>"
    "<camera name='side' pos='0 -2 .9' xyaxes='1 0 0 0 .2 1'/></worldbody>"
    "<actuator><motor joint='rail'/></actuator></mujoco>";

/* A sim, tiles whose camera is an added prim, and tiles of another renderer's ids with their classes. */
typedef struct life {
    stet_sim *sim;
    stet_tiles *own, *foreign;
    stet_array *theirs, *classes;
    stet_id_table *ids;
    int eye;
} life;

enum { SUBJECT, TWIN };

typedef struct story {
    life life[2];
    uint64_t dice;
    int prim[MOST_PRIMS], nprim;
    int shape[MOST_SHAPES], nshape;
    uint64_t shown[FLIGHT], shown_own[FLIGHT]; /* hashes of the twin's pixels, by the subject's frame */
    int32_t ids[N][TILE];
} story;

static int64_t frames = 2000;

static size_t roll(story *s, size_t n) { return dice_below(&s->dice, n); }
static float wave(story *s) { return (float)roll(s, 2001) / 1000 - 1; }
static stet_stage *stage_of(story *s, int i) { return stet_sim_get_stage(s->life[i].sim); }

/* ---- opened and closed ------------------------------------------------------------------------------------------- */

static void open_own(life *l)
{
    static const float home[12] = {1, 0, 0, 0, 0, 0, -1, -2, 0, 1, 0, .5f};
    static const stet_tile_request requests[] = {
        {.output = STET_OUTPUT_RGB, .dtype = STET_DTYPE_F16, .planar = true},
        {.output = STET_OUTPUT_DEPTH, .dtype = STET_DTYPE_REAL},
    };
    stet_tiles_def def = stet_default_tiles_def();
    stet_camera camera = {.width = WIDTH, .height = HEIGHT, .fovy = 60, .name = "eye"};
    OK(stet_stage_add(stet_sim_get_stage(l->sim), 0, "eye", home, false, &camera.prim));
    l->eye = camera.prim;
    def.cameras = &camera;
    def.ncamera = 1;
    def.requests = requests;
    def.nrequest = 2;
    def.frames_in_flight = FLIGHT;
    OK(stet_tiles_create(stet_sim_get_stage(l->sim), &def, &l->own));
}

static void open_foreign(life *l)
{
    stet_device *device = stet_sim_get_device(l->sim);
    int64_t first[N];
    stet_foreign_def def = stet_default_foreign_def();
    stet_camera camera = {.width = WIDTH, .height = HEIGHT, .name = "theirs"};
    stet_foreign_request request = {.dtype = STET_DTYPE_INT};
    OK(STI_ARRAY(device, "theirs", STET_DTYPE_INT, false, &l->theirs, N, HEIGHT, WIDTH + 1));
    OK(STI_ARRAY(device, "classes", STET_DTYPE_INT, false, &l->classes, N, HEIGHT, WIDTH));
    for (int64_t w = 0; w < N; ++w) first[w] = w * HEIGHT * (WIDTH + 1);
    stet_foreign_picture picture = {l->theirs, 1, first, WIDTH + 1, 1, 1};
    def.nworld = N;
    def.cameras = &camera;
    def.pictures = &picture;
    def.requests = &request;
    def.ncamera = def.npicture = def.nrequest = 1;
    OK(stet_tiles_create_foreign(device, &def, &l->foreign));
    OK(stet_id_table_create_plain(device, 0, 16, &l->ids));
}

static void open_life(life *l, bool twin)
{
    room_def def = {.nworld = N, .width = WIDTH, .height = HEIGHT, .flight = FLIGHT, .audit = !twin};
    if (twin) def.disabled = (1u << STET_MECHANISM_COUNT) - 1;
    l->sim = room_open(scene, &def);
    open_own(l);
    open_foreign(l);
}

static void close_life(life *l)
{
    stet_id_table_destroy(l->ids);
    stet_tiles_destroy(l->foreign);
    stet_tiles_destroy(l->own);
    stet_array_destroy(l->classes);
    stet_array_destroy(l->theirs);
    stet_sim_destroy(l->sim);
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

static void random_mask(story *s, uint8_t mask[N])
{
    for (int w = 0; w < N; ++w) mask[w] = roll(s, 2) == 0;
}

static void change_worlds(story *s)
{
    uint8_t mask[N];
    stet_reset_def reset = stet_default_reset_def();
    random_mask(s, mask);
    reset.mask = mask;
    reset.qpos_noise = 0.1;
    size_t what = roll(s, 8);
    int nstep = 1 + (int)roll(s, 3), world = (int)roll(s, N);
    float force = wave(s);
    for (int i = 0; i < 2; ++i) {
        stet_sim *sim = s->life[i].sim;
        room_write(sim, "ctrl", world, 0, force);
        if (what == 0)
            OK(stet_sim_reset(sim, &reset));
        else if (what < 4)
            OK(stet_sim_step_worlds(sim, mask, nstep));
        else if (what < 6)
            OK(stet_sim_step(sim, nstep));
    }
}

static void add_prim(story *s)
{
    float local[12] = {1, 0, 0, wave(s), 0, 1, 0, wave(s), 0, 0, 1, wave(s)};
    int parent = s->nprim && roll(s, 2) ? s->prim[roll(s, (size_t)s->nprim)] : (int)roll(s, 4), prim[2];
    bool rigid = roll(s, 4) == 0;
    char name[24];
    (void)snprintf(name, sizeof name, "prim %d", s->nprim);
    for (int i = 0; i < 2; ++i) OK(stet_stage_add(stage_of(s, i), parent, name, local, rigid, &prim[i]));
    assert_int_equal(prim[SUBJECT], prim[TWIN]);
    s->prim[s->nprim++] = prim[SUBJECT];
}

/* A shape under a body, or under an added prim. */
static void add_shape(story *s)
{
    static const stet_shape_type types[] = {STET_SHAPE_BOX, STET_SHAPE_SPHERE, STET_SHAPE_CYLINDER};
    float local[12] = {1, 0, 0, wave(s) / 2, 0, 1, 0, wave(s) / 2, 0, 0, 1, wave(s) / 2};
    stet_shape shape = {
        .type = types[roll(s, 3)], .size = {.1, .15, .2}, .rgba = {.9f, .2f, .1f, roll(s, 2) ? 1 : .5f}};
    int parent = s->nprim && roll(s, 2) ? s->prim[roll(s, (size_t)s->nprim)] : (int)roll(s, 4), prim[2], id[2];
    for (int i = 0; i < 2; ++i) OK(stet_stage_add_shape(stage_of(s, i), parent, &shape, local, &prim[i], &id[i]));
    assert_true(prim[SUBJECT] == prim[TWIN] && id[SUBJECT] == id[TWIN]);
    s->shape[s->nshape++] = prim[SUBJECT];
}

/* Shows, hides, colours, moves in the tree, or removes one of the shapes. */
static void change_shape(story *s)
{
    size_t which = roll(s, (size_t)s->nshape), what = roll(s, 5);
    int64_t first = (int64_t)roll(s, N), n = 1 + (int64_t)roll(s, (size_t)(N - first));
    int parent = s->nprim && roll(s, 2) ? s->prim[roll(s, (size_t)s->nprim)] : (int)roll(s, 4);
    uint8_t visible[N];
    float rgb[N][3];
    random_mask(s, visible);
    for (int k = 0; k < 3 * N; ++k) rgb[k / 3][k % 3] = fabsf(wave(s));
    for (int i = 0; i < 2; ++i) {
        stet_stage *stage = stage_of(s, i);
        if (what < 2)
            OK(stet_stage_show(stage, s->shape[which], first, n, visible));
        else if (what == 2)
            OK(stet_stage_colour(stage, s->shape[which], first, n, rgb[0]));
        else if (what == 3)
            OK(stet_stage_reparent(stage, s->shape[which], parent));
        else
            OK(stet_stage_remove(stage, s->shape[which]));
    }
    if (what == 4) s->shape[which] = s->shape[--s->nshape];
}

/* Removes all shapes, and all added prims but the eye, which goes to the root first. */
static void clear_prims(story *s)
{
    for (int i = 0; i < 2; ++i) {
        OK(stet_stage_reparent(stage_of(s, i), s->life[i].eye, 0));
        for (int k = 0; k < s->nshape; ++k) OK(stet_stage_remove(stage_of(s, i), s->shape[k]));
        for (int k = s->nprim - 1; k >= 0; --k) /* those below one were added after it */
            OK(stet_stage_remove(stage_of(s, i), s->prim[k]));
    }
    s->nprim = s->nshape = 0;
}

/* Moves the eye, or puts it under a body or an added prim. */
static void change_eye(story *s)
{
    float local[12] = {1, 0, 0, wave(s), 0, 0, -1, -2, 0, 1, 0, .5f};
    int64_t world = (int64_t)roll(s, N);
    bool move = roll(s, 2) == 0;
    int parent = s->nprim && roll(s, 2) ? s->prim[roll(s, (size_t)s->nprim)] : (int)roll(s, 4);
    for (int i = 0; i < 2; ++i)
        if (move)
            OK(stet_stage_write_local(stage_of(s, i), s->life[i].eye, world, 1, local));
        else
            OK(stet_stage_reparent(stage_of(s, i), s->life[i].eye, parent));
}

static void change_stage(story *s)
{
    size_t what = roll(s, 6);
    if (what == 0 && s->nprim < MOST_PRIMS)
        add_prim(s);
    else if (what == 1 && s->nprim == MOST_PRIMS)
        clear_prims(s);
    else if (what == 2)
        change_eye(s);
    else if (what == 3 && s->nshape < MOST_SHAPES && roll(s, 2))
        add_shape(s);
    else if (what > 3 && s->nshape)
        change_shape(s);
}

/* ---- what is seen ------------------------------------------------------------------------------------------------ */

static uint64_t hash_own(life *l, int64_t frame)
{
    uint64_t hash = 0, one;
    for (int k = 0; k < 2; ++k) {
        stet_array *a;
        OK(stet_tiles_get_array(l->own, frame, k, &a));
        OK(stet_array_hash(a, &one));
        hash = hash * 31 + one;
    }
    return hash;
}

/* Renders some worlds or all in both, remembers the twin's pixels, and reads a frame of the subject's, or none. */
static void render_and_read(story *s)
{
    uint8_t mask[N];
    int64_t frame[2], own[2];
    bool all = roll(s, 2) == 0;
    random_mask(s, mask);
    for (int i = 0; i < 2; ++i) {
        OK(stet_sim_render_worlds(s->life[i].sim, all ? NULL : mask, &frame[i]));
        OK(stet_tiles_render(s->life[i].own, all ? NULL : mask, &own[i]));
    }
    s->shown[frame[SUBJECT] % FLIGHT] = room_frame(s->life[TWIN].sim, frame[TWIN]);
    s->shown_own[own[SUBJECT] % FLIGHT] = hash_own(&s->life[TWIN], own[TWIN]);
    for (size_t k = roll(s, 3); k > 0; --k) {
        int64_t f = frame[SUBJECT] - (int64_t)roll(s, FLIGHT), g = own[SUBJECT] - (int64_t)roll(s, FLIGHT);
        if (f >= 0) assert_true(room_frame(s->life[SUBJECT].sim, f) == s->shown[f % FLIGHT]);
        if (g >= 0) assert_true(hash_own(&s->life[SUBJECT], g) == s->shown_own[g % FLIGHT]);
    }
}

/* Another renderer draws some worlds; what is read has their classes, and what the others had before. */
static void accept_frame(story *s)
{
    static int32_t pixels[N][HEIGHT][WIDTH + 1], classes[N][TILE];
    uint8_t mask[N];
    int label = (int)roll(s, 16), shift = (int)roll(s, 40);
    random_mask(s, mask);
    mask[roll(s, N)] = 1;
    for (int i = 0; i < N * TILE; ++i)
        if (mask[i / TILE]) s->ids[i / TILE][i % TILE] = (i * 7 + shift) % 19 - 1;
    for (int i = 0; i < N * TILE; ++i) pixels[i / TILE][i % TILE / WIDTH][i % WIDTH] = s->ids[i / TILE][i % TILE];
    for (int i = 0; i < 2; ++i) {
        life *l = &s->life[i];
        stet_array *ids;
        int64_t frame;
        OK(stet_array_write(l->theirs, pixels, sizeof pixels));
        OK(stet_tiles_accept(l->foreign, mask, STET_READY_NOW, NULL, &frame));
        OK(stet_id_table_label(l->ids, label, label % 2 ? "odd" : "even"));
        if (i == SUBJECT && frame > 0 && shift % 3 == 0) continue; /* nobody reads it */
        OK(stet_tiles_get_array(l->foreign, frame, 0, &ids));
        OK(stet_id_table_classify(l->ids, ids, l->classes));
        OK(stet_array_read(l->classes, classes, sizeof classes));
        for (int k = 0; k < N * TILE; ++k) {
            int id = s->ids[k / TILE][k % TILE];
            bool in = id >= 0 && id < 16;
            int expected = in ? stet_id_table_get_row(l->ids, id).class_id : -1;
            assert_int_equal(classes[k / TILE][k % TILE], expected);
        }
    }
}

static void many_frames_under_audit(void **state)
{
    static story s;
    int64_t peak[2] = {0}; /* of the first half, in which caches fill (FILLED frames); of the second */
    s.dice = dice_seed("many_frames_under_audit");
    for (int i = 0; i < 2; ++i) open_life(&s.life[i], i == TWIN);
    for (int64_t f = 0; f < frames; ++f) {
        change_worlds(&s);
        change_stage(&s);
        render_and_read(&s);
        if (roll(&s, 3) == 0) accept_frame(&s);
        int64_t bytes = stet_get_memory_stats().bytes;
        if (bytes > peak[2 * f >= frames]) peak[2 * f >= frames] = bytes;
    }
    assert_true(room_state(s.life[SUBJECT].sim) == room_state(s.life[TWIN].sim));
    print_message("%lld frames; at most %lld bytes in the first half, %lld in the second\n", (long long)frames,
                  (long long)peak[0], (long long)peak[1]);
    if (frames >= FILLED) assert_true(peak[1] <= peak[0] + peak[0] / 50);
    for (int i = 0; i < 2; ++i) close_life(&s.life[i]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_frames_under_audit)};
    const char *device = getenv("STET_TEST_DEVICE");
    if (device && strncmp(device, "double", 6) == 0) frames = ON_A_DOUBLE;
    if (argc > 1) frames = strtoll(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
