/* See profile.h. A kernel's time is the time on the device, if it is known. */
#include "cli/run/profile.h"

#include "base/plural.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const stet_trace_kind ways[PROFILE_WAYS] = {STET_TRACE_UPLOAD, STET_TRACE_STAGE, STET_TRACE_DOWNLOAD,
                                                   STET_TRACE_COPY};

/* ---- totals ------------------------------------------------------------------------------------------------------ */

static int64_t time_of(const stet_profile_row *row) { return row->device_calls ? row->device_duration : row->duration; }

static int longest_first(const void *a, const void *b)
{
    const stet_profile_row *x = a, *y = b;
    int64_t s = time_of(x), t = time_of(y);
    return s != t ? (s < t) - (s > t) : strcmp(x->name, y->name);
}

static void add_to(stet_profile_row *sum, const stet_profile_row *row)
{
    sum->calls += row->calls;
    sum->comparisons += row->comparisons;
    sum->failed += row->failed;
    sum->amount += row->amount;
    sum->duration += row->duration;
    sum->device_calls += row->device_calls;
    sum->device_duration += row->device_duration;
}

static void take_row(profile *p, const stet_profile_row *row)
{
    p->device = p->device || row->device_calls;
    for (int w = 0; w < PROFILE_WAYS; ++w)
        if (row->kind == ways[w]) add_to(&p->way[w], row);
    if (row->kind == STET_TRACE_REPLAY) p->recording[p->nrecording++] = *row;
    if (row->kind != STET_TRACE_LAUNCH) return;
    p->kernel[p->nkernel++] = *row;
    p->kernel_time += time_of(row);
}

bool profile_take(profile *p, const stet_device *device)
{
    stet_profile_row row;
    *p = (profile){0};
    p->stats = stet_trace_get_stats(device);
    p->kernel = calloc((size_t)p->stats.rows + 1, sizeof *p->kernel);
    p->recording = calloc((size_t)p->stats.rows + 1, sizeof *p->recording);
    if (!p->kernel || !p->recording) return false;
    for (int w = 0; w < PROFILE_WAYS; ++w) p->way[w].kind = ways[w];
    for (int64_t i = 0; stet_profile_get_row(device, i, &row); ++i) take_row(p, &row);
    qsort(p->kernel, (size_t)p->nkernel, sizeof *p->kernel, longest_first);
    qsort(p->recording, (size_t)p->nrecording, sizeof *p->recording, longest_first);
    return true;
}

void profile_free(profile *p)
{
    free(p->kernel);
    free(p->recording);
    p->kernel = p->recording = NULL;
    p->nkernel = p->nrecording = 0;
}

static double share(const profile *p, const stet_profile_row *row)
{
    return p->kernel_time > 0 ? (double)time_of(row) / (double)p->kernel_time : 0;
}

/* Bytes a nanosecond are GB/s. */
static double rate(const stet_profile_row *row)
{
    return time_of(row) > 0 ? (double)row->amount / (double)time_of(row) : 0;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *calls_json(const stet_profile_row *row)
{
    json_t *o = json_object();
    json_object_set_new(o, "calls", json_integer(row->calls));
    json_object_set_new(o, "comparisons", json_integer(row->comparisons));
    json_object_set_new(o, "failed", json_integer(row->failed));
    json_object_set_new(o, "seconds", json_real((double)time_of(row) / 1e9));
    json_object_set_new(o, "host_seconds", json_real((double)row->duration / 1e9));
    json_object_set_new(o, "device_seconds",
                        row->device_calls ? json_real((double)row->device_duration / 1e9) : json_null());
    return o;
}

static json_t *kernel_json(const profile *p, const stet_profile_row *row)
{
    char source[640];
    json_t *o = calls_json(row);
    (void)snprintf(source, sizeof source, "%s:%d", row->file ? row->file : "", row->line);
    json_object_set_new(o, "name", json_string(row->name));
    json_object_set_new(o, "source", row->file ? json_string(source) : json_null());
    json_object_set_new(o, "share", json_real(share(p, row)));
    json_object_set_new(o, "blocks", json_integer(row->amount));
    return o;
}

static json_t *recording_json(const stet_profile_row *row)
{
    json_t *o = calls_json(row);
    json_object_set_new(o, "name", json_string(row->name));
    json_object_set_new(o, "launches", json_integer(row->amount));
    return o;
}

static json_t *way_json(const stet_profile_row *row)
{
    json_t *o = calls_json(row);
    json_object_set_new(o, "bytes", json_integer(row->amount));
    json_object_set_new(o, "gb_per_second", json_real(rate(row)));
    return o;
}

json_t *profile_json(const profile *p)
{
    json_t *o = json_object(), *kernels = json_array(), *recordings = json_array(), *copies = json_object();
    for (int i = 0; i < p->nkernel; ++i) json_array_append_new(kernels, kernel_json(p, &p->kernel[i]));
    for (int i = 0; i < p->nrecording; ++i) json_array_append_new(recordings, recording_json(&p->recording[i]));
    for (int w = 0; w < PROFILE_WAYS; ++w)
        json_object_set_new(copies, stet_trace_kind_name(ways[w]), way_json(&p->way[w]));
    json_object_set_new(o, "seconds", json_real((double)p->stats.duration / 1e9));
    json_object_set_new(o, "unnamed", json_integer(p->stats.unnamed));
    json_object_set_new(o, "kernels", kernels);
    json_object_set_new(o, "recordings", recordings);
    json_object_set_new(o, "copies", copies);
    return o;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

static double milli(int64_t nanoseconds) { return (double)nanoseconds / 1e6; }

static double mean_micro(const stet_profile_row *row)
{
    int64_t calls = row->device_calls ? row->device_calls : row->calls;
    return calls ? (double)time_of(row) / (double)calls / 1e3 : 0;
}

static void print_head(const profile *p, const char *title, const char *part, const char *amount)
{
    printf("\n%-28s %10s %12s%s %12s %8s %14s\n", title, "calls", p->device ? "host ms" : "total ms",
           p->device ? "    device ms" : "", "mean us", part, amount);
}

static void print_row(const profile *p, const stet_profile_row *row, const char *name, const char *part)
{
    char device[32] = "";
    if (p->device) (void)snprintf(device, sizeof device, " %12s", "-");
    if (row->device_calls) (void)snprintf(device, sizeof device, " %12.3f", milli(row->device_duration));
    printf("%-28s %10" PRId64 " %12.3f%s %12.3f %8s %14" PRId64 "\n", name, row->calls, milli(row->duration), device,
           mean_micro(row), part, row->amount);
}

static void print_kernels(const profile *p)
{
    print_head(p, "kernel", "share", "blocks");
    for (int i = 0; i < p->nkernel; ++i) {
        char part[32];
        (void)snprintf(part, sizeof part, "%.1f %%", 100 * share(p, &p->kernel[i]));
        print_row(p, &p->kernel[i], p->kernel[i].name, part);
    }
    printf("%-28s %10s %12.3f   of %.3f ms that were profiled\n", "all kernels", "", milli(p->kernel_time),
           milli(p->stats.duration));
}

static void print_recordings(const profile *p)
{
    if (p->nrecording) print_head(p, "recordings", "", "launches");
    for (int i = 0; i < p->nrecording; ++i) print_row(p, &p->recording[i], p->recording[i].name, "");
}

static void print_copies(const profile *p)
{
    print_head(p, "copies", "GB/s", "bytes");
    for (int w = 0; w < PROFILE_WAYS; ++w) {
        char part[32];
        (void)snprintf(part, sizeof part, "%.2f", rate(&p->way[w]));
        print_row(p, &p->way[w], stet_trace_kind_name(ways[w]), part);
    }
}

void profile_print(const profile *p)
{
    print_kernels(p);
    print_recordings(p);
    print_copies(p);
    if (p->stats.unnamed)
        printf("%" PRId64 " call%s counted as \"(others)\": there was no memory for more names\n", p->stats.unnamed,
               STI_S(p->stats.unnamed));
}
