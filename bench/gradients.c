/*
 * Gradients through native physics: steps of shipped scenes as they are, recorded on a tape, and a pass back through
 * them; and the adjoint of a step by itself, without the step that a pass makes again. One core of a CPU, or the GPU
 * that was asked for.
 *
 * States are those of native physics after WARM steps with random controls. Each repetition puts them back.
 */
#include "bench/physics_sides.h"

#include "base/error.h"
#include "base/memory.h"
#include "physics/native_pull.h"
#include "physics/native_state.h"
#include "stet/adjoint.h"

enum { STEPS = 16 };
typedef enum way { FORWARD, RECORDED, BACKWARD, ADJOINT, WAYS } way;

static const bench_scene scenes[] = {{.name = "humanoid", .text = "humanoid.xml"},
                                     {.name = "hand", .text = "hand.xml"},
                                     {.name = "quadruped", .text = "quadruped.xml"},
                                     {.name = "arm", .text = "arm_table.xml"}};
static const int64_t usual[] = {1, 64, 1024, 8192};

typedef struct run {
    side s;
    states from;
    stet_tape *tape;
    float *ones; /* gradients of the state after the steps */
} run;

/* ---- the ways ---------------------------------------------------------------------------------------------------- */

static stet_result field_of(const run *r, const char *name, stet_array **out)
{
    return stet_worlds_get_array(r->s.worlds, name, out);
}

static stet_result step_all(run *r)
{
    for (int k = 0; k < STEPS; ++k) STI_TRY(step_side(&r->s, 1));
    return STET_OK;
}

static stet_result step_recorded(run *r)
{
    for (int k = 0; k < STEPS; ++k) {
        STI_TRY(stet_tape_step(r->tape));
        STI_TRY(step_side(&r->s, 1));
    }
    return STET_OK;
}

static stet_result record_all(run *r)
{
    STI_TRY(stet_tape_begin(r->tape));
    return stet_tape_end(r->tape, step_recorded(r));
}

static stet_result seed_gradients(const run *r)
{
    static const char *const names[] = {"qpos", "qvel"};
    STI_TRY(stet_tape_zero(r->tape));
    for (int k = 0; k < 2; ++k) {
        stet_array *a, *g;
        STI_TRY(field_of(r, names[k], &a));
        STI_TRY(stet_tape_get_gradient(r->tape, a, &g));
        STI_TRY(stet_array_write(g, r->ones, (size_t)(r->s.worlds->nworld * a->nitem) * sizeof *r->ones));
    }
    return STET_OK;
}

static stet_result pull_all(run *r)
{
    sti_native_before before;
    sti_native_gradients to;
#define BEFORE(name) STI_TRY(field_of(r, #name, &before.name))
#define BOTH(name)                                                                                                     \
    BEFORE(name);                                                                                                      \
    STI_TRY(stet_tape_get_gradient(r->tape, before.name, &to.name))
    BOTH(qpos);
    BOTH(qvel);
    BOTH(act);
    BOTH(ctrl);
    BOTH(qfrc_applied);
    BOTH(xfrc_applied);
    BOTH(mocap_pos);
    BOTH(mocap_quat);
    BEFORE(eq_active);
    STI_TRY(field_of(r, "qacc_warmstart", &before.qacc));
#undef BEFORE
#undef BOTH
    for (int k = 0; k < STEPS; ++k)
        STI_TRY(sti_native_pull(r->s.native, r->s.native->stepped.array, &before, &to, NULL));
    return STET_OK;
}

/* What is timed begins with the states, and a tape or gradients where it needs them. */
static stet_result prepare(run *r, way how)
{
    if (how == BACKWARD) return seed_gradients(r);
    STI_TRY(put_states(&r->s, &r->from));
    return how == ADJOINT ? seed_gradients(r) : STET_OK;
}

static stet_result run_way(run *r, way how)
{
    switch (how) {
    case FORWARD: return step_all(r);
    case RECORDED: return record_all(r);
    case BACKWARD: return stet_tape_backward(r->tape);
    default: return pull_all(r);
    }
}

/* Seconds of a way: the mean of as many repetitions as `least` takes. */
static stet_result time_way(run *r, way how, double least, double *seconds)
{
    int n = 0;
    for (*seconds = 0; n == 0 || *seconds < least; ++n) {
        STI_TRY(prepare(r, how));
        STI_TRY(stet_device_synchronize(r->s.device));
        double begin = bench_now();
        STI_TRY(run_way(r, how));
        STI_TRY(stet_device_synchronize(r->s.device));
        *seconds += bench_now() - begin;
    }
    *seconds /= n;
    return STET_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static stet_result add_ratio(bench *b, const run *r, const char *scene, double seconds[WAYS][BENCH_SAMPLES], way how,
                             double goal, const char *name)
{
    double ratio[BENCH_SAMPLES], each = 1e9 / ((double)r->s.worlds->nworld * STEPS);
    const char *device = r->s.device->can.compiles ? "gpu" : "cpu";
    bench_row *row;
    for (int k = 0; k < BENCH_SAMPLES; ++k) ratio[k] = seconds[how][k] / seconds[FORWARD][k];
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "times", false, "gradients/%s/%s/%lld/%s", scene, device,
                      (long long)r->s.worlds->nworld, name));
    bench_goal(row, goal);
    bench_note(row, "%.0f ns a world and step; forward %.0f; %d steps on %s",
               bench_median(seconds[how], BENCH_SAMPLES) * each, bench_median(seconds[FORWARD], BENCH_SAMPLES) * each,
               STEPS, stet_device_get_name(r->s.device));
    return STET_OK;
}

static stet_result add_memory(bench *b, const run *r, const char *scene)
{
    stet_tape_info info = stet_tape_get_info(r->tape);
    double nworld = (double)r->s.worlds->nworld, kB;
    bench_row *row;
    kB = (double)(info.checkpoint_bytes + info.undo_bytes + info.gradient_bytes + info.stack_bytes) / 1e3 / nworld;
    STI_TRY(bench_add(b, &row, &kB, 1, "kB", false, "gradients/%s/%s/%lld/tape_kB_a_world", scene,
                      r->s.device->can.compiles ? "gpu" : "cpu", (long long)r->s.worlds->nworld));
    bench_note(row, "%lld steps, %lld checkpoints %.1f kB, what a segment overwrites %.1f, gradients %.1f",
               (long long)info.steps, (long long)info.checkpoints, (double)info.checkpoint_bytes / 1e3 / nworld,
               (double)info.undo_bytes / 1e3 / nworld, (double)info.gradient_bytes / 1e3 / nworld);
    return STET_OK;
}

static stet_result measure_run(bench *b, run *r, const char *scene, bool first)
{
    double seconds[WAYS][BENCH_SAMPLES], ms;
    bench_row *row;
    STI_TRY(put_states(&r->s, &r->from));
    STI_TRY(record_all(r));
    STI_TRY(seed_gradients(r));
    STI_TRY(time_way(r, BACKWARD, 0, &ms));
    ms *= 1e3;
    if (first) {
        STI_TRY(bench_add(b, &row, &ms, 1, "ms", false, "gradients/%s/%s/first_backward_ms", scene,
                          r->s.device->can.compiles ? "gpu" : "cpu"));
        bench_note(row, "the first pass of a sim of %lld worlds, its code with it", (long long)r->s.worlds->nworld);
    }
    for (int k = 0; k < BENCH_SAMPLES; ++k)
        for (way how = FORWARD; how < WAYS; ++how) STI_TRY(time_way(r, how, bench_least(b, 0.02), &seconds[how][k]));
    STI_TRY(add_ratio(b, r, scene, seconds, RECORDED, 1.1, "recorded_over_forward"));
    STI_TRY(add_ratio(b, r, scene, seconds, BACKWARD, 1.5, "backward_over_forward"));
    STI_TRY(add_ratio(b, r, scene, seconds, ADJOINT, 1, "adjoint_over_forward"));
    return add_memory(b, r, scene);
}

static stet_result open_run(bench *b, const bench_scene *scene, int64_t nworld, run *r)
{
    stet_device_def def = bench_device_def(b);
    stet_tape_def tape = stet_default_tape_def();
    def.nworld = nworld;
    if (def.type != STET_DEVICE_CUDA && def.type != STET_DEVICE_HIP) def.threads = 1;
    STI_TRY(open_side_on(b, scene, &def, nworld, &r->s));
    bench_name_gpu(b, r->s.device);
    STI_TRY(make_states(&r->s, b->quick ? 0 : WARM, &r->from));
    size_t n = (size_t)(nworld * r->s.model->mj->nq);
    STI_TRY(sti_alloc(&r->ones, n * sizeof *r->ones, "gradients of a benchmark"));
    for (size_t i = 0; i < n; ++i) r->ones[i] = 1;
    return stet_tape_create(r->s.device, &tape, &r->tape);
}

static stet_result measure_scene(bench *b, const bench_scene *scene, int64_t nworld, bool first)
{
    run r = {.tape = NULL};
    bench_progress("gradients of %s, %lld worlds", scene->name, (long long)nworld);
    stet_result result = open_run(b, scene, nworld, &r);
    if (result == STET_OK) result = measure_run(b, &r, scene->name, first);
    stet_tape_destroy(r.tape);
    sti_free(r.ones);
    close_side(&r.s);
    free_states(&r.from);
    return result;
}

stet_result bench_gradients(bench *b)
{
    static const int64_t few[] = {4};
    const int64_t *nworld = b->quick ? few : b->frame.nworlds > 0 ? b->frame.nworld : usual;
    int n = b->quick ? 1 : b->frame.nworlds > 0 ? b->frame.nworlds : (int)(sizeof usual / sizeof *usual);
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k)
        for (int i = 0; i < n; ++i) {
            STI_TRY(measure_scene(b, &scenes[k], nworld[i], i == 0));
            STI_TRY(bench_keep(b));
        }
    return STET_OK;
}
