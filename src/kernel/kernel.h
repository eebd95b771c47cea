/*
 * What a kernel is, what its arguments are, and what a launch of it is: the types that all folders of the layer share.
 */
#ifndef STI_KERNEL_KERNEL_H
#define STI_KERNEL_KERNEL_H

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
    uint64_t team_slots; /* a bit for each slot that is memory of a team (sti_code) */
    /* a user's kernel: its source (compile/user_source.h), borrowed; NULL: compiled ahead of time, or not made yet */
    const struct sti_user_source *source;
    /*
     * On a GPU: lines of #define that go before its source, borrowed. NULL: none. A copy of a kernel may have some: its
     * code knows more than the kernel's, and gives the same results.
     */
    const char *constants;
    struct sti_checked
        *checked; /* the state of checked mode (checked/checked.h); NULL: the kernel is not in checked mode */
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
/*
 * n elements of memory for a team. They are in the plain array `a`: a launch runs no more teams at once than it has
 * room for. If there is no array, or if it has no room for one team, they are in shared memory on a GPU, and on a
 * processor each thread has its own.
 */
static inline sti_arg sti_arg_team(const stet_array *a, int64_t n)
{
    return (sti_arg){STI_ARG_INT, (stet_array *)a, n, 0};
}
static inline sti_arg sti_arg_real(double f) { return (sti_arg){STI_ARG_REAL, NULL, 0, f}; }

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

/* The number of arguments of a launch: all parameters except those that stet supplies. */
static inline int sti_kernel_narg(const sti_kernel *k)
{
    int n = 0;
    for (int i = 0; i < k->nparam; ++i) n += !k->param[i].index;
    return n;
}

#endif
