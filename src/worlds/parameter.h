/*
 * Parameters of the physics that differ from world to world, and looks, which only the renderer reads. Sizes and places
 * of geoms are parameters of the physics that pictures show, too.
 *
 * The physics reads them from the model, which all worlds share. So each thread has a model of its own: a copy of the
 * structure, in which the arrays that a parameter replaces point to the numbers of the world that it steps. What MuJoCo
 * derives from parameters (mj_setConst) is computed for each world when its parameters have changed, and replaced
 * likewise.
 *
 * Invariants:
 *   PARAMETER-1  what a world's step reads depends on that world's values alone, not on the thread or on the world
 *       stepped before
 *   PARAMETER-2  a parameter that was never given, or that is given as the model has it, has the model's own bits, and
 *       so has what is derived from it
 *   PARAMETER-3  derived constants are computed once for each content of a world's parameters, not in each step
 *   PARAMETER-4  a call that fails has changed no number
 *   PARAMETER-5  looks change nothing of the physics, and do not make it prepare anything
 *   PARAMETER-6  a parameter's array holds its values, rounded. What is written there is the parameter's once somebody
 *       reads it, or what follows from it (sti_parameters_take); an item that was not written keeps its exact number
 */
#ifndef STI_WORLDS_PARAMETER_H
#define STI_WORLDS_PARAMETER_H

#include "base/generations.h"
#include "model/model.h"
#include "stet/worlds.h"

/* Which numbers a parameter takes. */
typedef enum sti_parameter_rule {
    STI_RULE_ANY,
    STI_RULE_FACTOR,  /* a factor on arrays, 0 or more */
    STI_RULE_LEAST_0, /* 0 or more */
    STI_RULE_ABOVE_0,
    STI_RULE_RANGE,     /* pairs: the first is at most the second */
    STI_RULE_QUAT,      /* w x y z, not of length 0; normalised */
    STI_RULE_MATERIAL,  /* -1 … nmat - 1; rounded down where it is used */
    STI_RULE_ANGLE,     /* above 0, below 180 */
    STI_RULE_CUTOFF,    /* 0 … 180 */
    STI_RULE_DIRECTION, /* x y z, not of length 0 */
    STI_RULE_MESH,      /* of a geom with a mesh 0 … nmesh - 1; rounded down where it is used */
    STI_RULE_BITS,      /* 0 … 2^31 - 1; rounded down where it is used */
    STI_RULE_QPOS       /* positions of joints, whose quaternions are not of length 0; normalised */
} sti_parameter_rule;

/*
 * Name (that of an array of mjModel, but for the first five, actuator_kp, actuator_kv and options), numbers per world
 * (`m` is the mjModel), rule, whether mj_setConst reads it. stet/worlds.h describes them. Draws depend on the place
 * (DRAW-1), which sti_parameter_stream keeps where later ones come before.
 */
#define STI_PARAMETERS(X)                                                                                              \
    X(gravity, 3, ANY, false)                                                                                          \
    X(friction, 1, FACTOR, false)                                                                                      \
    X(damping, 1, FACTOR, false)                                                                                       \
    X(stiffness, 1, FACTOR, false)                                                                                     \
    X(timestep, 1, ABOVE_0, true)                                                                                      \
    STI_PARAMETER_ARRAYS(X)                                                                                            \
    STI_PARAMETER_BITS(X)                                                                                              \
    X(actuator_kp, m->nactuator, LEAST_0, false)                                                                       \
    X(actuator_kv, m->nactuator, LEAST_0, false)                                                                       \
    STI_PARAMETER_MORE(X)                                                                                              \
    STI_PARAMETER_OPTIONS(X)                                                                                           \
    X(geom_dataid, m->ngeom, MESH, true)                                                                               \
    STI_PARAMETER_LOOKS(X)
#define STI_PARAMETER_ARRAYS(X)                                                                                        \
    X(body_mass, m->nbody, LEAST_0, true)                                                                              \
    X(body_inertia, 3 * m->nbody, LEAST_0, true)                                                                       \
    X(body_ipos, 3 * m->nbody, ANY, true)                                                                              \
    X(body_iquat, 4 * m->nbody, QUAT, true)                                                                            \
    X(body_pos, 3 * m->nbody, ANY, true)                                                                               \
    X(body_quat, 4 * m->nbody, QUAT, true)                                                                             \
    X(geom_friction, 3 * m->ngeom, LEAST_0, false)                                                                     \
    X(geom_size, 3 * m->ngeom, LEAST_0, true)                                                                          \
    X(geom_pos, 3 * m->ngeom, ANY, true)                                                                               \
    X(geom_quat, 4 * m->ngeom, QUAT, true)                                                                             \
    X(geom_solref, mjNREF * m->ngeom, ANY, false)                                                                      \
    X(geom_solimp, mjNIMP * m->ngeom, ANY, false)                                                                      \
    X(jnt_range, 2 * m->njnt, RANGE, false)                                                                            \
    X(jnt_stiffness, m->njnt, LEAST_0, false)                                                                          \
    X(dof_damping, m->nv, LEAST_0, false)                                                                              \
    X(dof_armature, m->nv, LEAST_0, true)                                                                              \
    X(dof_frictionloss, m->nv, LEAST_0, false)                                                                         \
    X(tendon_stiffness, m->ntendon, LEAST_0, true)                                                                     \
    X(tendon_damping, m->ntendon, LEAST_0, true)                                                                       \
    X(actuator_gainprm, mjNGAIN * m->nactuator, ANY, false)                                                            \
    X(actuator_biasprm, mjNBIAS * m->nactuator, ANY, false)                                                            \
    X(actuator_gear, 6 * m->nout, ANY, true)                                                                           \
    X(actuator_forcerange, 2 * m->nactuator, RANGE, false)                                                             \
    X(actuator_ctrlrange, 2 * m->nu, RANGE, false)                                                                     \
    X(eq_solref, mjNREF * m->neq, ANY, false)
/* Ints of the model. */
#define STI_PARAMETER_BITS(X)                                                                                          \
    X(geom_contype, m->ngeom, BITS, false)                                                                             \
    X(geom_conaffinity, m->ngeom, BITS, false)
/* Arrays that were added behind the bits: streams of draws stay. */
#define STI_PARAMETER_MORE(X)                                                                                          \
    X(eq_data, mjNEQDATA * m->neq, ANY, true)                                                                          \
    X(actuator_dynprm, mjNDYN * m->nactuator, ANY, false)                                                              \
    X(site_pos, 3 * m->nsite, ANY, true)                                                                               \
    X(site_quat, 4 * m->nsite, QUAT, true)                                                                             \
    X(body_gravcomp, m->nbody, ANY, false)                                                                             \
    X(jnt_actfrcrange, 2 * m->njnt, RANGE, false)                                                                      \
    X(tendon_actfrcrange, 2 * m->ntendon, RANGE, false)                                                                \
    X(tendon_armature, m->ntendon, LEAST_0, true)                                                                      \
    X(tendon_frictionloss, m->ntendon, LEAST_0, false)                                                                 \
    X(pair_friction, 5 * m->npair, LEAST_0, false)                                                                     \
    X(qpos0, m->nq, QPOS, true)                                                                                        \
    X(actuator_delay, m->nactuator, LEAST_0, false)                                                                    \
    X(sensor_delay, m->nsensor, LEAST_0, false)
/* Numbers of the model's options. */
#define STI_PARAMETER_OPTIONS(X)                                                                                       \
    X(density, 1, LEAST_0, false)                                                                                      \
    X(viscosity, 1, LEAST_0, false)                                                                                    \
    X(wind, 3, ANY, false)
#define STI_PARAMETER_LOOKS(X)                                                                                         \
    X(geom_matid, m->ngeom, MATERIAL, false)                                                                           \
    X(geom_rgb, 3 * m->ngeom, LEAST_0, false)                                                                          \
    X(mat_rgb, 3 * m->nmat, LEAST_0, false)                                                                            \
    X(light_ambient, 3 * m->nlight, LEAST_0, false)                                                                    \
    X(light_diffuse, 3 * m->nlight, LEAST_0, false)                                                                    \
    X(light_specular, 3 * m->nlight, LEAST_0, false)                                                                   \
    X(cam_fovy, m->ncam, ANGLE, false)                                                                                 \
    STI_PARAMETER_MORE_LOOKS(X)                                                                                        \
    STI_PARAMETER_PLACES(X)
/* Looks that were added later: their streams of draws come behind all others. */
#define STI_PARAMETER_MORE_LOOKS(X)                                                                                    \
    X(light_attenuation, 3 * m->nlight, LEAST_0, false)                                                                \
    X(light_cutoff, m->nlight, CUTOFF, false)                                                                          \
    X(light_exponent, m->nlight, LEAST_0, false)                                                                       \
    X(mat_emission, m->nmat, LEAST_0, false)                                                                           \
    X(mat_specular, m->nmat, LEAST_0, false)                                                                           \
    X(mat_shininess, m->nmat, LEAST_0, false)                                                                          \
    X(cam_intrinsic, 4 * m->ncam, ANY, false)
#define STI_PARAMETER_PLACES(X)                                                                                        \
    X(cam_pos, 3 * m->ncam, ANY, false)                                                                                \
    X(cam_quat, 4 * m->ncam, QUAT, false)                                                                              \
    X(light_pos, 3 * m->nlight, ANY, false)                                                                            \
    X(light_dir, 3 * m->nlight, DIRECTION, false)

typedef enum sti_parameter {
#define STI_PARAMETER_ENUM(name, items, rule, derives) STI_PARAMETER_##name,
    STI_PARAMETERS(STI_PARAMETER_ENUM)
#undef STI_PARAMETER_ENUM
        STI_PARAMETER_COUNT,
    STI_PARAMETER_PHYSICS = STI_PARAMETER_geom_matid, /* those before it are the physics' */
    STI_PARAMETER_PLACES = STI_PARAMETER_cam_pos      /* looks from here on are places */
} sti_parameter;

/* A parameter as an array (PARAMETER-6). */
typedef struct sti_parameter_array {
    stet_array *array; /* [nworld][items]; NULL: nobody has asked for it */
    double *seen;      /* [nworld][items], what it held when it was last read or written here, */
    sti_stamp taken;   /* and its version then */
    bool due;          /* values changed since that it does not have */
} sti_parameter_array;

typedef struct sti_parameters {
    double *value[STI_PARAMETER_COUNT]; /* [nworld][items]; NULL: never given */
    /* false: all worlds have the model's own value, and `value` is unused */
    bool given[STI_PARAMETER_COUNT];
    int ngiven;                   /* of the physics */
    uint64_t look_clock;          /* counts changes of geom_size, of meshes, and of looks that are no places, */
    sti_generations look_changed; /* and its values at those of a world */
    uint64_t place_clock;         /* the same of places, those of geoms included */
    sti_generations place_changed;
    /* bounds of draws at resets, [items] each; NULL: not drawn */
    double *low[STI_PARAMETER_COUNT], *high[STI_PARAMETER_COUNT];
    stet_array *noise[STI_PARAMETER_COUNT]; /* [nworld][items], made with the bounds */
    uint64_t clock;                         /* counts changes of a value, */
    sti_generations changed;                /* and its values at those of a world */
    uint64_t updated;                       /* clock when the following were last made */
    uint64_t *key;                          /* [nworld], names the content of a world's values; 0: the model's own */
    uint64_t *derived_key;                  /* [nworld], the same of the values that `derived` was made from */
    char *derived;                          /* [nworld][derived_size]: constants by mj_setConst; NULL: not needed yet */
    size_t derived_size;
    mjModel *model;    /* [threads], see sti_parameters_model; NULL until a parameter is given */
    mjModel *poses;    /* [threads], the same of the model for kinematics */
    mjtNum *numbers;   /* [threads][…], memory of those models' products and boxes */
    mjModel **scratch; /* [threads], whole copies for mj_setConst; NULL: not needed yet */
    sti_parameter_array array[STI_PARAMETER_COUNT];
    int narray;
    bool taking; /* sti_parameters_take is at work */
} sti_parameters;

/* ---- parameter_table.c ------------------------------------------------------------------------------------------- */

/* Finds a parameter by name. False: there is none. */
bool sti_parameter_find(const char *name, sti_parameter *out);
/* Numbers per world. */
int64_t sti_parameter_items(const mjModel *m, sti_parameter parameter);
sti_parameter_rule sti_parameter_rule_of(sti_parameter parameter);
/* Does mj_setConst read it? */
bool sti_parameter_derives(sti_parameter parameter);
/* The number of its draws' stream, the same in all versions. */
int sti_parameter_stream(sti_parameter parameter);
/* The model's own value, as many numbers as there are items; NULL: a factor, of which it is 1, bits, a servo's, or a
 * look that is no place. */
const double *sti_parameter_own(const mjModel *m, sti_parameter parameter);
/* One number of it, also of looks. */
double sti_parameter_own_number(const mjModel *m, sti_parameter parameter, int64_t item);
/* Has an actuator the gain of a servo, kp or kv? A position servo has both, a velocity servo kv alone. */
bool sti_parameter_in_servo(const mjModel *m, sti_parameter gain, int64_t actuator);
/* Puts a world's kp and kv into its gainprm and biasprm, arrays of the model's layout. */
void sti_parameters_put_servos(const sti_parameters *p, const mjModel *m, int64_t w, mjtNum *gainprm, mjtNum *biasprm);
/* *array becomes a world's value of a parameter that is an array of the model, if it has one of its own. */
void sti_parameters_point(const sti_parameters *p, const mjModel *m, sti_parameter which, int64_t w, mjtNum **array);
/* The value of a look in a world, at one of its items. */
double sti_parameters_look(const sti_parameters *p, const mjModel *m, sti_parameter look, int64_t w, int64_t item);

/* ---- parameter.c: giving values ---------------------------------------------------------------------------------- */

/* Finds it, or says what there is. */
stet_result sti_parameter_named(const char *name, sti_parameter *out);
/* Checks values of a parameter, either for all worlds alike (n its items) or for each (n nworld times its items). */
stet_result sti_parameter_check(const stet_worlds *worlds, sti_parameter parameter, const double *values, int64_t n);
static inline bool sti_parameters_any(const sti_parameters *p) { return p->ngiven > 0; }
/* Makes a parameter one that differs between worlds: its array, filled with the model's own value. */
stet_result sti_parameter_give(stet_worlds *worlds, sti_parameter parameter);
/* Replaces the value of one world. The caller has made the parameter differ, and calls sti_parameter_changed. */
void sti_parameter_put(stet_worlds *worlds, sti_parameter parameter, int64_t w, const double *value);
/* Values of the worlds of mask (NULL: all) were replaced. */
void sti_parameter_changed(stet_worlds *worlds, sti_parameter parameter, const uint8_t *mask);
/* All worlds have the model's own value again. */
void sti_parameter_take_back(stet_worlds *worlds, sti_parameter parameter);
void sti_parameters_free(stet_worlds *worlds);

/* ---- parameter_model.c: models of threads ------------------------------------------------------------------------ */

/* Makes the models of threads; called before the first parameter is given. */
stet_result sti_parameters_make_models(stet_worlds *worlds);
/* Brings derived constants up to date; costs nothing if nothing has changed. */
stet_result sti_parameters_derive(stet_worlds *worlds);
/* The model with which a thread steps a world; valid until the thread's next call. */
const mjModel *sti_parameters_model(const stet_worlds *worlds, int64_t w, int thread);
/* The same for kinematics, which read no derived constant. */
const mjModel *sti_parameters_pose_model(const stet_worlds *worlds, int64_t w, int thread);
/* Do poses of bodies differ between worlds with the same qpos? */
static inline bool sti_parameters_poses(const sti_parameters *p)
{
    return p->given[STI_PARAMETER_body_pos] || p->given[STI_PARAMETER_body_quat] || p->given[STI_PARAMETER_qpos0];
}
/* Did they ever, by a body's own place? Then bodies that are welded to the world may have moved, too. */
static inline bool sti_parameters_posed(const sti_parameters *p)
{
    return p->value[STI_PARAMETER_body_pos] || p->value[STI_PARAMETER_body_quat];
}
double sti_parameters_timestep(const stet_worlds *worlds, int64_t w);

/*
 * What a world's model would be with one number of a parameter moved, and all that mj_setConst derives from it. From
 * begin to end nobody else looks at the world's parameters.
 */
typedef struct sti_parameter_probe {
    stet_worlds *worlds;
    sti_parameter which; /* which is given */
    int64_t w;
    int thread;
    double *value; /* the world's values and constants as they are */
    void *derived;
    uint64_t key;
    uint32_t faults;
} sti_parameter_probe;

/* The parameters are up to date (sti_parameters_update). */
stet_result sti_parameter_probe_begin(sti_parameter_probe *probe, stet_worlds *worlds, sti_parameter which, int64_t w,
                                      int thread);
/* Valid until the next call. NULL: MuJoCo computes no constants for it. */
const mjModel *sti_parameter_probe_model(const sti_parameter_probe *probe, int64_t item, double by);
void sti_parameter_probe_end(sti_parameter_probe *probe);
void sti_parameters_free_models(stet_worlds *worlds);

/* ---- parameter_array.c: values on the device (PARAMETER-6) ------------------------------------------------------- */

/* Takes what was written to arrays. A failure leaves values as they were, and is one of each later call, too. */
stet_result sti_parameters_take(stet_worlds *worlds);
/* Arrays get values that changed. */
stet_result sti_parameters_put_arrays(stet_worlds *worlds);
/* Both, and derived constants: called before dynamics are computed; costs nothing if nothing has changed. */
stet_result sti_parameters_update(stet_worlds *worlds);
/* All worlds have the model's own values of all parameters again, in arrays, too. */
stet_result sti_parameters_take_back(stet_worlds *worlds);
void sti_parameter_arrays_free(stet_worlds *worlds);

/* ---- draws.c: values drawn at resets ----------------------------------------------------------------------------- */

/*
 * Draws for all worlds, each with the number of its next reset; may fail, and changes no value.
 *
 *   DRAW-1  a number drawn is a function of (seed, parameter, world, number of resets, item)
 */
stet_result sti_parameters_draw(stet_worlds *worlds, const stet_array *draws);
/* Takes what was drawn for the marked worlds. Cannot fail. */
void sti_parameters_take_drawn(stet_worlds *worlds);
bool sti_parameters_drawn(const sti_parameters *p);

#endif
