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
 * How to make a kernel; start from stet_default_kernel_def(). A kernel is compiled by the system's C compiler, with the
 * flags of the library's own kernels, for the instruction set of the device; what was compiled is kept on disk
 * (mechanism `kernel_cache`). Nothing here is needed after stet_kernel_create.
 */
typedef struct stet_kernel_def {
    uint32_t cookie;    /* set by stet_default_kernel_def */
    const char *source; /* the text; NULL: the file `path` */
    const char *path;   /* the file; with a source, what messages call it (NULL: "kernel") */
    const char *name;   /* which kernel of the source; NULL: the only one */
    /*
     * Folders in which #include "…" looks, after the folder of the including file. <stet/lang.h> needs none: the
     * library carries it.
     */
    const char *const *includes;
    int ninclude;
    const char *compiler; /* a program on the PATH, or a path; NULL: "cc" */
    /* NULL: $XDG_CACHE_HOME/stet, or ~/.cache/stet. It is made if need be, and must be the user's alone. */
    const char *cache_folder;
    int64_t cache_limit; /* bytes that the folder may hold, the least recently used kernels go; 0: 256 MiB */
} stet_kernel_def;

STET_API stet_kernel_def stet_default_kernel_def(void);

/*
 * The caller owns *out and destroys it before the device. STET_PARSE: the source is not a kernel; the sentence has its
 * file and line. STET_NOT_FOUND: no such file, kernel or compiler. STET_UNSUPPORTED: the program is no compiler. STET_IO: it could not
 * do its work.
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

#ifdef __cplusplus
}
#endif
#endif
