/* What MuJoCo's library computes from the state of worlds, held against their quantities. */
#ifndef TEST_WORLDS_EXPECTED_H
#define TEST_WORLDS_EXPECTED_H

#include "worlds/rig.h"

#include <math.h>
#include <stdlib.h>

/* Moves all worlds apart, by numbers that float holds. */
static inline void expected_spread(const rig *r, int nworld)
{
    static const char *const fields[] = {"qpos", "qvel", "ctrl", "xfrc_applied"};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f) {
        stet_array *a = rig_array(r, fields[f]);
        void *mirror;
        if (a->nitem == 0) continue;
        OK(sti_array_mirror_write(a, &mirror));
        for (int64_t i = 0; i < a->nitem; ++i)
            for (int w = 0; w < nworld; ++w) {
                float x = (float)sti_mirror_get(a, mirror, w, i) + .03f * rig_wave(w, (int64_t)f, i);
                sti_mirror_set(a, mirror, w, i, (double)x);
            }
        sti_array_mirror_written(a);
    }
}

/* What MuJoCo computes from the state of world w. */
static inline mjData *expected_data(const rig *r, int64_t w)
{
    const mjModel *m = r->model->mj;
    mjData *d = mj_makeData(m);
    assert_non_null(d);
    if (r->worlds->state.data) {
        OK(sti_worlds_sync(r->worlds));
        mj_copyState(m, r->worlds->state.data[w], d, mjSTATE_INTEGRATION);
    } else {
        for (int f = 0; f < STI_FIELD_COUNT; ++f) {
            mjtNum *to = sti_field_exact(d, (sti_field)f); /* NULL: eq_active, which is the model's in these tests */
            for (int64_t i = 0; to && sti_field_writer[f] & STI_WRITER_CALLER && i < r->worlds->state.field[f]->nitem;
                 ++i)
                to[i] = reals_get(r->worlds->state.field[f], w, i);
        }
    }
    mj_forward(m, d);
    mj_rnePostConstraint(m, d);
    mj_subtreeVel(m, d);
    mj_energyPos(m, d);
    mj_energyVel(m, d);
    return d;
}

static inline void expected_numbers(const rig *r, stet_array *a, int64_t w, const mjtNum *exact, int64_t n,
                                    double limit, double scale)
{
    OK(sti_array_ensure(a));
    assert_int_equal(a->nitem, n);
    for (int64_t i = 0; i < n; ++i) scale = fmax(scale, fabs(exact[i]));
    for (int64_t i = 0; i < n; ++i)
        if (!(fabs(reals_get(a, w, i) - exact[i]) <= limit * scale))
            fail_msg("%s of world %d of %s: number %d is %.9g, MuJoCo's %.9g", a->name, (int)w,
                     stet_device_get_name(r->device), (int)i, reals_get(a, w, i), exact[i]);
}

static inline int expected_int(stet_array *a, int64_t w, int64_t i)
{
    int32_t row[4096];
    assert_true(a->nitem <= 4096);
    OK(stet_array_read_worlds(a, w, 1, row, (size_t)a->nitem * sizeof *row));
    return row[i];
}

/* The slot that holds contact c, or -1. Physics list contacts in orders of their own. */
static inline int expected_slot(const rig *r, const mjContact *c, int64_t w, int slots)
{
    for (int i = 0; i < slots; ++i) {
        bool same = expected_int(rig_array(r, "contact_geom"), w, 2 * i) == c->geom[0] &&
                    expected_int(rig_array(r, "contact_geom"), w, 2 * i + 1) == c->geom[1] &&
                    fabs(rig_get(r, "contact_dist", w, i) - c->dist) < 1e-6;
        for (int k = 0; k < 3; ++k) same = same && fabs(rig_get(r, "contact_pos", w, 3 * i + k) - c->pos[k]) < 1e-5;
        if (same) return i;
    }
    return -1;
}

static inline void expected_contacts(const rig *r, const mjData *d, int64_t w, double limit)
{
    int slots = (int)rig_array(r, "contact_dist")->nitem, used = 0;
    assert_int_equal(expected_int(rig_array(r, "ncon"), w, 0), d->ncon);
    assert_true(d->ncon <= slots);
    for (int i = 0; i < slots; ++i) used += expected_int(rig_array(r, "contact_geom"), w, 2 * i) >= 0;
    assert_int_equal(used, d->ncon);
    for (int i = 0; i < d->ncon; ++i) {
        const mjContact *c = &d->contact[i];
        mjtNum force[6];
        double size = 1;
        int at = expected_slot(r, c, w, slots);
        if (at < 0) fail_msg("contact %d of geoms %d and %d is in no slot", i, c->geom[0], c->geom[1]);
        mj_contactForce(r->model->mj, d, i, force);
        for (int k = 0; k < 6; ++k) size = fmax(size, fabs(force[k]));
        for (int k = 0; k < 9; ++k) assert_true(fabs(rig_get(r, "contact_frame", w, 9 * at + k) - c->frame[k]) < 1e-6);
        for (int k = 0; k < 6; ++k)
            if (!(fabs(rig_get(r, "contact_force", w, 6 * at + k) - force[k]) <= limit * size))
                fail_msg("force %d of contact %d is %g, MuJoCo's %g", k, i, rig_get(r, "contact_force", w, 6 * at + k),
                         force[k]);
    }
}

static inline void expected_jacobians(const rig *r, const mjData *d, int64_t w, double limit)
{
    const mjModel *m = r->model->mj;
    mjtNum *J = calloc((size_t)(6 * m->nv + 1), sizeof *J), point[3];
    static const double local[3] = {.1, -.2, .3};
    int body = (int)m->nbody - 1;
    stet_array *a, *same;
    assert_non_null(J);
    OK(stet_worlds_get_jacobian(r->worlds, STET_JACOBIAN_BODY, body, NULL, &a));
    mj_jacBody(m, d, J, J + 3 * m->nv, body);
    expected_numbers(r, a, w, J, 6 * m->nv, limit, 1);
    OK(stet_worlds_get_jacobian(r->worlds, STET_JACOBIAN_BODY_COM, body, NULL, &a));
    mj_jacBodyCom(m, d, J, J + 3 * m->nv, body);
    expected_numbers(r, a, w, J, 6 * m->nv, limit, 1);
    OK(stet_worlds_get_jacobian(r->worlds, STET_JACOBIAN_GEOM, (int)m->ngeom - 1, NULL, &a));
    mj_jacGeom(m, d, J, J + 3 * m->nv, (int)m->ngeom - 1);
    expected_numbers(r, a, w, J, 6 * m->nv, limit, 1);
    if (m->nsite > 0) {
        OK(stet_worlds_get_jacobian(r->worlds, STET_JACOBIAN_SITE, 0, NULL, &a));
        mj_jacSite(m, d, J, J + 3 * m->nv, 0);
        expected_numbers(r, a, w, J, 6 * m->nv, limit, 1);
    }
    OK(stet_worlds_get_jacobian(r->worlds, STET_JACOBIAN_POINT, body, local, &a));
    mju_mulMatVec3(point, d->xmat + 9 * (ptrdiff_t)body, local);
    mju_addTo3(point, d->xpos + 3 * (ptrdiff_t)body);
    mj_jac(m, d, J, J + 3 * m->nv, point, body);
    expected_numbers(r, a, w, J, 6 * m->nv, limit, 1);
    OK(stet_worlds_get_jacobian(r->worlds, STET_JACOBIAN_POINT, body, local, &same));
    assert_ptr_equal(a, same);
    free(J);
}

static inline void expected_quats(const rig *r, const char *name, int64_t w, const mjtNum *mat, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        mjtNum q[4];
        mju_mat2Quat(q, mat + 9 * i);
        for (int k = 0; k < 4; ++k) assert_true(fabs(rig_get(r, name, w, 4 * i + k) - q[k]) < 1e-6);
    }
}

/* smooth: the relative error of what no solver makes; solved: of accelerations and forces. */
static inline void expected_check(const rig *r, int nworld, double smooth, double solved)
{
    const mjModel *m = r->model->mj;
    for (int64_t w = 0; w < nworld; ++w) {
        mjData *d = expected_data(r, w);
        const int64_t slots = 0;
        double forces = 1; /* what stage after computes is a difference of these */
        for (int64_t i = 0; i < 6 * m->nbody; ++i) forces = fmax(forces, fabs(d->cfrc_ext[i]));
        (void)slots;
        /* The world does not move; native physics has its inertia all the same, MuJoCo 0. */
        for (int i = 0; i < 10; ++i) d->cinert[i] = rig_get(r, "cinert", w, i);
#define CHECK(name, dtype, items, stage, member)                                                                       \
    if (sti_quantity_exact(d, STI_QUANTITY_##name))                                                                    \
        expected_numbers(r, rig_array(r, #name), w, sti_quantity_exact(d, STI_QUANTITY_##name), (int64_t)(items),      \
                         STI_STAGE_##stage < STI_STAGE_ACCELERATION ? smooth : solved,                                 \
                         STI_STAGE_##stage == STI_STAGE_AFTER ? forces : 1);
        STI_QUANTITIES(CHECK)
#undef CHECK
        mjtNum *M = calloc((size_t)(m->nv * m->nv + 1), sizeof *M);
        assert_non_null(M);
        mj_fullM(m, d, M);
        expected_numbers(r, rig_array(r, "qM"), w, M, m->nv * m->nv, smooth, 1);
        free(M);
        expected_quats(r, "geom_xquat", w, d->geom_xmat, m->ngeom);
        expected_quats(r, "site_xquat", w, d->site_xmat, m->nsite);
        expected_contacts(r, d, w, solved);
        expected_jacobians(r, d, w, smooth);
        mj_deleteData(d);
    }
}

#endif
