/*
 * Patches that stand have the pixels that drawing them gives: random scenes in which some bodies move, drawn into two
 * targets with a record each, between which worlds are carried, and into one without.
 */
#include "render/pictures.h"

enum { NWORLD = 3, NBODY = 9, FRAMES = 14, SCENES = 10, TARGETS = 3, PLAIN = 2 };

static const char *const types[] = {"sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "hfield", "plane"};

static void add_lamp(scene_text *t, uint64_t *s)
{
    double way[3], at[3], radius = dice(s) < 0.5 ? 0 : 0.3; /* one by one: C leaves the order of arguments open */
    bool sun = dice(s) < 0.5, casts = dice(s) < 0.8;
    for (int k = 0; k < 3; ++k) way[k] = dice_in(s, -1, 1);
    for (int k = 0; k < 3; ++k) at[k] = dice_in(s, -3, 3);
    const char *cone = dice(s) < 0.5 ? "cutoff='180'" : "cutoff='40' exponent='3'";
    add(t, "<light directional='%s' castshadow='%s' pos='%.3f %.3f %.3f' dir='%.3f %.3f %.3f' bulbradius='%.2f' %s/>",
        sun ? "true" : "false", casts ? "true" : "false", at[0], at[1], at[2] + 4, way[0], way[1], way[2] - 1.5, radius,
        cone);
}

/* A floor that may mirror, and bodies that may have a lamp, a site or a camera; some geoms are transparent. */
static void write_scene(scene_text *t, uint64_t *s)
{
    t->n = 0;
    add(t, "<mujoco><visual><rgba haze='.3 .4 .5 1'/></visual>");
    add_assets(t, s);
    add(t,
        "<asset><texture type='skybox' builtin='gradient' rgb1='.7 .8 .9' rgb2='.2 .3 .4' width='16' height='96'/>"
        "<texture name='t' type='2d' builtin='checker' rgb1='.2 .3 .4' rgb2='.6 .7 .8' width='32' height='32'/>"
        "<material name='floor' texture='t' reflectance='%.2f' texrepeat='3 3'/>"
        "<material name='glass' rgba='.4 .8 .9 .5'/></asset><worldbody>",
        dice(s) < 0.5 ? 0 : 0.4);
    add(t, "<geom type='plane' size='%s' pos='0 0 -1.5' material='floor'/>", dice(s) < 0.5 ? "0 0 1" : "3 3 1");
    for (int l = 0; l < 2; ++l) add_lamp(t, s);
    for (int b = 1; b < NBODY; ++b) {
        add(t, "<body>");
        add_geom(t, types[dice_below(s, 8)], s);
        if (dice(s) < 0.2) add(t, "<geom size='.2' pos='.3 0 .2' material='glass'/>");
        if (dice(s) < 0.2) add(t, "<site size='.15' pos='0 .4 .1'/>");
        if (dice(s) < 0.1) add_lamp(t, s);
        if (b == 1) add(t, "<camera name='rider' pos='0 0 1.5' fovy='70'/>");
        add(t, "</body>");
    }
    add(t, "<camera name='fixed' pos='0 -5 2' xyaxes='1 0 0 0 .35 .94' fovy='50'/>"
           "<camera name='flat' pos='0 0 4' projection='orthographic' fovy='5'/></worldbody></mujoco>");
}

typedef struct standing_pictures {
    pictures p;
    sti_render_target target[TARGETS]; /* the last one without a record */
    sti_standing standing[PLAIN];
    float pos[NWORLD * NBODY * 3], quat[NWORLD * NBODY * 4];
    int64_t stood, of;
} standing_pictures;

static void open_pictures(standing_pictures *x, const char *xml, stet_render_mode mode)
{
    static const char *const names[] = {"fixed", "rider", "flat"};
    memset(x, 0, sizeof *x);
    pictures_open(&x->p, xml, NWORLD, NULL, 2);
    for (int c = 0; c < 3; ++c)
        pictures_model_camera(&x->p, mj_name2id(x->p.model->mj, mjOBJ_CAMERA, names[c]), 70, 50);
    x->p.mode = mode;
    pictures_ready(&x->p);
    for (int t = 0; t < TARGETS; ++t) {
        x->target[t] = x->p.target;
        for (int b = 0; b < STI_BUFFER_COUNT; ++b) x->target[t].pixels[b] = NULL;
        for (int b = 0; b < STI_BUFFER_CAST; ++b) /* the others tell of two pictures */
            OK(STI_ARRAY(x->p.device, "pixels", sti_buffer_dtype((sti_picture_buffer)b), false, &x->target[t].pixels[b],
                         NWORLD * x->p.npixel * sti_buffer_channels((sti_picture_buffer)b)));
        if (t < PLAIN) x->target[t].standing = &x->standing[t];
        if (t < PLAIN) OK(sti_renderer_make_standing(x->p.renderer, &x->standing[t]));
    }
}

static void close_pictures(standing_pictures *x)
{
    for (int t = 0; t < TARGETS; ++t)
        for (int b = 0; b < STI_BUFFER_CAST; ++b) stet_array_destroy(x->target[t].pixels[b]);
    for (int t = 0; t < PLAIN; ++t) sti_standing_free(&x->standing[t]);
    pictures_close(&x->p);
}

/* Moves some bodies of some worlds a little or far; now and then to a place that is none. */
static void move(standing_pictures *x, uint64_t *s, bool first)
{
    for (int i = 0; i < NWORLD * NBODY; ++i) {
        float *pos = x->pos + 3 * i, *quat = x->quat + 4 * i;
        if (first) quat[0] = 1;
        if (i % NBODY == 0 || (!first && dice(s) > 0.15)) continue;
        double far = dice(s) < 0.5 ? 0.05 : 2, turn = dice_in(s, -0.5, 0.5);
        for (int k = 0; k < 3; ++k) pos[k] = (float)(isfinite(pos[k]) ? pos[k] + dice_in(s, -far, far) : 0);
        if (dice(s) < 0.03) pos[1] = NAN;
        quat[0] = (float)cos(turn);
        quat[3] = (float)sin(turn);
    }
    float *pos = malloc(sizeof x->pos), *quat = malloc(sizeof x->quat);
    memcpy(pos, x->pos, sizeof x->pos);
    memcpy(quat, x->quat, sizeof x->quat);
    pictures_take_poses(&x->p, pos, quat);
}

/* Copies a world's pixels from one target to the other, which then has the first one's record of it. */
static void carry(standing_pictures *x, int from, int to, int world)
{
    for (int b = 0; b < STI_BUFFER_CAST; ++b) {
        size_t size = stet_array_get_bytes(x->target[to].pixels[b]), part = size / NWORLD;
        char *a = malloc(size), *c = malloc(size);
        OK(stet_array_read(x->target[from].pixels[b], a, size));
        OK(stet_array_read(x->target[to].pixels[b], c, size));
        memcpy(c + part * (size_t)world, a + part * (size_t)world, part);
        OK(stet_array_write(x->target[to].pixels[b], c, size));
        free(a);
        free(c);
    }
    OK(sti_renderer_carry(x->p.renderer, &x->standing[from], &x->standing[to], &world, 1));
}

static void draw(standing_pictures *x, int t, const int *worlds, int n)
{
    int64_t stood, of;
    OK(sti_renderer_run(x->p.renderer, worlds, n, &x->target[t]));
    if (t == PLAIN) return;
    OK(sti_renderer_count_patches(x->p.renderer, &stood, &of));
    x->stood += stood;
    x->of += of;
}

static void assert_equal_pictures(standing_pictures *x, int t, int world, int frame)
{
    for (int b = 0; b < STI_BUFFER_CAST; ++b) {
        size_t size = stet_array_get_bytes(x->target[t].pixels[b]), part = size / NWORLD;
        char *a = malloc(size), *c = malloc(size);
        OK(stet_array_read(x->target[t].pixels[b], a, size));
        OK(stet_array_read(x->target[PLAIN].pixels[b], c, size));
        for (size_t i = part * (size_t)world; i < part * (size_t)(world + 1); ++i)
            if (a[i] != c[i])
                fail_msg("frame %d, target %d, world %d, buffer %d: byte %zu of the world differs", frame, t, world, b,
                         i - part * (size_t)world);
        free(a);
        free(c);
    }
}

/* What is no transform changes now and then, and with it all patches. */
static void change(standing_pictures *x, uint64_t *s)
{
    if (dice(s) < 0.1) OK(sti_renderer_set_fovy(x->p.renderer, 0, (float)dice_in(s, 40, 60)));
    if (dice(s) < 0.1) OK(sti_renderer_set_samples(x->p.renderer, dice(s) < 0.5 ? 1 : 4));
    if (dice(s) < 0.05) x->standing[dice_below(s, PLAIN)].stale = true;
}

static void test_random_scenes(void **state)
{
    static scene_text text;
    uint64_t s = dice_seed("stand");
    int64_t stood = 0, of = 0;
    for (int scene = 0; scene < SCENES; ++scene) {
        standing_pictures x;
        const int all[NWORLD] = {0, 1, 2};
        write_scene(&text, &s);
        open_pictures(&x, text.at, scene % 3 ? STET_RENDER_MODE_MUJOCO : STET_RENDER_MODE_PHYSICAL);
        for (int frame = 0; frame < FRAMES; ++frame) {
            int t = (int)dice_below(&s, PLAIN), carried = (int)dice_below(&s, 2 * NWORLD), n = 0, worlds[NWORLD];
            if (frame > PLAIN && carried < NWORLD) carry(&x, 1 - t, t, carried);
            move(&x, &s, frame == 0);
            if (frame > 0) change(&x, &s);
            for (int w = 0; w < NWORLD; ++w)
                if (frame < PLAIN || dice(&s) < 0.8) worlds[n++] = w;
            if (frame < PLAIN) t = frame;
            draw(&x, t, worlds, n);
            draw(&x, PLAIN, all, NWORLD);
            for (int i = 0; i < n; ++i) assert_equal_pictures(&x, t, worlds[i], frame);
        }
        stood += x.stood;
        of += x.of;
        close_pictures(&x);
    }
    print_message("%lld of %lld patches stood\n", (long long)stood, (long long)of);
    assert_true(stood > of / 20 && stood < of);
}

/* A ball far from a patch of floor, whose shadow falls on it: the patch stands until the ball moves. */
static void test_a_shadow_that_moves(void **state)
{
    static const char xml[] =
        "<mujoco><worldbody><geom type='plane' size='0 0 1'/><light directional='true' dir='1 0 -1'/>"
        "<body><geom size='.2'/></body><camera name='fixed' pos='5 0 3' fovy='30'/>"
        "<camera name='rider' pos='5 0 3' fovy='30'/><camera name='flat' pos='5 0 3' fovy='30'/></worldbody></mujoco>";
    standing_pictures x;
    const int world = 0;
    open_pictures(&x, xml, STET_RENDER_MODE_MUJOCO);
    for (int frame = 0; frame < 6; ++frame) {
        float *pos = calloc((size_t)NWORLD * 2 * 3, sizeof *pos), *quat = calloc((size_t)NWORLD * 2 * 4, sizeof *quat);
        for (int i = 0; i < NWORLD * 2; ++i) quat[4 * (ptrdiff_t)i] = 1;
        for (int w = 0; w < NWORLD; ++w) pos[3 * (ptrdiff_t)(2 * w + 1)] = frame < 3 ? 0 : (float)(0.1 * frame);
        for (int w = 0; w < NWORLD; ++w) pos[3 * (ptrdiff_t)(2 * w + 1) + 2] = 5;
        pictures_take_poses(&x.p, pos, quat);
        x.stood = x.of = 0;
        draw(&x, 0, &world, 1);
        draw(&x, PLAIN, &world, 1);
        assert_equal_pictures(&x, 0, 0, frame);
        assert_true(x.of > 0 && (frame == 0 ? x.stood == 0 : frame < 3 ? x.stood == x.of : x.stood < x.of));
        if (frame > 2) assert_true(x.stood > 0);
    }
    close_pictures(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_scenes),
        cmocka_unit_test(test_a_shadow_that_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
