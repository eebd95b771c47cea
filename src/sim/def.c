/* Definitions of sims: defaults, and all checks that can be made before anything is created. */
#include "sim/sim.h"

#include "base/memory.h"
#include "base/plural.h"
#include "model/model.h"
#include "render/render.h"

enum { SIM_COOKIE = 0x57e75101, DEFAULT_SIZE = 128, MAX_SIZE = 16384, MAX_IN_FLIGHT = 16 };

stet_sim_def stet_default_sim_def(void)
{
    return (stet_sim_def){.cookie = SIM_COOKIE,
                          .device = stet_default_device_def(),
                          .nworld = 1,
                          .physics = STET_PHYSICS_AUTO,
                          .keyframe = -2,
                          .samples = 1,
                          .frames_in_flight = 2,
                          .groups = STET_GROUPS_DEFAULT};
}

/* ---- checks ------------------------------------------------------------------------------------------------------ */

static stet_result check_size(int pixels, const char *side)
{
    if (pixels < 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "sim: %s is %d pixels; give 1 to %d, or 0 for %d", side, pixels,
                         MAX_SIZE, DEFAULT_SIZE);
    if (pixels > MAX_SIZE)
        return sti_error(STET_ERROR_LIMIT, "sim: %s is %d pixels; at most %d are possible", side, pixels, MAX_SIZE);
    return STET_OK;
}

static stet_result check_frames(const stet_sim_def *def)
{
    STI_TRY(check_size(def->width, "width"));
    STI_TRY(check_size(def->height, "height"));
    if (def->nsize < 0 || (def->nsize > 0) != (def->sizes != NULL))
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "sim: %d size%s, and %s list of them; give both, or neither",
                         def->nsize, STI_S(def->nsize), def->sizes ? "a" : "no");
    for (int c = 0; c < def->nsize; ++c) {
        STI_TRY(check_size(def->sizes[c][0], "width"));
        STI_TRY(check_size(def->sizes[c][1], "height"));
    }
    if (def->nfisheye < 0 || (def->nfisheye > 0) != (def->fisheyes != NULL))
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "sim: %d angle%s of fisheyes, and %s list of them; give both, or neither", def->nfisheye,
                         STI_S(def->nfisheye), def->fisheyes ? "a" : "no");
    for (int c = 0; c < def->nfisheye; ++c)
        if (!(def->fisheyes[c] >= 0 && def->fisheyes[c] <= 360))
            return sti_error(STET_ERROR_INVALID_ARGUMENT,
                             "sim: a fisheye of %g degrees; give more than 0 and at most 360, or 0 for none",
                             (double)def->fisheyes[c]);
    if (def->outputs >> STET_OUTPUT_COUNT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "sim: outputs 0x%x has bits beyond the %d outputs; use 1u << STET_OUTPUT_x",
                         (unsigned)def->outputs, STET_OUTPUT_COUNT);
    if (def->groups & ~STET_GROUPS_ALL)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "sim: groups 0x%x has bits beyond group 5; use 1u << group, from 0 to 5",
                         (unsigned)def->groups);
    if (def->samples != 1 && def->samples != 4 && def->samples != 16)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "sim: %d samples a pixel; 1, 4 or 16 are possible", def->samples);
    if ((unsigned)def->mode >= STET_RENDER_MODE_COUNT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "sim: there is no mode %d of pictures; use STET_RENDER_x",
                         (int)def->mode);
    if (def->frames_in_flight < 1 || def->frames_in_flight > MAX_IN_FLIGHT)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "sim: %d frames in flight; 1 to %d are possible",
                         def->frames_in_flight, MAX_IN_FLIGHT);
    return STET_OK;
}

static stet_result check_keyframe(const mjModel *m, int keyframe)
{
    if (keyframe >= -2 && keyframe < (int)m->nkey) return STET_OK;
    if (m->nkey == 0)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "sim: keyframe %d: the model has none; use -1 for its qpos0, or leave it at -2", keyframe);
    return sti_error(STET_ERROR_INVALID_ARGUMENT,
                     "sim: keyframe %d: the model has keyframes 0 to %d; use one of them, or -1 for its qpos0",
                     keyframe, (int)m->nkey - 1);
}

stet_result sti_sim_check(const stet_model *model, const stet_sim_def *def)
{
    if (def->cookie != SIM_COOKIE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "sim: the def is not initialised; start from stet_default_sim_def()");
    if (def->nworld < 1)
        return sti_error(STET_ERROR_INVALID_ARGUMENT, "sim: %lld worlds; ask for at least 1", (long long)def->nworld);
    if (def->nworld > INT32_MAX)
        return sti_error(STET_ERROR_LIMIT, "sim: %lld worlds; at most %d are possible", (long long)def->nworld,
                         INT32_MAX);
    if ((unsigned)def->physics > STET_PHYSICS_NATIVE)
        return sti_error(STET_ERROR_INVALID_ARGUMENT,
                         "sim: there is no physics %d; use auto, mujoco, native or external", (int)def->physics);
    STI_TRY(check_keyframe(model->mj, def->keyframe));
    return check_frames(def);
}

/*
 * Refuses frames that do not fit into this machine's memory. Otherwise the allocation would succeed and the system
 * would kill the process at first use. A frame has its native pixels and, for rgb, the tensor made of them; the ring
 * has one place more than frames in flight. Frames of a GPU are in its own memory, whose allocation fails by itself.
 */
stet_result sti_sim_check_memory(const stet_sim_def *resolved, int ncamera, size_t real_size)
{
    double pixel = 0, pixels = 0;
    bool painted[STI_BUFFER_COUNT] = {false};
    for (int i = 0; i < STET_OUTPUT_COUNT; ++i) {
        if (!(resolved->outputs >> i & 1u)) continue;
        unsigned buffers = 1u << sti_output_buffer((stet_output)i);
        buffers |= sti_buffer_needs(sti_output_buffer((stet_output)i));
        for (int b = 0; b < STI_BUFFER_COUNT; ++b) {
            size_t element = sti_buffer_dtype((sti_picture_buffer)b) == STET_DTYPE_REAL ? real_size : 4;
            if (!(buffers >> b & 1u) || painted[b]) continue;
            pixel += (double)element * sti_buffer_channels((sti_picture_buffer)b);
            painted[b] = true;
        }
        if (i == STET_OUTPUT_RGB) pixel += stet_output_channels(STET_OUTPUT_RGB);
    }
    for (int c = 0; c < ncamera; ++c) {
        int size[2];
        sti_sim_camera_size(resolved, c, size);
        pixels += (double)size[0] * size[1];
    }
    double world = pixel * pixels * (resolved->frames_in_flight + 1);
    double have = sti_machine_memory(), need = world * (double)resolved->nworld;
    if (need <= have || have <= 0) return STET_OK;
    return sti_error(
        STET_ERROR_LIMIT,
        "sim: pictures of %lld world%s, %d camera%s, together %.0f pixels, and %d frame%s in flight need %.1f GB, "
        "this machine has "
        "%.1f GB; ask for fewer or smaller ones",
        (long long)resolved->nworld, STI_S(resolved->nworld), ncamera, STI_S(ncamera), pixels,
        resolved->frames_in_flight, STI_S(resolved->frames_in_flight), need / 1e9, have / 1e9);
}

void sti_sim_camera_size(const stet_sim_def *resolved, int camera, int size[2])
{
    size[0] = resolved->nsize && resolved->sizes[camera][0] ? resolved->sizes[camera][0] : resolved->width;
    size[1] = resolved->nsize && resolved->sizes[camera][1] ? resolved->sizes[camera][1] : resolved->height;
}

/* ---- what is meant ----------------------------------------------------------------------------------------------- */

static int default_keyframe(const mjModel *m)
{
    int home = mj_name2id(m, mjOBJ_KEY, "home");
    return home >= 0 ? home : m->nkey > 0 ? 0 : -1;
}

stet_sim_def sti_sim_resolve(const stet_model *model, const stet_sim_def *def)
{
    stet_sim_def resolved = *def;
    if (resolved.keyframe == -2) resolved.keyframe = default_keyframe(model->mj);
    if (resolved.width == 0) resolved.width = DEFAULT_SIZE;
    if (resolved.height == 0) resolved.height = DEFAULT_SIZE;
    return resolved;
}
