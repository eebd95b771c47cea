/* What of a model's time steps has no gradient: one table. A row that gets one is taken out. See native_pull.h. */
#include "base/error.h"
#include "physics/contact/pairs.h"
#include "physics/features.h"
#include "physics/model/known_plugins.h"
#include "physics/native_pull.h"

static bool any_number(const mjtNum *a, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        if (a[i] != 0) return true;
    return false;
}

static bool any_flag(const mjtBool *a, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        if (a[i]) return true;
    return false;
}

static bool is_implicit(const mjModel *m) { return m->opt.integrator == mjINT_IMPLICITFAST; }
static bool has_other_integrator(const mjModel *m)
{
    return m->opt.integrator == mjINT_IMPLICIT || m->opt.integrator == mjINT_DISCRETE;
}
static bool has_implicit_medium(const mjModel *m)
{
    return is_implicit(m) && (m->opt.density != 0 || m->opt.viscosity != 0);
}
static bool has_ellipsoids(const mjModel *m) { return any_number(m->geom_fluid, (int64_t)mjNFLUID * m->ngeom); }
static bool has_moving_surfaces(const mjModel *m) { return any_number(m->geom_surfacevel, (int64_t)6 * m->ngeom); }
static bool has_motors(const mjModel *m)
{
    for (int i = 0; i < m->nactuator; ++i) {
        int gain = m->actuator_gaintype[i];
        if (gain == mjGAIN_DCMOTOR || gain == mjGAIN_PID || gain == mjGAIN_SO3) return true;
    }
    return false;
}
static bool has_history(const mjModel *m) { return m->nhistory > 0; }
static bool has_plugins(const mjModel *m) { return sti_physics_count_plugin_pids(m) > 0; }
static bool has_noslip(const mjModel *m) { return m->opt.noslip_iterations > 0 && sti_physics_slips(m); }

/* ---- tendons ----------------------------------------------------------------------------------------------------- */

static bool is_spatial(const mjModel *m, int t)
{
    int type = m->wrap_type[m->tendon_adr[t]];
    return type != mjWRAP_JOINT;
}

/* Do all dofs that move body a move body b? */
static bool is_above(const mjModel *m, int a, int b)
{
    int d = m->body_dofnum[m->body_weldid[a]] ? m->body_dofadr[m->body_weldid[a]] : -1;
    for (a = m->body_weldid[a]; d < 0 && a > 0; a = m->body_weldid[m->body_parentid[a]])
        if (m->body_dofnum[a]) d = m->body_dofadr[a];
    for (b = m->body_weldid[b]; d >= 0 && b > 0; b = m->body_weldid[m->body_parentid[b]])
        if (m->body_dofnum[b] && m->body_dofadr[b] == d) return true;
    return d < 0;
}

static int wrapped_body(const mjModel *m, int i)
{
    int type = m->wrap_type[i], id = m->wrap_objid[i];
    if (type == mjWRAP_SITE) return m->site_bodyid[id];
    return type == mjWRAP_SPHERE || type == mjWRAP_CYLINDER ? m->geom_bodyid[id] : 0;
}

/* The inertia matrix has no entries for two dofs of which neither moves the other. */
static bool has_branching_armature(const mjModel *m)
{
    for (int t = 0; t < m->ntendon; ++t) {
        int first = m->tendon_adr[t], end = first + m->tendon_num[t];
        if (!is_spatial(m, t) || m->tendon_armature[t] == 0) continue;
        for (int i = first; i < end; ++i)
            for (int k = first; k < i; ++k) {
                int a = wrapped_body(m, i), b = wrapped_body(m, k);
                if (!is_above(m, a, b) && !is_above(m, b, a)) return true;
            }
    }
    return false;
}

/* A limit scales the forces of several actuators together; of one it is a clamp. */
static bool has_shared_force_limits(const mjModel *m)
{
    for (int i = 0; i < m->nactuator; ++i)
        for (int k = 0; k < i; ++k) {
            int t = m->actuator_trnid[2 * i];
            bool both = m->actuator_trntype[i] == mjTRN_TENDON && m->actuator_trntype[k] == mjTRN_TENDON;
            if (both && t == m->actuator_trnid[2 * k] && m->tendon_actfrclimited[t]) return true;
        }
    return false;
}

static bool is_damped(const mjModel *m, int t)
{
    return m->tendon_damping[t] != 0 || any_number(m->tendon_dampingpoly + (ptrdiff_t)mjNPOLY * t, mjNPOLY);
}

/* ---- actuators --------------------------------------------------------------------------------------------------- */

static bool any_transmission(const mjModel *m, mjtTrn type)
{
    for (int i = 0; i < m->nactuator; ++i)
        if (m->actuator_trntype[i] == (int)type) return true;
    return false;
}

static bool has_adhesion(const mjModel *m) { return any_transmission(m, mjTRN_BODY) || m->flg_adhesion; }
static bool has_cranks(const mjModel *m) { return any_transmission(m, mjTRN_SLIDERCRANK); }

static bool has_reference_sites(const mjModel *m)
{
    for (int i = 0; i < m->nactuator; ++i)
        if (m->actuator_trntype[i] == mjTRN_SITE && m->actuator_trnid[2 * i + 1] >= 0) return true;
    return false;
}

/* Does the moment of this actuator depend on the pose? */
static bool has_turning_moment(const mjModel *m, int i)
{
    int type = m->actuator_trntype[i], id = m->actuator_trnid[2 * i];
    if (type == mjTRN_TENDON) return is_spatial(m, id);
    return type == mjTRN_SITE || (type == mjTRN_JOINTINPARENT && m->jnt_type[id] <= mjJNT_BALL);
}

static bool has_velocity_gain(const mjModel *m, int i)
{
    bool gain = m->actuator_gaintype[i] == mjGAIN_AFFINE && m->actuator_gainprm[(ptrdiff_t)mjNGAIN * i + 2] != 0;
    bool bias = m->actuator_biastype[i] == mjBIAS_AFFINE && m->actuator_biasprm[(ptrdiff_t)mjNBIAS * i + 2] != 0;
    return gain || bias;
}

/* The integrator's matrix has the derivatives of these forces by velocity along directions that turn. */
static bool has_turning_damping(const mjModel *m)
{
    if (!is_implicit(m)) return false;
    for (int t = 0; t < m->ntendon; ++t)
        if (is_spatial(m, t) && is_damped(m, t)) return true;
    for (int i = 0; i < m->nactuator; ++i)
        if (has_turning_moment(m, i) && has_velocity_gain(m, i)) return true;
    return false;
}

static bool has_implicit_muscles(const mjModel *m)
{
    for (int i = 0; i < m->nactuator; ++i)
        if (m->actuator_gaintype[i] == mjGAIN_MUSCLE && is_implicit(m)) return true;
    return false;
}

/* Where a joint limits the sum of forces, others than those along its axis would have to be let out of it. */
static bool has_limits_of_turning_forces(const mjModel *m)
{
    if (!any_flag(m->jnt_actfrclimited, m->njnt)) return false;
    for (int i = 0; i < m->nactuator; ++i)
        if (m->actuator_trntype[i] == mjTRN_SITE || has_turning_moment(m, i)) return true;
    return false;
}

/* It is the force that it is without them, unless it is limited with theirs, or off with them. */
static bool has_limited_gravcomp(const mjModel *m)
{
    bool off = m->opt.disableflags & mjDSBL_ACTUATION || m->nactuator == 0;
    for (int j = 0; j < m->njnt; ++j)
        if (m->jnt_actgravcomp[j] && (off || m->jnt_actfrclimited[j])) return any_number(m->body_gravcomp, m->nbody);
    return false;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool (*needed)(const mjModel *m);
} rows[] = {
    {"integrators implicit and discrete", has_other_integrator},
    {"integrator implicitfast in a medium", has_implicit_medium},
    {"fluid forces on ellipsoids", has_ellipsoids},
    {"moving surfaces", has_moving_surfaces},
    {"DC motors, PID controllers and servos of orientations", has_motors},
    {"delays and history", has_history},
    {"plugins of actuators", has_plugins},
    {"noslip iterations", has_noslip},
    {"armature of tendons between branches of a tree, or between trees", has_branching_armature},
    {"limits of the forces of several actuators of a tendon", has_shared_force_limits},
    {"adhesion", has_adhesion},
    {"slider-cranks", has_cranks},
    {"actuators on sites with a reference site", has_reference_sites},
    {"gravity compensation by actuators that are limited or off", has_limited_gravcomp},
    {"limits of joints' forces with actuators on sites or spatial tendons", has_limits_of_turning_forces},
    {"integrator implicitfast with muscles", has_implicit_muscles},
    {"integrator implicitfast with damping along spatial tendons, sites or turning gears", has_turning_damping},
};

bool sti_gradient_lacks(const mjModel *m, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        if (!rows[k].needed(m)) continue;
        at = sti_physics_add_name(text, size, at, rows[k].name);
    }
    return text[0] != '\0';
}

stet_result sti_gradient_check_model(const mjModel *m)
{
    char text[STI_GRADIENT_LACKS_SIZE];
    if (!sti_gradient_lacks(m, text, sizeof text)) return STET_OK;
    return sti_error(STET_ERROR_UNSUPPORTED, "gradients: steps of this model have none, because of: %s; take that out",
                     text);
}
