/*
 * NumPy's .npz files: a zip of .npy files, each under its array's name. Written without compression, as by numpy.savez;
 * compressed files can be read.
 */
#ifndef STI_CLI_FILES_NPZ_H
#define STI_CLI_FILES_NPZ_H

#include "cli/files/npy.h"

enum { NPZ_NAME = 128 };

/* The content of a file, in its order. The caller frees it with npz_free. */
typedef struct npz_array {
    char name[NPZ_NAME];
    npy_array array;
} npz_array;
typedef struct npz {
    npz_array *array;
    int count;
} npz;

/* Each returns NULL, or an error text (report_error.h). */
const char *npz_read(const char *path, npz *out);
void npz_free(npz *file);
/* Calls `visit` with each array's name and the .npy file's bytes, until one returns an error text. */
typedef const char *npz_visit_fn(void *context, const char *name, FILE *npy);
const char *npz_visit(const char *path, npz_visit_fn *visit, void *context);

typedef struct npz_writer {
    void *zip;
    sti_output out;
    char path[4096];
} npz_writer;

/* After a successful npz_open call npz_close, or npz_drop, which leaves no file. */
const char *npz_open(npz_writer *w, const char *path);
const char *npz_add(npz_writer *w, const char *name, const char *descr, int ndim, const int64_t *shape,
                    const void *data, size_t size);
/* Adds the array of a .npy file that was sealed (npy_seal). */
const char *npz_add_npy(npz_writer *w, const char *name, npy_writer *from);
const char *npz_close(npz_writer *w);
void npz_drop(npz_writer *w);

#endif
