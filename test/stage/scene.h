/*
 * What the stage's tests share: a model with worlds and a stage over it, random states, and MuJoCo's own answer.
 */
#ifndef TEST_STAGE_SCENE_H
#define TEST_STAGE_SCENE_H

#include "base/dice.h"
#include "device/isa.h"
#include "device/picked.h"
#include "device/reals.h"
#include "stage/stage.h"

#include <math.h>
#include <string.h>

/* Eleven prims: 4 bodies (2 of them move), 4 geoms, a site, a camera, a light; 3 of those that are not bodies move. */
#define SMALL                                                                                                          \
    "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 .1'/>"                                               \
    "<body name='table' pos='1 0 0'><geom name='top' type='box' size='.1 .2 .3' pos='0 0 .5'/></body>"                 \
    "<body name='ball' pos='0 0 1'><freejoint/><geom name='skin' size='.1'/><site name='mark' pos='0 .1 0'/>"          \
    "<body name='arm' pos='.2 0 0'><joint axis='0 1 0'/><geom name='bone' type='capsule' size='.02 "                   \
    ".1'/></body></body>"                                                                                              \
    "<camera name='main' pos='0 -2 1' euler='60 0 0'/><light name='sun' dir='.1 .2 -1'/></worldbody></mujoco>"
enum { SMALL_BODIES = 4, SMALL_MOVING_BODIES = 2, SMALL_FORWARD = 7, SMALL_MOVING_FORWARD = 3 };

typedef struct scene {
    stet_device *device;
    stet_model *model;
    stet_worlds *worlds;
    stet_stage *stage;
} scene;

typedef struct scene_def {
    const char *xml, *path; /* one of them */
    int64_t nworld;
    const char *isa; /* NULL: the best */
    int threads;
    bool off, audit; /* of the mechanism hierarchy */
} scene_def;

/* Gives back what there is, also of a scene that could not be opened. */
static inline void scene_close(scene *s)
{
    stet_stage_destroy(s->stage);
    stet_worlds_destroy(s->worlds);
    stet_model_destroy(s->model);
    stet_device_destroy(s->device);
    *s = (scene){0};
}

static inline stet_result scene_try(const scene_def *def, scene *s)
{
    *s = (scene){0};
    stet_device_def device = stet_default_device_def();
    device.isa = def->isa;
    device.threads = def->threads;
    if (def->off) device.mechanisms.disabled |= 1u << STET_MECHANISM_HIERARCHY;
    device.mechanisms.audit = def->audit;
    picked_device(&device);
    STI_TRY(stet_device_create(&device, &s->device));
    STI_TRY(def->xml ? stet_model_load_string(def->xml, &s->model) : stet_model_load(def->path, &s->model));
    stet_worlds_def worlds = stet_default_worlds_def();
    worlds.nworld = def->nworld;
    STI_TRY(stet_worlds_create(s->device, s->model, &worlds, &s->worlds));
    return stet_stage_create(s->worlds, &s->stage);
}

static inline void must(stet_result result)
{
    if (result != STET_OK) fail_msg("%s (%s)", stet_get_last_error(), stet_get_last_error_where());
}

static inline scene scene_open(const scene_def *def)
{
    scene s;
    must(scene_try(def, &s));
    return s;
}

static inline double dice_between(uint64_t *dice, double low, double high)
{
    return low + (high - low) * ((double)(dice_next(dice) >> 11) * 0x1p-53);
}

static inline void random_quat(uint64_t *dice, double quat[4])
{
    for (int i = 0; i < 4; i++) quat[i] = dice_between(dice, -1, 1);
    mju_normalize4(quat);
}

/* A random position of each joint, within its range, in float as the array has it. */
static inline void random_qpos(const mjModel *m, uint64_t *dice, float *qpos)
{
    for (int i = 0; i < m->nq; i++) qpos[i] = (float)m->qpos0[i];
    for (int j = 0; j < m->njnt; j++) {
        int at = m->jnt_qposadr[j], type = m->jnt_type[j];
        double quat[4];
        if (type == mjJNT_FREE)
            for (int i = 0; i < 3; i++) qpos[at + i] += (float)dice_between(dice, -1, 1);
        if (type == mjJNT_FREE) at += 3;
        if (type == mjJNT_FREE || type == mjJNT_BALL) {
            random_quat(dice, quat);
            for (int i = 0; i < 4; i++) qpos[at + i] = (float)quat[i];
        } else {
            const double *range = m->jnt_range + 2 * j;
            bool limited = m->jnt_limited[j] != 0;
            qpos[at] = (float)dice_between(dice, limited ? range[0] : -1, limited ? range[1] : 1);
        }
    }
}

static inline stet_array *scene_field(const scene *s, const char *name)
{
    stet_array *a = NULL;
    must(stet_worlds_get_array(s->worlds, name, &a));
    return a;
}

/* A random state in each world; the state of world w depends on (seed, w) alone. */
static inline void scene_randomise(const scene *s, uint64_t seed)
{
    stet_array *qpos = scene_field(s, "qpos");
    int nq = (int)s->model->mj->nq;
    float *values = calloc((size_t)nq, sizeof *values);
    for (int64_t w = 0; w < s->worlds->nworld; w++) {
        uint64_t dice = seed ^ (uint64_t)w * UINT64_C(0x9E3779B97F4A7C15);
        random_qpos(s->model->mj, &dice, values);
        must(stet_array_write_worlds(qpos, w, 1, values, (size_t)nq * sizeof *values));
    }
    free(values);
}

/* Moves one number of one world's qpos a little. */
static inline void scene_nudge(const scene *s, int64_t w, float by)
{
    stet_array *qpos = scene_field(s, "qpos");
    int nq = (int)s->model->mj->nq;
    float *values = calloc((size_t)nq, sizeof *values);
    must(stet_array_read_worlds(qpos, w, 1, values, (size_t)nq * sizeof *values));
    values[0] += by;
    must(stet_array_write_worlds(qpos, w, 1, values, (size_t)nq * sizeof *values));
    free(values);
}

/* MuJoCo's answer for a world; the caller deletes it. */
static inline mjData *scene_reference(const scene *s, int64_t w)
{
    const mjModel *m = s->model->mj;
    stet_array *qpos = scene_field(s, "qpos");
    mjData *d = mj_makeData(m);
    float *values = calloc((size_t)m->nq, sizeof *values);
    must(stet_array_read_worlds(qpos, w, 1, values, (size_t)m->nq * sizeof *values));
    for (int i = 0; i < m->nq; i++) d->qpos[i] = (double)values[i];
    free(values);
    mj_kinematics(m, d);
    mj_comPos(m, d);
    mj_camlight(m, d);
    return d;
}

static inline int prim_of(const scene *s, stet_prim_kind kind, int index)
{
    int prim = -1;
    must(stet_stage_get_prim(s->stage, kind, index, &prim));
    return prim;
}

static inline int prim_named(const scene *s, stet_prim_kind kind, const char *name)
{
    int prim = -1;
    must(stet_stage_find(s->stage, kind, name, &prim));
    return prim;
}

static inline uint64_t world_hash(const scene *s)
{
    stet_array *world = NULL;
    uint64_t hash = 0;
    must(stet_stage_get_arrays(s->stage, NULL, &world));
    must(stet_array_hash(world, &hash));
    return hash;
}

static inline uint64_t local_hash(const scene *s)
{
    stet_array *local = NULL;
    uint64_t hash = 0;
    must(stet_stage_get_arrays(s->stage, &local, NULL));
    must(stet_array_hash(local, &hash));
    return hash;
}

static inline stet_counters counters_of(const scene *s)
{
    stet_counters c = stet_device_get_counters(s->device);
    return c;
}

/* The message is a sentence that says `part` and what to do. */
static inline void assert_refused(stet_result result, stet_result expected, const char *part)
{
    assert_int_equal(result, expected);
    if (!strstr(stet_get_last_error(), part)) fail_msg("\"%s\" does not say \"%s\"", stet_get_last_error(), part);
    if (!strchr(stet_get_last_error(), ';')) fail_msg("\"%s\" does not say what to do", stet_get_last_error());
}

/* out = a * b of 3x4 transforms. */
static inline void mul(const double *a, const double *b, double *out)
{
    double r[12];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++) {
            r[i * 4 + j] = j == 3 ? a[i * 4 + 3] : 0;
            for (int k = 0; k < 3; k++) r[i * 4 + j] += a[i * 4 + k] * b[k * 4 + j];
        }
    memcpy(out, r, sizeof r);
}

static inline void compose(const double *pos, const double *mat, double *out)
{
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) out[i * 4 + j] = mat[i * 3 + j];
        out[i * 4 + 3] = pos[i];
    }
}

/* Largest difference, against one and the largest number of the row. */
static inline double difference(const float *got, const double *wanted)
{
    double worst = 0;
    for (int i = 0; i < 3; i++) {
        double size = 1;
        for (int j = 0; j < 4; j++) size = fmax(size, fabs(wanted[i * 4 + j]));
        for (int j = 0; j < 4; j++) {
            double d = fabs((double)got[i * 4 + j] - wanted[i * 4 + j]) / size;
            if (!(d <= worst)) worst = d;
        }
    }
    return worst;
}

#endif
