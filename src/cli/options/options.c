/* The command line of `stet run`: read by the table (table.h), then checked as a whole; see options.h. */
#include "cli/options/options.h"

#include "cli/options/table.h"
#include "cli/report_error.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { HELP = 1000 };

static int check_together(const run_options *o)
{
    if (!o->scene)
        return report_error(EXIT_INPUT, "no scene is named; give an .xml or .urdf file, such as scenes/hand.xml");
    if (o->record.count && !o->out)
        return report_error(EXIT_INPUT, "--record: there is no folder to write to; add --out DIR");
    if (o->save_every && !o->out)
        return report_error(EXIT_INPUT, "--save-every: there is no folder to write to; add --out DIR");
    if (o->tensors_every && (!o->out || !o->outputs || options_rounds(o)))
        return report_error(EXIT_INPUT, "--save-tensors: it needs %s",
                            !o->out       ? "a folder to write to; add --out DIR"
                            : !o->outputs ? "pictures; leave --output none out"
                                          : "one run; leave the rounds out");
    if ((o->video_every || o->video_fps > 0) && !o->video)
        return report_error(EXIT_INPUT, "--video-%s: no video is asked for; add --video FILE.mp4",
                            o->video_every ? "every" : "fps");
    if (o->video && !o->outputs)
        return report_error(EXIT_INPUT, "--video: with --output none there are no pictures; leave one of the two out");
    if (o->video_every > o->frames)
        return report_error(EXIT_INPUT, "--video-every %lld: there are only %lld frames; ask for more frames",
                            (long long)o->video_every, (long long)o->frames);
    if (o->video && options_rounds(o))
        return report_error(EXIT_INPUT, "--video: a video shows one run, not rounds; leave one of the two out");
    if (options_rounds(o) && o->resume)
        return report_error(EXIT_INPUT,
                            "--resume: a round begins where the scene begins, not with a state that was saved; "
                            "give it as --inputs, or leave the rounds out");
    if (options_rounds(o) && o->save_every)
        return report_error(EXIT_INPUT,
                            "--save-every: with rounds there is no such thing as the K-th frame; leave it out");
    if (o->state_every && !o->save)
        return report_error(EXIT_INPUT, "--save-every-state: there is no file to write to; add --save FILE");
    if (options_rounds(o) && (o->state_every || o->until))
        return report_error(EXIT_INPUT,
                            "--%s: each round begins where the scene begins; leave it out, or leave the rounds out",
                            o->state_every ? "save-every-state" : "until");
    if (o->nsweep && o->rounds)
        return report_error(EXIT_INPUT, "--rounds: the sweep says how many rounds there are; leave one of the two out");
    if (o->save_every && !o->outputs)
        return report_error(EXIT_INPUT,
                            "--save-every: with --output none there are no pictures; leave one of the two out");
    return -1;
}

/* An error of getopt: an unknown option, or an option without its value. */
static int not_understood(int kind, const char *text)
{
    if (kind == ':') return report_error(EXIT_INPUT, "%s needs a value; stet run --help explains", text);
    return report_error(EXIT_INPUT, "%s: there is no such option, or it takes no value; stet run --help lists them",
                        text);
}

int options_parse(int argc, char **argv, run_options *o)
{
    *o = (run_options){.worlds = 64,
                       .frames = 60,
                       .size = {{128, 128}},
                       .nsize = 1,
                       .samples = 1,
                       .outputs = 1u << STET_OUTPUT_RGB,
                       .groups = STET_GROUPS_DEFAULT,
                       .noise_scale = 0.3,
                       .ranks_per_gpu = 1,
                       .view_socket = -1};
    o->device = stet_default_device_def();
    if (stet_default_mechanism_options(&o->mechanisms) != STET_OK) return report_last_error(EXIT_INPUT);
    int nrow;
    const option_row *rows = option_rows(&nrow);
    struct option table[OPTION_ROWS + 2] = {{"help", no_argument, NULL, HELP}};
    for (int i = 0; i < nrow; ++i)
        table[i + 1] =
            (struct option){rows[i].name, rows[i].value ? required_argument : no_argument, NULL, HELP + 1 + i};
    opterr = 0;
    for (;;) {
        int at = optind;
        int got = getopt_long(argc, argv, "-:h", table, NULL);
        if (got == -1) break;
        if (got == HELP || got == 'h') return option_help(), 0;
        if (got == '?' || got == ':') return not_understood(got, argv[at]);
        if (got == 1 ? !option_read_scene(o, optarg) : !rows[got - HELP - 1].read(o, optarg)) return EXIT_INPUT;
    }
    for (; optind < argc; ++optind) /* the words after "--" */
        if (!option_read_scene(o, argv[optind])) return EXIT_INPUT;
    return -1;
}

int options_read(int argc, char **argv, run_options *o)
{
    int code = options_parse(argc, argv, o);
    if (code >= 0) return code;
    if (o->until) o->frames = o->until; /* less what --resume has (run.c) */
    return check_together(o);
}

void options_free(run_options *o)
{
    free(o->camera.text);
    free(o->record.text);
    free(o->inputs.text);
    for (int i = 0; i < o->nsweep; ++i) {
        free(o->sweep[i].text.text);
        free(o->sweep[i].value);
    }
    o->nsweep = 0;
    o->camera.text = o->record.text = o->inputs.text = NULL;
}
