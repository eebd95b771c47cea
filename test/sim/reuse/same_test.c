/*
 * The same numbers whatever the way: threads, lanes, mechanisms, batches, snapshots.
 */
#include "sim/room.h"

#include "device/isa.h"

#include <unistd.h>

enum { FRAMES = 4, SUBSTEPS = 3, NWORLD = 5 };

typedef struct numbers {
    uint64_t state, frame;
} numbers;

/* Plays a few frames, with a reset of one world on the way. */
static numbers play(const char *scene, const room_def *d)
{
    stet_sim *sim = room_open(scene, d);
    room_play(sim, 20, FRAMES, SUBSTEPS);
    room_reset(sim, 1);
    room_play(sim, 20 + FRAMES, FRAMES, SUBSTEPS);
    numbers n = {room_state(sim), room_frame(sim, STET_FRAME_LATEST)};
    stet_sim_destroy(sim);
    return n;
}

static void assert_same(numbers a, numbers b, const char *what)
{
    if (a.state != b.state) fail_msg("%s: another state", what);
    if (a.frame != b.frame) fail_msg("%s: another frame", what);
}

static const char *scenes[] = {"hand.xml", "quadruped.xml", "arm_table.xml"};
#define EACH_SCENE(s) for (size_t s = 0; s < sizeof scenes / sizeof *scenes; ++s)

static void threads_change_nothing(void **state)
{
    EACH_SCENE(s)
    {
        numbers one = play(scenes[s], &(room_def){.nworld = NWORLD, .threads = 1});
        assert_true(one.state != one.frame);
        assert_same(one, play(scenes[s], &(room_def){.nworld = NWORLD, .threads = 2}), "2 threads");
        assert_same(one, play(scenes[s], &(room_def){.nworld = NWORLD, .threads = 3}), "3 threads");
    }
}

static void lanes_change_nothing(void **state)
{
    numbers w1 = play("hand.xml", &(room_def){.nworld = NWORLD, .isa = "w1"});
    static const char *const isas[] = {"portable", "avx2", "avx512"};
    for (size_t i = 0; i < sizeof isas / sizeof *isas; ++i) {
        stet_device_def def = stet_default_device_def();
        stet_device *device;
        def.isa = isas[i];
        if (stet_device_create(&def, &device) != STET_OK) {
            print_message("%s: not on this machine\n", isas[i]);
            continue;
        }
        stet_device_destroy(device);
        assert_same(w1, play("hand.xml", &(room_def){.nworld = NWORLD, .isa = isas[i]}), isas[i]);
    }
}

/* Of the scene that is the test's state: on a GPU two of its runs compile all kernels. */
static void each_mechanism_off_changes_nothing(void **state)
{
    const char *scene = *(const char **)*state;
    numbers on = play(scene, &(room_def){.nworld = NWORLD});
    for (int m = 0; m < STET_MECHANISM_COUNT; ++m) {
        const char *name = stet_mechanism_name((stet_mechanism)m);
        print_message("without %s\n", name);
        assert_same(on, play(scene, &(room_def){.nworld = NWORLD, .disabled = 1u << m}), name);
    }
    assert_same(on, play(scene, &(room_def){.nworld = NWORLD, .disabled = (1u << STET_MECHANISM_COUNT) - 1}),
                "all off");
}

/* Every output and camera, under audit and in strict mode: nothing that stood had changed, and nothing fell back. */
static void audit_and_strict_find_nothing(void **state)
{
    EACH_SCENE(s)
    {
        room_def d = {.nworld = NWORLD, .outputs = (1u << STET_OUTPUT_COUNT) - 1, .camera = "all"};
        numbers plain = play(scenes[s], &d);
        d.audit = d.strict = true;
        assert_same(plain, play(scenes[s], &d), "audit and strict");
    }
}

static void a_whole_run_has_no_fallback(void **state)
{
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = NWORLD});
    room_play(sim, 0, FRAMES, SUBSTEPS);
    (void)room_frame(sim, STET_FRAME_LATEST);
    stet_counters c = room_counters(sim);
    for (int m = 0; m < STET_MECHANISM_COUNT; ++m) assert_int_equal(c.mechanism[m].fallbacks, 0);
    assert_true(c.mechanism[STET_MECHANISM_TILES].hits > 0);
    assert_int_equal(c.schedules_built, 1);
    stet_sim_destroy(sim);
}

/*
 * World k of N has the bits that it has in a smaller batch: numbers of worlds are what noise depends on, so the batch
 * is its first part.
 */
static void a_world_does_not_know_how_many_others_there_are(void **state)
{
    EACH_SCENE(s)
    {
        stet_sim *many = room_open(scenes[s], &(room_def){.nworld = 9});
        room_play(many, 20, FRAMES, SUBSTEPS);
        uint8_t *all = room_read(many, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
        for (int n = 1; n <= 6; n += 5) {
            stet_sim *few = room_open(scenes[s], &(room_def){.nworld = n});
            room_play(few, 20, FRAMES, SUBSTEPS);
            size_t size = stet_sim_get_output_bytes(few, 0, STET_OUTPUT_RGBA);
            uint8_t *part = room_read(few, STET_FRAME_LATEST, 0, STET_OUTPUT_RGBA);
            assert_memory_equal(part, all, size);
            int64_t nq = stet_model_get_info(stet_sim_get_model(few)).nq;
            for (int64_t i = 0; i < nq; ++i)
                assert_true(room_field(few, "qpos", n - 1, i) == room_field(many, "qpos", n - 1, i));
            free(part);
            stet_sim_destroy(few);
        }
        free(all);
        stet_sim_destroy(many);
    }
}

/*
 * A world of a batch alone: its state is carried to a batch of one, which then shows the same picture and goes the
 * same way.
 */
static void world_k_equals_a_batch_of_one(void **state)
{
    static const char *const fields[] = {"qpos", "qvel", "act", "ctrl"};
    stet_sim *many = room_open("hand.xml", &(room_def){.nworld = 7}),
             *one = room_open("hand.xml", &(room_def){.nworld = 1});
    OK(stet_sim_control_noise(many, 0.3, 40));
    for (size_t f = 0; f < sizeof fields / sizeof *fields; ++f) {
        stet_array *from, *to;
        float row[256];
        OK(stet_worlds_get_array(stet_sim_get_worlds(many), fields[f], &from));
        OK(stet_worlds_get_array(stet_sim_get_worlds(one), fields[f], &to));
        assert_true(from->nitem <= 256);
        OK(stet_array_read_worlds(from, 4, 1, row, (size_t)from->nitem * sizeof *row));
        OK(stet_array_write_worlds(to, 0, 1, row, (size_t)from->nitem * sizeof *row));
    }
    OK(stet_sim_step(many, 10));
    OK(stet_sim_step(one, 10));
    (void)room_render(many);
    (void)room_render(one);
    size_t size = stet_sim_get_output_bytes(one, 0, STET_OUTPUT_DEPTH);
    char *all = room_read(many, STET_FRAME_LATEST, 0, STET_OUTPUT_DEPTH),
         *alone = room_read(one, STET_FRAME_LATEST, 0, STET_OUTPUT_DEPTH);
    assert_memory_equal(alone, all + 4 * size, size);
    for (int64_t i = 0; i < stet_model_get_info(stet_sim_get_model(one)).nq; ++i)
        assert_true(room_field(one, "qpos", 0, i) == room_field(many, "qpos", 4, i));
    free(all);
    free(alone);
    stet_sim_destroy(one);
    stet_sim_destroy(many);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------- */

static void a_restored_sim_goes_the_same_way_and_shows_it(void **state)
{
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = NWORLD});
    stet_snapshot *snapshot;
    room_play(sim, 0, FRAMES, SUBSTEPS);
    uint64_t then = room_frame(sim, STET_FRAME_LATEST);
    OK(stet_snapshot_create(stet_sim_get_worlds(sim), &snapshot));
    room_play(sim, FRAMES, FRAMES, SUBSTEPS);
    numbers end = {room_state(sim), room_frame(sim, STET_FRAME_LATEST)};
    assert_true(end.frame != then);

    OK(stet_sim_restore(sim, snapshot));
    assert_true(room_frame(sim, STET_FRAME_LATEST) == then); /* no render in between: not what was before the restore */
    room_play(sim, FRAMES, FRAMES, SUBSTEPS);
    assert_same(end, (numbers){room_state(sim), room_frame(sim, STET_FRAME_LATEST)}, "restored");
    stet_snapshot_destroy(snapshot);
    stet_sim_destroy(sim);
}

static void a_resumed_sim_goes_the_same_way_and_shows_it(void **state)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/sim_same_test_%d.state", STET_TEST_BINARY_DIR, (int)getpid());
    stet_sim *sim = room_open("hand.xml", &(room_def){.nworld = NWORLD});
    room_play(sim, 0, FRAMES, SUBSTEPS);
    uint64_t then = room_frame(sim, STET_FRAME_LATEST);
    OK(stet_worlds_save(stet_sim_get_worlds(sim), path));
    room_play(sim, FRAMES, FRAMES, SUBSTEPS);
    numbers end = {room_state(sim), room_frame(sim, STET_FRAME_LATEST)};
    stet_sim_destroy(sim);

    /* Another sim, with another seed: the file's goes on. */
    stet_sim_def def = room_sim_def(&(room_def){.nworld = NWORLD, .threads = 2});
    stet_model *model = rig_model("hand.xml");
    def.seed = 12;
    OK(stet_sim_create(model, &def, &sim));
    stet_model_destroy(model);
    room_play(sim, 0, 1, 1);
    OK(stet_sim_resume(sim, path));
    assert_true(room_frame(sim, STET_FRAME_LATEST) == then);
    room_play(sim, FRAMES, FRAMES, SUBSTEPS);
    assert_same(end, (numbers){room_state(sim), room_frame(sim, STET_FRAME_LATEST)}, "resumed");
    REFUSED(STET_ERROR_NOT_FOUND, "no_such_file", stet_sim_resume(sim, "no_such_file"));
    assert_int_equal(remove(path), 0);
    stet_sim_destroy(sim);
}

#define MECHANISM_TEST(s, scene)                                                                                       \
    {                                                                                                                  \
        "each_mechanism_off_changes_nothing_in_" scene, each_mechanism_off_changes_nothing, NULL, NULL, &scenes[s]     \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(lanes_change_nothing),
        MECHANISM_TEST(0, "hand"),
        MECHANISM_TEST(1, "quadruped"),
        MECHANISM_TEST(2, "arm_table"),
        cmocka_unit_test(audit_and_strict_find_nothing),
        cmocka_unit_test(a_whole_run_has_no_fallback),
        cmocka_unit_test(a_world_does_not_know_how_many_others_there_are),
        cmocka_unit_test(world_k_equals_a_batch_of_one),
        cmocka_unit_test(a_restored_sim_goes_the_same_way_and_shows_it),
        cmocka_unit_test(a_resumed_sim_goes_the_same_way_and_shows_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
