/*
 * A scene in which every parameter of the physics is at work, values of each parameter for worlds, and MuJoCo's model
 * edited by hand to have them.
 */
#ifndef TEST_WORLDS_PARAMETERS_H
#define TEST_WORLDS_PARAMETERS_H

#include "worlds/rig.h"

enum { WORLDS = 5, MOST = 1024 };

/* Every kind of thing that a parameter is of, at work: contacts, limits, friction loss, equalities, tendons, servos. */
#define PARAMETERS_SCENE(option)                                                                                       \
    "<mujoco>" option "<option viscosity='.4'/><default><geom contype='0' conaffinity='1' friction='.6 .01 .001' "     \
    "solref='.03 1.2'/></default>"                                                                                     \
    "<worldbody><geom name='floor' type='plane' size='3 3 .1' contype='1' conaffinity='0'/>"                           \
    "<body name='box' pos='0 0 .09' simple='false'><freejoint/><geom type='box' size='.1 .12 "                         \
    ".1'/></body>"                                                                                                     \
    "<body name='ball' pos='1 0 .5' simple='false'><joint type='ball' stiffness='1' damping='.1'/>"                    \
    "<geom type='capsule' size='.05 .1' pos='0 0 .1'/>"                                                                \
    "<body name='arm' pos='0 0 .3'><joint name='h' axis='0 1 0' range='-2 2' limited='true' armature='.01' "           \
    "frictionloss='.02' damping='.05'/><geom type='capsule' size='.03' fromto='0 0 0 .2 0 "                            \
    "0'/>"                                                                                                             \
    "<geom type='ellipsoid' size='.03 .04 .05' pos='.2 0 0'/><site name='tip' pos='.2 0 .01'/></body></body>"          \
    "<body name='cart' pos='2 0 1' simple='false'><joint name='s1' type='slide' axis='1 0 0'/>"                        \
    "<joint name='s2' type='slide' axis='0 1 0' stiffness='2' actuatorfrcrange='-1 1'/><geom size='.1'/><geom "        \
    "size='.05' pos='.2 0 "                                                                                            \
    "0'/></body>"                                                                                                      \
    "<body name='mocap' mocap='true' pos='-1 0 1'/>"                                                                   \
    "<body name='tied' pos='-1 0 .8' simple='false'><freejoint/><geom type='cylinder' size='.05 "                      \
    ".1'/></body><body name='crate' pos='3 0 .05' simple='false'><freejoint/><geom name='crate' type='box' "           \
    "size='.05 .06 .06'/></body></worldbody>"                                                                          \
    "<tendon><fixed name='t' stiffness='2' damping='.1' limited='true' range='-.3 .3' frictionloss='.03'><joint "      \
    "joint='h' coef='1'/><joint joint='s1' coef='-2'/></fixed><fixed name='t2' armature='.02' actuatorfrcrange='-.2 "  \
    ".2'><joint joint='s2' coef='1'/></fixed></tendon><contact><pair geom1='floor' geom2='crate' friction='.5 .4 .01 " \
    ".001 .001'/></contact>"                                                                                           \
    "<equality><connect body1='tied' body2='mocap' anchor='0 0 .1' solref='.04 1'/>"                                   \
    "<joint joint1='s1' joint2='s2' polycoef='0 1 0 0 0' solref='.05 1'/></equality>"                                  \
    "<actuator><motor joint='h' gear='3' ctrlrange='-.4 .4' ctrllimited='true'/><position joint='s1' kp='10' kv='1' "  \
    "nsample='4' delay='.002'/>"                                                                                       \
    "<general tendon='t' gainprm='2' forcerange='-.3 .3' forcelimited='true'/>"                                        \
    "<general joint='s2' dyntype='filter' dynprm='.02' gainprm='3'/>"                                                  \
    "<motor tendon='t2'/></actuator>"                                                                                  \
    "<sensor><framepos objtype='site' objname='tip'/><framequat objtype='site' objname='tip'/><jointactuatorfrc "      \
    "joint='h'/></sensor></mujoco>"

/* A value that the parameter takes, that differs from the model's in every world but 0. */
static inline double value_of(const mjModel *m, sti_parameter which, int64_t w, int64_t i)
{
    const double *own = sti_parameter_own(m, which);
    double x = own ? own[i] : 1, some = 0.013 * (double)w * (double)(1 + i % 3);
    const char *name = stet_worlds_get_parameters()[which];
    if (sti_parameter_rule_of(which) == STI_RULE_BITS) /* some geoms are absent, others meet more than in the model */
        return w == 0 ? sti_parameter_own_number(m, which, i) : (double)((i + w) % 3);
    if (sti_parameter_rule_of(which) == STI_RULE_MESH)
        return m->geom_type[i] == mjGEOM_MESH ? (double)((m->geom_dataid[i] + w) % m->nmesh) : m->geom_dataid[i];
    if (which == STI_PARAMETER_actuator_kp || which == STI_PARAMETER_actuator_kv)
        return sti_parameter_own_number(m, which, i) * (1 + some);
    if (w == 0 || (which == STI_PARAMETER_body_ipos && m->body_simple[i / 3])) return x;
    if (which == STI_PARAMETER_body_iquat && m->body_simple[i / 4]) return x;
    if (strstr(name, "range")) return x + (i % 2 ? 0.5 : -0.25) * some;
    if (strstr(name, "inertia")) return x * (1 + 0.05 * (double)w);
    if (strstr(name, "quat") || strstr(name, "pos") || which == STI_PARAMETER_gravity) return x + some;
    if (which == STI_PARAMETER_density || which == STI_PARAMETER_viscosity || which == STI_PARAMETER_wind)
        return x + some;
    if (which == STI_PARAMETER_tendon_armature && x == 0) return 0; /* the compiler chose the matrix by that */
    if (which == STI_PARAMETER_actuator_delay) return m->actuator_history[2 * i] > 0 ? x + some : x;
    if (which == STI_PARAMETER_sensor_delay) return m->sensor_history[2 * i] > 0 ? x + some : x;
    if (strstr(name, "frictionloss") || strstr(name, "armature") || strstr(name, "dof_damping") ||
        strstr(name, "gravcomp"))
        return x + some;
    return x * (1 + some);
}

static inline void edit_bits(mjModel *m, const mjModel *own, sti_parameter which, int64_t w)
{
    bool type = which == STI_PARAMETER_geom_contype;
    int *geom = type ? m->geom_contype : m->geom_conaffinity, *body = type ? m->body_contype : m->body_conaffinity;
    if (sti_parameter_rule_of(which) != STI_RULE_BITS) return;
    memset(body, 0, (size_t)m->nbody * sizeof *body);
    for (int g = 0; g < m->ngeom; ++g) body[m->geom_bodyid[g]] |= geom[g] = (int)value_of(own, which, w, g);
}

/* Box and radius are those of the mesh's tree, as the compiler has them. */
static inline void edit_mesh(mjModel *m, const mjModel *own, int64_t w, int g)
{
    int mesh = (int)value_of(own, STI_PARAMETER_geom_dataid, w, g);
    if (own->geom_type[g] != mjGEOM_MESH) return;
    const mjtNum *box = own->bvh_aabb + (ptrdiff_t)6 * own->mesh_bvhadr[mesh];
    mjtNum far[3];
    for (int k = 0; k < 3; ++k) far[k] = fabs(box[k]) + box[3 + k];
    m->geom_dataid[g] = mesh;
    memcpy(m->geom_aabb + (ptrdiff_t)6 * g, box, 6 * sizeof *box);
    m->geom_rbound[g] = mju_norm3(far);
}

static inline void edit(mjModel *m, const mjModel *own, sti_parameter which, int64_t w)
{
    mjtNum *to = NULL;
    int64_t n = sti_parameter_items(own, which);
    switch (which) {
    case STI_PARAMETER_gravity: to = m->opt.gravity; break;
    case STI_PARAMETER_timestep: to = &m->opt.timestep; break;
    case STI_PARAMETER_density: to = &m->opt.density; break;
    case STI_PARAMETER_viscosity: to = &m->opt.viscosity; break;
    case STI_PARAMETER_wind: to = m->opt.wind; break;
#define PLACE(array, items, rule, derives)                                                                             \
    case STI_PARAMETER_##array: to = m->array; break;
        STI_PARAMETER_ARRAYS(PLACE)
        STI_PARAMETER_MORE(PLACE)
#undef PLACE
    default: break;
    }
    edit_bits(m, own, which, w);
    for (int g = 0; sti_parameter_rule_of(which) == STI_RULE_MESH && g < own->ngeom; ++g) edit_mesh(m, own, w, g);
    for (int64_t i = 0; to && i < n; ++i) to[i] = value_of(own, which, w, i);
    if (strstr(stet_worlds_get_parameters()[which], "quat"))
        for (int64_t i = 0; i < n; i += 4)
            if (memcmp(to + i, sti_parameter_own(own, which) + i, 4 * sizeof *to) != 0) mju_normalize4(to + i);
    for (int64_t j = 0; which == STI_PARAMETER_qpos0 && j < m->njnt; ++j) {
        int at = m->jnt_qposadr[j] + (m->jnt_type[j] == mjJNT_FREE ? 3 : 0);
        if (m->jnt_type[j] > mjJNT_BALL || memcmp(to + at, own->qpos0 + at, 4 * sizeof *to) == 0) continue;
        mju_normalize4(to + at);
    }
    double f = to || sti_parameter_rule_of(which) == STI_RULE_BITS || sti_parameter_rule_of(which) == STI_RULE_MESH
                   ? 1
                   : value_of(own, which, w, 0);
#define SCALE(parameter, array, count)                                                                                 \
    for (int64_t i = 0; which == STI_PARAMETER_##parameter && i < (int64_t)(count); ++i) m->array[i] *= f;
    SCALE(friction, geom_friction, 3 * m->ngeom)
    SCALE(friction, pair_friction, 5 * m->npair)
    SCALE(damping, dof_damping, m->nv)
    SCALE(damping, dof_dampingpoly, mjNPOLY * m->nv)
    SCALE(stiffness, jnt_stiffness, m->njnt)
    SCALE(stiffness, jnt_stiffnesspoly, mjNPOLY * m->njnt)
#undef SCALE
}

static inline void give(rig *r, sti_parameter which)
{
    static double all[WORLDS * MOST];
    const mjModel *m = r->model->mj;
    int64_t n = sti_parameter_items(m, which);
    assert_true(n > 0 && n <= MOST);
    for (int64_t w = 0; w < WORLDS; ++w)
        for (int64_t i = 0; i < n; ++i) all[w * n + i] = value_of(m, which, w, i);
    OK(stet_worlds_set_parameter(r->worlds, stet_worlds_get_parameters()[which], all, n * WORLDS));
}

/* What a servo's gains replace in a model. */
static inline void edit_servos(mjModel *m, const mjModel *own, sti_parameter which, int64_t w)
{
    for (int64_t a = 0; a < m->nactuator; ++a) {
        const double gain = value_of(own, which, w, a);
        const bool kv = which == STI_PARAMETER_actuator_kv, has_kp = own->actuator_biasprm[mjNBIAS * a + 1] != 0;
        if (sti_parameter_own_number(own, which, a) == 0) continue;
        m->actuator_biasprm[mjNBIAS * a + 1 + kv] = -gain;
        if (!kv || !has_kp) m->actuator_gainprm[mjNGAIN * a] = gain;
    }
}

/* Factors come before what they multiply, as in the worlds, whose values are set before factors are applied. */
static inline mjModel *edited(const mjModel *own, const bool given[STI_PARAMETER_PHYSICS], int64_t w)
{
    mjModel *m = mj_copyModel(NULL, own);
    assert_non_null(m);
    for (int k = STI_PARAMETER_PHYSICS - 1; k >= 0; --k)
        if (given[k]) edit(m, own, (sti_parameter)k, w);
    for (int k = STI_PARAMETER_actuator_kp; k <= STI_PARAMETER_actuator_kv; ++k)
        if (given[k]) edit_servos(m, own, (sti_parameter)k, w);
    mjData *d = mj_makeData(m);
    mj_setConst(m, d);
    mj_deleteData(d);
    return m;
}

#endif
