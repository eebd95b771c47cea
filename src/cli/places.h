/*
 * The files of a run, looked at before it begins: outputs that cannot be written, that are inputs, or that are one
 * another are refused, so that nothing is lost by a slip of the pen.
 */
#ifndef STI_CLI_PLACES_H
#define STI_CLI_PLACES_H

#include "cli/options.h"

/* An exit code after its sentence was printed, or -1. Changes nothing. */
int places_check(const run_options *options, stet_sim *sim);

#endif
