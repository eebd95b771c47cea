/* Point clouds against mj_ray: from perspective, sensor and orthographic cameras, in worlds whose bodies moved. */
#include "render/pictures.h"

enum { WIDTH = 37, HEIGHT = 21, WORLDS = 3 };

static const char scene[] =
    "<mujoco><worldbody><geom type='plane' size='2 2 .1'/>"
    "<body pos='0 0 1'><freejoint/><geom type='box' size='.3 .2 .1'/><geom size='.2' pos='.3 .1 .2'/>"
    "<camera name='rider' pos='.2 0 2' fovy='70'/></body>"
    "<body pos='.8 0 .5'><freejoint/><geom type='capsule' size='.1 .3'/></body>"
    "<camera name='far' pos='0 -3 1.5' xyaxes='1 .1 0 0 .4 .9' fovy='50'/>"
    "<camera name='sensor' pos='1 -2 2' xyaxes='1 .5 0 0 .7 .7' resolution='64 48' focal='1.2 1' sensorsize='1.3 1'"
    " principal='.1 .05'/>"
    "<camera name='flat' pos='0 -2 2' xyaxes='1 0 0 0 .7 .7' projection='orthographic' fovy='2'/>"
    "</worldbody></mujoco>";

/* Bodies at other places in each world. */
static void move_worlds(pictures *p)
{
    const mjModel *m = p->model->mj;
    stet_array *qpos;
    float values[WORLDS * 14];
    OK(stet_worlds_get_array(p->worlds, "qpos", &qpos));
    assert_int_equal(m->nq, 14);
    for (int i = 0; i < WORLDS * 14; ++i)
        values[i] = (float)m->qpos0[i % 14] + (i % 7 < 3 ? .1f * (float)(i / 14) : .05f * (float)(i % 5));
    OK(stet_array_write(qpos, values, sizeof values));
}

/* Is the point where mj_ray hits on the way to it? A ray along an edge may miss. The pixel's depth is checked apart. */
static bool agrees(const mjModel *m, const mjData *d, int camera, const float *point, double *off)
{
    const double *eye = d->cam_xpos + 3 * camera, *axes = d->cam_xmat + 9 * camera;
    double start[3], way[3], local[3] = {0}, from[3], normal[3];
    int geom;
    for (int k = 0; k < 3; ++k) way[k] = (double)point[k] - eye[k];
    for (int k = 0; k < 3; ++k) local[k] = axes[k] * way[0] + axes[3 + k] * way[1] + axes[6 + k] * way[2];
    bool flat = m->cam_projection[camera] == mjPROJ_ORTHOGRAPHIC;
    for (int k = 0; k < 3; ++k) {
        from[k] = eye[k] + (flat ? axes[3 * k] * local[0] + axes[3 * k + 1] * local[1] : 0);
        start[k] = from[k];
        way[k] = (double)point[k] - start[k];
    }
    double far = mju_normalize3(way), hit = mj_ray(m, d, start, way, NULL, 1, -1, &geom, normal);
    *off = fabs(hit - far);
    return hit >= 0 && *off < 1e-4 * far;
}

static void points_are_where_rays_hit(void **state)
{
    pictures p;
    stet_array *points;
    pictures_open(&p, scene, WORLDS, NULL, 1);
    const mjModel *m = p.model->mj;
    move_worlds(&p);
    mjData *d = mj_makeData(m);
    stet_array *qpos;
    float positions[WORLDS * 14];
    OK(stet_worlds_get_array(p.worlds, "qpos", &qpos));
    OK(stet_array_read(qpos, positions, sizeof positions));
    for (int c = 0; c < (int)m->ncam; ++c) {
        pictures one = p; /* the same scene with one camera, whose pictures of all worlds lie one after the other */
        float out[WORLDS][HEIGHT][WIDTH][3];
        int hits = 0, bad = 0;
        pictures_model_camera(&one, c, WIDTH, HEIGHT);
        pictures_ready(&one);
        pictures_run(&one);
        float *depth = pictures_read(&one, STI_BUFFER_DEPTH);
        OK(STI_ARRAY(p.device, "points", STET_DTYPE_REAL, false, &points, WORLDS, HEIGHT, WIDTH, 3));
        OK(stet_render_points(p.stage, &one.camera[0], one.target.pixels[STI_BUFFER_DEPTH], points));
        OK(stet_array_read(points, out, sizeof out));
        for (int w = 0; w < WORLDS; ++w) {
            for (int i = 0; i < 14; ++i) d->qpos[i] = (double)positions[w * 14 + i];
            mj_forward(m, d);
            for (int i = 0; i < WIDTH * HEIGHT; ++i) {
                const float *point = out[w][i / WIDTH][i % WIDTH];
                const double *eye = d->cam_xpos + 3 * c, *axes = d->cam_xmat + 9 * c;
                double t = (double)depth[w * WIDTH * HEIGHT + i], along = 0, off;
                if (isinf(t)) {
                    assert_true(isinf(point[0]) && isinf(point[1]) && isinf(point[2]));
                    continue;
                }
                for (int k = 0; k < 3; ++k) along -= axes[3 * k + 2] * ((double)point[k] - eye[k]);
                assert_true(fabs(along - t) < 1e-5 * (1 + t));
                hits++;
                if (!agrees(m, d, c, point, &off) && bad++ < 5)
                    print_message("camera %d, world %d, pixel %d: off by %g m\n", c, w, i, off);
            }
        }
        print_message("camera %d: %d points, %d off\n", c, hits, bad);
        assert_true(hits > WORLDS * WIDTH * HEIGHT / 4);
        assert_true(bad * 200 <= hits);
        free(depth);
        assert_int_equal(stet_render_points(p.stage, &one.camera[0], points, points), STET_ERROR_INVALID_ARGUMENT);
        assert_int_equal(stet_render_points(p.stage, NULL, points, points), STET_ERROR_INVALID_ARGUMENT);
        stet_array_destroy(points);
        for (int b = 0; b < STI_BUFFER_COUNT; ++b) stet_array_destroy(one.target.pixels[b]);
        stet_array_destroy(one.target.first);
        stet_array_destroy(one.target.pitch);
        sti_renderer_destroy(one.renderer);
    }
    mj_deleteData(d);
    pictures_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(points_are_where_rays_hit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
