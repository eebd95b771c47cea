/* Textures as the kernel reads them: each with its mip levels (texture.k.h). */
#include "render/detail.h"

#include "render/scene.k.h"

#include <math.h>
#include <string.h>

/* MuJoCo's classic renderer draws these. */
bool sti_texture_drawn(const mjModel *m, int texture)
{
    return texture >= 0 && (m->tex_nchannel[texture] == 3 || m->tex_nchannel[texture] == 4) &&
           m->tex_width[texture] > 0 && m->tex_height[texture] > 0;
}

/* MuJoCo keeps the bytes of a KTX file as they are, as one channel. */
static bool is_ktx(const mjModel *m, int texture)
{
    static const unsigned char begin[] = {0xab, 'K', 'T', 'X', ' '};
    int64_t size = (int64_t)m->tex_nchannel[texture] * m->tex_width[texture] * m->tex_height[texture];
    return m->tex_nchannel[texture] == 1 && size > (int64_t)sizeof begin &&
           memcmp(m->tex_data + m->tex_adr[texture], begin, sizeof begin) == 0;
}

bool sti_texture_has_values(const mjModel *m, int texture)
{
    return texture >= 0 && m->tex_type[texture] == mjTEXTURE_2D && m->tex_width[texture] > 0 &&
           m->tex_height[texture] > 0 &&
           ((m->tex_nchannel[texture] == 1 && !is_ktx(m, texture)) || sti_texture_drawn(m, texture));
}

bool sti_texture_is_cube(const mjModel *m, int texture) { return m->tex_type[texture] != mjTEXTURE_2D; }

/* A cube's texture is one picture for all sides, or six, one below the other. */
static int count_faces(const mjModel *m, int texture)
{
    return sti_texture_is_cube(m, texture) && m->tex_height[texture] >= 6 * m->tex_width[texture] ? 6 : 1;
}

static int face_height(const mjModel *m, int texture)
{
    return sti_texture_is_cube(m, texture) ? m->tex_width[texture] : m->tex_height[texture];
}

static int level_size(int size, int level) { return size >> level > 0 ? size >> level : 1; }

static int count_levels(int width, int height)
{
    int n = 1;
    while ((width > height ? width : height) >> n > 0) ++n;
    return n;
}

int64_t sti_texture_size(const mjModel *m, int texture)
{
    int width = m->tex_width[texture], height = face_height(m, texture), nlevel = count_levels(width, height);
    int64_t n = TEXTURE_HEAD + LEVEL_SIZE * nlevel;
    for (int l = 0; l < nlevel; ++l)
        n += (int64_t)count_faces(m, texture) * level_size(width, l) * level_size(height, l);
    return n;
}

double sti_linear_of_srgb(double c) { return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4); }

/* Channel k of a texel, on a linear scale, and its bits for such a number. */
static double channel_of(int texel, int k, bool linear)
{
    double root = texel >> TEXEL_BITS * k & TEXEL_MOST;
    return linear ? root * root : texel >> 8 * k & 255;
}

static int bits_of(double channel, int k, bool linear)
{
    return linear ? (int)lrint(sqrt(channel)) << TEXEL_BITS * k : (int)lrint(channel) << 8 * k;
}

/*
 * OpenGL filters colours of an sRGB texture after they became linear, and MuJoCo does not turn them back. In mode
 * physical all bytes are sRGB: a texture that does not say so looks right where bytes are shown as they are.
 */
static void fill_first_level(const mjModel *m, int texture, int faces, sti_texels kind, int *texel)
{
    int channels = m->tex_nchannel[texture];
    bool linear = kind != STI_TEXELS_BYTES, srgb = kind == STI_TEXELS_LINEAR;
    if (!linear) srgb = m->tex_colorspace[texture] == mjCOLORSPACE_SRGB && !sti_texture_is_cube(m, texture);
    const double most = linear ? TEXEL_MOST * TEXEL_MOST : 255;
    int coded[3][256];
    for (int k = 0; k < 3; ++k)
        for (int c = 0; c < 256; ++c)
            coded[k][c] = bits_of(most * (srgb ? sti_linear_of_srgb(c / 255.0) : c / 255.0), k, linear);
    const mjtByte *from = m->tex_data + m->tex_adr[texture];
    int64_t n = (int64_t)faces * m->tex_width[texture] * face_height(m, texture);
    for (int64_t i = 0; i < n; ++i) {
        texel[i] = 0;
        for (int k = 0; k < 3; ++k) texel[i] |= coded[k][from[channels * i + (channels > 1 ? k : 0)]];
    }
}

/*
 * Texel (x, y) of the next level: what is in its middle, linear between texels. That is the mean of four where sizes
 * are even, and the middle one alone where they are odd, as Mesa has it: a line in the middle of a cube's face stays.
 */
static int halved_texel(const int *from, int width, int height, int x, int y, int to_width, int to_height, bool linear)
{
    double right = (x + 0.5) * width / to_width - 0.5, high = (y + 0.5) * height / to_height - 0.5;
    int left = (int)right, low = (int)high, texel = 0;
    right -= left;
    high -= low;
    for (int k = 0; k < 3; ++k) {
        double sum = 0;
        for (int c = 0; c < 4; ++c) {
            double part = (c & 1 ? right : 1 - right) * (c & 2 ? high : 1 - high);
            int at = (low + (c >> 1 && high > 0)) * width + left + (c & 1 && right > 0);
            sum += part * channel_of(from[at], k, linear);
        }
        texel |= bits_of(sum, k, linear);
    }
    return texel;
}

static void fill_next_level(const int *from, const int *level, int faces, bool linear, int *to)
{
    const int *next = level + LEVEL_SIZE;
    int width = level[LEVEL_WIDTH], height = level[LEVEL_HEIGHT];
    for (int f = 0; f < faces; ++f)
        for (int y = 0; y < next[LEVEL_HEIGHT]; ++y)
            for (int x = 0; x < next[LEVEL_WIDTH]; ++x)
                *to++ = halved_texel(from + (int64_t)f * width * height, width, height, x, y, next[LEVEL_WIDTH],
                                     next[LEVEL_HEIGHT], linear);
}

void sti_texture_fill(const mjModel *m, int texture, sti_texels kind, int *scene, int at)
{
    bool linear = kind != STI_TEXELS_BYTES;
    int width = m->tex_width[texture], height = face_height(m, texture), faces = count_faces(m, texture);
    int *head = scene + at, nlevel = count_levels(width, height), first = at + TEXTURE_HEAD + LEVEL_SIZE * nlevel;
    head[TEXTURE_LEVELS] = nlevel;
    head[TEXTURE_REPEAT] = !sti_texture_is_cube(m, texture);
    head[TEXTURE_CUBE] = faces == 6;
    for (int l = 0; l < nlevel; ++l) {
        int *level = head + TEXTURE_HEAD + (ptrdiff_t)LEVEL_SIZE * l;
        level[LEVEL_FIRST] = first;
        level[LEVEL_WIDTH] = level_size(width, l);
        level[LEVEL_HEIGHT] = level_size(height, l);
        if (l == 0)
            fill_first_level(m, texture, faces, kind, scene + first);
        else
            fill_next_level(scene + level[LEVEL_FIRST - LEVEL_SIZE], level - LEVEL_SIZE, faces, linear, scene + first);
        first += faces * level[LEVEL_WIDTH] * level[LEVEL_HEIGHT];
    }
}
