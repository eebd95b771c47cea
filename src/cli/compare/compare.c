/* `stet compare`: the first bit in which two recordings, or one run on two devices, differ. */
#include "cli/command.h"
#include "cli/compare/devices.h"
#include "cli/compare/recordings.h"
#include "cli/report_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_usage(void)
{
    printf(
        "stet compare A B\n"
        "stet compare SCENE --with DEVICE [options of stet run]\n\n"
        "Says the first frame, world, field and bit in which two recordings differ: folders of stet run --out, whose\n"
        ".npy and .npz files are compared, or two such files. With a scene, the same of one run on two devices:\n"
        "--device (as in stet run) and --with, which is cpu, cuda, hip … or cpu:SET, an instruction set.\n"
        "Then all fields of the state are compared after each frame, what --record names besides, and the pictures;\n"
        "options that write files are refused.\n\n"
        "Frames, worlds, items and bits are counted from 0. The bit is the highest that differs. Numbers are equal\n"
        "if their bits are.\n\n"
        "Exit code: 0 equal, 1 they differ or the run failed, 2 what was asked for is not possible.\n");
    return 0;
}

/* Takes --with and its value out of the words. */
static int take_with(int *argc, char **argv, const char **with)
{
    int n = 1;
    for (int i = 1; i < *argc; ++i) {
        if (strcmp(argv[i], "--with") == 0) {
            if (++i == *argc) return report_error(EXIT_INPUT, "--with needs a device; stet compare --help explains");
            *with = argv[i];
        } else if (strncmp(argv[i], "--with=", 7) == 0) {
            *with = argv[i] + 7;
        } else {
            argv[n++] = argv[i];
        }
    }
    *argc = n;
    return -1;
}

/* What stet run writes, or prints besides, has no place here. */
static int check_options(const run_options *o)
{
    const struct {
        const char *name;
        bool given;
    } refused[] = {
        {"out", o->out != NULL},
        {"save", o->save != NULL},
        {"save-every", o->save_every > 0},
        {"save-every-state", o->state_every > 0},
        {"save-tensors", o->tensors_every > 0},
        {"video", o->video != NULL},
        {"trace", o->trace != NULL},
        {"until", o->until > 0},
        {"rounds, --inputs or --sweep", options_rounds(o)},
        {"profile", o->profile},
        {"mechanisms", o->ledger},
        {"ranges", o->ranges},
        {"json", o->json},
        {"view-socket", o->view_socket >= 0},
    };
    if (!o->scene) return report_error(EXIT_INPUT, "--with: no scene is named; give one, such as scenes/hand.xml");
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i)
        if (refused[i].given)
            return report_error(EXIT_INPUT, "--%s: with --with nothing is written; leave it out", refused[i].name);
    return -1;
}

static int compare_scene(int argc, char **argv, const char *with)
{
    run_options o;
    int code = options_parse(argc, argv, &o);
    if (code < 0) code = check_options(&o);
    if (code < 0) code = devices_compare(&o, with);
    options_free(&o);
    return code;
}

int compare_main(int argc, char **argv)
{
    const char *with = NULL;
    report_begin("stet compare", WARNINGS_SHOWN);
    for (int i = 1; i < argc; ++i)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return print_usage();
    int code = take_with(&argc, argv, &with);
    if (code >= 0) return code;
    if (with) return compare_scene(argc, argv, with);
    if (argc != 3 || argv[1][0] == '-' || argv[2][0] == '-')
        return report_error(EXIT_INPUT,
                            "give two recordings, or a scene and --with DEVICE; stet compare --help explains");
    return recordings_compare(argv[1], argv[2]);
}
