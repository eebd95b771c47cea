/* Models: a robot scene, loaded from MJCF or URDF by MuJoCo's own library. A model does not change after loading. */
#ifndef STET_MODEL_H
#define STET_MODEL_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stet_model stet_model;

/*
 * Loads MJCF (.xml), URDF (.urdf, or .xml with a <robot> root) or a compiled model (.mjb). The caller owns *out. A
 * scene without cameras is fine. NOT_FOUND: no such file. PARSE: the loader's message, with file and line; a time step
 * that is not above 0. LIMIT: MuJoCo would need more memory than there is, or very long. All messages name the path. A
 * .mjb is tried in another process first (fork), which a damaged one may crash.
 */
STET_API stet_result stet_model_load(const char *path, stet_model **out);
/* The same from a string of MJCF or URDF. */
STET_API stet_result stet_model_load_string(const char *xml, stet_model **out);

/* A file that a model names, in memory. */
typedef struct stet_asset {
    const char *name;  /* as the model names it, with its folder or without */
    const void *bytes; /* borrowed during the call */
    int64_t size;
} stet_asset;
/* What drives the hinges and slides that have no actuator. */
typedef enum stet_actuation {
    STET_ACTUATION_NONE,     /* nothing (the default) */
    STET_ACTUATION_MOTOR,    /* forces, N and N m, in the joint's actuatorfrcrange (URDF: effort), if it has one */
    STET_ACTUATION_POSITION, /* servos: kp (target - position) - kd velocity, the target in the joint's range */
    STET_ACTUATION_VELOCITY  /* velocity servos: kd (target - velocity) */
} stet_actuation;
/* What to load and how; start from stet_default_model_def(). */
typedef struct stet_model_def {
    uint32_t cookie;  /* set by stet_default_model_def */
    const char *path; /* a file, or */
    const char *xml;  /* a string of MJCF or URDF; one of the two */
    /* Files that the string, or the file, names: included ones, meshes, textures. Others are read from the disk. */
    const stet_asset *assets;
    int nasset;
    /*
     * Folders where package://NAME/PATH of URDF is looked for: the package's own, or one that holds packages. Then come
     * those of ROS_PACKAGE_PATH, share/ of those of AMENT_PREFIX_PATH, and the folders above the URDF file.
     */
    const char *const *packages;
    int npackage;
    /* Actuators get the names of their joints; joints that have one keep it. Gains in N m/rad, N/m, and times s. */
    stet_actuation actuation;
    double kp, kd;
} stet_model_def;
STET_API stet_model_def stet_default_model_def(void);
/*
 * stet_model_load with more to say. Links of URDF at fixed joints, which MuJoCo makes parts of the bodies above them,
 * keep their frames as sites of their names (group 4), also through the two functions above. Errors as of
 * stet_model_load; INVALID_ARGUMENT: a def that is not complete, a gain, a joint without a name; NOT_FOUND: a file of a
 * package, and the message says where it was looked for.
 */
STET_API stet_result stet_model_create(const stet_model_def *def, stet_model **out);
/*
 * The compiled model as bytes with a checksum, for another process with the same release of MuJoCo. save: `size` is
 * what get_size says. load: `path` is what stet_model_get_path says of the copy ("" for none); the file is not looked
 * at. Bytes of MuJoCo's own (.mjb) are taken, too. UNSUPPORTED: the model has plugins, which have other numbers in each
 * process. PARSE: the bytes are no model, or damaged.
 */
STET_API int64_t stet_model_get_size(const stet_model *model);
STET_API stet_result stet_model_save_bytes(const stet_model *model, void *bytes, int64_t size);
STET_API stet_result stet_model_load_bytes(const void *bytes, int64_t size, const char *path, stet_model **out);
/* Releases the caller's reference. A sim keeps its model alive. NULL is fine. */
STET_API void stet_model_destroy(stet_model *model);

/* Sizes under MuJoCo's names; `timestep` in seconds. */
typedef struct stet_model_info {
    int nq, nv, na, nu, nbody, njnt, ngeom, nsite, ncam, nlight, nmesh, nhfield, nmat, nsensor, nsensordata, nkey,
        nmocap, neq, ntendon;
    double timestep;
} stet_model_info;
STET_API stet_model_info stet_model_get_info(const stet_model *model);
STET_API const char *stet_model_get_path(const stet_model *model); /* "" if loaded from a string */

/* Kinds of named objects. */
typedef enum stet_object {
    STET_OBJECT_BODY,
    STET_OBJECT_JOINT,
    STET_OBJECT_GEOM,
    STET_OBJECT_SITE,
    STET_OBJECT_CAMERA,
    STET_OBJECT_LIGHT,
    STET_OBJECT_ACTUATOR,
    STET_OBJECT_SENSOR,
    STET_OBJECT_KEYFRAME,
    STET_OBJECT_TENDON,
    STET_OBJECT_EQUALITY,
    STET_OBJECT_MESH,
    STET_OBJECT_HFIELD,
    STET_OBJECT_MATERIAL,
    STET_OBJECT_TEXTURE
} stet_object;
/* How many objects of a kind the model has; 0 also: there is no such kind. */
STET_API int stet_model_get_object_count(const stet_model *model, stet_object kind);
/* The name of an object, "" if it has none; NULL: no such index. Borrowed from the model. */
STET_API const char *stet_model_get_object_name(const stet_model *model, stet_object kind, int index);
/* The index of a named object. NOT_FOUND says which name was probably meant, or lists the first few that exist. */
STET_API stet_result stet_model_find(const stet_model *model, stet_object kind, const char *name, int *out);
/*
 * Integers of the model under MuJoCo's names, in MuJoCo's layout:
 *
 *     jnt_type (0 free, 1 ball, 2 slide, 3 hinge), jnt_qposadr, jnt_dofadr, jnt_bodyid, jnt_limited [njnt]
 *     dof_jntid [nv], body_parentid, body_mocapid [nbody], geom_type, geom_bodyid, geom_matid, geom_dataid (its mesh or
 *     height field; -1) [ngeom]
 *     cam_mode (0 fixed, 1 track, 2 trackcom, 3 targetbody, 4 targetbodycom), cam_bodyid [ncam]
 *     site_bodyid [nsite], sensor_type, sensor_adr, sensor_dim [nsensor] (which numbers of sensordata are a sensor's)
 *     actuator_trntype [nactuator], actuator_trnid [nactuator][2], and which numbers are an actuator's: of ctrl
 *     actuator_ctrladr, actuator_ctrlnum, of act actuator_actadr (-1: none), actuator_actnum, of actuator_force and
 *     actuator_gear actuator_outadr, actuator_outnum [nactuator]
 *
 * Returns the names, NULL-terminated.
 */
STET_API const char *const *stet_model_get_tables(void);
STET_API int64_t stet_model_get_table_items(const stet_model *model, const char *name); /* 0 also: no such name */
/* Copies a table. INVALID_ARGUMENT: nvalue is not the number of its items; NOT_FOUND. */
STET_API stet_result stet_model_get_table(const stet_model *model, const char *name, int32_t *values, int64_t nvalue);
/*
 * A height field: rows (along y) and columns (along x), half sizes along x and y, the height of an elevation of 1, and
 * the depth of its base (m). Elevations are from 0 to 1, [nrow][ncol], the lowest x and y first; borrowed from the
 * model. INVALID_ARGUMENT: no such height field.
 */
typedef struct stet_hfield {
    int nrow, ncol;
    double size[4];
    const float *elevations;
} stet_hfield;
STET_API stet_result stet_model_get_hfield(const stet_model *model, int index, stet_hfield *out);
/* The version of MuJoCo's library that this process has loaded, "4.0.1". */
STET_API const char *stet_get_mujoco_version(void);
/*
 * UNSUPPORTED: the loaded MuJoCo is not the release that stet was built for. Structures differ from release to release.
 * Loading a model makes this check first.
 */
STET_API stet_result stet_check_mujoco(void);

#ifdef __cplusplus
}
#endif
#endif
