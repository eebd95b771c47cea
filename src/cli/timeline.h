/* A trace as a file that chrome://tracing and Perfetto open (their JSON format of trace events). */
#ifndef STI_CLI_TIMELINE_H
#define STI_CLI_TIMELINE_H

#include "stet/stet.h"

/*
 * Writes what is kept of a device's trace. `title` names the process in the picture. NULL, or what is wrong: one sentence, and no file of
 * this name is left.
 */
const char *timeline_write(const stet_device *device, const char *title, const char *path);

#endif
