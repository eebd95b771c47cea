/* Devices as --device names them, and the GPUs that `stet info` lists. */
#ifndef STI_CLI_COMMANDS_DEVICE_H
#define STI_CLI_COMMANDS_DEVICE_H

#include "stet/device.h"

#include <jansson.h>

/* Values of --device, for help and error messages. */
#define DEVICE_NAMES "auto, cpu, cuda, cuda:K, hip, hip:K (K counts a driver's devices from 0), null"

/* Sets type and gpu.index. False: not a device name. */
bool device_parse(const char *text, stet_device_def *def);

/* The inverse: the name that device_parse reads as the def's type and gpu.index. */
void device_spell(const stet_device_def *def, char *out, size_t size);

/* A vendor's driver, devices and run-time compiler, or why there are none. */
json_t *gpu_json(stet_device_type type);
void gpu_print(const char *name, const json_t *gpu);

#endif
