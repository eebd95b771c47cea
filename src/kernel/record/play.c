/*
 * The ways to play a list: one by one, one by one while a recording is built, compared, replayed. record.h has the
 * invariants.
 */
#include "kernel/record/play.h"

static stet_result play_singly(sti_player *p, stet_reason why)
{
    STI_TRY(sti_run(p));
    sti_count_miss(&p->device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, why, p->nlaunch, 0);
    return STET_OK;
}

static stet_result play_first(sti_player *p)
{
    if (sti_recording_build(p->device) != STET_OK) return sti_play_fallback(p, STET_REASON_GRAPH_REPLAY_MEMORY);
    return play_singly(p, STET_REASON_GRAPH_REPLAY_FIRST);
}

static stet_result play_recording(sti_player *p, sti_recording *x)
{
    p->recording = x;
    stet_result result = sti_replay(p);
    if (result != STET_OK) {
        sti_recording_drop_this(p->device, x);
        return sti_play_fallback(p, STET_REASON_GRAPH_REPLAY_FAILED);
    }
    sti_count_hit(&p->device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, p->nlaunch, 0);
    return STET_OK;
}

/* Plays a list that has a recording. The graphs are built at the first replay, which is the compared one. */
static stet_result play_again(sti_player *p, sti_recording *x)
{
    stet_result result = sti_device_graphs_plan(p, x);
    if (result == STET_ERROR_STRICT) return result;
    if (result != STET_OK) {
        sti_recording_drop_this(p->device, x);
        return sti_play_fallback(p, result == STET_ERROR_OUT_OF_MEMORY ? STET_REASON_GRAPH_REPLAY_MEMORY
                                                                       : STET_REASON_GRAPH_REPLAY_FAILED);
    }
    sti_recording_played(p->device->recorder, x);
    if (!x->trusted || p->device->mechanisms.options.audit) return sti_play_compared(p, x);
    return play_recording(p, x);
}

static stet_result play_all(sti_player *p)
{
    const sti_mechanisms *m = &p->device->mechanisms;
    p->device->recorder->last = 0;
    if (p->list->nop == 1) return sti_run(p); /* a single operation gains nothing from a recording */
    if (!sti_enabled(m, STET_MECHANISM_GRAPH_REPLAY)) return play_singly(p, STET_REASON_GRAPH_REPLAY_DISABLED);
    if (p->capture) return play_singly(p, STET_REASON_GRAPH_REPLAY_JOINED);
    sti_recording *x = sti_recording_find(p->device->recorder);
    return x ? play_again(p, x) : play_first(p);
}

stet_result sti_play(stet_device *device, const char *what)
{
    sti_recorder *r = device->recorder;
    if (r->pending.nop == 0) return STET_OK;
    sti_player p = {.device = device, .list = &r->pending, .what = what, .capture = sti_device_capture(device)};
    bool listing = device->listing;
    sti_validate_list(&r->pending);
    assert(!r->playing && "ARGS-5: a list that is played plays no other");
    sti_rewind(&p);
    device->listing = false;
    r->playing = true;
    stet_result result = play_all(&p);
    r->playing = false;
    device->listing = listing;
    sti_validate_recorder(device);
    sti_list_clear(&r->pending);
    return result;
}
