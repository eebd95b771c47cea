/*
 * The caller's own kernels, recordings of launches, and work of other libraries.
 *
 * A kernel is written in the kernel language (lang.h), given as a string or a file, compiled at run time, and launched
 * over the worlds or items of arrays.
 */
#ifndef STET_KERNEL_H
#define STET_KERNEL_H

#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_kernel stet_kernel;

/*
 * How to make a kernel; start from stet_default_kernel_def(). On a CPU the system's C compiler compiles it, with the
 * flags of the library's own kernels and for the device's instruction set. On a GPU the vendor's run-time compiler
 * does. Compiled code is kept on disk (mechanism `kernel_cache`). The def and all it points to can go once
 * stet_kernel_create has returned.
 *
 * Accesses out of bounds are a bug of the kernel and are not detected, unless the device is in checked mode
 * (stet_device_def.checked); a launch then returns STET_ERROR_FAULT with kernel, line, array, index and world. Local
 * arrays take at most 1 MiB of stack at 16 lanes along a chain of calls, and 512 KiB on a GPU; `shared` arrays at most
 * 48 KiB on a GPU.
 */
typedef struct stet_kernel_def {
    uint32_t cookie;    /* set by stet_default_kernel_def */
    const char *source; /* the text; NULL: read the file `path` */
    const char *path;   /* the file; with a source, its name in messages (NULL: "kernel") */
    const char *name;   /* which kernel of the source; NULL: the only one */
    /*
     * Folders in which #include "…" searches after the folder of the including file. <stet/lang.h> needs none: the
     * library contains it. Files outside the source's folder and outside these folders are not opened.
     */
    const char *const *includes;
    int ninclude;
    /*
     * CPU: a program on the PATH, or a path. NULL: the environment variable CC, else "cc". If there is no compiler,
     * stet uses cached code that any compiler made from the same source with the same flags.
     */
    const char *compiler;
    /*
     * CPU: a folder of compiled kernels that was shipped with the program (tools/ship_kernels.c makes one). Code of
     * exactly this source is loaded from it without a compiler. The folder's contents are trusted. NULL: none.
     */
    const char *shipped_folder;
    /*
     * The disk cache. NULL: on a GPU its device's; else $XDG_CACHE_HOME/stet, or ~/.cache/stet. It is created if
     * missing and must belong to the user alone.
     */
    const char *cache_folder;
    int64_t cache_limit; /* most bytes in the folder; the least recently used kernels are deleted; 0: 256 MiB */
    /*
     * GPU: threads of a team, and teams of a block. Several teams need a team of 1, 2, 4, 8, 16 or 32 threads. A block
     * of an item kernel is one team. 0: 32 threads and 4 teams (1 team if the source has `shared` or `staged` memory),
     * or 128 threads for an item kernel. These change the speed and never the result.
     */
    int team, teams;
    /* compiles this kernel without checks on a device in checked mode (stet_device_def.checked) */
    bool unchecked;
    const char *const *constant; /* names of parameters that get no gradient in the kernel's adjoint (adjoint.h) */
    int nconstant;
} stet_kernel_def;

STET_API stet_kernel_def stet_default_kernel_def(void);

/*
 * The caller owns *out and destroys it before the device. The source is checked against the rules of the language
 * before a compiler sees it. PARSE: it breaks a rule or has no kernel; the message lists the first few mistakes, each
 * with file, line, column and what to write instead. NOT_FOUND: no such file, kernel or compiler. UNSUPPORTED: the
 * program is not a compiler. IO: the compiler failed.
 */
STET_API stet_result stet_kernel_create(stet_device *device, const stet_kernel_def *def, stet_kernel **out);
/* NULL is fine. */
STET_API void stet_kernel_destroy(stet_kernel *kernel);

/* ---- signature: borrowed from the kernel ------------------------------------------------------------------------- */

typedef enum stet_arg_kind { STET_ARG_ARRAY, STET_ARG_INT, STET_ARG_REAL } stet_arg_kind;

/* A parameter that the caller passes to a launch: any but `int world` and `int block`, which stet supplies. */
typedef struct stet_kernel_param {
    const char *name; /* "qpos" */
    /*
     * in the kernel language: "real", "lint", "wreal", "wint", "treal", "tlint", "tint", "ureal", "int", "i64", "u32",
     * "u16", "u8"
     */
    const char *type;
    stet_arg_kind kind; /* kind of the argument; INT for memory of a team (treal …): its number of elements */
    bool worlds;        /* an array of worlds */
    bool written;       /* an array that the kernel may write: its pointer is not const */
} stet_kernel_param;

STET_API const char *stet_kernel_get_name(const stet_kernel *kernel);
STET_API int stet_kernel_get_nparam(const stet_kernel *kernel);
/* STET_ERROR_INVALID_ARGUMENT if there is no parameter i. */
STET_API stet_result stet_kernel_get_param(const stet_kernel *kernel, int i, stet_kernel_param *out);

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* An argument of a launch; made by the functions below. */
typedef struct stet_arg {
    stet_arg_kind kind;
    const stet_array *array; /* NULL: absent; the kernel gets a NULL pointer and must not dereference it */
    int64_t i;
    double f;
} stet_arg;

static inline stet_arg stet_arg_array(const stet_array *array)
{
    stet_arg a = {STET_ARG_ARRAY, array, 0, 0.0};
    return a;
}
static inline stet_arg stet_arg_int(int64_t i)
{
    stet_arg a = {STET_ARG_INT, 0, i, 0.0};
    return a;
}
static inline stet_arg stet_arg_real(double f)
{
    stet_arg a = {STET_ARG_REAL, 0, 0, f};
    return a;
}

/*
 * Runs a kernel over `count` worlds (world_kernel) or blocks of items (item_kernel); a count of 0 launches nothing.
 * Arguments are in the order of the parameters. Arrays that the kernel reads are brought up to date first; arrays that
 * it may write get a new generation. `count` must be the number of worlds of the arrays; to skip worlds, use a mask and
 * not a smaller count. INVALID_ARGUMENT names the parameter: wrong number or kind of arguments, element type, worlds or
 * plain, number of worlds, or device.
 */
STET_API stet_result stet_kernel_launch(stet_kernel *kernel, int64_t count, const stet_arg *args, int narg);

/* ---- recordings -------------------------------------------------------------------------------------------------- */

/*
 * Starts a list. Launches between begin and end are listed instead of run; end runs the list in the order of its calls.
 * When the same list comes again (the same kernels, arrays and loops; numbers may differ), it is replayed as one
 * recording (mechanism `graph_replay`). With the mechanism switched off, the launches are issued one by one, with the
 * same bits.
 *
 *     stet_result result = stet_record_begin(device, "a sweep");
 *     if (result != STET_OK) return result;
 *     result = launches();
 *     return stet_record_end(device, result);
 *
 * A list may hold launches, copies, loops and array calls. Generations move when a writer runs, not when it is listed.
 * A list is split where it cannot go on: what is listed so far runs first. A split counts as a fallback, which is an
 * error in strict mode. Causes:
 *
 * - the host reads or destroys an array that the list writes, or writes or destroys one that it uses
 * - an array is created
 * - a launch reads an array that stet computes on demand (xpos, xquat, transforms of the stage)
 * - another list begins inside
 * - the list has 1024 operations
 *
 * Calls of sims, worlds, steps and stages that move something return STATE: they are lists of their own. A step of
 * native physics (stet_step_run) is a launch, and is listed.
 *
 * `what` names the list in messages (NULL: no name) and is borrowed until the end. LIMIT: more than 8 nested lists.
 */
STET_API stet_result stet_record_begin(stet_device *device, const char *what);
/*
 * Ends a list. Each successful begin needs its end, also on an error path. With `result` STET_OK the list runs;
 * otherwise what has not run is dropped and `result` is returned. A failing launch ends the list; what came before it
 * has run. STATE: no list was begun, or a loop is still open.
 */
STET_API stet_result stet_record_end(stet_device *device, stet_result result);
/*
 * Lists a loop. The calls until stet_record_while_end repeat while the first element of `condition` (INT, plain) is not
 * 0, at most `most` times; with 1 it is an `if`. The condition is read before each iteration, so a kernel in the loop
 * ends it by writing 0. While a caller's stream is being captured, the loop becomes a conditional node of that capture
 * (CUDA from 12.3 on; else UNSUPPORTED); its code must have run before.
 * Loops may be nested. Inside a loop, calls that would split a list return UNSUPPORTED: make them before the loop.
 * STATE: no list is open. Generations of arrays that the loop writes move once per iteration; in a replay where the
 * device itself ends the loop (CUDA), once per replay.
 */
STET_API stet_result stet_record_while(stet_device *device, stet_array *condition, int64_t most);
STET_API stet_result stet_record_while_end(stet_device *device);
/*
 * Copies an array into another one of the same device, type and shape, on the device. Between begin and end it is
 * listed like a launch. INVALID_ARGUMENT: device, type or shape differ, or `to` was imported read-only.
 */
STET_API stet_result stet_array_copy(stet_array *to, stet_array *from);
/* How foreign work uses an array. An array that it writes it may also read. */
typedef struct stet_use {
    const stet_array *array;
    bool written;
} stet_use;
/*
 * Runs work that stet does not launch itself, such as another library's kernels. Between begin and end it is listed
 * like a launch. The work may touch only the arrays in `uses`, in the way stated there, and must issue everything to
 * the stream that it gets. A recording captures the work into a graph once, when the recording is built, and does not
 * call it again: equal `work`, `context` and arrays must issue equal work. If capture fails, the list is issued one by
 * one, with the reason `capture` of mechanism `graph_replay`. In a loop it is called in each iteration that the host
 * counts. `what` names the work in messages and is borrowed as long as the device lives.
 */
STET_API stet_result stet_record_foreign(stet_device *device, const char *what, stet_foreign_fn *work, void *context,
                                         const stet_use *uses, int nuse);
/*
 * The recording of the list that ran last. While a caller's stream is being captured: the recording of all that stet
 * has put into that graph so far. 0: there is none (the list was new, had one launch, or graph_replay is off). For
 * callers that make the recording part of their own graph.
 */
STET_API uint64_t stet_recording_get_last(const stet_device *device);
/*
 * Announces that the caller ran a recording outside stet, so the generations of the arrays that it writes move.
 * NOT_FOUND: the recording is gone, because an array or kernel of it was destroyed or because 64 others were used
 * since.
 */
STET_API stet_result stet_recording_mark_replayed(stet_device *device, uint64_t recording);

#ifdef __cplusplus
}
#endif
#endif
