/*
 * Tensors of many frames: of each output of each camera a file frames-<output>.npy (or frames-<output>-<camera>.npy)
 * [frames][nworld][height][width][channels], which is written frame by frame; or all of them, as arrays
 * <output>:<camera>, in frames.npz, into which these files go at the end.
 */
#ifndef STI_CLI_PICTURES_TENSOR_FRAMES_H
#define STI_CLI_PICTURES_TENSOR_FRAMES_H

#include "cli/files/folder.h"
#include "cli/files/whole.h"
#include "stet/stet.h"

typedef struct tensor_frames {
    whole_file *file; /* camera by camera of each output */
    int count;
    int64_t frames; /* written */
    bool one_file;
    stet_group *group; /* borrowed; NULL: one process */
} tensor_frames;

/* Each returns NULL, or an error text (report_error.h). After a failure and tensor_frames_drop there are no files. */

/* frames: how many are expected. */
const char *tensor_frames_open(tensor_frames *t, stet_sim *sim, stet_group *group, const char *folder, int64_t frames,
                               bool one_file, file_list *files);
const char *tensor_frames_add(tensor_frames *t, stet_sim *sim, int64_t frame);
/* The files hold the frames that were added, also if more were expected. */
const char *tensor_frames_close(tensor_frames *t);
/* After it, where one file is wanted: that file. Of the process that writes alone. */
const char *tensor_frames_pack(tensor_frames *t, const stet_sim *sim, const char *folder, file_list *files);
/* Removes files that are still open. */
void tensor_frames_drop(tensor_frames *t);

#endif
