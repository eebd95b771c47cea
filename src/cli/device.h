/* Which device, as --device names it, and what of GPUs `stet info` finds. */
#ifndef STI_CLI_DEVICE_H
#define STI_CLI_DEVICE_H

#include "stet/device.h"

#include <jansson.h>

/* What --device takes, for help and refusals. */
#define DEVICE_NAMES "auto, cpu, cuda, cuda:K, hip, hip:K (K counts a driver's devices from 0), null"

/* Sets type and gpu.index. False: there is no such device. */
bool device_parse(const char *text, stet_device_def *def);

/* The other way round: what device_parse takes for a def's type and gpu.index. */
void device_spell(const stet_device_def *def, char *out, size_t size);

/* A vendor's driver, devices and run-time compiler; or why there are none. */
json_t *gpu_json(stet_device_type type);
void gpu_print(const char *name, const json_t *gpu);

#endif
