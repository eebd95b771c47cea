/* Depths of pixels turned into colours, on the device and on the host, with the same bits. */
#include "device/array.h"
#include "kernel/record/launch.h"
#include "stet/tiles.h"
#include "tiles/depth_ramp.h"

#include <math.h>
#include <string.h>

extern const sti_kernel sti_k_colour_depths;

/* The kernel's `near` and `steps`. False: this is no range. */
static bool ramp_of(float near, float far, float *first, float *steps)
{
    if (!(near >= 0 && near < far && isfinite(far))) return false;
    float least = (float)STI_DEPTH_LEAST, last = 1 / fmaxf(far, least);
    *first = 1 / fmaxf(near, least);
    *steps = *first > last ? STI_RAMP_PIECES / (*first - last) : 0;
    return true;
}

static uint8_t ramp_byte(float x, const float point[STI_RAMP_PIECES + 1])
{
    float c = point[0];
    for (int k = 0; k < STI_RAMP_PIECES; ++k) c = fmaf(fminf(fmaxf(x - (float)k, 0), 1), point[k + 1] - point[k], c);
    return (uint8_t)fmaf(c, 255, 0.5f);
}

void stet_depth_colour(float depth, float near, float far, uint8_t colour[3])
{
    static const float ramp[3][STI_RAMP_PIECES + 1] = {{STI_RAMP_RED}, {STI_RAMP_GREEN}, {STI_RAMP_BLUE}};
    float first, steps;
    if (!colour) return;
    memset(colour, 0, 3);
    if (!isfinite(depth) || !ramp_of(near, far, &first, &steps)) return;
    float x = (first - 1 / fmaxf(depth, (float)STI_DEPTH_LEAST)) * steps;
    for (int c = 0; c < 3; ++c) colour[c] = ramp_byte(x, ramp[c]);
}

stet_result stet_depth_colours(const stet_array *depth, float near, float far, stet_array *colours)
{
    static const char call[] = "stet_depth_colours";
    float first, steps;
    if (!depth || !colours)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: depth and colours must not be NULL", call);
    if (depth->device != colours->device)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: arrays %s and %s are on different devices", call,
                         depth->name, colours->name);
    if (depth->dtype != STET_DTYPE_REAL || depth->worlds || colours->dtype != STET_DTYPE_U8 || colours->worlds)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: array %s must be a plain one of real, %s one of u8", call,
                         depth->name, colours->name);
    if (!ramp_of(near, far, &first, &steps))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: depths from %g to %g; give 0 <= near < far, in metres", call,
                         (double)near, (double)far);
    int64_t n = stet_array_get_nelement(depth), channels = n ? stet_array_get_nelement(colours) / n : 0;
    int64_t nblock = (n + STI_DEPTHS_BLOCK - 1) / STI_DEPTHS_BLOCK;
    if ((channels != 3 && channels != 4) || channels * n != stet_array_get_nelement(colours))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "%s: array %s must have 3 or 4 bytes for each of %lld depths",
                         call, colours->name, (long long)n);
    if (nblock > INT32_MAX) return sti_error(STET_ERROR_LIMIT, "%s: %lld depths are too many", call, (long long)n);
    return STI_LAUNCH(sti_k_colour_depths, depth->device, nblock, sti_arg_array(depth), sti_arg_real((double)first),
                      sti_arg_real((double)steps), sti_arg_int(n), sti_arg_int(channels), sti_arg_array(colours));
}
