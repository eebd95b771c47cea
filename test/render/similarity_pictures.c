/*
 * Draws models with stet and with MuJoCo's own renderer, for similarity_test.py: one PNG a camera, stet's picture left
 * of MuJoCo's. A model without a camera is seen through MuJoCo's free camera. stet takes SAMPLES rays a pixel, MuJoCo
 * what the model asks for. A model with a custom number "fog" is drawn with fog. SHADOWS 0: neither draws shadows,
 * since MuJoCo's come from a map, with its speckles and its end, and stet's from rays.
 *
 *     similarity_pictures FOLDER SAMPLES SHADOWS MODEL…
 *
 * Prints one line a picture: its file. Ends with SKIPPED (77) and a reason where there is no OSMesa.
 */
#include "bench/pilot/mujoco_renderer.h"
#include "render/pictures.h"

#include <png.h>

enum { WIDTH = 240, HEIGHT = 180, SKIPPED = 77 };

static unsigned char both[HEIGHT][2][WIDTH][3]; /* stet's picture, MuJoCo's */

static void draw_mujoco(mujoco_renderer *t, int camera)
{
    static unsigned char rgb[HEIGHT][WIDTH][3]; /* from the bottom */
    mjvCamera view;
    update_mujoco_scene(t, camera, true, &view);
    mjr_render((mjrRect){0, 0, WIDTH, HEIGHT}, &t->scene, &t->context);
    mjr_readPixels(rgb[0][0], NULL, (mjrRect){0, 0, WIDTH, HEIGHT}, &t->context);
    for (int y = 0; y < HEIGHT; ++y) memcpy(both[y][1], rgb[HEIGHT - 1 - y], sizeof rgb[0]);
}

static void copy_colours(const uint32_t *colour)
{
    for (int y = 0; y < HEIGHT; ++y)
        for (int x = 0; x < WIDTH; ++x)
            for (int k = 0; k < 3; ++k) both[y][0][x][k] = (unsigned char)(colour[y * WIDTH + x] >> 8 * k);
}

static void write_picture(const char *folder, const char *model, int camera)
{
    char path[1024];
    const char *stem = strrchr(model, '/');
    png_image image = {.version = PNG_IMAGE_VERSION, .width = 2 * WIDTH, .height = HEIGHT, .format = PNG_FORMAT_RGB};
    stem = stem ? stem + 1 : model;
    (void)snprintf(path, sizeof path, "%s/%.*s.%d.png", folder, (int)strcspn(stem, "."), stem, camera);
    if (!png_image_write_to_file(&image, path, 0, both, 0, NULL)) fail_msg("%s: %s", path, image.message);
    printf("%s\n", path);
}

/* MuJoCo's free camera as one of the stage's. */
static void add_free_camera(pictures *p)
{
    const mjModel *m = p->model->mj;
    mjvCamera view;
    double eye[3];
    mjv_defaultFreeCamera(m, &view);
    double azimuth = view.azimuth * mjPI / 180, elevation = view.elevation * mjPI / 180;
    double way[3] = {cos(elevation) * cos(azimuth), cos(elevation) * sin(azimuth), sin(elevation)};
    for (int k = 0; k < 3; ++k) eye[k] = view.lookat[k] - view.distance * way[k];
    pictures_camera(p, eye, view.lookat, m->vis.global.fovy, WIDTH, HEIGHT);
}

static void draw_model(const char *folder, int samples, bool shadows, const char *model)
{
    pictures p;
    mujoco_renderer t;
    pictures_open(&p, model, 1, NULL, 1);
    mjModel *m = (mjModel *)p.model->mj;
    if (!shadows) m->vis.quality.shadowsize = 0;
    int ncamera = m->ncam > 4 ? 4 : (int)m->ncam;
    for (int c = 0; c < ncamera; ++c) pictures_model_camera(&p, c, WIDTH, HEIGHT);
    if (ncamera == 0) add_free_camera(&p);
    p.fog = mj_name2id(m, mjOBJ_NUMERIC, "fog") >= 0;
    pictures_ready(&p);
    OK(sti_renderer_set_samples(p.renderer, samples));
    pictures_run(&p);
    uint32_t *colour = pictures_read(&p, STI_BUFFER_COLOUR);
    assert_true(open_mujoco_renderer(&t, m, WIDTH, HEIGHT, 0));
    t.scene.flags[mjRND_FOG] = p.fog;
    for (int c = 0; c < p.ncamera; ++c) {
        draw_mujoco(&t, ncamera ? c : -1);
        copy_colours(colour + pictures_first(&p, 0, c));
        write_picture(folder, model, c);
    }
    close_mujoco_renderer(&t);
    free(colour);
    pictures_close(&p);
}

int main(int argc, char **argv)
{
    osmesa o;
    const char *missing = open_osmesa(&o);
    if (missing) {
        fprintf(stderr, "%s\n", missing);
        return SKIPPED;
    }
    for (int i = 4; i < argc; ++i) draw_model(argv[1], atoi(argv[2]), atoi(argv[3]) != 0, argv[i]);
    close_osmesa(&o);
    return 0;
}
