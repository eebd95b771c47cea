/*
 * Tapes: creates, begins and ends them. tape.h has the invariants; tape_backward.c runs backward passes.
 */
#include "adjoint/tape/tape.h"
#include "adjoint/launch/stacks.h"

#include "kernel/record/record.h"

#include <assert.h>
#include <stdatomic.h>

enum { TAPE_COOKIE = 0x57e7ad71 };

static atomic_uint_least64_t last_serial;

stet_tape_def stet_default_tape_def(void) { return (stet_tape_def){.cookie = TAPE_COOKIE, .memory = INT64_C(1) << 30}; }

static stet_result check_def(const stet_tape_def *def)
{
    if (def->cookie != TAPE_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "tape: the def is not initialised; start from stet_default_tape_def()");
    if (def->memory < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "tape: %lld bytes of checkpoints; give 0 for as few as can be",
                         (long long)def->memory);
    if (def->every >= 0) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "tape: a checkpoint every %lld steps; give 0 for the usual",
                     (long long)def->every);
}

stet_result stet_tape_create(stet_device *device, const stet_tape_def *def, stet_tape **out)
{
    stet_tape *t;
    if (!device || !def || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_tape_create: device, def and out must not be NULL");
    *out = NULL;
    STI_TRY(check_def(def));
    STI_TRY(sti_alloc(&t, sizeof *t, "tape"));
    t->device = device;
    t->given = def->every;
    t->memory = def->memory;
    t->inside = -1;
    t->launch_observer = sti_tape_observer;
    t->watcher.gone = sti_tape_gone;
    sti_device_watch(device, &t->watcher);
    sti_device_retain(device);
    *out = t;
    return STET_OK;
}

void sti_tape_open(stet_tape *t)
{
    assert(!t->open && !t->device->launch_observer && "a device has one open tape");
    t->open = true;
    t->device->launch_observer = &t->launch_observer;
}

void sti_tape_close(stet_tape *t)
{
    assert(t->open && t->device->launch_observer == &t->launch_observer && "a device has one open tape");
    t->open = false;
    t->device->launch_observer = NULL;
}

void stet_tape_destroy(stet_tape *t)
{
    if (!t) return;
    stet_device *device = t->device;
    if (t->open) sti_tape_close(t);
    sti_device_unwatch(device, &t->watcher);
    sti_tape_free_tables(t);
    sti_free(t);
    sti_device_release(device);
}

static stet_result check_begin(stet_tape *t)
{
    STI_TRY(sti_not_listing(t->device, "stet_tape_begin"));
    if (t->device->launch_observer)
        return sti_error(STET_ERROR_STATE, "tape: %s is open; end it first",
                         t->open ? "this tape" : "another tape of this device");
    if (sti_device_capture(t->device))
        return sti_error(STET_ERROR_STATE,
                         "tape: what is captured into a caller's graph does not run; begin it outside");
    return STET_OK;
}

stet_result stet_tape_begin(stet_tape *t)
{
    if (!t) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_tape_begin: tape must not be NULL");
    STI_TRY(check_begin(t));
    STI_TRY(sti_tape_reserve(&t->check, &t->check_room, 1, sizeof *t->check));
    sti_tape_forget(t);
    t->broken = STET_OK;
    t->every = t->given > 0 ? t->given : 1;
    t->check[t->ncheck++] = (sti_tape_check){.step = 0};
    t->launch_observer.serial = atomic_fetch_add(&last_serial, 1) + 1;
    sti_tape_open(t);
    sti_validate_tape(t);
    return STET_OK;
}

static stet_result check_open(const stet_tape *t, const char *call)
{
    if (!t) return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: tape must not be NULL", call);
    if (!t->open) return sti_error(STET_ERROR_STATE, "%s: the tape was not begun", call);
    return STET_OK;
}

stet_result stet_tape_step(stet_tape *t)
{
    STI_TRY(check_open(t, "stet_tape_step"));
    STI_TRY(sti_not_listing(t->device, "stet_tape_step"));
    bool first = !t->stepped && t->nop == 0;
    t->stepped = true;
    if (first || t->broken != STET_OK) return STET_OK; /* the end of the tape reports it */
    t->step++;
    assert(t->ncheck > 0 && t->check[t->ncheck - 1].step < t->step && "TAPE-2: checkpoints lie behind");
    stet_result result = sti_tape_checkpoint(t);
    sti_tape_break(t, result);
    return result;
}

/* Completes the tape after recording has ended. */
static stet_result finish(stet_tape *t)
{
    if (t->broken != STET_OK) return sti_error(t->broken, "%s", t->why);
    return sti_tape_finish(t);
}

stet_result stet_tape_end(stet_tape *t, stet_result result)
{
    STI_TRY(check_open(t, "stet_tape_end"));
    if (result == STET_OK) result = sti_not_listing(t->device, "stet_tape_end");
    if (result == STET_OK) result = sti_tape_take_derived(t);
    sti_tape_close(t);
    if (result == STET_OK) result = finish(t);
    if (result == STET_OK)
        t->complete = true;
    else
        sti_tape_forget(t);
    sti_validate_tape(t);
    return result;
}

bool sti_tape_touches(const stet_tape *t, const stet_array *array)
{
    int i = sti_tape_known_array(t, array);
    return t->complete && i >= 0 && t->array[i].touched;
}

/* ---- what it holds ----------------------------------------------------------------------------------------------- */

static int64_t bytes_of(const stet_array *a) { return a ? (int64_t)a->size : 0; }

static int64_t bytes_of_pool(const sti_tape_pool *pool)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < pool->n; ++i) bytes += bytes_of(pool->array[i]);
    return bytes;
}

static void add_array(const sti_tape_array *a, stet_tape_info *info)
{
    for (int64_t i = 0; i < a->ncopy; ++i) info->checkpoint_bytes += bytes_of(a->copy[i].copy);
    info->checkpoint_bytes += bytes_of_pool(&a->spare) + bytes_of(a->final);
    info->undo_bytes += bytes_of_pool(&a->undo) + bytes_of(a->ahead);
    info->gradient_bytes += bytes_of(a->gradient) + bytes_of_pool(&a->scratch);
}

stet_tape_info stet_tape_get_info(const stet_tape *t)
{
    stet_tape_info info = {0};
    if (!t) return info;
    info.launches = t->nop;
    info.steps = t->nop > 0 || t->stepped ? t->step + 1 : 0;
    info.checkpoints = t->nop > 0 ? t->ncheck : 0;
    info.every = t->every;
    info.stack_bytes = sti_stacks_bytes(t->device);
    for (int64_t i = 0; i < t->narray; ++i) add_array(&t->array[i], &info);
    for (int64_t i = 0; i < t->nkernel; ++i)
        for (int p = 0; p < t->kernel[i]->nparam; ++p) info.gradient_bytes += bytes_of(t->kernel[i]->param[p].number);
    return info;
}
