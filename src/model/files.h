/*
 * The files that a model's text names: included files, meshes, textures and so on. They are the values of attributes
 * whose names begin with "file". Each is searched in every folder that the text or its location can mean, so a file
 * that is found may be one that MuJoCo does not read.
 */
#ifndef STI_MODEL_FILES_H
#define STI_MODEL_FILES_H

#include <stdbool.h>

#include <sys/stat.h>

/* Called for each file. Returning false stops the search. `path` is valid until the function returns. */
typedef bool sti_model_file_visit(void *context, const char *path, const struct stat *about);
/*
 * Visits the model's own file and all files it names that exist, of any kind but folders. Returns false if a visit
 * stopped the search.
 */
bool sti_model_files(const char *path, sti_model_file_visit *visit, void *context);

/* The content of a plain file up to 256 MiB with a 0 behind it, to be freed by free(); NULL: it cannot be read. */
char *sti_model_read_text(const char *path);

#endif
