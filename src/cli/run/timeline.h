/* A trace as a file that chrome://tracing and Perfetto open (their JSON format of trace events). */
#ifndef STI_CLI_RUN_TIMELINE_H
#define STI_CLI_RUN_TIMELINE_H

#include "stet/stet.h"

/*
 * Writes the kept events of a device's trace. `title` names the process in the viewer. Returns NULL, or an error
 * text (report_error.h); then no file of this name is left.
 */
const char *timeline_write(const stet_device *device, const char *title, const char *path);

#endif
