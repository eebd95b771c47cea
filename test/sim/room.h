/*
 * What the sim's tests share: a small sim, its numbers, and one round of the whole loop.
 */
#ifndef TEST_SIM_ROOM_H
#define TEST_SIM_ROOM_H

#include "worlds/rig.h"

#include "sim/sim.h"

#include <stdlib.h>

#define BIT(output) (1u << STET_OUTPUT_##output)

/* Ways to make a sim differ from the plain one; zeros mean: as it comes. */
typedef struct room_def {
    int64_t nworld;
    int threads;
    const char *isa;
    uint32_t disabled;
    bool strict, audit;
    stet_physics physics; /* AUTO: MuJoCo's, or what STET_TEST_PHYSICS says (`native`) */
    uint32_t outputs;     /* 0: rgba, depth and seg_geom */
    const char *camera;
    int width, height, flight;
} room_def;

static inline stet_physics room_physics(void)
{
    const char *name = getenv("STET_TEST_PHYSICS");
    return name && strcmp(name, "native") == 0 ? STET_PHYSICS_NATIVE : STET_PHYSICS_MUJOCO;
}

static inline stet_sim_def room_sim_def(const room_def *d)
{
    stet_sim_def def = stet_default_sim_def();
    def.device.threads = d->threads ? d->threads : 1;
    def.device.isa = d->isa;
    def.device.mechanisms = (stet_mechanism_options){d->disabled, d->strict, d->audit};
    picked_device(&def.device);
    def.nworld = d->nworld ? d->nworld : 3;
    def.physics = d->physics == STET_PHYSICS_AUTO ? room_physics() : d->physics;
    def.seed = 11;
    def.outputs = d->outputs ? d->outputs : BIT(RGBA) | BIT(DEPTH) | BIT(SEG_GEOM);
    def.cameras = d->camera ? &d->camera : NULL;
    def.ncamera = d->camera != NULL;
    def.width = d->width ? d->width : 24;
    def.height = d->height ? d->height : 16;
    def.frames_in_flight = d->flight ? d->flight : 2;
    return def;
}

/* A sim of a scene (a name in scenes/, or its text); the model belongs to the sim. */
static inline stet_sim *room_open(const char *scene, const room_def *d)
{
    stet_sim_def def = room_sim_def(d);
    stet_model *model = rig_model(scene);
    stet_sim *sim;
    OK(stet_sim_create(model, &def, &sim));
    stet_model_destroy(model);
    return sim;
}

/* Resets one world; -1: all. */
static inline void room_reset(stet_sim *sim, int64_t world)
{
    uint8_t *mask = calloc((size_t)stet_worlds_get_nworld(stet_sim_get_worlds(sim)), 1);
    stet_reset_def def = stet_default_reset_def();
    assert_non_null(mask);
    if (world >= 0) {
        mask[world] = 1;
        def.mask = mask;
    }
    OK(stet_sim_reset(sim, &def));
    free(mask);
}

static inline uint64_t room_state(stet_sim *sim)
{
    uint64_t hash;
    OK(stet_worlds_hash(stet_sim_get_worlds(sim), &hash));
    return hash;
}

static inline uint64_t room_frame(stet_sim *sim, int64_t frame)
{
    uint64_t hash;
    OK(stet_sim_hash_frame(sim, frame, &hash));
    return hash;
}

static inline int64_t room_render(stet_sim *sim)
{
    int64_t frame;
    OK(stet_sim_render(sim, &frame));
    return frame;
}

static inline stet_counters room_counters(stet_sim *sim)
{
    stet_counters counters = stet_device_get_counters(stet_sim_get_device(sim));
    return counters;
}

/* An output in the host's memory, from malloc. */
static inline void *room_read(stet_sim *sim, int64_t frame, int camera, stet_output output)
{
    size_t size = stet_sim_get_output_bytes(sim, camera, output);
    void *pixels = malloc(size);
    assert_non_null(pixels);
    OK(stet_sim_read(sim, frame, camera, output, pixels, size));
    return pixels;
}

/* One frame as the command makes it: controls, physics, a picture. */
static inline void room_play(stet_sim *sim, int64_t first, int64_t frames, int substeps)
{
    for (int64_t f = first; f < first + frames; ++f) {
        OK(stet_sim_control_noise(sim, 0.3, f));
        OK(stet_sim_step(sim, substeps));
        (void)room_render(sim);
    }
}

static inline float room_ctrl(stet_sim *sim, int64_t world, int i)
{
    stet_array *ctrl;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), "ctrl", &ctrl));
    return (float)reals_get(ctrl, world, i);
}

static inline float room_field(stet_sim *sim, const char *field, int64_t world, int64_t i)
{
    stet_array *a;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), field, &a));
    OK(sti_array_ensure(a));
    return (float)reals_get(a, world, i);
}

/* Writes one number as a caller does, through the world's row. */
static inline void room_write(stet_sim *sim, const char *field, int64_t world, int64_t i, float x)
{
    rig r = {.worlds = stet_sim_get_worlds(sim)};
    rig_set(&r, field, world, i, x);
}

/* A scene without a camera or an actuator: a ball that falls on a floor. */
#define ROOM_BALL                                                                                                      \
    "<mujoco><worldbody><light pos='0 0 3'/><geom type='plane' size='2 2 .1' rgba='.2 .3 .4 1'/>"                      \
    "<body name='ball' pos='0 0 1'><freejoint/><geom size='.3' rgba='.9 .2 .1 1'/></body></worldbody></mujoco>"

#endif
