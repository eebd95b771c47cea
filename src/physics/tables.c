/* The tables of native physics; see tables.h and rows.inl. */
#include "physics/tables.h"

#include "base/error.h"
#include "base/memory.h"
#include "physics/dynamics/actuators.h"
#include "physics/sensors/delays.h"
#include "physics/constraint/blocks.h"
#include "physics/model/builder.h"
#include "physics/dynamics/fluids.h"
#include "physics/contact/groups.h"
#include "physics/collide/hulls.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/model/validate.h"
#include "physics/contact/pair_order.h"
#include "physics/contact/pairs.h"
#include "physics/solver/places.h"
#include "physics/model/known_plugins.h"
#include "physics/sensors/ray_shapes.h"
#include "physics/sensors/sensors.h"
#include "physics/kinematics/tendons.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* Kernels have MuJoCo's numbers for types. */
_Static_assert((int)PH_FREE == (int)mjJNT_FREE && (int)PH_BALL == (int)mjJNT_BALL &&
                   (int)PH_SLIDE == (int)mjJNT_SLIDE && (int)PH_HINGE == (int)mjJNT_HINGE,
               "mjtJoint");
_Static_assert((int)PH_TRN_JOINT == (int)mjTRN_JOINT && (int)PH_TRN_JOINTINPARENT == (int)mjTRN_JOINTINPARENT &&
                   (int)PH_TRN_SLIDERCRANK == (int)mjTRN_SLIDERCRANK && (int)PH_TRN_TENDON == (int)mjTRN_TENDON &&
                   (int)PH_TRN_SITE == (int)mjTRN_SITE && (int)PH_TRN_BODY == (int)mjTRN_BODY &&
                   (int)PH_TRN_SO3 == (int)mjTRN_SO3,
               "mjtTrn");
_Static_assert((int)PH_DYN_NONE == (int)mjDYN_NONE && (int)PH_DYN_INTEGRATOR == (int)mjDYN_INTEGRATOR &&
                   (int)PH_DYN_FILTEREXACT == (int)mjDYN_FILTEREXACT && (int)PH_DYN_MUSCLE == (int)mjDYN_MUSCLE,
               "mjtDyn");
_Static_assert((int)PH_GAIN_AFFINE == (int)mjGAIN_AFFINE && (int)PH_GAIN_MUSCLE == (int)mjGAIN_MUSCLE &&
                   (int)PH_GAIN_DCMOTOR == (int)mjGAIN_DCMOTOR && (int)PH_GAIN_SO3 == (int)mjGAIN_SO3 &&
                   (int)PH_GAIN_PID == (int)mjGAIN_PID,
               "mjtGain");
_Static_assert((int)PH_BIAS_AFFINE == (int)mjBIAS_AFFINE && (int)PH_BIAS_MUSCLE == (int)mjBIAS_MUSCLE, "mjtBias");
_Static_assert((int)PH_SAME_BODY == (int)mjSAMEFRAME_BODY && (int)PH_SAME_INERTIA == (int)mjSAMEFRAME_INERTIA &&
                   (int)PH_SAME_BODYROT == (int)mjSAMEFRAME_BODYROT &&
                   (int)PH_SAME_INERTIAROT == (int)mjSAMEFRAME_INERTIAROT,
               "mjtSameFrame");
_Static_assert((int)PH_PLANE == (int)mjGEOM_PLANE && (int)PH_HFIELD == (int)mjGEOM_HFIELD &&
                   (int)PH_SPHERE == (int)mjGEOM_SPHERE && (int)PH_CAPSULE == (int)mjGEOM_CAPSULE &&
                   (int)PH_ELLIPSOID == (int)mjGEOM_ELLIPSOID && (int)PH_CYLINDER == (int)mjGEOM_CYLINDER &&
                   (int)PH_BOX == (int)mjGEOM_BOX && (int)PH_MESH == (int)mjGEOM_MESH,
               "mjtGeom");

static int *table_of(const sti_tables_builder *b, int number) { return b->t->m + b->t->m[number]; }

static void put_copies(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    const sti_physics_tables *t = b->t;
#define SIZE(number, name, value) sti_physics_fill(b, (number), (value));
#define TABLE(number, array, n)                                                                                        \
    {                                                                                                                  \
        int *to = sti_physics_new_table(b, (number), (n));                                                             \
        for (int64_t i = 0; to && i < (n); ++i) to[i] = (int)m->array[i];                                              \
    }
#define PARAMETER_OF(number, name, array, n, have, take)                                                               \
    {                                                                                                                  \
        double *to = sti_physics_new_parameter(b, (number), (n) * (take));                                             \
        for (int64_t i = 0; to && i < (n) * (take); ++i) {                                                             \
            int64_t at = i / (take) * (have) + i % (take);                                                             \
            to[i] = m->array[at];                                                                                      \
        }                                                                                                              \
    }
#define PARAMETER(number, array, n, have, take) PARAMETER_OF(number, array, array, n, have, take)
#include "physics/model/rows.inl"
}

/* ---- the tree ---------------------------------------------------------------------------------------------------- */

/* The group of an item of the model; -1: none. */
typedef int group_fn(const mjModel *m, int i);

/* Lists the items 0 … n - 1 by their groups, ascending in each, in `table`; adr gets where each group begins. */
static void put_groups(sti_tables_builder *b, int number, int adr_number, int64_t ngroup, int64_t n, group_fn *group)
{
    int *adr = sti_physics_new_table(b, adr_number, ngroup + 1), all = 0;
    for (int i = 0; adr && i < n; ++i)
        if (group(b->model, i) >= 0) adr[group(b->model, i) + 1]++;
    for (int64_t g = 1; adr && g <= ngroup; ++g) all = adr[g] += all;
    int *item = sti_physics_new_table(b, number, all);
    adr = item ? table_of(b, adr_number) : NULL;
    for (int i = (int)n - 1; adr && i >= 0; --i) /* from the end of each group, where the next one begins */
        if (group(b->model, i) >= 0) item[--adr[group(b->model, i) + 1]] = i;
    for (int64_t g = 0; adr && g < ngroup; ++g) adr[g] = adr[g + 1]; /* each group's own beginning */
    if (adr) adr[ngroup] = all;
}

static int body_depth(const mjModel *m, int body)
{
    int depth = -1;
    for (; body != 0; body = m->body_parentid[body]) ++depth;
    return depth;
}

static int dof_depth(const mjModel *m, int dof) { return m->M_rownnz[dof] - 1; }
static int parent_of(const mjModel *m, int body) { return body > 0 ? m->body_parentid[body] : -1; }

static int count_levels(const mjModel *m, int64_t n, group_fn *depth)
{
    int most = -1;
    for (int i = 0; i < n; ++i)
        if (depth(m, i) > most) most = depth(m, i);
    return most + 1;
}

static void put_levels(sti_tables_builder *b, int number, int adr_number, int count_number, int64_t n, group_fn *depth)
{
    int nlevel = count_levels(b->model, n, depth);
    sti_physics_fill(b, count_number, nlevel);
    put_groups(b, number, adr_number, nlevel, n, depth);
}

/* The entries below the diagonal of qM, by columns, each from the last row on. */
static void put_below(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int n = (int)m->nv;
    int64_t all = m->nC - m->nv;
    int *adr = sti_physics_new_table(b, M_BELOW_ADR, n + 1);
    for (int r = 0; adr && r < n; ++r)
        for (int e = m->M_rowadr[r]; e < m->M_rowadr[r] + m->M_rownnz[r] - 1; ++e) adr[m->M_colind[e] + 1]++;
    for (int i = 0; adr && i < n; ++i) adr[i + 1] += adr[i];
    sti_physics_new_table(b, M_BELOW_ROW, all);
    sti_physics_new_table(b, M_BELOW_ENTRY, all);
    if (b->result != STET_OK) return;
    int *row = table_of(b, M_BELOW_ROW), *entry = table_of(b, M_BELOW_ENTRY);
    adr = table_of(b, M_BELOW_ADR);
    for (int r = 0; r < n; ++r) /* from the end of each column, where the next one begins */
        for (int e = m->M_rowadr[r]; e < m->M_rowadr[r] + m->M_rownnz[r] - 1; ++e) {
            int at = --adr[m->M_colind[e] + 1];
            row[at] = r;
            entry[at] = e;
        }
    for (int i = 0; i < n; ++i) adr[i] = adr[i + 1];
    adr[n] = (int)all;
}

/* Items of the largest triangle that stages work on: the dofs above a dof, those of a block. After the blocks. */
static void put_triangle(sti_tables_builder *b)
{
    const sti_physics_tables *t = b->t;
    int rows = 0, all = 0, k = 0;
    if (b->result != STET_OK) return;
    for (int i = 0; i < b->model->nv; ++i)
        if (b->model->M_rownnz[i] > rows) rows = b->model->M_rownnz[i];
    for (int i = 0; i < t->m[M_NBLOCK] + t->m[M_NPAIR] + t->m[M_NMADE]; ++i) {
        int ndof = t->m[t->m[M_BLOCK] + B_SIZE * i + B_NDOF];
        if (ndof > rows) rows = ndof;
    }
    for (int a = 0; a < rows; ++a) all += a / PH_CHUNK + 1;
    int *item = sti_physics_new_table(b, M_TRIANGLE, 2 * (int64_t)all);
    for (int a = 0; item && a < rows; ++a)
        for (int first = 0; first <= a; first += PH_CHUNK) {
            item[k++] = a;
            item[k++] = first;
        }
}

bool sti_physics_is_standalone(const mjModel *m, int body)
{
    int tree = m->body_treeid[body];
    return m->body_jntnum[body] == 1 && m->jnt_type[m->body_jntadr[body]] == mjJNT_FREE && m->tree_dofnum[tree] == 6;
}

/*
 * Does the integrator solve for the accelerations of this body alone? With implicit, also those of other bodies with
 * a diagonal inertia: MuJoCo's matrix has derivatives there that its qM has no place for.
 */
static bool solves_apart(const mjModel *m, int body)
{
    bool implicit = m->opt.integrator == mjINT_IMPLICIT;
    if (m->opt.integrator == mjINT_EULER || m->opt.integrator == mjINT_RK4) return false;
    if (implicit && m->body_simple[body] && m->body_dofnum[body] > 0 && m->body_dofnum[body] <= 6) return true;
    return sti_physics_is_standalone(m, body);
}

static void put_free(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int n = 0, k = 0;
    for (int i = 1; i < m->nbody; ++i) n += solves_apart(m, i);
    sti_physics_fill(b, M_NFREE, n);
    int *body = sti_physics_new_table(b, M_FREE_BODY, n);
    for (int i = 1; body && i < m->nbody; ++i)
        if (solves_apart(m, i)) body[k++] = i;
}

/* ---- flags ------------------------------------------------------------------------------------------------------- */

static bool any_number(const double *a, int n)
{
    for (int i = 0; i < n; ++i)
        if (a[i] != 0) return true;
    return false;
}

static bool any_damping(const mjModel *m)
{
    double poly[mjNPOLY];
    for (int d = 0; d < m->nv; ++d)
        if (sti_physics_damping(m, false, d, poly) != 0 || any_number(poly, mjNPOLY)) return true;
    return false;
}

static int option_flags(const mjModel *m)
{
    int off = m->opt.disableflags, flags = 0;
    bool passive = !(off & mjDSBL_SPRING) || !(off & mjDSBL_DAMPER);
    if (!passive) flags |= PH_NO_PASSIVE;
    if (off & mjDSBL_SPRING) flags |= PH_NO_SPRING;
    if (off & mjDSBL_DAMPER) flags |= PH_NO_DAMPER;
    if (off & mjDSBL_ACTUATION || m->nactuator == 0) flags |= PH_NO_ACTUATION; /* no gravity compensation, either */
    if (off & mjDSBL_WARMSTART) flags |= PH_NO_WARMSTART;
    if (off & mjDSBL_MULTICCD) flags |= PH_NO_MULTICCD;
    if (off & mjDSBL_AUTORESET) flags |= PH_NO_AUTORESET;
    if (m->opt.integrator == mjINT_EULER && !(off & (mjDSBL_EULERDAMP | mjDSBL_DAMPER)) && any_damping(m))
        flags |= PH_EULERDAMP;
    if (passive && !(off & mjDSBL_GRAVITY) && m->flg_gravcomp) flags |= PH_GRAVCOMP;
    if (sti_physics_has_medium(m)) flags |= PH_FLUID;
    for (int t = 0; t < m->ntendon; ++t) {
        if (sti_physics_armature(m, true, t) != 0) flags |= PH_TEN_ARMATURE;
        if (m->tendon_actfrclimited[t]) flags |= PH_TEN_LIMITS;
    }
    for (int j = 0; j < m->njnt; ++j)
        if (m->jnt_actfrclimited[j] && m->jnt_type[j] >= mjJNT_SLIDE) flags |= PH_JNT_LIMITS;
    return flags;
}

static int body_flags(const mjModel *m, int i)
{
    const double *q = m->body_quat + 4 * i;
    int flags = q[0] == 1 && !any_number(q + 1, 3) && m->body_mocapid[i] < 0 ? PH_BODY_STRAIGHT : 0;
    if (m->body_jntnum[i] == 1 && m->jnt_type[m->body_jntadr[i]] == mjJNT_FREE) flags |= PH_BODY_FREE;
    int tree = m->body_treeid[i];
    bool late = m->opt.integrator == mjINT_DISCRETE; /* free bodies have a part in the metric, too */
    if (tree >= 0 && !late && solves_apart(m, m->dof_bodyid[m->tree_dofadr[tree]])) flags |= PH_BODY_ALONE;
    return flags;
}

static int joint_flags(const mjModel *m, int j)
{
    int flags = any_number(m->jnt_pos + 3 * j, 3) ? PH_JNT_POS : 0;
    bool poly = any_number(m->jnt_stiffnesspoly + mjNPOLY * j, mjNPOLY);
    if (poly || m->jnt_stiffness[j] != 0) flags |= PH_JNT_STIFF;
    if (poly) flags |= PH_JNT_POLY;
    if (m->jnt_actfrclimited[j] && m->jnt_type[j] >= mjJNT_SLIDE) flags |= PH_JNT_FORCERANGE;
    if (m->jnt_actgravcomp[j]) flags |= PH_JNT_ACTGRAVCOMP;
    return flags;
}

static int dof_flags(const mjModel *m, int d)
{
    double others[mjNPOLY], damping = sti_physics_damping(m, false, d, others);
    bool poly = any_number(others, mjNPOLY);
    int flags = m->body_simple[m->dof_bodyid[d]] ? PH_DOF_SIMPLE : 0;
    if (poly || damping != 0) flags |= PH_DOF_DAMPED;
    return poly ? flags | PH_DOF_POLY : flags;
}

static int tendon_flags(const mjModel *m, int t)
{
    bool stiff = any_number(m->tendon_stiffnesspoly + mjNPOLY * t, mjNPOLY);
    double others[mjNPOLY], damping = sti_physics_damping(m, true, t, others);
    bool damped = any_number(others, mjNPOLY);
    int flags = m->tendon_actfrclimited[t] ? PH_TEN_FORCERANGE : 0;
    if (stiff) flags |= PH_TEN_STIFF_POLY;
    if (damped) flags |= PH_TEN_DAMPED_POLY;
    if (stiff || m->tendon_stiffness[t] != 0) flags |= PH_TEN_STIFF;
    if (damped || damping != 0) flags |= PH_TEN_DAMPED;
    return flags;
}

static int actuator_flags(const mjModel *m, int i)
{
    int flags = 0, group = m->actuator_group[i], type = m->actuator_trntype[i];
    if (m->actuator_forcelimited[i]) flags |= PH_ACT_FORCERANGE;
    if (m->actuator_actlimited[i]) flags |= PH_ACT_ACTRANGE;
    if (m->actuator_actearly[i]) flags |= PH_ACT_EARLY;
    if (group >= 0 && group <= 30 && m->opt.disableactuator & (1 << group)) flags |= PH_ACT_DISABLED;
    if (sti_physics_is_plugin_pid(m, i)) flags |= PH_ACT_PLUGIN;
    bool turns = type == mjTRN_SITE && m->actuator_trnid[2 * i + 1] >= 0 &&
                 !any_number(m->actuator_gear + 6 * m->actuator_outadr[i], 3);
    if (type <= mjTRN_JOINTINPARENT) turns = m->jnt_type[m->actuator_trnid[2 * i]] == mjJNT_BALL;
    bool servo = m->actuator_gaintype[i] == mjGAIN_FIXED && m->actuator_biastype[i] == mjBIAS_AFFINE &&
                 m->actuator_dyntype[i] != mjDYN_MUSCLE;
    if (turns && (servo || m->actuator_gaintype[i] == mjGAIN_PID)) flags |= PH_ACT_CIRCLE;
    return flags;
}

typedef int flags_fn(const mjModel *m, int i);

static void put_flags(sti_tables_builder *b, int number, int64_t n, flags_fn *flags)
{
    int *to = sti_physics_new_table(b, number, n);
    for (int i = 0; to && i < n; ++i) to[i] = flags(b->model, i);
}

/* ---- actuators --------------------------------------------------------------------------------------------------- */

/* For each dof the (row, entry) pairs of a matrix whose rows begin at adr: what a product with its transpose reads. */
static void put_transpose(sti_tables_builder *b, int64_t nrow, int rowadr, int colind, int number, int adr_number)
{
    int64_t nv = b->model->nv;
    if (b->result != STET_OK) return;
    int all = table_of(b, rowadr)[nrow];
    sti_physics_new_table(b, number, 2 * (int64_t)all);
    sti_physics_new_table(b, adr_number, nv + 1);
    if (b->result != STET_OK) return;
    int *pair = table_of(b, number), *adr = table_of(b, adr_number);
    const int *row = table_of(b, rowadr), *col = table_of(b, colind);
    for (int e = 0; e < all; ++e) adr[col[e] + 1]++;
    for (int64_t d = 0; d < nv; ++d) adr[d + 1] += adr[d];
    for (int64_t r = nrow - 1; r >= 0; --r) /* from the end of each dof's, where the next one's begin */
        for (int e = row[r + 1] - 1; e >= row[r]; --e) {
            int at = --adr[col[e] + 1];
            pair[2 * at] = (int)r;
            pair[2 * at + 1] = e;
        }
    for (int64_t d = 0; d < nv; ++d) adr[d] = adr[d + 1];
    adr[nv] = all;
}

/* By an output: those of one actuator lie side by side. */
static int pulled_tendon(const mjModel *m, int out)
{
    int i = sti_physics_actuator_of(m, out);
    return m->actuator_trntype[i] == mjTRN_TENDON ? m->actuator_trnid[2 * i] : -1;
}

/*
 * What the rows of ten_J (kind 0) and actuator_moment (1) that have dof i add to entry e of qM in row i: four ints
 * each, into out if it is not NULL; how many.
 */
static int find_pairs(const sti_tables_builder *b, int i, int e, int *out)
{
    int n = 0, j = b->model->M_colind[e];
    for (int kind = 0; kind < 2; ++kind) {
        const int *own = table_of(b, kind ? M_DOF_ACT_ADR : M_DOF_TEN_ADR) + i;
        const int *row = table_of(b, kind ? M_DOF_ACT : M_DOF_TEN);
        const int *adr = table_of(b, kind ? M_MOMENT_ROWADR : M_TEN_J_ROWADR);
        const int *col = table_of(b, kind ? M_MOMENT_COLIND : M_TEN_J_COLIND);
        for (int k = own[0]; k < own[1]; ++k)
            for (int r = row[2 * k], at = adr[r]; at < adr[r + 1]; ++at) {
                if (col[at] != j) continue;
                if (out) memcpy(out + 4 * n, (int[]){kind, r, row[2 * k + 1], at}, 4 * sizeof *out);
                ++n;
            }
    }
    return n;
}

static void put_entry_pairs(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    int all = 0, k = 0;
    if (b->result != STET_OK) return;
    for (int i = 0; i < m->nv; ++i)
        for (int e = m->M_rowadr[i]; e < m->M_rowadr[i] + m->M_rownnz[i]; ++e) all += find_pairs(b, i, e, NULL);
    int *adr = sti_physics_new_table(b, M_ENTRY_ADR, m->nC + 1);
    for (int i = 0; adr && i < m->nv; ++i)
        for (int e = m->M_rowadr[i]; e < m->M_rowadr[i] + m->M_rownnz[i]; ++e)
            adr[e + 1] = adr[e] + find_pairs(b, i, e, NULL);
    int *pair = sti_physics_new_table(b, M_ENTRY_PAIR, 4 * (int64_t)all);
    for (int i = 0; pair && i < m->nv; ++i)
        for (int e = m->M_rowadr[i]; e < m->M_rowadr[i] + m->M_rownnz[i]; ++e)
            k += find_pairs(b, i, e, pair + 4 * (size_t)k);
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* Mocap poses after mj_resetData: those of the bodies. */
static void put_mocap(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    double *pos = sti_physics_new_parameter(b, M_RESET_MOCAP_POS, 3 * m->nmocap);
    for (int i = 0; pos && i < m->nbody; ++i)
        if (m->body_mocapid[i] >= 0) memcpy(pos + 3 * m->body_mocapid[i], m->body_pos + 3 * i, 3 * sizeof *pos);
    double *quat = sti_physics_new_parameter(b, M_RESET_MOCAP_QUAT, 4 * m->nmocap);
    for (int i = 0; quat && i < m->nbody; ++i)
        if (m->body_mocapid[i] >= 0) memcpy(quat + 4 * m->body_mocapid[i], m->body_quat + 4 * i, 4 * sizeof *quat);
}

static void put_options(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    double *step = sti_physics_new_parameter(b, M_TIMESTEP, 1);
    if (step) step[0] = m->opt.timestep;
    double *gravity = sti_physics_new_parameter(b, M_GRAVITY, 3);
    for (int k = 0; gravity && k < 3; ++k) gravity[k] = m->opt.disableflags & mjDSBL_GRAVITY ? 0 : m->opt.gravity[k];
    double *fluid = sti_physics_new_parameter(b, M_FLUID, 5);
    if (fluid) {
        fluid[0] = m->opt.density;
        fluid[1] = m->opt.viscosity;
        memcpy(fluid + 2, m->opt.wind, 3 * sizeof *fluid);
    }
    double *inverse = sti_physics_new_parameter(b, M_BODY_INVSUBTREEMASS, m->nbody);
    for (int i = 0; inverse && i < m->nbody; ++i)
        inverse[i] = m->body_subtreemass[i] < mjMINVAL ? 0 : 1 / m->body_subtreemass[i];
    double *tolerance = sti_physics_new_parameter(b, M_TOLERANCE, 1);
    if (tolerance) tolerance[0] = m->opt.tolerance;
    double *line = sti_physics_new_parameter(b, M_LS_TOLERANCE, 1);
    if (line) line[0] = m->opt.ls_tolerance;
    double *noslip = sti_physics_new_parameter(b, M_NOSLIP_TOLERANCE, 1);
    if (noslip) noslip[0] = m->opt.noslip_tolerance;
    double *ccd = sti_physics_new_parameter(b, M_CCD_TOLERANCE, 1);
    if (ccd) ccd[0] = m->opt.ccd_tolerance;
    double *scale = sti_physics_new_parameter(b, M_SOLVER_SCALE, 1);
    if (scale) scale[0] = 1 / (m->stat.meaninertia * (double)(m->nv > 1 ? m->nv : 1));
    sti_physics_fill(b, M_FLAGS, option_flags(m));
}

/* W_SEEN lies over what nobody needs once rows are solved, from W_EFC_JAR on, if there is room for it. */
static void put_seen(sti_tables_builder *b, int64_t *at)
{
    const int *m = b->t->m;
    int64_t need = (int64_t)PH_SEEN * m[M_NSLOT];
    bool fits = need <= m[W_EFC_BLOCK] - m[W_EFC_JAR];
    sti_physics_fill(b, W_SEEN, fits ? m[W_EFC_JAR] : *at);
    if (!fits) *at += need;
}

static void put_memory(sti_tables_builder *b)
{
    const mjModel *m = b->model;
    const sti_physics_tables *t = b->t;
    int64_t at = 0;
    if (b->result != STET_OK) return;
#define MEMORY(number, name, n)                                                                                        \
    if ((number) == W_H || (number) == W_H_TILES) at = (at + 3) & ~(int64_t)3; /* load4 wants it */                    \
    sti_physics_fill(b, (number), at);                                                                                 \
    at += (n);
#define MEMORY_OWN MEMORY
#include "physics/model/rows.inl"
    sti_physics_fill(b, M_NMEMORY, at < INT_MAX ? at : INT_MAX);
    put_seen(b, &at);
#define AFTER(number, name, n)                                                                                         \
    sti_physics_fill(b, (number), at);                                                                                 \
    at += (n);
#include "physics/model/rows.inl"
    sti_physics_fill(b, M_NMEMORY_ALL, at < INT_MAX ? at : INT_MAX);
}

static stet_result make_tables(const mjModel *model, bool apart, const bool *meshes, sti_physics_tables *out)
{
    sti_tables_builder b = {.model = model, .t = out, .result = STET_OK, .apart = apart, .meshes = meshes};
    memset(out, 0, sizeof *out);
    STI_TRY(sti_alloc(&out->m, M_HEADER * sizeof *out->m, "tables of the physics"));
    out->nm = M_HEADER;
    for (int i = 0; i < M_HEADER; ++i) out->m[i] = STI_UNFILLED;
    put_copies(&b);
    sti_physics_put_damping(&b);
    put_options(&b);
    put_levels(&b, M_LEVEL_BODY, M_LEVEL_ADR, M_NLEVEL, model->nbody, body_depth);
    put_levels(&b, M_DOFLEVEL, M_DOFLEVEL_ADR, M_NDOFLEVEL, model->nv, dof_depth);
    put_groups(&b, M_CHILD, M_CHILD_ADR, model->nbody, model->nbody, parent_of);
    put_below(&b);
    sti_physics_put_places(&b);
    put_free(&b);
    put_flags(&b, M_BODY_FLAGS, model->nbody, body_flags);
    put_flags(&b, M_JNT_FLAGS, model->njnt, joint_flags);
    put_flags(&b, M_DOF_FLAGS, model->nv, dof_flags);
    put_flags(&b, M_TEN_FLAGS, model->ntendon, tendon_flags);
    put_flags(&b, M_ACT_FLAGS, model->nactuator, actuator_flags);
    sti_physics_put_tendons(&b);
    sti_physics_put_moments(&b);
    put_transpose(&b, model->ntendon, M_TEN_J_ROWADR, M_TEN_J_COLIND, M_DOF_TEN, M_DOF_TEN_ADR);
    put_transpose(&b, model->nout, M_MOMENT_ROWADR, M_MOMENT_COLIND, M_DOF_ACT, M_DOF_ACT_ADR);
    put_groups(&b, M_TEN_ACT, M_TEN_ACT_ADR, model->ntendon, model->nout, pulled_tendon);
    put_entry_pairs(&b);
    sti_physics_put_hulls(&b); /* before the blocks, whose tables are the largest */
    sti_physics_put_meshes(&b);
    sti_physics_put_blocks(&b);
    sti_physics_put_groups(&b);
    sti_physics_put_pair_order(&b);
    put_triangle(&b);
    put_groups(&b, M_FLUID_GEOM, M_FLUID_ADR, model->nbody, model->ngeom, sti_physics_ellipsoid_body);
    sti_physics_put_ellipsoids(&b);
    sti_physics_put_sensors(&b);
    sti_physics_put_camera_values(&b);
    sti_physics_put_ray_shapes(&b);
    sti_physics_put_plugins(&b);
    sti_physics_put_past(&b);
    sti_physics_put_past_values(&b);
    put_mocap(&b);
    sti_physics_fill(&b, M_SHAPES, out->nf);
    put_memory(&b);
    assert(b.result != STET_OK || (!b.twice && sti_validate_physics_tables(out) == NULL));
    if (b.result == STET_OK) sti_validate_kernel_tables(out);
    return b.result;
}

stet_result sti_physics_tables_make(const mjModel *model, sti_physics_tables *out)
{
    return make_tables(model, false, NULL, out);
}

stet_result sti_physics_tables_make_apart(const mjModel *model, const bool *meshes, sti_physics_tables *out)
{
    return make_tables(model, true, meshes, out);
}

void sti_physics_tables_resize(const mjModel *model, sti_physics_tables *tables, int room)
{
    static const int sized[] = {M_NROW,  M_BLOCKDIM, M_NEFCJ,   M_NSLOT,      M_HOLDS,
                                M_NNEAR, M_NINTS,    M_NMEMORY, M_NMEMORY_ALL};
    sti_tables_builder b = {.model = model, .t = tables, .result = STET_OK};
    for (size_t i = 0; i < sizeof sized / sizeof *sized; ++i) tables->m[sized[i]] = STI_UNFILLED;
    for (int i = W_QPOS; i < PH_AFTER_FIRST; ++i) tables->m[i] = STI_UNFILLED;
    for (int i = W_SEEN; i < M_HEADER; ++i) tables->m[i] = STI_UNFILLED;
    sti_physics_put_room(&b, room);
    put_memory(&b);
    assert(!b.twice);
}

void sti_physics_tables_values(const mjModel *model, const sti_physics_tables *made, const int *begin, double *f)
{
    sti_physics_tables t = {.m = made->m, .nm = made->nm, .f = f, .nf = made->nf};
    sti_tables_builder b = {.model = model, .t = &t, .result = STET_OK, .begin = begin};
    memcpy(f, made->f, (size_t)made->nf * sizeof *f);
    put_copies(&b);
    sti_physics_put_damping(&b);
    put_options(&b);
    sti_physics_put_meshes(&b);
    sti_physics_put_block_values(&b);
    sti_physics_put_group_values(&b);
    sti_physics_put_camera_values(&b);
    sti_physics_put_ellipsoids(&b);
    sti_physics_put_past_values(&b);
    put_mocap(&b);
}

void sti_physics_tables_free(sti_physics_tables *tables)
{
    sti_free(tables->m);
    sti_free(tables->f);
    sti_free(tables->shapes);
    memset(tables, 0, sizeof *tables);
}

/* ---- looking at them --------------------------------------------------------------------------------------------- */

const char *sti_validate_physics_tables(const sti_physics_tables *t)
{
    static const struct {
        int begin, end;
    } groups[] = {{PH_SIZE_FIRST, PH_TABLE_FIRST},
                  {PH_TABLE_FIRST, PH_PARAMETER_FIRST},
                  {PH_PARAMETER_FIRST, PH_MEMORY_FIRST},
                  {PH_MEMORY_FIRST, PH_AFTER_FIRST},
                  {PH_AFTER_FIRST, M_HEADER}};
    for (size_t g = 0; g < sizeof groups / sizeof *groups; ++g)
        for (int i = groups[g].begin; i < groups[g].end; ++i) {
            int limit = g == 1 ? t->nm : g == 2 ? t->nf : g >= 3 ? t->m[M_NMEMORY_ALL] : INT_MAX;
            if (t->m[i] == STI_UNFILLED) return "a number that nothing fills";
            if (g > 0 && (t->m[i] < 0 || t->m[i] > limit)) return "a number beyond its array";
        }
    for (int g = 3; g <= 4; ++g)
        for (int i = groups[g].begin + (g == 3 ? 1 : 2); i < groups[g].end; ++i)
            if (t->m[i] < t->m[i - 1]) return "quantities in team memory that overlap";
    if (t->m[W_CFRC_EXT] < t->m[M_NMEMORY]) return "memory of stage after that a step has";
    return NULL;
}

int sti_physics_quantity(const char *name, const sti_physics_tables *t, int *items)
{
    static const struct {
        int number;
        const char *name;
    } rows[] = {
#define MEMORY(number, name, n) {number, #name},
#define MEMORY_OWN(number, name, n) {number, NULL},
#define AFTER(number, name, n) {number, #name},
#include "physics/model/rows.inl"
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        if (!rows[k].name || strcmp(name, rows[k].name) != 0) continue;
        int next = k + 1 < sizeof rows / sizeof *rows ? rows[k + 1].number : M_NMEMORY_ALL;
        *items = t->m[next] - t->m[rows[k].number];
        return rows[k].number;
    }
    return -1;
}
