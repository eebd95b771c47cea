/*
 * For tests of stet beside another library that uses the same device through the driver: streams of its own, this
 * thread's calls, and graphs that it captures.
 */
#ifndef TEST_DEVICE_GPU_BESIDE_H
#define TEST_DEVICE_GPU_BESIDE_H

#include "device/gpu/gpu_graph.h"

static inline void *new_stream(unsigned flags)
{
    void *stream;
    assert_int_equal(o.api.stream_create(&stream, flags), 0);
    return stream;
}

static inline void drop_stream(void *stream) { assert_int_equal(o.api.stream_destroy(stream), 0); }

/* This thread's calls of the driver go to the device too, as those of a library that lives beside stet. */
static inline void begin_beside(uint64_t seed)
{
    printf("seed %llu\n", (unsigned long long)seed);
    entries_start_seed(&o, seed);
}

static inline void end_beside(rig *r)
{
    rig_let_go(r);
    stet_device_destroy(r->device);
    if (!o.hip) {
        assert_int_equal(o.api.context_set(NULL), 0);
        assert_int_equal(o.api.context_release(0), 0);
    }
    nothing_is_left();
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

/* The caller's graph, of what was captured. */
typedef struct caller {
    void *stream, *graph, *executable;
} caller;

static inline void begin_capture(caller *c, int mode)
{
    *c = (caller){.stream = c->stream ? c->stream : new_stream(1)};
    assert_int_equal(o.api.capture_begin(c->stream, mode), 0);
}

static inline void end_capture(caller *c)
{
    assert_int_equal(o.api.capture_end(c->stream, &c->graph), 0);
    assert_int_equal(o.api.graph_instantiate(&c->executable, c->graph, 0), 0);
}

static inline void drop_caller(caller *c)
{
    if (c->executable) assert_int_equal(o.api.graph_exec_destroy(c->executable), 0);
    if (c->graph) assert_int_equal(o.api.graph_destroy(c->graph), 0);
    drop_stream(c->stream);
}

static inline uint64_t capture_of(const rig *r)
{
    uint64_t id;
    OK(r->device->ops->capturing(r->device, &id));
    return id;
}

/* A few launches and copies, which are issued; what they do is done later, on the host by `list_run`. */
static inline void issue_some(rig *r, list *l, int n)
{
    for (int i = 0; i < n; ++i) {
        int to = (int)list_below(l, ARRAYS), from = (to + 1 + (int)list_below(l, ARRAYS - 1)) % ARRAYS;
        int at = list_below(l, 4)
                     ? list_mix(l, -1, to, from, (int)list_below(l, 100), (int64_t)list_below(l, ITEMS + 1))
                     : list_copy(l, -1, to, from);
        list_issue(r, l, at);
    }
}

/* The caller runs his graph; stet's work is before and behind it. */
static inline void replay(rig *r, list *l, const caller *c)
{
    OK(stet_device_signal_stream(r->device, c->stream));
    assert_int_equal(o.api.graph_launch(c->executable, c->stream), 0);
    list_run(r, l);
    OK(stet_device_wait_stream(r->device, c->stream));
}

#endif
