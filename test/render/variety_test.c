/*
 * Looks that differ between worlds, and sizes and places of geoms, which the physics has, too: each world has the bits
 * of a model that was edited by hand, in both modes; worlds that were given the model's own numbers, or whose looks
 * were taken back, have the model's. Draws at resets.
 */
#include "render/pictures.h"
#include "worlds/parameter.h"
#include "worlds/worlds.h"

enum { WORLDS = 4, SIDE = 49 };

static const char scene[] =
    "<mujoco><visual><headlight ambient='.2 .2 .2'/></visual><asset>"
    "<texture name='c' type='2d' builtin='checker' rgb1='.9 .2 .1' rgb2='.1 .3 .8' width='32' height='32'/>"
    "<texture name='g' type='cube' builtin='gradient' rgb1='.1 .9 .2' rgb2='.3 .2 .6' width='16' height='16'/>"
    "<mesh name='ball' builtin='sphere' params='2' scale='.3 .3 .3'/>"
    "<mesh name='tip' vertex='0 0 0 .5 0 0 0 .4 0 0 0 .6' texcoord='0 0 1 0 0 1 1 1' face='0 2 1 0 1 3 1 2 3 2 0 3'/>"
    "<mesh name='block' builtin='sphere' params='1' scale='.2 .4 .3'/>"
    "<material name='check' texture='c' texrepeat='3 3' texuniform='true'/>"
    "<material name='cube' texture='g' specular='.9' shininess='.8'/>"
    "<material name='glass' rgba='.2 .3 .3 1' reflectance='.4' texture='c'/>"
    "<material name='plain' rgba='.3 .7 .9 1' emission='.2'/></asset><worldbody>"
    "<light pos='1 -1 3' dir='-1 1 -3' diffuse='.6 .6 .6' specular='.3 .3 .3'/>"
    "<light directional='true' dir='0 0 -1' diffuse='.2 .3 .2' castshadow='false'/>"
    "<site name='a' type='box' size='.1 .05 .05' pos='.5 .6 .2' material='plain'/>"
    "<light type='spot' pos='-1 -1 2' dir='1 1 -2' diffuse='.5 .5 .4' cutoff='30' exponent='4' castshadow='false'/>"
    "<geom type='plane' size='2 2 .1' material='check'/>"
    "<geom type='box' size='.2 .3 .2' pos='-.6 0 .3' material='glass'/>"
    "<geom type='cylinder' size='.15 .1' pos='-.5 -.6 .2' euler='80 0 0' material='check'/>"
    "<geom type='mesh' mesh='ball' pos='.4 .3 .4' material='plain'/>"
    "<geom type='capsule' size='.12 .3' pos='0 -.5 .3' euler='20 70 0' material='cube'/>"
    "<geom type='ellipsoid' size='.2 .1 .2' pos='.6 -.4 .3' rgba='.4 .5 .6 .5'/>"
    "<body><freejoint/><geom size='.1' pos='-.1 .4 .9' rgba='.9 .8 .1 1'/>"
    "<site name='b' size='.03' pos='-.1 .4 .8' material='cube'/></body>"
    "<flexcomp name='cloth' type='grid' dim='2' count='3 3 1' spacing='.1 .1 .1' pos='.1 -.2 .8' material='plain'/>"
    "<camera pos='0 -2.4 1.6' xyaxes='1 0 0 0 .55 .84' fovy='50'/>"
    "<camera pos='0 -.4 -2' xyaxes='1 0 0 0 -1 0' resolution='49 49' sensorsize='.01 .01' focal='.012 .011'/>"
    "</worldbody><tendon><spatial width='.02' material='plain'><site site='a'/><site site='b'/></spatial></tendon>"
    "</mujoco>";

static const char *const looks[] = {"geom_matid",
                                    "geom_rgb",
                                    "light_ambient",
                                    "light_diffuse",
                                    "light_specular",
                                    "cam_fovy",
                                    "cam_pos",
                                    "cam_quat",
                                    "light_pos",
                                    "light_dir",
                                    "geom_pos",
                                    "geom_quat",
                                    "geom_size",
                                    "mat_rgb",
                                    "geom_dataid",
#define LOOK(name, items, rule, derives) #name,
                                    STI_PARAMETER_MORE_LOOKS(LOOK)
#undef LOOK
};
enum {
    CAM_POS = 6,
    CAM_QUAT,
    LIGHT_POS,
    LIGHT_DIR,
    GEOM_POS,
    GEOM_QUAT,
    GEOM_SIZE,
    MAT_RGB,
    MESH,
    MORE_LOOKS,
    MOST = 64
};
enum { NLOOK = sizeof looks / sizeof *looks };

static double unit_of(uint64_t *dice) { return (double)(dice_next(dice) >> 40) / (1 << 24); }

/* A random value of a look in a world; the model's own in world 1. */
static double value_of(const mjModel *m, int look, int w, int i, uint64_t *dice)
{
    double u = unit_of(dice), own;
    sti_parameter which;
    assert_true(sti_parameter_find(looks[look], &which));
    own = sti_parameter_own_number(m, which, i);
    if (w == 1) return own;
    if (look == MESH) return m->geom_type[i] == mjGEOM_MESH ? u * (double)m->nmesh : own;
    if (look == GEOM_SIZE) {
        int type = m->geom_type[i / 3];
        return type == mjGEOM_MESH ? own : type == mjGEOM_PLANE && u < .3 ? 0 : own * (.5 + u);
    }
    if (which == STI_PARAMETER_cam_intrinsic) return own * (i < 4 ? 1 : .7 + .6 * u); /* camera 0 has no sensor */
    if (which == STI_PARAMETER_light_cutoff) return u < .2 ? 180 : 90 * u;
    if (which == STI_PARAMETER_light_exponent) return 10 * u;
    if (look >= MAT_RGB) return u;
    if (look >= CAM_POS) return own + (look == CAM_QUAT || look == GEOM_QUAT ? .1 : .4) * (u - .5);
    if (look == 0) { /* what reflects in the model does so in all worlds, and no other plane or box */
        double x = -1 + u * (double)(m->nmat + 1);
        int material = (int)floor(x);
        bool may = m->geom_type[i] == mjGEOM_PLANE || m->geom_type[i] == mjGEOM_BOX;
        bool reflects = material >= 0 && m->mat_reflectance[material] > 0;
        return may && reflects != (m->mat_reflectance[m->geom_matid[i]] > 0) ? own : x;
    }
    return look == 5 ? 20 + 60 * u : look == 1 && u < 0.2 ? 0.5 : u;
}

static void edit(const mjModel *m, int look, int w, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        float value = (float)x[w * n + i];
        if (look == 0) m->geom_matid[i] = (int)floor(x[w * n + i]);
        if (look == 1) m->geom_rgba[4 * (i / 3) + i % 3] = value;
        if (look == 2) m->light_ambient[i] = value;
        if (look == 3) m->light_diffuse[i] = value;
        if (look == 4) m->light_specular[i] = value;
        if (look == 5) m->cam_fovy[i] = x[w * n + i];
        if (look == CAM_POS) m->cam_pos[i] = x[w * n + i];
        if (look == CAM_QUAT) m->cam_quat[i] = x[w * n + i];
        if (look == LIGHT_POS) m->light_pos[i] = x[w * n + i];
        if (look == LIGHT_DIR) m->light_dir[i] = x[w * n + i];
        if (look == GEOM_POS) m->geom_pos[i] = x[w * n + i];
        if (look == GEOM_QUAT) m->geom_quat[i] = x[w * n + i];
        if (look == GEOM_SIZE) m->geom_size[i] = x[w * n + i];
        if (look == MESH) m->geom_dataid[i] = (int)floor(x[w * n + i]);
        if (look == MAT_RGB) m->mat_rgba[4 * (i / 3) + i % 3] = value;
    }
#define EDIT(name, items, rule, derives)                                                                               \
    for (int64_t i = 0; strcmp(looks[look], #name) == 0 && i < n; ++i) m->name[i] = (float)x[w * n + i];
    STI_PARAMETER_MORE_LOOKS(EDIT)
#undef EDIT
    for (int64_t c = 0; look == CAM_QUAT && w != 1 && c < m->ncam; ++c) mju_normalize4(m->cam_quat + 4 * c);
    for (int64_t g = 0; look == GEOM_QUAT && w != 1 && g < m->ngeom; ++g) mju_normalize4(m->geom_quat + 4 * g);
}

static void open_scene(pictures *p, int64_t nworld, stet_render_mode mode)
{
    pictures_open(p, scene, nworld, NULL, 2);
    p->mode = mode;
}

static void ready(pictures *p)
{
    for (int c = 0; c < 2; ++c) pictures_model_camera(p, c, SIDE, SIDE);
    pictures_ready(p);
}

static void compare(const pictures *all, int w, const pictures *one, const char *what)
{
    for (int b = 0; b < STI_BUFFER_CAST; ++b)
        if (pictures_hash(all, (sti_picture_buffer)b, w) != pictures_hash(one, (sti_picture_buffer)b, 0))
            fail_msg("%s, world %d, buffer %d: not that of an edited model", what, w, b);
}

/* The picture of a model with the looks of world w. */
static void check_world(const pictures *all, int w, bool given[NLOOK], double x[NLOOK][WORLDS * MOST], const char *what)
{
    pictures one;
    open_scene(&one, 1, all->mode);
    for (int k = 0; k < NLOOK; ++k)
        if (given[k]) edit(one.model->mj, k, w, x[k], stet_worlds_get_parameter_items(one.worlds, looks[k]));
    stet_stage_destroy(one.stage); /* which has the places of before */
    OK(stet_stage_create(one.worlds, &one.stage));
    ready(&one);
    pictures_run(&one);
    compare(all, w, &one, what);
    pictures_close(&one);
}

static void kf52_each_world_is_that_of_an_edited_model(void **state)
{
    static double x[NLOOK][WORLDS * MOST];
    uint64_t dice = dice_seed("kf52_each_world_is_that_of_an_edited_model");
    for (int mode = 0; mode < STET_RENDER_MODE_COUNT; ++mode) {
        pictures p;
        bool given[NLOOK] = {false};
        open_scene(&p, WORLDS, (stet_render_mode)mode);
        ready(&p);
        pictures_run(&p);
        uint64_t plain = pictures_hash(&p, STI_BUFFER_COLOUR, 0);
        for (int round = 0; round < NLOOK + 4; ++round) {
            int k = round < NLOOK ? round : (int)dice_below(&dice, NLOOK);
            int64_t n = stet_worlds_get_parameter_items(p.worlds, looks[k]);
            uint64_t version = sti_renderer_appearance(p.renderer)->generation;
            given[k] = round < NLOOK || !given[k];
            for (int w = 0; w < WORLDS; ++w)
                for (int i = 0; i < n; ++i) x[k][w * n + i] = value_of(p.model->mj, k, w, i, &dice);
            OK(stet_worlds_set_parameter(p.worlds, looks[k], given[k] ? x[k] : NULL, given[k] ? n * WORLDS : 0));
            OK(sti_renderer_update(p.renderer));
            bool place = k >= CAM_POS && k < GEOM_SIZE; /* transforms move, and nothing else */
            assert_true((sti_renderer_appearance(p.renderer)->generation == version) == place);
            version = sti_renderer_appearance(p.renderer)->generation;
            OK(sti_renderer_update(p.renderer));
            assert_true(sti_renderer_appearance(p.renderer)->generation == version);
            pictures_run(&p);
            for (int w = 0; w < WORLDS; ++w) check_world(&p, w, given, x, looks[k]);
            assert_true(pictures_hash(&p, STI_BUFFER_COLOUR, 1) == plain);
            assert_true(pictures_hash(&p, STI_BUFFER_COLOUR, 0) != plain);
        }
        for (int k = 0; k < NLOOK; ++k) OK(stet_worlds_set_parameter(p.worlds, looks[k], NULL, 0));
        for (int k = 0; k < NLOOK; ++k) { /* each alone */
            bool alone[NLOOK] = {[0] = false};
            alone[k] = true;
            OK(stet_worlds_set_parameter(p.worlds, looks[k], x[k],
                                         WORLDS * stet_worlds_get_parameter_items(p.worlds, looks[k])));
            pictures_run(&p);
            check_world(&p, 0, alone, x, looks[k]);
            OK(stet_worlds_set_parameter(p.worlds, looks[k], NULL, 0));
        }
        pictures_run(&p);
        for (int w = 0; w < WORLDS; ++w) assert_true(pictures_hash(&p, STI_BUFFER_COLOUR, w) == plain);
        pictures_close(&p);
    }
}

/* Draws at a reset: only worlds that are reset change, every material comes, and the state is what it is without. */
static void resets_draw_looks(void **state)
{
    enum { MANY = 64 };
    pictures p;
    open_scene(&p, MANY, STET_RENDER_MODE_MUJOCO);
    const int ngeom = (int)p.model->mj->ngeom, nmat = (int)p.model->mj->nmat;
    double *x = calloc((size_t)MANY * MOST, sizeof *x), low = 0, high = nmat;
    uint64_t hash[2];
    stet_reset_def def = stet_default_reset_def();
    uint8_t mask[MANY] = {0};
    int found[8] = {0};
    ready(&p);
    OK(stet_worlds_reset(p.worlds, &def));
    OK(stet_worlds_hash(p.worlds, &hash[0]));
    OK(stet_worlds_randomize(p.worlds, "geom_matid", &low, &high, 1));
    OK(stet_worlds_randomize(p.worlds, "light_diffuse", (double[]){0.1}, (double[]){0.9}, 1));
    OK(stet_worlds_randomize(p.worlds, "cam_pos", (double[]){0, -2.4, 1.5, 0, -.4, -2},
                             (double[]){.2, -2.2, 1.7, 0, -.4, -2}, 6));
    OK(stet_worlds_reset(p.worlds, &def));
    OK(stet_worlds_hash(p.worlds, &hash[1]));
    assert_true(hash[0] == hash[1]);
    OK(stet_worlds_get_parameter(p.worlds, "geom_matid", x, (int64_t)MANY * ngeom));
    for (int i = 0; i < MANY * ngeom; ++i) found[(int)floor(x[i])]++;
    double places[MANY * 6], sum = 0;
    OK(stet_worlds_get_parameter(p.worlds, "cam_pos", places, MANY * 6));
    for (int w = 0; w < MANY; ++w) {
        float m[12];
        OK(stet_stage_read_world(p.stage, p.camera[0].prim, w, 1, m));
        assert_true(m[3] == (float)places[6 * w] && m[7] == (float)places[6 * w + 1] && places[6 * w + 5] == -2);
        sum += places[6 * w];
    }
    assert_true(fabs(sum / MANY - .1) < .04);
    for (int k = 0; k < nmat; ++k) assert_in_range(found[k], MANY * ngeom / nmat / 2, MANY * ngeom / nmat * 2);
    pictures_run(&p);
    uint64_t before[2] = {pictures_hash(&p, STI_BUFFER_COLOUR, 3), pictures_hash(&p, STI_BUFFER_COLOUR, 4)};
    assert_true(before[0] != before[1]);
    mask[4] = 1;
    def.mask = mask;
    OK(stet_worlds_reset(p.worlds, &def));
    pictures_run(&p);
    assert_true(pictures_hash(&p, STI_BUFFER_COLOUR, 3) == before[0]);
    assert_true(pictures_hash(&p, STI_BUFFER_COLOUR, 4) != before[1]);
    free(x);
    pictures_close(&p);
}

#define REFUSED(words, call)                                                                                           \
    do {                                                                                                               \
        assert_int_equal(call, STET_ERROR_INVALID_ARGUMENT);                                                           \
        if (!strstr(stet_get_last_error(), words)) fail_msg("'%s' is not in: %s", words, stet_get_last_error());       \
    } while (0)

static void bad_looks_are_refused(void **state)
{
    pictures p;
    double x[MOST] = {0};
    open_scene(&p, 2, STET_RENDER_MODE_MUJOCO);
    stet_worlds *w = p.worlds;
    int64_t ngeom = p.model->mj->ngeom;
    x[2] = 4;
    REFUSED("the model has 4 materials: give less", stet_worlds_set_parameter(w, "geom_matid", x, ngeom));
    x[2] = -1.5;
    REFUSED("or -1 for none", stet_worlds_set_parameter(w, "geom_matid", x, ngeom));
    REFUSED("the model has 4 materials", stet_worlds_randomize(w, "geom_matid", (double[]){0}, (double[]){4.5}, 1));
    REFUSED("number 2 is -1.5", stet_worlds_set_parameter(w, "geom_rgb", x, 3 * ngeom));
    REFUSED("from 0 to 180", stet_worlds_set_parameter(w, "light_cutoff", (double[]){181, 1, 1}, 3));
    REFUSED("focal length", stet_worlds_set_parameter(w, "cam_intrinsic", (double[8]){0}, 8));
    REFUSED("above 0 and below 180", stet_worlds_set_parameter(w, "cam_fovy", x, 2));
    REFUSED("length is not 0", stet_worlds_set_parameter(w, "light_dir", (double[9]){0}, 9));
    REFUSED("length is not 0", stet_worlds_randomize(w, "light_dir", (double[]){-1}, (double[]){1}, 1));
    REFUSED("length is not 0", stet_worlds_set_parameter(w, "cam_quat", (double[8]){1}, 8));
    REFUSED("numbers; give 9", stet_worlds_set_parameter(w, "light_diffuse", x, 5));
    p.renderer = NULL;
    pictures_close(&p);
    pictures_open(&p, "<mujoco><worldbody><body><geom size='.1'/><camera mode='trackcom'/></body></worldbody></mujoco>",
                  1, NULL, 1);
    assert_int_equal(stet_worlds_set_parameter(p.worlds, "cam_pos", (double[]){1, 2, 3}, 3), STET_ERROR_UNSUPPORTED);
    pictures_close(&p);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf52_each_world_is_that_of_an_edited_model),
        cmocka_unit_test(resets_draw_looks),
        cmocka_unit_test(bad_looks_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
