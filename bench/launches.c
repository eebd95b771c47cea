/*
 * The cost of checks around launches: stamps, blocks of arguments, recordings, and kernels of the disk cache.
 */
#include "bench/bench.h"

#include "base/error.h"
#include "kernel/record/launch.h"
#include "kernel/record/record.h"
#include "stet/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const sti_kernel sti_k_grow;

/* 16 arguments are 256 bytes. */
enum { WORLDS = 64, INPUTS = 64, SLOTS = 16, FEW = 2, MANY = 20, ITEMS = 4 };

/* ---- stamps ------------------------------------------------------------------------------------------------------ */

typedef struct stamping {
    sti_version version[INPUTS], *input[INPUTS];
    sti_stamp kept, now;
    int64_t equal;
} stamping;

static stet_result ask_stamp(void *context)
{
    stamping *s = context;
    sti_stamp_begin(&s->now);
    uint64_t *word = sti_stamp_extend(&s->now, 2 * INPUTS);
    if (!word) return sti_error(STET_ERROR_OUT_OF_MEMORY, "bench mechanisms: no memory for a stamp");
    for (int i = 0; i < INPUTS; ++i) {
        *word++ = s->input[i]->id;
        *word++ = s->input[i]->generation;
    }
    s->equal += sti_stamp_equal(&s->kept, &s->now);
    return STET_OK;
}

static stet_result measure_stamp(bench *b)
{
    stamping s = {.equal = 0};
    double seconds[1][BENCH_SAMPLES];
    bench_row *row;
    for (int i = 0; i < INPUTS; ++i) s.version[i] = sti_version_new();
    for (int i = 0; i < INPUTS; ++i) s.input[i] = &s.version[i * 37 % INPUTS]; /* in no order that memory has */
    stet_result result = ask_stamp(&s);
    sti_stamp_keep(&s.kept, &s.now);
    if (result == STET_OK)
        result = bench_in_turns(&(bench_work){.run = ask_stamp, .context = &s}, 1, bench_least(b, 0.01), seconds);
    if (result == STET_OK && s.equal == 0)
        result = sti_error(STET_ERROR_STATE, "bench mechanisms: a stamp does not equal itself");
    if (result == STET_OK) result = bench_add_ns(b, seconds[0], 1, &row, "stamp/64_inputs_ns");
    if (result == STET_OK) {
        bench_goal(row, 100);
        bench_note(row, "64 versions listed, and compared with those kept");
    }
    sti_stamp_free(&s.kept);
    sti_stamp_free(&s.now);
    return result;
}

/* ---- blocks of arguments and recordings -------------------------------------------------------------------------- */

typedef struct launching {
    stet_device *device;
    stet_array *from, *to;
    sti_args site;
    sti_slot slots[SLOTS];
    int n; /* launches of a list */
} launching;

static stet_result ask_args(void *context)
{
    launching *l = context;
    sti_op op = {.kind = STI_OP_LAUNCH, .kernel = &sti_k_grow, .nslot = SLOTS};
    const sti_list list = {.op = &op, .slot = l->slots, .nop = 1, .nslot = SLOTS, .nsite = 1};
    return sti_args_upload(l->device, &l->site, &list);
}

static stet_result launch_singly(void *context)
{
    launching *l = context;
    for (int i = 0; i < l->n; ++i)
        STI_TRY(STI_LAUNCH(sti_k_grow, l->device, WORLDS, sti_arg_array(l->from), sti_arg_array(l->to),
                           sti_arg_int(ITEMS)));
    return STET_OK;
}

static stet_result launch_listed(void *context)
{
    launching *l = context;
    STI_TRY(sti_record_begin(l->device, "tiny launches"));
    return sti_record_end(l->device, launch_singly(l));
}

/* One thread, so that only the host's cost of a launch is measured. */
static stet_result open_launching(launching *l)
{
    stet_device_def def = bench_cpu_def();
    def.threads = 1;
    STI_TRY(stet_device_create(&def, &l->device));
    STI_TRY(STI_ARRAY(l->device, "from", STET_DTYPE_REAL, true, &l->from, WORLDS, ITEMS));
    STI_TRY(STI_ARRAY(l->device, "to", STET_DTYPE_REAL, true, &l->to, WORLDS, ITEMS));
    for (int i = 0; i < SLOTS; ++i) l->slots[i].i = i;
    return ask_args(l);
}

static void close_launching(launching *l)
{
    if (l->device) sti_args_free(l->device, &l->site);
    stet_array_destroy(l->from);
    stet_array_destroy(l->to);
    stet_device_destroy(l->device);
}

static stet_result measure_args(bench *b, launching *l)
{
    double seconds[1][BENCH_SAMPLES];
    bench_row *row;
    STI_TRY(bench_in_turns(&(bench_work){.run = ask_args, .context = l}, 1, bench_least(b, 0.01), seconds));
    STI_TRY(bench_add_ns(b, seconds[0], 1, &row, "args/hit_ns"));
    bench_goal(row, 50);
    bench_note(row, "256 bytes of arguments of a recording, as a replay without a graph of the driver asks for them");
    return STET_OK;
}

/* Rows per launch; `name` is also the row of the mechanism as a whole. */
static stet_result measure_list(bench *b, launching *l, int n, bool whole)
{
    double seconds[2][BENCH_SAMPLES];
    char name[BENCH_NAME];
    bench_row *row;
    l->n = n;
    const bench_work work[] = {{.run = launch_listed, .context = l}, {.run = launch_singly, .context = l}};
    for (int i = 0; i < 3; ++i) STI_TRY(launch_listed(l)); /* recorded, compared, trusted */
    STI_TRY(bench_in_turns(work, 2, bench_least(b, 0.01), seconds));
    (void)snprintf(name, sizeof name, "graph_replay/%d_launches/replayed_ns", n);
    STI_TRY(bench_add_ns(b, seconds[0], n, &row, whole ? "graph_replay/hit_ns" : name));
    bench_note(row, "a launch of %d worlds, in a list of %d that is replayed", WORLDS, n);
    (void)snprintf(name, sizeof name, "graph_replay/%d_launches/singly_ns", n);
    STI_TRY(bench_add_ns(b, seconds[1], n, &row, name));
    bench_note(row, "the same, launched one by one");
    return STET_OK;
}

static stet_result measure_launching(bench *b)
{
    launching l = {0};
    stet_result result = open_launching(&l);
    if (result == STET_OK) result = measure_args(b, &l);
    if (result == STET_OK) result = measure_list(b, &l, FEW, false);
    if (result == STET_OK) result = measure_list(b, &l, MANY, true);
    close_launching(&l);
    return result;
}

/* ---- the disk cache ---------------------------------------------------------------------------------------------- */

typedef struct caching {
    stet_device *device;
    stet_kernel_def def;
} caching;

static stet_result ask_kernel(void *context)
{
    caching *c = context;
    stet_kernel *kernel;
    STI_TRY(stet_kernel_create(c->device, &c->def, &kernel));
    stet_kernel_destroy(kernel);
    return STET_OK;
}

static stet_result measure_warm(bench *b, caching *c)
{
    double seconds[1][BENCH_SAMPLES];
    bench_row *row;
    stet_counters counters;
    stet_device_clear_counters(c->device);
    STI_TRY(bench_in_turns(&(bench_work){.run = ask_kernel, .context = c}, 1, bench_least(b, 0.01), seconds));
    counters = stet_device_get_counters(c->device);
    if (counters.mechanism[STET_MECHANISM_KERNEL_CACHE].misses)
        return sti_error(STET_ERROR_STATE, "bench mechanisms: a kernel was compiled though it was in the cache");
    STI_TRY(bench_add_ns(b, seconds[0], 1, &row, "kernel_cache/hit_ns"));
    bench_note(row, "a kernel of one line made and destroyed: read, checked, found, loaded");
    return STET_OK;
}

/* Uses a folder of its own, which is removed with its content. */
static stet_result measure_cache(bench *b)
{
    caching c = {.def = stet_default_kernel_def()};
    char folder[BENCH_FOLDER];
    stet_device_def def = bench_cpu_def();
    STI_TRY(bench_make_folder(folder));
    c.def.source =
        "#include <stet/lang.h>\nworld_kernel void k_twice(real *x, int n) { each (i, n) put(x, i, x[i] + x[i]); }\n";
    c.def.cache_folder = folder;
    stet_result result = stet_device_create(&def, &c.device);
    if (result == STET_OK) result = ask_kernel(&c);
    if (result == STET_OK) result = measure_warm(b, &c);
    stet_device_destroy(c.device);
    bench_remove_folder(folder);
    return result;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

stet_result bench_launches(bench *b)
{
    STI_TRY(measure_stamp(b));
    STI_TRY(measure_launching(b));
    return measure_cache(b);
}
