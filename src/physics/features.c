/*
 * The table of features: each row is something that a model may need. A feature that native physics gets becomes
 * `covered` here, and nowhere else.
 */
#include "physics/features.h"

#include "base/error.h"
#include "physics/dynamics/actuators.h"
#include "physics/collide/hulls.h"
#include "physics/model/layout.k.h"
#include "physics/contact/pairs.h"
#include "physics/model/known_plugins.h"
#include "physics/sensors/ray_shapes.h"
#include "physics/sensors/sensors.h"
#include "physics/solver/places.h"
#include "physics/tables.h"

#include <stdio.h>
#include <string.h>

static bool off(const mjModel *m, int flags) { return (m->opt.disableflags & (flags | mjDSBL_CONSTRAINT)) != 0; }

static bool any_flag(const mjtBool *a, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        if (a[i]) return true;
    return false;
}

static bool any_number(const mjtNum *a, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        if (a[i] != 0) return true;
    return false;
}

static bool any_int(const int *a, int64_t n, int value)
{
    for (int64_t i = 0; i < n; ++i)
        if (a[i] == value) return true;
    return false;
}

/* ---- contacts ---------------------------------------------------------------------------------------------------- */

static bool is_hard_pair(const mjModel *m, int g1, int g2)
{
    int a = m->geom_type[g1], b = m->geom_type[g2], low = a < b ? a : b, high = a < b ? b : a;
    if (!sti_physics_has_shape(m, g1) || !sti_physics_has_shape(m, g2)) return true;
    if (m->opt.disableflags & mjDSBL_NATIVECCD && sti_physics_is_searched(low, high)) return true;
    return high > mjGEOM_HFIELD && sti_physics_pair_contacts(low, high) == 0;
}

/* That is so because of their types and shapes, so one geom of each kind stands for all. */
static bool any_hard_kinds(const mjModel *m)
{
    int kind[2 * mjNGEOMTYPES], n = 0;
    uint64_t seen[2] = {0, 0};
    for (int g = 0; g < m->ngeom; ++g) {
        uint64_t *shape = seen + sti_physics_has_shape(m, g), bit = UINT64_C(1) << m->geom_type[g];
        if (!(*shape & bit)) kind[n++] = g;
        *shape |= bit;
    }
    for (int a = 0; a < n; ++a)
        for (int b = a; b < n; ++b)
            if (is_hard_pair(m, kind[a], kind[b])) return true;
    return false;
}

static bool has_hard_contacts(const mjModel *m)
{
    sti_pair_place at = {.next = 0};
    if (!any_hard_kinds(m)) return false;
    while (sti_physics_next_pair(m, &at))
        if (is_hard_pair(m, at.geom[0], at.geom[1])) return true;
    return false;
}
static bool has_speculation(const mjModel *m)
{
    return sti_physics_has_pairs(m) && m->opt.enableflags & mjENBL_SPECULATIVE;
}
/* Where passive forces are disabled, MuJoCo's contacts are as if something pulled, and nothing does. */
static bool has_hard_stickiness(const mjModel *m)
{
    int passive = mjDSBL_SPRING | mjDSBL_DAMPER;
    return sti_physics_is_adhesive(m) && (m->opt.integrator == mjINT_DISCRETE || m->opt.noslip_iterations > 0 ||
                                          (m->opt.disableflags & passive) == passive);
}
static bool has_moving_surfaces(const mjModel *m) { return sti_physics_has_pairs(m) && m->flg_surfacevel; }
static bool has_override(const mjModel *m) { return sti_physics_has_pairs(m) && m->opt.enableflags & mjENBL_OVERRIDE; }

/* ---- the other rows ---------------------------------------------------------------------------------------------- */

static bool has_joint_limits(const mjModel *m) { return !off(m, mjDSBL_LIMIT) && any_flag(m->jnt_limited, m->njnt); }
static bool has_tendon_limits(const mjModel *m)
{
    return !off(m, mjDSBL_LIMIT) && any_flag(m->tendon_limited, m->ntendon);
}
static bool has_friction(const mjModel *m)
{
    return !off(m, mjDSBL_FRICTIONLOSS) &&
           (any_number(m->dof_frictionloss, m->nv) || any_number(m->tendon_frictionloss, m->ntendon));
}
static bool has_equalities(const mjModel *m) { return !off(m, mjDSBL_EQUALITY) && m->neq > 0; }
static bool has_flex_equalities(const mjModel *m)
{
    for (int i = 0; i < m->neq; ++i)
        if (m->eq_type[i] > mjEQ_TENDON) return has_equalities(m);
    return false;
}
/* A model that may have rows needs the solver. */
static bool has_rows(const mjModel *m)
{
    return sti_physics_has_pairs(m) || has_joint_limits(m) || has_tendon_limits(m) || has_friction(m) ||
           has_equalities(m);
}
/* All of MuJoCo's solvers end at the minimum of the same convex cost; Newton's method is nearest to it. */
static bool has_other_solvers(const mjModel *m) { return m->opt.solver != mjSOL_NEWTON && has_rows(m); }
/* With fewer a step ends where the solver is then, and that is not where MuJoCo's is (doc/design/physics.md). */
static bool has_few_iterations(const mjModel *m)
{
    return (m->opt.iterations < 6 || m->opt.ls_iterations < 20) && has_rows(m);
}
static bool has_noslip(const mjModel *m) { return m->opt.noslip_iterations > 0 && sti_physics_slips(m); }
static bool has_diagexact(const mjModel *m) { return m->opt.enableflags & mjENBL_DIAGEXACT && has_rows(m); }
static bool has_flexes(const mjModel *m) { return m->nflex > 0; }
static bool has_plugins(const mjModel *m) { return !sti_physics_knows_plugins(m); }
static bool has_plugin_pids(const mjModel *m) { return sti_physics_count_plugin_pids(m) > 0; }
static bool has_grids(const mjModel *m) { return sti_physics_count_grids(m) > 0; }
static bool has_history(const mjModel *m) { return m->nhistory > 0; }
/* Those that are delayed MuJoCo evaluates in the last pass of Runge-Kutta's method, other sensors in the first. */
static bool has_hard_past(const mjModel *m)
{
    for (int i = 0; i < m->nsensor && sti_physics_has_sensors(m); ++i)
        if (m->sensor_history[2 * i] > 0) return m->opt.integrator == mjINT_RK4;
    return false;
}
static bool has_plasticity(const mjModel *m) { return m->nplastic > 0; }
static bool has_rk4(const mjModel *m) { return m->opt.integrator == mjINT_RK4; }
static bool has_implicit(const mjModel *m) { return m->opt.integrator == mjINT_IMPLICIT; }
static bool has_discrete(const mjModel *m) { return m->opt.integrator == mjINT_DISCRETE; }
static bool has_euler(const mjModel *m) { return m->opt.integrator == mjINT_EULER; }
static bool has_implicitfast(const mjModel *m) { return m->opt.integrator == mjINT_IMPLICITFAST; }
static bool has_fluid(const mjModel *m) { return m->opt.density > 0 || m->opt.viscosity > 0; }
static bool has_joints(const mjModel *m) { return m->njnt > 0; }
static bool has_mocap(const mjModel *m) { return m->nmocap > 0; }
static bool has_gravcomp(const mjModel *m) { return any_number(m->body_gravcomp, m->nbody); }
static bool has_tendons(const mjModel *m) { return any_int(m->tendon_type, m->ntendon, mjTENDON_FIXED); }
static bool has_spatial_tendons(const mjModel *m) { return any_int(m->tendon_type, m->ntendon, mjTENDON_SPATIAL); }
/* Its forces need the time derivative of ten_J, which MuJoCo, too, has for straight paths alone. */
static bool has_wrapped_armature(const mjModel *m)
{
    for (int t = 0; t < m->ntendon; ++t)
        for (int k = m->tendon_adr[t]; k < m->tendon_adr[t] + m->tendon_num[t]; ++k)
            if ((m->wrap_type[k] == mjWRAP_SPHERE || m->wrap_type[k] == mjWRAP_CYLINDER) &&
                sti_physics_armature(m, true, t) != 0)
                return true;
    return false;
}
static bool has_springs(const mjModel *m)
{
    return any_number(m->jnt_stiffness, m->njnt) || any_number(m->dof_damping, m->nv);
}

/* A polynomial spring of three dimensions has no row of its own in MuJoCo's documentation. */
static bool has_ball_polynomials(const mjModel *m)
{
    for (int j = 0; j < m->njnt; ++j) {
        int n = m->jnt_type[j] == mjJNT_FREE ? 6 : 3;
        if (m->jnt_type[j] > mjJNT_BALL) continue;
        if (any_number(m->jnt_stiffnesspoly + mjNPOLY * j, mjNPOLY)) return true;
        for (int d = m->jnt_dofadr[j]; d < m->jnt_dofadr[j] + n; ++d) {
            double poly[mjNPOLY];
            (void)sti_physics_damping(m, false, d, poly);
            if (any_number(poly, mjNPOLY)) return true;
        }
    }
    return false;
}

static bool has_actuator_inertia(const mjModel *m)
{
    return any_number(m->actuator_damping, m->nactuator) ||
           any_number(m->actuator_dampingpoly, (int64_t)mjNPOLY * m->nactuator) ||
           any_number(m->actuator_armature, m->nactuator);
}

/* ---- sensors ----------------------------------------------------------------------------------------------------- */

/* Is there a sensor of these mjtSensor? */
static bool any_sensor(const mjModel *m, mjtSensor first, mjtSensor last)
{
    for (int i = 0; i < m->nsensor && sti_physics_has_sensors(m); ++i)
        if (m->sensor_type[i] >= (int)first && m->sensor_type[i] <= (int)last) return true;
    return false;
}

static bool has_clocks(const mjModel *m) { return any_sensor(m, mjSENS_CLOCK, mjSENS_CLOCK); }
static bool has_camera_projections(const mjModel *m)
{
    return any_sensor(m, mjSENS_CAMPROJECTION, mjSENS_CAMPROJECTION);
}
/* Of geoms that are no convex bodies. */
static bool has_hard_distances(const mjModel *m)
{
    if (!sti_physics_has_distances(m)) return false;
    for (int g = 0; g < m->ngeom; ++g)
        if ((m->geom_type[g] == mjGEOM_HFIELD || !sti_physics_has_shape(m, g)) && sti_physics_measures(m, g))
            return true;
    return (m->opt.disableflags & mjDSBL_NATIVECCD) != 0;
}
static bool has_tactile_sensors(const mjModel *m) { return any_sensor(m, mjSENS_TACTILE, mjSENS_TACTILE); }
static bool has_moving_cameras(const mjModel *m)
{
    for (int i = 0; i < m->nsensor && sti_physics_has_sensors(m); ++i) {
        int object = m->sensor_objid[i], frame = m->sensor_refid[i];
        if (m->sensor_objtype[i] == mjOBJ_CAMERA && m->cam_mode[object] != mjCAMLIGHT_FIXED) return true;
        if (m->sensor_reftype[i] == mjOBJ_CAMERA && frame >= 0 && m->cam_mode[frame] != mjCAMLIGHT_FIXED) return true;
    }
    return false;
}
static bool has_camera_rays(const mjModel *m)
{
    for (int i = 0; i < m->nsensor && sti_physics_has_sensors(m); ++i)
        if (m->sensor_type[i] == mjSENS_RANGEFINDER && m->sensor_objtype[i] != mjOBJ_SITE) return true;
    return false;
}
static bool has_mesh_rays(const mjModel *m) { return sti_physics_count_ray_shapes(m) > 0; }
static bool has_sdf_rays(const mjModel *m)
{
    return any_int(m->geom_type, m->ngeom, mjGEOM_SDF) && sti_physics_has_rays(m);
}

/* ---- actuators --------------------------------------------------------------------------------------------------- */

static bool is_user_actuator(const mjModel *m, int i)
{
    return m->actuator_dyntype[i] == mjDYN_USER || m->actuator_gaintype[i] == mjGAIN_USER ||
           m->actuator_biastype[i] == mjBIAS_USER;
}
/* Gain, bias and dynamics that MuJoCo's elements make belong together. */
static bool is_known_actuator(const mjModel *m, int i)
{
    int dyn = m->actuator_dyntype[i], gain = m->actuator_gaintype[i], bias = m->actuator_biastype[i];
    if (gain == mjGAIN_DCMOTOR) return dyn == mjDYN_DCMOTOR && bias == mjBIAS_DCMOTOR;
    if (gain == mjGAIN_PID) return (dyn == mjDYN_NONE || dyn == mjDYN_PID) && bias == mjBIAS_AFFINE;
    if (gain == mjGAIN_SO3) return (dyn == mjDYN_NONE || dyn == mjDYN_INTEGRATOR) && bias == mjBIAS_SO3;
    return dyn <= mjDYN_MUSCLE && bias <= mjBIAS_MUSCLE;
}

static bool has_actuators(const mjModel *m) { return m->nactuator > 0; }
static bool has_orientations(const mjModel *m) { return sti_physics_count_orientations(m) > 0; }
static bool has_motors(const mjModel *m) { return any_int(m->actuator_gaintype, m->nactuator, mjGAIN_DCMOTOR); }
static bool has_controllers(const mjModel *m) { return any_int(m->actuator_gaintype, m->nactuator, mjGAIN_PID); }
static bool has_adhesion(const mjModel *m) { return any_int(m->actuator_trntype, m->nactuator, mjTRN_BODY); }
/*
 * Its force must not depend on what it moves, nor be limited with others. Its velocity is known where it acts only.
 */
static bool has_hard_adhesion(const mjModel *m)
{
    bool hard = (m->opt.disableflags & mjDSBL_ACTUATION) != 0;
    for (int j = 0; j < m->njnt; ++j) hard = hard || m->jnt_actfrclimited[j];
    for (int i = 0; i < m->nactuator; ++i)
        if (m->actuator_trntype[i] == mjTRN_BODY &&
            (hard || m->actuator_gaintype[i] != mjGAIN_FIXED || m->actuator_biastype[i] != mjBIAS_NONE))
            return true;
    return false;
}
static bool has_site_actuators(const mjModel *m) { return sti_physics_count_site_actuators(m) > 0; }
static bool has_muscles(const mjModel *m) { return sti_physics_count_muscles(m) > 0; }
static bool has_user_actuators(const mjModel *m)
{
    for (int i = 0; i < m->nactuator; ++i)
        if (is_user_actuator(m, i)) return true;
    return false;
}
static bool has_other_actuators(const mjModel *m)
{
    for (int i = 0; i < m->nactuator; ++i)
        if (!is_known_actuator(m, i) && !is_user_actuator(m, i)) return true;
    return false;
}

/* ---- integrator discrete ----------------------------------------------------------------------------------------- */

/* Has qM a place for what ties the dofs of a row of a sparse matrix together? */
static bool has_places(const mjModel *m, const int *col, int n)
{
    for (int a = 0; a < n; ++a)
        for (int b = 0; b < a; ++b) {
            int row = col[a] > col[b] ? col[a] : col[b], other = col[a] + col[b] - row, found = 0;
            for (int e = m->M_rowadr[row]; e < m->M_rowadr[row] + m->M_rownnz[row]; ++e)
                found |= m->M_colind[e] == other;
            if (!found) return false;
        }
    return true;
}

/* The same of the dofs that a tendon, or an actuator with a joint or tendon, pulls at. */
static bool tendon_has_places(const mjModel *m, int t)
{
    return has_places(m, m->ten_J_colind + m->ten_J_rowadr[t], m->ten_J_rownnz[t]);
}
static bool actuator_has_places(const mjModel *m, int i)
{
    static const int dofs[] = {6, 3, 1, 1};
    int type = m->actuator_trntype[i], id = m->actuator_trnid[2 * i], col[6];
    if (type == mjTRN_TENDON) return tendon_has_places(m, id);
    if (type > mjTRN_JOINTINPARENT) return false;
    int n = dofs[m->jnt_type[id]];
    for (int k = 0; k < n; ++k) col[k] = m->jnt_dofadr[id] + k;
    return has_places(m, col, n);
}

/* Actuators whose forces at the end of a time step the metric does not have. */
static bool has_late_servos(const mjModel *m)
{
    return has_motors(m) || has_plugin_pids(m) || any_int(m->actuator_gaintype, m->nactuator, mjGAIN_PID) ||
           any_int(m->actuator_gaintype, m->nactuator, mjGAIN_SO3);
}

static bool has_hard_discrete(const mjModel *m)
{
    if (!has_discrete(m)) return false;
    if (m->opt.solver == mjSOL_PGS || m->opt.enableflags & mjENBL_IPC || has_noslip(m) || has_muscles(m) ||
        has_adhesion(m) || has_late_servos(m))
        return true;
    for (int t = 0; t < m->ntendon; ++t) {
        const double *stiff = m->tendon_stiffnesspoly + mjNPOLY * t, *damping = m->tendon_dampingpoly + mjNPOLY * t;
        bool pulls = m->tendon_stiffness[t] != 0 || m->tendon_damping[t] != 0 || any_number(stiff, mjNPOLY) ||
                     any_number(damping, mjNPOLY);
        if (pulls && !tendon_has_places(m, t)) return true;
    }
    for (int i = 0; i < m->nactuator; ++i) {
        bool gain = m->actuator_gaintype[i] == mjGAIN_AFFINE && any_number(m->actuator_gainprm + mjNGAIN * i + 1, 2);
        bool bias = m->actuator_biastype[i] == mjBIAS_AFFINE && any_number(m->actuator_biasprm + mjNBIAS * i + 1, 2);
        if ((gain || bias) && !actuator_has_places(m, i)) return true;
    }
    return false;
}

static const struct {
    const char *name;
    bool covered;
    bool (*needed)(const mjModel *m);
} features[] = {
    {"joints", true, has_joints},
    {"springs and dampers", true, has_springs},
    {"gravity compensation", true, has_gravcomp},
    {"mocap bodies", true, has_mocap},
    {"fixed tendons", true, has_tendons},
    {"spatial tendons", true, has_spatial_tendons},
    {"actuators", true, has_actuators},
    {"integrator Euler", true, has_euler},
    {"integrator implicitfast", true, has_implicitfast},
    {"integrator implicit", true, has_implicit},
    {"integrator discrete", true, has_discrete},
    {"integrator discrete with solver PGS, IPC, noslip iterations, muscles, adhesion, DC motors, PID or orientation "
     "servos, or with springs, dampers or servos between dofs of which none moves the other",
     false, has_hard_discrete},
    {"contacts", true, sti_physics_has_pairs},
    {"contacts of signed distance fields, of meshes without a hull, or by libccd", false, has_hard_contacts},
    {"moving surfaces", true, has_moving_surfaces},
    {"override of contact parameters", true, has_override},
    {"adhesion of geoms", true, sti_physics_is_adhesive},
    {"adhesion of geoms with integrator discrete, noslip iterations, or neither springs nor dampers", false,
     has_hard_stickiness},
    {"speculative contacts", false, has_speculation},
    {"joint limits", true, has_joint_limits},
    {"tendon limits", true, has_tendon_limits},
    {"friction loss", true, has_friction},
    {"equality constraints", true, has_equalities},
    {"equality constraints of flexes", false, has_flex_equalities},
    {"solvers PGS and CG, in their place Newton", true, has_other_solvers},
    {"fewer than 6 iterations of the solver, or 20 of its line search: may end elsewhere than MuJoCo's", true,
     has_few_iterations},
    {"noslip iterations", true, has_noslip},
    {"diagexact", false, has_diagexact},
    {"sensors", true, sti_physics_has_sensors},
    {"clocks as sensors", true, has_clocks},
    {"camera projections", true, has_camera_projections},
    {"sensors of distances between geoms", true, sti_physics_has_distances},
    {"sensors of distances to height fields, signed distance fields, meshes without a hull, or by libccd", false,
     has_hard_distances},
    {"contact sensors", true, sti_physics_has_contact_sensors},
    {"tactile sensors", false, has_tactile_sensors},
    {"sensors on cameras that track", false, has_moving_cameras},
    {"rangefinders on cameras", true, has_camera_rays},
    {"rangefinders among meshes or height fields", true, has_mesh_rays},
    {"rangefinders among signed distance fields", false, has_sdf_rays},
    {"integrator RK4", true, has_rk4},
    {"armature of tendons that wrap around geoms", false, has_wrapped_armature},
    {"actuators on sites, slider-cranks", true, has_site_actuators},
    {"muscles", true, has_muscles},
    {"adhesion of bodies", true, has_adhesion},
    {"adhesion of bodies by a force that is not fixed, with limits of joints' forces, or actuation disabled", false,
     has_hard_adhesion},
    {"actuators on relative orientations", true, has_orientations},
    {"DC motors", true, has_motors},
    {"PID controllers", true, has_controllers},
    {"parts of DC motors or of PID controllers with those of other actuators", false, has_other_actuators},
    {"gains, biases or dynamics of actuators that a user defines", false, has_user_actuators},
    {"damping or armature of actuators", true, has_actuator_inertia},
    {"polynomial springs or dampers of ball and free joints", false, has_ball_polynomials},
    {"fluid forces", true, has_fluid},
    {"flexible bodies", false, has_flexes},
    {"PID controllers of a plugin", true, has_plugin_pids},
    {"grids of touch", true, has_grids},
    {"other plugins", false, has_plugins},
    {"delays and history", true, has_history},
    {"delays and history of sensors with integrator RK4", false, has_hard_past},
    {"plastic springs", false, has_plasticity},
    {"sleeping", false, sti_model_sleeps},
};

const char *sti_physics_feature(const mjModel *m, int i, bool *covered)
{
    for (size_t k = 0; k < sizeof features / sizeof *features; ++k) {
        if (!features[k].needed(m) || i-- > 0) continue;
        *covered = features[k].covered;
        return features[k].name;
    }
    return NULL;
}

bool sti_physics_replaces_solver(const mjModel *m) { return has_other_solvers(m); }
bool sti_physics_ends_early(const mjModel *m) { return has_few_iterations(m); }

int64_t sti_physics_count_lanes(const mjModel *m, int64_t nworld)
{
    return sti_physics_count_nodes(m) > 0 ? 1 : nworld;
}

size_t sti_physics_add_name(char *text, size_t size, size_t at, const char *name)
{
    int n = snprintf(text + at, size - at, "%s%s", at ? ", " : "", name);
    return n > 0 && at + (size_t)n < size ? at + (size_t)n : size - 1;
}

bool sti_physics_lacks(const mjModel *m, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t k = 0; k < sizeof features / sizeof *features; ++k) {
        if (features[k].covered || !features[k].needed(m)) continue;
        at = sti_physics_add_name(text, size, at, features[k].name);
    }
    return text[0] != '\0';
}

stet_result sti_physics_check_model(const mjModel *m)
{
    char text[STI_LACKS_SIZE];
    if (!sti_physics_lacks(m, text, sizeof text)) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED, "step: physics native lacks what this model needs: %s; use physics mujoco",
                     text);
}
