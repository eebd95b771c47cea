/*
 * Loads compiled code from memory into the process.
 *
 * Invariant: the bytes that were given (and checked) are the bytes that are loaded. No file on disk, which could be
 * replaced, is involved.
 */
#ifndef STI_KERNEL_COMPILE_SHARED_OBJECT_H
#define STI_KERNEL_COMPILE_SHARED_OBJECT_H

#include "base/error.h"

typedef struct sti_shared_object {
    void *handle;
    /* Open while the code is loaded: the loader identifies files by a name made from this number. */
    int file;
} sti_shared_object;

/* `name` is for messages. */
stet_result sti_shared_object_load(const void *bytes, size_t size, const char *name, sti_shared_object *out);
/* Unloads the code, which must not run any more. A zeroed object is allowed. */
void sti_shared_object_unload(sti_shared_object *object);
/* The address of a function, or NULL if there is none of that name. */
void *sti_shared_object_find(const sti_shared_object *object, const char *symbol);

#endif
