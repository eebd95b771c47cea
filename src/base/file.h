/*
 * Files that are read and written.
 *
 *   OUT-1  a file with an output's name is complete: it is written beside that under another name, then renamed
 *   OUT-2  only plain files are replaced, and none that is read-only; a link stays, and what it points at is replaced
 *   OUT-3  an input is a plain file, so opening and reading it never waits for somebody
 *
 * Functions that return a text return NULL if all is well, else what is wrong, as a part of a sentence ("it is a named
 * pipe"; borrowed until the thread's next call here).
 */
#ifndef STI_BASE_FILE_H
#define STI_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

enum { STI_FILE_PATH_SIZE = 4096 };

/* Opens a plain file for reading; NULL: *why says what is wrong, and errno is that of the system. */
FILE *sti_input_open(const char *path, const char **why);
/* What is wrong with a file of this mode where a plain one is needed; NULL: nothing. */
const char *sti_file_not_plain(mode_t mode);

/* Whether a file can be written there; changes nothing. */
const char *sti_output_refusal(const char *path);
/*
 * The path with all links followed, those to what is not there yet too; `size` bytes. False: errno is set.
 */
bool sti_output_target(const char *path, char *out, size_t size);

/* A file that is being written. */
typedef struct sti_output {
    FILE *file;                      /* for writing and reading, empty at first; NULL: it is not open */
    char target[STI_FILE_PATH_SIZE]; /* what it replaces in the end */
    char part[STI_FILE_PATH_SIZE];   /* where it is until then; "": nowhere */
} sti_output;

const char *sti_output_open(sti_output *o, const char *path);
/* Closes the file and gives it its name. Whatever is wrong, nothing is left open, or lies there unfinished. */
const char *sti_output_commit(sti_output *o);
/* Closes and removes it; fine for one that is not open. */
void sti_output_drop(sti_output *o);

#endif
