/*
 * The graphs of a recording. A recording has one graph of the whole list. Where the driver has no loops that end on the
 * device it has one graph for each piece of the list between two points where the host reads a loop's condition. See
 * play.h.
 *
 * Invariants:
 *   GRAPHS-1  `shadow` and the numbers of `list` are those that the graphs have. They change only after the device has
 *       accepted the new ones
 *   GRAPHS-2  the graphs hold arguments by value, not in memory of the device, so nothing can overwrite the arguments
 *       of a launch in flight
 */
#include "kernel/gpu/programs.h"
#include "kernel/record/play.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void count_held(stet_device *device, int64_t slots)
{
    sti_count_held(&device->mechanisms, STET_MECHANISM_ARGS, slots * (int64_t)sizeof(sti_slot));
}

void sti_device_graphs_free(stet_device *device, sti_recording *x)
{
    for (int i = 0; i < x->ngraph_piece; ++i) {
        device->ops->graph_free(device, x->graph_piece[i].graph);
        sti_free(x->graph_piece[i].bump);
    }
    if (x->shadow) count_held(device, -x->nslot);
    sti_free(x->shadow);
    sti_free(x->graph_piece);
    x->shadow = NULL;
    x->graph_piece = NULL;
    x->ngraph_piece = 0;
}

/* ---- one graph --------------------------------------------------------------------------------------------------- */

static void describe_fused(const sti_group *group, sti_graph_op *out)
{
    assert(group->fused && group->code && group->slot);
    *out = (sti_graph_op){.kind = STI_GRAPH_LAUNCH,
                          .name = group->code->name,
                          .code = group->code,
                          .slots = group->slot,
                          .nslot = group->code->nslot,
                          .nblock = group->nblock};
}

/* Describes operation i for the device, in a graph that begins with group `first`. */
static stet_result describe(stet_device *device, const sti_recording *x, int i, int first, sti_graph_op *out)
{
    assert(i >= 0 && i < x->list.nop);
    const sti_op *op = &x->list.op[i];
    const sti_use *use = x->list.use + op->use;
    *out = (sti_graph_op){.match = op->match >= 0 ? sti_group_of(&x->groups, op->match) - first : -1};
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

static bool has_edge(const sti_edge *edge, int n, sti_edge wanted)
{
    while (n > 0 && edge[n - 1].to == wanted.to)
        if (edge[--n].from == wanted.from) return true;
    return false;
}

/*
 * Finds the edges between the groups of operations first … end - 1, counted from the group of `first`. They are in the
 * order of `to`, as the list's edges are.
 */
static int pick_edges(const sti_recording *x, int first, int end, sti_edge *out)
{
    int n = 0, base = sti_group_of(&x->groups, first);
    for (int i = 0; i < x->nedge; ++i) {
        if (x->edge[i].from < first || x->edge[i].to >= end) continue;
        sti_edge edge = {sti_group_of(&x->groups, x->edge[i].from) - base,
                         sti_group_of(&x->groups, x->edge[i].to) - base};
        assert(edge.from >= 0 && edge.from <= edge.to && "an edge goes forward");
        if (edge.from != edge.to && !has_edge(out, n, edge)) out[n++] = edge;
    }
    return n;
}

/* Passes operations first_op … end - 1 to the device, described in op and edge. graph NULL: they join a capture. */
static stet_result pass_piece(stet_device *device, const sti_recording *x, const char *what, int first_op, int end,
                              sti_graph_op *op, sti_edge *edge, void **graph)
{
    int first = sti_group_of(&x->groups, first_op), n = 0;
    for (; first + n < x->groups.n && x->groups.group[first + n].first < end; ++n) {
        const sti_group *group = &x->groups.group[first + n];
        if (group->fused)
            describe_fused(group, &op[n]);
        else
            STI_TRY(describe(device, x, group->first, first, &op[n]));
    }
    assert(n > 0 && n <= end - first_op);
    int nedge = pick_edges(x, first_op, end, edge);
    return graph ? device->ops->graph_make(device, op, n, edge, nedge, what, graph)
                 : device->ops->graph_join(device, op, n, edge, nedge, what);
}

static stet_result make_piece(stet_device *device, const sti_recording *x, const char *what, int first, int end,
                              void **graph)
{
    sti_graph_op *op = NULL;
    sti_edge *edge = NULL;
    stet_result result = sti_alloc(&op, (size_t)(end - first) * sizeof *op, "a graph's operations");
    if (result == STET_OK) result = sti_alloc(&edge, (size_t)x->nedge * sizeof *edge + 1, "a graph's edges");
    if (result == STET_OK) result = pass_piece(device, x, what, first, end, op, edge, graph);
    sti_free(op);
    sti_free(edge);
    return result;
}

stet_result sti_device_graphs_join(const sti_player *p, int first, int end)
{
    sti_recording x = {.list = *p->list, .shadow = p->list->slot};
    STI_TRY(sti_groups_apart(p->list, &x.groups));
    stet_result result = sti_list_edges(p->list, &x.edge, &x.nedge);
    if (result == STET_OK) result = make_piece(p->device, &x, p->what, first, end, NULL);
    sti_free(x.edge);
    sti_groups_free(&x.groups);
    return result;
}

static void add_bump(sti_device_graph *graph_piece, stet_array *array)
{
    int i = 0;
    while (i < graph_piece->nbump && graph_piece->bump[i].array != array) ++i;
    assert(array);
    if (i == graph_piece->nbump) graph_piece->bump[graph_piece->nbump++] = (struct sti_bump){array, 0};
    graph_piece->bump[i].times++;
}

/*
 * Sums up launches, copied bytes and written arrays of a graph, each array once. Loops are left out, because their uses
 * repeat those of their bodies.
 */
static stet_result sum_up(const sti_recording *x, sti_device_graph *graph_piece)
{
    STI_TRY(sti_alloc(&graph_piece->bump, (size_t)x->list.nuse * sizeof *graph_piece->bump + 1, "what a graph writes"));
    for (int k = sti_group_of(&x->groups, graph_piece->first);
         k < x->groups.n && x->groups.group[k].first < graph_piece->end; ++k) {
        graph_piece->fused += x->groups.group[k].fused;
        graph_piece->saved -= x->groups.group[k].fused;
    }
    for (int i = graph_piece->first; i < graph_piece->end; ++i) {
        const sti_op *op = &x->list.op[i];
        graph_piece->launches += op->kind == STI_OP_LAUNCH;
        graph_piece->saved += op->kind == STI_OP_LAUNCH && x->groups.group[sti_group_of(&x->groups, i)].fused;
        for (int u = op->use; op->kind != STI_OP_WHILE && u < op->use + op->nuse; ++u) {
            stet_array *array = x->list.use[u].array;
            if (!x->list.use[u].written) continue;
            add_bump(graph_piece, array);
            if (op->kind == STI_OP_COPY) graph_piece->bytes += (int64_t)array->size;
        }
    }
    return STET_OK;
}

static stet_result add_graph_piece(stet_device *device, sti_recording *x, const char *what, int first, int end)
{
    assert(first >= 0 && first < end && end <= x->list.nop);
    sti_device_graph graph_piece = {.first = first, .end = end};
    STI_TRY(
        sti_realloc(&x->graph_piece, (size_t)(x->ngraph_piece + 1) * sizeof *x->graph_piece, "graphs of a recording"));
    stet_result result = sum_up(x, &graph_piece);
    if (result == STET_OK) result = make_piece(device, x, what, first, end, &graph_piece.graph);
    if (result == STET_OK)
        x->graph_piece[x->ngraph_piece++] = graph_piece;
    else
        sti_free(graph_piece.bump);
    return result;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static bool has_kind(const sti_recording *x, sti_op_kind kind)
{
    for (int i = 0; i < x->list.nop; ++i)
        if (x->list.op[i].kind == kind) return true;
    return false;
}

static bool is_loop(const sti_op *op) { return op->kind == STI_OP_WHILE || op->kind == STI_OP_END; }

/* Adds a graph for each piece between the ends of loops. A piece of one operation gets no graph. */
static stet_result add_pieces(stet_device *device, sti_recording *x, const char *what)
{
    for (int first = 0, end; first < x->list.nop; first = end + 1) {
        for (end = first; end < x->list.nop && !is_loop(&x->list.op[end]);) ++end;
        if (end - first > 1) STI_TRY(add_graph_piece(device, x, what, first, end));
    }
    return STET_OK;
}

/* Adds the graphs. *why is the reason if the driver could not build all of it, else none. */
static stet_result add_graph_pieces(stet_device *device, sti_recording *x, const char *what, stet_reason *why)
{
    *why = STET_REASON_NONE;
    stet_result result = add_graph_piece(device, x, what, 0, x->list.nop);
    if (result == STET_ERROR_UNSUPPORTED && has_kind(x, STI_OP_WHILE)) {
        *why = STET_REASON_GRAPH_REPLAY_HOST_LOOP;
        result = add_pieces(device, x, what);
    }
    if (result == STET_OK) return STET_OK;
    sti_device_graphs_free(device, x);
    if (result == STET_ERROR_UNSUPPORTED)
        *why = STET_REASON_GRAPH_REPLAY_UNSUPPORTED;
    else if (result != STET_ERROR_OUT_OF_MEMORY && has_kind(x, STI_OP_FOREIGN))
        *why = STET_REASON_GRAPH_REPLAY_CAPTURE;
    else
        return result;
    return STET_OK;
}

/* Copies the arguments and numbers of this play into the recording, for the graphs to begin with. */
static stet_result copy_numbers(const sti_player *p, sti_recording *x)
{
    const sti_list *now = p->list;
    size_t size = (size_t)now->nslot * sizeof *now->slot;
    STI_TRY(sti_alloc(&x->shadow, size + 1, "arguments of a recording"));
    if (size) memcpy(x->shadow, now->slot, size);
    assert(x->list.nop == now->nop && "a recording is of the same operations");
    x->nslot = now->nslot;
    x->fresh = true;
    count_held(p->device, x->nslot);
    for (int i = 0; i < x->groups.n; ++i)
        if (x->groups.group[i].code) sti_group_fill(&x->groups.group[i], now);
    for (int i = 0; i < now->nop; ++i) {
        x->list.op[i].nblock = now->op[i].nblock;
        x->list.op[i].most = now->op[i].most;
    }
    return STET_OK;
}

static stet_result plan_graphs(const sti_player *p, sti_recording *x)
{
    stet_device *device = p->device;
    char where[400];
    stet_reason why = STET_REASON_NONE;
    STI_TRY(copy_numbers(p, x));
    stet_result result = add_graph_pieces(device, x, p->what, &why);
    if (result == STET_OK && why != STET_REASON_NONE) {
        (void)snprintf(where, sizeof where, "%s (%s)", p->what, stet_get_last_error());
        result = sti_fallback(&device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, why, where);
    }
    if (result != STET_OK || x->ngraph_piece == 0) sti_device_graphs_free(device, x);
    return result;
}

/*
 * Drops a plan that was made with mechanism fusion in the other state (on or off). The recording is compared again,
 * too.
 */
static void drop_outdated_plan(stet_device *device, sti_recording *x)
{
    if (!x->planned || x->groups.enabled == sti_enabled(&device->mechanisms, STET_MECHANISM_FUSION)) return;
    sti_device_graphs_free(device, x);
    sti_groups_free(&x->groups);
    x->planned = x->trusted = false;
}

stet_result sti_device_graphs_plan(const sti_player *p, sti_recording *x)
{
    drop_outdated_plan(p->device, x);
    if (x->planned) return STET_OK;
    STI_TRY(sti_groups_plan(p->device, p->list, p->what, &x->groups));
    stet_result result = p->device->ops->graph_make ? plan_graphs(p, x) : STET_OK;
    if (result != STET_OK) sti_groups_free(&x->groups);
    x->planned = result == STET_OK;
    return result;
}

/* ---- arguments and numbers --------------------------------------------------------------------------------------- */

/* Returns why operation i must get its arguments again. A given `why` applies whatever the arguments are. */
static stet_reason why_anew(const sti_player *p, int i, stet_reason why)
{
    const sti_op *now = &p->list->op[i];
    size_t size = (size_t)now->nslot * sizeof *p->list->slot;
    bool other = size && memcmp(p->recording->shadow + now->slot, p->list->slot + now->slot, size) != 0;
    return why == STET_REASON_NONE && other ? STET_REASON_ARGS_CHANGED : why;
}

static bool must_be_set(const sti_player *p, int i, stet_reason why)
{
    const sti_op *now = &p->list->op[i], *had = &p->recording->list.op[i];
    bool anew = now->nslot && why != STET_REASON_NONE && why != STET_REASON_ARGS_FIRST;
    return anew || had->nblock != now->nblock || had->most != now->most;
}

/* Stores the arguments and numbers of operation i after the graphs have accepted them (GRAPHS-1), and counts them. */
static void note_update(const sti_player *p, int i, stet_reason why)
{
    sti_mechanisms *m = &p->device->mechanisms;
    const sti_op *now = &p->list->op[i];
    sti_op *had = &p->recording->list.op[i];
    size_t size = (size_t)now->nslot * sizeof *p->list->slot;
    had->nblock = now->nblock;
    had->most = now->most;
    if (!size) return;
    memcpy(p->recording->shadow + now->slot, p->list->slot + now->slot, size);
    if (why != STET_REASON_NONE)
        sti_count_miss(m, STET_MECHANISM_ARGS, why, 0, (int64_t)size);
    else
        sti_count_hit(m, STET_MECHANISM_ARGS, 0, (int64_t)size);
}

static stet_result set_group(const sti_player *p, const sti_device_graph *graph_piece, const sti_group *group)
{
    const sti_op *op = &p->list->op[group->first];
    int number =
        sti_group_of(&p->recording->groups, group->first) - sti_group_of(&p->recording->groups, graph_piece->first);
    if (!group->fused)
        return p->device->ops->graph_set(p->device, graph_piece->graph, number, p->list->slot + op->slot, op->nslot,
                                         op->kind == STI_OP_WHILE ? op->most : op->nblock);
    sti_group_fill(group, p->list);
    return p->device->ops->graph_set(p->device, graph_piece->graph, number, group->slot, group->code->nslot,
                                     group->nblock);
}

/* Gives one group of a graph the arguments and numbers of this play. */
static stet_result update_group(const sti_player *p, const sti_device_graph *graph_piece, const sti_group *group,
                                stet_reason why)
{
    bool set = false;
    for (int i = group->first; i < group->end; ++i) set |= must_be_set(p, i, why_anew(p, i, why));
    if (set) STI_TRY(set_group(p, graph_piece, group));
    for (int i = group->first; i < group->end; ++i) note_update(p, i, why_anew(p, i, why));
    return STET_OK;
}

static stet_result update_graph_piece(const sti_player *p, const sti_device_graph *graph_piece, stet_reason why)
{
    const sti_groups *g = &p->recording->groups;
    for (int k = sti_group_of(&p->recording->groups, graph_piece->first);
         k < g->n && g->group[k].first < graph_piece->end; ++k)
        STI_TRY(update_group(p, graph_piece, &g->group[k], why));
    return STET_OK;
}

static bool same_numbers(const sti_list *a, const sti_list *b)
{
    for (int i = 0; i < a->nop; ++i)
        if (a->op[i].nblock != b->op[i].nblock || a->op[i].most != b->op[i].most) return false;
    return true;
}

stet_result sti_device_graphs_update(const sti_player *p)
{
    sti_mechanisms *m = &p->device->mechanisms;
    sti_recording *x = p->recording;
    const bool enabled = sti_enabled(m, STET_MECHANISM_ARGS), whole = x->graph_piece[0].end == x->list.nop;
    const size_t size = (size_t)p->list->nslot * sizeof *p->list->slot;
    const bool equal = size == 0 || memcmp(x->shadow, p->list->slot, size) == 0; /* a list of copies has no arguments */
    if (enabled && whole && !x->fresh && equal && same_numbers(&x->list, p->list)) {
        sti_count_hits(m, STET_MECHANISM_ARGS, p->list->nsite, 0, (int64_t)size);
        return STET_OK;
    }
    stet_reason why = !enabled ? STET_REASON_ARGS_DISABLED : STET_REASON_NONE;
    if (x->fresh && enabled) why = STET_REASON_ARGS_FIRST;
    for (int k = 0; k < x->ngraph_piece; ++k) STI_TRY(update_graph_piece(p, &x->graph_piece[k], why));
    x->fresh = false;
    return STET_OK;
}
