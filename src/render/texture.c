/* What the appearance uses of textures: mean colours, and the sky by elevation. */
#include "render/appearance.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 128 }; /* most texels that are sampled along an edge */

/* Colour of a texel; 0 … 1 a channel. A texture of one channel is grey. */
static void texel(const mjModel *m, int texture, int row, int column, double rgb[3])
{
    int channels = m->tex_nchannel[texture], width = m->tex_width[texture];
    const mjtByte *p = m->tex_data + m->tex_adr[texture] + ((int64_t)row * width + column) * channels;
    for (int k = 0; k < 3; ++k) rgb[k] = p[channels >= 3 ? k : 0] / 255.0;
}

void sti_texture_mean(const mjModel *m, int texture, double rgb[3])
{
    int width = m->tex_width[texture], height = m->tex_height[texture], n = 0;
    int across = 1 + (width - 1) / SAMPLES, down = 1 + (height - 1) / (6 * SAMPLES);
    double sum[3] = {0, 0, 0}, c[3];
    for (int row = 0; row < height; row += down) {
        for (int column = 0; column < width; column += across, ++n) {
            texel(m, texture, row, column, c);
            for (int k = 0; k < 3; ++k) sum[k] += c[k];
        }
    }
    for (int k = 0; k < 3; ++k) rgb[k] = n ? sum[k] / n : 1;
}

/* Sine of the elevation of a texel of a cube; faces: right, left, up, down, front, back; s, t from -1 to 1. */
static double elevation(int face, double s, double t)
{
    double len = sqrt(1 + s * s + t * t);
    return face == 2 ? 1 / len : face == 3 ? -1 / len : t / len;
}

/* Adds a texel to the two nearest of n colours, by distance. */
static void splat_colour(double z, const double c[3], int n, double *rgb, double *weight)
{
    double f = (z * 0.5 + 0.5) * (n - 1);
    int i = f < n - 2 ? (int)f : n - 2;
    for (int side = 0; side < 2; ++side) {
        double w = side ? f - i : 1 - (f - i);
        weight[i + side] += w;
        for (int k = 0; k < 3; ++k) rgb[3 * (i + side) + k] += w * c[k];
    }
}

static void add_face(const mjModel *m, int texture, int face, int n, double *rgb, double *weight)
{
    int size = m->tex_width[texture], step = 1 + (size - 1) / SAMPLES;
    int first = m->tex_height[texture] >= 6 * size ? face * size : 0; /* one image is used for all six faces */
    for (int row = 0; row < size; row += step) {
        for (int column = 0; column < size; column += step) {
            double c[3], s = (2 * column + 1.0) / size - 1, t = 1 - (2 * row + 1.0) / size;
            texel(m, texture, first + row, column, c);
            splat_colour(elevation(face, s, t), c, n, rgb, weight);
        }
    }
}

bool sti_sky_colours(const mjModel *m, int n, double *rgb)
{
    int texture = 0;
    while (texture < (int)m->ntex && m->tex_type[texture] != mjTEXTURE_SKYBOX) ++texture;
    if (texture == (int)m->ntex || m->tex_height[texture] < m->tex_width[texture] || n < 2 || n > 256) return false;
    double weight[256];
    memset(weight, 0, sizeof weight);
    memset(rgb, 0, sizeof *rgb * 3 * (size_t)n);
    for (int face = 0; face < 6; ++face) add_face(m, texture, face, n, rgb, weight);
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < 3; ++k) rgb[3 * i + k] = weight[i] > 0 ? rgb[3 * i + k] / weight[i] : 0;
    for (ptrdiff_t i = 1; i < n; ++i) /* the poles of a coarse texture may lie between its texels */
        if (weight[i] == 0) memcpy(&rgb[3 * i], &rgb[3 * (i - 1)], 3 * sizeof *rgb);
    for (ptrdiff_t i = n - 1; i-- > 0;)
        if (weight[i] == 0) memcpy(&rgb[3 * i], &rgb[3 * (i + 1)], 3 * sizeof *rgb);
    return true;
}
