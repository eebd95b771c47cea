/*
 * What counts_test.py counts the instructions of: six short pieces of work, each in a function counted_… of its own,
 * which runs once, after the same work has run a few times. One thread, and one instruction set, whatever the machine
 * has.
 *
 *   counted SCENE CACHE-FOLDER COMPILER
 */
#include "bench/copies.h"
#include "bench/pilot/springs.h"
#include "stet/stet.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORLDS = 8, WARM = 3, TAPE_STEPS = 8, ITEMS = 16 };

#define COUNTED __attribute__((noinline, noipa)) static void

static void check(stet_result result)
{
    if (result == STET_OK) return;
    fprintf(stderr, "counted: %s\n", stet_get_last_error());
    exit(1);
}

static const char *cache_folder, *compiler;

static stet_device_def device_def(void)
{
    stet_device_def def = stet_default_device_def();
    def.type = STET_DEVICE_CPU;
    def.isa = "avx2";
    def.threads = 1;
    def.cache_folder = cache_folder;
    return def;
}

/* ---- a step and a frame of the hand ------------------------------------------------------------------------------ */

static stet_sim *hand;
static int64_t hand_frames;

static void step(void)
{
    check(stet_sim_control_noise(hand, 0.3, 25 + hand_frames++));
    check(stet_sim_step(hand, 1));
}

static void frame(void)
{
    int64_t number;
    stet_array *pixels;
    check(stet_sim_render(hand, &number));
    check(stet_sim_get_array(hand, number, 0, STET_OUTPUT_RGB, &pixels));
}

COUNTED counted_step(void) { step(); }
COUNTED counted_frame(void) { frame(); }

static void count_hand(const char *scene)
{
    stet_model *model;
    stet_sim_def def = stet_default_sim_def();
    def.device = device_def();
    def.nworld = WORLDS;
    def.physics = STET_PHYSICS_NATIVE;
    def.outputs = 1u << STET_OUTPUT_RGB;
    def.width = 32;
    def.height = 24;
    check(stet_model_load(scene, &model));
    check(stet_sim_create(model, &def, &hand));
    for (int k = 0; k < WARM; ++k) {
        step();
        frame();
    }
    counted_step();
    counted_frame();
    stet_sim_destroy(hand);
    stet_model_destroy(model);
}

/* ---- a launch, and a backward pass over some --------------------------------------------------------------------- */

static const char swing[] =
    "#include \"stet/lang.h\"\n"
    "world_kernel void k_swing(const real *angle, const real *speed, real *next, real *faster, ureal h, int n)\n"
    "{\n"
    "    each (i, n) {\n"
    "        real v = speed[i] - splat(h) * sin(angle[i]);\n"
    "        put(faster, i, v);\n"
    "        put(next, i, fma(splat(h), v, angle[i]));\n"
    "    }\n"
    "}\n";

static stet_kernel *kernel;
static stet_array *state[4];
static stet_tape *tape;

static void launch(int turn)
{
    int from = turn % 2 * 2, to = 2 - from;
    const stet_arg args[] = {stet_arg_array(state[from]), stet_arg_array(state[from + 1]),
                             stet_arg_array(state[to]),   stet_arg_array(state[to + 1]),
                             stet_arg_real(0.01),         stet_arg_int(ITEMS)};
    check(stet_kernel_launch(kernel, WORLDS, args, 6));
}

static void backward(void)
{
    check(stet_tape_zero(tape));
    check(stet_tape_backward(tape));
}

COUNTED counted_launch(void) { launch(0); }
COUNTED counted_backward(void) { backward(); }

static void count_kernel(void)
{
    static const char *const names[] = {"angle", "speed", "next", "faster"};
    stet_device *device;
    stet_array *gradient;
    const stet_device_def def = device_def();
    stet_kernel_def kernel_def = stet_default_kernel_def();
    stet_tape_def tape_def = stet_default_tape_def();
    kernel_def.source = swing;
    kernel_def.compiler = compiler;
    kernel_def.cache_folder = cache_folder;
    check(stet_device_create(&def, &device));
    check(stet_kernel_create(device, &kernel_def, &kernel));
    for (int k = 0; k < 4; ++k) check(STI_ARRAY(device, names[k], STET_DTYPE_REAL, true, &state[k], WORLDS, ITEMS));
    for (int k = 0; k < WARM; ++k) launch(0);
    counted_launch();
    check(stet_tape_create(device, &tape_def, &tape));
    check(stet_tape_begin(tape));
    for (int k = 0; k < TAPE_STEPS; ++k) {
        check(stet_tape_step(tape));
        launch(k);
    }
    check(stet_tape_end(tape, STET_OK));
    check(stet_tape_get_gradient(tape, state[0], &gradient));
    for (int k = 0; k < WARM; ++k) backward();
    counted_backward();
    stet_tape_destroy(tape);
    for (int k = 0; k < 4; ++k) stet_array_destroy(state[k]);
    stet_kernel_destroy(kernel);
    stet_device_destroy(device);
}

/* ---- an extraction of tiles -------------------------------------------------------------------------------------- */

static bench_copies copies;

static void extract(void) { check(bench_copies_extract(&copies)); }

COUNTED counted_tiles(void) { extract(); }

static void count_tiles(void)
{
    enum { RGB16F = 2 };
    const stet_device_def def = device_def();
    stet_device *device;
    check(stet_device_create(&def, &device));
    copies = (bench_copies){.nworld = WORLDS, .size = {32, 24}};
    check(bench_copies_open(&copies, device, &bench_variants[RGB16F]));
    for (int k = 0; k < WARM; ++k) extract();
    counted_tiles();
    bench_copies_close(&copies);
    stet_device_destroy(device);
}

/* ---- a round of springs ------------------------------------------------------------------------------------------ */

static stet_sim *sim;
static sti_springs springs;
static float start[2][WORLDS * 3 * STI_SPRING_MASSES], end[WORLDS * 3 * STI_SPRING_MASSES];

/* One input is not that of the round before. */
static void one_round(int turn)
{
    stet_round_value in = stet_round_array(springs.pos, STET_DIRECTION_IN, start[turn % 2], sizeof start[0]);
    stet_round_value out = stet_round_array(springs.pos, STET_DIRECTION_OUT, end, sizeof end);
    check(stet_sim_round_begin(sim, &in, 1));
    check(sti_springs_step(&springs, true));
    check(stet_sim_round_end(sim, &out, 1));
}

COUNTED counted_round(void) { one_round(0); }

static void count_round(void)
{
    stet_model *model;
    stet_sim_def def = stet_default_sim_def();
    def.device = device_def();
    def.nworld = WORLDS;
    def.physics = STET_PHYSICS_EXTERNAL;
    check(stet_model_load_string("<mujoco><worldbody/></mujoco>", &model));
    check(stet_sim_create(model, &def, &sim));
    check(sti_springs_create(stet_sim_get_device(sim), WORLDS, &springs));
    for (int k = 0; k < 2; ++k) check(stet_array_read(springs.pos, start[k], sizeof start[k]));
    start[1][0] += 0.5f;
    for (int k = 0; k < 2 * WARM; ++k) one_round(k);
    counted_round();
    sti_springs_destroy(&springs);
    stet_sim_destroy(sim);
    stet_model_destroy(model);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    cache_folder = argv[2];
    compiler = argv[3];
    count_hand(argv[1]);
    count_kernel();
    count_tiles();
    count_round();
    return 0;
}
