/*
 * The caller's kernels in the phases of a step: adding, changing and removing them, and their destruction by the
 * caller. phase_step.c runs them. Invariants: phase.h.
 */
#include "sim/phase.h"

#include "kernel/user/user.h"
#include "sim/sim.h"
#include "worlds/reset.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- what goes while it is used (PHASE-1) ------------------------------------------------------------------------ */

static void lose_array(sti_phase_kernel *k, const stet_array *array)
{
    assert(array);
    for (int i = 0; i < k->narg; ++i) {
        if (k->arg[i].kind != STI_ARG_ARRAY || k->arg[i].array != array) continue;
        k->lost = i;
        (void)snprintf(k->array, sizeof k->array, "%s", array->name);
        k->arg[i].array = NULL;
    }
}

static void gone(sti_watcher *watcher, const void *thing)
{
    sti_phases *p = (sti_phases *)(void *)((char *)watcher - offsetof(sti_phases, watcher));
    for (int i = 0; i < p->nkernel; ++i) {
        if (p->kernel[i].kernel == thing) p->kernel[i].kernel = NULL;
        lose_array(&p->kernel[i], thing);
    }
    if (p->mask != thing) return;
    (void)snprintf(p->mask_name, sizeof p->mask_name, "%s", p->mask->name);
    p->mask = NULL;
    p->mask_lost = true;
}

static void watch(stet_sim *sim)
{
    sti_phases *p = &sim->phases;
    if (p->watching) return;
    p->watcher.gone = gone;
    p->watching = true;
    sti_device_watch(sim->device, &p->watcher);
}

/* ---- adding and changing ----------------------------------------------------------------------------------------- */

static stet_result check_kernel(const stet_sim *sim, const stet_kernel *kernel)
{
    if (sti_user_kernel_device(kernel) == sim->device) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "step: kernel %s was made for another device; make it for that of the sim (stet_sim_get_device)",
                     stet_kernel_get_name(kernel));
}

/* Converts the caller's arguments and checks them as a launch would. */
static stet_result check_args(const stet_sim *sim, const stet_kernel *kernel, int64_t count, const stet_arg *args,
                              int narg, sti_arg own[STI_MAX_PARAMS])
{
    STI_TRY(sti_user_args(kernel, args, narg, own));
    return sti_launch_check(sim->device, sti_user_kernel(kernel), count, own, narg);
}

static stet_result make_room_phase(sti_phases *p)
{
    if (p->nkernel < p->room) return STET_OK;
    int room = p->room ? 2 * p->room : 8;
    STI_TRY(sti_realloc(&p->kernel, (size_t)room * sizeof *p->kernel, "kernels in the step"));
    p->room = room;
    return STET_OK;
}

stet_result stet_sim_add_kernel(stet_sim *sim, stet_phase phase, stet_kernel *kernel, int64_t count,
                                const stet_arg *args, int narg, int *id)
{
    if (!sim || !kernel)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_add_kernel: sim and kernel must not be NULL");
    if ((unsigned)phase >= STET_PHASE_COUNT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "step: there is no phase %d; use STET_PHASE_x", (int)phase);
    sti_phases *p = &sim->phases;
    sti_arg own[STI_MAX_PARAMS];
    sti_phase_kernel k = {.id = p->next_id, .phase = phase, .kernel = kernel, .count = count, .narg = narg, .lost = -1};
    (void)snprintf(k.name, sizeof k.name, "%s", stet_kernel_get_name(kernel));
    STI_TRY(check_kernel(sim, kernel));
    STI_TRY(check_args(sim, kernel, count, args, narg, own));
    STI_TRY(make_room_phase(p));
    STI_TRY(sti_alloc(&k.arg, (size_t)(narg + 1) * sizeof *own, "arguments of a kernel in the step"));
    memcpy(k.arg, own, (size_t)narg * sizeof *own);
    watch(sim);
    assert(p->nkernel < p->room && p->watching && "PHASE-1");
    for (int i = 0; i < p->nkernel; ++i) assert(p->kernel[i].id < k.id && "numbers are never reused");
    p->kernel[p->nkernel++] = k;
    p->next_id++;
    if (id) *id = k.id;
    return STET_OK;
}

static stet_result find_phase(stet_sim *sim, int id, const char *call, int *at)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: sim must not be NULL", call);
    for (*at = 0; *at < sim->phases.nkernel; ++*at)
        if (sim->phases.kernel[*at].id == id) return STET_OK;
    return sti_error(STET_ERROR_NOT_FOUND, "%s: the step has no kernel of number %d (any more)", call, id);
}

stet_result stet_sim_set_kernel_args(stet_sim *sim, int id, const stet_arg *args, int narg)
{
    int at;
    sti_arg own[STI_MAX_PARAMS];
    STI_TRY(find_phase(sim, id, "stet_sim_set_kernel_args", &at));
    sti_phase_kernel *k = &sim->phases.kernel[at];
    if (!k->kernel)
        return sti_error(STET_ERROR_STATE, "step: kernel %s was destroyed; remove it with stet_sim_remove_kernel",
                         k->name);
    STI_TRY(check_args(sim, k->kernel, k->count, args, narg, own));
    assert(narg == k->narg);
    /* the number of a kernel's arguments never changes */
    if (narg > 0) memcpy(k->arg, own, (size_t)narg * sizeof *own);
    k->lost = -1;
    return STET_OK;
}

stet_result stet_sim_remove_kernel(stet_sim *sim, int id)
{
    int at;
    STI_TRY(find_phase(sim, id, "stet_sim_remove_kernel", &at));
    sti_phases *p = &sim->phases;
    sti_free(p->kernel[at].arg);
    p->nkernel--;
    assert(at <= p->nkernel);
    memmove(p->kernel + at, p->kernel + at + 1, (size_t)(p->nkernel - at) * sizeof *p->kernel);
    return STET_OK;
}

void stet_sim_clear_kernels(stet_sim *sim)
{
    if (!sim) return;
    for (int i = 0; i < sim->phases.nkernel; ++i) sti_free(sim->phases.kernel[i].arg);
    sim->phases.nkernel = 0;
}

/* ---- the reset by mask ------------------------------------------------------------------------------------------- */

stet_result stet_sim_set_reset(stet_sim *sim, stet_array *mask, const stet_reset_def *def)
{
    if (!sim) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_sim_set_reset: sim must not be NULL");
    sti_phases *p = &sim->phases;
    if (mask) {
        stet_reset_def own = def ? *def : stet_default_reset_def();
        if (own.mask || own.mask_array)
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "step: the array says which worlds are put back; leave the mask of the reset's def out");
        own.mask_array = mask;
        STI_TRY(sti_check_reset(sim->worlds, &own));
        watch(sim);
        p->reset = own;
        p->reset.mask_array = NULL;
    }
    p->mask = mask;
    p->mask_lost = false;
    return STET_OK;
}

void sti_phases_free(stet_sim *sim)
{
    if (sim->device && sim->phases.watching) sti_device_unwatch(sim->device, &sim->phases.watcher);
    stet_sim_clear_kernels(sim);
    sti_free(sim->phases.kernel);
    sti_stamp_free(&sim->phases.taken);
}
