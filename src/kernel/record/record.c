/*
 * Lists launches. record.h has the invariants; play.c plays the lists.
 */
#include "kernel/record/record.h"

#include "kernel/checked/checked.h"
#include "kernel/launch/run.h"
#include "kernel/record/launch_observer.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ---- the recorder of a device ------------------------------------------------------------------------------------ */

static const char *what_is_listed(const sti_recorder *r) { return r->begun[r->depth > 0 ? r->depth - 1 : 0].what; }

/* Runs the list, then checks the fault records of its checked kernels. */
static stet_result play_record(stet_device *device, const char *what)
{
    STI_TRY(sti_play(device, what));
    return sti_checked_read_faults(device);
}

/* RECORD-5: runs the listed operations now, in the middle of a list, and counts the reason. */
static stet_result split(stet_device *device, stet_reason why)
{
    assert(device->recorder->loop < 0 && "RECORD-5: a list is not split in a loop");
    assert(stet_reason_mechanism(why) == STET_MECHANISM_GRAPH_REPLAY);
    const char *what = what_is_listed(device->recorder);
    stet_result result = sti_fallback(&device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, why, what);
    if (result == STET_OK) result = play_record(device, what);
    if (result != STET_OK) sti_observe_lost(device, what);
    return result;
}

static stet_result refuse_in_loop(stet_device *device, stet_reason why, const char *thing, const char *name,
                                  const char *act)
{
    const char *what = what_is_listed(device->recorder);
    STI_TRY(sti_fallback(&device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, why, what));
    return sti_error(STET_ERROR_UNSUPPORTED,
                     "%s: %s %s cannot be %s inside a loop that is being listed; do that before the loop", what, thing,
                     name, act);
}

/*
 * Runs the list before a listed object is destroyed. A destruction returns no result, so a failure is reported at the
 * end of the list, and the rest of the list does not run.
 */
static void play_before_destroy(stet_device *device, const char *thing, const char *name)
{
    sti_recorder *r = device->recorder;
    stet_reason why = STET_REASON_GRAPH_REPLAY_SPLIT;
    stet_result result = r->loop >= 0 ? refuse_in_loop(device, why, thing, name, "destroyed") : split(device, why);
    if (result == STET_OK) return;
    sti_list_clear(&r->pending);
    sti_observe_lost(device, what_is_listed(r));
    r->loop = -1;
    if (r->failed != STET_OK) return;
    r->failed = result;
    (void)snprintf(r->failure, sizeof r->failure, "%s", stet_get_last_error());
}

static stet_result before(stet_device *device, sti_act act, const stet_array *array, const char *name)
{
    static const char *const acts[] = {"read", "written", "made", "brought up to date"};
    sti_recorder *r = device->recorder;
    stet_reason why = act == STI_ACT_CREATE ? STET_REASON_GRAPH_REPLAY_ALLOCATES : STET_REASON_GRAPH_REPLAY_SPLIT;
    if (act == STI_ACT_READ && !sti_list_touches(&r->pending, array, true)) return STET_OK;
    if (act == STI_ACT_WRITE && !sti_list_touches(&r->pending, array, false)) return STET_OK;
    if (act == STI_ACT_PRODUCE && r->pending.nop == 0) return STET_OK;
    return r->loop >= 0 ? refuse_in_loop(device, why, "array", name, acts[act]) : split(device, why);
}

/* RECORD-3. */
static void array_gone(stet_device *device, const stet_array *array)
{
    sti_recorder *r = device->recorder;
    if (sti_list_touches(&r->pending, array, false)) play_before_destroy(device, "array", array->name);
    for (int k = r->nrecording - 1; k >= 0; --k)
        if (sti_list_holds(&r->recording[k]->list, array)) sti_recording_drop(device, k);
}

static bool launches(const sti_list *l, const sti_kernel *kernel)
{
    for (int i = 0; i < l->nop; ++i)
        if (l->op[i].kernel == kernel) return true;
    return false;
}

void sti_record_kernel_gone(stet_device *device, const sti_kernel *kernel)
{
    sti_recorder *r = device->recorder;
    if (!r) return;
    if (launches(&r->pending, kernel)) play_before_destroy(device, "kernel", kernel->name);
    for (int k = r->nrecording - 1; k >= 0; --k)
        if (launches(&r->recording[k]->list, kernel)) sti_recording_drop(device, k);
}

static bool is_listed(const stet_device *device, const sti_kernel *kernel)
{
    return launches(&device->recorder->pending, kernel);
}

static void destroy(stet_device *device)
{
    assert(!device->recorder->playing && "ARGS-5: nobody plays a list of a device that goes");
    sti_recorder *r = device->recorder;
    while (r->nrecording) sti_recording_drop(device, r->nrecording - 1);
    sti_list_free(&r->pending);
    sti_free(r);
    device->recorder = NULL;
    device->list_hooks = NULL;
}

static const sti_list_hooks list_hooks = {before, array_gone, sti_record_kernel_gone, is_listed, destroy};

stet_result sti_recorder_open(stet_device *device)
{
    if (device->recorder) return STET_OK;
    STI_TRY(sti_alloc(&device->recorder, sizeof *device->recorder, "recorder"));
    device->recorder->loop = -1;
    device->recorder->most = STI_RECORDINGS;
    device->list_hooks = &list_hooks;
    return STET_OK;
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

stet_result sti_record_begin(stet_device *device, const char *what)
{
    if (sti_recorder_open(device) != STET_OK) {
        STI_TRY(sti_fallback(&device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, STET_REASON_GRAPH_REPLAY_MEMORY, what));
        device->unlisted++;
        return STET_OK;
    }
    sti_recorder *r = device->recorder;
    if (r->depth == STI_RECORD_DEPTH)
        return sti_error(STET_ERROR_LIMIT, "%s: launches are listed inside lists inside lists, more than %d deep", what,
                         STI_RECORD_DEPTH);
    if (device->listing && r->loop >= 0)
        return sti_error(STET_ERROR_UNSUPPORTED, "%s: a list cannot begin inside a loop of %s", what,
                         what_is_listed(r));
    if (device->listing && r->pending.nop) STI_TRY(split(device, STET_REASON_GRAPH_REPLAY_SPLIT));
    assert(r->depth >= 0 && r->depth < STI_RECORD_DEPTH && what);
    r->begun[r->depth].what = what;
    r->begun[r->depth++].listing = device->listing;
    device->listing = !r->playing; /* launches from inside a kernel's call run at once */
    return STET_OK;
}

static stet_result end_record(stet_device *device, stet_result result, const char *what)
{
    sti_recorder *r = device->recorder;
    bool some = r->pending.nop > 0;
    if (result == STET_OK && r->failed != STET_OK)
        result = sti_error(r->failed, "%s: a part of it failed before: %s", what, r->failure);
    r->failed = STET_OK;
    if (result == STET_OK && r->loop >= 0)
        result = sti_error(STET_ERROR_STATE, "%s: a loop is still open; end it before the list", what);
    r->loop = -1;
    if (result == STET_OK) result = play_record(device, what);
    if (result != STET_OK && some) sti_observe_lost(device, what);
    sti_list_clear(&r->pending);
    return result;
}

stet_result sti_record_end(stet_device *device, stet_result result)
{
    sti_recorder *r = device->recorder;
    if (device->unlisted && (!r || r->depth == 0)) { /* the outermost lists are the unlisted ones */
        device->unlisted--;
        return result;
    }
    if (!r || r->depth == 0) return sti_error(STET_ERROR_STATE, "device: no list of launches was begun");
    if (!r->playing) result = end_record(device, result, what_is_listed(r));
    device->listing = r->begun[--r->depth].listing;
    return result;
}

const sti_list *sti_record_pending(const stet_device *device)
{
    return device->recorder ? &device->recorder->pending : NULL;
}

uint64_t sti_record_last(const stet_device *device) { return device->recorder ? device->recorder->last : 0; }

/* ---- operations -------------------------------------------------------------------------------------------------- */

/* Plays a full list. A list with an open loop cannot be played, so there it is an error. */
static stet_result make_room_record(stet_device *device)
{
    sti_recorder *r = device->recorder;
    if (r->pending.nop < STI_LIST_OPS) return STET_OK;
    if (r->loop < 0) return split(device, STET_REASON_GRAPH_REPLAY_SPLIT);
    return sti_error(STET_ERROR_LIMIT, "%s: a loop with what is listed before it has more than %d operations",
                     what_is_listed(r), STI_LIST_OPS);
}

/*
 * If there was no memory to list an operation, runs the list so far and sets *run: the operation runs now. Inside a
 * loop the failure is returned.
 */
static stet_result without_memory(stet_device *device, stet_result listed, bool *run)
{
    *run = listed == STET_ERROR_OUT_OF_MEMORY && device->recorder->loop < 0;
    return *run ? split(device, STET_REASON_GRAPH_REPLAY_MEMORY) : listed;
}

/*
 * RECORD-8: the caller's capture that work issued now joins; 0: none. The recorder keeps the arrays of that work;
 * without memory for one, nothing is kept.
 */
static uint64_t find_capture(stet_device *device)
{
    uint64_t capture = sti_device_capture(device);
    if (capture) (void)sti_recorder_open(device);
    return capture;
}

/* Counts a launch that has run, and moves the generations of the arrays that it wrote. */
static void note_launch(stet_device *device, const sti_launch *launch)
{
    uint64_t capture = find_capture(device);
    device->mechanisms.counters.launches++;
    for (int i = 0; i < launch->nwritten; ++i) sti_version_bump(&launch->written[i]->version);
    if (capture) sti_external_capture_launch(device, capture, launch);
}

stet_result sti_launch_run(stet_device *device, const sti_launch *launch)
{
    STI_TRY(sti_kernel_run_launch(device, launch));
    note_launch(device, launch);
    if (!launch->kernel->checked) return STET_OK;
    sti_checked_note_launch(device, launch->kernel);
    return sti_checked_read_faults(device);
}

stet_result sti_record_launch(stet_device *device, const sti_launch *launch)
{
    sti_recorder *r = device->recorder;
    bool now;
    STI_TRY(make_room_record(device));
    STI_TRY(without_memory(device, sti_list_launch(&r->pending, r->loop, launch), &now));
    if (now) return sti_launch_run(device, launch);
    if (launch->kernel->checked) sti_checked_note_launch(device, launch->kernel);
    return STET_OK;
}

static bool of_one_kind(const stet_array *a, const stet_array *b)
{
    return a->device == b->device && a->dtype == b->dtype && a->worlds == b->worlds && a->size == b->size &&
           a->ndim == b->ndim && memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0;
}

static stet_result copy_now(stet_array *to, stet_array *from)
{
    stet_device *device = to->device;
    STI_TRY(sti_device_copy(device, to->data, from->data, from->size));
    device->mechanisms.counters.bytes_copied += (int64_t)from->size;
    sti_version_bump(&to->version);
    uint64_t capture = find_capture(device);
    if (capture) {
        sti_external_capture_use(device, capture, to, true);
        sti_external_capture_use(device, capture, from, false);
    }
    return STET_OK;
}

static stet_result list_copy(stet_array *to, stet_array *from)
{
    stet_device *device = to->device;
    sti_recorder *r = device->recorder;
    bool now;
    STI_TRY(make_room_record(device));
    STI_TRY(without_memory(device, sti_list_array_copy(&r->pending, r->loop, to, from), &now));
    return now ? copy_now(to, from) : STET_OK;
}

stet_result sti_record_copy(stet_array *to, stet_array *from)
{
    stet_device *device = to->device;
    if (!of_one_kind(to, from))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "copy of array %s to %s: both must live on one device and have the same type and shape",
                         from->name, to->name);
    if (to->read_only)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "copy of array %s to %s: the latter was imported for reading",
                         from->name, to->name);
    STI_TRY(sti_array_produce(from));
    sti_launch_observer *w = device->launch_observer;
    if (w) w->copy(w, to, from);
    stet_result result = device->listing ? list_copy(to, from) : copy_now(to, from);
    if (result != STET_OK) sti_observe_lost(device, to->name);
    return result;
}

static stet_result check_foreign(const stet_device *device, const sti_foreign *f)
{
    for (int i = 0; i < f->nuse; ++i) {
        const stet_array *array = f->use[i].array;
        if (array->device != device)
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: array %s lives on another device", f->name, array->name);
        if (f->use[i].written && array->read_only)
            return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: array %s is written, and was imported for reading",
                             f->name, array->name);
    }
    return STET_OK;
}

static stet_result foreign_now(stet_device *device, const sti_foreign *f)
{
    STI_TRY(sti_foreign_run(device, f->name, f->work, f->context));
    uint64_t capture = find_capture(device);
    for (int i = 0; i < f->nuse; ++i) {
        stet_array *array = (stet_array *)f->use[i].array;
        if (f->use[i].written) sti_version_bump(&array->version);
        if (capture) sti_external_capture_use(device, capture, array, f->use[i].written);
    }
    return STET_OK;
}

static stet_result list_foreign(stet_device *device, const sti_foreign *f)
{
    sti_recorder *r = device->recorder;
    bool now;
    STI_TRY(make_room_record(device));
    STI_TRY(without_memory(device, sti_list_foreign(&r->pending, r->loop, f), &now));
    return now ? foreign_now(device, f) : STET_OK;
}

stet_result sti_record_foreign(stet_device *device, const sti_foreign *f)
{
    STI_TRY(check_foreign(device, f));
    for (int i = 0; i < f->nuse; ++i) STI_TRY(sti_array_produce((stet_array *)f->use[i].array));
    sti_launch_observer *w = device->launch_observer;
    if (w) w->foreign(w, f);
    stet_result result = device->listing ? list_foreign(device, f) : foreign_now(device, f);
    if (result != STET_OK) sti_observe_lost(device, f->name);
    return result;
}

stet_result sti_record_while(stet_device *device, stet_array *condition, int64_t most)
{
    sti_recorder *r = device->recorder;
    if (device->unlisted && !device->listing)
        return sti_error(STET_ERROR_OUT_OF_MEMORY, "a loop over kernels: there was no memory to list launches");
    if (!device->listing)
        return sti_error(STET_ERROR_STATE, "a loop is listed between begin and end of a list of launches only");
    if (condition->device != device || condition->dtype != STET_DTYPE_INT || condition->worlds || condition->nitem < 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "%s: the condition of a loop is a plain array of int on the same device; %s is not",
                         what_is_listed(r), condition->name);
    if (most < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: a loop of at most %lld trips", what_is_listed(r),
                         (long long)most);
    STI_TRY(sti_array_produce(condition));
    STI_TRY(make_room_record(device));
    STI_TRY(sti_list_while(&r->pending, r->loop, condition, most));
    r->loop = r->pending.nop - 1;
    if (device->launch_observer) device->launch_observer->loop(device->launch_observer);
    return STET_OK;
}

stet_result sti_record_while_end(stet_device *device)
{
    sti_recorder *r = device->recorder;
    if (!device->listing || r->loop < 0) return sti_error(STET_ERROR_STATE, "there is no loop of launches to end");
    STI_TRY(sti_list_end(&r->pending, r->loop));
    r->loop = r->pending.op[r->loop].parent;
    return STET_OK;
}
