/* Gradients of a time step of native physics: a scene for each feature, random models, shipped scenes; equal bits. */
#include "physics/gradient_rig.h"

#include "bench/pilot/humanoid.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/trees.h"

#include <math.h>
#include <stdlib.h>

enum { TEXT = 1 << 16, FEW_KINKS = 2, MANY_KINKS = 10 };

static int nmodel = 40;

#define EULER "<option timestep='.004'><flag contact='disable'/></option>"
#define FAST "<option timestep='.004' integrator='implicitfast'><flag contact='disable'/></option>"
#define RK4 "<option timestep='.01' integrator='RK4'><flag contact='disable'/></option>"
#define CHAIN(first, second)                                                                                           \
    "<worldbody><site name='sw' pos='0 .3 .8'/><body name='a'><joint name='a' axis='0 1 0' pos='.1 0 0' " first        \
    "/><geom type='capsule' size='.05' "                                                                               \
    "fromto='0 0 0 .5 0 0'/><site name='sa' pos='.5 0 .1' quat='1 .2 .3 0'/><body name='b' pos='.5 0 0'>"              \
    "<joint name='b' axis='1 1 0' " second "/><joint name='s' type='slide' axis='0 1 1' ref='.1'/><geom "              \
    "type='capsule' size='.05' fromto='0 0 0 .4 .2 0'/><site name='sb' pos='.4 .1 0' quat='1 0 .2 .1'/></body>"        \
    "</body><body name='c' pos='1 0 0'><freejoint name='f'/><geom type='box' size='.1 .2 .1'/><site name='sc' "        \
    "pos='.1 0 0'/><body pos='.3 0 0'><joint name='d' type='ball' pos='0 .1 0'/><geom type='box' size='.1 .2 .3'/>"    \
    "</body></body><body name='e' pos='-1 0 0'><freejoint/><geom type='box' size='.2 .1 .1' pos='.1 0 0'/></body>"     \
    "<body name='m' mocap='true' pos='0 1 0'><geom size='.1'/><body pos='0 0 .5'><geom size='.1'/></body></body>"      \
    "</worldbody>"
#define SERIAL                                                                                                         \
    "<worldbody><body><joint name='a' axis='0 1 0' damping='.2' range='-20 30' stiffness='2'/><geom type='capsule' "   \
    "size='.05' fromto='0 0 0 .5 0 0'/><body pos='.5 0 0'><joint name='b' axis='1 1 0' frictionloss='.3'/><joint "     \
    "name='s' type='slide' axis='0 1 1'/><geom type='capsule' size='.05' fromto='0 0 0 .4 .2 0'/></body></body>"       \
    "</worldbody><actuator><motor joint='a' gear='3'/><position joint='b' kp='4' kv='.5'/><general joint='s' "         \
    "dyntype='filter' dynprm='.05' gaintype='affine' gainprm='1 .2 -.3'/><intvelocity joint='a' kp='2'/></actuator>"
#define FIXED(more)                                                                                                    \
    "<tendon><fixed name='t' " more "><joint joint='a' coef='1'/><joint joint='b' coef='-.6'/></fixed><fixed "         \
    "name='u'><joint joint='b' coef='1.3'/></fixed></tendon>"
#define ACTUATORS(gears)                                                                                               \
    "<actuator><motor joint='a' ctrlrange='-1 1' gear='3'/><position joint='b' kp='4' kv='.5' forcerange='-1 1'/>"     \
    "<velocity joint='s' kv='2'/><intvelocity joint='a' kp='2' actrange='-.5 .5'/><damper joint='a' kv='.4' "          \
    "ctrlrange='0 1'/><general joint='b' dyntype='filter' dynprm='.05' gaintype='affine' gainprm='1 .2 -.3' "          \
    "biastype='affine' biasprm='.1 -.2 -.3'/><general joint='b' dyntype='filterexact' dynprm='.05' actearly='true' "   \
    "gaintype='affine' gainprm='1 .2 -.3'/><motor joint='d' gear='.1 .2 .3'/><position joint='d' gear='0 1 0' "        \
    "kp='2'/><motor joint='f' gear='1 2 3 .1 .2 .3'/>" gears "</actuator>"
#define GEARS                                                                                                          \
    "<motor jointinparent='d' gear='.1 .2 .3'/><motor jointinparent='f' gear='0 0 1 .3 .2 .1'/><general site='sb' "    \
    "gear='1 2 3 .1 .2 .3' biastype='affine' biasprm='0 0 -.4'/><position tendon='v' kp='3' kv='.2' gear='2'/>"
#define STRAIGHT(more)                                                                                                 \
    "<tendon><spatial name='v' " more "><site site='sa'/><site site='sb'/><pulley divisor='2'/><site site='sb'/>"      \
    "<site site='sc'/></spatial></tendon>"
#define ALONG(more)                                                                                                    \
    "<tendon><spatial name='v' armature='.7' " more "><site site='sa'/><site site='sb'/><pulley divisor='2'/>"         \
    "<site site='sw'/><site site='sb'/></spatial></tendon>"
#define AROUND(option, round, side, more, actuators)                                                                   \
    "<mujoco>" option "<worldbody><body pos='-.6 0 .1'><joint axis='0 1 0' pos='0 0 .3'/><joint axis='0 0 1' "         \
    "pos='0 .2 0'/><geom type='capsule' size='.05 .2'/><site name='a' pos='.1 0 .05'/></body><body pos='0 .05 0'>"     \
    "<freejoint/><geom name='g' " round "/><geom type='box' size='.1 .2 .1'/><site name='s' pos='" side "'/></body>"   \
    "<body pos='.6 .1 -.1'><joint type='ball'/><geom type='box' size='.1 .2 .1'/><site name='b' pos='-.1 0 .05'/>"     \
    "</body></worldbody><tendon><spatial name='t' " more "><site site='a'/><geom geom='g' sidesite='s'/><site "        \
    "site='b'/></spatial></tendon>" actuators "</mujoco>"
#define PULLED "stiffness='20 2 1' damping='.4' springlength='.3 .5' range='.2 .8' limited='true' frictionloss='.3'"
#define SPHERE "type='sphere' size='.2'"
#define CYLINDER "type='cylinder' size='.2 .3' euler='80 10 0'"
#define OUTSIDE "0 .1 .5"
#define INSIDE "0 .05 .08"

static const struct {
    const char *name, *text;
} scenes[] = {
    {"Euler", "<mujoco>" EULER CHAIN("", "") "</mujoco>"},
    {"springs and dampers",
     "<mujoco>" EULER CHAIN("stiffness='3 1 2' damping='.2 .1 .05'",
                            "stiffness='2' damping='.3' springref='20' armature='.1'")
         FIXED("stiffness='3 1 2' damping='.3 .1 .1' springlength='.1 .3' armature='.2'") "</mujoco>"},
    {"implicitfast",
     "<mujoco>" FAST CHAIN("stiffness='3 1 2' damping='.2 .1 .05'", "damping='.3'")
         FIXED("stiffness='3' damping='.3 .1 .1'") ACTUATORS("<position tendon='t' kp='3' kv='.2'/>") "</mujoco>"},
    {"actuators", "<mujoco>" EULER CHAIN("damping='.2'", "") STRAIGHT("") ACTUATORS(GEARS) "</mujoco>"},
    {"controls that are not clamped",
     "<mujoco><option><flag clampctrl='disable' contact='disable'/></option>" CHAIN("", "") ACTUATORS("") "</mujoco>"},
    {"RK4", "<mujoco>" RK4 CHAIN("stiffness='3' damping='.2 .1 .05' range='-20 30'", "damping='.3' frictionloss='.2'")
                STRAIGHT("stiffness='20' damping='.4'") ACTUATORS(GEARS) "</mujoco>"},
    {"limits of joints' forces", "<mujoco>" EULER CHAIN("actuatorfrcrange='-1 1'", "") ACTUATORS("") "</mujoco>"},
    {"no damping taken implicitly",
     "<mujoco><option><flag eulerdamp='disable' contact='disable'/></option>" CHAIN("damping='.3'", "") "</mujoco>"},
    {"spatial tendons", "<mujoco>" EULER CHAIN("", "") STRAIGHT(
                            "stiffness='20 2 1' damping='.4' springlength='.3 .5' range='.2 .8' limited='true' "
                            "frictionloss='.3'") "</mujoco>"},
    {"armature of spatial tendons", "<mujoco>" EULER CHAIN("damping='.2'", "") ALONG("") "</mujoco>"},
    {"armature of spatial tendons, implicitfast",
     "<mujoco>" FAST CHAIN("damping='.2'", "") ALONG("stiffness='3'") "</mujoco>"},
    {"armature of spatial tendons, RK4",
     "<mujoco>" RK4 CHAIN("", "") ALONG("range='.1 .6' limited='true'") "</mujoco>"},
    {"a tendon around a sphere", AROUND(EULER, SPHERE, OUTSIDE, PULLED, "")},
    {"a tendon around a cylinder",
     AROUND(EULER, CYLINDER, OUTSIDE, PULLED, "<actuator><position tendon='t' kp='3' kv='.2' gear='2'/></actuator>")},
    {"a medium",
     "<mujoco><option density='1000' viscosity='.9' wind='.1 -.2 .3'><flag contact='disable'/></option>" CHAIN(
         "", "") "</mujoco>"},
    {"gravity compensation", "<mujoco>" EULER "<worldbody><body gravcomp='.7'><joint/><geom size='.1' pos='.5 0 0'/>"
                             "<body pos='1 0 0' gravcomp='1.2'><joint axis='1 0 1'/><geom size='.1' pos='.5 0 0'/>"
                             "</body></body></worldbody></mujoco>"},
    {"gravity compensation by actuators",
     "<mujoco>" EULER "<worldbody><body gravcomp='.7'><joint name='a' actuatorgravcomp='true'/><geom size='.1' "
     "pos='.5 0 0'/><body pos='1 0 0' gravcomp='1.2'><joint axis='1 0 1'/><geom size='.1' pos='.5 0 0'/></body></body>"
     "</worldbody><actuator><motor joint='a'/></actuator></mujoco>"},
    {"a limit of a tendon's actuator that holds",
     "<mujoco>" FAST CHAIN("", "") FIXED("actuatorfrcrange='-.01 .02'") "<actuator><position tendon='t' kp='30' "
                                                                        "kv='.2'/></actuator></mujoco>"},
    {"a limit of a tendon's actuator",
     "<mujoco>" EULER CHAIN("", "") STRAIGHT("actuatorfrcrange='-999 999'") "<actuator><position tendon='v' kp='30' "
                                                                            "kv='.2'/></actuator></mujoco>"},
    {"limits", "<mujoco>" EULER CHAIN("range='-20 30'", "range='-10 10' margin='.1' solreflimit='-300 -8' "
                                                        "solimplimit='.5 .8 .1 .3 3'") "</mujoco>"},
    {"limits of balls", "<mujoco>" FAST "<worldbody><body><joint type='ball' range='0 40'/><geom type='box' size='.1 "
                        ".2 .3' pos='.1 0 0'/><body pos='.5 0 0'><joint type='ball' range='0 60' margin='.2'/><geom "
                        "type='box' size='.1 .2 .1'/></body></body></worldbody></mujoco>"},
    {"friction loss",
     "<mujoco>" FAST CHAIN("frictionloss='.7'", "frictionloss='.2' damping='.1'")
         FIXED("frictionloss='.4' solimpfriction='.8 .9 .01 .5 2' range='-.2 .3' limited='true'") "</mujoco>"},
    {"connect", "<mujoco>" EULER CHAIN("", "") "<equality><connect body1='b' body2='c' anchor='.4 .2 0'/><connect "
                                               "body1='a' anchor='.1 .2 .3'/></equality></mujoco>"},
    {"connect in a tree", "<mujoco>" EULER CHAIN("", "") "<equality><connect site1='sa' site2='sb'/></equality>"
                                                         "</mujoco>"},
    {"weld to a mocap body", "<mujoco>" EULER CHAIN("", "") "<equality><weld body1='e' body2='m' torquescale='.5' "
                                                            "solref='.1 1'/></equality></mujoco>"},
    {"weld in a tree", "<mujoco>" EULER CHAIN("", "") "<equality><weld body1='a' body2='b' solref='.1 1'/></equality>"
                                                      "</mujoco>"},
    {"equalities of joints and tendons",
     "<mujoco>" EULER CHAIN("", "") FIXED("") "<equality><joint joint1='a' joint2='b' polycoef='.1 .5 .2 -.1 .05'/>"
                                              "<joint joint1='s' polycoef='.3 0 0 0 0'/><tendon tendon1='t' "
                                              "tendon2='u' polycoef='.1 .5 .2 -.1 .05'/></equality></mujoco>"},
    {"equality of spatial tendons",
     "<mujoco>" EULER CHAIN("", "") "<tendon><spatial name='t'><site site='sa'/><site site='sb'/></spatial><spatial "
                                    "name='u'><site site='sa'/><site site='sc'/></spatial></tendon><equality><tendon "
                                    "tendon1='t' tendon2='u' polycoef='.1 .5 .2 -.1 .05'/></equality></mujoco>"},
    {"muscles", "<mujoco>" EULER CHAIN("", "") "<actuator><muscle joint='a' lengthrange='-2 2'/><muscle joint='b' "
                                               "lengthrange='-1 3' force='30' range='.6 1.2' tausmooth='.3'/>"
                                               "</actuator></mujoco>"},
};

static void each_feature_has_its_gradient(void **state)
{
    uint64_t dice = dice_seed("each_feature_has_its_gradient");
    const gradient_draw draw = {.size = .5, .speed = 3, .pushed = true};
    gradient_errors all = {.limit = 1e-5};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k)
        gradient_check(scenes[k].name, scenes[k].text, &draw, 2, &dice, &all);
    gradient_print(&all, "features");
    assert_int_equal(all.refused, 0);
    gradient_limit(&all, FEW_KINKS, "features");
}

/* Where a path touches a circle from its inside a bisection finds, so differences are rough. */
static void paths_inside_of_geoms_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("paths_inside_of_geoms_have_their_gradients");
    const gradient_draw draw = {.size = .5, .speed = 1};
    gradient_errors all = {.limit = 5e-3};
    for (int k = 0; k < 4; ++k) {
        gradient_check("inside of a sphere", AROUND(RK4, SPHERE, INSIDE, "stiffness='20 2 1'", ""), &draw, 2, &dice,
                       &all);
        gradient_check("inside of a cylinder", AROUND(FAST, CYLINDER, INSIDE, "stiffness='20 2 1'", ""), &draw, 2,
                       &dice, &all);
    }
    gradient_print(&all, "paths inside of geoms");
    assert_int_equal(all.refused, 0);
    gradient_limit(&all, MANY_KINKS, "paths inside of geoms");
}

/* ---- contacts ---------------------------------------------------------------------------------------------------- */

#define GROUND(options, geoms)                                                                                         \
    "<mujoco><option timestep='.002' " options                                                                         \
    "/><worldbody><geom type='plane' size='9 9 1' friction='.8 .02 .01'/>" geoms "</worldbody></mujoco>"
#define HEAP(more)                                                                                                     \
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.2 .3 .12' " more "/></body><body pos='.3 0 .25'>"          \
    "<freejoint/><geom type='capsule' size='.1 .2' " more                                                              \
    "/></body><body pos='-1 0 .18'><freejoint/><geom size='.2' " more                                                  \
    "/><body pos='.2 .1 .1'><joint axis='0 1 0' range='-30 30'/><geom type='capsule' size='.1 .1' pos='.1 .1 "         \
    "0' " more "/></body></body><body pos='-1 .1 .55'><freejoint/><geom size='.2' " more "/></body>"

static const struct {
    const char *name, *text;
} contacts[] = {
    {"condim 1", GROUND("", HEAP("condim='1' priority='1'"))},
    {"condim 3", GROUND("", HEAP(""))},
    {"condim 4", GROUND("impratio='3'", HEAP("condim='4' friction='.5 .03 .002'"))},
    {"condim 6", GROUND("integrator='implicitfast'", HEAP("condim='6' friction='.5 .03 .02' solref='-900 -30' "
                                                          "margin='.03' gap='.01'"))},
    {"RK4", GROUND("integrator='RK4'", HEAP(""))},
    {"elliptic 1", GROUND("cone='elliptic'", HEAP("condim='1' priority='1'"))},
    {"elliptic 3", GROUND("cone='elliptic'", HEAP(""))},
    {"elliptic 4", GROUND("cone='elliptic' impratio='5'", HEAP("condim='4' friction='.5 .03 .002'"))},
    {"elliptic 6", GROUND("cone='elliptic'", HEAP("condim='6' friction='.5 .03 .02' priority='1' solmix='2'"))},
};

static void contacts_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("contacts_have_their_gradients");
    const gradient_draw draw = {.size = .05, .speed = 1, .settle = 5, .pushed = true};
    gradient_errors all = {.limit = 1e-5};
    for (size_t k = 0; k < sizeof contacts / sizeof *contacts; ++k)
        gradient_check(contacts[k].name, contacts[k].text, &draw, 2, &dice, &all);
    gradient_print(&all, "contacts");
    assert_int_equal(all.refused, 0);
    gradient_limit(&all, FEW_KINKS, "contacts");
}

/* Geoms that lie on one another so that their contacts jump: equal, parallel, about one axis, in one place. */
#define ON(type, size, height, more)                                                                                   \
    "<mujoco><asset><mesh name='m' vertex='-1 -1 -1 1 -1 -1 -1 1 -1 1 1 -1 -1 -1 1 1 -1 1 -1 1 1 1 1 1' scale='.1 .1 " \
    ".1'/></asset><worldbody><geom type='" type "' " size more "/><body pos='0 0 " height                              \
    "'><freejoint/><geom type='" type "' " size more "/></body></worldbody></mujoco>"

static void gradients_are_numbers_where_contacts_jump(void **state)
{
    static const struct {
        const char *name, *text;
    } rows[] = {
        {"boxes", ON("box", "size='.1 .1 .1'", ".199", "")},
        {"boxes on an edge", ON("box", "size='.1 .1 .1'", ".282", " euler='45 0 0'")},
        {"boxes in one place", ON("box", "size='.1 .1 .1'", "0", "")},
        {"cylinders", ON("cylinder", "size='.1 .1'", ".199", "")},
        {"cylinders on their sides", ON("cylinder", "size='.1 .1'", ".199", " euler='90 0 0'")},
        {"capsules", ON("capsule", "size='.1 .1'", ".199", " euler='90 0 0'")},
        {"capsules on their ends", ON("capsule", "size='.1 .1'", ".399", "")},
        {"capsules in one place", ON("capsule", "size='.1 .1'", "0", "")},
        {"spheres in one place", ON("sphere", "size='.1'", "0", "")},
        {"ellipsoids", ON("ellipsoid", "size='.1 .2 .1'", ".199", "")},
        {"ellipsoids in one place", ON("ellipsoid", "size='.1 .2 .1'", "0", "")},
        {"meshes", ON("mesh", "mesh='m'", ".199", "")},
        {"meshes on an edge", ON("mesh", "mesh='m'", ".282", " euler='45 0 0'")},
    };
    static const char *const isas[] = {"f64", "w1"};
    const gradient_draw still = {.size = 0};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        for (int i = 0; i < 2; ++i) {
            double out[512];
            int touch = 0;
            gradient_rig g;
            assert_true(gradient_open(rows[k].text, isas[i], 1, &g) && g.ncolumn <= 512);
            gradient_collect(&g, &still, 0, out);
            for (int c = 0; c < g.ncolumn; ++c)
                if (!isfinite(out[c])) fail_msg("%s, %s: gradient %d is %g", rows[k].name, isas[i], c, out[c]);
            /* without a contact the gradient by the place is that by the place after the step */
            for (int c = 0; c < 3; ++c) touch += fabs(out[c] - (double)rig_wave(0, GRADIENT_FIELDS, c)) > 1e-3;
            if (touch == 0) fail_msg("%s, %s: no gradient of a contact", rows[k].name, isas[i]);
            gradient_close(&g);
        }
}

/* ---- models that others made ------------------------------------------------------------------------------------- */

static bool compiles(const char *text)
{
    stet_model *model;
    if (stet_model_load_string(text, &model) != STET_OK) return false;
    bool sound = tree_has_moments(model->mj);
    stet_model_destroy(model);
    return sound;
}

/* Models with what has gradients; few of them have something beside it. */
static void check_random_models(const char *what, bool touching, uint64_t *dice)
{
    static char text[TEXT];
    const gradient_draw draw = {.size = touching ? .1 : .5, .speed = touching ? 1 : 2, .pushed = true};
    tree_counts counts = {.models = 0};
    /* rounding of rows that hold a model more than once, in differences; geoms that are deep in others have many */
    gradient_errors all = {.limit = touching ? 2e-2 : 2e-3};
    while (all.models < nmodel) {
        int wrong = all.wrong, refused = all.refused;
        tree_draw_graded(dice, text, sizeof text, touching, &counts);
        if (!compiles(text)) continue;
        gradient_check("random", text, &draw, 1, dice, &all);
        if (all.refused > refused) print_message("refused: %s\n", stet_get_last_error());
        if (all.wrong > wrong) (void)printf("%s\n", text);
    }
    tree_print(&counts);
    gradient_print(&all, what);
    assert_true(10 * all.refused <= all.models);
    gradient_limit(&all, MANY_KINKS, what);
}

static void random_models_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("random_models_have_their_gradients");
    check_random_models("random models", false, &dice);
}

static void random_models_that_touch_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("random_models_that_touch_have_their_gradients");
    check_random_models("random models that touch", true, &dice);
}

static void shipped_scenes_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("shipped_scenes_have_their_gradients");
    static const char *const shipped[] = {"cartpole.xml", "cartpole_classic.xml", "humanoid.xml", "quadruped.xml",
                                          "hand.xml",     "arm_table.xml"};
    gradient_errors all = {.limit = 5e-4}; /* differences of contacts that a search finds have its tolerance */
    for (size_t k = 0; k < sizeof shipped / sizeof *shipped; ++k) {
        const gradient_draw draw = {.size = .05, .speed = .5, .settle = 10};
        gradient_check(shipped[k], shipped[k], &draw, 1, &dice, &all);
    }
    gradient_print(&all, "shipped scenes");
    assert_int_equal(all.refused, 0);
    gradient_limit(&all, MANY_KINKS, "shipped scenes");
}

/* ---- MuJoCo's own ------------------------------------------------------------------------------------------------ */

typedef struct transition {
    const mjModel *m;
    mjData *d;
    double *A, *B;
} transition;

static void find_transition(void *context)
{
    const transition *t = context;
    mjd_transitionFD(t->m, t->d, 1e-6, 1, t->A, t->B, NULL, NULL);
}

/* Positions that are numbers alone, so that its tangents are those of qpos; it does not take Runge-Kutta. */
static void transitions_are_mujocos(void **state)
{
    enum { SIDE = 32 };
    uint64_t dice = dice_seed("transitions_are_mujocos");
    static const char *const texts[] = {
        "cartpole.xml",
        "<mujoco>" EULER SERIAL "</mujoco>",
        "<mujoco>" FAST SERIAL "</mujoco>",
    };
    const gradient_draw draw = {.size = .5, .speed = 2, .pushed = true};
    double worst = 0;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; ++k) {
        static double A[SIDE * SIDE], B[SIDE * SIDE], rows[SIDE * 256];
        stet_model *model = rig_model(texts[k]);
        int n = 2 * (int)model->mj->nv + (int)model->mj->na, nu = (int)model->mj->nu;
        gradient_rig g;
        stet_model_destroy(model);
        assert_true(gradient_open(texts[k], "f64", n, &g) && n <= SIDE && g.ncolumn <= 256);
        const mjModel *m = g.r.model->mj;
        assert_int_equal(m->nq, m->nv);
        gradient_state(&g, &draw, &dice);
        gradient_rows(&g, rows);
        transition t = {m, mj_makeData(m), A, B};
        assert_non_null(t.d);
        mju_copy(t.d->qpos, g.base, (int)m->nq);
        mju_copy(t.d->qvel, g.base + m->nq, (int)m->nv);
        mju_copy(t.d->act, g.base + m->nq + m->nv, (int)m->na);
        mju_copy(t.d->ctrl, g.base + n, nu);
        mju_copy(t.d->qfrc_applied, g.base + n + nu, (int)m->nv);
        mju_copy(t.d->xfrc_applied, g.base + n + nu + m->nv, 6 * (int)m->nbody);
        mju_copy(t.d->qacc_warmstart, g.warm, (int)m->nv);
        char message[256] = "";
        if (!sti_mujoco_guard(find_transition, &t, message, sizeof message)) fail_msg("%s", message);
        for (int r = 0; r < n; ++r)
            for (int c = 0; c < n + nu; ++c) {
                double want = c < n ? A[r * n + c] : B[r * nu + c - n], got = rows[r * g.ncolumn + c];
                worst = fmax(worst, fabs(got - want) / fmax(1, fabs(want)));
                if (!(fabs(got - want) <= 1e-5 * fmax(1, fabs(want))))
                    fail_msg("%s: row %d, column %d is %.9g, not %.9g", texts[k], r, c, got, want);
            }
        mj_deleteData(t.d);
        gradient_close(&g);
    }
    print_message("mjd_transitionFD: greatest error %.1e\n", worst);
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static void check_parameters(const char *name, const char *scene, const gradient_draw *draw, uint64_t *dice,
                             gradient_errors *errors)
{
    static const int numbers[] = {M_BODY_MASS,
                                  M_BODY_INERTIA,
                                  M_GRAVITY,
                                  M_QPOS_SPRING,
                                  M_JNT_STIFFNESS,
                                  M_JNT_STIFFNESSPOLY,
                                  M_DOF_ARMATURE,
                                  M_DOF_DAMPING,
                                  M_DOF_DAMPINGPOLY,
                                  M_DOF_M0,
                                  M_TEN_STIFFNESS,
                                  M_TEN_STIFFNESSPOLY,
                                  M_TEN_DAMPING,
                                  M_TEN_DAMPINGPOLY,
                                  M_TEN_LENGTHSPRING,
                                  M_ACT_GAINPRM,
                                  M_ACT_BIASPRM,
                                  M_BLOCK_PRM,
                                  0};
    gradient_rig g;
    const int *first = numbers;
    errors->models++;
    assert_true(gradient_open(scene, "f64", GRADIENT_LOSSES, &g));
    if (g.r.model->mj->opt.density > 0) first += 2; /* masses and inertias have none */
    gradient_state(&g, draw, dice);
    gradient_compare_parameters(&g, first, name, dice, errors);
    gradient_close(&g);
}

static void parameters_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("parameters_have_their_gradients");
    const gradient_draw draw = {.size = .5, .speed = 3, .pushed = true}, near = {.size = .05, .speed = 1, .settle = 5};
    gradient_errors all = {.limit = 1e-4};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k)
        check_parameters(scenes[k].name, scenes[k].text, &draw, &dice, &all);
    for (size_t k = 0; k < sizeof contacts / sizeof *contacts; ++k)
        check_parameters(contacts[k].name, contacts[k].text, &near, &dice, &all);
    gradient_print(&all, "parameters");
    gradient_limit(&all, FEW_KINKS, "parameters");
}

/* One-sided differences of models, so the limit is theirs. */
static void parameters_that_are_0_have_their_gradients(void **state)
{
    uint64_t dice = dice_seed("parameters_that_are_0_have_their_gradients");
    static const struct {
        const char *name, *none, *some;
        int number, item;
    } rows[] = {
#define ZERO(name, options, with, number, item)                                                                        \
    {name, "<mujoco>" options CHAIN("", "") "</mujoco>", "<mujoco>" options CHAIN(with, "") "</mujoco>", number, item}
        ZERO("damping", EULER, "damping='1e-6'", M_DOF_DAMPING, 0),
        ZERO("damping, implicitfast", FAST, "damping='1e-6'", M_DOF_DAMPING, 0),
        ZERO("damping, RK4", RK4, "damping='1e-6'", M_DOF_DAMPING, 0),
        ZERO("quadratic damping", EULER, "damping='0 1e-6 0'", M_DOF_DAMPINGPOLY, 0),
        ZERO("stiffness", EULER, "stiffness='1e-6'", M_JNT_STIFFNESS, 0),
        ZERO("cubic stiffness", FAST, "stiffness='0 0 1e-6'", M_JNT_STIFFNESSPOLY, 1),
        ZERO("armature", EULER, "armature='1e-6'", M_DOF_ARMATURE, 0),
        ZERO("armature, implicitfast", FAST, "armature='1e-6'", M_DOF_ARMATURE, 0),
#undef ZERO
    };
    gradient_errors all = {.limit = 1e-4};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        gradient_check_zero(rows[k].name, rows[k].none, rows[k].some, 1e-6, rows[k].number, rows[k].item, &dice, &all);
    gradient_print(&all, "parameters that are 0");
    gradient_limit(&all, FEW_KINKS, "parameters that are 0");
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

enum { WORLDS = 19, MOST = WORLDS * 512 };

/* Gradients of worlds from number `first` on; how many numbers a world has. */
static int collect(const char *scene, const char *isa, const gradient_draw *draw, int64_t first, int n, double *out)
{
    gradient_rig g;
    assert_true(gradient_open(scene, isa, n, &g));
    assert_true(n * g.ncolumn <= MOST);
    gradient_collect(&g, draw, first, out);
    int ncolumn = g.ncolumn;
    gradient_close(&g);
    return ncolumn;
}

/* At each width, of each world by itself, and in float about what they are in double; gives the greatest error. */
static double check_bits(const char *name, const char *scene, const gradient_draw *draw)
{
    static double first[MOST], other[MOST];
    bool begun = false;
    double worst = 0, most = 1e-2;
    int n = 0;
    FOR_FLOAT_ISAS(isa)
    {
        n = collect(scene, sti_isa_name((sti_isa)isa), draw, 0, WORLDS, begun ? other : first);
        if (begun && memcmp(first, other, (size_t)(WORLDS * n) * sizeof *first) != 0)
            fail_msg("%s: gradients differ with %s", name, sti_isa_name((sti_isa)isa));
        begun = true;
    }
    for (int w = 0; w < WORLDS; w += 6) {
        collect(scene, NULL, draw, w, 1, other);
        if (memcmp(first + (ptrdiff_t)w * n, other, (size_t)n * sizeof *first) != 0)
            fail_msg("%s: world %d has other gradients alone", name, w);
    }
    collect(scene, "f64", draw, 0, WORLDS, other);
    for (int w = 0; w < WORLDS; ++w, most = 1e-2) {
        for (int i = 0; i < n; ++i) most = fmax(most, fabs(other[w * n + i]));
        for (int i = 0; i < n; ++i) worst = fmax(worst, fabs(first[w * n + i] - other[w * n + i]) / most);
    }
    return worst;
}

static void gradients_have_the_same_bits_everywhere(void **state)
{
    const gradient_draw draw = {.size = .5, .speed = 2}, near = {.size = .03, .speed = .5};
    double worst = 0;
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k)
        worst = fmax(worst, check_bits(scenes[k].name, scenes[k].text, &draw));
    print_message("features: in float at most %.1e of the greatest gradient of a world from double\n", worst);
    assert_true(worst < 1e-3);
    worst = 0;
    for (size_t k = 0; k < sizeof contacts / sizeof *contacts; ++k)
        worst = fmax(worst, check_bits(contacts[k].name, contacts[k].text, &near));
    print_message("contacts: in float at most %.1e of the greatest gradient of a world from double\n", worst);
    assert_true(worst < 1e-2);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void what_has_no_gradient_is_refused_by_name(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {GROUND("noslip_iterations='3'", HEAP("")), "noslip iterations"},
        {"<mujoco>" FAST CHAIN("", "") "<actuator><muscle joint='a' lengthrange='-2 2'/></actuator></mujoco>",
         "implicitfast with muscles"},
        {"<mujoco>" FAST CHAIN("", "") STRAIGHT("damping='1'") "</mujoco>", "damping along spatial tendons"},
        {"<mujoco>" EULER CHAIN("", "") STRAIGHT("armature='1'") "</mujoco>", "armature of tendons between branches"},
        {"<mujoco>" EULER CHAIN("", "") FIXED("actuatorfrcrange='-1 1'") "<actuator><motor tendon='t'/><motor "
                                                                         "tendon='t'/></actuator></mujoco>",
         "several actuators of a tendon"},
        {"<mujoco>" EULER "<worldbody><body gravcomp='.7'><joint name='a' actuatorgravcomp='true' "
         "actuatorfrcrange='-1 1'/><geom size='.1' pos='.5 0 0'/></body></worldbody><actuator><motor joint='a'/>"
         "</actuator></mujoco>",
         "gravity compensation by actuators that are limited"},
        {"<mujoco>" EULER CHAIN("", "") "<actuator><motor site='sa' refsite='sb' gear='1 0 0 0 0 0'/></actuator>"
                                        "</mujoco>",
         "reference site"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        gradient_rig g;
        assert_false(gradient_open(rows[k].text, "f64", 1, &g));
        if (!strstr(stet_get_last_error(), rows[k].words))
            fail_msg("'%s' lacks '%s'", stet_get_last_error(), rows[k].words);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_feature_has_its_gradient),
        cmocka_unit_test(paths_inside_of_geoms_have_their_gradients),
        cmocka_unit_test(contacts_have_their_gradients),
        cmocka_unit_test(gradients_are_numbers_where_contacts_jump),
        cmocka_unit_test(random_models_have_their_gradients),
        cmocka_unit_test(random_models_that_touch_have_their_gradients),
        cmocka_unit_test(shipped_scenes_have_their_gradients),
        cmocka_unit_test(transitions_are_mujocos),
        cmocka_unit_test(parameters_have_their_gradients),
        cmocka_unit_test(parameters_that_are_0_have_their_gradients),
        cmocka_unit_test(gradients_have_the_same_bits_everywhere),
        cmocka_unit_test(what_has_no_gradient_is_refused_by_name),
    };
    if (argc > 1) nmodel = (int)strtol(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
