/* The pictures that a run writes: mosaics as PNG, the tensors of the last frame as .npy. */
#ifndef STI_CLI_PICTURES_OUTPUT_H
#define STI_CLI_PICTURES_OUTPUT_H

#include "cli/files/folder.h"
#include "cli/files/whole.h"
#include "cli/pictures/mosaic.h"
#include "stet/stet.h"

#include <limits.h>

/*
 * Each returns NULL, or an error text (report_error.h). With a group all its processes call them, what is written has
 * the worlds of all, and one process writes (whole.h).
 */

/* How the worlds lie in a mosaic. */
mosaic_layout output_layout(stet_sim *sim, const stet_group *group);
/*
 * A frame's mosaic of an output, with mosaic_channels(output) bytes a pixel; the caller frees *pixels with free().
 * NULL: another process has it.
 */
const char *output_pixels(stet_sim *sim, stet_group *group, int64_t frame, stet_output output, const mosaic_layout *m,
                          uint8_t **pixels);
/* mosaic-<output>.png of each output, or mosaic-<output>-<number>.png if number > 0. */
const char *output_mosaics(stet_sim *sim, stet_group *group, int64_t frame, const mosaic_layout *m, const char *folder,
                           int64_t number, file_list *files);
/*
 * <output>.npy, or <output>-<camera>.npy where there are several: [nworld][height][width][channels]; with those of ids
 * ids-<output>.csv, the names of ids and their colours in mosaics.
 */
const char *output_tensors(stet_sim *sim, stet_group *group, int64_t frame, const char *folder, file_list *files);

/*
 * The name of a file with tensors of an output; false: it is too long. `prefix` is put before the output's name.
 */
bool output_tensor_path(const stet_sim *sim, int camera, stet_output output, const char *folder, const char *prefix,
                        char path[PATH_MAX]);
/* NumPy's type of an output's tensor (npy.h). */
const char *output_descr(stet_output output);

/* Returns -1 to continue. */
typedef int output_visit(void *context, const char *path);
/*
 * Visits the names of the files that those two write; with a number, of mosaics alone. Returns a visit's result, or -1.
 */
int output_files(stet_sim *sim, const char *folder, int64_t number, output_visit *visit, void *context);
/* The same for the files of --save-tensors (tensor_frames.h). */
int output_frame_files(stet_sim *sim, const char *folder, output_visit *visit, void *context);

#endif
