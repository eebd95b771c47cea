/* `stet bench`: options, the table of benchmarks, and the run over them. */
#include "bench/bench.h"

#include "base/file.h"
#include "bench/start.h"
#include "bench/threads.h"
#include "cli/commands/device.h"
#include "cli/interrupt.h"
#include "cli/options/options.h"
#include "cli/report_error.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const benchmark table[] = {
    {"pilots", "three small kernels: a Newton iteration, camera rays, a level of a hierarchy", bench_pilots, false},
    {"tiles", "extraction of tiles out of a frame, against memcpy of the same bytes", bench_tiles, false},
    {"sim", "a step of all worlds, against a plain parallel loop of mj_step", bench_sim, false},
    {"render",
     "pictures on one core, against mj_ray, Embree and MuJoCo's renderer; what a pixel costs in large scenes; a ray's "
     "operations and bytes beside what a core can do",
     bench_render, false},
    {"mechanisms", "what asking costs where everything stands, and what each mechanism is worth", bench_mechanisms,
     true},
    {"frame", "the whole frame of the hand: naive, plainly written, with each mechanism more and with each left out",
     bench_frame, true},
    {"device", "a GPU: extraction and the hierarchy against plain copies, the Newton pilot", bench_device, true},
    {"teams", "a GPU: kernels with teams of several sizes", bench_teams, true},
    {"launches", "a GPU: launches, replays and a step of 20 launches, beside plain driver calls", bench_calls, true},
    {"fusion", "a step of 20 launches, replayed world by world and launch by launch", bench_fusion, true},
    {"rounds", "rounds of one sim: setting up the first and later ones, against a sim made for each", bench_rounds,
     true},
    {"adjoint", "100 steps of masses on springs and a pass back through them, and what is of it finding sizes",
     bench_adjoint, true},
    {"gradients", "steps of shipped scenes by native physics, recorded on a tape, and a pass back through them",
     bench_gradients, true},
    {"physics",
     "native physics against MuJoCo's on one core, and with 1 to 16384 worlds; on a GPU with 64 to 131072 worlds, and "
     "worlds that differ",
     bench_physics, true},
    {"stages", "a time step of native physics as one kernel, against launches of groups of its stages", bench_stages,
     true},
    {"threads", "the same work by all threads and by one, with and without another busy process", bench_threads, false},
    {"scale", "a run over several processes, beside the same in one with as many threads", bench_scale, false},
    {"start", "from a new process to the first frame of the hand, kernels compiled before or not", bench_start, true},
};
enum { NBENCH = sizeof table / sizeof *table };

static const char usage[] =
    "usage: stet bench [NAME ...] [options]\n"
    "\n"
    "Runs the benchmarks named, or all, and prints a table: each value is the median of its samples.\n"
    "\n"
    "  --list            the benchmarks, and what each measures\n"
    "  --json            one JSON object instead of the table\n"
    "  --out FILE        writes the JSON object to FILE, too; after each benchmark, and after each number of worlds "
    "and\n"
    "                    size of `frame`, so that a run that is ended leaves what it has measured\n"
    "  --threads T       threads where all are meant (default: one a processor)\n"
    "  --device D        of `adjoint`, `device`, `frame`, `fusion`, `gradients`, `launches`, `mechanisms`, `physics`, "
    "`rounds`, `stages`, `start`, `teams`: " DEVICE_NAMES "\n"
    "  --worlds N[,N …]  of `frame` (default: 64,1225), `gradients` (default: 1,64,1024,8192), `stages` (default: "
    "64,1024 and,\n"
    "                    on a GPU, 8192), and of `physics` on a GPU or with --scene: numbers of worlds, at most 12\n"
    "  --models M[,M …]  of `physics` and `stages`: only these, by the names in their rows\n"
    "  --scene FILE      of `physics`: this scene instead of those that it knows, with 64 worlds or those of --worlds; "
    "may\n"
    "                    be given up to 16 times\n"
    "  --size WxH[,WxH …]   of `frame`: pixels of a picture, at most 4 sizes (default: 64x64)\n"
    "  --physics P       of `frame`: native (default), mujoco or external: recorded poses\n"
    "  --brief           of `frame`: only naive, plain and full, in half the turns, without first frames\n"
    "  --scenes FOLDER   where the shipped scenes are\n"
    "  --first-frame FOLDER   draw one frame with kernels kept in FOLDER and print the seconds: what `start` runs\n"
    "  --burn            keep one core busy: the other process of `threads`\n"
    "  --quick           of `adjoint`, `frame`, `fusion`, `gradients`, `mechanisms`, `launches`, `physics`, `render`, "
    "`scale`, "
    "`stages`, `threads`: "
    "few worlds and samples as short as can be, to see that it runs\n"
    "  --help            this text\n";

typedef struct bench_options {
    bool chosen[NBENCH], any, json, list, quick, burn;
    const char *device_name;                /* as given; NULL: was not */
    const char *of_frame, *worlds, *models; /* an option that only `frame` takes; --worlds, --models. NULL: none */
    const char *out, *scenes, *first_frame;
    const char *given[BENCH_GIVEN]; /* --scene */
    int ngiven;
    stet_device_def device;
    int threads;
    bench_frame_def frame;
} bench_options;

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int choose(bench_options *o, const char *name)
{
    for (int i = 0; i < NBENCH; ++i)
        if (strcmp(name, table[i].name) == 0) {
            o->chosen[i] = o->any = true;
            return -1;
        }
    return report_error(EXIT_INPUT, "there is no benchmark '%s'; `stet bench --list` names them", name);
}

static int read_threads(const char *text, int *out)
{
    int64_t threads;
    if (!parse_whole(text, 1, 4096, &threads))
        return report_error(EXIT_INPUT, "--threads %s: give a whole number from 1 to 4096", text);
    *out = (int)threads;
    return -1;
}

static int read_device(const char *text, stet_device_def *out)
{
    if (device_parse(text, out)) return -1;
    return report_error(EXIT_INPUT, "--device %s: there is no such device; give one of " DEVICE_NAMES, text);
}

/* The next of several values separated by commas; *text: what follows it, NULL after the last. */
static const char *next_value(const char **text, char value[32])
{
    size_t size = strcspn(*text, ",");
    (void)snprintf(value, 32, "%.*s", (int)size, *text);
    *text = (*text)[size] ? *text + size + 1 : NULL;
    return value;
}

static int read_worlds(const char *text, bench_frame_def *out)
{
    char value[32];
    out->nworlds = 0;
    for (const char *rest = text; rest;)
        if (out->nworlds == BENCH_WORLDS ||
            !parse_whole(next_value(&rest, value), 1, INT32_MAX, &out->nworld[out->nworlds++]))
            return report_error(EXIT_INPUT, "--worlds %s: give 1 to %d whole numbers, such as 64,1225", text,
                                BENCH_WORLDS);
    return -1;
}

static int read_sizes(const char *text, bench_frame_def *out)
{
    char value[32];
    out->nsize = 0;
    for (const char *rest = text; rest; ++out->nsize)
        if (out->nsize == BENCH_SIZES ||
            !parse_size(next_value(&rest, value), &out->size[out->nsize].width, &out->size[out->nsize].height))
            return report_error(EXIT_INPUT, "--size %s: give 1 to %d sizes WIDTHxHEIGHT in pixels, such as 16x16,64x64",
                                text, BENCH_SIZES);
    return -1;
}

static int read_models(const char *text)
{
    char value[32];
    for (const char *rest = text; rest;)
        if (!bench_physics_has(next_value(&rest, value)))
            return report_error(EXIT_INPUT, "--models: there is no model '%s'; rows of 'physics' name them", value);
    return -1;
}

static int read_scene(const char *path, bench_options *o)
{
    if (o->ngiven == BENCH_GIVEN)
        return report_error(EXIT_INPUT, "--scene %s: give at most %d scenes a call", path, BENCH_GIVEN);
    if (access(path, R_OK) != 0) return report_error(EXIT_INPUT, "--scene %s: %s", path, strerror(errno));
    o->given[o->ngiven++] = path;
    return -1;
}

static int read_physics(const char *text, stet_physics *out)
{
    static const stet_physics known[] = {STET_PHYSICS_NATIVE, STET_PHYSICS_MUJOCO, STET_PHYSICS_EXTERNAL};
    for (size_t k = 0; k < sizeof known / sizeof *known; ++k)
        if (strcmp(text, stet_physics_name(known[k])) == 0) return *out = known[k], -1;
    return report_error(EXIT_INPUT, "--physics %s: give native, mujoco or external", text);
}

enum {
    OPTION_LIST = 256,
    OPTION_JSON,
    OPTION_OUT,
    OPTION_THREADS,
    OPTION_DEVICE,
    OPTION_SCENES,
    OPTION_WORLDS,
    OPTION_MODELS,
    OPTION_SCENE,
    OPTION_SIZE,
    OPTION_PHYSICS,
    OPTION_BRIEF,
    OPTION_FIRST,
    OPTION_QUICK,
    OPTION_BURN,
    OPTION_HELP
};

/* Tracing takes time, which would be part of the figures. */
static int no_option(const char *option)
{
    if (strncmp(option, "--trace", 7) == 0 || strncmp(option, "--profile", 9) == 0)
        return report_error(
            EXIT_INPUT,
            "there is no option %s: nothing is measured while it is traced or profiled; use `stet run` for that",
            option);
    return report_error(EXIT_INPUT, "there is no option %s; see `stet bench --help`", option);
}

/* -1: go on; else the exit code. */
static int read_options(int argc, char **argv, bench_options *o)
{
    static const struct option known[] = {
        {"list", no_argument, NULL, OPTION_LIST},
        {"json", no_argument, NULL, OPTION_JSON},
        {"out", required_argument, NULL, OPTION_OUT},
        {"threads", required_argument, NULL, OPTION_THREADS},
        {"device", required_argument, NULL, OPTION_DEVICE},
        {"scenes", required_argument, NULL, OPTION_SCENES},
        {"worlds", required_argument, NULL, OPTION_WORLDS},
        {"models", required_argument, NULL, OPTION_MODELS},
        {"scene", required_argument, NULL, OPTION_SCENE},
        {"size", required_argument, NULL, OPTION_SIZE},
        {"physics", required_argument, NULL, OPTION_PHYSICS},
        {"brief", no_argument, NULL, OPTION_BRIEF},
        {"help", no_argument, NULL, OPTION_HELP},
        {"first-frame", required_argument, NULL, OPTION_FIRST},
        {"quick", no_argument, NULL, OPTION_QUICK},
        {"burn", no_argument, NULL, OPTION_BURN},
        {NULL, 0, NULL, 0},
    };
    int code = -1;
    opterr = 0;
    optind = 1;
    for (int c; code < 0 && (c = getopt_long(argc, argv, ":", known, NULL)) != -1;) {
        switch (c) {
        case OPTION_LIST: o->list = true; break;
        case OPTION_JSON: o->json = true; break;
        case OPTION_OUT: o->out = optarg; break;
        case OPTION_THREADS: code = read_threads(optarg, &o->threads); break;
        case OPTION_DEVICE: code = read_device(o->device_name = optarg, &o->device); break;
        case OPTION_WORLDS: code = read_worlds(o->worlds = optarg, &o->frame); break;
        case OPTION_MODELS: code = read_models(o->models = optarg); break;
        case OPTION_SCENE: code = read_scene(optarg, o); break;
        case OPTION_SIZE: code = read_sizes(optarg, &o->frame), o->of_frame = "--size"; break;
        case OPTION_PHYSICS: code = read_physics(optarg, &o->frame.physics), o->of_frame = "--physics"; break;
        case OPTION_BRIEF: o->frame.brief = true, o->of_frame = "--brief"; break;
        case OPTION_FIRST: o->first_frame = optarg; break;
        case OPTION_SCENES: o->scenes = optarg; break;
        case OPTION_QUICK: o->quick = true; break;
        case OPTION_BURN: o->burn = true; break;
        case OPTION_HELP: return fputs(usage, stdout), 0;
        case ':': return report_error(EXIT_INPUT, "%s needs a value; see `stet bench --help`", argv[optind - 1]);
        default: return no_option(argv[optind - 1]);
        }
    }
    for (int i = optind; code < 0 && i < argc; ++i) code = choose(o, argv[i]);
    return code;
}

static int list_benchmarks(void)
{
    for (int i = 0; i < NBENCH; ++i) printf("%-10s %s\n", table[i].name, table[i].doc);
    return 0;
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

/* The process that traces this one (a debugger, strace, a profiler), or 0. */
static long tracer(void)
{
    long pid = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "TracerPid:", 10) == 0) pid = strtol(line + 10, NULL, 10);
    if (f) (void)fclose(f);
    return pid;
}

/* Whether a sanitizer is built in. */
static bool instrumented(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
    return __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
    return false;
#endif
}

/* Refuses to measure under a debugger, tracer or sanitizer. */
static int refuse_if_watched(void)
{
    if (instrumented())
        return report_error(EXIT_INPUT, "this build is instrumented by a sanitizer; measure with a plain build");
    long pid = tracer();
    if (!pid) return -1;
    return report_error(EXIT_INPUT, "process %ld traces this one; measure without a debugger, tracer or profiler", pid);
}

/* All devices here must have the default options. */
static int refuse_if_disabled(void)
{
    stet_mechanism_options options;
    if (stet_default_mechanism_options(&options) != STET_OK) return report_last_error(EXIT_INPUT);
    if (!options.disabled) return -1;
    return report_error(EXIT_INPUT, "STET_DISABLE switches mechanisms off, and the figures would be others; unset it");
}

static int refuse_option(const char *option, const char *name, const char *who)
{
    return report_error(EXIT_INPUT, "%s: benchmark '%s' does not take it, %s", option, name, who);
}

/* Options that a benchmark named does not take. */
static int refuse_if_unused(const bench_options *o)
{
    bool elsewhere = o->device.type != STET_DEVICE_CPU && o->device.type != STET_DEVICE_AUTO;
    for (int i = 0; i < NBENCH && elsewhere; ++i)
        if (o->chosen[i] && !table[i].any_device)
            return report_error(EXIT_INPUT, "--device %s: benchmark '%s' measures the CPU; leave the option out",
                                o->device_name, table[i].name);
    bool gpu = o->device.type == STET_DEVICE_CUDA || o->device.type == STET_DEVICE_HIP;
    for (int i = 0; i < NBENCH; ++i) {
        bool frame = table[i].run == bench_frame, physics = table[i].run == bench_physics;
        bool stages = table[i].run == bench_stages, gradients = table[i].run == bench_gradients;
        if (!o->chosen[i]) continue;
        if (o->of_frame && !frame) return refuse_option(o->of_frame, table[i].name, "only 'frame' does");
        if (o->worlds && !frame && !stages && !gradients && !(physics && (gpu || o->ngiven > 0)))
            return refuse_option("--worlds", table[i].name,
                                 "only 'frame', 'gradients' and 'stages' do, and 'physics' on a GPU or with --scene");
        if (o->ngiven > 0 && !physics) return refuse_option("--scene", table[i].name, "only 'physics' does");
        if (o->models && !physics && !stages)
            return refuse_option("--models", table[i].name, "only 'physics' and 'stages' do");
    }
    return -1;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static void join_command(int argc, char **argv, char *out, size_t size)
{
    size_t n = (size_t)snprintf(out, size, "stet bench");
    for (int i = 1; i < argc && n < size; ++i) n += (size_t)snprintf(out + n, size - n, " %s", argv[i]);
}

static int run_all(const bench_options *o, bench *b)
{
    for (int i = 0; i < NBENCH; ++i) {
        if (o->any && !o->chosen[i]) continue;
        bench_progress("%s …", table[i].name);
        stet_result result = table[i].run(b);
        bench_progress("%s", "");
        if (result != STET_OK || bench_keep(b) != STET_OK) return report_last_error(EXIT_WORK);
    }
    return 0;
}

static int report(const bench_options *o, const bench *b)
{
    char machine[256];
    const char *wrong = o->json ? bench_write_json(b, NULL) : NULL;
    if (wrong) return report_error(EXIT_WORK, "%s", wrong);
    if (o->json) return 0;
    bench_machine(b, machine, sizeof machine);
    printf("%s\n\n", machine);
    bench_print_table(b);
    return 0;
}

/* The default number of threads of a device. */
static int usual_threads(void)
{
    stet_device_def def = bench_cpu_def();
    stet_device *device;
    if (stet_device_create(&def, &device) != STET_OK) return 0;
    int threads = stet_device_get_threads(device);
    stet_device_destroy(device);
    return threads;
}

static int run_bench(int argc, char **argv)
{
    bench_options o = {.device = stet_default_device_def(), .frame = {.physics = STET_PHYSICS_NATIVE}};
    o.device.wait_for_code = true; /* what is measured is the code of the model and the scene */
    const char *why;
    char command[1024];
    report_begin("stet bench", WARNINGS_SHOWN);
    join_command(argc, argv, command, sizeof command); /* getopt reorders argv */
    int code = read_options(argc, argv, &o);
    if (code >= 0) return code;
    if (o.burn) return bench_burn() == STET_OK ? 0 : EXIT_WORK;
    if (o.list) return list_benchmarks();
    if (o.out && (why = sti_output_refusal(o.out))) return report_error(EXIT_INPUT, "--out %s: %s", o.out, why);
    if ((code = refuse_if_disabled()) >= 0) return code;
    if ((code = refuse_if_unused(&o)) >= 0) return code;
    if (!o.scenes) o.scenes = access("scenes", R_OK) == 0 ? "scenes" : STET_SCENES;
    if (access(o.scenes, R_OK) != 0)
        return report_error(EXIT_INPUT, "%s: no such folder of scenes; give one with --scenes", o.scenes);
    if ((code = refuse_if_watched()) >= 0) return code;
    bench *b = calloc(1, sizeof *b);
    if (!b) return report_error(EXIT_WORK, "out of memory");
    b->threads = o.threads ? o.threads : usual_threads();
    b->scenes = o.scenes;
    b->quick = o.quick;
    b->device = o.device;
    b->frame = o.frame;
    b->models = o.models;
    memcpy(b->given, o.given, sizeof b->given);
    b->ngiven = o.ngiven;
    b->out = o.out;
    b->command = command;
    if (o.first_frame) {
        code = bench_first_frame(b, o.first_frame) == STET_OK ? 0 : report_last_error(EXIT_WORK);
        free(b);
        return code;
    }
    code = b->threads ? run_all(&o, b) : report_last_error(EXIT_WORK);
    if (code == 0) code = report(&o, b);
    free(b);
    return code;
}

int main(int argc, char **argv)
{
    interrupt_begin();
    return report_end_output(run_bench(argc, argv));
}
