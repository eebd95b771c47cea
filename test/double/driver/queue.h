/*
 * Streams and events.
 *
 * Invariants:
 *   QUEUE-1  work of one stream runs in the order in which it was asked for
 *   QUEUE-2  work of two streams runs in any order (the seed says which), unless an event or the legacy stream orders
 *       it
 *   QUEUE-3  work runs when it is waited for, or by itself once it is `latency` calls old
 *   QUEUE-4  the legacy stream waits for all work that blocking streams were given before, and they wait for it;
 *       non-blocking ones don't
 *   QUEUE-5  a stream that is captured runs nothing: its work becomes nodes of a graph; what would wait for it is
 *       refused and breaks the capture
 */
#ifndef TEST_DOUBLE_QUEUE_H
#define TEST_DOUBLE_QUEUE_H

#include "graph.h"
#include "double/exec/work.h"

typedef struct dd_op dd_op;

typedef struct dd_capture {
    dd_graph *graph; /* NULL: nothing is captured */
    struct dd_stream *origin;
    uint64_t id; /* no two are alike */
    bool broken;
    int mode;
    int joined; /* streams beside the origin that have come in */
} dd_capture;

typedef struct dd_stream {
    struct dd_stream *next;
    dd_device *device;
    bool blocking, legacy;
    dd_op *first, *last;
    dd_capture *capture; /* that it takes part in */
    dd_nodes tip;        /* of the graph: what its next node comes after */
} dd_stream;

typedef struct dd_event {
    struct dd_event *next;
    dd_device *device;
    int64_t asked, done; /* recordings, and those that ran: of two streams in any order */
    int64_t time;        /* call at which the last one ran */
    bool timed;
    dd_capture *capture; /* recorded in a captured stream */
    dd_nodes tip;
} dd_event;

int dd_stream_make(dd_device *device, bool blocking, dd_stream **out);
int dd_stream_end(dd_stream *stream);
/* The stream of a handle; NULL or 1 is the legacy stream of the current device. NULL: no such stream. */
dd_stream *dd_stream_of(void *handle);

int dd_event_make(dd_device *device, bool timed, dd_event **out);
int dd_event_end(dd_event *event);
bool dd_event_is_alive(const dd_event *event);
/* Has this recording of it run? event->asked: the last one. */
bool dd_event_has_run(const dd_event *event, int64_t recording);

/* Takes over what the work owns, whatever the result. */
int dd_queue_work(dd_stream *stream, dd_work *work);
int dd_queue_graph(dd_stream *stream, dd_exec *exec);
bool dd_queue_runs(const dd_exec *exec); /* a launch of it has not ended */
int dd_queue_record(dd_stream *stream, dd_event *event);
int dd_queue_wait(dd_stream *stream, dd_event *event);

/* Run things until this is done; the device's error, if it was lost (STATE-3). */
int dd_wait_stream(dd_stream *stream);
int dd_wait_event(dd_event *event);
int dd_wait_device(dd_device *device);
bool dd_queue_idle(const dd_stream *stream);

/* An entry point that must not be called while something is captured; the error, which also breaks the capture. */
int dd_capture_forbids(void);
extern _Thread_local int dd_capture_mode; /* of this thread: 2, relaxed, has nothing forbidden */
int dd_capture_begin(dd_stream *stream, int mode);
int dd_capture_end(dd_stream *stream, dd_graph **out);
/* These nodes of its graph are what its next node comes after. */
int dd_capture_depend(dd_stream *stream, dd_node *const *after, size_t nafter);
/* *status: 0: it is not captured, 1: it is, 2: and the capture is broken. *id: of one that is not. */
int dd_capture_status(const dd_stream *stream, int *status, uint64_t *id);

bool dd_queue_step(void);  /* runs one thing that may run, if there is one */
void dd_queue_drift(void); /* at each call: maybe something runs by itself */
int64_t dd_queue_waiting(void);
void dd_queue_forget(void);

#endif
