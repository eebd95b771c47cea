/*
 * Arrays of all worlds of a run, which may be divided over several processes: the first one makes the files. A run of
 * one process has no group (NULL), and writes what it has.
 *
 *   WHOLE-1  a .npy file has the same bytes whoever wrote them: of what is appended, each process writes its own
 *       worlds' bytes where they belong, if all of them see the file that the first one made; else that one is sent
 *       all, and writes it
 */
#ifndef STI_CLI_FILES_WHOLE_H
#define STI_CLI_FILES_WHOLE_H

#include "cli/files/npy.h"
#include "stet/group.h"

typedef struct whole_file {
    stet_group *group; /* NULL: one process */
    npy_writer w;      /* of the process that makes files; of others the path alone */
    int own;           /* descriptor for this process's worlds; -1: the first process writes them */
    int64_t size;      /* bytes that were appended in all worlds, where each process writes its own */
} whole_file;

/* Does this process make files? */
bool whole_writes(const stet_group *group);
/* Worlds of the run; own: those of this process. */
int64_t whole_nworld(const stet_group *group, int64_t own);

/* Each is called by all processes, and returns NULL, or an error text (report_error.h). */

/* apart: WHOLE-1, else all is sent. whole_close or whole_drop ends each file, also one that did not open. */
const char *whole_open(whole_file *f, stet_group *group, bool apart, const char *path, const char *descr, int ndim,
                       const int64_t *shape);
/* Appends the array's content in all worlds. */
const char *whole_append(whole_file *f, stet_array *array);
const char *whole_close(whole_file *f, int64_t rows);
/* The same, but the file gets no name: what is in it can be read (npz_add_npy), and whole_drop removes it. */
const char *whole_seal(whole_file *f, int64_t rows);
/* Of this process alone. */
void whole_drop(whole_file *f);

/*
 * *data: the content in all worlds, on the process that writes; else NULL. The caller frees *buffer with free(), which
 * may be NULL.
 */
const char *whole_read(stet_group *group, stet_array *array, const void **data, void **buffer);

#endif
