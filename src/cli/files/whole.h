/*
 * Arrays of all worlds of a run, which may be divided over several processes: what is written is gathered by the one of
 * them that writes. A run of one process has no group (NULL), and writes what it has.
 */
#ifndef STI_CLI_FILES_WHOLE_H
#define STI_CLI_FILES_WHOLE_H

#include "cli/files/npy.h"
#include "stet/group.h"

/* Does this process write files? */
bool whole_writes(const stet_group *group);
/* Worlds of the run; own: those of this process. */
int64_t whole_nworld(const stet_group *group, int64_t own);

/* Each is called by all processes, and returns NULL, or an error text (report_error.h). */

/* Appends the array's content in all worlds to a file; `w` is used by the process that writes alone. */
const char *whole_append(stet_group *group, stet_array *array, npy_writer *w);
/*
 * *data: the content in all worlds, on the process that writes; else NULL. The caller frees *buffer with free(), which
 * may be NULL.
 */
const char *whole_read(stet_group *group, stet_array *array, const void **data, void **buffer);

#endif
