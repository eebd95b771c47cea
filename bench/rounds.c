/*
 * Rounds of the springs: the cost of beginning one after the first set-up, and one sim for all rounds against a new sim
 * for each. Then rounds of hands, with their physics and pictures.
 */
#include "bench/bench.h"

#include "base/error.h"
#include "base/memory.h"
#include "device/device.h"
#include "bench/pilot/springs.h"
#include "stet/round.h"

#include <stdio.h>
#include <string.h>

enum { WORLDS = 1225, STEPS = 10, FEW_WORLDS = 64, FEW_HANDS = 4, COPIES = 20 };

static const char scene[] = "<mujoco><worldbody/></mujoco>"; /* the springs are kernels and arrays of their own */

typedef struct task {
    bench *b;
    int64_t nworld;
    stet_model *model;
    stet_sim_def def;
    stet_sim *sim;
    sti_springs springs;
    size_t size;
    char *start, *still, *end, *other; /* positions, velocities: of the beginning and the end; other positions */
    double setup;                      /* of the latest round, seconds */
    stet_array *held[2];               /* each as large as an input */
} task;

static bool is_gpu(const stet_device *device)
{
    return stet_device_get_type(device) == STET_DEVICE_CUDA || stet_device_get_type(device) == STET_DEVICE_HIP;
}

static stet_result open_sim(task *t)
{
    STI_TRY(stet_sim_create(t->model, &t->def, &t->sim));
    return sti_springs_create(stet_sim_get_device(t->sim), t->nworld, &t->springs);
}

static void close_sim(task *t)
{
    if (t->springs.device) sti_springs_destroy(&t->springs);
    stet_sim_destroy(t->sim);
    t->springs = (sti_springs){0};
    t->sim = NULL;
}

static stet_result steps(task *t)
{
    for (int i = 0; i < STEPS; ++i) STI_TRY(sti_springs_step(&t->springs, true));
    return STET_OK;
}

static stet_result one_round(void *context)
{
    task *t = context;
    stet_round_value in[] = {stet_round_array(t->springs.pos, STET_DIRECTION_IN, t->start, t->size),
                             stet_round_array(t->springs.vel, STET_DIRECTION_IN, t->still, t->size)};
    in[0].generation = in[1].generation = 1; /* they are never written, so begin need not compare the bytes */
    stet_round_value out = stet_round_array(t->springs.pos, STET_DIRECTION_OUT, t->end, t->size);
    STI_TRY(stet_sim_round_begin(t->sim, in, 2));
    STI_TRY(steps(t));
    t->setup = stet_sim_get_round(t->sim).setup;
    return stet_sim_round_end(t->sim, &out, 1);
}

/* A run without rounds. */
static stet_result one_sim(void *context)
{
    task *t = context;
    stet_result result = open_sim(t);
    if (result == STET_OK) result = stet_array_write(t->springs.pos, t->start, t->size);
    if (result == STET_OK) result = stet_array_write(t->springs.vel, t->still, t->size);
    if (result == STET_OK) result = steps(t);
    if (result == STET_OK) result = stet_array_read(t->springs.pos, t->end, t->size);
    close_sim(t);
    return result;
}

static stet_result open_task(task *t, const char *folder)
{
    t->nworld = t->b->quick ? FEW_WORLDS : WORLDS;
    t->def = stet_default_sim_def();
    t->def.device = t->b->device;
    t->def.device.threads = t->b->threads;
    t->def.device.cache_folder = folder;
    t->def.physics = STET_PHYSICS_EXTERNAL;
    t->def.nworld = t->nworld;
    STI_TRY(stet_model_load_string(scene, &t->model));
    STI_TRY(open_sim(t)); /* compiles what there is to compile; and says where masses begin */
    bench_name_gpu(t->b, stet_sim_get_device(t->sim));
    t->size = stet_array_get_bytes(t->springs.pos);
    STI_TRY(sti_alloc(&t->start, 4 * t->size, "positions of masses"));
    t->still = t->start + t->size;
    t->end = t->still + t->size;
    t->other = t->end + t->size;
    STI_TRY(stet_array_read(t->springs.pos, t->start, t->size));
    STI_TRY(steps(t));
    close_sim(t);
    return STET_OK;
}

/* From nothing to the end of the first set-up, with kernels on disk; then the set-ups of later rounds. */
static stet_result measure_setup(bench *b, task *t)
{
    double first[BENCH_SAMPLES], later[BENCH_SAMPLES], fraction[BENCH_SAMPLES];
    bench_row *row;
    for (int k = 0; k < BENCH_SAMPLES; ++k) {
        double start = bench_now();
        STI_TRY(open_sim(t));
        double made = bench_now() - start;
        STI_TRY(one_round(t));
        first[k] = made + t->setup;
        /*
         * Restores what a round wrote: for the first time, then by a recording that is compared, then by a trusted
         * recording.
         */
        for (int i = 0; i < 3; ++i) STI_TRY(one_round(t));
        later[k] = t->setup;
        fraction[k] = later[k] / first[k];
        if (stet_sim_get_round(t->sim).bytes_in)
            return sti_error(STET_ERROR_STATE, "bench rounds: a later round copied in what was there");
        close_sim(t);
    }
    STI_TRY(bench_add(b, &row, first, BENCH_SAMPLES, "s", false, "rounds/first_setup_s"));
    bench_note(row, "springs, %lld worlds: from no sim to the beginning of its first round, kernels compiled before",
               (long long)t->nworld);
    for (int k = 0; k < BENCH_SAMPLES; ++k) later[k] *= 1e6;
    STI_TRY(bench_add(b, &row, later, BENCH_SAMPLES, "us", false, "rounds/later_setup_us"));
    bench_note(row, "to the beginning of the fourth, with the same inputs, each with a generation");
    STI_TRY(bench_add(b, &row, fraction, BENCH_SAMPLES, "of the first", false, "rounds/later_setup_fraction"));
    bench_goal(row, 0.01);
    return STET_OK;
}

/* ---- a round's beginning beside its copies ----------------------------------------------------------------------- */

/*
 * A round in which one input differs from the round before, and the other one was written in that round; timed until
 * both are on the device.
 */
static stet_result begin_other(task *t, int turn)
{
    stet_round_value in[] = {
        stet_round_array(t->springs.pos, STET_DIRECTION_IN, turn % 2 ? t->start : t->other, t->size),
        stet_round_array(t->springs.vel, STET_DIRECTION_IN, t->still, t->size)};
    in[1].generation = 1; /* it is never written */
    STI_TRY(stet_sim_round_begin(t->sim, in, 2));
    return stet_device_synchronize(stet_sim_get_device(t->sim));
}

/* The copies alone: uploads the input that differs, and restores both arrays. */
static stet_result copy_other(task *t, int turn)
{
    STI_TRY(stet_array_write(t->held[0], turn % 2 ? t->start : t->other, t->size));
    STI_TRY(stet_array_copy(t->springs.pos, t->held[0]));
    STI_TRY(stet_array_copy(t->springs.vel, t->held[1]));
    return stet_device_synchronize(stet_sim_get_device(t->sim));
}

typedef stet_result turn_fn(task *t, int turn);

static stet_result add_time(turn_fn *f, task *t, int turn, double *seconds)
{
    double start = bench_now();
    STI_TRY(f(t, turn));
    *seconds += bench_now() - start;
    return STET_OK;
}

/* Seconds of one. The two alternate in going first, because the second finds the bytes in the caches. */
static stet_result time_copies(task *t, int turns, double *begun, double *copied)
{
    *begun = *copied = 0;
    for (int i = 0; i < turns; ++i) {
        bool late = i & 2;
        STI_TRY(add_time(late ? copy_other : begin_other, t, i, late ? copied : begun));
        STI_TRY(add_time(late ? begin_other : copy_other, t, i, late ? begun : copied));
        STI_TRY(stet_sim_round_end(t->sim, NULL, 0));
        if (stet_sim_get_round(t->sim).bytes_in != (int64_t)t->size)
            return sti_error(STET_ERROR_STATE, "bench rounds: a round did not copy in what differs, and that alone");
    }
    *begun /= turns;
    *copied /= turns;
    return STET_OK;
}

static stet_result open_copies(task *t)
{
    memcpy(t->other, t->start, t->size);
    t->other[0] ^= 1;
    STI_TRY(open_sim(t));
    const stet_array *a = t->springs.pos;
    for (int k = 0; k < 2; ++k)
        STI_TRY(sti_array_new(stet_sim_get_device(t->sim), "what is put back", stet_array_get_dtype(a), true,
                              stet_array_get_ndim(a), stet_array_get_shape(a), &t->held[k]));
    return STET_OK;
}

static void close_copies(task *t)
{
    for (int k = 0; k < 2; ++k) {
        stet_array_destroy(t->held[k]);
        t->held[k] = NULL;
    }
    close_sim(t);
}

/* The cost of begin beyond its copies. */
static stet_result measure_copies(bench *b, task *t)
{
    enum { WARM = 12 }; /* all is set up, and the recording of what is put back trusted */
    double ratio[BENCH_SAMPLES], begun = 0, copied = 1;
    bench_row *row;
    STI_TRY(open_copies(t));
    STI_TRY(begin_other(t, 1)); /* takes both in */
    STI_TRY(time_copies(t, WARM, &begun, &copied));
    for (int k = 0; k < BENCH_SAMPLES; ++k) {
        STI_TRY(time_copies(t, b->quick ? 4 : COPIES, &begun, &copied));
        ratio[k] = begun / copied;
    }
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "x", false, "rounds/setup_over_copy"));
    if (is_gpu(stet_sim_get_device(t->sim))) bench_goal(row, 1.1);
    bench_note(
        row,
        "beginning a round of which one input of %zu bytes changed and two arrays were written, beside its copies "
        "alone: %.3g us",
        t->size, 1e6 * copied);
    close_copies(t);
    return STET_OK;
}

static stet_result measure_ratio(bench *b, task *t)
{
    double seconds[2][BENCH_SAMPLES], ratio[BENCH_SAMPLES];
    bench_row *row;
    task other = *t; /* its sim is made and destroyed each time */
    STI_TRY(open_sim(t));
    const bench_work work[] = {{.run = one_round, .context = t}, {.run = one_sim, .context = &other}};
    for (int i = 0; i < 3; ++i) STI_TRY(one_round(t));
    STI_TRY(bench_in_turns(work, 2, bench_least(b, 0.02), seconds));
    for (int k = 0; k < BENCH_SAMPLES; ++k) ratio[k] = seconds[1][k] / seconds[0][k];
    STI_TRY(bench_add(b, &row, seconds[0], BENCH_SAMPLES, "s", false, "rounds/round_s"));
    bench_note(row, "%d steps of the springs, positions out", STEPS);
    STI_TRY(bench_add(b, &row, ratio, BENCH_SAMPLES, "x", true, "rounds/ratio_to_recreate"));
    if (is_gpu(stet_sim_get_device(t->sim))) bench_goal(row, 20);
    bench_note(row, "the same in a sim that is made and destroyed for each round: %.3g s",
               bench_median(seconds[1], BENCH_SAMPLES));
    return STET_OK;
}

/* ---- rounds of hands --------------------------------------------------------------------------------------------- */

/* Hands, where they begin, differently in each round, and where they end. */
typedef struct hands {
    stet_model *model;
    stet_sim_def def;
    stet_sim *sim;
    size_t size; /* bytes of qpos */
    float *start, *end;
    uint64_t turn;
} hands;

static stet_result one_hands_round(hands *h)
{
    stet_round_value in = stet_round_in("qpos", h->start, h->size), out = stet_round_out("qpos", h->end, h->size);
    uint64_t hash;
    h->start[0] += 1e-4f; /* its content differs */
    in.generation = ++h->turn;
    STI_TRY(stet_sim_round_begin(h->sim, &in, 1));
    for (int i = 0; i < STEPS; ++i) {
        STI_TRY(stet_sim_control_noise(h->sim, 0.3, i));
        STI_TRY(stet_sim_step(h->sim, 2));
        STI_TRY(stet_sim_render(h->sim, NULL));
    }
    STI_TRY(stet_sim_hash_frame(h->sim, STET_FRAME_LATEST, &hash));
    return stet_sim_round_end(h->sim, &out, 1);
}

static stet_result prepare_hands(hands *h, bench *b)
{
    char path[512];
    stet_array *qpos;
    (void)snprintf(path, sizeof path, "%s/hand.xml", b->scenes);
    h->def = stet_default_sim_def();
    h->def.device = bench_device_def(b);
    h->def.nworld = b->quick ? FEW_HANDS : WORLDS;
    h->def.physics = STET_PHYSICS_NATIVE;
    h->def.outputs = 1u << STET_OUTPUT_RGB | 1u << STET_OUTPUT_DEPTH;
    bool gpu = b->device.type == STET_DEVICE_CUDA || b->device.type == STET_DEVICE_HIP;
    h->def.width = h->def.height = b->quick ? 16 : gpu ? 120 : 64;
    STI_TRY(stet_model_load(path, &h->model));
    STI_TRY(stet_sim_create(h->model, &h->def, &h->sim)); /* compiles what there is to compile */
    STI_TRY(stet_worlds_get_array(stet_sim_get_worlds(h->sim), "qpos", &qpos));
    h->size = stet_array_get_bytes(qpos);
    STI_TRY(sti_alloc(&h->start, 2 * h->size, "positions of hands"));
    h->end = h->start + h->size / sizeof *h->start;
    STI_TRY(stet_array_read(qpos, h->start, h->size));
    STI_TRY(one_hands_round(h));
    stet_sim_destroy(h->sim);
    h->sim = NULL;
    return STET_OK;
}

/* Twenty rounds in one sim; the first ones are cold. */
static stet_result time_hands(bench *b, hands *h)
{
    enum { ROUNDS = 20, COLD = ROUNDS - BENCH_SAMPLES };
    double round[ROUNDS], begin[ROUNDS], ratio[ROUNDS], made, start = bench_now();
    long long n = (long long)h->def.nworld;
    bench_row *row;
    STI_TRY(stet_sim_create(h->model, &h->def, &h->sim));
    made = bench_now() - start;
    for (int r = 0; r < ROUNDS; ++r) {
        start = bench_now();
        STI_TRY(one_hands_round(h));
        round[r] = bench_now() - start;
        begin[r] = stet_sim_get_round(h->sim).setup;
        stet_reason why = stet_sim_get_round(h->sim).why;
        if (r > 0 && why != STET_REASON_NONE)
            return sti_error(STET_ERROR_STATE, "bench rounds: round %d of hands set everything up again", r + 1);
    }
    made += round[0];
    for (int r = COLD; r < ROUNDS; ++r) ratio[r] = made / round[r];
    STI_TRY(bench_add(b, &row, round + COLD, ROUNDS - COLD, "s", false, "rounds/hand/round_s"));
    bench_note(row,
               "%lld hands, %d frames of two steps of native physics and a picture (%d x %d): %.1f MB of the sim "
               "reused in each of %d rounds",
               n, STEPS, h->def.width, h->def.height, (double)stet_sim_get_bytes(h->sim) * 1e-6, ROUNDS - 1);
    for (int r = COLD; r < ROUNDS; ++r) begin[r] *= 1e6;
    STI_TRY(bench_add(b, &row, begin + COLD, ROUNDS - COLD, "us", false, "rounds/hand/later_setup_us"));
    bench_note(row, "of which the beginning, with another qpos of %zu bytes", h->size);
    STI_TRY(bench_add(b, &row, ratio + COLD, ROUNDS - COLD, "x", true, "rounds/hand/ratio_to_recreate"));
    bench_note(row, "one such round in a sim that is made for it, kernels compiled before: %.3g s", made);
    return STET_OK;
}

static stet_result measure_hands(bench *b)
{
    hands h = {0};
    stet_result result = prepare_hands(&h, b);
    if (result == STET_OK) result = time_hands(b, &h);
    stet_sim_destroy(h.sim);
    stet_model_destroy(h.model);
    sti_free(h.start);
    return result;
}

stet_result bench_rounds(bench *b)
{
    task t = {.b = b};
    char folder[BENCH_FOLDER];
    STI_TRY(bench_make_folder(folder));
    stet_result result = open_task(&t, folder);
    if (result == STET_OK) result = measure_setup(b, &t);
    if (result == STET_OK) result = measure_copies(b, &t);
    if (result == STET_OK) result = measure_ratio(b, &t);
    if (result == STET_OK) result = measure_hands(b);
    close_copies(&t);
    stet_model_destroy(t.model);
    sti_free(t.start);
    bench_remove_folder(folder);
    return result;
}
