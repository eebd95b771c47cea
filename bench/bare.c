/* Plain driver calls; see bare.h. */
#include "bench/bare.h"

#include "kernel/gpu/programs.h"

#include <string.h>

/* A driver call: a failure becomes stet's sentence. */
#define CALL(b, name, ...) called((b), (b)->gpu->driver.api.name(__VA_ARGS__), #name)

static stet_result called(const bench_bare *b, int code, const char *call)
{
    return code == STI_GPU_OK ? STET_OK : sti_gpu_call_failed(&b->gpu->driver, code, b->gpu->where, call);
}

/* ---- context and stream ------------------------------------------------------------------------------------------ */

stet_result bench_bare_enter(bench_bare *b)
{
    const sti_gpu *g = b->gpu;
    if (b->inside) return STET_OK;
    STI_TRY(called(b, g->driver.vendor->enter(&g->driver, g->facts.ordinal, g->context, &b->was), "enter"));
    b->inside = true;
    return STET_OK;
}

stet_result bench_bare_leave(bench_bare *b)
{
    if (!b->inside) return STET_OK;
    b->inside = false;
    return called(b, b->gpu->driver.vendor->leave(&b->gpu->driver, &b->was), "leave");
}

stet_result bench_bare_wait(bench_bare *b) { return CALL(b, stream_synchronize, b->stream); }

stet_result bench_bare_open(bench_bare *b, stet_device *device)
{
    *b = (bench_bare){.device = device, .gpu = device->state};
    STI_TRY(bench_bare_enter(b));
    return CALL(b, stream_create, &b->stream, STI_GPU_STREAM_NON_BLOCKING);
}

void bench_bare_close(bench_bare *b)
{
    if (!b->gpu) return;
    (void)bench_bare_enter(b);
    if (b->stream) (void)CALL(b, stream_destroy, b->stream);
    (void)bench_bare_leave(b);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/* Takes the only launch that is listed. */
static stet_result take_listed(bench_bare_kernel *k, stet_device *device, bool in_block)
{
    const sti_code *code;
    const sti_list *list = sti_record_pending(device);
    if (!list || list->nop != 1 || list->op[0].kind != STI_OP_LAUNCH)
        return sti_error(STET_ERROR_STATE, "bench: one launch was to be listed");
    const sti_op *op = &list->op[0];
    STI_TRY(sti_program_code(device, op->kernel, in_block, &code));
    int64_t per = code->worlds ? code->teams : 1;
    k->function = in_block ? code->block : code->value;
    k->grid = (unsigned)((op->nblock + per - 1) / per);
    k->team = (unsigned)code->team;
    k->teams = (unsigned)code->teams;
    k->shared = code->shared;
    k->count = op->nblock;
    memcpy(k->slot, list->slot + op->slot, (size_t)op->nslot * sizeof *k->slot);
    return STET_OK;
}

static stet_result make_block(bench_bare_kernel *k)
{
    STI_TRY(CALL(k->bare, alloc, &k->block, BENCH_BARE_BLOCK));
    STI_TRY(CALL(k->bare, host_alloc, &k->pinned, BENCH_BARE_BLOCK, STI_GPU_HOST_PORTABLE));
    memset(k->pinned, 0, BENCH_BARE_BLOCK);
    memcpy(k->pinned, k->slot, BENCH_BARE_BLOCK / 2);
    return STET_OK;
}

stet_result bench_bare_kernel_of(bench_bare *b, stet_result (*launch)(void *), void *context, bool in_block,
                                 bench_bare_kernel *out)
{
    *out = (bench_bare_kernel){.bare = b};
    STI_TRY(sti_record_begin(b->device, "a launch of a benchmark"));
    stet_result result = launch(context);
    if (result == STET_OK) result = take_listed(out, b->device, in_block);
    (void)sti_record_end(b->device, STET_ERROR_STATE); /* it does not run */
    if (result == STET_OK && in_block) result = make_block(out);
    return result;
}

void bench_bare_kernel_end(bench_bare_kernel *k)
{
    if (!k->bare) return;
    if (k->block) (void)CALL(k->bare, free, k->block);
    if (k->pinned) (void)CALL(k->bare, host_free, k->pinned);
}

stet_result bench_bare_launch(bench_bare_kernel *k)
{
    void *stream = k->bare->stream;
    void *by_value[] = {k->slot, &k->count}, *by_block[] = {&k->block, &k->count};
    if (k->block) STI_TRY(CALL(k->bare, copy_to_device_async, k->block, k->pinned, BENCH_BARE_BLOCK, stream));
    return CALL(k->bare, launch, k->function, k->grid, 1, 1, k->team, k->teams, 1, k->shared, stream,
                k->block ? by_block : by_value, NULL);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static bool has_graphs(const sti_gpu_api *a)
{
    return a->capture_begin && a->capture_end && a->graph_instantiate && a->graph_destroy && a->graph_launch &&
           a->graph_exec_destroy;
}

static stet_result capture(bench_bare *b, stet_result (*work)(void *), void *context, void **graph)
{
    STI_TRY(CALL(b, capture_begin, b->stream, STI_GPU_CAPTURE_RELAXED));
    stet_result result = work(context), ended = CALL(b, capture_end, b->stream, graph);
    return result == STET_OK ? ended : result;
}

stet_result bench_bare_capture(bench_bare *b, stet_result (*work)(void *), void *context, void **executable)
{
    void *graph = NULL;
    *executable = NULL;
    if (!has_graphs(&b->gpu->driver.api))
        return sti_error(STET_ERROR_UNSUPPORTED, "%s: the driver has no graphs", b->gpu->where);
    stet_result result = capture(b, work, context, &graph);
    if (result == STET_OK) result = CALL(b, graph_instantiate, executable, graph, 0);
    if (graph) (void)CALL(b, graph_destroy, graph);
    return result;
}

stet_result bench_bare_replay(bench_bare *b, void *executable, void *stream)
{
    return CALL(b, graph_launch, executable, stream);
}

void bench_bare_graph_end(bench_bare *b, void *executable)
{
    if (executable) (void)CALL(b, graph_exec_destroy, executable);
}
