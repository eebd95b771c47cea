/*
 * Checks the files of a run before it begins. Outputs that cannot be written, that are also inputs, or that overlap are
 * refused, so that a typing mistake destroys nothing.
 */
#ifndef STI_CLI_FILES_PLACES_H
#define STI_CLI_FILES_PLACES_H

#include "cli/options/options.h"

/* Returns -1, or an exit code after printing the error. Changes nothing. */
int places_check(const run_options *options, stet_sim *sim);

#endif
