/* Tables of outputs (names, element types, the buffer of the renderer that holds their pixels) and of modes. */
#include "render/render.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    stet_dtype dtype;
    int channels;
} outputs[STET_OUTPUT_COUNT] = {
#define OUTPUT(id, name, dtype, channels, doc) {name, dtype, channels},
    STET_OUTPUTS(OUTPUT)
#undef OUTPUT
};

static bool known(stet_output output) { return (unsigned)output < STET_OUTPUT_COUNT; }
const char *stet_output_name(stet_output output) { return known(output) ? outputs[output].name : "unknown"; }
int stet_output_channels(stet_output output) { return known(output) ? outputs[output].channels : 0; }
stet_dtype stet_output_dtype(stet_output output) { return known(output) ? outputs[output].dtype : STET_DTYPE_COUNT; }

stet_result stet_output_find(const char *name, stet_output *out)
{
    if (!name || !out) return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_output_find: name and out must not be NULL");
    char list[256] = "";
    size_t used = 0;
    for (int i = 0; i < STET_OUTPUT_COUNT; ++i) {
        if (strcmp(name, outputs[i].name) == 0) {
            *out = (stet_output)i;
            return STET_OK;
        }
        int n = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", outputs[i].name);
        if (n > 0 && (size_t)n < sizeof list - used) used += (size_t)n;
    }
    return sti_error(STET_ERROR_NOT_FOUND, "output %s: there is none of this name; there are: %s", name, list);
}

static const char *const modes[STET_RENDER_MODE_COUNT] = {"mujoco", "physical"};

const char *stet_render_mode_name(stet_render_mode mode)
{
    return (unsigned)mode < STET_RENDER_MODE_COUNT ? modes[mode] : "unknown";
}

stet_result stet_render_mode_find(const char *name, stet_render_mode *out)
{
    if (!name || !out)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "stet_render_mode_find: name and out must not be NULL");
    for (int i = 0; i < STET_RENDER_MODE_COUNT; ++i) {
        if (strcmp(name, modes[i]) != 0) continue;
        *out = (stet_render_mode)i;
        return STET_OK;
    }
    return sti_error(STET_ERROR_NOT_FOUND, "mode %s: pictures have no such mode; use mujoco or physical", name);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* Of outputs: where their pixels are. */
static const sti_picture_buffer buffer_of[STET_OUTPUT_COUNT] = {
    [STET_OUTPUT_RGB] = STI_BUFFER_COLOUR,
    [STET_OUTPUT_RGBA] = STI_BUFFER_COLOUR,
    [STET_OUTPUT_DEPTH] = STI_BUFFER_DEPTH,
    [STET_OUTPUT_DISTANCE] = STI_BUFFER_DISTANCE,
    [STET_OUTPUT_NORMAL] = STI_BUFFER_NORMAL,
    [STET_OUTPUT_ALBEDO] = STI_BUFFER_ALBEDO,
    [STET_OUTPUT_SEG_GEOM] = STI_BUFFER_GEOM,
    [STET_OUTPUT_SEG_BODY] = STI_BUFFER_BODY,
    [STET_OUTPUT_SEG_TYPE] = STI_BUFFER_TYPE,
    [STET_OUTPUT_MOTION] = STI_BUFFER_MOTION,
    [STET_OUTPUT_BODY_POINT] = STI_BUFFER_BODY_POINT,
};

static const struct {
    stet_dtype dtype;
    int channels;
    unsigned needs;
} buffers[STI_BUFFER_COUNT] = {
#define BUFFER(name, dtype, channels, needs) {STET_DTYPE_##dtype, channels, needs},
    STI_BUFFERS(BUFFER)
#undef BUFFER
};

static bool is_buffer(sti_picture_buffer buffer) { return (unsigned)buffer < STI_BUFFER_COUNT; }

sti_picture_buffer sti_output_buffer(stet_output output)
{
    return known(output) ? buffer_of[output] : STI_BUFFER_COUNT;
}
stet_dtype sti_buffer_dtype(sti_picture_buffer b) { return is_buffer(b) ? buffers[b].dtype : STET_DTYPE_COUNT; }

int sti_buffer_channels(sti_picture_buffer b) { return is_buffer(b) ? buffers[b].channels : 1; }
unsigned sti_buffer_needs(sti_picture_buffer b) { return is_buffer(b) ? buffers[b].needs : 0; }
