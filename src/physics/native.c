/* Native physics on the host: tables to the device, launches, and what a step leaves to do; see native.h. */
#include "physics/native.h"

#include "base/memory.h"
#include "kernel/record/launch.h"
#include "physics/features.h"
#include "physics/layout.k.h"
#include "physics/tables.h"

#include <string.h>

extern const sti_kernel sti_k_native_step, sti_k_native_forward, sti_k_native_poses;

_Static_assert(PH_BAD_QPOS == 1 << STET_FAULT_BAD_QPOS && PH_BAD_QVEL == 1 << STET_FAULT_BAD_QVEL &&
                   PH_BAD_QACC == 1 << STET_FAULT_BAD_QACC && PH_BAD_CTRL == 1 << STET_FAULT_BAD_CTRL &&
                   PH_CONTACTS_FULL == 1 << STET_FAULT_CONTACTS_FULL,
               "kernels write the bits of stet_fault");

struct sti_native {
    stet_worlds *worlds;
    sti_physics_tables tables;
    stet_array *m, *f;         /* the tables on the device */
    stet_array *stepped;       /* [nworld][1], the mask of the last step */
    stet_array *warm;          /* [nworld][nv], qacc of the last step: where the solver begins */
    stet_array *eq_active;     /* [nworld][neq] */
    uint64_t *resets;          /* [nworld], worlds->resets when the two were last put back */
    stet_array *fault, *since; /* [nworld][1], what a step found */
    uint8_t *mask;             /* [nworld], what `stepped` holds */
    stet_array *due;           /* [nworld][1], worlds whose poses were computed last */
    uint8_t *posed;            /* [nworld], what `due` holds */
};

/* ---- making ------------------------------------------------------------------------------------------------------ */

static stet_result upload_tables(sti_native *n)
{
    stet_device *device = n->worlds->device;
    const sti_physics_tables *t = &n->tables;
    void *bytes;
    STI_TRY(STI_ARRAY(device, "tables of the physics", STET_DTYPE_INT, false, &n->m, t->nm));
    STI_TRY(stet_array_write(n->m, t->m, (size_t)t->nm * sizeof *t->m));
    STI_TRY(STI_ARRAY(device, "parameters of the physics", STET_DTYPE_REAL, false, &n->f, t->nf));
    STI_TRY(sti_mirror_overwrite(n->f, &bytes));
    for (int i = 0; i < t->nf; ++i) {
        if (device->real_size == sizeof(double))
            ((double *)bytes)[i] = t->f[i];
        else
            ((float *)bytes)[i] = (float)t->f[i];
    }
    sti_array_mirror_written(n->f);
    return STET_OK;
}

static stet_result build_native(sti_native *n)
{
    stet_worlds *worlds = n->worlds;
    const mjModel *mj = worlds->model->mj;
    STI_TRY(sti_physics_tables_make(mj, &n->tables));
    STI_TRY(upload_tables(n));
    STI_TRY(STI_ARRAY(worlds->device, "stepped worlds", STET_DTYPE_INT, true, &n->stepped, worlds->nworld, 1));
    STI_TRY(STI_ARRAY(worlds->device, "faults of a step", STET_DTYPE_INT, true, &n->fault, worlds->nworld, 1));
    STI_TRY(STI_ARRAY(worlds->device, "steps since a reset", STET_DTYPE_INT, true, &n->since, worlds->nworld, 1));
    STI_TRY(STI_ARRAY(worlds->device, "qacc_warmstart", STET_DTYPE_REAL, true, &n->warm, worlds->nworld, mj->nv));
    STI_TRY(STI_ARRAY(worlds->device, "eq_active", STET_DTYPE_INT, true, &n->eq_active, worlds->nworld, mj->neq));
    STI_TRY(sti_alloc(&n->resets, (size_t)worlds->nworld * sizeof *n->resets, "resets of worlds"));
    for (int64_t w = 0; w < worlds->nworld; ++w) n->resets[w] = UINT64_MAX;
    STI_TRY(STI_ARRAY(worlds->device, "worlds to pose", STET_DTYPE_INT, true, &n->due, worlds->nworld, 1));
    STI_TRY(sti_alloc(&n->posed, (size_t)worlds->nworld, "mask of worlds"));
    return sti_alloc(&n->mask, (size_t)worlds->nworld, "mask of worlds");
}

static stet_result make_poses(void *context, const uint8_t *due);

stet_result sti_native_create(stet_worlds *worlds, sti_native **out)
{
    *out = NULL;
    STI_TRY(sti_physics_check_model(worlds->model->mj));
    if (worlds->data)
        return sti_error(STET_ERROR_STATE,
                         "step: physics native has its state in the arrays, and these worlds were made "
                         "with MuJoCo's data; make them with exact = false");
    sti_native *n;
    STI_TRY(sti_alloc(&n, sizeof *n, "native physics"));
    n->worlds = worlds;
    stet_result result = build_native(n);
    if (result != STET_OK) {
        sti_native_destroy(n);
        return result;
    }
    if (!worlds->physics.context) sti_worlds_set_physics(worlds, (sti_worlds_physics){n, make_poses});
    *out = n;
    return STET_OK;
}

void sti_native_destroy(sti_native *n)
{
    if (!n) return;
    if (n->worlds->physics.context == n) sti_worlds_set_physics(n->worlds, (sti_worlds_physics){0});
    stet_array *arrays[] = {n->m, n->f, n->stepped, n->warm, n->eq_active, n->fault, n->since, n->due};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; ++i) stet_array_destroy(arrays[i]);
    sti_physics_tables_free(&n->tables);
    sti_free(n->resets);
    sti_free(n->mask);
    sti_free(n->posed);
    sti_free(n);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/* A mask on the device; it is written only if it differs from the last one, which `held` [nworld] has. */
static stet_result put_mask(stet_array *array, uint8_t *held, const uint8_t *mask)
{
    int64_t nworld = array->shape[0];
    bool same = true;
    for (int64_t w = 0; w < nworld; ++w) same = same && held[w] == (!mask || mask[w]);
    if (same) return STET_OK;
    void *mirror;
    STI_TRY(sti_array_mirror_write(array, &mirror));
    for (int64_t w = 0; w < nworld; ++w) {
        held[w] = !mask || mask[w];
        ((int32_t *)mirror)[sti_array_index(array, w, 0)] = held[w];
    }
    sti_array_mirror_written(array);
    return STET_OK;
}

/* Worlds that were reset since the last step begin anew: no warm start, equalities as the model has them. */
static stet_result put_resets(sti_native *n)
{
    const mjModel *mj = n->worlds->model->mj;
    void *warm, *active;
    bool any = false;
    for (int64_t w = 0; w < n->worlds->nworld; ++w) any = any || n->resets[w] != n->worlds->resets[w];
    if (!any) return STET_OK;
    STI_TRY(sti_array_mirror_write(n->warm, &warm));
    STI_TRY(sti_array_mirror_write(n->eq_active, &active));
    for (int64_t w = 0; w < n->worlds->nworld; ++w) {
        if (n->resets[w] == n->worlds->resets[w]) continue;
        n->resets[w] = n->worlds->resets[w];
        for (int64_t i = 0; i < mj->nv; ++i) sti_mirror_set(n->warm, warm, w, i, 0);
        for (int64_t i = 0; i < mj->neq; ++i)
            ((int32_t *)active)[sti_array_index(n->eq_active, w, i)] = mj->eq_active0[i];
    }
    sti_array_mirror_written(n->warm);
    sti_array_mirror_written(n->eq_active);
    return STET_OK;
}

stet_result sti_native_eq_active(sti_native *n, stet_array **out)
{
    STI_TRY(put_resets(n));
    *out = n->eq_active;
    return STET_OK;
}

#define STATE_ARG(name) sti_arg_array(n->worlds->field[STI_FIELD_##name])
#define MEMORY_ARG sti_arg_int(n->tables.m[M_NMEMORY]), sti_arg_int(n->tables.m[M_NINTS])
#define MODEL_ARGS sti_arg_array(n->m), sti_arg_array(n->f), sti_arg_array(NULL)
#define INPUT_ARGS                                                                                                     \
    STATE_ARG(ctrl), STATE_ARG(qfrc_applied), STATE_ARG(xfrc_applied), STATE_ARG(mocap_pos), STATE_ARG(mocap_quat),    \
        sti_arg_array(n->warm), sti_arg_array(n->eq_active)

/* The inputs of a world that was reset become what mj_resetData makes of them. */
static stet_result reset_inputs(sti_native *n, const int32_t *since)
{
    static const sti_field inputs[] = {STI_FIELD_ctrl, STI_FIELD_qfrc_applied, STI_FIELD_xfrc_applied,
                                       STI_FIELD_mocap_pos, STI_FIELD_mocap_quat};
    stet_worlds *worlds = n->worlds;
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; ++k) {
        stet_array *a = worlds->field[inputs[k]];
        int table = inputs[k] == STI_FIELD_mocap_pos    ? M_RESET_MOCAP_POS
                    : inputs[k] == STI_FIELD_mocap_quat ? M_RESET_MOCAP_QUAT
                                                        : -1;
        void *mirror;
        if (a->nitem == 0) continue;
        STI_TRY(sti_array_mirror_write(a, &mirror));
        for (int64_t w = 0; w < worlds->nworld; ++w)
            for (int64_t i = 0; since[sti_array_index(n->since, w, 0)] >= 0 && i < a->nitem; ++i)
                sti_mirror_set(a, mirror, w, i, table < 0 ? 0 : n->tables.f[n->tables.m[table] + i]);
        sti_worlds_field_written(worlds, inputs[k]);
    }
    return STET_OK;
}

/* The time of a world after n steps, of which `since` came after its last reset (-1: there was none). */
static double advance_time(double time, double dt, int n, int since)
{
    if (since >= 0) {
        time = 0;
        n = since;
    }
    for (int i = 0; i < n; ++i) time += dt;
    return time;
}

/* Times, faults, which worlds moved, and the inputs of those that were reset. */
static stet_result finish_step(sti_native *n, int nstep)
{
    stet_worlds *worlds = n->worlds;
    stet_array *time = worlds->field[STI_FIELD_time];
    double dt = worlds->model->mj->opt.timestep;
    void *fault, *since, *mirror;
    bool any_reset = false;
    STI_TRY(sti_array_mirror_read(n->fault, &fault));
    STI_TRY(sti_array_mirror_read(n->since, &since));
    STI_TRY(sti_array_mirror_write(time, &mirror));
    for (int64_t w = 0; w < worlds->nworld; ++w) {
        if (!n->mask[w]) continue;
        int64_t at = sti_array_index(n->since, w, 0);
        int32_t after = ((const int32_t *)since)[at];
        worlds->faults[w] |= (uint32_t)((const int32_t *)fault)[at];
        worlds->time[w] = advance_time(worlds->time[w], dt, nstep, after);
        sti_mirror_set(time, mirror, w, 0, worlds->time[w]);
        any_reset = any_reset || after >= 0;
    }
    sti_worlds_field_written(worlds, STI_FIELD_time);
    return any_reset ? reset_inputs(n, since) : STET_OK;
}

static void mark_moved(sti_native *n, bool all)
{
    static const sti_field state[] = {STI_FIELD_qpos, STI_FIELD_qvel, STI_FIELD_act};
    stet_worlds *worlds = n->worlds;
    for (size_t k = 0; k < sizeof state / sizeof *state; ++k)
        sti_stamp_keep_version(&worlds->pushed[state[k]], &worlds->field[state[k]]->version);
    if (all) sti_worlds_all_moved(worlds);
    for (int64_t w = 0; !all && w < worlds->nworld; ++w)
        if (n->mask[w]) sti_worlds_moved(worlds, w);
}

stet_result sti_native_steps(sti_native *n, const uint8_t *mask, int nstep)
{
    stet_worlds *worlds = n->worlds;
    STI_TRY(sti_worlds_sync(worlds)); /* WORLDS-5 */
    STI_TRY(put_resets(n));
    STI_TRY(put_mask(n->stepped, n->mask, mask));
    STI_TRY(STI_LAUNCH(sti_k_native_step, worlds->device, worlds->nworld, MODEL_ARGS, sti_arg_array(n->stepped),
                       MEMORY_ARG, STATE_ARG(qpos), STATE_ARG(qvel), STATE_ARG(act), INPUT_ARGS,
                       sti_arg_array(n->fault), sti_arg_array(n->since), sti_arg_int(nstep)));
    mark_moved(n, mask == NULL);
    return finish_step(n, nstep);
}

/* ---- poses ------------------------------------------------------------------------------------------------------- */

/* Of the worlds whose byte is not 0. Kinematics use team memory up to the quantities of geoms. */
static stet_result make_poses(void *context, const uint8_t *due)
{
    sti_native *n = context;
    STI_TRY(put_mask(n->due, n->posed, due));
    return STI_LAUNCH(sti_k_native_poses, n->worlds->device, n->worlds->nworld, MODEL_ARGS, sti_arg_array(n->due),
                      sti_arg_int(n->tables.m[W_GEOM_XPOS]), STATE_ARG(qpos), STATE_ARG(mocap_pos),
                      STATE_ARG(mocap_quat), STATE_ARG(xpos), STATE_ARG(xquat));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

stet_result sti_native_quantity(sti_native *n, const char *name, stet_array **out)
{
    int items, number = sti_physics_quantity(name, &n->tables, &items);
    stet_array *a;
    *out = NULL;
    STI_TRY(put_resets(n));
    if (number < 0) return sti_error(STET_ERROR_NOT_FOUND, "physics: there is no quantity '%.64s'", name);
    STI_TRY(STI_ARRAY(n->worlds->device, name, STET_DTYPE_REAL, true, &a, n->worlds->nworld, items));
    stet_result result = STI_LAUNCH(sti_k_native_forward, n->worlds->device, n->worlds->nworld, MODEL_ARGS, MEMORY_ARG,
                                    STATE_ARG(qpos), STATE_ARG(qvel), STATE_ARG(act), INPUT_ARGS, sti_arg_array(a),
                                    sti_arg_int(number), sti_arg_int(items));
    if (result != STET_OK) {
        stet_array_destroy(a);
        return result;
    }
    *out = a;
    return STET_OK;
}
