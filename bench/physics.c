/*
 * Native physics beside MuJoCo's: the same model, worlds, controls and time steps in one process, with the same number
 * of threads, in turns.
 */
#include "bench/bench.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

/* Models that need only what native physics covers. */
#define FLAGS "<flag contact='disable' limit='disable'/>"
#define LINK(n)                                                                                                        \
    "<body pos='0 0 -.3'><joint axis='" n "' damping='.01'/><geom type='capsule' size='.03' fromto='0 0 0 0 0 -.3'/>"

static const struct {
    const char *name, *text;
    double goal;
} models[] = {
    {"cartpole",
     "<mujoco><option timestep='.005' integrator='implicitfast'>" FLAGS
     "</option><worldbody><body pos='0 0 .85'><joint "
     "name='slider' type='slide' axis='1 0 0' damping='.05'/><geom type='box' size='.2 .1 .075' mass='1'/><body pos='0 "
     "-.125 .03'><joint axis='0 1 0' damping='.002'/><geom type='capsule' fromto='0 0 0 0 0 .65' size='.018' "
     "mass='.1'/></body></body></worldbody><actuator><motor joint='slider' gear='10' ctrlrange='-1 1'/></actuator>"
     "</mujoco>",
     20},
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
     20},
    {"chain",
     "<mujoco><option timestep='.002'>" FLAGS "</option><worldbody>" LINK("0 1 0") LINK("1 0 0") LINK("0 1 0")
         LINK("1 0 0") LINK("0 1 0") LINK("1 0 0") LINK("0 1 0") LINK("1 0 0") LINK("0 1 0") LINK(
             "1 0 0") "</body></body></body></body></body></body></body></body></body></body></worldbody></mujoco>",
     10},
};
enum { MODELS = sizeof models / sizeof *models, STEPS = 10 };

typedef struct side {
    stet_sim *sim;
} side;

static stet_result run_side(void *context) { return stet_sim_step(((side *)context)->sim, STEPS); }

static stet_result open_side(const char *text, stet_physics physics, int threads, int64_t nworld, side *s)
{
    stet_sim_def def = stet_default_sim_def();
    stet_model *model;
    def.nworld = nworld;
    def.device = bench_cpu_def();
    def.device.threads = threads;
    def.outputs = 0;
    def.physics = physics;
    STI_TRY(stet_model_load_string(text, &model));
    stet_result result = stet_sim_create(model, &def, &s->sim);
    stet_model_destroy(model);
    STI_TRY(result);
    STI_TRY(stet_sim_control_noise(s->sim, 0.3, 20));
    for (int i = 0; i < 10; ++i) STI_TRY(run_side(s));
    return STET_OK;
}

static int count_faults(const side *s)
{
    const uint32_t *faults = stet_worlds_get_faults(stet_sim_get_worlds(s->sim));
    int n = 0;
    for (int64_t w = 0; w < stet_worlds_get_nworld(stet_sim_get_worlds(s->sim)); ++w) n += faults[w] != 0;
    return n;
}

static stet_result measure_sides(bench *b, int model, int threads, int64_t nworld, side s[2])
{
    bench_work turns[2] = {{run_side, &s[0], NULL}, {run_side, &s[1], NULL}};
    double seconds[2][BENCH_SAMPLES], ratio[BENCH_SAMPLES];
    bench_row *row;
    STI_TRY(bench_in_turns(turns, 2, bench_least(b, 0.02), seconds));
    for (int k = 0; k < BENCH_SAMPLES; ++k) ratio[k] = seconds[1][k] / seconds[0][k];
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times", true, "physics/%s/cpu%d/worlds_%lld/ratio_to_mujoco",
                      models[model].name, threads, (long long)nworld));
    if (nworld > 1) bench_goal(row, models[model].goal);
    double each = 1e9 / ((double)nworld * STEPS);
    bench_note(row, "%.0f ns a world and step on %s, MuJoCo %.0f; %d thread%s, %d steps a call; worlds with faults: %d",
               bench_median(seconds[0], BENCH_SAMPLES) * each, stet_device_get_name(stet_sim_get_device(s[0].sim)),
               bench_median(seconds[1], BENCH_SAMPLES) * each, threads, threads == 1 ? "" : "s", STEPS,
               count_faults(&s[0]) + count_faults(&s[1]));
    return STET_OK;
}

static stet_result measure_model(bench *b, int model, int threads, int64_t nworld)
{
    side s[2] = {{NULL}, {NULL}};
    stet_result result = open_side(models[model].text, STET_PHYSICS_NATIVE, threads, nworld, &s[0]);
    if (result == STET_OK) result = open_side(models[model].text, STET_PHYSICS_MUJOCO, threads, nworld, &s[1]);
    if (result == STET_OK) result = measure_sides(b, model, threads, nworld, s);
    stet_sim_destroy(s[0].sim);
    stet_sim_destroy(s[1].sim);
    return result;
}

stet_result bench_physics(bench *b)
{
    static const int64_t worlds[] = {1, 1024, 8192};
    stet_result result = STET_OK;
    for (int i = 0; i < MODELS; ++i)
        for (int k = 0; k < (b->quick ? 1 : 3) && result == STET_OK; ++k) result = measure_model(b, i, 1, worlds[k]);
    return result;
}
