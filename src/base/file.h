/*
 * Files that are read and written.
 *
 *   OUT-1  a file with an output's name is complete: it is written beside it under another name, then renamed
 *   OUT-2  only plain files that are not read-only are replaced; a link stays, and the file that it points to is
 *       replaced
 *   OUT-3  an input is a plain file, so opening and reading it never waits for another process
 *
 * Functions that return a text return NULL on success, else what is wrong, as part of a sentence ("it is a named
 * pipe"). The text is valid until the thread's next call here.
 */
#ifndef STI_BASE_FILE_H
#define STI_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

enum { STI_FILE_PATH_SIZE = 4096 };

/*
 * Opens a plain file for reading. On failure returns NULL, sets *why to what is wrong, and errno to the system's error.
 */
FILE *sti_input_open(const char *path, const char **why);
/* Says why a file of this mode is no plain file; NULL: it is one. */
const char *sti_file_not_plain(mode_t mode);

/* Says why a file cannot be written there; NULL: it can. Changes nothing. */
const char *sti_output_refusal(const char *path);
/*
 * Returns the path with all links followed, including links to files that do not exist yet; `size` bytes. False: errno
 * is set.
 */
bool sti_output_target(const char *path, char *out, size_t size);

/* A file that is being written. */
typedef struct sti_output {
    FILE *file;                      /* for writing and reading, empty at first; NULL: not open */
    char target[STI_FILE_PATH_SIZE]; /* the file that commit replaces */
    char part[STI_FILE_PATH_SIZE];   /* the file's name until then; "": none */
} sti_output;

const char *sti_output_open(sti_output *o, const char *path);
/* Closes the file and gives it its name. On failure nothing is left open, and no unfinished file remains. */
const char *sti_output_commit(sti_output *o);
/* Closes and removes the file. Does nothing if it is not open. */
void sti_output_drop(sti_output *o);

#endif
