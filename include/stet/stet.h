/*
 * Includes all public headers, except the kernel language (lang.h), which only kernels include.
 *
 * Conventions:
 *   create, load, import   give a thing that the caller owns, in *out; `destroy` releases it, and takes NULL
 *   get                    reads a property of a thing: by value, or as a pointer that the thing owns (borrowed; the
 *                          comment says until when). Questions are `is` and `has`; `find` looks a name up
 *   read, write            copy elements between the caller's memory and the device; the size in bytes must match
 *   export                 hands over with a deleter. An *array* is stet's, a *tensor* another library's (dlpack.h)
 *   STET_<TYPE>_<NAME>     an enumerator; the end _kind, _type or _level of the type is left out. Results are STET_OK
 *                          and STET_ERROR_<NAME>; comments leave STET_ERROR_ out. stet_<type>_name(value) is its name
 *   n<noun>                a number of things (nworld, nbody, narg), after the list that it counts. Order: thing, what,
 *                          worlds (first, nworld: a range; or mask), nstep, buffer and its size, out
 *   mask                   which worlds: [nworld] bytes of the host, not 0 means yes; NULL means all
 *   names (text)           for what the model or the machine names, fields, parameters, tables; else an enumerator
 */
#ifndef STET_STET_H
#define STET_STET_H

#include "adjoint.h"
#include "base.h"
#include "device.h"
#include "dlpack.h"
#include "group.h"
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
