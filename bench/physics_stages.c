/*
 * A time step of native physics as one kernel, beside the same step as launches of groups of its stages (NATIVE-7): two
 * sides, in turns, from the same states, which have the same bits afterwards.
 *
 * States are those of native physics on the CPU after LATE steps with random controls. What is timed is CALLS calls of
 * CALL steps and the wait for them; the launches of a call are one recording, a graph on a GPU.
 */
#include "bench/physics_sides.h"

#include "base/error.h"
#include "base/memory.h"
#include "physics/native_state.h"
#include "physics/model_code.h"

#include <stdio.h>

enum { SAMPLES = 5, USUAL = 3 };
static const int64_t usual[USUAL] = {64, 1024, 8192}; /* the last on a GPU alone */
static const char *const groupings[] = {"single", "one", "three", "apart"};
enum { GROUPINGS = sizeof groupings / sizeof *groupings };

typedef struct staged {
    bench *b;
    const bench_scene *scene;
    stet_device_def device;
    const char *kind; /* of device, in names of rows */
    states from;
} staged;

/* All code is made side by side, while that for all models runs; then recordings are trusted. */
static stet_result warm_up(side *s, const states *from)
{
    enum { TIMES = 3 };
    double seconds;
    bool waits = s->device->wait_for_code;
    s->device->wait_for_code = false;
    stet_result result = grow_room(s, from);
    if (result == STET_OK) result = stet_device_wait_for_code(s->device);
    s->device->wait_for_code = waits;
    for (int i = 0; i < TIMES && result == STET_OK; ++i) result = time_side(s, from, 0, &seconds);
    return result;
}

/* The solver begins where the last step ended, of which sides have done different numbers: with this they do not. */
static stet_result forget_warm_start(side *s)
{
    stet_array *a;
    void *zero;
    STI_TRY(stet_worlds_get_array(s->worlds, "qacc_warmstart", &a));
    STI_TRY(sti_alloc(&zero, stet_array_get_bytes(a) + 1, "a warm start"));
    stet_result result = stet_array_write(a, zero, stet_array_get_bytes(a));
    sti_free(zero);
    return result;
}

static stet_result hash_after(side *s, const states *from, uint64_t *hash)
{
    stet_array *qpos;
    STI_TRY(forget_warm_start(s));
    STI_TRY(put_states(s, from));
    STI_TRY(step_side(s, CALL));
    STI_TRY(stet_worlds_get_array(s->worlds, "qpos", &qpos));
    return stet_array_hash(qpos, hash);
}

static stet_result check_equal(side s[2], const states *from, const char *grouping)
{
    uint64_t hash[2];
    for (int i = 0; i < 2; ++i) STI_TRY(hash_after(&s[i], from, &hash[i]));
    if (hash[0] == hash[1]) return STET_OK;
    return sti_error(
        STET_ERROR_STATE,
        "bench stages: one kernel and '%s' have other positions after %d steps of %lld worlds (room for %d "
        "and %d contacts; %d and %d worlds with faults)",
        grouping, CALL, (long long)s[0].worlds->nworld, sti_physics_room(&s[0].native->tables),
        sti_physics_room(&s[1].native->tables), count_faults(&s[0]), count_faults(&s[1]));
}

static stet_result add_row(staged *g, side s[2], const char *grouping, double seconds[2][SAMPLES])
{
    double ratio[SAMPLES];
    int64_t nworld = s[0].worlds->nworld;
    double each = 1e9 / ((double)nworld * CALL * CALLS);
    const sti_native *n = s[1].native;
    const sti_team *of = n->stages.single ? &n->team : &n->stages.team;
    char teams[96] = "", memory[64] = "";
    bench_row *row;
    if (s[1].device->can.compiles)
        (void)snprintf(teams, sizeof teams, "; %d and %d threads a world, %d and %d worlds a block", n->team.team,
                       of->team, n->team.teams, of->teams);
    if (!n->stages.single)
        (void)snprintf(memory, sizeof memory, "; stages have %.1f kB of memory a world",
                       (double)n->stages.memory->size / 1000 / (double)nworld);
    for (int k = 0; k < SAMPLES; ++k) ratio[k] = seconds[0][k] / seconds[1][k];
    STI_TRY(bench_add(g->b, &row, ratio, SAMPLES, "times", false, "physics/%s/%s/%lld/fused_over_staged/%s",
                      g->scene->name, g->kind, (long long)nworld, grouping));
    bench_note(row,
               "the time of one kernel over that of %d launches a time step: %.1f and %.1f ns a world and step%s%s; "
               "equal positions after %d steps",
               n->stages.single ? 1 : n->stages.n + 1, each * bench_median(seconds[0], SAMPLES),
               each * bench_median(seconds[1], SAMPLES), memory, teams, CALL);
    return STET_OK;
}

static stet_result measure_grouping(staged *g, side s[2], const char *grouping)
{
    double seconds[2][SAMPLES];
    STI_TRY(warm_up(&s[0], &g->from));
    STI_TRY(sti_native_set_stages(s[1].native, grouping));
    STI_TRY(sti_native_set_room(s[1].native, sti_physics_room(&s[0].native->tables)));
    STI_TRY(warm_up(&s[1], &g->from));
    STI_TRY(check_equal(s, &g->from, grouping));
    for (int k = 0; k < SAMPLES; ++k)
        for (int i = 0; i < 2; ++i) STI_TRY(time_side(&s[i], &g->from, bench_least(g->b, 0.02), &seconds[i][k]));
    return add_row(g, s, grouping, seconds);
}

static stet_result measure_number(staged *g, int64_t nworld)
{
    side s[2] = {{.native = NULL}, {.native = NULL}};
    stet_result result = STET_OK;
    for (int i = 0; i < 2 && result == STET_OK; ++i) result = open_side_on(g->b, g->scene, &g->device, nworld, &s[i]);
    for (int k = 0; k < GROUPINGS && result == STET_OK; ++k) result = measure_grouping(g, s, groupings[k]);
    for (int i = 0; i < 2; ++i) close_side(&s[i]);
    return result;
}

stet_result measure_stages_of(bench *b, const bench_scene *scene)
{
    staged g = {.b = b, .scene = scene, .device = bench_device_def(b), .kind = "cpu"};
    const bench_frame_def *asked = &b->frame;
    stet_device *device;
    STI_TRY(stet_device_create(&g.device, &device));
    if (stet_device_get_type(device) != STET_DEVICE_CPU) {
        g.kind = stet_device_get_type(device) == STET_DEVICE_HIP ? "hip" : "cuda";
        bench_name_gpu(b, device);
    }
    int n = asked->nworlds ? asked->nworlds : b->quick ? 1 : USUAL - (stet_device_get_type(device) == STET_DEVICE_CPU);
    stet_device_destroy(device);
    stet_result result = make_late_states(b, scene, &g.from, NULL);
    for (int i = 0; i < n && result == STET_OK; ++i)
        result = measure_number(&g, asked->nworlds ? asked->nworld[i] : usual[i]);
    free_states(&g.from);
    return result;
}
