/*
 * Contacts that are searched for by iterations, or in height fields: native physics against MuJoCo, by pairs of geoms.
 *
 * MuJoCo's iterations are others: where both geoms have corners and edges both end exactly; round ones end within
 * MuJoCo's tolerance of the distance, whose square root is what directions and places differ by. Where a pair has two
 * ways out that are equally deep, or flat faces near the limit of five degrees, contacts may be others: so most worlds
 * agree, and in those that do, so do accelerations.
 */
#include "base/part.h"
#include "physics/oracle.h"

#include <math.h>

#define ASSETS                                                                                                         \
    "<asset><mesh name='wedge' vertex='-.2 -.1 -.1 .2 -.1 -.1 -.2 .15 -.1 .2 .15 -.1 -.1 0 .15 .1 0 .15'/><hfield "    \
    "name='hills' nrow='7' ncol='9' size='1 1 .3 .1' elevation='0 .2 .1 .3 0 .4 .3 .1 .5 .2 .1 0 .2 .4 .1 0 .6 .3 0 "  \
    ".1 .2 .5 .3 .1 .4 .2 0 .3 .1 0 .1 .5 .2 .3 .1 0 0 .1 .2 .4 .3 .1 .2 .6 .1 0 .3 .2 .1 .4 .5 .3 .2 0 .1 .4 .3 .2 "  \
    ".1 0 .2 .1 .3'/></asset>"
#define SPHERE "type='sphere' size='.15'"
#define CAPSULE "type='capsule' size='.1 .15'"
#define ELLIPSOID "type='ellipsoid' size='.2 .15 .1'"
#define CYLINDER "type='cylinder' size='.12 .15'"
#define BOX "type='box' size='.15 .1 .12'"
#define MESH "type='mesh' mesh='wedge'"

#define SCENE(first, second)                                                                                           \
    "<mujoco><option tolerance='1e-12' ls_iterations='100' ccd_tolerance='1e-12' ccd_iterations='200'/>" ASSETS        \
    "<worldbody>" first "<body pos='.1 0 .15'><freejoint/><geom " second "/></body></worldbody></mujoco>"
#define TWO(first, second) SCENE("<body><freejoint/><geom " first "/></body>", second)
#define FIELD(second) SCENE("<geom type='hfield' hfield='hills'/>", second)

typedef struct pair {
    const char *name, *scene;
    double place; /* by how much places and directions may differ (m) */
    double share; /* of worlds in contact that agree */
    bool deeper;  /* MuJoCo's search ends too early: contacts are at least as deep as its */
} pair;

#define EXACT 1e-6
#define ROUND 3e-3

static const pair pairs[] = {
    {"sphere, ellipsoid", TWO(SPHERE, ELLIPSOID), ROUND, .85, false},
    {"sphere, mesh", TWO(SPHERE, MESH), EXACT, .95, false},
    {"capsule, ellipsoid", TWO(CAPSULE, ELLIPSOID), ROUND, .8, false},
    {"capsule, cylinder", TWO(CAPSULE, CYLINDER), ROUND, .85, false},
    {"capsule, mesh", TWO(CAPSULE, MESH), EXACT, .75, false},
    {"ellipsoid, ellipsoid", TWO(ELLIPSOID, ELLIPSOID), ROUND, .65, false},
    {"ellipsoid, cylinder", TWO(ELLIPSOID, CYLINDER), ROUND, .8, false},
    {"ellipsoid, box", TWO(ELLIPSOID, BOX), ROUND, .85, false},
    {"ellipsoid, mesh", TWO(ELLIPSOID, MESH), ROUND, .85, false},
    {"cylinder, cylinder", TWO(CYLINDER, CYLINDER), ROUND, .8, false},
    {"cylinder, box", TWO(CYLINDER, BOX), ROUND, .75, false},
    {"cylinder, mesh", TWO(CYLINDER, MESH), ROUND, .8, false},
    {"box, mesh", TWO(BOX, MESH), EXACT, .75, false},
    {"mesh, mesh", TWO(MESH, MESH), EXACT, .85, false},
    {"height field, sphere", FIELD(SPHERE), EXACT, .97, false},
    {"height field, capsule", FIELD(CAPSULE), EXACT, .97, false},
    {"height field, ellipsoid", FIELD(ELLIPSOID), ROUND, .8, false},
    {"height field, cylinder", FIELD(CYLINDER), ROUND, .85, false},
    {"height field, box", FIELD(BOX), EXACT, .97, true},
    {"height field, mesh", FIELD(MESH), EXACT, .97, true},
};

/* What native physics finds. */
typedef struct found {
    stet_array *ncon, *dist, *pos, *frame, *qacc;
} found;

static found find_contacts(const rig *r)
{
    found f = {rig_array(r, "ncon"), rig_array(r, "contact_dist"), rig_array(r, "contact_pos"),
               rig_array(r, "contact_frame"), rig_array(r, "qacc")};
    stet_array *all[] = {f.ncon, f.dist, f.pos, f.frame, f.qacc};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) OK(sti_array_ensure(all[k]));
    return f;
}

/* In units of what is allowed. */
static double contact_difference(const found *f, int w, int slot, const mjContact *exact, double place)
{
    double most = fabs(reals_get(f->dist, w, slot) - exact->dist) / fmin(place, 1e-4);
    for (int k = 0; k < 3; ++k) {
        most = fmax(most, fabs(reals_get(f->pos, w, 3 * slot + k) - exact->pos[k]) / place);
        most = fmax(most, fabs(reals_get(f->frame, w, 9 * slot + k) - exact->frame[k]) / place);
    }
    return most;
}

/* Is each of n contacts of a world one of MuJoCo's, which has as many? */
static bool contacts_agree(const pair *p, const found *f, const mjData *d, int w, int n)
{
    bool claimed[mjMAXCONPAIR] = {false};
    double least = HUGE_VAL, exact = HUGE_VAL;
    for (int slot = 0; slot < n; ++slot) {
        int i = 0;
        least = fmin(least, reals_get(f->dist, w, slot));
        while (i < d->ncon && (claimed[i] || contact_difference(f, w, slot, d->contact + i, p->place) > 1)) ++i;
        if (i < d->ncon) claimed[i] = true;
        if (i == d->ncon && !p->deeper) return false;
    }
    for (int i = 0; i < d->ncon; ++i) exact = fmin(exact, d->contact[i].dist);
    return n == d->ncon && least <= exact + p->place;
}

static double acceleration_difference(const stet_array *qacc, const mjData *d, int w)
{
    double most = 0, scale = 1;
    for (int64_t i = 0; i < qacc->nitem; ++i) {
        scale = fmax(scale, fabs(d->qacc[i]));
        most = fmax(most, fabs(reals_get(qacc, w, i) - d->qacc[i]));
    }
    return most / scale;
}

/* The worlds that touch, those of them that agree, and the sum of how much their accelerations differ. */
typedef struct agreement {
    int touch, agree;
    double difference;
} agreement;

static void compare_worlds(const pair *p, uint64_t *dice, agreement *sum)
{
    rig r = rig_make(p->scene, ORACLE_WORLDS, "f64", 1, false);
    mjData *data[ORACLE_WORLDS];
    for (int w = 0; w < ORACLE_WORLDS; ++w) assert_non_null(data[w] = mj_makeData(r.model->mj));
    rig_step(&r, STET_PHYSICS_NATIVE);
    oracle_near_states(&r, data, .2, dice);
    found f = find_contacts(&r);
    for (int w = 0; w < ORACLE_WORLDS; ++w) {
        int32_t n;
        oracle_forward(r.model->mj, data[w]);
        OK(stet_array_read_worlds(f.ncon, w, 1, &n, sizeof n));
        if (n > 0 || data[w]->ncon > 0) {
            bool agree = contacts_agree(p, &f, data[w], w, n);
            sum->touch++;
            sum->agree += agree;
            if (agree && !p->deeper) sum->difference += acceleration_difference(f.qacc, data[w], w);
        }
        mj_deleteData(data[w]);
    }
    rig_free(&r);
}

static void each_pair_is_mujocos(void **state)
{
    (void)state;
    const int rounds = in_part() ? 12 : 30;
    uint64_t dice = dice_seed(__func__);
    for (const pair *p = pairs; p < pairs + sizeof pairs / sizeof *pairs; ++p) {
        agreement sum = {0};
        for (int round = 0; round < rounds; ++round) compare_worlds(p, &dice, &sum);
        print_message("%-24s %d worlds touch, %d agree; their accelerations differ by %.1e on average\n", p->name,
                      sum.touch, sum.agree, sum.difference / sum.agree);
        assert_true(sum.touch > rounds * ORACLE_WORLDS / 4);
        assert_true(sum.agree >= p->share * sum.touch);
        assert_true(sum.difference / sum.agree < 10 * p->place);
    }
}

/* ---- rest -------------------------------------------------------------------------------------------------------- */

#define FREE(place, geom) "<body pos='" place "'><freejoint/><geom " geom "/></body>"
#define CUBE "type='box' size='.1 .1 .1'"
#define MESH_CUBE "type='mesh' mesh='cube'"
#define REST(bodies)                                                                                                   \
    "<mujoco><option timestep='.005'/><asset><mesh name='cube' vertex='-.1 -.1 -.1 .1 -.1 -.1 -.1 .1 -.1 .1 .1 -.1 "   \
    "-.1 -.1 .1 .1 -.1 .1 -.1 .1 .1 .1 .1 .1'/><hfield name='flat' nrow='41' ncol='41' size='2 2 .1 .1'/></asset>"     \
    "<worldbody>" bodies "</worldbody></mujoco>"
#define PLANE "<geom type='plane' size='1 1 1'/>"

/* Stacks stay where they are, and things on a height field with more cells under them than contacts are kept of. */
static const char *const resting[] = {
    REST(PLANE FREE("0 0 .1", CUBE) FREE("0 0 .3", CUBE) FREE("0 0 .5", CUBE) FREE("0 0 .7", CUBE)),
    REST(PLANE FREE("0 0 .1", MESH_CUBE) FREE("0 0 .3", MESH_CUBE) FREE("0 0 .5", CUBE) FREE("0 0 .7", MESH_CUBE)),
    REST(PLANE FREE("0 0 .1", CUBE) FREE("0 0 .3", "type='cylinder' size='.1 .1'") FREE("0 0 .5", MESH_CUBE)
             FREE("0 0 .7", "type='cylinder' size='.1 .1'")),
    REST("<geom type='hfield' hfield='flat'/>" FREE("0 0 .1", "type='box' size='.5 .4 .1'") FREE("0 0 .3", MESH_CUBE)),
};

static void what_lies_stays(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof resting / sizeof *resting; ++k) {
        rig r = rig_make(resting[k], 1, NULL, 1, false);
        stet_array *qpos = rig_array(&r, "qpos");
        rig_step(&r, STET_PHYSICS_NATIVE);
        OK(stet_step_run(r.step, in_part() ? 100 : 1000));
        for (int b = 0; b < qpos->nitem / 7; ++b) {
            double aside = hypot(rig_get(&r, "qpos", 0, 7 * b), rig_get(&r, "qpos", 0, 7 * b + 1));
            double above = rig_get(&r, "qpos", 0, 7 * b + 2) - (.1 + .2 * b), up = rig_get(&r, "qpos", 0, 7 * b + 3);
            if (!(aside < .005 && fabs(above) < .01 && fabs(up) > .999))
                fail_msg("scene %d: body %d is %g m aside, %g m above, cosine %g", (int)k, b, aside, above, up);
        }
        rig_free(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_pair_is_mujocos), cmocka_unit_test(what_lies_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
