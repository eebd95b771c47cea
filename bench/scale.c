/*
 * A run over as many processes (mpirun) as threads, of one thread each, beside the same run in one process with all
 * threads: `stet run` beside this program, in turns. Without mpirun, or a build with MPI, it says so and adds no row.
 */
#include "bench/bench.h"

#include "base/error.h"
#include "cli/report_error.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TIMES = 7, COMMAND = 2048 };

static const struct {
    const char *name, *words, *rate;
    int64_t nworld, frames;
} works[] = {
    {"physics", "humanoid.xml --output none", "steps_per_second", 512, 40},
    {"small", "quadruped.xml --output none", "steps_per_second", 32, 400},
    {"frames", "hand.xml --output rgb --size 32x32", "frames_per_second", 128, 30},
};
enum { WORKS = sizeof works / sizeof *works };

/* The command `stet`, which is beside this one. */
static bool find_command(char out[COMMAND])
{
    ssize_t n = readlink("/proc/self/exe", out, COMMAND - 8);
    char *slash;
    if (n <= 0) return false;
    out[n] = 0;
    slash = strrchr(out, '/');
    if (!slash) return false;
    memcpy(slash, "/stet", 6);
    return access(out, X_OK) == 0;
}

/* What a command line prints, as an object; NULL: it failed. */
static json_t *run_command(const char *line)
{
    FILE *f = popen(line, "r");
    json_t *o = f ? json_loadf(f, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
    char rest[256];
    while (f && fread(rest, 1, sizeof rest, f) > 0) continue;
    if (f && pclose(f) == 0) return o;
    json_decref(o);
    return NULL;
}

/* The options that only one of the two MPIs has. NULL: there is no mpirun. */
static const char *find_launcher(void)
{
    char text[256] = "";
    FILE *f = popen("mpirun --version 2>/dev/null", "r");
    if (!f) return NULL;
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    if (pclose(f) != 0) return NULL;
    return strstr(text, "Open MPI") ? "mpirun --oversubscribe --allow-run-as-root" : "mpirun";
}

/* World steps or pictures a second; 0: it failed. */
static double rate_of(const bench *b, int k, const char *before, const char *stet, int threads, const char **hash)
{
    char line[2 * COMMAND];
    static char seen[2][32];
    static int turn;
    int64_t frames = b->quick ? 2 : works[k].frames;
    (void)snprintf(line, sizeof line,
                   "%s '%s' run '%s'/%s --worlds %lld --frames %lld --device cpu --control noise --threads %d --json "
                   "2>/dev/null",
                   before, stet, b->scenes, works[k].words, (long long)works[k].nworld, (long long)frames, threads);
    json_t *o = run_command(line);
    double rate = json_number_value(json_object_get(o, works[k].rate));
    const char *text = json_string_value(json_object_get(o, "state_hash"));
    *hash = seen[turn = !turn];
    (void)snprintf(seen[turn], sizeof seen[turn], "%s", text ? text : "");
    json_decref(o);
    return rate;
}

static stet_result measure_division(bench *b, int k, const char *launcher, const char *stet, int nrank)
{
    double ratio[TIMES], one[TIMES], many[TIMES];
    char before[COMMAND];
    const char *a, *c;
    bench_row *row;
    int times = b->quick ? 1 : TIMES;
    (void)snprintf(before, sizeof before, "%s -n %d", launcher, nrank);
    for (int i = 0; i < times; ++i) {
        one[i] = rate_of(b, k, "", stet, nrank, &a);
        many[i] = rate_of(b, k, before, stet, 1, &c);
        if (!(one[i] > 0 && many[i] > 0))
            return sti_error(STET_ERROR_UNSUPPORTED,
                             "bench scale: %s -n %d %s run failed; is this a build with MPI (libopenmpi-dev)?",
                             launcher, nrank, stet);
        if (strcmp(a, c) != 0)
            return sti_error(STET_ERROR_AUDIT, "bench scale: %d processes have other bits than one", nrank);
        ratio[i] = many[i] / one[i];
    }
    STI_TRY(bench_add(b, &row, ratio, times, "times", true, "scale/%s/efficiency", works[k].name));
    bench_goal(row, 0.95);
    bench_note(row, "%d processes of one thread beside one of %d: %.0f and %.0f a second, %lld worlds", nrank, nrank,
               bench_median(many, times), bench_median(one, times), (long long)works[k].nworld);
    return STET_OK;
}

stet_result bench_scale(bench *b)
{
    char stet[COMMAND];
    const char *launcher = find_launcher();
    if (!launcher || !find_command(stet)) {
        fprintf(stderr, "stet bench scale: %s; nothing is measured\n",
                launcher ? "the command stet is not beside stet-bench" : "there is no mpirun (Debian: openmpi-bin)");
        return STET_OK;
    }
    for (int k = 0; k < WORKS; ++k) STI_TRY(measure_division(b, k, launcher, stet, b->threads > 1 ? b->threads : 2));
    return STET_OK;
}
