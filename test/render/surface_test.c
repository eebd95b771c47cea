/*
 * Motion of pixels and places in bodies, against the same from MuJoCo's poses in double: bodies and cameras move, each
 * world differently.
 */
#include "render/pictures.h"

enum { WIDTH = 37, HEIGHT = 21, PIXELS = WIDTH * HEIGHT, WORLDS = 3, NQ = 14 };

static const char scene[] =
    "<mujoco><worldbody><geom type='plane' size='2 2 .1'/>"
    "<body pos='0 0 1'><freejoint/><geom type='box' size='.3 .2 .1' pos='.1 0 0' euler='0 30 20'/>"
    "<geom size='.2' pos='.3 .1 .2'/><camera name='rider' pos='.2 0 2' fovy='70'/></body>"
    "<body pos='.8 0 .5'><freejoint/><geom type='capsule' size='.1 .3'/></body>"
    "<camera name='far' pos='0 -3 1.5' xyaxes='1 .1 0 0 .4 .9' fovy='50'/>"
    "<camera name='sensor' pos='1 -2 2' xyaxes='1 .5 0 0 .7 .7' resolution='64 48' focal='1.2 1' sensorsize='1.3 1'"
    " principal='.1 .05'/>"
    "<camera name='flat' pos='0 -2 2' xyaxes='1 0 0 0 .7 .7' projection='orthographic' fovy='2'/>"
    "</worldbody></mujoco>";

/* What the worlds are at one time: MuJoCo's data of each. */
typedef struct moment {
    mjData *world[WORLDS];
} moment;

static void set_worlds(pictures *p, moment *at, float step)
{
    const mjModel *m = p->model->mj;
    stet_array *qpos;
    float values[WORLDS * NQ];
    assert_int_equal(m->nq, NQ);
    for (int i = 0; i < WORLDS * NQ; ++i)
        values[i] = (float)m->qpos0[i % NQ] + step * (i % 7 < 3 ? .1f * (float)(i / NQ) : .05f * (float)(i % 5));
    OK(stet_worlds_get_array(p->worlds, "qpos", &qpos));
    OK(stet_array_write(qpos, values, sizeof values));
    for (int w = 0; w < WORLDS; ++w) {
        at->world[w] = mj_makeData(m);
        for (int i = 0; i < NQ; ++i) at->world[w]->qpos[i] = (double)values[w * NQ + i];
        mj_forward(m, at->world[w]);
    }
}

static void free_moment(moment *at)
{
    for (int w = 0; w < WORLDS; ++w) mj_deleteData(at->world[w]);
}

static void to_frame(const double *pos, const double *mat, const double *point, double *out)
{
    for (int k = 0; k < 3; ++k) {
        out[k] = 0;
        for (int r = 0; r < 3; ++r) out[k] += mat[3 * r + k] * (point[r] - pos[r]);
    }
}

static void to_world(const double *pos, const double *mat, const double *local, double *out)
{
    for (int r = 0; r < 3; ++r)
        out[r] = pos[r] + mat[3 * r] * local[0] + mat[3 * r + 1] * local[1] + mat[3 * r + 2] * local[2];
}

/* The angle of view of a fisheye, radians; 0: the cameras are not. */
static double fisheye;

/* Middle and half size of a camera's picture at one metre: across, then down. */
static void picture_of(const mjModel *m, int camera, double *middle, double *half)
{
    const float *focal = &m->cam_intrinsic[4 * camera], *size = &m->cam_sensorsize[2 * camera];
    bool flat = m->cam_projection[camera] == mjPROJ_ORTHOGRAPHIC, sensor = size[0] > 0;
    double tall = flat ? m->cam_fovy[camera] / 2 : tan(m->cam_fovy[camera] * mjPI / 360);
    for (int k = 0; k < 2; ++k) {
        middle[k] = sensor ? (double)((k ? -1 : 1) * focal[2 + k] / focal[k]) : 0;
        half[k] = sensor ? (double)(size[k] / 2 / focal[k]) : k ? tall : tall * WIDTH / HEIGHT;
    }
}

static void pixel_point(const mjModel *m, const mjData *d, int camera, int pixel, double t, double *out)
{
    double middle[2], half[2], at[3];
    picture_of(m, camera, middle, half);
    if (fisheye > 0) {
        double x = pixel % WIDTH + .5 - WIDTH / 2., y = HEIGHT / 2. - pixel / WIDTH - .5, r = hypot(x, y);
        double angle = r * fisheye / HEIGHT, across = r > 0 ? t * sin(angle) / r : 0;
        to_world(d->cam_xpos + 3 * camera, d->cam_xmat + 9 * camera,
                 (const double[]){across * x, across * y, -t * cos(angle)}, out);
        return;
    }
    double reach = m->cam_projection[camera] == mjPROJ_ORTHOGRAPHIC ? 1 : t;
    at[0] = reach * (middle[0] + half[0] * ((pixel % WIDTH + .5) / (WIDTH / 2.) - 1));
    at[1] = reach * (middle[1] - half[1] * ((pixel / WIDTH + .5) / (HEIGHT / 2.) - 1));
    at[2] = -t;
    to_world(d->cam_xpos + 3 * camera, d->cam_xmat + 9 * camera, at, out);
}

/* Pixels from the upper left corner. False: the point is behind the camera. */
static bool picture_place(const mjModel *m, const mjData *d, int camera, const double *point, double *at)
{
    double middle[2], half[2], local[3];
    picture_of(m, camera, middle, half);
    to_frame(d->cam_xpos + 3 * camera, d->cam_xmat + 9 * camera, point, local);
    if (fisheye > 0) {
        double across = hypot(local[0], local[1]), r = atan2(across, -local[2]) * HEIGHT / fisheye;
        at[0] = WIDTH / 2. + (across > 0 ? r * local[0] / across : 0);
        at[1] = HEIGHT / 2. - (across > 0 ? r * local[1] / across : 0);
        return true;
    }
    double ahead = m->cam_projection[camera] == mjPROJ_ORTHOGRAPHIC ? 1 : -local[2];
    at[0] = ((local[0] / ahead - middle[0]) / half[0] + 1) * WIDTH / 2;
    at[1] = (1 - (local[1] / ahead - middle[1]) / half[1]) * HEIGHT / 2;
    return ahead > 0;
}

typedef struct buffers {
    float *depth, *motion, *local;
    int *geom;
} buffers;

static buffers take(pictures *p)
{
    pictures_run(p);
    return (buffers){pictures_read(p, STI_BUFFER_DEPTH), pictures_read(p, STI_BUFFER_MOTION),
                     pictures_read(p, STI_BUFFER_BODY_POINT), pictures_read(p, STI_BUFFER_GEOM)};
}

static void give(buffers *b)
{
    free(b->depth);
    free(b->motion);
    free(b->local);
    free(b->geom);
}

/* Compares world w of one camera; returns how many pixels moved by more than a pixel. */
static int compare_world(const mjModel *m, int camera, int w, const buffers *b, const moment *before, const moment *now)
{
    int moved = 0;
    for (int i = 0; i < PIXELS; ++i) {
        ptrdiff_t k = (ptrdiff_t)w * PIXELS + i;
        const float *step = b->motion + 2 * k, *local = b->local + 3 * k;
        const mjData *d = now->world[w], *old = before->world[w];
        int g = b->geom[k];
        double point[3], own[3], was[3], at[2], far = 0;
        if (g < 0) {
            assert_true(step[0] == 0 && step[1] == 0 && isinf(local[0]) && isinf(local[1]) && isinf(local[2]));
            continue;
        }
        pixel_point(m, d, camera, i, (double)b->depth[k], point);
        to_frame(d->xpos + 3 * m->geom_bodyid[g], d->xmat + 9 * m->geom_bodyid[g], point, own);
        for (int r = 0; r < 3; ++r) assert_true(fabs(own[r] - (double)local[r]) < 2e-5);
        to_frame(d->geom_xpos + 3 * g, d->geom_xmat + 9 * g, point, own);
        to_world(old->geom_xpos + 3 * g, old->geom_xmat + 9 * g, own, was);
        if (!picture_place(m, old, camera, was, at)) {
            assert_true(isinf(step[0]) && isinf(step[1]));
            continue;
        }
        const double want[2] = {i % WIDTH + .5 - at[0], i / WIDTH + .5 - at[1]};
        for (int r = 0; r < 2; ++r) {
            if (fabs(want[r] - (double)step[r]) > 2e-3 + 1e-4 * fabs(want[r]))
                fail_msg("camera %d, world %d, pixel %d: %g instead of %g", camera, w, i, (double)step[r], want[r]);
            far += want[r] * want[r];
        }
        moved += far > 1;
    }
    return moved;
}

static void motion_is_that_of_the_poses(void **state)
{
    pictures p;
    pictures_open(&p, scene, WORLDS, NULL, 2);
    const mjModel *m = p.model->mj;
    for (int i = 0; i < (int)m->ncam + 1; ++i) { /* the last one as a fisheye */
        int c = i < (int)m->ncam ? i : 1;
        pictures one = p; /* the same scene with one camera, whose pictures of all worlds lie one after the other */
        moment first, second;
        pictures_model_camera(&one, c, WIDTH, HEIGHT);
        one.camera[0].fisheye = i == (int)m->ncam;
        if (one.camera[0].fisheye) one.camera[0].fovy = 60;
        fisheye = one.camera[0].fisheye ? mjPI / 3 : 0;
        pictures_ready(&one);
        set_worlds(&one, &first, 1);
        buffers b = take(&one);
        for (ptrdiff_t k = 0; k < (ptrdiff_t)2 * WORLDS * PIXELS; ++k) assert_true(b.motion[k] == 0);
        give(&b);
        set_worlds(&one, &second, 1.4f);
        b = take(&one);
        int moved = 0;
        for (int w = 0; w < WORLDS; ++w) moved += compare_world(m, c, w, &b, &first, &second);
        print_message("camera %d: %d pixels moved\n", c, moved);
        assert_true(moved > 0);
        give(&b);
        b = take(&one); /* nothing has moved since */
        for (ptrdiff_t k = 0; k < (ptrdiff_t)2 * WORLDS * PIXELS; ++k) assert_true(b.motion[k] == 0);
        give(&b);
        for (int k = 0; k < STI_BUFFER_COUNT; ++k) stet_array_destroy(one.target.pixels[k]);
        stet_array_destroy(one.target.first);
        stet_array_destroy(one.target.pitch);
        sti_renderer_destroy(one.renderer);
        free_moment(&first);
        free_moment(&second);
    }
    fisheye = 0;
    pictures_close(&p);
}

/* Only worlds that are rendered move on: the others' motion counts from their own last picture. */
static void each_world_has_its_own_last_picture(void **state)
{
    pictures p;
    moment at[3];
    pictures_open(&p, scene, WORLDS, NULL, 1);
    pictures_model_camera(&p, 1, WIDTH, HEIGHT);
    pictures_ready(&p);
    set_worlds(&p, &at[0], 1);
    pictures_run(&p);
    set_worlds(&p, &at[1], 1.3f);
    OK(sti_renderer_run(p.renderer, (const int[]){1}, 1, &p.target));
    set_worlds(&p, &at[2], 1.5f);
    buffers b = take(&p);
    (void)compare_world(p.model->mj, 1, 0, &b, &at[0], &at[2]);
    (void)compare_world(p.model->mj, 1, 1, &b, &at[1], &at[2]);
    assert_true(compare_world(p.model->mj, 1, 2, &b, &at[0], &at[2]) > 0);
    give(&b);
    for (int i = 0; i < 3; ++i) free_moment(&at[i]);
    pictures_close(&p);
}

static void they_need_depth_and_geoms(void **state)
{
    pictures p;
    pictures_open(&p, scene, 1, NULL, 1);
    pictures_model_camera(&p, 1, WIDTH, HEIGHT);
    pictures_ready(&p);
    sti_render_target target = p.target;
    target.pixels[STI_BUFFER_DEPTH] = NULL;
    assert_int_equal(sti_renderer_run(p.renderer, (const int[]){0}, 1, &target), STET_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(stet_get_last_error(), "motion and body_point need depth"));
    pictures_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(motion_is_that_of_the_poses),
                                       cmocka_unit_test(each_world_has_its_own_last_picture),
                                       cmocka_unit_test(they_need_depth_and_geoms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
