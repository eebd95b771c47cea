/*
 * Timelines and tables of what the command cannot be made to do: names with quotes, control bytes, cut characters;
 * times on a device; dropped events; a file that cannot be written. What the command writes for a run,
 * cli/trace_test.py reads.
 */
#include "cli/run/profile.h"
#include "cli/run/timeline.h"
#include "device/device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define OK(call) assert_int_equal((call), STET_OK)

static const char *path(void)
{
    static char text[1024];
    (void)snprintf(text, sizeof text, "%s/timeline_%d.json", STET_TEST_BINARY_DIR, (int)getpid());
    return text;
}

static stet_device *open_device(int64_t limit)
{
    stet_device *device;
    stet_device_def def = stet_default_device_def();
    stet_trace_def trace = stet_default_trace_def();
    def.type = STET_DEVICE_CPU;
    def.threads = 1;
    if (limit >= 0) trace.limit = limit;
    OK(stet_device_create(&def, &device));
    OK(stet_trace_begin(device, &trace));
    return device;
}

static json_t *written(const stet_device *device, const char *title)
{
    json_error_t error;
    assert_null(timeline_write(device, title, path()));
    json_t *o = json_load_file(path(), JSON_REJECT_DUPLICATES, &error);
    if (!o) fail_msg("line %d: %s", error.line, error.text);
    assert_int_equal(remove(path()), 0);
    return o;
}

static json_t *event(json_t *file, size_t i)
{
    json_t *e = json_array_get(json_object_get(file, "traceEvents"), i);
    assert_non_null(e);
    return e;
}

static const char *string_of(json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    assert_non_null(text);
    return text;
}

static const char *array_of(json_t *file, size_t i)
{
    return string_of(json_object_get(event(file, i), "args"), "array");
}

static void copy(stet_device *device, const char *name)
{
    int from = 3, to = 0;
    OK(sti_device_upload_of(device, name, &to, &from, sizeof from));
    assert_int_equal(to, 3);
}

/* Names as they come, and as they must be read. */
static const char *const names[][2] = {
    {"plain", "plain"},
    {"\"quoted\", \\ and /", "\"quoted\", \\ and /"},
    {"tab\t line\n bell\a esc\x1b del\x7f", "tab\t line\n bell\a esc\x1b del\x7f"},
    {"gr\xc3\xbc\xc3\x9f \xe4\xb8\x96 \xf0\x9f\xa4\x96", "gr\xc3\xbc\xc3\x9f \xe4\xb8\x96 \xf0\x9f\xa4\x96"},
    {"cut \xf0\x9f\xa4", "cut \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"latin \xfc.", "latin \xef\xbf\xbd."},
    {"long form \xc0\xaf", "long form \xef\xbf\xbd\xef\xbf\xbd"},
    {"surrogate \xed\xa0\x80", "surrogate \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"beyond \xf4\x90\x80\x80", "beyond \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
    {"</script>", "</script>"},
};
enum { NAMES = sizeof names / sizeof *names };

static void names_are_escaped(void **state)
{
    stet_device *device = open_device(-1);
    for (int i = 0; i < NAMES; ++i) copy(device, names[i][0]);
    OK(stet_trace_end(device));
    json_t *file = written(device, "scenes/\"a\"\x01\xff.xml");
    assert_string_equal(string_of(json_object_get(event(file, 0), "args"), "name"), "scenes/\"a\"\x01\xef\xbf\xbd.xml");
    for (int i = 0; i < NAMES; ++i) {
        char bar[200];
        (void)snprintf(bar, sizeof bar, "upload %s", names[i][1]);
        assert_string_equal(array_of(file, 2 + (size_t)i), names[i][1]);
        assert_string_equal(string_of(event(file, 2 + (size_t)i), "name"), bar);
    }
    json_decref(file);
    stet_device_destroy(device);
}

/* Any bytes at all give a file that is read. */
static void any_bytes_are_a_name(void **state)
{
    stet_device *device = open_device(-1);
    for (unsigned a = 1; a < 256; ++a)
        for (unsigned b = 1; b < 256; b += 9) {
            const char name[] = {(char)a, (char)b, (char)(a ^ b ? a ^ b : 1), (char)0xbf, 0};
            copy(device, name);
        }
    OK(stet_trace_end(device));
    json_t *file = written(device, "all");
    assert_int_equal(json_array_size(json_object_get(file, "traceEvents")), 2 + 255 * 29);
    json_decref(file);
    stet_device_destroy(device);
}

/* What a device that tells its own times adds: a track, and its times in the table. */
static void devices_have_a_track(void **state)
{
    stet_device *device = open_device(-1);
    sti_trace *trace = device->mechanisms.trace;
    const sti_trace_what what = {.kind = STET_TRACE_LAUNCH, .name = "k_x", .file = "x.k.h", .line = 3, .amount = 64};
    sti_trace_mark mark = sti_trace_open(trace, &what);
    sti_trace_close(trace, mark, STET_OK);
    sti_trace_device_time(mark, 2000, 1500);
    sti_trace_mark replay =
        sti_trace_open(trace, &(sti_trace_what){.kind = STET_TRACE_REPLAY, .name = "a step", .amount = 20, .id = 7});
    sti_trace_close(trace, replay, STET_OK);
    OK(stet_trace_end(device));
    json_t *file = written(device, "run"), *host = event(file, 3), *there = event(file, 4);
    assert_string_equal(string_of(event(file, 2), "name"), "thread_name");
    assert_string_equal(string_of(json_object_get(event(file, 2), "args"), "name"), "device");
    assert_int_equal(json_integer_value(json_object_get(host, "tid")), 1);
    assert_int_equal(json_integer_value(json_object_get(there, "tid")), 2);
    assert_string_equal(string_of(there, "name"), "k_x");
    assert_string_equal(string_of(json_object_get(there, "args"), "source"), "x.k.h:3");
    assert_true(json_real_value(json_object_get(there, "ts")) == 2.0);
    assert_true(json_real_value(json_object_get(there, "dur")) == 1.5);
    json_decref(file);
    profile p;
    assert_true(profile_take(&p, device));
    json_t *table = profile_json(&p), *row = json_array_get(json_object_get(table, "kernels"), 0);
    assert_true(json_real_value(json_object_get(row, "seconds")) == 1500e-9);
    assert_true(json_real_value(json_object_get(row, "share")) == 1.0);
    assert_true(json_real_value(json_object_get(row, "device_seconds")) == 1500e-9);
    assert_int_equal(json_integer_value(json_object_get(row, "blocks")), 64);
    row = json_array_get(json_object_get(table, "recordings"), 0);
    assert_string_equal(string_of(row, "name"), "a step");
    assert_int_equal(json_integer_value(json_object_get(row, "launches")), 20);
    assert_true(json_is_null(json_object_get(row, "device_seconds")));
    assert_true(p.device);
    json_decref(table);
    profile_free(&p);
    stet_device_destroy(device);
}

static void drops_are_said(void **state)
{
    stet_device *device = open_device(0);
    for (int i = 0; i < 7; ++i) copy(device, "a");
    OK(stet_trace_end(device));
    json_t *file = written(device, "run"), *facts = json_object_get(file, "otherData");
    assert_int_equal(json_array_size(json_object_get(file, "traceEvents")), 2);
    assert_int_equal(json_integer_value(json_object_get(facts, "dropped_events")), 7);
    assert_int_equal(json_integer_value(json_object_get(facts, "unnamed_events")), 7);
    json_decref(file);
    profile p;
    assert_true(profile_take(&p, device));
    assert_int_equal(p.way[0].calls, 7);
    assert_int_equal(p.way[0].amount, 7 * (int64_t)sizeof(int));
    assert_int_equal(p.stats.unnamed, 7);
    profile_free(&p);
    stet_device_destroy(device);
}

static void no_half_file_is_left(void **state)
{
    stet_device *device = open_device(-1);
    copy(device, "a");
    OK(stet_trace_end(device));
    assert_non_null(timeline_write(device, "run", "/nowhere/at/all.json"));
    char link[1100];
    (void)snprintf(link, sizeof link, "%s.full", path());
    assert_int_equal(symlink("/dev/full", link), 0);
    assert_non_null(timeline_write(device, "run", link));
    assert_int_equal(unlink(link), 0); /* it is still there */
    stet_device_destroy(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_escaped),    cmocka_unit_test(any_bytes_are_a_name),
        cmocka_unit_test(devices_have_a_track), cmocka_unit_test(drops_are_said),
        cmocka_unit_test(no_half_file_is_left),
    };
    return cmocka_run_group_tests_name("cli/timeline", tests, NULL, NULL);
}
