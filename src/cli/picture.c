/* See picture.h. */
#include "cli/picture.h"

#include "base/file.h"

#include <png.h>
#include <stdio.h>

const char *picture_write(const char *path, int width, int height, int channels, const uint8_t *pixels)
{
    static _Thread_local char message[4500];
    png_image image = {
        .version = PNG_IMAGE_VERSION,
        .width = (png_uint_32)width,
        .height = (png_uint_32)height,
        .format = channels == 4 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB,
    };
    sti_output out;
    const char *wrong = sti_output_open(&out, path);
    if (!wrong && png_image_write_to_stdio(&image, out.file, 0, pixels, 0, NULL))
        wrong = sti_output_commit(&out);
    else if (!wrong)
        sti_output_drop(&out), wrong = image.message;
    if (!wrong) return NULL;
    snprintf(message, sizeof message, "%s: the picture could not be written: %s", path, wrong);
    return message;
}
