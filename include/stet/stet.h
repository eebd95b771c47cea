/* Includes all public headers, except the kernel language (lang.h), which only kernels include. */
#ifndef STET_STET_H
#define STET_STET_H

#include "adjoint.h"
#include "base.h"
#include "device.h"
#include "dlpack.h"
#include "mechanisms.h"
#include "model.h"
#include "render.h"
#include "round.h"
#include "sim.h"
#include "stage.h"
#include "step.h"
#include "tiles.h"
#include "trace.h"
#include "worlds.h"

#endif
