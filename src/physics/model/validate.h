/* The tables of a model hold what kernels rely on: asserted where they are made (base/validate.h). */
#ifndef STI_PHYSICS_MODEL_VALIDATE_H
#define STI_PHYSICS_MODEL_VALIDATE_H

#include "base/validate.h"
#include "physics/model/builder.h"

STI_VALIDATE(kernel_tables, sti_physics_tables)

#endif
