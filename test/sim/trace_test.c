/*
 * What a trace of a sim says is what happened: each event in its place, sums that are the counters', children inside
 * their parents. And tracing changes nothing: no bit of any result, whatever memory there is for it, and no other sim.
 */
#include "sim/room.h"
#include "device/null/null.h"

#include "base/failing.h"

#include <pthread.h>

enum { N = 3, WARM = 5, FRAMES = 4, SUBSTEPS = 2, DEPTH = 16 };

static stet_sim *open_hand(void) { return room_open("hand.xml", &(room_def){.nworld = N, .outputs = BIT(RGB)}); }

static stet_device *device_of(stet_sim *sim) { return stet_sim_get_device(sim); }

static void begin(stet_sim *sim)
{
    stet_trace_def def = stet_default_trace_def();
    stet_device_clear_counters(device_of(sim));
    OK(stet_trace_begin(device_of(sim), &def));
}

/* A frame of which a picture is read. */
static void play(stet_sim *sim, int64_t first, int64_t n)
{
    for (int64_t f = first; f < first + n; ++f) {
        room_play(sim, f, 1, SUBSTEPS);
        free(room_read(sim, STET_FRAME_DRAWN, 0, STET_OUTPUT_RGB));
    }
}

static stet_trace_stats stats_of(stet_sim *sim)
{
    stet_trace_stats stats = stet_trace_get_stats(device_of(sim));
    return stats;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* "kind name", and the reason of a miss. */
static void show(const stet_trace_event *e, char *out, size_t size)
{
    (void)snprintf(out, size, "%s %s%s%s", stet_trace_kind_name(e->kind), e->name,
                   e->reason == STET_REASON_NONE ? "" : ": ",
                   e->reason == STET_REASON_NONE ? "" : stet_reason_name(e->reason));
}

static void events_of_a_frame(void **state)
{
    static const char *const wanted[] = {
        "phase control",
        "launch k_control_noise",
        "phase step",
        "phase pose",
        "miss pose_sync: qpos",
        "phase hierarchy",
        "replay world transforms",
        "launch k_body_world",
        "launch k_forward",
        "miss hierarchy: values",
        "phase render",
        "launch k_stand",
        "launch k_render",
        "miss frame: moved",
        "phase extract",
        "launch k_extract",
        "miss tiles: not_direct",
        "miss deferred_tiles: first_read",
        "phase read",
        "download rgb",
    };
    enum { WANTED = sizeof wanted / sizeof *wanted };
    stet_sim *sim = open_hand();
    play(sim, 20, WARM);
    begin(sim);
    play(sim, 20 + WARM, 1);
    OK(stet_trace_end(device_of(sim)));
    char got[160];
    stet_trace_event e;
    for (int i = 0; stet_trace_get_event(device_of(sim), i, &e); ++i) {
        show(&e, got, sizeof got);
        if (i >= WANTED) fail_msg("event %d: '%s' is one too many", i, got);
        if (strcmp(got, wanted[i]) != 0) fail_msg("event %d: '%s', not '%s'", i, got, wanted[i]);
        if (e.kind == STET_TRACE_LAUNCH) assert_true(strstr(e.file, ".k.h") && e.line > 0 && e.amount > 0);
        if (e.kind == STET_TRACE_REPLAY) assert_true(e.id > 0 && e.amount == 2);
        assert_false(e.failed || e.comparison);
        assert_int_equal(e.device_duration, -1);
    }
    assert_int_equal(stats_of(sim).events, WANTED);
    stet_sim_destroy(sim);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

typedef struct sums {
    int64_t launches, bytes, replays, misses, fallbacks, calls[STET_TRACE_COUNT];
    int64_t reason[STET_REASON_COUNT];
} sums;

static bool is_copy(stet_trace_kind kind)
{
    return kind == STET_TRACE_UPLOAD || kind == STET_TRACE_STAGE || kind == STET_TRACE_DOWNLOAD ||
           kind == STET_TRACE_COPY;
}

static sums sum_events(stet_sim *sim)
{
    sums s = {0};
    stet_trace_event e;
    for (int64_t i = 0; stet_trace_get_event(device_of(sim), i, &e); ++i) {
        s.calls[e.kind]++;
        s.launches += e.kind == STET_TRACE_LAUNCH && !e.comparison;
        s.replays += e.kind == STET_TRACE_REPLAY && !e.comparison;
        if (is_copy(e.kind) && !(e.comparison && *e.name)) s.bytes += e.amount; /* blocks of arguments have no name */
        if (e.kind == STET_TRACE_MISS || e.kind == STET_TRACE_FALLBACK) s.reason[e.reason]++;
    }
    return s;
}

static void check_sums(stet_sim *sim)
{
    stet_counters c = room_counters(sim);
    sums s = sum_events(sim);
    int64_t misses = 0, fallbacks = 0;
    for (int m = 0; m < STET_MECHANISM_COUNT; ++m) {
        misses += c.mechanism[m].misses;
        fallbacks += c.mechanism[m].fallbacks;
    }
    assert_int_equal(stats_of(sim).dropped, 0);
    assert_int_equal(s.launches, c.launches);
    assert_int_equal(s.bytes, c.bytes_copied);
    assert_int_equal(s.replays, c.mechanism[STET_MECHANISM_GRAPH_REPLAY].hits);
    assert_int_equal(s.calls[STET_TRACE_MISS], misses);
    assert_int_equal(s.calls[STET_TRACE_FALLBACK], fallbacks);
    assert_memory_equal(s.reason, c.reason, sizeof s.reason);
    stet_profile_row r;
    int64_t calls[STET_TRACE_COUNT] = {0};
    for (int64_t i = 0; stet_profile_get_row(device_of(sim), i, &r); ++i) calls[r.kind] += r.calls;
    assert_memory_equal(calls, s.calls, sizeof calls);
}

/*
 * From the first frame on: recordings are built, compared, replayed; worlds are put back; a frame that nothing changes.
 */
static void play_all(stet_sim *sim)
{
    play(sim, 20, WARM);
    room_reset(sim, 1);
    play(sim, 20 + WARM, FRAMES);
    (void)room_render(sim);
    (void)room_render(sim);
    (void)room_field(sim, "qpos", 0, 0);
    stet_array *qpos;
    const void *data;
    OK(stet_worlds_get_array(stet_sim_get_worlds(sim), "qpos", &qpos));
    OK(stet_array_get_host(qpos, &data));
}

static void sums_are_the_counters(void **state)
{
    for (int k = -1; k < STET_MECHANISM_COUNT; ++k) {
        const room_def d = {.nworld = N, .outputs = BIT(RGB) | BIT(DEPTH), .disabled = k < 0 ? 0 : 1u << k};
        stet_sim *sim = room_open("hand.xml", &d);
        begin(sim);
        play_all(sim);
        check_sums(sim);
        OK(stet_trace_end(device_of(sim)));
        int64_t events = stats_of(sim).events;
        play(sim, 90, 1); /* no longer traced */
        assert_int_equal(stats_of(sim).events, events);
        stet_sim_destroy(sim);
    }
}

static void what_happens_inside_is_inside(void **state)
{
    stet_sim *sim = open_hand();
    begin(sim);
    play_all(sim);
    OK(stet_trace_end(device_of(sim)));
    stet_trace_event e, open[DEPTH];
    int depth = 0, deepest = 0;
    int64_t last = 0, end = stats_of(sim).duration;
    for (int64_t i = 0; stet_trace_get_event(device_of(sim), i, &e); ++i) {
        assert_true(e.begin >= last && e.duration >= 0 && e.begin + e.duration <= end);
        last = e.begin;
        while (depth && open[depth - 1].begin + open[depth - 1].duration < e.begin) --depth;
        if (depth) assert_true(e.begin + e.duration <= open[depth - 1].begin + open[depth - 1].duration);
        assert_true(depth < DEPTH);
        open[depth++] = e;
        if (depth > deepest) deepest = depth;
        if (e.kind == STET_TRACE_LAUNCH) assert_int_equal(open[0].kind, STET_TRACE_PHASE);
    }
    assert_true(deepest >= 3); /* a phase, a replay, a launch */
    stet_sim_destroy(sim);
}

/* ---- nothing changes --------------------------------------------------------------------------------------------- */

static uint64_t result_of(stet_sim *sim)
{
    play_all(sim);
    return room_state(sim) ^ room_frame(sim, STET_FRAME_LATEST) * 3;
}

static void no_bit_changes(void **state)
{
    for (int way = 0; way < 2; ++way) {
        const room_def d = {.nworld = N, .threads = 2, .outputs = BIT(RGB), .audit = way == 1};
        stet_sim *plain = room_open("hand.xml", &d), *traced = room_open("hand.xml", &d);
        begin(traced);
        stet_device_clear_counters(device_of(plain));
        assert_true(result_of(plain) == result_of(traced));
        stet_counters a = room_counters(plain), b = room_counters(traced);
        assert_memory_equal(&a, &b, sizeof a);
        assert_true(stats_of(traced).events > 0);
        assert_int_equal(stats_of(plain).events, 0);
        stet_sim_destroy(plain);
        stet_sim_destroy(traced); /* in the middle of a trace */
    }
}

static int64_t allocations(void) { return stet_get_memory_stats().allocations; }

/* In the steady state only the trace allocates: it may lack memory at any time, and the run is the same. */
static void lack_of_memory_changes_nothing(void **state)
{
    uint64_t wanted = 0;
    int64_t kept = -1, failures = 0;
    for (int64_t n = 0; n < 48; ++n) { /* 0: none fails */
        failing f = {0};
        OK(stet_set_allocator(failing_alloc, failing_free, &f));
        stet_sim *sim = open_hand();
        play(sim, 20, WARM);
        begin(sim);
        f.fail_at = n ? f.calls + n : 0;
        f.then_all = n % 2;
        play(sim, 20 + WARM, FRAMES);
        f.fail_at = 0;
        stet_trace_stats s = stats_of(sim);
        uint64_t result = room_state(sim) ^ room_frame(sim, STET_FRAME_LATEST) * 3;
        if (n == 0) {
            wanted = result;
            kept = s.events;
            assert_true(s.rows > 10 && s.dropped == 0);
        }
        assert_true(result == wanted);
        assert_int_equal(s.events + s.dropped, kept);
        failures += f.failed;
        if (f.failed) assert_true(s.dropped + s.unnamed > 0 || !f.then_all);
        stet_sim_destroy(sim);
        assert_int_equal(f.held, 0);
        OK(stet_set_allocator(NULL, NULL, NULL));
    }
    assert_true(failures > 15);
}

/* Rows for what is new, and then nothing. */
static void totals_alone_stop_allocating(void **state)
{
    stet_sim *sim = open_hand();
    stet_trace_def def = stet_default_trace_def();
    def.events = false;
    play(sim, 20, WARM);
    OK(stet_trace_begin(device_of(sim), &def));
    play(sim, 20 + WARM, 1);
    int64_t before = allocations();
    play(sim, 21 + WARM, FRAMES);
    int64_t traced = allocations() - before;
    OK(stet_trace_end(device_of(sim)));
    before = allocations();
    play(sim, 31 + WARM, FRAMES);
    assert_int_equal(traced, allocations() - before);
    assert_int_equal(stats_of(sim).events, 0);
    stet_sim_destroy(sim);
}

/* ---- begin and end ----------------------------------------------------------------------------------------------- */

static void begin_and_end_in_turn(void **state)
{
    stet_sim *sim = open_hand();
    stet_device *device = device_of(sim);
    stet_trace_def def = stet_default_trace_def(), bare = {0};
    stet_trace_event e;
    stet_profile_row r;
    REFUSED(STET_ERROR_STATE, "begin", stet_trace_end(device));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "stet_default_trace_def", stet_trace_begin(device, &bare));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_trace_begin(NULL, &def));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_trace_begin(device, NULL));
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "NULL", stet_trace_end(NULL));
    def.limit = -1;
    REFUSED(STET_ERROR_INVALID_ARGUMENT, "limit", stet_trace_begin(device, &def));
    assert_false(stet_trace_is_on(device) || stet_trace_get_event(device, 0, &e) ||
                 stet_profile_get_row(device, 0, &r));
    def.limit = stet_default_trace_def().limit;
    OK(stet_trace_begin(device, &def));
    REFUSED(STET_ERROR_STATE, "already", stet_trace_begin(device, &def));
    play(sim, 0, 1);
    OK(stet_trace_end(device));
    assert_false(stet_trace_is_on(device));
    int64_t events = stats_of(sim).events, rows = stats_of(sim).rows;
    play(sim, 1, 1);
    assert_true(events > 0 && rows > 0);
    assert_int_equal(stats_of(sim).events, events);
    OK(stet_trace_begin(device, &def)); /* the former is forgotten */
    assert_int_equal(stats_of(sim).events, 0);
    stet_sim_destroy(sim);
}

static void the_limit_is_kept(void **state)
{
    stet_sim *sim = open_hand();
    stet_trace_def def = stet_default_trace_def();
    def.limit = 200000; /* one or two blocks of events */
    OK(stet_trace_begin(device_of(sim), &def));
    play(sim, 20, 100);
    OK(stet_trace_end(device_of(sim)));
    stet_trace_stats s = stats_of(sim);
    assert_true(s.dropped > 0 && s.events > 500);
    assert_true(s.bytes <= def.limit);
    assert_int_equal(s.unnamed, 0);
    stet_profile_row r;
    for (int64_t i = 0; stet_profile_get_row(device_of(sim), i, &r); ++i)
        if (strcmp(r.name, "k_render") == 0) assert_int_equal(r.calls, 100);
    stet_sim_destroy(sim);
}

/* A launch that fails is there, as one that failed. */
static void failures_are_traced(void **state)
{
    stet_sim_def def = room_sim_def(&(room_def){.nworld = N, .outputs = BIT(RGB)});
    def.device.type = STET_DEVICE_NULL;
    def.device.isa = NULL;
    stet_model *model = rig_model("hand.xml");
    stet_sim *sim;
    OK(stet_sim_create(model, &def, &sim));
    begin(sim);
    OK(sti_null_fail(device_of(sim), STI_NULL_OP_LAUNCH, 1));
    assert_int_equal(stet_sim_control_noise(sim, 0.3, 1), STET_ERROR_DEVICE);
    OK(stet_sim_control_noise(sim, 0.3, 1));
    OK(stet_trace_end(device_of(sim)));
    sums s = sum_events(sim);
    stet_trace_event e;
    int failed[STET_TRACE_COUNT] = {0};
    for (int64_t i = 0; stet_trace_get_event(device_of(sim), i, &e); ++i) failed[e.kind] += e.failed;
    assert_int_equal(failed[STET_TRACE_PHASE], 1);
    assert_int_equal(failed[STET_TRACE_LAUNCH], 1);
    assert_int_equal(s.calls[STET_TRACE_PHASE], 2);
    assert_int_equal(s.calls[STET_TRACE_LAUNCH], 2);
    assert_int_equal(room_counters(sim).launches, 1);
    stet_sim_destroy(sim);
    stet_model_destroy(model);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

typedef struct traced_run {
    int64_t frames, events, renders;
} traced_run;

static void *run_traced(void *context)
{
    traced_run *t = context;
    stet_sim *sim = open_hand();
    begin(sim);
    play(sim, 20, t->frames);
    check_sums(sim);
    stet_profile_row r;
    for (int64_t i = 0; stet_profile_get_row(device_of(sim), i, &r); ++i)
        if (strcmp(r.name, "k_render") == 0) t->renders = r.calls;
    t->events = stats_of(sim).events;
    stet_sim_destroy(sim);
    return NULL;
}

static void two_sims_are_traced_apart(void **state)
{
    traced_run t[2] = {{.frames = 6}, {.frames = 11}}, alone[2] = {{.frames = 6}, {.frames = 11}};
    pthread_t thread[2];
    for (int i = 0; i < 2; ++i) (void)run_traced(&alone[i]);
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&thread[i], NULL, run_traced, &t[i]), 0);
    for (int i = 0; i < 2; ++i) assert_int_equal(pthread_join(thread[i], NULL), 0);
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(t[i].renders, t[i].frames);
        assert_int_equal(t[i].events, alone[i].events);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_of_a_frame),
        cmocka_unit_test(sums_are_the_counters),
        cmocka_unit_test(what_happens_inside_is_inside),
        cmocka_unit_test(no_bit_changes),
        cmocka_unit_test(lack_of_memory_changes_nothing),
        cmocka_unit_test(totals_alone_stop_allocating),
        cmocka_unit_test(begin_and_end_in_turn),
        cmocka_unit_test(the_limit_is_kept),
        cmocka_unit_test(failures_are_traced),
        cmocka_unit_test(two_sims_are_traced_apart),
    };
    return cmocka_run_group_tests_name("sim/trace", tests, NULL, NULL);
}
