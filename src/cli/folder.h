/*
 * Where the command writes: folders that are checked before a run and made when nothing else can be wrong, and the
 * list of files written.
 */
#ifndef STI_CLI_FOLDER_H
#define STI_CLI_FOLDER_H

#include <stdbool.h>

/*
 * True if files can be made in the folder, which exists or could be made. Changes nothing. Else *why says what is
 * wrong.
 */
bool folder_usable(const char *path, const char **why);
/*
 * Makes the folder and those above it; *made, 0 before, counts them. A signal that ends the command removes them if
 * they are empty (base/temporary.h). False: *why says what is wrong, and none that it made is left.
 */
bool folder_make(const char *path, int *made, const char **why);
/* Removes those that folder_make had made, as far as they are empty. */
void folder_unmake(const char *path, int made);

/* Files that were written, in order. */
typedef struct file_list {
    char **path;
    int count;
} file_list;
/* Remembers a file; false if there is no memory for its name. */
bool file_list_add(file_list *list, const char *path);
void file_list_free(file_list *list);

#endif
