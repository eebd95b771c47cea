/*
 * Gradients: 100 steps of masses on springs and one backward pass (net.h), the share of finding stack sizes, and the
 * cost of each kernel's adjoint beside the kernel.
 */
#include "bench/net.h"

#include "bench/bench.h"

#include "adjoint/launch/handle.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WORLDS = 1024, STEPS = 100, FEW_STEPS = 10, TIMES = 20 };

/* ---- stacks: what is held, and what exact depths need ------------------------------------------------------------ */

static stet_result sizes_of(const bench_net_kernel *k, int64_t count, int64_t size[STI_SIZES])
{
    return sti_sizing_find(&k->adjoint->sizing, k->kernel, &k->adjoint->stacks->known, count, k->arg, size);
}

/* Bytes of the stacks of one launch, by kind. */
static stet_result add_exact(const bench_net *net, const bench_net_kernel *k, int64_t exact[STI_STACK_COUNT])
{
    const stet_device *device = net->springs.device;
    const int64_t item[STI_STACK_COUNT] = {[STI_STACK_REAL] = (int64_t)device->real_size,
                                           [STI_STACK_LINT] = 4,
                                           [STI_STACK_UREAL] = (int64_t)device->real_size,
                                           [STI_STACK_INT] = 8};
    const int64_t lanes = device->lanes, count = (net->springs.nworld + lanes - 1) / lanes * lanes;
    int64_t size[STI_SIZES];
    STI_TRY(sizes_of(k, net->springs.nworld, size));
    for (int i = 0; i < k->adjoint->npassing; ++i) {
        const sti_passing *p = &k->adjoint->passing[i];
        if (p->what != STI_PASSED_STACK) continue;
        bool padded = p->number == STI_STACK_REAL || p->number == STI_STACK_LINT;
        int64_t bytes = size[STI_WIDTH] * size[STI_DEPTH] * item[p->number] * (padded ? count : net->springs.nworld);
        if (bytes > exact[p->number]) exact[p->number] = bytes;
    }
    return STET_OK;
}

static stet_result add_memory(bench *b, const bench_net *net)
{
    int64_t exact[STI_STACK_COUNT] = {0}, all = 0;
    stet_tape_info info = stet_tape_get_info(net->tape);
    bench_row *row;
    for (int i = 0; i < BENCH_NET_KERNELS; ++i) STI_TRY(add_exact(net, &net->kernel[i], exact));
    for (int k = 0; k < STI_STACK_COUNT; ++k) all += exact[k];
    double ratio = all > 0 ? (double)info.stack_bytes / (double)all : 1;
    STI_TRY(bench_add(b, &row, &ratio, 1, "times", false, "adjoint/stack_bytes_over_exact"));
    bench_goal(row, 1.05);
    bench_note(row, "%.1f MiB of stacks; of each kind the most that a kernel's exact depth needs: %.1f MiB",
               (double)info.stack_bytes / 1048576, (double)all / 1048576);
    double mib = (double)(info.checkpoint_bytes + info.undo_bytes + info.gradient_bytes) / 1048576;
    STI_TRY(bench_add(b, &row, &mib, 1, "MiB", false, "adjoint/tape_mib"));
    bench_note(row, "%lld checkpoints %.1f, what a segment overwrites %.1f, gradients %.1f; %lld launches",
               (long long)info.checkpoints, (double)info.checkpoint_bytes / 1048576, (double)info.undo_bytes / 1048576,
               (double)info.gradient_bytes / 1048576, (long long)info.launches);
    return STET_OK;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static stet_result forward(void *context) { return bench_net_forward(context); }
static stet_result forward_singly(void *context) { return bench_net_forward_singly(context); }
static stet_result taped(void *context) { return bench_net_taped(context); }
static stet_result backward(void *context) { return bench_net_backward(context); }
static stet_result wait_idle(void *context) { return stet_device_synchronize(((bench_net *)context)->springs.device); }

static stet_result add_ms(bench *b, const double *seconds, const char *name, const char *note)
{
    double ms[BENCH_SAMPLES];
    bench_row *row;
    for (int s = 0; s < BENCH_SAMPLES; ++s) ms[s] = 1e3 * seconds[s];
    STI_TRY(bench_add(b, &row, ms, BENCH_SAMPLES, "ms", false, "adjoint/%s", name));
    bench_note(row, "%s", note);
    return STET_OK;
}

static stet_result add_ratio(bench *b, const double *above, const double *below, double goal, const char *name,
                             const char *note)
{
    double ratio[BENCH_SAMPLES];
    bench_row *row;
    for (int s = 0; s < BENCH_SAMPLES; ++s) ratio[s] = above[s] / below[s];
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times", false, "adjoint/%s", name));
    bench_goal(row, goal);
    bench_note(row, "%s", note);
    return STET_OK;
}

static stet_result measure_whole(bench *b, bench_net *net)
{
    enum { FORWARD, SINGLY, TAPED, BACKWARD, WAYS };
    double seconds[WAYS][BENCH_SAMPLES];
    char note[160];
    const bench_work work[WAYS] = {{forward, net, wait_idle},
                                   {forward_singly, net, wait_idle},
                                   {taped, net, wait_idle},
                                   {backward, net, wait_idle}};
    STI_TRY(taped(net));
    STI_TRY(bench_in_turns(work, WAYS, 0, seconds));
    (void)snprintf(note, sizeof note, "%d steps of %d launches, each recorded, %lld worlds, %s", net->steps,
                   STI_SPRING_LAUNCHES, (long long)net->springs.nworld, stet_device_get_name(net->springs.device));
    STI_TRY(add_ms(b, seconds[FORWARD], "forward_ms", note));
    STI_TRY(add_ms(b, seconds[SINGLY], "forward_singly_ms", "the same, launched one by one"));
    STI_TRY(add_ms(b, seconds[BACKWARD], "backward_ms", "one pass back, steps run again from checkpoints included"));
    STI_TRY(add_ratio(b, seconds[TAPED], seconds[FORWARD], 1.1, "taped_over_forward", "the same steps on a tape"));
    STI_TRY(
        add_ratio(b, seconds[BACKWARD], seconds[FORWARD], 5, "backward_over_forward", "three kernels in ten gather"));
    return add_memory(b, net);
}

/* ---- what finding the sizes costs -------------------------------------------------------------------------------- */

static const struct caches {
    const char *name, *note;
    uint32_t disabled;
} caches[] = {{"neither", "no size is kept", 1u << STET_MECHANISM_ADSTACK | 1u << STET_MECHANISM_ADSTACK_HANDLE},
              {"per_reduction", "maxima over data are kept", 1u << STET_MECHANISM_ADSTACK_HANDLE},
              {"both", "maxima are kept, and the sizes of each kernel's launches", 0}};
enum { CACHES = sizeof caches / sizeof *caches };

/* Sizes of all launches of `times` steps; seconds of one. */
static stet_result time_sizes(const bench_net *net, int times, double *seconds)
{
    int64_t size[STI_SIZES];
    double start = bench_now();
    for (int t = 0; t < times; ++t)
        for (int i = 0; i < 2 * BENCH_NET_KERNELS; ++i)
            STI_TRY(sizes_of(&net->kernel[i % BENCH_NET_KERNELS], net->springs.nworld, size));
    *seconds = (bench_now() - start) / (2.0 * BENCH_NET_KERNELS * times);
    return STET_OK;
}

static stet_result sample_caches(bench *b, bench_net *net, const struct caches *c, double *sizes, double *whole)
{
    stet_device *device = net->springs.device;
    stet_mechanism_options options = stet_device_get_mechanisms(device);
    double start;
    options.disabled = c->disabled;
    STI_TRY(stet_device_set_mechanisms(device, &options));
    STI_TRY(wait_idle(net));
    start = bench_now();
    STI_TRY(backward(net));
    STI_TRY(wait_idle(net));
    *whole = bench_now() - start;
    STI_TRY(time_sizes(net, b->quick ? 1 : c->disabled ? TIMES : 50 * TIMES, sizes));
    return wait_idle(net);
}

static stet_result add_caches(bench *b, const bench_net *net, const struct caches *c, const double *sizes,
                              const double *whole)
{
    char name[BENCH_NAME];
    double fraction[BENCH_SAMPLES];
    const double launches = (double)net->steps * STI_SPRING_LAUNCHES;
    bench_row *row;
    (void)snprintf(name, sizeof name, "adjoint/%s/bookkeeping_ns_per_launch", c->name);
    STI_TRY(bench_add_ns(b, sizes, 1, &row, name));
    if (!c->disabled) bench_goal(row, 500);
    bench_note(row, "%s; nothing moves", c->note);
    for (int s = 0; s < BENCH_SAMPLES; ++s) fraction[s] = sizes[s] * launches / whole[s];
    STI_TRY(bench_add(b, &row, fraction, BENCH_SAMPLES, "of 1", false, "adjoint/%s/bookkeeping_fraction", c->name));
    if (!c->disabled) bench_goal(row, 0.01);
    bench_note(row, "of a pass back through %d steps of %.1f ms", net->steps, 1e3 * bench_median(whole, BENCH_SAMPLES));
    return STET_OK;
}

static stet_result measure_caches(bench *b, bench_net *net)
{
    double sizes[CACHES][BENCH_SAMPLES], whole[CACHES][BENCH_SAMPLES];
    net->steps = b->quick ? net->steps : FEW_STEPS; /* a share is the same in few as in many */
    STI_TRY(taped(net));
    for (int s = -1; s < BENCH_SAMPLES; ++s) /* the first round is not kept */
        for (int c = 0; c < CACHES; ++c) {
            int at = s < 0 ? 0 : s;
            STI_TRY(sample_caches(b, net, &caches[c], &sizes[c][at], &whole[c][at]));
        }
    for (int c = 0; c < CACHES; ++c) STI_TRY(add_caches(b, net, &caches[c], sizes[c], whole[c]));
    return STET_OK;
}

/* ---- each kernel ------------------------------------------------------------------------------------------------- */

typedef struct launching {
    const bench_net *net;
    const bench_net_kernel *k;
} launching;

static stet_result launch(void *context)
{
    const launching *l = context;
    return stet_kernel_launch(l->k->kernel, l->net->springs.nworld, l->k->arg, l->k->narg);
}

static stet_result launch_adjoint(void *context)
{
    const launching *l = context;
    return stet_adjoint_launch(l->k->adjoint, l->net->springs.nworld, l->k->arg, l->k->gradient, l->k->narg);
}

/* The same launch that many times in one list, which is recorded. */
static stet_result list_of(const launching *l, stet_result (*one)(void *context))
{
    stet_device *device = l->net->springs.device;
    stet_result result = STET_OK;
    STI_TRY(stet_record_begin(device, l->k->name));
    for (int i = 0; i < TIMES && result == STET_OK; ++i) result = one((void *)(uintptr_t)l);
    return stet_record_end(device, result);
}

static stet_result launch_list(void *context) { return list_of(context, launch); }
static stet_result launch_adjoint_list(void *context) { return list_of(context, launch_adjoint); }

static stet_result wait_after_launch(void *context)
{
    return stet_device_synchronize(((const launching *)context)->net->springs.device);
}

/* Restarts from the initial state each time, because repeated kernels would make the values diverge. */
static stet_result measure_kernel(bench *b, bench_net *net, const bench_net_kernel *k)
{
    launching l = {net, k};
    enum { FORWARD, BACKWARD, FORWARDS, BACKWARDS, WAYS };
    double seconds[WAYS][BENCH_SAMPLES];
    char name[BENCH_NAME], note[240];
    const bench_work work[WAYS] = {{launch, &l, wait_after_launch},
                                   {launch_adjoint, &l, wait_after_launch},
                                   {launch_list, &l, wait_after_launch},
                                   {launch_adjoint_list, &l, wait_after_launch}};
    STI_TRY(bench_net_forward(net));
    for (int w = FORWARDS; w < WAYS; ++w) STI_TRY(work[w].run(&l)); /* listed; compared by the calibration */
    STI_TRY(bench_in_turns(work, WAYS, bench_least(b, 0.005), seconds));
    (void)snprintf(name, sizeof name, "%s/backward_over_forward", k->name);
    (void)snprintf(note, sizeof note, "%s; the kernel takes %.1f us; of a recording of %d of one: %.2f and %.2f us",
                   k->gathers ? "reads at places that it looks up" : "no such reads",
                   1e6 * bench_median(seconds[FORWARD], BENCH_SAMPLES), TIMES,
                   1e6 / TIMES * bench_median(seconds[FORWARDS], BENCH_SAMPLES),
                   1e6 / TIMES * bench_median(seconds[BACKWARDS], BENCH_SAMPLES));
    return add_ratio(b, seconds[1], seconds[0], k->gathers ? 5 : 3, name, note);
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* A gradient that is NaN would make all figures meaningless. */
static stet_result check_gradient(bench_net *net)
{
    stet_array *gradient;
    const void *values;
    STI_TRY(bench_net_taped(net));
    STI_TRY(bench_net_backward(net));
    STI_TRY(stet_tape_get_gradient(net->tape, net->springs.stiffness, &gradient));
    STI_TRY(stet_array_get_host(gradient, &values));
    for (int64_t w = 0; w < net->springs.nworld; ++w) {
        double g = net->springs.device->real_size == 8 ? ((const double *)values)[w] : ((const float *)values)[w];
        if (!isfinite(g) || g == 0)
            return sti_error(STET_ERROR_STATE, "bench adjoint: the gradient of world %lld is %g", (long long)w, g);
    }
    return STET_OK;
}

static stet_result measure_bench_adjoint(bench *b, bench_net *net)
{
    STI_TRY(check_gradient(net));
    STI_TRY(measure_whole(b, net));
    STI_TRY(measure_caches(b, net));
    for (int i = 0; i < BENCH_NET_KERNELS; ++i) STI_TRY(measure_kernel(b, net, &net->kernel[i]));
    return STET_OK;
}

stet_result bench_adjoint(bench *b)
{
    stet_device_def def = b->device;
    stet_device *device;
    bench_net net;
    if (def.type == STET_DEVICE_AUTO) def.type = STET_DEVICE_CPU;
    def.threads = b->threads;
    STI_TRY(stet_device_create(&def, &device));
    bench_name_gpu(b, device);
    stet_result result = bench_net_open(device, b->quick ? 8 : WORLDS, b->quick ? 4 : STEPS, &net);
    if (result == STET_OK) result = measure_bench_adjoint(b, &net);
    bench_net_close(&net);
    stet_device_destroy(device);
    return result;
}
