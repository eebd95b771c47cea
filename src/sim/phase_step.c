/* Runs a step with the caller's kernels. Invariants: phase.h. */
#include "sim/phase.h"

#include "kernel/record/record.h"
#include "kernel/user/user.h"
#include "sim/sim.h"
#include "stage/stage.h"
#include "step/step.h"
#include "worlds/reset.h"

#include <assert.h>
#include <string.h>

typedef struct stepping {
    stet_sim *sim;
    bool open;     /* a list is open */
    bool at_once;  /* physics is a launch in the list */
    bool put_back; /* so is the reset */
} stepping;

/* ---- PHASE-1 ----------------------------------------------------------------------------------------------------- */

static stet_result check_present(const sti_phases *p)
{
    for (int i = 0; i < p->nkernel; ++i) {
        const sti_phase_kernel *k = &p->kernel[i];
        if (!k->kernel)
            return sti_error(STET_ERROR_STATE,
                             "step: kernel %s is a part of it and was destroyed; remove it (stet_sim_remove_kernel)",
                             k->name);
        if (k->lost >= 0)
            return sti_error(STET_ERROR_STATE,
                             "step: kernel %s takes array %s, which was destroyed; give it another "
                             "(stet_sim_set_kernel_args) or remove it",
                             k->name, k->array);
    }
    if (!p->mask_lost) return STET_OK;
    return sti_error(STET_ERROR_STATE,
                     "step: mask %s of the reset was destroyed; set another (stet_sim_set_reset), or NULL",
                     p->mask_name);
}

/* ---- lists (PHASE-2, PHASE-3) ------------------------------------------------------------------------------------ */

static stet_result open_list(stepping *s)
{
    assert(!s->open);
    STI_TRY(sti_record_begin(s->sim->device, "the step's kernels"));
    s->open = true;
    return STET_OK;
}

/* Runs the list; after a failure drops it. */
static stet_result close_list(stepping *s, stet_result result)
{
    if (!s->open) return result;
    s->open = false;
    return sti_record_end(s->sim->device, result);
}

static bool pending_writes(const sti_list *pending, const stet_worlds *worlds, const sti_field *fields, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        if (sti_list_touches(pending, worlds->state.field[fields[i]], true)) return true;
    return false;
}

/* Whether the pending list writes anything that this computed array depends on. */
static bool follows(const stet_sim *sim, const stet_array *array, const sti_list *pending)
{
    static const sti_field moves[] = {STI_FIELD_qpos, STI_FIELD_mocap_pos, STI_FIELD_mocap_quat};
    static const sti_field poses[] = {STI_FIELD_xpos, STI_FIELD_xquat};
    const stet_worlds *worlds = sim->worlds;
    if (!array->producer) return false;
    if (pending_writes(pending, worlds, moves, sizeof moves / sizeof *moves)) return true;
    if (array == worlds->state.field[STI_FIELD_xpos] || array == worlds->state.field[STI_FIELD_xquat]) return false;
    /* Launches update scene transforms in a list of their own: close this one, unless it has read them before. */
    if (!sti_list_touches(pending, array, false)) return true;
    return pending_writes(pending, worlds, poses, sizeof poses / sizeof *poses) ||
           sti_list_touches(pending, sti_stage_local(sim->stage), true) ||
           sti_list_touches(pending, sti_stage_world(sim->stage), true);
}

static bool must_wait(const stet_sim *sim, const sti_phase_kernel *k)
{
    const sti_list *pending = sti_record_pending(sim->device);
    if (!pending || pending->nop == 0) return false;
    if (pending->nop == STI_LIST_OPS) return true;
    for (int i = 0; i < k->narg; ++i)
        if (k->arg[i].kind == STI_ARG_ARRAY && k->arg[i].array && follows(sim, k->arg[i].array, pending)) return true;
    return false;
}

static stet_result list_phase(stepping *s, stet_phase phase)
{
    stet_sim *sim = s->sim;
    for (int i = 0; i < sim->phases.nkernel; ++i) {
        const sti_phase_kernel *k = &sim->phases.kernel[i];
        if (k->phase != phase) continue;
        if (must_wait(sim, k)) STI_TRY(close_list(s, STET_OK));
        if (!s->open) STI_TRY(open_list(s));
        STI_TRY(sti_launch_beside(sim->device, sti_user_kernel(k->kernel), k->count, k->arg, k->narg));
    }
    return STET_OK;
}

/* ---- the host's work --------------------------------------------------------------------------------------------- */

/*
 * External physics only increases the time, so no listed kernel has to run before it, unless one uses `time`. The
 * caller's writes to the worlds are taken at the next host work, as if they were made after the step.
 */
static bool physics_beside_list(const stet_sim *sim)
{
    const sti_list *pending = sti_record_pending(sim->device);
    return stet_step_get_physics(sim->step) == STET_PHYSICS_EXTERNAL &&
           sti_enabled(&sim->device->mechanisms, STET_MECHANISM_POSE_SYNC) &&
           !(pending && sti_list_touches(pending, sim->worlds->state.field[STI_FIELD_time], false));
}

/* Native physics of all worlds is one launch, which is listed between the kernels. */
static bool physics_in_list(const stet_sim *sim, int n)
{
    return stet_step_get_physics(sim->step) == STET_PHYSICS_NATIVE && !sim->stepped && sti_sim_steps_at_once(sim, n) &&
           sti_enabled(&sim->device->mechanisms, STET_MECHANISM_POSE_SYNC);
}

static stet_result physics(stepping *s, int n)
{
    stet_device *device = s->sim->device;
    s->at_once = physics_in_list(s->sim, n);
    if (s->at_once) {
        if (!s->open) STI_TRY(open_list(s));
        return sti_sim_physics(s->sim, n);
    }
    if (!physics_beside_list(s->sim)) STI_TRY_TIMED(s->sim, kernels, close_list(s, STET_OK));
    bool listing = device->listing;
    device->listing = false;
    stet_result result = sti_sim_physics(s->sim, n);
    device->listing = listing;
    return result;
}

/* PHASE-4. */
static stet_result put_back(stet_sim *sim)
{
    assert(sim->phases.mask && !sim->phases.mask_lost && "PHASE-1");
    sti_phases *p = &sim->phases;
    stet_reset_def def = p->reset;
    sti_stamp now = {0};
    STI_TRY(sti_array_ensure(p->mask));
    sti_stamp_begin(&now);
    sti_stamp_add(&now, &p->mask->version);
    if (sti_stamp_equal(&p->taken, &now)) return STET_OK;
    def.mask_array = p->mask;
    STI_TRY(stet_worlds_reset(sim->worlds, &def));
    sti_stamp_keep(&p->taken, &now);
    return STET_OK;
}

/* PHASE-4, as a launch in the list. A mask that the list writes has a generation that was not taken yet. */
static stet_result list_put_back(stepping *s)
{
    assert(s->at_once && s->sim->phases.mask);
    sti_phases *p = &s->sim->phases;
    const sti_list *pending = sti_record_pending(s->sim->device);
    bool written = pending && sti_list_touches(pending, p->mask, true);
    (void)sti_array_poll_external_writes(p->mask);
    if (!written && sti_stamp_is(&p->taken, &p->mask->version)) return STET_OK;
    if (!s->open) STI_TRY(open_list(s));
    s->put_back = true;
    return sti_worlds_reset_on_device(s->sim->worlds, p->mask, &p->reset);
}

/* Does a kernel of the last phase write the mask, so that the next step has to look at it? */
static bool mask_is_written_again(const sti_phases *p)
{
    for (int i = 0; i < p->nkernel; ++i) {
        const sti_phase_kernel *k = &p->kernel[i];
        const sti_kernel *kernel = sti_user_kernel(k->kernel);
        if (k->phase != STET_PHASE_AFTER_RESET) continue;
        for (int a = 0; a < k->narg; ++a)
            if (k->arg[a].kind == STI_ARG_ARRAY && kernel->param[a].written &&
                sti_memory_overlaps(k->arg[a].array, p->mask))
                return true;
    }
    return false;
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

static stet_result run_phase_step(stepping *s, int n)
{
    stet_sim *sim = s->sim;
    sti_phases *p = &sim->phases;
    STI_TRY_TIMED(sim, kernels, list_phase(s, STET_PHASE_BEFORE_PHYSICS));
    STI_TRY(physics(s, n));
    STI_TRY_TIMED(sim, kernels, list_phase(s, STET_PHASE_AFTER_PHYSICS));
    if (p->mask && s->at_once && sti_worlds_reset_is_on_device(sim->worlds)) {
        STI_TRY_TIMED(sim, kernels, list_put_back(s));
    } else if (p->mask) {
        STI_TRY_TIMED(sim, kernels, close_list(s, STET_OK));
        STI_TRY_TIMED(sim, kernels, put_back(sim));
    }
    STI_TRY_TIMED(sim, kernels, list_phase(s, STET_PHASE_AFTER_RESET));
    STI_TRY_TIMED(sim, kernels, close_list(s, STET_OK));
    if (s->put_back && mask_is_written_again(p))
        sti_stamp_invalidate(&p->taken);
    else if (s->put_back)
        sti_stamp_keep_version(&p->taken, &p->mask->version);
    return STET_OK;
}

stet_result sti_phases_step(stet_sim *sim, int n)
{
    stepping s = {.sim = sim};
    STI_TRY(check_present(&sim->phases));
    STI_TRY(sti_step_prepare(sim->step));
    bool listing = sim->device->listing;
    stet_result result = close_list(&s, run_phase_step(&s, n));
    assert(!s.open && sim->device->listing == listing && "PHASE-2: every list that was opened has ended");
    (void)listing;
    return result;
}
