/*
 * Loads compiled code from memory; see shared_object.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "kernel/compile/shared_object.h"

#include "kernel/compile/text_buffer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Makes an unnamed file in memory whose content cannot be changed any more. */
static stet_result sealed_file(const void *bytes, size_t size, const char *name, int *fd)
{
    *fd = memfd_create("stet-kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*fd >= 0 && sti_write_all(*fd, bytes, size) &&
        fcntl(*fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return STET_OK;
    stet_result result = sti_error(STET_ERROR_IO, "kernel %s: no memory file for its code: %s", name, strerror(errno));
    if (*fd >= 0) close(*fd);
    return result;
}

stet_result sti_shared_object_load(const void *bytes, size_t size, const char *name, sti_shared_object *out)
{
    char path[64];
    memset(out, 0, sizeof *out);
    STI_TRY(sealed_file(bytes, size, name, &out->file));
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", out->file);
    out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (out->handle) return STET_OK;
    const char *why = dlerror();
    (void)sti_error(STET_ERROR_IO, "kernel %s: its compiled code cannot be loaded: %s", name,
                    why ? why : "no reason given");
    close(out->file);
    memset(out, 0, sizeof *out);
    return STET_ERROR_IO;
}

void sti_shared_object_unload(sti_shared_object *object)
{
    if (object->handle) {
        dlclose(object->handle);
        close(object->file);
    }
    memset(object, 0, sizeof *object);
}

void *sti_shared_object_find(const sti_shared_object *object, const char *symbol)
{
    return dlsym(object->handle, symbol);
}
