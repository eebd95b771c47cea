/*
 * The options of `stet run`, one function each, and the table that the parser and the help are made from; see
 * table.h.
 */
#include "cli/options/table.h"

#include "cli/commands/device.h"
#include "cli/options/values.h"
#include "cli/pictures/video.h"
#include "cli/report_error.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one function an option; each prints what is wrong and returns false ----------------------------------------- */

static bool read_worlds(run_options *o, const char *text)
{
    return option_whole("worlds", text, 1, INT32_MAX, &o->worlds);
}

static bool read_first_world(run_options *o, const char *text)
{
    return option_whole("first-world", text, 0, INT32_MAX - 1, &o->first_world);
}

static bool read_frames(run_options *o, const char *text)
{
    return option_whole("frames", text, 1, INT32_MAX, &o->frames);
}

static bool read_substeps(run_options *o, const char *text)
{
    int64_t n;
    if (!option_whole("substeps", text, 1, 1000000, &n)) return false;
    o->substeps = (int)n;
    return true;
}

static bool read_device(run_options *o, const char *text)
{
    o->device_numbered = strchr(text, ':') != NULL;
    if (device_parse(text, &o->device)) return true;
    return report_error(EXIT_INPUT, "--device %s: there is no such device; there are " DEVICE_NAMES, text), false;
}

static bool read_ranks_per_gpu(run_options *o, const char *text)
{
    return option_whole("ranks-per-gpu", text, 1, 4096, &o->ranks_per_gpu);
}

static bool read_physics(run_options *o, const char *text)
{
    if (strcmp(text, "auto") == 0)
        o->physics = STET_PHYSICS_AUTO;
    else if (strcmp(text, "mujoco") == 0)
        o->physics = STET_PHYSICS_MUJOCO;
    else if (strcmp(text, "native") == 0)
        o->physics = STET_PHYSICS_NATIVE;
    else
        return report_error(EXIT_INPUT, "--physics %s: there is no such physics; use auto, mujoco or native", text),
               false;
    return true;
}

static bool read_keyframe(run_options *o, const char *text)
{
    if (!text[0])
        return report_error(EXIT_INPUT, "--keyframe: no keyframe is named; give a name, a number or none"), false;
    o->keyframe = text;
    return true;
}

static bool read_camera(run_options *o, const char *text) { return option_names("camera", text, &o->camera); }

static bool read_size(run_options *o, const char *text)
{
    const char *one = text;
    for (o->nsize = 0; o->nsize < OPTIONS_MAX_NAMES; ++one) {
        char size[32];
        size_t n = strcspn(one, ",");
        (void)snprintf(size, sizeof size, "%.*s", n < sizeof size ? (int)n : 0, one);
        if (!parse_size(size, &o->size[o->nsize][0], &o->size[o->nsize][1])) break;
        ++o->nsize;
        one += n;
        if (!*one) return true;
    }
    return report_error(EXIT_INPUT,
                        "--size %s: this is not WIDTHxHEIGHT in pixels, each from 1 to 16384, for all cameras or, with "
                        "commas, up to %d; give such as 128x96",
                        text, OPTIONS_MAX_NAMES),
           false;
}

static bool read_fisheye(run_options *o, const char *text)
{
    name_list list = {0};
    bool good = option_names("fisheye", text, &list);
    for (o->nfisheye = 0; good && o->nfisheye < list.count; ++o->nfisheye) {
        double degrees;
        const char *one = list.name[o->nfisheye];
        good = parse_number(one, &degrees) && degrees >= 0 && degrees <= 360 && o->nfisheye < OPTIONS_MAX_NAMES;
        if (good)
            o->fisheye[o->nfisheye] = (float)degrees;
        else
            report_error(EXIT_INPUT,
                         "--fisheye %s: this is not an angle of view from 0 (none) to 360 degrees; give such as 180",
                         one);
    }
    free(list.text);
    return good;
}

static bool read_samples(run_options *o, const char *text)
{
    int64_t n;
    if (!parse_whole(text, 1, 16, &n) || (n != 1 && n != 4 && n != 16))
        return report_error(EXIT_INPUT, "--samples %s: 1, 4 or 16 rays a pixel are possible", text), false;
    o->samples = (int)n;
    return true;
}

static bool read_mode(run_options *o, const char *text)
{
    if (stet_render_mode_find(text, &o->mode) == STET_OK) return true;
    return report_error(EXIT_INPUT, "--mode %s: pictures have no such mode; use mujoco or physical", text), false;
}

static bool read_depth_range(run_options *o, const char *text)
{
    name_list list = {0};
    double range[2] = {0, 0};
    bool good = option_names("depth-range", text, &list);
    if (!good) return false;
    good = list.count == 2 && parse_number(list.name[0], &range[0]) && parse_number(list.name[1], &range[1]);
    for (int k = 0; k < 2; ++k) o->depth_range[k] = (float)range[k];
    free(list.text);
    if (good && o->depth_range[0] >= 0 && o->depth_range[0] < o->depth_range[1] && o->depth_range[1] < INFINITY)
        return true;
    return report_error(EXIT_INPUT,
                        "--depth-range %s: this is not NEAR,FAR in metres, 0 or more, the second one larger; give "
                        "such as 0.2,3",
                        text),
           false;
}

static bool read_fog(run_options *o, const char *text) { return (void)text, o->fog = true; }

/* The bits of a list of names. find: a name's bit; it says so where there is none. */
static bool read_bits(const char *option, const char *text, bool (*find)(const char *name, int *bit), uint32_t *bits)
{
    name_list list = {0};
    bool good = option_names(option, text, &list);
    *bits = 0;
    for (int i = 0; good && i < list.count; ++i) {
        int bit = 0;
        good = find(list.name[i], &bit);
        if (good) *bits |= 1u << bit;
    }
    free(list.text);
    return good;
}

static bool find_output(const char *name, int *bit)
{
    stet_output output;
    if (stet_output_find(name, &output) != STET_OK)
        return report_error(EXIT_INPUT, "--output: %s, or none", stet_get_last_error()), false;
    *bit = (int)output;
    return true;
}

static bool read_output(run_options *o, const char *text)
{
    o->outputs = 0;
    return strcmp(text, "none") == 0 || read_bits("output", text, find_output, &o->outputs);
}

static bool find_group(const char *name, int *bit)
{
    int64_t group;
    if (!option_whole("groups", name, 0, 5, &group)) return false;
    *bit = (int)group;
    return true;
}

static bool read_groups(run_options *o, const char *text) { return read_bits("groups", text, find_group, &o->groups); }

static bool find_decoration(const char *name, int *bit)
{
    stet_decoration decoration;
    if (stet_decoration_find(name, &decoration) != STET_OK)
        return report_error(EXIT_INPUT, "--show: %s", stet_get_last_error()), false;
    *bit = (int)decoration;
    return true;
}

static bool read_show(run_options *o, const char *text)
{
    return read_bits("show", text, find_decoration, &o->decorations);
}

static bool read_control(run_options *o, const char *text)
{
    size_t n = strlen(text);
    o->noise_scale = 0.3;
    if (strcmp(text, "zero") == 0)
        o->control = CONTROL_ZERO;
    else if (strcmp(text, "noise") == 0)
        o->control = CONTROL_NOISE;
    else if (strncmp(text, "noise:", 6) == 0) {
        o->control = CONTROL_NOISE;
        if (!parse_number(text + 6, &o->noise_scale) || o->noise_scale < 0 || o->noise_scale > FLT_MAX)
            return report_error(EXIT_INPUT,
                                "--control %s: the scale is not a number from 0 to %.3g; give such as noise:0.3", text,
                                (double)FLT_MAX),
                   false;
    } else if (n > 4 && (strcmp(text + n - 4, ".npy") == 0 || strcmp(text + n - 4, ".csv") == 0)) {
        o->control = CONTROL_FILE;
        o->control_path = text;
    } else
        return report_error(
                   EXIT_INPUT,
                   "--control %s: this is not a kind of control; use zero, noise, noise:SCALE or a file FILE.npy or "
                   "FILE.csv",
                   text),
               false;
    return true;
}

static bool read_record(run_options *o, const char *text)
{
    if (!option_names("record", text, &o->record)) return false;
    for (int i = 0; i < o->record.count; ++i) {
        char known[800];
        size_t used;
        if (option_one_of(stet_worlds_get_fields(), o->record.name[i], known, sizeof known)) continue;
        used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, ", ");
        used = strlen(known);
        if (!option_one_of(stet_worlds_get_quantities(), o->record.name[i], known + used, sizeof known - used))
            return report_error(EXIT_INPUT, "--record %s: the worlds have no such field; there are: %s",
                                o->record.name[i], known),
                   false;
    }
    return true;
}

static bool read_save(run_options *o, const char *text) { return option_path("save", text, &o->save); }
static bool read_resume(run_options *o, const char *text) { return option_path("resume", text, &o->resume); }
static bool read_out(run_options *o, const char *text) { return option_path("out", text, &o->out); }
static bool read_trace(run_options *o, const char *text) { return option_path("trace", text, &o->trace); }

static bool read_until(run_options *o, const char *text)
{
    return option_whole("until", text, 1, INT32_MAX, &o->until);
}

static bool read_save_every_state(run_options *o, const char *text)
{
    return option_whole("save-every-state", text, 1, INT32_MAX, &o->state_every);
}

static bool read_save_every(run_options *o, const char *text)
{
    return option_whole("save-every", text, 1, INT32_MAX, &o->save_every);
}

static bool read_save_tensors(run_options *o, const char *text)
{
    char number[16];
    size_t n = strlen(text), end = n > 4 && strcmp(text + n - 4, ":npz") == 0 ? n - 4 : n;
    o->tensors_npz = end < n;
    if (strncmp(text, "every:", 6) == 0 && end >= 6 && end < 6 + sizeof number) {
        snprintf(number, sizeof number, "%.*s", (int)(end - 6), text + 6);
        if (parse_whole(number, 1, INT32_MAX, &o->tensors_every)) return true;
    }
    return report_error(EXIT_INPUT,
                        "--save-tensors %s: this is not every:K or every:K:npz, with a whole number K above 0; give "
                        "such as every:10",
                        text),
           false;
}

static bool read_video(run_options *o, const char *text)
{
    if (!option_path("video", text, &o->video)) return false;
    return report_text(EXIT_INPUT, video_check_name(text)) < 0;
}

static bool read_video_every(run_options *o, const char *text)
{
    return option_whole("video-every", text, 1, INT32_MAX, &o->video_every);
}

static bool read_video_fps(run_options *o, const char *text)
{
    if (parse_number(text, &o->video_fps) && o->video_fps >= 0.1 && o->video_fps <= 1000) return true;
    return report_error(EXIT_INPUT, "--video-fps %s: this is not a number from 0.1 to 1000; give one", text), false;
}

static bool read_seed(run_options *o, const char *text)
{
    char *end;
    errno = 0;
    unsigned long long seed = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno)
        return report_error(EXIT_INPUT, "--seed %s: this is not a whole number from 0 to 2^64 - 1; give one", text),
               false;
    o->seed = seed;
    return true;
}

static bool read_threads(run_options *o, const char *text)
{
    int64_t n;
    if (!option_whole("threads", text, 1, 4096, &n)) return false;
    o->threads = (int)n;
    return true;
}

static bool read_disable(run_options *o, const char *text)
{
    name_list list = {0};
    bool good = option_names("disable", text, &list);
    for (int i = 0; good && i < list.count; ++i) {
        stet_mechanism mechanism;
        good = stet_mechanism_find(list.name[i], &mechanism) == STET_OK;
        if (good)
            o->mechanisms.disabled |= 1u << mechanism;
        else
            report_error(EXIT_INPUT, "--disable: %s", stet_get_last_error());
    }
    free(list.text);
    return good;
}

static bool read_numbers(run_options *o, const char *text) { return (void)text, o->numbers = true; }

static bool read_strict(run_options *o, const char *text) { return (void)text, o->mechanisms.strict = true; }
static bool read_audit(run_options *o, const char *text) { return (void)text, o->mechanisms.audit = true; }
static bool read_profile(run_options *o, const char *text) { return (void)text, o->profile = true; }
static bool read_ledger(run_options *o, const char *text) { return (void)text, o->ledger = true; }
static bool read_ranges(run_options *o, const char *text) { return (void)text, o->ranges = true; }
static bool read_json(run_options *o, const char *text) { return (void)text, o->json = true; }

static bool read_view(run_options *o, const char *text)
{
    (void)o, (void)text;
    return report_error(EXIT_INPUT, "--view: the page is the Python package's; install that (pip install '.[view]'), "
                                    "then run `python -m stet run --view ...`"),
           false;
}

static bool read_view_wait(run_options *o, const char *text) { return (void)text, o->view_wait = true; }

static bool read_view_socket(run_options *o, const char *text)
{
    return option_whole("view-socket", text, 0, INT32_MAX, &o->view_socket);
}

bool option_read_scene(run_options *o, const char *text)
{
    if (o->scene)
        return report_error(EXIT_INPUT, "%s: a scene was named already (%s); give one", text, o->scene), false;
    o->scene = text;
    return true;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static const option_row rows[] = {
    {"worlds", "N", read_worlds, "copies of the scene (64)"},
    {"first-world", "F", read_first_world,
     "number of the first one among all worlds of a run that is done in parts; noise goes by it (0)"},
    {"frames", "F", read_frames, "pictures of each camera (60)"},
    {"until", "F", read_until,
     "as many frames as make F since the scene's beginning: with --resume, those that are left"},
    {"substeps", "S", read_substeps, "time steps of physics a frame (as many as come nearest to 1/50 s)"},
    {"device", "DEVICE", read_device, "where it runs (auto: a GPU if one can be used, else cpu):\n" DEVICE_NAMES},
    {"ranks-per-gpu", "K", read_ranks_per_gpu,
     "processes of mpirun that share a GPU (1); the others take the next one"},
    {"physics", "auto|mujoco|native", read_physics,
     "what moves the worlds (auto: native, if it covers the scene and is as fast)"},
    {"keyframe", "NAME|N|none", read_keyframe,
     "keyframe that worlds begin with and are reset to; none: the model's qpos0, with which MuJoCo's own data begin\n"
     "(home if the scene has one of that name, else its first, else none)"},
    {"camera", "NAME,...|all", read_camera,
     "cameras to look through (the scene's first; a free one if it has none); free ones:\n"
     "free, where MuJoCo's viewer begins; free:AZIMUTH,ELEVATION,DISTANCE[,X,Y,Z], in degrees and metres,\n"
     "that looks at X,Y,Z or the scene's centre; free:AZIMUTH,ELEVATION or free:fit, so that the scene\n"
     "fills the picture"},
    {"size", "WxH,...", read_size, "pixels of every camera's picture, or of each camera's in turn (128x128)"},
    {"fisheye", "DEGREES,...", read_fisheye,
     "every camera is a fisheye (equidistant) with this vertical angle of view, up to 360; or each in\n"
     "turn, 0 for none"},
    {"samples", "N", read_samples, "rays a pixel for colours: 1, 4 or 16 (1); more make smooth edges"},
    {"mode", "mujoco|physical", read_mode,
     "how colours are made: as MuJoCo's classic renderer makes them, or of linear light, with sRGB at the\n"
     "end, soft shadows of lights that have a bulb, and metallic and rough materials with their textures (mujoco)"},
    {"fog", NULL, read_fog,
     "colours have fog, as MuJoCo's with its flag for it: visual/map fogstart and fogend, visual/rgba fog"},
    {"output", "NAME,...|none", read_output, "what to render (rgb)"},
    {"depth-range", "NEAR,FAR", read_depth_range,
     "metres from which to which colours of depths go in pictures and videos (most of a picture's depths)"},
    {"groups", "N,...", read_groups,
     "groups of geoms that are shown, from 0 to 5 (0,1,2); collision geoms are often in 3"},
    {"show", "NAME,...", read_show,
     "what colours show beside the scene, as MuJoCo's viewer does: joints, contacts, contactforce, frames,\n"
     "inertia, com, rangefinder (none)"},
    {"control", "zero|noise[:SCALE]|FILE.npy|FILE.csv", read_control,
     "controls: the scene's own, smooth noise of SCALE (0.3) times half their range around them,\n"
     "or numbers [frames][nu] or [frames][worlds][nu] from a file; a .csv has a line a frame, and may begin\n"
     "with one of the actuators' names, in any order (zero)"},
    {"record", "FIELD,...", read_record,
     "fields of the state to write after each frame, as FIELD.npy [frames][worlds][n]"},
    {"rounds", "R", option_read_rounds,
     "run all frames R times over in the same worlds, each time from the beginning; with --out,\n"
     "rounds.npz has what came of each, and what is recorded has a round axis first"},
    {"inputs", "FILE.npz,...", option_read_inputs,
     "values of each round: fields, parameters, controls [frames], each with a round axis first\n"
     "(of length R, or 1: the same in all); those of the next round cross while one runs"},
    {"sweep", "NAME=A,B,...", option_read_sweep,
     "rounds with each value of a parameter (gravity along z; factors of friction, damping, stiffness),\n"
     "or with each seed of the noise; given several times, with each combination"},
    {"save", "FILE", read_save, "write the state after the last frame"},
    {"save-every-state", "K", read_save_every_state,
     "write it after every K-th frame, too; after an end that nobody asked for, --resume FILE --save FILE\n"
     "--until F does the rest, with the same bits"},
    {"resume", "FILE", read_resume, "begin with a state that was saved"},
    {"out", "DIR", read_out, "folder for pictures, tensors, recordings and summary.json (nothing is written)"},
    {"save-every", "K", read_save_every, "write a picture of every K-th frame too"},
    {"save-tensors", "every:K[:npz]", read_save_tensors,
     "write the tensors of every K-th frame, as frames-OUTPUT.npy [frames][worlds][height][width][channels]; with\n"
     ":npz as arrays OUTPUT:CAMERA of one file, frames.npz; of that and of --record time,... `stet data import` makes\n"
     "a data set for training, in HDF5 (with the Python package's stet)"},
    {"video", "FILE.mp4|.gif|.webp", read_video,
     "write a video of the first output in all worlds, through ffmpeg, which has to be installed"},
    {"video-every", "K", read_video_every, "only every K-th frame of it (1)"},
    {"video-fps", "FPS", read_video_fps, "its frames a second (as many as make it as fast as the scene's time)"},
    {"numbers", NULL, read_numbers, "mosaics and videos have a line around each world, and its number"},
    {"view", NULL, read_view,
     "a page in the browser shows the run while it goes on (with the Python package's stet);\n"
     "--port N, --share PART of the processors' time for its pictures (1), --no-browser, --wait for a page"},
    {"view-wait", NULL, read_view_wait, "with it: frames after the first wait until somebody looks at worlds"},
    {"view-socket", "N", read_view_socket, "the open socket of a process that shows the run, which --view makes"},
    {"seed", "S", read_seed, "of the noise (0)"},
    {"threads", "T", read_threads, "threads of the processor (all that it has)"},
    {"disable", "MECHANISM,...", read_disable, "switch mechanisms off; the results stay the same, bit for bit"},
    {"strict", NULL, read_strict, "a fallback of a mechanism is an error"},
    {"audit", NULL, read_audit, "do all work anyway and compare it with what mechanisms let stand"},
    {"trace", "FILE", read_trace,
     "write a timeline of phases, launches, copies and replays, for chrome://tracing and Perfetto"},
    {"mechanisms", NULL, read_ledger, "say what each mechanism let stand, and why it did not"},
    {"profile", NULL, read_profile, "say how long each kernel took, each recording, and copies"},
    {"ranges", NULL, read_ranges, "name phases, replays and launches to NVIDIA's and AMD's profilers (NVTX, ROCTX)"},
    {"json", NULL, read_json, "print the summary as one JSON object, and nothing else"},
};
enum { ROWS = sizeof rows / sizeof *rows };
static_assert((int)ROWS <= (int)OPTION_ROWS, "options.c has room for them");

const option_row *option_rows(int *count)
{
    *count = ROWS;
    return rows;
}

static void print_names(const char *what, const char *(*name)(int), int count)
{
    printf("\n%s:", what);
    for (int i = 0; i < count; ++i) printf("%s %s", i ? "," : "", name(i));
    printf(".\n");
}

static const char *output_name(int i) { return stet_output_name((stet_output)i); }
static const char *mechanism_name(int i) { return stet_mechanism_name((stet_mechanism)i); }
static const char *quantity_name(int i) { return stet_worlds_get_quantities()[i]; }
static const char *field_name(int i) { return stet_worlds_get_fields()[i]; }

void option_help(void)
{
    printf("stet run SCENE [options]\n\nSteps N copies of a scene (MJCF or URDF), looks at them through cameras, and "
           "says how it went.\n\n");
    for (int i = 0; i < ROWS; ++i) {
        char left[64];
        snprintf(left, sizeof left, "--%s%s%s", rows[i].name, rows[i].value ? " " : "",
                 rows[i].value ? rows[i].value : "");
        printf("  %-40s ", left);
        for (const char *p = rows[i].help; *p; ++p) *p == '\n' ? printf("\n%43s", "") : putchar(*p);
        putchar('\n');
    }
    int nfield = 0, nquantity = 0;
    while (stet_worlds_get_fields()[nfield]) ++nfield;
    while (stet_worlds_get_quantities()[nquantity]) ++nquantity;
    print_names("Outputs", output_name, STET_OUTPUT_COUNT);
    print_names("Mechanisms", mechanism_name, STET_MECHANISM_COUNT);
    print_names("Fields", field_name, nfield);
    print_names("Quantities", quantity_name, nquantity);
    printf("\nFiles are written beside their places and renamed when they are complete; only plain files are\n"
           "replaced, and no inputs. The first SIGINT or SIGTERM ends the run between two time steps, and files\n"
           "hold what was done; a second one ends it at once.\n"
           "\n`mpirun -n R stet run SCENE --worlds N ...` divides the worlds over R processes. Results and files have\n"
           "the same bits for each R.\n"
           "\nExit code: 0, 1 if the run failed or standard output takes nothing, 2 if what was asked for is not\n"
           "possible (then nothing was written), 130 or 143 if SIGINT or SIGTERM ended it.\n");
}
