/*
 * Native physics beside MuJoCo's: the same model, worlds, states, controls and time steps in one process, with the same
 * number of threads, in turns. Neither side computes sensors.
 *
 * States are those of MuJoCo after WARM steps with random controls; each repetition puts both sides back to them, so
 * that both have the same contacts.
 */
#include "bench/physics_sides.h"

#include "base/error.h"
#include "base/memory.h"
#include "device/isa.h"
#include "model/model.h"
#include "physics/model/layout.k.h"
#include "physics/model/numbers.h"
#include "physics/tables.h"
#include "bench/pilot/humanoid.h"

#include <stdio.h>
#include <string.h>

/* Models of few words; the other scenes are shipped. */
#define FLAGS "<flag contact='disable' limit='disable'/>"
#define LINK(n)                                                                                                        \
    "<body pos='0 0 -.3'><joint axis='" n "' damping='.01'/><geom type='capsule' size='.03' fromto='0 0 0 0 0 -.3'/>"

/* 60 of them, which fall into a heap. */
#define BOXES                                                                                                          \
    "<mujoco><option timestep='.002'/><worldbody><geom type='plane' size='9 9 1'/><replicate count='5' offset='.22 0 " \
    ".05'><replicate count='4' offset='.05 .22 0'><replicate count='3' offset='.03 0 .25'><body pos='0 0 .2'>"         \
    "<freejoint/><geom type='box' size='.1 .1 .1'/></body></replicate></replicate></replicate></worldbody></mujoco>"

static const bench_scene scenes[] = {
    {"cartpole", "cartpole.xml", 20, 0, false, 0, false, true, false},
    {"arm",
     "<mujoco><option timestep='.002' integrator='implicitfast'>" FLAGS "</option><default><joint damping='1' "
     "armature='.1'/><position kp='200' kv='20' forcerange='-80 80'/></default><worldbody><body pos='0 0 .3'><joint "
     "name='a' axis='0 0 1'/><geom size='.06' mass='3'/><body pos='0 0 .2' quat='1 1 0 0'><joint name='b' axis='0 0 "
     "1'/>"
     "<geom size='.06' mass='3'/><body pos='0 -.2 0' quat='1 -1 0 0'><joint name='c' axis='0 0 1'/><geom size='.05' "
     "mass='2' pos='.04 0 0'/><body pos='.08 0 .2' quat='1 1 0 0'><joint name='d' axis='0 0 1'/><geom size='.05' "
     "mass='2'/><body pos='-.08 .2 0' quat='1 -1 0 0'><joint name='e' axis='0 0 1'/><geom size='.05' mass='2'/><body "
     "pos='0 0 .2' quat='1 1 0 0'><joint name='f' axis='0 0 1'/><geom size='.04' mass='1'/><body pos='.09 0 0' quat='1 "
     "1 0 0'><joint name='g' axis='0 0 1'/><geom size='.04' "
     "mass='.7'/></body></body></body></body></body></body></body>"
     "</worldbody><actuator><position joint='a'/><position joint='b'/><position joint='c'/><position joint='d'/>"
     "<position joint='e'/><position joint='f'/><position joint='g'/></actuator></mujoco>",
     20, 0, true, 0, false, false, false},
    {"chain",
     "<mujoco><option timestep='.002'>" FLAGS "</option><worldbody>" LINK("0 1 0") LINK("1 0 0") LINK("0 1 0")
         LINK("1 0 0") LINK("0 1 0") LINK("1 0 0") LINK("0 1 0") LINK("1 0 0") LINK("0 1 0") LINK(
             "1 0 0") "</body></body></body></body></body></body></body></body></body></body></worldbody></mujoco>",
     10, 0, false, 0, false, false, false},
    {"humanoid_of_capsules", HUMANOID("1.3", "integrator='implicitfast'"), 0, 0, true, 0, false, false, false},
    {"humanoid", "humanoid.xml", 10, 5, false, 58.0 / 3, false, true, false},
    {"quadruped", "quadruped.xml", 10, 0, false, 0, false, false, false},
    {"hand", "hand.xml", 8, 0, false, 700.0 / 3, false, true, false},
    {"three_humanoids",
     HUMANOIDS("1.3", "integrator='implicitfast'", "<replicate count='3' offset='0 1 0'>", "</replicate>"),
     .large = true, .stages = true},
    {"boxes", BOXES, .large = true, .stages = true},
};
enum { SCENES = sizeof scenes / sizeof *scenes, WORLDS = 1024, FEW = 64 };

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void note_load(bench_row *row, const side *native, double ns, double mujoco_ns, const load *l)
{
    bench_note(row,
               "%.0f ns a world and step on %s, MuJoCo %.0f; %lld world%s, %d steps a call; a world has %.1f contacts, "
               "%.1f rows, %.1f iterations; its lanes together %.2f times its rows; worlds with NaN or faults: %d",
               ns, stet_device_get_name(native->device), mujoco_ns, (long long)native->worlds->nworld,
               native->worlds->nworld == 1 ? "" : "s", CALL, l->contacts, l->rows, l->iterations, l->shared, l->bad);
}

/* The share of rows that lanes work on and that are their own worlds', and what it would be with worlds in order. */
static stet_result add_lane_use(bench *b, const bench_scene *scene, const load *l)
{
    double use = 1 / l->shared, packed = 1 / l->packed;
    bench_row *row;
    STI_TRY(bench_add(b, &row, &use, 1, "of rows", true, "physics/%s/cpu/lane_use", scene->name));
    return bench_add(b, &row, &packed, 1, "of rows", true, "physics/%s/cpu/lane_use_packed", scene->name);
}

/*
 * Shares of a step: smooth dynamics with the integration, rows with contacts, iterations of the solver. Each is the
 * difference of two sides from the same states, one of which leaves it out.
 */
static stet_result measure_stages(bench *b, const bench_scene *scene, const states *from)
{
    enum { STAGES = 3 };
    static const char *const names[STAGES] = {"smooth", "rows", "iterations"};
    static const cut cuts[STAGES] = {CUT_CONSTRAINTS, CUT_ITERATIONS, CUT_NOTHING};
    side s[STAGES] = {{.native = NULL}, {.native = NULL}, {.native = NULL}};
    double share[STAGES][BENCH_SAMPLES], seconds[STAGES];
    bench_row *row;
    stet_result result = STET_OK;
    for (int i = 0; i < STAGES && result == STET_OK; ++i)
        result = open_side(b, scene, true, 1, from->nworld, NULL, cuts[i], &s[i]);
    for (int k = 0; k < BENCH_SAMPLES; ++k) {
        for (int i = 0; i < STAGES && result == STET_OK; ++i)
            result = time_calls(&s[i], from, 1, 1, bench_least(b, 0.02), &seconds[i]);
        for (int i = 0; i < STAGES && result == STET_OK; ++i)
            share[i][k] = (seconds[i] - (i > 0 ? seconds[i - 1] : 0)) / seconds[STAGES - 1];
    }
    for (int i = 0; i < STAGES; ++i) {
        close_side(&s[i]);
        if (result == STET_OK)
            result = bench_add(b, &row, share[i], BENCH_SAMPLES, "of a step", false, "physics/%s/cpu/stage/%s/share",
                               scene->name, names[i]);
    }
    return result;
}

static stet_result measure_ratio(bench *b, const bench_scene *scene, side s[2], const states *from, const char *what,
                                 double goal)
{
    double seconds[2][BENCH_SAMPLES], ratio[BENCH_SAMPLES];
    double each = 1e9 / ((double)s[0].worlds->nworld * CALL * CALLS);
    load l;
    bench_row *row;
    for (int k = 0; k < BENCH_SAMPLES; ++k) {
        for (int i = 0; i < 2; ++i) STI_TRY(time_side(&s[i], from, bench_least(b, 0.02), &seconds[i][k]));
        ratio[k] = seconds[1][k] / seconds[0][k];
    }
    STI_TRY(measure_load(&s[0], &l));
    STI_TRY(
        bench_add(b, &row, ratio, BENCH_SAMPLES, "times", true, "physics/%s/cpu/%sratio_to_mujoco", scene->name, what));
    if (goal > 0) bench_goal(row, goal);
    note_load(row, &s[0], bench_median(seconds[0], BENCH_SAMPLES) * each,
              bench_median(seconds[1], BENCH_SAMPLES) * each, &l);
    if (l.rows == 0 || what[0]) return STET_OK; /* once a scene */
    STI_TRY(add_lane_use(b, scene, &l));
    return measure_stages(b, scene, from);
}

/* Native physics alone. */
static stet_result measure_size(bench *b, const bench_scene *scene, const states *from, int64_t nworld, int threads)
{
    side s = {.native = NULL};
    double ns[BENCH_SAMPLES];
    bench_row *row;
    stet_result result = open_side(b, scene, true, threads, nworld, NULL, CUT_NOTHING, &s);
    for (int k = 0; k < BENCH_SAMPLES && result == STET_OK; ++k) {
        result = time_side(&s, from, bench_least(b, 0.005), &ns[k]);
        ns[k] *= 1e9 / ((double)nworld * CALL * CALLS);
    }
    close_side(&s);
    STI_TRY(result);
    return bench_add(b, &row, ns, BENCH_SAMPLES, "ns/step", false, "physics/%s/cpu/worlds_%lld/threads_%d/step_ns",
                     scene->name, (long long)nworld, threads);
}

static stet_result measure_sizes(bench *b, const bench_scene *scene, const states *from)
{
    for (int threads = 1; threads <= 2 && threads <= b->threads; ++threads)
        for (int64_t nworld = 1; nworld <= 16384; nworld *= 4) STI_TRY(measure_size(b, scene, from, nworld, threads));
    return STET_OK;
}

/* ---- worlds that are not alike, and room ------------------------------------------------------------------------- */

/* A row: the median of numerators over denominators, samples that were taken in turns. */
static stet_result add_ratio(bench *b, const bench_scene *scene, const char *what, const double *top,
                             const double *bottom, double goal, bench_row **row)
{
    double ratio[BENCH_SAMPLES];
    for (int k = 0; k < BENCH_SAMPLES; ++k) ratio[k] = top[k] / bottom[k];
    STI_TRY(bench_add(b, row, ratio, BENCH_SAMPLES, "times", false, "physics/%s/cpu/%s", scene->name, what));
    if (goal > 0) bench_goal(*row, goal);
    return STET_OK;
}

/* Two sides, each from its states; the row is the time of the second over that of the first. */
static stet_result compare_sides(bench *b, const bench_scene *scene, const char *what, side s[2], const states from[2],
                                 double goal, bench_row **row)
{
    double seconds[2][BENCH_SAMPLES];
    for (int k = 0; k < BENCH_SAMPLES; ++k)
        for (int i = 0; i < 2; ++i) STI_TRY(time_side(&s[i], &from[i], bench_least(b, 0.02), &seconds[i][k]));
    return add_ratio(b, scene, what, seconds[1], seconds[0], goal, row);
}

static stet_result measure_differ(bench *b, const bench_scene *scene, side s[2], const states *from)
{
    bench_row *row;
    load equal, own;
    states settled[2] = {{.nworld = 0}, {.nworld = 0}};
    stet_result result = make_worlds_differ(&s[1]);
    for (int i = 0; i < 2 && result == STET_OK; ++i) result = settle(&s[i], from, WARM, &settled[i]);
    if (result == STET_OK) result = compare_sides(b, scene, "differ/ratio_to_equal", s, settled, 1.2, &row);
    for (int i = 0; i < 2; ++i) free_states(&settled[i]);
    STI_TRY(result);
    STI_TRY(measure_load(&s[0], &equal));
    STI_TRY(measure_load(&s[1], &own));
    bench_note(row,
               "each world has masses, inertias, frictions and sizes of its own, over worlds that share the model's; a "
               "world has %.1f and %.1f contacts, %.1f and %.1f iterations; worlds with NaN or faults: %d and %d",
               own.contacts, equal.contacts, own.iterations, equal.iterations, own.bad, equal.bad);
    return STET_OK;
}

/* The same batch with four times the room for contacts. */
static stet_result measure_room(bench *b, const bench_scene *scene, side s[2], const states *from)
{
    bench_row *row;
    int before, now;
    STI_TRY(make_more_room(&s[1], &s[0], &before, &now));
    if (now == 0) return STET_OK;
    const states same[2] = {*from, *from};
    STI_TRY(compare_sides(b, scene, "room/ratio_to_less", s, same, 0, &row));
    bench_note(row, "room for %d contacts over room for %d", now, before);
    return STET_OK;
}

/* What a world takes on a GPU in the beginning that has a team for each: arrays of the state, memory of the team. */
static stet_result measure_memory(bench *b, const bench_scene *scene, side *s)
{
    sti_physics_tables t;
    bench_row *row;
    double numbers = 0;
    STI_TRY(sti_physics_tables_make(s->model->mj, &t));
    int room = sti_physics_room(&t), reals = t.m[M_NMEMORY], ints = t.m[M_NINTS];
    sti_physics_tables_free(&t);
    for (const char *const *name = stet_worlds_get_fields(); *name; ++name) {
        stet_array *a;
        if (stet_worlds_get_array(s->worlds, *name, &a) == STET_OK) numbers += (double)a->nitem;
    }
    double kB = (numbers + reals + ints) * sizeof(float) / 1000;
    STI_TRY(bench_add(b, &row, &kB, 1, "kB", false, "physics/%s/memory_a_world", scene->name));
    if (scene->goal_kB > 0) bench_goal(row, scene->goal_kB);
    bench_note(row,
               "in the beginning, on a GPU if each world has a team: %.0f numbers of the state, %d reals and %d ints "
               "of the team with room for %d contacts",
               numbers, reals, ints, room);
    return STET_OK;
}

/* Worlds that lie and worlds that fly, side by side, over as many of each among their like. */
static stet_result measure_busy(bench *b, const bench_scene *scene, side *s, const states *from)
{
    enum { LIE, FLY, MIXED, KINDS };
    states kind[KINDS] = {*from, {.nworld = 0}, {.nworld = 0}};
    double seconds[KINDS][BENCH_SAMPLES], alike[BENCH_SAMPLES];
    bench_row *row;
    if (!has_free_root(s)) return STET_OK;
    stet_result result = lift_worlds(s, from, true, &kind[FLY]);
    if (result == STET_OK) result = lift_worlds(s, from, false, &kind[MIXED]);
    for (int k = 0; k < BENCH_SAMPLES; ++k) {
        for (int i = 0; i < KINDS && result == STET_OK; ++i)
            result = time_side(s, &kind[i], bench_least(b, 0.02), &seconds[i][k]);
        if (result == STET_OK) alike[k] = (seconds[LIE][k] + seconds[FLY][k]) / 2;
    }
    free_states(&kind[FLY]);
    free_states(&kind[MIXED]);
    STI_TRY(result);
    STI_TRY(add_ratio(b, scene, "busy/ratio_to_equal", seconds[MIXED], alike, 0, &row));
    bench_note(row,
               "every other world flies, beside batches of one kind; a batch that flies takes %.2f times one that "
               "lies: lanes pay for their neighbours' rows",
               bench_median(seconds[FLY], BENCH_SAMPLES) / bench_median(seconds[LIE], BENCH_SAMPLES));
    return STET_OK;
}

/* Batches that are not alike, each beside a plain one. */
static stet_result measure_batches(bench *b, const bench_scene *scene, side *plain, const states *from)
{
    typedef stet_result measuring(bench *, const bench_scene *, side[2], const states *);
    static measuring *const rows[] = {measure_differ, measure_room};
    STI_TRY(measure_memory(b, scene, plain));
    STI_TRY(measure_busy(b, scene, plain, from));
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        side s[2] = {*plain, {.native = NULL}};
        stet_result result = open_side(b, scene, true, 1, from->nworld, NULL, CUT_NOTHING, &s[1]);
        if (result == STET_OK) result = rows[k](b, scene, s, from);
        close_side(&s[1]);
        STI_TRY(result);
    }
    return STET_OK;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

stet_result name_missing(bench *b, const bench_scene *scene, bool *covered)
{
    stet_model *model;
    char missing[BENCH_NOTE] = "";
    double n = 0;
    bool has;
    const char *name;
    bench_row *row;
    STI_TRY(load_scene(b, scene, CUT_NOTHING, &model));
    for (int i = 0; (name = stet_native_get_feature(model, i, &has)) != NULL; ++i) {
        if (has) continue;
        size_t at = strlen(missing);
        (void)snprintf(missing + at, sizeof missing - at, "%s%s", n > 0 ? "; " : "", name);
        n += 1;
    }
    stet_model_destroy(model);
    *covered = n == 0;
    if (*covered) return STET_OK;
    STI_TRY(bench_add(b, &row, &n, 1, "features", false, "physics/%s/missing", scene->name));
    bench_note(row, "is not measured; native physics lacks: %s", missing);
    return STET_OK;
}

static stet_result measure_at(bench *b, const bench_scene *scene, int64_t nworld, const char *isa, const char *what,
                              double goal, bool sizes)
{
    side s[2] = {{.native = NULL}, {.native = NULL}};
    states from = {.nworld = 0};
    stet_result result = open_side(b, scene, true, 1, nworld, isa, CUT_NOTHING, &s[0]);
    if (result == STET_OK) result = open_side(b, scene, false, 1, nworld, isa, CUT_NOTHING, &s[1]);
    if (result == STET_OK) result = push_worlds(&s[1]);
    if (result == STET_OK) result = make_states(&s[1], scene->large ? LATE : WARM, &from);
    if (result == STET_OK) result = measure_ratio(b, scene, s, &from, what, goal);
    if (result == STET_OK && !what[0]) result = measure_batches(b, scene, &s[0], &from);
    close_side(&s[0]);
    close_side(&s[1]);
    if (result == STET_OK && sizes) result = measure_sizes(b, scene, &from);
    free_states(&from);
    return result;
}

/* Is a name one of a list with commas? */
static bool is_named(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = list; at; at = strchr(at, ','), at += at != NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == 0 || at[n] == ',')) return true;
    return false;
}

bool bench_physics_has(const char *name)
{
    for (int i = 0; i < SCENES; ++i)
        if (strcmp(scenes[i].name, name) == 0) return true;
    return false;
}

static bool is_wanted(const bench *b, const bench_scene *scene)
{
    return !b->models || is_named(b->models, scene->name);
}

stet_result bench_physics(bench *b)
{
    bool gpu = b->device.type == STET_DEVICE_CUDA || b->device.type == STET_DEVICE_HIP;
    for (int i = 0; i < b->ngiven; ++i) STI_TRY(measure_given(b, b->given[i]));
    if (b->ngiven > 0) return STET_OK;
    for (int i = 0; i < SCENES; ++i) {
        const bench_scene *s = &scenes[i];
        int64_t nworld = b->quick ? 20 : s->large ? FEW : WORLDS;
        bool covered;
        if (!is_wanted(b, s)) continue;
        STI_TRY(name_missing(b, s, &covered));
        if (!covered) continue;
        if (gpu) {
            STI_TRY(measure_on_gpu(b, s));
            continue;
        }
        STI_TRY(measure_at(b, s, nworld, NULL, "", s->goal, s->scaling && !b->quick));
        STI_TRY(measure_at(b, s, 1, NULL, "one_world/", 0, false));
        if (s->goal_avx2 > 0 && sti_isa_width(sti_isa_best()) > 8)
            STI_TRY(measure_at(b, s, nworld, "avx2", "avx2/", s->goal_avx2, false));
    }
    return STET_OK;
}

stet_result bench_stages(bench *b)
{
    for (int i = 0; i < SCENES; ++i)
        if (scenes[i].stages && is_wanted(b, &scenes[i])) STI_TRY(measure_stages_of(b, &scenes[i]));
    return STET_OK;
}
