/*
 * Groups of pairs of geoms and boxes of geoms leave out no contact: worlds in which each geom has a size, a place and a
 * margin of its own, against MuJoCo with the same. Spheres, capsules and boxes are such that all contacts have a closed
 * form, which is MuJoCo's to rounding.
 */
#include "physics/oracle.h"

#include "physics/native_state.h"

#include <math.h>
#include <stdlib.h>

enum { WORLDS = 16, ROUNDS = 24, GEOMS = 64, PLACES = 32 };

#define BOX "contype='1' conaffinity='2' type='box'"
#define ROUND "contype='2' conaffinity='3' type="
#define PART(pos)                                                                                                      \
    "<body pos='" pos "'><freejoint/><replicate count='4' offset='.03 .02 .04'><geom " BOX                             \
    " size='.1 .2 .05'/><geom " BOX " size='.05 .05 .2' pos='.2 0 .1'/>"                                               \
    "<geom " ROUND "'sphere' size='.1' pos='-.2 0 .1'/><geom " ROUND "'capsule' size='.05 .2' pos='0 .2 0'/>"          \
    "<geom " ROUND "'capsule' size='.03 .1' pos='0 -.2 .2' euler='40 10 0'/></replicate></body>"

#define SCENE(margin)                                                                                                  \
    "<mujoco><default><geom margin='" margin "'/></default><worldbody><geom " ROUND "'plane' size='9 9 1'/>"           \
    "<geom " BOX " size='.5 .5 .1' pos='.7 0 .1'/><geom " ROUND "'sphere' size='.2' pos='-.6 0 .2'/>" PART("0 0 .3")   \
        PART("0 .4 .4") PART(".4 0 .6") "</worldbody></mujoco>"

/* values [WORLDS][n]: the model's, each by a factor of its own, or that much more. */
static void draw_parameter(const double *own, int n, double factor, double more, uint64_t *dice, double *values)
{
    for (int w = 0; w < WORLDS; ++w)
        for (int i = 0; i < n; ++i) {
            double times = exp(oracle_uniform(dice, -factor, factor));
            values[w * n + i] = own[i] * times + oracle_uniform(dice, 0, more);
        }
}

/* One world beside MuJoCo with the same numbers; returns its contacts: none is left out. */
static int check_world(const rig *r, int w, const double *size, const double *pos)
{
    mjModel *m = mj_copyModel(NULL, r->model->mj);
    mjData *d = mj_makeData(m);
    int n = (int)m->ngeom, nnear = 0;
    mju_copy(m->geom_size, size + (ptrdiff_t)3 * n * w, 3 * n);
    mju_copy(m->geom_pos, pos + (ptrdiff_t)3 * n * w, 3 * n);
    mj_setConst(m, d);
    mj_resetData(m, d);
    for (int i = 0; i < m->nq; ++i) d->qpos[i] = rig_get(r, "qpos", w, i);
    mj_fwdPosition(m, d);
    for (int i = 0; i < d->ncon; ++i) {
        const mjContact *c = &d->contact[i];
        nnear += fabs(c->dist - c->includemargin) < 1e-9;
    }
    int32_t got;
    int want = d->ncon;
    OK(stet_array_read_worlds(rig_array(r, "ncon"), w, 1, &got, sizeof got));
    if (abs(got - want) > nnear) fail_msg("world %d has %d contacts, MuJoCo's %d", w, got, want);
    mj_deleteData(d);
    mj_deleteModel(m);
    return want;
}

static void check_scene(const char *scene, uint64_t *dice)
{
    double size[WORLDS * GEOMS * 3], pos[WORLDS * GEOMS * 3], qpos[WORLDS * PLACES];
    rig r = rig_make(scene, WORLDS, "f64", 1, false);
    const mjModel *m = r.model->mj;
    int n = (int)m->ngeom, contacts = 0, apart = 0;
    sti_physics_tables t;
    assert_true(n <= GEOMS && m->nq <= PLACES);
    rig_step(&r, STET_PHYSICS_NATIVE);
    OK(sti_physics_tables_make(m, &t));
    assert_true(t.m[M_NPAIR] > PH_MANY_PAIRS);
    assert_int_equal(t.m[M_NGROUP],
                     3 + 3 + 3); /* of two bodies; of a body and the ball, or the box, that cannot move */
    sti_physics_tables_free(&t);
    for (int round = 0; round < ROUNDS; ++round) {
        draw_parameter(m->geom_size, 3 * n, 0.5, 0, dice, size);
        draw_parameter(m->geom_pos, 3 * n, 0.5, 0.1, dice, pos);
        OK(stet_worlds_set_parameter(r.worlds, "geom_size", size, (int64_t)WORLDS * 3 * n));
        OK(stet_worlds_set_parameter(r.worlds, "geom_pos", pos, (int64_t)WORLDS * 3 * n));
        for (int i = 0; i < WORLDS * (int)m->nq; ++i) qpos[i] = m->qpos0[i % m->nq] + oracle_uniform(dice, -0.4, 0.4);
        OK(stet_array_write(rig_array(&r, "qpos"), qpos, (size_t)(WORLDS * m->nq) * sizeof *qpos));
        for (int w = 0; w < WORLDS; ++w) {
            int world = check_world(&r, w, size, pos);
            contacts += world;
            apart += world == 0;
        }
    }
    print_message("%d contacts, %d of %d worlds have none\n", contacts, apart, ROUNDS * WORLDS);
    assert_true(contacts > 2 * ROUNDS * WORLDS);
    rig_free(&r);
}

static void no_contact_is_left_out(void **state)
{
    uint64_t dice = dice_seed("no_contact_is_left_out");
    check_scene(SCENE("0"), &dice);
    check_scene(SCENE(".03"), &dice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_contact_is_left_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
