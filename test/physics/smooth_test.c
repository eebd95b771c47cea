/* Smooth dynamics of native physics against MuJoCo: a small scene for each feature, then the shipped ones. */
#include "physics/oracle.h"

#define OPTION "<option timestep='.004'><flag contact='disable' constraint='disable'/></option>"
#define FAST "<option timestep='.004' integrator='implicitfast'><flag contact='disable' constraint='disable'/></option>"

#define FULL "<option timestep='.004' integrator='implicit'><flag contact='disable' constraint='disable'/></option>"

/* Two arms and a body that floats, with what tendons wrap around and sites; `more` is the tendons and what they do. */
#define PULLED(option, more)                                                                                           \
    "<mujoco>" option "<default><geom contype='0'/></default><worldbody><site name='o' pos='.1 -.2 .9'/>"              \
    "<geom name='post' type='cylinder' size='.1 .3' pos='.3 .2 .1' euler='20 80 10'/><site name='by' pos='.3 .5 .1'/>" \
    "<body><joint name='a' axis='0 1 .2'/><geom type='capsule' size='.05' fromto='0 0 0 .5 0 0'/>"                     \
    "<site name='s' pos='.3 0 .1'/><geom name='knee' size='.12' pos='.5 0 0'/><site name='at' pos='.5 0 .3'/>"         \
    "<body pos='.5 0 0'><joint name='b' axis='.1 1 0'/><joint axis='1 0 0' type='slide'/><geom type='capsule' "        \
    "size='.05' fromto='0 0 0 .5 0 0'/><site name='t' pos='.35 0 .08'/><site name='tip' pos='.5 .1 0'/></body></body>" \
    "<body pos='1 1 .5'><freejoint/><geom type='box' size='.1 .2 .3'/><site name='f' pos='.1 0 .2'/>"                  \
    "<geom name='roll' type='cylinder' size='.15 .2' pos='.3 0 0' zaxis='0 1 0'/><site name='g' pos='.6 .1 0'/>"       \
    "</body></worldbody>" more "</mujoco>"

#define FLUID(option)                                                                                                  \
    "<mujoco><option timestep='.004' " option "><flag contact='disable' constraint='disable'/></option><worldbody>"    \
    "<body pos='1 2 3'><freejoint/><geom type='box' size='.1 .2 .3' pos='.1 .1 0'/><body pos='1 0 0'>"                 \
    "<joint type='ball'/><geom type='capsule' size='.1 .3'/></body></body><body><joint axis='0 1 0'/>"                 \
    "<geom type='ellipsoid' size='.1 .2 .3' pos='.5 0 0'/><body pos='1 0 0'><joint type='slide'/><geom size='.2'/>"    \
    "</body></body></worldbody></mujoco>"

/* Geoms on which the medium acts as on ellipsoids: of two bodies of chains, and of a free one with a welded child. */
#define ELLIPSOIDS(option)                                                                                             \
    "<mujoco><option timestep='.004' density='300' viscosity='.7' wind='.1 -.2 .3' " option "><flag "                  \
    "contact='disable' constraint='disable'/></option><worldbody><body pos='1 2 3'><freejoint/><geom "                 \
    "type='ellipsoid' "                                                                                                \
    "size='.1 .2 .3' pos='.1 .1 0' euler='10 20 30' fluidshape='ellipsoid'/><geom size='.1'/><body pos='.5 0 0'>"      \
    "<geom type='box' size='.1 .2 .05' fluidshape='ellipsoid' fluidcoef='.4 .3 1.2 .8 .7'/></body></body>"             \
    "<body><joint type='ball'/><geom type='capsule' size='.1 .3' fluidshape='ellipsoid' pos='.1 0 .2'/><body "         \
    "pos='1 0 0'><joint axis='0 1 .2'/><joint type='slide'/><geom type='cylinder' size='.1 .2' euler='30 0 0' "        \
    "fluidshape='ellipsoid'/><geom size='.2' pos='0 .3 0' fluidshape='ellipsoid'/><body pos='0 .5 0'><joint/><geom "   \
    "type='box' size='.1 .2 .1'/></body></body></body></worldbody></mujoco>"

/* A tree with all joints, whose bodies turn each other. */
#define TURNING(option)                                                                                                \
    "<mujoco>" option "<worldbody><body pos='1 2 3'><freejoint/><geom type='box' size='.1 .2 .3' pos='.1 .1 0'/>"      \
    "<body pos='.5 0 0'><joint type='ball' damping='.3' stiffness='2'/><geom type='box' size='.1 .2 .3' pos='0 .2 "    \
    "0'/>"                                                                                                             \
    "<body pos='.3 0 .2'><joint name='a' axis='1 .3 0'/><joint name='b' axis='0 1 0' pos='.1 0 0' "                    \
    "damping='.2'/><joint "                                                                                            \
    "type='slide' axis='0 0 1'/><geom type='capsule' size='.1 .2'/></body></body><body pos='0 .5 0'><joint name='c'/>" \
    "<geom size='.2' pos='.3 0 0'/></body></body><body><joint type='ball' pos='.1 0 0'/><geom type='box' size='.3 .2 " \
    ".1'/></body><body pos='0 3 0'><freejoint/><geom type='box' size='.3 .2 .1'/></body></worldbody><tendon><fixed "   \
    "name='t' damping='.3'><joint joint='a' coef='.5'/><joint joint='c' coef='-.7'/></fixed></tendon><actuator>"       \
    "<position joint='a' kp='3' kv='.4'/><velocity tendon='t' kv='.2'/></actuator></mujoco>"

/* All that integrator discrete has a stiffness of. */
#define STIFF                                                                                                          \
    "<mujoco><option timestep='.02' integrator='discrete'><flag contact='disable' constraint='disable'/></option>"     \
    "<worldbody><body><joint name='a' axis='0 1 0' stiffness='300 90 70' damping='2 .3 .1' springref='20'/><geom "     \
    "type='box' size='.1 .2 .3' pos='.1 0 0'/><body pos='.3 0 0'><joint name='b' axis='0 1 .2' pos='.1 0 0' "          \
    "actuatorfrcrange='-9 9'/><joint name='c' type='slide' stiffness='90' armature='.1'/><geom type='box' size='.1 "   \
    ".2 "                                                                                                              \
    ".3' pos='.1 0 0'/></body></body><body pos='0 2 0'><joint type='ball' stiffness='90' damping='2'/><geom "          \
    "type='box' size='.1 .2 .3' pos='.1 0 0'/></body><body pos='0 3 0'><joint type='free' stiffness='50' "             \
    "damping='3'/>"                                                                                                    \
    "<geom type='box' size='.1 .2 .3' pos='.1 0 0'/></body><body pos='0 4 0'><freejoint/><geom type='box' size='.1 "   \
    ".2 "                                                                                                              \
    ".3'/></body></worldbody><tendon><fixed name='t' stiffness='200' damping='3' springlength='-.2 .3'><joint "        \
    "joint='a' coef='1'/><joint joint='b' coef='2'/></fixed><fixed name='u' stiffness='50 30 20' damping='1 .5'>"      \
    "<joint joint='a' coef='1'/><joint joint='c' coef='-1'/></fixed></tendon><actuator><position tendon='t' kp='40' "  \
    "kv='.2'/><position joint='a' kp='70' forcerange='-20 20'/><general joint='b' dyntype='filter' dynprm='.1' "       \
    "gaintype='affine' gainprm='1 -30 -2' actearly='true'/><general joint='a' gaintype='affine' gainprm='1 -30 -2'/>"  \
    "<general joint='a' biastype='affine' biasprm='0 -40 3'/><general joint='c' biastype='affine' biasprm='0 40 -3'/>" \
    "<position joint='c' kp='300' ctrlrange='-.1 .1' ctrllimited='true'/></actuator></mujoco>"

#define MUSCLES                                                                                                        \
    "<worldbody><body><joint name='a' range='-90 90'/><geom size='.1' pos='.5 0 0'/><body pos='1 0 0'><joint "         \
    "name='b' "                                                                                                        \
    "range='-60 60'/><geom size='.1' pos='.5 0 0'/></body></body></worldbody><tendon><fixed name='t'><joint "          \
    "joint='a' "                                                                                                       \
    "coef='.5'/><joint joint='b' coef='-.7'/></fixed></tendon><actuator><muscle joint='a' lengthrange='-1.5 1.5' "     \
    "force='5'/><muscle joint='b' lengthrange='-1 1.2' range='.5 1.4' lmin='.3' lmax='1.9' vmax='2' fpmax='1.7' "      \
    "fvmax='1.5' scale='30' timeconst='.03 .07' tausmooth='.4'/><muscle tendon='t' lengthrange='-2 2' force='3' "      \
    "vmax='.8' ctrlrange='0 1' forcerange='-2 2'/><general joint='a' dyntype='muscle' dynprm='.02 .05 0' "             \
    "biastype='affine' biasprm='0 -1 -.1' actearly='true' actrange='0 1'/><general joint='b' gaintype='muscle' "       \
    "gainprm='.7 1.1 4 200 .4 1.7 3 1.2 1.3' lengthrange='-1 1'/></actuator></mujoco>"
#define SITES                                                                                                          \
    "<worldbody><site name='w' pos='.3 .1 0' quat='1 .2 -.3 .4'/><body name='a' pos='0 0 1'><freejoint/><geom "        \
    "type='box' size='.1 .2 .3' pos='.1 .1 0'/><site name='a' pos='.1 .2 .3' quat='1 .3 .2 .1'/></body><body "         \
    "pos='1 0 0'><joint axis='0 1 1'/><geom size='.1' pos='.5 0 0'/><site name='b' pos='.2 0 .1' quat='1 0 .3 0'/>"    \
    "<body pos='.6 0 0'><joint type='ball'/><geom type='box' size='.1 .2 .1' pos='.1 0 0'/><site name='c' "            \
    "pos='.2 .1 0' quat='0 1 .2 0'/></body><body pos='0 .5 0'><joint type='slide' axis='1 0 1'/><joint axis='1 1 0'/>" \
    "<geom size='.1' pos='0 .1 0'/><site name='d' pos='0 .3 0' quat='1 .1 .2 .7'/></body></body></worldbody>"          \
    "<actuator><motor site='a' gear='0 0 1 0 0 .1'/><general site='a' gear='1 2 3 .1 .2 .3' biastype='affine' "        \
    "biasprm='0 0 -.4'/><motor site='w' gear='1 1 1 1 1 1'/><position site='c' refsite='b' gear='1 2 0 0 0 0' "        \
    "kp='3' kv='.3'/><position site='c' refsite='d' gear='.3 .1 .2 .4 .5 .6' kp='2' kv='.2'/><position site='d' "      \
    "refsite='w' gear='0 0 0 .3 .2 .1' kp='2'/><motor site='a' refsite='d' gear='1 .2 .3 0 .1 0'/><general "           \
    "cranksite='c' slidersite='b' cranklength='.9' gear='2' biastype='affine' biasprm='.1 -.2 -.3'/><motor "           \
    "cranksite='d' slidersite='w' cranklength='3'/><motor cranksite='a' slidersite='c' cranklength='.01'/>"            \
    "</actuator></mujoco>"

#define ARM                                                                                                            \
    "<worldbody><body><joint name='a' damping='.1'/><geom size='.1' pos='.5 0 0'/><body pos='1 0 0'><joint name='b'/>" \
    "<geom size='.1' pos='.5 0 0'/></body></body></worldbody><tendon><fixed name='t' actuatorfrcrange='-2 2'><joint "  \
    "joint='a' coef='.5'/><joint joint='b' coef='-.7'/></fixed></tendon>"
#define MOTORS                                                                                                         \
    ARM "<actuator><dcmotor joint='a' motorconst='.3' resistance='1.2'/><dcmotor joint='b' motorconst='.3 .2' "        \
        "resistance='2' inductance='.01 0' gear='3' saturation='.5 0 40'/><dcmotor joint='a' nominal='12 2 30' "       \
        "cogging='.2 6 .4' saturation='.3 0 0'/><dcmotor joint='b' motorconst='.4' resistance='.7' input='none' "      \
        "lugre='30 .4 .2 .3 .1'/><dcmotor joint='b' motorconst='.4' resistance='.7' thermal='2 3 0 .004 20 25' "       \
        "ctrlrange='-1 1'/><dcmotor tendon='t' motorconst='.4' resistance='.7' thermal='2 0 4 .3 1 .5' inductance='0 " \
        ".02' lugre='20 .1 .4 .5 .2' saturation='0 3 0' input='pos vel ff voltage' controller='3 2 .4 5 .2 4' "        \
        "cogging='.1 3 0'/><dcmotor joint='a' motorconst='.4' resistance='.7' input='vel' controller='0 0 .3 2 0 0' "  \
        "group='2'/><dcmotor joint='a' motorconst='.4' resistance='.7' input='pos ff' controller='2 1 .1 0 0 9'/>"     \
        "<dcmotor joint='b' motorconst='.4' resistance='.7' input='pos' controller='2 0 .1 1 0 0' inductance='0 "      \
        ".03'/>"                                                                                                       \
        "</actuator></mujoco>"
#define CONTROLLERS                                                                                                    \
    "<worldbody><site name='w'/><body><joint name='a' damping='.1'/><geom size='.1' pos='.5 0 0'/><body pos='1 0 0'>"  \
    "<joint name='b'/><geom size='.1' pos='.5 0 0'/><body pos='1 0 0'><joint name='c' type='ball'/><geom type='box' "  \
    "size='.1 .2 .3'/><site name='s' quat='1 .2 .3 0'/></body></body></body></worldbody><actuator><pid joint='a' "     \
    "kp='3' kv='.4'/><pid joint='b' kp='3' kv='.2' ki='2' imax='.4' slewmax='2' input='pos vel ff' forcerange='-2 2' " \
    "posrange='-1 1' ffrange='-.2 .1'/><pid joint='a' kp='2' kv='.3' input='vel ff' velrange='-2 2'/><pid joint='c' "  \
    "gear='0 1 .2' kp='2' ki='1' slewmax='9'/><pid joint='c' gear='1 0 0' kp='2' kv='.2' input='vel'/><pid site='s' "  \
    "refsite='w' gear='0 0 0 .4 .3 1' kp='1' ki='.4' imax='.1'/><pid joint='b' kp='1' slewmax='3' group='2'/>"         \
    "<intvelocity joint='c' gear='0 0 .2' kp='2'/><general joint='c' gear='0 0 .1' dyntype='filter' dynprm='.1' "      \
    "gainprm='2' biastype='affine' biasprm='0 -2 0'/><general joint='c' gear='.1 .1 0' dyntype='filterexact' "         \
    "dynprm='.1' gainprm='2' biastype='affine' biasprm='0 -2 0' actearly='true'/></actuator></mujoco>"
/* Whether a torque that was shortened to its limit is damped is up to MuJoCo's rounding, so there is no such. */
#define SERVOS                                                                                                         \
    "<worldbody><site name='w' quat='0 1 1 0'/><body><joint name='a' damping='.1'/><geom size='.1' pos='.5 0 "         \
    "0'/><site "                                                                                                       \
    "name='r' quat='1 .2 0 .3'/><body pos='1 0 0'><joint name='c' type='ball'/><geom type='box' size='.1 .2 "          \
    ".3'/><site "                                                                                                      \
    "name='s' quat='1 .2 .3 0'/></body></body><body pos='0 2 0'><freejoint/><geom type='box' size='.3 .2 .1'/><site "  \
    "name='f'/></body></worldbody><actuator><orientation joint='c' kp='2' kv='.3'/><orientation joint='c' kp='2' "     \
    "input='quat' forcerange='0 1'/><orientation site='s' refsite='r' kp='2' ctrlrange='-1 1'/><orientation "          \
    "site='s' refsite='w' kp='1' kv='.2' group='2'/><orientation site='f' refsite='s' kp='1' input='quat'/><general "  \
    "site='f' refsite='w' gaintype='so3' biastype='so3' dyntype='integrator' gainprm='2' biasprm='0 -2 "               \
    "-.2'/><general "                                                                                                  \
    "joint='c' gaintype='so3' biastype='so3' dyntype='integrator' gainprm='2' biasprm='0 -2 -.2' actearly='true' "     \
    "actrange='-2 2'/><motor joint='a'/></actuator></mujoco>"
#define PLUGINS                                                                                                        \
    "<extension><plugin plugin='mujoco.pid'><instance name='p'><config key='kp' value='4'/></instance><instance "      \
    "name='pd'><config key='kp' value='3'/><config key='kd' value='.4'/></instance><instance name='pid'><config "      \
    "key='kp' value='2'/><config key='ki' value='3'/><config key='kd' value='.2'/><config key='imax' value='.5'/>"     \
    "</instance><instance name='slow'><config key='kp' value='2'/><config key='ki' value='3'/><config key='slewmax' "  \
    "value='2'/></instance></plugin></extension><worldbody><body><joint name='a' damping='.1'/><geom size='.1' "       \
    "pos='.5 "                                                                                                         \
    "0 0'/><body pos='1 0 0'><joint name='b'/><geom size='.1' pos='.5 0 0'/></body></body></worldbody><actuator>"      \
    "<plugin joint='a' plugin='mujoco.pid' instance='p' ctrlrange='-1 1'/><plugin joint='b' plugin='mujoco.pid' "      \
    "instance='pd' group='2' forcerange='-3 3'/><plugin joint='a' plugin='mujoco.pid' instance='pid' actdim='1'/>"     \
    "<plugin joint='b' plugin='mujoco.pid' instance='slow' actdim='2' gear='2'/><plugin joint='b' "                    \
    "plugin='mujoco.pid' "                                                                                             \
    "instance='pid' dyntype='filter' dynprm='.1' actdim='2'/><plugin joint='a' plugin='mujoco.pid' instance='slow' "   \
    "dyntype='filterexact' dynprm='.1' actdim='3' actearly='true' group='2'/><plugin joint='a' plugin='mujoco.pid' "   \
    "instance='slow' dyntype='integrator' actdim='3' actrange='-1 1'/></actuator></mujoco>"
#define DAMPED                                                                                                         \
    "<worldbody><body><joint name='a' damping='.1 .2' armature='.1'/><geom size='.1' pos='.5 0 0'/><body pos='1 0 0'>" \
    "<joint name='b'/><geom size='.1' pos='.5 0 0'/><body pos='1 0 0'><joint name='c' type='ball'/><geom type='box' "  \
    "size='.1 .2 .3'/></body></body></body></worldbody><tendon><fixed name='t' armature='.1'><joint joint='a' "        \
    "coef='.5'/><joint joint='b' coef='-.7'/></fixed></tendon><actuator><motor joint='a' damping='.3' gear='2' "       \
    "armature='.02'/><motor joint='a' damping='.1 .2 .1'/><position joint='b' kp='2' damping='.2' armature='.1' "      \
    "gear='.5'/><motor joint='c' damping='.4' gear='.1 .2 .3'/><motor tendon='t' damping='.2 .3' armature='.2' "       \
    "gear='2'/><dcmotor jointinparent='b' motorconst='.1' resistance='1' damping='.1'/></actuator></mujoco>"
#define GROUP2 "<mujoco><option timestep='.004' actuatorgroupdisable='2'><flag constraint='disable'/></option>"
#define RUNGE "<mujoco><option timestep='.004' integrator='RK4'><flag constraint='disable'/></option>"

static const struct {
    const char *name, *text;
} scenes[] = {
    {"hinge", "<mujoco>" OPTION "<worldbody><body pos='0 0 1'><joint axis='0 1 0' pos='.1 .2 .3'/>"
              "<geom type='capsule' size='.05' fromto='0 0 0 .5 0 0'/></body></worldbody></mujoco>"},
    {"slide", "<mujoco>" OPTION "<worldbody><body quat='1 2 3 4'><joint type='slide' axis='1 1 0' ref='.3'/>"
              "<geom size='.1' pos='.1 .2 .3'/></body></worldbody></mujoco>"},
    {"ball", "<mujoco>" OPTION "<worldbody><body><joint type='ball' pos='0 0 .4'/><geom type='box' size='.1 .2 .3'/>"
             "</body></worldbody></mujoco>"},
    {"free",
     "<mujoco>" OPTION "<worldbody><body pos='1 2 3'><freejoint/><geom type='box' size='.1 .2 .3' pos='.1 .1 0'/>"
     "<site pos='1 0 0' quat='0 1 0 0'/></body></worldbody></mujoco>"},
    {"free fast", "<mujoco>" FAST "<worldbody><body pos='1 2 3'><freejoint/><geom type='box' size='.1 .2 .3' pos='.1 "
                  ".1 0'/><body pos='1 0 0'><geom size='.1'/></body></body></worldbody></mujoco>"},
    {"simple fast", "<mujoco>" FAST "<worldbody><body pos='1 2 3'><freejoint/><geom type='box' size='.1 .2 .3'/>"
                    "</body></worldbody></mujoco>"},
    {"springs", "<mujoco>" OPTION "<worldbody><body><joint type='ball' stiffness='3' damping='.2'/><geom size='.1' "
                "pos='.5 0 0'/><body pos='1 0 0'><joint stiffness='2' damping='.1' springref='20' armature='.1'/><geom "
                "size='.1' pos='.5 0 0'/></body></body><body><joint type='free' stiffness='3' damping='.4'/><geom "
                "size='.2'/></body></worldbody></mujoco>"},
    {"polynomials", "<mujoco>" FAST "<worldbody><body><joint stiffness='3 1 2' damping='.2 .1 .05'/><geom size='.1' "
                    "pos='.5 0 0'/></body><body><joint type='slide' stiffness='3 1 2' damping='.2 .1 .05'/><geom "
                    "size='.1' pos='.5 0 0'/></body></worldbody></mujoco>"},
    {"euler polynomials", "<mujoco>" OPTION "<worldbody><body><joint stiffness='3 1 2' damping='.2 .1 .05'/><geom "
                          "size='.1' pos='.5 0 0'/></body></worldbody></mujoco>"},
    {"gravcomp", "<mujoco>" OPTION "<worldbody><body gravcomp='.7'><joint actuatorgravcomp='true' actuatorfrcrange='-1 "
                 "1'/><geom size='.1' pos='.5 0 0'/><body pos='1 0 0' gravcomp='1.2'><joint/><geom size='.1' pos='.5 0 "
                 "0'/><body pos='.2 0 0' gravcomp='2'><geom size='.1'/></body></body></body></worldbody></mujoco>"},
    {"water", FLUID("density='1000' viscosity='.9' wind='.1 -.2 .3'")},
    {"honey", FLUID("viscosity='10'")},
    {"water, implicitfast", FLUID("density='1000' viscosity='.9' wind='.1 -.2 .3' integrator='implicitfast'")},
    {"water, implicit", FLUID("density='1000' viscosity='.9' wind='.1 -.2 .3' integrator='implicit'")},
    {"ellipsoids", ELLIPSOIDS("")},
    {"ellipsoids, implicitfast", ELLIPSOIDS("integrator='implicitfast'")},
    {"ellipsoids, implicit", ELLIPSOIDS("integrator='implicit'")},
    {"ellipsoids, RK4", ELLIPSOIDS("integrator='RK4'")},
    {"implicit", TURNING(FULL)},
    {"implicit, sites", "<mujoco>" FULL SITES},
    {"discrete", STIFF},
    {"water, discrete", FLUID("density='1000' viscosity='.9' wind='.1 -.2 .3' integrator='discrete'")},
    {"ellipsoids, discrete", ELLIPSOIDS("integrator='discrete'")},
    {"air, RK4", FLUID("density='1.2' integrator='RK4'")},
    {"mocap", "<mujoco>" OPTION "<worldbody><body mocap='true' pos='1 0 0'><geom size='.1'/><body pos='0 1 0'><geom "
              "size='.1'/></body></body><body><joint/><geom size='.1' pos='1 0 0'/></body></worldbody></mujoco>"},
    {"tendons",
     "<mujoco>" FAST "<worldbody><body><joint name='a'/><geom size='.1' pos='.5 0 0'/><body pos='1 0 0'><joint "
     "name='b'/><geom size='.1' pos='.5 0 0'/></body></body><body><joint name='c' type='slide'/><geom size='.1' "
     "pos='.5 "
     "0 0'/></body></worldbody><tendon><fixed name='t' stiffness='3' damping='.3' springlength='.1 .3' armature='.2'>"
     "<joint joint='a' coef='.5'/><joint joint='b' coef='-.7'/></fixed><fixed name='u' stiffness='1 .5 .2' damping='.3 "
     ".1 .1'><joint joint='c' coef='2'/><joint joint='a' coef='1'/></fixed></tendon><actuator><position tendon='t' "
     "kp='3' kv='.2' gear='2'/><motor tendon='u'/></actuator></mujoco>"},
    {"straight tendons",
     PULLED(FAST, "<tendon><spatial name='u' stiffness='20' damping='.4' springlength='.3 .5'><site site='o'/><site "
                  "site='s'/><site site='tip'/></spatial><spatial name='v' damping='.2 .1 .1'><site site='tip'/><site "
                  "site='f'/></spatial><spatial name='w' stiffness='3 1 2'><site site='s'/><site site='at'/><site "
                  "site='t'/></spatial></tendon><actuator><position tendon='u' kp='3' kv='.2' gear='2'/><motor "
                  "tendon='v'/></actuator>")},
    {"armature of tendons",
     PULLED(OPTION, "<tendon><spatial name='u' armature='.3' stiffness='9'><site site='o'/><site site='s'/><pulley "
                    "divisor='2'/><site site='s'/><site site='tip'/></spatial><spatial name='v' armature='.2'><site "
                    "site='tip'/><site site='f'/></spatial></tendon><actuator><motor tendon='v'/></actuator>")},
    {"pulleys", PULLED(OPTION, "<tendon><spatial name='u' stiffness='20' damping='.4'><site site='o'/><site site='s'/>"
                               "<pulley divisor='2'/><site site='s'/><site site='t'/><pulley divisor='3'/><site "
                               "site='tip'/><site site='f'/><site site='g'/></spatial><fixed name='v' damping='.2'>"
                               "<joint joint='a' coef='.5'/><joint joint='b' coef='-.7'/></fixed></tendon><actuator>"
                               "<motor tendon='u'/><motor tendon='v'/></actuator>")},
    {"tendons around spheres",
     PULLED(FAST, "<tendon><spatial name='u' stiffness='20' damping='.4'><site site='s'/><geom geom='knee'/><site "
                  "site='t'/></spatial><spatial name='v' damping='.4'><site site='o'/><geom geom='knee' "
                  "sidesite='at'/><site site='f'/></spatial></tendon><actuator><motor tendon='v'/></actuator>")},
    {"tendons around cylinders",
     PULLED(FAST, "<tendon><spatial name='u' stiffness='20' damping='.4'><site site='f'/><geom geom='roll'/><site "
                  "site='g'/></spatial><spatial name='v' damping='.4'><site site='o'/><geom geom='post' "
                  "sidesite='by'/><site site='tip'/><geom geom='roll'/><site site='g'/></spatial></tendon><actuator>"
                  "<motor tendon='v'/></actuator>")},
    {"actuators",
     "<mujoco>" FAST "<worldbody><body><joint name='a' actuatorfrcrange='-2 2'/><geom size='.1' pos='.5 0 0'/><body "
     "pos='1 0 0'><joint name='b'/><geom size='.1' pos='.5 0 0'/></body></body><body><joint name='c' "
     "type='ball'/><geom "
     "size='.1' pos='.5 0 0'/></body><body><freejoint name='d'/><geom type='box' size='.1 .2 .3'/></body></worldbody>"
     "<actuator><motor joint='a' ctrlrange='-1 1' gear='3'/><position joint='b' kp='4' kv='.5' forcerange='-1 1'/>"
     "<velocity joint='b' kv='2'/><intvelocity joint='a' kp='2' actrange='-.5 .5'/><damper joint='a' kv='.4' "
     "ctrlrange='0 1'/><general joint='b' dyntype='filter' dynprm='.05' gaintype='affine' gainprm='1 .2 -.3' "
     "biastype='affine' biasprm='.1 -.2 -.3'/><general joint='b' dyntype='filterexact' dynprm='.05' actearly='true' "
     "gaintype='affine' gainprm='1 .2 -.3'/><motor joint='c' gear='.1 .2 .3'/><motor jointinparent='c' gear='.1 .2 "
     ".3'/><position joint='c' gear='0 1 0' kp='2'/><motor joint='d' gear='1 2 3 .1 .2 .3'/><motor jointinparent='d' "
     "gear='0 0 1 .3 .2 .1'/><motor joint='a' group='2'/><general joint='b' dyntype='integrator' actearly='true' "
     "biastype='affine' biasprm='0 -1 0'/>"
     "</actuator></mujoco>"},
    {"muscles", "<mujoco>" FAST MUSCLES},
    {"muscles, RK4", "<mujoco><option timestep='.004' integrator='RK4'><flag constraint='disable'/></option>" MUSCLES},
    {"sites", "<mujoco>" FAST SITES},
    {"sites, Euler", "<mujoco>" OPTION SITES},
    {"DC motors", "<mujoco>" FAST MOTORS},
    {"DC motors, RK4", RUNGE MOTORS},
    {"DC motors, some disabled", GROUP2 MOTORS},
    {"PID controllers", "<mujoco>" FAST CONTROLLERS},
    {"PID controllers, RK4", RUNGE CONTROLLERS},
    {"PID controllers, some disabled", GROUP2 CONTROLLERS},
    {"orientation servos", "<mujoco>" FAST SERVOS},
    {"orientation servos, RK4", RUNGE SERVOS},
    {"orientation servos, some disabled", GROUP2 SERVOS},
    {"a plugin's controllers", "<mujoco>" FAST PLUGINS},
    {"a plugin's controllers, RK4", RUNGE PLUGINS},
    {"a plugin's controllers, some disabled", GROUP2 PLUGINS},
    {"damping and armature of actuators", "<mujoco>" FAST DAMPED},
    {"damping and armature of actuators, Euler", "<mujoco><option timestep='.004'/>" DAMPED},
    {"damping and armature of actuators, RK4", RUNGE DAMPED},
    {"RK4",
     "<mujoco><option timestep='.004' integrator='RK4'><flag contact='disable'/></option><worldbody><body><freejoint/>"
     "<geom type='box' size='.1 .2 .3'/><body pos='1 0 0'><joint type='ball' damping='.1'/><geom size='.1' pos='.5 0 "
     "0'/><body pos='1 0 0'><joint name='a' stiffness='2' damping='.3'/><geom size='.1' pos='.5 0 0'/></body></body>"
     "</body><body><joint name='b' type='slide' damping='.2'/><geom size='.1'/></body></worldbody><actuator><position "
     "joint='a' kp='3' kv='.2'/><general joint='b' dyntype='filter' dynprm='.05' actearly='true'/><general joint='b' "
     "dyntype='filterexact' dynprm='.05'/><intvelocity joint='a' kp='2' actrange='-.5 .5'/></actuator></mujoco>"},
    {"RK4 with large turns",
     "<mujoco><option timestep='.1' integrator='RK4'><flag contact='disable'/></option><worldbody><body><freejoint/>"
     "<geom type='box' size='.1 .2 .3'/></body><body><joint type='ball'/><geom type='box' size='.1 .2 .3' pos='.1 0 "
     "0'/>"
     "</body></worldbody></mujoco>"},
    {"disabled groups", "<mujoco><option actuatorgroupdisable='2 3'><flag contact='disable'/></option><worldbody><body>"
                        "<joint name='a'/><geom size='.1' pos='.5 0 0'/></body></worldbody><actuator><motor joint='a' "
                        "group='2'/><motor joint='a' gear='3'/><intvelocity joint='a' group='3' actrange='-1 1'/>"
                        "</actuator></mujoco>"},
    {"tendon force limits",
     "<mujoco>" FAST
     "<worldbody><body><joint name='a'/><geom size='.1' pos='.5 0 0'/></body></worldbody><tendon><fixed "
     "name='t' actuatorfrcrange='-1 1'><joint joint='a' coef='.5'/></fixed></tendon><actuator><position tendon='t' "
     "kp='3' forcerange='-2 2'/><motor tendon='t'/><motor joint='a'/></actuator></mujoco>"},
    {"flags off", "<mujoco><option><flag contact='disable' spring='disable' damper='disable' gravity='disable' "
                  "clampctrl='disable' eulerdamp='disable'/></option><worldbody><body gravcomp='1'><joint name='a' "
                  "stiffness='2' damping='1'/><geom size='.1' pos='.5 0 0'/></body></worldbody><actuator><motor "
                  "joint='a' ctrlrange='-.1 .1'/></actuator></mujoco>"},
    {"no actuation",
     "<mujoco><option><flag contact='disable' actuation='disable' eulerdamp='disable'/></option>"
     "<worldbody><body gravcomp='1'><joint name='a' actuatorgravcomp='true' damping='1'/><geom size='.1' "
     "pos='.5 0 0'/></body></worldbody><actuator><motor joint='a'/><intvelocity joint='a' actrange='-1 "
     "1'/></actuator></mujoco>"},
    {"no damper", "<mujoco><option integrator='implicitfast'><flag contact='disable' damper='disable'/></option>"
                  "<worldbody><body gravcomp='1'><joint name='a' stiffness='2' damping='1'/><geom size='.1' pos='.5 0 "
                  "0'/></body></worldbody></mujoco>"},
    {"no bodies", "<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>"},
};

static const char inside[] =
    PULLED(FAST, "<default><site/></default><worldbody><body pos='0 0 -.5'><joint type='slide'/><geom size='.1'/><site "
                 "name='l' pos='-.5 0 .3'/><site name='r' pos='.5 0 .35'/><geom name='ring' type='cylinder' size='.2 "
                 ".1' euler='90 0 0' mass='0'/><site name='in' pos='0 0 -.05'/></body></worldbody><tendon><spatial "
                 "name='u' stiffness='20' damping='.4'><site site='l'/><geom geom='ring' sidesite='in'/><site "
                 "site='r'/></spatial><spatial name='v'><site site='l'/><geom geom='ring' sidesite='in'/><site "
                 "site='s'/></spatial></tendon><actuator><motor tendon='v'/></actuator>");

/* MuJoCo finds where a tendon touches a geom from within by Newton's method, which ends at an angle of 1e-6. */
static void tendons_pass_through_geoms_as_mujocos(void **state)
{
    uint64_t dice = dice_seed("tendons_pass_through_geoms_as_mujocos");
    oracle_errors all = {.n = 0};
    for (int round = 0; round < 20; ++round) oracle_check(inside, "f64", 1, &dice, &all);
    oracle_limit(&all, 1e-5, 1e-4, "tendons through geoms");
    oracle_print(&all, "double");
}

static void each_feature_is_mujocos(void **state)
{
    uint64_t dice = dice_seed("each_feature_is_mujocos");
    oracle_errors all = {.n = 0};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k)
        for (int round = 0; round < 3; ++round) {
            oracle_errors one = {.n = 0};
            oracle_check(scenes[k].text, "f64", 1, &dice, &one);
            oracle_limit(&one, 1e-9, 1e-9, scenes[k].name);
            oracle_merge(&all, &one);
        }
    oracle_print(&all, "double");
}

static void each_feature_is_mujocos_in_float(void **state)
{
    uint64_t dice = dice_seed("each_feature_is_mujocos_in_float");
    oracle_errors all = {.n = 0};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k)
        for (int round = 0; round < 3; ++round) {
            oracle_errors one = {.n = 0};
            oracle_check(scenes[k].text, NULL, 1, &dice, &one);
            oracle_limit(&one, 1e-3, 1e-3, scenes[k].name);
            oracle_merge(&all, &one);
        }
    oracle_print(&all, "float");
}

/* The setpoints of the plugin's controllers are free in the first step, and slow from then on, also after a reset. */
static void plugins_know_the_time(void **state)
{
    static const char *const texts[] = {"<mujoco>" FAST PLUGINS, RUNGE PLUGINS};
    uint64_t dice = dice_seed("plugins_know_the_time");
    for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k)
        for (int nstep = 2; nstep <= 4; ++nstep) {
            oracle_errors one = {.n = 0};
            oracle_check(texts[k], "f64", nstep, &dice, &one);
            oracle_limit(&one, 1e-8, 1e-8, texts[k]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_feature_is_mujocos),
        cmocka_unit_test(tendons_pass_through_geoms_as_mujocos),
        cmocka_unit_test(each_feature_is_mujocos_in_float),
        cmocka_unit_test(plugins_know_the_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
