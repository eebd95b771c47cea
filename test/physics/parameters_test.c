/*
 * Parameters that differ between worlds in native physics: each world goes where MuJoCo takes it with a model that was
 * edited and given to mj_setConst, and has its sensors, to 1e-9; worlds with the model's own values keep their bits;
 * what is taken back leaves nothing.
 */
#include "worlds/parameters.h"

#include "physics/native.h"
#include "physics/native_pull.h"
#include "physics/sensors/sensors.h"

#include <math.h>

enum { STEPS = 3 };

static const char scene[] =
    PARAMETERS_SCENE("<option timestep='.004' tolerance='1e-15'><flag sensor='disable'/></option>");

/*
 * All sensors but those that MuJoCo has on a host alone: rays meet each type of shape, limits hold, and a ball, which
 * meets the floor, is touched.
 */
static const char sensors[] =
    "<mujoco><option timestep='.004' tolerance='1e-15' magnetic='.1 -.5 .3'/><worldbody>"
    "<geom type='plane' size='4 4 .1' contype='2'/><geom type='box' size='.3 .4 .5' pos='2 0 1' quat='1 .2 .3 0'/>"
    "<geom type='capsule' size='.3 .5' pos='-2 0 1' quat='1 .5 .3 0'/><geom type='cylinder' size='.4 .5' pos='0 2 1' "
    "quat='1 .5 .3 0'/><geom type='ellipsoid' size='.4 .5 .8' pos='0 -2 1' quat='1 .5 .3 0'/><geom size='.4' "
    "pos='0 0 2.4'/><site name='w' pos='1 2 3'/><camera name='k' pos='.1 .2 0' quat='0 1 .2 0'/>"
    "<body name='a' pos='0 0 1' simple='false'><joint name='h' axis='0 1 1' range='-20 -2' actuatorfrcrange='-.5 .5'/>"
    "<geom name='g' type='box' size='.1 .12 .1' contype='0' conaffinity='0'/><site name='0'/><site name='1' "
    "quat='1 1 0 0'/><site name='2' quat='1 -1 0 0'/><site name='3' quat='1 0 1 0'/><site name='4' quat='1 0 -1 0'/>"
    "<site name='5' quat='0 1 0 0'/><body name='b' pos='.3 0 0' simple='false'><joint name='s' type='slide' "
    "range='.1 .3' margin='.05'/><geom type='capsule' size='.05 .2' contype='0' conaffinity='0'/><body name='c' "
    "pos='0 .4 0' simple='false'><joint name='q' type='ball' range='0 5' damping='.1'/><geom name='e' size='.1' "
    "pos='.1 .2 .1' "
    "contype='0' conaffinity='0'/></body></body></body><body name='d' pos='1 -1 .19' simple='false'><freejoint/>"
    "<geom name='d' size='.2' conaffinity='2'/><site name='t' size='.3'/><site name='i' type='box' size='.3 .2 "
    ".9'/></body>"
    "</worldbody><tendon><fixed name='t' limited='true' range='.1 .2'><joint joint='h' coef='1'/>"
    "<joint joint='s' coef='-2'/></fixed></tendon><actuator><motor name='m' joint='h' gear='2'/><position name='p' "
    "tendon='t' kp='4' kv='.3'/></actuator><sensor><rangefinder site='0'/><rangefinder site='1' data='dist dir origin "
    "point normal depth'/><rangefinder site='2'/><rangefinder site='3' data='dist normal'/><rangefinder site='4'/>"
    "<rangefinder site='5' data='point'/><jointpos joint='h' nsample='4' delay='.002'/><jointvel joint='s'/><tendonpos "
    "tendon='t'/><tendonvel "
    "tendon='t'/><actuatorpos actuator='p'/><actuatorvel actuator='p'/><actuatorfrc actuator='p'/><jointactuatorfrc "
    "joint='h'/><tendonactuatorfrc tendon='t'/><ballquat joint='q'/><ballangvel joint='q'/><jointlimitpos joint='h'/>"
    "<jointlimitvel joint='h'/><jointlimitfrc joint='h'/><jointlimitpos joint='s'/><jointlimitvel joint='s'/>"
    "<jointlimitfrc joint='s'/><jointlimitpos joint='q'/><jointlimitvel joint='q'/><jointlimitfrc joint='q'/>"
    "<tendonlimitpos tendon='t'/><tendonlimitvel tendon='t'/><tendonlimitfrc tendon='t'/><subtreecom body='a'/>"
    "<magnetometer site='1'/><touch site='t'/><velocimeter site='3'/><gyro site='3'/><accelerometer site='t'/><force "
    "site='0'/><torque site='0'/><framepos objtype='geom' objname='g' reftype='camera' refname='k'/><framequat "
    "objtype='geom' objname='g' reftype='site' refname='t'/><framexaxis objtype='body' objname='c'/><framelinvel "
    "objtype='geom' objname='g' reftype='body' refname='d'/><frameangvel objtype='site' objname='3'/><framelinacc "
    "objtype='body' objname='c'/><frameangacc objtype='xbody' objname='c'/><subtreelinvel body='a'/><subtreeangmom "
    "body='a'/><insidesite site='i' objtype='body' objname='d'/><e_potential/><e_kinetic/><clock/><frameyaxis "
    "objtype='geom' objname='g'/><framezaxis objtype='site' objname='2'/><distance geom1='e' geom2='d' cutoff='9'/>"
    "<normal geom1='e' geom2='d' cutoff='9'/><fromto geom1='e' geom2='d' cutoff='9'/><user dim='2'/><contact body1='d' "
    "data='found "
    "force torque dist pos normal tangent linvel angvel'/></sensor></mujoco>";

static const struct {
    const char *name, *text;
    bool every;   /* every parameter is at work in it */
    double limit; /* elliptic cones: both solvers stop at about 1e-9 of the optimum */
} scenes[] = {
    {"Euler", scene, true, 1e-9},
    {"implicit, in a fluid",
     "<mujoco><option timestep='.002' integrator='implicit' density='40' viscosity='.3' wind='1 0 0' "
     "tolerance='1e-15'/>"
     "<worldbody><geom name='floor' type='plane' size='9 9 1'/><body name='box' pos='0 0 .3'><freejoint/><geom "
     "type='box' "
     "size='.1 .12 .1' fluidshape='ellipsoid'/></body><body name='arm' pos='1 0 1'><joint name='h' axis='0 1 0' "
     "damping='.2' stiffness='3'/><geom type='capsule' size='.05 .2' pos='.2 0 0' fluidshape='ellipsoid' "
     "fluidcoef='.4 .3 1 .5 .6'/><body pos='.4 0 0'><joint name='k' type='ball' damping='.1'/><geom size='.1' "
     "pos='.2 0 .1'/></body></body></worldbody></mujoco>",
     false, 1e-9},
    {"implicitfast, elliptic cones",
     PARAMETERS_SCENE("<option timestep='.004' integrator='implicitfast' cone='elliptic' tolerance='1e-15' "
                      "ls_tolerance='1e-10' ls_iterations='200'><flag sensor='disable'/></option>"),
     true, 3e-8},
    {"no damping, no friction loss, a straight tree",
     "<mujoco><worldbody><body><joint axis='0 1 0'/><geom size='.1' pos='.3 0 0'/><body pos='.5 0 0'><joint axis='1 0 "
     "0'/>"
     "<geom size='.1 .2' type='capsule' pos='0 .3 0'/></body></body></worldbody></mujoco>",
     false, 1e-9},
    {"a servo on a ball joint",
     "<mujoco><option timestep='.01'/><worldbody><body simple='false'><joint name='b' type='ball'/><geom size='.1 .2' "
     "type='capsule' pos='0 0 .3'/></body></worldbody><actuator><position joint='b' gear='0 9 0 0 0 0' "
     "kp='3'/></actuator>"
     "</mujoco>",
     false, 1e-9},
    {"muscles, actuators on sites, noslip",
     "<mujoco><option timestep='.002' integrator='implicitfast' tolerance='1e-15' noslip_iterations='4' "
     "noslip_tolerance='0'/><worldbody><geom type='plane' size='4 4 .1'/><site name='w' pos='0 1 1'/><body pos='0 0 1' "
     "simple='false'><joint name='a' axis='0 1 0' frictionloss='.2'/><geom size='.1' pos='.3 0 0'/><body pos='.5 0 0' "
     "simple='false'><joint name='b' axis='1 0 1'/><geom type='capsule' size='.1 .2' pos='0 .3 0'/><site name='b' "
     "pos='.1 .2 0' quat='1 .2 .3 0'/></body></body><body pos='2 0 .19' simple='false'><freejoint/><geom size='.2'/>"
     "<site name='f' pos='.1 0 .1' quat='1 0 .2 .1'/></body></worldbody><actuator><muscle joint='a' lengthrange='-1 2' "
     "force='5'/><muscle joint='b' lengthrange='-1 1' scale='9'/><motor site='f' gear='1 2 3 .1 .2 .3'/><position "
     "site='b' refsite='w' gear='0 0 0 .3 .2 .1' kp='2' kv='.2'/><motor cranksite='b' slidersite='w' "
     "cranklength='3'/></actuator></mujoco>",
     false, 1e-7},
    {"motors, servos, cameras",
     "<mujoco><option timestep='.002' integrator='implicitfast'/><worldbody><geom type='ellipsoid' size='2"
     " 2 .5' pos='0 0 -2' contype='0' conaffinity='0'/><body pos='0 0 1' simple='false'><joint name='a' ax"
     "is='0 1 0'/><geom size='.1' pos='.3 0 0' contype='0' conaffinity='0'/><camera name='k' resolution='3"
     " 2' quat='1 .1 .1 0'/><body pos='.5 0 0' simple='false'><joint name='b' type='ball'/><geom type='cap"
     "sule' size='.1 .2' pos='0 .3 0' contype='0' conaffinity='0'/><site name='s'/></body></body></worldbo"
     "dy><actuator><dcmotor joint='a' motorconst='.4' resistance='.7' thermal='2 0 4 .3 1 .5' inductance='"
     "0 .02' lugre='2 .1 .4 .5 .2' saturation='0 9 0' input='pos vel ff voltage' controller='3 2 .4 50 9 4"
     "0' cogging='.1 3 .2'/><pid joint='a' kp='3' kv='.4' ki='2' imax='4' slewmax='20'/><orientation joint"
     "='b' kp='2' kv='.3'/></actuator><sensor><rangefinder camera='k' data='dist normal depth'/><camprojec"
     "tion site='s' camera='k'/></sensor></mujoco>",
     false, 1e-7},
    {"all sensors", sensors, false, 1e-7}, /* that of touch, of a sum of forces, is the least exact */
};

typedef struct native_rig {
    rig r;
    sti_native *native;
} native_rig;

static native_rig open_rig(const char *text, const char *isa, int threads)
{
    native_rig n = {.r = rig_make(text, WORLDS, isa, threads, false)};
    OK(sti_native_create(n.r.worlds, &n.native));
    return n;
}

static void close_rig(native_rig *n)
{
    sti_native_destroy(n->native);
    rig_free(&n->r);
}

/* Item i of qpos or qvel, and of ctrl, at the start, the same on both sides. */
static double start_of(const char *field, int64_t i)
{
    if (strcmp(field, "ctrl") == 0) return 0.75;
    return i == 0 ? 1.5 : i == 9 ? -6 : 0.125 * (double)(1 + i % 3);
}

static void put(const rig *r, const char *field, const double *from)
{
    double wide[WORLDS * MOST];
    float narrow[WORLDS * MOST];
    stet_array *a = rig_array(r, field);
    bool is_wide = r->device->real_size == sizeof(double);
    for (int64_t i = 0; i < WORLDS * a->nitem; ++i) narrow[i] = (float)(wide[i] = from[i % a->nitem]);
    OK(stet_array_write(a, is_wide ? (void *)wide : (void *)narrow, stet_array_get_bytes(a)));
}

static void start(const rig *r)
{
    const mjModel *m = r->model->mj;
    double qvel[MOST], ctrl[MOST];
    stet_reset_def def = stet_default_reset_def();
    OK(stet_worlds_reset(r->worlds, &def));
    for (int64_t i = 0; i < m->nv; ++i) qvel[i] = start_of("qvel", i);
    for (int64_t i = 0; i < m->nu; ++i) ctrl[i] = start_of("ctrl", i);
    put(r, "qvel", qvel);
    put(r, "ctrl", ctrl);
}

static double error_of(const rig *r, const char *field, int64_t w, const mjtNum *exact, int64_t n)
{
    double worst = 0, scale = 1e-2;
    OK(sti_array_ensure(rig_array(r, field)));
    for (int64_t i = 0; i < n; ++i) scale = fmax(scale, fabs(exact[i]));
    for (int64_t i = 0; i < n; ++i) {
        double x = fabs(reals_get(rig_array(r, field), w, i) - exact[i]);
        worst = fmax(worst, x == x ? x : HUGE_VAL);
    }
    return worst / scale;
}

/* That of a sensor: those of forces are as exact as the solver. */
static double sensor_error(const rig *r, int64_t w, const mjModel *m, const mjData *d, int i)
{
    const double *exact = d->sensordata + m->sensor_adr[i];
    double worst = 0, scale = 1e-2;
    for (int k = 0; k < m->sensor_dim[i]; ++k) scale = fmax(scale, fabs(exact[k]));
    for (int k = 0; k < m->sensor_dim[i]; ++k) {
        double x = fabs(reals_get(rig_array(r, "step_sensordata"), w, m->sensor_adr[i] + k) - exact[k]);
        worst = fmax(worst, x == x ? x : HUGE_VAL);
    }
    return worst / scale;
}

/*
 * The greatest error of the state and of sensors after the steps, over the worlds. *moved: any world went elsewhere
 * than world 0, or its sensors show something else.
 */
static double check(native_rig *n, const bool given[STI_PARAMETER_PHYSICS], const char *what, bool *moved)
{
    double worst = 0;
    start(&n->r);
    OK(sti_native_steps(n->native, NULL, STEPS));
    OK(sti_worlds_pull_physics(n->r.worlds));
    *moved = false;
    for (int64_t w = 0; w < WORLDS; ++w) {
        mjModel *m = edited(n->r.model->mj, given, w);
        mjData *d = mj_makeData(m);
        for (int64_t i = 0; i < m->nv; ++i) d->qvel[i] = start_of("qvel", i);
        for (int64_t i = 0; i < m->nu; ++i) d->ctrl[i] = start_of("ctrl", i);
        for (int i = 0; i < STEPS; ++i) mj_step(m, d);
        double e = fmax(error_of(&n->r, "qpos", w, d->qpos, m->nq), error_of(&n->r, "qvel", w, d->qvel, m->nv));
        for (int i = 0; i < m->nsensor && sti_physics_has_sensors(m); ++i) e = fmax(e, sensor_error(&n->r, w, m, d, i));
        if (n->r.worlds->state.time[w] != d->time) fail_msg("%s, world %d: time", what, (int)w);
        worst = fmax(worst, e);
        for (int64_t i = 0; i < m->nv; ++i)
            *moved = *moved || rig_get(&n->r, "qvel", w, i) != rig_get(&n->r, "qvel", 0, i);
        for (int64_t i = 0; i < m->nsensordata; ++i)
            *moved = *moved || rig_get(&n->r, "step_sensordata", w, i) != rig_get(&n->r, "step_sensordata", 0, i);
        mj_deleteData(d);
        mj_deleteModel(m);
    }
    return worst;
}

static uint64_t hash_world(const rig *r, int64_t w)
{
    uint64_t all = 0;
    static const char *const fields[] = {"qpos", "qvel", "act"};
    for (int k = 0; k < 3; ++k)
        for (int64_t i = 0; i < rig_array(r, fields[k])->nitem; ++i) {
            double x = rig_get(r, fields[k], w, i);
            uint64_t bits;
            memcpy(&bits, &x, sizeof bits);
            all = all * 1099511628211u + bits;
        }
    return all;
}

static void check_scene(size_t which)
{
    double worst = 0;
    native_rig n = open_rig(scenes[which].text, "f64", 2);
    start(&n.r);
    OK(sti_native_steps(n.native, NULL, STEPS));
    uint64_t own = hash_world(&n.r, 0);
    for (int k = 0; k < STI_PARAMETER_PHYSICS; ++k) {
        const char *name = stet_worlds_get_parameters()[k];
        bool given[STI_PARAMETER_PHYSICS] = {false}, moved;
        if (sti_parameter_items(n.r.model->mj, (sti_parameter)k) == 0) continue;
        given[k] = true;
        give(&n.r, (sti_parameter)k);
        double e = check(&n, given, name, &moved);
        if (!(e <= scenes[which].limit)) fail_msg("%s, %s: error %g", scenes[which].name, name, e);
        bool sensed = strncmp(name, "site_", 5) == 0 || k == STI_PARAMETER_sensor_delay; /* sensors alone show these */
        bool meshes = k == STI_PARAMETER_geom_dataid; /* which these scenes do not have */
        if (!moved && !meshes && (sensed ? scenes[which].text == sensors : scenes[which].every))
            fail_msg("%s, %s changed nothing", scenes[which].name, name);
        if (hash_world(&n.r, 0) != own)
            fail_msg("%s, %s: bits of the world with the model's own values", scenes[which].name, name);
        worst = fmax(worst, e);
        OK(stet_worlds_set_parameter(n.r.worlds, name, NULL, 0));
        start(&n.r);
        OK(sti_native_steps(n.native, NULL, STEPS));
        for (int64_t w = 0; w < WORLDS; ++w) assert_true(hash_world(&n.r, w) == own);
    }
    print_message("%s: greatest relative error %.1e\n", scenes[which].name, worst);
    close_rig(&n);
}

static void kf51_each_parameter_is_that_of_an_edited_model(void **state)
{
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) check_scene(k);
}

/* But a plugin's, which sensor_test.c has, and tactile sensors, which native physics refuses. */
static void each_sensor_is_in_a_scene(void **state)
{
    bool has[mjSENS_USER + 1] = {[mjSENS_PLUGIN] = true, [mjSENS_TACTILE] = true};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) {
        rig r = rig_make(scenes[k].text, 1, "f64", 1, false);
        const mjModel *m = r.model->mj;
        for (int i = 0; i < m->nsensor; ++i) has[m->sensor_type[i]] = true;
        rig_free(&r);
    }
    for (int type = 0; type <= mjSENS_USER; ++type)
        if (!has[type]) fail_msg("no scene has a sensor of type %d", type);
}

static void many_parameters_together(void **state)
{
    bool given[STI_PARAMETER_PHYSICS] = {false}, moved;
    native_rig n = open_rig(scene, "f64", 2);
    uint64_t dice = 5;
    for (int round = 0; round < 8; ++round) {
        for (int i = 0; i < 6; ++i) {
            int k = (int)dice_below(&dice, STI_PARAMETER_PHYSICS);
            given[k] = dice_below(&dice, 3) > 0;
            if (given[k])
                give(&n.r, (sti_parameter)k);
            else
                OK(stet_worlds_set_parameter(n.r.worlds, stet_worlds_get_parameters()[k], NULL, 0));
        }
        double e = check(&n, given, "several", &moved);
        if (!(e <= 1e-8)) fail_msg("round %d: error %g", round, e);
    }
    close_rig(&n);
}

/* In float, at the widest vectors: a world has the bits that it has alone. */
static void neighbours_do_not_matter(void **state)
{
    uint64_t want[WORLDS];
    for (int alone = 0; alone < 2; ++alone) {
        native_rig n = open_rig(scene, NULL, 1);
        const int64_t items = n.r.model->mj->nbody;
        double mass[WORLDS * MOST];
        give(&n.r, STI_PARAMETER_body_mass);
        give(&n.r, STI_PARAMETER_dof_damping);
        OK(stet_worlds_get_parameter(n.r.worlds, "body_mass", mass, WORLDS * items));
        if (alone) OK(stet_worlds_set_parameter(n.r.worlds, "body_mass", mass + 3 * items, items));
        if (alone) OK(stet_worlds_set_parameter(n.r.worlds, "dof_damping", NULL, 0));
        start(&n.r);
        OK(sti_native_steps(n.native, NULL, STEPS));
        for (int64_t w = 0; w < WORLDS; ++w) {
            if (!alone) want[w] = hash_world(&n.r, w);
            if (alone && w > 0) assert_true(hash_world(&n.r, w) == hash_world(&n.r, 0));
        }
        close_rig(&n);
    }
    assert_true(want[0] != want[3]);
}

/* What is drawn at a reset reaches the physics; bounds that meet are the value itself. */
static void draws_reach_the_physics(void **state)
{
    native_rig n = open_rig(scene, "f64", 1), same = open_rig(scene, "f64", 1);
    double step = 0.002;
    OK(stet_worlds_randomize(n.r.worlds, "timestep", &step, &step, 1));
    OK(stet_worlds_set_parameter(same.r.worlds, "timestep", &step, 1));
    start(&n.r);
    start(&same.r);
    OK(sti_native_steps(n.native, NULL, STEPS));
    OK(sti_native_steps(same.native, NULL, STEPS));
    for (int64_t w = 0; w < WORLDS; ++w) assert_true(hash_world(&n.r, w) == hash_world(&same.r, w));
    OK(sti_worlds_pull_physics(n.r.worlds));
    assert_true(n.r.worlds->state.time[0] == step + step + step);
    close_rig(&n);
    close_rig(&same);
}

/* Bodies of which each world has another mesh: that of a model without the others. */
#define MESHES(geoms)                                                                                                  \
    "<mujoco><option timestep='.004'/><asset><mesh name='brick' vertex='-.2 -.1 -.1 .2 -.1 -.1 -.2 .1 -.1 .2 .1 -.1 "  \
    "-.2 -.1 .1 .2 -.1 .1 -.2 .1 .1 .2 .1 .1'/><mesh name='wedge' vertex='-.3 -.2 -.05 .3 -.2 -.05 -.3 .2 -.05 .3 .2 " \
    "-.05 0 0 .3'/></asset><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 .25'><freejoint/><inertial "     \
    "pos='0 0 0' mass='1' diaginertia='.01 .02 .015'/>" geoms "</body></worldbody></mujoco>"
#define BRICK "<geom type='mesh' mesh='brick'/>"
#define WEDGE "<geom type='mesh' mesh='wedge'/>"

static void each_world_has_a_mesh_of_its_own(void **state)
{
    enum { FALL = 150, GEOMS = 3 };
    static const char *const alone[] = {MESHES(BRICK), MESHES(WEDGE)};
    native_rig both = open_rig(MESHES(BRICK WEDGE), "f64", 1);
    for (int k = 0; k < 2; ++k) { /* even worlds have the brick, odd ones the wedge */
        const double present[GEOMS] = {1, k == 0, k == 1};
        uint8_t mask[WORLDS];
        for (int w = 0; w < WORLDS; ++w) mask[w] = w % 2 == k;
        OK(stet_worlds_set_parameter_where(both.r.worlds, "geom_contype", mask, present, GEOMS));
        OK(stet_worlds_set_parameter_where(both.r.worlds, "geom_conaffinity", mask, present, GEOMS));
    }
    OK(sti_native_steps(both.native, NULL, FALL));
    for (int k = 0; k < 2; ++k) {
        native_rig one = open_rig(alone[k], "f64", 1);
        OK(sti_native_steps(one.native, NULL, FALL));
        for (int64_t w = k; w < WORLDS; w += 2)
            for (int64_t i = 0; i < 7; ++i)
                assert_true(fabs(rig_get(&both.r, "qpos", w, i) - rig_get(&one.r, "qpos", 0, i)) < 1e-9);
        close_rig(&one);
    }
    assert_true(fabs(rig_get(&both.r, "qpos", 0, 2) - rig_get(&both.r, "qpos", 1, 2)) > .02); /* heights at rest */
    close_rig(&both);
}

/*
 * The same in one geom: which mesh it has is a number of the world. Meshes fall on a plane, on each other, on a box and
 * on a height field.
 */
#define CHOSEN(one, two)                                                                                               \
    "<mujoco><option timestep='.004'/><default><geom friction='.4 .01 .001'/></default><asset><hfield name='h' "       \
    "nrow='3' ncol='3' size='1 1 .2 .1' elevation='0 .5 .2 .9 .1 .6 .3 1 0'/><mesh name='brick' vertex='-.2 -.1 -.1 "  \
    ".2 -.1 -.1 -.2 .1 -.1 .2 .1 -.1 -.2 -.1 .1 .2 -.1 .1 -.2 .1 .1 .2 .1 .1'/><mesh name='wedge' inertia='convex' "   \
    "vertex='-.3 -.2 -.05 .3 -.2 -.05 -.3 .2 -.05 .3 .2 -.05 0 .1 .3'/><mesh name='shard' inertia='convex' "           \
    "vertex='-.1 0 0 .2 .1 0 0 -.2 .1 .1 .1 .3'/></asset><worldbody><geom type='plane' size='5 5 1'/><geom "           \
    "type='box' size='.2 .2 .1' pos='.2 .1 .1'/><geom type='hfield' hfield='h' pos='-1.3 0 .1'/><body pos='0 0 .5'>"   \
    "<freejoint/><inertial pos='0 0 0' mass='1' diaginertia='.01 .02 .015'/><geom type='mesh' mesh='" one "'/></body>" \
    "<body pos='.1 .1 1'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='.01 .02 .015'/><geom type='mesh' "    \
    "mesh='" two "'/></body><body pos='-1.3 .1 .8'><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='.01 .02 "   \
    ".015'/><geom type='mesh' mesh='" two "'/></body></worldbody></mujoco>"

/* Worlds of CHOSEN("brick", "brick") get the meshes of those in `alone`, by turns. */
enum { CHOICES = 4 };
static const char *const chosen[CHOICES] = {CHOSEN("brick", "brick"), CHOSEN("wedge", "brick"),
                                            CHOSEN("shard", "wedge"), CHOSEN("brick", "shard")};

/* One of them, whose geoms' quaternions are of length 1 to rounding, as parameters are, not to the compiler's 1e-15. */
static rig make_alone(int k, const char *isa, bool exact)
{
    rig r = rig_make(chosen[k], 1, isa, 1, exact);
    for (int g = 0; g < r.model->mj->ngeom; ++g) mju_normalize4(r.model->mj->geom_quat + (ptrdiff_t)4 * g);
    return r;
}

static void choose_meshes(const rig *r)
{
    for (int k = 0; k < CHOICES; ++k) {
        rig one = make_alone(k, NULL, false);
        const mjModel *m = one.model->mj;
        uint8_t mask[WORLDS];
        double mesh[16];
        assert_true(m->ngeom <= 16);
        for (int w = 0; w < WORLDS; ++w) mask[w] = w % CHOICES == k;
        for (int g = 0; g < m->ngeom; ++g) mesh[g] = m->geom_dataid[g];
        OK(stet_worlds_set_parameter_where(r->worlds, "geom_dataid", mask, mesh, m->ngeom));
        OK(stet_worlds_set_parameter_where(r->worlds, "geom_pos", mask, m->geom_pos, 3 * m->ngeom));
        OK(stet_worlds_set_parameter_where(r->worlds, "geom_quat", mask, m->geom_quat, 4 * m->ngeom));
        rig_free(&one);
    }
}

static void a_geom_has_another_mesh_in_each_world(void **state)
{
    enum { FALL = 120 };
    native_rig all = open_rig(chosen[0], "f64", 1), lanes = open_rig(chosen[0], "portable", 1);
    rig mujoco = rig_make(chosen[0], WORLDS, NULL, 2, true);
    choose_meshes(&all.r);
    choose_meshes(&lanes.r);
    choose_meshes(&mujoco);
    OK(sti_native_steps(all.native, NULL, FALL));
    OK(sti_native_steps(lanes.native, NULL, FALL));
    OK(stet_step_create(mujoco.worlds, STET_PHYSICS_MUJOCO, &mujoco.step));
    OK(stet_step_run(mujoco.step, FALL));
    for (int k = 0; k < CHOICES; ++k) {
        native_rig one = {make_alone(k, "f64", false), NULL}, lane = {make_alone(k, "w1", false), NULL};
        rig theirs = make_alone(k, NULL, true);
        OK(sti_native_create(one.r.worlds, &one.native));
        OK(sti_native_create(lane.r.worlds, &lane.native));
        OK(sti_native_steps(one.native, NULL, FALL));
        OK(sti_native_steps(lane.native, NULL, FALL));
        OK(stet_step_create(theirs.worlds, STET_PHYSICS_MUJOCO, &theirs.step));
        OK(stet_step_run(theirs.step, FALL));
        for (int64_t w = k; w < WORLDS; w += CHOICES) {
            assert_true(hash_world(&all.r, w) == hash_world(&one.r, 0));
            assert_true(hash_world(&lanes.r, w) == hash_world(&lane.r, 0));
            assert_true(hash_world(&mujoco, w) == hash_world(&theirs, 0));
        }
        for (int64_t other = 0; other < k; ++other) assert_true(hash_world(&all.r, other) != hash_world(&all.r, k));
        close_rig(&one);
        close_rig(&lane);
        rig_free(&theirs);
    }
    OK(stet_worlds_set_parameter(all.r.worlds, "geom_dataid", NULL, 0));
    OK(sti_native_steps(all.native, NULL, 1)); /* the model's meshes again */
    close_rig(&all);
    close_rig(&lanes);
    rig_free(&mujoco);
}

/* A mesh without a hull is made by hand: the compiler gives all of them hulls. */
static void bad_meshes_are_refused(void **state)
{
    static const char rays[] =
        "<mujoco><asset><mesh name='a' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/><mesh name='b' vertex='0 0 0 2 0 0 0 1 0 0 0 "
        "1'/></asset><worldbody><body><freejoint/><geom type='mesh' mesh='a'/><geom type='box' size='1 1 1'/></body>"
        "<site name='s'/></worldbody>%s</mujoco>";
    static const char *const words[] = {"has no hull", "take the rangefinders out"};
    for (int k = 0; k < 2; ++k) {
        char text[800];
        (void)snprintf(text, sizeof text, rays, k ? "<sensor><rangefinder site='s'/></sensor>" : "");
        native_rig n = open_rig(text, "f64", 1);
        if (k == 0) n.r.model->mj->mesh_graphadr[1] = -1;
        REFUSED(STET_ERROR_INVALID_ARGUMENT, "the model has 2 meshes: give 0 or more, and less",
                stet_worlds_set_parameter(n.r.worlds, "geom_dataid", (double[]){2, -1}, 2));
        REFUSED(STET_ERROR_INVALID_ARGUMENT, "the model has 2 meshes",
                stet_worlds_set_parameter(n.r.worlds, "geom_dataid", (double[]){-1, -1}, 2));
        REFUSED(STET_ERROR_UNSUPPORTED, "geom 1 is no mesh",
                stet_worlds_set_parameter(n.r.worlds, "geom_dataid", (double[]){1, 0}, 2));
        OK(stet_worlds_set_parameter(n.r.worlds, "geom_dataid", (double[]){1, -1}, 2));
        REFUSED(STET_ERROR_UNSUPPORTED, words[k], sti_native_steps(n.native, NULL, 1));
        REFUSED(STET_ERROR_UNSUPPORTED, "parameter geom_dataid", sti_native_prepare_pull(n.native));
        close_rig(&n);
    }
}

/* Whether a motor has an activation follows from parameters, which may not change that in a world. */
static void activations_are_the_models(void **state)
{
    rig r =
        rig_make("<mujoco><worldbody><body><joint name='a'/><geom size='.1'/></body></worldbody><actuator><dcmotor "
                 "joint='a' motorconst='.1' resistance='1' lugre='2 .1 .4 .5 .2'/><pid joint='a' ki='2'/></actuator>"
                 "</mujoco>",
                 2, NULL, 1, false);
    double dyn[2 * mjNDYN], gain[2 * mjNGAIN];
    memcpy(dyn, r.model->mj->actuator_dynprm, sizeof dyn);
    memcpy(gain, r.model->mj->actuator_gainprm, sizeof gain);
    dyn[5] = 3;
    gain[mjNGAIN] = .5;
    OK(stet_worlds_set_parameter(r.worlds, "actuator_dynprm", dyn, 2 * mjNDYN));
    OK(stet_worlds_set_parameter(r.worlds, "actuator_gainprm", gain, 2 * mjNGAIN));
    gain[mjNGAIN] = 0;
    REFUSED(STET_ERROR_UNSUPPORTED, "number 10 is 0; actuator 1 has an activation if it is above 0",
            stet_worlds_set_parameter(r.worlds, "actuator_gainprm", gain, 2 * mjNGAIN));
    dyn[0] = .01;
    REFUSED(STET_ERROR_UNSUPPORTED, "give a number not above 0",
            stet_worlds_set_parameter(r.worlds, "actuator_dynprm", dyn, 2 * mjNDYN));
    rig_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kf51_each_parameter_is_that_of_an_edited_model),
        cmocka_unit_test(each_sensor_is_in_a_scene),
        cmocka_unit_test(many_parameters_together),
        cmocka_unit_test(neighbours_do_not_matter),
        cmocka_unit_test(draws_reach_the_physics),
        cmocka_unit_test(each_world_has_a_mesh_of_its_own),
        cmocka_unit_test(a_geom_has_another_mesh_in_each_world),
        cmocka_unit_test(bad_meshes_are_refused),
        cmocka_unit_test(activations_are_the_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
