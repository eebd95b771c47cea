/* Files in memory that MuJoCo finds by their names, before it looks on the disk. */
#ifndef STI_MODEL_VFS_H
#define STI_MODEL_VFS_H

#include "stet/base.h"

#include <mujoco/mujoco.h>

#include <stdbool.h>

/* A zeroed struct has no files. */
typedef struct sti_vfs {
    mjVFS files;
    bool open;
} sti_vfs;

/* Copies a file. `what` names the model. INVALID_ARGUMENT: no name, no bytes, or a name that another file has. */
stet_result sti_vfs_add(sti_vfs *vfs, const char *what, const char *name, const void *bytes, int64_t size);
void sti_vfs_close(sti_vfs *vfs);
/* For MuJoCo; NULL: there are no files. */
static inline mjVFS *sti_vfs_files(sti_vfs *vfs) { return vfs->open ? &vfs->files : NULL; }

#endif
