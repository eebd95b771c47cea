/* Sensors of native physics against MuJoCo's: a scene for each kind, then random models with random sensors. */
#include "physics/oracle.h"
#include "physics/trees.h"

#include <math.h>

enum { TEXT = 1 << 16, TYPES = mjSENS_USER + 1 };

static int nmodel = 100;

/* Of each mjtSensor: the greatest relative error, how many numbers were compared, and how many of them were not 0. */
typedef struct errors {
    double worst[TYPES];
    int seen[TYPES], other[TYPES];
} errors;

static const char *const names[TYPES] = {
    [mjSENS_TOUCH] = "touch",
    [mjSENS_ACCELEROMETER] = "accelerometer",
    [mjSENS_VELOCIMETER] = "velocimeter",
    [mjSENS_GYRO] = "gyro",
    [mjSENS_FORCE] = "force",
    [mjSENS_TORQUE] = "torque",
    [mjSENS_MAGNETOMETER] = "magnetometer",
    [mjSENS_CAMPROJECTION] = "camprojection",
    [mjSENS_RANGEFINDER] = "rangefinder",
    [mjSENS_JOINTPOS] = "jointpos",
    [mjSENS_JOINTVEL] = "jointvel",
    [mjSENS_TENDONPOS] = "tendonpos",
    [mjSENS_TENDONVEL] = "tendonvel",
    [mjSENS_ACTUATORPOS] = "actuatorpos",
    [mjSENS_ACTUATORVEL] = "actuatorvel",
    [mjSENS_ACTUATORFRC] = "actuatorfrc",
    [mjSENS_JOINTACTFRC] = "jointactuatorfrc",
    [mjSENS_TENDONACTFRC] = "tendonactuatorfrc",
    [mjSENS_BALLQUAT] = "ballquat",
    [mjSENS_BALLANGVEL] = "ballangvel",
    [mjSENS_JOINTLIMITPOS] = "jointlimitpos",
    [mjSENS_JOINTLIMITVEL] = "jointlimitvel",
    [mjSENS_JOINTLIMITFRC] = "jointlimitfrc",
    [mjSENS_TENDONLIMITPOS] = "tendonlimitpos",
    [mjSENS_TENDONLIMITVEL] = "tendonlimitvel",
    [mjSENS_TENDONLIMITFRC] = "tendonlimitfrc",
    [mjSENS_FRAMEPOS] = "framepos",
    [mjSENS_FRAMEQUAT] = "framequat",
    [mjSENS_FRAMEXAXIS] = "framexaxis",
    [mjSENS_FRAMEYAXIS] = "frameyaxis",
    [mjSENS_FRAMEZAXIS] = "framezaxis",
    [mjSENS_FRAMELINVEL] = "framelinvel",
    [mjSENS_FRAMEANGVEL] = "frameangvel",
    [mjSENS_FRAMELINACC] = "framelinacc",
    [mjSENS_FRAMEANGACC] = "frameangacc",
    [mjSENS_SUBTREECOM] = "subtreecom",
    [mjSENS_SUBTREELINVEL] = "subtreelinvel",
    [mjSENS_SUBTREEANGMOM] = "subtreeangmom",
    [mjSENS_INSIDESITE] = "insidesite",
    [mjSENS_GEOMDIST] = "distance",
    [mjSENS_GEOMNORMAL] = "normal",
    [mjSENS_GEOMFROMTO] = "fromto",
    [mjSENS_E_POTENTIAL] = "e_potential",
    [mjSENS_E_KINETIC] = "e_kinetic",
    [mjSENS_CLOCK] = "clock",
    [mjSENS_PLUGIN] = "plugin",
    [mjSENS_USER] = "user",
};

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

/* What follows from forces, which the solver and singular inertias make less exact, or is searched for. */
static bool is_conditioned(const mjModel *m, int i)
{
    int type = m->sensor_type[i];
    return m->sensor_needstage[i] == mjSTAGE_ACC || (type >= mjSENS_GEOMDIST && type <= mjSENS_GEOMFROMTO);
}

static void compare_sensors(const mjModel *m, const mjData *d, const stet_array *a, int64_t w, errors *all)
{
    for (int i = 0; i < m->nsensor; ++i) {
        int type = m->sensor_type[i];
        double scale = a->device->real_size == sizeof(double) ? ORACLE_FLOOR : ORACLE_FLOOR_FLOAT;
        const double *exact = d->sensordata + m->sensor_adr[i];
        for (int k = 0; k < m->sensor_dim[i]; ++k) scale = fmax(scale, fabs(exact[k]));
        for (int k = 0; k < m->sensor_dim[i]; ++k) {
            double x = fabs(reals_get(a, w, m->sensor_adr[i] + k) - exact[k]);
            all->worst[type] = fmax(all->worst[type], x == x ? x / scale : HUGE_VAL);
            all->seen[type]++;
            all->other[type] += exact[k] != 0;
        }
    }
}

static void print_errors(const errors *all, const char *what)
{
    print_message("%s: sensors, numbers compared, numbers that are not 0, greatest relative error\n", what);
    for (int i = 0; i < TYPES; ++i)
        if (all->seen[i]) print_message("  %-18s %7d %7d %.1e\n", names[i], all->seen[i], all->other[i], all->worst[i]);
}

static void limit_errors(const mjModel *m, const errors *all, double limit, double conditioned, const char *text)
{
    for (int i = 0; i < m->nsensor; ++i) {
        int type = m->sensor_type[i];
        bool searched = type == mjSENS_GEOMDIST || type == mjSENS_GEOMNORMAL || type == mjSENS_GEOMFROMTO;
        double most = is_conditioned(m, i) ? conditioned : limit;
        if (searched && most < 1e-4) most = 1e-4; /* both searches end at a tolerance, ccd_tolerance */
        if (all->worst[type] <= most) continue;
        (void)printf("%s\n", text);
        fail_msg("%s differs from MuJoCo's by %.3g", names[type], all->worst[type]);
    }
}

static void merge_errors(errors *all, const errors *one)
{
    for (int i = 0; i < TYPES; ++i) {
        all->worst[i] = fmax(all->worst[i], one->worst[i]);
        all->seen[i] += one->seen[i];
        all->other[i] += one->other[i];
    }
}

typedef struct run {
    const mjModel *m;
    mjData *d;
    int nstep; /* 0: forward dynamics */
} run;

static void run_mujoco(void *context)
{
    const run *k = context;
    if (k->nstep == 0) mj_forward(k->m, k->d);
    for (int i = 0; i < k->nstep; ++i) mj_step(k->m, k->d);
}

/* Random states near qpos0, both as they are and after a few time steps. Steps of singular matrices do not count. */
static void check_scene(const char *text, const char *isa, double size, int nstep, uint64_t *dice, double limit,
                        double conditioned, errors *all)
{
    rig r = rig_make(text, ORACLE_WORLDS, isa, 1, false);
    const mjModel *m = r.model->mj;
    mjData *data[ORACLE_WORLDS];
    sti_native *native;
    stet_array *now;
    errors one = {.worst = {0}};
    for (int w = 0; w < ORACLE_WORLDS; ++w) assert_non_null(data[w] = mj_makeData(m));
    oracle_near_states(&r, data, size, dice);
    OK(sti_native_create(r.worlds, &native));
    OK(sti_native_quantity(native, "sensordata", &now));
    for (int w = 0; w < ORACLE_WORLDS; ++w) {
        assert_true(sti_mujoco_guard(run_mujoco, &(run){m, data[w], 0}, NULL, 0));
        compare_sensors(m, data[w], now, w, &one);
    }
    stet_array_destroy(now);
    limit_errors(m, &one, limit, conditioned, text);
    OK(sti_native_steps(native, NULL, nstep));
    for (int w = 0; w < ORACLE_WORLDS; ++w) {
        mju_zero(data[w]->qacc_warmstart, (int)m->nv);
        assert_true(sti_mujoco_guard(run_mujoco, &(run){m, data[w], nstep}, NULL, 0));
        if (data[w]->warning[mjWARN_INERTIA].number == 0)
            compare_sensors(m, data[w], rig_array(&r, "step_sensordata"), w, &one);
    }
    limit_errors(m, &one, fmax(limit, conditioned), conditioned, text);
    merge_errors(all, &one);
    for (int w = 0; w < ORACLE_WORLDS; ++w) mj_deleteData(data[w]);
    sti_native_destroy(native);
    rig_free(&r);
}

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

#define OPTION "<option timestep='.004' tolerance='1e-18' magnetic='.1 -.5 .3'/>"

/* A chain with joints, tendons, actuators and limits, and all sensors of them. */
static const char chain[] =
    "<mujoco>" OPTION "<worldbody><site name='w' pos='1 2 3'/><body name='a' pos='0 0 1'><joint name='h' axis='0 1 1' "
    "range='-20 20' actuatorfrcrange='-.5 .5'/><geom type='box' size='.1 .2 .1' pos='.2 0 0'/><body name='b' "
    "pos='.6 0 0'><joint name='s' type='slide' range='-.1 .3' margin='.05'/><geom type='capsule' size='.05 .2'/>"
    "<body name='c' pos='0 .8 0'><joint name='q' type='ball' range='0 30'/><geom size='.1' pos='.1 .2 .1'/>"
    "</body></body></body></worldbody><tendon><fixed name='t' limited='true' range='-.1 .2'><joint joint='h' coef='1'/>"
    "<joint joint='s' coef='-2'/></fixed><fixed name='u'><joint joint='h' coef='1'/></fixed></tendon><actuator><motor "
    "name='m' joint='h' gear='2'/><position name='p' tendon='t' kp='4' kv='.3'/><motor name='v' tendon='t'/></actuator>"
    "<sensor><jointpos joint='h' noise='.3'/><jointpos joint='s' cutoff='.2'/><jointvel joint='s'/><jointvel "
    "joint='h' cutoff='1'/><tendonpos tendon='t'/><tendonvel tendon='t'/><tendonvel tendon='u' cutoff='.5'/>"
    "<actuatorpos actuator='m'/><actuatorpos actuator='p'/><actuatorvel actuator='p'/><actuatorfrc actuator='p'/>"
    "<actuatorfrc actuator='m'/><jointactuatorfrc joint='h'/><jointactuatorfrc joint='s' cutoff='.5'/>"
    "<tendonactuatorfrc tendon='t'/><tendonactuatorfrc tendon='u'/><ballquat joint='q'/><ballangvel joint='q'/>"
    "<jointlimitpos joint='h'/><jointlimitvel joint='h'/><jointlimitfrc joint='h'/><jointlimitpos joint='s'/>"
    "<jointlimitvel joint='s'/><jointlimitfrc joint='s' cutoff='10'/><jointlimitpos joint='q'/>"
    "<jointlimitvel joint='q'/><jointlimitfrc joint='q'/><tendonlimitpos tendon='t'/><tendonlimitvel "
    "tendon='t'/><tendonlimitfrc tendon='t'/>"
    "<subtreecom body='b'/><subtreecom body='a' cutoff='.7'/><user dim='3'/>"
    "<magnetometer site='w'/></sensor></mujoco>";

#define TOUCH_BODY(n, geom, x)                                                                                         \
    "<body pos='" x " .03'><freejoint/>" geom "<site name='a" n "' type='sphere' size='.2'/><site name='b" n           \
    "' type='box' size='.3 .09 .05' pos='0 .03 -.1'/><site name='c" n                                                  \
    "' type='capsule' size='.046 .11'/><site name='d" n                                                                \
    "' type='cylinder' size='.1 .02' pos='.05 0 .1' quat='1 .3 0 0'/><site name='e" n "' type='ellipsoid' "            \
    "size='.1 .2 .15'/></body>"
#define TOUCHES(n)                                                                                                     \
    "<touch site='a" n "'/><touch site='b" n "'/><touch site='c" n "'/><touch site='d" n "' cutoff='30'/><touch "      \
    "site='e" n "'/>"

static const struct {
    const char *name;
    uint64_t hash; /* of sensordata after some steps, in float */
    double size;   /* by how much states differ from qpos0 */
    const char *text;
} scenes[] = {
    {"chain", 0xec51680e5ab756aa, 1, chain},
    {"touch", 0x51d2baa6a9531599, .05,
     "<mujoco>" OPTION "<worldbody><geom type='plane' size='0 0 1' contype='3'/>" TOUCH_BODY(
         "0", "<geom type='box' size='.1 .1 .05' contype='0'/>", "0 0") TOUCH_BODY("1", "<geom size='.06'/>", "1 0")
         TOUCH_BODY("2", "<geom type='capsule' size='.04 .1'/>", "1.1 .05")
             TOUCH_BODY("3", "<geom type='cylinder' size='.05 .1' contype='0' conaffinity='2'/>", "-1 0")
                 TOUCH_BODY("4", "<geom type='ellipsoid' size='.05 .1 .04' contype='0' conaffinity='2'/>",
                            "0 -1") "</worldbody><sensor>" TOUCHES("0") TOUCHES("1") TOUCHES("2") TOUCHES("3")
                     TOUCHES("4") "</sensor></mujoco>"},
    {"touch of elliptic cones", 0xd3dddeb3904dc310, .05,
     "<mujoco><option tolerance='1e-18' cone='elliptic' impratio='3'/><worldbody><geom type='plane' size='0 0 1' "
     "condim='1'/>" TOUCH_BODY("0", "<geom type='box' size='.1 .1 .05' condim='1'/>", "0 0")
         TOUCH_BODY("1", "<geom size='.06' condim='6'/>", "1 0") "</worldbody><sensor>" TOUCHES("0")
             TOUCHES("1") "</sensor></mujoco>"},
    {"rays", 0x2ab5f2bc921f28ee, 1,
     "<mujoco><option><flag contact='disable'/></option><asset><material name='glass' rgba='1 1 1 0'/></asset>"
     "<worldbody><geom type='plane' size='2 3 1' pos='0 0 -1'/><geom type='plane' size='0 0 1' pos='0 0 -3'/><geom "
     "type='box' size='.3 .4 .5' pos='2 0 0' quat='1 .2 .3 0'/><geom type='capsule' size='.3 .5' pos='-2 0 0' "
     "quat='1 .5 .3 0'/><geom type='cylinder' size='.4 .5' pos='0 2 0' quat='1 .5 .3 0'/><geom type='ellipsoid' "
     "size='.4 .5 .8' pos='0 -2 0' quat='1 .5 .3 0'/><geom size='.7' pos='0 0 2'/><geom size='.5' pos='0 0 1' "
     "material='glass'/><geom size='.5' pos='0 1 1' rgba='1 1 1 0'/><body><joint type='ball'/><geom size='.1'/><site "
     "name='0'/><site name='1' quat='1 1 0 0'/><site name='2' quat='1 -1 0 0'/><site name='3' quat='1 0 1 0'/><site "
     "name='4' quat='1 0 -1 0'/><site name='5' quat='0 1 0 0'/><site name='6' pos='2 0 0'/><site name='7' pos='-2 0 "
     "0'/></body></worldbody><sensor><rangefinder site='0'/><rangefinder site='1' data='dist dir origin point normal "
     "depth'/><rangefinder site='2' cutoff='.9'/><rangefinder site='3' data='dir normal'/><rangefinder site='4' "
     "data='origin depth'/><rangefinder site='5' data='dist dir origin point normal depth'/><rangefinder site='6' "
     "data='dist dir origin point normal depth'/><rangefinder site='7' data='dist point'/></sensor></mujoco>"},
    {"rays among meshes and height fields", 0x09166c3b0e9be31f, 1,
     "<mujoco><option><flag contact='disable'/></option><asset><mesh name='m' vertex='0 0 0 .9 0 0 0 .8 0 0 0 1 .7 .9 "
     "1.1 -.3 .2 .5'/><mesh name='u' vertex='-1 -1 0 1 -1 0 0 1.4 .3 0 .2 1' face='0 1 3 1 2 3 2 0 3 0 2 1'/>"
     "<hfield name='h' nrow='4' ncol='5' size='2 2.5 1 .2' elevation='0 .3 .2 .9 .1 .5 .6 1 .2 0 .3 .4 .8 .5 .6 .1 0 "
     ".2 .7 .3'/></asset><worldbody><geom type='hfield' hfield='h' pos='0 0 -2'/><geom type='mesh' mesh='m' pos='1.5 "
     "0 0' quat='1 .2 .3 0'/><geom type='mesh' mesh='m' pos='-2 .3 .2' quat='1 .5 .3 0'/><geom type='mesh' mesh='u' "
     "pos='0 2 0' quat='1 .5 .3 0'/><geom type='hfield' hfield='h' pos='0 -3 0' quat='1 1 0 0'/><geom size='.3' pos='0 "
     "0 2'/><body><joint type='ball'/><joint type='slide'/><geom type='mesh' mesh='u'/><site name='0'/><site name='1' "
     "quat='1 1 0 0'/><site name='2' quat='1 -1 0 0'/><site name='3' quat='1 0 1 0'/><site name='4' quat='1 0 -1 0'/>"
     "<site name='5' quat='0 1 0 0'/><site name='6' pos='1.7 .2 .2'/><site name='7' pos='0 0 -2.1'/></body></worldbody>"
     "<sensor><rangefinder site='0'/><rangefinder site='1' data='dist dir origin point normal depth'/><rangefinder "
     "site='2' cutoff='.9'/><rangefinder site='3' data='dir normal'/><rangefinder site='4' data='origin depth'/>"
     "<rangefinder site='5' data='dist dir origin point normal depth'/><rangefinder site='6' data='dist normal'/>"
     "<rangefinder site='7' data='dist point normal'/></sensor></mujoco>"},
    {"cameras", 0x6690105ada90e5f3, .7,
     "<mujoco><option><flag contact='disable'/></option><worldbody><geom type='plane' size='0 0 1' pos='0 0 -2'/><geom "
     "type='box' size='.3 .4 .5' pos='0 0 -1' quat='1 .2 .3 0'/><geom size='.3' pos='.5 .2 -1.2'/><site name='w' "
     "pos='.3 .2 -1'/><body><joint type='ball'/><geom size='.1'/><camera name='a' resolution='5 4'/><camera name='b' "
     "resolution='4 3' pos='0 .1 0' projection='orthographic' fovy='2'/><camera name='c' resolution='6 4' "
     "sensorsize='.03 .02' focal='.02 .025' principal='.002 -.001'/><camera name='d' pos='.2 0 0' fovy='70'/><site "
     "name='s' pos='0 .2 -1'/></body></worldbody><sensor><rangefinder camera='a'/><rangefinder camera='b' data='dist "
     "dir origin point normal depth'/><rangefinder camera='c' data='dist dir origin point normal depth'/><rangefinder "
     "camera='a' data='depth' cutoff='1.5'/><rangefinder camera='d' data='dist depth'/><camprojection site='w' "
     "camera='a'/><camprojection site='s' camera='c'/><camprojection site='w' camera='d' cutoff='3'/><camprojection "
     "site='w' camera='b'/></sensor></mujoco>"},
    {"clocks, grids of touch", 0x0016ccf4290b7ce4, .03,
     "<mujoco><option timestep='.004' tolerance='1e-18' cone='elliptic'/><extension><plugin "
     "plugin='mujoco.sensor.touch_grid'/></extension><worldbody><geom type='plane' size='0 0 1' friction='.7 .1 .1'/>"
     "<body name='b' pos='0 0 .1'><freejoint/><geom type='box' size='.2 .15 .1' condim='6'/><site name='s' pos='0 0 "
     ".05'/><site name='u' pos='.1 .05 -.02' quat='1 .1 .2 .3'/><body pos='.4 0 -.02'><geom size='.08'/></body></body>"
     "<body pos='.1 0 .27'><freejoint/><geom size='.07' condim='4'/></body></worldbody><sensor><clock/><plugin "
     "plugin='mujoco.sensor.touch_grid' objtype='site' objname='s'><config key='size' value='5 4'/><config key='fov' "
     "value='150 80'/><config key='gamma' value='.5'/><config key='nchannel' value='6'/></plugin><clock cutoff='.006'/>"
     "<plugin plugin='mujoco.sensor.touch_grid' objtype='site' objname='u'><config key='size' value='4 6'/><config "
     "key='fov' value='180 90'/><config key='gamma' value='0'/><config key='nchannel' value='3'/></plugin></sensor>"
     "</mujoco>"},
    {"forces on contact", 0x01502f15efea10c2, .05,
     "<mujoco>" OPTION
     "<worldbody><geom type='plane' size='0 0 1'/><site name='w' pos='1 0 0'/><body name='a' pos='0 0 "
     ".1'><freejoint/><geom name='g' size='.1'/><site name='a' pos='.1 .2 .3' quat='1 .2 .3 0'/><body name='b' "
     "pos='.1 .2 0'><joint axis='1 1 0' range='-2 2'/><geom type='capsule' size='.09 .1'/><site name='b' pos='.1 0 0' "
     "quat='1 0 .3 0'/><body name='c' pos='.2 .1 0'><geom size='.11'/><camera name='k' pos='.1 .2 0' quat='0 1 .2 0'/>"
     "<site name='c'/></body></body></body><body name='d' pos='-1 0 .1'><freejoint/><geom size='.1'/><site name='d' "
     "pos='.1 0 0'/></body></worldbody><equality><connect body1='a' body2='d' anchor='.3 .1 0'/><weld body1='b' "
     "body2='d'/></equality><sensor><accelerometer site='a'/><accelerometer site='w'/><accelerometer site='c' "
     "cutoff='5'/><force site='a'/><torque site='a'/><force site='b'/><torque site='b' cutoff='3'/><force site='c'/>"
     "<torque site='c'/><force site='w'/><torque site='w'/><torque site='d'/><framelinacc objtype='camera' "
     "objname='k'/><frameangacc objtype='xbody' objname='b'/><framelinacc objtype='geom' objname='g' cutoff='9'/>"
     "<subtreelinvel body='a'/><subtreeangmom body='a'/><subtreelinvel body='world'/><subtreeangmom body='world'/>"
     "<subtreeangmom body='c'/><e_potential/><e_kinetic cutoff='3'/><touch site='c'/></sensor></mujoco>"},
    {"distances", 0x9e16f4d147d5e631, .3,
     "<mujoco><option><flag contact='disable'/></option><asset><mesh name='m' vertex='0 0 0 .3 0 0 0 .4 0 0 0 .5'/>"
     "</asset><worldbody><geom name='p' type='plane' size='1 1 1' pos='0 0 -1'/><geom name='s' size='.2' pos='1 0 0'/>"
     "<geom name='c' type='capsule' size='.1 .2' pos='.5 1 0' quat='1 .2 .3 0'/><body name='a' pos='-1 0 "
     "0'><freejoint/>"
     "<geom name='b' type='box' size='.1 .2 .3'/><geom name='e' type='ellipsoid' size='.1 .2 .3' pos='0 .5 0'/></body>"
     "<body name='b'><freejoint/><geom type='cylinder' size='.2 .1'/><geom name='m' type='mesh' mesh='m' "
     "pos='.4 -.3 0'/></body></worldbody><sensor><fromto geom1='s' geom2='c' cutoff='9'/><fromto geom1='b' geom2='s' "
     "cutoff='9'/><fromto geom1='p' geom2='m' cutoff='9'/><distance geom1='m' geom2='p' cutoff='.7'/><distance "
     "body1='a' body2='b' cutoff='9'/><normal body1='a' geom2='c' cutoff='9'/><fromto geom1='m' geom2='e' cutoff='9'/>"
     "</sensor></mujoco>"},
    {"inside", 0x0b4d8b68c2afcf88, .6,
     "<mujoco><worldbody><site name='0' size='.4'/><site name='1' type='box' size='.2 .4 .6' quat='1 .3 0 0'/><site "
     "name='2' type='capsule' size='.3 .3' quat='1 .3 0 0'/><site name='3' type='cylinder' size='.4 .3' quat='1 0 .4 "
     "0'/><site name='4' type='ellipsoid' size='.3 .5 .7'/><body name='b'><freejoint/><geom name='g' size='.1'/>"
     "</body></worldbody><sensor><insidesite site='0' objtype='body' objname='b'/><insidesite site='1' objtype='geom' "
     "objname='g'/><insidesite site='2' objtype='xbody' objname='b'/><insidesite site='3' objtype='body' objname='b'/>"
     "<insidesite site='4' objtype='body' objname='b' cutoff='.5'/></sensor></mujoco>"},
};

static void check_scenes(const char *test, const char *isa, double limit, double conditioned)
{
    uint64_t dice = dice_seed(test);
    errors all = {.worst = {0}};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k)
        for (int round = 0; round < 4; ++round)
            check_scene(scenes[k].text, isa, scenes[k].size, 3, &dice, limit, conditioned, &all);
    print_errors(&all, isa ? isa : "float");
    for (int i = 0; i < TYPES; ++i)
        if (all.seen[i] && i != mjSENS_USER) assert_true(all.other[i] > 10);
}

static void each_sensor_is_mujocos(void **state) { check_scenes("each_sensor_is_mujocos", "f64", 1e-9, 1e-5); }

/* ---- random models ----------------------------------------------------------------------------------------------- */

/* What a sensor may be attached to: the name of an attribute, and the objects that it names; NULL: frames. */
typedef struct attachment {
    int type;
    mjtObj object;
    const char *attribute;
} attachment;

static const attachment attachments[] = {
    {mjSENS_VELOCIMETER, mjOBJ_SITE, "site"},
    {mjSENS_GYRO, mjOBJ_SITE, "site"},
    {mjSENS_MAGNETOMETER, mjOBJ_SITE, "site"},
    {mjSENS_RANGEFINDER, mjOBJ_SITE, "site"},
    {mjSENS_CAMPROJECTION, mjOBJ_SITE, "site"},
    {mjSENS_JOINTPOS, mjOBJ_JOINT, "joint"},
    {mjSENS_JOINTVEL, mjOBJ_JOINT, "joint"},
    {mjSENS_TENDONPOS, mjOBJ_TENDON, "tendon"},
    {mjSENS_TENDONVEL, mjOBJ_TENDON, "tendon"},
    {mjSENS_ACTUATORPOS, mjOBJ_ACTUATOR, "actuator"},
    {mjSENS_ACTUATORVEL, mjOBJ_ACTUATOR, "actuator"},
    {mjSENS_ACTUATORFRC, mjOBJ_ACTUATOR, "actuator"},
    {mjSENS_JOINTACTFRC, mjOBJ_JOINT, "joint"},
    {mjSENS_TENDONACTFRC, mjOBJ_TENDON, "tendon"},
    {mjSENS_BALLQUAT, mjOBJ_JOINT, "joint"},
    {mjSENS_BALLANGVEL, mjOBJ_JOINT, "joint"},
    {mjSENS_JOINTLIMITPOS, mjOBJ_JOINT, "joint"},
    {mjSENS_JOINTLIMITVEL, mjOBJ_JOINT, "joint"},
    {mjSENS_JOINTLIMITFRC, mjOBJ_JOINT, "joint"},
    {mjSENS_TENDONLIMITPOS, mjOBJ_TENDON, "tendon"},
    {mjSENS_TENDONLIMITVEL, mjOBJ_TENDON, "tendon"},
    {mjSENS_TENDONLIMITFRC, mjOBJ_TENDON, "tendon"},
    {mjSENS_FRAMEPOS, mjOBJ_UNKNOWN, NULL},
    {mjSENS_FRAMEQUAT, mjOBJ_UNKNOWN, NULL},
    {mjSENS_FRAMEXAXIS, mjOBJ_UNKNOWN, NULL},
    {mjSENS_FRAMEYAXIS, mjOBJ_UNKNOWN, NULL},
    {mjSENS_FRAMEZAXIS, mjOBJ_UNKNOWN, NULL},
    {mjSENS_FRAMELINVEL, mjOBJ_UNKNOWN, NULL},
    {mjSENS_FRAMEANGVEL, mjOBJ_UNKNOWN, NULL},
    {mjSENS_SUBTREECOM, mjOBJ_BODY, "body"},
    {mjSENS_ACCELEROMETER, mjOBJ_SITE, "site"},
    {mjSENS_FORCE, mjOBJ_SITE, "site"},
    {mjSENS_TORQUE, mjOBJ_SITE, "site"},
    {mjSENS_FRAMELINACC, mjOBJ_UNKNOWN, NULL},
    {mjSENS_FRAMEANGACC, mjOBJ_UNKNOWN, NULL},
    {mjSENS_SUBTREELINVEL, mjOBJ_BODY, "body"},
    {mjSENS_SUBTREEANGMOM, mjOBJ_BODY, "body"},
    {mjSENS_E_POTENTIAL, mjOBJ_UNKNOWN, ""},
    {mjSENS_E_KINETIC, mjOBJ_UNKNOWN, ""},
};
enum { ATTACHMENTS = sizeof attachments / sizeof *attachments, SENSORS = 24 };

typedef struct writing {
    char *text;
    size_t size, at;
} writing;

static void append(writing *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(writing *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->text + t->at, t->size - t->at, format, list);
    va_end(list);
    assert_true(n >= 0 && t->at + (size_t)n < t->size);
    t->at += (size_t)n;
}

static int count_objects(const mjModel *m, mjtObj object)
{
    switch (object) {
    case mjOBJ_JOINT: return (int)m->njnt;
    case mjOBJ_TENDON: return (int)m->ntendon;
    case mjOBJ_ACTUATOR: return (int)m->nactuator;
    case mjOBJ_SITE: return (int)m->nsite;
    case mjOBJ_GEOM: return (int)m->ngeom;
    case mjOBJ_CAMERA: return (int)m->ncam;
    default: return (int)m->nbody;
    }
}

/* Does MuJoCo's compiler take this joint or tendon for a sensor? */
static bool is_fit(const mjModel *m, const attachment *a, int id)
{
    bool ball = a->type == mjSENS_BALLQUAT || a->type == mjSENS_BALLANGVEL;
    bool limit = a->type >= mjSENS_JOINTLIMITPOS && a->type <= mjSENS_TENDONLIMITFRC;
    if (a->object == mjOBJ_TENDON) return !limit || m->tendon_limited[id];
    if (a->object != mjOBJ_JOINT) return true;
    if (limit && !m->jnt_limited[id]) return false;
    return limit  ? m->jnt_type[id] >= mjJNT_BALL
           : ball ? m->jnt_type[id] == mjJNT_BALL
                  : m->jnt_type[id] >= mjJNT_SLIDE;
}

/* type and name of a random frame, as two attributes whose names begin with `prefix`. */
static bool draw_frame(const mjModel *m, const char *prefix, uint64_t *dice, writing *t)
{
    static const mjtObj objects[] = {mjOBJ_BODY, mjOBJ_XBODY, mjOBJ_GEOM, mjOBJ_SITE, mjOBJ_CAMERA};
    mjtObj object = objects[dice_below(dice, 5)];
    int n = count_objects(m, object);
    if (n == 0) return false;
    int id = (int)dice_below(dice, (size_t)n);
    const char *name = object == mjOBJ_XBODY ? mj_id2name(m, mjOBJ_BODY, id) : mj_id2name(m, (int)object, id);
    append(t, " %stype='%s' %sname='%s'", prefix, mju_type2Str((int)object), prefix, name);
    return true;
}

/* Puts one random sensor into the text, or nothing. */
static void draw_sensor(const mjModel *m, uint64_t *dice, writing *t)
{
    const attachment *a = attachments + dice_below(dice, ATTACHMENTS);
    size_t begin = t->at;
    bool fit = true;
    append(t, "<%s", names[a->type]);
    if (a->attribute && a->attribute[0]) {
        int n = count_objects(m, a->object), id = n > 0 ? (int)dice_below(dice, (size_t)n) : 0;
        fit = n > 0 && is_fit(m, a, id);
        if (fit) append(t, " %s='%s'", a->attribute, mj_id2name(m, (int)a->object, id));
        if (a->type == mjSENS_CAMPROJECTION) append(t, " camera='c%d'", 1 + (int)dice_below(dice, (size_t)m->ncam));
    } else if (!a->attribute) {
        bool moving = a->type == mjSENS_FRAMELINACC || a->type == mjSENS_FRAMEANGACC;
        fit = draw_frame(m, "obj", dice, t);
        if (fit && !moving && dice_below(dice, 2)) fit = draw_frame(m, "ref", dice, t);
    }
    if (dice_below(dice, 4) == 0 && a->attribute && a->object != mjOBJ_UNKNOWN && a->type != mjSENS_BALLQUAT)
        append(t, " cutoff='%.6g'", oracle_uniform(dice, .1, 2));
    append(t, "/>");
    if (!fit) t->at = begin;
}

/* A random tree with random sensors; false: MuJoCo refuses it. */
static bool draw_model(uint64_t *dice, char *text, tree_counts *counts)
{
    static const char end[] = "</mujoco>";
    stet_model *model;
    tree_draw(dice, text, TEXT, false, counts);
    if (stet_model_load_string(text, &model) != STET_OK) return false;
    writing t = {text, TEXT, strlen(text) - strlen(end)};
    append(&t, "<sensor>");
    for (int i = 0; i < SENSORS; ++i) draw_sensor(model->mj, dice, &t);
    append(&t, "</sensor>%s", end);
    stet_model_destroy(model);
    OK(stet_model_load_string(text, &model));
    const mjModel *m = model->mj;
    bool soft = tree_has_moments(m); /* a connect or weld without mass is 1e15 times as stiff as it should be */
    for (int i = 0; i < m->neq; ++i)
        for (int k = 0; k < 2 && m->eq_type[i] <= mjEQ_WELD; ++k)
            soft = soft &&
                   m->body_invweight0[2 * m->eq_obj1id[i] + k] + m->body_invweight0[2 * m->eq_obj2id[i] + k] >= 1e-2;
    stet_model_destroy(model);
    return soft;
}

static void check_trees(const char *test, const char *isa, double limit, double conditioned)
{
    static char text[TEXT];
    uint64_t dice = dice_seed(test);
    tree_counts counts = {.models = 0};
    errors all = {.worst = {0}};
    while (counts.models - counts.refused < nmodel) {
        if (!draw_model(&dice, text, &counts)) {
            counts.refused++;
            assert_true(counts.refused < nmodel);
            continue;
        }
        check_scene(text, isa, 1.5, 1, &dice, limit, conditioned, &all);
    }
    tree_print(&counts);
    print_errors(&all, isa ? isa : "float");
    for (int i = 0; i < ATTACHMENTS; ++i) assert_true(all.other[attachments[i].type] > 0);
}

static void random_sensors_are_mujocos(void **state) { check_trees("random_sensors_are_mujocos", "f64", 1e-9, 1e-5); }

/* ---- bits, and when ---------------------------------------------------------------------------------------------- */

enum { STEPS = 5, N = 21, SCENES = sizeof scenes / sizeof *scenes };

static rig make_worlds(const char *text, double size, const char *isa, int threads)
{
    rig r = rig_make(text, N, isa, threads, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    for (int64_t w = 0; w < N; ++w) {
        for (int64_t i = 0; i < r.model->mj->nq; ++i)
            rig_set(&r, "qpos", w, i, (float)rig_get(&r, "qpos", w, i) + (float)size * rig_wave(w, 0, i));
        for (int64_t i = 0; i < r.model->mj->nv; ++i) rig_set(&r, "qvel", w, i, rig_wave(w, 1, i));
        for (int64_t i = 0; i < r.model->mj->nu; ++i) rig_set(&r, "ctrl", w, i, rig_wave(w, 2, i));
    }
    return r;
}

static void check_hash(size_t k, const char *isa, int threads)
{
    rig r = make_worlds(scenes[k].text, scenes[k].size, isa, threads);
    OK(stet_step_run(r.step, STEPS));
    uint64_t hash = rig_array_hash(&r, "step_sensordata");
    for (int64_t w = 0; w < N; ++w) assert_int_equal(stet_worlds_get_faults(r.worlds)[w], 0);
    if (hash != scenes[k].hash)
        fail_msg("%s on %s: %016" PRIx64 ", not %016" PRIx64, scenes[k].name, stet_device_get_name(r.device), hash,
                 scenes[k].hash);
    rig_free(&r);
}

static void golden_hashes_everywhere(void **state)
{
    for (size_t k = 0; k < SCENES; ++k) FOR_FLOAT_ISAS(isa)
    for (int threads = 1; threads <= 3; threads += 2) check_hash(k, sti_isa_name((sti_isa)isa), threads);
}

/* The device that the run is about, a GPU or its double. */
static void golden_hashes_on_the_device(void **state)
{
    for (size_t k = 0; k < SCENES; ++k) check_hash(k, NULL, 1);
}

static void check_same(const rig *a, const rig *b, int64_t w)
{
    for (int64_t i = 0; i < rig_array(a, "step_sensordata")->nitem; ++i)
        assert_true(rig_get(a, "step_sensordata", w, i) == rig_get(b, "step_sensordata", w, i));
}

/* step_sensordata is that of the last time step, also of worlds that stand still since, and 0 after a reset. */
static void sensors_are_those_of_the_last_step(void **state)
{
    uint8_t mask[N];
    rig a = make_worlds(chain, 1, NULL, 2), b = make_worlds(chain, 1, NULL, 2);
    for (int64_t i = 0; i < rig_array(&a, "step_sensordata")->nitem; ++i)
        assert_true(rig_get(&a, "step_sensordata", 3, i) == 0);
    OK(stet_step_run(a.step, STEPS));
    for (int i = 0; i < STEPS; ++i) OK(stet_step_run(b.step, 1));
    for (int64_t w = 0; w < N; ++w) {
        check_same(&a, &b, w);
        mask[w] = w % 3 == 1;
    }
    OK(stet_step_run_worlds(a.step, mask, 2));
    for (int64_t w = 0; w < N; ++w)
        if (!mask[w]) check_same(&a, &b, w);
    OK(stet_step_run(b.step, 2));
    for (int64_t w = 0; w < N; ++w)
        if (mask[w]) check_same(&a, &b, w);
    stet_reset_def reset = stet_default_reset_def();
    reset.mask = mask;
    OK(stet_worlds_reset(a.worlds, &reset));
    for (int64_t w = 0; w < N; ++w)
        for (int64_t i = 0; mask[w] && i < rig_array(&a, "step_sensordata")->nitem; ++i)
            assert_true(rig_get(&a, "step_sensordata", w, i) == 0);
    rig_free(&a);
    rig_free(&b);
}

/* A world that goes bad within a call has MuJoCo's sensors afterwards. */
static void sensors_of_a_world_that_goes_bad(void **state)
{
    for (int bad = 0; bad < 2; ++bad) {
        rig r = make_worlds(chain, 1, NULL, 1), mujoco = rig_make(chain, N, NULL, 1, true);
        rig_step(&mujoco, STET_PHYSICS_MUJOCO);
        rig_set(&r, bad ? "qvel" : "xfrc_applied", 2, bad ? 0 : 7, NAN);
        rig_set(&mujoco, bad ? "qvel" : "xfrc_applied", 2, bad ? 0 : 7, NAN);
        OK(stet_step_run(r.step, 3));
        OK(stet_step_run(mujoco.step, 3));
        for (int64_t i = 0; i < rig_array(&r, "step_sensordata")->nitem; ++i) {
            double x = rig_get(&r, "step_sensordata", 2, i), y = rig_get(&mujoco, "step_sensordata", 2, i);
            if (!(fabs(x - y) <= 1e-3 * fmax(1, fabs(y)))) fail_msg("number %d is %g, MuJoCo's %g", (int)i, x, y);
        }
        rig_free(&r);
        rig_free(&mujoco);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_sensor_is_mujocos),
        cmocka_unit_test(random_sensors_are_mujocos),
        cmocka_unit_test(golden_hashes_everywhere),
        cmocka_unit_test(golden_hashes_on_the_device),
        cmocka_unit_test(sensors_are_those_of_the_last_step),
        cmocka_unit_test(sensors_of_a_world_that_goes_bad),
    };
    if (argc > 1) nmodel = (int)strtol(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
