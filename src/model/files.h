/*
 * The files that a model's text names: what it includes, meshes, textures and so on. They are found by attributes whose
 * names begin with "file", tried in each folder that the text or its place can mean: one that is
 * found may be one that MuJoCo does not read.
 */
#ifndef STI_MODEL_FILES_H
#define STI_MODEL_FILES_H

#include <stdbool.h>

#include <sys/stat.h>

/* False: that is enough. `path` is borrowed until the return. */
typedef bool sti_model_file_visit(void *context, const char *path, const struct stat *about);
/*
 * Visits the model's own file and all others that are there, whatever they are (folders are left out). False: a visit
 * said so.
 */
bool sti_model_files(const char *path, sti_model_file_visit *visit, void *context);

#endif
