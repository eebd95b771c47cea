/*
 * Source texts of the checker: reads whole files.
 */
#ifndef STI_KERNEL_CHECK_SOURCE_H
#define STI_KERNEL_CHECK_SOURCE_H

#include "kernel/check/unit.h"

/* Reads a file into the unit's memory, zero-terminated. */
stet_result sti_source_read(sti_unit *u, const char *path, const char **out);

typedef struct sti_source_file {
    const char *text; /* NULL: nothing is to be read */
    char path[4096];
    bool known; /* it was read before and has #pragma once */
    char message[320];
} sti_source_file;

/*
 * True if an include of this name may open a file. A name with .. in it may, as long as the file, after links are
 * followed, is below one of the folders. `folder`: its first `length` bytes; none: the working directory.
 */
bool sti_source_goes_up(const char *name);
bool sti_source_is_below(const char *path, const char *folder, size_t length);

/*
 * Finds an included file below the folder of the unit's first file or one of the unit's folders: beside the including
 * file (`from`; NULL: that is in memory), else in the first of the unit's folders that has it. If there is no text, the
 * file is known already, or the message says why it cannot be read. False: no memory.
 */
bool sti_source_include(sti_unit *u, const char *from, const char *name, sti_source_file *out);

#endif
