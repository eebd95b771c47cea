/*
 * A mesh stands on a floor, in float: of a sole with many corners, native physics chooses the four that MuJoCo chooses,
 * though their areas and heights differ in the last place. So accelerations are MuJoCo's.
 */
#include "worlds/rig.h"

#include "physics/native.h"

#include <math.h>

enum { WORLDS = 64, CORNERS = 12, TEXT = 4096 };

/* A sole of regular or random corners, 4 cm high, wider below than above. */
static void draw_foot(uint64_t *dice, bool regular, double corner[CORNERS][3], char *xml, size_t size)
{
    size_t at = (size_t)snprintf(xml, size, "<mujoco><asset><mesh name='foot' vertex='");
    for (int i = 0; i < 2 * CORNERS; ++i) {
        int k = i % CORNERS;
        double part = regular || i >= CORNERS ? 0 : (double)dice_below(dice, 1000) / 1500;
        double angle = 2 * mjPI * (k + part) / CORNERS;
        if (i < CORNERS) corner[k][0] = .1 * cos(angle), corner[k][1] = .05 * sin(angle), corner[k][2] = -.02;
        double scale = i < CORNERS ? 1 : .8;
        at += (size_t)snprintf(xml + at, size - at, "%.9g %.9g %.9g ", scale * corner[k][0], scale * corner[k][1],
                               i < CORNERS ? -.02 : .02);
    }
    (void)snprintf(xml + at, size - at,
                   "'/></asset><worldbody><geom type='plane' size='5 5 .1'/><body><freejoint/><geom type='mesh' "
                   "mesh='foot' mass='1'/></body></worldbody></mujoco>");
}

static double between(uint64_t *dice, double low, double high)
{
    return low + (high - low) * (double)dice_below(dice, 1000001) / 1e6;
}

/* Up to 1 mm into the floor, turned about the vertical, tilted by 1e-5 to 1e-2 rad. */
static void draw_pose(uint64_t *dice, double corner[CORNERS][3], double qpos[7])
{
    double way = between(dice, 0, 2 * mjPI), axis[3] = {cos(way), sin(way), 0}, up[3] = {0, 0, 1}, yaw[4], tilt[4];
    mju_axisAngle2Quat(yaw, up, between(dice, 0, 2 * mjPI));
    mju_axisAngle2Quat(tilt, axis, pow(10, between(dice, -5, -2)));
    mju_mulQuat(qpos + 3, tilt, yaw);
    for (int k = 3; k < 7; ++k) qpos[k] = (double)(float)qpos[k];
    double lowest = 0;
    for (int i = 0; i < CORNERS; ++i) {
        double p[3];
        mju_rotVecQuat(p, corner[i], qpos + 3);
        lowest = fmin(lowest, p[2]);
    }
    for (int k = 0; k < 2; ++k) qpos[k] = (double)(float)between(dice, -1, 1);
    qpos[2] = (double)(float)(-lowest - between(dice, 1e-4, 1e-3));
}

/* How many worlds have other accelerations than MuJoCo, by more than a hundredth of the greatest. */
static int count_others(uint64_t *dice, bool regular)
{
    static char xml[TEXT];
    double corner[CORNERS][3];
    draw_foot(dice, regular, corner, xml, sizeof xml);
    stet_model *model;
    OK(stet_model_load_string(xml, &model));
    rig r = {.device = rig_open_device(NULL, 1), .model = model};
    stet_worlds_def def = stet_default_worlds_def();
    def.nworld = WORLDS;
    def.exact = false;
    OK(stet_worlds_create(r.device, r.model, &def, &r.worlds));
    mjData *data[WORLDS];
    for (int w = 0; w < WORLDS; ++w) {
        assert_non_null(data[w] = mj_makeData(model->mj));
        draw_pose(dice, corner, data[w]->qpos);
        for (int i = 0; i < 7; ++i) rig_set(&r, "qpos", w, i, (float)data[w]->qpos[i]);
        mj_forward(model->mj, data[w]);
    }
    sti_native *native;
    stet_array *qacc;
    OK(sti_native_create(r.worlds, &native));
    OK(sti_native_quantity(native, "qacc", &qacc));
    int others = 0, four = 0;
    for (int w = 0; w < WORLDS; ++w) {
        double error = 0, most = 0;
        for (int i = 0; i < 6; ++i) {
            error = fmax(error, fabs(reals_get(qacc, w, i) - data[w]->qacc[i]));
            most = fmax(most, fabs(data[w]->qacc[i]));
        }
        others += error > 1e-2 * most;
        four += data[w]->ncon == 4;
        mj_deleteData(data[w]);
    }
    assert_true(four > WORLDS / 4);
    stet_array_destroy(qacc);
    sti_native_destroy(native);
    rig_free(&r);
    return others;
}

static void feet_stand_as_mujocos(void **state)
{
    enum { FEET = 8 };
    uint64_t dice = dice_seed(__func__);
    int others = 0;
    for (int i = 0; i < FEET; ++i) others += count_others(&dice, i % 2 == 0);
    print_message("%d feet in %d worlds: %d other accelerations\n", FEET, WORLDS, others);
    assert_true(others <= FEET * WORLDS / 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(feet_stand_as_mujocos)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
