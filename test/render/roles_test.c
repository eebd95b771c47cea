/*
 * Textures of other roles than colour, metallic and roughness, in mode physical: each pixel against the light that a
 * plain version in double computes from the texels; and none of it in mode mujoco.
 */
#include "render/pictures.h"

enum { SIZE = 64, NTEXEL = SIZE * SIZE };
enum { COLOUR, NORMALS, ORM, LIGHT, NTEXTURE };

static uint64_t seed;
static double part(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static double linear_of(double c) { return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4); }
static double byte_of(double light)
{
    light = fmin(light, 1);
    return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055);
}

static double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Random texels; normals are not far from upright. */
static void paint(const mjModel *m)
{
    for (int t = 0; t < (int)m->ntex; ++t)
        for (int i = 0; i < m->tex_width[t] * m->tex_height[t]; ++i)
            for (int k = 0; k < m->tex_nchannel[t]; ++k) {
                double low = t == NORMALS ? (k == 2 ? 160 : 64) : t == ORM && k == 1 ? 60 : 0;
                double high = t == NORMALS && k < 2 ? 192 : t == LIGHT ? 90 : 255;
                m->tex_data[m->tex_adr[t] + m->tex_nchannel[t] * i + k] = (mjtByte)(low + (high - low) * part());
            }
}

/* A channel of a texel as the renderer keeps it: a square root of ten bits. */
static double texel(const mjModel *m, int texture, int at, int k)
{
    int n = m->tex_nchannel[texture];
    double v = m->tex_data[m->tex_adr[texture] + n * at + (n > 1 ? k : 0)] / 255.0;
    double root = rint(1023 * sqrt(texture == COLOUR || texture == LIGHT ? linear_of(v) : v)) / 1023;
    return root * root;
}

/* How a picture lies on the surface that fills the camera's: a texel's place, its x and its up in the plane. */
typedef struct lie {
    int (*at)(int column, int row);
    double along[3], up[3];
} lie;

static int upright(int column, int row) { return row * SIZE + column; }
static int mirrored(int column, int row) { return row * SIZE + SIZE - 1 - column; }
static int turned(int column, int row) { return column * SIZE + SIZE - 1 - row; }

typedef struct surface {
    double base[3], specular, exponent, emission; /* of the material */
    double open, rough, metal, light[3], n[3];    /* n: world */
    bool metallic;
} surface;

/* glTF 2.0, appendix B, in its own words, times pi. */
static void add_metallic(const surface *s, const double *v, const double *l, const double *colour, double *rgb)
{
    double h[3], nl = dot(s->n, l), nv = fmax(dot(s->n, v), 1e-4), len = 0;
    for (int k = 0; k < 3; ++k) h[k] = l[k] + v[k];
    len = sqrt(dot(h, h));
    for (int k = 0; k < 3; ++k) h[k] /= len;
    if (nl <= 0) return;
    double rough = fmax(s->rough, 0.045), a2 = pow(rough, 4), nh = fmax(dot(s->n, h), 0), vh = dot(v, h);
    double d = a2 / (mjPI * pow(nh * nh * (a2 - 1) + 1, 2));
    double joint = 2 * nl * nv / (nl * sqrt(nv * nv * (1 - a2) + a2) + nv * sqrt(nl * nl * (1 - a2) + a2));
    for (int k = 0; k < 3; ++k) {
        double f0 = (1 - s->metal) * 0.16 * s->specular * s->specular + s->metal * s->base[k];
        double f = f0 + (1 - f0) * pow(1 - fabs(vh), 5);
        double diffuse = (1 - f) * s->base[k] * (1 - s->metal) / mjPI, glossy = f * d * joint / (4 * nl * nv);
        rgb[k] += mjPI * (diffuse + glossy) * colour[k] * nl;
    }
}

static void add_opengl(const surface *s, const double *v, const double *l, const double *diffuse,
                       const double *specular, double *rgb)
{
    double h[3], nl = dot(s->n, l);
    for (int k = 0; k < 3; ++k) h[k] = l[k] + v[k];
    if (nl <= 0) return;
    double shine = pow(fmax(dot(s->n, h) / sqrt(dot(h, h)), 0), s->exponent) * s->specular;
    for (int k = 0; k < 3; ++k) rgb[k] += nl * diffuse[k] * s->base[k] + shine * specular[k];
}

/* What a material makes of a texel. */
static surface surface_at(const mjModel *m, int at, const double mat[9], const lie *how)
{
    const int *roles = m->mat_texid;
    surface s = {.open = 1, .rough = m->mat_roughness[0], .metal = m->mat_metallic[0]};
    double n[3] = {0, 0, 1}, *orm[3] = {&s.open, &s.rough, &s.metal};
    bool given[3] = {false, s.rough >= 0, s.metal >= 0};
    s.specular = m->mat_specular[0];
    s.exponent = 128 * (double)m->mat_shininess[0];
    s.emission = m->mat_emission[0];
    for (int k = 0; k < 3; ++k) {
        int own = roles[mjTEXROLE_OCCLUSION + k], texture = own >= 0 ? own : roles[mjTEXROLE_ORM];
        if (!given[k]) *orm[k] = texture >= 0 || k < 2;
        if (texture >= 0) *orm[k] *= texel(m, texture, at, k);
        if (k > 0) s.metallic |= given[k] || texture >= 0;
        *orm[k] = rint(1023 * *orm[k]) / 1023;
        s.base[k] = linear_of(m->mat_rgba[k]);
        if (roles[mjTEXROLE_RGB] >= 0) {
            double root = rint(255 * sqrt(texel(m, roles[mjTEXROLE_RGB], at, k))) / 255;
            s.base[k] *= root * root;
        }
        if (roles[mjTEXROLE_EMISSIVE] >= 0) s.light[k] = texel(m, roles[mjTEXROLE_EMISSIVE], at, k);
    }
    if (roles[mjTEXROLE_NORMAL] >= 0) {
        double t[3];
        for (int k = 0; k < 3; ++k) t[k] = 2 * texel(m, roles[mjTEXROLE_NORMAL], at, k) - 1;
        for (int k = 0; k < 3; ++k) n[k] = t[0] * how->along[k] + t[1] * how->up[k] + t[2] * (k == 2);
    }
    mju_normalize3(n);
    mju_mulMatVec3(s.n, mat, n);
    return s;
}

/* The light of a pixel: of the model's lamps, which cast no shadows. */
static void light_of(const mjModel *m, const mjData *d, const surface *s, const double point[3], const double v[3],
                     double rgb[3])
{
    for (int k = 0; k < 3; ++k) rgb[k] = s->emission * s->base[k] + s->light[k];
    for (ptrdiff_t i = 0; i < m->nlight; ++i) {
        double l[3], ambient[3], diffuse[3], specular[3];
        for (int k = 0; k < 3; ++k) {
            bool positional = m->light_type[i] != mjLIGHT_DIRECTIONAL;
            l[k] = positional ? d->light_xpos[3 * i + k] - point[k] : -d->light_xdir[3 * i + k];
            ambient[k] = m->light_ambient[3 * i + k];
            diffuse[k] = m->light_diffuse[3 * i + k];
            specular[k] = m->light_specular[3 * i + k];
            rgb[k] += ambient[k] * s->base[k] * s->open;
        }
        mju_normalize3(l);
        if (s->metallic)
            add_metallic(s, v, l, diffuse, rgb);
        else
            add_opengl(s, v, l, diffuse, specular, rgb);
    }
}

#define TEXTURE(name, channels)                                                                                        \
    "<texture name='" name "' type='2d' builtin='flat' width='64' height='64' nchannel='" channels "'/>"
#define LAYER(texture, role) "<layer texture='" texture "' role='" role "'/>"
#define LAYERS LAYER("c", "rgb") LAYER("n", "normal") LAYER("o", "orm") LAYER("e", "emissive")
#define QUAD                                                                                                           \
    "<mesh name='q' vertex='-1 -1 0 1 -1 0 1 1 0 -1 1 0 0 0 -1' texcoord='0 0 0 1 1 1 1 0 .5 .5' "                     \
    "normal='0 0 1 0 0 1 0 0 1 0 0 1 0 0 -1' face='0 1 2 0 2 3 1 0 4 2 1 4 3 2 4 0 3 4'/>"
#define PLANE "type='plane' size='1 1 1'"

/* A surface of 2 x 2 metres under an orthographic camera, whose pixels are the texels; all of it is turned. */
static void write_scene(char *xml, size_t size, const char *material, const char *layers, const char *geom)
{
    (void)snprintf(xml, size,
                   "<mujoco><visual><headlight active='0'/></visual><asset>" TEXTURE("c", "3") TEXTURE("n", "3")
                       TEXTURE("o", "3") TEXTURE("e", "3") QUAD
                   "<material name='m' %s>%s</material></asset><worldbody><body pos='1 2 3' euler='20 -30 70'>"
                   "<geom %s material='m'/><camera pos='0 0 .5' projection='orthographic' fovy='2'/>"
                   "<light pos='.5 -.2 .7' castshadow='false' ambient='.2 .1 .15' diffuse='.3 .4 .3' "
                   "specular='.3 .2 .3' attenuation='1 0 0' type='point'/>"
                   "<light castshadow='false' directional='true' dir='1 .3 -1' diffuse='.4 .3 .3' specular='.1 .2 .3'/>"
                   "</body></worldbody></mujoco>",
                   material, layers, geom);
}

static uint8_t *draw(pictures *p, const char *xml, stet_render_mode mode, uint64_t texels)
{
    pictures_open(p, xml, 1, NULL, 1);
    seed = texels;
    paint(p->model->mj);
    p->mode = mode;
    pictures_model_camera(p, 0, SIZE, SIZE);
    pictures_ready(p);
    pictures_run(p);
    return pictures_read(p, STI_BUFFER_COLOUR);
}

static void check(const char *material, const char *layers, const char *geom, const lie *how)
{
    char xml[4096];
    pictures p;
    write_scene(xml, sizeof xml, material, layers, geom);
    uint8_t *rgba = draw(&p, xml, STET_RENDER_MODE_PHYSICAL, 7);
    const mjModel *m = p.model->mj;
    mjData *d = mj_makeData(m);
    mj_forward(m, d);
    const double *mat = d->xmat + 9;
    double most = 0, v[3] = {mat[2], mat[5], mat[8]};
    for (int i = 0; i < NTEXEL; ++i) {
        double place[3] = {(i % SIZE + 0.5) * 2 / SIZE - 1, 1 - (i / SIZE + 0.5) * 2 / SIZE, 0}, point[3], rgb[3];
        surface s = surface_at(m, how->at(i % SIZE, i / SIZE), mat, how);
        mju_mulMatVec3(point, mat, place);
        mju_addTo3(point, d->xpos + 3);
        light_of(m, d, &s, point, v, rgb);
        for (int k = 0; k < 3; ++k) {
            double off = fabs(rgba[4 * i + k] - byte_of(rgb[k]));
            if (off > 1.2)
                fail_msg("%s %s: pixel %d, channel %d: %d, not %.2f", material, layers, i, k, rgba[4 * i + k],
                         byte_of(rgb[k]));
            most = fmax(most, off);
        }
    }
    print_message("%s %s: %.2f off at most\n", material, layers, most);
    mj_deleteData(d);
    free(rgba);
    pictures_close(&p);
}

static const lie on_plane = {upright, {1, 0, 0}, {0, 1, 0}};

static void pixels_have_the_light_of_their_texels(void **state)
{
    const char *few[] = {LAYER("n", "normal"),
                         LAYER("c", "rgb") LAYER("o", "occlusion"),
                         LAYER("o", "roughness"),
                         LAYER("o", "metallic") LAYER("c", "rgb"),
                         LAYER("e", "emissive"),
                         LAYER("o", "orm") LAYER("n", "occlusion"),
                         LAYERS};
    for (size_t i = 0; i < sizeof few / sizeof *few; ++i) {
        check("rgba='.9 .7 .6 1'", few[i], PLANE, &on_plane);
        check("rgba='.5 .8 .6 1' metallic='.7' roughness='.6' emission='.1' specular='.8'", few[i], PLANE, &on_plane);
    }
    check("rgba='.9 .7 .6 1' metallic='.3'", "", PLANE, &on_plane);
    check("rgba='.9 .7 .6 1' roughness='.2' specular='.8'", "", PLANE, &on_plane);
    check("rgba='.9 .7 .6 1' metallic='1' roughness='0'", "", PLANE, &on_plane);
}

/* A mirrored picture turns x, and one by coordinates of a mesh lies as these say. */
static void normals_lie_as_the_picture_does(void **state)
{
    check("texrepeat='-1 1' rgba='.9 .7 .6 1'", LAYERS, PLANE, &(lie){mirrored, {-1, 0, 0}, {0, 1, 0}});
    check("rgba='.9 .7 .6 1'", LAYERS, "type='mesh' mesh='q'", &(lie){turned, {0, 1, 0}, {-1, 0, 0}});
    check("rgba='.9 .7 .6 1'", LAYER("n", "normal"), "type='mesh' mesh='q'", &(lie){turned, {0, 1, 0}, {-1, 0, 0}});
}

/* As MuJoCo's classic renderer, which shows none of it. */
static void mode_mujoco_has_colours_alone(void **state)
{
    char xml[2][4096];
    uint8_t *rgba[2];
    for (int i = 0; i < 2; ++i) {
        pictures p;
        write_scene(xml[i], sizeof xml[i], i ? "metallic='.8' roughness='.2'" : "", i ? LAYERS : LAYER("c", "rgb"),
                    PLANE);
        rgba[i] = draw(&p, xml[i], STET_RENDER_MODE_MUJOCO, 3);
        pictures_close(&p);
    }
    assert_memory_equal(rgba[0], rgba[1], 4 * NTEXEL);
    for (int i = 0; i < 2; ++i) free(rgba[i]);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pixels_have_the_light_of_their_texels),
        cmocka_unit_test(normals_lie_as_the_picture_does),
        cmocka_unit_test(mode_mujoco_has_colours_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
