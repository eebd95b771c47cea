/* See check_printed.h; the included files are made by kernelcheck --print (checker.cmake). */
#include "check_printed.h"

#define STET_W 1
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#include "printed/hierarchy.k.h"
#include "printed/newton.k.h"
#include "printed/rays.k.h"
#pragma GCC diagnostic pop

const own_pilots printed_pilots = {k_newton, k_pilot_rays, k_pilot_level};
