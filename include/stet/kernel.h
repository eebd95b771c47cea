/*
 * The caller's own kernels: written in the kernel language (lang.h), given as a string or a file, compiled when the
 * program runs, launched over the worlds or items of arrays.
 */
#ifndef STET_KERNEL_H
#define STET_KERNEL_H

#include "device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_kernel stet_kernel;

/*
 * How to make a kernel; start from stet_default_kernel_def(). On a CPU a kernel is compiled by the system's C compiler, with
 * the flags of the library's own kernels, for the instruction set of the device; on a GPU by the vendor's run-time compiler. What
 * was compiled is kept on disk (mechanism `kernel_cache`). Nothing here is needed after stet_kernel_create.
 *
 * An access beyond an array is nobody's mistake but the kernel's, and not noticed unless the device is in checked mode
 * (stet_device_def.checked): then a launch returns STET_FAULT with kernel, line, array, index and world. Local arrays take at most
 * 1 MiB of stack at 16 lanes along a chain of calls, and 512 KiB on a GPU; shared ones 48 KiB there.
 */
typedef struct stet_kernel_def {
    uint32_t cookie;    /* set by stet_default_kernel_def */
    const char *source; /* the text; NULL: the file `path` */
    const char *path;   /* the file; with a source, what messages call it (NULL: "kernel") */
    const char *name;   /* which kernel of the source; NULL: the only one */
    /*
     * Folders in which #include "…" looks, after the folder of the including file. <stet/lang.h> needs none: the
     * library carries it. Files that lie neither below the source's folder nor below one of these are not opened.
     */
    const char *const *includes;
    int ninclude;
    /*
     * On a CPU: a program on the PATH, or a path; NULL: what the environment variable CC says, else "cc". Where there is none of these, code that
     * some compiler made of the same source, with the same flags, and that is in the cache is taken.
     */
    const char *compiler;
    /*
     * On a CPU: a folder of compiled kernels that came with the program (tools/ship_kernels.c makes one). Code of this very source is taken from
     * there without a compiler; whoever can write there is trusted. NULL: none.
     */
    const char *shipped_folder;
    /* NULL: on a GPU its device's; else $XDG_CACHE_HOME/stet, or ~/.cache/stet. It is made if need be, and must be the user's alone. */
    const char *cache_folder;
    int64_t cache_limit; /* bytes that the folder may hold, the least recently used kernels go; 0: 256 MiB */
    /*
     * On a GPU: threads of a team, and teams of a block (several only of 1, 2, 4, 8, 16 or 32 threads; an item kernel's block is one
     * team). 0: 32 threads, 4 teams (1 where the source has `shared` or `staged` memory); an item kernel 128 threads. They change how
     * fast it is, never what it computes.
     */
    int team, teams;
    bool unchecked;              /* on a device in checked mode (stet_device_def.checked): this one is not */
    const char *const *constant; /* names of parameters that get no gradient in the kernel's adjoint (adjoint.h) */
    int nconstant;
} stet_kernel_def;

STET_API stet_kernel_def stet_default_kernel_def(void);

/*
 * The caller owns *out and destroys it before the device. The source is held to the language's rules before any compiler
 * sees it. STET_PARSE: it breaks them, or has no kernel; the sentence has the first few mistakes, each with file, line,
 * column and what the language wants instead. STET_NOT_FOUND: no such file, kernel or compiler. STET_UNSUPPORTED: the
 * program is no compiler. STET_IO: it could not do its work.
 */
STET_API stet_result stet_kernel_create(stet_device *device, const stet_kernel_def *def, stet_kernel **out);
/* NULL is fine. */
STET_API void stet_kernel_destroy(stet_kernel *kernel);

/* ---- signature: borrowed from the kernel ------------------------------------------------------------------------- */

typedef enum stet_arg_kind { STET_ARG_ARRAY, STET_ARG_INT, STET_ARG_REAL } stet_arg_kind;

/* A parameter that a launch passes: all of the source's but `int world` and `int block`, which stet supplies. */
typedef struct stet_kernel_param {
    const char *name; /* "qpos" */
    const char *type; /* in the language: "real", "lint", "wreal", "wint", "ureal", "int", "i64", "u32", "u16", "u8" */
    stet_arg_kind kind; /* what its argument is */
    bool worlds;        /* an array of worlds */
    bool written;       /* an array that the kernel may write: its pointer is not const */
} stet_kernel_param;

STET_API const char *stet_kernel_name(const stet_kernel *kernel);
STET_API int stet_kernel_nparam(const stet_kernel *kernel);
/* STET_INVALID_ARGUMENT if there is no parameter i. */
STET_API stet_result stet_kernel_get_param(const stet_kernel *kernel, int i, stet_kernel_param *out);

/* ---- launching --------------------------------------------------------------------------------------------------- */

/* An argument; make it with one of the three functions below. */
typedef struct stet_arg {
    stet_arg_kind kind;
    const stet_array *array; /* NULL: absent; the kernel gets a NULL pointer and must not touch it */
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
 * Runs a kernel over `count` worlds (a world_kernel) or blocks of items (an item_kernel); 0 is no launch. Arguments in
 * the order of the parameters. Arrays that it reads are brought up to date first; those that it may write get a new
 * generation. `count` is all the worlds of its arrays: a mask, not a smaller count, leaves worlds alone.
 * STET_INVALID_ARGUMENT names the parameter: number or kind of arguments, element type, worlds or plain, another number
 * of worlds, another device.
 */
STET_API stet_result stet_kernel_launch(stet_kernel *kernel, int64_t count, const stet_arg *args, int narg);

/* ---- recordings -------------------------------------------------------------------------------------------------- */

/*
 * Launches between begin and end are listed instead of run; end runs the whole list, in the order in which it was issued. A list
 * that comes back (the same kernels, arrays and loops; numbers may differ) is replayed as a recording, mechanism
 * `graph_replay`: the host issues it as one thing. Switched off, the launches are issued one by one, with the same bits.
 *
 *     stet_result result = stet_record_begin(device, "a sweep");
 *     if (result != STET_OK) return result;
 *     result = launches();
 *     return stet_record_end(device, result);
 *
 * In between: launches, copies, loops, and calls of arrays. Generations move when what writes has run, not when it is listed.
 * A list is split (what was listed so far runs first, counted as a fallback, so an error in strict mode) where the host
 * reads or destroys an array that the list writes, writes or destroys one that it touches, makes an array; where a launch reads what
 * stet works out when it is read (xpos, xquat, transforms of the stage); where another list begins inside; after 1024
 * operations. Calls of sims, worlds, steps and stages that move something are refused (STATE): they are lists of their own.
 *
 * `what` names the list in messages (NULL: nothing does); borrowed until its end. LIMIT: more than 8 lists inside each other.
 */
STET_API stet_result stet_record_begin(stet_device *device, const char *what);
/*
 * Each begin that succeeded needs its end, also on a way out of failure. `result` STET_OK: runs the list. Else: forgets what
 * was not run yet and returns `result`. A launch that fails ends the list: what came before it has run. STATE: nothing was begun, or
 * a loop is still open.
 */
STET_API stet_result stet_record_end(stet_device *device, stet_result result);
/*
 * Lists a loop: what is listed until stet_record_while_end runs again and again while the first element of `condition` (INT, plain) is
 * not 0, at most `most` times. It is looked at before each time, so a kernel in the loop ends it by writing 0. Loops may be
 * nested. Where a list would be split, a loop is refused (UNSUPPORTED): do that before it. STATE: not between begin and end.
 * Generations of what is written in it move once each time; where the device ends the loop by itself (a replay on CUDA), once a replay.
 */
STET_API stet_result stet_record_while(stet_device *device, stet_array *condition, int64_t most);
STET_API stet_result stet_record_while_end(stet_device *device);
/*
 * Copies all of an array into another of the same device, type and shape, on the device; listed like a launch between begin and
 * end, else at once. INVALID_ARGUMENT: they differ, or `to` was imported for reading.
 */
STET_API stet_result stet_array_copy(stet_array *to, stet_array *from);
/* What foreign work does with an array. What it writes it may read, too. */
typedef struct stet_use {
    const stet_array *array;
    bool written;
} stet_use;
/*
 * Work that stet does not launch itself (another library's kernels): listed like a launch between begin and end, else done at once. It must
 * touch no array of stet's but these, as it says, and issue all to the stream that it is given. In a recording it is captured into a graph
 * once, when the recording is built, and not called again: what it issues must be the same each time (`work`, `context`, which arrays).
 * Where capturing fails, the list is played one by one, with a reason (mechanism `graph_replay`, `capture`). In a loop it is refused
 * (UNSUPPORTED). `what` names it in messages, borrowed as long as the device lives.
 */
STET_API stet_result stet_record_foreign(stet_device *device, const char *what, stet_foreign *work, void *context,
                                         const stet_use *uses, int nuse);
/*
 * The recording of the list that ran last, or, while a caller's stream is being captured, of all that stet has put into that graph so far; 0: there
 * is none (the list was new, of one launch, or graph_replay is off). For somebody who makes it a part of a graph of his own.
 */
STET_API uint64_t stet_recording_last(const stet_device *device);
/*
 * Announces that somebody else ran a recording: what it writes has moved. NOT_FOUND: it is gone, with an array or kernel that it
 * held or as the least recently used of 64.
 */
STET_API stet_result stet_recording_replayed(stet_device *device, uint64_t recording);

#ifdef __cplusplus
}
#endif
#endif
