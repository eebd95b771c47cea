/* The table of the options of `stet run`: one row gives the parser, the help and the check of the value. */
#ifndef STI_CLI_OPTIONS_TABLE_H
#define STI_CLI_OPTIONS_TABLE_H

#include "cli/options/options.h"

enum { OPTION_ROWS = 48 }; /* no more than these */

typedef struct option_row {
    const char *name, *value;                             /* value: as the help names it; NULL: it takes none */
    bool (*read)(run_options *options, const char *text); /* prints what is wrong and returns false */
    const char *help;
} option_row;

const option_row *option_rows(int *count);
/* Reads the scene, which is named without an option. */
bool option_read_scene(run_options *options, const char *text);
void option_help(void);

#endif
