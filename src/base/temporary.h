/*
 * A list of temporary files and folders, so that a program that a signal ends can remove them.
 */
#ifndef STI_BASE_TEMPORARY_H
#define STI_BASE_TEMPORARY_H

/*
 * Adds the path of a file or of an empty folder. A path that is too long, or does not fit into the list, is not added.
 */
void sti_temporary_add(const char *path);
/* Takes a path off the list, because it was removed or renamed. */
void sti_temporary_drop(const char *path);
/* Removes all listed files and folders. Only for a program that ends; safe in a signal handler. */
void sti_temporary_remove_all(void);

#endif
