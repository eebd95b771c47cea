/*
 * Ranges for profilers, against libraries of the test's own in the place of NVTX and ROCTX: what is pushed is what a
 * trace says, nested as it is there, and nothing else changes.
 */
#include "sim/room.h"

#include "base/failing.h"
#include "device/ranges_library.h"

#include <dlfcn.h>

enum { N = 2, WARM = 4, FRAMES = 3, SUBSTEPS = 2 };

static const char *const nvtx = STET_TEST_BINARY_DIR "/test/device/nvtx.so";
static const char *const roctx = STET_TEST_BINARY_DIR "/test/device/roctx.so";

/* What a library was told; it stays loaded, and can be found by its name from here on. */
static ranges_told *look(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library) fail_msg("%s", dlerror());
    void *symbol = dlsym(library, "ranges_look");
    ranges_look_function *function;
    assert_non_null(symbol);
    memcpy(&function, &symbol, sizeof function);
    return function();
}

static ranges_told *fresh(const char *path)
{
    ranges_told *told = look(path);
    *told = (ranges_told){.n = 0};
    return told;
}

static stet_sim *open_hand(void) { return room_open("hand.xml", &(room_def){.nworld = N, .outputs = BIT(RGB)}); }

static void play(stet_sim *sim, int64_t first, int64_t n)
{
    for (int64_t f = first; f < first + n; ++f) {
        room_play(sim, f, 1, SUBSTEPS);
        free(room_read(sim, STET_FRAME_LATEST, 0, STET_OUTPUT_RGB));
    }
}

static void begin_ranges(stet_sim *sim, const char *library)
{
    stet_ranges_def def = stet_default_ranges_def();
    def.library = library;
    OK(stet_ranges_begin(stet_sim_get_device(sim), &def));
}

static void balanced(const ranges_told *told)
{
    assert_int_equal(told->depth, 0);
    assert_int_equal(told->wrong, 0);
    assert_int_equal(told->pops, told->n);
    assert_true(told->n > 0 && told->n < RANGES_MOST);
}

static bool is_range(stet_trace_kind kind)
{
    return kind == STET_TRACE_PHASE || kind == STET_TRACE_LAUNCH || kind == STET_TRACE_REPLAY ||
           kind == STET_TRACE_COMPILE;
}

/* How many of the ranges before an event are open when it begins; `end` has room for their ends. */
static int depth_of(const stet_trace_event *e, int64_t *end, int *nopen)
{
    while (*nopen && end[*nopen - 1] <= e->begin) --*nopen;
    assert_true(*nopen < RANGES_DEPTH);
    end[*nopen] = e->begin + e->duration;
    return (*nopen)++;
}

/* Each event of the trace that is a range, in order, and as deep as it lies in the others' times. */
static void ranges_are_what_a_trace_says(void **state)
{
    stet_sim *sim = open_hand();
    stet_device *device = stet_sim_get_device(sim);
    stet_trace_def def = stet_default_trace_def();
    stet_trace_event e;
    play(sim, 0, WARM);
    ranges_told *told = fresh(nvtx);
    begin_ranges(sim, nvtx);
    OK(stet_trace_begin(device, &def));
    play(sim, WARM, FRAMES);
    OK(stet_trace_end(device));
    balanced(told);
    int64_t end[RANGES_DEPTH];
    int n = 0, deepest = 0, nopen = 0;
    for (int64_t i = 0; stet_trace_get_event(device, i, &e); ++i) {
        if (!is_range(e.kind)) continue;
        assert_true(n < told->n);
        assert_string_equal(told->range[n].name, e.name);
        assert_int_equal(told->range[n].depth, depth_of(&e, end, &nopen));
        if (told->range[n].depth > deepest) deepest = told->range[n].depth;
        ++n;
    }
    assert_int_equal(n, told->n);
    assert_true(deepest >= 2); /* a launch in a replay in a phase */
    OK(stet_ranges_end(device));
    stet_sim_destroy(sim);
}

/* The names are the same without a trace, and after one. */
static void ranges_need_no_trace(void **state)
{
    stet_sim *sim = open_hand();
    stet_device *device = stet_sim_get_device(sim);
    stet_trace_def def = stet_default_trace_def();
    stet_trace_stats stats;
    play(sim, 0, WARM);
    begin_ranges(sim, nvtx);
    assert_false(stet_trace_is_on(device));
    ranges_told *told = fresh(nvtx), first;
    for (int round = 0; round < 3; ++round) {
        *told = (ranges_told){.n = 0};
        if (round == 1) OK(stet_trace_begin(device, &def));
        play(sim, WARM + round, 1);
        if (round == 1) OK(stet_trace_end(device));
        balanced(told);
        if (round == 0) first = *told;
        assert_int_equal(told->n, first.n);
        assert_memory_equal(told->range, first.range, (size_t)first.n * sizeof *first.range);
        stats = stet_trace_get_stats(device);
        assert_int_equal(stats.events > 0, round >= 1);
    }
    OK(stet_ranges_end(device));
    *told = (ranges_told){.n = 0};
    play(sim, WARM + 3, 1);
    assert_int_equal(told->n, 0);
    stet_sim_destroy(sim);
}

/* Ranges end while a trace goes on, and begin while one is on. */
static void ranges_and_traces_are_apart(void **state)
{
    stet_sim *sim = open_hand();
    stet_device *device = stet_sim_get_device(sim);
    stet_trace_def def = stet_default_trace_def();
    stet_trace_stats before, after;
    OK(stet_trace_begin(device, &def));
    ranges_told *told = fresh(nvtx);
    begin_ranges(sim, nvtx);
    play(sim, 0, 1);
    balanced(told);
    OK(stet_ranges_end(device));
    int n = told->n;
    before = stet_trace_get_stats(device);
    play(sim, 1, 1);
    assert_int_equal(told->n, n);
    after = stet_trace_get_stats(device);
    assert_true(after.events > before.events);
    OK(stet_trace_end(device));
    stet_sim_destroy(sim);
}

static void ranges_change_nothing(void **state)
{
    uint64_t hash[2];
    stet_counters counters[2];
    for (int with = 0; with < 2; ++with) {
        stet_sim *sim = open_hand();
        if (with) begin_ranges(sim, nvtx);
        play(sim, 0, WARM + FRAMES);
        OK(stet_worlds_hash(stet_sim_get_worlds(sim), &hash[with]));
        counters[with] = stet_device_get_counters(stet_sim_get_device(sim));
        stet_sim_destroy(sim); /* with ranges on */
    }
    assert_int_equal(hash[0], hash[1]);
    assert_memory_equal(&counters[0], &counters[1], sizeof counters[0]);
}

/* ---- which library ----------------------------------------------------------------------------------------------- */

static void libraries_are_found(void **state)
{
    stet_sim *sim = open_hand();
    stet_device *device = stet_sim_get_device(sim);
    assert_null(stet_ranges_get_library(device));
    for (int k = 0; k < 2; ++k) {
        const char *path = k ? roctx : nvtx;
        ranges_told *told = fresh(path);
        begin_ranges(sim, path);
        assert_string_equal(stet_ranges_get_library(device), path);
        play(sim, k, 1);
        balanced(told);
        OK(stet_ranges_end(device));
        assert_null(stet_ranges_get_library(device));
    }
    begin_ranges(sim, NULL); /* by the name of what is loaded already */
    assert_string_equal(stet_ranges_get_library(device), nvtx);
    OK(stet_ranges_end(device));
    stet_sim_destroy(sim);
}

static void refusals(void **state)
{
    stet_sim *sim = open_hand();
    stet_device *device = stet_sim_get_device(sim);
    stet_ranges_def def = stet_default_ranges_def();
    FAILS(stet_ranges_end(device), STET_ERROR_STATE, "gives no ranges");
    FAILS(stet_ranges_begin(NULL, &def), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_ranges_begin(device, NULL), STET_ERROR_INVALID_ARGUMENT, "must not be NULL");
    FAILS(stet_ranges_begin(device, &(stet_ranges_def){.library = nvtx}), STET_ERROR_INVALID_ARGUMENT,
          "not initialised");
    def.library = "/nowhere/libnvtx.so";
    FAILS(stet_ranges_begin(device, &def), STET_ERROR_NOT_FOUND, "/nowhere/libnvtx.so");
    def.library = "libm.so.6";
    FAILS(stet_ranges_begin(device, &def), STET_ERROR_UNSUPPORTED, "neither nvtxRangePushA nor roctxRangePushA");
    assert_null(stet_ranges_get_library(device));
    def.library = nvtx;
    OK(stet_ranges_begin(device, &def));
    FAILS(stet_ranges_begin(device, &def), STET_ERROR_STATE, "already");
    sti_trace *trace = device->mechanisms.trace;
    sti_trace_mark mark = sti_trace_open(trace, &(sti_trace_what){.kind = STET_TRACE_PHASE, .name = "open"});
    stet_trace_def traced = stet_default_trace_def();
    FAILS(stet_ranges_end(device), STET_ERROR_STATE, "in the middle");
    FAILS(stet_trace_begin(device, &traced), STET_ERROR_STATE, "in the middle of a range");
    sti_trace_close(trace, mark, STET_OK);
    OK(stet_ranges_end(device));
    stet_sim_destroy(sim);
}

static void the_environment_asks(void **state)
{
    static const struct {
        const char *value;
        bool on;
    } rows[] = {{"1", true}, {"0", false}, {"", false}, {NULL, false}, {"/nowhere.so", false}};
    (void)look(nvtx);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (rows[i].value)
            assert_int_equal(setenv("STET_RANGES", rows[i].value, 1), 0);
        else
            assert_int_equal(unsetenv("STET_RANGES"), 0);
        stet_sim *sim = open_hand();
        assert_int_equal(stet_ranges_get_library(stet_sim_get_device(sim)) != NULL, rows[i].on);
        stet_sim_destroy(sim);
    }
    assert_int_equal(setenv("STET_RANGES", roctx, 1), 0);
    stet_sim *sim = open_hand();
    assert_string_equal(stet_ranges_get_library(stet_sim_get_device(sim)), roctx);
    stet_sim_destroy(sim);
    assert_int_equal(unsetenv("STET_RANGES"), 0);
}

static stet_result begin_and_end(void)
{
    stet_device *device;
    stet_device_def def = stet_default_device_def();
    stet_ranges_def ranges = stet_default_ranges_def();
    ranges.library = nvtx;
    def.type = STET_DEVICE_CPU;
    STI_TRY(stet_device_create(&def, &device));
    stet_result result = stet_ranges_begin(device, &ranges);
    assert_int_equal(stet_ranges_get_library(device) != NULL, result == STET_OK);
    if (result == STET_OK) result = stet_ranges_end(device);
    stet_device_destroy(device);
    return result;
}

static void every_allocation_may_fail(void **state) { assert_int_equal(fail_each_allocation(begin_and_end, false), 3); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_what_a_trace_says), cmocka_unit_test(ranges_need_no_trace),
        cmocka_unit_test(ranges_and_traces_are_apart),  cmocka_unit_test(ranges_change_nothing),
        cmocka_unit_test(libraries_are_found),          cmocka_unit_test(refusals),
        cmocka_unit_test(the_environment_asks),         cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests_name("sim/ranges", tests, NULL, NULL);
}
