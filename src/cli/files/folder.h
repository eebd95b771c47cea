/* Output folders, checked before a run and created after all other checks; and the list of written files. */
#ifndef STI_CLI_FILES_FOLDER_H
#define STI_CLI_FILES_FOLDER_H

#include <stdbool.h>

/*
 * True if files can be created in the folder, which exists or can be created. Changes nothing. False: *why says what is
 * wrong.
 */
bool folder_usable(const char *path, const char **why);
/*
 * Creates the folder and its missing parents; *made (0 before) is their number. A signal that ends the command removes
 * them if they are empty (base/temporary.h). False: *why says what is wrong, and no new folder is left.
 */
bool folder_make(const char *path, int *made, const char **why);
/* Removes the folders that folder_make created, as far as they are empty. */
void folder_unmake(const char *path, int made);

/* Written files, in order. */
typedef struct file_list {
    char **path;
    int count;
} file_list;
/* Adds a file; false: out of memory. */
bool file_list_add(file_list *list, const char *path);
void file_list_free(file_list *list);

#endif
