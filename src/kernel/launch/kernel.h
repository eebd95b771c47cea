/*
 * Kernels that are compiled ahead of time, and launches of them with checked arguments.
 *
 * A launch knows from the signature what it reads and what it writes: written arrays get a new generation, and nobody has
 * to remember that.
 */
#ifndef STI_KERNEL_LAUNCH_KERNEL_H
#define STI_KERNEL_LAUNCH_KERNEL_H

#include "device/device.h"
#include "kernel/compile/language.h"
#include "kernel/launch/signature.h"

typedef struct sti_kernel {
    const char *name;
    sti_kernel_kind kind;
    int nparam;
    const sti_param *param;
    const char *file;
    int line;
    sti_call *call[STI_ISA_COUNT];
    struct stet_kernel *user;    /* of a person's own kernel its handle; NULL: it was compiled ahead of time */
    const sti_embedded *sources; /* of such a kernel, its file among them (compile/language.h); NULL: no GPU runs it */
    struct sti_checked *checked; /* of one in checked mode (checked.h); else NULL */
} sti_kernel;

/* An argument of a launch, in the order of the signature without `world` and `block`. */
typedef enum sti_arg_kind { STI_ARG_ARRAY, STI_ARG_INT, STI_ARG_REAL } sti_arg_kind;
typedef struct sti_arg {
    sti_arg_kind kind;
    stet_array *array; /* NULL: absent; the kernel gets a NULL pointer and must not touch it */
    int64_t i;
    double f;
} sti_arg;
static inline sti_arg sti_arg_array(const stet_array *a) { return (sti_arg){STI_ARG_ARRAY, (stet_array *)a, 0, 0}; }
static inline sti_arg sti_arg_int(int64_t i) { return (sti_arg){STI_ARG_INT, NULL, i, 0}; }
static inline sti_arg sti_arg_real(double f) { return (sti_arg){STI_ARG_REAL, NULL, 0, f}; }

/*
 * Launches a kernel over `count` worlds (kind world: all that its arrays of worlds have; a mask, not a smaller count,
 * leaves worlds alone) or blocks of items (kind item). count 0 is no launch. Brings arrays up to date that the kernel
 * reads; bumps the generation of each array whose parameter is written. Errors name the kernel and the parameter: wrong
 * number or kind of arguments, element type, an array of worlds where a plain one is wanted or the other way round,
 * another number of worlds, another device.
 */
stet_result sti_launch_on(stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args, int narg);

/* The one way to a device's `launch`; arguments are as they come. */
stet_result sti_kernel_run(stet_device *device, const sti_kernel *kernel, const sti_slot *slots, int nslot,
                           int64_t nblock, bool in_block);

/* A launch that was checked: what it read was brought up to date, its slots are filled, unused bytes are zero. */
typedef struct sti_launch {
    const sti_kernel *kernel;
    const sti_code *code; /* of a GPU: that takes arguments by value; NULL: to be looked up */
    const sti_arg *args;
    int nslot;
    int64_t nblock; /* 0: nothing to launch */
    int nwritten;
    stet_array *written[STI_MAX_PARAMS]; /* by each parameter that is written and present */
    sti_slot slot[STI_MAX_PARAMS + 1];   /* one more where it is checked */
} sti_launch;
stet_result sti_launch_prepare(stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args,
                               int narg, sti_launch *out);
/* How many arguments a launch passes: one for each parameter but those that stet supplies. */
static inline int sti_kernel_narg(const sti_kernel *k)
{
    int n = 0;
    for (int i = 0; i < k->nparam; ++i) n += !k->param[i].index;
    return n;
}

/* One argument of it: checked, its array brought up to date, its slot filled. */
stet_result sti_launch_bind(const stet_device *device, const sti_kernel *kernel, const sti_param *param, int64_t count,
                            const sti_arg *arg, sti_slot *slot);
/* Fills `written` from the arguments. */
void sti_launch_list_written(sti_launch *launch);
/* All that sti_launch_on would refuse; nothing is brought up to date, listed or launched. */
stet_result sti_launch_check(const stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args,
                             int narg);
/* Lists it or runs it now, and tells the device's witness. */
stet_result sti_launch_issue(stet_device *device, const sti_launch *launch, int64_t count, bool listed);
/* Runs it now, its arguments by value. */
stet_result sti_launch_run(stet_device *device, const sti_launch *launch);
/* Counts a launch that has run, and bumps what it wrote. */
void sti_launch_done(stet_device *device, const sti_launch *launch);
#define STI_LAUNCH(kernel, device, count, ...)                                                                         \
    sti_launch_on((device), &(kernel), (count), (const sti_arg[]){__VA_ARGS__},                                        \
                  (int)(sizeof((const sti_arg[]){__VA_ARGS__}) / sizeof(sti_arg)))

#endif
