#include "physics/trees.h"

#include "physics/oracle.h"

#include <math.h>

enum { BODIES = 9, SCALARS = 32, NAMED = 40 };

typedef struct drawing {
    uint64_t *dice;
    char *out;
    size_t size, at;
    tree_counts *counts;
    int nbody, left;              /* bodies drawn, bodies that may still be drawn */
    int rigid[BODIES + 1];        /* of each the body that it moves with; 0: the world */
    int nscalar, nnamed;          /* joints s0 … of one dof, joints j0 … of three or six */
    int balls[NAMED], nball;      /* which of those are balls */
    int sites[2 * BODIES], nsite; /* bodies that have a site */
    int nwrap;                    /* geoms w0 … with their side sites */
    int dims[4], ndim;            /* of contacts, none: bodies do not touch */
    bool any_dim[7], any_margin, any_spatial, any_free, any_ball, any_slide, any_hinge, any_spring, any_damper,
        any_poly, any_gravcomp, any_mocap, any_limit, any_loss, gaps, no_adhesion, fluid, late;
    bool graded, fast; /* only what has gradients is drawn; with the integrator implicitfast */
} drawing;

static void text(drawing *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void text(drawing *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->out + t->at, t->size - t->at, format, list);
    va_end(list);
    assert_true(n >= 0 && t->at + (size_t)n < t->size);
    t->at += (size_t)n;
}

static bool chance(drawing *t, int percent) { return dice_below(t->dice, 100) < (size_t)percent; }
static double number(drawing *t, double low, double high) { return oracle_uniform(t->dice, low, high); }

static void vector(drawing *t, const char *name, int n, double size)
{
    text(t, " %s='", name);
    for (int k = 0; k < n; ++k) text(t, "%s%.6g", k ? " " : "", number(t, -size, size));
    text(t, "'");
}

/* One coefficient or, for joints of one dof, a polynomial; positive. */
static void coefficients(drawing *t, const char *name, double size, bool poly)
{
    text(t, " %s='%.6g", name, number(t, 0, size));
    if (poly && chance(t, 30)) {
        text(t, " %.6g %.6g", number(t, 0, size / 4), number(t, 0, size / 4));
        t->any_poly = true;
    }
    text(t, "'");
}

static void joint_numbers(drawing *t, bool scalar)
{
    if (chance(t, 40)) {
        coefficients(t, "stiffness", 5, scalar);
        t->any_spring = true;
    }
    if (chance(t, 50)) {
        coefficients(t, "damping", 1, scalar);
        t->any_damper = true;
    }
    if (chance(t, 50)) text(t, " armature='%.6g'", number(t, 0, .3));
    if (!t->graded && chance(t, 20)) text(t, " actuatorgravcomp='true'");
    if (chance(t, 20)) {
        text(t, " frictionloss='%.6g'", number(t, 0, 1));
        t->any_loss = true;
    }
}

static void one_joint(drawing *t, const char *type, bool scalar)
{
    int index = scalar ? t->nscalar++ : t->nnamed++;
    text(t, "<joint name='%s%d' type='%s'", scalar ? "s" : "j", index, type);
    if (strcmp(type, "free") != 0 && chance(t, 60)) vector(t, "pos", 3, .3);
    if (scalar) {
        vector(t, "axis", 3, 1);
        if (chance(t, 20)) text(t, " ref='%.6g'", number(t, -.5, .5));
        if (chance(t, 20)) text(t, " springref='%.6g'", number(t, -.5, .5));
        if (chance(t, 40)) {
            double scale = strcmp(type, "hinge") == 0 ? 57 : 1;
            text(t, " range='-%.6g %.6g'", number(t, .1, 1) * scale, number(t, .1, 1) * scale);
            if (chance(t, 30)) text(t, " margin='%.6g'", number(t, 0, .2));
            if (chance(t, 30)) text(t, " solreflimit='%.6g %.6g'", number(t, .01, .1), number(t, .3, 1.5));
            t->any_limit = true;
        }
        if (chance(t, 15)) {
            text(t, " actuatorfrcrange='-%.6g %.6g'", number(t, .1, 2), number(t, .1, 2));
            t->no_adhesion = true;
        }
    }
    if (strcmp(type, "ball") == 0 && chance(t, 40)) {
        text(t, " range='0 %.6g'", number(t, 10, 90));
        t->any_limit = true;
    }
    joint_numbers(t, scalar);
    text(t, "/>");
}

static void joints(drawing *t, bool top)
{
    bool room = t->nscalar + 4 < SCALARS;
    if (top && chance(t, 30)) {
        one_joint(t, "free", false);
        t->any_free = true;
        return;
    }
    for (int k = (int)dice_below(t->dice, 3); k > 0 && room && chance(t, 40); --k) {
        one_joint(t, "slide", true);
        t->any_slide = true;
    }
    if (chance(t, 25)) {
        t->balls[t->nball++] = t->nnamed;
        one_joint(t, "ball", false);
        t->any_ball = true;
        return;
    }
    for (int k = (int)dice_below(t->dice, 4); k > 0 && room; --k) {
        one_joint(t, "hinge", true);
        t->any_hinge = true;
    }
}

/* What a geom or a pair has for its contacts. */
static void contact(drawing *t)
{
    int dim = t->dims[dice_below(t->dice, (size_t)t->ndim)];
    t->any_dim[dim] = true;
    text(t, " condim='%d'", dim);
    if (chance(t, 60))
        text(t, " friction='%.6g %.6g %.6g'", number(t, .2, 1.2), number(t, .001, .05), number(t, .0001, .01));
    if (chance(t, 20)) text(t, " solref='%.6g %.6g'", number(t, .02, .05), number(t, .7, 1.2));
    if (!chance(t, 30)) return;
    double margin = number(t, 0, .05);
    text(t, " margin='%.6g' gap='%.6g'", margin, t->gaps ? margin * number(t, 0, 1) : 0);
    t->any_margin = true;
}

/* Which contacts a model may have. */
static void begin_touching(drawing *t)
{
    static const int dims[] = {1, 3, 4, 6};
    t->gaps = chance(t, 50);
    while (t->ndim == 0)
        for (int k = 0; k < 4; ++k)
            if (chance(t, 50)) t->dims[t->ndim++] = dims[k];
}

static void pairs(drawing *t)
{
    text(t, "<contact>");
    for (int b = 1; b < t->nbody; ++b)
        if (chance(t, 30)) {
            text(t, "<pair geom1='g%d.1' geom2='g%d.1'", b, b + 1);
            contact(t);
            text(t, "/>");
        }
    text(t, "</contact>");
}

/* What an actuator or a sensor has of the past. */
static void past(drawing *t, bool sensor)
{
    static const char *const kinds[] = {"zoh", "linear", "cubic"};
    if (t->graded || !chance(t, 20)) return;
    text(t, " nsample='%d' interp='%s'", 1 + (int)dice_below(t->dice, 5), kinds[dice_below(t->dice, 3)]);
    if (chance(t, 70)) text(t, " delay='%.9g'", number(t, .001, .05));
    if (sensor && chance(t, 40)) text(t, " interval='%.9g %.9g'", number(t, .005, .03), -number(t, 0, .005));
    t->counts->pasts++;
}

/* Of bodies and of the whole. */
static void sensors(drawing *t)
{
    static const char *const of[] = {"framepos objtype='body' objname",
                                     "framequat objtype='xbody' objname",
                                     "framelinvel objtype='xbody' objname",
                                     "frameangvel objtype='body' objname",
                                     "framelinacc objtype='body' objname",
                                     "frameangacc objtype='xbody' objname",
                                     "subtreecom body",
                                     "subtreelinvel body",
                                     "subtreeangmom body"};
    static const char *const reductions[] = {"none", "mindist", "maxforce"};
    text(t, "<sensor><e_potential/><e_kinetic/>");
    for (int b = 1; b <= t->nbody; ++b)
        for (int k = 0; k < 2; ++k) {
            text(t, "<%s='b%d'", of[dice_below(t->dice, sizeof of / sizeof *of)], b);
            past(t, true);
            text(t, "/>");
        }
    for (int b = 1; b <= t->nbody; ++b)
        if (chance(t, 30))
            text(t, "<contact %s1='b%d' num='%d' reduce='%s' data='found force torque dist pos normal tangent'/>",
                 chance(t, 50) ? "body" : "subtree", b, 1 + (int)dice_below(t->dice, 3),
                 reductions[dice_below(t->dice, 3)]);
    text(t, "</sensor>");
    t->counts->contact_sensors++;
}

/* What tendons go around, with a side site that is not within, for which MuJoCo searches to a tolerance. */
static void wrap(drawing *t)
{
    double radius = number(t, .05, .3), x = number(t, -.3, .3), turn = number(t, 0, 6.28);
    text(t, "<geom name='w%d' type='%s' size='%.6g .1' pos='%.6g 0 .1' mass='0' contype='0' conaffinity='0'/>",
         t->nwrap, chance(t, 50) ? "sphere" : "cylinder", radius, x);
    text(t, "<site name='side%d' pos='%.6g %.6g .1'/>", t->nwrap++, x + 1.5 * radius * cos(turn),
         1.5 * radius * sin(turn));
}

/* The medium acts on a geom as on an ellipsoid. */
static void ellipsoid(drawing *t)
{
    text(t, " fluidshape='ellipsoid' fluidcoef='%.6g %.6g %.6g %.6g %.6g'", number(t, .1, 1), number(t, .1, .5),
         number(t, .5, 2), number(t, 0, 2), number(t, 0, 2));
    t->counts->ellipsoids++;
}

static void inertia(drawing *t)
{
    static const char *const types[] = {"box", "sphere", "capsule", "ellipsoid", "cylinder"};
    if (chance(t, 40)) {
        double a = number(t, .01, .2), b = number(t, .01, .2);
        text(t, "<inertial mass='%.6g' diaginertia='%.6g %.6g %.6g'", number(t, .1, 3), a, b, (a + b) * .8);
        vector(t, "pos", 3, .3);
        if (chance(t, 50)) vector(t, "quat", 4, 1);
        text(t, "/>");
    }
    for (int k = 1 + (int)dice_below(t->dice, 2); k > 0; --k) {
        size_t ntype = t->ndim == 0 ? 1 : t->graded ? 3 : sizeof types / sizeof *types; /* searches are rough */
        const char *type = types[dice_below(t->dice, ntype)];
        text(t, "<geom name='g%d.%d' type='%s'", t->nbody, k, type);
        text(t, " size='%.6g %.6g %.6g'", number(t, .05, .2), number(t, .05, .2), number(t, .05, .2));
        if (chance(t, 60)) vector(t, "pos", 3, .3);
        if (chance(t, 40)) vector(t, "quat", 4, 1);
        if (t->fluid && !t->graded && chance(t, 40)) ellipsoid(t);
        if (t->ndim > 0) contact(t);
        text(t, "/>");
    }
    if (chance(t, 40)) {
        t->sites[t->nsite++] = t->nbody;
        text(t, "<site name='s%d'", t->nbody);
        vector(t, "pos", 3, 1);
        vector(t, "quat", 4, 1);
        text(t, "/>");
    }
    if (chance(t, 30)) wrap(t);
    text(t, "<camera name='c%d' pos='.2 -.1 0' quat='1 -.2 .4 .1' resolution='3 2'/>", t->nbody);
}

static void body(drawing *t, int depth, int parent)
{
    bool mocap = depth == 0 && chance(t, 10);
    t->left--;
    t->nbody++;
    text(t, "<body name='b%d'", t->nbody);
    if (chance(t, 80)) vector(t, "pos", 3, t->ndim > 0 ? .4 : 1);
    if (chance(t, 40)) vector(t, "quat", 4, 1);
    if (chance(t, 25)) {
        text(t, " gravcomp='%.6g'", number(t, -.5, 1.5));
        t->any_gravcomp = true;
    }
    text(t, mocap ? " mocap='true'>" : ">");
    t->any_mocap = t->any_mocap || mocap;
    int id = t->nbody, before = t->nscalar + t->nnamed;
    if (!mocap && chance(t, 90)) joints(t, depth == 0);
    t->rigid[id] = t->nscalar + t->nnamed > before ? id : t->rigid[parent];
    inertia(t);
    while (t->left > 0 && chance(t, 60 - 5 * depth)) body(t, depth + 1, id);
    text(t, "</body>");
}

static int draw_site(drawing *t) { return t->sites[dice_below(t->dice, (size_t)t->nsite)]; }

/* Sites, some with a geom between them, and pulleys, which divide what is between them. */
static void path(drawing *t)
{
    int links = 1 + (int)dice_below(t->dice, 4);
    text(t, "<site site='s%d'/>", draw_site(t));
    for (int k = 0; k < links; ++k) {
        if (k > 0 && chance(t, 20))
            text(t, "<pulley divisor='%.6g'/><site site='s%d'/>", number(t, .5, 3), draw_site(t));
        if (t->nwrap > 0 && chance(t, 50)) {
            int w = (int)dice_below(t->dice, (size_t)t->nwrap);
            text(t, "<geom geom='w%d'", w);
            if (chance(t, 50)) text(t, " sidesite='side%d'", w);
            text(t, "/>");
        }
        text(t, "<site site='s%d'/>", draw_site(t));
    }
}

static int tendons(drawing *t)
{
    bool any = t->nscalar > 0 || t->nsite > 1;
    int n = any ? (int)dice_below(t->dice, 3) : 0;
    if (n == 0) return 0;
    text(t, "<tendon>");
    for (int k = 0; k < n; ++k) {
        bool spatial = t->nscalar == 0 || (t->nsite > 1 && chance(t, 50));
        double low = spatial ? number(t, 0, 2) : number(t, -1, -.1);
        text(t, "<%s name='t%d'", spatial ? "spatial" : "fixed", k);
        if (!t->late && chance(t, 50)) coefficients(t, "stiffness", 3, true);
        if (!t->late && !(spatial && t->fast) && chance(t, 50)) coefficients(t, "damping", 1, true);
        if (chance(t, 50)) text(t, " springlength='%.6g %.6g'", spatial ? low : -.2, low + 2);
        if (!t->graded && chance(t, 20)) text(t, " actuatorfrcrange='-%.6g %.6g'", number(t, .1, 2), number(t, .1, 2));
        if (chance(t, 30)) text(t, " limited='true' range='%.6g %.6g'", low, spatial ? low + 1 : number(t, .1, 1));
        if (chance(t, 30)) text(t, " frictionloss='%.6g'", number(t, 0, 1));
        text(t, ">");
        if (spatial) {
            path(t);
            t->any_spatial = true;
        }
        int first = spatial ? 0 : (int)dice_below(t->dice, (size_t)t->nscalar);
        for (int j = first; !spatial && j < t->nscalar && j < first + 3; ++j)
            text(t, "<joint joint='s%d' coef='%.6g'/>", j, number(t, -2, 2));
        text(t, "</%s>", spatial ? "spatial" : "fixed");
    }
    text(t, "</tendon>");
    return n;
}

/* On a site, with a reference site or without, or on a slider-crank. */
static void site_actuator(drawing *t)
{
    int one = t->sites[dice_below(t->dice, (size_t)t->nsite)], two = t->sites[dice_below(t->dice, (size_t)t->nsite)];
    t->counts->site_actuators++;
    if (t->graded || one == two || chance(t, 40))
        text(t, " site='s%d'", one);
    else if (chance(t, 60))
        text(t, " site='s%d' refsite='s%d'", one, two);
    else
        text(t, " cranksite='s%d' slidersite='s%d' cranklength='%.6g'", one, two, number(t, .1, 4));
}

static void muscle_numbers(drawing *t, const char *name)
{
    text(t, " %s='%.6g %.6g %.6g %.6g", name, number(t, .5, .8), number(t, .9, 1.3), number(t, -1, 5), number(t, 1, 9));
    text(t, " %.6g %.6g %.6g %.6g %.6g'", number(t, .2, .6), number(t, 1.3, 1.8), number(t, .5, 3), number(t, .5, 2),
         number(t, 1.1, 1.5));
}

static void draw_joint(drawing *t, bool ball, bool own)
{
    text(t, " %s='%s%d'", !own && chance(t, 30) ? "jointinparent" : "joint", ball ? "j" : "s",
         (int)dice_below(t->dice, (size_t)(ball ? t->nnamed : t->nscalar)));
}

/* A DC motor or a PID controller: with those of four inputs that are drawn. */
static void motor(drawing *t, int id, int ntendon)
{
    static const char *const inputs[] = {"pos", "vel", "ff", "voltage"};
    bool pid = chance(t, 50), pos = chance(t, 60), led = pos;
    t->counts->motors += !pid;
    t->counts->controllers += pid;
    text(t, "<%s name='a%d' group='%d'", pid ? "pid" : "dcmotor", id, (int)dice_below(t->dice, 4));
    if (ntendon > 0 && chance(t, 40))
        text(t, " tendon='t%d'", (int)dice_below(t->dice, (size_t)ntendon));
    else
        draw_joint(t, t->nscalar == 0 || (t->nnamed > 0 && chance(t, 30)), false);
    vector(t, "gear", 6, 2);
    text(t, " input='");
    for (int k = 0; k < 3; ++k)
        if (k == 0 ? pos : chance(t, 50)) {
            text(t, "%s%s", led && k > 0 ? " " : "", inputs[k]);
            led = true;
        }
    if (!led) text(t, "%s", pid ? "vel" : "voltage");
    if (led && !pid && chance(t, 30)) text(t, " voltage");
    text(t, "'");
    if (pid) {
        text(t, " kp='%.6g' kv='%.6g'", number(t, 0, 3), number(t, 0, 1));
        if (pos && chance(t, 50)) text(t, " ki='%.6g'", number(t, .1, 2));
        if (pos && chance(t, 50)) text(t, " imax='%.6g'", number(t, .1, 1));
        if (pos && chance(t, 50)) text(t, " slewmax='%.6g'", number(t, .1, 20));
        if (pos && chance(t, 30)) text(t, " posrange='-%.6g %.6g'", number(t, .1, 2), number(t, .1, 2));
        if (chance(t, 30)) text(t, " forcerange='-%.6g %.6g'", number(t, .1, 2), number(t, .1, 2));
        past(t, false);
        text(t, "/>");
        return;
    }
    text(t, " motorconst='%.6g' resistance='%.6g'", number(t, .1, .6), number(t, .5, 3));
    bool coil = chance(t, 40);
    if (coil) text(t, " inductance='0 %.6g'", number(t, .01, .1));
    if (chance(t, 40)) text(t, " cogging='%.6g %d %.6g'", number(t, .01, .3), 6, number(t, 0, 3));
    if (chance(t, 40)) text(t, " saturation='%.6g 0 %.6g'", number(t, .1, 2), coil ? number(t, 1, 90) : 0);
    if (chance(t, 40))
        text(t, " lugre='%.6g %.6g %.6g %.6g %.6g'", number(t, 5, 30), number(t, 0, .4), number(t, .1, .3),
             number(t, .3, .5), number(t, .1, .5));
    if (chance(t, 40)) text(t, " thermal='%.6g 3 0 %.6g 20 25'", number(t, .5, 3), number(t, .001, .02));
    if (led)
        text(t, " controller='%.6g %.6g %.6g %.6g %.6g %.6g'", number(t, 0, 2), pos ? number(t, 0, 1) : 0,
             number(t, 0, .4), chance(t, 50) ? number(t, 1, 9) : 0, chance(t, 50) ? number(t, .1, 1) : 0,
             chance(t, 50) ? number(t, 1, 9) : 0);
    past(t, false);
    text(t, "/>");
}

/* On a ball joint, or on a site relative to another. MuJoCo's rounding says whether what is at its limit is damped. */
static void servo(drawing *t, int id, bool ball)
{
    bool integrates = chance(t, 40), limited = chance(t, 40);
    t->counts->orientations++;
    text(t, "<general name='a%d' gaintype='so3' biastype='so3' gainprm='%.6g'", id, number(t, .5, 3));
    text(t, " biasprm='0 -1 %.6g' group='%d'", limited ? 0 : number(t, -1, 0), (int)dice_below(t->dice, 4));
    if (ball)
        text(t, " joint='j%d'", t->balls[dice_below(t->dice, (size_t)t->nball)]);
    else
        text(t, " site='s%d' refsite='s%d'", t->sites[0], t->sites[1 + dice_below(t->dice, (size_t)t->nsite - 1)]);
    if (limited) text(t, " forcerange='0 %.6g'", number(t, .1, 2));
    if (integrates)
        text(t, " dyntype='integrator' actearly='%s'", chance(t, 50) ? "true" : "false");
    else if (chance(t, 50))
        text(t, " input='quat'");
    past(t, false);
    text(t, "/>");
}

static void one_actuator(drawing *t, int id, int ntendon)
{
    static const char *const dynamics[] = {"none", "integrator", "filter", "filterexact", "muscle"};
    size_t dyn = dice_below(t->dice, t->late ? 4 : 5);
    bool held = t->graded && t->no_adhesion; /* limits of joints' forces are for actuators along joints */
    bool site = !held && t->nsite > 0 && chance(t, 40), tendon = !held && !site && ntendon > 0 && chance(t, 30);
    bool ball = !site && !tendon && t->nnamed > 0 && (t->nscalar == 0 || chance(t, 30));
    bool strong = !t->late && !t->fast && chance(t, 15), passive = !t->late && chance(t, 15); /* as a muscle is */
    if (t->ndim > 0 && !t->graded && !t->late && !t->no_adhesion && chance(t, 30)) {
        text(t, "<adhesion name='a%d' body='b%d' ctrlrange='0 %.6g' gain='%.6g'/>", id,
             1 + (int)dice_below(t->dice, (size_t)t->nbody), number(t, .5, 3), number(t, 1, 20));
        t->counts->adhesion++;
        return;
    }
    if (!t->graded && !t->late && (t->nsite > 1 || t->nball > 0) && chance(t, 10)) {
        servo(t, id, t->nball > 0 && (t->nsite < 2 || chance(t, 50)));
        return;
    }
    if (!site && !tendon && !ball && t->nscalar == 0) return;
    if (!t->graded && !t->late && (t->nscalar > 0 || t->nnamed > 0) && chance(t, 25)) {
        motor(t, id, ntendon);
        return;
    }
    t->counts->muscles += strong || passive || dyn == 4;
    /* discrete has no servos between branches, and gradients with implicitfast none along directions that turn */
    bool servo = (!t->late && !t->fast) || !(site || tendon || ball);
    text(t, "<general name='a%d' dyntype='%s'", id, dynamics[dyn]);
    if (site)
        site_actuator(t);
    else if (tendon)
        text(t, " tendon='t%d'", (int)dice_below(t->dice, (size_t)ntendon));
    else
        draw_joint(t, ball, held);
    vector(t, "gear", 6, 2);
    if (dyn > 1 && dyn < 4) text(t, " dynprm='%.6g'", number(t, .01, .2));
    if (dyn == 4)
        text(t, " dynprm='%.6g %.6g %.6g'", number(t, .01, .1), number(t, .02, .2),
             chance(t, 50) ? number(t, .1, 1) : 0);
    if (strong || passive) text(t, " lengthrange='%.6g %.6g'", number(t, -2, -.5), number(t, .5, 2));
    if (dyn > 0 && chance(t, 40)) text(t, " actearly='true'");
    if (dyn > 0 && chance(t, 40)) text(t, " actrange='-%.6g %.6g'", number(t, .1, 1), number(t, .1, 1));
    if (chance(t, 50)) text(t, " ctrlrange='-%.6g %.6g'", number(t, .1, 2), number(t, .1, 2));
    if (chance(t, 30)) text(t, " forcerange='-%.6g %.6g'", number(t, .1, 2), number(t, .1, 2));
    if (strong) {
        text(t, " gaintype='muscle'");
        muscle_numbers(t, "gainprm");
    } else {
        text(t, " gainprm='%.6g %.6g %.6g'", number(t, .1, 3), number(t, -1, 0), number(t, -1, 0));
        if (servo && chance(t, 40)) text(t, " gaintype='affine'");
    }
    if (passive) {
        text(t, " biastype='muscle'");
        muscle_numbers(t, "biasprm");
    } else if (servo && chance(t, 60))
        text(t, " biastype='affine' biasprm='%.6g %.6g %.6g'", number(t, -1, 1), number(t, -2, 0), number(t, -1, 0));
    past(t, false);
    text(t, " group='%d'/>", (int)dice_below(t->dice, 4));
}

static bool equalities(drawing *t, int ntendon)
{
    int n = chance(t, 40) ? 1 + (int)dice_below(t->dice, 3) : 0;
    text(t, "<equality>");
    for (int k = 0; k < n; ++k) {
        size_t kind = dice_below(t->dice, 4);
        int a = 1 + (int)dice_below(t->dice, (size_t)t->nbody), b = 1 + (int)dice_below(t->dice, (size_t)t->nbody);
        if (kind < 2) {
            bool pair = t->rigid[a] != t->rigid[b] && chance(t, 70);
            if (!pair && t->rigid[a] == 0) continue; /* rounding decides about a row that nothing moves */
            text(t, "<%s body1='b%d'", kind == 0 ? "connect" : "weld", a);
            if (pair) text(t, " body2='b%d'", b);
            vector(t, "anchor", 3, .3);
            if (kind == 1) text(t, " torquescale='%.6g'", number(t, .2, 2));
        } else {
            int count = kind == 2 ? t->nscalar : ntendon;
            const char *what = kind == 2 ? "joint" : "tendon", *name = kind == 2 ? "s" : "t";
            if (count == 0) continue;
            a = (int)dice_below(t->dice, (size_t)count);
            b = (int)dice_below(t->dice, (size_t)count);
            text(t, "<%s %s1='%s%d'", what, what, name, a);
            if (a != b) text(t, " %s2='%s%d'", what, name, b);
            vector(t, "polycoef", 5, .5);
        }
        text(t, " active='%s'/>", chance(t, 85) ? "true" : "false");
    }
    text(t, "</equality>");
    return n > 0;
}

static void draw(uint64_t *dice, char *out, size_t size, bool touching, bool graded, tree_counts *counts)
{
    drawing t = {.dice = dice, .out = out, .size = size, .counts = counts, .graded = graded};
    static const char *const integrators[] = {"Euler", "implicitfast", "implicit", "discrete", "RK4"};
    size_t integrator = dice_below(dice, graded ? 3 : 4);
    if (graded && integrator == 2) integrator = 4;
    bool elliptic = touching && chance(&t, 50), paired = touching && chance(&t, 30);
    static const char *const flags[] = {"spring",    "damper",    "gravity", "clampctrl",    "actuation",
                                        "eulerdamp", "warmstart", "limit",   "frictionloss", "equality"};
    text(&t, "<mujoco><option tolerance='1e-18' timestep='%.6g' integrator='%s'", number(&t, .001, .01),
         integrators[integrator]);
    if (chance(&t, 20)) text(&t, " actuatorgroupdisable='1'");
    if (chance(&t, 50)) vector(&t, "gravity", 3, 10);
    t.fast = graded && integrator == 1;
    if (!t.fast && chance(&t, 30)) {
        text(&t, " density='%.6g' viscosity='%.6g'", number(&t, 0, 20), number(&t, 0, .2));
        vector(&t, "wind", 3, 2);
        counts->fluids++;
        t.fluid = true;
    }
    t.late = integrator == 3;
    if (!t.late && !graded && chance(&t, 25)) {
        text(&t, " noslip_iterations='%d' noslip_tolerance='0'", 1 + (int)dice_below(dice, 4));
        counts->noslip++;
    }
    if (touching) begin_touching(&t);
    text(&t, " cone='%s'><flag contact='%s'", elliptic ? "elliptic" : "pyramidal", touching ? "enable" : "disable");
    for (size_t k = 0; k < sizeof flags / sizeof *flags; ++k)
        if (chance(&t, 5)) {
            text(&t, " %s='disable'", flags[k]);
            t.no_adhesion = t.no_adhesion || strcmp(flags[k], "actuation") == 0;
        }
    text(&t, "/></option><worldbody>");
    if (touching) {
        text(&t, "<geom type='plane' size='5 5 1' pos='0 0 -.4'");
        contact(&t);
        text(&t, "/>");
    }
    t.left = 1 + (int)dice_below(dice, BODIES);
    while (t.left > 0) body(&t, 0, 0);
    text(&t, "</worldbody>");
    if (paired) pairs(&t);
    if (touching) sensors(&t);
    int ntendon = tendons(&t);
    bool tied = equalities(&t, ntendon);
    int nactuator = (int)dice_below(dice, 5);
    text(&t, "<actuator>");
    for (int k = 0; k < nactuator; ++k) one_actuator(&t, k, ntendon);
    text(&t, "</actuator></mujoco>");
    counts->models++;
    counts->bodies += t.nbody;
    counts->free += t.any_free;
    counts->ball += t.any_ball;
    counts->slide += t.any_slide;
    counts->hinge += t.any_hinge;
    counts->springs += t.any_spring;
    counts->dampers += t.any_damper;
    counts->polynomials += t.any_poly;
    counts->gravcomp += t.any_gravcomp;
    counts->mocap += t.any_mocap;
    counts->tendons += ntendon > 0;
    counts->spatial += t.any_spatial;
    counts->actuators += nactuator > 0;
    counts->integrators[integrator]++;
    counts->limits += t.any_limit;
    counts->losses += t.any_loss;
    counts->equalities += tied;
    for (int k = 0; k < 7; ++k) counts->dims[k] += t.any_dim[k];
    counts->elliptic += elliptic;
    counts->pairs += paired;
    counts->margins += t.any_margin;
}

void tree_draw(uint64_t *dice, char *out, size_t size, bool touching, tree_counts *counts)
{
    draw(dice, out, size, touching, false, counts);
}

void tree_draw_graded(uint64_t *dice, char *out, size_t size, bool touching, tree_counts *counts)
{
    draw(dice, out, size, touching, true, counts);
}

bool tree_has_moments(const mjModel *m)
{
    bool tied = false;
    for (int i = 0; i < m->neq; ++i) tied = tied || m->eq_type[i] == mjEQ_TENDON;
    for (int t = 0; t < m->ntendon; ++t)
        if ((tied || m->tendon_frictionloss[t] > 0 || m->tendon_limited[t]) && m->tendon_invweight0[t] < 1e-6)
            return false;
    for (int i = 0; i < m->neq; ++i) {
        bool sites = m->eq_objtype[i] == mjOBJ_SITE;
        if (m->eq_type[i] != mjEQ_CONNECT && m->eq_type[i] != mjEQ_WELD) continue;
        int a = sites ? m->site_bodyid[m->eq_obj1id[i]] : m->eq_obj1id[i];
        int b = sites ? m->site_bodyid[m->eq_obj2id[i]] : m->eq_obj2id[i];
        if (m->body_invweight0[2 * a] + m->body_invweight0[2 * b] < 1e-6) return false;
    }
    return true;
}

void tree_print(const tree_counts *c)
{
    print_message(
        "%d random models (%d refused by MuJoCo's compiler) with %d bodies; with free joints %d, ball %d, "
        "slide %d, hinge %d, springs %d, dampers %d, polynomials %d, gravity compensation %d, tendons %d, spatial %d, "
        "actuators %d, mocap bodies %d, Euler %d, implicitfast %d, implicit %d, discrete %d, RK4 %d, limits %d, "
        "friction loss %d, equalities %d, fluids %d, ellipsoids in them %d, contacts of 1 dimension %d, 3 %d, 4 %d, "
        "6 %d, elliptic cones %d, pairs of their own %d, margins %d, noslip iterations %d, contact sensors %d, "
        "muscles %d, actuators on sites %d, adhesion %d, DC motors %d, PID controllers %d, orientation servos %d, "
        "delays and history %d\n",
        c->models, c->refused, c->bodies, c->free, c->ball, c->slide, c->hinge, c->springs, c->dampers, c->polynomials,
        c->gravcomp, c->tendons, c->spatial, c->actuators, c->mocap, c->integrators[0], c->integrators[1],
        c->integrators[2], c->integrators[3], c->integrators[4], c->limits, c->losses, c->equalities, c->fluids,
        c->ellipsoids, c->dims[1], c->dims[3], c->dims[4], c->dims[6], c->elliptic, c->pairs, c->margins, c->noslip,
        c->contact_sensors, c->muscles, c->site_actuators, c->adhesion, c->motors, c->controllers, c->orientations,
        c->pasts);
}
