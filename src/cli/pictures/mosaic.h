/*
 * A mosaic: one picture of an output in all worlds. A cell is a world with its cameras side by side; cells fill rows,
 * about square. Pixels are copied one to one; cells without a world are black.
 */
#ifndef STI_CLI_PICTURES_MOSAIC_H
#define STI_CLI_PICTURES_MOSAIC_H

#include "stet/stet.h"

typedef struct mosaic_layout {
    int64_t worlds; /* worlds that are shown: all, or as many as fit into a picture */
    int columns, rows;
    int width, height; /* pixels of the whole */
    bool numbered;     /* cells have a line around them and their world's number */
    int64_t first;     /* number of the first world */
    float depth[2];    /* from where to where colours of depths go, metres; both 0: as each picture's depths do */
} mosaic_layout;

/* cell_width: pixels of all cameras of a world together; height: of the highest. */
mosaic_layout mosaic_plan(int64_t nworld, int64_t cell_width, int height);

/* Channels of the picture of an output: 4 if it has transparency, else 3. */
int mosaic_channels(stet_output output);
/*
 * Copies an output of all cameras, one tensor [nworld][height][width][channels] per camera, into
 * [m->height][m->width][channels].
 */
void mosaic_fill(const mosaic_layout *m, const stet_sim *sim, stet_output output, const void *const *tensors,
                 uint8_t *pixels);
/* Draws lines and numbers over the cells of such a picture. */
void mosaic_number(const mosaic_layout *m, int channels, uint8_t *pixels);

#endif
