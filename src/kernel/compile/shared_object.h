/*
 * Compiled code in memory, loaded into the process.
 *
 * Invariant: the bytes that were given (and checked) are the bytes that are loaded; no file that somebody might
 * exchange lies between.
 */
#ifndef STI_KERNEL_COMPILE_SHARED_OBJECT_H
#define STI_KERNEL_COMPILE_SHARED_OBJECT_H

#include "base/error.h"

typedef struct sti_shared_object {
    void *handle;
    int file; /* kept open while the code is loaded: the loader tells files apart by the name that this number gives */
} sti_shared_object;

/* `name` is for messages. */
stet_result sti_shared_object_load(const void *bytes, size_t size, const char *name, sti_shared_object *out);
/* Zeroed is fine. Code from it must not run any more. */
void sti_shared_object_unload(sti_shared_object *object);
/* The address of a function; NULL: there is none of that name. */
void *sti_shared_object_find(const sti_shared_object *object, const char *symbol);

#endif
