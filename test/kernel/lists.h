/*
 * For tests of recordings: a device that can fail, some arrays, and kernels over them that are easy to follow.
 */
#ifndef TEST_KERNEL_LISTS_H
#define TEST_KERNEL_LISTS_H

#include "kernel/faulty.h"

#include "kernel/record.h"

enum { N = 8, ARRAYS = 5 };

typedef struct bench {
    stet_device *device;
    stet_array *a[ARRAYS]; /* REAL [N] */
    stet_array *c[2];      /* INT [2], for conditions */
    test_kernel mix, add, count, set;
} bench;

static inline float *reals(const stet_array *a) { return a->data; }

/* b[k] = a[k] / 2 + h */
static inline void run_mix(const sti_slot *s, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; ++k) ((float *)s[1].p)[k] = ((const float *)s[0].p)[k] / 2 + (float)s[2].f;
}

/* a[k] += h */
static inline void run_add(const sti_slot *s, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; ++k) ((float *)s[0].p)[k] += (float)s[1].f;
}

/* --c[0], ++c[1] */
static inline void run_count(const sti_slot *s, int64_t begin, int64_t end)
{
    int32_t *c = s[0].p;
    c[0] -= (int32_t)(end - begin);
    c[1] += (int32_t)(end - begin);
}

/* c[0] = n */
static inline void run_set(const sti_slot *s, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    ((int32_t *)s[0].p)[0] = (int32_t)s[1].i;
}

static inline stet_array *new_reals(stet_device *device)
{
    stet_array *a;
    OK(STI_ARRAY(device, "a", STET_REAL, false, &a, N));
    return a;
}

static inline void open_bench(bench *b)
{
    b->device = open_faulty();
    for (int i = 0; i < ARRAYS; ++i) b->a[i] = new_reals(b->device);
    for (int i = 0; i < 2; ++i) OK(STI_ARRAY(b->device, "c", STET_INT, false, &b->c[i], 2));
    make_kernel(&b->mix, "item_kernel void k_mix(const ureal *a, ureal *b, ureal h)", run_mix);
    make_kernel(&b->add, "item_kernel void k_add(ureal *a, ureal h)", run_add);
    make_kernel(&b->count, "item_kernel void k_count(int *c)", run_count);
    make_kernel(&b->set, "item_kernel void k_set(int *c, int n)", run_set);
}

static inline void close_bench(bench *b)
{
    for (int i = 0; i < ARRAYS; ++i) stet_array_destroy(b->a[i]);
    for (int i = 0; i < 2; ++i) stet_array_destroy(b->c[i]);
    if (b->device->recorder) assert_int_equal(b->device->recorder->nrecording, 0); /* all of them held some array */
    assert_int_equal(counters_of(b->device).mechanism[STET_MECH_graph_replay].held_bytes, 0);
    assert_int_equal(counters_of(b->device).mechanism[STET_MECH_args].held_bytes, 0);
    stet_device_destroy(b->device);
}

static inline stet_result mix(bench *b, stet_array *from, stet_array *to, double h)
{
    return STI_LAUNCH(b->mix.kernel, b->device, N, sti_arg_array(from), sti_arg_array(to), sti_arg_real(h));
}

static inline stet_result add(bench *b, stet_array *a, double h)
{
    return STI_LAUNCH(b->add.kernel, b->device, N, sti_arg_array(a), sti_arg_real(h));
}

static inline stet_result count(bench *b, stet_array *c)
{
    return STI_LAUNCH(b->count.kernel, b->device, 1, sti_arg_array(c));
}

static inline stet_result set(bench *b, stet_array *c, int n)
{
    return STI_LAUNCH(b->set.kernel, b->device, 1, sti_arg_array(c), sti_arg_int(n));
}

#define ROW(b) (counters_of((b)->device).mechanism[STET_MECH_graph_replay])
#define ARGS(b) (counters_of((b)->device).mechanism[STET_MECH_args])
#define REASON(b, name) (counters_of((b)->device).reason[STET_REASON_graph_replay_##name])

/* a[0] += h, a[1] = a[0] / 2 + h: two launches, five slots. */
static inline stet_result add_and_mix(bench *b, double h)
{
    STI_TRY(sti_record_begin(b->device, "add and mix"));
    stet_result result = add(b, b->a[0], h);
    if (result == STET_OK) result = mix(b, b->a[0], b->a[1], h);
    return sti_record_end(b->device, result);
}

#endif
