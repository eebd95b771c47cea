/*
 * Worlds for tests: a device, a model, worlds on them, and a plain mjData to hold them against.
 */
#ifndef TEST_WORLDS_RIG_H
#define TEST_WORLDS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "device/picked.h"
#include "device/rig.h"

#include "base/dice.h"
#include "device/reals.h"
#include "stet/step.h"
#include "worlds/worlds.h"

#include <stdio.h>
#include <string.h>

/* The call fails with this result, and its sentence contains these words. */
#define REFUSED(result, words, call)                                                                                   \
    do {                                                                                                               \
        assert_int_equal((call), (result));                                                                            \
        if (!strstr(stet_get_last_error(), (words)))                                                                   \
            fail_msg("%s: '%s' lacks '%s'", #call, stet_get_last_error(), (words));                                    \
    } while (0)

typedef struct rig {
    stet_device *device;
    stet_model *model;
    stet_worlds *worlds;
    stet_step *step; /* NULL until rig_step */
} rig;

/* A model by the name of a scene, or from its text if that begins with '<'. */
static inline stet_model *rig_model(const char *scene)
{
    stet_model *model;
    char path[1024];
    if (scene[0] == '<') {
        OK(stet_model_load_string(scene, &model));
        return model;
    }
    (void)snprintf(path, sizeof path, "%s/scenes/%.256s", STET_TEST_SOURCE_DIR, scene);
    OK(stet_model_load(path, &model));
    return model;
}

static inline stet_device *rig_open_device(const char *isa, int threads)
{
    stet_device *device;
    stet_device_def def = stet_default_device_def();
    def.isa = isa;
    def.threads = threads;
    picked_device(&def);
    OK(stet_device_create(&def, &device));
    return device;
}

static inline rig rig_make(const char *scene, int64_t nworld, const char *isa, int threads, bool exact)
{
    rig r = {.device = rig_open_device(isa, threads), .model = rig_model(scene)};
    stet_worlds_def def = stet_default_worlds_def();
    def.nworld = nworld;
    def.exact = exact;
    def.seed = 7;
    def.keyframe = stet_model_get_info(r.model).nkey > 0 ? 0 : -1;
    OK(stet_worlds_create(r.device, r.model, &def, &r.worlds));
    return r;
}

static inline void rig_step(rig *r, stet_physics physics) { OK(stet_step_create(r->worlds, physics, &r->step)); }

static inline void rig_free(rig *r)
{
    stet_step_destroy(r->step);
    stet_worlds_destroy(r->worlds);
    stet_model_destroy(r->model);
    stet_device_destroy(r->device);
}

static inline stet_array *rig_array(const rig *r, const char *field)
{
    stet_array *array;
    OK(stet_worlds_get_array(r->worlds, field, &array));
    return array;
}

static inline uint64_t rig_hash(const rig *r)
{
    uint64_t hash;
    OK(stet_worlds_hash(r->worlds, &hash));
    return hash;
}

static inline uint64_t rig_array_hash(const rig *r, const char *field)
{
    uint64_t hash;
    OK(stet_array_hash(rig_array(r, field), &hash));
    return hash;
}

/* All fields in one number. */
static inline uint64_t rig_all_hash(const rig *r)
{
    uint64_t all = rig_hash(r);
    for (const char *const *f = stet_worlds_get_fields(); *f; ++f) all = all * 31 + rig_array_hash(r, *f);
    return all;
}

static inline stet_counters rig_counters(const rig *r)
{
    stet_counters counters = stet_device_get_counters(r->device);
    return counters;
}

static inline void rig_mechanisms(const rig *r, uint32_t disabled, bool audit)
{
    stet_mechanism_options options = {.disabled = disabled, .audit = audit};
    OK(stet_device_set_mechanisms(r->device, &options));
}

/* One item of one world; the array is brought up to date first. */
static inline double rig_get(const rig *r, const char *field, int64_t w, int64_t i)
{
    stet_array *a = rig_array(r, field);
    OK(sti_array_ensure(a));
    return reals_get(a, w, i);
}

/* Writes one item as a caller does: through the world's whole row. float devices. */
static inline void rig_set(const rig *r, const char *field, int64_t w, int64_t i, float x)
{
    enum { MOST = 4096 };
    float row[MOST];
    stet_array *a = rig_array(r, field);
    assert_true(a->nitem <= MOST && i < a->nitem);
    OK(stet_array_read_worlds(a, w, 1, row, (size_t)a->nitem * sizeof *row));
    row[i] = x;
    OK(stet_array_write_worlds(a, w, 1, row, (size_t)a->nitem * sizeof *row));
}

/* A number in [-1, 1) that every run of the test has at (world, step, item). */
static inline float rig_wave(int64_t w, int64_t step, int64_t i)
{
    uint64_t state = (uint64_t)w * 1000003u + (uint64_t)step * 10007u + (uint64_t)i;
    return (float)((double)(dice_next(&state) >> 40) / 8388608.0 - 1.0);
}

/* Controls of world w at a step, within the actuators' ranges. */
static inline void rig_controls(const mjModel *m, int64_t w, int64_t step, float *out)
{
    for (int i = 0; i < m->nu; ++i) {
        float low = m->actuator_ctrllimited[i] ? (float)m->actuator_ctrlrange[2 * i] : -1;
        float high = m->actuator_ctrllimited[i] ? (float)m->actuator_ctrlrange[2 * i + 1] : 1;
        out[i] = (low + high) / 2 + (high - low) / 2 * rig_wave(w, step, i);
    }
}

static inline void rig_write_controls(const rig *r, int64_t step)
{
    enum { MOST = 128 };
    float row[MOST];
    const mjModel *m = r->model->mj;
    assert_true(m->nu <= MOST);
    for (int64_t w = 0; w < r->worlds->nworld && m->nu > 0; ++w) {
        rig_controls(m, w, step, row);
        OK(stet_array_write_worlds(rig_array(r, "ctrl"), w, 1, row, (size_t)m->nu * sizeof *row));
    }
}

#define RIG_PENDULUM                                                                                                   \
    "<mujoco><option timestep='0.01'/><worldbody><geom type='plane' size='5 5 .1'/>"                                   \
    "<body name='arm' pos='0 0 1'><joint name='hinge' axis='0 1 0'/><geom type='capsule' size='.05' fromto='0 0 0 .5 " \
    "0 0'/></body>"                                                                                                    \
    "<body name='ball' pos='1 0 1'><freejoint/><geom size='.1'/></body>"                                               \
    "<body name='hand' mocap='true' pos='0 1 1'><geom size='.05' contype='0' conaffinity='0'/></body></worldbody>"     \
    "<actuator><motor joint='hinge' ctrlrange='-1 1' ctrllimited='true'/></actuator>"                                  \
    "<sensor><jointpos joint='hinge'/><framepos objtype='body' objname='ball'/></sensor>"                              \
    "<keyframe><key name='up' qpos='-1.5 1 0 2 1 0 0 0' ctrl='.25'/><key name='down' qpos='1.5 1 0 .5 1 0 0 "          \
    "0'/></keyframe></mujoco>"

#endif
