/* See vfs.h. */
#include "model/vfs.h"

#include "base/error.h"
#include "model/guard.h"

#include <limits.h>

typedef struct adding {
    sti_vfs *vfs;
    const char *name;
    const void *bytes;
    int size, result;
} adding;

static void add(void *context)
{
    adding *a = context;
    if (!a->vfs->open) mj_defaultVFS(&a->vfs->files);
    a->vfs->open = true;
    a->result = mj_addBufferVFS(&a->vfs->files, a->name, a->bytes, a->size);
}

static void delete_files(void *context) { mj_deleteVFS(context); }

stet_result sti_vfs_add(sti_vfs *vfs, const char *what, const char *name, const void *bytes, int64_t size)
{
    if (!name || !name[0] || !bytes || size < 0 || size > INT_MAX)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: an asset wants a name, bytes, and a size up to %d bytes",
                         what, INT_MAX);
    adding a = {.vfs = vfs, .name = name, .bytes = bytes, .size = (int)size};
    char text[256] = "";
    bool good = sti_mujoco_guard(add, &a, text, sizeof text);
    if (good && a.result == 0) return STET_OK;
    return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: asset %.400s: %s", what, name,
                     good && a.result == 2 ? "another one has this name"
                     : text[0]             ? text
                                           : "MuJoCo could not take it into memory");
}

void sti_vfs_close(sti_vfs *vfs)
{
    if (vfs->open) (void)sti_mujoco_guard(delete_files, &vfs->files, NULL, 0);
    vfs->open = false;
}
