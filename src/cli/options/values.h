/* Parses option values of `stet run`. The functions option_… print an error that names the option, and return false. */
#ifndef STI_CLI_OPTIONS_VALUES_H
#define STI_CLI_OPTIONS_VALUES_H

#include "cli/options/options.h"

bool option_whole(const char *option, const char *text, int64_t lo, int64_t hi, int64_t *out);
/* Names separated by commas, each kept once, in place of those in `list`, which owns them. */
bool option_names(const char *option, const char *text, name_list *list);
/* A file's name; the text is borrowed. */
bool option_path(const char *option, const char *text, const char **out);
/* Whether the name is in the NULL-terminated list. All names go into `known`, for an error message; prints nothing. */
bool option_one_of(const char *const *names, const char *name, char *known, size_t size);

/* options_rounds.c: --rounds, --inputs, --sweep */
bool option_read_rounds(run_options *o, const char *text);
bool option_read_inputs(run_options *o, const char *text);
bool option_read_sweep(run_options *o, const char *text);

#endif
