/*
 * Files and folders that exist only while something works with them. They are listed, so that a program that is ended
 * by a signal can remove them.
 */
#ifndef STI_BASE_TEMPORARY_H
#define STI_BASE_TEMPORARY_H

/* Lists a path, of a file or of an empty folder; one that is too long, or beyond the list's room, is not listed. */
void sti_temporary_add(const char *path);
/* Takes it off the list again: it was removed, or renamed. */
void sti_temporary_drop(const char *path);
/* Removes all that is listed. Only for a program that ends: safe in the handler of a signal. */
void sti_temporary_remove_all(void);

#endif
