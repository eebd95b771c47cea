/*
 * Work of stet that joins a graph which the caller is capturing (RECORD-8). The arrays that the work touches are kept
 * as a recording with one foreign operation. So the recording is dropped with its arrays, and
 * stet_recording_mark_replayed finds it.
 */
#include "device/host_mirror.h"
#include "kernel/record/record.h"

/* Makes the recording of a new capture. */
static stet_result begin_external_capture(stet_device *device)
{
    static const sti_foreign theirs = {.name = "a caller's graph"};
    sti_recording *x;
    STI_TRY(sti_alloc(&x, sizeof *x, "a recording"));
    stet_result result = sti_list_foreign(&x->list, -1, &theirs);
    if (result != STET_OK) {
        sti_list_free(&x->list);
        sti_free(x);
        return result;
    }
    x->id = sti_version_new().id;
    x->trusted = x->planned = true;
    sti_recording_cache_add(device, x);
    device->recorder->external_capture.recording = x->id;
    return STET_OK;
}

static stet_result add_external_capture(sti_recording *x, stet_array *array, bool written)
{
    for (int i = 0; i < x->list.nuse; ++i)
        if (x->list.use[i].array == array) {
            x->list.use[i].written = x->list.use[i].written || written;
            return STET_OK;
        }
    return sti_list_add_use(&x->list, array, written);
}

void sti_external_capture_use(stet_device *device, uint64_t capture, stet_array *array, bool written)
{
    sti_array_set_outside(array);
    sti_recorder *r = device->recorder;
    if (!r) return;
    stet_result result = STET_OK;
    if (r->external_capture.capture != capture) {
        r->external_capture.capture = capture;
        r->external_capture.recording = 0;
        result = begin_external_capture(device);
    }
    sti_recording *x = sti_recording_find_id(r, r->external_capture.recording);
    int64_t held = x ? sti_list_bytes(&x->list) : 0;
    if (x) result = add_external_capture(x, array, written);
    if (x) sti_count_held(&device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, sti_list_bytes(&x->list) - held);
    if (x && result != STET_OK) {
        sti_recording_drop_this(device, x);
        r->external_capture.recording = 0;
    }
    r->last = r->external_capture.recording;
}

void sti_external_capture_launch(stet_device *device, uint64_t capture, const sti_launch *launch)
{
    const sti_kernel *k = launch->kernel;
    for (int i = 0, at = 0; i < k->nparam; ++i) {
        if (k->param[i].index) continue;
        stet_array *array = launch->args[at++].array;
        if (k->param[i].pointer && array) sti_external_capture_use(device, capture, array, k->param[i].written);
    }
}
