/*
 * A robot's training as it is on a GPU, for long: native physics, noise as controls, episodes that end and begin again
 * on the device; in between, parameters change in some worlds, and the host resets some. Beside it a sim under audit,
 * and a twin on a CPU that reuses nothing: the same states, episodes and pictures. While only the device acts nothing
 * is copied and nothing allocated, and memory does not grow. `test_sim_long_native STEPS WORLDS [SCENE]` does more.
 */
#include "sim/phases.h"

#include "base/dice.h"

enum { PLAIN, AUDITED, TWIN, LIVES };
enum { SETTLE = 4, ALONE = 16, ON_A_DOUBLE = 40, FILLED = 200, MOST_VALUES = 4096, MANY = 64 };

/* Each is multiplied by a factor of its own in each world. */
static const char *const parameters[] = {"body_mass", "dof_damping", "geom_friction"};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

static int64_t steps = 200, nworld = 6;
static const char *scene = "humanoid.xml";
static bool pictures = true; /* a double compiles for long what makes them */

typedef struct life {
    phases p;
    stet_array *done, *dice;
} life;

typedef struct story {
    life life[LIVES];
    double model[PARAMETERS][MOST_VALUES]; /* the model's values */
    int64_t items[PARAMETERS];
    uint64_t dice;
    int64_t frame;
} story;

static stet_worlds *worlds_of(life *l) { return stet_sim_get_worlds(l->p.sim); }

/* ---- opened and closed ------------------------------------------------------------------------------------------- */

static void open_life(life *l, int which)
{
    room_def d = {.nworld = nworld, .threads = 2, .physics = STET_PHYSICS_NATIVE, .audit = which == AUDITED};
    if (nworld > MANY) d.threads = (int)sysconf(_SC_NPROCESSORS_ONLN);
    if (which == TWIN) {
        d.isa = sti_isa_name(sti_isa_best());
        d.disabled = (1u << STET_MECHANISM_COUNT) - 1;
    }
    l->p = (phases){.sim = room_open(scene, &d), .nworld = nworld};
    l->done = phases_array(&l->p, "done", STET_DTYPE_INT, 1);
    l->dice = phases_array(&l->p, "dice", STET_DTYPE_INT, 1);
    int32_t *first = malloc((size_t)nworld * sizeof *first);
    assert_non_null(first);
    for (int64_t w = 0; w < nworld; ++w) first[w] = (int32_t)(w * 997 % 4096);
    OK(stet_array_write(l->dice, first, (size_t)nworld * sizeof *first));
    free(first);
    stet_reset_def reset = stet_default_reset_def();
    reset.qpos_noise = 0.02;
    reset.qvel_noise = 0.1;
    (void)ADD(&l->p, AFTER, "k_end", stet_arg_array(l->done), stet_arg_array(l->dice));
    OK(stet_sim_set_reset(l->p.sim, l->done, &reset));
}

static void keep_model_values(story *s)
{
    for (int k = 0; k < PARAMETERS; ++k) {
        int64_t n = s->items[k] = stet_worlds_get_parameter_items(worlds_of(&s->life[TWIN]), parameters[k]);
        double *all = malloc((size_t)(nworld * n) * sizeof *all);
        assert_non_null(all);
        assert_true(n > 0 && n <= MOST_VALUES);
        OK(stet_worlds_get_parameter(worlds_of(&s->life[TWIN]), parameters[k], all, nworld * n));
        memcpy(s->model[k], all, (size_t)n * sizeof *all);
        free(all);
    }
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

/* A third of the worlds, and at least one: few worlds and steps would now and then have none. */
static void random_mask(story *s, uint8_t *mask)
{
    for (int64_t w = 0; w < nworld; ++w) mask[w] = dice_below(&s->dice, 3) == 0;
    mask[dice_below(&s->dice, (size_t)nworld)] = 1;
}

static void change_parameter(story *s, int k, const uint8_t *mask)
{
    int64_t n = s->items[k];
    double *values = malloc((size_t)(nworld * n) * sizeof *values);
    assert_non_null(values);
    for (int64_t w = 0; w < nworld; ++w) {
        double factor = 0.8 + (double)dice_below(&s->dice, 400) / 1000;
        for (int64_t i = 0; i < n; ++i) values[w * n + i] = s->model[k][i] * factor;
    }
    for (int i = 0; i < LIVES; ++i)
        OK(stet_worlds_set_parameter_where(worlds_of(&s->life[i]), parameters[k], mask, values, nworld * n));
    free(values);
}

/* The host's turn. At first all parameters, so that a GPU compiles for worlds that differ once. */
static void change_worlds(story *s)
{
    uint8_t *mask = calloc((size_t)nworld, 1);
    stet_reset_def reset = stet_default_reset_def();
    assert_non_null(mask);
    random_mask(s, mask);
    for (int k = 0; k < PARAMETERS; ++k)
        if (s->frame == 0 || dice_below(&s->dice, PARAMETERS) == 0) change_parameter(s, k, mask);
    random_mask(s, mask);
    reset.mask = mask;
    reset.qpos_noise = 0.05;
    for (int i = 0; i < LIVES; ++i) OK(stet_sim_reset(s->life[i].p.sim, &reset));
    free(mask);
}

static void play(life *l, int64_t first, int64_t n)
{
    for (int64_t f = first; f < first + n; ++f) {
        OK(stet_sim_control_noise(l->p.sim, 0.8, f));
        OK(stet_sim_step(l->p.sim, 1 + (int)(f % 2)));
    }
}

/* The device's turn: some steps after the host's, all that is left is on the device. */
static void play_alone(story *s)
{
    life *l = &s->life[PLAIN];
    play(l, s->frame, SETTLE);
    stet_device_clear_counters(stet_sim_get_device(l->p.sim));
    int64_t allocations = stet_get_memory_stats().allocations;
    play(l, s->frame + SETTLE, ALONE);
    stet_counters c = room_counters(l->p.sim);
    assert_int_equal(stet_get_memory_stats().allocations, allocations);
    if (picked_any()) assert_int_equal(c.bytes_copied, 0); /* none crosses; a CPU counts copies in its memory */
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k) assert_int_equal(c.mechanism[k].fallbacks, 0);
    for (int i = AUDITED; i < LIVES; ++i) play(&s->life[i], s->frame, SETTLE + ALONE);
    s->frame += SETTLE + ALONE;
}

typedef struct sight {
    uint64_t state, done, picture;
} sight;

static sight look_at(life *l)
{
    sight x = {room_state(l->p.sim), phases_hash(l->done), 0};
    if (pictures) x.picture = room_frame(l->p.sim, room_render(l->p.sim));
    return x;
}

static void expect_equal(story *s)
{
    sight twin = look_at(&s->life[TWIN]);
    for (int i = 0; i < TWIN; ++i) {
        sight x = look_at(&s->life[i]);
        const char *what = x.state != twin.state ? "another state"
                           : x.done != twin.done ? "other ends"
                                                 : "another picture";
        if (memcmp(&x, &twin, sizeof x) != 0) fail_msg("sim %d: %s by step %" PRId64, i, what, s->frame);
    }
}

static void many_steps_on_the_device(void **state)
{
    static story s;
    int64_t peak[2] = {0}, resets = 0; /* of the first half, in which caches fill, and of the second */
    s.dice = dice_seed("many_steps_on_the_device");
    for (int i = 0; i < LIVES; ++i) open_life(&s.life[i], i);
    keep_model_values(&s);
    while (s.frame < steps) {
        change_worlds(&s);
        play_alone(&s);
        expect_equal(&s);
        if (steps > FILLED && s.frame % FILLED == 0) print_message("%" PRId64 " steps are equal\n", s.frame);
        int64_t bytes = stet_get_memory_stats().bytes;
        if (bytes > peak[2 * s.frame > steps]) peak[2 * s.frame > steps] = bytes;
    }
    for (int64_t w = 0; w < nworld; ++w) resets += (int64_t)worlds_of(&s.life[PLAIN])->state.resets[w];
    print_message("%" PRId64 " steps of %" PRId64 " worlds, %" PRId64 " resets; at most %" PRId64
                  " bytes in the first half, %" PRId64 " in the second\n",
                  s.frame, nworld, resets, peak[0], peak[1]);
    assert_true(resets > s.frame * nworld / 200);
    if (steps >= FILLED) assert_true(peak[1] <= peak[0] + peak[0] / 50);
    for (int i = 0; i < LIVES; ++i) phases_close(&s.life[i].p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_steps_on_the_device)};
    const char *device = getenv("STET_TEST_DEVICE");
    if (device && strncmp(device, "double", 6) == 0)
        steps = ON_A_DOUBLE, nworld = 4, scene = "cartpole.xml", pictures = false;
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* a run that is stopped has said how far it came */
    if (argc > 1) steps = strtoll(argv[1], NULL, 10);
    if (argc > 2) nworld = strtoll(argv[2], NULL, 10);
    if (argc > 3) scene = argv[3];
    return cmocka_run_group_tests(tests, make_own_folder, remove_folder);
}
