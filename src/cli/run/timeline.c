/*
 * See timeline.h. Events are written one by one, so the text of a long trace is never in memory as a whole. Times in
 * the file are microseconds with three decimals, so that nested events stay nested.
 */
#include "cli/run/timeline.h"

#include "cli/report_error.h"

#include "base/file.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STYLE = JSON_COMPACT | JSON_REAL_PRECISION(15), PROCESS = 1, HOST = 1, DEVICE = 2 };

/* ---- texts ------------------------------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at p, 0 if there is none. */
static size_t character(const unsigned char *p)
{
    size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : 4;
    if (n == 4 && (p[0] < 0xf0 || p[0] > 0xf4)) return 0;
    for (size_t i = 1; i < n; ++i)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)) return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) return 0;
    return n;
}

/*
 * Cuts names to the limit, also within a character; bytes that are not UTF-8 become U+FFFD. The writer escapes control
 * characters.
 */
static json_t *text(const char *from)
{
    char *clean = malloc(3 * strlen(from) + 1), *to = clean;
    if (!clean) return NULL;
    while (*from) {
        size_t n = character((const unsigned char *)from);
        memcpy(to, n ? from : "\xef\xbf\xbd", n ? n : 3);
        to += n ? n : 3;
        from += n ? n : 1;
    }
    *to = 0;
    json_t *json = json_string(clean);
    free(clean);
    return json;
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static bool is_copy(stet_trace_kind kind)
{
    return kind == STET_TRACE_UPLOAD || kind == STET_TRACE_STAGE || kind == STET_TRACE_DOWNLOAD ||
           kind == STET_TRACE_COPY;
}

static bool is_instant(stet_trace_kind kind)
{
    return kind == STET_TRACE_CACHED || kind == STET_TRACE_MISS || kind == STET_TRACE_FALLBACK;
}

/* The label of an event: a copy has its direction, an instant what happened. */
static json_t *name_of(const stet_trace_event *e)
{
    char name[320];
    const char *kind = stet_trace_kind_name(e->kind);
    if (is_copy(e->kind) || e->kind == STET_TRACE_REPLAY || e->kind == STET_TRACE_COMPILE ||
        e->kind == STET_TRACE_CACHED)
        (void)snprintf(name, sizeof name, "%s%s%s", kind, *e->name ? " " : "", e->name);
    else if (is_instant(e->kind))
        (void)snprintf(name, sizeof name, "%s %s", stet_mechanism_name(stet_reason_mechanism(e->reason)), kind);
    else
        (void)snprintf(name, sizeof name, "%s", e->name);
    return text(name);
}

static json_t *details_of(const stet_trace_event *e)
{
    json_t *args = json_object();
    const char *unit = stet_trace_kind_unit(e->kind);
    if (*unit) json_object_set_new(args, unit, json_integer(e->amount));
    if (is_copy(e->kind) && *e->name) json_object_set_new(args, "array", text(e->name));
    if (e->kind == STET_TRACE_FALLBACK) json_object_set_new(args, "where", text(e->name));
    if (e->kind == STET_TRACE_REPLAY) json_object_set_new(args, "recording", json_integer((json_int_t)e->id));
    if (e->file) {
        char source[640];
        (void)snprintf(source, sizeof source, "%s:%d", e->file, e->line);
        json_object_set_new(args, "source", text(source));
    }
    if (e->reason != STET_REASON_NONE) {
        json_object_set_new(args, "reason", text(stet_reason_name(e->reason)));
        json_object_set_new(args, "sentence", text(stet_reason_sentence(e->reason)));
    }
    if (e->comparison) json_object_set_new(args, "comparison", json_true());
    if (e->failed) json_object_set_new(args, "failed", json_true());
    return args;
}

static json_t *event_json(const stet_trace_event *e, int track, int64_t begin, int64_t duration)
{
    json_t *o = json_object();
    json_object_set_new(o, "ph", json_string(is_instant(e->kind) ? "i" : "X"));
    json_object_set_new(o, "name", name_of(e));
    json_object_set_new(o, "cat", json_string(stet_trace_kind_name(e->kind)));
    json_object_set_new(o, "ts", json_real((double)begin / 1e3));
    if (is_instant(e->kind))
        json_object_set_new(o, "s", json_string("t"));
    else
        json_object_set_new(o, "dur", json_real((double)duration / 1e3));
    json_object_set_new(o, "pid", json_integer(PROCESS));
    json_object_set_new(o, "tid", json_integer(track));
    json_object_set_new(o, "args", details_of(e));
    return o;
}

static json_t *name_json(const char *what, int track, const char *name)
{
    json_t *o = json_object(), *args = json_object();
    json_object_set_new(args, "name", text(name));
    json_object_set_new(o, "ph", json_string("M"));
    json_object_set_new(o, "name", json_string(what));
    json_object_set_new(o, "ts", json_integer(0));
    json_object_set_new(o, "pid", json_integer(PROCESS));
    json_object_set_new(o, "tid", json_integer(track));
    json_object_set_new(o, "args", args);
    return o;
}

/* Facts about the trace, with what it lacks. */
static json_t *facts_json(const stet_device *device)
{
    stet_trace_stats stats;
    json_t *o = json_object();
    stats = stet_trace_get_stats(device);
    json_object_set_new(o, "device", text(stet_device_get_name(device)));
    json_object_set_new(o, "events", json_integer(stats.events));
    json_object_set_new(o, "dropped_events", json_integer(stats.dropped));
    json_object_set_new(o, "unnamed_events", json_integer(stats.unnamed));
    json_object_set_new(o, "seconds", json_real((double)stats.duration / 1e9));
    return o;
}

/* ---- the file ---------------------------------------------------------------------------------------------------- */

/*
 * Writes the text `before` and the object, and frees the object. An object is NULL or incomplete only without memory.
 */
static bool put_timeline(FILE *f, const char *before, json_t *o, size_t keys)
{
    bool good = o && json_object_size(o) == keys && fputs(before, f) >= 0 && json_dumpf(o, f, STYLE) == 0;
    json_decref(o);
    return good;
}

static bool put_event(FILE *f, const stet_trace_event *e)
{
    size_t keys = 8;
    if (!put_timeline(f, ",\n", event_json(e, HOST, e->begin, e->duration), keys)) return false;
    return e->device_duration < 0 ||
           put_timeline(f, ",\n", event_json(e, DEVICE, e->device_begin, e->device_duration), keys);
}

static bool has_device_times(const stet_device *device)
{
    stet_profile_row row;
    for (int64_t i = 0; stet_profile_get_row(device, i, &row); ++i)
        if (row.device_calls) return true;
    return false;
}

static bool put_all(FILE *f, const stet_device *device, const char *title)
{
    stet_trace_event event;
    bool good = put_timeline(f, "{\"displayTimeUnit\":\"ms\",\n\"otherData\":", facts_json(device), 5) &&
                put_timeline(f, ",\n\"traceEvents\":[\n", name_json("process_name", 0, title), 6) &&
                put_timeline(f, ",\n", name_json("thread_name", HOST, "host"), 6);
    if (good && has_device_times(device)) good = put_timeline(f, ",\n", name_json("thread_name", DEVICE, "device"), 6);
    for (int64_t i = 0; good && stet_trace_get_event(device, i, &event); ++i) good = put_event(f, &event);
    return good && fputs("\n]}\n", f) >= 0;
}

const char *timeline_write(const stet_device *device, const char *title, const char *path)
{
    sti_output out;
    const char *wrong = sti_output_open(&out, path);
    if (!wrong && put_all(out.file, device, title))
        wrong = sti_output_commit(&out);
    else if (!wrong)
        sti_output_drop(&out), wrong = "look for room on the disk, and for memory";
    return wrong ? error_text("%s: the trace cannot be written: %s", path, wrong) : NULL;
}
