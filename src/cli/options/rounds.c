/* The options that make a run one of rounds: how many, their inputs, grids of parameters. */
#include "cli/options/values.h"
#include "cli/report_error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool option_read_rounds(run_options *o, const char *text)
{
    return option_whole("rounds", text, 1, INT32_MAX, &o->rounds);
}

bool option_read_inputs(run_options *o, const char *text) { return option_names("inputs", text, &o->inputs); }

/* The numbers of NAME=A,B,…; the name is cut off the first. */
static bool read_sweep_values(sweep_option *s, const char *text)
{
    char *equals = strchr(s->text.text, '=');
    const char *first = s->text.name[0];
    s->value = calloc(OPTIONS_MAX_NAMES, sizeof *s->value);
    if (!s->value) return report_error(EXIT_INPUT, "--sweep: out of memory; close other programs"), false;
    if (!equals || equals < first || !equals[1] || equals > first + strlen(first))
        return report_error(EXIT_INPUT, "--sweep %s: give a parameter and its values, such as gravity=-9.81,-5", text),
               false;
    *equals = 0;
    s->name = first;
    s->text.name[0] = equals + 1;
    for (int i = 0; i < s->text.count; ++i)
        if (!parse_number(s->text.name[i], &s->value[i]))
            return report_error(EXIT_INPUT, "--sweep %s: '%s' is not a number; give such as gravity=-9.81,-5", text,
                                s->text.name[i]),
                   false;
    return true;
}

/* Whole numbers that a double has exactly. */
static bool check_seeds(const sweep_option *s, const char *text)
{
    for (int i = 0; i < s->text.count; ++i)
        if (s->value[i] < 0 || s->value[i] > 9007199254740992.0 || floor(s->value[i]) != s->value[i])
            return report_error(EXIT_INPUT, "--sweep %s: '%s' is not a seed; give whole numbers from 0 to 2^53", text,
                                s->text.name[i]),
                   false;
    return true;
}

bool option_read_sweep(run_options *o, const char *text)
{
    char known[200];
    if (o->nsweep == OPTIONS_SWEEPS)
        return report_error(EXIT_INPUT, "--sweep %s: there are %d sweeps already; that is all there can be", text,
                            OPTIONS_SWEEPS),
               false;
    sweep_option *s = &o->sweep[o->nsweep++];
    if (!option_names("sweep", text, &s->text) || !read_sweep_values(s, text)) return false;
    for (int i = 0; i + 1 < o->nsweep; ++i)
        if (strcmp(o->sweep[i].name, s->name) == 0)
            return report_error(EXIT_INPUT, "--sweep %s: %s is swept already; name each once", text, s->name), false;
    if (strcmp(s->name, "seed") == 0) return check_seeds(s, text);
    if (option_one_of(stet_worlds_get_parameters(), s->name, known, sizeof known)) return true;
    return report_error(EXIT_INPUT, "--sweep %s: there is no parameter '%s'; there are: %s, and the seed", text,
                        s->name, known),
           false;
}
