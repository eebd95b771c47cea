/* See colour.h. */
#include "cli/colour.h"

#include <math.h>
#include <string.h>

static uint8_t byte(double x) { return (uint8_t)(x <= 0 ? 0 : x >= 1 ? 255 : x * 255 + 0.5); }

void colour_depth(float depth, float lo, float hi, uint8_t rgb[3])
{
    /* Points of a ramp with evenly decreasing lightness: straw, orange, rose, violet, night blue. */
    static const double ramp[5][3] = {
        {0.99, 0.95, 0.74}, {0.98, 0.66, 0.42}, {0.82, 0.33, 0.45}, {0.43, 0.18, 0.50}, {0.09, 0.08, 0.26}};
    memset(rgb, 0, 3);
    if (!isfinite(depth)) return;
    double near = 1 / fmax((double)lo, 1e-6), far = 1 / fmax((double)hi, 1e-6), here = 1 / fmax((double)depth, 1e-6);
    double x = near > far ? (near - here) / (near - far) : 0;
    x = (x < 0 ? 0 : x > 1 ? 1 : x) * 4;
    int k = x >= 4 ? 3 : (int)x;
    for (int c = 0; c < 3; ++c) rgb[c] = byte(ramp[k][c] + (x - k) * (ramp[k + 1][c] - ramp[k][c]));
}

void colour_id(int32_t id, uint8_t rgb[3])
{
    memset(rgb, 0, 3);
    if (id < 0) return;
    if (id == 0) { /* the world body, mostly floors: an unobtrusive colour */
        rgb[0] = 74;
        rgb[1] = 78;
        rgb[2] = 86;
        return;
    }
    /* Multiples of the golden angle give distinct hues; three steps of lightness separate later turns. */
    double hue = fmod(id * 0.6180339887498949, 1.0) * 6, light = 0.55 + 0.15 * (id / 7 % 3);
    for (int c = 0; c < 3; ++c) {
        double d = fabs(fmod(hue + 4.0 - 2.0 * c + 6.0, 6.0) - 3.0) - 1.0;
        d = d < 0 ? 0 : d > 1 ? 1 : d;
        rgb[c] = byte(light * (0.25 + 0.75 * d));
    }
}

void colour_normal(const float n[3], uint8_t rgb[3])
{
    memset(rgb, 0, 3);
    if (n[0] == 0 && n[1] == 0 && n[2] == 0) return;
    for (int c = 0; c < 3; ++c) rgb[c] = byte(0.5 + 0.5 * (double)n[c]);
}
