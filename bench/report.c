/* Rows of results, as a table and as JSON. */
#include "bench/bench.h"

#include "base/error.h"
#include "cli/files/json_file.h"
#include <commit.h> /* made by the build */

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

stet_result bench_add(bench *b, bench_row **out, const double *sample, int n, const char *unit, bool higher,
                      const char *format, ...)
{
    *out = NULL;
    if (b->nrow == BENCH_ROWS) return sti_error(STET_ERROR_LIMIT, "bench: more than %d results", BENCH_ROWS);
    bench_row *row = &b->row[b->nrow++];
    memset(row, 0, sizeof *row);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(row->name, sizeof row->name, format, args);
    va_end(args);
    (void)snprintf(row->unit, sizeof row->unit, "%s", unit);
    row->higher = higher;
    row->nsample = n < BENCH_SAMPLES ? n : BENCH_SAMPLES;
    memcpy(row->sample, sample, sizeof *sample * (size_t)row->nsample);
    row->value = bench_median(row->sample, row->nsample);
    *out = row;
    return STET_OK;
}

stet_result bench_add_ns(bench *b, const double *seconds, double each, bench_row **row, const char *name)
{
    double ns[BENCH_SAMPLES];
    for (int s = 0; s < BENCH_SAMPLES; ++s) ns[s] = seconds[s] * 1e9 / each;
    return bench_add(b, row, ns, BENCH_SAMPLES, "ns", false, "%s", name);
}

void bench_goal(bench_row *row, double goal)
{
    row->has_goal = true;
    row->goal = goal;
}

void bench_note(bench_row *row, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(row->note, sizeof row->note, format, args);
    va_end(args);
}

static bool met(const bench_row *row) { return row->higher ? row->value >= row->goal : row->value <= row->goal; }

void bench_print_table(const bench *b)
{
    int wide = 4;
    for (int i = 0; i < b->nrow; ++i)
        if ((int)strlen(b->row[i].name) > wide) wide = (int)strlen(b->row[i].name);
    (void)printf("%-*s  %10s %-16s %-10s %-8s %s\n", wide, "name", "value", "unit", "goal", "", "samples");
    for (int i = 0; i < b->nrow; ++i) {
        const bench_row *row = &b->row[i];
        char goal[32] = "";
        double low = INFINITY, high = -INFINITY;
        for (int s = 0; s < row->nsample; ++s) low = fmin(low, row->sample[s]), high = fmax(high, row->sample[s]);
        if (row->has_goal) (void)snprintf(goal, sizeof goal, "%s %.4g", row->higher ? ">=" : "<=", row->goal);
        (void)printf("%-*s  %10.4g %-16s %-10s %-8s %d: %.4g to %.4g\n", wide, row->name, row->value, row->unit, goal,
                     !row->has_goal ? ""
                     : met(row)     ? "met"
                                    : "not met",
                     row->nsample, low, high);
        if (*row->note) (void)printf("%-*s    %s\n", wide, "", row->note);
    }
}

static json_t *row_json(const bench_row *row)
{
    json_t *samples = json_array();
    for (int s = 0; samples && s < row->nsample; ++s)
        if (json_array_append_new(samples, json_real(row->sample[s])) != 0) {
            json_decref(samples);
            return NULL;
        }
    return json_pack("{s:s, s:f, s:s, s:s, s:o, s:o, s:s}", "name", row->name, "value", row->value, "unit", row->unit,
                     "better", row->higher ? "higher" : "lower", "goal",
                     row->has_goal ? json_real(row->goal) : json_null(), "samples", samples, "note", row->note);
}

const char *bench_write_json(const bench *b, const char *path)
{
    char machine[256];
    bench_machine(b, machine, sizeof machine);
    json_t *results = json_array();
    bool good = results != NULL;
    for (int i = 0; good && i < b->nrow; ++i) good = json_array_append_new(results, row_json(&b->row[i])) == 0;
    json_t *all = good ? json_pack("{s:s, s:s, s:s, s:O}", "machine", machine, "commit", BENCH_COMMIT, "command",
                                   b->command, "results", results)
                       : NULL;
    json_decref(results);
    if (!all) return "out of memory for the results";
    const char *wrong = NULL;
    if (path)
        wrong = json_file_write(all, JSON_INDENT(2) | JSON_REAL_PRECISION(6), path);
    else
        json_file_print(all, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    json_decref(all);
    return wrong;
}

stet_result bench_keep(const bench *b)
{
    const char *wrong = b->out ? bench_write_json(b, b->out) : NULL;
    return wrong ? sti_error(STET_ERROR_IO, "%s", wrong) : STET_OK;
}

void bench_progress(const char *format, ...)
{
    if (!isatty(STDERR_FILENO)) return;
    va_list args;
    va_start(args, format);
    (void)fputs("\r\033[K", stderr);
    (void)vfprintf(stderr, format, args);
    va_end(args);
}
