/*
 * Videos: frames are handed to ffmpeg as they come, which the user has installed.
 *
 *   VIDEO-1  a file with the video's name is complete: ffmpeg writes beside it, and it is renamed when ffmpeg has ended
 *            well (OUT-1, base/file.h)
 *   VIDEO-2  ffmpeg has ended, and was waited for, when video_close or video_drop returns; it gets no signal of the
 *            terminal, so that an interrupted run keeps the frames until then
 */
#ifndef STI_CLI_PICTURES_VIDEO_H
#define STI_CLI_PICTURES_VIDEO_H

#include "base/file.h"

#include <stdint.h>
#include <sys/types.h>

/* Each returns NULL, or an error text (report_error.h). */

/* Is the name's ending one of those that can be written? */
const char *video_check_name(const char *path);
/* Can ffmpeg be found? */
const char *video_check_program(void);

typedef struct video {
    sti_output out;
    char path[STI_FILE_PATH_SIZE]; /* as it was given */
    size_t frame_size;
    int64_t frames; /* written */
    pid_t child;    /* 0: not open */
    int in;         /* ffmpeg's standard input, a socket */
    FILE *said;     /* what ffmpeg says */
} video;

/* Pictures of `channels` (3: RGB, 4: RGBA) bytes a pixel, rows from the top; fps: frames a second. */
const char *video_open(video *v, const char *path, int width, int height, int channels, double fps);
const char *video_add(video *v, const uint8_t *pixels);
/* Without frames there is no file. */
const char *video_close(video *v);
/* Leaves no file. Does nothing if the video is not open. */
void video_drop(video *v);

#endif
