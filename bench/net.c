/* Masses on springs as kernels of a caller; see net.h. */
#include "bench/net.h"

#include "base/error.h"
#include "kernel/gpu/source.h"

#include <stdio.h>
#include <string.h>

/* ---- kernels and their arguments --------------------------------------------------------------------------------- */

extern const sti_kernel sti_k_spring_way;

static const char *source(void) { return sti_gpu_unit(&sti_k_spring_way)->text; }

static const struct about {
    const char *name;
    bool gathers;
    const char *constant[5];
} abouts[BENCH_NET_KERNELS] = {
    {"spring_way", true, {NULL}},        {"spring_length", false, {NULL}},
    {"spring_direction", false, {NULL}}, {"spring_rate", true, {NULL}},
    {"spring_tension", false, {"rest"}}, {"mass_weight", false, {"weight"}},
    {"mass_pull", true, {NULL}},         {"mass_contact", false, {"radius", "stiffness", "damping", "slip"}},
    {"mass_velocity", false, {"scale"}}, {"mass_position", false, {"timestep"}}};

static stet_result make_kernel(bench_net *net, int which)
{
    char name[64];
    const struct about *about = &abouts[which];
    bench_net_kernel *k = &net->kernel[which];
    stet_kernel_def def = stet_default_kernel_def();
    (void)snprintf(name, sizeof name, "k_%s", about->name);
    def.source = source();
    def.name = name;
    def.constant = about->constant;
    while (about->constant[def.nconstant]) def.nconstant++;
    k->name = about->name;
    k->gathers = about->gathers;
    STI_TRY(stet_kernel_create(net->springs.device, &def, &k->kernel));
    return stet_kernel_get_adjoint(k->kernel, &k->adjoint);
}

#define A stet_arg_array
#define N stet_arg_int
#define R stet_arg_real
#define PASS(which, ...)                                                                                               \
    pass(&net->kernel[which], (const stet_arg[]){__VA_ARGS__},                                                         \
         (int)(sizeof((const stet_arg[]){__VA_ARGS__}) / sizeof(stet_arg)))

static void pass(bench_net_kernel *k, const stet_arg *args, int narg)
{
    memcpy(k->arg, args, (size_t)narg * sizeof *args);
    k->narg = narg;
}

static void pass_all(bench_net *net)
{
    const sti_springs *s = &net->springs;
    const int n = STI_SPRING_MASSES;
    PASS(0, A(s->pos), A(s->spring), A(s->way), N(s->nspring));
    PASS(1, A(s->way), A(s->length), N(s->nspring));
    PASS(2, A(s->length), A(s->way), N(s->nspring));
    PASS(3, A(s->vel), A(s->way), A(s->spring), A(s->rate), N(s->nspring));
    PASS(4, A(s->length), A(s->rate), A(s->rest), A(s->stiffness), A(s->damping), A(s->tension), N(s->nspring));
    PASS(5, A(s->force), R(STI_SPRING_MASS * STI_SPRING_GRAVITY), N(n));
    PASS(6, A(s->tension), A(s->way), A(s->first), A(s->end), A(s->force), N(n));
    PASS(7, A(s->pos), A(s->vel), A(s->force), R(STI_SPRING_RADIUS), R(STI_FLOOR_STIFFNESS), R(STI_FLOOR_DAMPING),
         R(STI_FLOOR_SLIP), N(n));
    PASS(8, A(s->force), A(s->vel), R(STI_SPRING_HALF / STI_SPRING_MASS), N(n));
    PASS(9, A(s->vel), A(s->pos), R(STI_SPRING_HALF), N(n));
}

/* Gradients of a kernel's own, for launches of its adjoint alone. */
static stet_result make_gradients(bench_net *net, bench_net_kernel *k)
{
    for (int i = 0; i < k->narg; ++i) {
        bool has;
        STI_TRY(stet_adjoint_has_gradient(k->adjoint, i, &has));
        if (!has) continue;
        STI_TRY(STI_ARRAY(net->springs.device, "gradient", STET_DTYPE_REAL, true, &k->gradient[i], net->springs.nworld,
                          k->arg[i].array->nitem));
    }
    return STET_OK;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static stet_result make_bench_net(stet_device *device, int64_t nworld, bench_net *net)
{
    const int64_t items = (int64_t)3 * STI_SPRING_MASSES;
    stet_tape_def def = stet_default_tape_def();
    STI_TRY(sti_springs_create(device, nworld, &net->springs));
    pass_all(net);
    for (int i = 0; i < BENCH_NET_KERNELS; ++i) {
        STI_TRY(make_kernel(net, i));
        STI_TRY(make_gradients(net, &net->kernel[i]));
    }
    STI_TRY(STI_ARRAY(device, "start of pos", STET_DTYPE_REAL, true, &net->start_pos, nworld, items));
    STI_TRY(STI_ARRAY(device, "start of vel", STET_DTYPE_REAL, true, &net->start_vel, nworld, items));
    STI_TRY(stet_array_copy(net->start_pos, net->springs.pos));
    return stet_tape_create(device, &def, &net->tape);
}

stet_result bench_net_open(stet_device *device, int64_t nworld, int steps, bench_net *out)
{
    *out = (bench_net){.steps = steps};
    return make_bench_net(device, nworld, out);
}

void bench_net_close(bench_net *net)
{
    stet_tape_destroy(net->tape);
    for (int i = 0; i < BENCH_NET_KERNELS; ++i) {
        for (int k = 0; k < BENCH_NET_ARGS; ++k) stet_array_destroy(net->kernel[i].gradient[k]);
        stet_kernel_destroy(net->kernel[i].kernel);
    }
    stet_array_destroy(net->start_pos);
    stet_array_destroy(net->start_vel);
    sti_springs_destroy(&net->springs);
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static stet_result step(const bench_net *net)
{
    for (int i = 0; i < 2 * BENCH_NET_KERNELS; ++i) {
        const bench_net_kernel *k = &net->kernel[i % BENCH_NET_KERNELS];
        STI_TRY(stet_kernel_launch(k->kernel, net->springs.nworld, k->arg, k->narg));
    }
    return STET_OK;
}

static stet_result recorded_step(const bench_net *net)
{
    stet_device *device = net->springs.device;
    STI_TRY(stet_record_begin(device, "a step"));
    return stet_record_end(device, step(net));
}

static stet_result run_bench_net(const bench_net *net, stet_tape *tape, bool recorded)
{
    STI_TRY(stet_array_copy(net->springs.pos, net->start_pos));
    STI_TRY(stet_array_copy(net->springs.vel, net->start_vel));
    for (int i = 0; i < net->steps; ++i) {
        if (tape) STI_TRY(stet_tape_step(tape));
        STI_TRY(recorded ? recorded_step(net) : step(net));
    }
    return STET_OK;
}

stet_result bench_net_forward(bench_net *net) { return run_bench_net(net, NULL, true); }
stet_result bench_net_forward_singly(bench_net *net) { return run_bench_net(net, NULL, false); }

stet_result bench_net_taped(bench_net *net)
{
    STI_TRY(stet_tape_begin(net->tape));
    return stet_tape_end(net->tape, run_bench_net(net, net->tape, true));
}

stet_result bench_net_backward(bench_net *net)
{
    stet_array *gradient;
    STI_TRY(stet_tape_zero(net->tape));
    STI_TRY(stet_tape_get_gradient(net->tape, net->springs.pos, &gradient));
    STI_TRY(stet_array_copy(gradient, net->springs.pos));
    return stet_tape_backward(net->tape);
}
