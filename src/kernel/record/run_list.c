/*
 * Runs a list: through the graphs of its recording where it has some, else operation by operation. See play.h.
 *
 * Arguments of launches are passed by value. In a recording without graphs they are passed through its block.
 */
#include "kernel/record/play.h"

#include "device/trace.h"
#include "kernel/gpu/programs.h"
#include "kernel/launch/run.h"

#include <assert.h>

/* ---- operations -------------------------------------------------------------------------------------------------- */

static stet_result run_launch(sti_player *p, const sti_op *op)
{
    const sti_recording *x = p->recording;
    /* How much memory a team needs is known only where the arguments go by value. */
    bool in_block = x && x->ngraph_piece == 0 && !op->kernel->team_slots;
    p->nlaunch++;
    return sti_kernel_run(p->device, op->kernel, (in_block ? x->args.block : p->list->slot) + op->slot, op->nslot,
                          op->nblock, in_block);
}

static stet_result run_copy(sti_player *p, const sti_op *op)
{
    assert(op->nuse == 2 && p->list->use[op->use].array->size == p->list->use[op->use + 1].array->size);
    const sti_use *use = p->list->use + op->use;
    return sti_device_copy_of(p->device, use[0].array->name, use[0].array->data, use[1].array->data,
                              use[1].array->size);
}

/*
 * *next: the body's first operation, or the one behind the loop. The code of conditional nodes is loaded here, too,
 * because nothing can be loaded during a capture, which the loop may join later.
 */
static stet_result run_while(sti_player *p, sti_op *op, int *next)
{
    assert(op->match > p->at && op->match < p->list->nop && op->trips >= 0 && op->trips <= op->most);
    int32_t condition = 0;
    const sti_code *code;
    if (op->trips == 0 && p->device->ops->graph_join) (void)sti_program_condition(p->device, &code);
    if (op->trips < op->most)
        STI_TRY(sti_device_download_of(p->device, p->list->use[op->use].array->name, &condition,
                                       p->list->use[op->use].array->data, sizeof condition));
    bool again = condition != 0;
    op->trips = again ? op->trips + 1 : 0;
    if (!again) *next = op->match + 1;
    return STET_OK;
}

stet_result sti_foreign_run(stet_device *device, const char *name, stet_foreign_fn *work, void *context)
{
    stet_result result = work(context, device->stream);
    if (result == STET_OK) return STET_OK;
    return sti_error(result, "%s: work that stet does not launch itself says: %s", name, stet_result_sentence(result));
}

/* Counts an operation that has run and moves generations (RECORD-2), or notes it for a capture (RECORD-8). */
static void note_operation(const sti_player *p, const sti_op *op)
{
    assert(op->use >= 0 && op->use + op->nuse <= p->list->nuse);
    stet_counters *c = &p->device->mechanisms.counters;
    if (p->trial) return;
    if (op->kind == STI_OP_WHILE && p->capture)
        sti_external_capture_use(p->device, p->capture, p->list->use[op->use].array, false);
    if (op->kind == STI_OP_WHILE) return;
    c->launches += op->kind == STI_OP_LAUNCH;
    for (int i = op->use; i < op->use + op->nuse; ++i) {
        const sti_use *use = &p->list->use[i];
        if (p->capture) sti_external_capture_use(p->device, p->capture, use->array, use->written);
        if (!use->written) continue;
        sti_version_bump(&use->array->version);
        if (op->kind == STI_OP_COPY) c->bytes_copied += (int64_t)use->array->size;
    }
}

/* A loop that joins the caller's capture becomes a conditional node there. */
static stet_result join_loop(sti_player *p, int end)
{
    STI_TRY(sti_device_graphs_join(p, p->at, end));
    for (; p->at < end; p->at++) {
        p->nlaunch += p->list->op[p->at].kind == STI_OP_LAUNCH;
        note_operation(p, &p->list->op[p->at]);
    }
    return STET_OK;
}

static stet_result run_op(sti_player *p)
{
    assert(p->at >= 0 && p->at < p->list->nop);
    sti_op *op = &p->list->op[p->at];
    int next = p->at + 1;
    if (op->kind == STI_OP_WHILE && p->capture) return join_loop(p, op->match + 1);
    switch (op->kind) {
    case STI_OP_LAUNCH: STI_TRY(run_launch(p, op)); break;
    case STI_OP_COPY: STI_TRY(run_copy(p, op)); break;
    case STI_OP_WHILE: STI_TRY(run_while(p, op, &next)); break;
    case STI_OP_END: next = op->match; break;
    case STI_OP_FOREIGN: STI_TRY(sti_foreign_run(p->device, op->name, op->work, op->context)); break;
    }
    note_operation(p, op);
    p->at = next;
    return STET_OK;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* The fused group that begins at the player's position, or NULL. */
static const sti_group *group_here(const sti_player *p)
{
    const sti_recording *x = p->recording;
    const sti_group *group = x ? sti_group_at(&x->groups, p->at) : NULL;
    return group && group->fused ? group : NULL;
}

static stet_result run_together(sti_player *p, const sti_group *group)
{
    STI_TRY(sti_group_run(p->device, group, p->list));
    for (; p->at < group->end; p->at++) {
        p->nlaunch += p->list->op[p->at].kind == STI_OP_LAUNCH;
        note_operation(p, &p->list->op[p->at]);
    }
    return STET_OK;
}

/*
 * Runs a fused group. With a trace its operations run one by one, so that each kernel has a time of its own; the
 * counters are the same.
 */
static stet_result run_group(sti_player *p, const sti_group *group)
{
    sti_mechanisms *m = &p->device->mechanisms;
    int64_t before = p->nlaunch;
    if (!m->trace) STI_TRY(run_together(p, group));
    while (p->at < group->end) STI_TRY(run_op(p));
    assert(p->at == group->end && p->nlaunch > before && "a group is run to its end");
    if (!p->trial) sti_count_hit(m, STET_MECHANISM_FUSION, p->nlaunch - before - 1, 0);
    return STET_OK;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

/* The graph that begins at the player's position, or NULL. */
static const sti_device_graph *graph_piece_here(const sti_player *p)
{
    const sti_recording *x = p->recording;
    for (int i = 0; x && i < x->ngraph_piece; ++i)
        if (x->graph_piece[i].first == p->at) return &x->graph_piece[i];
    return NULL;
}

static stet_result run_graph_piece(sti_player *p, const sti_device_graph *graph_piece)
{
    assert(graph_piece->end > p->at && graph_piece->end <= p->list->nop && graph_piece->graph);
    STI_TRY(p->device->ops->graph_launch(p->device, graph_piece->graph));
    p->nlaunch += graph_piece->launches;
    p->at = graph_piece->end;
    if (p->trial) return STET_OK;
    p->device->mechanisms.counters.launches += graph_piece->launches;
    p->device->mechanisms.counters.bytes_copied += graph_piece->bytes;
    sti_count_hits(&p->device->mechanisms, STET_MECHANISM_FUSION, graph_piece->fused, graph_piece->saved, 0);
    for (int i = 0; i < graph_piece->nbump; ++i)
        graph_piece->bump[i].array->version.generation += graph_piece->bump[i].times; /* RECORD-2 */
    return STET_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

stet_result sti_run(sti_player *p)
{
    sti_recording *x = p->recording;
    if (x) STI_TRY(x->ngraph_piece ? sti_device_graphs_update(p) : sti_args_upload(p->device, &x->args, p->list));
    while (p->at < p->list->nop) {
        const sti_device_graph *graph_piece = graph_piece_here(p);
        const sti_group *group = graph_piece ? NULL : group_here(p);
        assert(p->at >= 0);
        STI_TRY(graph_piece ? run_graph_piece(p, graph_piece) : group ? run_group(p, group) : run_op(p));
    }
    return STET_OK;
}

void sti_rewind(sti_player *p)
{
    p->at = 0;
    p->nlaunch = 0;
    for (int i = 0; i < p->list->nop; ++i) p->list->op[i].trips = 0;
}

stet_result sti_replay(sti_player *p)
{
    sti_trace *trace = p->device->mechanisms.trace;
    if (!trace) return sti_run(p);
    sti_device_mark mark = sti_device_trace_open(
        p->device, &(sti_trace_what){.kind = STET_TRACE_REPLAY, .name = p->what, .id = p->recording->id});
    bool comparing = sti_trace_compare(trace, p->trial);
    stet_result result = sti_run(p);
    mark.host.amount = p->nlaunch;
    sti_device_trace_close(p->device, mark, result);
    (void)sti_trace_compare(trace, comparing);
    return result;
}

stet_result sti_play_fallback(sti_player *p, stet_reason why)
{
    p->recording = NULL;
    p->nlaunch = 0;
    STI_TRY(sti_fallback(&p->device->mechanisms, STET_MECHANISM_GRAPH_REPLAY, why, p->what));
    stet_result result = sti_run(p);
    sti_replay_row(p->device)->done_launches += p->nlaunch;
    return result;
}
