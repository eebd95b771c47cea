/* See mosaic.h. */
#include "cli/pictures/mosaic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 65500 }; /* pixels of a side that every PNG reader accepts */
/* and of the whole picture, so that libpng's 32-bit sizes hold them */
static const int64_t most_pixels = INT64_C(1) << 29;

mosaic_layout mosaic_plan(int64_t nworld, int64_t cell_width, int height)
{
    int64_t most_columns = SIDE / cell_width, most_rows = SIDE / height;
    if (most_columns < 1) most_columns = 1;
    int64_t fit = most_pixels / (cell_width * height);
    if (fit < 1) fit = 1;
    mosaic_layout m = {.worlds = nworld < fit ? nworld : fit};
    int64_t columns = (int64_t)ceil(sqrt((double)m.worlds * height / (double)cell_width));
    columns = columns < 1 ? 1 : columns > most_columns ? most_columns : columns;
    int64_t rows = (m.worlds + columns - 1) / columns;
    if (rows > most_rows) rows = most_rows;
    if (m.worlds > rows * columns) m.worlds = rows * columns;
    columns = (m.worlds + rows - 1) / rows; /* no empty column */
    m.columns = (int)columns;
    m.rows = (int)rows;
    m.width = (int)(columns * cell_width);
    m.height = (int)rows * height;
    return m;
}

int mosaic_channels(stet_output output) { return output == STET_OUTPUT_RGBA ? 4 : 3; }

/* ---- colours ----------------------------------------------------------------------------------------------------- */

static uint8_t byte(double x) { return (uint8_t)(x <= 0 ? 0 : x >= 1 ? 255 : x * 255 + 0.5); }

/* Components of a unit vector from -1 … 1 to 0 … 255; the zero vector (nothing hit) is black. */
static void colour_normal(const float n[3], uint8_t rgb[3])
{
    memset(rgb, 0, 3);
    if (n[0] == 0 && n[1] == 0 && n[2] == 0) return;
    for (int c = 0; c < 3; ++c) rgb[c] = byte(0.5 + 0.5 * (double)n[c]);
}

/* Motion from -most … most to red (right) and green (down); what stands is grey. most > 0. */
static void colour_motion(const float step[2], float most, uint8_t rgb[3])
{
    for (int c = 0; c < 2; ++c) rgb[c] = byte(0.5 + 0.5 * (double)step[c] / (double)most);
    rgb[2] = 128;
}

/* Coordinates from -most … most to 0 … 255; black where nothing was hit. */
static void colour_point(const float point[3], float most, uint8_t rgb[3])
{
    for (int c = 0; c < 3; ++c) rgb[c] = isfinite(point[c]) ? byte(0.5 + 0.5 * (double)point[c] / (double)most) : 0;
}

/* ---- pixels ------------------------------------------------------------------------------------------------------ */

static bool is_depth(stet_output output) { return output == STET_OUTPUT_DEPTH || output == STET_OUTPUT_DISTANCE; }

/* The largest finite absolute value; 1 if there is none but 0. */
static float largest(const float *tensor, int64_t count)
{
    float most = 0;
    for (int64_t i = 0; i < count; ++i)
        if (isfinite(tensor[i]) && fabsf(tensor[i]) > most) most = fabsf(tensor[i]);
    return most > 0 ? most : 1;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/*
 * The range of a camera's depths that the colours span: from the 5th to the 95th percentile of a sample of up to 65536
 * finite depths. So neither a far floor nor a surface at the lens takes up most of the ramp.
 */
static void depth_range(const float *tensor, int64_t count, float range[2])
{
    enum { SAMPLES = 65536 };
    float *sample = malloc(SAMPLES * sizeof *sample);
    int64_t every = count / SAMPLES + 1, n = 0;
    range[0] = 0;
    range[1] = 1;
    if (!sample) return;
    for (int64_t i = 0; i < count; i += every)
        if (isfinite(tensor[i])) sample[n++] = tensor[i];
    if (n > 0) {
        qsort(sample, (size_t)n, sizeof *sample, by_value);
        range[0] = sample[(n - 1) * 5 / 100];
        range[1] = sample[(n - 1) * 95 / 100];
        if (range[1] <= range[0]) range[1] = 2 * range[0] + 1;
    }
    free(sample);
}

/* One row of pixels of one world's picture. */
static void fill_row(stet_output output, const void *tensor, int64_t first, int64_t n, const float range[2],
                     uint8_t *to)
{
    int channels = stet_output_channels(output), shown = mosaic_channels(output);
    if (stet_output_dtype(output) == STET_DTYPE_U8) {
        const uint8_t *from = (const uint8_t *)tensor + first * channels;
        for (int64_t x = 0; x < n; ++x) memcpy(to + x * shown, from + x * channels, (size_t)shown);
    } else if (output == STET_OUTPUT_NORMAL) {
        for (int64_t x = 0; x < n; ++x) colour_normal((const float *)tensor + (first + x) * 3, to + x * 3);
    } else if (output == STET_OUTPUT_MOTION) {
        for (int64_t x = 0; x < n; ++x) colour_motion((const float *)tensor + (first + x) * 2, range[1], to + x * 3);
    } else if (output == STET_OUTPUT_BODY_POINT) {
        for (int64_t x = 0; x < n; ++x) colour_point((const float *)tensor + (first + x) * 3, range[1], to + x * 3);
    } else if (is_depth(output)) {
        for (int64_t x = 0; x < n; ++x)
            stet_depth_colour(((const float *)tensor)[first + x], range[0], range[1], to + x * 3);
    } else {
        for (int64_t x = 0; x < n; ++x) stet_id_colour(((const int32_t *)tensor)[first + x], to + x * 3);
    }
}

void mosaic_fill(const mosaic_layout *m, const stet_sim *sim, stet_output output, const void *const *tensors,
                 uint8_t *pixels)
{
    int ncamera = stet_sim_get_ncamera(sim), shown = mosaic_channels(output), left = 0;
    memset(pixels, 0, (size_t)m->width * (size_t)m->height * (size_t)shown);
    for (int c = 0; c < ncamera; ++c) {
        int width = stet_sim_get_camera(sim, c)->width, height = stet_sim_get_camera(sim, c)->height;
        float range[2] = {0, 1};
        int64_t npixel = m->worlds * height * width;
        if (is_depth(output) && m->depth[0] < m->depth[1])
            memcpy(range, m->depth, sizeof range);
        else if (is_depth(output))
            depth_range(tensors[c], npixel, range);
        if (output == STET_OUTPUT_MOTION || output == STET_OUTPUT_BODY_POINT)
            range[1] = largest(tensors[c], npixel * stet_output_channels(output));
        for (int64_t w = 0; w < m->worlds; ++w)
            for (int y = 0; y < height; ++y) {
                int64_t row = w / m->columns * (m->height / m->rows) + y;
                int64_t column = w % m->columns * (m->width / m->columns) + left;
                fill_row(output, tensors[c], (w * height + y) * width, width, range,
                         pixels + (row * m->width + column) * shown);
            }
        left += width;
    }
}

/* ---- lines and numbers ------------------------------------------------------------------------------------------- */

typedef struct picture_cell {
    uint8_t *pixels; /* its first */
    int64_t pitch;   /* bytes of a row of the whole picture */
    int width, height, channels;
} picture_cell;

/* A rectangle of a cell, as far as it lies in it. */
static void fill_box(const picture_cell *cell, int x, int y, int width, int height, int light)
{
    for (int j = y; j < y + height && j < cell->height; ++j)
        for (int i = x; i < x + width && i < cell->width; ++i) {
            uint8_t *pixel = cell->pixels + j * cell->pitch + (ptrdiff_t)i * cell->channels;
            memset(pixel, light, 3);
            if (cell->channels == 4) pixel[3] = 255;
        }
}

/* A number in a dark box, of digits of 3 x 5 points. */
static void draw_number(const picture_cell *cell, int64_t number)
{
    static const uint16_t digits[10] = {0x7b6f, 0x2c97, 0x73e7, 0x73cf, 0x5bc9, 0x79cf, 0x79ef, 0x7249, 0x7bef, 0x7bcf};
    char text[24];
    int n = snprintf(text, sizeof text, "%lld", (long long)number), point = cell->height / 80 + 1;
    fill_box(cell, 0, 0, (4 * n + 1) * point + 1, 7 * point + 1, 32);
    for (int k = 0; k < n; ++k)
        for (int i = 0; i < 15; ++i)
            if (digits[text[k] - '0'] >> (14 - i) & 1)
                fill_box(cell, (4 * k + 1 + i % 3) * point + 1, (1 + i / 3) * point + 1, point, point, 255);
}

void mosaic_number(const mosaic_layout *m, int channels, uint8_t *pixels)
{
    picture_cell cell = {NULL, (int64_t)m->width * channels, m->width / m->columns, m->height / m->rows, channels};
    for (int64_t w = 0; w < m->worlds; ++w) {
        cell.pixels = pixels + w / m->columns * cell.height * cell.pitch + w % m->columns * cell.width * channels;
        draw_number(&cell, m->first + w);
        fill_box(&cell, 0, 0, cell.width, 1, 128);
        fill_box(&cell, 0, 0, 1, cell.height, 128);
    }
}
