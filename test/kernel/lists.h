/*
 * For tests of recordings: a device that can fail, some arrays, and kernels over them that are easy to follow. Run on
 * each device (stet_test_on_devices).
 */
#ifndef TEST_KERNEL_LISTS_H
#define TEST_KERNEL_LISTS_H

#include "kernel/faulty.h"

#include "kernel/record/record.h"
#include "kernel/user/user.h"

enum { N = 8, ARRAYS = 5 };

enum { KERNELS = 4 };

typedef struct bench {
    stet_device *device;
    stet_array *a[ARRAYS]; /* REAL [N] */
    stet_array *c[2];      /* INT [2], for conditions */
    stet_kernel *own[KERNELS];
    const sti_kernel *mix, *add, *count, *set;
} bench;

static const char *const list_kernels =
    "#include \"stet/lang.h\"\n"
    /* a block an element: b = a / 2 + h */
    "item_kernel void k_mix(const ureal *a, ureal *b, ureal h, int block)\n"
    "{ each (i, 1) b[block + i] = a[block + i] / 2 + h; }\n"
    "item_kernel void k_add(ureal *a, ureal h, int block) { each (i, 1) a[block + i] = a[block + i] + h; }\n"
    "item_kernel void k_count(int *c, int block)\n"
    "{\n"
    "    each (i, 1) {\n"
    "        c[i] = c[i] - 1;\n"
    "        c[i + 1] = c[i + 1] + 1;\n"
    "    }\n"
    "}\n"
    "item_kernel void k_set(int *c, int n, int block) { each (i, 1) c[i] = n; }\n";

/* Elements as they are on the device, whatever is listed. */
static inline float real_at(const stet_array *a, int k)
{
    float x;
    peek(&x, a->device, (const float *)a->data + k, sizeof x);
    return x;
}
static inline int int_at(const stet_array *a, int k)
{
    int32_t x;
    peek(&x, a->device, (const int32_t *)a->data + k, sizeof x);
    return x;
}
static inline void set_real(const stet_array *a, int k, float x)
{
    poke(a->device, (float *)a->data + k, &x, sizeof x);
}

static inline stet_array *new_reals(stet_device *device)
{
    stet_array *a;
    OK(STI_ARRAY(device, "a", STET_DTYPE_REAL, false, &a, N));
    return a;
}

static inline const sti_kernel *list_kernel(bench *b, int k, const char *name)
{
    stet_kernel_def def = stet_default_kernel_def();
    def.source = list_kernels;
    def.name = name;
    def.cache_folder = double_cache_folder();
    def.team = 2;
    OK(stet_kernel_create(b->device, &def, &b->own[k]));
    return sti_user_kernel(b->own[k]);
}

static inline void open_bench(bench *b)
{
    b->device = open_faulty();
    for (int i = 0; i < ARRAYS; ++i) b->a[i] = new_reals(b->device);
    for (int i = 0; i < 2; ++i) OK(STI_ARRAY(b->device, "c", STET_DTYPE_INT, false, &b->c[i], 2));
    b->mix = list_kernel(b, 0, "k_mix");
    b->add = list_kernel(b, 1, "k_add");
    b->count = list_kernel(b, 2, "k_count");
    b->set = list_kernel(b, 3, "k_set");
}

static inline void close_bench(bench *b)
{
    for (int i = 0; i < ARRAYS; ++i) stet_array_destroy(b->a[i]);
    for (int i = 0; i < 2; ++i) stet_array_destroy(b->c[i]);
    if (b->device->recorder) assert_int_equal(b->device->recorder->nrecording, 0); /* all of them held some array */
    assert_int_equal(counters_of(b->device).mechanism[STET_MECHANISM_GRAPH_REPLAY].held_bytes, 0);
    assert_int_equal(counters_of(b->device).mechanism[STET_MECHANISM_ARGS].held_bytes, 0);
    for (int k = 0; k < KERNELS; ++k) stet_kernel_destroy(b->own[k]);
    stet_device_destroy(b->device);
}

static inline stet_result mix(bench *b, stet_array *from, stet_array *to, double h)
{
    return STI_LAUNCH(*b->mix, b->device, N, sti_arg_array(from), sti_arg_array(to), sti_arg_real(h));
}

static inline stet_result add(bench *b, stet_array *a, double h)
{
    return STI_LAUNCH(*b->add, b->device, N, sti_arg_array(a), sti_arg_real(h));
}

static inline stet_result count(bench *b, stet_array *c)
{
    return STI_LAUNCH(*b->count, b->device, 1, sti_arg_array(c));
}

static inline stet_result set(bench *b, stet_array *c, int n)
{
    return STI_LAUNCH(*b->set, b->device, 1, sti_arg_array(c), sti_arg_int(n));
}

/* Replays are graphs of the device's; loops that end on the device are a part of them. */
static inline bool graphs(const bench *b) { return b->device->ops->graph_make != NULL; }
static inline bool device_loops(const bench *b) { return b->device->type == STET_DEVICE_CUDA; }

/* Launches one by one, and replays of lists of so many each. */
static inline void expect_issued(const bench *b, int launches, int replays, int each)
{
    assert_int_equal(faulty.launches, launches + (graphs(b) ? 0 : replays * each));
    assert_int_equal(faulty.graphs, graphs(b) ? replays : 0);
}

#define ROW(b) (counters_of((b)->device).mechanism[STET_MECHANISM_GRAPH_REPLAY])
#define ARGS(b) (counters_of((b)->device).mechanism[STET_MECHANISM_ARGS])
#define REASON(b, name) (counters_of((b)->device).reason[STET_REASON_GRAPH_REPLAY_##name])

/* a[0] += h, a[1] = a[0] / 2 + h: two launches, five slots. */
static inline stet_result add_and_mix(bench *b, double h)
{
    STI_TRY(sti_record_begin(b->device, "add and mix"));
    stet_result result = add(b, b->a[0], h);
    if (result == STET_OK) result = mix(b, b->a[0], b->a[1], h);
    return sti_record_end(b->device, result);
}

#endif
