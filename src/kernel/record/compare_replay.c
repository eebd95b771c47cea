/*
 * Compares a recording with single launches (RECORD-4). The recording is replayed, the arrays that it wrote are
 * restored, and then the launches are made one by one. The results of the single launches are the ones that remain.
 * Scratch is neither kept nor compared: it may hold what no launch has written. See play.h.
 */
#include "kernel/record/play.h"

#include <assert.h>
#include <string.h>

/* A trial replay, with host copies of all arrays that the list writes, each array once, one after the other. */
typedef struct trial {
    stet_device *device;
    const sti_list *list;
    size_t size;
    char *start, *replayed; /* before the replay, and after it */
} trial;

/* True if use i is the first use that writes its array, and what is left there means something. */
static bool writes_first(const sti_list *l, int i)
{
    if (!l->use[i].written || l->use[i].array->scratch) return false;
    for (int k = 0; k < i; ++k)
        if (l->use[k].written && l->use[k].array == l->use[i].array) return false;
    return true;
}

static stet_result alloc_trial(trial *t)
{
    for (int i = 0; i < t->list->nuse; ++i) {
        if (!writes_first(t->list, i)) continue;
        if (t->list->use[i].array->size > SIZE_MAX / 2 - t->size)
            return sti_error(STET_ERROR_LIMIT, "a list of launches writes too much to compare it");
        t->size += t->list->use[i].array->size;
    }
    STI_TRY(sti_alloc(&t->start, t->size, "a comparison of a recording"));
    return sti_alloc(&t->replayed, t->size, "a comparison of a recording");
}

static stet_result copy_arrays(const trial *t, char *host, bool back)
{
    for (int i = 0; i < t->list->nuse; ++i) {
        stet_array *array = t->list->use[i].array;
        if (!writes_first(t->list, i) || array->size == 0) continue;
        STI_TRY(back ? sti_device_upload_of(t->device, array->name, array->data, host, array->size)
                     : sti_device_download_of(t->device, array->name, host, array->data, array->size));
        host += array->size;
    }
    return STET_OK;
}

static stet_result copy_arrays_traced(const trial *t, char *host, bool back)
{
    sti_trace *trace = t->device->mechanisms.trace;
    bool comparing = trace && sti_trace_compare(trace, true);
    stet_result result = copy_arrays(t, host, back);
    if (trace) (void)sti_trace_compare(trace, comparing);
    return result;
}

/* Returns the first array whose bytes differ from those of the replay, or NULL. */
static const stet_array *first_difference(const trial *t, size_t *byte)
{
    const char *a = t->replayed, *b = t->start;
    for (int i = 0; i < t->list->nuse; ++i) {
        const stet_array *array = t->list->use[i].array;
        if (!writes_first(t->list, i)) continue;
        if (array->size && memcmp(a, b, array->size) != 0) {
            for (*byte = 0; a[*byte] == b[*byte];) ++*byte;
            assert(*byte < array->size);
            return array;
        }
        a += array->size;
        b += array->size;
    }
    return NULL;
}

/*
 * Replays the recording, restores the arrays and makes the launches one by one. *replayed: the replay succeeded and its
 * result was read. Fails only if the launches fail, if the arrays cannot be restored, or if an audit in the replay
 * fails.
 */
static stet_result replay_and_launch(trial *t, sti_player *p, bool *replayed)
{
    *replayed = false;
    if (copy_arrays_traced(t, t->start, false) == STET_OK) {
        p->trial = true;
        stet_result result = sti_replay(p);
        *replayed = result == STET_OK && copy_arrays_traced(t, t->replayed, false) == STET_OK;
        p->trial = false;
        sti_replay_row(t->device)->done_launches += p->nlaunch;
        if (result == STET_ERROR_AUDIT) return result; /* an audit of the arguments failed before anything ran */
        STI_TRY(copy_arrays_traced(t, t->start, true));
    }
    p->recording = NULL;
    sti_rewind(p);
    STI_TRY(sti_run(p));
    *replayed = *replayed && copy_arrays_traced(t, t->start, false) == STET_OK;
    return STET_OK;
}

static stet_result report_difference(const sti_player *p, sti_recording *x, const stet_array *array, size_t byte)
{
    bool trusted = x->trusted;
    sti_recording_drop_this(p->device, x);
    if (trusted)
        return sti_error(
            STET_ERROR_AUDIT,
            "graph_replay: %s: the replay left array %s different at byte %zu from what launches one by one "
            "give; switch this mechanism off and report it",
            p->what, array->name, byte);
    return sti_fallback(&p->device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, STET_REASON_GRAPH_REPLAY_DIFFERED,
                        p->what);
}

static stet_result compare_replay_all(sti_player *p, sti_recording *x, trial *t)
{
    sti_mechanisms *m = &p->device->mechanisms;
    bool replayed;
    size_t byte;
    assert(p->list && !p->trial && x->list.nop == p->list->nop && "a recording is compared with its own list");
    p->recording = x;
    stet_result result = replay_and_launch(t, p, &replayed);
    if (result != STET_OK || !replayed) {
        sti_recording_drop_this(p->device, x);
        STI_TRY(result);
        return sti_fallback(m, STET_MECHANISM_GRAPH_REPLAY, STET_REASON_GRAPH_REPLAY_FAILED, p->what);
    }
    const stet_array *array = first_difference(t, &byte);
    if (array) return report_difference(p, x, array, byte);
    if (x->trusted)
        sti_count_hit(m, STET_MECHANISM_GRAPH_REPLAY, p->nlaunch, 0);
    else
        sti_count_miss(m, STET_MECHANISM_GRAPH_REPLAY, STET_REASON_GRAPH_REPLAY_COMPARED, p->nlaunch, (int64_t)t->size);
    x->trusted = true;
    return STET_OK;
}

stet_result sti_play_compared(sti_player *p, sti_recording *x)
{
    trial t = {.device = p->device, .list = p->list};
    stet_result result = alloc_trial(&t);
    result = result == STET_OK ? compare_replay_all(p, x, &t) : sti_play_fallback(p, STET_REASON_GRAPH_REPLAY_MEMORY);
    sti_free(t.start);
    sti_free(t.replayed);
    return result;
}
