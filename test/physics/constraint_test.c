/* Rows of constraints and the solver of native physics against MuJoCo: a small scene for each kind of constraint. */
#include "physics/oracle.h"

#include "bench/pilot/humanoid.h"
#include "physics/heap.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/tables.h"

#include <float.h>
#include <math.h>

#define OPTION "<option timestep='.004' tolerance='1e-12'><flag contact='disable'/></option>"
#define FAST "<option timestep='.004' tolerance='1e-12' integrator='implicitfast'><flag contact='disable'/></option>"
#define LATE "<option timestep='.02' tolerance='1e-12' integrator='discrete'><flag contact='disable'/></option>"
#define CHAIN(first, second)                                                                                           \
    "<worldbody><body name='a'><joint name='a' axis='0 1 0' " first "/><geom type='capsule' size='.05' "               \
    "fromto='0 0 0 .5 0 0'/><site name='sa' pos='.5 0 .1' quat='1 .2 .3 0'/><body name='b' pos='.5 0 0'>"              \
    "<joint name='b' axis='1 1 0' " second "/><geom type='capsule' size='.05' fromto='0 0 0 .4 .2 0'/>"                \
    "<site name='sb' pos='.4 .1 0' quat='1 0 .2 .1'/></body></body>"                                                   \
    "<body name='c' pos='1 0 0'><freejoint/><geom type='box' size='.1 .2 .1'/><site name='sc' pos='.1 0 0'/></body>"   \
    "</worldbody>"
#define TENDON(more)                                                                                                   \
    "<tendon><fixed name='t' " more "><joint joint='a' coef='1'/><joint joint='b' coef='-.6'/></fixed><fixed "         \
    "name='u'><joint joint='b' coef='1.3'/></fixed></tendon>"

static const struct {
    const char *name, *text;
} scenes[] = {
    {"limits", "<mujoco>" OPTION CHAIN("range='-20 30'", "range='-10 10' margin='.1' solreflimit='-300 -8' "
                                                         "solimplimit='.5 .8 .1 .3 3'") "</mujoco>"},
    {"limits of balls", "<mujoco>" FAST "<worldbody><body><joint type='ball' range='0 40'/><geom type='box' size='.1 "
                        ".2 .3' pos='.1 0 0'/><body pos='.5 0 0'><joint type='ball' range='0 60' margin='.2'/><geom "
                        "type='box' size='.1 .2 .1'/></body></body><body><joint type='slide' range='-.1 .1' "
                        "solimplimit='.9 .9 .01 .5 1'/><geom size='.1'/></body></worldbody></mujoco>"},
    {"limits of tendons",
     "<mujoco>" OPTION CHAIN("", "") TENDON("range='-.2 .3' limited='true' margin='.01'") "</mujoco>"},
    {"friction loss", "<mujoco>" FAST CHAIN("frictionloss='.7'", "frictionloss='.2' damping='.1'")
                          TENDON("frictionloss='.4' solimpfriction='.8 .9 .01 .5 2'") "</mujoco>"},
    {"connect", "<mujoco>" OPTION CHAIN(
                    "", "") "<equality><connect body1='b' body2='c' anchor='.4 .2 0'/><connect "
                            "body1='a' anchor='.1 .2 .3'/><connect site1='sa' site2='sc'/></equality></mujoco>"},
    {"connect in a tree", "<mujoco>" OPTION CHAIN("", "") "<equality><connect body1='a' body2='b' anchor='.4 .2 0'/>"
                                                          "<connect site1='sa' site2='sb'/></equality></mujoco>"},
    {"weld",
     "<mujoco>" FAST CHAIN(
         "",
         "") "<equality><weld body1='b' body2='c' torquescale='.5' anchor='.1 0 .2'/><weld "
             "body1='c' relpose='1 0 0 1 .2 .1 0' solref='.05 .7'/><weld site1='sb' site2='sc'/></equality></mujoco>"},
    {"weld in a tree", "<mujoco>" OPTION CHAIN("", "") "<equality><weld body1='a' body2='b'/></equality></mujoco>"},
    {"joint equality",
     "<mujoco>" OPTION CHAIN("", "") "<equality><joint joint1='a' joint2='b' polycoef='.1 .5 .2 -.1 "
                                     ".05'/><joint joint1='b' polycoef='.3 0 0 0 0'/></equality></mujoco>"},
    {"tendon equality",
     "<mujoco>" OPTION CHAIN("", "")
         TENDON("") "<equality><tendon tendon1='t' tendon2='u' "
                    "polycoef='.1 .5 .2 -.1 .05'/><tendon tendon1='u' active='false'/></equality></mujoco>"},
    {"spatial tendons",
     "<mujoco>" OPTION CHAIN("", "") "<tendon><spatial name='t' range='.2 .8' limited='true' frictionloss='.3'><site "
                                     "site='sa'/><site site='sb'/><site site='sc'/></spatial><spatial name='u'><site "
                                     "site='sa'/><site site='sc'/></spatial></tendon><equality><tendon tendon1='t' "
                                     "tendon2='u' polycoef='.1 .5 .2 -.1 .05'/></equality></mujoco>"},
    {"all", "<mujoco>" OPTION CHAIN("range='-20 30' frictionloss='.5'", "range='-10 10' frictionloss='.1'") TENDON(
                "range='-.2 .3' limited='true' frictionloss='.2'") "<equality><connect body1='b' body2='c' "
                                                                   "anchor='.4 .2 0'/><weld body1='c'/><joint "
                                                                   "joint1='a' joint2='b'/></equality></mujoco>"},
    {"noslip", "<mujoco><option tolerance='1e-12' noslip_iterations='5' noslip_tolerance='0'><flag contact='disable'/>"
               "</option>" CHAIN("range='-20 30' frictionloss='.7'", "frictionloss='.2'")
                   TENDON("frictionloss='.4' limited='true' range='-.2 .3'") "<equality><connect body1='b' body2='c' "
                                                                             "anchor='.4 .2 0'/></equality></mujoco>"},
    {"discrete, limits", "<mujoco>" LATE CHAIN("range='-20 30' damping='3' stiffness='200'",
                                               "range='-10 10' margin='.1' solreflimit='-300 -8' "
                                               "solimplimit='.5 .8 .1 .3 3'") "</mujoco>"},
    {"discrete, hard limits",
     "<mujoco>" LATE CHAIN("range='-20 30' damping='3' solreflimit='.002 3' solimplimit='.9 .9995 .01'",
                           "range='-10 10' margin='.1' solreflimit='.01 .5' "
                           "solimplimit='.5 .8 .1 .3 3'") "</mujoco>"},
    {"discrete, hard limits as they are",
     "<mujoco><option timestep='.02' tolerance='1e-12' integrator='discrete'><flag contact='disable' "
     "refsafe='disable'/></option>" CHAIN("range='-20 30' damping='3' solreflimit='.002 3' solimplimit='.9 .9995 .01'",
                                          "range='-10 10' margin='.1' solreflimit='.01 .5'") "</mujoco>"},
    {"discrete, friction loss",
     "<mujoco>" LATE CHAIN("frictionloss='.7' stiffness='30'", "frictionloss='.2' damping='.1'")
         TENDON("frictionloss='.4' solimpfriction='.8 .9 .01 .5 2' damping='2'") "</mujoco>"},
    {"discrete, welds",
     "<mujoco>" LATE CHAIN(
         "damping='2'",
         "stiffness='80'") "<equality><weld body1='b' body2='c' torquescale='.5' anchor='.1 0 .2'/><weld "
                           "body1='c' relpose='1 0 0 1 .2 .1 0' solref='.005 .7'/><connect body1='b' body2='c' "
                           "anchor='.4 .2 0'/><joint joint1='a' joint2='b' polycoef='.1 .5 .2 -.1 "
                           ".05'/></equality></mujoco>"},
    {"no warm start", "<mujoco><option tolerance='1e-12'><flag contact='disable' warmstart='disable' "
                      "refsafe='disable'/></option>" CHAIN("range='-20 30' frictionloss='.5' solreflimit='.001 1'",
                                                           "range='-10 10'") "</mujoco>"},
    {"flags off",
     "<mujoco><option><flag contact='disable' limit='disable' frictionloss='disable' "
     "equality='disable'/></option>" CHAIN("range='-20 30' frictionloss='.5'",
                                           "range='-10 10'") "<equality><weld body1='c'/></equality></mujoco>"},
};

#define ASSETS                                                                                                         \
    "<asset><mesh name='wedge' vertex='-.2 -.1 -.1 .2 -.1 -.1 -.2 .15 -.1 .2 .15 -.1 -.1 0 .15 .1 0 .15'/></asset>"
#define GROUND(options, geoms)                                                                                         \
    "<mujoco><option timestep='.002' tolerance='1e-12' ls_iterations='100' " options "/>" ASSETS "<worldbody><geom "   \
    "type='plane' size='9 9 1' friction='.8 .02 .01'/>" geoms "</worldbody></mujoco>"
#define PILE(more)                                                                                                     \
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.2 .3 .12' " more "/></body><body pos='.3 0 .25'>"          \
    "<freejoint/><geom type='capsule' size='.1 .2' " more "/></body><body pos='-.2 0 .3'><freejoint/><geom "           \
    "size='.2' " more "/><body pos='.2 .1 .1'><joint axis='0 1 0' range='-30 30'/><geom type='capsule' size='.1 .1' "  \
    "pos='.1 .1 0' " more "/></body></body><body pos='.1 .1 .5'><freejoint/><geom type='capsule' size='.1 .3' " more   \
    "/></body><body pos='0 -.4 .1'><joint type='slide' axis='0 0 1'/><geom type='capsule' size='.15 .3'/></body>"
/* A body of two geoms, after a world of two: MuJoCo's order of contacts is not that of the pairs of geoms. */
#define STEP                                                                                                           \
    "<geom size='.3' pos='.2 0 -.1'/><body pos='.5 .3 .2'><freejoint/><geom size='.2'/><geom type='capsule' "          \
    "size='.1 .2' pos='-.2 -.1 0' quat='1 0 1 0'/></body>"
#define ADHESION(options, more)                                                                                        \
    "<mujoco><option timestep='.002' tolerance='1e-12' ls_iterations='100' " options "/><worldbody><geom "             \
    "type='plane' size='9 9 1'/><body name='a' pos='0 0 .09'><freejoint/><geom type='box' size='.2 .3 .1' " more       \
    "/><body name='b' pos='.3 0 0'><joint axis='0 1 0'/><geom size='.12'/></body></body><body name='c' pos='0 0 "      \
    ".25'><freejoint/><geom type='capsule' size='.1 .2' " more "/></body><body name='d' pos='2 0 .2'><freejoint/>"     \
    "<geom size='.21'/><geom size='.1' pos='.2 0 -.12'/></body></worldbody><actuator><adhesion body='a' "              \
    "ctrlrange='0 1' gain='30'/><adhesion body='b' ctrlrange='0 3' gain='9'/><adhesion body='c' ctrlrange='0 2' "      \
    "gain='20' forcerange='0 15'/><adhesion body='d' ctrlrange='0 2' gain='5'/></actuator></mujoco>"
#define STICKY(options, more)                                                                                          \
    "<mujoco><option timestep='.002' tolerance='1e-12' ls_iterations='100' " options "/><worldbody><geom "             \
    "type='plane' size='9 9 1' adhesion='3'/><body pos='0 0 .11'><freejoint/><geom type='box' size='.2 .3 .1' "        \
    "adhesion='2' " more "/><body pos='.3 0 0'><joint axis='0 1 0'/><geom size='.12'/></body></body><body pos='0 0 "   \
    ".27'><freejoint/><geom type='capsule' size='.1 .2' adhesion='5' " more "/></body><body pos='2 0 "                 \
    ".2'><freejoint/><geom size='.21' adhesion='9' priority='1'/><geom size='.1' pos='.2 0 -.12'/></body></worldbody>" \
    "</mujoco>"
#define BELTS(options)                                                                                                 \
    "<mujoco><option timestep='.002' tolerance='1e-12' ls_iterations='100' " options "/><worldbody><geom "             \
    "type='plane' size='9 9 1' surfacevel='1 .5 .2 0 0 1'/><geom type='box' size='1 1 .1' pos='1 0 .1' condim='4' "    \
    "surfacevel='0 0 0 .1 .2 3'/><body pos='0 0 .1'><freejoint/><geom type='box' size='.3 .3 .12' surfacevel='0 1 0 "  \
    "0 0 0' euler='10 20 30'/></body><body pos='0 .1 .3'><freejoint/><geom size='.11' condim='6' friction='.5 .03 "    \
    ".02'/></body><body pos='1 0 .3'><freejoint/><geom type='capsule' size='.11 .2'/></body></worldbody></mujoco>"
#define OVERRIDE(options, geoms)                                                                                       \
    "<mujoco><option timestep='.002' tolerance='1e-12' ls_iterations='100' o_margin='.03' o_solref='.05 .8' "          \
    "o_solimp='.8 .9 .01 .4 3' o_friction='.6 .5 .03 .02 .01' " options                                                \
    "><flag override='enable'/></option><worldbody>"                                                                   \
    "<geom name='floor' type='plane' size='9 9 1'/><body><freejoint/><geom name='ball' size='.2'/></body>" geoms       \
    "</worldbody><contact><pair geom1='floor' geom2='ball' condim='4' friction='.1 .2 .3 .4 .5' "                      \
    "solreffriction='.1 .9' margin='.1'/></contact></mujoco>"
#define NOSLIP "noslip_iterations='4' noslip_tolerance='0' "
#define BOXES                                                                                                          \
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.3 .3 .12'/></body><body pos='.1 0 .32'><freejoint/><geom " \
    "type='box' size='.2 .2 .1'/></body><body pos='-.1 .1 .5'><freejoint/><geom type='box' size='.2 .1 .1'/></body>"   \
    "<body pos='0 .3 .3'><freejoint/><geom type='box' size='.1 .1 .3'/></body>"                                        \
    "<body pos='0 -.5 .1'><joint type='slide' axis='0 1 1'/><geom type='box' size='.15 .1 .1'/></body>"

static const struct {
    const char *name, *text;
    double size; /* of the random change of qpos */
} contacts[] = {
    {"condim 1", GROUND("", PILE("condim='1' priority='1'")), .15},
    {"condim 3", GROUND("", PILE("")), .15},
    {"condim 4", GROUND("impratio='3'", PILE("condim='4' friction='.5 .03 .002'")), .15},
    {"condim 6", GROUND("", PILE("condim='6' friction='.5 .03 .02' solref='-900 -30' margin='.03' gap='.01'")), .15},
    {"elliptic 3", GROUND("cone='elliptic'", PILE("")), .15},
    {"elliptic 4", GROUND("cone='elliptic' impratio='5'", PILE("condim='4' friction='.5 .03 .002'")), .15},
    {"elliptic 6", GROUND("cone='elliptic'", PILE("condim='6' friction='.5 .03 .02' priority='1' solmix='2'")), .15},
    {"cylinders",
     GROUND("integrator='implicitfast'",
            "<body pos='0 0 .1'><freejoint/><geom type='cylinder' size='.2 "
            ".1'/></body><body pos='0 .2 .2'><freejoint/><geom type='sphere' size='.15'/></body>"),
     .1},
    {"RK4", GROUND("integrator='RK4'", PILE("")), .15},
    {"boxes", GROUND("", BOXES), .1},
    {"moving surfaces", BELTS(""), .1},
    {"moving surfaces, elliptic", BELTS("cone='elliptic' integrator='implicitfast'"), .1},
    {"moving surfaces, discrete", BELTS("integrator='discrete'"), .1},
    {"override", OVERRIDE("", PILE("condim='4' margin='.1' solref='-900 -30'")), .15},
    {"override of pairs", OVERRIDE("cone='elliptic'", STEP PILE("condim='6' friction='.5 .03 .02'")), .15},
    {"discrete", GROUND("integrator='discrete'", PILE("")), .15},
    {"discrete, condim 1",
     GROUND("integrator='discrete'", PILE("condim='1' priority='1' solref='.003 .5' solimp='.2 .9 .1'")), .15},
    {"discrete, elliptic",
     GROUND("integrator='discrete' cone='elliptic' density='20'",
            PILE("condim='4' friction='.5 .03 .002' solref='.003 1' priority='1'")),
     .15},
    {"discrete, humanoid", HUMANOID(".2", "tolerance='1e-12' integrator='discrete'"), .3},
    {"meshes on a plane",
     GROUND("",
            "<body pos='0 0 .08'><freejoint/><geom type='mesh' mesh='wedge'/></body><body pos='1 0 .08'><freejoint/>"
            "<geom type='mesh' mesh='wedge'/></body><body pos='0 2 .12'><freejoint/><geom type='mesh' mesh='wedge' "
            "condim='6'/></body>"),
     .1},
    {"heap of trees", GROUND("", HEAP_OF_TREES), .01},
    {"boxes, elliptic", GROUND("cone='elliptic' integrator='implicitfast'", BOXES), .1},
    {"noslip 1", GROUND(NOSLIP, PILE("condim='1' priority='1'")), .15},
    {"noslip 3", GROUND(NOSLIP, STEP PILE("")), .15},
    {"noslip 4", GROUND(NOSLIP "impratio='3'", PILE("condim='4' friction='.5 .03 .002'")), .15},
    {"noslip 6", GROUND("noslip_iterations='9'", STEP PILE("condim='6' friction='.5 .03 .02'")), .15},
    {"noslip, elliptic 3", GROUND(NOSLIP "cone='elliptic'", STEP PILE("")), .15},
    {"noslip, elliptic 4", GROUND(NOSLIP "cone='elliptic'", PILE("condim='4' friction='.5 .03 .002'")), .15},
    {"noslip, elliptic 6", GROUND(NOSLIP "cone='elliptic'", STEP PILE("condim='6' friction='.5 .03 .02'")), .15},
    {"noslip, RK4", GROUND(NOSLIP "integrator='RK4'", PILE("")), .15},
    {"humanoid that does not slip", HUMANOID(".2", NOSLIP "tolerance='1e-12'"), .3},
    {"adhesion", ADHESION("", ""), .05},
    {"adhesion within a gap", ADHESION("", "gap='.15'"), .05},
    {"adhesion within a gap, noslip", ADHESION("noslip_iterations='3'", "gap='.1' margin='.01' condim='4'"), .05},
    {"geoms that adhere", STICKY("", ""), .05},
    {"geoms that adhere, elliptic", STICKY("cone='elliptic' integrator='implicitfast'", "condim='4'"), .05},
    {"geoms that adhere within a gap", STICKY("", "gap='.2'"), .1},
    {"geoms that adhere within a gap, elliptic", STICKY("cone='elliptic'", "gap='.2' condim='4' margin='.01'"), .1},
    {"geoms that adhere, RK4", STICKY("integrator='RK4' impratio='3'", "condim='6' friction='.5 .03 .02'"), .05},
    {"geoms that adhere, without friction", STICKY("", "condim='1'"), .05},
    {"adhesion, elliptic", ADHESION("cone='elliptic' integrator='implicitfast'", "condim='4'"), .05},
    {"humanoid that lies", HUMANOID(".2", "tolerance='1e-12'"), .3},
    {"humanoid that lies, elliptic", HUMANOID(".2", "tolerance='1e-12' cone='elliptic'"), .3},
};

/* What the rows of one world are compared by. */
typedef struct rows {
    const mjModel *m;
    const mjData *d;
    stet_array *pos, *D, *aref, *force, *J, *block;
    int world;
    oracle_errors *errors;
} rows;

static void note(oracle_errors *errors, const char *name, double x, double exact, double scale)
{
    oracle_errors one = {.name = {name}, .worst = {fabs(x - exact) / fmax(scale, fabs(exact))}, .n = 1};
    if (!(one.worst[0] == one.worst[0])) one.worst[0] = HUGE_VAL;
    oracle_merge(errors, &one);
}

static double exact_J(const mjModel *m, const mjData *d, int row, int dof)
{
    if (!mj_isSparse(m)) return d->efc_J[(ptrdiff_t)row * m->nv + dof];
    for (int e = d->efc_J_rowadr[row]; e < d->efc_J_rowadr[row] + d->efc_J_rownnz[row]; ++e)
        if (d->efc_J_colind[e] == dof) return d->efc_J[e];
    return 0;
}

/* Row `base`, or row 0 plus `mu` times it, of a block against one of MuJoCo's rows. */
static void compare_row(const rows *r, const int *m, const int *block, int at, int J, int base, double mu, int efc,
                        double pull, double largest)
{
    const mjData *d = r->d;
    int n = block[B_NDOF], edge = mu != 0, w = r->world;
    double aref = reals_get(r->aref, w, at + base), D = reals_get(r->D, w, edge ? at : at + base);
    if (edge) aref = reals_get(r->aref, w, at) + mu * aref;
    note(r->errors, "efc_pos", reals_get(r->pos, w, edge ? at : at + base), d->efc_pos[efc], 1e-2);
    note(r->errors, "efc_D", D, d->efc_D[efc], 1e-9);
    note(r->errors, "efc_aref", aref, d->efc_aref[efc], 1);
    if (!edge) note(r->errors, "efc_force", reals_get(r->force, w, at + base) + pull, d->efc_force[efc], largest);
    for (int dof = 0; dof < r->m->nv; ++dof) {
        double x = 0;
        for (int k = 0; k < n; ++k)
            if (block[block[B_DOFS] + 2 * k] == dof)
                x = edge ? reals_get(r->J, w, J + k) + mu * reals_get(r->J, w, J + base * n + k)
                         : reals_get(r->J, w, J + base * n + k);
        note(r->errors, "efc_J", x, exact_J(r->m, d, efc, dof), 1e-1);
    }
}

/* Entry `dof` of row 0 of a block, whose Jacobian is at J. */
static double block_J(const rows *r, const int *m, const int *block, int J, int dof)
{
    for (int k = 0; k < block[B_NDOF]; ++k)
        if (block[block[B_DOFS] + 2 * k] == dof) return reals_get(r->J, r->world, J + k);
    return 0;
}

/* How far a slot is from a contact of MuJoCo: distances, and Jacobians along the normal (two edges' mean). */
static double contact_gap(const rows *r, const int *m, const int *block, int row, int J, const mjContact *con)
{
    int efc = con->efc_address, other = block[B_KIND] == PH_PYRAMID && con->dim > 1 ? efc + 1 : efc;
    double gap = fabs(con->dist - reals_get(r->pos, r->world, row));
    for (int dof = 0; dof < r->m->nv; ++dof)
        gap +=
            fabs(block_J(r, m, block, J, dof) - (exact_J(r->m, r->d, efc, dof) + exact_J(r->m, r->d, other, dof)) / 2);
    return gap;
}

/* The contact of MuJoCo between the geoms of a block that is nearest to a slot, of those not claimed. */
static const mjContact *claim_contact(const rows *r, const int *m, const int *block, int row, int J, bool *claimed)
{
    int best = -1;
    double least = HUGE_VAL;
    for (int c = 0; c < r->d->ncon; ++c) {
        const mjContact *con = r->d->contact + c;
        int a = block[B_OBJ1], b = block[B_OBJ2];
        bool same = (con->geom[0] == a && con->geom[1] == b) || (con->geom[0] == b && con->geom[1] == a);
        if (!same || claimed[c] || con->efc_address < 0) continue;
        double gap = contact_gap(r, m, block, row, J, con);
        if (gap < least) least = gap, best = c;
    }
    if (best < 0) fail_msg("a contact of geoms %d and %d is not MuJoCo's", block[B_OBJ1], block[B_OBJ2]);
    assert_true(best >= 0);
    claimed[best] = true;
    return &r->d->contact[best];
}

/* Geoms that adhere above the margin: MuJoCo has a contact without friction, a slot rows that no dof moves. */
static void compare_tether(const rows *r, const int *m, const int *block, int at, int J, int efc, double pull,
                           double largest)
{
    int n = block[B_NDOF], dim = block[B_DIM], w = r->world;
    double edges = block[B_KIND] == PH_PYRAMID ? 2 * (dim - 1) : 1;
    note(r->errors, "efc_D", edges * reals_get(r->D, w, at), r->d->efc_D[efc], 1e-9);
    note(r->errors, "efc_aref", reals_get(r->aref, w, at), r->d->efc_aref[efc], 1);
    note(r->errors, "efc_force", reals_get(r->force, w, at) + pull, r->d->efc_force[efc], largest);
    for (int dof = 0; dof < r->m->nv; ++dof)
        note(r->errors, "efc_J", block_J(r, m, block, J, dof), exact_J(r->m, r->d, efc, dof), 1e-1);
    for (int i = n; i < dim * n; ++i) assert_true(reals_get(r->J, w, J + i) == 0);
}

/* The rows of one world, slot by slot; a slot that does not hold has no mass. Contacts have an order of their own. */
static void compare_rows(const rows *r, const int *m, const double *f)
{
    enum { CONTACTS = 500 };
    bool claimed[CONTACTS] = {false};
    int row = 0, J = 0, efc = 0;
    double largest = 1;
    assert_true(r->d->ncon <= CONTACTS);
    for (int i = 0; i < r->d->nefc; ++i) largest = fmax(largest, fabs(r->d->efc_force[i]));
    for (int k = 0; k < m[M_NSLOT]; ++k) {
        int number = (int)reals_get(r->block, r->world, k), contact = number >= m[M_NBLOCK];
        if (number < 0) break;
        const int *block = contact ? m + m[M_PAIR] + B_SIZE * ((number - m[M_NBLOCK]) / PH_MOST_CONTACTS)
                                   : m + m[M_BLOCK] + B_SIZE * number;
        const double *mu = f + m[M_BLOCK_PRM] + block[B_PRM] + P_FRICTION;
        int dim = block[B_DIM], pyramid = block[B_KIND] == PH_PYRAMID;
        bool holds = reals_get(r->D, r->world, row) != 0;
        const mjContact *con = contact && holds ? claim_contact(r, m, block, row, J, claimed) : NULL;
        int at = con ? con->efc_address : efc;
        double pull = contact ? f[m[M_BLOCK_PRM] + block[B_PRM] + P_ADHESION] : 0;
        if (con && con->dim < dim) {
            compare_tether(r, m, block, row, J, at, pull, largest);
            efc += 1;
            row += dim;
            J += dim * block[B_NDOF];
            continue;
        }
        for (int i = 0; holds && !pyramid && i < dim; ++i)
            compare_row(r, m, block, row, J, i, 0, at + i, i == 0 ? pull : 0, largest);
        for (int i = 0; holds && pyramid && i < 2 * (dim - 1); ++i)
            compare_row(r, m, block, row, J, 1 + i / 2, i % 2 ? -mu[i / 2] : mu[i / 2], at + i, 0, largest);
        for (int i = 0; !holds && i < dim * block[B_NDOF]; ++i) assert_true(reals_get(r->J, r->world, J + i) == 0);
        if (holds) efc += pyramid ? 2 * (dim - 1) : dim;
        row += dim;
        J += dim * block[B_NDOF];
    }
    assert_int_equal(efc, r->d->nefc);
}

static int compare_worlds(rig *r, mjData **data, oracle_errors *errors)
{
    const mjModel *m = r->model->mj;
    sti_physics_tables tables;
    sti_native *native;
    rows all = {.m = m, .errors = errors};
    int nrow = 0;
    OK(sti_physics_tables_make(m, &tables));
    OK(sti_native_create(r->worlds, &native));
    OK(sti_native_quantity(native, "efc_pos", &all.pos));
    OK(sti_native_quantity(native, "efc_D", &all.D));
    OK(sti_native_quantity(native, "efc_aref", &all.aref));
    OK(sti_native_quantity(native, "efc_force", &all.force));
    OK(sti_native_quantity(native, "efc_J", &all.J));
    OK(sti_native_quantity(native, "efc_block", &all.block));
    for (int w = 0; w < ORACLE_WORLDS; ++w) {
        oracle_forward(m, data[w]);
        all.d = data[w];
        all.world = w;
        compare_rows(&all, tables.m, tables.f);
        nrow += data[w]->nefc;
    }
    stet_array *arrays[] = {all.pos, all.D, all.aref, all.force, all.J, all.block};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) stet_array_destroy(arrays[k]);
    sti_native_destroy(native);
    sti_physics_tables_free(&tables);
    return nrow;
}

static void each_constraint_is_mujocos(void **state)
{
    uint64_t dice = dice_seed("each_constraint_is_mujocos");
    oracle_errors all = {.n = 0};
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) {
        int nrow = 0;
        for (int round = 0; round < 3; ++round) {
            rig r = rig_make(scenes[k].text, ORACLE_WORLDS, "f64", 1, false);
            mjData *data[ORACLE_WORLDS];
            oracle_errors one = {.n = 0};
            for (int w = 0; w < ORACLE_WORLDS; ++w) assert_non_null(data[w] = mj_makeData(r.model->mj));
            oracle_states(&r, data, &dice);
            nrow += compare_worlds(&r, data, &one);
            for (int w = 0; w < ORACLE_WORLDS; ++w) mju_zero(data[w]->qacc_warmstart, (int)r.model->mj->nv);
            oracle_compare(&r, data, 1, &one);
            oracle_print(&one, scenes[k].name);
            oracle_merge(&all, &one);
            for (int w = 0; w < ORACLE_WORLDS; ++w) mj_deleteData(data[w]);
            rig_free(&r);
        }
        if (strcmp(scenes[k].name, "flags off") != 0) assert_true(nrow > 0);
    }
    oracle_print(&all, "double");
    oracle_limit(&all, 1e-9, 1e-9, "all");
}

/*
 * How far MuJoCo's noslip iterations may stop short, as a part of the greatest acceleration. They take a change of a
 * pyramid's two edges back if its cost seems to rise by more than 1e-10. That cost adds products of each edge's change
 * and residual, and the two changes cancel but for 3 roundings of the forces' sum; at 1e4 N that is more than 1e-10. A
 * change that is taken back was worth less than this rounding, and moves qacc by at most the root of twice its worth
 * in the norm of M.
 */
static double least_step_taken_back(const mjModel *m, mjData *d)
{
    enum { ROWS = 1000, DOFS = 100 };
    double residual[ROWS], column[DOFS], moves = 0, mobility = 0, size = ORACLE_FLOOR;
    assert_true(d->nefc <= ROWS && m->nv <= DOFS);
    mj_mulJacVec(m, d, residual, d->qacc);
    for (int i = 0; i + 1 < d->nefc; ++i) {
        if (d->efc_type[i] != mjCNSTR_CONTACT_PYRAMIDAL) continue;
        double force = d->efc_force[i] + d->efc_force[i + 1];
        double slip = fmax(fabs(residual[i] - d->efc_aref[i]), fabs(residual[i + 1] - d->efc_aref[i + 1]));
        double rounding = 1.5 * DBL_EPSILON * force * slip;
        if (rounding > 1e-10) moves += sqrt(2 * rounding);
        ++i;
    }
    for (int i = 0; i < m->nv; ++i) {
        mju_zero(column, (int)m->nv);
        column[i] = 1;
        mj_solveM(m, d, column, column, 1);
        mobility = fmax(mobility, column[i]);
        size = fmax(size, fabs(d->qacc[i]));
    }
    return moves * sqrt(mobility) / size;
}

static void each_contact_is_mujocos(void **state)
{
    uint64_t dice = dice_seed("each_contact_is_mujocos");
    oracle_errors all = {.n = 0};
    for (size_t k = 0; k < sizeof contacts / sizeof *contacts; ++k)
        for (int round = 0; round < 3; ++round) {
            rig r = rig_make(contacts[k].text, ORACLE_WORLDS, "f64", 1, false);
            mjData *data[ORACLE_WORLDS];
            oracle_errors one = {.n = 0};
            for (int w = 0; w < ORACLE_WORLDS; ++w) assert_non_null(data[w] = mj_makeData(r.model->mj));
            bool slips = r.model->mj->opt.noslip_iterations == 0;
            double back = 0;
            oracle_near_states(&r, data, contacts[k].size, &dice);
            assert_true(compare_worlds(&r, data, &one) > 20);
            for (int w = 0; w < ORACLE_WORLDS && !slips; ++w)
                back = fmax(back, least_step_taken_back(r.model->mj, data[w]));
            for (int w = 0; w < ORACLE_WORLDS; ++w) mju_zero(data[w]->qacc_warmstart, (int)r.model->mj->nv);
            oracle_compare(&r, data, 1, &one);
            oracle_print(&one, contacts[k].name);
            if (!slips) print_message("  noslip iterations may end %.1e early\n", back);
            if (strncmp(contacts[k].name, "noslip", 6) == 0) /* multipliers of cones, and iterations, end at 1e-10 */
                oracle_limit(&one, 1e-4, 1e-4, contacts[k].name);
            else if (!slips)
                oracle_limit(&one, 1e-9, 1e-9 + back, contacts[k].name);
            else
                oracle_merge(&all, &one);
            for (int w = 0; w < ORACLE_WORLDS; ++w) mj_deleteData(data[w]);
            rig_free(&r);
        }
    oracle_print(&all, "double");
    oracle_limit(&all, 1e-9, 1e-9, "all");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_constraint_is_mujocos),
        cmocka_unit_test(each_contact_is_mujocos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
