/*
 * What each mechanism is worth, in work: switched off, it raises the counters of work by amounts that can be told from
 * what it no longer lets stand, it raises no other, and it changes no bit.
 *
 * The script, F times: controls; S substeps; a frame, and the same again though nothing moved; two of its outputs are
 * read; the positions are looked at twice on the host. Three outputs: rgba and depth, which the renderer writes as they
 * are wanted, and rgb, which is extracted.
 */
#include "sim/room.h"

#include "base/hash.h"
#include "stage/flush.h"
#include "tiles/conversion.h"

enum { N = 3, F = 4, S = 5, K = 2, WIDTH = 12, HEIGHT = 8, REQUESTS = 3 };

/* Bytes of what is uploaded along the way: the extraction's rows of where from, and of where to. */
enum { JOBS = REQUESTS * STI_JOB_COLUMNS * 4, PLACES = REQUESTS * STI_PLACE_COLUMNS * 8 };
enum { RGB = N * WIDTH * HEIGHT * 3, WORDS = N * WIDTH * HEIGHT * 4 };

static stet_sim *open_hand(uint32_t disabled)
{
    return room_open("hand.xml", &(room_def){.nworld = N,
                                             .width = WIDTH,
                                             .height = HEIGHT,
                                             .flight = K,
                                             .outputs = BIT(RGB) | BIT(RGBA) | BIT(DEPTH),
                                             .disabled = disabled});
}

static const void *positions(stet_sim *sim, size_t *size)
{
    stet_array *qpos;
    const void *data;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), "qpos", &qpos));
    OK(stet_array_get_host(qpos, &data));
    *size = stet_array_get_bytes(qpos);
    return data;
}

/* One frame of the script; all that was read goes into a hash. */
static void play_frame(stet_sim *sim, int64_t f, sti_hash *seen)
{
    size_t size;
    OK(stet_sim_control_noise(sim, 0.3, f));
    OK(stet_sim_step(sim, S));
    for (int again = 0; again < 2; ++again) (void)room_render(sim);
    uint8_t *rgb = room_read(sim, STET_FRAME_DRAWN, 0, STET_OUTPUT_RGB);
    uint8_t *depth = room_read(sim, STET_FRAME_DRAWN, 0, STET_OUTPUT_DEPTH);
    sti_hash_add(seen, rgb, RGB);
    sti_hash_add(seen, depth, WORDS);
    free(rgb);
    free(depth);
    for (int again = 0; again < 2; ++again) {
        const void *data = positions(sim, &size);
        sti_hash_add(seen, data, size);
    }
}

typedef struct measured {
    stet_counters work;
    uint64_t seen;
    int64_t flush;     /* launches that bring all transforms up to date: bodies, what follows them, all others */
    int64_t positions; /* bytes */
} measured;

/* The script in its steady state: some frames before the counters are cleared. */
static measured measure(uint32_t disabled)
{
    measured m;
    sti_hash seen;
    size_t size;
    stet_sim *sim = open_hand(disabled);
    sti_hash_begin(&seen);
    for (int64_t f = 20; f < 24; ++f) play_frame(sim, f, &seen);
    stet_device_clear_counters(stet_sim_get_device(sim));
    for (int64_t f = 24; f < 24 + F; ++f) play_frame(sim, f, &seen);
    m.work = room_counters(sim);
    m.flush = 2 + (stet_sim_get_stage(sim)->track.n > 0);
    (void)positions(sim, &size);
    m.positions = (int64_t)size;
    sti_hash_add(&seen, &(uint64_t){room_state(sim)}, sizeof(uint64_t));
    sti_hash_add(&seen, &(uint64_t){room_frame(sim, STET_FRAME_LATEST)}, sizeof(uint64_t));
    m.seen = sti_hash_end(&seen);
    stet_sim_destroy(sim);
    return m;
}

static void check(const measured *m, const char *what, int64_t launches, int64_t bytes, int64_t kinematics)
{
    if (m->work.launches != launches)
        fail_msg("%s: %lld launches, not %lld", what, (long long)m->work.launches, (long long)launches);
    if (m->work.bytes_copied != bytes)
        fail_msg("%s: %lld bytes copied, not %lld", what, (long long)m->work.bytes_copied, (long long)bytes);
    if (m->work.kinematics != kinematics)
        fail_msg("%s: %lld kinematics, not %lld", what, (long long)m->work.kinematics, (long long)kinematics);
    assert_int_equal(m->work.schedules_built, 0);
}

/* ---- with all of them on ----------------------------------------------------------------------------------------- */

/* A frame: controls, one flush, patches that stand, one rendering, one extraction (of rgb); kinematics once a world. */
static int64_t launches_on(const measured *m) { return F * (1 + m->flush + 2 + 1); }

/*
 * A frame: what is read. Which worlds to flush, and to render, are all of them each time, and where the extraction goes
 * to is the same each time round the ring: the device has been told.
 */
static int64_t bytes_on(const measured *m) { return F * (RGB + WORDS + m->positions); }

static void all_on_is_once_a_frame(void **state)
{
    measured m = measure(0);
    check(&m, "all on", launches_on(&m), bytes_on(&m), F * N);
    for (int k = 0; k < STET_MECHANISM_COUNT; ++k) assert_int_equal(m.work.mechanism[k].fallbacks, 0);
}

/* ---- with one off ------------------------------------------------------------------------------------------------ */

/* What a mechanism, switched off, adds to the script; and what its own row says: misses, and launches that it did. */
typedef struct raised {
    int64_t launches, bytes, kinematics, misses, done_launches;
} raised;

/*
 * Poses are made each time somebody asks: after each substep the physics and the flush; for the first frame the flush
 * and the renderer, before its launches; for the second, which stands, the flush. Transforms follow each substep, not
 * each frame.
 */
static raised without_pose_sync(const measured *m)
{
    int64_t asked = 2 * S + 3;
    return (raised){F * (S - 1) * m->flush, 0, F * (asked - 1) * N, F * asked, 0};
}

/* All levels are made each time somebody asks: twice for the first frame, and once for the second. */
static raised without_hierarchy(const measured *m) { return (raised){F * 2 * m->flush, 0, 0, F * 3, F * 3 * m->flush}; }

/*
 * Each world of each output is a launch of its own, also of those that need none. Which world it is for is a number;
 * each output uploads where from and where to.
 */
static raised without_tiles(const measured *m)
{
    (void)m;
    return (raised){F * (REQUESTS * N - 1), F * REQUESTS * (JOBS + PLACES), 0, F * REQUESTS, F * REQUESTS * N};
}

/* Extraction comes with the frame instead of the first read. All frames are read here, so that it is as much work. */
static raised without_deferred_tiles(const measured *m)
{
    (void)m;
    return (raised){0, 0, 0, F, F};
}

/*
 * The second frame is rendered, too; and the first, which then nobody reads, has to be extracted
 * when the ring needs its place. That is the place of the next frame that is read, so where to goes up once for both.
 */
static raised without_frame(const measured *m)
{
    (void)m;
    return (raised){F * 3, 0, 0, F * 2, F * 2};
}

/* Nobody looks which patches stand. */
static raised without_patches(const measured *m)
{
    (void)m;
    return (raised){-F, 0, 0, F, 0};
}

/* The second look at the positions copies them again. */
static raised without_readback(const measured *m) { return (raised){0, F * m->positions, 0, F * 2, 0}; }

/* A flush is a list of launches. Issued one by one it is the same launches; only the host issues them. */
static raised without_graph_replay(const measured *m) { return (raised){0, 0, 0, F, F * m->flush}; }

/* What of that list goes together is a recording's business, and was found before the frames that are counted. */
static raised without_fusion(const measured *m)
{
    (void)m;
    return (raised){0};
}

/* Each launch of that list uploads all of its arguments of 16 bytes: bodies have 6, others 7, what tracks bodies 9. */
static raised without_args(const measured *m)
{
    int64_t arguments = 6 + 7 + (m->flush > 2 ? 9 : 0);
    return (raised){0, F * arguments * 16, 0, F * m->flush, 0};
}

/* The script has no kernel of the caller's own, and no plain view of an array is held. */
static raised without_kernel_cache(const measured *m)
{
    (void)m;
    return (raised){0};
}

/* It has no rounds either; what they are worth is in round_test.c and round_fault_test.c. */
static raised without_rounds(const measured *m)
{
    (void)m;
    return (raised){0};
}

/* Nor gradients; what sizes of stacks are worth is in adjoint/stack_cache_test.c, of plans in adjoint/plan_test.c. */
static raised without_adstack(const measured *m)
{
    (void)m;
    return (raised){0};
}

/* Nor tensors of other libraries (device/plain_view_test.c). */
static raised without_plain_view(const measured *m)
{
    (void)m;
    return (raised){0};
}

/* Nor what follows from a state (worlds/quantities_test.c). */
static raised without_quantities(const measured *m)
{
    (void)m;
    return (raised){0};
}

static const struct {
    stet_mechanism mechanism;
    raised (*without)(const measured *m);
} switches[] = {
    {STET_MECHANISM_POSE_SYNC, without_pose_sync},
    {STET_MECHANISM_HIERARCHY, without_hierarchy},
    {STET_MECHANISM_TILES, without_tiles},
    {STET_MECHANISM_DEFERRED_TILES, without_deferred_tiles},
    {STET_MECHANISM_FRAME, without_frame},
    {STET_MECHANISM_PATCHES, without_patches},
    {STET_MECHANISM_READBACK, without_readback},
    {STET_MECHANISM_GRAPH_REPLAY, without_graph_replay},
    {STET_MECHANISM_FUSION, without_fusion},
    {STET_MECHANISM_ARGS, without_args},
    {STET_MECHANISM_KERNEL_CACHE, without_kernel_cache},
    {STET_MECHANISM_ROUNDS, without_rounds},
    {STET_MECHANISM_ADSTACK, without_adstack},
    {STET_MECHANISM_ADSTACK_HANDLE, without_adstack},
    {STET_MECHANISM_GATHER_PLAN, without_adstack},
    {STET_MECHANISM_PLAIN_VIEW, without_plain_view},
    {STET_MECHANISM_QUANTITIES, without_quantities},
};

static void each_off_raises_what_it_should(void **state)
{
    measured on = measure(0);
    assert_int_equal(sizeof switches / sizeof *switches,
                     STET_MECHANISM_COUNT); /* a new one says here what it is worth */
    for (size_t k = 0; k < sizeof switches / sizeof *switches; ++k) {
        stet_mechanism which = switches[k].mechanism;
        const char *name = stet_mechanism_name(which);
        measured m = measure(1u << which);
        raised r = switches[k].without(&m);
        const stet_counter *row = &m.work.mechanism[which];
        check(&m, name, launches_on(&m) + r.launches, bytes_on(&m) + r.bytes, F * N + r.kinematics);
        if (m.seen != on.seen) fail_msg("%s: switched off, other bits", name);
        if (row->misses != r.misses || row->hits != 0)
            fail_msg("%s: %lld misses, %lld hits", name, (long long)row->misses, (long long)row->hits);
        assert_int_equal(row->done_launches, r.done_launches);
        assert_int_equal(m.work.reason[sti_reason_disabled(which)], row->misses);
        assert_true(on.work.mechanism[which].misses <= row->misses);
        for (int other = 0; other < STET_MECHANISM_COUNT; ++other)
            if (other != (int)which) assert_int_equal(m.work.reason[sti_reason_disabled((stet_mechanism)other)], 0);
    }
    assert_true(measure((1u << STET_MECHANISM_COUNT) - 1).seen == on.seen);
}

/* Frames that nobody reads: those that are in flight at the end were never extracted, and all others had to be. */
static void deferred_tiles_is_worth_the_frames_in_flight(void **state)
{
    for (int off = 0; off < 2; ++off) {
        stet_sim *sim = open_hand(off ? 1u << STET_MECHANISM_DEFERRED_TILES : 0);
        for (int64_t f = 0; f < F; ++f) {
            OK(stet_sim_step(sim, 1));
            (void)room_render(sim);
        }
        stet_counters c = room_counters(sim);
        int64_t taken = off ? F : F - K;
        assert_int_equal(c.mechanism[STET_MECHANISM_DEFERRED_TILES].misses, taken);
        assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_launches, taken);
        assert_int_equal(c.mechanism[STET_MECHANISM_TILES].done_bytes, taken * RGB);
        assert_int_equal(c.reason[STET_REASON_DEFERRED_TILES_DISABLED], off ? F : 0);
        assert_int_equal(c.reason[STET_REASON_DEFERRED_TILES_RING_FULL], off ? 0 : F - K);
        stet_sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_on_is_once_a_frame),
        cmocka_unit_test(each_off_raises_what_it_should),
        cmocka_unit_test(deferred_tiles_is_worth_the_frames_in_flight),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
