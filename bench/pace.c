/*
 * stet-pace FILE: what pace.c is fitted to, and checked on, of one model: native physics and mj_step on one core, from
 * states after WARM steps with random controls, in turns, and what the estimate counts. bench/pace.py runs it for the
 * models of other projects, since a model may end the process.
 *
 * One JSON object on standard output. Times are microseconds a world and step, medians of the processor's time. Neither
 * side computes sensors.
 */
#include "bench/physics_sides.h"

#include "base/error.h"
#include "device/isa.h"
#include "model/model.h"
#include "physics/features.h"
#include "physics/pace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS = 5, STEPS = 6, ISAS = 2 };
static const double LEAST = 0.003; /* s of a sample */

/* What is measured: worlds, and in which lanes, beside MuJoCo's with as many. */
static const struct {
    int64_t nworld;
    const char *isa[ISAS]; /* NULL: none */
} cases[] = {{1, {"w1", NULL}}, {4, {"avx2", "avx512"}}, {64, {"avx2", "avx512"}}};

typedef struct sides {
    side s[ISAS + 1]; /* native physics, and behind the last MuJoCo's */
    int n;
    states from;
} sides;

static double processor_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of a world's step. */
static stet_result time_steps(side *s, const states *from, double *seconds)
{
    double spent = 0;
    int n = 0;
    for (; n == 0 || spent < LEAST; ++n) {
        STI_TRY(put_states(s, from));
        double start = processor_seconds();
        STI_TRY(step_side(s, STEPS));
        STI_TRY(stet_device_synchronize(s->device));
        spent += processor_seconds() - start;
    }
    *seconds = spent / ((double)n * STEPS * (double)s->worlds->nworld);
    return STET_OK;
}

static void close_sides(sides *all)
{
    for (int i = 0; i <= all->n; ++i) close_side(&all->s[i]);
    free_states(&all->from);
}

/* With states that native physics has led to: that takes less time. */
static stet_result open_sides(const bench *b, const bench_scene *scene, size_t which, sides *all)
{
    int64_t nworld = cases[which].nworld;
    sti_isa isa;
    for (int i = 0; i < ISAS && cases[which].isa[i]; ++i)
        if (sti_isa_find(cases[which].isa[i], &isa) && sti_isa_available(isa))
            STI_TRY(open_side(b, scene, true, 1, nworld, cases[which].isa[i], CUT_NOTHING, &all->s[all->n++]));
    if (all->n == 0) return STET_OK;
    STI_TRY(open_side(b, scene, false, 1, nworld, NULL, CUT_NOTHING, &all->s[all->n]));
    side *last = &all->s[all->n - 1];
    STI_TRY(push_worlds(last));
    return make_states(last, WARM, &all->from);
}

static void print_sample(const side *s, bool first, const double us[2], const load *l)
{
    (void)printf("%s{\"lanes\": %d, \"worlds\": %lld, \"native\": %.4g, \"mujoco\": %.4g, \"rows\": %.3g, "
                 "\"iterations\": %.3g}",
                 first ? "" : ", ", stet_device_get_lanes(s->device), (long long)s->worlds->nworld, us[0], us[1],
                 l->rows, l->iterations);
}

static stet_result measure(const bench *b, const bench_scene *scene, size_t which)
{
    sides all = {.n = 0};
    double seconds[ISAS + 1][TURNS];
    stet_result result = open_sides(b, scene, which, &all);
    for (int k = -1; k < TURNS; ++k) /* the first turn makes room, and fills caches */
        for (int i = 0; i <= all.n && all.n > 0; ++i)
            if (result == STET_OK) result = time_steps(&all.s[i], &all.from, &seconds[i][k < 0 ? 0 : k]);
    for (int i = 0; i < all.n; ++i) {
        load l;
        if (result == STET_OK) result = measure_load(&all.s[i], &l);
        if (result != STET_OK) break;
        double us[2] = {1e6 * bench_median(seconds[i], TURNS), 1e6 * bench_median(seconds[all.n], TURNS)};
        print_sample(&all.s[i], which == 0 && i == 0, us, &l);
    }
    close_sides(&all);
    return result;
}

/* Those that are not 0. */
static void print_counts(const mjModel *m)
{
    double counts[STI_PACE_MOST];
    const char *name, *comma = "";
    (void)sti_physics_pace_counts(m, m->nkey > 0 ? 0 : -1, counts);
    (void)printf("{");
    for (int k = 0; (name = sti_physics_pace_name(k)) != NULL; ++k) {
        if (counts[k] == 0) continue;
        (void)printf("%s\"%s\": %.17g", comma, name, counts[k]);
        comma = ", ";
    }
    (void)printf("}");
}

static stet_result measure_model(const char *path)
{
    const bench b = {.threads = 1};
    const bench_scene scene = {.name = path, .text = path, .given = true};
    stet_model *model;
    bool covered = true, has;
    STI_TRY(load_scene(&b, &scene, CUT_NOTHING, &model));
    for (int i = 0; stet_native_get_feature(model, i, &has) != NULL; ++i) covered = covered && has;
    (void)printf("{\"covered\": %s, \"counts\": ", covered ? "true" : "false");
    print_counts(model->mj);
    bool alone = sti_physics_count_lanes(model->mj, 2) == 1;
    stet_model_destroy(model);
    (void)printf(", \"samples\": [");
    size_t n = sizeof cases / sizeof *cases;
    if (alone) n = 1; /* more worlds have vectors of one, too */
    for (size_t k = 0; covered && k < n; ++k) STI_TRY(measure(&b, &scene, k));
    (void)printf("]}\n");
    return STET_OK;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: stet-pace FILE\n\nMeasures a model's time steps; bench/pace.py runs this.\n");
        return 2;
    }
    if (measure_model(argv[1]) == STET_OK) return 0;
    (void)fprintf(stderr, "%s\n", stet_get_last_error());
    return 1;
}
