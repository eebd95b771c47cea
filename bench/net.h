/*
 * The masses on springs of bench/pilot/springs.h as kernels of a caller: launched one by one, recorded on a tape,
 * and each beside its adjoint. A step is 20 launches; the loss is half the squared length of all positions.
 */
#ifndef STET_BENCH_NET_H
#define STET_BENCH_NET_H

#include "bench/pilot/springs.h"
#include "stet/adjoint.h"

enum { BENCH_NET_KERNELS = 10, BENCH_NET_ARGS = 8 };

typedef struct bench_net_kernel {
    const char *name; /* without k_ */
    bool gathers;     /* it reads at places that it looks up, so its adjoint adds up there */
    stet_kernel *kernel;
    stet_adjoint *adjoint;
    int narg;
    stet_arg arg[BENCH_NET_ARGS];
    stet_array *gradient[BENCH_NET_ARGS]; /* NULL: it has none */
} bench_net_kernel;

typedef struct bench_net {
    sti_springs springs;
    stet_array *start_pos, *start_vel;
    bench_net_kernel kernel[BENCH_NET_KERNELS]; /* in the order of half a step */
    stet_tape *tape;
    int steps;
} bench_net;

/*
 * Its gradients are of pos, vel and of each world's stiffness and damping; all numbers are constants. Kept also where
 * it fails: close it.
 */
stet_result bench_net_open(stet_device *device, int64_t nworld, int steps, bench_net *out);
void bench_net_close(bench_net *net);
/* From the start, all steps: each a list, which comes back as a recording; or launch by launch. */
stet_result bench_net_forward(bench_net *net);
stet_result bench_net_forward_singly(bench_net *net);
stet_result bench_net_taped(bench_net *net);
/* Of what was taped last. */
stet_result bench_net_backward(bench_net *net);

#endif
