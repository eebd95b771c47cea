/*
 * Records fields of the state after each frame, one .npy file per field, [frames][nworld][n] in float32. For a run in
 * rounds [rounds][frames][nworld][n] in temporary files, which become part of rounds.npz.
 */
#ifndef STI_CLI_RUN_RECORD_H
#define STI_CLI_RUN_RECORD_H

#include "cli/files/folder.h"
#include "cli/files/whole.h"
#include "cli/options/options.h"

typedef struct recorder {
    int count;
    int64_t frames; /* appended by now */
    int64_t each;   /* frames per row of the files: 1, or those of a round */
    stet_array *field[OPTIONS_MAX_NAMES];
    whole_file *file[OPTIONS_MAX_NAMES];
    stet_group *group; /* borrowed; NULL: one process */
} recorder;

/*
 * Each returns NULL, or an error text. Always call record_close or record_drop. After record_close the files are
 * complete for the frames (rounds) that were appended to all of them.
 */
const char *record_open(recorder *r, const run_options *options, stet_sim *sim, stet_group *group, file_list *files);
const char *record_frame(recorder *r);
const char *record_close(recorder *r);
/* Leaves no files. */
void record_drop(recorder *r);

#endif
