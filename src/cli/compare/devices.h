/* One run on two devices at once, compared frame by frame. */
#ifndef STI_CLI_COMPARE_DEVICES_H
#define STI_CLI_COMPARE_DEVICES_H

#include "cli/options/options.h"

/*
 * with: the second device, as --device has it, or cpu:SET, an instruction set. Prints where they differ first; returns
 * the exit code: 0, EXIT_WORK where they differ or the run failed, EXIT_INPUT.
 */
int devices_compare(const run_options *options, const char *with);

#endif
