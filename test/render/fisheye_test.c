/*
 * Fisheyes: depths and geoms of each pixel against mj_ray along the ray of the formula, in double; point clouds;
 * shadows, which show that nothing is culled that may be seen.
 */
#include "render/pictures.h"

static const char scene[] =
    "<mujoco><worldbody><geom type='plane' size='0 0 .1'/>"
    "<geom type='box' size='.3 .2 .1' pos='.5 .6 .4' euler='10 30 20'/><geom size='.2' pos='-.4 .3 1.2'/>"
    "<geom type='capsule' size='.1 .3' pos='0 -.7 .5' euler='50 0 0'/>"
    "<geom type='cylinder' size='.2 .1' pos='-.6 -.2 .3'/><geom type='ellipsoid' size='.1 .2 .3' pos='.5 -.4 .8'/>"
    "<geom type='box' size='.2 .2 .05' pos='0 .1 1.5'/>"
    "<camera name='down' pos='0 .1 .9' euler='5 8 0'/><camera name='level' pos='0 .1 .7' xyaxes='1 .1 0 0 .1 1'/>"
    "<camera name='up' pos='.1 0 .6' euler='170 0 10'/></worldbody></mujoco>";

/* What a pixel's ray is, world frame, unit. */
static void pixel_way(const mjData *d, int camera, const stet_camera *lens, int pixel, double *way)
{
    double x = pixel % lens->width + .5 - lens->width / 2., y = lens->height / 2. - (pixel / lens->width + .5);
    double r = hypot(x, y), angle = r * (double)lens->fovy * mjPI / 180 / lens->height;
    double local[3] = {r > 0 ? sin(angle) * x / r : 0, r > 0 ? sin(angle) * y / r : 0, -cos(angle)};
    mju_mulMatVec3(way, d->cam_xmat + 9 * camera, local);
}

static void check_pictures(pictures *p, mjData *d)
{
    const mjModel *m = p->model->mj;
    float *depth = pictures_read(p, STI_BUFFER_DEPTH), *distance = pictures_read(p, STI_BUFFER_DISTANCE);
    int *geom = pictures_read(p, STI_BUFFER_GEOM);
    for (int c = 0; c < p->ncamera; ++c) {
        const stet_camera *lens = &p->camera[c];
        int n = lens->width * lens->height, hits = 0, bad = 0;
        for (int i = 0; i < n; ++i) {
            int64_t k = pictures_first(p, 0, c) + i;
            double way[3], normal[3];
            int seen;
            pixel_way(d, c % 3, lens, i, way);
            double far = mj_ray(m, d, d->cam_xpos + 3 * (c % 3), way, NULL, 1, -1, &seen, normal);
            if (far > (double)m->vis.map.zfar * m->stat.extent) seen = -1; /* beyond the far plane */
            if (isfinite(depth[k])) assert_true(fabsf(depth[k] - distance[k]) <= 1e-6f * depth[k]);
            hits += seen >= 0;
            bad += seen != geom[k] || (seen >= 0 && fabs(far - (double)depth[k]) > 1e-4 * (1 + far));
        }
        print_message("camera %d: %d of %d pixels hit, %d differ\n", c, hits, n, bad);
        assert_true(hits > n / 10);
        assert_true(bad * 200 <= n);
    }
    free(depth);
    free(distance);
    free(geom);
}

static void rays_are_those_of_the_formula(void **state)
{
    static const struct {
        int width, height;
        float fovy;
    } lenses[] = {{70, 50, 120}, {61, 61, 180}, {50, 64, 235}, {48, 48, 360}, {8, 8, 220}, {3, 2, 300}, {90, 33, 20}};
    for (size_t l = 0; l < sizeof lenses / sizeof *lenses; ++l) {
        pictures p;
        pictures_open(&p, scene, 1, NULL, 1);
        mjData *d = mj_makeData(p.model->mj);
        mj_forward(p.model->mj, d);
        for (int c = 0; c < 3; ++c) {
            pictures_model_camera(&p, c, lenses[l].width, lenses[l].height);
            p.camera[c].fovy = lenses[l].fovy;
            p.camera[c].fisheye = true;
        }
        pictures_ready(&p);
        pictures_run(&p);
        check_pictures(&p, d);
        mj_deleteData(d);
        pictures_close(&p);
    }
}

static void points_lie_along_the_rays(void **state)
{
    enum { WIDTH = 44, HEIGHT = 40 };
    pictures p;
    stet_array *points;
    static float out[WIDTH * HEIGHT][3];
    pictures_open(&p, scene, 1, NULL, 1);
    mjData *d = mj_makeData(p.model->mj);
    mj_forward(p.model->mj, d);
    pictures_model_camera(&p, 1, WIDTH, HEIGHT);
    p.camera[0].fovy = 210;
    p.camera[0].fisheye = true;
    pictures_ready(&p);
    pictures_run(&p);
    OK(STI_ARRAY(p.device, "points", STET_DTYPE_REAL, false, &points, 1, HEIGHT, WIDTH, 3));
    OK(stet_render_points(p.stage, &p.camera[0], p.target.pixels[STI_BUFFER_DEPTH], points));
    OK(stet_array_read(points, out, sizeof out));
    float *depth = pictures_read(&p, STI_BUFFER_DEPTH);
    int hits = 0;
    for (int i = 0; i < WIDTH * HEIGHT; ++i) {
        double way[3], t = (double)depth[i];
        pixel_way(d, 1, &p.camera[0], i, way);
        if (isinf(depth[i])) continue;
        hits++;
        for (int k = 0; k < 3; ++k)
            assert_true(fabs(d->cam_xpos[3 + k] + t * way[k] - (double)out[i][k]) < 1e-5 * (1 + t));
    }
    assert_true(hits > WIDTH * HEIGHT / 4);
    free(depth);
    stet_array_destroy(points);
    mj_deleteData(d);
    pictures_close(&p);
}

/* A white floor and one lamp: floor pixels are black where something is between them and the lamp. */
static void shadows_are_where_rays_meet_something(void **state)
{
    static const char lit[] =
        "<mujoco><visual><headlight active='0'/></visual><worldbody>"
        "<light directional='true' pos='-4 -3 10' dir='.4 .3 -1' ambient='0 0 0' diffuse='1 1 1' specular='0 0 0' "
        "castshadow='true'/>"
        "<geom type='plane' size='5 5 .1' rgba='1 1 1 1'/><geom type='box' size='.3 .2 .1' pos='.5 .6 .9'/>"
        "<geom size='.3' pos='-.9 -.7 1'/><geom type='capsule' size='.1 .5' pos='.8 -.9 .7' euler='40 20 0'/>"
        "<camera name='down' pos='.1 .1 2.5' euler='8 5 20'/></worldbody></mujoco>";
    static const int sizes[][2] = {{80, 64}, {9, 8}};
    static const float angles[] = {190, 250};
    for (int s = 0; s < 2; ++s) {
        pictures p;
        double normal[3], to[3] = {-.4, -.3, 1};
        int dark = 0, bad = 0, floor = 0;
        pictures_open(&p, lit, 1, NULL, 1);
        const mjModel *m = p.model->mj;
        mjData *d = mj_makeData(m);
        mj_forward(m, d);
        mju_normalize3(to);
        pictures_model_camera(&p, 0, sizes[s][0], sizes[s][1]);
        p.camera[0].fovy = angles[s];
        p.camera[0].fisheye = true;
        pictures_ready(&p);
        pictures_run(&p);
        float *depth = pictures_read(&p, STI_BUFFER_DEPTH);
        int *geom = pictures_read(&p, STI_BUFFER_GEOM);
        uint8_t *rgba = pictures_read(&p, STI_BUFFER_COLOUR);
        for (int i = 0; i < sizes[s][0] * sizes[s][1]; ++i) {
            double way[3], point[3];
            int blocker;
            if (geom[i] != 0) continue;
            pixel_way(d, 0, &p.camera[0], i, way);
            for (int k = 0; k < 3; ++k) point[k] = d->cam_xpos[k] + way[k] * (double)depth[i] * .9999;
            bool shadow = mj_ray(m, d, point, to, NULL, 1, -1, &blocker, normal) >= 0;
            floor++;
            dark += shadow;
            bad += shadow != (rgba[4 * i] == 0);
        }
        print_message("%d pixels of the floor, %d in shadow, %d differ\n", floor, dark, bad);
        assert_true(floor > sizes[s][0] * sizes[s][1] / 8 && (s || dark > 0));
        assert_true(bad * 100 <= floor);
        free(depth);
        free(geom);
        free(rgba);
        mj_deleteData(d);
        pictures_close(&p);
    }
}

static void bad_angles_are_refused(void **state)
{
    pictures p;
    pictures_open(&p, scene, 1, NULL, 1);
    pictures_model_camera(&p, 0, 8, 8);
    p.camera[0].fisheye = true;
    for (int i = 0; i < 3; ++i) {
        p.camera[0].fovy = (const float[]){0, 361, NAN}[i];
        assert_int_equal(sti_renderer_create(p.stage, p.camera, 1, STI_DRAWING_DEFAULT, &p.renderer),
                         STET_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(stet_get_last_error(), "fisheye"));
    }
    p.camera[0].fovy = 1;
    p.camera[0].orthographic = true;
    assert_int_equal(sti_renderer_create(p.stage, p.camera, 1, STI_DRAWING_DEFAULT, &p.renderer),
                     STET_ERROR_INVALID_ARGUMENT);
    pictures_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rays_are_those_of_the_formula), cmocka_unit_test(points_lie_along_the_rays),
        cmocka_unit_test(shadows_are_where_rays_meet_something), cmocka_unit_test(bad_angles_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
