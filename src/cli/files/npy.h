/*
 * NumPy's .npy files, format version 1.0: what the command writes (C order, little endian) and the types that it reads.
 */
#ifndef STI_CLI_FILES_NPY_H
#define STI_CLI_FILES_NPY_H

#include "base/file.h"
#include "stet/base.h"

#include <stdio.h>

enum { NPY_MAX_DIMS = 8 };
/* Bytes of a whole header, a multiple of 64 as the format wants; room for the dictionary of 8 dimensions. */
enum { NPY_HEADER = 128 };

/* An array as it is in the file. The caller frees `data` with free(). */
typedef struct npy_raw {
    char type; /* of an item: f, i, u or b … */
    int size;  /* … and its bytes: 1, 2, 4 or 8 */
    int ndim;
    int64_t shape[NPY_MAX_DIMS];
    int64_t count;
    unsigned char *data; /* [count][size], little endian */
} npy_raw;

/* An array as read, converted to double. The caller frees `data` with free(). */
typedef struct npy_array {
    int ndim;
    int64_t shape[NPY_MAX_DIMS];
    int64_t count;
    double *data;
} npy_array;

/*
 * A file that is written row by row. `descr` is NumPy's type ("<f4", "<i4", "|u1"). npy_close may set shape[0], so a
 * run that ends early leaves a valid file. The file gets its name only then (OUT-1, base/file.h).
 */
typedef struct npy_writer {
    sti_output out;
    char path[4096]; /* as it was given */
    const char *descr;
    int ndim;
    int64_t shape[NPY_MAX_DIMS];
} npy_writer;

/* Each returns NULL, or an error text (report_error.h). */
const char *npy_open(npy_writer *w, const char *path, const char *descr, int ndim, const int64_t *shape);
const char *npy_append(npy_writer *w, const void *data, size_t size);
/*
 * Writes the final header: `rows`, or the number of rows that could be written if that is smaller, which is an error,
 * too. The file gets its name in npy_close and is removed by npy_drop; call one of the two after each successful
 * npy_open.
 */
const char *npy_seal(npy_writer *w, int64_t rows);
const char *npy_close(npy_writer *w, int64_t rows);
void npy_drop(npy_writer *w);
/* Writes a complete file, or none. */
const char *npy_write(const char *path, const char *descr, int ndim, const int64_t *shape, const void *data,
                      size_t size);
/* Reads float32, float64, int32, int64, uint8; other types, Fortran order and big endian are refused. */
const char *npy_read(const char *path, npy_array *out);
/* The same from a stream; the caller names it in messages. */
const char *npy_read_stream(FILE *f, npy_array *out);
/* Reads whole numbers and floating-point numbers of every size, from a stream. */
const char *npy_read_raw(FILE *f, npy_raw *out);
/* The header of a file that holds such an array. */
void npy_header(char header[NPY_HEADER], const char *descr, int ndim, const int64_t *shape);

#endif
