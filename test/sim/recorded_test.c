/*
 * Frames of the hand whose poses somebody else writes (the recording that `stet bench mechanisms` plays), with kernels
 * in the step whose arguments change: the same bits whether argument blocks are kept or not, lists replayed or not, and
 * work goes to one stream or to two of others in turn.
 *
 * The first argument is the number of frames; the recording is played in a circle.
 */
#include "sim/phases.h"

#include "base/hash.h"
#include "cli/files/npy.h"

enum { FRAMES = 60, ON_A_DOUBLE = 12, WORLDS = 3, APART = 7 };

static int64_t frames = FRAMES;
static npy_array recorded[2];
static const char *const fields[2] = {"xpos", "xquat"};

static int read_recordings(void **state)
{
    for (int k = 0; k < 2; ++k) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/scenes/recordings/hand_%s.npy", STET_TEST_SOURCE_DIR, fields[k]);
        const char *wrong = npy_read(path, &recorded[k]);
        if (wrong) fail_msg("%s: %s", path, wrong);
        assert_int_equal(recorded[k].ndim, 3);
    }
    return make_own_folder(state);
}

static int free_recordings(void **state)
{
    for (int k = 0; k < 2; ++k) free(recorded[k].data);
    return remove_folder(state);
}

typedef struct way {
    const char *isa; /* NULL: the device that the run is about */
    uint32_t disabled;
    bool streams;
} way;

typedef struct hand {
    phases p;
    stet_array *pose[2], *seen[2];
    int lift;
    stet_device *neighbour[2]; /* two other libraries on the same device, with a stream each */
} hand;

static hand open_hand(const way *w)
{
    room_def def = {.nworld = WORLDS,
                    .isa = w->isa,
                    .disabled = w->disabled,
                    .physics = STET_PHYSICS_EXTERNAL,
                    .outputs = BIT(DEPTH) | BIT(SEG_GEOM)};
    stet_sim_def sim = room_sim_def(&def);
    hand h = {.p = {.sim = room_open("hand.xml", &def), .nworld = WORLDS}};
    stet_array *qpos = phases_field(&h.p, "qpos");
    for (int k = 0; k < 2; ++k) {
        h.pose[k] = phases_field(&h.p, fields[k]);
        h.seen[k] = phases_array(&h.p, "seen", STET_DTYPE_REAL, 3);
        sim.device.mechanisms = (stet_mechanism_options){0};
        OK(stet_device_create(&sim.device, &h.neighbour[k]));
    }
    h.lift = ADD(&h.p, BEFORE, "k_lift", stet_arg_array(h.pose[0]), stet_arg_real(0), stet_arg_int(27));
    (void)ADD(&h.p, AFTER, "k_look", stet_arg_array(qpos), stet_arg_array(h.pose[0]), stet_arg_array(h.seen[0]),
              stet_arg_int(3));
    (void)ADD(&h.p, AFTER, "k_look", stet_arg_array(qpos), stet_arg_array(h.pose[0]), stet_arg_array(h.seen[1]),
              stet_arg_int(20));
    return h;
}

static void close_hand(hand *h)
{
    OK(stet_device_use_own_stream(stet_sim_get_device(h->p.sim)));
    phases_close(&h->p);
    for (int k = 0; k < 2; ++k) stet_device_destroy(h->neighbour[k]);
}

static void write_poses(hand *h, int64_t frame)
{
    for (int k = 0; k < 2; ++k) {
        size_t row = (size_t)recorded[k].shape[2];
        float buffer[WORLDS * 27 * 4];
        for (size_t w = 0; w < WORLDS; ++w) {
            size_t at = (size_t)(frame + (int64_t)w * APART) % (size_t)recorded[k].shape[0];
            for (size_t i = 0; i < row; ++i) buffer[w * row + i] = (float)recorded[k].data[at * row + i];
        }
        OK(stet_array_write(h->pose[k], buffer, WORLDS * row * sizeof *buffer));
    }
}

static void play_frame(hand *h, const way *w, int64_t frame, sti_hash *seen)
{
    const stet_arg lift[] = {stet_arg_array(h->pose[0]), stet_arg_real(0.001 * (double)(frame / 3 % 5)),
                             stet_arg_int(27)};
    if (w->streams)
        OK(stet_device_use_stream(stet_sim_get_device(h->p.sim), stet_device_get_stream(h->neighbour[frame % 2])));
    OK(stet_sim_set_kernel_args(h->p.sim, h->lift, lift, 3));
    write_poses(h, frame);
    OK(stet_sim_step(h->p.sim, 1));
    (void)room_render(h->p.sim);
    uint64_t x[3] = {room_frame(h->p.sim, STET_FRAME_LATEST), phases_hash(h->seen[0]), phases_hash(h->seen[1])};
    sti_hash_add(seen, x, sizeof x);
}

static uint64_t play(const way *w)
{
    hand h = open_hand(w);
    sti_hash seen;
    sti_hash_begin(&seen);
    for (int64_t frame = 0; frame < frames; ++frame) play_frame(&h, w, frame, &seen);
    stet_counters c = room_counters(h.p.sim);
    const stet_counter *replays = &c.mechanism[STET_MECHANISM_GRAPH_REPLAY];
    if (w->disabled >> STET_MECHANISM_GRAPH_REPLAY & 1)
        assert_int_equal(replays->hits, 0);
    else
        assert_true(replays->hits > frames - 4);
    close_hand(&h);
    return sti_hash_end(&seen);
}

static void the_same_bits_in_all_ways(void **state)
{
    uint64_t want = play(&(way){.isa = "portable", .disabled = (1u << STET_MECHANISM_COUNT) - 1});
    for (int k = 0; k < 8; ++k) {
        way w = {.streams = k & 1};
        if (k & 2) w.disabled |= 1u << STET_MECHANISM_ARGS;
        if (k & 4) w.disabled |= 1u << STET_MECHANISM_GRAPH_REPLAY;
        uint64_t got = play(&w);
        if (got != want)
            fail_msg("args %s, graph_replay %s, %s: %016llx, not %016llx", k & 2 ? "off" : "on", k & 4 ? "off" : "on",
                     k & 1 ? "two streams" : "one stream", (unsigned long long)got, (unsigned long long)want);
    }
    print_message("%lld frames in 8 ways: %016llx\n", (long long)frames, (unsigned long long)want);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_same_bits_in_all_ways)};
    const char *device = getenv("STET_TEST_DEVICE");
    if (device && strncmp(device, "double", 6) == 0) frames = ON_A_DOUBLE;
    if (argc > 1) frames = strtoll(argv[1], NULL, 10);
    return cmocka_run_group_tests(tests, read_recordings, free_recordings);
}
