/* What a model needs of the physics, and what of that native physics covers: one table. */
#ifndef STI_PHYSICS_FEATURES_H
#define STI_PHYSICS_FEATURES_H

#include "model/model.h"

#include <stdbool.h>

/* UNSUPPORTED with all that is missing, if something is. */
stet_result sti_physics_check_model(const mjModel *model);

#endif
