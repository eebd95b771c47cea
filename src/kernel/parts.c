/*
 * The graphs of a recording: one of the whole list, or, where the driver has no loops that end on the device, one of each piece between the
 * host's looks at a condition. See play.h.
 *
 * Invariants:
 *   G1  `shadow` and the numbers of `list` are what the graphs have; they change only after the device has taken the new ones
 *   G2  arguments are in the graphs by value: no memory of the device holds them, so nobody can overwrite what a launch in flight reads
 */
#include "kernel/gpu/programs.h"
#include "kernel/play.h"

#include <stdio.h>
#include <string.h>

static void count_held(stet_device *device, int64_t slots)
{
    device->mechanisms.counters.mechanism[STET_MECH_args].held_bytes += slots * (int64_t)sizeof(sti_slot);
}

void sti_parts_free(stet_device *device, sti_recording *x)
{
    for (int i = 0; i < x->npart; ++i) {
        device->ops->graph_free(device, x->part[i].graph);
        sti_free(x->part[i].bump);
    }
    if (x->shadow) count_held(device, -x->nslot);
    sti_free(x->shadow);
    sti_free(x->part);
    x->shadow = NULL;
    x->part = NULL;
    x->npart = 0;
}

/* ---- one graph ----------------------------------------------------------------------------------------------------- */

/* Operation i as the device takes it, in a graph that begins with operation `first`. */
static stet_result describe(stet_device *device, const sti_recording *x, int i, int first, sti_graph_op *out)
{
    const sti_op *op = &x->list.op[i];
    const sti_use *use = x->list.use + op->use;
    *out = (sti_graph_op){.mate = op->mate - first};
    switch (op->kind) {
    case STI_OP_LAUNCH:
        out->kind = STI_GRAPH_LAUNCH;
        out->name = op->kernel->name;
        out->slots = x->shadow + op->slot;
        out->nslot = op->nslot;
        out->nblock = op->nblock;
        return sti_program_code(device, op->kernel, false, &out->code);
    case STI_OP_COPY:
        out->kind = STI_GRAPH_COPY;
        out->name = use[0].array->name;
        out->to = use[0].array->data;
        out->from = use[1].array->data;
        out->size = use[1].array->size;
        return STET_OK;
    case STI_OP_WHILE:
        out->kind = STI_GRAPH_WHILE;
        out->name = use[0].array->name;
        out->condition = use[0].array->data;
        out->most = op->most;
        return sti_program_condition(device, &out->code);
    case STI_OP_END: out->kind = STI_GRAPH_END; return STET_OK;
    case STI_OP_FOREIGN:
        out->kind = STI_GRAPH_FOREIGN;
        out->name = op->name;
        out->work = op->work;
        out->context = op->context;
        return STET_OK;
    }
    return STET_OK;
}

/* Edges between operations first … end - 1, counted from `first`. */
static int pick_edges(const sti_recording *x, int first, int end, sti_edge *out)
{
    int n = 0;
    for (int i = 0; i < x->nedge; ++i)
        if (x->edge[i].from >= first && x->edge[i].to < end)
            out[n++] = (sti_edge){x->edge[i].from - first, x->edge[i].to - first};
    return n;
}

static stet_result fill_part(stet_device *device, const sti_recording *x, const char *what, sti_graph_op *op,
                             sti_edge *edge, sti_part *part)
{
    for (int i = part->first; i < part->end; ++i) STI_TRY(describe(device, x, i, part->first, &op[i - part->first]));
    int nedge = pick_edges(x, part->first, part->end, edge);
    return device->ops->graph_make(device, op, part->end - part->first, edge, nedge, what, &part->graph);
}

static void add_bump(sti_part *part, stet_array *array)
{
    int i = 0;
    while (i < part->nbump && part->bump[i].array != array) ++i;
    if (i == part->nbump) part->bump[part->nbump++] = (struct sti_bump){array, 0};
    part->bump[i].times++;
}

/* What its operations write, each array once. A loop's own uses are those of what is in it. */
static stet_result sum_up(const sti_recording *x, sti_part *part)
{
    STI_TRY(sti_alloc(&part->bump, (size_t)x->list.nuse * sizeof *part->bump + 1, "what a graph writes"));
    for (int i = part->first; i < part->end; ++i) {
        const sti_op *op = &x->list.op[i];
        part->launches += op->kind == STI_OP_LAUNCH;
        for (int u = op->use; op->kind != STI_OP_WHILE && u < op->use + op->nuse; ++u) {
            stet_array *array = x->list.use[u].array;
            if (!x->list.use[u].written) continue;
            add_bump(part, array);
            if (op->kind == STI_OP_COPY) part->bytes += (int64_t)array->size;
        }
    }
    return STET_OK;
}

static stet_result add_part(stet_device *device, sti_recording *x, const char *what, int first, int end)
{
    sti_part part = {.first = first, .end = end};
    sti_graph_op *op = NULL;
    sti_edge *edge = NULL;
    STI_TRY(sti_realloc(&x->part, (size_t)(x->npart + 1) * sizeof *x->part, "graphs of a recording"));
    stet_result result = sti_alloc(&op, (size_t)(end - first) * sizeof *op, "a graph's operations");
    if (result == STET_OK) result = sti_alloc(&edge, (size_t)x->nedge * sizeof *edge + 1, "a graph's edges");
    if (result == STET_OK) result = sum_up(x, &part);
    if (result == STET_OK) result = fill_part(device, x, what, op, edge, &part);
    sti_free(op);
    sti_free(edge);
    if (result == STET_OK)
        x->part[x->npart++] = part;
    else
        sti_free(part.bump);
    return result;
}

/* ---- all of them --------------------------------------------------------------------------------------------------- */

static bool has(const sti_recording *x, sti_op_kind kind)
{
    for (int i = 0; i < x->list.nop; ++i)
        if (x->list.op[i].kind == kind) return true;
    return false;
}

static bool is_loop(const sti_op *op) { return op->kind == STI_OP_WHILE || op->kind == STI_OP_END; }

/* Between the ends of loops; a piece of one operation is that operation. */
static stet_result add_pieces(stet_device *device, sti_recording *x, const char *what)
{
    for (int first = 0, end; first < x->list.nop; first = end + 1) {
        for (end = first; end < x->list.nop && !is_loop(&x->list.op[end]);) ++end;
        if (end - first > 1) STI_TRY(add_part(device, x, what, first, end));
    }
    return STET_OK;
}

/* *why: what the driver could not; none: it could all. */
static stet_result add_parts(stet_device *device, sti_recording *x, const char *what, stet_reason *why)
{
    *why = STET_REASON_none;
    stet_result result = add_part(device, x, what, 0, x->list.nop);
    if (result == STET_UNSUPPORTED && has(x, STI_OP_WHILE)) {
        *why = STET_REASON_graph_replay_host_loop;
        result = add_pieces(device, x, what);
    }
    if (result == STET_OK) return STET_OK;
    sti_parts_free(device, x);
    if (result == STET_UNSUPPORTED)
        *why = STET_REASON_graph_replay_unsupported;
    else if (result != STET_OUT_OF_MEMORY && has(x, STI_OP_FOREIGN))
        *why = STET_REASON_graph_replay_capture;
    else
        return result;
    return STET_OK;
}

/* The graphs begin with the arguments and numbers of this play. */
static stet_result take_numbers(const sti_player *p, sti_recording *x)
{
    const sti_list *now = p->list;
    size_t size = (size_t)now->nslot * sizeof *now->slot;
    STI_TRY(sti_alloc(&x->shadow, size + 1, "arguments of a recording"));
    if (size) memcpy(x->shadow, now->slot, size);
    x->nslot = now->nslot;
    x->fresh = true;
    count_held(p->device, x->nslot);
    for (int i = 0; i < now->nop; ++i) {
        x->list.op[i].nblock = now->op[i].nblock;
        x->list.op[i].most = now->op[i].most;
    }
    return STET_OK;
}

stet_result sti_parts_plan(const sti_player *p, sti_recording *x)
{
    stet_device *device = p->device;
    char where[400];
    stet_reason why = STET_REASON_none;
    if (x->planned || !device->ops->graph_make) return STET_OK;
    STI_TRY(take_numbers(p, x));
    stet_result result = add_parts(device, x, p->what, &why);
    if (result == STET_OK && why != STET_REASON_none) {
        (void)snprintf(where, sizeof where, "%s (%s)", p->what, stet_last_error());
        result = sti_fallback(&device->mechanisms, STET_MECH_graph_replay, why, where);
    }
    if (result != STET_OK || x->npart == 0) sti_parts_free(device, x);
    x->planned = result == STET_OK;
    return result;
}

/* ---- arguments and numbers ----------------------------------------------------------------------------------------- */

/* How one operation of a graph comes to what it is in this play; `why` its arguments are given anew whatever they are. */
static stet_result update_op(const sti_player *p, const sti_part *part, int i, stet_reason why)
{
    sti_mechanisms *m = &p->device->mechanisms;
    sti_recording *x = p->recording;
    sti_op *had = &x->list.op[i];
    const sti_op *now = &p->list->op[i];
    const sti_slot *slots = p->list->slot + now->slot;
    size_t size = (size_t)now->nslot * sizeof *slots;
    bool other = size && memcmp(x->shadow + now->slot, slots, size) != 0;
    if (why == STET_REASON_none && other) why = STET_REASON_args_changed;
    if ((size && why != STET_REASON_none && why != STET_REASON_args_first) || had->nblock != now->nblock ||
        had->most != now->most)
        STI_TRY(p->device->ops->graph_set(p->device, part->graph, i - part->first, slots, now->nslot,
                                          now->kind == STI_OP_WHILE ? now->most : now->nblock));
    if (size) memcpy(x->shadow + now->slot, slots, size); /* G1 */
    had->nblock = now->nblock;
    had->most = now->most;
    if (size && why != STET_REASON_none)
        sti_count_miss(m, STET_MECH_args, why, 0, (int64_t)size);
    else if (size)
        sti_count_hit(m, STET_MECH_args, 0, (int64_t)size);
    return STET_OK;
}

static bool same_numbers(const sti_list *a, const sti_list *b)
{
    for (int i = 0; i < a->nop; ++i)
        if (a->op[i].nblock != b->op[i].nblock || a->op[i].most != b->op[i].most) return false;
    return true;
}

stet_result sti_parts_update(const sti_player *p)
{
    sti_mechanisms *m = &p->device->mechanisms;
    sti_recording *x = p->recording;
    const bool enabled = sti_enabled(m, STET_MECH_args), whole = x->part[0].end == x->list.nop;
    const size_t size = (size_t)p->list->nslot * sizeof *p->list->slot;
    if (enabled && whole && !x->fresh && memcmp(x->shadow, p->list->slot, size) == 0 &&
        same_numbers(&x->list, p->list)) {
        m->counters.mechanism[STET_MECH_args].hits += p->list->nsite;
        m->counters.mechanism[STET_MECH_args].saved_bytes += (int64_t)size;
        return STET_OK;
    }
    stet_reason why = !enabled ? STET_REASON_args_disabled : STET_REASON_none;
    for (int k = 0; k < x->npart; ++k)
        for (int i = x->part[k].first; i < x->part[k].end; ++i)
            STI_TRY(update_op(p, &x->part[k], i, x->fresh && enabled ? STET_REASON_args_first : why));
    x->fresh = false;
    return STET_OK;
}
