/*
 * Files that URDF names as ROS does: "package://NAME/PATH" is PATH in the folder of a package, "file:///PATH" a path.
 * MuJoCo knows neither: it drops the folders of a name, and takes files of one name for one mesh.
 */
#ifndef STI_MODEL_PACKAGES_H
#define STI_MODEL_PACKAGES_H

#include "stet/base.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Where packages are looked for, in this order: in `folder` (a package's own folder, or one that holds packages), of
 * the environment in those of ROS_PACKAGE_PATH and in share/ of those of AMENT_PREFIX_PATH, and in the folders above
 * the model's file, `beside`, which may be one of the package's.
 */
typedef struct sti_package_path {
    const char *const *folder;
    int nfolder;
    const char *beside; /* NULL: the model has no file */
} sti_package_path;

/* Is it such a name? If so, and if the file exists, `out` (of `size` bytes) gets its path, else "". */
bool sti_package_find(const sti_package_path *path, const char *name, size_t length, char *out, size_t size);

/* A text in which each such name is replaced by a plain one that no other file has. */
typedef struct sti_package_text {
    char *text; /* NULL: the text names no such file that exists */
    struct sti_package_file {
        char *name, *uri, *path; /* the plain one, as the text had it, where it is */
    } * file;
    int count;
    char missing[256]; /* the first name whose file was not found, "": all were */
} sti_package_text;

stet_result sti_package_text_make(const sti_package_path *path, const char *text, sti_package_text *out);
void sti_package_text_free(sti_package_text *text);

#endif
