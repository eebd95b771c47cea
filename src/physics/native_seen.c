/* Quantities of the step in native physics (NATIVE-9): the state that they are computed from, and forward. */
#include "physics/native_state.h"

#include "kernel/record/launch.h"
#include "physics/seen_how.k.h"
#include "worlds/quantities.h"

extern const sti_kernel sti_k_native_see;

/* ---- the arrays -------------------------------------------------------------------------------------------------- */

void sti_native_seen_free(sti_native *n)
{
    sti_native_seen *s = &n->seen;
#define FREE(name) stet_array_destroy(s->name);
    STI_NATIVE_SEEN(FREE)
    FREE(kept)
#undef FREE
    sti_mask_free(&s->mask);
    sti_native_reads_free(&s->reads);
    *s = (sti_native_seen){.kept = NULL};
}

static stet_result make_like(const stet_array *a, stet_array **out)
{
    return STI_ARRAY(a->device, a->name, a->dtype, true, out, a->shape[0], a->nitem);
}

/* `kept` comes last: it says that all are there. */
static stet_result make_arrays(sti_native *n)
{
    sti_native_seen *s = &n->seen;
    stet_device *device = n->worlds->device;
#define MAKE(name) STI_TRY(make_like(n->worlds->state.field[STI_FIELD_##name], &s->name));
    STI_NATIVE_SEEN_FIELDS(MAKE)
#undef MAKE
    STI_TRY(make_like(n->clock, &s->clock));
    STI_TRY(make_like(n->fault, &s->fault));
    STI_TRY(make_like(n->ticks, &s->ticks));
    STI_TRY(sti_mask_init(&s->mask, device, "worlds whose state is kept", n->worlds->nworld));
    return STI_ARRAY(device, "worlds that keep a state", STET_DTYPE_INT, true, &s->kept, n->worlds->nworld, 1);
}

static stet_result make_seen(sti_native *n)
{
    if (sti_native_sees(n)) return STET_OK;
    stet_result result = make_arrays(n);
    if (result != STET_OK) sti_native_seen_free(n);
    if (result == STET_OK) sti_quantities_begun_there(n->worlds);
    return result;
}

stet_result sti_native_keep_steps(void *native)
{
    sti_native *n = native;
    if (n->tables.m[M_INTEGRATOR] == PH_RK4)
        return sti_error(STET_ERROR_UNSUPPORTED,
                         "worlds: with native physics, integrator RK4 leaves no quantities of a step but sensordata, "
                         "because the last of its four evaluations is at no state; use another integrator, MuJoCo's "
                         "physics, or quantities of the present state (stet_worlds_get_array)");
    return make_seen(n);
}

/* ---- keeping a state --------------------------------------------------------------------------------------------- */

stet_result sti_native_see(sti_native *n, stet_array *chosen, int how)
{
    const sti_native_seen *s = &n->seen;
    const mjModel *m = n->worlds->model->mj;
    assert(sti_native_sees(n));
#define SEEN(name) sti_arg_array(s->name)
    return STI_LAUNCH(
        sti_k_native_see, n->worlds->device, n->worlds->nworld, sti_arg_array(chosen), SEEN(kept), STATE_ARG(qpos),
        STATE_ARG(qvel), STATE_ARG(act), INPUT_ARGS, sti_arg_array(n->clock), sti_arg_array(n->fault),
        sti_arg_array(n->ticks), SEEN(qpos), SEEN(qvel), SEEN(act), SEEN(history), SEEN(ctrl), SEEN(qfrc_applied),
        SEEN(xfrc_applied), SEEN(mocap_pos), SEEN(mocap_quat), SEEN(qacc_warmstart), SEEN(eq_active), SEEN(clock),
        SEEN(fault), SEEN(ticks), sti_arg_int(m->nq), sti_arg_int(m->nv), sti_arg_int(m->na), sti_arg_int(m->nhistory),
        sti_arg_int(m->nu), sti_arg_int(m->nbody), sti_arg_int(m->nmocap), sti_arg_int(m->neq), sti_arg_int(how));
#undef SEEN
}

stet_result sti_native_begun(void *native, const uint8_t *mask)
{
    sti_native *n = native;
    if (!sti_native_sees(n)) return STET_OK;
    STI_TRY(sti_mask_put(&n->seen.mask, mask));
    return sti_native_see(n, n->seen.mask.array, SEEN_FORGET);
}

/* ---- forward ----------------------------------------------------------------------------------------------------- */

stet_result sti_native_forward(sti_native *n, const uint8_t *mask, stet_array *mask_array)
{
    stet_worlds *worlds = n->worlds;
    STI_TRY(sti_worlds_take_writes(worlds));
    STI_TRY(sti_native_update(n));
    STI_TRY(make_seen(n));
    if (mask_array)
        STI_TRY(sti_native_take_mask(n, &mask_array));
    else
        STI_TRY(sti_mask_put(&n->seen.mask, mask));
    stet_array *chosen = mask_array ? mask_array : n->seen.mask.array;
    STI_TRY(sti_native_see(n, chosen, SEEN_KEEP));
    if (mask || mask_array)
        sti_version_bump(&worlds->quantities.stamps.stepped_version); /* the others may have begun anew */
    else
        sti_quantities_stepped(worlds, NULL);
    n->seen.sensing = n->tables.m[M_NSENSORDATA] > 0 ? chosen : NULL;
    stet_result result = sti_quantities_fill_step(worlds);
    n->seen.sensing = NULL;
    return result;
}
