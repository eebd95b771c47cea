/* Resets of worlds by a kernel (NATIVE-4); see native.h. */
#include "physics/native_state.h"

#include "kernel/record/launch.h"
#include "worlds/history.h"
#include "worlds/random.h"
#include "worlds/reset.h"

#include <string.h>

extern const sti_kernel sti_k_native_reset, sti_k_native_chosen, sti_k_native_poses;

/* ---- the state that worlds begin with ---------------------------------------------------------------------------- */

static double *put(double *to, const mjtNum *from, int64_t n)
{
    if (n > 0) memcpy(to, from, (size_t)n * sizeof *to);
    return to + n;
}

static stet_result fill_key(sti_native *n, int keyframe)
{
    const mjModel *m = n->worlds->model->mj;
    mjData *d = n->worlds->poses.scratch[0];
    double *numbers, *end;
    if (!sti_reset_data(m, d, keyframe, false))
        return sti_error(STET_ERROR_STATE,
                         "reset: MuJoCo reported an error while it reset its data; look at the model");
    STI_TRY(sti_alloc(&numbers, (size_t)n->key->nitem * sizeof *numbers, "state of a reset"));
    end = put(numbers, d->qpos, m->nq);
    end = put(end, d->qvel, m->nv);
    end = put(end, d->act, m->na);
    end = put(end, d->ctrl, m->nu);
    end = put(end, d->mocap_pos, 3 * m->nmocap);
    end = put(end, d->mocap_quat, 4 * m->nmocap);
    sti_history_to_ages(m, m->opt.timestep, d->time, d->history);
    (void)put(end, d->history, m->nhistory);
    stet_result result = sti_native_put_numbers(n->key, numbers, n->key->nitem, NULL, 0);
    sti_free(numbers);
    n->keyframe = result == STET_OK ? keyframe : NO_KEY;
    n->key_time = d->time;
    return result == STET_OK ? sti_native_put_clock(n) : result;
}

/* The state of a keyframe on the device. Resets that were not pulled went to the time of the keyframe before. */
stet_result sti_native_take_key(sti_native *n, int keyframe)
{
    stet_worlds *worlds = n->worlds;
    const mjModel *m = worlds->model->mj;
    if (n->key && n->keyframe == keyframe) return STET_OK;
    STI_TRY(sti_worlds_pull_physics(worlds));
    if (!n->key)
        STI_TRY(STI_ARRAY(worlds->device, "state of a reset", STET_DTYPE_REAL, false, &n->key,
                          m->nq + m->nv + m->na + m->nu + 7 * m->nmocap + m->nhistory + 1));
    return fill_key(n, keyframe);
}

/* ---- the launch -------------------------------------------------------------------------------------------------- */

stet_result sti_native_put_resets(sti_native *n)
{
    const stet_worlds *worlds = n->worlds;
    void *mirror;
    STI_TRY(sti_mirror_overwrite(n->resets, &mirror));
    memset(mirror, 0, n->resets->size);
    for (int64_t w = 0; w < worlds->nworld; ++w)
        ((int32_t *)mirror)[sti_array_index(n->resets, w, 0)] = (int32_t)(uint32_t)worlds->state.resets[w];
    sti_array_mirror_written(n->resets);
    sti_stamp_keep_version(&n->numbered, &worlds->state.stamps.resets);
    sti_stamp_keep_version(&n->counted, &n->resets->version);
    return worlds->device->can.host_memory ? STET_OK : sti_array_to_device(n->resets);
}

/* Bytes become numbers in `put_back`, whose content is the host's no more. */
stet_result sti_native_take_mask(sti_native *n, stet_array **mask)
{
    const stet_array *bytes = *mask;
    if (bytes->dtype != STET_DTYPE_U8) return STET_OK;
    sti_mask_forget(&n->put_back);
    *mask = n->put_back.array;
    return STI_LAUNCH(sti_k_native_chosen, n->worlds->device, n->worlds->nworld, sti_arg_array(bytes),
                      sti_arg_array(*mask), sti_arg_int(n->worlds->nworld));
}

stet_result sti_native_launch_reset(sti_native *n, const sti_native_reset_args *reset)
{
    const stet_worlds *worlds = n->worlds;
    stet_array *mask = reset->mask;
    uint64_t seed = worlds->def.seed;
    STI_TRY(sti_native_take_mask(n, &mask));
    return STI_LAUNCH(sti_k_native_reset, worlds->device, worlds->nworld, MODEL_ARGS, sti_arg_array(n->key),
                      sti_arg_array(mask), STATE_ARG(qpos), STATE_ARG(qvel), STATE_ARG(act), INPUT_ARGS,
                      STATE_ARG(step_sensordata), sti_arg_array(n->fault), sti_arg_array(n->ticks),
                      sti_arg_array(n->resets), sti_arg_int(reset->keyframe >= 0), sti_arg_real(reset->qpos_noise),
                      sti_arg_real(reset->qvel_noise), sti_arg_int(STI_STREAM_RESET),
                      sti_arg_int((int32_t)(uint32_t)seed), sti_arg_int((int32_t)(uint32_t)(seed >> 32)),
                      sti_arg_int(worlds->def.first_world));
}

stet_result sti_native_launch_poses(sti_native *n)
{
    return STI_LAUNCH(sti_k_native_poses, n->worlds->device, n->worlds->nworld, MODEL_ARGS, sti_arg_array(n->due.array),
                      sti_arg_int(n->tables.m[W_GEOM_XPOS]), STATE_ARG(qpos), STATE_ARG(mocap_pos),
                      STATE_ARG(mocap_quat), STATE_ARG(xpos), STATE_ARG(xquat));
}
