/*
 * Contact sensors of native physics against MuJoCo's: random heaps of bodies of two geoms, with random sensors.
 * Contacts of spheres, capsules and planes are exact, and no two are alike, so both choose the same ones.
 */
#include "physics/oracle.h"

#include <math.h>

enum { TEXT = 1 << 16, SENSORS = 24, REDUCTIONS = 4, STEPS = 5, N = 21 };

static int nmodel = 60;

static const char *const fields[] = {"found",  "force",   "torque", "dist",  "pos",
                                     "normal", "tangent", "linvel", "angvel"};
static const char *const reductions[REDUCTIONS] = {"none", "mindist", "maxforce", "netforce"};
enum { FIELDS = sizeof fields / sizeof *fields };

typedef struct writing {
    uint64_t *dice;
    size_t at;
    char text[TEXT];
} writing;

static void append(writing *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append(writing *t, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(t->text + t->at, TEXT - t->at, format, list);
    va_end(list);
    assert_true(n >= 0 && t->at + (size_t)n < TEXT);
    t->at += (size_t)n;
}

static bool chance(writing *t, int percent) { return dice_below(t->dice, 100) < (size_t)percent; }
static double number(writing *t, double low, double high) { return oracle_uniform(t->dice, low, high); }

/* ---- models ------------------------------------------------------------------------------------------------------ */

/* Boxes touch the plane only. */
static void draw_geom(writing *t, int body, int k, bool gaps)
{
    static const char *const types[] = {"sphere", "capsule", "box"};
    static const int dims[] = {1, 3, 4, 6};
    size_t type = dice_below(t->dice, 3);
    append(t,
           "<geom name='g%d.%d' type='%s' size='%.4g %.4g .05' pos='%.4g %.4g %.4g' condim='%d' margin='%.3g' "
           "gap='%.3g'%s/>",
           body, k, types[type], number(t, .05, .1), number(t, .05, .1), number(t, -.1, .1), number(t, -.1, .1),
           number(t, -.05, .05), dims[dice_below(t->dice, 4)], chance(t, 30) ? number(t, 0, .02) : 0,
           gaps && chance(t, 40) ? number(t, 0, .1) : 0, type == 2 ? " contype='2' conaffinity='0'" : "");
}

static void draw_site(writing *t, int body)
{
    static const char *const types[] = {"sphere", "capsule", "box", "cylinder", "ellipsoid"};
    append(t, "<site name='s%d' type='%s' size='%.4g .1 .12' pos='%.4g 0 0' quat='1 .3 .2 0'/>", body,
           types[dice_below(t->dice, 5)], number(t, .05, .2), number(t, -.1, .1));
}

static void draw_object(writing *t, int nbody, const char *which)
{
    size_t kind = dice_below(t->dice, 3);
    int body = (int)dice_below(t->dice, (size_t)nbody + 1);
    if (kind == 0) append(t, " geom%s='g%d.%d'", which, body, (int)dice_below(t->dice, 2));
    if (kind == 1 && body > 0) append(t, " body%s='b%d'", which, body);
    if (kind == 2) append(t, body > 0 ? " subtree%s='b%d'" : " subtree%s='world'", which, body);
}

/* Within gaps many contacts are equally strong; of these MuJoCo takes any. */
static void draw_sensor(writing *t, int nbody, bool gaps)
{
    size_t reduce = dice_below(t->dice, REDUCTIONS), begin = t->at;
    int bits = 0;
    if (gaps && reduce == 2) reduce = 1;
    append(t, "<contact num='%d' reduce='%s'", reduce == 3 ? 1 : 1 + (int)dice_below(t->dice, 5), reductions[reduce]);
    if (chance(t, 25))
        append(t, " site='s%d'", 1 + (int)dice_below(t->dice, (size_t)nbody));
    else if (chance(t, 80))
        draw_object(t, nbody, "1");
    if (chance(t, 60)) draw_object(t, nbody, "2");
    for (int i = 0; i < FIELDS; ++i) bits |= (int)chance(t, 40) << i;
    if (reduce == 3) bits &= 0x7f;
    if (bits == 0) bits = 1;
    append(t, " data='");
    for (int i = 0, first = 1; i < FIELDS; ++i) {
        if (bits >> i & 1) append(t, first ? "%s" : " %s", fields[i]);
        first = first && !(bits >> i & 1);
    }
    append(t, "'%s/>", chance(t, 30) ? " cutoff='.01'" : "");
    assert_true(t->at > begin);
}

/* Every third body hangs on the one before it. */
static void draw_model(writing *t)
{
    int nbody = 3 + (int)dice_below(t->dice, 5), child = 0;
    bool gaps = chance(t, 50);
    t->at = 0;
    append(t,
           "<mujoco><option timestep='.002' tolerance='1e-18' cone='%s'/><worldbody><geom name='g0.0' type='plane' "
           "size='0 0 1' contype='3' conaffinity='3'/><geom name='g0.1' size='.3' pos='.1 0 -.1'/>",
           chance(t, 50) ? "elliptic" : "pyramidal");
    for (int b = 1; b <= nbody; ++b) {
        bool next = b < nbody && !child && chance(t, 30);
        append(t, "<body name='b%d' pos='%.4g %.4g %.4g'>", b, number(t, -.25, .25), number(t, -.25, .25),
               child ? .1 : number(t, 0, .15));
        append(t, child ? "<joint axis='1 1 0'/>" : "<freejoint/>");
        draw_geom(t, b, 0, gaps);
        draw_geom(t, b, 1, gaps);
        draw_site(t, b);
        if (!next) append(t, child ? "</body></body>" : "</body>");
        child = next;
    }
    append(t, "</worldbody>");
    if (chance(t, 40)) {
        append(t, "<contact>");
        for (int b = 2; b <= nbody; ++b)
            if (chance(t, 40))
                append(t, "<pair geom1='g%d.0' geom2='g0.0' gap='%.3g'/>", b, gaps ? number(t, 0, .1) : 0);
        append(t, "</contact>");
    }
    append(t, "<sensor>");
    for (int i = 0; i < SENSORS; ++i) draw_sensor(t, nbody, gaps);
    append(t, "</sensor></mujoco>");
}

/* ---- comparisons ------------------------------------------------------------------------------------------------- */

typedef struct tally {
    double worst[2]; /* of sensors without forces, with them */
    int numbers, nonzero, several[REDUCTIONS];
} tally;

static void compare(const mjModel *m, const mjData *d, const stet_array *a, int64_t w, tally *all)
{
    for (int i = 0; i < m->nsensor; ++i) {
        const int *spec = m->sensor_intprm + (ptrdiff_t)mjNSENS * i;
        bool forced = spec[0] & (1 << mjCONDATA_FORCE | 1 << mjCONDATA_TORQUE) || spec[1] > 1;
        const double *exact = d->sensordata + m->sensor_adr[i];
        double scale = ORACLE_FLOOR;
        for (int k = 0; k < m->sensor_dim[i]; ++k) scale = fmax(scale, fabs(exact[k]));
        for (int k = 0; k < m->sensor_dim[i]; ++k) {
            double x = fabs(reals_get(a, w, m->sensor_adr[i] + k) - exact[k]) / scale;
            if (!(x <= all->worst[forced])) all->worst[forced] = x == x ? x : HUGE_VAL;
            if (!(x <= (forced ? 1e-5 : 1e-9)))
                print_message("world %d, sensor %d (reduce %d, data %#x), number %d is %.9g, MuJoCo's %.9g\n", (int)w,
                              i, spec[1], (unsigned)spec[0], k, reals_get(a, w, m->sensor_adr[i] + k), exact[k]);
            all->numbers++;
            all->nonzero += exact[k] != 0;
        }
        all->several[spec[1]] += spec[0] & 1 && exact[0] > 1;
    }
}

static void check_model(const char *text, uint64_t *dice, tally *all)
{
    rig r = rig_make(text, ORACLE_WORLDS, "f64", 1, false);
    const mjModel *m = r.model->mj;
    mjData *data[ORACLE_WORLDS];
    sti_native *native;
    stet_array *now;
    for (int w = 0; w < ORACLE_WORLDS; ++w) assert_non_null(data[w] = mj_makeData(m));
    oracle_near_states(&r, data, .05, dice);
    OK(sti_native_create(r.worlds, &native));
    OK(sti_native_quantity(native, "sensordata", &now));
    for (int w = 0; w < ORACLE_WORLDS; ++w) {
        oracle_forward(m, data[w]);
        compare(m, data[w], now, w, all);
        mj_deleteData(data[w]);
    }
    stet_array_destroy(now);
    sti_native_destroy(native);
    rig_free(&r);
}

static void random_contact_sensors_are_mujocos(void **state)
{
    static writing t;
    uint64_t dice = dice_seed("random_contact_sensors_are_mujocos");
    tally all = {.numbers = 0};
    t.dice = &dice;
    for (int i = 0; i < nmodel; ++i) {
        draw_model(&t);
        check_model(t.text, &dice, &all);
        if (all.worst[0] <= 1e-9 && all.worst[1] <= 1e-5) continue;
        (void)printf("%s\n", t.text);
        fail_msg("contact sensors differ from MuJoCo's by %.3g, with forces by %.3g", all.worst[0], all.worst[1]);
    }
    print_message(
        "%d numbers, %d of them not 0, greatest relative error %.1e, with forces %.1e; several contacts match: "
        "none %d, mindist %d, maxforce %d, netforce %d\n",
        all.numbers, all.nonzero, all.worst[0], all.worst[1], all.several[0], all.several[1], all.several[2],
        all.several[3]);
    for (int i = 0; i < REDUCTIONS; ++i) assert_true(all.several[i] > 10);
}

/* ---- bits -------------------------------------------------------------------------------------------------------- */

/* A foot of two geoms, the body that carries it, a ball that rests on it, and every kind of object. */
static const char feet[] =
    "<mujoco><option cone='elliptic'/><worldbody><geom name='f' type='plane' size='0 0 1'/><body name='a' "
    "pos='0 0 .3'><freejoint/><geom name='t' size='.1'/><body name='b' pos='0 0 -.2'><joint axis='0 1 0'/><geom "
    "name='l' type='capsule' size='.03 .1' pos='.05 .05 -.06' quat='1 0 1 0'/><geom name='r' type='box' "
    "size='.1 .03 .02' pos='0 -.1 -.07'/><site name='z' type='box' size='.2 .2 .05' pos='0 0 -.1'/></body></body>"
    "<body name='c' pos='.3 0 .1'><freejoint/><geom name='o' size='.1'/></body><body name='d' pos='.3 .15 .1'>"
    "<freejoint/><geom name='p' type='ellipsoid' size='.1 .12 .11'/></body></worldbody><sensor>"
    "<contact geom1='f' subtree2='a' num='3' data='found force torque dist pos normal tangent linvel angvel'/>"
    "<contact body1='b' geom2='f' reduce='maxforce' num='2' data='found force dist'/>"
    "<contact site='z' reduce='mindist' num='8' data='found dist linvel'/>"
    "<contact subtree1='world' body2='c' reduce='netforce' data='found force torque pos normal tangent'/>"
    "<contact geom1='o' geom2='p' data='found force normal'/><contact num='4'/></sensor></mujoco>";

static rig make_worlds(const char *isa, int threads)
{
    rig r = rig_make(feet, N, isa, threads, false);
    rig_step(&r, STET_PHYSICS_NATIVE);
    for (int64_t w = 0; w < N; ++w) {
        for (int64_t i = 0; i < r.model->mj->nq; ++i)
            rig_set(&r, "qpos", w, i, (float)rig_get(&r, "qpos", w, i) + .03F * rig_wave(w, 0, i));
        for (int64_t i = 0; i < r.model->mj->nv; ++i) rig_set(&r, "qvel", w, i, rig_wave(w, 1, i));
    }
    return r;
}

static void check_hash(const char *isa, int threads)
{
    static const uint64_t golden = 0x7e93a7909d2e698f;
    rig r = make_worlds(isa, threads);
    OK(stet_step_run(r.step, STEPS));
    uint64_t hash = rig_array_hash(&r, "step_sensordata");
    if (hash != golden) fail_msg("%s: %016" PRIx64 ", not %016" PRIx64, stet_device_get_name(r.device), hash, golden);
    rig_free(&r);
}

static void golden_hash_everywhere(void **state)
{
    FOR_FLOAT_ISAS(isa)
    for (int threads = 1; threads <= 3; threads += 2) check_hash(sti_isa_name((sti_isa)isa), threads);
}

/* The device that the run is about, a GPU or its double. */
static void golden_hash_on_the_device(void **state) { check_hash(NULL, 1); }

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_contact_sensors_are_mujocos),
        cmocka_unit_test(golden_hash_everywhere),
        cmocka_unit_test(golden_hash_on_the_device),
    };
    if (argc > 1) nmodel = (int)strtol(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
