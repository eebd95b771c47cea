/*
 * Comparing a recording with launches one by one (RECORD-4): it is replayed, what it wrote is put back, and the launches are made, which is what
 * stays. See play.h.
 */
#include "kernel/record/play.h"

#include <string.h>

/* What a list writes: each array once, its bytes on the host one after the other. */
typedef struct trial {
    stet_device *device;
    const sti_list *list;
    size_t size;
    char *start, *replayed; /* before, and after the replay */
} trial;

/* Is use i the first that writes its array? */
static bool writes_first(const sti_list *l, int i)
{
    if (!l->use[i].written) return false;
    for (int k = 0; k < i; ++k)
        if (l->use[k].written && l->use[k].array == l->use[i].array) return false;
    return true;
}

static stet_result measure_compare_replay(trial *t)
{
    for (int i = 0; i < t->list->nuse; ++i) {
        if (!writes_first(t->list, i)) continue;
        if (t->list->use[i].array->size > SIZE_MAX / 2 - t->size)
            return sti_error(STET_LIMIT, "a list of launches writes too much to compare it");
        t->size += t->list->use[i].array->size;
    }
    STI_TRY(sti_alloc(&t->start, t->size, "a comparison of a recording"));
    return sti_alloc(&t->replayed, t->size, "a comparison of a recording");
}

static stet_result move_each(const trial *t, char *host, bool back)
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

static stet_result move_all(const trial *t, char *host, bool back)
{
    sti_trace *trace = t->device->mechanisms.trace;
    bool comparing = trace && sti_trace_compare(trace, true);
    stet_result result = move_each(t, host, back);
    if (trace) (void)sti_trace_compare(trace, comparing);
    return result;
}

/* The first array whose bytes are not those of the replay, or NULL. */
static const stet_array *first_difference(const trial *t, size_t *byte)
{
    const char *a = t->replayed, *b = t->start;
    for (int i = 0; i < t->list->nuse; ++i) {
        const stet_array *array = t->list->use[i].array;
        if (!writes_first(t->list, i)) continue;
        if (array->size && memcmp(a, b, array->size) != 0) {
            for (*byte = 0; a[*byte] == b[*byte];) ++*byte;
            return array;
        }
        a += array->size;
        b += array->size;
    }
    return NULL;
}

/*
 * Replays, puts everything back, and launches one by one, which is what stays. *replayed: did the replay come to its end, with its
 * result known? Fails only where the launches fail, what was there before cannot be put back, or an audit of something in the replay.
 */
static stet_result replay_and_launch(trial *t, sti_player *p, bool *replayed)
{
    *replayed = false;
    if (move_all(t, t->start, false) == STET_OK) {
        p->trial = true;
        stet_result result = sti_replay(p);
        *replayed = result == STET_OK && move_all(t, t->replayed, false) == STET_OK;
        p->trial = false;
        sti_replay_row(t->device)->done_launches += p->nlaunch;
        if (result == STET_AUDIT) return result; /* of the arguments, before anything ran */
        STI_TRY(move_all(t, t->start, true));
    }
    p->recording = NULL;
    sti_rewind(p);
    STI_TRY(sti_run(p));
    *replayed = *replayed && move_all(t, t->start, false) == STET_OK;
    return STET_OK;
}

static stet_result differs(const sti_player *p, sti_recording *x, const stet_array *array, size_t byte)
{
    bool trusted = x->trusted;
    sti_recording_drop_this(p->device, x);
    if (trusted)
        return sti_error(
            STET_AUDIT,
            "graph_replay: %s: the replay left array %s different at byte %zu from what launches one by one "
            "give; switch this mechanism off and report it",
            p->what, array->name, byte);
    return sti_fallback(&p->device->mechanisms, STET_MECH_graph_replay, STET_REASON_graph_replay_differed, p->what);
}

static stet_result compare_replay_all(sti_player *p, sti_recording *x, trial *t)
{
    sti_mechanisms *m = &p->device->mechanisms;
    bool replayed;
    size_t byte;
    p->recording = x;
    stet_result result = replay_and_launch(t, p, &replayed);
    if (result != STET_OK || !replayed) {
        sti_recording_drop_this(p->device, x);
        STI_TRY(result);
        return sti_fallback(m, STET_MECH_graph_replay, STET_REASON_graph_replay_failed, p->what);
    }
    const stet_array *array = first_difference(t, &byte);
    if (array) return differs(p, x, array, byte);
    if (x->trusted)
        sti_count_hit(m, STET_MECH_graph_replay, p->nlaunch, 0);
    else
        sti_count_miss(m, STET_MECH_graph_replay, STET_REASON_graph_replay_compared, p->nlaunch, (int64_t)t->size);
    x->trusted = true;
    return STET_OK;
}

stet_result sti_play_compared(sti_player *p, sti_recording *x)
{
    trial t = {.device = p->device, .list = p->list};
    stet_result result = measure_compare_replay(&t);
    result = result == STET_OK ? compare_replay_all(p, x, &t) : sti_play_on(p, STET_REASON_graph_replay_memory);
    sti_free(t.start);
    sti_free(t.replayed);
    return result;
}
