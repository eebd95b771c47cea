/*
 * Worlds: the state of N copies of a model.
 *
 * Each field is an array [nworld][items] on the device, named as in MuJoCo (qpos, qvel, act, ctrl, …). With MuJoCo's
 * physics each world also has its exact state in double. If a number in an array still equals the rounded exact number,
 * the step uses the exact one; if the caller has changed it, the changed number replaces the exact one at the next
 * step.
 */
#ifndef STET_WORLDS_H
#define STET_WORLDS_H

#include "device.h"
#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_worlds stet_worlds;

typedef struct stet_worlds_def {
    uint32_t cookie;
    int64_t nworld; /* at least 1 */
    /*
     * Number of world 0 among all worlds of a run that several sims share; default 0. Random numbers go by it: worlds
     * 8 to 11 of a run have the same bits in worlds of their own with first_world 8. first_world + nworld: at most
     * 2^31 - 1.
     */
    int64_t first_world;
    uint64_t seed; /* seed of the noise at reset */
    int keyframe;  /* initial state; -1: the model's qpos0 */
    bool exact;    /* keep MuJoCo's own data (mjData) for each world; physics `mujoco` needs it; default true */
} stet_worlds_def;
STET_API stet_worlds_def stet_default_worlds_def(void);
/* The caller owns *out; the worlds keep the model alive. INVALID_ARGUMENT, LIMIT, OUT_OF_MEMORY. */
STET_API stet_result stet_worlds_create(stet_device *device, stet_model *model, const stet_worlds_def *def,
                                        stet_worlds **out);
STET_API void stet_worlds_destroy(stet_worlds *worlds);
STET_API int64_t stet_worlds_get_nworld(const stet_worlds *worlds);

/* Names of the fields, NULL-terminated. */
STET_API const char *const *stet_worlds_get_fields(void);
/*
 * The array of a field; borrowed, and the same for the life of the worlds. A read through stet gives the present state.
 * xpos and xquat (poses of bodies, world frame, metres, unit quaternions w x y z) are computed when they are read.
 * Poses that the caller writes are valid until the world moves: by a step, a reset, a restore, or a write to qpos or
 * mocap poses; with external physics only by a reset or a restore. step_sensordata is what the last step left of the
 * quantity sensordata: with Euler's method the sensors of the state before its last time step, and 0 after a reset.
 * eq_active is an input: 0 switches an equality constraint off in that world. qacc_warmstart, where the solver
 * of native physics begins, is a part of the state; with MuJoCo's physics it has no items. history is mjData.history,
 * the past of delayed controls and sensors; in worlds without MuJoCo's data its times are ages, in time steps, and
 * samples are in order, the oldest first.
 */
STET_API stet_result stet_worlds_get_array(stet_worlds *worlds, const char *field, stet_array **out);

/*
 * Quantities: what follows from the state, by MuJoCo's names (its chapter Computation says what they mean). They are
 * arrays as fields are, stet_worlds_get_array gives them by name, and every physics has them. An array exists from the
 * first call that asks for it. It is filled when it is read, if the state, an input or a parameter has changed since;
 * a step computes none of them. Content that the caller writes is lost then.
 *
 * They are those of the present state and inputs, as mj_forward computes them: also after a step or a reset, where
 * MuJoCo's own data would still hold those of the last step. Units are SI; spatial vectors are rotation, then
 * translation, in the world's directions, about subtree_com of the tree's root. Numbers per world:
 *
 *     qacc, qfrc_bias, qfrc_passive, qfrc_actuator, qfrc_constraint     [nv]
 *     actuator_length, actuator_velocity, actuator_force                [nu] (MuJoCo 4: its nout)
 *     ten_length, ten_velocity                                          [ntendon]
 *     xanchor, xaxis                                                    [njnt][3]
 *     xmat, xipos, ximat            [nbody][9], [3], [9]   poses of bodies and of their inertial frames
 *     geom_xpos, geom_xmat, geom_xquat, and the same of sites           [ngeom or nsite][3], [9], [4]
 *     subtree_com, subtree_linvel, subtree_angmom                       [nbody][3]
 *     cinert                        [nbody][10]            inertias about subtree_com; not of body 0, the world
 *     cvel, cacc, cfrc_int, cfrc_ext                                    [nbody][6]
 *     energy                        [2]                    potential, kinetic
 *     sensordata                    [nsensordata]          sensors; noise is not applied
 *     qM                            [nv][nv]               the mass matrix
 *     ncon                          [1], int               contacts, also those that have no slot
 *     contact_geom                  [slots][2], int        -1: the slot is empty
 *     contact_dist, contact_pos     [slots], [slots][3]
 *     contact_frame                 [slots][9]             rows: normal, from the first geom to the second; tangents
 *     contact_force                 [slots][6]             force and torque on the second geom, in the contact's frame
 *
 * Contacts are in the order of the physics. If a world has more of them than slots, the deepest have slots.
 */
STET_API const char *const *stet_worlds_get_quantities(void); /* their names, NULL-terminated */
/*
 * The same quantity, or xpos or xquat, as MuJoCo's data have it after a step: of the last evaluation of the dynamics,
 * with all integrators but Runge-Kutta that of the state before the last time step. It stays until the next step or
 * forward (stet_step_forward), whatever the caller writes. In a world that began anew since (a reset, a restore) it is
 * that of the present state. For those who compare with programs over mj_step. Of sensordata it is the field
 * step_sensordata, which every physics has. MuJoCo's physics has most of it in its data; cacc, cfrc_int, cfrc_ext,
 * velocities of subtrees and energies are computed from these when they are read, as by mj_rnePostConstraint behind
 * mj_step. Native physics keeps a copy of the state before the last time step of a call, from this call on (until then
 * it is that of the present state), and computes all of it from that when it is read, with the parameters of then. In a
 * world that went wrong in that time step and was put back, it is that of the state after it. NOT_FOUND; UNSUPPORTED:
 * external physics, or native physics and integrator RK4.
 */
STET_API stet_result stet_worlds_get_step_quantity(stet_worlds *worlds, const char *name, stet_array **out);
/* Slots for contacts of a world, 64 at first. STATE: an array of contacts exists. */
STET_API stet_result stet_worlds_set_contact_slots(stet_worlds *worlds, int slots);

/* Of what a Jacobian is, with MuJoCo's function. */
typedef enum stet_jacobian {
    STET_JACOBIAN_BODY,     /* mj_jacBody: origin of a body */
    STET_JACOBIAN_BODY_COM, /* mj_jacBodyCom: centre of mass of a body */
    STET_JACOBIAN_GEOM,     /* mj_jacGeom */
    STET_JACOBIAN_SITE,     /* mj_jacSite */
    STET_JACOBIAN_POINT     /* mj_jac: a point that is fixed to a body */
} stet_jacobian;
/*
 * The Jacobian of body, geom or site number `object`, an array [nworld][6 nv] as those of quantities: three rows of nv
 * for the linear velocity, then three for the angular one, in the world's frame. point: coordinates in the body's
 * frame, for STET_JACOBIAN_POINT only. INVALID_ARGUMENT, NOT_FOUND.
 */
STET_API stet_result stet_worlds_get_jacobian(stet_worlds *worlds, stet_jacobian of, int object, const double point[3],
                                              stet_array **out);

/*
 * Inverse dynamics of the present state (mj_inverse: its qfrc_inverse): the forces that actuators and applied forces
 * together must have for the given accelerations, N and N m, contacts and other constraints accounted for. qacc and
 * out: [nworld][nv], nvalue numbers each; they may be the same. MuJoCo's library computes them on the host in double,
 * for every physics. A world for which it reports an error has NaN. INVALID_ARGUMENT, OUT_OF_MEMORY.
 */
STET_API stet_result stet_worlds_inverse_dynamics(stet_worlds *worlds, const double *qacc, double *out, int64_t nvalue);

/*
 * Parameters of the physics (MuJoCo's and native alike) that may differ between worlds, in double. Returns their names,
 * NULL-terminated:
 *
 *     gravity    [3]  m/s^2, world frame; replaces the model's
 *     friction   [1]  factor on all friction coefficients of geoms and of pairs of geoms, 0 or more
 *     damping    [1]  factor on the damping of all joints, 0 or more
 *     stiffness  [1]  factor on the stiffness of all joints, 0 or more
 *     timestep   [1]  s, above 0
 *
 * and arrays of mjModel, which replace the model's, under MuJoCo's names and in MuJoCo's layout and units (n… is the
 * model's):
 *
 *     body_mass [nbody], body_inertia [nbody][3]             0 or more, and above 0 for bodies that move
 *     body_ipos, body_pos [nbody][3], body_iquat, body_quat [nbody][4]
 *     geom_friction [ngeom][3], geom_size [ngeom][3]         0 or more; sizes of meshes and height fields stay
 *     geom_pos [ngeom][3], geom_quat [ngeom][4], geom_solref [ngeom][mjNREF], geom_solimp [ngeom][mjNIMP]
 *     jnt_range [njnt][2], jnt_stiffness [njnt]
 *     dof_damping, dof_armature, dof_frictionloss [nv]       0 or more
 *     tendon_stiffness, tendon_damping [ntendon]             0 or more
 *     actuator_gainprm [nactuator][mjNGAIN], actuator_biasprm [nactuator][mjNBIAS], actuator_gear [nout][6]
 *     actuator_forcerange [nactuator][2], actuator_ctrlrange [nu][2]
 *     actuator_kp, actuator_kv [nactuator]   0 or more; MuJoCo's <position kp kv>, <velocity kv>: they keep gainprm and
 *                                            biasprm of a servo together, where gainprm alone would move its set point;
 *                                            0 of other actuators
 *     actuator_dynprm [nactuator][mjNDYN]
 *     eq_solref [neq][mjNREF], eq_data [neq][mjNEQDATA]      what mj_setConst derives of eq_data follows
 *     site_pos [nsite][3], site_quat [nsite][4], body_gravcomp [nbody]
 *     jnt_actfrcrange [njnt][2], tendon_actfrcrange [ntendon][2]
 *     tendon_armature, tendon_frictionloss [ntendon]         0 or more; armature where the model has some
 *     pair_friction [npair][5]                               0 or more
 *     qpos0 [nq]                                             also what worlds begin with where no keyframe says it
 *     actuator_delay [nactuator], sensor_delay [nsensor]   s; only of those whose past is kept (nsample)
 *     geom_contype, geom_conaffinity [ngeom]                 0 … 2^31 - 1, rounded down. With 0 and 0 a geom is absent:
 *                                                            nothing touches it but by an explicit pair
 *     geom_dataid [ngeom]                                    which mesh a geom with a mesh has, a number that is
 *                                                            rounded down (others: what the model has). Pictures show
 *                                                            it, too. The mesh lies in the geom's frame, where MuJoCo's
 *                                                            compiler put its centre of mass and principal axes
 *                                                            (mesh_pos, mesh_quat); place, masses, size and fluid
 *                                                            forces of the geom stay what geom_pos, geom_quat,
 *                                                            body_mass … say
 *
 * options:
 *
 *     density, viscosity [1], wind [3]                       of the medium, kg/m^3, Pa s: 0 or more; m/s
 *
 * and looks, which pictures alone show:
 *
 *     geom_matid [ngeom]        the material, with its texture; numbers are rounded down, -1: none
 *     geom_rgb [ngeom][3]       geom_rgba without its alpha; MuJoCo's default, .5 .5 .5, is the material's colour
 *     mat_rgb [nmat][3]         mat_rgba without its alpha, for what has no colour of its own: geoms, sites, tendons,
 *                               flexes, skins; 0 or more, as geom_rgb
 *     light_ambient, light_diffuse, light_specular [nlight][3]                        0 or more
 *     light_attenuation [nlight][3], light_exponent [nlight]                          0 or more
 *     light_cutoff [nlight]     degrees, 0 to 180; of spots
 *     mat_emission, mat_specular, mat_shininess [nmat]                                0 or more, of geoms
 *     cam_intrinsic [ncam][4]   as in mjModel, focal lengths above 0; of cameras with a sensorsize
 *     cam_fovy [ncam]           degrees, above 0 and below 180; of the model's cameras that are no fisheyes
 *     cam_pos [ncam][3], cam_quat [ncam][4], light_pos, light_dir [nlight][3]         of those of mode "fixed"
 *
 * A world's looks are as if its model had these numbers, except that what is transparent, or reflects, in the model
 * does so in all worlds, as much as there. Draws of geom_matid leave out their higher bound: 0 and nmat make all
 * materials equally frequent. A new look makes all worlds' next frame. Places, those of geoms included, are written to
 * the stage, where stet_stage_write_local replaces them until they change again, and make the next frame of their
 * worlds alone; sensors of cameras keep the model's.
 *
 * Quaternions are normalised. Factors multiply what the arrays hold. What MuJoCo derives from parameters (inverse
 * weights, masses of subtrees, bounding volumes, …: mj_setConst) is derived again for each world, once for each content
 * of its parameters. A number that only chooses what the compiler makes has no effect: a limit that the model does not
 * have stays absent. Pictures and range finders show each world's geoms as its physics has them: geom_size (which makes
 * all worlds' next frame, as a look does), geom_pos and geom_quat; the haze at the horizon is that of planes that are
 * endless in the model. Boxes and frames of inertia (STET_DECORATION_INERTIA) are those of the world, of bodies that
 * have mass in the model. A simple body (its inertia is diagonal: body/simple in MuJoCo's XML) keeps its body_ipos and
 * body_iquat.
 */
STET_API const char *const *stet_worlds_get_parameters(void);
STET_API int64_t stet_worlds_get_parameter_items(const stet_worlds *worlds,
                                                 const char *name); /* 0 also: no such name */
/* Whether numbers of its own were given, or drawn, for any world since they last were the model's. */
STET_API bool stet_worlds_has_parameter(const stet_worlds *worlds, const char *name);
/*
 * Sets a parameter for all later steps. `values` has nvalue numbers of at most 1e15 in size, which are copied: the
 * parameter's items (the same for all worlds), or [nworld] times as many. NULL restores the model's own value. Resets,
 * snapshots and hashes of the state do not contain parameters. After an error the parameter is unchanged: NOT_FOUND
 * lists the names; INVALID_ARGUMENT (wrong nvalue, a number that the parameter does not take); UNSUPPORTED (a simple
 * body, a mesh's size); OUT_OF_MEMORY.
 */
STET_API stet_result stet_worlds_set_parameter(stet_worlds *worlds, const char *name, const double *values,
                                               int64_t nvalue);
/* The same for the worlds whose byte in `mask` [nworld] is not 0 (NULL: all). The other worlds keep their value. */
STET_API stet_result stet_worlds_set_parameter_where(stet_worlds *worlds, const char *name, const uint8_t *mask,
                                                     const double *values, int64_t nvalue);
/*
 * The values of a parameter as an array of worlds, REAL [nworld][items], rounded, which may be written: by the host, a
 * kernel, or another library that it is exported to. Borrowed; the same, at the same address, for the life of the
 * worlds. What is written counts from the next call on that reads the parameter or what follows from it (a step, a
 * forward, a reset, a quantity, poses, a picture), as if stet_worlds_set_parameter had set it there: constants that
 * MuJoCo derives follow, in the worlds that changed alone, and an item that was not written keeps its exact number.
 * MuJoCo derives them on the host, so these calls first read an array that was written there, and wait for who wrote
 * it; one with a writer that is not announced they read each time. A step in a captured graph has what the last such
 * call outside of it read. A number that the parameter does not take is an error of each such call, and nothing of the
 * array counts until it is written well, or until stet_worlds_set_parameter sets all worlds. Values that are set, or
 * drawn at a reset, are written to the array. INVALID_ARGUMENT, NOT_FOUND, OUT_OF_MEMORY.
 */
STET_API stet_result stet_worlds_get_parameter_array(stet_worlds *worlds, const char *name, stet_array **out);
/* Copies the present values of all worlds, [nworld][items]. INVALID_ARGUMENT: nvalue is another number; NOT_FOUND. */
STET_API stet_result stet_worlds_get_parameter(const stet_worlds *worlds, const char *name, double *values,
                                               int64_t nvalue);
/*
 * From now on each reset (stet_worlds_reset and what calls it) draws this parameter for the worlds that it resets:
 * uniform numbers between `low` and `high`, which have nvalue numbers each: one for all items, or one an item. A number
 * drawn is a function of the worlds' seed, the parameter, the world's global number (first_world), the number of its
 * resets, and the item.
 * Quaternions are normalised after drawing. Values do not change before the first reset. NULL for both ends the
 * drawing; values stay. Rounds keep bounds, and begin with the model's own values. Errors as of
 * stet_worlds_set_parameter.
 */
STET_API stet_result stet_worlds_randomize(stet_worlds *worlds, const char *name, const double *low, const double *high,
                                           int64_t nvalue);

/*
 * Resets the worlds whose byte in `mask` [nworld] is not 0 (NULL: all). They go to `keyframe` (-1: qpos0; -2: that of
 * the worlds' def), and so do their controls. qpos and qvel get uniform noise of the given half-width, a function of
 * (seed, global number of the world, number of its resets); quaternions are normalised. Faults of these worlds are
 * cleared. A mask of zeros changes nothing. INVALID_ARGUMENT: nothing is reset.
 *
 * The mask may be an array on the worlds' device instead: `mask_array`, INT [nworld][1] of worlds, or U8 [nworld] (a
 * tensor of bool). With native physics, if no parameters are drawn (stet_worlds_randomize), the host does not read it:
 * the reset is one launch (of U8 two), which may be listed or captured, and all worlds count as moved. Else the host
 * reads it.
 */
typedef struct stet_reset_def {
    uint32_t cookie;
    const uint8_t *mask;
    stet_array *mask_array;
    int keyframe;
    double qpos_noise, qvel_noise;
} stet_reset_def;
STET_API stet_reset_def stet_default_reset_def(void);
STET_API stet_result stet_worlds_reset(stet_worlds *worlds, const stet_reset_def *def);

/*
 * Faults of a world, one bit each. A faulty world goes on, and other worlds are not affected. After bad_qpos, bad_qvel
 * and bad_qacc MuJoCo has reset the world to qpos0 together with its inputs (`ctrl`, forces, mocap poses). The arrays
 * show that state; inputs that the caller writes later apply again.
 */
#define STET_FAULTS(X)                                                                                                 \
    X(BAD_QPOS, "positions became NaN or huge")                                                                        \
    X(BAD_QVEL, "velocities became NaN or huge")                                                                       \
    X(BAD_QACC, "accelerations became NaN or huge")                                                                    \
    X(BAD_CTRL, "controls were NaN or huge")                                                                           \
    X(CONTACTS_FULL, "more contacts or constraints than memory for them")                                              \
    X(PHYSICS_ERROR, "the physics engine reported an error")
typedef enum stet_fault {
#define STET_FAULT_ENUM(name, sentence) STET_FAULT_##name,
    STET_FAULTS(STET_FAULT_ENUM)
#undef STET_FAULT_ENUM
        STET_FAULT_COUNT
} stet_fault;
STET_API const char *stet_fault_name(stet_fault fault); /* "bad_qpos" */
/*
 * Fault bits of each world since its last reset, [nworld]; borrowed until the next step or reset. NULL: the device,
 * which has those of native physics, failed.
 */
STET_API const uint32_t *stet_worlds_get_faults(const stet_worlds *worlds);

/*
 * An exact copy of the whole state. Restoring it gives the same bits, whatever happened in between. The caller owns
 * *out. Restoring needs the same number of worlds, the same physics and the same model, or one of equal content; the
 * snapshot keeps its model alive. UNSUPPORTED: the model has bodies that may sleep, or the option flag ipc, so that
 * MuJoCo's state is not complete.
 */
typedef struct stet_snapshot stet_snapshot;
STET_API stet_result stet_snapshot_create(stet_worlds *worlds, stet_snapshot **out);
STET_API stet_result stet_worlds_restore(stet_worlds *worlds, const stet_snapshot *snapshot);
STET_API void stet_snapshot_destroy(stet_snapshot *snapshot);
/*
 * A snapshot of nworld worlds, of which number k is world worlds[k] of this one: one world for all, or some of them,
 * for worlds of another number. The caller owns *out. INVALID_ARGUMENT: nworld below 1; a world that there is not.
 */
STET_API stet_result stet_snapshot_select(const stet_snapshot *snapshot, const int64_t *worlds, int64_t nworld,
                                          stet_snapshot **out);
/*
 * A snapshot as bytes, with a version and a checksum, for another process or later. save: `size` is what get_size says.
 * load: the caller owns *out; it fits worlds whose model has the same content. PARSE: the bytes are no snapshot of this
 * version, or damaged.
 */
STET_API int64_t stet_snapshot_get_size(const stet_snapshot *snapshot);
STET_API stet_result stet_snapshot_save_bytes(const stet_snapshot *snapshot, void *bytes, int64_t size);
STET_API stet_result stet_snapshot_load_bytes(const void *bytes, int64_t size, stet_snapshot **out);
/*
 * The same in a file with a version and a checksum. Saving writes a temporary file and renames it. It replaces only a
 * writable plain file; symbolic links are followed and stay; anything else is STET_ERROR_IO. Loading accepts plain
 * files, compares sizes and the model's fingerprint, and names what differs.
 */
STET_API stet_result stet_worlds_save(stet_worlds *worlds, const char *path);
STET_API stet_result stet_worlds_resume(stet_worlds *worlds, const char *path);

/* Hash of the exact state in canonical order (world by world). */
STET_API stet_result stet_worlds_hash(stet_worlds *worlds, uint64_t *out);

#ifdef __cplusplus
}
#endif
#endif
