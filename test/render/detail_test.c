/* Textures, the sky and smooth normals against what can be said in advance, and the same bits everywhere. */
#include "render/pictures.h"

enum { SIZE = 48, MIDDLE = SIZE / 2 * SIZE + SIZE / 2 };

#define DARK "<visual><headlight active='0'/></visual>"
#define CHECKER "<texture name='t' type='2d' builtin='checker' rgb1='1 .4 0' rgb2='0 0 .6' width='64' height='64'/>"

/* One world, one camera at `eye` that looks at the origin; the texels of a texture may be written before. */
static uint8_t *draw(const char *xml, const double eye[3], sti_picture_buffer buffer, void (*paint)(const mjModel *m))
{
    const double origin[3] = {0, 0, 0};
    pictures p;
    pictures_open(&p, xml, 1, NULL, 1);
    if (paint) paint(p.model->mj);
    pictures_camera(&p, eye, origin, 60, SIZE, SIZE);
    pictures_ready(&p);
    pictures_run(&p);
    uint8_t *rgba = pictures_read(&p, buffer);
    pictures_close(&p);
    return rgba;
}

static void assert_pixel(const uint8_t *rgba, double r, double g, double b)
{
    const double expected[3] = {r, g, b};
    for (int k = 0; k < 3; ++k)
        if (fabs(rgba[k] - 255 * expected[k]) > 1.01)
            fail_msg("channel %d is %d, expected %g", k, rgba[k], 255 * expected[k]);
}

/* A floor of a checker, from two metres above. */
static uint8_t *draw_floor(const char *texrepeat)
{
    const double above[3] = {0, 0, 2};
    char xml[1024];
    (void)snprintf(xml, sizeof xml,
                   "<mujoco>" DARK "<asset>" CHECKER "<material name='m' texture='t' texrepeat='%s' "
                   "texuniform='true' emission='1'/></asset><worldbody><geom type='plane' size='0 0 1' "
                   "material='m'/></worldbody></mujoco>",
                   texrepeat);
    return draw(xml, above, STI_BUFFER_COLOUR, NULL);
}

/* A checker of half a metre on the floor: its pixels by their place, but for those near an edge. */
static void test_checker_lies_on_a_plane(void **state)
{
    uint8_t *rgba = draw_floor("2 2");
    int seen[2] = {0, 0};
    for (int i = 0; i < SIZE * SIZE; ++i) {
        double step = 2 * 2 * tan(mjPI / 6) / SIZE, x = (i % SIZE + 0.5 - SIZE / 2.0) * step,
               y = (SIZE / 2.0 - i / SIZE - 0.5) * step;
        double u = x * 2, v = y * 2; /* squares */
        if (fabs(u - rint(u)) < 0.2 || fabs(v - rint(v)) < 0.2) continue;
        bool odd = ((int)floor(u) + (int)floor(v)) & 1;
        assert_pixel(rgba + 4 * (ptrdiff_t)i, odd ? 1 : 0, odd ? 0.4 : 0, odd ? 0 : 0.6);
        seen[odd]++;
    }
    assert_true(seen[0] > 300 && seen[1] > 300);
    free(rgba);
}

/* Squares much smaller than a pixel have one colour: the mean. */
static void test_fine_checker_does_not_shimmer(void **state)
{
    uint8_t *rgba = draw_floor("301 297");
    for (int i = 0; i < SIZE * SIZE; ++i) assert_pixel(rgba + 4 * (ptrdiff_t)i, 0.5, 0.2, 0.3);
    free(rgba);
}

/* Light counts once: the texture multiplies what the light makes of the colour, and the colour without light. */
static void test_texture_multiplies(void **state)
{
    const double above[3] = {0, 0, 2};
    const char *xml = "<mujoco>" DARK "<asset><texture name='t' type='2d' builtin='flat' rgb1='.5 1 .25' width='4' "
                      "height='4'/><material name='m' texture='t' rgba='.8 .4 1 1' specular='0'/></asset><worldbody>"
                      "<light directional='true' dir='0 0 -1' diffuse='.5 .5 .5' castshadow='false'/>"
                      "<geom type='box' size='1 1 .1' material='m'/></worldbody></mujoco>";
    uint8_t *rgba = draw(xml, above, STI_BUFFER_COLOUR, NULL), *albedo = draw(xml, above, STI_BUFFER_ALBEDO, NULL);
    assert_pixel(rgba + 4 * MIDDLE, 0.2, 0.2, 0.125);
    assert_pixel(albedo + 4 * MIDDLE, 0.4, 0.4, 0.25);
    free(rgba);
    free(albedo);
}

/* Faces of a cube, in MuJoCo's order: right, left, up, down, front, back are OpenGL's +x, -x, +y, -y, +z, -z. */
static const double face_colours[6][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 1, 0}, {0, 1, 1}, {1, 0, 1}};

static void paint_faces(const mjModel *m)
{
    int n = m->tex_width[0] * m->tex_width[0];
    for (int f = 0; f < 6; ++f)
        for (int i = 0; i < n; ++i)
            for (int k = 0; k < 3; ++k)
                m->tex_data[m->tex_adr[0] + 3 * (f * n + i) + k] = (mjtByte)(255 * face_colours[f][k]);
}

static void test_cube_has_its_faces(void **state)
{
    for (int f = 0; f < 6; ++f) {
        double eye[3] = {0.01, 0.01, 0.01};
        eye[f / 2] = f % 2 ? -3 : 3;
        uint8_t *rgba = draw("<mujoco>" DARK "<asset><texture name='t' type='cube' builtin='flat' width='16' "
                             "height='96'/><material name='m' texture='t' emission='1'/></asset><worldbody>"
                             "<geom type='box' size='.5 .7 .9' material='m'/></worldbody></mujoco>",
                             eye, STI_BUFFER_COLOUR, paint_faces);
        assert_pixel(rgba + 4 * MIDDLE, face_colours[f][0], face_colours[f][1], face_colours[f][2]);
        free(rgba);
    }
}

/* The sky is a cube that is turned: what MuJoCo calls up is above, and front is where y is less. */
static void test_sky_has_its_faces(void **state)
{
    static const int face_of[6] = {0, 1, 5, 4, 2, 3}; /* seen along +x, -x, +y, -y, +z, -z */
    for (int way = 0; way < 6; ++way) {
        double eye[3] = {0.01, 0.01, 0.01};
        eye[way / 2] = way % 2 ? 3 : -3;
        const double *expected = face_colours[face_of[way]];
        uint8_t *rgba = draw("<mujoco><asset><texture type='skybox' builtin='flat' width='16' height='96'/></asset>"
                             "<worldbody/></mujoco>",
                             eye, STI_BUFFER_COLOUR, paint_faces);
        assert_pixel(rgba + 4 * MIDDLE, expected[0], expected[1], expected[2]);
        free(rgba);
    }
}

/* From the horizon, where sky begins, down to where a ray meets the plane at 0.7 of the cone's radius. */
static void test_haze_ends_at_the_horizon(void **state)
{
    const double eye[3] = {0, -3, 1}, radius = 0.7 * 10, width = 0.5, up = atan2(1, width);
    const double thick = sqrt(0.5) * width * sin(up) / sin(0.75 * mjPI - up);
    uint8_t *rgba = draw("<mujoco><statistic extent='1'/><visual><headlight active='0'/><map zfar='10' haze='.5'/>"
                         "<rgba haze='0 1 0 1'/></visual><asset><texture type='skybox' builtin='flat' rgb1='0 0 1' "
                         "rgb2='0 0 1' width='16' height='96'/><material name='m' rgba='1 0 0 1' emission='1'/></asset>"
                         "<worldbody><geom type='plane' size='0 0 1' material='m'/></worldbody></mujoco>",
                         eye, STI_BUFFER_COLOUR, NULL);
    int hazy = 0;
    for (int y = 0; y < SIZE; ++y) {
        double v = (SIZE / 2.0 - y - 0.5) * 2 * tan(mjPI / 6) / SIZE, angle = atan2(v, 1) - atan2(1, 3);
        double slope = -tan(angle), low = slope / (1 / radius + slope * width), high = 1 - low, share = 0;
        const uint8_t *pixel = rgba + 4 * (ptrdiff_t)(y * SIZE + SIZE / 2);
        if (slope > 0 && low < 1) share = high < thick ? high / thick : low / (1 - thick);
        bool sky = slope < 0.1; /* the plane ends at a depth of 10 m */
        if (fabs(slope - 0.1) < 0.02) continue;
        if (fabs(pixel[1] / 255.0 - share) > 0.02) fail_msg("row %d: haze %d, expected %g", y, pixel[1], 255 * share);
        assert_true(pixel[sky ? 0 : 2] == 0);
        hazy += share > 0.1;
    }
    assert_true(hazy > 5);
    free(rgba);
}

/* The largest difference of a channel between two pictures, without the two pixels along outlines. */
static int worst_inside(const uint8_t *a, const uint8_t *b)
{
    int worst = 0;
    for (int y = 2; y < SIZE - 2; ++y) {
        for (int x = 2; x < SIZE - 2; ++x) {
            bool inside = true;
            for (int j = -2; j <= 2; ++j)
                for (int i = -2; i <= 2; ++i) inside &= a[4 * ((y + j) * SIZE + x + i) + 3] == 255;
            for (int k = 0; k < 3 && inside; ++k) {
                int at = 4 * (y * SIZE + x) + k, off = abs(a[at] - b[at]);
                worst = off > worst ? off : worst;
            }
        }
    }
    return worst;
}

/* A mesh of a ball is lit as a ball; without its vertices' normals its faces would show. */
static void test_smooth_mesh_is_lit_as_a_ball(void **state)
{
#define BALL(geom)                                                                                                     \
    "<mujoco>" DARK "<asset><mesh name='b' builtin='sphere' params='3'/><material name='m' rgba='.9 .8 .7 1' "         \
    "specular='0'/></asset><worldbody><light directional='true' dir='-.6 0 -.8' diffuse='.9 .9 .9' "                   \
    "castshadow='false'/><geom " geom " material='m'/></worldbody></mujoco>"
    const double eye[3] = {1, -3, 2};
    uint8_t *mesh = draw(BALL("type='mesh' mesh='b'"), eye, STI_BUFFER_COLOUR, NULL);
    uint8_t *ball = draw(BALL("type='sphere' size='1'"), eye, STI_BUFFER_COLOUR, NULL);
    assert_in_range(worst_inside(mesh, ball), 0, 5);
    free(mesh);
    free(ball);
}

/* ---- the same bits ----------------------------------------------------------------------------------------------- */

/* All types of geoms with each kind of texture, some transparent, a mesh with coordinates, a sky; odd sizes. */
static const char details[] =
    "<mujoco><asset><texture type='skybox' builtin='checker' rgb1='.7 .8 .9' rgb2='.2 .3 .4' mark='edge' markrgb='1 0 "
    "0' "
    "width='33' height='198'/><texture name='c' type='cube' builtin='gradient' mark='cross' rgb1='1 .5 .2' "
    "rgb2='.1 .2 .9' width='31' height='186'/><texture name='t' type='2d' builtin='checker' rgb1='.9 .4 .2' "
    "rgb2='.2 .5 .8' mark='edge' markrgb='1 1 1' width='37' height='50'/>"
    "<material name='a' texture='t' texrepeat='2 3'/><material name='b' texture='c' rgba='1 1 1 .6'/>"
    "<material name='u' texture='t' texrepeat='2 1' texuniform='true'/><material name='v' texture='c' "
    "texuniform='true'/><mesh name='ball' builtin='sphere' params='1' scale='.3 .3 .2'/>"
    "<mesh name='tent' vertex='-.4 -.3 0 .4 -.3 0 .4 .3 0 -.4 .3 0 0 0 .5' texcoord='0 0 1 0 1 1 0 1 .5 .5' "
    "face='0 1 4 1 2 4 2 3 4 3 0 4 0 3 2 0 2 1'/></asset><worldbody>"
    "<light directional='true' dir='-.5 .25 -.8' diffuse='.6 .6 .6'/><geom type='plane' size='0 0 1' material='u'/>"
    "<geom type='plane' size='.4 .3 1' pos='-1 -1 .3' material='a'/><geom type='box' size='.25 .125 .25' "
    "pos='-1 0 .5' quat='1 2 2 4' material='a'/><geom type='box' size='.25 .125 .25' pos='-1 1 .5' quat='4 1 2 2' "
    "material='v'/><geom type='sphere' size='.25' pos='0 -1 .5' quat='2 4 1 2' material='a'/><geom type='ellipsoid' "
    "size='.25 .125 .375' pos='0 0 .5' material='b'/><geom type='capsule' size='.125 .25' pos='0 1 .5' "
    "quat='2 1 0 0' material='a'/><geom type='capsule' size='.125 .25' pos='.5 1 .5' material='v'/><geom "
    "type='cylinder' size='.125 .25' pos='1 -1 .5' quat='2 1 0 0' material='u'/><geom type='mesh' mesh='ball' "
    "pos='1 0 .5' material='b'/><geom type='mesh' mesh='tent' pos='1 1 .25' material='a'/>"
    "<camera pos='0 -4 1.5' xyaxes='1 0 0 0 .35 .94' fovy='45'/><camera pos='0 0 3' fovy='45' "
    "projection='orthographic'/>"
    "</worldbody></mujoco>";

static const uint64_t golden[2] = {0x7de9d9c029ba0268, 0x85cb4b06198a5569}; /* colour, albedo */

static void test_golden_hashes(void **state)
{
    static const char *const isas[] = {"portable", "w1", "avx2", "avx512"};
    for (int i = 0; i < 4; ++i) {
        sti_isa isa;
        if (!sti_isa_find(isas[i], &isa) || !sti_isa_available(isa)) continue;
        for (int threads = 1; threads <= 3; threads += 2) {
            pictures p;
            uint64_t hash[2];
            pictures_open(&p, details, 3, isas[i], threads);
            pictures_model_camera(&p, 0, 90, 61);
            pictures_model_camera(&p, 1, 60, 60);
            pictures_ready(&p);
            pictures_run(&p);
            OK(stet_array_hash(p.target.pixels[STI_BUFFER_COLOUR], &hash[0]));
            OK(stet_array_hash(p.target.pixels[STI_BUFFER_ALBEDO], &hash[1]));
            if (memcmp(hash, golden, sizeof hash) != 0)
                print_message("%s, %d threads: 0x%016llx, 0x%016llx\n", isas[i], threads, (unsigned long long)hash[0],
                              (unsigned long long)hash[1]);
            assert_memory_equal(hash, golden, sizeof hash);
            pictures_close(&p);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_checker_lies_on_a_plane),
        cmocka_unit_test(test_fine_checker_does_not_shimmer),
        cmocka_unit_test(test_texture_multiplies),
        cmocka_unit_test(test_cube_has_its_faces),
        cmocka_unit_test(test_sky_has_its_faces),
        cmocka_unit_test(test_haze_ends_at_the_horizon),
        cmocka_unit_test(test_smooth_mesh_is_lit_as_a_ball),
        cmocka_unit_test(test_golden_hashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
