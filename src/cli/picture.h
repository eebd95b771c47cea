/* Writes pictures with libpng. */
#ifndef STI_CLI_PICTURE_H
#define STI_CLI_PICTURE_H

#include <stdint.h>

/*
 * 8-bit RGB (channels 3) or RGBA (4), rows from the top. Returns NULL, or an error message (borrowed until the next
 * call).
 */
const char *picture_write(const char *path, int width, int height, int channels, const uint8_t *pixels);

#endif
