/*
 * Decorations against MuJoCo's own scene (mjv_updateScene with the same options), in double: what kind each part is,
 * its colour, size and pose, in every world, with MuJoCo's physics and with native physics. They come and go while a
 * sim runs, leave nothing behind, and only colours have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scene.h"

#include "geom/geom.h"
#include "stage/flush.h"
#include "stet/sim.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORLDS = 3, MOST = 600, SIDE = 48 };

#define SCENE(more)                                                                                                    \
    "<mujoco><option timestep='.004'/><statistic meansize='.2' extent='2' center='0 0 .4'/><visual>"                   \
    "<scale framelength='.7' jointlength='1.3' contactheight='.15'/><rgba inertia='.7 .2 .3 .5' com='.1 .9 .8 1'/>"    \
    "<map force='.02'/></visual><worldbody><light pos='0 0 3'/><geom name='floor' type='plane' size='3 3 .1'/>"        \
    "<body pos='0 0 .35'><freejoint/><geom type='box' size='.2 .15 .1' mass='2'/>"                                     \
    "<site name='eye' pos='.2 0 0' euler='0 70 20'/>"                                                                  \
    "<body pos='.3 0 0' euler='10 20 30'><joint type='ball'/><geom type='ellipsoid' size='.05 .1 .15' pos='.1 0 0'/>"  \
    "</body></body>"                                                                                                   \
    "<body pos='-.6 .1 .5'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 0 1' pos='.1 0 0'/>"          \
    "<joint axis='0 1 0' pos='0 0 .2'/><joint axis='0 0 1' group='4'/><geom name='bar' type='capsule' size='.05 .2'/>" \
    "<body pos='.1 0 .3'><joint axis='1 1 0' pos='0 .1 0'/><geom name='end' size='.08' pos='0 .2 0'/></body></body>"   \
    "<body pos='0 0 .7'><freejoint/><geom name='high' type='box' size='.1 .1 .1'/></body>"                             \
    "<body pos='1 1 .3'><geom size='.1'/></body>"                                                                      \
    "<camera pos='0 -2.5 1.2' xyaxes='1 0 0 0 .4 .9'/></worldbody>"                                                    \
    "<sensor><rangefinder site='eye'/>" more "</sensor></mujoco>"
/* Native physics does not know the second sensor. */
static const char whole[] = SCENE("<fromto geom1='end' geom2='high' cutoff='10'/>"), native[] = SCENE("");

typedef struct seen {
    int type;
    double rgba[4], m[12]; /* of a unit shape */
    bool used;
} seen;

/* ---- MuJoCo's ---------------------------------------------------------------------------------------------------- */

static void add_along(seen *list, int *n, const mjvGeom *g, int type, double width, double length, double start)
{
    seen *s = &list[(*n)++];
    assert_true(*n < MOST);
    *s = (seen){.type = type};
    for (int k = 0; k < 4; ++k) s->rgba[k] = (double)g->rgba[k];
    for (int i = 0; i < 3; ++i) {
        const float *row = g->mat + (ptrdiff_t)3 * i;
        s->m[4 * i] = (double)row[0] * width;
        s->m[4 * i + 1] = (double)row[1] * width;
        s->m[4 * i + 2] = (double)row[2] * length;
        s->m[4 * i + 3] = (double)g->pos[i] + (double)row[2] * start;
    }
}

/* The unit shapes that show a geom of the viewer. */
static void add_geom(const mjModel *m, const mjvGeom *g, seen *list, int *n)
{
    double w = (double)g->size[0], l = (double)g->size[2];
    switch (g->type) {
    case mjGEOM_BOX:
    case mjGEOM_SPHERE:
        add_along(list, n, g, g->type, 1, l, 0);
        for (int i = 0; i < 3; ++i) {
            list[*n - 1].m[4 * i] *= w;
            list[*n - 1].m[4 * i + 1] *= (double)g->size[1];
        }
        return;
    case mjGEOM_CYLINDER: add_along(list, n, g, mjGEOM_CYLINDER, w, l, 0); return;
    case mjGEOM_LINE:
        w = (double)m->vis.scale.framewidth * m->stat.meansize / 2;
        if (l > 0) add_along(list, n, g, mjGEOM_CYLINDER, w, l / 2, l / 2);
        return;
    case mjGEOM_ARROW:
    case mjGEOM_ARROW1:
        add_along(list, n, g, mjGEOM_CYLINDER, w, l / 6, l / 6);
        add_along(list, n, g, STI_GEOM_CONE, g->type == mjGEOM_ARROW ? 1.75 * w : w, l / 6, l / 3);
        return;
    case mjGEOM_ARROW2:
        add_along(list, n, g, mjGEOM_CYLINDER, w, l / 3, 0);
        add_along(list, n, g, STI_GEOM_CONE, 1.75 * w, l / 6, l / 3);
        add_along(list, n, g, STI_GEOM_CONE, 1.75 * w, -l / 6, -l / 3);
        return;
    default: fail_msg("MuJoCo shows a geom of type %d", g->type);
    }
}

static int list_theirs(const mjModel *m, mjData *d, uint32_t shown, seen *out)
{
    static const int flags[STET_DECORATION_COUNT] = {mjVIS_JOINT,   mjVIS_CONTACTPOINT, mjVIS_CONTACTFORCE, -1,
                                                     mjVIS_INERTIA, mjVIS_COM,          mjVIS_RANGEFINDER};
    mjvScene drawn;
    mjvOption option;
    mjvCamera camera;
    int n = 0;
    mjv_defaultScene(&drawn);
    mjv_makeScene(m, &drawn, 10000);
    mjv_defaultOption(&option);
    mjv_defaultFreeCamera(m, &camera);
    for (int i = 0; i < STET_DECORATION_COUNT; ++i)
        if (flags[i] >= 0) option.flags[flags[i]] = shown >> i & 1;
    option.frame = shown >> STET_DECORATION_FRAMES & 1 ? mjFRAME_BODY : mjFRAME_NONE;
    mjv_updateScene(m, d, &option, NULL, &camera, mjCAT_ALL, &drawn);
    for (int g = 0; g < drawn.ngeom; ++g)
        if (drawn.geoms[g].category == mjCAT_DECOR) add_geom(m, &drawn.geoms[g], out, &n);
    mjv_freeScene(&drawn);
    return n;
}

/* ---- ours -------------------------------------------------------------------------------------------------------- */

static void read_reals(stet_array *a, int64_t w, mjtNum *out)
{
    int64_t n = stet_array_get_nelement(a) / WORLDS;
    float *values = calloc((size_t)n, sizeof *values);
    must(stet_array_read_worlds(a, w, 1, values, (size_t)n * sizeof *values));
    for (int64_t i = 0; i < n; ++i) out[i] = (double)values[i];
    free(values);
}

static int list_ours(stet_stage *stage, int64_t w, seen *out)
{
    int n = 0;
    for (int i = 0; i < stage->shapes.n; ++i) {
        const sti_shape *s = &stage->shapes.shape[i];
        float m[12];
        double size = 0;
        if (s->prim < 0 || !s->decor) continue;
        must(stet_stage_read_world(stage, s->prim, w, 1, m));
        for (int k = 0; k < 12; ++k) size += fabs((double)m[k]);
        if (size == 0) continue;
        out[n] = (seen){.type = s->type};
        for (int k = 0; k < 4; ++k) out[n].rgba[k] = (double)s->rgba[k];
        for (int k = 0; k < 12; ++k) out[n].m[k] = (double)m[k];
        assert_true(++n < MOST);
    }
    return n;
}

static double column_length(const seen *s, int k)
{
    return sqrt(s->m[k] * s->m[k] + s->m[4 + k] * s->m[4 + k] + s->m[8 + k] * s->m[8 + k]);
}

/* How much two parts differ. What is round may be turned about its axis, a ball in any way. */
static double difference_of(const seen *a, const seen *b)
{
    double worst = 0;
    if (a->type != b->type) return 1e9;
    for (int k = 0; k < 4; ++k) worst = fmax(worst, fabs(a->rgba[k] - b->rgba[k]));
    for (int k = 0; k < 12; ++k)
        if (a->type == mjGEOM_BOX || k % 4 == 3 || (k % 4 == 2 && a->type != mjGEOM_SPHERE))
            worst = fmax(worst, fabs(a->m[k] - b->m[k]));
    for (int k = 0; k < 3; ++k) worst = fmax(worst, fabs(column_length(a, k) - column_length(b, k)));
    for (int i = 0; i < 3; ++i) { /* no shear */
        double dot = 0;
        for (int r = 0; r < 3; ++r) dot += a->m[4 * r + i] * a->m[4 * r + (i + 1) % 3];
        worst = fmax(worst, fabs(dot));
    }
    return worst;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* The model with the masses and inertias of a world. */
static mjModel *model_of(stet_sim *sim, int64_t w)
{
    static const char *const names[] = {"body_mass", "body_inertia", "body_ipos", "body_iquat"};
    stet_worlds *worlds = stet_sim_get_worlds(sim);
    mjModel *m = mj_copyModel(NULL, stet_sim_get_model(sim)->mj);
    mjtNum *arrays[] = {m->body_mass, m->body_inertia, m->body_ipos, m->body_iquat};
    for (int i = 0; i < 4; ++i) {
        int64_t n = stet_worlds_get_parameter_items(worlds, names[i]);
        double *values = calloc((size_t)(n * WORLDS), sizeof *values);
        must(stet_worlds_get_parameter(worlds, names[i], values, n * WORLDS));
        memcpy(arrays[i], values + n * w, (size_t)n * sizeof *values);
        free(values);
    }
    memset(m->body_sameframe, mjSAMEFRAME_NONE, (size_t)m->nbody * sizeof *m->body_sameframe);
    return m;
}

/* MuJoCo's data of a world's present state, and with the sensors that the world has. */
static mjData *reference(stet_sim *sim, const mjModel *m, int64_t w)
{
    stet_worlds *worlds = stet_sim_get_worlds(sim);
    mjData *d = mj_makeData(m);
    stet_array *a;
    must(stet_worlds_get_array(worlds, "qpos", &a));
    read_reals(a, w, d->qpos);
    must(stet_worlds_get_array(worlds, "qvel", &a));
    read_reals(a, w, d->qvel);
    mj_forward(m, d);
    must(stet_worlds_get_array(worlds, "sensordata", &a));
    read_reals(a, w, d->sensordata);
    return d;
}

static void check_world(stet_sim *sim, int64_t w, uint32_t shown, double near, int *parts)
{
    static seen ours[MOST], theirs[MOST];
    mjModel *m = model_of(sim, w);
    mjData *d = reference(sim, m, w);
    int n = list_theirs(m, d, shown, theirs);
    int own = list_ours(stet_sim_get_stage(sim), w, ours);
    if (own != n) fail_msg("decorations 0x%x, world %d: %d parts, MuJoCo: %d", (unsigned)shown, (int)w, own, n);
    for (int i = 0; i < n; ++i) {
        int best = -1;
        double least = INFINITY;
        for (int k = 0; k < n; ++k) {
            double off = ours[k].used ? INFINITY : difference_of(&ours[k], &theirs[i]);
            if (off < least) best = k, least = off;
        }
        if (!(least <= near))
            fail_msg("decorations 0x%x, world %d, part %d of type %d: off by %g", (unsigned)shown, (int)w, i,
                     theirs[i].type, least);
        ours[best].used = true;
    }
    *parts += n;
    mj_deleteData(d);
    mj_deleteModel(m);
}

static stet_sim *open_sim(stet_physics physics, uint32_t decorations, bool audit)
{
    stet_sim_def def = stet_default_sim_def();
    stet_model *model;
    stet_sim *sim;
    must(stet_model_load_string(physics == STET_PHYSICS_NATIVE ? native : whole, &model));
    picked_device(&def.device);
    def.device.mechanisms.audit = audit;
    def.nworld = WORLDS;
    def.physics = physics;
    def.outputs = 1u << STET_OUTPUT_RGB | 1u << STET_OUTPUT_DEPTH | 1u << STET_OUTPUT_SEG_GEOM;
    def.width = def.height = SIDE;
    def.decorations = decorations;
    must(stet_sim_create(model, &def, &sim));
    stet_model_destroy(model);
    return sim;
}

/* Worlds that differ. */
static void push(stet_sim *sim)
{
    stet_array *qvel;
    float values[WORLDS * 32];
    must(stet_worlds_get_array(stet_sim_get_worlds(sim), "qvel", &qvel));
    int n = (int)stet_array_get_nelement(qvel);
    for (int i = 0; i < n; ++i) values[i] = .3f * sinf(1.7f * (float)i);
    must(stet_array_write(qvel, values, (size_t)n * sizeof *values));
}

static void parts_are_what_mujoco_draws(void **state)
{
    static const stet_physics both[] = {STET_PHYSICS_MUJOCO, STET_PHYSICS_NATIVE};
    for (int p = 0; p < 2; ++p) {
        stet_sim *sim = open_sim(both[p], 0, false);
        stet_stage *stage = stet_sim_get_stage(sim);
        int parts = 0;
        push(sim);
        for (int turn = 0; turn < 3; ++turn) {
            must(stet_sim_step(sim, turn == 0 ? 1 : 60));
            for (int i = 0; i <= STET_DECORATION_COUNT + 1; ++i) {
                uint32_t shown = i < STET_DECORATION_COUNT ? 1u << i : (1u << STET_DECORATION_COUNT) - 1;
                if (i > STET_DECORATION_COUNT) shown = 1u << STET_DECORATION_FRAMES | 1u << STET_DECORATION_INERTIA;
                must(stet_stage_decorate(stage, shown));
                for (int64_t w = 0; w < WORLDS; ++w) check_world(sim, w, shown, p ? 2e-3 : 2e-5, &parts);
            }
        }
        print_message("%d parts\n", parts);
        assert_true(parts > 900);
        stet_sim_destroy(sim);
    }
}

typedef struct frame {
    uint8_t rgb[WORLDS * SIDE * SIDE * 3];
    int32_t seg[WORLDS * SIDE * SIDE];
    float depth[WORLDS * SIDE * SIDE];
} frame;

static void read_frame(stet_sim *sim, frame *out)
{
    must(stet_sim_render(sim, NULL));
    must(stet_sim_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGB, out->rgb, sizeof out->rgb));
    must(stet_sim_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_SEG_GEOM, out->seg, sizeof out->seg));
    must(stet_sim_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_DEPTH, out->depth, sizeof out->depth));
}

static int count_changed(const frame *a, const frame *b)
{
    int n = 0;
    for (size_t i = 0; i < sizeof a->rgb; ++i) n += a->rgb[i] != b->rgb[i];
    return n;
}

/* Sets a parameter, whose items are `per` of each body, to other numbers in each world. */
static void vary(stet_sim *sim, const char *name, int per, double step)
{
    stet_worlds *worlds = stet_sim_get_worlds(sim);
    const mjModel *m = stet_sim_get_model(sim)->mj;
    int64_t n = stet_worlds_get_parameter_items(worlds, name);
    double values[WORLDS * 64];
    assert_true(n <= 64);
    must(stet_worlds_get_parameter(worlds, name, values, n * WORLDS));
    for (int64_t i = 0; i < n * WORLDS; ++i) {
        bool place = per > 1 && step < .1, simple = m->body_simple[i % n / per];
        if (i >= n && !(place && simple))
            values[i] = place ? values[i] + step * (double)(i % 7) : values[i] * (1 + step * (double)(i % 5));
    }
    must(stet_worlds_set_parameter(worlds, name, values, n * WORLDS));
}

/* Boxes and frames of inertia follow a world's own masses and inertias, also from one moment to the next, and back. */
static void inertias_are_those_of_the_world(void **state)
{
    static const uint32_t shown[] = {1u << STET_DECORATION_INERTIA,
                                     1u << STET_DECORATION_INERTIA | 1u << STET_DECORATION_FRAMES,
                                     1u << STET_DECORATION_FRAMES};
    static frame before, after;
    stet_sim *sim = open_sim(STET_PHYSICS_MUJOCO, 1u << STET_DECORATION_INERTIA, true);
    stet_worlds *worlds = stet_sim_get_worlds(sim);
    int parts = 0;
    must(stet_sim_step(sim, 30));
    read_frame(sim, &before);
    for (int turn = 0; turn < 4; ++turn) {
        if (turn == 0) vary(sim, "body_mass", 1, .3);
        if (turn == 1) vary(sim, "body_inertia", 3, .2);
        if (turn == 2) vary(sim, "body_ipos", 3, .02);
        if (turn == 3) vary(sim, "body_iquat", 4, .05);
        for (size_t i = 0; i < sizeof shown / sizeof *shown; ++i) {
            must(stet_stage_decorate(stet_sim_get_stage(sim), shown[i]));
            for (int64_t w = 0; w < WORLDS; ++w) check_world(sim, w, shown[i], 2e-5, &parts);
        }
        must(stet_stage_decorate(stet_sim_get_stage(sim), shown[0]));
        read_frame(sim, &after);
        assert_memory_equal(before.rgb, after.rgb, sizeof before.rgb / WORLDS); /* the first has the model's */
        assert_true(count_changed(&before, &after) > 10);
        if (turn == 0) vary(sim, "body_mass", 1, .3); /* while it is shown, and nothing moves */
        for (int64_t w = 0; w < WORLDS; ++w) check_world(sim, w, shown[0], 2e-5, &parts);
    }
    must(stet_worlds_set_parameter(worlds, "body_mass", NULL, 0));
    must(stet_worlds_set_parameter(worlds, "body_inertia", NULL, 0));
    must(stet_worlds_set_parameter(worlds, "body_ipos", NULL, 0));
    must(stet_worlds_set_parameter(worlds, "body_iquat", NULL, 0));
    read_frame(sim, &after);
    assert_int_equal(count_changed(&before, &after), 0);
    stet_sim_destroy(sim);
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

/* Each changes colours, and nothing else; without them the picture is what it was. With audits. */
static void they_come_and_go(void **state)
{
    static frame none, one, again;
    stet_sim *sim = open_sim(STET_PHYSICS_NATIVE, 0, true);
    stet_stage *stage = stet_sim_get_stage(sim);
    push(sim);
    must(stet_sim_step(sim, 100));
    read_frame(sim, &none);
    int capacity = 0, nprim = stet_stage_get_nprim(stage);
    for (int turn = 0; turn < 2; ++turn)
        for (int i = 0; i < STET_DECORATION_COUNT; ++i) {
            must(stet_stage_decorate(stage, 1u << i));
            assert_int_equal(stet_stage_get_decorations(stage), 1u << i);
            read_frame(sim, &one);
            if (count_changed(&none, &one) < 3) fail_msg("nobody sees %s", stet_decoration_name((stet_decoration)i));
            assert_memory_equal(none.seg, one.seg, sizeof none.seg);
            assert_memory_equal(none.depth, one.depth, sizeof none.depth);
            must(stet_stage_decorate(stage, 0));
            read_frame(sim, &again);
            assert_int_equal(count_changed(&none, &again), 0);
            assert_int_equal(stet_stage_get_nprim(stage), nprim);
            if (turn == 0) capacity = stet_stage_get_capacity(stage);
        }
    assert_int_equal(stet_stage_get_capacity(stage), capacity);
    stet_sim_destroy(sim);
}

/* A force that follows from what the caller writes is drawn anew, although nothing moved; others' worlds stay. */
static void forces_follow_their_causes(void **state)
{
    static frame before, after;
    stet_sim *sim = open_sim(STET_PHYSICS_AUTO, 1u << STET_DECORATION_CONTACTFORCE, true);
    stet_array *applied;
    float values[WORLDS * 6 * 16] = {0};
    must(stet_sim_step(sim, 150));
    read_frame(sim, &before);
    must(stet_worlds_get_array(stet_sim_get_worlds(sim), "xfrc_applied", &applied));
    int n = (int)stet_array_get_nelement(applied) / WORLDS;
    values[n + 6 + 2] = -60; /* world 1, the first body: down */
    must(stet_array_write(applied, values, (size_t)n * WORLDS * sizeof *values));
    read_frame(sim, &after);
    assert_true(count_changed(&before, &after) > 10);
    assert_memory_equal(before.rgb, after.rgb, sizeof before.rgb / WORLDS);
    assert_memory_equal(before.depth, after.depth, sizeof before.depth);
    stet_sim_destroy(sim);
}

static void bad_calls_are_refused(void **state)
{
    stet_sim *sim = open_sim(STET_PHYSICS_AUTO, 1u << STET_DECORATION_COM, false);
    stet_stage *stage = stet_sim_get_stage(sim);
    const float unmoved[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    const uint8_t hidden[WORLDS] = {0};
    stet_decoration found;
    int part = stage->shapes.shape[0].prim;
    assert_refused(stet_stage_decorate(NULL, 0), STET_ERROR_INVALID_ARGUMENT, "stage is NULL");
    assert_refused(stet_stage_decorate(stage, 1u << 9), STET_ERROR_INVALID_ARGUMENT, "no decoration 9");
    assert_refused(stet_stage_remove(stage, part), STET_ERROR_INVALID_ARGUMENT, "part of a decoration");
    assert_refused(stet_stage_show(stage, part, 0, WORLDS, hidden), STET_ERROR_INVALID_ARGUMENT, "no shape");
    assert_refused(stet_stage_write_local(stage, part, 0, 1, unmoved), STET_ERROR_INVALID_ARGUMENT, "rigid");
    assert_refused(stet_stage_write_world(stage, part, 0, 1, unmoved), STET_ERROR_INVALID_ARGUMENT, "not an added");
    assert_refused(stet_decoration_find("joint", &found), STET_ERROR_NOT_FOUND, "joints contacts");
    must(stet_decoration_find("frames", &found));
    assert_int_equal(found, STET_DECORATION_FRAMES);
    stet_sim_destroy(sim);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_what_mujoco_draws),
        cmocka_unit_test(inertias_are_those_of_the_world),
        cmocka_unit_test(they_come_and_go),
        cmocka_unit_test(forces_follow_their_causes),
        cmocka_unit_test(bad_calls_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
