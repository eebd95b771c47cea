/*
 * What should rest does, with native physics in float: towers of equal boxes, cylinders and boxes on a floor, boxes on
 * lying capsules, aligned exactly and with a little noise. MuJoCo's physics says what is at rest: speeds may be 1e-3
 * (m/s, rad/s), or twice MuJoCo's. Towers with noise sway there, too: between faces that are turned by 1e-5 rad against
 * one another contacts come and go. They may have 0.1, and go no further than MuJoCo's.
 */
#include "base/part.h"
#include "worlds/rig.h"

#include <math.h>

enum { WORLDS = 8, TEXT = 1000, TOWER_LEAST = 2, TOWER_MOST = 10, LAST = 400, SAMPLE = 10 };
#define FLOOR "<geom type='plane' size='5 5 .1'/>"
#define LAID(geom, pos) "<body pos='" pos "'><freejoint/><geom " geom "/></body>"

static const struct {
    const char *name, *bodies;
} piles[] = {
    {"standing cylinders",
     FLOOR LAID("type='cylinder' size='.1 .1'", "0 0 .1") LAID("type='cylinder' size='.033 .06'", "1 0 .06")
         LAID("type='cylinder' size='.3 .02'", "2 0 .02")},
    {"a box on a lying capsule", "<geom type='capsule' size='.1 .4' euler='0 90 0' pos='0 0 .1'/>"
                                 "<geom type='capsule' size='.1 .4' euler='0 90 0' pos='0 .3 .1'/>" LAID(
                                     "type='box' size='.2 .25 .1'", "0 .15 .3")},
    {"a plank across two capsules", FLOOR LAID("type='capsule' size='.05 .3' euler='90 0 0'", "-.3 0 .05")
                                        LAID("type='capsule' size='.05 .3' euler='90 0 0'", ".3 0 .05")
                                            LAID("type='box' size='.5 .1 .02'", "0 0 .12")},
    {"boxes flush with a box",
     FLOOR "<geom type='box' size='.3 .1 .1' pos='0 0 .1'/>" LAID("type='box' size='.1 .1 .1'", "-.2 0 .3")
         LAID("type='box' size='.05 .1 .1'", ".25 0 .3")},
};
enum { PILES = sizeof piles / sizeof piles[0] };

/* The greatest speed in the last of `steps` steps, and the greatest way that a coordinate went. */
static double final_speed(const char *xml, stet_physics physics, int steps, double noise, uint64_t dice, double *way)
{
    rig r = rig_make(xml, WORLDS, NULL, 1, physics == STET_PHYSICS_MUJOCO), first = rig_make(xml, 1, NULL, 1, false);
    rig_step(&r, physics);
    int64_t nq = rig_array(&r, "qpos")->nitem, nv = rig_array(&r, "qvel")->nitem;
    for (int64_t w = 0; w < WORLDS && noise > 0; ++w)
        for (int64_t i = 0; i < nq; ++i) {
            double part = (double)dice_below(&dice, 2001) / 1000 - 1;
            rig_set(&r, "qpos", w, i, (float)(rig_get(&r, "qpos", w, i) + noise * part));
        }
    double speed = 0;
    *way = 0;
    for (int at = steps - LAST; at <= steps; at += SAMPLE) {
        OK(stet_step_run(r.step, at == steps - LAST ? at : SAMPLE));
        for (int64_t w = 0; w < WORLDS; ++w)
            for (int64_t i = 0; i < nv; ++i) speed = fmax(speed, fabs(rig_get(&r, "qvel", w, i)));
    }
    for (int64_t w = 0; w < WORLDS; ++w)
        for (int64_t i = 0; i < nq; ++i)
            *way = fmax(*way, fabs(rig_get(&r, "qpos", w, i) - rig_get(&first, "qpos", 0, i)));
    rig_free(&first);
    rig_free(&r);
    return speed;
}

/* noise: m, and of quaternions */
static void check_rest(const char *name, const char *bodies, int steps, double noise, double most, uint64_t *dice)
{
    static char xml[TEXT];
    (void)snprintf(xml, sizeof xml, "<mujoco><option timestep='.002'/><worldbody>%s</worldbody></mujoco>", bodies);
    double way, mujocos_way, speed = final_speed(xml, STET_PHYSICS_NATIVE, steps, noise, *dice, &way);
    double mujocos = final_speed(xml, STET_PHYSICS_MUJOCO, steps, noise, *dice, &mujocos_way);
    dice_next(dice);
    print_message("%-28s noise %g, after %g s: speed %.2g, MuJoCo's %.2g; way %.2g, MuJoCo's %.2g\n", name, noise,
                  .002 * steps, speed, mujocos, way, mujocos_way);
    assert_true(speed <= fmax(most, 2 * mujocos));
    assert_true(way <= fmax(2e-3, 2 * mujocos_way));
}

static void towers_rest(void **state)
{
    static char bodies[TEXT];
    uint64_t dice = dice_seed(__func__);
    int only = in_part() ? TOWER_LEAST + (int)dice_below(&dice, TOWER_MOST - TOWER_LEAST + 1) : 0;
    for (int n = TOWER_LEAST; n <= TOWER_MOST; ++n) {
        char name[32];
        if (only && n != only && n != 3) continue;
        (void)snprintf(name, sizeof name, "a tower of %d boxes", n);
        (void)snprintf(
            bodies, sizeof bodies,
            FLOOR "<replicate count='%d' offset='0 0 .2'>" LAID("type='box' size='.1 .1 .1'", "0 0 .1") "</replicate>",
            n);
        check_rest(name, bodies, 1000, 0, 1e-3, &dice);
        check_rest(name, bodies, 1000, 1e-5, 1e-1, &dice);
    }
}

static void piles_rest(void **state)
{
    uint64_t dice = dice_seed(__func__);
    for (int i = 0; i < PILES; ++i)
        for (int k = 0; k < 2; ++k) /* of 10,240 worlds with noise five still move by 1 to 5 mm/s after 2 s */
            check_rest(piles[i].name, piles[i].bodies, k == 0 ? 1000 : 1500, k * 1e-5, 1e-3, &dice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(towers_rest),
        cmocka_unit_test(piles_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
