/*
 * Native physics on a GPU: a step with 64 to 131,072 worlds, and batches that are not alike beside plain ones.
 *
 * States are those of native physics on the CPU after LATE steps with random controls, when what can fall lies. Each
 * repetition puts them back; what is timed is CALLS calls of CALL steps and the wait for them.
 */
#include "bench/physics_sides.h"

#include "base/error.h"
#include "base/memory.h"
#include "physics/native_state.h"

#include <stdio.h>
#include <string.h>

enum {
    SAMPLES = 5,
    MIXED = 8192, /* worlds of batches that are not alike, unless others were asked for */
    FIRST = 64,
    LAST = 131072
};
static const double SLOW = 1.5; /* seconds of a measurement, after which no more worlds are tried */

typedef struct gpu_bench {
    bench *b;
    const bench_scene *scene;
    stet_device_def device;
    const char *kind; /* of GPU, in names of rows */
    states from;
    load of_states; /* what a step from them is about */
} gpu_bench;

static const char *kind_of(const stet_device *device)
{
    return stet_device_get_type(device) == STET_DEVICE_HIP ? "hip" : "cuda";
}

static double steps_of(const side *s) { return (double)s->worlds->nworld * CALL * CALLS; }

/* ---- sides ------------------------------------------------------------------------------------------------------- */

/* Bytes of a GPU that are in use; 0: not known. */
static stet_result bytes_in_use(stet_device *device, double *out)
{
    size_t free = 0, total = 0;
    if (device->ops->memory) STI_TRY(device->ops->memory(device, &free, &total));
    *out = (double)(total - free);
    return STET_OK;
}

/* ---- numbers of worlds ------------------------------------------------------------------------------------------- */

/* kB of arrays that a world has, with its part of the memory of teams. */
static double arrays_of(const side *s) { return (double)s->device->array_bytes / 1000 / (double)s->worlds->nworld; }

static stet_result measure_number(gpu_bench *g, int64_t nworld, double *longest)
{
    bench *b = g->b;
    side s = {.native = NULL};
    double ns[SAMPLES], seconds = 0, before = 0, after = 0;
    bench_row *row;
    stet_result result = open_side_on(b, g->scene, &g->device, nworld, &s);
    if (result == STET_OK) result = bytes_in_use(s.device, &before);
    if (result == STET_OK) result = grow_room(&s, &g->from);
    if (result == STET_OK) result = bytes_in_use(s.device, &after);
    for (int k = 0; k < SAMPLES && result == STET_OK; ++k) {
        result = time_side(&s, &g->from, bench_least(b, 0.02), &seconds);
        ns[k] = 1e9 * seconds / steps_of(&s);
    }
    *longest = seconds;
    if (result == STET_OK)
        result = bench_add(b, &row, ns, SAMPLES, "ns/step", false, "physics/%s/%s/%lld/step_ns", g->scene->name,
                           g->kind, (long long)nworld);
    if (result == STET_OK) {
        const sti_team team = s.native->team;
        bench_note(row,
                   "%.4g million steps a second; %d threads a world, %d worlds a block; room for %d contacts; "
                   "a world has %.1f kB of arrays; %.0f MB more of the GPU are in use than before its "
                   "first step; %.1f contacts, %.1f rows, %.1f iterations a world; worlds with faults: %d",
                   1e3 / bench_median(ns, SAMPLES), team.team, team.teams, sti_physics_room(&s.native->tables),
                   arrays_of(&s), 1e-6 * (after - before), g->of_states.contacts, g->of_states.rows,
                   g->of_states.iterations, count_faults(&s));
    }
    close_side(&s);
    return result;
}

static stet_result measure_numbers(gpu_bench *g)
{
    const bench_frame_def *asked = &g->b->frame;
    double longest = 0;
    for (int i = 0; i < asked->nworlds; ++i) STI_TRY(measure_number(g, asked->nworld[i], &longest));
    if (asked->nworlds) return STET_OK;
    int64_t last = g->b->quick ? FIRST : LAST;
    for (int64_t n = FIRST; n <= last && longest < SLOW; n *= 2) STI_TRY(measure_number(g, n, &longest));
    return STET_OK;
}

/* ---- batches that are not alike ---------------------------------------------------------------------------------- */

typedef struct batch {
    side *side;
    const states *from;
} batch;

/* seconds [nbatch]: a row of samples for each, in turns. */
static stet_result time_batches(gpu_bench *g, const batch *batches, int nbatch, double seconds[][SAMPLES])
{
    for (int k = 0; k < SAMPLES; ++k)
        for (int i = 0; i < nbatch; ++i)
            STI_TRY(time_side(batches[i].side, batches[i].from, bench_least(g->b, 0.02), &seconds[i][k]));
    return STET_OK;
}

static stet_result add_ratio(gpu_bench *g, const side *s, const char *what, const double *above, const double *below,
                             double goal, bench_row **row)
{
    double ratio[SAMPLES];
    for (int k = 0; k < SAMPLES; ++k) ratio[k] = above[k] / below[k];
    STI_TRY(bench_add(g->b, row, ratio, SAMPLES, "times", false, "physics/%s/%s/%lld/%s", g->scene->name, g->kind,
                      (long long)s->worlds->nworld, what));
    if (goal > 0) bench_goal(*row, goal);
    return STET_OK;
}

/* All worlds have the state of one. */
static stet_result repeat_state(const side *s, const states *from, int64_t world, states *out)
{
    const mjModel *m = s->model->mj;
    const int64_t items[STATE_FIELDS] = {m->nq, m->nv, m->na, m->nu};
    out->nworld = from->nworld;
    for (int i = 0; i < STATE_FIELDS; ++i) {
        STI_TRY(sti_alloc(&out->row[i], (size_t)(from->nworld * items[i]) * sizeof(float) + 1, "equal states"));
        for (int64_t w = 0; w < from->nworld; ++w)
            memcpy(out->row[i] + w * items[i], from->row[i] + world * items[i], (size_t)items[i] * sizeof(float));
    }
    return STET_OK;
}

/* Different worlds over batches of one world each, which is another one in each sample. */
static stet_result measure_equal(gpu_bench *g, side *s)
{
    double different[SAMPLES], equal[SAMPLES];
    bench_row *row;
    for (int k = 0; k < SAMPLES; ++k) {
        states one = {.nworld = 0};
        stet_result result = repeat_state(s, &g->from, k * g->from.nworld / SAMPLES, &one);
        if (result == STET_OK) result = time_side(s, &one, bench_least(g->b, 0.02), &equal[k]);
        free_states(&one);
        if (result == STET_OK) result = time_side(s, &g->from, bench_least(g->b, 0.02), &different[k]);
        STI_TRY(result);
    }
    STI_TRY(add_ratio(g, s, "different/ratio_to_equal", different, equal, 0, &row));
    bench_note(row,
               "%lld states, over batches in which all worlds have one of them, %d of which were taken: %.1f and "
               "%.1f ns a world and step",
               (long long)g->from.nworld, SAMPLES, 1e9 * bench_median(different, SAMPLES) / steps_of(s),
               1e9 * bench_median(equal, SAMPLES) / steps_of(s));
    return STET_OK;
}

/* Worlds that lie and worlds that fly, side by side, over as many of each among their like. */
static stet_result measure_busy(gpu_bench *g, side *s)
{
    enum { LIE, FLY, BOTH, KINDS };
    states fly = {.nworld = 0}, both = {.nworld = 0};
    double seconds[KINDS][SAMPLES], alike[SAMPLES];
    bench_row *row;
    if (!has_free_root(s)) return STET_OK;
    stet_result result = lift_worlds(s, &g->from, true, &fly);
    if (result == STET_OK) result = lift_worlds(s, &g->from, false, &both);
    const batch batches[KINDS] = {{s, &g->from}, {s, &fly}, {s, &both}};
    if (result == STET_OK) result = time_batches(g, batches, KINDS, seconds);
    free_states(&fly);
    free_states(&both);
    STI_TRY(result);
    for (int k = 0; k < SAMPLES; ++k) alike[k] = (seconds[LIE][k] + seconds[FLY][k]) / 2;
    STI_TRY(add_ratio(g, s, "busy/ratio_to_equal", seconds[BOTH], alike, 0, &row));
    bench_note(row,
               "every other world flies, beside batches of one kind; a batch that flies takes %.2f times one that "
               "lies",
               bench_median(seconds[FLY], SAMPLES) / bench_median(seconds[LIE], SAMPLES));
    return STET_OK;
}

/*
 * A side that a plain one is compared with; `change` makes it what it is, note: what that was; "": there is none.
 * settles: both sides go on from the states to states of their own.
 */
typedef struct other {
    const char *name;
    double goal;
    stet_result (*change)(side *s, const side *plain, char note[BENCH_NOTE]);
    bool settles;
} other;

static stet_result change_parameters(side *s, const side *plain, char note[BENCH_NOTE])
{
    (void)plain;
    (void)snprintf(note, BENCH_NOTE,
                   "each world has masses, inertias, frictions and sizes of its own, over worlds that "
                   "share the model's");
    return make_worlds_differ(s);
}

/* A model that can have no more contacts has no row. */
static stet_result change_room(side *s, const side *plain, char note[BENCH_NOTE])
{
    int before, now;
    STI_TRY(make_more_room(s, plain, &before, &now));
    if (now) (void)snprintf(note, BENCH_NOTE, "room for %d contacts over room for %d", now, before);
    return STET_OK;
}

/* s[0] over s[1]. */
static stet_result compare_sides(gpu_bench *g, side s[2], const other *o, const char *note)
{
    states own[2] = {{.nworld = 0}, {.nworld = 0}};
    batch batches[2];
    load l[2];
    double seconds[2][SAMPLES];
    bench_row *row;
    stet_result result = STET_OK;
    for (int i = 0; i < 2 && result == STET_OK; ++i) {
        if (o->settles) result = settle(&s[i], &g->from, g->b->quick ? WARM : LATE, &own[i]);
        batches[i] = (batch){&s[i], o->settles ? &own[i] : &g->from};
        if (result == STET_OK) result = grow_room(&s[i], batches[i].from);
    }
    if (result == STET_OK) result = time_batches(g, batches, 2, seconds);
    for (int i = 0; i < 2 && result == STET_OK; ++i) result = measure_load(&s[i], &l[i]);
    if (result == STET_OK) result = add_ratio(g, &s[1], o->name, seconds[0], seconds[1], o->goal, &row);
    if (result == STET_OK)
        bench_note(row,
                   "%s: %.1f and %.1f ns a world and step; %.1f and %.1f contacts, %.1f and %.1f iterations a world; "
                   "worlds with NaN or faults: %d and %d",
                   note, 1e9 * bench_median(seconds[0], SAMPLES) / steps_of(&s[0]),
                   1e9 * bench_median(seconds[1], SAMPLES) / steps_of(&s[1]), l[0].contacts, l[1].contacts,
                   l[0].iterations, l[1].iterations, l[0].bad, l[1].bad);
    for (int i = 0; i < 2; ++i) free_states(&own[i]);
    return result;
}

static stet_result measure_other(gpu_bench *g, side *plain, const other *o)
{
    side s[2] = {{.native = NULL}, *plain};
    char note[BENCH_NOTE] = "";
    stet_result result = open_side_on(g->b, g->scene, &g->device, plain->worlds->nworld, &s[0]);
    if (result == STET_OK) result = o->change(&s[0], plain, note);
    if (result == STET_OK && note[0]) result = compare_sides(g, s, o, note);
    close_side(&s[0]);
    return result;
}

static stet_result measure_batches(gpu_bench *g)
{
    static const other others[] = {{"differ/ratio_to_equal", 1.2, change_parameters, true},
                                   {"room/ratio_to_less", 0, change_room, false}};
    const bench_frame_def *asked = &g->b->frame;
    int64_t nworld = asked->nworlds ? asked->nworld[asked->nworlds - 1] : g->b->quick ? FIRST : MIXED;
    side s = {.native = NULL};
    stet_result result = open_side_on(g->b, g->scene, &g->device, nworld, &s);
    if (result == STET_OK) result = grow_room(&s, &g->from);
    if (result == STET_OK) result = measure_equal(g, &s);
    if (result == STET_OK) result = measure_busy(g, &s);
    for (size_t k = 0; k < sizeof others / sizeof *others && result == STET_OK; ++k)
        result = measure_other(g, &s, &others[k]);
    close_side(&s);
    return result;
}

/* ---- a scene ----------------------------------------------------------------------------------------------------- */

stet_result measure_on_gpu(bench *b, const bench_scene *scene)
{
    gpu_bench g = {.b = b, .scene = scene, .device = bench_device_def(b)};
    stet_device *device;
    STI_TRY(stet_device_create(&g.device, &device));
    g.kind = kind_of(device);
    bench_name_gpu(b, device);
    stet_device_destroy(device);
    stet_result result = make_late_states(b, scene, &g.from, &g.of_states);
    if (result == STET_OK) result = measure_numbers(&g);
    if (result == STET_OK && !scene->given) result = measure_batches(&g);
    free_states(&g.from);
    return result;
}
