/*
 * Kernels that are compiled ahead of time, and launches of them with checked arguments.
 *
 * The signature says what a launch reads and what it writes, so the launch itself moves the generations of written
 * arrays.
 */
#ifndef STI_KERNEL_LAUNCH_KERNEL_H
#define STI_KERNEL_LAUNCH_KERNEL_H

#include "device/device.h"
#include "kernel/language.h"
#include "kernel/signature.h"

typedef struct sti_kernel {
    const char *name;
    sti_kernel_kind kind;
    int nparam;
    const sti_param *param;
    const char *file;
    int line;
    sti_call *call[STI_ISA_COUNT];
    struct stet_kernel *user; /* the handle of a user's kernel; NULL: the kernel was compiled ahead of time */
    /*
     * The embedded sources of a kernel that was compiled ahead of time, with its own file. NULL: it does not run on a
     * GPU.
     */
    const sti_embedded *sources;
    uint64_t team_slots;         /* a bit for each slot that is memory of a team (sti_code) */
    struct sti_checked *checked; /* the state of checked mode (checked.h); NULL: the kernel is not in checked mode */
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
 * Launches a kernel. `count` is the number of worlds (kind world; it must be the number that the arrays of worlds have:
 * use a mask to leave worlds alone) or of blocks of items (kind item). With count 0 nothing is launched. Brings the
 * arrays that the kernel reads up to date and moves the generation of each array that it writes. Errors name the kernel
 * and the parameter: wrong number or kind of arguments, wrong element type, an array of worlds where a plain one is
 * wanted or the other way round, another number of worlds, another device.
 */
stet_result sti_launch_on(stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args, int narg);

/* The one way to a device's `launch`. The arguments are not checked. */
stet_result sti_kernel_run(stet_device *device, const sti_kernel *kernel, const sti_slot *slots, int nslot,
                           int64_t nblock, bool in_block);

/* A checked launch: the arrays that it reads are up to date, its slots are filled, unused bytes are zero. */
typedef struct sti_launch {
    const sti_kernel *kernel;
    const sti_code *code; /* on a GPU: the code that takes arguments by value; NULL: not looked up yet */
    const sti_arg *args;
    int nslot;
    int64_t nblock; /* 0: nothing to launch */
    int nwritten;
    stet_array *written[STI_MAX_PARAMS]; /* one for each parameter that is written and present */
    sti_slot slot[STI_MAX_PARAMS + 1];   /* one more slot in checked mode */
} sti_launch;
stet_result sti_launch_prepare(stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args,
                               int narg, sti_launch *out);
/* The number of arguments of a launch: all parameters except those that stet supplies. */
static inline int sti_kernel_narg(const sti_kernel *k)
{
    int n = 0;
    for (int i = 0; i < k->nparam; ++i) n += !k->param[i].index;
    return n;
}

/* Binds one argument: checks it, brings its array up to date and fills its slot. */
stet_result sti_launch_bind(const stet_device *device, const sti_kernel *kernel, const sti_param *param, int64_t count,
                            const sti_arg *arg, sti_slot *slot);
/* Fills `written` from the arguments. */
void sti_launch_list_written(sti_launch *launch);
/* Makes all checks of sti_launch_on. Brings nothing up to date, lists and launches nothing. */
stet_result sti_launch_check(const stet_device *device, const sti_kernel *kernel, int64_t count, const sti_arg *args,
                             int narg);
/* Lists the launch or runs it now, and notifies the device's launch observer. */
stet_result sti_launch_issue(stet_device *device, const sti_launch *launch, int64_t count, bool listed);
/* Runs the launch now, with its arguments by value. */
stet_result sti_launch_run(stet_device *device, const sti_launch *launch);
/* Counts a launch that has run, and moves the generations of the arrays that it wrote. */
void sti_launch_done(stet_device *device, const sti_launch *launch);
#define STI_LAUNCH(kernel, device, count, ...)                                                                         \
    sti_launch_on((device), &(kernel), (count), (const sti_arg[]){__VA_ARGS__},                                        \
                  (int)(sizeof((const sti_arg[]){__VA_ARGS__}) / sizeof(sti_arg)))

#endif
