/*
 * The solver where single precision has few digits to spare: contacts with little friction or none, light bodies under
 * heavy ones, heavy ones at the ends of chains, long ropes, bodies packed together. Native physics has no fault where
 * MuJoCo has none in the same time. Its accelerations are MuJoCo's for the same state, or the cost that they minimise,
 * in double, is no more than that of MuJoCo's; and it is never more than where the iterations began.
 */
#include "worlds/rig.h"

#include "device/isa.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/stiff_scenes.h"
#include "physics/tables.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_DOFS = 320, MOST_ROWS = 4000 };

static char text[STIFF_TEXT];

/* One run: a world, MuJoCo beside it, and MuJoCo for what the world's present state says. */
typedef struct run {
    rig r;
    const mjModel *m;
    mjData *beside, *now;
    bool soft;                       /* MuJoCo has the least regularisation of contacts that native physics has */
    bool warm;                       /* iterations may begin at the warm start: not where qM is nearly singular */
    double allowed;                  /* error of accelerations */
    int faults, compared, far, rose; /* of native physics; states compared, with other accelerations, with more cost */
    double worst;                    /* error, 1 is what is allowed */
} run;

static run begin(const char *scene, double speed, uint64_t seed)
{
    run x = {.r = rig_make(scene, 1, "w1", 1, false), .warm = true, .allowed = 1e-3};
    double v;
    rig_step(&x.r, STET_PHYSICS_NATIVE);
    x.m = x.r.model->mj;
    assert_non_null(x.beside = mj_makeData(x.m));
    assert_non_null(x.now = mj_makeData(x.m));
    assert_true(x.m->nv <= MOST_DOFS);
    for (int i = 0; i < x.m->nv; ++i) {
        x.beside->qvel[i] = v = (double)(float)(speed * (double)rig_wave((int64_t)seed, 1, i));
        rig_set(&x.r, "qvel", 0, i, (float)v);
    }
    return x;
}

static void end(run *x)
{
    mj_deleteData(x->beside);
    mj_deleteData(x->now);
    rig_free(&x->r);
}

static int mujoco_faults(const mjData *d)
{
    return d->warning[mjWARN_BADQPOS].number + d->warning[mjWARN_BADQVEL].number + d->warning[mjWARN_BADQACC].number;
}

/* What qacc minimises, for the state and the rows of d. */
static double cost_of(const mjModel *m, mjData *d, const mjtNum *qacc)
{
    mjtNum jar[MOST_ROWS], change[MOST_DOFS], force[MOST_DOFS], cost;
    assert_true(d->nefc <= MOST_ROWS);
    mj_mulJacVec(m, d, jar, qacc);
    for (int i = 0; i < d->nefc; ++i) jar[i] -= d->efc_aref[i];
    mj_constraintUpdate(m, d, jar, &cost, 0);
    for (int i = 0; i < m->nv; ++i) change[i] = qacc[i] - d->qacc_smooth[i];
    mj_mulM(m, d, force, change);
    return cost + mju_dot(force, change, (int)m->nv) / 2;
}

static void take(const run *x, const char *field, mjtNum *to, int n)
{
    for (int i = 0; i < n; ++i) to[i] = rig_get(&x->r, field, 0, i);
}

static int contacts_of(const run *x)
{
    const void *ncon;
    OK(stet_array_get_host(rig_array(&x->r, "ncon"), &ncon));
    return *(const int32_t *)ncon;
}

/* R of the rows of contacts becomes at least what the tables say, and MuJoCo solves again. */
static void soften(const run *x)
{
    mjData *d = x->now;
    sti_physics_tables t;
    OK(sti_physics_tables_make(x->m, &t));
    for (int p = 0; p < t.m[M_NPAIR]; ++p) {
        const int *pair = t.m + t.m[M_PAIR] + B_SIZE * p;
        double least = t.f[t.m[M_BLOCK_PRM] + pair[B_PRM] + P_LEAST_R];
        for (int i = 0; i < d->nefc; ++i) {
            int type = d->efc_type[i];
            bool touches = type == mjCNSTR_CONTACT_PYRAMIDAL || type == mjCNSTR_CONTACT_FRICTIONLESS;
            if (!touches) continue;
            const mjContact *c = d->contact + d->efc_id[i];
            if (c->geom[0] != pair[B_OBJ1] || c->geom[1] != pair[B_OBJ2]) continue;
            d->efc_R[i] = fmax(d->efc_R[i], least);
            d->efc_D[i] = 1 / d->efc_R[i];
        }
    }
    sti_physics_tables_free(&t);
    mj_fwdConstraint(x->m, d);
}

/*
 * Holds the accelerations of the present state against MuJoCo's, if both have as many contacts. What an acceleration
 * may be off costs where rows are stiff: so either is enough. Rounded forces make other accelerations, whose cost above
 * that of the start is some part of their power.
 */
static void compare(run *x)
{
    const mjModel *m = x->m;
    mjData *d = x->now;
    mjtNum qacc[MOST_DOFS], exact[MOST_DOFS], warm[MOST_DOFS], size = 1, error = 0;
    take(x, "qpos", d->qpos, (int)m->nq);
    take(x, "qvel", d->qvel, (int)m->nv);
    take(x, "qacc_warmstart", warm, (int)m->nv);
    take(x, "qacc", qacc, (int)m->nv);
    take(x, "ctrl", d->ctrl, (int)m->nu);
    mju_copy(d->qacc_warmstart, warm, (int)m->nv);
    mj_forward(m, d);
    if (contacts_of(x) != d->ncon) return;
    if (x->soft) soften(x);
    mju_copy(exact, d->qacc, (int)m->nv);
    for (int i = 0; i < m->nv; ++i) {
        size = fmax(size, fabs(exact[i]));
        error = fmax(error, fabs(qacc[i] - exact[i]));
        if (qacc[i] != qacc[i]) error = HUGE_VAL;
    }
    error = error / size / x->allowed;
    if (d->nefc > 0) {
        double own = cost_of(m, d, qacc), best = cost_of(m, d, exact), first = cost_of(m, d, d->qacc_smooth);
        if (x->warm) first = fmin(first, cost_of(m, d, warm));
        double over = (own - best) / fmax(best, 1e-9) / 1e-4;
        if (over < error) error = over;
        if (!(own <= first * (1 + 1e-4) + 1e-8 * fabs(mju_dot(d->qacc_smooth, d->qfrc_smooth, (int)m->nv)))) ++x->rose;
    }
    ++x->compared;
    if (!(error <= 1)) ++x->far;
    if (!(error <= x->worst)) x->worst = error;
}

/* nstep time steps of both, with controls that change; compares the state before every `each`-th, if that is not 0. */
static void go(run *x, int nstep, int every)
{
    for (int k = 0; k < nstep; ++k) {
        float row[64];
        assert_true(x->m->nu <= 64);
        rig_controls(x->m, 0, k / 20, row);
        for (int i = 0; i < x->m->nu; ++i) x->beside->ctrl[i] = (double)row[i];
        if (x->m->nu > 0)
            OK(stet_array_write_worlds(rig_array(&x->r, "ctrl"), 0, 1, row, (size_t)x->m->nu * sizeof *row));
        if (every && k % every == 0) compare(x);
        OK(stet_step_run(x->r.step, 1));
        mj_step(x->m, x->beside);
    }
    x->faults = stet_worlds_get_faults(x->r.worlds)[0] != 0;
}

static void report(const run *x, const char *name)
{
    print_message("%s: %d faults, MuJoCo %d; %d states compared, %d far, %d above their start, worst %.2g\n", name,
                  x->faults, mujoco_faults(x->beside), x->compared, x->far, x->rose, x->worst);
}

/* ---- friction ---------------------------------------------------------------------------------------------------- */

static const double frictions[] = {0, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1};
enum { FRICTIONS = sizeof frictions / sizeof *frictions };

/* Where a cylinder that lies on its end touches a plane is not the same in MuJoCo, so that only faults count. */
static void kf46_no_friction_is_too_little(void **state)
{
    static const char *const shapes[] = {"type='box' size='.2 .2 .15'", "size='.15'",
                                         "type='capsule' size='.15 .2' euler='0 90 0'",
                                         "type='ellipsoid' size='.2 .25 .15'", "type='cylinder' size='.2 .15'"};
    static const char *const cones[] = {"pyramidal", "elliptic"};
    static const char *const integrators[] = {"Euler", "implicitfast", "RK4"};
    static const int dims[] = {1, 3, 4, 6};
    int compared = 0, steps = 50, failed = 0, nrun = 0;
    double worst = 0;
    for (int shape = 0; shape < 5; ++shape)
        for (int c = 0; c < 8 * FRICTIONS; ++c) {
            int cone = c % 2, dim = c / 2 % 4, friction = c / 8, integrator = (shape + dim + friction) % 3;
            char name[256];
            write_slider(text, shapes[shape], cones[cone], dims[dim], integrators[integrator], frictions[friction]);
            run x = begin(text, .5, (uint64_t)c);
            x.soft = frictions[friction] < 1e-3;
            go(&x, steps, shape < 4 ? 5 : 0);
            (void)snprintf(name, sizeof name, "%s, %s, condim %d, %s, friction %g", shapes[shape], cones[cone],
                           dims[dim], integrators[integrator], frictions[friction]);
            assert_int_equal(mujoco_faults(x.beside), 0);
            if (x.faults || x.far || x.rose) {
                report(&x, name);
                ++failed;
            }
            compared += x.compared;
            worst = fmax(worst, x.worst);
            ++nrun;
            end(&x);
        }
    print_message("%d runs, %d states compared, worst %.2g of what is allowed\n", nrun, compared, worst);
    assert_int_equal(failed, 0);
    assert_true(compared > 2400);
}

/* The shipped humanoid with a factor on all frictions, as domain randomisation sets it. */
static void a_humanoid_stands_on_ice(void **state)
{
    static const double factors[] = {1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 0};
    for (size_t k = 0; k < sizeof factors / sizeof *factors; ++k)
        for (int cone = 0; cone < 2; ++cone) {
            stet_model *model = rig_model("humanoid.xml");
            mjModel *m = (mjModel *)(uintptr_t)model->mj;
            for (int i = 0; i < 3 * m->ngeom; ++i) m->geom_friction[i] *= factors[k];
            m->opt.cone = cone;
            run x = {.r = {.device = rig_open_device("w1", 1), .model = model}, .m = m, .warm = true, .allowed = 1e-3};
            stet_worlds_def def = stet_default_worlds_def();
            char name[64];
            def.nworld = 1;
            def.exact = false;
            def.keyframe = -1;
            OK(stet_worlds_create(x.r.device, model, &def, &x.r.worlds));
            rig_step(&x.r, STET_PHYSICS_NATIVE);
            assert_non_null(x.beside = mj_makeData(m));
            assert_non_null(x.now = mj_makeData(m));
            bool tame = factors[k] >= 1e-3;
            x.soft = !tame;
            go(&x, 300, 5);
            (void)snprintf(name, sizeof name, "humanoid, friction times %g, cone %d", factors[k], cone);
            report(&x, name);
            assert_int_equal(x.faults, 0);
            assert_int_equal(x.far, 0);
            assert_int_equal(x.rose, 0);
            assert_true(x.compared > 40);
            end(&x);
        }
}

/* ---- mass -------------------------------------------------------------------------------------------------------- */

static void check_run(const char *name, double speed, double allowed, int nstep, int every, int least)
{
    run x = begin(text, speed, 3);
    x.allowed = allowed;
    x.warm = allowed == 1e-3;
    go(&x, nstep, every);
    report(&x, name);
    assert_int_equal(mujoco_faults(x.beside), 0);
    assert_int_equal(x.faults, 0);
    assert_int_equal(x.far, 0);
    assert_int_equal(x.rose, 0);
    assert_true(x.compared >= least);
    end(&x);
}

static void heavy_bodies_rest_on_light_ones(void **state)
{
    static const double masses[] = {30, 100, 1000, 10000};
    for (size_t k = 0; k < sizeof masses / sizeof *masses; ++k) {
        char name[64];
        write_tower(text, masses[k]);
        (void)snprintf(name, sizeof name, "1 kg under %g kg", masses[k]);
        check_run(name, 0, 1e-3, 200, 5, 30);
        check_run(name, .2, 1e-3, 200, 5, 30);
    }
}

/* What rounded forces alone make of such accelerations is allowed of them and of those of ropes. */
static void heavy_bodies_hang_on_chains(void **state)
{
    write_rope(text, 5, 100, "axis='0 1 0'", "", -9);
    check_run("5 hinges and 100 kg", .5, 1e-2, 200, 5, 40);
    write_rope(text, 10, 100, "axis='0 1 0'", "integrator='implicitfast'", -9);
    check_run("10 hinges and 100 kg, implicit", .5, 1e-2, 200, 5, 40);
    write_rope(text, 20, 100, "type='ball'", "integrator='RK4'", -9);
    check_run("20 balls and 100 kg, RK4", .5, 5e-2, 100, 5, 20);
}

static void ropes_are_long(void **state)
{
    write_rope(text, 50, .1, "type='ball'", "", -3);
    check_run("50 balls, onto the floor", .5, 1e-2, 100, 5, 20);
    write_rope(text, 50, .1, "type='ball' damping='.01'", "integrator='implicitfast'", -9);
    check_run("50 damped balls, implicit", .5, 5e-2, 100, 5, 20);
    write_rope(text, 100, .1, "type='ball'", "", -9);
    check_run("100 balls", .5, 5e-2, 50, 10, 5);
}

/* Small bodies that lean on each other at many places; some contacts cannot move what turns about its own axis. */
static void packed_cubes_turn(void **state)
{
    int touching = 0, nrun = 8;
    for (int k = 0; k < nrun; ++k) {
        write_cube(text);
        run x = begin(text, 3, (uint64_t)k);
        go(&x, 150, 0);
        report(&x, "cube of 27");
        assert_int_equal(mujoco_faults(x.beside), 0);
        assert_int_equal(x.faults, 0);
        touching += contacts_of(&x) > 20;
        end(&x);
    }
    assert_true(touching > nrun / 2);
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

/* A world has the same bits alone, and beside worlds that need other factors than it does, at every width. */
static void lanes_do_not_mix(void **state)
{
    static const char *const isas[] = {"w1", "portable", "avx2", "avx512"};
    enum { WORLDS = 5 };
    for (int scene = 0; scene < 3; ++scene) {
        uint64_t of[4] = {0};
        if (scene == 0) write_tower(text, 1000);
        if (scene == 1) write_slider(text, "type='box' size='.2 .2 .15'", "pyramidal", 3, "implicitfast", 1e-6);
        if (scene == 2) write_rope(text, 20, 100, "type='ball' damping='.1'", "integrator='implicitfast'", -1.5);
        for (int k = 0; k < 4; ++k) {
            sti_isa isa;
            if (!sti_isa_find(isas[k], &isa) || !sti_isa_available(isa)) continue;
            rig r = rig_make(text, WORLDS, isas[k], 1, false);
            rig_step(&r, STET_PHYSICS_NATIVE);
            for (int64_t w = 0; w < WORLDS; ++w)
                for (int64_t i = 0; i < r.model->mj->nv; ++i)
                    rig_set(&r, "qvel", w, i, 0.3f * (float)w * rig_wave(w, 2, i));
            OK(stet_step_run(r.step, 60));
            for (int64_t w = 0; w < WORLDS; ++w) assert_int_equal(stet_worlds_get_faults(r.worlds)[w], 0);
            of[k] = rig_all_hash(&r);
            assert_int_equal(of[k], of[0]);
            rig_free(&r);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf46_no_friction_is_too_little),
        cmocka_unit_test(a_humanoid_stands_on_ice),
        cmocka_unit_test(heavy_bodies_rest_on_light_ones),
        cmocka_unit_test(heavy_bodies_hang_on_chains),
        cmocka_unit_test(ropes_are_long),
        cmocka_unit_test(packed_cubes_turn),
        cmocka_unit_test(lanes_do_not_mix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
