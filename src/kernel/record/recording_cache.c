/*
 * The recordings that a device keeps: finds, builds and drops them. See record.h.
 */
#include "kernel/record/play.h"

static int64_t bytes_of(const sti_recording *x)
{
    return (int64_t)sizeof *x + sti_list_bytes(&x->list) + x->nedge * (int64_t)sizeof *x->edge;
}

static void free_recording(stet_device *device, sti_recording *x)
{
    sti_device_graphs_free(device, x);
    sti_groups_free(&x->groups);
    sti_args_free(device, &x->args);
    sti_free(x->edge);
    sti_list_free(&x->list);
    sti_free(x);
}

/* ---- dropping ---------------------------------------------------------------------------------------------------- */

void sti_recording_drop(stet_device *device, int k)
{
    sti_recorder *r = device->recorder;
    sti_recording *x = r->recording[k];
    if (r->last == x->id) r->last = 0;
    if (r->latest == x) r->latest = NULL;
    r->recording[k] = r->recording[--r->nrecording];
    for (int i = 0; i < r->nrecording; ++i)
        if (r->recording[i]->next == x) r->recording[i]->next = NULL;
    sti_count_held(&device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, -bytes_of(x));
    free_recording(device, x);
    r->dropped++;
}

void sti_recording_drop_this(stet_device *device, const sti_recording *x)
{
    sti_recorder *r = device->recorder;
    for (int k = r->nrecording - 1; k >= 0; --k)
        if (r->recording[k] == x) sti_recording_drop(device, k);
}

static void drop_least_recent(stet_device *device)
{
    sti_recorder *r = device->recorder;
    int oldest = 0;
    for (int k = 1; k < r->nrecording; ++k)
        if (r->recording[k]->used < r->recording[oldest]->used) oldest = k;
    sti_recording_drop(device, oldest);
}

/* ---- keeping ----------------------------------------------------------------------------------------------------- */

void sti_recording_cache_add(stet_device *device, sti_recording *x)
{
    sti_recorder *r = device->recorder;
    while (r->nrecording && r->nrecording >= r->most) drop_least_recent(device);
    assert(r->nrecording < r->most && x->id != 0 && !sti_recording_find_id(r, x->id));
    r->recording[r->nrecording++] = x;
    r->built++;
    x->used = ++r->clock;
    sti_count_held(&device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, bytes_of(x));
}

static stet_result fill_recording(sti_recording *x, const sti_list *list)
{
    STI_TRY(sti_list_copy(&x->list, list));
    return sti_list_edges(list, &x->edge, &x->nedge);
}

stet_result sti_recording_build(stet_device *device)
{
    sti_recorder *r = device->recorder;
    sti_recording *x;
    STI_TRY(sti_alloc(&x, sizeof *x, "recording"));
    stet_result result = fill_recording(x, &r->pending);
    if (result != STET_OK) {
        free_recording(device, x);
        return result;
    }
    x->id = sti_version_new().id;
    x->hash = sti_list_hash(&r->pending);
    sti_recording_cache_add(device, x);
    sti_recording_played(r, x);
    return STET_OK;
}

void sti_recording_played(sti_recorder *r, sti_recording *x)
{
    x->used = ++r->clock;
    r->last = x->id;
    if (r->latest) r->latest->next = x;
    r->latest = x;
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

/*
 * Lists usually repeat in the same order. The recording that followed the latest one last time is compared first, which
 * needs no hash.
 */
sti_recording *sti_recording_find(sti_recorder *r)
{
    sti_recording *x = r->latest ? r->latest->next : NULL;
    if (x && sti_list_same(&x->list, &r->pending)) return x;
    uint64_t hash = sti_list_hash(&r->pending);
    for (int k = 0; k < r->nrecording; ++k)
        if (r->recording[k]->hash == hash && sti_list_same(&r->recording[k]->list, &r->pending)) return r->recording[k];
    return NULL;
}

sti_recording *sti_recording_find_id(const sti_recorder *r, uint64_t id)
{
    for (int k = 0; k < r->nrecording; ++k)
        if (r->recording[k]->id == id) return r->recording[k];
    return NULL;
}

#ifndef NDEBUG

static bool is_kept(const sti_recorder *r, const sti_recording *x)
{
    for (int k = 0; k < r->nrecording; ++k)
        if (r->recording[k] == x) return true;
    return false;
}

static void validate_recording(const sti_recorder *r, const sti_recording *x)
{
    assert(x->id != 0 && sti_recording_find_id(r, x->id) == x && "identities are given once");
    assert(x->used <= r->clock);
    assert(!x->next || is_kept(r, x->next));
    assert(x->list.nslot == 0 && "a recording keeps no slots of its list");
    assert(!x->ngraph_piece || x->planned);
    sti_validate_list(&x->list);
    sti_validate_args(&x->args);
    for (int i = 0; i < x->nedge; ++i) assert(x->edge[i].from < x->edge[i].to && x->edge[i].to < x->list.nop);
}

void sti_validate_recorder(const stet_device *device)
{
    const sti_recorder *r = device->recorder;
    int64_t bytes = 0;
    if (!r) return;
    assert(r->nrecording >= 0 && r->nrecording <= r->most && r->most <= STI_RECORDINGS);
    assert(r->built - r->dropped == r->nrecording);
    assert(r->depth >= 0 && r->depth <= STI_RECORD_DEPTH);
    assert(r->loop >= -1 && r->loop < r->pending.nop);
    assert(r->loop < 0 || r->pending.op[r->loop].kind == STI_OP_WHILE);
    assert(!r->latest || is_kept(r, r->latest));
    sti_validate_list(&r->pending);
    for (int k = 0; k < r->nrecording; ++k) {
        validate_recording(r, r->recording[k]);
        bytes += bytes_of(r->recording[k]);
    }
    assert(device->mechanisms.counters.mechanism[STET_MECHANISM_GRAPH_REPLAY].held_bytes == bytes);
}

#endif
