/* The pictures that a run writes: mosaics as PNG, the tensors of the last frame as .npy. */
#ifndef STI_CLI_PICTURES_OUTPUT_H
#define STI_CLI_PICTURES_OUTPUT_H

#include "cli/files/folder.h"
#include "stet/stet.h"

/* Each returns NULL, or an error text (report_error.h). */

/* mosaic-<output>.png of each output, or mosaic-<output>-<number>.png if number > 0. *shown: worlds in them. */
const char *output_mosaics(stet_sim *sim, int64_t frame, const char *folder, int64_t number, file_list *files,
                           int64_t *shown);
/* <output>.npy, or <output>-<camera>.npy where there are several: [nworld][height][width][channels]. */
const char *output_tensors(stet_sim *sim, int64_t frame, const char *folder, file_list *files);

/* Returns -1 to continue. */
typedef int output_visit(void *context, const char *path);
/*
 * Visits the names of the files that those two write; with a number, of mosaics alone. Returns a visit's result, or -1.
 */
int output_files(stet_sim *sim, const char *folder, int64_t number, output_visit *visit, void *context);

#endif
