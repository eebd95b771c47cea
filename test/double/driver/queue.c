/*
 * Streams and events over host memory. Invariants: queue.h.
 */
#include "queue.h"

#include "memory.h"

#include <stdlib.h>

enum { LONG = 512 }; /* operations that may wait; one more makes the oldest run */

typedef enum op_kind { OP_WORK, OP_RECORD, OP_WAIT, OP_GRAPH } op_kind;

struct dd_op {
    dd_op *next;
    op_kind kind;
    int64_t number; /* grows over all streams */
    int64_t born;   /* call */
    dd_work work;
    dd_event *event;
    int64_t asked; /* recording of the event */
    dd_exec *exec;
};

static dd_stream *streams;
static dd_event *events;
static int64_t numbers, waiting;
static uint64_t captures; /* ever */

/* ---- handles ----------------------------------------------------------------------------------------------------- */

static int make_stream(dd_device *device, bool blocking, bool legacy, dd_stream **out)
{
    dd_stream *s = *out = calloc(1, sizeof *s);
    if (!s) return DD_OUT_OF_MEMORY;
    *s = (dd_stream){.next = streams, .device = device, .blocking = blocking, .legacy = legacy};
    streams = s;
    dd.alive.streams += !legacy;
    return DD_OK;
}

int dd_stream_make(dd_device *device, bool blocking, dd_stream **out)
{
    return make_stream(device, blocking, false, out);
}

dd_stream *dd_stream_of(void *handle)
{
    if ((uintptr_t)handle <= 1) {
        if (dd_current && !dd_current->legacy) make_stream(dd_current, false, true, &dd_current->legacy);
        return dd_current ? dd_current->legacy : NULL;
    }
    dd_stream *s = streams;
    while (s && (s != handle || s->legacy)) s = s->next;
    return s;
}

int dd_event_make(dd_device *device, bool timed, dd_event **out)
{
    dd_event *e = *out = calloc(1, sizeof *e);
    if (!e) return DD_OUT_OF_MEMORY;
    *e = (dd_event){.next = events, .device = device, .timed = timed};
    events = e;
    dd.alive.events++;
    return DD_OK;
}

bool dd_event_is_alive(const dd_event *event)
{
    const dd_event *e = events;
    while (e && e != event) e = e->next;
    return e;
}

bool dd_event_has_run(const dd_event *event, int64_t recording)
{
    if (event->done == event->asked) return true;
    for (const dd_stream *s = streams; s; s = s->next)
        for (const dd_op *op = s->first; op; op = op->next)
            if (op->kind == OP_RECORD && op->event == event && op->asked == recording) return false;
    return true;
}

static void drop_op(dd_op *op)
{
    dd_work_drop(&op->work);
    if (op->exec) dd_exec_free(op->exec);
    free(op);
    waiting--;
}

/* Whoever waits for it goes on as if it had happened. */
int dd_event_end(dd_event *event)
{
    if (!dd_event_is_alive(event)) return DD_INVALID_HANDLE;
    int result = dd_wait_event(event);
    for (dd_stream *s = streams; s; s = s->next)
        for (dd_op *op = s->first; op; op = op->next)
            if (op->event == event) op->event = NULL;
    dd_event **at = &events;
    while (*at != event) at = &(*at)->next;
    *at = event->next;
    dd_nodes_clear(&event->tip);
    free(event);
    dd.alive.events--;
    return result;
}

static void free_stream(dd_stream *stream)
{
    while (stream->first) {
        dd_op *op = stream->first;
        stream->first = op->next;
        drop_op(op);
    }
    dd_nodes_clear(&stream->tip);
    free(stream);
}

/* A driver lets the work end by itself; here it ends now. */
int dd_stream_end(dd_stream *stream)
{
    int result = dd_wait_stream(stream);
    dd_stream **at = &streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
    free_stream(stream);
    dd.alive.streams--;
    return result;
}

/* ---- what may run ------------------------------------------------------------------------------------------------ */

/* QUEUE-4: of this device, nothing with a smaller number waits in the streams on the other side. */
static bool legacy_allows(const dd_stream *stream, const dd_op *op)
{
    if (!stream->legacy && !stream->blocking) return true;
    for (const dd_stream *s = streams; s; s = s->next) {
        bool other = stream->legacy ? s->blocking : s->legacy;
        if (other && s->device == stream->device && s->first && s->first->number < op->number) return false;
    }
    return true;
}

static bool may_run(const dd_stream *stream)
{
    const dd_op *op = stream->first;
    if (!op || !legacy_allows(stream, op)) return false;
    return op->kind != OP_WAIT || !op->event || dd_event_has_run(op->event, op->asked);
}

/* Runs the head of a stream, or one node of it if it is a graph. */
static void run_head(dd_stream *stream)
{
    dd_op *op = stream->first;
    if (op->kind == OP_GRAPH && dd_exec_step(op->exec)) return;
    if (op->kind == OP_WORK) dd_work_run(&op->work);
    if (op->kind == OP_RECORD && op->event) {
        op->event->done++;
        op->event->time = dd.tick;
    }
    stream->first = op->next;
    if (!stream->first) stream->last = NULL;
    drop_op(op);
}

/* One of those that may run, by chance; `age`: calls that it must have waited. */
static bool step(int64_t age)
{
    int n = 0;
    dd_stream *chosen = NULL;
    for (dd_stream *s = streams; s; s = s->next)
        if (may_run(s) && dd.tick - s->first->born >= age && dd_below((uint64_t)++n) == 0) chosen = s;
    if (!chosen) return false;
    run_head(chosen);
    return true;
}

bool dd_queue_step(void) { return step(0); }

void dd_queue_drift(void)
{
    if (waiting > 0 && dd_below(100) < (uint64_t)dd.config.progress) step(dd.config.latency);
}

int64_t dd_queue_waiting(void) { return waiting; }
bool dd_queue_idle(const dd_stream *stream) { return !stream->first; }

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

int dd_wait_stream(dd_stream *stream)
{
    dd_device *device = stream->device; /* a lost one runs nothing, but its queues empty all the same */
    while (stream->first && step(0)) continue;
    return device->lost;
}

int dd_wait_event(dd_event *event)
{
    int64_t asked = event->asked;
    while (!dd_event_has_run(event, asked) && step(0)) continue;
    return event->device->lost;
}

static bool is_idle(const dd_device *device)
{
    for (const dd_stream *s = streams; s; s = s->next)
        if (s->device == device && s->first) return false;
    return true;
}

int dd_wait_device(dd_device *device)
{
    while (!is_idle(device) && step(0)) continue;
    return device->lost;
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static int append(dd_stream *stream, const dd_op *op)
{
    dd_op *copy = malloc(sizeof *copy);
    if (!copy) return DD_OUT_OF_MEMORY;
    *copy = *op;
    copy->next = NULL;
    copy->number = ++numbers;
    copy->born = dd.tick;
    if (stream->last)
        stream->last->next = copy;
    else
        stream->first = copy;
    stream->last = copy;
    waiting++;
    /* What goes wrong in what runs now is told by a later call, as a driver does. */
    while (dd.config.eager && stream->first && step(0)) continue;
    while (waiting > LONG && step(0)) continue;
    return DD_OK;
}

/* Of this device, a blocking stream that is captured: the legacy stream would wait for it. */
static dd_stream *captured_beside(const dd_stream *stream)
{
    dd_stream *s = stream->legacy ? streams : NULL;
    while (s && (!s->capture || !s->blocking || s->device != stream->device)) s = s->next;
    return s;
}

static int check_capture(const dd_stream *stream)
{
    dd_stream *s = captured_beside(stream);
    if (!s) return DD_OK;
    s->capture->broken = true;
    return DD_CAPTURE_IMPLICIT;
}

int dd_capture_status(const dd_stream *stream, int *status, uint64_t *id)
{
    const dd_capture *c = stream->capture;
    if (captured_beside(stream)) return DD_CAPTURE_IMPLICIT; /* asking breaks nothing */
    *status = c ? 1 + c->broken : 0;
    if (c && !c->broken) *id = c->id;
    return DD_OK;
}

static int captured(dd_stream *stream, dd_work *work)
{
    dd_node *node;
    if (stream->capture->broken) {
        dd_work_drop(work);
        return DD_CAPTURE_INVALIDATED;
    }
    int result = dd_graph_add(stream->capture->graph, stream->tip.at, (size_t)stream->tip.n, work, &node);
    if (result) return result;
    stream->tip.n = 0;
    return dd_nodes_add(&stream->tip, node);
}

int dd_queue_work(dd_stream *stream, dd_work *work)
{
    if (stream->capture) return captured(stream, work);
    int result = check_capture(stream);
    if (!result) result = append(stream, &(dd_op){.kind = OP_WORK, .work = *work});
    if (result) dd_work_drop(work);
    return result;
}

int dd_queue_graph(dd_stream *stream, dd_exec *exec)
{
    dd_exec *copy;
    if (stream->capture) return DD_NOT_SUPPORTED;
    int result = check_capture(stream);
    if (!result) result = dd_exec_copy(exec, &copy);
    if (result) return result;
    return append(stream, &(dd_op){.kind = OP_GRAPH, .exec = copy});
}

bool dd_queue_runs(const dd_exec *exec)
{
    for (const dd_stream *s = streams; s; s = s->next)
        for (const dd_op *op = s->first; op; op = op->next)
            if (op->kind == OP_GRAPH && dd_exec_is_copy_of(op->exec, exec)) return true;
    return false;
}

int dd_queue_record(dd_stream *stream, dd_event *event)
{
    event->capture = stream->capture;
    event->tip.n = 0;
    if (stream->capture) return dd_nodes_join(&event->tip, &stream->tip);
    event->asked++;
    return append(stream, &(dd_op){.kind = OP_RECORD, .event = event, .asked = event->asked});
}

/* To wait for what is captured is to take part in the capture. */
int dd_queue_wait(dd_stream *stream, dd_event *event)
{
    if (event->capture) {
        if (!stream->capture) {
            if (stream->first || stream->legacy) return DD_CAPTURE_UNSUPPORTED;
            stream->capture = event->capture;
            stream->capture->joined++;
        }
        if (stream->capture != event->capture) return DD_CAPTURE_UNSUPPORTED;
        return dd_nodes_join(&stream->tip, &event->tip);
    }
    if (stream->capture) {
        stream->capture->broken = true; /* it would depend on what is no part of it */
        return DD_CAPTURE_ISOLATION;
    }
    return append(stream, &(dd_op){.kind = OP_WAIT, .event = event, .asked = event->asked});
}

/* ---- capture ----------------------------------------------------------------------------------------------------- */

_Thread_local int dd_capture_mode;

int dd_capture_forbids(void)
{
    if (dd_capture_mode == 2) return DD_OK; /* the thread knows */
    for (dd_stream *s = streams; s; s = s->next) {
        if (!s->capture || s->capture->mode == 2 /* relaxed */) continue;
        s->capture->broken = true;
        return DD_CAPTURE_UNSUPPORTED;
    }
    return DD_OK;
}

int dd_capture_begin(dd_stream *stream, int mode)
{
    if (stream->legacy) return DD_CAPTURE_UNSUPPORTED;
    if (stream->capture) return DD_ILLEGAL_STATE;
    dd_capture *c = calloc(1, sizeof *c);
    if (!c) return DD_OUT_OF_MEMORY;
    *c = (dd_capture){.origin = stream, .mode = mode, .id = ++captures};
    int result = dd_graph_make(&c->graph);
    if (result) {
        free(c);
        return result;
    }
    stream->capture = c;
    stream->tip.n = 0;
    return DD_OK;
}

/* Does the stream's last work come before all that others have added? Those that joined must have been waited for. */
static bool all_joined(const dd_stream *origin)
{
    for (const dd_stream *s = streams; s; s = s->next) {
        if (s == origin || s->capture != origin->capture) continue;
        for (int i = 0; i < s->tip.n; ++i) {
            bool found = false;
            for (int k = 0; k < origin->tip.n; ++k) found |= dd_node_comes_after(origin->tip.at[k], s->tip.at[i]);
            if (!found) return false;
        }
    }
    return true;
}

int dd_capture_depend(dd_stream *stream, dd_node *const *after, size_t nafter)
{
    if (!stream->capture) return DD_ILLEGAL_STATE;
    if (stream->capture->broken) return DD_CAPTURE_INVALIDATED;
    for (size_t i = 0; i < nafter; ++i)
        if (after[i]->graph != stream->capture->graph) return DD_INVALID_VALUE;
    stream->tip.n = 0;
    int result = DD_OK;
    for (size_t i = 0; i < nafter && !result; ++i) result = dd_nodes_add(&stream->tip, after[i]);
    return result;
}

int dd_capture_end(dd_stream *stream, dd_graph **out)
{
    *out = NULL;
    dd_capture *c = stream->capture;
    if (!c || c->origin != stream) return DD_ILLEGAL_STATE;
    int result = c->broken ? DD_CAPTURE_INVALIDATED : all_joined(stream) ? DD_OK : DD_CAPTURE_UNJOINED;
    for (dd_stream *s = streams; s; s = s->next)
        if (s->capture == c) s->capture = NULL, s->tip.n = 0;
    for (dd_event *e = events; e; e = e->next)
        if (e->capture == c) e->capture = NULL, e->tip.n = 0;
    if (result)
        dd_graph_end(c->graph);
    else
        *out = c->graph;
    free(c);
    return result;
}

void dd_queue_forget(void)
{
    for (dd_stream *s = streams; s; s = s->next)
        if (s->capture && s->capture->origin == s) {
            dd_graph *graph;
            if (dd_capture_end(s, &graph) == DD_OK) dd_graph_end(graph);
        }
    while (events) {
        dd_event *e = events;
        events = e->next;
        dd_nodes_clear(&e->tip);
        free(e);
    }
    while (streams) {
        dd_stream *s = streams;
        streams = s->next;
        free_stream(s);
    }
    dd_exec_forget();
    dd_graph_forget();
    numbers = 0;
}
