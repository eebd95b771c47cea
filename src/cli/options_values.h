/*
 * Values of the options of `stet run`, read out of their text. The functions option_… print what is wrong, in one sentence that names the
 * option, and return false.
 */
#ifndef STI_CLI_OPTIONS_VALUES_H
#define STI_CLI_OPTIONS_VALUES_H

#include "cli/options.h"

bool option_whole(const char *option, const char *text, int64_t lo, int64_t hi, int64_t *out);
/* Names separated by commas, each kept once, in place of those in `list`, which owns them. */
bool option_names(const char *option, const char *text, name_list *list);
/* A file's name; the text is borrowed. */
bool option_path(const char *option, const char *text, const char **out);
/* Is the name one of those, whose list ends with NULL? All of them go into `known`, for a sentence; says nothing itself. */
bool option_one_of(const char *const *names, const char *name, char *known, size_t size);

/* options_rounds.c: --rounds, --inputs, --sweep */
bool option_read_rounds(run_options *o, const char *text);
bool option_read_inputs(run_options *o, const char *text);
bool option_read_sweep(run_options *o, const char *text);

#endif
