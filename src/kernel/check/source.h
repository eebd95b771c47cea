/*
 * Source texts of the checker: files, read whole.
 */
#ifndef STI_KERNEL_CHECK_SOURCE_H
#define STI_KERNEL_CHECK_SOURCE_H

#include "kernel/check/unit.h"

/* The text of a file, zero-terminated, in the unit's memory. */
stet_result sti_source_read(sti_unit *u, const char *path, const char **out);

typedef struct sti_source_file {
    const char *text; /* NULL: there is none to read */
    char path[4096];
    bool known; /* it was read before, and says #pragma once */
    char message[320];
} sti_source_file;

/*
 * Whether an include may mean a file, by its name: one that goes up (has .. in it) may as long as the file lies below
 * one of the folders, links followed. `folder`: its first `length` bytes; none: the working directory.
 */
bool sti_source_goes_up(const char *name);
bool sti_source_is_below(const char *path, const char *folder, size_t length);

/*
 * An included file, below the folder of the unit's first file or one of the unit's folders: beside the file that
 * includes it (`from`, NULL: it is in memory), else from the first of the unit's folders that has it. Without a text,
 * either it is known already or the message says why it can't be read. False: no memory.
 */
bool sti_source_include(sti_unit *u, const char *from, const char *name, sti_source_file *out);

#endif
