/*
 * Playing lists: recordings are found, built, compared, used and dropped here. See record.h for the invariants.
 *
 * On a device without graphs a replay is a loop over the operations, each launch through its own block of arguments.
 */
#include "kernel/record.h"

#include <string.h>

/* ---- running a list ---------------------------------------------------------------------------------------------- */

/* Where a list is: an operation that failed can be tried again from here. */
typedef struct player {
    stet_device *device;
    sti_list *list;
    const char *what;
    sti_recording *recording; /* NULL: launches go by value */
    bool trial;               /* counts nothing and moves no generation: it will be done again */
    int at;
    int64_t nlaunch;
} player;

static stet_result run_launch(player *p, const sti_op *op)
{
    stet_device *device = p->device;
    const sti_slot *slots = p->list->slot + op->slot;
    p->nlaunch++;
    if (p->recording)
        return sti_args_launch(device, &p->recording->args[p->at], op->kernel, slots, op->nslot, op->nblock);
    return sti_kernel_run(device, op->kernel, slots, op->nslot, op->nblock, false);
}

static stet_result run_copy(player *p, const sti_op *op)
{
    const sti_use *use = p->list->use + op->use;
    return sti_device_copy_of(p->device, use[0].array->name, use[0].array->data, use[1].array->data,
                              use[1].array->size);
}

/* *next: into the loop once more, or past its end. */
static stet_result run_while(player *p, sti_op *op, int *next)
{
    int32_t condition = 0;
    if (op->trips < op->most)
        STI_TRY(sti_device_download_of(p->device, p->list->use[op->use].array->name, &condition,
                                       p->list->use[op->use].array->data, sizeof condition));
    bool again = condition != 0;
    op->trips = again ? op->trips + 1 : 0;
    if (!again) *next = op->mate + 1;
    return STET_OK;
}

/* R2. */
static void has_run(player *p, const sti_op *op)
{
    stet_counters *c = &p->device->mechanisms.counters;
    if (p->trial || op->kind == STI_OP_WHILE) return;
    c->launches += op->kind == STI_OP_LAUNCH;
    for (int i = op->use; i < op->use + op->nuse; ++i) {
        stet_array *array = p->list->use[i].array;
        if (!p->list->use[i].written) continue;
        sti_version_bump(&array->version);
        if (op->kind == STI_OP_COPY) c->bytes_copied += (int64_t)array->size;
    }
}

static stet_result run(player *p)
{
    while (p->at < p->list->nop) {
        sti_op *op = &p->list->op[p->at];
        int next = p->at + 1;
        switch (op->kind) {
        case STI_OP_LAUNCH: STI_TRY(run_launch(p, op)); break;
        case STI_OP_COPY: STI_TRY(run_copy(p, op)); break;
        case STI_OP_WHILE: STI_TRY(run_while(p, op, &next)); break;
        case STI_OP_END: next = op->mate; break;
        }
        has_run(p, op);
        p->at = next;
    }
    return STET_OK;
}

/* From the beginning. */
static void rewind_list(player *p)
{
    p->at = 0;
    p->nlaunch = 0;
    for (int i = 0; i < p->list->nop; ++i) p->list->op[i].trips = 0;
}

/* ---- recordings -------------------------------------------------------------------------------------------------- */

static stet_counter *row(stet_device *device) { return &device->mechanisms.counters.mechanism[STET_MECH_graph_replay]; }

static int64_t bytes_of(const sti_recording *x)
{
    return (int64_t)sizeof *x + sti_list_bytes(&x->list) + x->nedge * (int64_t)sizeof *x->edge +
           x->list.nop * (int64_t)sizeof *x->args;
}

static void free_recording(stet_device *device, sti_recording *x)
{
    for (int i = 0; x->args && i < x->list.nop; ++i) sti_args_free(device, &x->args[i]);
    sti_free(x->args);
    sti_free(x->edge);
    sti_list_free(&x->list);
    sti_free(x);
}

void sti_recording_drop(stet_device *device, int k)
{
    sti_recorder *r = device->recorder;
    sti_recording *x = r->recording[k];
    if (r->last == x->id) r->last = 0;
    row(device)->held_bytes -= bytes_of(x);
    free_recording(device, x);
    r->recording[k] = r->recording[--r->nrecording];
    r->dropped++;
}

static void drop(stet_device *device, const sti_recording *x)
{
    sti_recorder *r = device->recorder;
    for (int k = r->nrecording - 1; k >= 0; --k)
        if (r->recording[k] == x) sti_recording_drop(device, k);
}

static sti_recording *find(sti_recorder *r, uint64_t hash)
{
    for (int k = 0; k < r->nrecording; ++k)
        if (r->recording[k]->hash == hash && sti_list_same(&r->recording[k]->list, &r->pending)) return r->recording[k];
    return NULL;
}

static void drop_least_recent(stet_device *device)
{
    sti_recorder *r = device->recorder;
    int oldest = 0;
    for (int k = 1; k < r->nrecording; ++k)
        if (r->recording[k]->used < r->recording[oldest]->used) oldest = k;
    sti_recording_drop(device, oldest);
}

static stet_result fill_recording(sti_recording *x, const sti_list *list)
{
    STI_TRY(sti_list_copy(&x->list, list));
    STI_TRY(sti_list_edges(list, &x->edge, &x->nedge));
    return sti_alloc(&x->args, (size_t)list->nop * sizeof *x->args, "arguments of a recording");
}

/* R1: nothing of the list runs. */
static stet_result build(stet_device *device, uint64_t hash)
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
    x->hash = hash;
    while (r->nrecording && r->nrecording >= r->most) drop_least_recent(device);
    r->recording[r->nrecording++] = x;
    r->built++;
    r->last = x->id;
    x->used = ++r->clock;
    row(device)->held_bytes += bytes_of(x);
    return STET_OK;
}

/* ---- comparing (R4) ---------------------------------------------------------------------------------------------- */

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

static stet_result measure(trial *t)
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

/* Runs the list by its recording, as a replay. */
static stet_result replay(player *p)
{
    sti_trace *trace = p->device->mechanisms.trace;
    if (!trace) return run(p);
    sti_trace_mark mark =
        sti_trace_open(trace, &(sti_trace_what){.kind = STET_TRACE_REPLAY, .name = p->what, .id = p->recording->id});
    bool comparing = sti_trace_compare(trace, p->trial);
    stet_result result = run(p);
    mark.amount = p->nlaunch;
    sti_trace_close(trace, mark, result);
    (void)sti_trace_compare(trace, comparing);
    return result;
}

/*
 * Replays, puts everything back, and launches one by one, which is what stays. *replayed: did the replay come to its end, with its
 * result known? Fails only where the launches fail, or what was there before cannot be put back.
 */
static stet_result replay_and_launch(trial *t, player *p, bool *replayed)
{
    if (move_all(t, t->start, false) == STET_OK) {
        p->trial = true;
        *replayed = replay(p) == STET_OK && move_all(t, t->replayed, false) == STET_OK;
        p->trial = false;
        row(t->device)->done_launches += p->nlaunch;
        STI_TRY(move_all(t, t->start, true));
    }
    p->recording = NULL;
    rewind_list(p);
    STI_TRY(run(p));
    *replayed = *replayed && move_all(t, t->start, false) == STET_OK;
    return STET_OK;
}

static stet_result differs(player *p, sti_recording *x, const stet_array *array, size_t byte, const char *what)
{
    bool trusted = x->trusted;
    drop(p->device, x);
    if (trusted)
        return sti_error(
            STET_AUDIT,
            "graph_replay: %s: the replay left array %s different at byte %zu from what launches one by one "
            "give; switch this mechanism off and report it",
            what, array->name, byte);
    return sti_fallback(&p->device->mechanisms, STET_MECH_graph_replay, STET_REASON_graph_replay_differed, what);
}

/* Compares a recording with launches one by one. One that fails or differs is dropped; the launches have been made either way. */
static stet_result compare(player *p, sti_recording *x, trial *t, const char *what)
{
    sti_mechanisms *m = &p->device->mechanisms;
    bool replayed = false;
    size_t byte;
    stet_result result = replay_and_launch(t, p, &replayed);
    if (result != STET_OK || !replayed) {
        drop(p->device, x);
        STI_TRY(result);
        return sti_fallback(m, STET_MECH_graph_replay, STET_REASON_graph_replay_failed, what);
    }
    const stet_array *array = first_difference(t, &byte);
    if (array) return differs(p, x, array, byte, what);
    if (x->trusted)
        sti_count_hit(m, STET_MECH_graph_replay, p->nlaunch, 0);
    else
        sti_count_miss(m, STET_MECH_graph_replay, STET_REASON_graph_replay_compared, p->nlaunch, (int64_t)t->size);
    x->trusted = true;
    return STET_OK;
}

/* ---- the ways to play a list ------------------------------------------------------------------------------------- */

/* Launches one by one what is left of the list, after something that is counted as a fallback. */
static stet_result fall_back(player *p, stet_reason why, const char *what)
{
    p->recording = NULL;
    p->nlaunch = 0;
    STI_TRY(sti_fallback(&p->device->mechanisms, STET_MECH_graph_replay, why, what));
    stet_result result = run(p);
    row(p->device)->done_launches += p->nlaunch;
    return result;
}

static stet_result play_singly(player *p, stet_reason why)
{
    STI_TRY(run(p));
    sti_count_miss(&p->device->mechanisms, STET_MECH_graph_replay, why, p->nlaunch, 0);
    return STET_OK;
}

static stet_result play_first(player *p, uint64_t hash, const char *what)
{
    if (build(p->device, hash) != STET_OK) return fall_back(p, STET_REASON_graph_replay_memory, what);
    return play_singly(p, STET_REASON_graph_replay_first);
}

static stet_result play_compared(player *p, sti_recording *x, const char *what)
{
    trial t = {.device = p->device, .list = p->list};
    stet_result result = measure(&t);
    if (result == STET_OK) {
        p->recording = x;
        result = compare(p, x, &t, what);
    } else {
        result = fall_back(p, STET_REASON_graph_replay_memory, what);
    }
    sti_free(t.start);
    sti_free(t.replayed);
    return result;
}

static stet_result play_recording(player *p, sti_recording *x, const char *what)
{
    p->recording = x;
    if (replay(p) != STET_OK) {
        drop(p->device, x);
        return fall_back(p, STET_REASON_graph_replay_failed, what);
    }
    sti_count_hit(&p->device->mechanisms, STET_MECH_graph_replay, p->nlaunch, 0);
    return STET_OK;
}

static stet_result play(player *p, const char *what)
{
    sti_mechanisms *m = &p->device->mechanisms;
    sti_recorder *r = p->device->recorder;
    r->last = 0;
    if (p->list->nop == 1) return run(p); /* a launch is a launch */
    if (!sti_enabled(m, STET_MECH_graph_replay)) return play_singly(p, STET_REASON_graph_replay_disabled);
    uint64_t hash = sti_list_hash(p->list);
    sti_recording *x = find(r, hash);
    if (!x) return play_first(p, hash, what);
    x->used = ++r->clock;
    r->last = x->id;
    if (!x->trusted || m->options.audit) return play_compared(p, x, what);
    return play_recording(p, x, what);
}

stet_result sti_play(stet_device *device, const char *what)
{
    sti_recorder *r = device->recorder;
    player p = {.device = device, .list = &r->pending, .what = what};
    bool listing = device->listing;
    if (r->pending.nop == 0) return STET_OK;
    rewind_list(&p);
    device->listing = false;
    r->playing = true;
    stet_result result = play(&p, what);
    r->playing = false;
    device->listing = listing;
    sti_list_clear(&r->pending);
    return result;
}
